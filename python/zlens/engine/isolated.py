"""Tables for user queries, in a separate database that can read no files.

The database of the store reads the Parquet files of a lake. Rows of its tables are Arrow streams, limited to
the columns and, where possible, the rows that a query reads. Tables that the store materialized are copied
once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.catalog.roles import SQL_TYPES
from zlens.engine.cancellation import Connections, hold_lock, interruptible
from zlens.engine.connection import SHARES, Connection, Relation, open_database
from zlens.engine.table_store import TableStore

#: Arrow type names by type of the engine.
_ARROW = {type: name for name, type in SQL_TYPES.items()}
#: Returns a SELECT of the rows of a table; it may register streams on the cursor that it is for.
Rows = Callable[[Connection], str]
#: Names and types of columns, in order.
Types = Sequence[tuple[str, str]]


class IsolatedTables:
    """The tables of a store, as relations of another database."""

    def __init__(self, store: TableStore, spill: str, *, small: bool) -> None:
        folder = os.path.join(spill, "queries")
        os.mkdir(folder)
        self._store = store
        self._connection = open_database(folder, small=small, share=SHARES[1])
        self._lock = threading.Lock()
        self._copying: dict[str, threading.Lock] = {}
        self._copied: dict[str, frozenset[str]] = {}
        self._numbers = count()

    def close(self) -> None:
        self._connection.close()

    def cursor(self) -> Connection:
        """Return a connection to the tables copied so far: one for every statement."""
        with hold_lock(self._lock):
            return self._connection.cursor()

    def has(self, name: str, columns: Collection[str]) -> bool:
        """Return whether a table is copied with some columns."""
        columns_copied = self._copied.get(name)
        return columns_copied is not None and columns_copied.issuperset(columns)

    def copy(self, name: str, columns: Collection[str], order: Iterable[str]) -> None:
        """Copy columns of a table that the store has materialized, and those copied before, in an order."""
        if self.has(name, columns):
            return
        with hold_lock(self._lock):
            lock = self._copying.setdefault(name, threading.Lock())
        with hold_lock(lock):
            if self.has(name, columns):
                return
            requested = {*columns, *self._copied.get(name, ())}
            ordered = [column for column in order if column in requested]
            self._create(name, ", ".join(map(expressions.quote, ordered)) or "1 AS one")
            self._copied[name] = frozenset(ordered)

    def copy_whole(self, name: str) -> None:
        """Copy a table that the store derived."""
        with hold_lock(self._lock):
            lock = self._copying.setdefault(name, threading.Lock())
        with hold_lock(lock):
            if name not in self._copied:
                self._create(name, "*")
                self._copied[name] = frozenset()

    def _create(self, name: str, columns: str) -> None:
        table = f"memory.main.{expressions.quote(name)}"
        select = f"SELECT {columns} FROM {table}"
        # For a materialized table this takes no time.
        relation = self._store.cursor().sql(select)
        types = list(zip(relation.columns, map(str, relation.types), strict=True))
        cursor = self.cursor()
        working = Connections(cursor)
        rows = self.register(cursor, working, name, types, lambda _: select)
        interruptible(working, lambda: cursor.execute(f"CREATE OR REPLACE TABLE {table} AS {rows}"))
        cursor.close()

    def register(self, cursor: Connection, working: Connections, name: str, types: Types, rows: Rows) -> str:
        """Register rows of the store on a cursor; returns SQL of them. `working` interrupts the store too."""
        stream = f"{name}#{next(self._numbers)}"
        known = all(type in _ARROW for _, type in types)
        cursor.register(stream, (_TypedRows if known else _Rows)(self._store, rows, types, working))
        # Arrow has fewer types than the engine.
        columns = (
            expressions.quote(column)
            if type in _ARROW
            else f"CAST({expressions.quote(column)} AS {type}) AS {expressions.quote(column)}"
            for column, type in types
        )
        return f"SELECT {'*' if known else ', '.join(columns)} FROM {expressions.quote(stream)}"


class _Rows:
    """Rows of the store, computed each time they are read, because each stream needs its own connection."""

    def __init__(self, store: TableStore, rows: Rows, types: Types, working: Connections) -> None:
        self._store = store
        self._rows = rows
        self._types = types
        self._working = working

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        cursor = self._store.cursor()
        self._working.add(cursor)
        relation: Relation = cursor.sql(self._rows(cursor))
        return relation.__arrow_c_stream__(requested_schema)


class _TypedRows(_Rows):
    """Rows with a known schema; to find the schema of a plain stream, the engine would compute all rows."""

    def __arrow_c_schema__(self) -> object:
        columns = [(name, _ARROW[type]) for name, type in self._types]
        return ArrowTable(columns, []).__arrow_c_schema__()
