"""Columns of a measure put together by subject and time, as the catalog states of each column."""

from __future__ import annotations

from typing import Any

from zlens.catalog import aggregation, metrics
from zlens.catalog.aggregation import Question
from zlens.catalog.expressions import quote
from zlens.catalog.metrics import Column, Table
from zlens.errors import QueryError
from zlens.server import series, values
from zlens.server.place import Place

#: Rows of an answer.
MOST = 100_000


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    table = _table(asked["table"])
    columns = [_column(table, name) for name in dict.fromkeys(asked["columns"])]
    by = [_key(table, name) for name in dict.fromkeys(asked["by"])]
    types = {column.name: column.type for column in table.columns}
    held = series.conditions(place, asked, types)
    where = asked["where"].items()
    pinned = [name for name, value in where if not isinstance(value, list) or len(value) == 1]
    width, time = 0.0, None
    if asked["buckets"] is not None:
        width, nominal = series.buckets(place, asked, asked["buckets"])
        time = series.time_of(width, nominal)
    wanted = [(column, _statistics(column, asked["statistics"])) for column in columns]

    def question(rows: str) -> Question:
        return Question(table, wanted, rows, by, pinned, " AND ".join(held) or "true", time)

    shown = question(quote(table.name))
    order = _order(asked, shown)
    limit = f"\nLIMIT {asked['limit'] + 1}"
    read = place.kept(table.name, shown.columns())
    found = place.session.sql(f"{question(read).sql()}{order}{limit}")
    rows = found.rows
    return {
        "columns": found.columns,
        "rows": values.rows(rows[: asked["limit"]]),
        "units": {column.name: column.unit for column in columns},
        "unweighted": {column.name: column.unweighted for column in columns if column.unweighted},
        "bucket_s": width,
        "sql": f"{shown.sql()}{order}",
        "more": len(rows) > asked["limit"],
    }


def _table(name: str) -> Table:
    if name not in metrics.tables():
        raise QueryError(f"there is no measure {name!r}", cure="SHOW TABLES lists them")
    table = metrics.table(name)
    if not {"interval_end", "seconds", "flag"} <= {column.name for column in table.columns} or table.plain:
        raise QueryError(f"{name} has no intervals", cure="ask it in SQL")
    return table


def _column(table: Table, name: str) -> Column:
    column = table.column(name)
    if column is None:
        raise QueryError(f"{table.name} has no column {name!r}", cure=f"DESCRIBE {table.name} lists them")
    return column


def _key(table: Table, name: str) -> str:
    column = _column(table, name)
    if column.aggregate not in ("key", "state") or column.type == "time":
        raise QueryError(f"{table.name}.{name} names nothing to group by", expected=", ".join(table.key))
    return name


def _statistics(column: Column, asked: list[str] | None) -> list[str]:
    """What is told of a column: what was asked for as far as it has that, else what is usual."""
    if asked is None:
        return [aggregation.usual(column)]
    given = [what for what in dict.fromkeys(asked) if what in aggregation.gives(column)]
    if not given:
        raise QueryError(
            f"{column.name} has no {asked[0]}", expected=f"one of {', '.join(aggregation.gives(column))}"
        )
    return given


def _order(asked: dict[str, Any], question: Question) -> str:
    """ORDER BY of the answer, in place of the order of its keys."""
    name = asked["order"]
    keys = [*question.keys(), *(["t"] if question.bucket else [])]
    if name is None:
        return "\nORDER BY " + ", ".join(quote(key) for key in keys)
    if name not in [*keys, *question.names()]:
        raise QueryError(f"order is {name!r}", expected=f"one of {', '.join([*keys, *question.names()])}")
    direction = "DESC" if asked["descending"] else "ASC"
    rest = "".join(f", {quote(key)}" for key in keys if key != name)
    return f"\nORDER BY {quote(name)} {direction} NULLS LAST{rest}"
