"""Tests of the columns that a statement reads: those it names, and those that the planner finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import duckdb
import pytest

from iterations import draws
from zlens.engine.statement_reads import StatementReader

#: Two tables with some common columns, and one role.
TABLES = {
    "cpu": ["system", "interval_end", "cpu_id", "busy_pct", "user_pct", "flag"],
    "load": ["system", "interval_end", "busy_pct", "online", "flag"],
    "role.device": ["system", "device", "rate", "flag"],
}
STATEMENTS = 200


def typed(name: str) -> list[tuple[str, str]] | None:
    return [(column, "INTEGER") for column in TABLES[name]] if name in TABLES else None


class Writer:
    """A generator of statements from a seed; `frames` are the tables in scope: alias and columns."""

    def __init__(self, seed: int) -> None:
        self.random = draws(seed)
        self.number = 0

    def one_of(self, *choices: str) -> str:
        return self.random.choice(choices)

    def alias(self) -> str:
        self.number += 1
        return f"t{self.number}"

    def statement(self) -> str:
        if self.random.random() < 0.3:
            body, columns = self.select(2, {})
            name = self.alias()
            inner = {name: columns}
            seen, _ = self.select(1, inner)
            return f"WITH {name} AS ({body}) {seen}"
        if self.random.random() < 0.15:
            left, _ = self.select(1, {}, width=2)
            right, _ = self.select(1, {}, width=2)
            return f"{left} {self.one_of('UNION ALL', 'UNION', 'EXCEPT')} {right}"
        return self.select(3, {})[0]

    def source(self, depth: int, queries: Mapping[str, list[str]]) -> tuple[str, str, list[str]]:
        """Return SQL to select from, its alias and its columns."""
        alias = self.alias()
        kind = self.random.random()
        if queries and kind < 0.6:
            name = self.one_of(*queries)
            return f"{name} AS {alias}", alias, queries[name]
        if depth > 1 and kind < 0.35:
            body, columns = self.select(depth - 1, queries)
            return f"({body}) AS {alias}", alias, columns
        name = self.one_of(*TABLES)
        return f"{name} AS {alias}", alias, TABLES[name]

    def select(
        self, depth: int, queries: Mapping[str, list[str]], width: int | None = None
    ) -> tuple[str, list[str]]:
        sql, first, columns = self.source(depth, queries)
        frames = {first: columns}
        if self.random.random() < 0.5:
            more, second, others = self.source(depth, queries)
            common = [column for column in columns if column in others]
            how = self.random.random()
            if common and how < 0.35:
                kind = self.one_of("JOIN", "LEFT JOIN", "SEMI JOIN")
                sql += f" {kind} {more} USING ({self.one_of(*common)})"
                if kind != "SEMI JOIN":
                    frames[second] = others
            elif how < 0.6:
                sql += f" JOIN {more} ON {first}.{self.one_of(*columns)} = {second}.{self.one_of(*others)}"
                frames[second] = others
            elif how < 0.8:
                alias, table = self.alias(), self.one_of(*TABLES)
                outer, inner = self.one_of(*columns), self.one_of(*TABLES[table])
                found = self.one_of(*TABLES[table])
                sql += (
                    f", LATERAL (SELECT max(i.{found}) AS found FROM {table} AS i"
                    f" WHERE i.{inner} = {first}.{outer}) AS {alias}"
                )
                frames[alias] = ["found"]
        items, names = self.items(frames, width)
        text = f"SELECT {', '.join(items)} FROM {sql}"
        if self.random.random() < 0.5:
            text += f" WHERE {self.condition(frames)}"
        return text, names

    def items(self, frames: Mapping[str, list[str]], width: int | None) -> tuple[list[str], list[str]]:
        alias = self.one_of(*frames)
        star = self.random.random()
        own = frames[alias]
        if width is None and star < 0.15:
            return [f"{alias}.*"], own
        if width is None and star < 0.25 and len(own) > 2:
            left_out = self.one_of(*own)
            return [f"{alias}.* EXCLUDE ({left_out})"], [one for one in own if one != left_out]
        if width is None and star < 0.35 and len(frames) == 1 and "busy_pct" in own:
            return ["COLUMNS('.*_pct')"], [one for one in own if one.endswith("_pct")]
        expressions, names = [], []
        for number in range(width or self.random.randint(1, 3)):
            expressions.append(f"{self.value(frames)} AS c{number}")
            names.append(f"c{number}")
        return expressions, names

    def value(self, frames: Mapping[str, list[str]]) -> str:
        alias = self.one_of(*frames)
        column = f"{alias}.{self.one_of(*frames[alias])}"
        kind = self.random.random()
        if kind < 0.15:
            table = self.one_of(*TABLES)
            inner, found = self.one_of(*TABLES[table]), self.one_of(*TABLES[table])
            return f"(SELECT max(s.{found}) FROM {table} AS s WHERE s.{inner} = {column})"
        if kind < 0.3:
            return f"CASE WHEN {column} > 1 THEN {column} + 1 END"
        bare = column.partition(".")[2]
        known = [name for columns in frames.values() for name in columns]
        # Without its table if the name is unique.
        return bare if kind < 0.5 and known.count(bare) == 1 else column

    def condition(self, frames: Mapping[str, list[str]]) -> str:
        alias = self.one_of(*frames)
        column = f"{alias}.{self.one_of(*frames[alias])}"
        if self.random.random() < 0.3:
            table = self.one_of(*TABLES)
            inner, tested = self.one_of(*TABLES[table]), self.one_of(*TABLES[table])
            return f"EXISTS (SELECT 1 FROM {table} AS e WHERE e.{inner} = {column} AND e.{tested} > 0)"
        return f"{column} {self.one_of('> 1', 'IS NOT NULL', '< 3')}"


class Tables:
    """A schema whose tables have more common column names than measures and roles."""

    columns = staticmethod(typed)

    @staticmethod
    def column_names(name: str) -> list[str] | None:
        return TABLES.get(name)


@pytest.fixture(scope="module")
def reader() -> Iterator[StatementReader]:
    database = duckdb.connect()
    statement_reader = StatementReader(Tables(), database.cursor, lambda _: False)  # type: ignore[arg-type]
    yield statement_reader
    statement_reader.close()


class Data:
    """Rows of the tables, with NULL in every column that is not read."""

    def __init__(self) -> None:
        self.database = duckdb.connect()
        self.database.execute("CREATE SCHEMA role")
        self.there: dict[str, set[str]] = {}

    def rows(self, read: Mapping[str, set[str]], query: str) -> list[tuple[object, ...]]:
        for name, columns in TABLES.items():
            there = read.get(name, set())
            if self.there.get(name) != there:
                values = (f"(i * {7 + at} + {at}) % 5" for at in range(len(columns)))
                shown = ", ".join(
                    f"CAST({value if column in there else 'NULL'} AS INTEGER) AS {column}"
                    for column, value in zip(columns, values, strict=True)
                )
                select = f"SELECT {shown} FROM range(9) AS r(i)"
                self.database.execute(f"CREATE OR REPLACE TABLE {name} AS {select}")
                self.there[name] = there
        return sorted(self.database.execute(query).fetchall(), key=repr)


@pytest.mark.long
def test_named_columns_equal_planned_columns(reader: StatementReader) -> None:
    """The named columns include those of the planner; either suffices for the complete result."""
    whole, partly = Data(), Data()
    every = {name: {*columns} for name, columns in TABLES.items()}
    counted = {"named": 0, "planned": 0, "fewer": 0}
    for seed in range(STATEMENTS):
        query = Writer(seed).statement()
        statement = reader.parse(query)
        tables = reader.named_tables(statement)
        planned = reader.planner.reads(statement, tables)
        assert {*planned} <= tables <= {*TABLES}, query
        assert partly.rows(planned, query) == whole.rows(every, query), query
        if reader.columns_named(statement) is None:
            counted["planned"] += 1
            continue
        counted["named"] += 1
        named = reader.reads(statement).columns
        assert all(columns <= named[name] for name, columns in planned.items()), query
        counted["fewer"] += any(named[name] != {*TABLES[name]} for name in named)
    # Both kinds of statements occur, and the named ones leave out columns.
    assert min(counted.values()) > STATEMENTS // 8, counted


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT a.busy_pct FROM cpu AS a JOIN cpu AS b USING (cpu_id)", {"cpu": {"busy_pct", "cpu_id"}}),
        ("WITH q AS (SELECT * FROM cpu) SELECT user_pct FROM q", {"cpu": {"user_pct"}}),
        ("SELECT COLUMNS('.*_pct') FROM cpu", {"cpu": {"busy_pct", "user_pct"}}),
        ("SELECT * EXCLUDE (flag) FROM load", {"load": {"system", "interval_end", "busy_pct", "online"}}),
        (
            "SELECT * FROM (SELECT online, flag FROM load) AS l, "
            "LATERAL (SELECT max(rate) FROM role.device WHERE flag = l.flag)",
            {"load": {"online", "flag"}, "role.device": {"rate", "flag"}},
        ),
    ],
)
def test_planner_lists_columns_read(
    reader: StatementReader, query: str, read: Mapping[str, set[str]]
) -> None:
    statement = reader.parse(query)
    assert reader.planner.reads(statement, reader.named_tables(statement)) == read
