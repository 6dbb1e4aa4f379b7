"""Statements of the catalog as trees: what columns they give, and the same with only those that are wanted.

Trees are those of DuckDB's parser (`json_serialize_sql`). Which columns of which tables a tree reads is found
by following names through its scopes: FROM, WITH, subqueries. Only SQL of zlens comes here: its LEFT JOINs
find at most one row for each row, so that one from which nothing is wanted is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from zlens.errors import CatalogError

Tree = dict[str, Any]
#: The columns of a table by its name (`role.processor`), in order.
Schema = Callable[[str], Sequence[str]]
#: Tables and the columns that are read of them.
Reads = dict[str, set[str]]

#: Joins of which either side may be without a row: a column of USING is of both.
_BOTH_SIDES = ("FULL", "OUTER", "RIGHT")
_LEFT_ALONE = ("SEMI", "ANTI")
#: The parts of a SELECT that say which rows there are, and in what order.
_ROWS = ("where_clause", "group_expressions", "having", "qualify", "modifiers")


def walk(tree: object) -> Iterator[Tree]:
    """Every object of a tree."""
    pending = [tree]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def names(tree: Tree, schema: Schema) -> list[str]:
    """The columns that a statement gives, in order."""
    return _Analysis(schema).names(_node(tree), {})


def narrow(tree: Tree, wanted: Iterable[str], schema: Schema) -> Reads:
    """Leave of a statement only what the columns wanted of it need; returns what that reads."""
    analysis = _Analysis(schema)
    analysis.query(_node(tree), set(wanted), {}, [])
    return analysis.reads


def narrow_to(tree: Tree, paths: Collection[Sequence[str]], schema: Schema) -> Reads:
    """The same for a SELECT of columns of its tables, by their paths, in the place of what it selects."""
    return narrow(tree, _select(tree, paths), schema)


def values(tree: Tree, wanted: Iterable[str], schema: Schema) -> Reads:
    """What the values of some columns of a statement are made from.

    What says only which rows there are is left out: conditions, groups, what joins compare.
    """
    analysis = _Analysis(schema, rows=False)
    analysis.query(_node(tree), set(wanted), {}, [])
    return {name: columns for name, columns in analysis.reads.items() if columns}


def values_of(tree: Tree, paths: Collection[Sequence[str]], schema: Schema) -> Reads:
    """The same for a SELECT of columns of its tables, by their paths, in the place of what it selects."""
    return values(tree, _select(tree, paths), schema)


def _select(tree: Tree, paths: Collection[Sequence[str]]) -> list[str]:
    """Have a statement select columns of its tables, if any; their names."""
    named = {".".join(path): column([*path], ".".join(path)) for path in paths}
    if named:
        _node(tree)["select_list"] = [*named.values()]
    return [*named]


def computed(tree: Tree, name: str, schema: Schema) -> list[Tree]:
    """The expressions by which a statement computes a column, one for each part of a UNION that does."""
    return _Analysis(schema).computed(_node(tree), name, {})


def _node(tree: Tree) -> Tree:
    node: Tree = tree["statements"][0]["node"]
    return node


def tables(parsed: Mapping[str, Any]) -> frozenset[str]:
    """The tables that a statement names (`cpu`, `role.processor`), but for the queries of its WITH."""
    return frozenset(name for _, name in _named(parsed))


def rename(parsed: Tree, names: Mapping[str, str]) -> None:
    """Let a tree read nodes by the names that the queries of a statement have."""
    for node, old in list(_named(parsed)):
        new = names.get(old, old)
        if "." in old or new != old:
            node["alias"] = node.get("alias") or old.rpartition(".")[2]
            node["schema_name"], node["table_name"] = "", new
            node["qualified_name"] = {"path": [new]}


def _named(parsed: Mapping[str, Any]) -> Iterator[tuple[Tree, str]]:
    """The tables that a statement names, each with its node."""
    own = {one["key"].lower() for node in walk(parsed) for one in (node.get("cte_map") or {}).get("map", [])}
    for node in walk(parsed):
        if node.get("type") == "BASE_TABLE":
            schema, table = str(node.get("schema_name") or "").lower(), str(node["table_name"]).lower()
            if schema or table not in own:
                yield node, f"{schema}.{table}" if schema else table


@dataclass
class _Query:
    """A query inside of a statement: of a WITH clause, or a subquery in FROM."""

    node: Tree
    names: list[str]
    wanted: set[str] = field(default_factory=set)
    used: bool = False


@dataclass
class _Item:
    """One table of a FROM clause. `names` are its columns, as the statement calls them."""

    alias: str
    names: list[str]
    node: Tree
    table: str = ""
    query: _Query | None = None
    wanted: set[str] = field(default_factory=set)
    hidden: bool = False


class _Scope(list[_Item]):
    """The tables of a FROM clause, from left to right."""

    #: Columns that a USING makes one of two; True where either side may lack the row.
    merged: Mapping[str, bool] = {}

    def having(self, name: str) -> list[_Item]:
        found = [item for item in self if name in item.names]
        # Of a merged column the left side is read; the join itself reads both.
        return found if self.merged.get(name, len(found) > 1 and name not in self.merged) else found[:1]


_Queries = Mapping[str, _Query]


class _Analysis:
    def __init__(self, schema: Schema, *, rows: bool = True) -> None:
        self.schema = schema
        #: Whether what says which rows there are counts as read.
        self.rows = rows
        self.reads: Reads = {}
        self._names: dict[int, list[str]] = {}
        self._queries: _Queries = {}

    # -- what a query gives --------------------------------------------------------------------------

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

    def with_clause(self, node: Tree, queries: _Queries) -> dict[str, _Query]:
        """The queries that a node can read from: those around it and those of its WITH clause."""
        inner = dict(queries)
        for entry in node["cte_map"]["map"]:
            query = entry["value"]["query_node"]
            inner[entry["key"].lower()] = _Query(query, self.names(query, inner))
        return inner

    def expanded(self, node: Tree, scope: _Scope) -> list[Tree]:
        """The expressions of a SELECT, each star as its columns."""
        made: list[Tree] = []
        for expression in node["select_list"]:
            if expression["class"] == "STAR":
                made += _columns(expression, scope)
            else:
                made.append(expression)
        return made

    def computed(self, node: Tree, name: str, queries: _Queries) -> list[Tree]:
        """The expressions that give a column, those left out that are a column themselves."""
        inner = self.with_clause(node, queries)
        if node["type"] == "SET_OPERATION_NODE":
            by_name = node["setop_type"] == "UNION_BY_NAME"
            at = None if by_name else self.names(node, queries).index(name)
            return [
                each
                for child in node["children"]
                for own in (self.names(child, inner),)
                if at is not None or name in own
                for each in self.computed(child, name if at is None else own[at], inner)
            ]
        items = self.expanded(node, self.scope(node["from_table"], inner))
        return [item for item in items if _name(item) == name and item["class"] != "COLUMN_REF"]

    # -- FROM ----------------------------------------------------------------------------------------

    def scope(self, ref: Tree, queries: _Queries) -> _Scope:
        scope = _Scope(self._items(ref, queries))
        scope.merged = _merged(ref)
        return scope

    def _items(self, ref: Tree, queries: _Queries) -> list[_Item]:
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
            query = _Query(node, self.names(node, queries))
            return [_Item(alias, renames or query.names, ref, query=query)]
        if kind != "BASE_TABLE":
            return [_Item(alias, renames, ref)]
        name, schema = str(ref["table_name"]).lower(), str(ref.get("schema_name") or "").lower()
        if not schema and name in queries:
            return [_Item(alias or name, queries[name].names, ref, query=queries[name])]
        table = f"{schema}.{name}" if schema else name
        return [_Item(alias or name, list(self.schema(table)), ref, table=table)]

    # -- what a query reads --------------------------------------------------------------------------

    def query(self, node: Tree, wanted: set[str] | None, queries: _Queries, outer: list[_Scope]) -> None:
        """Narrow a query to the columns wanted of it (None: all), and note what it reads."""
        inner = self.with_clause(node, queries)
        around, self._queries = self._queries, inner
        if node["type"] == "SET_OPERATION_NODE":
            self.union(node, wanted, inner, outer)
        else:
            self.select(node, wanted, inner, outer)
        entries = node["cte_map"]["map"]
        # Later ones read earlier ones: those behind a query tell what is wanted of it.
        for entry in reversed(entries):
            one = inner[entry["key"].lower()]
            if one.used:
                self.query(one.node, one.wanted, inner, outer)
        node["cte_map"]["map"] = [entry for entry in entries if inner[entry["key"].lower()].used]
        self._queries = around

    def union(self, node: Tree, wanted: set[str] | None, queries: _Queries, outer: list[_Scope]) -> None:
        children = node["children"]
        distinct = not node["setop_all"] or any(map(_all_matter, _selects(node)))
        if wanted is None or (self.rows and distinct):
            for child in children:
                self.query(child, None, queries, outer)
        elif node["setop_type"] == "UNION_BY_NAME":
            for child in children:
                self.query(child, wanted & {*self.names(child, queries)}, queries, outer)
        else:
            first = self.names(node, queries)
            places = {at for at, name in enumerate(first) if name in wanted}
            self.places(node, places or ({0} if self.rows else places), queries, outer)

    def places(self, node: Tree, places: set[int], queries: _Queries, outer: list[_Scope]) -> None:
        """Narrow a part of a UNION to the columns at some places, whatever it calls them."""
        if node["type"] == "SET_OPERATION_NODE":
            for child in node["children"]:
                self.places(child, places, queries, outer)
            return
        inner = self.with_clause(node, queries)
        items = self.expanded(node, self.scope(node["from_table"], inner))
        node["select_list"] = [item for at, item in enumerate(items) if at in places]
        node["#others"] = [item for at, item in enumerate(items) if at not in places]
        self.query(node, None, queries, outer)

    def select(self, node: Tree, wanted: set[str] | None, queries: _Queries, outer: list[_Scope]) -> None:
        scope = self.scope(node["from_table"], queries)
        scopes = [scope, *outer]
        items = self.expanded(node, scope)
        others = node.pop("#others", [])
        aliases = {_name(item): item for item in [*others, *items] if item.get("alias")}
        if wanted is None or (self.rows and _all_matter(node)):
            kept = items
        else:
            kept = [item for item in items if _name(item) in wanted] or items[: int(self.rows)]
        pending = list(kept)
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
            # Named by what is wanted, and itself at a place that is not: it must not stand there.
            raise CatalogError(f"a part of a UNION names its own column {_name(extra[0])}")
        node["from_table"] = self.joins(node["from_table"], scope, scopes)
        # Subqueries first: one that is LATERAL reads the tables beside it.
        for one in sorted(scope, key=lambda one: bool(one.table)):
            self.hand_on(one, queries, scopes)

    def joins(self, ref: Tree, scope: _Scope, scopes: list[_Scope]) -> Tree:
        """Note what joins compare, the last one first; a LEFT JOIN from which nothing is wanted goes."""
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

    def hand_on(self, item: _Item, queries: _Queries, scopes: list[_Scope]) -> None:
        """Pass what is wanted of a table on to what it is made of."""
        if item.query is not None and item.node["type"] == "SUBQUERY":
            renamed = bool(item.node.get("column_name_alias"))
            # Of a LATERAL subquery the tables beside it are in scope.
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
        """Note the columns that an expression names; returns the items of its SELECT named by their alias."""
        named: list[Tree] = []
        pending = [expression]
        while pending:
            item = pending.pop()
            if isinstance(item, list):
                pending.extend(item)
            elif not isinstance(item, dict):
                continue
            elif item.get("class") == "COLUMN_REF":
                path = [str(name).lower() for name in item["column_names"]]
                # A column of a table goes before an alias of the same name.
                if not self.resolve(path, scopes) and path[0] in aliases:
                    named.append(aliases[path[0]])
            elif item.get("class") == "SUBQUERY":
                # Which rows a subquery has is part of its value.
                around, self.rows = self.rows, True
                self.query(item["subquery"]["node"], None, self._queries, scopes)
                self.rows = around
                pending.append(item.get("child"))
            else:
                pending.extend(item.values())
        return named

    def resolve(self, path: list[str], scopes: list[_Scope]) -> bool:
        """Note the column that a name means; whether a table has it."""
        for scope in scopes:
            named = [item for item in scope if item.alias == path[0]] if len(path) > 1 else []
            for item in named:
                item.wanted.add(path[1])
            having = [] if named else scope.having(path[0])
            for item in having:
                item.wanted.add(path[0])
            if named or having:
                return True
        return False


def _columns(star: Tree, scope: _Scope) -> list[Tree]:
    """What a star stands for."""
    of = str(star.get("relation_name") or "").lower()
    left_out = {str(name).lower() for name in star.get("exclude_list", [])}
    instead = {one["key"].lower(): one["value"] for one in star.get("replace_list", [])}
    made: list[Tree] = []
    seen: set[str] = set()
    for item in scope:
        if item.hidden or (of and item.alias != of):
            continue
        if not item.names:
            # Of VALUES nobody knows the names: the star stays.
            return [star]
        for name in item.names:
            merged = not of and name in scope.merged
            if name in left_out or (merged and name in seen):
                continue
            seen.add(name)
            if name in instead:
                made.append({**instead[name], "alias": name})
            else:
                path = [name] if merged or not item.alias else [item.alias, name]
                made.append(column(path, name))
    return made


def column(path: list[str], alias: str) -> Tree:
    """The tree of a column by its path, under a name."""
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": alias, "column_names": path}


def _name(expression: Tree) -> str:
    """The name that an expression gives its column."""
    if expression.get("alias"):
        return str(expression["alias"]).lower()
    if expression["class"] == "COLUMN_REF":
        return str(expression["column_names"][-1]).lower()
    return ""


def _tables(ref: Tree) -> Iterator[Tree]:
    """The nodes of a FROM clause that are no joins, from left to right."""
    if ref["type"] == "JOIN":
        yield from _tables(ref["left"])
        yield from _tables(ref["right"])
    elif ref["type"] != "EMPTY":
        yield ref


def _merged(ref: Tree) -> dict[str, bool]:
    found: dict[str, bool] = {}
    pending = [ref]
    while pending:
        node = pending.pop()
        if node["type"] == "JOIN":
            for name in (name.lower() for name in node.get("using_columns", [])):
                found[name] = found.get(name, False) or node["join_type"] in _BOTH_SIDES
            pending += [node["left"], node["right"]]
    return found


def _selects(node: Tree) -> Iterator[Tree]:
    """The SELECTs that a query is a UNION of."""
    if node["type"] == "SET_OPERATION_NODE":
        for child in node["children"]:
            yield from _selects(child)
    else:
        yield node


def _all_matter(node: Tree) -> bool:
    """Whether a column left out of a SELECT would change its rows."""
    distinct = any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in node["modifiers"])
    return distinct or node["aggregate_handling"] == "FORCE_AGGREGATES"
