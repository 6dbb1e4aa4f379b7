"""SQL queries as in `zlens sql`, with a limit on the rows returned."""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import Any

from zlens.catalog import measures
from zlens.errors import QueryError
from zlens.server import json_values
from zlens.server.workspace import Workspace

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    start = time.perf_counter()
    result = workspace.session.sql(_kept(workspace, request["query"], request["keep"]))
    rows, more = result.first(request["rows"])
    return {
        "columns": result.columns,
        "types": result.types,
        "rows": json_values.json_value(rows),
        "more": more,
        "seconds": round(time.perf_counter() - start, 4),
    }


def export(workspace: Workspace, request: dict[str, Any]) -> bytes:
    """Return all rows of a query as a file in CSV or Parquet."""
    if request["form"] == "csv":
        return "".join(workspace.session.sql(request["query"]).text("csv")).encode()
    with tempfile.TemporaryDirectory(prefix="zlens-") as folder:
        path = Path(folder, "result.parquet")
        workspace.session.queries.write_parquet(request["query"], str(path))
        return path.read_bytes()


def _kept(workspace: Workspace, query: str, keep: dict[str, list[str]]) -> str:
    """Return the query with placeholders replaced by the tables of retained columns."""
    if not keep:
        return query
    tables = {}
    for table, columns in keep.items():
        if table not in measures.measure_names():
            raise QueryError(f"keep names {table!r}, which is not a measure", cure="show tables lists them")
        unknown = [name for name in columns if measures.load_measure(table).column(name) is None]
        if unknown:
            raise QueryError(f"{table} has no column {unknown[0]!r}", cure=f"DESCRIBE {table} lists them")
        tables[table] = workspace.materialized_table(table, columns)
    return _PLACE.sub(lambda match: tables.get(match[1], match[0]), query)
