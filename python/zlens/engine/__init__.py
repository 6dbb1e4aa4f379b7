"""The SQL engine: questions of users and of reports over raw tables, roles and measures.

A statement is planned once: which columns of which tables it reads is told by their names in it, or, where it
has a star or the like, by a plan over empty tables. Measures are compiled from the catalog with just these
columns (catalog/compile), and raw tables are streamed with just the columns that those read. What was made
stays made.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any

from zlens import _native
from zlens.answers import Answer, cut, first_rows, leaving, plain, type_name, with_times
from zlens.cancelling import check, interruptible
from zlens.catalog import expressions, metrics, roles
from zlens.catalog.compile.plan import Input
from zlens.catalog.compile.tree import rename
from zlens.catalog.cpumf_formulas import SURE, Trust
from zlens.catalog.groups import Groups
from zlens.engine.admission import shows_tables
from zlens.engine.connection import Connection, Error, Relation, connect, write_parquet
from zlens.engine.planner import Planner
from zlens.engine.statement import Statement, parse
from zlens.engine.store import Condition, Store
from zlens.engine_errors import query_error
from zlens.errors import QueryError
from zlens.readers import RawTable

#: So many statements are remembered as they were parsed and planned.
_STATEMENTS = 500


class Engine:
    """Answers SQL over the raw tables of some sources.

    tables     raw tables by name; several of one name are rows of one table
    session    tables that are of no record: intervals, systems, problems
    where      gives the condition on a raw table with some columns: SQL of ours and the columns it names
    summed     the intervals are buckets of --every
    releases   systems by release, for roles that hold for some levels only
    files      Parquet files that tables stand in; no other file can be read
    trust      formulas of CPU MF that the user wants beyond those that are known well
    groups     subjects that the user wants to see together
    published  round as published tables do, where a column has a formula for that
    """

    def __init__(
        self,
        tables: Mapping[str, list[RawTable]],
        session: Mapping[str, RawTable] | None = None,
        *,
        where: Condition | None = None,
        summed: bool = False,
        releases: Mapping[str | None, list[str]] | None = None,
        files: Sequence[str] = (),
        trust: Trust = SURE,
        groups: Groups | None = None,
        published: bool = False,
    ) -> None:
        self._tables = tables
        self._session = session or {}
        self._closed = False
        self._spill = tempfile.mkdtemp(prefix="zlens-")
        # Also when nobody closes the engine: at the latest when the program ends.
        self._forget = weakref.finalize(self, shutil.rmtree, self._spill, ignore_errors=True)
        self._connection = connect(self._spill, files)
        self._connection.execute("SET lock_configuration = true")

        def facts(raw: Mapping[str, Collection[str]]) -> Input:
            own = {name: [(c.name, c.type) for c in table.columns] for name, table in self._session.items()}
            return Input(raw, own, dict(releases or {}), summed, trust, groups, published)

        self._store = Store(self._connection, tables, self._session, where or (lambda _: None), facts)
        self._planner = Planner(self._store.columns)
        self._statements: dict[str, Statement] = {}
        self._planned: dict[str, Mapping[str, set[str]]] = {}

    def close(self) -> None:
        self._closed = True
        self._planner.close()
        self._connection.close()
        self._forget()

    # -- what there is -------------------------------------------------------------------------------

    def raw_tables(self) -> list[str]:
        """Names of the raw tables of the input, private ones left out."""
        return sorted(name for name in {*self._tables, *self._session} if not name.startswith("_"))

    def raw_columns(self, name: str) -> list[tuple[str, str]]:
        """Names and types of a raw table's columns over all its parts."""
        if name in self._session:
            return [(column.name, column.type) for column in self._session[name].columns]
        return list(self._store.raw_columns(name).items())

    def fills(self, name: str, tables: Container[str] | None = None) -> bool:
        """Whether the input, or these raw tables, have any that a measure or role (role.entity) reads."""
        return self._store.compiler.fills(name, tables)

    def rows(self, name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """Rows of a helper: what zlens itself asks, and no user."""
        cursor = self._store.cursor()
        try:
            select = self._store.ready(cursor, self._store.compiler.plan(name, columns))
            shown = ", ".join(map(expressions.quote, columns))
            return interruptible(cursor, lambda: cursor.execute(f"SELECT {shown} FROM ({select})").fetchall())
        except Error as error:
            raise query_error(error) from None

    def unselected(self, names: Sequence[str], columns: Sequence[str], query: str) -> list[tuple[Any, ...]]:
        """Rows of a query of ours over `records`: raw tables one behind the other, with all their rows."""
        cursor = self._store.cursor()
        parts = [self._store.raw_rows(cursor, name, columns, fill=False, selected=False) for name in names]
        shown = ", ".join(map(expressions.quote, columns))
        union = " UNION ALL ".join(f"SELECT {shown} FROM ({part})" for part in parts)
        text = f"WITH records AS ({union}) {query}"
        return interruptible(cursor, lambda: cursor.execute(text).fetchall())

    # -- asking --------------------------------------------------------------------------------------

    def ask(self, query: str) -> Answer:
        """Run one SELECT of the user; QueryError when it is wrong."""
        try:
            cursor = self._store.cursor()
            statement = self._parsed(cursor, query)
            if shows_tables(statement.tree):
                return self._listing()
            connection, relation = self._relation(cursor, statement)
        except Error as error:
            raise query_error(error) from None
        names, types = list(relation.columns), [str(type) for type in relation.types]
        kinds = [type_name(type) for type in types]
        times = [index for index, kind in enumerate(kinds) if kind == "time"]

        def formed(form: Callable[[str, str], str]) -> Relation:
            if self._closed:
                raise QueryError("the session is closed", cure="take the rows of an answer before that")
            return _projected(relation, names, types, form)

        def rows() -> list[tuple[Any, ...]]:
            shown = formed(plain)
            try:
                found = interruptible(connection, shown.fetchall)
            except Error as error:
                raise query_error(error) from None
            return [with_times(row, times) for row in found] if times else found

        def first(count: int, longest: int, most: int) -> tuple[list[tuple[Any, ...]], bool]:
            if self._closed:
                raise QueryError("the session is closed", cure="take the rows of an answer before that")
            try:
                shown = _projected(relation, names, types, cut(longest))
                return first_rows(connection, shown, count, most, times)
            except Error as error:
                raise query_error(error) from None

        def working(work: Callable[[], Any]) -> Any:
            try:
                return interruptible(connection, work)
            except (Error, _native.StreamError) as error:
                raise query_error(error) from None

        return Answer(names, kinds, rows, formed, first, working)

    def _listing(self) -> Answer:
        """The answer to SHOW TABLES: measures, raw tables of this input and roles, and what they hold."""
        rows: list[tuple[Any, ...]] = [
            (name, "measure", metrics.table(name).text) for name in metrics.tables()
        ]
        rows += [(name, "raw", "") for name in self.raw_tables() if name not in metrics.tables()]
        rows += [(f"role.{name}", "role", roles.entity(name).text) for name in roles.entities()]
        columns = ["table", "kind", "text"]
        table = _native.ArrowTable([(name, "text") for name in columns], rows)
        return Answer(columns, ["text"] * len(columns), lambda: rows, lambda _: table)

    def expect(self, queries: Iterable[str]) -> None:
        """Make what several questions will read at once, rather than extend it from one to the next."""
        wanted: dict[str, set[str]] = {}
        readers: Counter[str] = Counter()
        try:
            cursor = self._store.cursor()
            for query in queries:
                statement = self._parsed(cursor, query)
                for name, columns in self._reads(statement, self._named(statement)).items():
                    wanted.setdefault(name, set()).update(columns)
                    readers[name] += 1
            for name, columns in wanted.items():
                check()
                # What is worked out for every question is kept where there will be several.
                if not self._store.streams(name) or (name in metrics.tables() and readers[name] > 1):
                    self._store.make(name, columns)
        except Error as error:
            raise query_error(error) from None

    def _parsed(self, cursor: Connection, query: str) -> Statement:
        """A statement as it was parsed before, of the last some hundreds."""
        if query not in self._statements:
            if len(self._statements) >= _STATEMENTS:
                self._statements.clear()
            self._statements[query] = parse(cursor, query)
        return self._statements[query]

    def _named(self, statement: Statement) -> set[str]:
        return {name for name in statement.survey.tables if self._store.columns(name) is not None}

    def _reads(self, statement: Statement, named: set[str]) -> Mapping[str, set[str]]:
        """The columns that a statement reads of the tables it names."""
        columns = statement.survey.columns
        if columns is None:
            if statement.text not in self._planned:
                if len(self._planned) >= _STATEMENTS:
                    self._planned.clear()
                found = self._planner.reads(statement, named)
                self._planned[statement.text] = {name: found.get(name, set()) for name in named}
            return self._planned[statement.text]
        return {name: columns & {column for column, _ in self._store.columns(name) or ()} for name in named}

    def _relation(self, cursor: Connection, statement: Statement) -> tuple[Connection, Relation]:
        """The answer, not worked out yet, and the connection it will be worked out on."""
        named = self._named(statement)
        if not named and statement.survey.listing:
            # All that could be asked for, whether or not it is made already.
            cursor = self._planner.catalog(
                [*metrics.tables(), *self.raw_tables(), *(f"role.{name}" for name in roles.entities())]
            )
        text = self._prepare(cursor, statement, named)
        # Nothing that a question brings about lasts, whatever it holds.
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        # An EXPLAIN ANALYZE is worked out here.
        return cursor, interruptible(cursor, lambda: cursor.sql(text))

    def write_parquet(self, query: str, path: str) -> None:
        """Write an answer as a Parquet file (zstd), through a file beside it that is renamed at the end."""
        try:
            cursor = self._store.cursor()
            _, relation = self._relation(cursor, self._parsed(cursor, query))
            relation = _projected(relation, list(relation.columns), list(map(str, relation.types)), leaving)
            write_parquet(relation, path)
        except Error as error:
            raise query_error(error) from None

    def keep(self, name: str, columns: Iterable[str]) -> str:
        """Work out some columns of a lazy measure once for several questions; the table that has them."""
        known = {column for column, _ in self._store.columns(name) or ()}
        try:
            self._store.make(name, known & {*columns})
        except Error as error:
            raise query_error(error) from None
        return name

    # -- what a statement reads ----------------------------------------------------------------------

    def _prepare(self, cursor: Connection, statement: Statement, named: set[str]) -> str:
        """Have the tables that a statement reads ready on a cursor; its text as it is to be run."""
        whole = statement.survey.columns is None
        for name, wanted in sorted(self._reads(statement, named).items()):
            check()
            self._place(cursor, name, wanted, self._store.columns(name) if whole else None)
        renamed = {name: name for name in named if name.startswith("role.")}
        if not renamed:
            return statement.text
        # Roles are tables of this question alone, which no schema can hold.
        tree = json.loads(json.dumps(statement.tree))
        rename(tree, renamed)
        text = self._store.rendered(tree)
        return statement.text[: len(statement.text) - len(statement.question)] + text

    def _place(
        self, cursor: Connection, name: str, wanted: set[str], typed: list[tuple[str, str]] | None
    ) -> None:
        """Have one table ready; with `typed` under all its columns, those not wanted as NULL."""
        if not self._store.streams(name):
            self._store.make(name, wanted)
        if self._store.has(name, wanted if typed is None else [column for column, _ in typed]):
            return
        if self._store.has(name, wanted):
            select = self._filled(expressions.quote(name), wanted, typed or [])
            # Not the view itself, but the table of the engine that has its name.
            select = select.replace("FROM ", "FROM memory.main.", 1)
        elif self._store.is_raw(name):
            select = self._store.raw_rows(cursor, name, wanted, fill=typed is not None)
        else:
            plan = self._store.compiler.plan(name, wanted)
            select = self._store.ready(cursor, plan)
            if typed is not None:
                select = self._filled(f"({select})", wanted, typed)
        cursor.execute(f"CREATE TEMP VIEW {expressions.quote(name)} AS {select}")

    @staticmethod
    def _filled(rows: str, wanted: set[str], typed: list[tuple[str, str]]) -> str:
        columns = (
            expressions.quote(column)
            if column in wanted
            else f"CAST(NULL AS {type}) AS {expressions.quote(column)}"
            for column, type in typed
        )
        return f"SELECT {', '.join(columns)} FROM {rows}"


def _projected(
    relation: Relation, names: list[str], types: list[str], form: Callable[[str, str], str]
) -> Relation:
    """A relation whose columns have the form that `form` gives for a place and a type."""
    # By position: a projection by name cannot tell two columns of one name apart.
    forms = [form(f"#{number}", type) for number, type in enumerate(types, 1)]
    if all(one == f"#{number}" for number, one in enumerate(forms, 1)):
        return relation
    named = (f"{one} AS {expressions.quote(name)}" for one, name in zip(forms, names, strict=True))
    return relation.project(", ".join(named))
