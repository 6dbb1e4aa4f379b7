"""Answers to questions: names and types of their columns, their rows, and how they leave the program."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from zlens._native import AnswerText
from zlens.engine.cancelling import Connection, interruptible

_T = TypeVar("_T")
#: SQL that turns a result column of some type into another form.
Form = Callable[[str, str], str]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NUMBERS = ("DOUBLE", "FLOAT", "DECIMAL")
#: What `first` takes of a text, and how many values in all.
LONGEST = 10_000
MOST = 4_000_000
#: Rows that are taken from the engine at a time.
_BLOCK = 2048


def _type_of(sql_type: str) -> str:
    name = sql_type.upper()
    if name.endswith("]"):
        # A list, of whatever.
        return "text"
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
        stream: Callable[[Form], Any],
        first: Callable[[int, int, int], tuple[list[tuple[Any, ...]], bool]] | None = None,
        working: Callable[[Callable[[], Any]], Any] | None = None,
    ) -> None:
        self.columns = columns
        self.types = types
        self._work = rows
        self._rows: list[tuple[Any, ...]] | None = None
        self._stream = stream
        self._first = first
        self._working = working

    def first(
        self, count: int, *, longest: int = LONGEST, most: int = MOST
    ) -> tuple[list[tuple[Any, ...]], bool]:
        """The first rows, and whether there are more; never are all rows of a large answer held.

        Texts longer than `longest` characters are cut and end in dots. Fewer rows are given where these
        hold more than `most` values, with a text counted as one for each 16 characters.
        """
        if self._first is None or self._rows is not None:
            return self.rows[:count], len(self.rows) > count
        return self._first(count, longest, most)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows; QueryError where they cannot be worked out."""
        if self._rows is None:
            self._rows = self._work()
        return self._rows

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """What pandas, Polars, pyarrow and DuckDB read: int64, float64, bool, string and UTC timestamps."""
        return self._stream(leaving).__arrow_c_stream__(requested_schema)

    def read(self, work: Callable[[Any], _T]) -> _T:
        """Give an Arrow stream to work that reads it to its end; a Cancel or an interrupt ends that.

        Its whole numbers are exact: those of types that 64 bits do not hold come as their digits.
        """
        return self._guarded(lambda: work(self._stream(exact)))

    def text(self, form: Literal["csv", "json"]) -> Iterator[str]:
        """All rows as CSV or as JSON, in chunks, as they come: never are all of them held."""
        made = self.read(
            lambda stream: (
                AnswerText.csv(stream, self.columns, self.types)
                if form == "csv"
                else AnswerText.json(stream, distinct(self.columns), self.types)
            )
        )
        while (chunk := self._guarded(made.next)) is not None:
            yield chunk

    def _guarded(self, work: Callable[[], _T]) -> _T:
        result: _T = self._working(work) if self._working is not None else work()
        return result


def distinct(columns: Sequence[str]) -> list[str]:
    """The names, with _1, _2, ... where one has been there already: an object holds each only once."""
    taken = set(columns)
    names: list[str] = []
    for name in columns:
        number, one = 0, name
        while one in names or (number and one in taken):
            number += 1
            one = f"{name}_{number}"
        names.append(one)
    return names


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


def cut(longest: int) -> Callable[[str, str], str]:
    """As `plain`, with texts no longer than that."""

    def form(place: str, type: str) -> str:
        text = plain(place, type)
        if type_name(type) != "text":
            return text
        return f"CASE WHEN length({text}) > {longest} THEN left({text}, {longest}) || '...' ELSE {text} END"

    return form


def first_rows(
    connection: Connection, relation: Any, count: int, most: int, times: list[int]
) -> tuple[list[tuple[Any, ...]], bool]:
    """The first rows of a relation, block by block, and whether there are more."""
    limited = relation.limit(count + 1)

    def take() -> tuple[list[tuple[Any, ...]], bool]:
        rows: list[tuple[Any, ...]] = []
        held = 0
        for row in limited.iter_rows(_BLOCK):
            held += sum(1 + len(value) // 16 if isinstance(value, str) else 1 for value in row)
            if len(rows) == count or (held > most and rows):
                return rows, True
            rows.append(row)
        return rows, False

    found, more = interruptible(connection, take)
    return ([with_times(row, times) for row in found] if times else found), more


#: The types of answers as they leave the program, by their name here.
_LEAVING = {"int": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "bool": "BOOLEAN", "time": "TIMESTAMPTZ"}


def leaving(place: str, type: str) -> str:
    """SQL that turns a result column into one of the types that other programs know."""
    known = _LEAVING[type_name(type)]
    same = type == known or (type, known) == ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
    return place if same else f"CAST({place} AS {known})"


#: Types of whole numbers that 64 bits hold.
_NARROW = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


def exact(place: str, type: str) -> str:
    """As `leaving`, with whole numbers of wider types as their digits."""
    if type_name(type) == "int" and type not in _NARROW:
        return f"CAST({place} AS VARCHAR)"
    return leaving(place, type)


def with_times(row: tuple[Any, ...], times: list[int]) -> tuple[Any, ...]:
    values = list(row)
    for index in times:
        if values[index] is not None:
            values[index] = _EPOCH + dt.timedelta(microseconds=values[index])
    return tuple(values)
