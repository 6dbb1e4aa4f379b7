"""Raw tables of sources so small that their rows are kept as they are: one dictionary per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlens import _native
from zlens.catalog.columns import Column
from zlens.inputs.source import ArrowSource

Row = dict[str, Any]


class RowTable:
    """A raw table with its rows; what a row does not have is NULL."""

    def __init__(self, name: str, columns: tuple[Column, ...], rows: Sequence[Row]) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows

    def stream(self, columns: list[str]) -> ArrowSource:
        types = {column.name: column.type for column in self.columns}
        chosen = [(name, types[name]) for name in columns]
        return _native.ArrowTable(chosen, [tuple(row.get(name) for name in columns) for row in self.rows])
