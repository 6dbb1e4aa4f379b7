"""Tables that queries share: materialized when first needed, and extended by columns that others need."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count

from zlens.catalog import expressions, measures
from zlens.catalog.compile import nodes
from zlens.catalog.compile import roles as role_sql
from zlens.catalog.compile.compile_cache import CompileCache
from zlens.catalog.compile.plan import Compiler, CompilerInput, Kinds, QueryPlan
from zlens.catalog.compile.sql_tree import Tree
from zlens.catalog.formula_policy import Present
from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.roles import ALL_TIMES_SUFFIX, SQL_TYPES, entities, entity
from zlens.engine.cancellation import check_canceled, hold_lock, interruptible
from zlens.engine.connection import RELEASE, Connection
from zlens.inputs.source import ParquetTable, PrecomputedTable, RawTable

#: A condition on the rows of a raw table with some columns: zlens' own SQL, and the columns it names.
Condition = Callable[[Iterable[RawColumn]], tuple[str, set[str]] | None]

#: Name of all rows of a table in a condition on them.
ROWS = "rows#"
#: A condition for rows of a table to omit: zlens' own SQL, and the columns it names.
Repeated = Callable[[str], tuple[str, set[str]] | None]

#: Fixed cost of materializing a table, in bytes read.
_TABLE_COST_BYTES = 1_000_000
_TREES: dict[str, str] = {}
_MOST_TREES = 500


class TableStore:
    """The tables of one engine on its connection.

    raw        tables of the sources by name; several with the same name are parts of one table
    session    tables that the session computes
    condition  returns the rows of a raw table that the options select
    repeated   returns the rows of a table that repeat rows of another source
    """

    def __init__(
        self,
        connection: Connection,
        raw: Mapping[str, list[RawTable]],
        session: Mapping[str, RawTable],
        condition: Condition,
        repeated: Repeated,
        facts: Callable[[Mapping[str, Collection[str]]], CompilerInput],
    ) -> None:
        self._connection = connection
        self._raw = raw
        self._session = session
        self._condition = condition
        self._repeated = repeated
        self._lock = threading.RLock()
        self._making: dict[str, threading.RLock] = {}
        self._made: dict[str, frozenset[str]] = {}
        self._announced: dict[str, set[str]] = {}
        self._derived: dict[str, str] = {}
        self._is_raw: dict[object, bool] = {}
        self._columns: dict[str, dict[str, str]] = {}
        self._typed: dict[str, list[tuple[str, str]] | None] = {}
        self._present: Present = None
        #: Streams have unique names, because one query may read a table for several of its measures.
        self._numbers = count()
        self.compiler = Compiler(
            facts(_RawColumns(self)),
            self._parse,
            self.render_tree,
            self._generations,
            CompileCache("plans", RELEASE),
        )

    # -- the tables ----------------------------------------------------------------------------------

    def raw_columns(self, name: str) -> dict[str, str]:
        """Return names and types of a raw table's columns over all its parts."""
        if name not in self._columns:
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

    def is_raw(self, name: object) -> bool:
        # Cached, because it is called hundreds of times and the tables of sources do not change.
        if name not in self._is_raw:
            self._is_raw[name] = name in self._raw and name not in self._session
        return self._is_raw[name]

    def raw_names(self) -> list[str]:
        return [name for name in self._raw if name not in self._session]

    def is_table(self, name: str) -> bool:
        """Return whether a query may name a table: one of zlens or a derived one."""
        return self.is_derived(name) or self.column_names(name) is not None

    def is_derived(self, name: str) -> bool:
        """Return whether a table has the rows of a query."""
        return name.startswith("derived#") and name in self._derived.values()

    def columns(self, name: str) -> list[tuple[str, str]] | None:
        """Return names and SQL types of a table that a query may name; None if it is not one of zlens."""
        if name not in self._typed:
            self._typed[name] = self._typed_columns(name)
        return self._typed[name]

    def column_names(self, name: str) -> list[str] | None:
        """Return the columns of a table that a query may name; None if it is not one of zlens."""
        # The types of a helper are known only after materializing what it reads.
        if self.compiler.is_helper(name):
            return self.compiler.columns(name)
        typed = self.columns(name)
        return None if typed is None else [column for column, _ in typed]

    def _typed_columns(self, name: str) -> list[tuple[str, str]] | None:
        if name in self._session:
            return [(column.name, SQL_TYPES[column.type]) for column in self._session[name].columns]
        if name in measures.measure_names():
            typed = [(column.name, SQL_TYPES[column.type]) for column in measures.load_measure(name).columns]
            return typed + [(column, SQL_TYPES[type]) for column, type in self.compiler.percentiles(name)]
        if name.startswith("role."):
            if name[5:] not in entities():
                return None
            return [(column, SQL_TYPES[type]) for column, type in role_sql.columns(name[5:])]
        if name in self._raw:
            return [(column, SQL_TYPES[type]) for column, type in self.raw_columns(name).items()]
        return self._helper_columns(name) if self.compiler.is_helper(name) else None

    def _helper_columns(self, name: str) -> list[tuple[str, str]]:
        """Return the columns of a helper; the engine derives their types from its SQL."""
        cursor = self.cursor()
        select = self.prepare_plan(cursor, self.compiler.plan(name, self.compiler.columns(name)))
        shape = cursor.sql(select)
        return list(zip(shape.columns, map(str, shape.types), strict=True))

    def is_streamed(self, name: str) -> bool:
        """Return whether a table is computed for every query, as far as needed, and not materialized."""
        if name in self._session or nodes.is_materialized(name):
            return False
        return name not in measures.measure_names() or (
            measures.load_measure(name).lazy and not self.compiler.input.summed
        )

    def has_columns(self, name: str, columns: Collection[str]) -> bool:
        """Return whether a table is materialized with some columns."""
        columns_made = self._made.get(name)
        return columns_made is not None and columns_made.issuperset(columns)

    # -- materializing -------------------------------------------------------------------------------

    def materialize(self, name: str, columns: Collection[str]) -> None:
        """Materialize a table with some columns, and those that others needed before."""
        # A caller whose columns exist does not wait while the table is extended.
        if self.has_columns(name, columns):
            return
        with hold_lock(self._lock):
            lock = self._making.setdefault(name, threading.RLock())
        with hold_lock(lock):
            if self.has_columns(name, columns):
                return
            all_columns = name in self._session and not isinstance(self._session[name], PrecomputedTable)
            requested = self._column_order(name) if all_columns else self._extend_columns(name, columns)
            self._create(name, requested)
            self._made[name] = frozenset(requested)

    def announce(self, name: str, columns: Collection[str]) -> None:
        """Announce columns of a table: it is materialized with them when the first ones are needed."""
        self._announced.setdefault(name, set()).update(columns)

    def materialize_in_stages(
        self,
        wanted: Mapping[str, Collection[str]],
        kept: Container[str],
        size_of: Callable[[str], int],
        kinds: Kinds = None,
    ) -> Iterator[str]:
        """Materialize tables, and each of the tables they read once, with all columns that they need.

        Yields the name of each requested table when everything it reads exists, the cheapest first. The cost
        of a table is the input that it reads, by `size_of` a raw table. Of tables not in `kept` only the
        tables they read are materialized, for these kinds of events.
        """
        pending = {name: {*columns} for name, columns in wanted.items() if not self.is_raw(name)}
        below: dict[str, set[str]] = {}
        columns_of: dict[str, set[str]] = {}
        costs: dict[str, int] = {}
        order: list[str] = []
        while pending:
            name = max(pending, key=self._dependency_rank)
            columns = pending.pop(name)
            if self.has_columns(name, columns):
                continue
            order.append(name)
            columns_of[name] = columns
            plans = [*self._plans_for(name, columns, None if name in kept else kinds)]
            below[name] = {table for plan in plans for table in plan.makes}
            costs[name] = _TABLE_COST_BYTES + sum(size_of(table) for plan in plans for table in plan.reads)
            for plan in plans:
                for table, table_columns in plan.makes.items():
                    pending.setdefault(table, set()).update(table_columns)
        for name in order:
            if name not in self._session and (name not in wanted or name in kept):
                self.announce(name, columns_of[name])
        needs: dict[str, set[str]] = {}
        for name in reversed(order):
            needs[name] = {name}.union(*(needs.get(table, ()) for table in below[name]))
        remaining = dict.fromkeys(wanted)
        done: set[str] = set()

        def cost(name: str) -> tuple[int, str]:
            if self.is_raw(name):
                return size_of(name), name
            return sum(costs[table] for table in needs.get(name, set()) - done), name

        while remaining:
            name = min(remaining, key=cost)
            del remaining[name]
            for table in reversed(order):
                if table not in done and table in needs.get(name, ()):
                    check_canceled()
                    if table not in wanted or table in kept:
                        self.materialize(table, columns_of[table])
                    done.add(table)
            yield name

    def _dependency_rank(self, name: str) -> tuple[int, str]:
        """Return a rank: a table reads only lower ones, including through a session's own tables."""
        helpers = [helper for helper, _, _ in _helpers(self._session.get(name))]
        return max((self.compiler.nodes.depth(node) for node in [*helpers, name]), default=0), name

    def _plans_for(self, name: str, columns: Collection[str], kinds: Kinds) -> Iterator[QueryPlan]:
        if name not in self._session:
            extended = self._extend_columns(name, columns)
            yield self.compiler.plan(name, extended, ordered=not self.is_streamed(name), kinds=kinds)
            return
        for helper, helper_columns, helper_roles in _helpers(self._session[name]):
            if any(self.compiler.has_data(f"role.{role}") for role in helper_roles):
                yield self.compiler.plan(helper, helper_columns)

    def _extend_columns(self, name: str, columns: Collection[str]) -> list[str]:
        """Return the columns, with columns of the existing table and announced ones."""
        extended = {*columns, *self._made.get(name, ()), *self._announced.get(name, ())}
        return [column for column in self._column_order(name) if column in extended]

    def _create(self, name: str, columns: list[str]) -> None:
        cursor = self.cursor()
        if name in self._session:
            select = self._once(name, columns, lambda read: self._from_session(cursor, name, read))
        else:
            select = self.rows(cursor, name, columns, ordered=not self.is_streamed(name))
        self._create_as(cursor, name, select)

    def derive(self, query: str, rows: Callable[[Connection], str]) -> str:
        """Materialize the rows of a query as a table; returns its name, which is the same for the same query.

        `rows` returns the SQL of the query on a cursor.
        """
        with hold_lock(self._lock):
            name = self._derived.setdefault(query, f"derived#{len(self._derived)}")
            lock = self._making.setdefault(name, threading.RLock())
        with hold_lock(lock):
            if name not in self._made:
                cursor = self.cursor()
                self._create_as(cursor, name, rows(cursor))
                self._made[name] = frozenset()
        return name

    @staticmethod
    def _create_as(cursor: Connection, name: str, select: str) -> None:
        create = f"CREATE OR REPLACE TABLE memory.main.{expressions.quote(name)} AS {select}"
        interruptible(cursor, lambda: cursor.execute(create))
        cursor.close()

    def _column_order(self, name: str) -> list[str]:
        if name in self._session:
            return [column.name for column in self._session[name].columns]
        return self.compiler.columns(name)

    def _from_session(self, cursor: Connection, name: str, columns: Sequence[str]) -> str:
        table = self._session[name]
        condition = None if name.startswith("_") else self._condition(table.columns)
        read = {*columns, *(condition[1] if condition else ())} or {table.columns[0].name}
        cursor.register("session#", table.stream([c.name for c in table.columns if c.name in read]))
        selected = ", ".join(map(expressions.quote, columns)) or "1 AS one"
        if condition is None:
            return f'SELECT {selected} FROM "session#"'
        if "_interval" in condition[0]:
            self.materialize("_interval", ())
        return f'SELECT {selected} FROM "session#" WHERE {condition[0]}'

    def rows(
        self,
        cursor: Connection,
        name: str,
        wanted: Collection[str],
        *,
        ordered: bool = False,
        fill: bool = False,
        kinds: Kinds = None,
    ) -> str:
        """Return SQL of some columns of a table's rows, with everything it reads available on a cursor.

        With `fill` all other columns of a raw table are present too, as NULL.
        """
        if self.is_raw(name):
            shown = [*self.raw_columns(name)] if fill else wanted
            return self._once(name, shown, lambda read: self.raw_rows(cursor, name, read, fill=fill))

        def rows(read: Collection[str]) -> str:
            return self.prepare_plan(cursor, self.compiler.plan(name, read, ordered=ordered, kinds=kinds))

        return self._once(name, wanted, rows)

    def _once(self, name: str, wanted: Collection[str], rows: Callable[[Sequence[str]], str]) -> str:
        """Return SQL of some columns of a table, without rows that repeat those of another source.

        `rows` returns the SQL of columns of all rows.
        """
        repeated = self._repeated(name)
        if repeated is None:
            return rows([*wanted])
        test, named = repeated
        selected = ", ".join(map(expressions.quote, wanted)) or "1 AS one"
        every = rows([*wanted, *sorted(named.difference(wanted))])
        table = expressions.quote(ROWS)
        return f"WITH {table} AS MATERIALIZED ({every}) SELECT {selected} FROM {table} WHERE NOT {test}"

    def prepare_plan(self, cursor: Connection, plan: QueryPlan) -> str:
        """Return the text of a plan, with everything it reads available on a cursor."""
        for name, columns in plan.makes.items():
            self.materialize(name, columns)
        raw_sql = [(name, self.raw_rows(cursor, name, columns)) for name, columns in plan.reads.items()]
        return plan.sql(raw_sql)

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
        types = self.raw_columns(table)
        condition = None
        if selected and not table.startswith("_"):
            raw_columns = self._raw[table][0].columns
            condition = self._condition(
                [column for column in raw_columns if not all_times or column.name != "interval_end"]
            )
        needed = {*wanted, *(condition[1] if condition else ())}
        shown = [column for column in types if column in needed or fill]
        selects = []
        for part in self._raw[table]:
            available = [column.name for column in part.columns if column.name in needed]
            if isinstance(part, ParquetTable):
                if not part.paths:
                    continue
                rows = f"({part.sql(available)})"
            else:
                # If no column is requested, rows are counted by the first one.
                stream = f"{table}#{next(self._numbers)}"
                cursor.register(stream, part.stream(available or [part.columns[0].name]))
                rows = expressions.quote(stream)
            if available and len(self._raw[table]) == 1 and len(available) == len(shown):
                # The stream has exactly these columns; a list of them takes long to parse.
                selects.append(f"SELECT * FROM {rows}")
                continue
            columns = (
                expressions.quote(column) if column in available else _null(types[column], column)
                for column in shown
            )
            selects.append(f"SELECT {', '.join(columns) or '1 AS one'} FROM {rows}")
        if not selects:
            nulls = ", ".join(_null(types[column], column) for column in shown)
            return f"SELECT {nulls or '1 AS one'} WHERE false"
        union = " UNION ALL ".join(selects)
        if condition is None:
            return union
        if "_interval" in condition[0]:
            self.materialize("_interval", ())
        rows = union if len(selects) == 1 and union.startswith("SELECT *") else f"SELECT * FROM ({union})"
        return f"{rows} WHERE {condition[0]}"

    # -- for the compiler ----------------------------------------------------------------------------

    def _parse(self, sql: str) -> str:
        # The parsed tree of a catalog text is the same in every session.
        if sql not in _TREES:
            if len(_TREES) >= _MOST_TREES:
                _TREES.clear()
            _TREES[sql] = str(self._scalar("SELECT json_serialize_sql(?)", sql))
        return _TREES[sql]

    def render_tree(self, tree: Tree) -> str:
        """Return the SQL text of a tree."""
        return str(self._scalar("SELECT json_deserialize_sql(?)", json.dumps(tree)))

    def _scalar(self, query: str, parameter: str) -> object:
        return self.cursor().execute(query, [parameter]).fetchall()[0][0]

    def _generations(self) -> Present:
        """Return the machine generations of the counters in the input."""
        if self._present is None:
            origins = entity("counter").origins
            if not any(origin.table in self._raw for origin in origins):
                self._present = frozenset()
                return self._present
            cursor = self.cursor()
            select = self.prepare_plan(cursor, self.compiler.plan("_generations", {"generation"}))
            rows = interruptible(cursor, lambda: cursor.execute(select).fetchall())
            self._present = frozenset(row[0] for row in rows)
        return self._present


def _helpers(table: RawTable | None) -> Sequence[tuple[str, Sequence[str], Sequence[str]]]:
    """Return the helpers that a session table reads from the engine: helper, columns, roles."""
    helpers: Sequence[tuple[str, Sequence[str], Sequence[str]]] = getattr(table, "helpers", tuple)()
    return helpers


def _null(type: str, column: str) -> str:
    return f"NULL::{SQL_TYPES[type]} AS {expressions.quote(column)}"


class _RawColumns(Mapping[str, Collection[str]]):
    """The columns of raw tables, looked up on request."""

    def __init__(self, store: TableStore) -> None:
        self._store = store

    def __contains__(self, name: object) -> bool:
        return self._store.is_raw(name)

    def __getitem__(self, name: str) -> Collection[str]:
        if name not in self:
            raise KeyError(name)
        return self._store.raw_columns(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._store.raw_names())

    def __len__(self) -> int:
        return len(self._store.raw_names())
