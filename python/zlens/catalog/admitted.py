"""What a query of the user may consist of (facts/admission.toml)."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import Struct

from zlens.schema import document
from zlens.schema.facts import FACTS


class RefusedFunctions(Struct, frozen=True):
    """Functions of the engine that no query may call.

    what      what they have in common
    names     their names in lower case
    prefixes  the beginnings of names of others
    fix       what to do instead; empty if there is nothing
    """

    what: str
    names: frozenset[str]
    prefixes: tuple[str, ...]
    fix: str


class AllowList(Struct, frozen=True):
    """Names that the engine's parser gives to what a query may consist of.

    kinds               kinds of query nodes, relations, modifiers and orders
    classes             classes of expressions
    operators           kinds of expressions of the class OPERATOR
    types               names of types, in lower case as all that follow
    functions           functions that compute values
    table_functions     functions in FROM
    listings            tables of the engine that list what can be queried
    information_schema  tables of the schema of this name
    shown               what SHOW lists
    refused             functions that the engine has and that are not allowed
    """

    kinds: frozenset[str]
    classes: frozenset[str]
    operators: frozenset[str]
    types: frozenset[str]
    functions: frozenset[str]
    table_functions: frozenset[str]
    listings: frozenset[str]
    information_schema: frozenset[str]
    shown: frozenset[str]
    refused: tuple[RefusedFunctions, ...]


@cache
def allow_list() -> AllowList:
    """The list of the catalog."""
    facts = document.load_unchecked(FACTS / "admission.toml")
    statements, expressions, functions = facts["statements"], facts["expressions"], facts["functions"]
    values = [name for group, names in functions.items() if group != "tables" for name in names]
    return AllowList(
        frozenset(kind for kinds in statements.values() for kind in kinds),
        frozenset(expressions["classes"]),
        frozenset(expressions["operators"]),
        _lower(expressions["types"]),
        _lower(values),
        _lower(functions["tables"]),
        _lower(facts["listings"]["tables"]),
        _lower(facts["listings"]["information_schema"]),
        _lower(facts["listings"]["show"]),
        tuple(_refused(entry) for entry in facts["refused"]),
    )


def _refused(entry: dict[str, Any]) -> RefusedFunctions:
    return RefusedFunctions(
        entry["what"], _lower(entry["names"]), (*entry.get("prefixes", ()),), entry.get("fix", "")
    )


def _lower(names: list[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
