"""A user's statement, parsed by DuckDB."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from zlens.compiler.compile_cache import CompileCache
from zlens.engine.admission import StatementNames, Tree, check_statement
from zlens.engine.cancellation import interruptible
from zlens.engine.connection import Connection, Error, statement_kinds, words
from zlens.engine.error_translation import query_error
from zlens.errors import QueryError

#: Maximum length of a statement; longer ones are not handwritten and take long to parse.
LONGEST = 1_000_000
#: Maximum length of a statement whose tree is cached.
_KEPT = 50_000


class Statement(Struct, frozen=True):
    """One statement that only reads.

    text       the statement as written by the user
    question   the SELECT in it: for an EXPLAIN, the explained one
    tree       the parser's tree of the question
    survey     the names in the question
    """

    text: str
    question: str
    tree: Tree
    survey: StatementNames


def parse(
    connection: Connection, query: str, tree_cache: CompileCache, is_table: Callable[[str], bool]
) -> Statement:
    """Parse the one statement of a text; QueryError if the text is anything else or writes.

    `is_table` returns whether a name is a table of zlens.
    """
    if len(query) > LONGEST:
        raise QueryError(
            f"the query has {len(query):,} characters", expected=f"no more than {LONGEST:,} characters"
        )
    try:
        query.encode()
    except UnicodeEncodeError:
        raise QueryError("the query is not UTF-8 text", cure="write names as results show them") from None
    tree = _serialize(connection, query, tree_cache)
    if not tree.get("error"):
        if len(tree["statements"]) != 1:
            raise _not_single()
        return Statement(query, query, tree, check_statement(tree, is_table))
    try:
        kinds = statement_kinds(connection, query)
    except Error as error:
        failure = query_error(error)
        # Absent if the text is not a SELECT.
        failure.position = int(tree["position"]) if "position" in tree else None
        raise failure from None
    if kinds != ["EXPLAIN"]:
        raise _not_single()
    for question in _explain_targets(query):
        tree = _serialize(connection, question, tree_cache)
        if not tree.get("error"):
            return Statement(query, question, tree, check_statement(tree, is_table))
    raise _not_single()


def _explain_targets(query: str) -> Iterator[str]:
    """Yield candidates for the explained statement, after ANALYZE and options in parentheses."""
    tokens = words(query)
    place = 1
    while place < len(tokens) and tokens[place][1] == "analyze":
        place += 1
    if place >= len(tokens):
        return
    yield query[tokens[place][0] :]
    if tokens[place][1] == "(":
        closing = next((index for index in range(place, len(tokens)) if tokens[index][1] == ")"), len(tokens))
        if closing + 1 < len(tokens):
            yield query[tokens[closing + 1][0] :]


def _serialize(connection: Connection, question: str, tree_cache: CompileCache) -> Tree:
    """Return the tree of a SELECT; with the key `error` if the parser cannot serialize the text."""
    tree: dict[str, Any] | None = tree_cache.read("tree", question)
    if tree is None:
        serialize = "SELECT json_serialize_sql(?)"
        rows = interruptible(connection, lambda: connection.execute(serialize, [question]).fetchall())
        try:
            tree = json.loads(rows[0][0])
        except RecursionError:
            raise QueryError("the query is nested too deeply", cure="split it into parts") from None
        if len(question) <= _KEPT:
            tree_cache.write(tree, "tree", question)
    return tree if isinstance(tree, dict) else {"error": True}


def _not_single() -> QueryError:
    return QueryError(
        "this is not a single query",
        expected="a single SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)",
        cure="run one query at a time; zlens changes no data",
    )
