"""Admits user statements: SELECT and descriptive ones, checked on the parser's own tree.

The tree comes from DuckDB's `json_serialize_sql`. Everything that is not on the list of the catalog
(catalog/admitted) is rejected: kinds of nodes, classes of expressions, types, functions, tables of the
engine. A table is one of zlens or of a WITH clause whose scope the table is in. A statement that the parser
cannot serialize is not a SELECT.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from msgspec import Struct, field

from zlens.catalog.admitted import AllowList
from zlens.engine.error_translation import missing_table
from zlens.errors import QueryError

Tree = Mapping[str, Any]

#: Characters of handwritten table names; names with others are paths, patterns and addresses.
_PLAIN = frozenset("_#$- ")
_CURE = "zlens changes no data and reads nothing but its inputs; ask with SELECT"


class StatementNames(Struct):
    """The names in a statement.

    tables    tables as `name` or `schema.name` in lower case, including those of its WITH clauses
    columns   columns that it may read, by name; None if it does not name them all: a star represents columns
              of all tables, and NATURAL joins on all common columns
    rows      tables whose name or alias is used like a column: it represents the entire row if the table has
              no such column
    listing   whether it lists tables and columns
    kinds     kinds of events that its conditions select wherever it reads events; None for all
    aliases   tables by name or alias
    """

    tables: set[str] = field(default_factory=set)
    columns: set[str] | None = field(default_factory=set)
    rows: dict[str, set[str]] = field(default_factory=dict)
    listing: bool = False
    kinds: set[str] | None = None
    aliases: dict[str, set[str]] = field(default_factory=dict)

    def facts(self) -> list[Any]:
        """Return the names as values for JSON; only for a statement that names all its columns."""
        rows = {name: sorted(tables) for name, tables in self.rows.items()}
        kinds = None if self.kinds is None else sorted(self.kinds)
        return [sorted(self.tables), sorted(self.columns or ()), rows, self.listing, kinds]

    @classmethod
    def from_facts(cls, facts: list[Any]) -> StatementNames:
        """Return the names that `facts` wrote."""
        tables, columns, rows, listing, kinds = facts
        rows = {name: {*names} for name, names in rows.items()}
        return cls({*tables}, {*columns}, rows, listing, None if kinds is None else {*kinds})


def check_statement(tree: Tree, is_table: Callable[[str], bool]) -> StatementNames:
    """Return the names in a statement; QueryError unless it only reads or lists zlens' tables.

    `is_table` returns whether a name in lower case (`cpu`, `role.processor`) is a table of zlens.
    """
    allowed = AllowList.load()
    survey = StatementNames()
    columns: set[str] = set()
    bare_names: set[str] = set()
    aliases = survey.aliases
    event_reads = 0
    event_selects: list[set[str]] = []
    complete = True
    # Not recursive, so that deep statements do no harm. Each node has the names of the WITH clauses around
    # it.
    pending: list[tuple[Any, frozenset[str]]] = [(tree, frozenset())]
    node: Any = {}
    try:
        while pending:
            node, scope = pending.pop()
            if node.__class__ is list:
                pending += [(value, scope) for value in node if value.__class__ in _CONTAINERS]
                continue
            kind, node_class = node.get("type"), node.get("class")
            if node_class is not None:
                _check_expression(node, allowed)
            elif kind.__class__ is str and kind not in allowed.kinds:
                raise _refusal(f"{kind.split('_')[0]} inside a query")
            if node.get("cte_map"):
                scope = _add_common_tables(node["cte_map"], scope, pending)
            # Statements have hundreds of nodes, so the type of a value is tested only once.
            pending += [
                (value, scope)
                for name, value in node.items()
                if value.__class__ in _CONTAINERS and name not in _SEPARATE
            ]
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
            elif kind == "BASE_TABLE":
                survey.listing |= _check_table(node, scope, allowed, is_table)
                schema, name = _name(node.get("schema_name")), _name(node.get("table_name"))
                table = f"{schema}.{name}" if schema and schema != "main" else name
                survey.tables.add(table)
                event_reads += table == "event"
                aliases.setdefault(str(node.get("alias") or name).lower(), set()).add(table)
                complete = complete and not node.get("column_name_alias")
            elif kind == "TABLE_FUNCTION":
                survey.listing |= _check_table_function(node.get("function"), allowed)
                # The node is named after its function; the arguments are ordinary expressions.
                pending += [
                    (value, scope) for value in node["function"].values() if value.__class__ in _CONTAINERS
                ]
            elif kind == "SHOW_REF":
                survey.listing |= _check_show(node, allowed, is_table)
                if node.get("show_type") == "SHOW":
                    survey.tables.add(_name(node.get("table_name")))
                complete = False
            elif kind == "JOIN":
                columns.update(name.lower() for name in node.get("using_columns") or ())
                complete = complete and node.get("ref_type") != "NATURAL"
            elif kind == "PIVOT":
                complete = False
    except QueryError as refusal:
        refusal.position = location(node)
        raise
    survey.columns = columns if complete else None
    if event_reads == len(event_selects):
        survey.kinds = {*chain.from_iterable(event_selects)}
    survey.rows = {name: aliases[name] for name in bare_names & aliases.keys()}
    return survey


def location(node: Tree) -> int | None:
    """Return the byte offset of a node in its statement; None if the parser does not know it."""
    offset = node.get("query_location")
    return offset if isinstance(offset, int) and offset < 1 << 63 else None


def column_location(tree: Tree, column: str) -> int | None:
    """Return the byte offset of the first reference to a column."""
    pending: list[Any] = [tree]
    found: list[int] = []
    while pending:
        node = pending.pop()
        if node.__class__ is list:
            pending += node
        elif node.__class__ is dict:
            pending += node.values()
            names = node.get("column_names") if node.get("class") == "COLUMN_REF" else None
            offset = location(node)
            if names and offset is not None and str(names[-1]).lower() == column.lower():
                found.append(offset)
    return min(found, default=None)


#: Types of nodes and of lists of nodes.
_CONTAINERS = (dict, list)
#: Values that are checked with their node.
_SEPARATE = frozenset({"cte_map", "function"})


def _add_common_tables(
    cte_map: Tree, scope: frozenset[str], pending: list[tuple[Any, frozenset[str]]]
) -> frozenset[str]:
    """Add the queries of a WITH clause to `pending`; returns the scope of what follows it.

    Each of its names exists in the queries after its own, and in its own if that is recursive.
    """
    for entry in cte_map.get("map") or ():
        name, value = _folded(entry["key"]), entry["value"]
        query = value.get("query_node") or {}
        recursive = query.get("type") == "RECURSIVE_CTE_NODE"
        pending.append((value, scope | {name, f"recurring.{name}"} if recursive else scope))
        scope |= {name}
    return scope


def _event_kinds(node: Tree) -> set[str] | None:
    """Return the kinds of events that the condition of a SELECT from `event` only admits; None for all."""
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
    """Return whether a statement is SHOW TABLES."""
    table = tree["statements"][0]["node"].get("from_table") or {}
    return table.get("show_type") == "SHOW_SPECIAL" and _name(table.get("table_name")) == "tables"


def _check_expression(node: Tree, allowed: AllowList) -> None:
    """Raise QueryError if the class, type or function of an expression is not allowed."""
    node_class = node["class"]
    if node_class not in allowed.expressions.classes:
        raise _refusal("DEFAULT" if node_class == "DEFAULT" else f"a {str(node_class).lower()}")
    if node_class in ("FUNCTION", "WINDOW"):
        name = str(node.get("function_name")).lower()
        if name not in allowed.functions or not _is_of_engine(node.get("schema"), node.get("catalog")):
            raise _function_refusal("function", name, allowed.functions, allowed)
    elif node_class == "OPERATOR":
        if node["type"] not in allowed.expressions.operators:
            raise _refusal(f"operator {node['type']}")
    elif node_class == "TYPE":
        name = str(node.get("type_name")).lower()
        if name not in allowed.expressions.types or not _is_of_engine(
            node.get("schema"), node.get("catalog")
        ):
            raise _refusal(f"type {name}")


def _is_of_engine(schema: object, catalog: object) -> bool:
    return _name(schema) in ("", "main", "pg_catalog") and _name(catalog) in ("", "system")


def _check_table_function(function: object, allowed: AllowList) -> bool:
    """Return whether a function in FROM lists tables; QueryError if it is not allowed."""
    # A table function from a subquery, or without a name in the tree, is unknown here.
    facts = function if isinstance(function, Mapping) else {}
    name = str(facts.get("function_name") or "?").lower()
    if name not in allowed.table_functions or not _is_of_engine(facts.get("schema"), facts.get("catalog")):
        raise _function_refusal("table function", name, allowed.table_functions, allowed)
    return name.startswith("duckdb_")


def _check_table(
    node: Tree, scope: frozenset[str], allowed: AllowList, is_table: Callable[[str], bool]
) -> bool:
    """Return whether a table is one of the engine's lists; QueryError if it is not allowed or unknown."""
    if node.get("at_clause"):
        raise _refusal("a table AT an earlier time")
    schema, name = _folded(node.get("schema_name")), _folded(node.get("table_name"))
    catalog = _folded(node.get("catalog_name"))
    qualified = f"{schema}.{name}" if schema and schema != "main" else name
    if not catalog and (f"{schema}.{name}" if schema else name) in scope:
        return False
    if catalog in ("", "memory") and is_table(qualified):
        return False
    if catalog in ("", "memory", "system"):
        if schema == "information_schema":
            if name in allowed.listings.information_schema:
                return True
        elif schema in ("", "main", "pg_catalog") and name in allowed.listings.tables:
            return True
    full = ".".join(part for part in (catalog, schema, name) if part)
    if not all(character.isalnum() or character in _PLAIN for character in f"{catalog}{schema}{name}"):
        raise _refusal(f"the file {full}", "name a table; SHOW TABLES lists what the input has")
    if schema in ("information_schema", "pg_catalog") or name.startswith(_ENGINE_PREFIXES):
        raise _refusal(f"table {full}")
    raise missing_table(full)


#: Prefixes of the names of the engine's own tables.
_ENGINE_PREFIXES = ("duckdb_", "pragma_", "sqlite_", "pg_")


def _check_show(node: Tree, allowed: AllowList, is_table: Callable[[str], bool]) -> bool:
    """Return whether SHOW lists tables; QueryError unless it does or describes a query or zlens table."""
    name, show_kind = _name(node.get("table_name")), node.get("show_type")
    if show_kind in ("DESCRIBE", "SUMMARY") and node.get("query"):
        return False
    if show_kind == "SHOW_SPECIAL" and name in allowed.listings.show:
        return True
    if show_kind == "SHOW" and (node.get("query") or is_table(_folded(node.get("table_name")))):
        return False
    raise _refusal(f"SHOW {name or 'of a schema'}", "SHOW TABLES lists what can be described")


def _name(name: object) -> str:
    return str(name or "").strip('"').lower()


def _folded(name: object) -> str:
    """Fold the case of a name as the engine does: ASCII letters only."""
    return str(name or "").encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _function_refusal(subject: str, name: str, functions: frozenset[str], allowed: AllowList) -> QueryError:
    for refused in allowed.refused:
        if name in refused.names or name.startswith(refused.prefixes or ("\0",)):
            return _refusal(f"{subject} {name} ({refused.what})", refused.fix or _CURE)
    near = difflib.get_close_matches(name, functions, 3)
    suggestion = f"did you mean {' or '.join(near)}? " if near else ""
    return _refusal(
        f"{subject} {name}", f"{suggestion}`FROM duckdb_functions()` lists the engine's functions"
    )


def _refusal(subject: str, cure: str = _CURE) -> QueryError:
    return QueryError(
        f"not allowed in a query: {subject}",
        expected="a single SELECT (or DESCRIBE, SHOW TABLES, SUMMARIZE, EXPLAIN)",
        cure=cure,
    )
