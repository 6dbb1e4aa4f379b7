"""Any question, as `zlens sql` takes it, with a limit on what is handed out."""

from __future__ import annotations

import re
import time
from typing import Any

from zlens.catalog import metrics
from zlens.errors import QueryError
from zlens.server import values
from zlens.server.place import Place

_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def answer(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    found = place.session.sql(_kept(place, asked["query"], asked["keep"]))
    rows, more = found.first(asked["rows"])
    return {
        "columns": found.columns,
        "types": found.types,
        "rows": values.rows(rows),
        "more": more,
        "seconds": round(time.perf_counter() - began, 4),
    }


def _kept(place: Place, query: str, keep: dict[str, list[str]]) -> str:
    """The question with the tables that hold what is kept of measures in their places."""
    if not keep:
        return query
    instead = {}
    for table, columns in keep.items():
        if table not in metrics.tables():
            raise QueryError(f"keep names {table!r}, which is no measure", cure="show tables lists them")
        unknown = [name for name in columns if metrics.table(table).column(name) is None]
        if unknown:
            raise QueryError(f"{table} has no column {unknown[0]!r}", cure=f"DESCRIBE {table} lists them")
        instead[table] = place.kept(table, columns)
    return _PLACE.sub(lambda found: instead.get(found[1], found[0]), query)
