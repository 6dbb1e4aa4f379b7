"""The SQL engine: runs queries of users and reports over raw tables, roles and measures.

A statement is planned once: the columns it reads are known from the names in it or, if it has a star or
similar, from a plan over empty tables. Measures are compiled from the catalog with only these columns
(catalog/compile), and raw tables are streamed with only the columns that those read. Materialized tables are
cached.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from zlens import _native
from zlens.catalog import aggregation, expressions, measures, roles
from zlens.catalog.compile import roles as role_sql
from zlens.catalog.compile import sql_tree
from zlens.catalog.compile.compile_cache import CompileCache, digest
from zlens.catalog.compile.plan import CompilerInput, Kinds
from zlens.catalog.compile.sql_tree import rename
from zlens.catalog.formula_policy import VERIFIED_ONLY, FormulaPolicy
from zlens.catalog.groups import Groups
from zlens.engine.admission import StatementNames, shows_tables
from zlens.engine.cancellation import Connections, check_canceled, interruptible
from zlens.engine.conditions import condition_on
from zlens.engine.connection import RELEASE, Connection, Error, open_database, write_parquet
from zlens.engine.error_translation import query_error
from zlens.engine.isolated import IsolatedTables
from zlens.engine.planner import Planner
from zlens.engine.prepared_query import PreparedQuery
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
from zlens.engine.statement import Statement, parse
from zlens.engine.table_store import Condition, Repeated, TableStore
from zlens.errors import QueryError
from zlens.inputs.source import RawTable

_T = TypeVar("_T")
#: A lazy measure is materialized for several queries if all but the largest reader together read at least one
#: in this many of its columns.
_SHARED_READS = 4
#: Maximum number of parsed and planned statements to cache.
_STATEMENTS = 500
#: No query may persist any change.
_ALONE = "BEGIN TRANSACTION READ ONLY"
#: For an input of fewer bytes, distributing it to several threads takes longer than its queries.
_SMALL = 16_000_000


class Engine:
    """Runs SQL over the raw tables of some sources.

    tables     raw tables by name; several with the same name are parts of one table
    session    tables without records: intervals, systems, problems
    where      returns the condition on a raw table with some columns: zlens' own SQL and the columns it names
    summed     whether intervals are buckets of --every
    releases   systems by release, for roles that apply to some levels only
    folders    folders of the tables' Parquet files; other files cannot be read, and users' queries read none
    trust      formulas of CPU MF to use beyond the verified ones
    groups     subjects to show as one
    published  whether to round as published tables do, if a column has a formula for that
    size       bytes of the input, if known
    brief      whether tables are short whatever the size of the input
    repeated   returns the condition for rows of a table to omit: zlens' own SQL and the columns it names
    records    returns the bytes of the records of the input, by prefix of the names of their raw tables
    """

    def __init__(
        self,
        tables: Mapping[str, list[RawTable]],
        session: Mapping[str, RawTable] | None = None,
        *,
        where: Condition | None = None,
        summed: bool = False,
        releases: Mapping[str | None, list[str]] | None = None,
        folders: Sequence[str] = (),
        trust: FormulaPolicy = VERIFIED_ONLY,
        groups: Groups | None = None,
        published: bool = False,
        size: int | None = None,
        records: Callable[[], Mapping[str, int]] = dict,
        brief: bool = False,
        repeated: Repeated = lambda _: None,
    ) -> None:
        self._tables = tables
        self._record_bytes = records
        self._sizes: Mapping[str, int] | None = None
        self._session = session or {}
        self._closed = False
        self._spill = tempfile.mkdtemp(prefix="zlens-")
        # Remove the folder when the program ends if the engine is never closed.
        self._forget = weakref.finalize(self, shutil.rmtree, self._spill, ignore_errors=True)
        small = brief or (size is not None and size < _SMALL)
        self._connection = open_database(self._spill, folders=folders, small=small)

        def facts(raw: Mapping[str, Collection[str]]) -> CompilerInput:
            session_columns = {
                name: [(column.name, column.type) for column in table.columns]
                for name, table in self._session.items()
            }
            return CompilerInput(raw, session_columns, dict(releases or {}), summed, trust, groups, published)

        self._store = TableStore(
            self._connection, tables, self._session, where or (lambda _: None), repeated, facts
        )
        #: The database for user queries, if the database of the tables can read files.
        self._isolated = IsolatedTables(self._store, self._spill, small=small) if folders else None
        self._planner = Planner(self._store.columns)
        self._kept = CompileCache("statements", RELEASE, Path(__file__).parent)
        self._statements: dict[str, Statement] = {}
        self._planned: dict[str, Mapping[str, set[str]]] = {}
        self._digests: dict[str, str] = {}

    def close(self) -> None:
        self._closed = True
        self._store.compiler.nodes.save_cache()
        self._planner.close()
        if self._isolated is not None:
            self._isolated.close()
        self._connection.close()
        self._forget()

    # -- the tables ----------------------------------------------------------------------------------

    def raw_tables(self) -> list[str]:
        """Return the names of the raw tables of the input, without private ones."""
        return sorted(name for name in {*self._tables, *self._session} if not name.startswith("_"))

    def raw_columns(self, name: str) -> list[tuple[str, str]]:
        """Return names and types of a raw table's columns over all its parts."""
        if name in self._session:
            return [(column.name, column.type) for column in self._session[name].columns]
        return list(self._store.raw_columns(name).items())

    def has_data(self, name: str, tables: Container[str] | None = None) -> bool:
        """Return whether a measure or role (role.entity) can have rows in the input, or with these tables."""
        return self._store.compiler.has_data(name, tables)

    def query_has_data(self, query: str, tables: Container[str] | None = None) -> bool:
        """Return whether a statement can have rows in the input, or with these raw tables."""
        try:
            parsed = self._parse(self._cursor(), query).tree
        except Error as error:
            raise query_error(error) from None
        return self._store.compiler.query_has_data(parsed, tables)

    def tables(self, query: str) -> frozenset[str]:
        """Return the tables that a statement names (`cpu`, `role.processor`), except those of WITH."""
        try:
            return sql_tree.tables(self._parse(self._cursor(), query).tree)
        except Error as error:
            raise query_error(error) from None

    def rows(self, name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Return rows of a helper; for zlens itself, not for users."""
        cursor = self._store.cursor()
        try:
            select = self._store.prepare_plan(cursor, self._store.compiler.plan(name, columns))
            selected = ", ".join(map(expressions.quote, columns))
            return interruptible(
                cursor, lambda: cursor.execute(f"SELECT {selected} FROM ({select})").fetchall()
            )
        except Error as error:
            raise query_error(error) from None

    def tables_of(self, measure: str) -> set[str]:
        """Return the raw tables of the input that a measure reads."""
        try:
            return self._store.compiler.raw_tables(measure)
        except Error as error:
            raise query_error(error) from None

    def query_all_records(
        self, names: Sequence[str], columns: Sequence[str], query: str, *, only_taken: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return rows of one of zlens' own queries over `records`: the union of raw tables, unselected.

        The column `table` of `records` has the name of the raw table. `only_taken` omits rows that no entity
        uses, such as totals of a printed report.
        """
        cursor = self._store.cursor()
        selected = ", ".join(map(expressions.quote, columns))
        parts = []
        for name in names:
            condition, named = "true", set[str]()
            if only_taken:
                condition, named = role_sql.taken(name, self._store.raw_columns(name))
            rows = self._store.raw_rows(cursor, name, {*columns, *named}, selected=False)
            table = expressions.literal(name)
            parts.append(f'SELECT {table} AS "table", {selected} FROM ({rows}) WHERE {condition}')
        text = f"WITH records AS ({' UNION ALL '.join(parts)}) {query}"
        return interruptible(cursor, lambda: cursor.execute(text).fetchall())

    # -- running -------------------------------------------------------------------------------------

    def run_query(self, query: str) -> QueryResult:
        """Run one SELECT of the user; QueryError if it is invalid."""
        try:
            cursor = self._cursor()
            statement = self._parse(cursor, query)
            if shows_tables(statement.tree):
                return self._show_tables()
            prepared = self._prepare_query(cursor, statement)
        except Error as error:
            raise query_error(error) from None
        return self._answer(prepared)

    def _cursor(self) -> Connection:
        """Return a connection for a query of the user."""
        return (self._isolated or self._store).cursor()

    def _answer(self, prepared: PreparedQuery) -> QueryResult:
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
            except (Error, _native.StreamError) as error:
                raise query_error(error) from None

        return QueryResult(prepared.names, kinds, rows, formed, first, working)

    def run_internal(
        self, query: str, reads: Mapping[str, Collection[str]], kinds: Kinds = None
    ) -> QueryResult:
        """Run one of zlens' own SELECTs, known to read these columns of these tables, without parsing it.

        `kinds` are the kinds of the events that it reads.
        """
        cursor = self._store.cursor()
        try:
            self._attach_tables(cursor, _with_intervals(query, reads), kinds)
            # Results with many columns take longer to bind than to compute, and a relation is bound twice.
            create = f'CREATE TEMP TABLE "answer#" AS {query}'
            interruptible(cursor, lambda: cursor.execute(create))
            return self._answer(PreparedQuery.bind(cursor, 'FROM temp."answer#"'))
        except Error as error:
            raise query_error(error) from None

    def run_together(
        self, queries: Sequence[str], over: Callable[[str], str] = str
    ) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each of zlens' own SELECTs with equal columns.

        One statement runs all except queries of roles and queries whose columns only a plan determines.
        `over` converts SQL of all their rows, with the query's number as column `#`, to SQL of other rows,
        which begin with this number.
        """
        reads: dict[str, set[str]] = {}
        kinds: list[Kinds] = []
        joined: dict[int, str] = {}
        try:
            cursor = self._store.cursor()
            statements = self._internal_statements(cursor, queries)
            for number, query in enumerate(queries):
                statement = statements[query] if query in statements else self._parse(cursor, query)
                named = self._named_tables(statement)
                if self._columns_named(statement) is None or any(name.startswith("role.") for name in named):
                    continue
                joined[number] = _numbered(number, query)
                for name, columns in self._reads(statement, named).items():
                    reads.setdefault(name, set()).update(columns)
                if "event" in named:
                    kinds.append(statement.survey.kinds)
        except Error as error:
            raise query_error(error) from None
        rows_by_query: list[list[tuple[Any, ...]]] = [[] for _ in queries]
        if joined:
            union = over("\nUNION ALL\n".join(joined.values()))
            for number, *row in self.run_internal(union, reads, _all_kinds(kinds)).rows:
                rows_by_query[number].append(tuple(row))
        for number in range(len(queries)):
            if number not in joined:
                rows = self.run_query(over(_numbered(number, queries[number]))).rows
                rows_by_query[number] = [tuple(row) for _, *row in rows]
        return rows_by_query

    def materialize_query(self, query: str, reads: Mapping[str, Collection[str]]) -> str:
        """Materialize the rows of one of zlens' own SELECTs; returns the table's name. reads: its columns."""

        def rows(cursor: Connection) -> str:
            self._attach_tables(cursor, _with_intervals(query, reads))
            return query

        try:
            return self._store.derive(query, rows)
        except Error as error:
            raise query_error(error) from None

    def _attach_tables(
        self, cursor: Connection, reads: Mapping[str, Collection[str]], kinds: Kinds = None
    ) -> None:
        """Make columns of tables readable for a cursor, whether or not they are materialized."""
        rows = {
            name: self._rows_of(cursor, name, {*columns}, None, kinds)
            for name, columns in sorted(reads.items())
        }
        for name, select in rows.items():
            if select is not None:
                cursor.execute(f"CREATE TEMP VIEW {expressions.quote(name)} AS {select}")

    def _show_tables(self) -> QueryResult:
        """Return the result of SHOW TABLES: described measures, raw tables of this input and roles."""
        rows: list[tuple[Any, ...]] = [
            (name, "measure", measures.load_measure(name).text) for name in measures.measure_names()
        ]
        rows += [(name, "raw", "") for name in self.raw_tables() if name not in measures.measure_names()]
        rows += [(f"role.{name}", "role", roles.entity(name).text) for name in roles.entities()]
        columns = ["table", "kind", "text"]
        table = _native.ArrowTable([(name, "text") for name in columns], rows)
        return QueryResult(columns, ["text"] * len(columns), lambda: rows, lambda _: table)

    def prepare_queries(self, queries: Iterable[str]) -> None:
        """Materialize the tables of several queries in one pass instead of extending them for each."""
        for _ in self.prepare_in_stages(queries):
            pass

    def prepare_in_stages(self, queries: Iterable[str]) -> Iterator[list[str]]:
        """Materialize like `prepare_queries`; yields queries when all their tables exist, cheapest first."""
        columns_by_table: dict[str, set[str]] = {}
        kinds: list[Kinds] = []
        readers: dict[str, list[int]] = {}
        reads: dict[str, set[str]] = {}
        invalid: list[str] = []
        try:
            cursor = self._store.cursor()
            statements = self._internal_statements(cursor, queries := [*dict.fromkeys(queries)])
            for query in queries:
                try:
                    statement = statements[query] if query in statements else self._parse(cursor, query)
                    named = self._reads(statement, self._named_tables(statement))
                except (Error, QueryError):
                    # Running the query reports its error.
                    invalid.append(query)
                    continue
                reads[query] = {*named}
                if "event" in named:
                    kinds.append(statement.survey.kinds)
                for name, columns in named.items():
                    columns_by_table.setdefault(name, set()).update(columns)
                    readers.setdefault(name, []).append(len(columns))

            def shared(name: str) -> bool:
                """Return whether several queries read enough of a measure to materialize it."""
                largest = max(readers[name])
                return name in measures.measure_names() and _SHARED_READS * (
                    sum(readers[name]) - largest
                ) > len(columns_by_table[name])

            to_materialize = {
                name for name in columns_by_table if not self._store.is_streamed(name) or shared(name)
            }
            stages = self._store.materialize_in_stages(
                columns_by_table, to_materialize, self._size_of, _all_kinds(kinds)
            )
            for name in chain([""], stages):
                ready = []
                for query, tables in [*reads.items()]:
                    tables.discard(name)
                    if not tables:
                        ready.append(query)
                        del reads[query]
                if ready:
                    yield ready
            if invalid:
                yield invalid
        except Error as error:
            raise query_error(error) from None

    def _size_of(self, table: str) -> int:
        """Return the bytes of the records of a raw table, 0 if unknown."""
        if self._sizes is None:
            self._sizes = self._record_bytes()
        return self._sizes.get(table.partition("_")[0], 0)

    def _parse(self, cursor: Connection, query: str) -> Statement:
        """Return a parsed statement, from the cache if it is recent."""
        if query not in self._statements:
            if len(self._statements) >= _STATEMENTS:
                self._statements.clear()
            self._statements[query] = parse(cursor, query, self._kept, self._store.is_table)
        return self._statements[query]

    def _internal_statements(self, cursor: Connection, queries: Sequence[str]) -> dict[str, Statement]:
        """Return zlens' own SELECTs that name all their columns, without trees, from one cache entry.

        Only the names come from the cache; whether a statement may run is never cached.
        """
        queries = [query for query in dict.fromkeys(queries) if query not in self._statements]
        if not queries:
            return {}
        surveys = self._kept.read("surveys", queries)
        if surveys is None:
            surveys = []
            for query in queries:
                try:
                    statement = self._parse(cursor, query)
                except (Error, QueryError):
                    surveys.append(None)
                else:
                    whole = statement.question == query and statement.survey.columns is not None
                    surveys.append(statement.survey.facts() if whole else None)
            self._kept.write(surveys, "surveys", queries)
        return {
            query: Statement(query, query, {}, StatementNames.from_facts(facts))
            for query, facts in zip(queries, surveys, strict=True)
            if facts is not None
        }

    def _named_tables(self, statement: Statement) -> set[str]:
        return {name for name in statement.survey.tables if self._store.column_names(name) is not None}

    def _reads(self, statement: Statement, named: set[str]) -> Mapping[str, set[str]]:
        """Return the columns that a statement reads of the tables it names."""
        columns = self._columns_named(statement)
        if columns is None:
            if statement.text not in self._planned:
                if len(self._planned) >= _STATEMENTS:
                    self._planned.clear()
                self._planned[statement.text] = self._planned_reads(statement, named)
            return self._planned[statement.text]
        return {name: columns.intersection(self._store.column_names(name) or ()) for name in named}

    def _columns_named(self, statement: Statement) -> set[str] | None:
        """Return the columns that a statement names; None if it does not name them all."""
        for name, tables in statement.survey.rows.items():
            for table in tables:
                columns = self._store.column_names(table)
                if columns is not None and name not in columns:
                    return None
        return statement.survey.columns

    def _planned_reads(self, statement: Statement, named: set[str]) -> Mapping[str, set[str]]:
        """Return the columns that a statement reads, from a plan in a separate database."""
        depends = ("reads", statement.question, {name: self._store.columns(name) for name in sorted(named)})
        reads: Mapping[str, Iterable[str]] | None = self._kept.read(*depends)
        if reads is None:
            reads = self._planner.reads(statement, named)
            self._kept.write({name: sorted(columns) for name, columns in reads.items()}, *depends)
        return {name: {*reads.get(name, ())} for name in named}

    def _prepare_query(self, cursor: Connection, statement: Statement) -> PreparedQuery:
        """Return the query, not computed yet, on the connection that will compute it."""
        named = self._named_tables(statement)
        if not named and statement.survey.listing:
            # Everything that can be queried, whether or not it is materialized.
            cursor = self._planner.catalog(
                [
                    *measures.measure_names(),
                    *self.raw_tables(),
                    *(f"role.{name}" for name in roles.entities()),
                ]
            )
        depends = self._schema_dependencies(statement, named)
        shape = self._kept.read(*depends) if depends is not None else None
        working = Connections(cursor)
        text, rows = self._prepare(cursor, statement, named, working)
        if shape is not None:
            cursor.execute(_ALONE)
            names, types = shape
            return PreparedQuery(cursor, text, names, types, rows=rows, working=working)
        for name, select in rows.items():
            cursor.execute(f"CREATE TEMP VIEW {expressions.quote(name)} AS {select}")
        cursor.execute(_ALONE)
        # An EXPLAIN ANALYZE is executed here.
        prepared = PreparedQuery.bind(cursor, text, working)
        if depends is not None:
            self._kept.write([prepared.names, prepared.types], *depends)
        return prepared

    def _schema_dependencies(self, statement: Statement, named: set[str]) -> list[Any] | None:
        """Return everything that names and types of a result depend on; None if they may depend on rows."""
        fixed = self._columns_named(statement) is not None and statement.text == statement.question
        # A statement with a semicolon cannot be put in parentheses.
        if not fixed or ";" in statement.text or any(self._store.compiler.is_helper(name) for name in named):
            return None
        for name in named - self._digests.keys():
            self._digests[name] = digest(self._store.columns(name))
        return ["shape", statement.text, {name: self._digests[name] for name in sorted(named)}]

    def write_parquet(self, query: str, path: str) -> None:
        """Write a result as a Parquet file (zstd), through a file next to it that is renamed at the end."""
        try:
            cursor = self._cursor()
            asked = self._prepare_query(cursor, self._parse(cursor, query))
            write_parquet(ResultStream(asked.relation(export_value_sql)), path)
        except Error as error:
            raise query_error(error) from None

    def request_columns(self, name: str, columns: Iterable[str]) -> None:
        """Announce columns of a measure, so that it is computed once with all of them."""
        self._store.announce(name, {*columns})

    def materialize_measure(self, name: str, columns: Iterable[str]) -> str:
        """Materialize some columns of a lazy measure for several queries; returns the table's name."""
        existing = {column for column, _ in self._store.columns(name) or ()}
        try:
            self._store.materialize(name, existing & {*columns})
        except Error as error:
            raise query_error(error) from None
        return name

    # -- reading -------------------------------------------------------------------------------------

    def _prepare(
        self, cursor: Connection, statement: Statement, named: set[str], working: Connections
    ) -> tuple[str, dict[str, str]]:
        """Return a statement's text as it runs on a cursor, and the rows of tables not materialized."""
        all_columns = self._columns_named(statement) is None
        rows = {}
        for name, wanted in sorted(self._reads(statement, named).items()):
            check_canceled()
            typed = self._store.columns(name) if all_columns else None
            if self._isolated is None:
                select = self._rows_of(cursor, name, wanted, typed, statement.survey.kinds)
            else:
                select = self._isolated_rows_of(
                    self._isolated, cursor, name, wanted, typed, statement, working
                )
            if select is not None:
                rows[name] = select
        if self._isolated is not None:
            for name in statement.survey.tables - named:
                if self._store.is_derived(name):
                    self._isolated.copy_whole(name)
        renamed = {name: name for name in named if name.startswith("role.")}
        if not renamed:
            return statement.text, rows
        # Roles are tables of this query only, which no schema can contain.
        text = self._kept.read("renamed", statement.question)
        if not isinstance(text, str):
            tree = json.loads(json.dumps(statement.tree))
            rename(tree, renamed)
            text = self._store.render_tree(tree)
            self._kept.write(text, "renamed", statement.question)
        return statement.text[: len(statement.text) - len(statement.question)] + text, rows

    def _rows_of(
        self,
        cursor: Connection,
        name: str,
        wanted: set[str],
        typed: list[tuple[str, str]] | None,
        kinds: Kinds = None,
    ) -> str | None:
        """Return the SQL of a table's rows, or None if the table is materialized.

        With `typed` it has all its columns, with NULL for those not requested. `kinds` limits events.
        """
        if not self._store.is_streamed(name):
            self._store.materialize(name, wanted)
        if self._store.has_columns(name, wanted if typed is None else [column for column, _ in typed]):
            return None
        if self._store.has_columns(name, wanted):
            # The table itself, not the view with its name for this query.
            return self._fill_columns(f"memory.main.{expressions.quote(name)}", wanted, typed or [])
        if self._store.is_raw(name):
            return self._store.rows(cursor, name, wanted, fill=typed is not None)
        select = self._store.rows(cursor, name, wanted, kinds=kinds)
        return select if typed is None else self._fill_columns(f"({select})", wanted, typed)

    def _isolated_rows_of(
        self,
        isolated: IsolatedTables,
        cursor: Connection,
        name: str,
        wanted: set[str],
        typed: list[tuple[str, str]] | None,
        statement: Statement,
        working: Connections,
    ) -> str | None:
        """Return SQL of a table's rows for a cursor of the isolated database; None if the table is copied."""
        if not self._store.is_streamed(name):
            self._store.materialize(name, wanted)
        if self._store.has_columns(name, wanted):
            isolated.copy(name, wanted)
            if isolated.has(name, wanted if typed is None else [column for column, _ in typed]):
                return None
            return self._fill_columns(f"memory.main.{expressions.quote(name)}", wanted, typed or [])
        types = [column for column in self._store.columns(name) or () if column[0] in wanted]
        condition = condition_on(statement.tree, name, wanted)
        kinds = statement.survey.kinds

        def rows(source: Connection) -> str:
            select = self._rows_of(source, name, wanted, None, kinds)
            if select is None:
                select = f"FROM memory.main.{expressions.quote(name)}"
            selected = ", ".join(
                f"CAST({expressions.quote(column)} AS {type}) AS {expressions.quote(column)}"
                for column, type in types
            )
            where = "" if condition is None else f" WHERE {condition}"
            return f"SELECT {selected or '1::BIGINT AS one'} FROM ({select}){where}"

        # Verify files and materialize the tables that these rows read before the engine reads.
        rows(self._store.cursor())
        select = isolated.register(cursor, working, name, types or [("one", "BIGINT")], rows)
        return select if typed is None else self._fill_columns(f"({select})", wanted, typed)

    @staticmethod
    def _fill_columns(rows: str, wanted: set[str], typed: list[tuple[str, str]]) -> str:
        columns = (
            expressions.quote(column) if column in wanted else f"NULL::{type} AS {expressions.quote(column)}"
            for column, type in typed
        )
        return f"SELECT {', '.join(columns)} FROM {rows}"


def _all_kinds(kinds: Sequence[Kinds]) -> Kinds:
    """Return the kinds of events that several statements read; None for all."""
    limited = [selected for selected in kinds if selected is not None]
    return {*chain.from_iterable(limited)} if len(limited) == len(kinds) else None


def _with_intervals(query: str, reads: Mapping[str, Collection[str]]) -> Mapping[str, Collection[str]]:
    """Return the columns that one of zlens' own SELECTs reads, with intervals for sums over subjects."""
    if aggregation.OF_INTERVAL not in query:
        return reads
    return {**reads, "interval": {*aggregation.INTERVAL_READS, *reads.get("interval", ())}}


def _numbered(number: int, query: str) -> str:
    """Return SQL of a query's rows with its number."""
    return f'SELECT {number} AS "#", * FROM (\n{query}\n)'
