"""A session over rows of measures that a test provides, with the types of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from itertools import count

import duckdb

from zlens import _native
from zlens.catalog import measures, roles
from zlens.compiler.kept_rows import KeptDays
from zlens.compiler.roles import rows
from zlens.engine.results import exact_value_sql, python_value_sql, type_name, with_times
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Source, SystemInfo

FIRST = ("system", "source", "interval_end", "seconds", "flag")
TABLES = tuple(measures.measure_names())
NUMBERS = count()
SQL_TYPES = {"text": "VARCHAR", "int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "time": "TIMESTAMPTZ"}
TYPES = {"interval_end": "time", "seconds": "float"}
INVENTORY = {
    "system": "text",
    "source": "text",
    "file": "text",
    "domain": "int",
    "record": "int",
    "name": "text",
    "title": "text",
    "class": "text",
    "count": "int",
    "bytes": "int",
    "first_time": "time",
    "last_time": "time",
    "min_length": "int",
    "max_length": "int",
    "layout": "text",
}


@cache
def columns_of(table: str) -> dict[str, str]:
    """Return names and types of the columns of a table."""
    if table == "inventory":
        return INVENTORY
    measure = measures.load_measure(table)
    own = {column.name: column.type for column in measure.columns}
    return own if measure.plain else {name: TYPES.get(name, "text") for name in FIRST} | own


def empty_roles() -> str:
    views = (
        f'CREATE VIEW role."{name}" AS {rows(name, roles.entity(name).roles, {}, {}).sql}'
        for name in roles.entities()
    )
    return "; ".join(["CREATE SCHEMA role", *views])


def create(place: str, columns: Mapping[str, str]) -> str:
    typed = ", ".join(f'"{name}" {SQL_TYPES[kind]}' for name, kind in columns.items())
    return f"CREATE TABLE {place} ({typed})"


@cache
def base() -> duckdb.DuckDBPyConnection:
    """Return a database with all tables empty, for all sessions."""
    database = duckdb.connect(":memory:", config={"threads": 1})
    for table in (*TABLES, "inventory"):
        database.execute(create(f'"{table}"', columns_of(table)))
    # Problems of reading, and of counters.
    database.execute(create("_noted", columns_of("problem")))
    database.execute(
        create("_counter_problems", dict.fromkeys(("system", "source", "kind", "detail"), "text"))
    )
    database.execute('CREATE VIEW "_interval" AS SELECT *, NULL::TIMESTAMPTZ AS gap_end FROM "interval"')
    # Empty roles, since reports may query them.
    database.execute(empty_roles())
    return database


@dataclass
class FakeResult:
    columns: list[str]
    types: list[str]
    rows: list[tuple[object, ...]]
    stream: object

    def read(self, work: Callable[[object], _native.Section]) -> _native.Section:
        return work(self.stream)


class FakeSession:
    """A session over rows as mappings by table; missing values are NULL, other tables are empty."""

    def __init__(
        self,
        tables: Mapping[str, Iterable[Mapping[str, object]]],
        problems: Sequence[Problem] = (),
        utc: bool = False,
    ) -> None:
        self.problems = list(problems)
        #: No input is open: no rows are from listings.
        self.systems: list[SystemInfo] = []
        self.sources: list[Source] = []
        self.sources_by_system: dict[str, list[SystemInfo]] = {}
        self.options = Options()
        #: It has all days.
        self.with_kept_days, self.kept_days = self, KeptDays()
        self.utc = utc
        self.questions: list[str] = []
        self.connection = base().cursor()
        own = f"session_{next(NUMBERS)}"
        self.connection.execute(f"ATTACH ':memory:' AS {own}")
        # Other tables are the empty ones of the base.
        self.connection.execute(f"SET search_path = '{own}.main,memory.main,memory.role'")
        self.connection.execute("SET TimeZone = 'UTC'")
        for table, given in tables.items():
            columns = columns_of(table)
            rows = list(given)
            strange = {name for row in rows for name in row} - set(columns)
            assert not strange, f"{table} has no column {strange}"
            self.connection.execute(create(f'{own}.main."{table}"', columns))
            names = [name for name in columns if any(name in row for row in rows)]
            # Rows are inserted in batches: a statement takes longer than its values.
            for at in range(0, len(rows), 100):
                some = rows[at : at + 100]
                one = f"({', '.join('?' * len(names))})"
                self.connection.execute(
                    f'INSERT INTO "{table}" ({", ".join(names)}) VALUES {", ".join([one] * len(some))}',
                    [_naive(row.get(name)) for row in some for name in names],
                )
        if "interval" in tables:
            self.connection.execute(
                f'CREATE VIEW {own}.main."_interval" AS '
                f'SELECT *, NULL::TIMESTAMPTZ AS gap_end FROM {own}.main."interval"'
            )
        self.offsets = {str(row["system"]): row.get("utc_offset_s") or 0 for row in tables.get("system", ())}
        self.local = {str(row["system"]): row.get("local_time") for row in tables.get("system", ())}

    @property
    def queries(self) -> FakeSession:
        return self

    def answers(self, queries: Iterable[str], *, streamed: bool = False) -> Iterator[FakeResult]:
        return map(self.sql, queries)

    def expect(self, queries: Iterable[str]) -> None:
        pass

    def stages(self, queries: Iterable[str], later: Sequence[str] = ()) -> Iterator[list[str]]:
        return iter(())

    def select_together(self, queries: Iterable[str]) -> list[list[tuple[object, ...]]]:
        """Return rows whose lists are texts, as those of a session."""
        answers = (self.sql(query).rows for query in queries)
        return [
            [tuple(str(value) if isinstance(value, list) else value for value in row) for row in rows]
            for rows in answers
        ]

    def query_has_data(self, query: str) -> bool:
        """Return True: empty tables exist too, so that the queries of all reports run."""
        return True

    def sql(self, query: str) -> FakeResult:
        self.questions.append(query)
        found = self.connection.sql(query)
        types = [str(type) for type in found.types]
        stream = found.project(
            ", ".join(exact_value_sql(f"#{place}", type) for place, type in enumerate(types, 1))
        )
        names = list(map(type_name, types))
        times = [place for place, name in enumerate(names) if name == "time"]
        values = found.project(
            ", ".join(python_value_sql(f"#{place}", type) for place, type in enumerate(types, 1))
        )
        rows = [with_times(row, times) for row in values.fetchall()]
        return FakeResult(list(found.columns), names, rows, stream)

    @property
    def without_buckets(self) -> FakeSession:
        return self

    @property
    def without_groups(self) -> FakeSession:
        return self

    other_clocks: frozenset[tuple[str, str]] = frozenset()

    def is_local(self, system: str, source: str | None = None) -> bool:
        return bool(self.local.get(system))

    def display(self, when: datetime, system: str, source: str | None = None) -> datetime:
        if self.utc:
            return when.astimezone(UTC)
        return when.astimezone(timezone(timedelta(seconds=int(str(self.offsets.get(system, 0))))))


def _naive(value: object) -> object:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value
