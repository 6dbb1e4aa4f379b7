"""Conditions of a statement on the columns of one table, which select its rows before they are read."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from zlens.catalog import expressions
from zlens.compiler.sql_tree import walk

Tree = Mapping[str, Any]

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
#: Types of constants that are written as text.
_TEXTUAL = frozenset({"timestamptz", "timestamp with time zone", "timestamp", "date"})
_TIME = re.compile(r"\d{4}-\d\d-\d\d[\d :.TZ+-]*")


def condition_on(tree: Tree, table: str, columns: Collection[str]) -> str | None:
    """Return SQL of the conditions of a statement on the rows of a table that compare columns with constants.

    None if there are no such conditions or the statement reads the table more than once. `table` is in lower
    case.
    """
    if not tree:
        return None
    table_nodes = [node for node in walk(tree) if _reads(node, table)]
    selects = [node for node in walk(tree) if _reads(node.get("from_table") or {}, table)]
    if len(table_nodes) != 1 or len(selects) != 1:
        return None
    (table_node,), (select,) = table_nodes, selects
    if select.get("type") != "SELECT_NODE" or any(
        node.get(part) for node in (table_node, select) for part in ("sample", "column_name_alias")
    ):
        return None
    renderer = _Columns(str(table_node.get("alias") or table_node["table_name"]).lower(), columns)
    conditions = [renderer.sql(condition) for condition in _conjuncts(select.get("where_clause"))]
    return " AND ".join(f"({sql})" for sql in conditions if sql is not None) or None


def _reads(node: Tree, table: str) -> bool:
    if node.get("type") == "SHOW_REF":
        return str(node.get("table_name") or "").lower() == table
    if node.get("type") != "BASE_TABLE":
        return False
    schema, name = str(node.get("schema_name") or "").lower(), str(node["table_name"]).lower()
    return (f"{schema}.{name}" if schema and schema != "main" else name) == table


def _conjuncts(condition: Tree | None) -> list[Tree]:
    if not condition:
        return []
    if condition.get("type") != "CONJUNCTION_AND":
        return [condition]
    return [part for child in condition["children"] for part in _conjuncts(child)]


class _Columns:
    """Columns that conditions of one SELECT may name."""

    def __init__(self, alias: str, columns: Collection[str]) -> None:
        self._alias = alias
        self._columns = columns

    def sql(self, node: Tree) -> str | None:
        """Return the SQL of a condition; None if it has more than columns and constants."""
        kind = node.get("type")
        if kind in _COMPARISONS:
            return self._joined(f" {_COMPARISONS[kind]} ", [node["left"], node["right"]])
        if kind == "COMPARE_BETWEEN":
            parts = [self._operand(node[part]) for part in ("input", "lower", "upper")]
            return None if None in parts else f"{parts[0]} BETWEEN {parts[1]} AND {parts[2]}"
        children = node.get("children") or []
        if kind == "COMPARE_IN":
            values = [self._operand(child) for child in children]
            return None if None in values else f"{values[0]} IN ({', '.join(map(str, values[1:]))})"
        if kind in ("OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"):
            operand = self._operand(children[0])
            test = "IS NULL" if kind == "OPERATOR_IS_NULL" else "IS NOT NULL"
            return None if operand is None else f"{operand} {test}"
        if kind in ("CONJUNCTION_AND", "CONJUNCTION_OR"):
            conditions = [self.sql(child) for child in children]
            if None in conditions:
                return None
            return f" {kind[12:]} ".join(f"({condition})" for condition in conditions)
        if kind == "OPERATOR_NOT":
            condition = self.sql(children[0])
            return None if condition is None else f"NOT ({condition})"
        return None

    def _joined(self, operator: str, sides: list[Tree]) -> str | None:
        operands = [self._operand(side) for side in sides]
        return None if None in operands else operator.join(map(str, operands))

    def _operand(self, node: Tree) -> str | None:
        """Return the SQL of a column or a constant; None for anything else."""
        if node.get("class") == "COLUMN_REF":
            *qualifier, name = (str(part).lower() for part in node["column_names"])
            is_own = name in self._columns and qualifier in ([], [self._alias])
            return expressions.quote(name) if is_own else None
        if node.get("class") == "CAST":
            type = str((node.get("type_expr") or {}).get("type_name")).lower()
            text = (node["child"].get("literal") or {}).get("text", "")
            if type in _TEXTUAL and not node.get("try_cast") and _TIME.fullmatch(text):
                return f"CAST({expressions.literal(text)} AS {type})"
            return None
        literal = node.get("literal") or {}
        if literal.get("kind") == "STRING":
            return expressions.literal(literal["text"])
        if literal.get("kind") == "BOOLEAN" and literal.get("text") in ("true", "false"):
            return str(literal["text"])
        text = str(literal.get("text"))
        return text if literal.get("kind") in ("INTEGER", "NUMERIC") and _NUMBER.fullmatch(text) else None
