"""Plans of queries: the tables to materialize first, and the statements of the other tables they read.

A plan depends on the queries, on the input, and on the tables that are materialized; it needs no data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog.aggregation import KNOWN, KNOWN_BY_OTHERS
from zlens.compiler.plan import Compiler, Kinds, QueryPlan
from zlens.compiler.schema import Schema

#: A lazy measure or a role is materialized for several queries if all but the largest reader together read at
#: least one in this many of its columns.
_SHARED_READS = 5
#: Fixed cost of materializing a table, in bytes read.
_TABLE_COST_BYTES = 1_000_000


class TableReads(Struct, frozen=True):
    """What a query reads.

    columns  columns by table
    kinds    kinds of the events that it reads; None for all
    """

    columns: Mapping[str, Collection[str]]
    kinds: Kinds = None


class TableStep(Struct, frozen=True):
    """A table to materialize.

    statement  its rows; None for a table that the session computes
    quick      the same with KNOWN_BY_OTHERS: a long table then needs the complete statement only for times of
               rows that are not known
    bytes      bytes of the records that the statement reads, if known; 0 for tables of few or ordered rows
    """

    table: str
    columns: Sequence[str]
    statement: QueryPlan | None
    quick: QueryPlan | None = None
    bytes: int = 0


class Plan(Struct, frozen=True):
    """How queries are answered.

    steps       the tables to materialize, each after those that it reads
    needs       for each table that the queries read: the steps that it requires
    rows        for each query: statements of the tables that are computed for it
    costs       bytes to read for each step
    sizes       bytes to read of each raw table and each long table that exists
    incomplete  whether the machine generations must be known first
    """

    steps: Sequence[TableStep]
    needs: Mapping[str, frozenset[str]]
    rows: Sequence[Mapping[str, QueryPlan]]
    costs: Mapping[str, int]
    sizes: Mapping[str, int]
    incomplete: bool = False

    def stages(self) -> Iterator[tuple[str, list[TableStep]]]:
        """Yield each table that the queries read, with the steps to take before it; the cheapest first."""
        remaining = dict.fromkeys(self.needs)
        done: set[str] = set()

        def cost(name: str) -> tuple[int, str]:
            if name in self.sizes:
                return self.sizes[name], name
            return sum(self.costs[table] for table in self.needs[name] - done), name

        while remaining:
            name = min(remaining, key=cost)
            del remaining[name]
            steps = [step for step in self.steps if step.table in self.needs[name] - done]
            yield name, steps
            done |= self.needs[name]


def compile_queries(
    queries: Sequence[TableReads],
    compiler: Compiler,
    schema: Schema,
    materialized: Mapping[str, Set[str]],
    planned: Mapping[str, Collection[str]],
    sizes: Mapping[str, int],
    *,
    statements: bool = True,
    keep: bool = False,
    share: bool = False,
) -> Plan:
    """Return the plan of some queries.

    materialized  columns of the tables that are materialized
    planned       columns that later stages of other plans materialize
    sizes         bytes of the records of raw tables, by the prefix of their names
    statements    whether to compile the statements of tables that are not materialized
    keep          whether to materialize lazy measures, too
    share         whether to materialize roles that several tables read: planning takes longer than rows
    """
    planning = _Planning(queries, compiler, schema, materialized, planned, sizes, statements, keep, share)
    return planning.plan()


class _IncompleteError(Exception):
    """A statement depends on machine generations that the input does not state."""


class _Planning:
    def __init__(
        self,
        queries: Sequence[TableReads],
        compiler: Compiler,
        schema: Schema,
        materialized: Mapping[str, Set[str]],
        planned: Mapping[str, Collection[str]],
        sizes: Mapping[str, int],
        statements: bool,
        keep: bool,
        share: bool,
    ) -> None:
        self._queries = queries
        self._compiler = compiler
        self._schema = schema
        self._materialized = materialized
        self._planned = planned
        self._sizes = sizes
        self._statements = statements
        self._wanted: dict[str, set[str]] = {}
        readers: dict[str, list[int]] = {}
        for query in queries:
            for name, columns in query.columns.items():
                self._wanted.setdefault(name, set()).update(columns)
                readers.setdefault(name, []).append(len(columns))
        self._kept = {name for name, counts in readers.items() if keep or self._is_kept(name, counts)}
        self._shared = compiler.shared_roles(self._wanted) if share else frozenset[str]()
        self._kept |= self._shared
        #: Tables that statements read, which exist before them even if they are lazy.
        self._required: set[str] = set()
        self._rows: list[dict[str, QueryPlan]] = [{} for _ in queries]

    def _is_kept(self, name: str, counts: list[int]) -> bool:
        """Return whether a table is materialized: always, or because queries share much of it."""
        if not self._schema.is_streamed(name):
            return True
        shared = _SHARED_READS * (sum(counts) - max(counts)) > len(self._wanted[name])
        return shared and not self._schema.is_raw(name)

    def plan(self) -> Plan:
        pending = {
            name: {*columns} for name, columns in self._wanted.items() if not self._schema.is_raw(name)
        }
        below: dict[str, set[str]] = {}
        costs: dict[str, int] = {}
        steps: list[TableStep] = []
        while pending:
            name = max(pending, key=self._rank)
            columns = pending.pop(name)
            if self._has(name, columns):
                continue
            try:
                step, plans = self._table(name, columns)
            except _IncompleteError:
                return Plan((), {}, (), {}, {}, incomplete=True)
            read_bytes = sum(self._size(table) for plan in plans for table in plan.reads)
            if step is not None and read_bytes and self._schema.is_streamed(name):
                quick = self._quick(step)
                read = read_bytes if quick is None else sum(map(self._size, quick.reads))
                step = replace(step, bytes=read, quick=quick)
            if step is not None:
                steps.append(step)
            below[name] = {table for plan in plans for table in plan.makes}
            costs[name] = _TABLE_COST_BYTES + read_bytes
            for plan in plans:
                self._required |= plan.makes.keys()
                for table, table_columns in plan.makes.items():
                    pending.setdefault(table, set()).update(table_columns)
        needs: dict[str, frozenset[str]] = {}
        for name in reversed(below):
            needs[name] = frozenset({name}).union(*(needs.get(table, ()) for table in below[name]))
        return Plan(
            steps[::-1],
            {name: needs.get(name, frozenset()) for name in self._wanted},
            self._rows,
            costs,
            self._sizes_read(needs.keys()),
        )

    def _sizes_read(self, computed: Collection[str]) -> dict[str, int]:
        """Return the bytes that reading a table costs, of raw tables and of long ones that exist already.

        Their rows are not computed, but read: after all that is computed from less.
        """
        everything = sum(self._sizes.values())
        long = (name for name in self._wanted if name not in computed and self._schema.is_streamed(name))
        return {name: self._size(name) if self._schema.is_raw(name) else everything for name in long}

    def _table(self, name: str, columns: set[str]) -> tuple[TableStep | None, list[QueryPlan]]:
        """Return the step for a table, None if it is not materialized, and all statements it requires."""
        source = self._compiler.input
        if name in source.session:
            all_columns = [column for column, _ in source.session[name]]
            extended = self._extend(name, columns, all_columns)
            step = TableStep(name, extended if name in source.precomputed else all_columns, None)
            return step, [self._complete(plan) for plan in self._helper_plans(name)]
        if name in self._kept or name in self._required or name not in self._wanted:
            extended = self._extend(name, columns, [*self._compiler.columns(name), KNOWN])
            ordered = not self._schema.is_streamed(name)
            statement = self._complete(
                self._compiler.rows(name, extended, ordered=ordered, shared=self._shared)
            )
            return TableStep(name, extended, statement), [statement]
        if not self._statements:
            kinds = all_kinds(query.kinds for query in self._queries if name in query.columns)
            return None, [
                self._complete(self._compiler.rows(name, columns, kinds=kinds, shared=self._shared))
            ]
        plans = []
        for query, rows in zip(self._queries, self._rows, strict=True):
            if name in query.columns and not self._has(name, query.columns[name]):
                rows[name] = self._complete(
                    self._compiler.rows(name, query.columns[name], kinds=query.kinds, shared=self._shared)
                )
                plans.append(rows[name])
        return None, plans

    def _quick(self, step: TableStep) -> QueryPlan | None:
        """Return the statement of a table with KNOWN by its other columns; None if it is not quicker."""
        if step.statement is None or KNOWN not in step.columns or not self._compiler.has_data(step.table):
            return None
        columns = [KNOWN_BY_OTHERS if column == KNOWN else column for column in step.columns]
        return self._complete(self._compiler.rows(step.table, columns, shared=self._shared))

    def _helper_plans(self, name: str) -> Iterator[QueryPlan]:
        source = self._compiler.input
        for helper, columns, roles in source.helpers[name]() if name in source.helpers else ():
            if any(self._compiler.has_data(f"role.{role}") for role in roles):
                yield self._compiler.plan(helper, columns)

    @staticmethod
    def _complete(plan: QueryPlan) -> QueryPlan:
        if plan.incomplete:
            raise _IncompleteError
        return plan

    def _extend(self, name: str, columns: Collection[str], order: Sequence[str]) -> list[str]:
        """Return the columns, with those of the existing table and planned ones."""
        extended = {*columns, *self._materialized.get(name, ()), *self._planned.get(name, ())}
        return [column for column in order if column in extended]

    def _has(self, name: str, columns: Collection[str]) -> bool:
        return name in self._materialized and self._materialized[name] >= {*columns}

    def _rank(self, name: str) -> tuple[int, str]:
        """Return a rank: a table reads only lower ones, including through a session's own tables."""
        source = self._compiler.input
        helpers = [helper for helper, _, _ in source.helpers[name]()] if name in source.helpers else []
        return max(self._compiler.nodes.depth(node) for node in [*helpers, name]), name

    def _size(self, table: str) -> int:
        return self._sizes.get(table.partition("_")[0], 0)


def all_kinds(kinds: Iterable[Kinds]) -> Kinds:
    """Return the kinds of events that several statements read; None for all."""
    selected = [*kinds]
    limited = [names for names in selected if names is not None]
    return {*chain.from_iterable(limited)} if len(limited) == len(selected) else None
