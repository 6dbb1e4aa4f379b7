"""Which CPU MF formulas are used beyond those that the catalog verifies."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

#: The generations of an input's counters, including None if one is unknown; None: any may occur.
Present = frozenset[str | None] | None


class CpumfWeights(Struct, frozen=True):
    """Numbers by generation; a generation without numbers keeps those of the catalog."""

    rni: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    finite: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


class FormulaPolicy(Struct, frozen=True):
    """What the user trusts.

    unverified  whether to show metrics with an unverified formula
    weights     the user's own numbers for RNI and finite CPI
    """

    unverified: bool = False
    weights: CpumfWeights = field(default_factory=CpumfWeights)


#: What is shown by default.
VERIFIED_ONLY = FormulaPolicy()
