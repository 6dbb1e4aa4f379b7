"""When an interval is odd: longer or shorter than is usual for its system (facts/intervals.toml)."""

from __future__ import annotations

from zlens.schema import document
from zlens.schema.facts import FACTS

_FACTS = document.facts(FACTS / "intervals.toml")

#: An interval longer than this many usual ones leaves a gap; one shorter than this part of one is a stub.
GAP: float = _FACTS["gap_factor"]
SHORT: float = _FACTS["short_factor"]


def flag(seconds: float | None, nominal: float | None) -> str | None:
    """gap or short, where an interval is not of the usual length."""
    if not nominal or seconds is None:
        return None
    return "gap" if seconds > GAP * nominal else "short" if seconds < SHORT * nominal else None
