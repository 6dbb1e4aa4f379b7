"""The tables that a query of an input may name, with their columns."""

from __future__ import annotations

from zlens.catalog import measures
from zlens.catalog.roles import SQL_TYPES, entities
from zlens.compiler import nodes, roles
from zlens.compiler.nodes import ROLE
from zlens.compiler.plan import Compiler


class Schema:
    """The tables of an input: measures, roles, raw tables, those of the session, and helpers."""

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._input = compiler.input
        self._typed: dict[str, list[tuple[str, str]] | None] = {}

    def columns(self, name: str) -> list[tuple[str, str]] | None:
        """Return names and SQL types of a table; None if zlens has no such table, or it is a helper."""
        if name not in self._typed:
            self._typed[name] = self._typed_columns(name)
        return self._typed[name]

    def column_names(self, name: str) -> list[str] | None:
        """Return the columns of a table or a helper; None if zlens has no such table."""
        if nodes.is_helper(name):
            return self._compiler.columns(name)
        typed = self.columns(name)
        return None if typed is None else [column for column, _ in typed]

    def _typed_columns(self, name: str) -> list[tuple[str, str]] | None:
        source = self._input
        if name in source.session:
            return [(column, SQL_TYPES[type]) for column, type in source.session[name]]
        if name in measures.measure_names():
            columns = [(column.name, column.type) for column in measures.load_measure(name).columns]
            columns += self._compiler.percentiles(name)
        elif name.startswith(ROLE):
            if name.removeprefix(ROLE) not in entities():
                return None
            columns = roles.columns(name.removeprefix(ROLE))
        elif name in source.raw:
            columns = [*source.raw[name].items()]
        else:
            return None
        return [(column, SQL_TYPES[type]) for column, type in columns]

    def is_raw(self, name: str) -> bool:
        """Return whether a table is one of records."""
        return name in self._input.raw

    def is_streamed(self, name: str) -> bool:
        """Return whether a table is computed for every query, as far as needed, and not materialized."""
        if name in self._input.session or nodes.is_materialized(name):
            return False
        return name not in measures.measure_names() or (
            measures.load_measure(name).lazy and not self._input.summed
        )
