"""Results of queries: names and types of their columns, their rows, and conversions for output."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from zlens._native import AnswerText, ArrowTable
from zlens.engine.cancellation import Interruptible, interruptible
from zlens.errors import LONGEST, QueryError
from zlens.inputs.unix_time import from_unix_us

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_T = TypeVar("_T")
#: SQL that converts a result column of some type.
Form = Callable[[str, str], str]

_NUMBERS = ("DOUBLE", "FLOAT", "DECIMAL")
#: Maximum number of values that `first` returns.
MOST = 4_000_000
#: Rows fetched from the engine at a time.
_BLOCK = 2048


def _type_of(sql_type: str) -> str:
    name = sql_type.upper()
    if name.endswith("]"):
        # A list of any type.
        return "text"
    if name in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ"):
        return "time"
    if name == "BOOLEAN":
        return "bool"
    if name.startswith(_NUMBERS):
        return "float"
    if name.endswith("INT") or name in ("INTEGER", "BIGINT", "HUGEINT", "UHUGEINT"):
        return "int"
    return "text"


def type_name(sql_type: Any) -> str:
    """Return int, float, text, bool or time for a type of the engine; other types are shown as text.

    A time without a zone, such as the result of AT TIME ZONE, is a text: no display may convert it again.
    """
    return _type_of(str(sql_type))


class QueryResult:
    """The result of a query, computed when its rows are read or exported as an Arrow stream.

    columns, types: names, and int, float, text, bool or time of each. Times are aware datetimes in UTC.
    Its length and iteration are those of `rows`.
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
        #: Returns the HTML for a notebook.
        self.html: Callable[[], str] | None = None

    def first(
        self, count: int, *, longest: int = LONGEST, most: int = MOST
    ) -> tuple[list[tuple[Any, ...]], bool]:
        """Return the first rows, and whether there are more; a large result is never held in full.

        Texts longer than `longest` characters are truncated and end in dots. Fewer rows are returned if they
        have more than `most` values, where a text counts as one for each 16 characters.
        """
        if self._first is None or self._rows is not None:
            return self.rows[:count], len(self.rows) > count
        return self._first(count, longest, most)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """All rows; raises QueryError if they cannot be computed."""
        if self._rows is None:
            self._rows = self._work()
        return self._rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __repr__(self) -> str:
        # Computes nothing: a debugger or a traceback may print it.
        columns = ", ".join(f"{name} {kind}" for name, kind in zip(self.columns, self.types, strict=True))
        rows = "" if self._rows is None else f"; {len(self._rows):,} rows"
        return f"<QueryResult: {columns}{rows}>"

    def _repr_html_(self) -> str | None:
        """Return HTML for a notebook; None leaves it to `repr`."""
        return None if self.html is None else self.html()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the stream for pandas, Polars and others: int64, float64, bool, string, UTC timestamps."""
        return self._stream(export_value_sql).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of the stream; computes no rows."""
        return self._stream(export_value_sql).__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as a table of pyarrow; raises QueryError if pyarrow is not installed."""
        table: pyarrow.Table = _import_package("pyarrow").table(self)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame of pandas; raises QueryError without pandas and pyarrow."""
        _import_package("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a data frame of Polars; raises QueryError if Polars is not installed."""
        frame: polars.DataFrame = _import_package("polars").DataFrame(self)
        return frame

    def read(self, work: Callable[[Any], _T]) -> _T:
        """Pass an Arrow stream to work that reads it to its end; a token or an interrupt cancels that.

        Integers are exact: those of types wider than 64 bits are texts.
        """
        return self._guarded(lambda: work(self._stream(exact_value_sql)))

    def text(self, form: Literal["csv", "json"]) -> Iterator[str]:
        """Yield all rows as CSV or JSON in chunks; they are never all held at once."""
        writer = self.read(
            lambda stream: (
                AnswerText.csv(stream, self.columns, self.types)
                if form == "csv"
                else AnswerText.json(stream, unique_names(self.columns), self.types)
            )
        )
        while (chunk := self._guarded(writer.next)) is not None:
            yield chunk

    def _guarded(self, work: Callable[[], _T]) -> _T:
        result: _T = self._working(work) if self._working is not None else work()
        return result


def _import_package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        raise QueryError(f"{missing} is not installed", cure=f"install it: pip install {missing}") from None


def unique_names(columns: Sequence[str]) -> list[str]:
    """Return the names, with _1, _2, ... added to repeated ones, because an object has each key only once."""
    given_names = set(columns)
    names: list[str] = []
    for name in columns:
        number, unique = 0, name
        while unique in names or (number and unique in given_names):
            number += 1
            unique = f"{name}_{number}"
        names.append(unique)
    return names


class ResultStream:
    """The rows of a relation with columns of exported types, computed each time they are read.

    The engine requests the schema before it reads; for a plain relation it would compute all rows to find it.
    """

    def __init__(self, relation: Any) -> None:
        self._relation = relation

    def __arrow_c_schema__(self) -> object:
        columns = zip(self._relation.columns, self._relation.types, strict=True)
        return ArrowTable([(name, _ARROW[str(type)]) for name, type in columns], []).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._relation.__arrow_c_stream__(requested_schema)


def python_value_sql(sql: str, type: str) -> str:
    """Return SQL that converts a result column for Python: times as microseconds, decimals as floats."""
    kind = type_name(type)
    if kind == "time":
        return f"epoch_us({sql})"
    if type.startswith("DECIMAL"):
        return f"CAST({sql} AS DOUBLE)"
    if kind == "text" and type != "VARCHAR":
        return f"CAST({sql} AS VARCHAR)"
    return sql


def truncated_value_sql(length: int) -> Callable[[str, str], str]:
    """Return a conversion like `python_value_sql` that truncates texts."""

    def form(place: str, type: str) -> str:
        text = python_value_sql(place, type)
        if type_name(type) != "text":
            return text
        return f"CASE WHEN length({text}) > {length} THEN left({text}, {length}) || '...' ELSE {text} END"

    return form


def first_rows(
    connection: Interruptible, relation: Any, count: int, most: int, times: list[int]
) -> tuple[list[tuple[Any, ...]], bool]:
    """Return the first rows of a relation, block by block, and whether there are more."""
    limited = relation.limit(count + 1)

    def take() -> tuple[list[tuple[Any, ...]], bool]:
        rows: list[tuple[Any, ...]] = []
        value_count = 0
        for row in limited.iter_rows(_BLOCK):
            value_count += sum(1 + len(value) // 16 if isinstance(value, str) else 1 for value in row)
            if len(rows) == count or (value_count > most and rows):
                return rows, True
            rows.append(row)
        return rows, False

    rows, more = interruptible(connection, take)
    return ([with_times(row, times) for row in rows] if times else rows), more


#: SQL types of exported columns, by type name.
_LEAVING = {"int": "BIGINT", "float": "DOUBLE", "text": "VARCHAR", "bool": "BOOLEAN", "time": "TIMESTAMPTZ"}
#: Type names by SQL type.
_ARROW = {type: name for name, type in _LEAVING.items()} | {"TIMESTAMP WITH TIME ZONE": "time"}


def export_value_sql(sql: str, type: str) -> str:
    """Return SQL that converts a result column to a type that other programs support."""
    target = _LEAVING[type_name(type)]
    unchanged = type == target or (type, target) == ("TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ")
    return sql if unchanged else f"CAST({sql} AS {target})"


#: Integer types that fit into 64 bits.
_NARROW = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


def exact_value_sql(sql: str, type: str) -> str:
    """Return SQL like `export_value_sql`, with integers of wider types as text."""
    if type_name(type) == "int" and type not in _NARROW:
        return f"CAST({sql} AS VARCHAR)"
    return export_value_sql(sql, type)


def with_times(row: tuple[Any, ...], times: list[int]) -> tuple[Any, ...]:
    values = list(row)
    for index in times:
        if values[index] is not None:
            values[index] = python_time(values[index])
    return tuple(values)


@lru_cache(4096)
def python_time(microseconds: int) -> dt.datetime:
    """Return a time for Python; QueryError if it is out of range. Cached, because systems share times."""
    try:
        return from_unix_us(microseconds)
    except OverflowError:
        raise QueryError(
            "a result has a time that is not in the years 1 to 9999",
            cure="CAST it AS VARCHAR, or leave it out with WHERE",
        ) from None
