"""Lineage: what a column of a measure is made from, by way of helpers and roles, in whatever input.

It is taken from the graph that statements are compiled from, for all machine generations and all sources.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from zlens.catalog import metrics
from zlens.catalog.compile import formulas, nodes, roles, tree
from zlens.catalog.compile.nodes import ROLE, Nodes
from zlens.catalog.compile.tree import Reads, Tree
from zlens.catalog.cpumf_formulas import Trust
from zlens.catalog.roles import Entity, entity

#: A column of a node: ("role.processor", "user_time").
Place = tuple[str, str]


#: Whatever may be shown.
_TRUST = Trust(unverified=True)


@dataclass(frozen=True, slots=True)
class Lineage:
    """What columns of a node are made from.

    values  columns on the way, by node: of helpers, measures, roles (role.entity) and tables of the session
    raw     columns of raw tables and of a session's own tables that give those values
    rows    columns of raw tables that find the rows: by which tables are joined, grouped and selected
    """

    values: Mapping[str, Collection[str]]
    raw: Mapping[str, Collection[str]]
    rows: Mapping[str, Collection[str]]


class Lineages:
    """Follows columns through the nodes that a parser of SQL sees."""

    def __init__(self, known: Nodes) -> None:
        self.nodes = known
        self._named: dict[Place, list[Place]] = {}
        self._below: dict[tuple[str, frozenset[str], bool], Reads] = {}
        self._raw: dict[tuple[str, frozenset[str]], tuple[Entity, tuple[Reads, Reads]]] = {}

    def of(self, measure: str, column: str) -> Lineage:
        """The lineage of a column of a measure."""
        values = self._behind(measure, {column}, rows=False)
        raw: Reads = {}
        whole: Reads = {}
        for node, columns in self._behind(measure, {column}, rows=True).items():
            given = values.get(node, set())
            if node.startswith(ROLE):
                _add(raw, self._raw_of(node, given)[0])
                for part in self._raw_of(node, columns):
                    _add(whole, part)
            elif node in self.nodes.session and not node.startswith("_"):
                _add(raw, {node: given})
                _add(whole, {node: columns})
        rows = {table: columns - raw.get(table, set()) for table, columns in whole.items()}
        return Lineage(_sorted(values), _sorted(raw), _sorted(rows))

    def roles(self, node: str, columns: Collection[str]) -> list[tuple[str, str]]:
        """The roles among what the values of some columns are made from, as entity and role."""
        found = {node: {*columns}, **self._behind(node, {*columns}, rows=False)}
        read = ((name, ones) for name, ones in found.items() if name.startswith(ROLE))
        return sorted((name.removeprefix(ROLE), one) for name, ones in read for one in ones)

    def references(self, measure: str, column: str) -> list[str]:
        """What the formulas of a column name in the end: `table.column`, or a leading column."""
        return formulas.Formulas(metrics.table(measure), trust=_TRUST).references(column)

    def named(self, measure: str, reference: str) -> list[Place]:
        """The columns of nodes that a reference means."""
        key = (measure, reference)
        if key not in self._named:
            parsed, made = self._measure(measure)
            reads = tree.values_of(parsed, [made.path(reference)], self.nodes.columns)
            self._named[key] = [(node, one) for node, ones in sorted(reads.items()) for one in sorted(ones)]
        return self._named[key]

    def computed(self, helper: str, column: str) -> list[Tree]:
        """The expressions by which a helper computes a column; none where it takes it over."""
        return tree.computed(self.nodes.helper(helper, {column}, None), column, self.nodes.columns)

    def _behind(self, node: str, columns: set[str], *, rows: bool) -> Reads:
        """What some columns of a node are made from, of every node below it; with `rows` all that is read."""
        found: Reads = {}
        pending = dict(self._below_of(node, columns, rows=rows))
        while pending:
            # Those above a node tell what is wanted of it.
            name = max(pending, key=lambda one: (self.nodes.depth(one), one))
            found[name] = pending.pop(name)
            for below, wanted in self._below_of(name, found[name], rows=rows).items():
                pending[below] = pending.get(below, set()) | wanted
        return found

    def _below_of(self, name: str, wanted: Collection[str], *, rows: bool) -> Reads:
        key = (name, frozenset(wanted), rows)
        if key not in self._below:
            below: Reads = {}
            if nodes.is_helper(name):
                read = tree.narrow if rows else tree.values
                below = read(self.nodes.helper(name, wanted, None), wanted, self.nodes.columns)
            elif nodes.fed(name):
                parsed, made = self._measure(name)
                if rows:
                    below = tree.narrow_to(parsed, made.select(wanted).paths(), self.nodes.columns)
                else:
                    paths = dict.fromkeys(made.path(each) for one in wanted for each in made.references(one))
                    below = tree.values_of(parsed, [*paths], self.nodes.columns) if paths else {}
            self._below[key] = below
        return self._below[key]

    def _raw_of(self, node: str, wanted: Collection[str]) -> tuple[Reads, Reads]:
        name = node.removeprefix(ROLE)
        key = (name, frozenset(wanted))
        # The user's word on an entity makes another of it.
        what = entity(name)
        if key not in self._raw or self._raw[key][0] is not what:
            self._raw[key] = (what, roles.reads(name, wanted))
        return self._raw[key][1]

    def _measure(self, name: str) -> tuple[Tree, formulas.Formulas]:
        parsed = self.nodes.tree(nodes.text(name))
        return parsed, formulas.of(parsed, metrics.table(name), trust=_TRUST)


def _add(reads: Reads, more: Reads) -> None:
    for name, columns in more.items():
        reads.setdefault(name, set()).update(columns)


def _sorted(reads: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {name: sorted(columns) for name, columns in sorted(reads.items()) if columns}
