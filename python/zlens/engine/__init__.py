"""The SQL engine: raw tables as streams, roles and measures over them.

Every statement is planned twice. First on empty typed tables, to learn which columns of which raw tables
it needs; then streams narrowed to those are registered and it runs. A raw table's view gives the other
columns as NULL, so that a statement and the views it goes through bind the same both times.

Measures are materialised when they are first asked for: windows and joins over the raw data are paid once.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from zlens import _native, measures
from zlens.answers import Answer, cut, first_rows, leaving, plain, type_name, with_times
from zlens.cancelling import check, held, interruptible, once
from zlens.catalog import events, expressions, groups, metrics, roles
from zlens.catalog.columns import FIXED
from zlens.catalog.cpumf_formulas import SURE, Trust
from zlens.catalog.groups import Groups
from zlens.engine.connection import Connection, Error, Relation, connect, write_parquet
from zlens.engine.statement import parse
from zlens.engine_errors import query_error
from zlens.errors import QueryError
from zlens.macros import MACROS
from zlens.readers import Column, ParquetTable, RawTable

_TYPES = roles.SQL_TYPES
_WORD = re.compile(r"(?:role\.)?[A-Za-z_][A-Za-z0-9_]*", re.IGNORECASE)
_FROM = re.compile(r"\b(?:FROM|JOIN)\s+((?:role\.)?[A-Za-z_][A-Za-z0-9_]*)")
_HELPED = re.compile(r"\b(?:FROM|JOIN) _[a-z]")
_PARTITION_BY = re.compile(r"\bpartition\s+by\b", re.IGNORECASE)
_SHOW_TABLES = re.compile(r"\s*show\s+(all\s+)?tables\s*;?\s*", re.IGNORECASE)
#: Words of statements that list tables: they need to see all of them.
_LISTINGS = frozenset({"show", "information_schema", "duckdb_tables", "duckdb_columns", "duckdb_views"})


class Engine:
    """Answers SQL over the raw tables of some sources.

    tables     raw tables by name; several of one name are rows of one table
    where      gives the condition on a raw table with some columns (SQL of ours), or None
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
        *,
        where: Callable[[Iterable[Column]], str | None] | None = None,
        summed: bool = False,
        releases: Mapping[str | None, list[str]] | None = None,
        files: Sequence[str] = (),
        trust: Trust = SURE,
        groups: Groups | None = None,
        published: bool = False,
    ) -> None:
        self._tables = tables
        self._trust = trust
        self._groups = groups
        self._published = published
        self._condition = where or (lambda _: None)
        self._where: dict[str, str] = {}
        self._lasting: dict[str, str] = {}
        self._summed = summed
        self._closed = False
        # Questions come from many threads. This is held for short steps; making a measure holds its own.
        self._lock = threading.RLock()
        self._making: dict[str, threading.RLock] = {}
        self._releases = dict(releases or {})
        self._spill = tempfile.mkdtemp(prefix="zlens-")
        # Also when nobody closes the engine: at the latest when the program ends.
        self._forget = weakref.finalize(self, shutil.rmtree, self._spill, ignore_errors=True)
        self._connection = connect(self._spill, files)
        self._plan = connect(None)
        # Filters stay above the scans and empty tables stay scans, so that the plan shows all columns needed.
        self._plan.execute(
            "SET disabled_optimizers = 'statistics_propagation,filter_pushdown,empty_result_pullup'"
        )
        for connection in (self._connection, self._plan):
            connection.execute("CREATE SCHEMA role")
            connection.execute("CREATE SCHEMA unsummed")
            for macro in MACROS:
                connection.execute(macro)
            connection.execute("SET lock_configuration = true")
        self._views: set[str] = set()
        self._made: set[str] = set()
        self._kept: dict[str, tuple[str, set[str]]] = {}
        self._held: set[str] = set()
        self._columns: dict[str, list[tuple[str, str]]] = {}

    def close(self) -> None:
        self._closed = True
        self._connection.close()
        self._plan.close()
        self._forget()

    # -- what there is -------------------------------------------------------------------------------

    def raw_tables(self) -> list[str]:
        """Names of the raw tables of the input, private ones left out."""
        return sorted(name for name in self._tables if not name.startswith("_"))

    def raw_columns(self, name: str) -> list[tuple[str, str]]:
        """Names and types of a raw table's columns over all its parts."""
        if name not in self._columns:
            merged: dict[str, str] = {}
            for part in self._tables[name]:
                for column in part.columns:
                    merged.setdefault(column.name, column.type)
            self._columns[name] = list(merged.items())
        return self._columns[name]

    # -- asking --------------------------------------------------------------------------------------

    def ask(self, query: str) -> Answer:
        """Run one SELECT of the user; QueryError when it is wrong."""
        if _SHOW_TABLES.fullmatch(query):
            return self._listing()
        connection, relation = self._relation(query)
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

    def _relation(self, query: str) -> tuple[Connection, Relation]:
        """The answer, not worked out yet, and the connection it will be worked out on."""
        try:
            with held(self._lock):
                statement = parse(self._plan, query)
            self._prepare(query)
            # Of an EXPLAIN what is explained is planned, so that it shows what would be read.
            connection = self._ready(self._needs(statement.question))
            # Nothing that a question brings about lasts, whatever it holds.
            connection.execute("BEGIN TRANSACTION READ ONLY")
            # An EXPLAIN ANALYZE is worked out here.
            return connection, interruptible(connection, lambda: connection.sql(query))
        except Error as error:
            raise query_error(error) from None

    def write_parquet(self, query: str, path: str) -> None:
        """Write an answer as a Parquet file (zstd), through a file beside it that is renamed at the end."""
        _, relation = self._relation(query)
        relation = _projected(relation, list(relation.columns), list(map(str, relation.types)), leaving)
        try:
            write_parquet(relation, path)
        except Error as error:
            raise query_error(error) from None

    # -- making what a statement names ---------------------------------------------------------------

    def _prepare(self, query: str) -> None:
        """Make every table and view that a statement of the user may mean: all names in it that are ours."""
        words = {word.lower() for word in _WORD.findall(_PARTITION_BY.sub(" ", query))}
        if words & _LISTINGS:
            words |= {*metrics.tables(), *self.raw_tables(), *(f"role.{name}" for name in roles.entities())}
        self._make(words)

    def _prepare_own(self, sql: str) -> None:
        """Make what a statement of ours reads: the names behind FROM and JOIN."""
        self._make({name.lower() for name in _FROM.findall(sql)})

    def _make(self, names: set[str]) -> None:
        for name in sorted(names):
            check()
            if name.startswith("role."):
                if name[5:] in roles.entities():
                    self._role_view(name[5:])
            elif name in self._tables:
                self._raw_view(name)
            elif name in measures.helpers():
                self._helper_view(name)
            elif name in metrics.tables():
                self._measure(name)

    def _both(self, statement: str) -> None:
        with held(self._lock):
            self._plan.execute(statement)
            self._connection.execute(statement)

    def _raw_view(self, name: str) -> None:
        """A raw table: empty on the planning side, a view without rows until a statement needs it."""
        with held(self._lock):
            if name not in self._views:
                self._views.add(name)
                self._make_raw_view(name)

    def _make_raw_view(self, name: str) -> None:
        condition = None if name.startswith("_") else self._condition(self._tables[name][0].columns)
        if condition:
            self._where[name] = condition
            if "_interval" in condition:
                self._raw_view("_interval")
        typed = ", ".join(
            f"{expressions.quote(column)} {_TYPES[type]}" for column, type in self.raw_columns(name)
        )
        self._plan.execute(f"CREATE TABLE {expressions.quote(self._behind(name))} ({typed})")
        if name in self._where:
            self._plan.execute(
                f"CREATE VIEW {expressions.quote(name)} AS "
                f"SELECT * FROM {expressions.quote(self._behind(name))} WHERE {self._where[name]}"
            )
        self._connection.execute(self._view_over_parts(name, set(), []))

    def _whole_view(self, name: str) -> None:
        """A raw table of states, of all times: what holds may have been told before the times asked for."""
        with held(self._lock):
            self._raw_view(name)
            if name not in self._lasting:
                self._make_whole_view(name)

    def _make_whole_view(self, name: str) -> None:
        timeless = [column for column in self._tables[name][0].columns if column.name != "interval_end"]
        self._lasting[name] = self._condition(timeless) or "true"
        self._plan.execute(
            f"CREATE VIEW {expressions.quote(name + roles.WHOLE)} AS "
            f"SELECT * FROM {expressions.quote(self._behind(name))} WHERE {self._lasting[name]}"
        )
        self._connection.execute(self._view_over_parts(name, set(), [], whole=True))

    def _behind(self, name: str) -> str:
        """The planning side's name of the table behind a raw table's view."""
        return f"{name}#all" if name in self._where else name

    def _view_over_parts(
        self,
        name: str,
        needed: set[str],
        parts: list[tuple[str, set[str]]],
        *,
        temporary: bool = False,
        whole: bool = False,
    ) -> str:
        """CREATE VIEW of a raw table over its parts: needed columns from them, the others NULL.

        `whole`: with the rows of all times, for states that last.
        """
        selects = []
        for part, there in parts or [("", set())]:
            columns = ", ".join(
                (
                    expressions.quote(column)
                    if column in needed and column in there
                    else f"CAST(NULL AS {_TYPES[type]}) AS {expressions.quote(column)}"
                )
                for column, type in self.raw_columns(name)
            )
            selects.append(f"SELECT {columns} " + (f"FROM {part}" if part else "WHERE false"))
        union = " UNION ALL ".join(selects)
        where = self._lasting.get(name) if whole else self._where.get(name)
        if where:
            union = f"SELECT * FROM ({union}) WHERE {where}"
        if whole:
            name += roles.WHOLE
        kind = "TEMP VIEW" if temporary else "VIEW"
        return f"CREATE {kind} {expressions.quote(name)} AS {union}"

    def _role_view(self, name: str, *, summed: bool | None = None) -> None:
        summed = self._summed if summed is None else summed
        schema = "role" if summed == self._summed else "unsummed"
        with held(self._lock):
            if f"{schema}.{name}" not in self._views:
                self._views.add(f"{schema}.{name}")
                self._make_role_view(name, schema, summed)

    def _make_role_view(self, name: str, schema: str, summed: bool) -> None:
        self._raw_view("_interval")
        tables: dict[str, frozenset[str]] = {}
        what = roles.entity(name)
        for table in (table for origin in what.origins for table in roles.read(origin)):
            if table in self._tables:
                columns = frozenset(column for column, _ in self.raw_columns(table))
                if columns == frozenset(FIXED):
                    # A record of which nothing is known but that it was written.
                    continue
                (self._whole_view if what.lasting else self._raw_view)(table)
                tables[table] = columns
        rows = roles.view_sql(name, tables, self._releases)
        if what.lasting:
            sql = rows
        else:
            sql = roles.summed_sql(name, rows) if summed else roles.selected_sql(name, rows)
        self._both(f"CREATE VIEW {schema}.{expressions.quote(name)} AS {sql}")

    def _helper_view(self, name: str) -> None:
        if name in self._views:
            return
        sql = measures.helper_sql(name)
        self._prepare_own(sql)
        with held(self._lock):
            if name not in self._views:
                self._views.add(name)
                self._both(f"CREATE VIEW {expressions.quote(name)} AS {sql}")

    def _measure(self, name: str) -> None:
        """Materialise a measure; with --every also percentiles of its gauges over the unsummed intervals.

        A lazy one stays a view, unless --every makes few rows of many.
        """
        with held(self._making.setdefault(name, threading.RLock())):
            if name not in self._made:
                with once(self._made, name):
                    self._materialise(name)

    def _materialise(self, name: str) -> None:
        if name == "event":
            tables = {event["table"] for event in events.events() if event["table"] in self._tables}
            for table in sorted(tables | {"_reset"}):
                self._raw_view(table)
            sql = events.sql({t: frozenset(c for c, _ in self.raw_columns(t)) for t in tables})
        else:
            sql = groups.sql(
                name, measures.measure_sql(name, self._trust, published=self._published), self._groups
            )
            self._prepare_own(sql)
        gauges = [column.name for column in metrics.table(name).columns if column.aggregate == "gauge"]
        if self._summed and gauges and ("role." in sql or _HELPED.search(sql)):
            sql = self._with_percentiles(name, sql, gauges)
        if metrics.table(name).lazy and not self._summed:
            with held(self._lock):
                self._both(f"CREATE OR REPLACE VIEW {expressions.quote(name)} AS {sql}")
                self._comment(name, "VIEW")
            return
        first = ("system", "source", "interval_end", "time")
        order: list[str] = [column for column in first if column in dict(measures.columns(name))]
        order += [key for key in metrics.table(name).key if key not in order]
        ordered = f"SELECT * FROM ({sql}) ORDER BY {', '.join(map(expressions.quote, order))}"
        connection = self._ready(self._needs(ordered))
        create = f"CREATE OR REPLACE TABLE {expressions.quote(name)} AS {ordered}"
        interruptible(connection, lambda: connection.execute(create))
        with held(self._lock):
            made = self._connection.table(expressions.quote(name))
            pairs = zip(made.columns, made.types, strict=True)
            typed = ", ".join(f"{expressions.quote(c)} {t}" for c, t in pairs)
            self._plan.execute(f"CREATE OR REPLACE TABLE {expressions.quote(name)} ({typed})")
            self._comment(name)
            self._held |= {name, expressions.quote(name)}

    def fills(self, name: str) -> bool:
        """Whether the input has any table that a measure or a role (role.entity) is made from."""
        return measures.filled(name, self._tables)

    def keep(self, name: str, columns: Iterable[str]) -> str:
        """Work out some columns of a lazy measure once for several questions; the table that has them."""
        if not metrics.table(name).lazy or self._summed:
            return name
        wanted = sorted({*columns} & {column for column, _ in measures.columns(name)})
        with held(self._making.setdefault(f"kept {name}", threading.RLock())):
            known = (made for made, (of, has) in [*self._kept.items()] if of == name and has >= set(wanted))
            return next(known, None) or self._keep(name, wanted)

    def _keep(self, name: str, wanted: list[str]) -> str:
        kept = f"_kept_{name}_{sum(of == name for of, _ in [*self._kept.values()])}"
        self._measure(name)
        sql = f"SELECT {', '.join(map(expressions.quote, wanted))} FROM {expressions.quote(name)}"
        connection = self._ready(self._needs(sql))
        create = f"CREATE OR REPLACE TABLE {kept} AS {sql}"
        interruptible(connection, lambda: connection.execute(create))
        types = dict(measures.columns(name))
        typed = ", ".join(f"{expressions.quote(column)} {_TYPES[types[column]]}" for column in wanted)
        with held(self._lock):
            self._plan.execute(f"CREATE OR REPLACE TABLE {kept} ({typed})")
            self._held.add(kept)
        self._kept[kept] = (name, set(wanted))
        return kept

    def _comment(self, name: str, kind: str = "TABLE") -> None:
        """Give a measure and its columns the catalog's words, for DESCRIBE and other clients."""
        table = metrics.table(name)
        quoted = expressions.quote(name)
        self._connection.execute(f"COMMENT ON {kind} {quoted} IS {expressions.literal(table.text)}")
        for column in table.columns:
            text = f"{column.text} [{column.unit}]" if column.unit else column.text
            self._connection.execute(
                f"COMMENT ON COLUMN {quoted}.{expressions.quote(column.name)} IS {expressions.literal(text)}"
            )

    def _with_percentiles(self, name: str, sql: str, gauges: list[str]) -> str:
        for entity in roles.entities():
            if f"role.{entity}" in sql or any(
                f"role.{entity}" in measures.helper_sql(h) for h in measures.helpers()
            ):
                self._role_view(entity, summed=False)
        return measures.percentiles_sql(name, sql, self._unsummed(sql), gauges)

    def _unsummed(self, sql: str) -> str:
        """The same SELECT over the intervals as they are, and so the helpers it reads."""
        sql = sql.replace("role.", "unsummed.")
        for helper in measures.helpers():
            named = re.compile(rf"\b(FROM|JOIN) {helper}\b")
            if named.search(sql):
                text = self._unsummed(measures.helper_sql(helper))
                self._both(f"CREATE OR REPLACE VIEW unsummed.{helper} AS {text}")
                sql = named.sub(rf"\1 unsummed.{helper}", sql)
        return sql

    # -- streams -------------------------------------------------------------------------------------

    def _needs(self, query: str) -> dict[str, set[str]]:
        """Which columns of which raw tables a statement reads, from its plan over empty tables."""
        with held(self._lock):
            if self._reads_made(query):
                return {}
            rows = self._plan.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchall()
        needed: dict[str, set[str]] = {}
        try:
            pending = list(json.loads(rows[0][1]))
        except (ValueError, IndexError):
            # Nothing is planned, so nothing is read.
            return needed
        while pending:
            node = pending.pop()
            extra = node.get("extra_info") or {}
            table = extra.get("Table")
            if isinstance(table, str):
                name = table.rsplit(".", 1)[-1].strip('"').removesuffix("#all")
                if name in self._tables:
                    projected = extra.get("Projections") or []
                    columns = [projected] if isinstance(projected, str) else projected
                    needed.setdefault(name, set()).update(columns)
            pending.extend(node.get("children") or [])
        return needed

    def _reads_made(self, query: str) -> bool:
        """Whether all tables that a statement names are made already: then it need not be planned."""
        try:
            # With their schemas: a role may be called as a measure is.
            names = self._plan.get_table_names(query, qualified=True)
        except Error:
            return False
        return bool(names) and names <= self._held

    def _ready(self, needed: dict[str, set[str]]) -> Connection:
        """A connection to the tables made so far whose raw tables are streams of the columns needed.

        Its own for every statement: an answer may be worked out, or taken in parts, after other questions.
        """
        with held(self._lock):
            connection = self._connection.cursor()
        for name, wanted in needed.items():
            parts: list[tuple[str, set[str]]] = []
            for index, part in enumerate(self._tables[name]):
                there = [column.name for column in part.columns if column.name in wanted]
                if isinstance(part, ParquetTable):
                    if part.paths:
                        parts.append((f"({part.sql(there)})", set(there)))
                    continue
                # Rows are counted by their first column where no column is asked for.
                stream = part.stream(there or [part.columns[0].name])
                connection.register(f"{name}#{index}", stream)
                parts.append((expressions.quote(f"{name}#{index}"), set(there)))
            connection.execute(self._view_over_parts(name, wanted, parts, temporary=True))
            if name in self._lasting:
                connection.execute(self._view_over_parts(name, wanted, parts, temporary=True, whole=True))
        return connection


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
