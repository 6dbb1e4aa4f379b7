"""Expressions, tables and functions that a user's query may contain (facts/admission.toml)."""

from functools import cached_property
from typing import ClassVar

from msgspec import field

from zlens.schema.structs import FactFile, FactTable

_Names = frozenset[str]


class RefusedFunctions(FactTable, frozen=True):
    """Functions of the engine that no query may call.

    what      the property they share
    names     their names in lower case
    prefixes  prefixes of further names
    fix       what to do instead; empty if there is no alternative
    """

    what: str
    names: _Names
    prefixes: tuple[str, ...] = ()
    fix: str = ""


class AllowedExpressions(FactTable, frozen=True):
    """Allowed expressions.

    classes    classes of expressions
    operators  kinds of expressions of the class OPERATOR
    types      names of types, in lower case
    """

    classes: _Names
    operators: _Names
    types: _Names


class AllowedListings(FactTable, frozen=True):
    """Tables and commands that list the objects of the engine, in lower case.

    tables              tables of the engine
    information_schema  tables of the schema of this name
    show                operands of SHOW
    """

    tables: _Names
    information_schema: _Names
    show: _Names


class AllowList(FactFile, frozen=True, dict=True):
    """Allow list for user queries, by the names that the engine's parser uses.

    statements       kinds of query nodes, relations, modifiers and orders
    function_groups  names of functions by subject, in lower case; `tables`: functions in FROM
    refused          functions of the engine that are not allowed
    """

    path: ClassVar = "admission.toml"
    statements: dict[str, _Names]
    expressions: AllowedExpressions
    listings: AllowedListings
    function_groups: dict[str, _Names] = field(name="functions")
    refused: tuple[RefusedFunctions, ...]

    @cached_property
    def kinds(self) -> _Names:
        """All kinds of nodes that a statement may contain."""
        return _Names().union(*self.statements.values())

    @property
    def table_functions(self) -> _Names:
        """Functions in FROM."""
        return self.function_groups["tables"]

    @cached_property
    def functions(self) -> _Names:
        """Functions that compute values."""
        groups = self.function_groups
        return _Names().union(*(names for group, names in groups.items() if group != "tables"))
