"""Raw tables of readers written in Python: rows are dictionaries, or are computed each time they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from zlens._native import ArrowTable
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.problems import printable
from zlens.inputs.source import ArrowSource

Row = dict[str, Any]
#: Rows of the named columns, in their order.
Rows = Callable[[list[str]], Iterable[tuple[Any, ...]]]


class RowTable:
    """A raw table over rows that are dictionaries; missing values are NULL."""

    def __init__(self, name: str, columns: tuple[RawColumn, ...], rows: Sequence[Row]) -> None:
        self.name = name
        self.columns = columns
        self.rows = rows

    def stream(self, columns: list[str]) -> ArrowSource:
        return RowStream(typed(self.columns, columns), self._tuples)

    def _tuples(self, columns: list[str]) -> Iterable[tuple[Any, ...]]:
        return (tuple(row.get(name) for name in columns) for row in self.rows)


class RecomputedTable:
    """A raw table whose rows are computed each time they are read."""

    def __init__(self, name: str, columns: tuple[RawColumn, ...], rows: Rows) -> None:
        self.name = name
        self.columns = columns
        self._rows = rows

    def stream(self, columns: list[str]) -> ArrowSource:
        return RowStream(typed(self.columns, columns), self._rows)


class RowStream:
    """Some columns of a table as an Arrow stream, without caching: each reading builds the rows again."""

    def __init__(self, schema: list[tuple[str, str]], rows: Rows) -> None:
        self._schema = schema
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
        texts = [
            tuple(printable(value) if isinstance(value, str) else value for value in row) for row in rows
        ]
        if texts == rows:
            raise
        return ArrowTable(schema, texts)


def typed(columns: Iterable[RawColumn], names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the named columns with their types."""
    types = {column.name: column.type for column in columns}
    return [(name, types[name]) for name in names]
