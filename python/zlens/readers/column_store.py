"""Column store for the rows of raw tables: a few bytes per value, Arrow only for the requested columns."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import isnan, nan
from typing import Any

from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.source import ArrowSource
from zlens.readers.row_tables import RowStream

_NO_INT = -(2**63)
#: Number of rows that are moved into columns at a time.
_ROWS = 512
#: Texts repeat, so a file beyond this limit has another format; further texts are dropped.
MAX_TEXTS = 200_000


class Texts:
    """Distinct texts and their codes."""

    def __init__(self, max_texts: int | None = None) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}
        self._max_texts = MAX_TEXTS if max_texts is None else max_texts
        self.dropped = 0

    def code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            if len(self.texts) >= self._max_texts:
                self.dropped += 1
                return -1
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code


class _Numbers:
    """Columns of all types but text, with a number in place of NULL."""

    def __init__(self, typecode: str, null: float, read: Callable[[array[Any]], Iterator[Any]]) -> None:
        self._data: array[Any] = array(typecode)
        self._null = null
        self._read = read

    def extend(self, values: Sequence[Any]) -> None:
        null = self._null
        self._data.extend([null if item is None else item for item in values] if None in values else values)

    def read(self, first: int, last: int | None) -> Iterator[Any]:
        return self._read(self._data[first:last])


class _Texts:
    def __init__(self, texts: Texts) -> None:
        self._data = array("i")
        self._texts = texts

    def extend(self, values: Sequence[str | None]) -> None:
        codes = {value: -1 if value is None else self._texts.code(value) for value in dict.fromkeys(values)}
        self._data.extend(map(codes.__getitem__, values))

    def read(self, first: int, last: int | None) -> Iterator[str | None]:
        texts = self._texts.texts
        return (None if code < 0 else texts[code] for code in self._data[first:last])


def column_values(kind: str, texts: Texts) -> _Numbers | _Texts:
    """Return an empty column of a catalog type."""
    if kind == "text":
        return _Texts(texts)
    if kind == "bool":
        return _Numbers("b", -1, lambda data: (None if value < 0 else value > 0 for value in data))
    if kind == "float":
        # Printed values are finite, so NaN can represent NULL.
        return _Numbers("d", nan, lambda data: (None if isnan(value) else value for value in data))
    return _Numbers("q", _NO_INT, lambda data: (None if value == _NO_INT else value for value in data))


class StoredTable:
    """A raw table. Common columns are computed from the interval of each row."""

    def __init__(
        self,
        name: str,
        columns: Sequence[RawColumn],
        common: Mapping[str, Callable[[int], Any]],
        texts: Texts,
        leading: int = 0,
    ) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._common = common
        self._interval = array("i")
        self._own = {c.name: column_values(c.type, texts) for c in columns if c.name not in common}
        #: Rows that are not yet in the columns, and the values of their leading columns.
        self._pending: list[Sequence[Any]] = []
        self._leading: tuple[list[Any], ...] = tuple([] for _ in range(leading))

    def __len__(self) -> int:
        return len(self._interval)

    def append(self, interval: int, values: Sequence[Any]) -> None:
        """Append a row of an interval; its values are in column order, without the common columns."""
        self.extend(interval, (), [values])

    def extend(self, interval: int, leading: Sequence[Sequence[Any]], rows: Sequence[Sequence[Any]]) -> None:
        """Append rows of an interval: the values of the leading columns, and the rest of each row."""
        self._interval.extend(repeat(interval, len(rows)))
        for pending, values in zip(self._leading, leading, strict=True):
            pending += values
        self._pending += rows
        if len(self._pending) >= _ROWS:
            self.flush_rows()

    def flush_rows(self) -> None:
        """Move the pending rows into columns, which use a fraction of the memory."""
        if self._pending:
            columns = (*self._leading, *zip(*self._pending, strict=True))
            for values, new_values in zip(self._own.values(), columns, strict=True):
                values.extend(new_values)
        for pending in (*self._leading, self._pending):
            pending.clear()

    def values(self, column: str, first: int = 0, last: int | None = None) -> Iterator[Any]:
        """Return the values of a column, of all rows or a range of rows."""
        self.flush_rows()
        get = self._common.get(column)
        return map(get, self._interval[first:last]) if get else self._own[column].read(first, last)

    def stream(self, columns: list[str]) -> ArrowSource:
        return RowStream(self.columns, self._rows, columns)

    def _rows(self, columns: list[str]) -> Iterable[tuple[Any, ...]]:
        values = [self.values(name) for name in columns]
        return zip(*values, strict=True) if values else repeat((), len(self))
