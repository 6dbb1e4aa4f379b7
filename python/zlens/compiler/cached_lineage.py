"""Cached lineage: a column that was looked up once needs no SQL parser again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from zlens.catalog import expressions, measures, session_columns
from zlens.compiler import nodes, sql_tree
from zlens.compiler.compile_cache import CompileCache
from zlens.compiler.lineage import LineageGraph
from zlens.compiler.nodes import ROLE, NodeCatalog, Parse
from zlens.compiler.sql_tree import Tree

Columns = Mapping[str, Collection[str]]


class FormulaSource(Struct, frozen=True):
    """A column of a role or a helper that a formula names.

    computed  the expression of a helper that computes it; '' if it is passed on unchanged
    roles     the underlying roles, as entity and role
    """

    node: str
    column: str
    computed: str
    roles: list[tuple[str, str]]


class CachedLineage:
    """Lineage of columns of measures. `render` returns the text of an expression."""

    def __init__(self, parse: Parse, render: Callable[[Tree], str], compile_cache: CompileCache) -> None:
        self._parse = parse
        self._render = render
        self._compile_cache = compile_cache

    @cached_property
    def lineages(self) -> LineageGraph:
        """The graph, for entries that are not cached yet."""
        session = {
            name: [(column.name, column.type) for column in columns]
            for name, columns in session_columns.always().items()
        }
        return LineageGraph(NodeCatalog(self._parse, session, self._compile_cache))

    def entities(self, query: str) -> list[str]:
        """Return the entities of roles that a statement reads, directly or through measures and helpers."""
        graph = self.lineages.nodes
        entities: set[str] = set()
        for name in sql_tree.tables(graph.tree(query)):
            if name.startswith(ROLE) or nodes.is_joined(name):
                entities |= graph.entities(name)
        return sorted(entities)

    def roles(self, measure: str, column: str) -> list[tuple[str, str]]:
        """Return the roles that a measure's value is computed from, through earlier columns and helpers."""
        return [(entity, role) for entity, role in self._all_roles.get(f"{measure}.{column}", ())]

    def columns_using(self, entity: str, role: str) -> list[str]:
        """Return the columns of measures that a role's value feeds."""
        return [name for name, roles in self._all_roles.items() if [entity, role] in roles]

    @cached_property
    def _all_roles(self) -> dict[str, list[list[str]]]:
        def compute() -> dict[str, list[list[str]]]:
            return {
                f"{table.name}.{column.name}": [
                    [*role] for role in self.lineages.roles(table.name, [column.name])
                ]
                for table, column in measures.all_columns()
                if nodes.is_joined(table.name)
            }

        roles: dict[str, list[list[str]]] = self._cached(compute, "roles")
        return roles

    def sources(
        self, table: measures.Measure, column: measures.MeasureColumn
    ) -> dict[str, list[FormulaSource]]:
        """Return the names that a column's formula refers to, with the columns of roles or helpers of each.

        For a column that differs by machine, only the names in `preferred_formula`: counters are too many.
        """

        def compute() -> dict[str, list[tuple[Any, ...]]]:
            graph = self.lineages
            if column.varies_by:
                names = expressions.names(column.preferred_formula) if column.preferred_formula else []
            else:
                names = graph.references(table.name, column.name)
            return {
                name: [
                    (node, read_column, self._computed(node, read_column), graph.roles(node, [read_column]))
                    for node, read_column in (
                        graph.referenced_columns(table.name, name) if "." in name else ()
                    )
                ]
                for name in names
            }

        if not (column.preferred_formula if column.varies_by else column.formula):
            return {}
        return {
            name: [
                FormulaSource(node, read_column, computed, [(entity, role) for entity, role in roles])
                for node, read_column, computed, roles in entries
            ]
            for name, entries in self._cached(compute, "sources", table.name, column.name).items()
        }

    def _computed(self, node: str, column: str) -> str:
        trees = self.lineages.computed(node, column) if nodes.is_helper(node) else []
        return " or ".join(dict.fromkeys(map(self._render, trees)))

    def raw_columns(self, measure: str, column: str) -> tuple[Columns, Columns]:
        """Return the raw columns that provide a column's values, and those that determine its rows."""

        def compute() -> list[Columns]:
            lineage = self.lineages.lineage(measure, column)
            return [lineage.raw, lineage.rows]

        values, rows = self._cached(compute, "raw", measure, column)
        return values, rows

    def _cached(self, compute: Callable[[], Any], *depends: str) -> Any:
        entry = self._compile_cache.read(*depends)
        if entry is None:
            entry = compute()
            self._compile_cache.write(entry, *depends)
        return entry
