"""A report of some of its subjects: one device, some guests, a processor (`--only`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from zlens.catalog.expressions import literal, quote
from zlens.errors import QueryError
from zlens.reports.definition import Definition, Rows, Table
from zlens.reports.rows import Session
from zlens.schema.wording import say

#: How many of the subjects there are a message names.
NAMED = 8


def narrowed(definition: Definition, only: Sequence[str], session: Session) -> Definition:
    """The same report of the subjects called so; `*` stands for any characters, `?` for one.

    A subject is called by any of the columns that tell subjects apart, if it is shown, or by the first.
    QueryError where there is none of the name.
    """
    tables = tuple(_table(table, only) for table in definition.tables)
    if not any(session.sql(f"SELECT 1 FROM ({table.query}) AS base LIMIT 1").rows for table in tables):
        wanted = ", ".join(repr(name) for name in only)
        table = definition.tables[0]
        name = quote(table.subject[0])
        there = session.sql(
            f"SELECT DISTINCT {name} FROM ({table.query}) AS base "
            f"WHERE {name} IS NOT NULL ORDER BY 1 LIMIT {NAMED + 1}"
        ).rows
        names = [str(row[0]) for row in there[:NAMED]] + ["..."] * (len(there) > NAMED)
        raise QueryError(
            f"{definition.name} has nothing on {wanted}",
            expected=f"one of {', '.join(names)}" if names else None,
            cure=say("only_out"),
        )
    return replace(definition, tables=tables)


def _table(table: Table, only: Sequence[str]) -> Table:
    shown = {column.column for column in table.columns}
    called = [name for i, name in enumerate(table.subject) if i == 0 or name in shown]
    rows = tuple(one for one in (_rows(rows, called, shown, only) for rows in table.rows) if one)
    return replace(table, query=_where(table.query, called, only), rows=rows)


def _rows(rows: Rows, called: list[str], shown: set[str], only: Sequence[str]) -> Rows | None:
    """Rows of a question of their own as far as they are of these subjects; None where they are of all."""
    if rows.kind != "query":
        return rows
    own = [name for name in called if name in shown]
    return replace(rows, query=_where(rows.query, own, only)) if own else None


def _where(query: str, names: Sequence[str], only: Sequence[str]) -> str:
    tests = [
        rf"upper(CAST({quote(name)} AS VARCHAR)) LIKE {literal(_pattern(one))} ESCAPE '\'"
        for name in names
        for one in only
    ]
    return f"SELECT * FROM ({query}) AS every_one WHERE {' OR '.join(tests)}"


def _pattern(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text.strip().upper()).replace("*", "%").replace("?", "_")
