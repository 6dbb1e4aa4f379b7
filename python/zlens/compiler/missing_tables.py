"""Removes LEFT JOINs with tables that are empty in this input; their columns become NULL.

Most measures join many roles, and an input has few of them. A join without rows costs the engine planning
time and, for long inputs, time for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from zlens.catalog.expressions import quote
from zlens.compiler.sql_tree import Reads, Tree, walk

#: Columns and SQL types of a table (`role.activity`) that is empty in the input; None for others. The type of
#: an unnamed column is unknown.
Absent = Callable[[str], Mapping[str, str] | None]
#: Joins without rows if the left side has none.
_LEFT_ROWS = ("INNER", "LEFT", "SEMI", "ANTI")


def drop_missing_joins(parsed: Tree, reads: Reads, absent: Absent, parse: Callable[[str], Tree]) -> None:
    """Replace the columns that LEFT JOINs read from absent tables by one row of NULLs.

    reads   the columns that a narrowed tree reads; absent tables that it no longer reads are removed
    """
    absent_tables = {name for name in reads if absent(name) is not None}
    if not absent_tables:
        return
    for node in walk(parsed):
        for key in ("from_table", "left", "right"):
            while isinstance(node.get(key), dict) and node[key].get("type") == "JOIN":
                replacement = _null_replacement(node[key], parsed, reads, absent, parse)
                if replacement is None:
                    break
                node[key] = replacement
                if replacement.get("type") == "JOIN":
                    # The next join is on its left.
                    break
    remaining = {_table(node) for node in walk(parsed) if node.get("type") == "BASE_TABLE"}
    for name in absent_tables - remaining:
        del reads[name]


def _null_replacement(
    join: Tree, parsed: Tree, reads: Reads, absent: Absent, parse: Callable[[str], Tree]
) -> Tree | None:
    """Return the replacement of a join with an absent table; None if it is another join."""
    if join["join_type"] != "LEFT" or join["ref_type"] != "REGULAR":
        return None
    right = join["right"]
    types = _types(right, reads, absent)
    alias = str(right.get("alias") or right.get("table_name") or "").lower()
    if types is None or not alias or right.get("column_name_alias"):
        return None
    merged = {str(name).lower() for name in join.get("using_columns") or ()}
    inside = {id(node) for node in walk(right)}
    if any(_column_of_alias(node, alias) in merged for node in walk(parsed) if id(node) not in inside):
        return None
    nulls = ", ".join(
        f"{f'NULL::{type}' if type else 'NULL'} AS {quote(name)}"
        for name, type in types.items()
        if name not in merged
    )
    if not nulls:
        left: Tree = join["left"]
        return left
    template = parse(f"SELECT 1 FROM one CROSS JOIN (SELECT {nulls}) AS {quote(alias)}")
    cross: Tree = template["statements"][0]["node"]["from_table"]
    cross["left"] = join["left"]
    return cross


def _types(ref: Tree, reads: Reads, absent: Absent) -> dict[str, str] | None:
    """Return columns and types of an absent table, or of a plain selection of its columns."""
    if ref["type"] == "BASE_TABLE":
        name = _table(ref)
        types = absent(name) if name in reads else None
        return None if types is None else {column: types.get(column, "") for column in sorted(reads[name])}
    if ref["type"] != "SUBQUERY":
        return None
    node = ref["subquery"]["node"]
    if (
        node["type"] != "SELECT_NODE"
        or node["group_expressions"]
        or node["from_table"]["type"] != "BASE_TABLE"
    ):
        return None
    types = absent(_table(node["from_table"]))
    items = node["select_list"]
    if types is None or any(item["class"] != "COLUMN_REF" for item in items):
        return None
    columns = {str(item.get("alias") or item["column_names"][-1]).lower(): item for item in items}
    sources = {name: str(item["column_names"][-1]).lower() for name, item in columns.items()}
    return (
        {name: types[source] for name, source in sources.items()} if {*sources.values()} <= {*types} else None
    )


def returns_no_rows(node: Tree, absent: Absent) -> bool:
    """Return whether a query certainly returns no rows because its tables have none."""
    if node["cte_map"]["map"]:
        return False
    if node["type"] == "SET_OPERATION_NODE":
        return node["setop_type"].startswith("UNION") and all(
            returns_no_rows(child, absent) for child in node["children"]
        )
    if node["type"] != "SELECT_NODE":
        return False
    # An aggregate over no rows returns one row.
    grouped = bool(node["group_expressions"])
    plain = all(part.get("class") != "FUNCTION" for part in walk(node["select_list"]))
    return (grouped or plain) and _no_rows(node["from_table"], absent)


def _no_rows(ref: Tree, absent: Absent) -> bool:
    if ref["type"] == "BASE_TABLE":
        return absent(_table(ref)) is not None
    if ref["type"] == "SUBQUERY":
        return returns_no_rows(ref["subquery"]["node"], absent)
    if ref["type"] != "JOIN":
        return False
    kind = ref["join_type"]
    if kind in _LEFT_ROWS and _no_rows(ref["left"], absent):
        return True
    return bool(kind == "INNER") and _no_rows(ref["right"], absent)


def _column_of_alias(node: Tree, alias: str) -> str | None:
    """Return the name of a column that a node reads from a table by its alias."""
    path = node.get("column_names") if node.get("class") == "COLUMN_REF" else None
    return str(path[1]).lower() if path and len(path) > 1 and str(path[0]).lower() == alias else None


def _table(node: Tree) -> str:
    schema, name = str(node.get("schema_name") or "").lower(), str(node["table_name"]).lower()
    return f"{schema}.{name}" if schema else name
