"""The SQL engine: executes plans of queries over raw tables, roles and measures.

Materialized tables are kept, and extended when a query needs more of their columns. Raw tables are streamed
with only the columns that a plan names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

from zlens._native import ArrowTable, StreamError
from zlens.catalog import expressions, measures, roles
from zlens.compiler import roles as role_sql
from zlens.compiler.plan import QueryPlan, RowConditions
from zlens.compiler.query_plan import TableReads
from zlens.compiler.schema import Schema
from zlens.compiler.sql_tree import rename
from zlens.engine.cancellation import Connections, check_canceled, interruptible
from zlens.engine.conditions import condition_on
from zlens.engine.connection import Connection, Error, open_database, write_parquet
from zlens.engine.error_translation import query_error
from zlens.engine.isolated import IsolatedTables
from zlens.engine.kept_tables import KeptTables
from zlens.engine.prepared_query import PreparedQuery, select_from
from zlens.engine.results import (
    Form,
    QueryResult,
    ResultStream,
    export_value_sql,
    first_rows,
    python_value_sql,
    truncated_value_sql,
    type_name,
    with_times,
)
from zlens.engine.sql_parser import SqlParser
from zlens.engine.statement import Statement
from zlens.engine.statement_reads import StatementReader
from zlens.engine.table_store import Condition, RawColumns, TableStore
from zlens.errors import QueryError
from zlens.inputs.source import RawTable
from zlens.schema.temporary_folder import TemporaryFolder

_T = TypeVar("_T")
#: No query may persist any change.
_ALONE = "BEGIN TRANSACTION READ ONLY"
#: For an input of fewer bytes, distributing it to several threads takes longer than its queries.
_SMALL = 16_000_000


class Engine:
    """Executes queries over the raw tables of some sources.

    tables     raw tables by name; several with the same name are parts of one table
    session    tables without records: intervals, systems, problems
    where      returns the condition on a raw table with some columns
    folders    folders of the tables' Parquet files; other files cannot be read, and users' queries read none
    size       bytes of the input, if known
    brief      whether tables are short whatever the size of the input
    repeated   conditions for rows of tables to omit
    kept       tables that outlive the session, if any
    """

    def __init__(
        self,
        tables: Mapping[str, list[RawTable]],
        session: Mapping[str, RawTable] | None = None,
        *,
        where: Condition = lambda *_: None,
        folders: Sequence[str] = (),
        size: int | None = None,
        brief: bool = False,
        repeated: RowConditions | None = None,
        kept: KeptTables | None = None,
    ) -> None:
        self._session = session or {}
        #: Names and types of the columns of raw tables, without those of the session.
        self.raw = RawColumns(tables, self._session.keys())
        self._closed = False
        self._temporary = TemporaryFolder()
        #: Whether planning a statement takes longer than computing its rows.
        self.is_small = small = brief or (size is not None and size < _SMALL)
        if small:
            # A fleet has hundreds of small inputs, and their files would displace long tables.
            kept = None
        readable = [*folders, *([kept.folder] if kept else [])]
        self._connection = open_database(
            self._temporary.path, folders=readable, small=small, compressed=not small
        )
        self.store = TableStore(
            self._connection, tables, self._session, self.raw, where, repeated or {}, kept
        )
        self.parser = SqlParser(self.store.cursor)
        #: The database for user queries, if the database of the tables can read files.
        self._isolated = IsolatedTables(self.store, self._temporary.path, small=small) if folders else None

    def close(self) -> None:
        self._closed = True
        if self._isolated is not None:
            self._isolated.close()
        self._connection.close()
        self._temporary.remove()

    @property
    def computes_at_once(self) -> bool:
        """Whether results are computed before they are read: binding their text again takes longer."""
        return self.is_small and self._isolated is None

    # -- the tables ----------------------------------------------------------------------------------

    def raw_tables(self) -> list[str]:
        """Return the names of the raw tables of the input, without private ones."""
        return sorted(name for name in {*self.raw, *self._session} if not name.startswith("_"))

    def raw_columns(self, name: str) -> list[tuple[str, str]]:
        """Return names and types of a raw table's columns over all its parts."""
        if name in self._session:
            return [(column.name, column.type) for column in self._session[name].columns]
        return list(self.raw[name].items())

    def query_all_records(
        self, names: Sequence[str], columns: Sequence[str], query: str, *, only_taken: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return rows of one of zlens' own queries over `records`: the union of raw tables, unselected.

        The column `table` of `records` has the name of the raw table. `only_taken` omits rows that no entity
        uses, such as totals of a printed report.
        """
        cursor = self.store.cursor()
        selected = ", ".join(map(expressions.quote, columns))
        parts = []
        for name in names:
            condition, named = "true", set[str]()
            if only_taken:
                condition, named = role_sql.taken(name, self.raw[name])
            rows = self.store.raw_rows(cursor, name, {*columns, *named}, selected=False)
            table = expressions.literal(name)
            parts.append(f'SELECT {table} AS "table", {selected} FROM ({rows}) WHERE {condition}')
        text = f"WITH records AS ({' UNION ALL '.join(parts)}) {query}"
        return interruptible(cursor, lambda: cursor.execute(text).fetchall())

    # -- running -------------------------------------------------------------------------------------

    def cursor(self) -> Connection:
        """Return a connection for a query of the user."""
        return (self._isolated or self.store).cursor()

    def run_query(
        self,
        statement: Statement,
        reader: StatementReader,
        reads: TableReads,
        rows: Mapping[str, QueryPlan],
    ) -> PreparedQuery:
        """Return a query of the user, not computed yet, on the connection that will compute it; QueryError.

        reads  what it reads
        rows   statements of the tables that are computed for it; the others are materialized
        """
        try:
            return self._run_query(statement, reader, reads, rows)
        except Error as error:
            raise reader.error(error, statement) from None

    def _run_query(
        self,
        statement: Statement,
        reader: StatementReader,
        reads: TableReads,
        rows: Mapping[str, QueryPlan],
    ) -> PreparedQuery:
        named = reader.named_tables(statement)
        cursor = self.cursor()
        if not named and statement.survey.listing:
            # Everything that can be queried, whether or not it is materialized.
            cursor = reader.planner.catalog(
                [
                    *measures.measure_names(),
                    *self.raw_tables(),
                    *(f"role.{name}" for name in roles.entities()),
                ]
            )
        depends = reader.schema_dependencies(statement)
        shape = reader.cache.read(*depends) if depends is not None else None
        working = Connections(cursor)
        if self._isolated is None:
            selects = self._selects(statement, reader, reads, rows, partial(self._rows_of, cursor))
        else:
            isolated_rows = partial(
                self._isolated_rows_of, self._isolated, cursor, reader.schema, statement, working
            )
            selects = self._selects(statement, reader, reads, rows, isolated_rows)
        if self._isolated is not None:
            for name in statement.survey.tables - named:
                if self.store.is_derived(name):
                    self._isolated.copy_whole(name)
        text = self._text(statement, reader)
        if shape is not None:
            cursor.execute(_ALONE)
            names, types = shape
            return PreparedQuery(cursor, text, names, types, rows=selects, working=working)
        for name, select in selects.items():
            cursor.execute(f"CREATE TEMP VIEW {expressions.quote(name)} AS {select}")
        cursor.execute(_ALONE)
        # An EXPLAIN ANALYZE is executed here.
        prepared = PreparedQuery.bind(cursor, text, working)
        if depends is not None:
            reader.cache.write([prepared.names, prepared.types], *depends)
        return prepared

    @staticmethod
    def _selects(
        statement: Statement,
        reader: StatementReader,
        reads: TableReads,
        rows: Mapping[str, QueryPlan],
        rows_of: Callable[[_TableRows], str | None],
    ) -> dict[str, str]:
        """Return SQL of the rows of the tables of a statement that are not materialized."""
        all_columns = reader.columns_named(statement) is None
        selects = {}
        for name, wanted in sorted(reads.columns.items()):
            check_canceled()
            typed = reader.schema.columns(name) if all_columns else None
            select = rows_of(_TableRows(name, {*wanted}, typed, rows.get(name)))
            if select is not None:
                selects[name] = select
        return selects

    def _text(self, statement: Statement, reader: StatementReader) -> str:
        """Return a statement's text as it runs: roles are tables of this query, in no schema."""
        renamed = {name: name for name in reader.named_tables(statement) if name.startswith("role.")}
        if not renamed:
            return statement.text
        text = reader.cache.read("renamed", statement.question)
        if not isinstance(text, str):
            tree = json.loads(json.dumps(reader.parse(statement.text).tree))
            rename(tree, renamed)
            text = self.parser.render(tree)
            reader.cache.write(text, "renamed", statement.question)
        return statement.text[: len(statement.text) - len(statement.question)] + text

    def answer(self, prepared: PreparedQuery) -> QueryResult:
        """Return the rows of a query, computed when they are read."""
        kinds = [type_name(type) for type in prepared.types]
        times = [index for index, kind in enumerate(kinds) if kind == "time"]

        def check_open() -> None:
            if self._closed:
                raise QueryError("the session is closed", cure="fetch the rows of a result before that")

        def formed(form: Form) -> ResultStream:
            check_open()
            return ResultStream(prepared.relation(form))

        def rows() -> list[tuple[Any, ...]]:
            check_open()
            values = working(lambda: prepared.rows(python_value_sql))
            return [with_times(row, times) for row in values] if times else values

        def first(count: int, longest: int, most: int) -> tuple[list[tuple[Any, ...]], bool]:
            check_open()
            try:
                return first_rows(
                    prepared.working, prepared.relation(truncated_value_sql(longest)), count, most, times
                )
            except Error as error:
                raise query_error(error) from None

        def working(work: Callable[[], _T]) -> _T:
            try:
                return interruptible(prepared.working, work)
            except (Error, StreamError) as error:
                raise query_error(error) from None

        return QueryResult(prepared.names, kinds, rows, formed, first, working)

    def compute_query(
        self,
        statement: Statement,
        reader: StatementReader,
        reads: TableReads,
        rows: Mapping[str, QueryPlan],
    ) -> QueryResult:
        """Return the result of a SELECT whose rows are computed now; an error is DuckDB's."""
        cursor = self.store.cursor()
        selects = self._selects(statement, reader, reads, rows, partial(self._rows_of, cursor))
        return self._computed(cursor, select_from(self._text(statement, reader), ["*"], selects))

    def run_internal(
        self, query: str, reads: Mapping[str, Collection[str]], rows: Mapping[str, QueryPlan]
    ) -> QueryResult:
        """Run one of zlens' own SELECTs, known to read these columns of these tables, without parsing it."""
        cursor = self.store.cursor()
        try:
            return self._computed(cursor, self._with_tables(cursor, query, reads, rows))
        except Error as error:
            raise query_error(error) from None

    def _computed(self, cursor: Connection, query: str) -> QueryResult:
        # Results with many columns take longer to bind than to compute, and a relation is bound twice.
        create = f'CREATE TEMP TABLE "answer#" AS {query}'
        interruptible(cursor, lambda: cursor.execute(create))
        return self.answer(PreparedQuery.bind(cursor, 'FROM temp."answer#"'))

    def run_together(
        self,
        statements: Sequence[Statement],
        reader: StatementReader,
        reads: Sequence[TableReads],
        rows: Sequence[Mapping[str, QueryPlan]],
        over: Callable[[str], str],
    ) -> QueryResult:
        """Run several of zlens' own SELECTs as one: the rows of all, with their number as column `#`.

        `over` converts SQL of these rows to the query to run.
        """
        cursor = self.store.cursor()
        rows_of = partial(self._rows_of, cursor)
        try:
            numbered = []
            for number, statement in enumerate(statements):
                selects = self._selects(statement, reader, reads[number], rows[number], rows_of)
                selected = [f'{number} AS "#"', "*"]
                numbered.append(f"({select_from(self._text(statement, reader), selected, selects)})")
            return self._computed(cursor, over("\nUNION ALL\n".join(numbered)))
        except Error as error:
            raise query_error(error) from None

    def materialize_query(
        self, query: str, reads: Mapping[str, Collection[str]], rows: Mapping[str, QueryPlan]
    ) -> str:
        """Materialize the rows of one of zlens' own SELECTs; returns the table's name."""
        try:
            return self.store.derive(
                query, lambda cursor: self._with_tables(cursor, query, reads, rows), reads
            )
        except Error as error:
            raise query_error(error) from None

    def _with_tables(
        self,
        cursor: Connection,
        query: str,
        reads: Mapping[str, Collection[str]],
        rows: Mapping[str, QueryPlan],
    ) -> str:
        """Return SQL of a SELECT for a cursor, which contains the tables that are not materialized."""
        selects = {}
        for name, columns in sorted(reads.items()):
            select = self._rows_of(cursor, _TableRows(name, {*columns}, None, rows.get(name)))
            if select is not None:
                selects[name] = select
        return select_from(query, ["*"], selects) if selects else query

    def show_tables(self) -> QueryResult:
        """Return the result of SHOW TABLES: described measures, raw tables of this input and roles."""
        rows: list[tuple[Any, ...]] = [
            (name, "measure", measures.load_measure(name).text) for name in measures.measure_names()
        ]
        rows += [(name, "raw", "") for name in self.raw_tables() if name not in measures.measure_names()]
        rows += [(f"role.{name}", "role", roles.entity(name).text) for name in roles.entities()]
        columns = ["table", "kind", "text"]
        table = ArrowTable([(name, "text") for name in columns], rows)
        return QueryResult(columns, ["text"] * len(columns), lambda: rows, lambda _: table)

    def write_parquet(self, prepared: PreparedQuery, path: str) -> None:
        """Write a result as a Parquet file (zstd), through a file next to it that is renamed at the end."""
        try:
            write_parquet(ResultStream(prepared.relation(export_value_sql)), path)
        except Error as error:
            raise query_error(error) from None

    # -- reading -------------------------------------------------------------------------------------

    def _rows_of(self, cursor: Connection, table: _TableRows) -> str | None:
        """Return the SQL of a table's rows for a cursor, or None if the table is materialized."""
        name, wanted, typed = table.name, table.wanted, table.typed
        if typed is None and self.store.has_columns(name, wanted):
            return None
        if self.store.has_columns(name, wanted):
            # By name, because a star would also represent aggregation.KNOWN. The table itself, not the view
            # with its name for this query.
            return table.fill(f"memory.main.{expressions.quote(name)}")
        if table.statement is None:
            return self.store.select_raw(cursor, name, wanted, fill=typed is not None)
        select = self.store.statement_rows(cursor, table.statement)
        return select if typed is None else table.fill(f"({select})")

    def _isolated_rows_of(
        self,
        isolated: IsolatedTables,
        cursor: Connection,
        schema: Schema,
        statement: Statement,
        working: Connections,
        table: _TableRows,
    ) -> str | None:
        """Return SQL of a table's rows for a cursor of the isolated database; None if the table is copied."""
        name, wanted, typed = table.name, table.wanted, table.typed
        if self.store.has_columns(name, wanted):
            isolated.copy(name, wanted, schema.column_names(name) or ())
            if isolated.has(name, wanted if typed is None else [column for column, _ in typed]):
                return None
            return table.fill(f"memory.main.{expressions.quote(name)}")
        columns = schema.columns(name)
        if columns is None:
            # The types of a helper are those of its statement.
            source = self.store.cursor()
            relation = source.sql(f"FROM ({self._rows_of(source, table)})")
            columns = list(zip(relation.columns, map(str, relation.types), strict=True))
        types = [column for column in columns if column[0] in wanted]
        condition = condition_on(statement.tree, name, wanted)

        def rows(source: Connection) -> str:
            select = self._rows_of(source, _TableRows(name, wanted, None, table.statement))
            if select is None:
                select = f"FROM memory.main.{expressions.quote(name)}"
            selected = ", ".join(
                f"CAST({expressions.quote(column)} AS {type}) AS {expressions.quote(column)}"
                for column, type in types
            )
            where = "" if condition is None else f" WHERE {condition}"
            return f"SELECT {selected or '1::BIGINT AS one'} FROM ({select}){where}"

        # Verify files before the engine reads.
        rows(self.store.cursor())
        select = isolated.register(cursor, working, name, types or [("one", "BIGINT")], rows)
        return select if typed is None else table.fill(f"({select})")


class _TableRows(Struct, frozen=True):
    """How a query reads a table.

    wanted     the columns that it reads
    typed      all columns, with NULL for those not wanted; None: only the wanted ones
    statement  the rows; None if the table is raw or materialized
    """

    name: str
    wanted: set[str]
    typed: Sequence[tuple[str, str]] | None
    statement: QueryPlan | None

    def fill(self, rows: str) -> str:
        """Return SQL of rows with all columns."""
        columns = (
            expressions.quote(column)
            if column in self.wanted
            else f"NULL::{type} AS {expressions.quote(column)}"
            for column, type in self.typed or ()
        )
        return f"SELECT {', '.join(columns)} FROM {rows}"
