"""Flags of intervals that are longer or shorter than usual for their system (facts/intervals.toml)."""

from typing import Annotated, ClassVar

from msgspec import Meta

from zlens.schema.structs import FactFile, doc


class IntervalLimits(FactFile, frozen=True):
    """Limits of usual intervals."""

    path: ClassVar = "intervals.toml"
    source: Annotated[str, doc("where they are from")]
    gap_factor: Annotated[float, Meta(ge=1, description="a gap is longer than this multiple of the usual")]
    short_factor: Annotated[float, Meta(ge=0, le=1, description="a short one is below this part of it")]


#: Maximum and minimum length of an interval without a flag, as multiples of the usual length.
GAP = IntervalLimits.load().gap_factor
SHORT = IntervalLimits.load().short_factor


def flag(seconds: float | None, nominal: float | None) -> str | None:
    """Return gap or short if an interval does not have the usual length, else None; in seconds."""
    if not nominal or seconds is None:
        return None
    return "gap" if seconds > GAP * nominal else "short" if seconds < SHORT * nominal else None
