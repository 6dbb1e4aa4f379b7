"""Data quality problems found by measures: withheld or suspect values, and systems that moved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from zlens.catalog import roles
from zlens.catalog.expressions import literal, quote
from zlens.compiler.compile_cache import CompileCache
from zlens.compiler.role_bounds import SUSPECT, withheld_columns, withheld_rows_sql
from zlens.inputs.problems import Problem

#: Returns the rows of a helper, for the named columns.
Rows = Callable[[str, Sequence[str]], list[tuple[Any, ...]]]
#: Returns the rows of a SELECT that reads the named columns of the named tables.
Select = Callable[[str, Mapping[str, Sequence[str]]], list[tuple[Any, ...]]]
#: Columns read from each helper.
COLUMNS = ("system", "source", "kind", "detail")
_WITHHELD = "_withheld_values"
#: Entities in one statement: longer statements take more time per entity.
_TOGETHER = 4


@cache
def quality_views() -> tuple[tuple[str, str | None, tuple[str, ...]], ...]:
    """Return the helpers that find problems, the records concerned, and roles of which one is required."""
    return (
        ("_counter_problems", "CPU MF", ("counter",)),
        ("_moved_systems", None, ("counter", "own_partition")),
        (_WITHHELD, None, _bounded_entities()),
    )


def _bounded_entities() -> tuple[str, ...]:
    """Return the entities with bounds; cached, because finding them reads all roles."""
    cache_file = CompileCache("roles", "")
    names = cache_file.read("bounded")
    if names is None:
        names = roles.bounded_entities()
        cache_file.write(names, "bounded")
    return tuple(names)


def find_quality_problems(rows: Rows, select: Select, filled: Collection[str]) -> list[Problem]:
    """Return the problems of an input.

    rows    returns the rows of a helper
    select  returns the rows of a SELECT
    filled  the roles with data in the input
    """
    problems = []
    for view, record, needed in quality_views():
        present = [entity for entity in needed if entity in filled]
        if not present:
            continue
        found = rows(view, COLUMNS)
        if view == _WITHHELD:
            found += _withheld_values(select, present)
        problems += [
            Problem(system, source, "", None, record, kind, text)
            for system, source, kind, text in sorted(found)
        ]
    return problems


def _withheld_values(select: Select, entities: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the problems of samples with withheld values.

    A short statement finds the entities with such samples: the texts of all of them take long to plan.
    """
    for begin in range(0, len(entities), _TOGETHER):
        part = entities[begin : begin + _TOGETHER]
        suspects = " UNION ALL ".join(
            f'(SELECT {literal(name)} FROM "role.{name}" WHERE {quote(SUSPECT)} LIMIT 1)' for name in part
        )
        for [name] in select(suspects, {f"role.{name}": [SUSPECT] for name in part}):
            yield from select(withheld_rows_sql(name), {f"role.{name}": withheld_columns(name)})
