"""Tables that queries share: materialized when first needed, and extended by columns that others need."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise

from zlens.catalog import expressions, measures
from zlens.catalog.aggregation import KNOWN
from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.roles import ALL_TIMES_SUFFIX, SQL_TYPES
from zlens.compiler.plan import QueryPlan, RowCondition, RowConditions, omit_rows
from zlens.compiler.query_plan import TableStep
from zlens.engine.cancellation import hold_lock, interruptible
from zlens.engine.compressed_table import CompressedTable
from zlens.engine.connection import COMPRESSED, Connection
from zlens.engine.kept_tables import KeptTables
from zlens.inputs.source import RawTable, is_in_files

#: A condition on the rows of a raw table with some columns.
Condition = Callable[[str, Iterable[RawColumn]], RowCondition | None]


#: The selected intervals.
_INTERVALS = "_interval"
#: Column of the times that divide tables of many rows.
_TIME = "interval_end"
#: Bytes of records above which a table is computed in slices, bytes of a slice, and least number of slices.
SLICED_BYTES = 100_000_000
_SLICE_BYTES = 200_000_000
_LEAST_SLICES = 2
#: Rows up to which a kept table is copied into memory.
_SHORT_ROWS = 50_000


class StaleStepError(Exception):
    """A table has columns that a step to materialize it lacks: other queries needed them meanwhile."""


class RawColumns(Mapping[str, Mapping[str, str]]):
    """Names and types of the columns of raw tables over all their parts, found when they are needed.

    Tables that the session computes are not raw.
    """

    def __init__(self, raw: Mapping[str, list[RawTable]], session: Collection[str]) -> None:
        self._raw = raw
        self._session = session
        self._columns: dict[str, Mapping[str, str]] = {}
        self._has: dict[object, bool] = {}

    def __contains__(self, name: object) -> bool:
        # Cached, because it is called hundreds of times and the tables of sources do not change.
        if name not in self._has:
            self._has[name] = name in self._raw and name not in self._session
        return self._has[name]

    def __getitem__(self, name: str) -> Mapping[str, str]:
        if name not in self._columns:
            if name not in self:
                raise KeyError(name)
            merged: dict[str, str] = {}
            # Parts of a lake share their columns; the objects are retained, because an id may be reused.
            done: dict[int, object] = {}
            for part in self._raw[name]:
                columns = part.columns
                if id(columns) in done:
                    continue
                done[id(columns)] = columns
                for column in columns:
                    merged.setdefault(column.name, column.type)
            self._columns[name] = merged
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._raw if name not in self._session)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class TableStore:
    """The tables of one engine on its connection.

    raw        tables of the sources by name; several with the same name are parts of one table
    session    tables that the session computes
    columns    columns of the raw tables
    condition  returns the rows of a raw table that the options select
    repeated   conditions for rows of tables that repeat rows of another source
    kept       measures and tables of many rows that outlive the session, if any
    """

    def __init__(
        self,
        connection: Connection,
        raw: Mapping[str, list[RawTable]],
        session: Mapping[str, RawTable],
        columns: Mapping[str, Mapping[str, str]],
        condition: Condition,
        repeated: RowConditions,
        kept: KeptTables | None = None,
    ) -> None:
        self._connection = connection
        self._raw = raw
        self._session = session
        self._columns = columns
        self._condition = condition
        self._repeated = repeated
        self._kept = kept
        self._lock = threading.RLock()
        self._making: dict[str, threading.RLock] = {}
        #: Columns of materialized tables.
        self.materialized: dict[str, frozenset[str]] = {}
        #: Columns that plans materialize in their later stages.
        self.planned: dict[str, frozenset[str]] = {}
        self._derived: dict[str, str] = {}
        #: Tables of compressed databases, of which those with these names are views.
        self._compressed: dict[str, CompressedTable] = {}
        self._compressing = threading.RLock()
        #: Streams have unique names, because one query may read a table for several of its measures.
        self._numbers = count()

    # -- the tables ----------------------------------------------------------------------------------

    def is_derived(self, name: str) -> bool:
        """Return whether a table has the rows of a query."""
        return name.startswith("derived#") and name in self._derived.values()

    def has_columns(self, name: str, columns: Collection[str]) -> bool:
        """Return whether a table is materialized with some columns."""
        existing = self.materialized.get(name)
        return existing is not None and existing.issuperset(columns)

    # -- materializing -------------------------------------------------------------------------------

    def materialize(self, step: TableStep) -> None:
        """Materialize a table; StaleStepError if it has columns that the step lacks."""
        # A caller whose columns exist does not wait while the table is extended.
        if self.has_columns(step.table, step.columns):
            return
        with hold_lock(self._lock):
            lock = self._making.setdefault(step.table, threading.RLock())
        with hold_lock(lock):
            if self.has_columns(step.table, step.columns):
                return
            if self.materialized.get(step.table, frozenset()) - {*step.columns}:
                raise StaleStepError
            if step.statement is not None and self._find_kept(step.table, step.columns):
                return
            self._check_kept(step)
            self._create(step)
            self.materialized[step.table] = frozenset(step.columns)

    def open_kept(self, name: str, columns: Collection[str]) -> None:
        """Materialize a table that an earlier session kept with some columns; otherwise change nothing."""
        if self._kept is None or self.has_columns(name, columns):
            return
        # A plan does not wait for a table that is being computed and is not kept.
        if not self._kept.columns(name) >= {*columns}:
            return
        with hold_lock(self._lock):
            lock = self._making.setdefault(name, threading.RLock())
        with hold_lock(lock):
            if not self.has_columns(name, columns):
                self._find_kept(name, columns)

    def _find_kept(self, name: str, columns: Collection[str]) -> bool:
        """Materialize a table from one that is kept; returns whether there is one with these columns."""
        needed = {*columns, *self.materialized.get(name, ())}
        if self._kept is None or needed - self._kept.columns(name):
            return False
        cursor = self.cursor()
        table = self._kept.find(cursor, name)
        if table is None or needed - table.columns.keys():
            return False
        (rows,) = cursor.execute(f"SELECT count(*) FROM {table.name}").fetchone() or (0,)
        if rows <= _SHORT_ROWS and name not in self._compressed:
            # A view of it would take more time in each query than the copy now.
            self._create_as(cursor, name, table.select())
        else:
            self._show(cursor, name, table)
        self.materialized[name] = frozenset(table.columns)
        return True

    def _check_kept(self, step: TableStep) -> None:
        """Raise StaleStepError if a table is kept with columns that a step lacks: it then gets them, too."""
        if self._kept is None or step.statement is None or not self._keeps(step, step.statement):
            return
        kept = self._kept.columns(step.table)
        if not kept <= {*step.columns, *self.planned.get(step.table, ())}:
            self.expect({step.table: kept})
            raise StaleStepError

    def expect(self, columns: Mapping[str, Collection[str]]) -> None:
        """Note the columns of tables that are needed later: who comes first materializes all."""
        for table, names in columns.items():
            self.planned[table] = self.planned.get(table, frozenset()).union(names)

    def _create(self, step: TableStep) -> None:
        cursor = self.cursor()
        if step.statement is not None:
            if self._is_sliced(step, step.statement):
                self._create_in_slices(cursor, step, step.statement)
                return
            self._create_as(cursor, step.table, self.statement_rows(cursor, step.statement))
            if self._kept is not None and self._keeps(step, step.statement):
                rows = f"FROM memory.main.{expressions.quote(step.table)}"
                self._kept.write(self.cursor(), step.table, 0, lambda table: table.create(rows), short=True)
            return
        select = self._once(
            step.table, step.columns, lambda read: self._from_session(cursor, step.table, read)
        )
        self._create_as(cursor, step.table, select)

    def _create_in_slices(self, cursor: Connection, step: TableStep, statement: QueryPlan) -> None:
        """Create a table of many rows as a view of one in a compressed database.

        The rows are computed and compressed in slices of time: those of all times at once, and the hash
        tables of their joins, would need several times the memory of the compressed table.
        """

        def write(table: CompressedTable) -> None:
            self._write_slices(table, step, statement)

        table = None
        if self._kept is not None:
            table = self._kept.write(cursor, step.table, step.bytes, write)
        if table is None:
            name = expressions.quote(f"{step.table}#{next(self._numbers)}")
            table = CompressedTable(cursor, f"{COMPRESSED}.main.{name}")
            try:
                write(table)
            except BaseException:
                self.cursor().execute(f"DROP TABLE IF EXISTS {table.name}")
                raise
        self._show(cursor, step.table, table)

    def _write_slices(self, table: CompressedTable, step: TableStep, statement: QueryPlan) -> None:
        cursor = table.cursor
        complete = f"({self.statement_rows(cursor, statement)})"
        rows = complete if step.quick is None else f"({self.statement_rows(cursor, step.quick)})"
        for number, condition in enumerate(self._slices(cursor, step.bytes)):
            # One at a time, because slices of two tables need twice the memory.
            with hold_lock(self._compressing):
                write = table.insert if number else table.create
                write(f"SELECT * FROM {rows} WHERE {condition}")
                if step.quick is not None and (times := self._unknown_times(table, condition)):
                    table.delete(times)
                    table.insert(f"SELECT * FROM {complete} WHERE {times}")
                table.compress()

    def _show(self, cursor: Connection, name: str, table: CompressedTable) -> None:
        """Replace the table of a name by a view of a compressed one."""
        former = self._compressed.get(name)
        is_table = name in self.materialized and former is None
        self._replace(cursor, is_table, expressions.quote(name), table.select())
        cursor.close()
        self._compressed[name] = table
        if former is not None and former.database == COMPRESSED:
            self.cursor().execute(f"DROP TABLE {former.name}")

    @staticmethod
    def _replace(cursor: Connection, is_table: bool, name: str, select: str) -> None:
        """Replace a table or a view by a view."""

        def work() -> None:
            cursor.execute("BEGIN TRANSACTION")
            if is_table:
                cursor.execute(f"DROP TABLE memory.main.{name}")
            cursor.execute(f"CREATE OR REPLACE VIEW memory.main.{name} AS {select}")
            cursor.execute("COMMIT")

        interruptible(cursor, work)

    def _keeps(self, step: TableStep, statement: QueryPlan) -> bool:
        """Return whether a table outlives the session, if any does: a measure, or a long table."""
        return step.table in measures.measure_names() or self._is_sliced(step, statement)

    def _is_sliced(self, step: TableStep, statement: QueryPlan) -> bool:
        """Return whether a table is long, and rows of some times need only a part of the input.

        Streams are read completely.
        """
        if step.bytes <= SLICED_BYTES:
            return False
        tables = (name.removesuffix(ALL_TIMES_SUFFIX) for name in statement.reads)
        parts = (part for table in tables for part in self._raw[table])
        return _TIME in step.columns and all(is_in_files(part) for part in parts)

    def _slices(self, cursor: Connection, size: int) -> list[str]:
        """Return conditions on the times of rows, each for a part of the selected intervals."""
        self._materialize_intervals()
        slices = max(_LEAST_SLICES, -(-size // _SLICE_BYTES))
        parts = ", ".join(str(number / slices) for number in range(1, slices))
        text = f"SELECT epoch_us(unnest(quantile_disc({_TIME}, [{parts}]))) FROM memory.main.{_INTERVALS}"
        ends_us = sorted({row[0] for row in cursor.execute(text).fetchall() if row[0] is not None})
        bounds = [f"make_timestamptz({end_us})" for end_us in ends_us]
        if not bounds:
            return ["true"]
        between = (f"{_TIME} > {first} AND {_TIME} <= {last}" for first, last in pairwise(bounds))
        return [f"{_TIME} <= {bounds[0]}", *between, f"{_TIME} > {bounds[-1]}", f"{_TIME} IS NULL"]

    @staticmethod
    def _unknown_times(table: CompressedTable, condition: str) -> str | None:
        """Return the condition on the times of rows of a slice that are not known; None without such rows."""
        unknown = f"{condition} AND NOT {expressions.quote(KNOWN)}"
        text = f"SELECT DISTINCT epoch_us({_TIME}) FROM ({table.select()}) WHERE {unknown}"
        times = [row[0] for row in interruptible(table.cursor, lambda: table.cursor.execute(text).fetchall())]
        moments = [f"make_timestamptz({us})" for us in times if us is not None]
        tests = [f"{_TIME} IN ({', '.join(moments)})"] if moments else []
        tests += [f"{_TIME} IS NULL"] if None in times else []
        return f"({' OR '.join(tests)})" if tests else None

    def derive(self, query: str, rows: Callable[[Connection], str], reads: Iterable[str]) -> str:
        """Materialize the rows of a query as a table; returns its name, which is the same for the same query.

        `rows` returns the SQL of the query on a cursor, `reads` the tables that it reads.
        """
        with hold_lock(self._lock):
            name = self._derived.setdefault(query, f"derived#{len(self._derived)}")
            lock = self._making.setdefault(name, threading.RLock())
        with hold_lock(lock):
            if name not in self.materialized:
                self._create_derived(name, query, rows, reads)
                self.materialized[name] = frozenset()
        return name

    def _create_derived(
        self, name: str, query: str, rows: Callable[[Connection], str], reads: Iterable[str]
    ) -> None:
        cursor = self.cursor()
        # The rows of short tables are computed as fast as they are found.
        if self._kept is not None and any(table in self._compressed for table in reads):
            table = self._kept.find(cursor, query)
            if table is None:
                table = self._kept.write(cursor, query, 0, lambda table: table.create(rows(cursor)))
            if table is not None:
                self._show(cursor, name, table)
                return
        self._create_as(cursor, name, rows(cursor))

    @staticmethod
    def _create_as(cursor: Connection, name: str, select: str) -> None:
        create = f"CREATE OR REPLACE TABLE memory.main.{expressions.quote(name)} AS {select}"
        interruptible(cursor, lambda: cursor.execute(create))
        cursor.close()

    def _from_session(self, cursor: Connection, name: str, columns: Sequence[str]) -> str:
        table = self._session[name]
        condition = None if name.startswith("_") else self._condition(name, table.columns)
        read = {*columns, *(condition[1] if condition else ())} or {table.columns[0].name}
        cursor.register("session#", table.stream([c.name for c in table.columns if c.name in read]))
        selected = ", ".join(map(expressions.quote, columns)) or "1 AS one"
        if condition is None:
            return f'SELECT {selected} FROM "session#"'
        if _INTERVALS in condition[0]:
            self._materialize_intervals()
        return f'SELECT {selected} FROM "session#" WHERE {condition[0]}'

    def select_raw(
        self, cursor: Connection, name: str, wanted: Collection[str], *, fill: bool = False
    ) -> str:
        """Return SQL of columns of a raw table's rows; with `fill` all others are present, as NULL."""
        shown = [*self._columns[name]] if fill else wanted
        return self._once(name, shown, lambda read: self.raw_rows(cursor, name, read, fill=fill))

    def _once(self, name: str, wanted: Collection[str], rows: Callable[[Sequence[str]], str]) -> str:
        """Return SQL of some columns of a table, without rows that repeat those of another source.

        `rows` returns the SQL of columns of all rows.
        """
        repeated = self._repeated.get(name)
        if repeated is None:
            return rows([*wanted])
        test, named = repeated
        return omit_rows(rows([*wanted, *sorted(named.difference(wanted))]), wanted, test)

    def statement_rows(self, cursor: Connection, statement: QueryPlan) -> str:
        """Return the text of a statement, with the raw tables that it reads available on a cursor."""
        raw_sql = [(name, self.raw_rows(cursor, name, columns)) for name, columns in statement.reads.items()]
        return statement.sql(raw_sql)

    def _materialize_intervals(self) -> None:
        """Materialize the selected intervals, which conditions read."""
        columns = [column.name for column in self._session[_INTERVALS].columns]
        self.materialize(TableStep(_INTERVALS, columns, None))

    def cursor(self) -> Connection:
        """Return a connection to the tables materialized so far: one for every statement."""
        with hold_lock(self._lock):
            return self._connection.cursor()

    def raw_rows(
        self,
        cursor: Connection,
        name: str,
        wanted: Collection[str],
        *,
        fill: bool = False,
        selected: bool = True,
    ) -> str:
        """Return SQL of the rows of a raw table with the requested columns, streamed to a cursor.

        A table whose name ends with ALL_TIMES_SUFFIX has the rows of all times, because lasting states may be
        older than the selected times. With `fill` all other columns are present too, as NULL. Without
        `selected` the options exclude nothing.
        """
        all_times = name.endswith(ALL_TIMES_SUFFIX)
        table = name.removesuffix(ALL_TIMES_SUFFIX)
        types = self._columns[table]
        condition = None
        if selected and not table.startswith("_"):
            raw_columns = self._raw[table][0].columns
            condition = self._condition(
                table, [column for column in raw_columns if not all_times or column.name != "interval_end"]
            )
        needed = {*wanted, *(condition[1] if condition else ())}
        shown = [column for column in types if column in needed or fill]
        parts = [(part, {column.name for column in part.columns} & needed) for part in self._raw[table]]
        if not fill:
            # Columns that a part lacks come last, because a list of the others would take long to parse.
            shown.sort(key=lambda column: any(column not in available for _, available in parts))
        selects = []
        for part, available in parts:
            present = [column for column in shown if column in available]
            if is_in_files(part):
                if not part.paths:
                    continue
                rows = f"({part.sql(present)})"
            else:
                # If no column is requested, rows are counted by the first one.
                stream = f"{table}#{next(self._numbers)}"
                cursor.register(stream, part.stream(present or [part.columns[0].name]))
                rows = expressions.quote(stream)
            if present and present == shown[: len(present)]:
                columns = ["*", *(_null(types[column], column) for column in shown[len(present) :])]
            else:
                columns = [
                    expressions.quote(column) if column in available else _null(types[column], column)
                    for column in shown
                ]
            selects.append(f"SELECT {', '.join(columns) or '1 AS one'} FROM {rows}")
        if not selects:
            nulls = ", ".join(_null(types[column], column) for column in shown)
            return f"SELECT {nulls or '1 AS one'} WHERE false"
        union = " UNION ALL ".join(selects)
        if condition is None:
            return union
        if _INTERVALS in condition[0]:
            self._materialize_intervals()
        rows = union if len(selects) == 1 and union.startswith("SELECT *") else f"SELECT * FROM ({union})"
        return f"{rows} WHERE {condition[0]}"


def _null(type: str, column: str) -> str:
    return f"NULL::{SQL_TYPES[type]} AS {expressions.quote(column)}"
