"""A session over rows of measures that a test provides, with the types of the catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import duckdb

from zlens.catalog import measures, roles
from zlens.errors import QueryError

Row = Mapping[str, Any]
Tables = Mapping[str, list[Row]]

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
SYSTEM = {"system": "SYSA", "source": "zvm-monitor"}

_SQL = {"text": "VARCHAR", "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "time": "TIMESTAMP"}
_MORE = {
    "inventory": {
        "system": "text", "source": "text", "name": "text", "class": "text", "count": "int",
        "first_time": "time", "last_time": "time",
    },
    "_contradicting_systems": {
        "system": "text", "source": "text", "balance": "text", "text": "text", "times": "int",
        "first_end": "time", "cpu_id": "int", "found": "float", "allowed": "float",
    },
}  # fmt: skip
_LEADING = {
    "system": "text", "source": "text", "interval_end": "time", "seconds": "float", "flag": "text",
    "tod": "time",
}  # fmt: skip


def minutes(count: int = 4, **values: Any) -> list[Row]:
    """Return rows of `count` intervals; a list has one value for each interval."""
    rows = []
    for number in range(count):
        own = {name: value[number] if isinstance(value, list) else value for name, value in values.items()}
        rows.append({**SYSTEM, "interval_end": START + (number + 1) * MINUTE, "seconds": 60.0, **own})
    return rows


def several(subjects: Iterable[Row], count: int = 4) -> list[Row]:
    """Return rows of several subjects in `count` intervals."""
    return [row for values in subjects for row in minutes(count, **values)]


def system(**values: Any) -> list[Row]:
    return [{**SYSTEM, **values}]


def event(minute: float, **values: Any) -> Row:
    return {**SYSTEM, "time": START + minute * MINUTE, "inferred": False, **values}


def columns_of(table: str) -> dict[str, str]:
    """Return names and types of the columns of a table."""
    if table.startswith("role_"):
        return _LEADING | {name: role.type for name, role in roles.entity(table[5:]).roles.items()}
    return _MORE.get(table) or {column.name: column.type for column in measures.load_measure(table).columns}


@cache
def _tables() -> frozenset[str]:
    return frozenset({*measures.measure_names(), *_MORE, *(f"role_{entity}" for entity in roles.entities())})


@cache
def _database() -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(":memory:", config={"threads": 1})
    database.execute("SET GLOBAL error_on_division_by_zero = false")
    return database


@dataclass
class Answer:
    columns: list[str]
    rows: list[tuple[Any, ...]]


class Made:
    """A session over these rows, as findings use it; other tables are empty."""

    def __init__(self, tables: Tables) -> None:
        self.questions: list[str] = []
        # A cursor has its own temporary tables, and is faster than a database for each session.
        self._connection = _database().cursor()
        self._rows = {"interval": minutes(interval_start=[START + n * MINUTE for n in range(4)]), **tables}
        self._created: set[str] = set()
        strange = set(self._rows) - _tables()
        assert not strange, f"there are no tables {strange}"
        for table, rows in self._rows.items():
            unknown = {name for row in rows for name in row} - set(columns_of(table))
            assert not unknown, f"{table} has no column {unknown}"

    @property
    def queries(self) -> Made:
        return self

    def stages(self, queries: Iterable[str], later: Sequence[str] = ()) -> Iterator[list[str]]:
        """Yield all queries as one stage; `sql` creates their tables."""
        yield [*queries]

    def select_together(
        self, queries: Sequence[str], over: Callable[[str], str] = str
    ) -> list[list[tuple[Any, ...]]]:
        each = [self.sql(over(f'SELECT 0 AS "#", * FROM ({query})')).rows for query in queries]
        return [[tuple(row) for _, *row in rows] for rows in each]

    def sql(self, query: str) -> Answer:
        self.questions.append(query)
        # Only the tables that a query names: creating all would take longer than the queries.
        # The engine has roles in a schema; here their tables have a prefix.
        query = re.sub(r"\brole\.(\w+)", r"role_\1", query)
        for table in _tables() & set(re.findall(r"\w+", query)) - self._created:
            self._make(table)
        try:
            answer = self._connection.execute(query)
            columns, rows = [name for name, *_ in answer.description or ()], answer.fetchall()
        except duckdb.Error as error:
            raise QueryError(str(error)) from None
        return Answer(columns, [tuple(map(_aware, row)) for row in rows])

    def _make(self, table: str) -> None:
        self._created.add(table)
        columns = columns_of(table)
        typed = ", ".join(f'"{name}" {_SQL[kind]}' for name, kind in columns.items())
        self._connection.execute(f'CREATE TEMP TABLE "{table}" ({typed})')
        rows = self._rows.get(table)
        if rows:
            self._connection.executemany(
                f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(columns))})',
                [[_naive(row.get(name)) for name in columns] for row in rows],
            )

    def has_data(self, name: str) -> bool:
        return True

    def keep(self, name: str, columns: Iterable[str]) -> str:
        return name

    def display(self, time: datetime, system: str, source: str | None = None) -> datetime:
        return time.astimezone(UTC)


def _naive(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
