"""Which statements of a user run: SELECT and what only describes, checked on the parser's own tree.

The tree is that of DuckDB's `json_serialize_sql`. What is not on a list here is refused: kinds of nodes,
functions that make tables, tables of the engine itself. A statement that the parser cannot serialize is not a
SELECT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zlens.errors import QueryError

Tree = Mapping[str, Any]

#: Query nodes that read. Others, such as UPDATE_QUERY_NODE in a WITH clause, write.
_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
#: Functions that may stand in FROM. Others read files, memory or settings, or run SQL from text.
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
#: Tables of the engine that say what tables there are; its others show settings and paths.
_CATALOG_TABLES = frozenset({"duckdb_tables", "duckdb_columns", "duckdb_views", "duckdb_types"})
_ENGINE_PREFIXES = ("duckdb_", "pragma_", "sqlite_", "pg_")
_LISTINGS = frozenset({"tables", "__show_tables_expanded"})
_CURE = "zlens changes no data and reads nothing but its inputs; ask with SELECT"


def nodes(tree: object) -> Iterator[Tree]:
    """Every object of a tree, in no particular order; without recursion, so that depth does no harm."""
    pending = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            yield item
            pending.extend(item.values())
        elif isinstance(item, Sequence) and not isinstance(item, str):
            pending.extend(item)


def admit(tree: Tree) -> None:
    """QueryError unless a statement only reads: measures, roles, raw tables and what lists them."""
    for node in nodes(tree):
        kind = node.get("type")
        if not isinstance(kind, str):
            continue
        if kind.endswith("_NODE") and kind not in _NODES:
            raise _refused(f"{kind.split('_')[0]} inside of a question")
        if kind == "TABLE_FUNCTION":
            _function(node.get("function"))
        elif node.get("class") == "FUNCTION" and _name(node.get("function_name")) in _REFUSED_FUNCTIONS:
            raise _refused(f"function {node['function_name']}")
        elif kind == "BASE_TABLE":
            _table(node)
        elif kind == "SHOW_REF":
            _show(node)


def _function(function: object) -> None:
    # A table function with a subquery in its place, or none that the tree names, is none that is known here.
    name = _name(function.get("function_name")) if isinstance(function, Mapping) else ""
    if name not in _TABLE_FUNCTIONS:
        raise _refused(f"table function {name or '?'}")


def _table(node: Tree) -> None:
    schema, name = _name(node.get("schema_name")), _name(node.get("table_name"))
    if schema == "information_schema":
        return
    of_engine = schema == "pg_catalog" or name.startswith(_ENGINE_PREFIXES)
    if of_engine and name not in _CATALOG_TABLES:
        raise _refused(f"table {name}")


def _show(node: Tree) -> None:
    what = _name(node.get("table_name"))
    if node.get("show_type") == "SHOW_SPECIAL" and what not in _LISTINGS:
        raise _refused(f"SHOW {what}")


def _name(name: object) -> str:
    return str(name or "").strip('"').lower()


def _refused(what: str) -> QueryError:
    return QueryError(
        f"not allowed in a question: {what}",
        expected="a single SELECT (or DESCRIBE, SHOW TABLES, SUMMARIZE, EXPLAIN)",
        cure=_CURE,
    )
