"""Lineage of a column of a measure, through helpers and roles, for any input.

It comes from the graph that statements are compiled from, for all machine generations and all sources.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from zlens.catalog import measures
from zlens.catalog.cpumf import FormulaPolicy
from zlens.catalog.roles import Entity, entity
from zlens.compiler import formulas, nodes, role_reads, sql_tree
from zlens.compiler.nodes import ROLE, NodeCatalog
from zlens.compiler.sql_tree import Reads, Tree

#: A column of a node: ("role.processor", "user_time").
Place = tuple[str, str]


#: Includes unverified formulas.
_TRUST = FormulaPolicy(unverified=True)


class Lineage(Struct, frozen=True):
    """Columns that columns of a node are computed from.

    values  intermediate columns by node: of helpers, measures, roles (role.entity) and session tables
    raw     columns of raw tables and of a session's own tables that provide those values
    rows    columns of raw tables that determine the rows: those used to join, group and select
    """

    values: Mapping[str, Collection[str]]
    raw: Mapping[str, Collection[str]]
    rows: Mapping[str, Collection[str]]


class LineageGraph:
    """Follows columns through the nodes of parsed SQL."""

    def __init__(self, graph: NodeCatalog) -> None:
        self.nodes = graph
        self._named: dict[Place, list[Place]] = {}
        self._below: dict[tuple[str, frozenset[str], bool], Reads] = {}
        self._raw: dict[tuple[str, frozenset[str]], tuple[Entity, tuple[Reads, Reads]]] = {}

    def lineage(self, measure: str, column: str) -> Lineage:
        """Return the lineage of a column of a measure."""
        values = self._sources_below(measure, {column}, rows=False)
        raw: Reads = {}
        everything: Reads = {}
        for node, columns in self._sources_below(measure, {column}, rows=True).items():
            value_columns = values.get(node, set())
            if node.startswith(ROLE):
                _add(raw, self._raw_of(node, value_columns)[0])
                for part in self._raw_of(node, columns):
                    _add(everything, part)
            elif node in self.nodes.session and not node.startswith("_"):
                _add(raw, {node: value_columns})
                _add(everything, {node: columns})
        rows = {table: columns - raw.get(table, set()) for table, columns in everything.items()}
        return Lineage(_sorted(values), _sorted(raw), _sorted(rows))

    def roles(self, node: str, columns: Collection[str]) -> list[tuple[str, str]]:
        """Return the roles that the values of some columns are computed from, as entity and role."""
        reads = {node: {*columns}, **self._sources_below(node, {*columns}, rows=False)}
        role_reads = ((name, names) for name, names in reads.items() if name.startswith(ROLE))
        return sorted((name.removeprefix(ROLE), role) for name, names in role_reads for role in names)

    def references(self, measure: str, column: str) -> list[str]:
        """Return the columns that a column's formulas ultimately name: `table.column` or a leading column."""
        return formulas.Formulas(measures.load_measure(measure), trust=_TRUST).references(column)

    def referenced_columns(self, measure: str, reference: str) -> list[Place]:
        """Return the columns of nodes that a reference means."""
        key = (measure, reference)
        if key not in self._named:
            parsed, measure_formulas = self._measure(measure)
            reads = sql_tree.path_sources(parsed, [measure_formulas.path(reference)], self.nodes.columns)
            self._named[key] = [
                (node, column) for node, columns in sorted(reads.items()) for column in sorted(columns)
            ]
        return self._named[key]

    def computed(self, helper: str, column: str) -> list[Tree]:
        """Return the expressions by which a helper computes a column; none if it is passed on unchanged."""
        return sql_tree.computed(self.nodes.helper(helper, {column}, None), column, self.nodes.columns)

    def _sources_below(self, node: str, columns: set[str], *, rows: bool) -> Reads:
        """Return the sources of some columns of a node in every node below; with `rows` all columns read."""
        reads: Reads = {}
        pending = dict(self._below_of(node, columns, rows=rows))
        while pending:
            # The nodes above a node determine which of its columns are requested.
            name = max(pending, key=lambda node_name: (self.nodes.depth(node_name), node_name))
            reads[name] = pending.pop(name)
            for below, requested in self._below_of(name, reads[name], rows=rows).items():
                pending[below] = pending.get(below, set()) | requested
        return reads

    def _below_of(self, name: str, requested: Collection[str], *, rows: bool) -> Reads:
        key = (name, frozenset(requested), rows)
        if key not in self._below:
            below: Reads = {}
            if nodes.is_helper(name):
                read = sql_tree.narrow if rows else sql_tree.value_sources
                below = read(self.nodes.helper(name, requested, None), requested, self.nodes.columns)
            elif nodes.is_joined(name):
                parsed, measure_formulas = self._measure(name)
                if rows:
                    below = sql_tree.narrow_to(
                        parsed, measure_formulas.select(requested).paths(), self.nodes.columns
                    )
                else:
                    paths = dict.fromkeys(
                        measure_formulas.path(reference)
                        for column in requested
                        for reference in measure_formulas.references(column)
                    )
                    below = sql_tree.path_sources(parsed, [*paths], self.nodes.columns) if paths else {}
            reads: Reads = {}
            for read_name, columns in below.items():
                _add(reads, {nodes.plain(read_name): columns})
            self._below[key] = reads
        return self._below[key]

    def _raw_of(self, node: str, requested: Collection[str]) -> tuple[Reads, Reads]:
        name = node.removeprefix(ROLE)
        key = (name, frozenset(requested))
        # The user may rebind an entity.
        role_entity = entity(name)
        if key not in self._raw or self._raw[key][0] is not role_entity:
            self._raw[key] = (role_entity, role_reads.columns_read(name, requested))
        return self._raw[key][1]

    def _measure(self, name: str) -> tuple[Tree, formulas.Formulas]:
        parsed = self.nodes.tree(nodes.node_sql(name))
        return parsed, formulas.measure_formulas(parsed, measures.load_measure(name), trust=_TRUST)


def _add(reads: Reads, added: Reads) -> None:
    for name, columns in added.items():
        reads.setdefault(name, set()).update(columns)


def _sorted(reads: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {name: sorted(columns) for name, columns in sorted(reads.items()) if columns}
