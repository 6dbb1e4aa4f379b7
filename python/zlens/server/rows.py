"""Rows of a measure, not aggregated."""

from __future__ import annotations

from typing import Any

from zlens.catalog.expressions import quote
from zlens.errors import QueryError
from zlens.server import buckets, json_values
from zlens.server.aggregate import column_of, measure
from zlens.server.workspace import Workspace


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    table = measure(request["table"])
    names = [column.name for column in table.columns]
    columns = list(dict.fromkeys(request["columns"])) if request["columns"] else names
    types = {column.name: column.type for column in table.columns}
    for name in columns:
        column_of(table, name)
    order = request["order"] or next((name for name in ("interval_end", "time") if name in types), names[0])
    if order not in types:
        raise QueryError(f"order is {order!r}", expected=f"one of {', '.join(names)}")
    conditions = buckets.conditions(request, types)
    where = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
    direction = "DESC" if request["descending"] else "ASC"
    rest = "".join(f", {quote(key)}" for key in table.key if key != order)
    sql = (
        f"SELECT {', '.join(map(quote, columns))}\nFROM {quote(table.name)}{where}\n"
        f"ORDER BY {quote(order)} {direction} NULLS LAST{rest}"
    )
    read = [*columns, *request["where"], *table.key, order, *(["system"] if request["system"] else [])]
    read += [name for name in buckets.TIMES if name in types]
    workspace.materialized_table(table.name, read)
    result = workspace.session.queries.select(f"{sql}\nLIMIT {request['limit'] + 1}", {table.name: read})
    rows = json_values.first_rows(result, request["limit"])
    return {
        "columns": columns,
        "types": [types[name] for name in columns],
        "rows": rows,
        "sql": sql,
        "more": rows.more,
    }
