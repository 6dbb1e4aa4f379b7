"""Statements of the catalog as trees: their columns, and how to narrow them to some of these.

Trees are those of DuckDB's parser (`json_serialize_sql`). Names are followed through the scopes of a
tree (FROM, WITH, subqueries) to find the columns and tables that it reads. Only SQL of zlens is accepted: its
LEFT JOINs match at most one row for each row, so a join without requested columns can be omitted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from zlens.errors import CatalogError

Tree = dict[str, Any]
#: Columns of a table by its name (`role.processor`), in order.
Schema = Callable[[str], Sequence[str]]
#: Tables and the columns that are read from them.
Reads = dict[str, set[str]]

#: Joins in which either side may have no row: a USING column belongs to both.
_BOTH_SIDES = ("FULL", "OUTER", "RIGHT")
_LEFT_ALONE = ("SEMI", "ANTI")
#: Parts of a SELECT that determine its rows and their order.
_ROWS = ("where_clause", "group_expressions", "having", "qualify", "modifiers")


def walk(tree: object) -> Iterator[Tree]:
    """Yield every object of a tree."""
    pending = [tree]
    while pending:
        item = pending.pop()
        # Called for thousands of objects, most of whose values are neither.
        if item.__class__ is dict:
            yield item
            parts: Iterable[object] = item.values()
        else:
            parts = item if item.__class__ is list else ()
        pending += [part for part in parts if part.__class__ is dict or part.__class__ is list]


def names(tree: Tree, schema: Schema) -> list[str]:
    """Return the columns of a statement's result, in order."""
    return _Analysis(schema).names(_node(tree), {})


def narrow(tree: Tree, requested: Iterable[str], schema: Schema) -> Reads:
    """Narrow a statement to the requested columns; return the columns that it then reads."""
    analysis = _Analysis(schema)
    analysis.query(_node(tree), set(requested), {}, [])
    return analysis.reads


def narrow_to(tree: Tree, paths: Collection[Sequence[str]], schema: Schema) -> Reads:
    """Like `narrow`, but first replace the SELECT list by columns of its tables, given as paths."""
    return narrow(tree, _select(tree, paths), schema)


def value_sources(tree: Tree, requested: Iterable[str], schema: Schema) -> Reads:
    """Return the columns that the values of some columns of a statement are computed from.

    Columns that only determine the rows are omitted: conditions, groups, join conditions.
    """
    analysis = _Analysis(schema, rows=False)
    analysis.query(_node(tree), set(requested), {}, [])
    return {name: columns for name, columns in analysis.reads.items() if columns}


def path_sources(tree: Tree, paths: Collection[Sequence[str]], schema: Schema) -> Reads:
    """Like `value_sources`, but first replace the SELECT list by columns of its tables, given as paths."""
    return value_sources(tree, _select(tree, paths), schema)


def _select(tree: Tree, paths: Collection[Sequence[str]]) -> list[str]:
    """Make a statement select columns of its tables, if any; return their names."""
    columns = {".".join(path): column([*path], ".".join(path)) for path in paths}
    if columns:
        _node(tree)["select_list"] = [*columns.values()]
    return [*columns]


def computed(tree: Tree, name: str, schema: Schema) -> list[Tree]:
    """Return the expressions by which a statement computes a column, one for each such part of a UNION."""
    return _Analysis(schema).computed(_node(tree), name, {})


def _node(tree: Mapping[str, Any]) -> Tree:
    node: Tree = tree["statements"][0]["node"]
    return node


def tables(parsed: Mapping[str, Any]) -> frozenset[str]:
    """Return the tables in a statement (`cpu`, `role.processor`), except queries of its WITH clause."""
    return frozenset(name for _, name in _named(parsed))


#: Tables without which a statement has no rows: a name, [ALL, ...] or [ANY, ...] of such.
Rows = str | list[Any]
ALL, ANY = "#all", "#any"


def required_tables(parsed: Mapping[str, Any]) -> Rows:
    """Return the tables without which a statement has no rows: none of a LEFT JOIN, one of a UNION."""
    return _rows_of(_node(parsed), {})


def _rows_of(node: Tree, queries: Mapping[str, Rows]) -> Rows:
    inner_queries = dict(queries)
    for entry in (node.get("cte_map") or {}).get("map", []):
        inner_queries[entry["key"].lower()] = _rows_of(entry["value"]["query_node"], inner_queries)
    if node["type"] == "SET_OPERATION_NODE":
        return [ANY, *(_rows_of(child, inner_queries) for child in node["children"])]
    return _rows_of_from(node["from_table"], inner_queries) if "from_table" in node else [ALL]


def _rows_of_from(ref: Tree, queries: Mapping[str, Rows]) -> Rows:
    if ref["type"] == "BASE_TABLE":
        schema, table = str(ref.get("schema_name") or "").lower(), str(ref["table_name"]).lower()
        return queries.get(table, table) if not schema else f"{schema}.{table}"
    if ref["type"] == "SUBQUERY":
        return _rows_of(ref["subquery"]["node"], queries)
    if ref["type"] == "PIVOT":
        return _rows_of_from(ref["source"], queries)
    if ref["type"] != "JOIN":
        # VALUES and table functions have rows of their own.
        return [ALL]
    left, right = (_rows_of_from(ref[side], queries) for side in ("left", "right"))
    alone = {"LEFT": left, "ANTI": left, "RIGHT": right}
    return alone.get(ref["join_type"]) or [ANY if ref["join_type"] in _BOTH_SIDES else ALL, left, right]


def rename(parsed: Tree, names: Mapping[str, str]) -> None:
    """Rename the nodes of a tree to the queries of a statement."""
    for node, old in list(_named(parsed)):
        new = names.get(old, old)
        if "." in old or new != old:
            node["alias"] = node.get("alias") or old.rpartition(".")[2]
            node["schema_name"], node["table_name"] = "", new
            node["qualified_name"] = {"path": [new]}


def _named(parsed: Mapping[str, Any]) -> Iterator[tuple[Tree, str]]:
    """Yield the tables that a statement names, each with its node."""
    query_names: set[str] = set()
    table_nodes = []
    for node in walk(parsed):
        if common_tables := node.get("cte_map"):
            query_names.update(entry["key"].lower() for entry in common_tables["map"])
        if node.get("type") == "BASE_TABLE":
            table_nodes.append(node)
    for node in table_nodes:
        schema, table = str(node.get("schema_name") or "").lower(), str(node["table_name"]).lower()
        if schema or table not in query_names:
            yield node, f"{schema}.{table}" if schema else table


class _SelectQuery(Struct):
    """A query inside a statement: of a WITH clause, or a subquery in FROM."""

    node: Tree
    names: list[str]
    wanted: set[str] = field(default_factory=set)
    used: bool = False


class _FromItem(Struct):
    """One table of a FROM clause. `names` are its columns, as the statement calls them."""

    alias: str
    names: list[str]
    node: Tree
    table: str = ""
    query: _SelectQuery | None = None
    wanted: set[str] = field(default_factory=set)
    hidden: bool = False


class _Scope(list[_FromItem]):
    """The tables of a FROM clause, from left to right."""

    #: Columns that USING merges; True if either side may have no row.
    merged: Mapping[str, bool] = {}

    def find_item(self, name: str) -> list[_FromItem]:
        items = [item for item in self if name in item.names]
        # For a merged column the left side is read; the join itself reads both.
        return items if self.merged.get(name, len(items) > 1 and name not in self.merged) else items[:1]


_Queries = Mapping[str, _SelectQuery]


class _Analysis:
    def __init__(self, schema: Schema, *, rows: bool = True) -> None:
        self.schema = schema
        #: Whether columns that only determine the rows count as read.
        self.rows = rows
        self.reads: Reads = {}
        self._names: dict[int, list[str]] = {}
        self._queries: _Queries = {}

    # -- result columns of a query --------------------------------------------------------------------

    def names(self, node: Tree, queries: _Queries) -> list[str]:
        if id(node) not in self._names:
            self._names[id(node)] = self._names_of(node, self.with_clause(node, queries))
        return self._names[id(node)]

    def _names_of(self, node: Tree, queries: _Queries) -> list[str]:
        if node["type"] == "SET_OPERATION_NODE":
            children = [self.names(child, queries) for child in node["children"]]
            if node["setop_type"] != "UNION_BY_NAME":
                return children[0]
            return list(dict.fromkeys(name for child in children for name in child))
        if node["type"] != "SELECT_NODE":
            raise CatalogError(f"a measure's SQL has a {node['type']}", expected="SELECT and UNION")
        scope = self.scope(node["from_table"], queries)
        return [_name(item) for item in self.expanded(node, scope)]

    def with_clause(self, node: Tree, queries: _Queries) -> dict[str, _SelectQuery]:
        """Return the queries that a node can read from: those of outer scopes and of its WITH clause."""
        inner = dict(queries)
        for entry in node["cte_map"]["map"]:
            query = entry["value"]["query_node"]
            inner[entry["key"].lower()] = _SelectQuery(query, self.names(query, inner))
        return inner

    def expanded(self, node: Tree, scope: _Scope) -> list[Tree]:
        """Return the expressions of a SELECT, with stars expanded to columns."""
        expressions: list[Tree] = []
        for expression in node["select_list"]:
            if expression["class"] == "STAR":
                expressions += _columns(expression, scope)
            else:
                expressions.append(expression)
        return expressions

    def computed(self, node: Tree, name: str, queries: _Queries) -> list[Tree]:
        """Return the expressions that compute a column, except those that are plain columns."""
        inner = self.with_clause(node, queries)
        if node["type"] == "SET_OPERATION_NODE":
            by_name = node["setop_type"] == "UNION_BY_NAME"
            position = None if by_name else self.names(node, queries).index(name)
            return [
                expression
                for child in node["children"]
                for names in (self.names(child, inner),)
                if position is not None or name in names
                for expression in self.computed(child, name if position is None else names[position], inner)
            ]
        items = self.expanded(node, self.scope(node["from_table"], inner))
        return [item for item in items if _name(item) == name and item["class"] != "COLUMN_REF"]

    # -- FROM ----------------------------------------------------------------------------------------

    def scope(self, ref: Tree, queries: _Queries) -> _Scope:
        scope = _Scope(self._items(ref, queries))
        scope.merged = _using_columns(ref)
        return scope

    def _items(self, ref: Tree, queries: _Queries) -> list[_FromItem]:
        kind = ref["type"]
        if kind == "EMPTY":
            return []
        if kind == "JOIN":
            right = self._items(ref["right"], queries)
            for item in right:
                item.hidden = ref["join_type"] in _LEFT_ALONE
            return self._items(ref["left"], queries) + right
        alias = str(ref.get("alias") or "").lower()
        renames = [name.lower() for name in ref.get("column_name_alias", [])]
        if kind == "SUBQUERY":
            node = ref["subquery"]["node"]
            query = _SelectQuery(node, self.names(node, queries))
            return [_FromItem(alias, renames or query.names, ref, query=query)]
        if kind != "BASE_TABLE":
            return [_FromItem(alias, renames, ref)]
        name, schema = str(ref["table_name"]).lower(), str(ref.get("schema_name") or "").lower()
        if not schema and name in queries:
            return [_FromItem(alias or name, queries[name].names, ref, query=queries[name])]
        table = f"{schema}.{name}" if schema else name
        return [_FromItem(alias or name, list(self.schema(table)), ref, table=table)]

    # -- columns read by a query ------------------------------------------------------------------------

    def query(self, node: Tree, requested: set[str] | None, queries: _Queries, outer: list[_Scope]) -> None:
        """Narrow a query to its requested columns (None: all), and record the columns that it reads."""
        inner = self.with_clause(node, queries)
        outer_queries, self._queries = self._queries, inner
        if node["type"] == "SET_OPERATION_NODE":
            self.union(node, requested, inner, outer)
        else:
            self.select(node, requested, inner, outer)
        entries = node["cte_map"]["map"]
        # Later queries read earlier ones, and so determine their requested columns.
        for entry in reversed(entries):
            query = inner[entry["key"].lower()]
            if query.used:
                self.query(query.node, query.wanted, inner, outer)
        node["cte_map"]["map"] = [entry for entry in entries if inner[entry["key"].lower()].used]
        self._queries = outer_queries

    def union(self, node: Tree, requested: set[str] | None, queries: _Queries, outer: list[_Scope]) -> None:
        children = node["children"]
        distinct = not node["setop_all"] or any(map(_rows_depend_on_columns, _selects(node)))
        if requested is None or (self.rows and distinct):
            for child in children:
                self.query(child, None, queries, outer)
        elif node["setop_type"] == "UNION_BY_NAME":
            for child in children:
                self.query(child, requested & {*self.names(child, queries)}, queries, outer)
        else:
            first = self.names(node, queries)
            positions = {position for position, name in enumerate(first) if name in requested}
            self.places(node, positions or ({0} if self.rows else positions), queries, outer)

    def places(self, node: Tree, positions: set[int], queries: _Queries, outer: list[_Scope]) -> None:
        """Narrow a part of a UNION to the columns at some positions, whatever their names."""
        if node["type"] == "SET_OPERATION_NODE":
            for child in node["children"]:
                self.places(child, positions, queries, outer)
            return
        inner = self.with_clause(node, queries)
        items = self.expanded(node, self.scope(node["from_table"], inner))
        node["select_list"] = [item for position, item in enumerate(items) if position in positions]
        node["#others"] = [item for position, item in enumerate(items) if position not in positions]
        self.query(node, None, queries, outer)

    def select(self, node: Tree, requested: set[str] | None, queries: _Queries, outer: list[_Scope]) -> None:
        scope = self.scope(node["from_table"], queries)
        scopes = [scope, *outer]
        items = self.expanded(node, scope)
        others = node.pop("#others", [])
        aliases = {_name(item): item for item in [*others, *items] if item.get("alias")}
        if requested is None or (self.rows and _rows_depend_on_columns(node)):
            selected = items
        else:
            selected = [item for item in items if _name(item) in requested] or items[: int(self.rows)]
        pending = list(selected)
        for part in _ROWS if self.rows else ():
            pending += self.expression(node[part], scopes, aliases)
        needed: set[int] = set()
        while pending:
            item = pending.pop()
            if id(item) not in needed:
                needed.add(id(item))
                pending += self.expression(item, scopes, aliases)
        node["select_list"] = [item for item in items if id(item) in needed]
        if extra := [item for item in others if id(item) in needed]:
            # A requested column names it, but it is at a position that is not requested and must not appear.
            raise CatalogError(f"a part of a UNION names its own column {_name(extra[0])}")
        node["from_table"] = self.joins(node["from_table"], scope, scopes)
        # Subqueries first: a LATERAL one reads the tables next to it.
        for table in sorted(scope, key=lambda item: bool(item.table)):
            self.propagate(table, queries, scopes)

    def joins(self, ref: Tree, scope: _Scope, scopes: list[_Scope]) -> Tree:
        """Record columns that joins compare, last join first; drop a LEFT JOIN without requested columns."""
        if ref["type"] != "JOIN":
            return ref
        within = {id(node) for node in _tables(ref["right"])}
        right = [item for item in scope if id(item.node) in within]
        if ref["join_type"] == "LEFT" and not any(item.wanted for item in right):
            for item in right:
                scope.remove(item)
            return self.joins(ref["left"], scope, scopes)
        if self.rows:
            self.expression(ref.get("condition"), scopes, {})
        within |= {id(node) for node in _tables(ref["left"])}
        for name in (name.lower() for name in ref.get("using_columns", [])):
            for item in scope:
                if self.rows and id(item.node) in within and name in item.names:
                    item.wanted.add(name)
        ref["right"] = self.joins(ref["right"], scope, scopes)
        ref["left"] = self.joins(ref["left"], scope, scopes)
        return ref

    def propagate(self, item: _FromItem, queries: _Queries, scopes: list[_Scope]) -> None:
        """Pass the requested columns of a table on to its source."""
        if item.query is not None and item.node["type"] == "SUBQUERY":
            renamed = bool(item.node.get("column_name_alias"))
            # A LATERAL subquery has the tables next to it in scope.
            self.query(item.query.node, None if renamed else item.wanted, queries, scopes)
        elif item.query is not None:
            item.query.used = True
            item.query.wanted |= item.wanted
        elif item.table:
            self.reads.setdefault(item.table, set()).update(item.wanted)
        else:
            self.expression(item.node.get("values") or item.node.get("function"), scopes, {})

    # -- expressions ---------------------------------------------------------------------------------

    def expression(self, expression: object, scopes: list[_Scope], aliases: Mapping[str, Tree]) -> list[Tree]:
        """Record the columns that an expression names; return the SELECT items that it names by alias."""
        items: list[Tree] = []
        pending = [expression]
        while pending:
            item = pending.pop()
            if isinstance(item, list):
                pending.extend(item)
            elif not isinstance(item, dict):
                continue
            elif item.get("class") == "COLUMN_REF":
                path = [str(name).lower() for name in item["column_names"]]
                # A column of a table takes precedence over an alias of the same name.
                if not self.resolve(path, scopes) and path[0] in aliases:
                    items.append(aliases[path[0]])
            elif item.get("class") == "SUBQUERY":
                # The rows of a subquery are part of its value.
                outer_rows, self.rows = self.rows, True
                self.query(item["subquery"]["node"], None, self._queries, scopes)
                self.rows = outer_rows
                pending.append(item.get("child"))
            else:
                pending.extend(item.values())
        return items

    def resolve(self, path: list[str], scopes: list[_Scope]) -> bool:
        """Record the column that a name means; return whether a table has it."""
        for scope in scopes:
            aliased = [item for item in scope if item.alias == path[0]] if len(path) > 1 else []
            for item in aliased:
                item.wanted.add(path[1])
            owners = [] if aliased else scope.find_item(path[0])
            for item in owners:
                item.wanted.add(path[0])
            if aliased or owners:
                return True
        return False


def _columns(star: Tree, scope: _Scope) -> list[Tree]:
    """Return the columns that a star expands to."""
    relation = str(star.get("relation_name") or "").lower()
    excluded = {str(name).lower() for name in star.get("exclude_list", [])}
    replaced = {entry["key"].lower(): entry["value"] for entry in star.get("replace_list", [])}
    columns: list[Tree] = []
    seen: set[str] = set()
    for item in scope:
        if item.hidden or (relation and item.alias != relation):
            continue
        if not item.names:
            # The column names of VALUES are unknown: the star stays.
            return [star]
        for name in item.names:
            merged = not relation and name in scope.merged
            if name in excluded or (merged and name in seen):
                continue
            seen.add(name)
            if name in replaced:
                columns.append({**replaced[name], "alias": name})
            else:
                path = [name] if merged or not item.alias else [item.alias, name]
                columns.append(column(path, name))
    return columns


def column(path: list[str], alias: str) -> Tree:
    """Return the tree of a column by its path, with an alias."""
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": alias, "column_names": path}


def _name(expression: Tree) -> str:
    """Return the name that an expression gives its column."""
    if expression.get("alias"):
        return str(expression["alias"]).lower()
    if expression["class"] == "COLUMN_REF":
        return str(expression["column_names"][-1]).lower()
    return ""


def _tables(ref: Tree) -> Iterator[Tree]:
    """Yield the nodes of a FROM clause that are not joins, from left to right."""
    if ref["type"] == "JOIN":
        yield from _tables(ref["left"])
        yield from _tables(ref["right"])
    elif ref["type"] != "EMPTY":
        yield ref


def _using_columns(ref: Tree) -> dict[str, bool]:
    merged: dict[str, bool] = {}
    pending = [ref]
    while pending:
        node = pending.pop()
        if node["type"] == "JOIN":
            for name in (name.lower() for name in node.get("using_columns", [])):
                merged[name] = merged.get(name, False) or node["join_type"] in _BOTH_SIDES
            pending += [node["left"], node["right"]]
    return merged


def _selects(node: Tree) -> Iterator[Tree]:
    """Yield the SELECTs of a UNION."""
    if node["type"] == "SET_OPERATION_NODE":
        for child in node["children"]:
            yield from _selects(child)
    else:
        yield node


def _rows_depend_on_columns(node: Tree) -> bool:
    """Return whether omitting a column from a SELECT would change its rows."""
    distinct = any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in node["modifiers"])
    return distinct or node["aggregate_handling"] == "FORCE_AGGREGATES"
