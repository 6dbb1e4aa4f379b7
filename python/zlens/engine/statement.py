"""A user's statement as the parser of DuckDB sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from zlens.catalog.compile.kept import Kept
from zlens.engine.admission import Survey, Tree, admit
from zlens.engine.connection import Connection, kinds, words
from zlens.errors import QueryError

#: A statement longer than this was not written by hand, and takes long to parse.
LONGEST = 1_000_000
#: The trees of longer ones are not kept.
_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement that only reads.

    text       as the user wrote it
    question   the SELECT in it: of an EXPLAIN, what is explained
    tree       the parser's tree of the question
    survey     what the question names
    """

    text: str
    question: str
    tree: Tree
    survey: Survey


def parse(connection: Connection, query: str, kept: Kept) -> Statement:
    """The one statement of a text; QueryError for a text that is anything else, or that writes."""
    if len(query) > LONGEST:
        raise QueryError(
            f"the question has {len(query):,} characters", expected=f"no more than {LONGEST:,} characters"
        )
    tree = _serialized(connection, query, kept)
    if tree is not None:
        if len(tree["statements"]) != 1:
            raise _not_one()
        return Statement(query, query, tree, admit(tree))
    if kinds(connection, query) != ["EXPLAIN"]:
        raise _not_one()
    for question in _explained(query):
        tree = _serialized(connection, question, kept)
        if tree is not None:
            return Statement(query, question, tree, admit(tree))
    raise _not_one()


def _explained(query: str) -> Iterator[str]:
    """What may be the statement that an EXPLAIN explains, behind ANALYZE and options in brackets."""
    tokens = words(query)
    place = 1
    while place < len(tokens) and tokens[place][1] == "analyze":
        place += 1
    if place >= len(tokens):
        return
    yield query[tokens[place][0] :]
    if tokens[place][1] == "(":
        closing = next((at for at in range(place, len(tokens)) if tokens[at][1] == ")"), len(tokens))
        if closing + 1 < len(tokens):
            yield query[tokens[closing + 1][0] :]


def _serialized(connection: Connection, question: str, kept: Kept) -> Tree | None:
    """The tree of a SELECT; None where the parser has none."""
    made: dict[str, Any] | None = kept.read("tree", question)
    if made is None:
        rows = connection.execute("SELECT json_serialize_sql(?)", [question]).fetchall()
        try:
            made = json.loads(rows[0][0])
        except RecursionError:
            raise QueryError("the question is nested too deeply", cure="ask it in parts") from None
        if len(question) <= _KEPT:
            kept.write(made, "tree", question)
    return None if not isinstance(made, dict) or made.get("error") else made


def _not_one() -> QueryError:
    return QueryError(
        "this is not one question",
        expected="a single SELECT (or DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)",
        cure="ask one thing at a time; zlens changes no data",
    )
