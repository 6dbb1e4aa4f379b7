"""Rows of raw tables as a reader returns them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from zlens.readers.files import TextSource


def rows(source: TextSource, table: str, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a raw table, by default with all columns."""
    (raw,) = source.tables[table]
    names = list(columns) or [column.name for column in raw.columns]
    found: list[dict[str, Any]] = pa.table(raw.stream(names)).to_pylist()
    return found
