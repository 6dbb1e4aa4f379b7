"""Lineage for `zlens explain`: the raw columns underlying a column of a measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from itertools import groupby

from zlens.catalog import measures
from zlens.catalog.raw_columns import FIXED
from zlens.compiler import nodes
from zlens.compiler.cached_lineage import CachedLineage
from zlens.compiler.compile_cache import CompileCache
from zlens.compiler.sql_tree import Tree

_UNFED = "none: the session creates the table"
_CONSTANT = "none: it follows from the existing rows"


@cache
def column_lineage() -> CachedLineage:
    """Return the lineage of all columns of measures."""
    # The same version as the engine's, which would be slow to import.
    return CachedLineage(_parse, _render, CompileCache("lineage", version("duckdb")))


def _parse(sql: str) -> str:
    from zlens.engine.sql_parser import shared_parser

    return shared_parser().parse(sql)


def _render(expression: Tree) -> str:
    from zlens.engine.sql_parser import shared_parser

    return shared_parser().render_expression(expression)


def raw_lines(table: measures.Measure, column: measures.MeasureColumn) -> tuple[list[str], list[str]]:
    """Return the raw columns that provide a column's values and those that select its rows, by table."""
    if not nodes.is_joined(table.name):
        return [] if table.no_reader else [_UNFED], []

    raw, read = column_lineage().raw_columns(table.name, column.name)
    rows = {name: [column for column in columns if column not in FIXED] for name, columns in read.items()}
    constant = [_CONSTANT] if column.formula or column in measures.LEADING else []
    return _lines(raw) or constant, _lines(rows)


def _lines(reads: Mapping[str, Iterable[str]]) -> list[str]:
    return [f"{name}: {', '.join(_runs(columns))}" for name, columns in reads.items() if columns]


def _runs(columns: Iterable[str]) -> list[str]:
    """Return column names, with runs of consecutive counters shortened to first and last."""

    def number(name: str) -> tuple[int, str]:
        bare = name.removeprefix("c").removesuffix("_d")
        return (int(bare), name[len(bare) + 1 :]) if name.startswith("c") and bare.isdecimal() else (-1, "")

    counters = sorted((number(name), name) for name in columns if number(name)[0] >= 0)
    texts = [name for name in columns if number(name)[0] < 0]
    for _, group in groupby(enumerate(counters), lambda item: (item[1][0][0] - item[0], item[1][0][1])):
        run = [name for _, (_, name) in group]
        texts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else run
    return texts
