"""Regions of the LSPR workload hint as rectangles to draw."""

from __future__ import annotations

import re
from typing import Any

from zlens.catalog import cpumf

_TEST = re.compile(r"(l1mp|rni) (<=?|>=?) ([0-9.]+)")


def hint_regions() -> dict[str, Any]:
    """The catalog's table of hints: bounds of L1MP and RNI of each line, null if open.

    The first line that applies gives the category, so a bound belongs to the earlier line.
    """
    table = cpumf.hint_table()
    return {
        "status": table.status,
        "source": table.source,
        "note": table.note,
        "generations": list(cpumf.hinted_generations()),
        "regions": [{"category": hint.category, **_bounds(hint.when)} for hint in table.hints],
    }


def _bounds(when: str) -> dict[str, list[float | None]]:
    bounds: dict[str, list[float | None]] = {"l1mp": [None, None], "rni": [None, None]}
    for test in when.split(" and "):
        match = _TEST.fullmatch(test)
        if match is None:
            raise ValueError(f"cannot draw the condition of a hint: {test!r}")
        name, sign, value = match.groups()
        bounds[name][0 if sign.startswith(">") else 1] = float(value)
    return bounds
