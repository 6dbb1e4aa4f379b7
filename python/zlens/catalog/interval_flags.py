"""Flags of intervals that are longer or shorter than usual for their system (facts/intervals.toml)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, doc


class IntervalLimits(FactTable, frozen=True):
    """Limits of usual intervals."""

    source: Annotated[str, doc("where they are from")]
    gap_factor: Annotated[float, Meta(ge=1, description="a gap is longer than this multiple of the usual")]
    short_factor: Annotated[float, Meta(ge=0, le=1, description="a short one is below this part of it")]


_LIMITS = structs.load(FACTS / "intervals.toml", IntervalLimits)

#: Maximum and minimum length of an interval without a flag, as multiples of the usual length.
GAP = _LIMITS.gap_factor
SHORT = _LIMITS.short_factor


def flag(seconds: float | None, nominal: float | None) -> str | None:
    """Return gap or short if an interval does not have the usual length, else None; in seconds."""
    if not nominal or seconds is None:
        return None
    return "gap" if seconds > GAP * nominal else "short" if seconds < SHORT * nominal else None
