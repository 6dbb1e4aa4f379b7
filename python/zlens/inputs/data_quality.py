"""Data quality problems found by measures: withheld or suspect values, and systems that moved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

from zlens.catalog import roles
from zlens.compiler.compile_cache import CompileCache
from zlens.inputs.problems import Problem

#: Returns the rows of a helper, for the named columns.
Rows = Callable[[str, Sequence[str]], list[tuple[Any, ...]]]
#: Columns read from each helper.
COLUMNS = ("system", "source", "kind", "detail")


@cache
def quality_views() -> tuple[tuple[str, str | None, tuple[str, ...]], ...]:
    """Return the helpers that find problems, the records concerned, and roles of which one is required."""
    return (
        ("_counter_problems", "CPU MF", ("counter",)),
        ("_moved_systems", None, ("counter", "own_partition")),
        ("_withheld_values", None, _bounded_entities()),
    )


def _bounded_entities() -> tuple[str, ...]:
    """Return the entities with bounds; cached, because finding them reads all roles."""
    cache_file = CompileCache("roles", "")
    names = cache_file.read("bounded")
    if names is None:
        names = roles.bounded_entities()
        cache_file.write(names, "bounded")
    return tuple(names)


def find_quality_problems(rows: Rows, filled: Collection[str]) -> list[Problem]:
    """Return the problems of an input; `rows` is Engine.rows, `filled` the roles with data in the input."""
    problems = []
    for view, record, needed in quality_views():
        if any(entity in filled for entity in needed):
            problems += [
                Problem(system, source, "", None, record, kind, text)
                for system, source, kind, text in sorted(rows(view, COLUMNS))
            ]
    return problems
