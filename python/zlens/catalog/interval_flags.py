"""When an interval is odd: longer or shorter than usual for its system (facts/intervals.toml)."""

from __future__ import annotations

from zlens.schema import document
from zlens.schema.facts import FACTS

_FACTS = document.load_unchecked(FACTS / "intervals.toml")

#: An interval longer than GAP usual ones has a gap; one shorter than SHORT of a usual one is a stub.
GAP: float = _FACTS["gap_factor"]
SHORT: float = _FACTS["short_factor"]


def flag(seconds: float | None, nominal: float | None) -> str | None:
    """gap or short, if an interval does not have the usual length."""
    if not nominal or seconds is None:
        return None
    return "gap" if seconds > GAP * nominal else "short" if seconds < SHORT * nominal else None
