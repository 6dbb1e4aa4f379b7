"""Lineage as it was found out before: a column that was asked for once needs no parser of SQL any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from zlens.catalog import expressions, metrics, session_columns
from zlens.catalog.compile import nodes, tree
from zlens.catalog.compile.kept import Kept
from zlens.catalog.compile.lineage import Lineages
from zlens.catalog.compile.nodes import ROLE, Nodes, Parse
from zlens.catalog.compile.tree import Tree

Columns = Mapping[str, Collection[str]]


@dataclass(frozen=True, slots=True)
class Source:
    """A column of a role or a helper that a formula names.

    computed  how a helper computes it; '' where it takes it over
    roles     the roles behind it, as entity and role
    """

    node: str
    column: str
    computed: str
    roles: list[tuple[str, str]]


class KeptLineage:
    """The lineage of columns of measures. `render` gives the text of an expression, `kept` keeps entries."""

    def __init__(self, parse: Parse, render: Callable[[Tree], str], kept: Kept) -> None:
        self._parse = parse
        self._render = render
        self._kept = kept

    @cached_property
    def lineages(self) -> Lineages:
        """The graph itself, to be asked where nothing is known yet."""
        session = {
            name: [(column.name, column.type) for column in columns]
            for name, columns in session_columns.always().items()
        }
        return Lineages(Nodes(self._parse, session, self._kept))

    def entities(self, query: str) -> list[str]:
        """The entities of roles that a statement reads, by way of measures and their helpers."""
        known = self.lineages.nodes
        found: set[str] = set()
        for name in tree.tables(known.tree(query)):
            if name.startswith(ROLE) or nodes.fed(name):
                found |= known.entities(name)
        return sorted(found)

    def roles(self, measure: str, column: str) -> list[tuple[str, str]]:
        """The roles that a measure's value is computed from, by way of earlier columns and helpers."""
        return [(entity, role) for entity, role in self._all_roles.get(f"{measure}.{column}", ())]

    def uses(self, entity: str, role: str) -> list[str]:
        """The columns of measures that a role's value goes into."""
        return [name for name, behind in self._all_roles.items() if [entity, role] in behind]

    @cached_property
    def _all_roles(self) -> dict[str, list[list[str]]]:
        def make() -> dict[str, list[list[str]]]:
            return {
                f"{table.name}.{column.name}": [
                    [*each] for each in self.lineages.roles(table.name, [column.name])
                ]
                for table, column in metrics.all_columns()
                if nodes.fed(table.name)
            }

        found: dict[str, list[list[str]]] = self._once(make, "roles")
        return found

    def sources(self, table: metrics.Table, column: metrics.Column) -> dict[str, list[Source]]:
        """What a column's formula names in the end, and which columns of roles or helpers that is.

        Of one that machines give differently only what it is told by: counters are many.
        """

        def make() -> dict[str, list[tuple[Any, ...]]]:
            known = self.lineages
            if column.by:
                names = expressions.names(column.given) if column.given else []
            else:
                names = known.references(table.name, column.name)
            return {
                name: [
                    (node, one, self._computed(node, one), known.roles(node, [one]))
                    for node, one in (known.named(table.name, name) if "." in name else ())
                ]
                for name in names
            }

        if not (column.given if column.by else column.formula):
            return {}
        return {
            name: [
                Source(node, one, computed, [(entity, role) for entity, role in behind])
                for node, one, computed, behind in meant
            ]
            for name, meant in self._once(make, "sources", table.name, column.name).items()
        }

    def _computed(self, node: str, column: str) -> str:
        found = self.lineages.computed(node, column) if nodes.is_helper(node) else []
        return " or ".join(dict.fromkeys(map(self._render, found)))

    def raw(self, measure: str, column: str) -> tuple[Columns, Columns]:
        """The columns of raw tables that give a column's values, and those that find its rows."""

        def make() -> list[Columns]:
            found = self.lineages.of(measure, column)
            return [found.raw, found.rows]

        values, rows = self._once(make, "raw", measure, column)
        return values, rows

    def _once(self, make: Callable[[], Any], *depends: str) -> Any:
        found = self._kept.read(*depends)
        if found is None:
            found = make()
            self._kept.write(found, *depends)
        return found
