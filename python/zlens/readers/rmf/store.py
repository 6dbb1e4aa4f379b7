"""Column store for rows of RMF tables: a few bytes per value, Arrow only for the requested columns."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from math import isnan
from typing import Any, Protocol

from zlens.catalog.columns import Column
from zlens.inputs.source import ArrowSource
from zlens.readers.rows import RowStream, typed

_NO_INT = -(2**63)
#: Texts in reports repeat, so a file beyond this limit is not a report; further texts are dropped.
MAX_TEXTS = 200_000


class Texts:
    """Distinct texts and their codes."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._codes: dict[str, int] = {}
        self.dropped = 0

    def code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            if len(self.texts) >= MAX_TEXTS:
                self.dropped += 1
                return -1
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code


class Values(Protocol):
    """The values of one column."""

    def append(self, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...


class _Integers:
    """Columns of type int and time."""

    def __init__(self) -> None:
        self._data = array("q")

    def append(self, value: int | None) -> None:
        self._data.append(_NO_INT if value is None else value)

    def __iter__(self) -> Iterator[int | None]:
        return (None if value == _NO_INT else value for value in self._data)


class _Floats:
    def __init__(self) -> None:
        self._data = array("d")

    def append(self, value: float | None) -> None:
        self._data.append(float("nan") if value is None else value)

    def __iter__(self) -> Iterator[float | None]:
        # RMF prints only finite numbers, so NaN can represent NULL.
        return (None if isnan(value) else value for value in self._data)


class _Truths:
    def __init__(self) -> None:
        self._data = array("b")

    def append(self, value: bool | None) -> None:
        self._data.append(-1 if value is None else value)

    def __iter__(self) -> Iterator[bool | None]:
        return (None if value < 0 else value > 0 for value in self._data)


class _Texts:
    def __init__(self, texts: Texts) -> None:
        self._data = array("i")
        self._texts = texts

    def append(self, value: str | None) -> None:
        self._data.append(-1 if value is None else self._texts.code(value))

    def __iter__(self) -> Iterator[str | None]:
        texts = self._texts.texts
        return (None if code < 0 else texts[code] for code in self._data)


def column_values(kind: str, texts: Texts) -> Values:
    """Return an empty column of a catalog type."""
    if kind == "text":
        return _Texts(texts)
    if kind == "bool":
        return _Truths()
    if kind == "float":
        return _Floats()
    return _Integers()


class StoredTable:
    """A raw table. The common columns come from the interval of each row."""

    def __init__(
        self,
        name: str,
        columns: Sequence[Column],
        common: dict[str, Callable[[int], Any]],
        texts: Texts,
    ) -> None:
        self._name = name
        self._columns = tuple(columns)
        self._common = common
        self._interval = array("i")
        self._own = {c.name: column_values(c.type, texts) for c in columns if c.name not in common}
        self._appends = [values.append for values in self._own.values()]

    @property
    def name(self) -> str:
        return self._name

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def __len__(self) -> int:
        return len(self._interval)

    def append(self, interval: int, own: Sequence[Any]) -> None:
        """Append a row of an interval, with its own values in column order."""
        self._interval.append(interval)
        for append, value in zip(self._appends, own, strict=True):
            append(value)

    def values(self, column: str) -> Iterator[Any]:
        get = self._common.get(column)
        return map(get, self._interval) if get is not None else iter(self._own[column])

    def stream(self, columns: list[str]) -> ArrowSource:
        return RowStream(typed(self._columns, columns), self._rows)

    def _rows(self, columns: list[str]) -> Iterable[tuple[Any, ...]]:
        chosen = [self.values(name) for name in columns]
        return zip(*chosen, strict=True) if chosen else repeat((), len(self))
