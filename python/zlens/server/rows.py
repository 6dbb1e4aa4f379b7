"""Rows of a measure as they are."""

from __future__ import annotations

from typing import Any

from zlens.catalog.expressions import quote
from zlens.errors import QueryError
from zlens.server import buckets, values
from zlens.server.aggregate import column_of, measure
from zlens.server.place import Place


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    table = measure(asked["table"])
    known = [column.name for column in table.columns]
    columns = list(dict.fromkeys(asked["columns"])) if asked["columns"] else known
    types = {column.name: column.type for column in table.columns}
    for name in columns:
        column_of(table, name)
    order = asked["order"] or next((name for name in ("interval_end", "time") if name in types), known[0])
    if order not in types:
        raise QueryError(f"order is {order!r}", expected=f"one of {', '.join(known)}")
    held = buckets.conditions(asked, types)
    where = f"\nWHERE {' AND '.join(held)}" if held else ""
    direction = "DESC" if asked["descending"] else "ASC"
    rest = "".join(f", {quote(key)}" for key in table.key if key != order)
    sql = (
        f"SELECT {', '.join(map(quote, columns))}\nFROM {quote(table.name)}{where}\n"
        f"ORDER BY {quote(order)} {direction} NULLS LAST{rest}"
    )
    read = [*columns, *asked["where"], *table.key, order, *(["system"] if asked["system"] else [])]
    read += [name for name in buckets.TIMES if name in types]
    place.kept(table.name, read)
    found = place.session.select(f"{sql}\nLIMIT {asked['limit'] + 1}", {table.name: read})
    rows, more = found.first(asked["limit"])
    return {
        "columns": columns,
        "types": [types[name] for name in columns],
        "rows": values.rows(rows),
        "sql": sql,
        "more": more,
    }
