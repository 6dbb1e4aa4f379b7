"""One statement for some columns of a measure, role or helper, and the tables that it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import aggregation, events, expressions, groups, measures
from zlens.catalog.cpumf import VERIFIED_ONLY, FormulaPolicy, Present
from zlens.catalog.groups import Groups
from zlens.catalog.resets import KIND as RESET
from zlens.catalog.roles import ALL_TIMES_SUFFIX, SQL_TYPES
from zlens.compiler import formulas, kept_rows, ledger_sql, missing_tables, nodes, roles, sql_tree
from zlens.compiler.compile_cache import CompileCache, digest
from zlens.compiler.kept_rows import KeptDays
from zlens.compiler.nodes import ROLE, UNSUMMED, NodeCatalog
from zlens.compiler.sql_tree import Tree

Render = Callable[[Tree], str]
#: Kinds of events; None for all.
Kinds = Collection[str] | None
#: Name of all rows of a table in a condition on them.
ROWS = "rows#"
_NOTHING: frozenset[str] = frozenset()
#: Cached instead of a plan that differs by set of generations.
_BY_GENERATION = "by generation"


#: A condition for rows of a table: SQL, and the columns that it names.
RowCondition = tuple[str, set[str]]
#: A helper that a table of a session reads: its name, columns, and the roles that provide its data.
HelperRead = tuple[str, Sequence[str], Sequence[str]]


class RowConditions(Protocol):
    """Conditions by table."""

    def get(self, table: str, /) -> RowCondition | None: ...


class CompilerInput(Struct, frozen=True):
    """Properties of an input that the compiler needs.

    raw          names and types of the columns of each raw table that a source provides
    session      columns of the tables that a session computes itself: system, interval and others
    releases     systems of each release
    summed       whether intervals are buckets of --every
    trust        formulas of CPU MF to use beyond the verified ones
    groups       subjects to show as one; with `kept`, the ledger names them only
    kept         days that ledgers have from measures by day; None for a session without
    published    whether to round as published tables do, if a column has a formula for that
    precomputed  tables of the session whose rows are read, as far as needed, and not computed
    helpers      what tables of the session read
    repeated     conditions for rows of measures to omit, because they repeat rows of another source; other
                 rows of the table are in a table ROWS
    generations  machine generations of the counters; None: any may occur
    counted      whether the generations are known; if not, statements that differ by them are incomplete
    """

    raw: Mapping[str, Mapping[str, str]]
    session: dict[str, list[tuple[str, str]]]
    releases: roles.Releases
    summed: bool = False
    trust: FormulaPolicy = VERIFIED_ONLY
    groups: Groups | None = None
    kept: KeptDays | None = None
    published: bool = False
    precomputed: Collection[str] = ()
    helpers: Mapping[str, Callable[[], Sequence[HelperRead]]] = field(default_factory=dict)
    repeated: RowConditions = field(default_factory=dict[str, RowCondition])
    generations: Present = None
    counted: bool = True


class QueryPlan(Struct):
    """A statement, as the queries of its WITH clause in order and its last SELECT.

    reads   columns of raw tables, which must be available under their names before the first query
    makes   columns of tables to compute first: measures, materialized helpers, session tables
    by_generation   whether it differs by machine generation
    incomplete      whether it cannot be compiled before the generations are known
    omitted         condition of the rows to omit
    columns         columns of the rows if some are omitted
    """

    queries: list[tuple[str, str]] = field(default_factory=list)
    select: str = ""
    reads: dict[str, set[str]] = field(default_factory=dict)
    makes: dict[str, set[str]] = field(default_factory=dict)
    by_generation: bool = False
    incomplete: bool = False
    omitted: str | None = None
    columns: Sequence[str] = ()

    def sql(self, before: Iterable[tuple[str, str]] = ()) -> str:
        """Return the text of the statement, with more queries before its own."""
        queries = [f"{expressions.quote(name)} AS ({sql})" for name, sql in (*before, *self.queries)]
        text = (f"WITH {', '.join(queries)} " if queries else "") + self.select
        return text if self.omitted is None else omit_rows(text, self.columns, self.omitted)


def omit_rows(rows: str, columns: Iterable[str], condition: str) -> str:
    """Return SQL of some columns of the rows for which a condition does not hold."""
    selected = ", ".join(map(expressions.quote, columns)) or "1 AS one"
    table = expressions.quote(ROWS)
    return f"WITH {table} AS MATERIALIZED ({rows}) SELECT {selected} FROM {table} WHERE NOT {condition}"


class Compiler:
    """Compiler for one input. `parse` serializes the tree of a statement, `render` returns its text."""

    def __init__(
        self,
        source: CompilerInput,
        parse: nodes.Parse,
        render: Render,
        compile_cache: CompileCache | None = None,
    ) -> None:
        self.input = source
        self.nodes = NodeCatalog(parse, source.session, compile_cache, source.kept)
        self._render = render
        self._plans: dict[tuple[str, frozenset[str], bool, frozenset[str]], QueryPlan] = {}
        self._compile_cache = compile_cache
        self._tables: dict[str, str] = {}
        self._filled: dict[str, bool] = {}
        self._nothing: dict[str, Mapping[str, str] | None] = {}
        self.session = digest(source.session)

    def with_generations(self, generations: Present) -> Compiler:
        """Return the compiler for the same input, whose machine generations are known."""
        compiler = copy(self)
        compiler.input = replace(self.input, generations=generations, counted=True)
        compiler._plans = {**self._plans}
        return compiler

    # -- what the input has ----------------------------------------------------------------------------

    def columns(self, name: str) -> list[str]:
        """Return the columns of a node, including those of --every."""
        names = self.nodes.columns(name)
        return [*names, *(column for column, _ in self.percentiles(name))]

    def states_known(self, name: str) -> bool:
        """Return whether rows of a table can have the column aggregation.KNOWN."""
        return nodes.is_joined(name) and not nodes.is_helper(name) and name not in self.input.session

    def percentiles(self, name: str) -> list[tuple[str, str]]:
        """Return the extra columns of a measure with --every: p50, p95 and maximum of each gauge."""
        if not self.input.summed or name not in measures.measure_names() or not nodes.is_joined(name):
            return []
        gauges = [column for column in measures.load_measure(name).columns if column.aggregate == "gauge"]
        return [(g.name + suffix, g.type) for g in gauges for suffix in ("_p50", "_p95", "_max")]

    def is_helper(self, name: str) -> bool:
        return nodes.is_helper(name)

    def has_data(self, name: str, tables: Container[str] | None = None) -> bool:
        """Return whether a measure, a helper or a role (role.entity) can have rows in the input.

        `tables` are raw tables to use instead of those of the input.
        """
        if tables is None:
            # Rules and reports ask for the same tables a thousand times.
            if name not in self._filled:
                self._filled[name] = self.has_data(name, self.input.raw)
            return self._filled[name]
        if not (name.startswith(ROLE) or nodes.is_joined(name)) or not self.nodes.entities(name):
            return True
        return self.nodes.has_rows(name, tables)

    def query_has_data(
        self, query: str, tree: Callable[[], Mapping[str, Any]], tables: Container[str] | None = None
    ) -> bool:
        """Return whether a statement can have rows in the input, or with these tables; `tree` parses it."""
        needed = self.nodes.required_tables(query, tree)
        return self.nodes.can_have_rows(needed, self.input.raw if tables is None else tables)

    def raw_tables(self, name: str) -> set[str] | None:
        """Return the raw tables of the input that a measure reads with all its columns.

        None if the machine generations must be known first.
        """
        tables: set[str] = set()
        done: set[str] = set()
        pending = [(name, self.nodes.columns(name))]
        while pending:
            below, columns = pending.pop()
            if below in done or below in self.input.session:
                continue
            done.add(below)
            plan = self.plan(below, columns)
            if plan.incomplete:
                return None
            tables |= {table.removesuffix(ALL_TIMES_SUFFIX) for table in plan.reads}
            pending += [(table, sorted(names)) for table, names in plan.makes.items()]
        return tables

    # -- compiling -----------------------------------------------------------------------------------

    def plan(
        self,
        name: str,
        requested: Collection[str],
        *,
        ordered: bool = False,
        kinds: Kinds = None,
        shared: frozenset[str] = _NOTHING,
    ) -> QueryPlan:
        """Return the statement for some columns of a node; rows of a measure are by system, time and subject.

        `kinds` limits those of events; `shared` are roles that are tables, computed before.
        """
        # If no column is requested, rows are counted by their first one.
        requested = frozenset(requested or self.nodes.columns(name)[:1])
        if name == "event":
            return self._events(requested, kinds)
        if shared:
            shared &= {ROLE + entity for entity in self.nodes.shareable_entities(name)} - {name}
        key = name, requested, ordered, shared
        if key not in self._plans:
            depends = self._depends(name, requested, ordered=ordered, shared=shared)
            plan = self._read_cached(depends)
            if plan is None:
                try:
                    plan = self._compile(name, requested, ordered=ordered, shared=shared)
                except _GenerationsUnknownError:
                    return QueryPlan(by_generation=True, incomplete=True)
                self._write_cached(plan, depends)
            if plan.incomplete:
                return plan
            self._plans[key] = plan
        return self._plans[key]

    def rows(
        self,
        name: str,
        columns: Collection[str],
        *,
        ordered: bool = False,
        kinds: Kinds = None,
        shared: frozenset[str] = _NOTHING,
    ) -> QueryPlan:
        """Return the statement for columns of a table, without rows that repeat those of another source."""
        condition = self.input.repeated.get(name)
        if condition is None:
            return self.plan(name, columns, ordered=ordered, kinds=kinds, shared=shared)
        test, named = condition
        plan = self.plan(name, {*columns, *named}, ordered=ordered, kinds=kinds, shared=shared)
        return replace(plan, omitted=test, columns=[*columns])

    def shared_roles(self, names: Iterable[str]) -> frozenset[str]:
        """Return the roles of several raw tables that the statements of several tables below would include.

        A role of one raw table is short: a table of its own would take as long as including it twice.
        """
        counts = Counter(
            ROLE + entity
            for name in self.nodes.separate_nodes(names)
            for entity in self.nodes.shareable_entities(name)
        )
        return frozenset(
            role
            for role, count in counts.items()
            if count > 1 and sum(table in self.input.raw for table in self.nodes.tables(role)) > 1
        )

    def _depends(
        self, name: str, requested: frozenset[str], *, ordered: bool, shared: frozenset[str]
    ) -> list[Any] | None:
        """Return all that a plan depends on, except the generations; None for a plan that is not cached."""
        source = self.input
        # Patterns of groups cannot be serialized, and kept days change.
        if self._compile_cache is None or source.groups is not None:
            return None
        if kept_rows.has_days(name, source.kept, source.raw):
            return None
        by_release = len(source.releases) > 1
        return [
            *(name, sorted(requested), ordered, sorted(shared)),
            *(source.summed, source.published, repr(source.trust)),
            source.releases if by_release else [*source.releases],
            [self._table(table) for table in self.nodes.joined(name) if table in source.raw],
            self.session,
        ]

    def _table(self, name: str) -> str:
        """Return a digest of a raw table's columns and their types."""
        if name not in self._tables:
            self._tables[name] = f"{name} {digest(dict(self.input.raw[name]))}"
        return self._tables[name]

    def _read_cached(self, depends: list[Any] | None) -> QueryPlan | None:
        """Return the plan that an earlier process compiled."""
        if self._compile_cache is None or depends is None:
            return None
        entry = self._compile_cache.read(*depends)
        by_generation = entry == _BY_GENERATION
        if by_generation:
            if not self.input.counted:
                return QueryPlan(by_generation=True, incomplete=True)
            entry = self._compile_cache.read(*depends, self._sorted_generations())
        if not isinstance(entry, list):
            return None
        queries, select, reads, makes = entry
        return QueryPlan(
            [(name, sql) for name, sql in queries],
            select,
            {name: {*columns} for name, columns in reads.items()},
            {name: {*columns} for name, columns in makes.items()},
            by_generation,
        )

    def _write_cached(self, plan: QueryPlan, depends: list[Any] | None) -> None:
        if self._compile_cache is None or depends is None:
            return
        if plan.by_generation:
            self._compile_cache.write(_BY_GENERATION, *depends)
            depends = [*depends, self._sorted_generations()]
        columns = [{name: sorted(names) for name, names in part.items()} for part in (plan.reads, plan.makes)]
        self._compile_cache.write([plan.queries, plan.select, *columns], *depends)

    def _sorted_generations(self) -> list[str] | None:
        present = self.input.generations
        return None if present is None else sorted(map(str, present))

    def _compile(
        self, name: str, requested: Collection[str], *, ordered: bool, shared: frozenset[str]
    ) -> QueryPlan:
        plan = QueryPlan()
        if name in measures.measure_names() and not (nodes.is_joined(name) and self.has_data(name)):
            typed = [(column.name, column.type) for column in measures.load_measure(name).columns]
            plan.select = _empty([*typed, *self.percentiles(name), (aggregation.KNOWN, "bool")], requested)
            return plan
        demand = _PendingNodes(self.nodes)
        if name in measures.measure_names():
            plan.select = self._measure(name, requested, demand, ordered=ordered)
        else:
            # Its own WITH clause stays inside.
            plan.select = f"SELECT * FROM ({self._node(name, {*requested}, demand)})"
        queries: list[tuple[str, str]] = []
        while demand:
            below, columns = demand.pop()
            if below in self.input.raw or below.removesuffix(ALL_TIMES_SUFFIX) in self.input.raw:
                plan.reads.setdefault(below, set()).update(columns)
            elif (
                below in self.input.session
                or below in shared
                or nodes.is_materialized(below)
                or below in measures.measure_names()
            ):
                plan.makes.setdefault(below, set()).update(columns)
            else:
                queries.append((below, self._node(below, columns, demand)))
        plan.queries = queries[::-1]
        plan.by_generation = demand.by_generation
        return plan

    def _node(self, name: str, requested: set[str], demand: _PendingNodes) -> str:
        """Return SQL of a role or a helper, and add the columns that it reads to `demand`."""
        summed = self.input.summed
        plain = name
        if name.startswith(UNSUMMED):
            summed, plain = False, name.removeprefix(UNSUMMED)
        if not plain.startswith("_"):
            rows = roles.rows(
                plain.removeprefix(ROLE), requested, self.input.raw, self.input.releases, summed=summed
            )
            demand.add(rows.reads)
            return rows.sql
        parsed = self.nodes.helper(plain, requested, self._generations(plain, demand))
        return self._narrow(parsed, requested, demand, unsummed=name.startswith(UNSUMMED))

    def _generations(self, name: str, demand: _PendingNodes) -> Present:
        if "{breaches}" not in nodes.node_sql(name):
            return None
        demand.require_generations(self.input)
        return self.input.generations

    def _narrow(
        self, parsed: Tree, requested: Iterable[str], demand: _PendingNodes, *, unsummed: bool = False
    ) -> str:
        reads = sql_tree.narrow(parsed, requested, self.nodes.columns)
        missing_tables.drop_missing_joins(parsed, reads, self._absent, self.nodes.tree)
        renamed = {name: _rows_name(name, unsummed=unsummed) for name in reads}
        demand.add({renamed[name]: columns for name, columns in reads.items()})
        sql_tree.rename(parsed, renamed)
        return self._render(parsed)

    def _absent(self, name: str) -> Mapping[str, str] | None:
        """Return columns and, if known, SQL types of a table that is empty in the input."""
        if name not in self._nothing:
            self._nothing[name] = self._find_absent(name)
        return self._nothing[name]

    def _find_absent(self, name: str) -> Mapping[str, str] | None:
        if name in self.input.session:
            return None
        name = nodes.plain(name)
        if name.startswith(ROLE):
            entity = name.removeprefix(ROLE)
            if roles.origins(entity, self.input.raw):
                return None
            return {column: SQL_TYPES[type] for column, type in roles.columns(entity)}
        if name in measures.measure_names():
            if not nodes.is_joined(name) or self.has_data(name):
                return None
            return {column.name: SQL_TYPES[column.type] for column in measures.load_measure(name).columns}
        node = self.nodes.helper(name, None, None)["statements"][0]["node"] if nodes.is_helper(name) else None
        return {} if node is not None and missing_tables.returns_no_rows(node, self._absent) else None

    def _measure(self, name: str, requested: Collection[str], demand: _PendingNodes, *, ordered: bool) -> str:
        """Return SQL of a measure's rows, with groups and percentiles if the options request them."""
        percentiles = [column for column, _ in self.percentiles(name) if column in requested]
        measure_columns = [column for column in self.nodes.columns(name) if column in requested]
        merged = self.input.groups if self.input.kept is None else None
        grouped = groups.merges_rows(name, merged)
        named = name == ledger_sql.MEASURE and "group_name" in requested and self.input.groups is not None
        has_days = kept_rows.has_days(name, self.input.kept, self.input.raw)
        if grouped:
            measure_columns = self.nodes.columns(name)
            demand.add({"interval": {*aggregation.INTERVAL_READS}})
        keys = measures.load_measure(name).key
        first = ("system", "source", "interval_end", *keys)
        known = _known_by(name, requested)
        needed = list(
            dict.fromkeys(
                [
                    *measure_columns,
                    *(first if percentiles or ordered else ()),
                    *(known or ()),
                    *(ledger_sql.NAMED if named else ()),
                    *(kept_rows.READS if has_days else ()),
                ]
            )
        )
        if self.nodes.has_recorded_rows(name, self.input.raw):
            rows = groups.sql(name, self._rows(name, needed, demand), merged)
        else:
            typed = [(column.name, column.type) for column in measures.load_measure(name).columns]
            rows = _empty(typed, needed)
        if has_days and self.input.kept is not None:
            table = kept_rows.table(name)
            stored = {*needed, "bucket_end"}.intersection(self.input.raw[table])
            rows = kept_rows.sql(name, rows, needed, self.input.kept, stored)
            demand.add({table: stored | {"system", "bucket_end"}})
        if named and self.input.groups is not None:
            rows = f"SELECT * REPLACE ({ledger_sql.group_sql(self.input.groups)} AS group_name) FROM ({rows})"
        if percentiles:
            gauges = list(dict.fromkeys(column.rpartition("_")[0] for column in percentiles))
            inner = needed if grouped else ["system", "source", "interval_end", "flag", *keys, *gauges]
            unsummed = groups.sql(name, self._rows(name, inner, demand, unsummed=True), merged)
            rows = _with_percentiles(name, rows, unsummed, gauges)
            demand.add({"_interval": {"system", "source", "interval_end", "bucket_end"}})
        selected = [
            expressions.quote(column)
            for column in [*(column for column in measure_columns if column in requested), *percentiles]
        ]
        if known is not None:
            differences = aggregation.has_differences_sql(measures.load_measure(name), among=known)
            selected.append(f"({differences}) AS {expressions.quote(aggregation.KNOWN)}")
        order = f" ORDER BY {', '.join(map(expressions.quote, first))}" if ordered else ""
        return f"SELECT {', '.join(selected)} FROM ({rows}){order}"

    def _rows(
        self, name: str, requested: Collection[str], demand: _PendingNodes, *, unsummed: bool = False
    ) -> str:
        parsed = self.nodes.tree(nodes.node_sql(name))
        node = parsed["statements"][0]["node"]
        select_list = node["select_list"]
        table = measures.load_measure(name)
        by_generation = any(column.varies_by for column in table.columns if column.name in requested)
        if by_generation:
            demand.require_generations(self.input)
        columns = formulas.measure_formulas(
            parsed,
            table,
            trust=self.input.trust,
            present=self.input.generations if by_generation else None,
            published=self.input.published,
        ).select({*requested})
        reads = sql_tree.narrow_to(parsed, columns.paths(), self.nodes.columns)
        missing_tables.drop_missing_joins(parsed, reads, self._absent, self.nodes.tree)
        renamed = {read: _rows_name(read, unsummed=unsummed) for read in reads}
        demand.add({renamed[read]: names for read, names in reads.items()})
        sql_tree.rename(parsed, renamed)
        node["select_list"] = select_list
        sql = self._render(parsed).replace(f'"{nodes.PLACE}"', ", ".join(columns.first or ["1 AS one"]), 1)
        for layer in columns.above:
            sql = f"SELECT *, {', '.join(layer)} FROM ({sql})"
        return sql

    def _events(self, requested: Collection[str], kinds: Kinds) -> QueryPlan:
        """Return the statement of events, which read tables that no role does."""
        listed = events.available_events(self.input.raw, kinds)
        tables = {table: frozenset(self.input.raw[table]) for event in listed for table in event.tables}
        with_resets = kinds is None or RESET in kinds
        rows = events.events_sql(listed, tables, resets=with_resets)
        if not rows:
            typed = [(column.name, column.type) for column in measures.load_measure("event").columns]
            return QueryPlan(select=_empty(typed, requested))
        selected = [
            expressions.quote(column) for column in self.nodes.columns("event") if column in requested
        ]
        resets = {"_reset": {column for column, _ in self.input.session["_reset"]}}
        return QueryPlan(
            select=f"SELECT {', '.join(selected)} FROM ({rows})",
            reads=events.event_columns_read(listed, tables),
            makes=resets if with_resets else {},
        )


class _GenerationsUnknownError(Exception):
    """A statement depends on the machine generations, and the input does not state them."""


class _PendingNodes:
    """Nodes and their requested columns, those furthest from the raw tables first."""

    def __init__(self, graph: NodeCatalog) -> None:
        self._nodes = graph
        self._wanted: dict[str, set[str]] = {}
        self.by_generation = False

    def require_generations(self, source: CompilerInput) -> None:
        """Note that the statement differs by machine generation."""
        self.by_generation = True
        if not source.counted:
            raise _GenerationsUnknownError

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def add(self, reads: Mapping[str, set[str]]) -> None:
        for name, columns in reads.items():
            self._wanted.setdefault(name, set()).update(columns)

    def pop(self) -> tuple[str, set[str]]:
        name = max(self._wanted, key=lambda node: (self._depth(node), node))
        return name, self._wanted.pop(name)

    def _depth(self, name: str) -> int:
        # Tables computed before the statement, and raw tables, read nothing in it: they come last.
        if nodes.is_materialized(name) or not name.startswith((ROLE, UNSUMMED, "_")):
            return 0
        return self._nodes.depth(name)


def _rows_name(name: str, *, unsummed: bool) -> str:
    """Return the name of a node in a statement whose rows are original intervals, not buckets."""
    if not unsummed:
        return name
    if name.startswith(ROLE):
        return UNSUMMED + name.removeprefix(ROLE)
    return UNSUMMED + name if name.startswith("_") and nodes.is_helper(name) else name


def _known_by(name: str, requested: Collection[str]) -> list[str] | None:
    """Return the columns of a measure that show whether sums include a row; None if this is not requested."""
    columns = aggregation.difference_columns(measures.load_measure(name))
    if aggregation.KNOWN_BY_OTHERS in requested:
        return [column for column in columns if column in requested] or columns[:1]
    return columns if aggregation.KNOWN in requested else None


def _empty(columns: Iterable[tuple[str, str]], requested: Collection[str]) -> str:
    """Return a SELECT of no rows with the requested columns."""
    typed = (
        f"NULL::{SQL_TYPES[type]} AS {expressions.quote(column)}"
        for column, type in columns
        if column in requested
    )
    return f"SELECT {', '.join(typed) or 'NULL'} WHERE false"


def _with_percentiles(name: str, sql: str, unsummed: str, gauges: list[str]) -> str:
    """Return a summed measure with p50, p95 and maximum of its gauges over unflagged original intervals."""
    quote = expressions.quote
    quoted = [quote(key) for key in ("system", "source", *measures.load_measure(name).key)]
    stats = ", ".join(
        f"quantile_cont(b.{quote(g)}, 0.5) AS {quote(g + '_p50')}, "
        f"quantile_cont(b.{quote(g)}, 0.95) AS {quote(g + '_p95')}, "
        f"max(b.{quote(g)}) AS {quote(g + '_max')}"
        for g in gauges
    )
    selected = ", ".join(f"b.{key}" for key in quoted)
    on = " AND ".join(f"m.{key} IS NOT DISTINCT FROM s.{key}" for key in quoted)
    percentiles = ", ".join(f"s.{quote(g + suffix)}" for g in gauges for suffix in ("_p50", "_p95", "_max"))
    return (
        f"SELECT m.*, {percentiles} FROM ({sql}) AS m LEFT JOIN ("
        f"SELECT {selected}, i.bucket_end, {stats} FROM ({unsummed}) AS b "
        "JOIN _interval AS i USING (system, source, interval_end) "
        f"WHERE b.flag IS NULL GROUP BY {selected}, i.bucket_end"
        f") AS s ON {on} AND m.interval_end = s.bucket_end"
    )
