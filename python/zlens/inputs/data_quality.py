"""Data quality problems found by measures: withheld or suspect values, and systems that moved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from zlens.catalog import roles
from zlens.catalog.compile.compile_cache import CompileCache
from zlens.inputs.problems import Problem

#: Rows of a helper with some columns.
Rows = Callable[[str, Sequence[str]], list[tuple[Any, ...]]]
#: The columns read from each view.
COLUMNS = ("system", "source", "kind", "detail")


@cache
def quality_views() -> tuple[tuple[str, str | None, tuple[str, ...]], ...]:
    """Helpers that find problems, the records concerned, and the roles without which they find nothing."""
    return (
        ("_counter_problems", "CPU MF", ("counter",)),
        ("_moved_systems", None, ("counter", "own_partition")),
        ("_withheld_values", None, _bounded_entities()),
    )


def _bounded_entities() -> tuple[str, ...]:
    """The entities with bounds; to find them takes reading all."""
    kept = CompileCache("roles", "")
    names = kept.read("bounded")
    if names is None:
        names = roles.bounded_entities()
        kept.write(names, "bounded")
    return tuple(names)


def find_quality_problems(rows: Rows, filled: Collection[str]) -> list[Problem]:
    """The problems of an input; `rows` is Engine.rows, `filled` the roles that the input fills."""
    problems = []
    for view, record, needed in quality_views():
        if any(entity in filled for entity in needed):
            problems += [
                Problem(system, source, "", None, record, kind, text)
                for system, source, kind, text in sorted(rows(view, COLUMNS))
            ]
    return problems
