"""Flags of intervals that are longer or shorter than usual for their system (facts/intervals.toml)."""

from __future__ import annotations

from zlens.schema import document
from zlens.schema.facts import FACTS

_FACTS = document.load_unchecked(FACTS / "intervals.toml")

#: Maximum and minimum length of an interval without a flag, as multiples of the usual length.
GAP: float = _FACTS["gap_factor"]
SHORT: float = _FACTS["short_factor"]


def flag(seconds: float | None, nominal: float | None) -> str | None:
    """Return gap or short if an interval does not have the usual length, else None; in seconds."""
    if not nominal or seconds is None:
        return None
    return "gap" if seconds > GAP * nominal else "short" if seconds < SHORT * nominal else None
