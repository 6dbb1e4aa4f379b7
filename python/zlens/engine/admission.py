"""Which user statements may run: SELECT and purely descriptive ones, checked on the parser's own tree.

The tree is that of DuckDB's `json_serialize_sql`. Anything that is not on a list here is refused: kinds of
nodes, table functions, tables of the engine itself. A statement that the parser cannot serialize is not a
SELECT.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from msgspec import Struct, field

from zlens.errors import QueryError

Tree = Mapping[str, Any]

#: Query nodes that read. Others, such as UPDATE_QUERY_NODE in a WITH clause, write.
_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
#: Functions allowed in FROM. Others read files, memory or settings, or run SQL from text.
_TABLE_FUNCTIONS = frozenset(
    {"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree", "summary"}
    | {
        "duckdb_tables",
        "duckdb_columns",
        "duckdb_views",
        "duckdb_functions",
        "duckdb_types",
        "duckdb_keywords",
    }
    | {"icu_calendar_names", "pg_timezone_names", "regexp_split_to_table", "generate_subscripts"}
)
#: Scalar functions that show settings, wait, write, or run SQL from text.
_REFUSED_FUNCTIONS = frozenset(
    {"current_setting", "getvariable", "getenv", "json_execute_serialized_sql", "json_serialize_plan"}
    | {"nextval", "currval", "setval", "pg_sleep", "sleep_ms", "write_log", "add_parquet_key", "setseed"}
    | {"copy_database", "import_database", "force_checkpoint"}
)
#: Tables of the engine that list the tables; its others show settings and paths.
_CATALOG_TABLES = frozenset({"duckdb_tables", "duckdb_columns", "duckdb_views", "duckdb_types"})
_ENGINE_PREFIXES = ("duckdb_", "pragma_", "sqlite_", "pg_")
_LISTINGS = frozenset({"tables", "__show_tables_expanded"})
_CURE = "zlens changes no data and reads nothing but its inputs; ask with SELECT"


class Survey(Struct):
    """The names in a statement.

    tables    tables as `name` or `schema.name` in lower case, including those of its WITH clauses
    columns   columns it may read, by name; None if it does not name them all: a star stands for columns of
              all tables, and NATURAL joins on all common columns
    rows      tables whose name or alias is used like a column: it is the whole row if the table has no
              such column
    listing   whether it lists tables and columns
    kinds     the kinds of events that its conditions select wherever it reads events; None for all
    """

    tables: set[str] = field(default_factory=set)
    columns: set[str] | None = field(default_factory=set)
    rows: dict[str, set[str]] = field(default_factory=dict)
    listing: bool = False
    kinds: set[str] | None = None

    def facts(self) -> list[Any]:
        """Itself as JSON can write it, if it names all its columns."""
        rows = {name: sorted(tables) for name, tables in self.rows.items()}
        kinds = None if self.kinds is None else sorted(self.kinds)
        return [sorted(self.tables), sorted(self.columns or ()), rows, self.listing, kinds]

    @classmethod
    def of(cls, facts: list[Any]) -> Survey:
        """The survey that wrote these facts."""
        tables, columns, rows, listing, kinds = facts
        rows = {name: {*names} for name, names in rows.items()}
        return cls({*tables}, {*columns}, rows, listing, None if kinds is None else {*kinds})


def admit(tree: Tree) -> Survey:
    """The names in a statement; QueryError unless it only reads zlens' tables and lists of them."""
    survey = Survey()
    columns: set[str] = set()
    bare_names: set[str] = set()
    aliases: dict[str, set[str]] = {}
    event_reads = 0
    event_selects: list[set[str]] = []
    complete = True
    # Without recursion, so that depth does no harm.
    pending: list[Any] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
            continue
        if not isinstance(node, dict):
            continue
        # Statements have hundreds of nodes: test a value's type only once.
        pending += [value for value in node.values() if value.__class__ is dict or value.__class__ is list]
        kind, node_class = node.get("type"), node.get("class")
        if node_class == "COLUMN_REF":
            path = [str(name).lower() for name in node["column_names"]]
            columns.update(path)
            if len(path) == 1:
                bare_names.add(path[0])
        elif kind == "SELECT_NODE":
            selected_kinds = _event_kinds(node)
            if selected_kinds is not None:
                event_selects.append(selected_kinds)
        elif node_class == "STAR":
            complete = False
        elif node_class == "FUNCTION":
            if _name(node.get("function_name")) in _REFUSED_FUNCTIONS:
                raise _refusal(f"function {node['function_name']}")
        elif kind == "BASE_TABLE":
            survey.listing |= _table(node)
            schema, name = _name(node.get("schema_name")), _name(node.get("table_name"))
            table = f"{schema}.{name}" if schema and schema != "main" else name
            survey.tables.add(table)
            event_reads += table == "event"
            aliases.setdefault(str(node.get("alias") or name).lower(), set()).add(table)
            complete = complete and not node.get("column_name_alias")
        elif kind == "TABLE_FUNCTION":
            survey.listing |= _function(node.get("function"))
        elif kind == "SHOW_REF":
            survey.listing |= _show(node)
            complete = False
        elif kind == "JOIN":
            columns.update(name.lower() for name in node.get("using_columns") or ())
            complete = complete and node.get("ref_type") != "NATURAL"
        elif kind == "PIVOT":
            complete = False
        elif isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES:
            raise _refusal(f"{kind.split('_')[0]} inside of a question")
    survey.columns = columns if complete else None
    if event_reads == len(event_selects):
        survey.kinds = {*chain.from_iterable(event_selects)}
    survey.rows = {name: aliases[name] for name in bare_names & aliases.keys()}
    return survey


def _event_kinds(node: Tree) -> set[str] | None:
    """The kinds of events that the condition of a SELECT from `event` alone lets through; None for all."""
    table = node.get("from_table") or {}
    # DESCRIBE and SUMMARIZE name their table too, and other schemas have tables of their own.
    of_events = table.get("type") == "BASE_TABLE" and _name(table.get("table_name")) == "event"
    if not of_events or _name(table.get("schema_name")) not in ("", "main") or table.get("column_name_alias"):
        return None
    paths = (["kind"], [_name(table.get("alias") or "event"), "kind"])
    pending = [node.get("where_clause")]
    while pending:
        condition = pending.pop() or {}
        if condition.get("type") == "CONJUNCTION_AND":
            pending.extend(condition["children"])
            continue
        if condition.get("type") == "COMPARE_EQUAL":
            compared, values = condition["left"], [condition["right"]]
        elif condition.get("type") == "COMPARE_IN":
            compared, *values = condition["children"]
        else:
            continue
        literals = [value.get("literal") or {} for value in values]
        is_kind = [_name(part) for part in compared.get("column_names") or ()] in paths
        if is_kind and all(literal.get("kind") == "STRING" for literal in literals):
            return {literal["text"] for literal in literals}
    return None


def shows_tables(tree: Tree) -> bool:
    """Whether a statement is SHOW TABLES."""
    table = tree["statements"][0]["node"].get("from_table") or {}
    return table.get("show_type") == "SHOW_SPECIAL" and _name(table.get("table_name")) == "tables"


def _function(function: object) -> bool:
    # A table function given by a subquery, or without a name in the tree, is unknown here.
    name = _name(function.get("function_name")) if isinstance(function, Mapping) else ""
    if name not in _TABLE_FUNCTIONS:
        raise _refusal(f"table function {name or '?'}")
    return name.startswith("duckdb_")


def _table(node: Tree) -> bool:
    schema, name = _name(node.get("schema_name")), _name(node.get("table_name"))
    if schema == "information_schema":
        return True
    of_engine = schema == "pg_catalog" or name.startswith(_ENGINE_PREFIXES)
    if of_engine and name not in _CATALOG_TABLES:
        raise _refusal(f"table {name}")
    return of_engine


def _show(node: Tree) -> bool:
    listing = _name(node.get("table_name"))
    special = node.get("show_type") == "SHOW_SPECIAL"
    if special and listing not in _LISTINGS:
        raise _refusal(f"SHOW {listing}")
    return special


def _name(name: object) -> str:
    return str(name or "").strip('"').lower()


def _refusal(subject: str) -> QueryError:
    return QueryError(
        f"not allowed in a question: {subject}",
        expected="a single SELECT (or DESCRIBE, SHOW TABLES, SUMMARIZE, EXPLAIN)",
        cure=_CURE,
    )
