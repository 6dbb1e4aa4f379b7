"""Where the LSPR workload hint changes, as rectangles that can be drawn."""

from __future__ import annotations

import re
from typing import Any

from zlens.catalog import cpumf

_TEST = re.compile(r"(l1mp|rni) (<=?|>=?) ([0-9.]+)")


def regions() -> dict[str, Any]:
    """The catalog's table of hints: bounds of L1MP and RNI of each line, null where it is open.

    The first line that holds is the category, so that a bound belongs to the line that comes first.
    """
    table = cpumf.hint_table()
    return {
        "status": table.status,
        "source": table.source,
        "note": table.note,
        "generations": list(table.generations),
        "regions": [{"category": hint.category, **_bounds(hint.when)} for hint in table.hints],
    }


def _bounds(when: str) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {"l1mp": [None, None], "rni": [None, None]}
    for test in when.split(" and "):
        match = _TEST.fullmatch(test)
        if match is None:
            raise ValueError(f"a hint's condition that cannot be drawn: {test!r}")
        name, sign, value = match.groups()
        found[name][0 if sign.startswith(">") else 1] = float(value)
    return found
