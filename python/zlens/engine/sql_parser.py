"""DuckDB's parser: SQL texts as trees, and trees as SQL."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache

from zlens.compiler.sql_tree import Tree
from zlens.engine.connection import Connection, connect

#: Trees of texts of the catalog, which are the same in every session.
_TREES: dict[str, str] = {}
_MOST_TREES = 500


class SqlParser:
    """The parser of a database. `cursor` returns a connection to it, for one statement."""

    def __init__(self, cursor: Callable[[], Connection]) -> None:
        self._cursor = cursor

    def parse(self, sql: str) -> str:
        """Return the tree of a statement as JSON."""
        # Other threads may clear the cache at any time.
        tree = _TREES.get(sql)
        if tree is None:
            if len(_TREES) >= _MOST_TREES:
                _TREES.clear()
            tree = _TREES[sql] = self._select("SELECT json_serialize_sql(?)", sql)
        return tree

    def render(self, tree: Tree) -> str:
        """Return the SQL text of a tree."""
        return self._select("SELECT json_deserialize_sql(?)", json.dumps(tree))

    def render_expression(self, expression: Tree) -> str:
        """Return the SQL text of an expression."""
        tree = json.loads(self.parse("SELECT 1"))
        tree["statements"][0]["node"]["select_list"] = [{**expression, "alias": ""}]
        return self.render(tree).removeprefix("SELECT ")

    def _select(self, query: str, parameter: str) -> str:
        return str(self._cursor().execute(query, [parameter]).fetchall()[0][0])


@cache
def shared_parser() -> SqlParser:
    """Return a parser with a database of its own, for texts that no session runs."""
    return SqlParser(connect(None, threads=1).cursor)
