"""Raw tables of readers written in Python: rows are dictionaries, or are computed each time they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from zlens._native import ArrowTable
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.problems import printable
from zlens.inputs.source import ArrowSource

Row = dict[str, Any]
#: Rows of the named columns, in their order.
Rows = Callable[[list[str]], Iterable[tuple[Any, ...]]]


def leading(system: str | None, source: str, file: str, offset: int, us: int) -> Row:
    """Return the leading columns of a row of an interval that ends at `us`, in microseconds UTC."""
    return {
        "system": system, "source": source, "file": file, "offset": offset, "tod": us, "interval_end": us,
    }  # fmt: skip


class RowTable(Struct, eq=False):
    """A raw table over rows that are dictionaries; missing values are NULL."""

    name: str
    columns: tuple[RawColumn, ...]
    rows: Sequence[Row]

    def stream(self, columns: list[str]) -> ArrowSource:
        return RowStream(self.columns, self._tuples, columns)

    def _tuples(self, columns: list[str]) -> Iterable[tuple[Any, ...]]:
        return (tuple(row.get(name) for name in columns) for row in self.rows)


class DecodedTable(Struct, eq=False, dict=True):
    """A raw table whose columns are loaded, and whose rows are decoded, when they are needed."""

    name: str
    load_columns: Callable[[], tuple[RawColumn, ...]]
    stream: Callable[[list[str]], ArrowSource]

    @cached_property
    def columns(self) -> tuple[RawColumn, ...]:
        return self.load_columns()


class RowStream:
    """Some columns of a table as an Arrow stream, without caching: each reading builds the rows again."""

    def __init__(self, columns: Iterable[RawColumn], rows: Rows, names: Sequence[str]) -> None:
        types = {column.name: column.type for column in columns}
        self._schema = [(name, types[name]) for name in names]
        self._rows = rows

    def __arrow_c_schema__(self) -> object:
        return ArrowTable(self._schema, []).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        rows = list(self._rows([name for name, _ in self._schema]))
        return arrow(self._schema, rows).__arrow_c_stream__(requested_schema)


def arrow(schema: list[tuple[str, str]], rows: list[tuple[Any, ...]]) -> ArrowTable:
    """Return rows as an Arrow table. File names that are not valid text get replacement characters."""
    try:
        return ArrowTable(schema, rows)
    except TypeError:
        # Checked only after an error, because hardly any file has such a name.
        texts = [tuple(printable(cell) if isinstance(cell, str) else cell for cell in row) for row in rows]
        if texts == rows:
            raise
        return ArrowTable(schema, texts)
