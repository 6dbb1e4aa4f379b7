"""Rows of measures of closed intervals, retained in memory for a time.

A measure has one table for every hour of recorded time. Entire tables are dropped, because the engine does
not release the memory of deleted rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, field

from zlens._native import ArrowTable
from zlens.catalog import expressions, measures
from zlens.catalog.roles import SQL_TYPES
from zlens.catalog.session_columns import measure_columns
from zlens.engine.connection import connect
from zlens.engine.results import QueryResult, ResultStream
from zlens.schema.temporary_folder import TemporaryFolder

#: A closed interval: system, source, end in microseconds since 1970, UTC.
End = tuple[str, str, int]

_HOUR_US = 3_600_000_000
_NO_LIMIT_US = 2**63 - 1
#: The column with the number of the step that computed a row.
_STEP = "_step"


class _Table(Struct):
    """Tables of a measure by system and hour, and the intervals with rows."""

    hours: dict[tuple[str, int], str] = field(default_factory=dict)
    ends: set[End] = field(default_factory=set)


class MeasureStore:
    """Rows, added step by step. `stream` returns rows up to a step, even while others are added."""

    def __init__(self) -> None:
        self._temporary = TemporaryFolder()
        self._connection = connect(self._temporary.path)
        self._lock = threading.RLock()
        self._tables: dict[str, _Table] = {}
        self._table_count = 0

    def close(self) -> None:
        self._connection.close()
        self._temporary.remove()

    def names(self) -> list[str]:
        """Return the measures that have rows."""
        return list(self._tables)

    def ends(self, name: str) -> set[End]:
        """Return the intervals that a measure has rows of."""
        return self._tables[name].ends if name in self._tables else set()

    def add(
        self,
        name: str,
        rows: QueryResult,
        step: int,
        known: Iterable[End],
        limits: Mapping[tuple[str, str], int],
        begins: Mapping[tuple[str, str], int],
    ) -> set[End]:
        """Add the rows of intervals that are not `known` and end by the limit of their system and source.

        Without an entry in `limits` there is no limit. Differing rows of such an interval are replaced, but
        not rows of intervals that began before `begins`, whose first records the new rows lack. Returns the
        intervals that have rows now.
        """
        with self._lock:
            self._register(rows)
            if measures.load_measure(name).has_changes:
                self._remove_unchanged(name)
            began = _began_sql(begins)
            incoming = self._incoming_ends()
            stored = incoming & self.ends(name)
            if begins and (complete := self._ends_of(name, stored, f"NOT ({began})")):
                self._run(f"DELETE FROM incoming WHERE NOT ({began}) AND ({_intervals_sql(complete)})")
                incoming = self._incoming_ends()
            known_ends = {*known}
            ends = {
                end
                for end in incoming
                if end not in known_ends and end[2] <= limits.get((end[0], end[1]), _NO_LIMIT_US)
            }
            repeated = ends & stored
            same = self._same(name, repeated, began)
            self._drop(name, repeated - same, began)
            hours: dict[tuple[str, int], list[End]] = {}
            for end in sorted(ends - same):
                hours.setdefault((end[0], end[2] // _HOUR_US), []).append(end)
            for hour, ends_of_hour in hours.items():
                self._insert(name, hour, f"FROM incoming WHERE {_intervals_sql(ends_of_hour)}", step)
            self._tables.setdefault(name, _Table()).ends |= ends
            return ends

    def _incoming_ends(self) -> set[End]:
        return {
            *self._run(
                "SELECT DISTINCT system, source, epoch_us(interval_end) FROM incoming "
                "WHERE interval_end IS NOT NULL"
            )
        }

    def _ends_of(self, name: str, ends: set[End], condition: str) -> set[End]:
        """Return the intervals of which a stored row fulfills a condition."""
        if not ends:
            return set()
        rows = self._union(name, ["system", "source", "interval_end", "seconds"], _intervals_sql(ends), ends)
        select = f"SELECT DISTINCT system, source, epoch_us(interval_end) FROM ({rows}) WHERE {condition}"
        return {*self._run(select)}

    def _remove_unchanged(self, name: str) -> None:
        """Remove the first incoming rows of a system if they repeat its last stored ones.

        The records that are decoded now have nothing before these rows, so that they count as a change.
        """
        columns = [column.name for column in measures.load_measure(name).columns]
        state = ", ".join(expressions.quote(column) for column in columns if column != "interval_end")
        first_ends = (
            "SELECT system, source, epoch_us(min(interval_end)) FROM incoming "
            "WHERE interval_end IS NOT NULL GROUP BY ALL"
        )
        for system, source, first in self._run(first_ends):
            earlier = {end for end in self.ends(name) if end[:2] == (system, source) and end[2] < first}
            if not earlier:
                continue
            last = {max(earlier, key=lambda end: end[2])}
            stored = f"SELECT {state} FROM ({self._union(name, columns, _intervals_sql(last), last)})"
            condition = _intervals_sql({(system, source, first)})
            incoming = f"SELECT {state} FROM incoming WHERE {condition}"
            differences = f"({stored} EXCEPT {incoming}) UNION ALL ({incoming} EXCEPT {stored})"
            if self._run(f"SELECT count(*) FROM ({differences})") == [(0,)]:
                self._run(f"DELETE FROM incoming WHERE {condition}")

    def _same(self, name: str, ends: set[End], began: str) -> set[End]:
        """Return the intervals whose stored rows equal the incoming rows, of those that fulfill `began`."""
        if not ends:
            return set()
        columns = [column.name for column in measures.load_measure(name).columns]
        condition = f"({_intervals_sql(ends)}) AND ({began})"
        union = self._union(name, columns, condition, ends)
        row = ", ".join(map(expressions.quote, columns))
        digest = f"SELECT system, source, epoch_us(interval_end), sum(hash({row}))::VARCHAR, count(*) FROM"
        stored, incoming = (
            {*self._run(f"{digest} ({rows}) GROUP BY ALL")}
            for rows in (union, f"SELECT * FROM incoming WHERE {condition}")
        )
        return {(system, source, end) for system, source, end, _, _ in stored & incoming}

    def _drop(self, name: str, ends: set[End], began: str) -> None:
        """Drop the rows of some intervals that fulfill `began`, to be replaced."""
        if not ends:
            return
        for hour in {(system, end // _HOUR_US) for system, _, end in ends} & self._tables[name].hours.keys():
            condition = f"({_intervals_sql(ends)}) AND ({began})"
            self._run(f'DELETE FROM "{self._tables[name].hours[hour]}" WHERE {condition}')

    def add_events(self, rows: QueryResult, step: int) -> None:
        """Add the rows of `event` that are not stored yet."""
        name = "event"
        with self._lock:
            self._register(rows)
            columns = [column.name for column in measures.load_measure(name).columns]
            same = " AND ".join(f"i.{column} IS NOT DISTINCT FROM o.{column}" for column in columns)
            select = "SELECT i.* FROM incoming AS i WHERE i.time IS NOT NULL"
            if name in self._tables and self._tables[name].hours:
                select += f" AND NOT EXISTS (SELECT 1 FROM ({self._union(name, columns)}) AS o WHERE {same})"
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE fresh AS {select}")
            hour = f"epoch_us(time) // {_HOUR_US}"
            for system, number in self._run(f"SELECT DISTINCT system, {hour} FROM fresh ORDER BY ALL"):
                of_hour = f"{_equals_sql('system', system)} AND {hour} = {number}"
                self._insert(name, (system or "", number), f"FROM fresh WHERE {of_hour}", step)

    def _register(self, rows: QueryResult) -> None:
        self._connection.register("stream", rows)
        self._connection.execute("CREATE OR REPLACE TEMP TABLE incoming AS SELECT * FROM stream")
        self._connection.unregister("stream")

    def _insert(self, name: str, hour: tuple[str, int], rows: str, step: int) -> None:
        """Add the rows of a FROM clause to the table of their system and hour."""
        table = self._tables.setdefault(name, _Table())
        known = measures.load_measure(name).columns
        if hour not in table.hours:
            self._table_count += 1
            table_name = f"rows#{self._table_count}"
            typed = ", ".join(
                f"{expressions.quote(column.name)} {SQL_TYPES[column.type]}" for column in known
            )
            self._connection.execute(f'CREATE TABLE "{table_name}" ({typed}, {_STEP} BIGINT)')
            table.hours[hour] = table_name
        columns = ", ".join(expressions.quote(column.name) for column in known)
        self._run(f'INSERT INTO "{table.hours[hour]}" SELECT {columns}, {step} {rows}')

    def forget(self, system: str, before_us: int) -> None:
        """Drop the hours of a system that ended by a time."""
        with self._lock:
            for table in self._tables.values():
                expired = [h for h in table.hours if h[0] == system and (h[1] + 1) * _HOUR_US <= before_us]
                for hour in expired:
                    self._run(f'DROP TABLE "{table.hours.pop(hour)}"')
                if expired:
                    table.ends = {end for end in table.ends if (end[0], end[2] // _HOUR_US) in table.hours}

    def _union(
        self,
        name: str,
        columns: Iterable[str],
        condition: str = "true",
        ends: Collection[End] | None = None,
        since_us: int | None = None,
    ) -> str:
        """Return a SELECT of columns, limited to the hours of `ends` and to hours since a time, if given."""
        selected = ", ".join(map(expressions.quote, columns))
        hours = {*self._tables[name].hours}
        if ends is not None:
            end_hours = {end // _HOUR_US for _, _, end in ends}
            hours = {hour for hour in hours if hour[1] in end_hours}
        if since_us is not None:
            # One more hour, because rows may have times before their interval.
            hours = {hour for hour in hours if (hour[1] + 2) * _HOUR_US > since_us}
        tables = [table for hour, table in self._tables[name].hours.items() if hour in hours]
        # Planning costs time for each table, even without matching rows. One table provides the columns.
        tables = tables or [*self._tables[name].hours.values()][:1]
        return " UNION ALL ".join(f'SELECT {selected} FROM "{table}" WHERE {condition}' for table in tables)

    def stream(
        self,
        name: str,
        columns: list[str],
        step: int,
        ends: Collection[End] | None = None,
        since_us: int | None = None,
    ) -> Any:
        """Return columns of a measure's rows up to a step; with `ends`, of these intervals only.

        With `since_us` rows from long before this time may be omitted.
        """
        with self._lock:
            cursor = self._connection.cursor()
            condition = f"{_STEP} <= {step}"
            if ends is not None:
                listed = ", ".join(map(str, sorted({end for _, _, end in ends}))) or "NULL"
                time = "time" if name == "event" else "interval_end"
                condition += f" AND epoch_us({time}) IN ({listed})"
            if not self._tables[name].hours:
                types = {column.name: column.type for column in measures.load_measure(name).columns}
                return ArrowTable([(column, types[column]) for column in columns], [])
            # The relation is read immediately, because other statements may follow before it is used.
            return ResultStream(cursor.sql(self._union(name, columns, condition, ends, since_us)))

    def values(self, name: str, column: str, ends: Collection[End]) -> dict[End, float | None]:
        """Return a column of a measure with one row per interval, by interval."""
        with self._lock:
            if name not in self._tables or not self._tables[name].hours:
                return {}
            times = ", ".join(map(str, sorted({end for _, _, end in ends}))) or "NULL"
            union = self._union(name, ["system", "source", "interval_end", column], ends=ends)
            selected = f"system, source, epoch_us(interval_end) AS us, {column}"
            query = f"SELECT {selected} FROM ({union}) WHERE us IN ({times})"
            return {(system, source, us): value for system, source, us, value in self._run(query)}

    def _run(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query).fetchall()

    def tables(self, step: int, ends: Iterable[End] | None = None) -> dict[str, MeasureRows]:
        """Return the measures as tables of a session; with `ends`, rows of these intervals only."""
        selected = None if ends is None else [*ends]
        return {
            name: MeasureRows(name, partial(self.stream, step=step, ends=selected)) for name in self.names()
        }


def _intervals_sql(ends: Iterable[End]) -> str:
    """Return the SQL condition that a row belongs to one of these intervals."""
    times: dict[tuple[str, str], list[int]] = {}
    for system, source, end_us in sorted(ends):
        times.setdefault((system, source), []).append(end_us)
    return " OR ".join(
        f"({_equals_sql('system', system)} AND {_equals_sql('source', source)} "
        f"AND epoch_us(interval_end) IN ({', '.join(map(str, times_of_source))}))"
        for (system, source), times_of_source in times.items()
    )


def _began_sql(begins: Mapping[tuple[str, str], int]) -> str:
    """Return the SQL condition that a row is of an interval that began at the time of its system or later."""
    too_early = " OR ".join(
        f"({_equals_sql('system', system)} AND {_equals_sql('source', source)} "
        f"AND epoch_us(interval_end) - coalesce(seconds, 0) * 1000000 < {begin_us})"
        for (system, source), begin_us in begins.items()
    )
    return f"NOT ({too_early})" if too_early else "true"


def _equals_sql(column: str, value: str | None) -> str:
    return f"{column} IS NULL" if value is None else f"{column} = {expressions.literal(value)}"


class MeasureRows:
    """Rows of a measure as a table of a session; only required columns are read.

    read   returns columns of the rows; rows from long before `since_us` may be omitted
    """

    def __init__(self, name: str, read: Callable[..., Any], since_us: int | None = None) -> None:
        self.name = name
        self.columns = measure_columns(name)
        self._read, self._since_us = read, since_us

    def since(self, us: int) -> MeasureRows:
        return MeasureRows(self.name, self._read, us)

    def stream(self, columns: list[str]) -> Any:
        return self._read(self.name, columns, since_us=self._since_us)
