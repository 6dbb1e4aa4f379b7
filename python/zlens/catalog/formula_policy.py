"""Which CPU MF formulas are used beyond those that the catalog verifies."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

#: Generations of an input's counters, including None if one is unknown; None: any may occur.
Present = frozenset[str | None] | None


class CpumfWeights(Struct, frozen=True):
    """The user's numbers by generation; the catalog's numbers apply to other generations."""

    rni: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    finite: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


class FormulaPolicy(Struct, frozen=True):
    """CPU MF formulas that the user allows.

    unverified  whether to show metrics with an unverified formula
    weights     the user's own numbers for RNI and finite CPI
    """

    unverified: bool = False
    weights: CpumfWeights = field(default_factory=CpumfWeights)


#: Default policy.
VERIFIED_ONLY = FormulaPolicy()
