"""Determines the columns and tables that a user's statement reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping

from zlens.catalog import measures
from zlens.catalog.expressions import literal, quote
from zlens.engine.cancellation import interruptible
from zlens.engine.connection import Connection, connect
from zlens.engine.statement import Statement

#: Columns of a table with their SQL types.
Typed = Iterable[tuple[str, str]]


class Planner:
    """Plans statements over empty tables, on a connection of its own that is opened when needed."""

    def __init__(self, columns: Callable[[str], Typed | None]) -> None:
        self._columns = columns
        self._connection: Connection | None = None
        self._lock = threading.Lock()
        self._declared: set[str] = set()
        self._described: set[str] = set()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def reads(self, statement: Statement, named: Iterable[str]) -> Mapping[str, set[str]]:
        """Return the columns that a statement reads of the tables it names."""
        with self._lock:
            connection = self._open()
            for name in named:
                self._declare(connection, name)
            cursor = connection.cursor()
        # Outside the lock, because folding the constants of a statement may take long.
        explain = f"EXPLAIN (FORMAT JSON) {statement.question}"
        rows = interruptible(cursor, lambda: cursor.execute(explain).fetchall())
        try:
            pending = list(json.loads(rows[0][1]))
        except (ValueError, IndexError):
            # Nothing is planned, so nothing is read.
            return {}
        columns_read: dict[str, set[str]] = {}
        while pending:
            node = pending.pop()
            extra = node.get("extra_info") or {}
            table = extra.get("Table")
            if isinstance(table, str):
                projected = extra.get("Projections") or []
                name = table.replace('"', "").removeprefix("memory.").removeprefix("main.").lower()
                columns_read.setdefault(name, set()).update(
                    [projected] if isinstance(projected, str) else projected
                )
            pending.extend(node.get("children") or [])
        return columns_read

    def catalog(self, names: Iterable[str]) -> Connection:
        """Return a connection to empty tables with the catalog's comments, for listing them."""
        with self._lock:
            connection = self._open()
            for name in names:
                self._declare(connection, name)
                if name in measures.measure_names() and name not in self._described:
                    self._describe(connection, name)
            return connection.cursor()

    def _describe(self, connection: Connection, name: str) -> None:
        table = measures.load_measure(name)
        connection.execute(f"COMMENT ON TABLE {quote(name)} IS {literal(table.text)}")
        for column in table.columns:
            text = f"{column.text} [{column.unit}]" if column.unit else column.text
            connection.execute(f"COMMENT ON COLUMN {quote(name)}.{quote(column.name)} IS {literal(text)}")
        self._described.add(name)

    def _open(self) -> Connection:
        if self._connection is None:
            self._connection = connect(None, threads=1)
            # Filters stay above the scans and empty tables stay scans, so the plan shows all columns read.
            # Only the optimizer of unused columns runs, because others may hide some.
            self._connection.execute(
                "SET VARIABLE others = (SELECT string_agg(name) FROM duckdb_optimizers() "
                "WHERE name <> 'unused_columns')"
            )
            self._connection.execute("SET disabled_optimizers = getvariable('others')")
            self._connection.execute("RESET VARIABLE others")
            self._connection.execute("CREATE SCHEMA role")
        return self._connection

    def _declare(self, connection: Connection, name: str) -> None:
        columns = self._columns(name)
        if name in self._declared or columns is None:
            return
        typed = ", ".join(f"{quote(column)} {type}" for column, type in columns)
        schema, _, table = name.rpartition(".")
        connection.execute(f"CREATE TABLE {quote(schema) + '.' if schema else ''}{quote(table)} ({typed})")
        self._declared.add(name)
