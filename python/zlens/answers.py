"""Answers to questions: names and types of their columns, their rows, and how they leave the program."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NUMBERS = ("DOUBLE", "FLOAT", "DECIMAL")


def _type_of(sql_type: str) -> str:
    name = sql_type.upper()
    if name.startswith("TIMESTAMP"):
        return "time"
    if name == "BOOLEAN":
        return "bool"
    if name.startswith(_NUMBERS):
        return "float"
    if name.endswith("INT") or name in ("INTEGER", "BIGINT", "HUGEINT", "UHUGEINT"):
        return "int"
    return "text"


def type_name(sql_type: Any) -> str:
    """int, float, text, bool or time for a type of the engine; what has no such type is shown as text."""
    return _type_of(str(sql_type))


class Answer:
    """The answer to a question; it is worked out when its rows are looked at or taken as an Arrow stream.

    columns, types: names, and int, float, text, bool or time of each. Times are aware datetimes in UTC.
    """

    def __init__(
        self,
        columns: list[str],
        types: list[str],
        rows: Callable[[], list[tuple[Any, ...]]],
        stream: Callable[[], Any],
    ) -> None:
        self.columns = columns
        self.types = types
        self._work = rows
        self._rows: list[tuple[Any, ...]] | None = None
        self._stream = stream

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows; QueryError where they cannot be worked out."""
        if self._rows is None:
            self._rows = self._work()
        return self._rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """What pandas, Polars, pyarrow and DuckDB read: int64, float64, bool, string and UTC timestamps."""
        return self._stream().__arrow_c_stream__(requested_schema)


class Stream:
    """What hands out Arrow, as nothing but that."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._answer.__arrow_c_stream__(requested_schema)


def plain(place: str, type: str) -> str:
    """SQL that turns a result column into what Python can hold: times as microseconds, decimals as floats."""
    kind = type_name(type)
    if kind == "time":
        return f"epoch_us({place})"
    if type.startswith("DECIMAL"):
        return f"CAST({place} AS DOUBLE)"
    if kind == "text" and type != "VARCHAR":
        return f"CAST({place} AS VARCHAR)"
    return place


#: The types of answers as they leave the program, by their name here.
_LEAVING = {"int": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "bool": "BOOLEAN", "time": "TIMESTAMPTZ"}


def leaving(place: str, type: str) -> str:
    """SQL that turns a result column into one of the types that other programs know."""
    known = _LEAVING[type_name(type)]
    same = type == known or (type, known) == ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
    return place if same else f"CAST({place} AS {known})"


def with_times(row: tuple[Any, ...], times: list[int]) -> tuple[Any, ...]:
    values = list(row)
    for index in times:
        if values[index] is not None:
            values[index] = _EPOCH + dt.timedelta(microseconds=values[index])
    return tuple(values)
