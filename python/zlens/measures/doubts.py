"""What the measures have to say in the table `problem`: counters withheld or doubtful, systems that moved."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from zlens.problems import Problem

#: Private views that find something, what they find it in, and the roles without which they find nothing.
VIEWS = (
    ("_doubt", "CPU MF", ("counter",)),
    ("_moved", None, ("counter", "own_partition")),
)


class _Answer(Protocol):
    @property
    def rows(self) -> list[tuple[Any, ...]]: ...


def doubts(ask: Callable[[str], _Answer], filled: Collection[str]) -> list[Problem]:
    """The problems that an input shows; `ask` is Session.sql or Engine.ask, `filled` the roles it fills."""
    found = []
    for view, record, needed in VIEWS:
        if any(entity in filled for entity in needed):
            rows = ask(f"SELECT system, source, kind, detail FROM {view} ORDER BY ALL").rows
            found += [
                Problem(system, source, "", None, record, kind, text) for system, source, kind, text in rows
            ]
    return found
