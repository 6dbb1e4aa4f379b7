"""What the measures have to say in the table `problem`: counters withheld or doubtful, systems that moved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from zlens.inputs.problems import Problem

#: Rows of a helper with some columns.
Rows = Callable[[str, Sequence[str]], list[tuple[Any, ...]]]
#: Helpers that find something, what they find it in, and the roles without which they find nothing.
VIEWS = (
    ("_doubt", "CPU MF", ("counter",)),
    ("_moved", None, ("counter", "own_partition")),
)
#: What is read of each.
COLUMNS = ("system", "source", "kind", "detail")


def doubts(rows: Rows, filled: Collection[str]) -> list[Problem]:
    """The problems that an input shows; `rows` is Engine.rows, `filled` the roles it fills."""
    found = []
    for view, record, needed in VIEWS:
        if any(entity in filled for entity in needed):
            found += [
                Problem(system, source, "", None, record, kind, text)
                for system, source, kind, text in sorted(rows(view, COLUMNS))
            ]
    return found
