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

#: A column of a node: ("role.processor", "user_time").
Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Lineage:
    """What columns of a node are made from.

    values  columns on the way, by node: of helpers, measures, roles (role.entity) and tables of the session
    raw     columns of raw tables, and of what a session tells of systems, that give those values
    rows    columns of raw tables that find the rows: by which tables are joined, grouped and selected
    """

    values: Mapping[str, Collection[str]]
    raw: Mapping[str, Collection[str]]
    rows: Mapping[str, Collection[str]]

    @property
    def roles(self) -> list[tuple[str, str]]:
        """The roles among the values, as entity and role."""
        return [
            (node.removeprefix(ROLE), one)
            for node, columns in self.values.items()
            if node.startswith(ROLE)
            for one in columns
        ]


class Lineages:
    """Follows columns through the nodes that a parser of SQL sees."""

    def __init__(self, known: Nodes) -> None:
        self.nodes = known
        self._direct: dict[Place, list[Place]] = {}
        self._named: dict[Place, list[Place]] = {}
        self._below: dict[tuple[str, frozenset[str]], Reads] = {}
        self._raw: dict[tuple[str, frozenset[str]], tuple[Reads, Reads]] = {}

    def of(self, measure: str, column: str) -> Lineage:
        """The lineage of a column of a measure."""
        values: Reads = {}
        for node, one in self.values((measure, column)):
            if node != measure:
                values.setdefault(node, set()).add(one)
        whole = self._whole(measure, {column})
        raw: Reads = {}
        rows: Reads = {}
        for node, columns in whole.items():
            if node in self.nodes.session:
                shown = {} if node.startswith("_") else {node: columns}
                _add(raw, {name: ones & values.get(name, set()) for name, ones in shown.items()})
                _add(rows, shown)
            if not node.startswith(ROLE):
                continue
            _add(raw, self._raw_of(node, values.get(node, set()))[0])
            for part in self._raw_of(node, columns):
                _add(rows, part)
        others = {table: columns - raw.get(table, set()) for table, columns in rows.items()}
        return Lineage(_sorted(values), _sorted(raw), _sorted(others))

    def values(self, *places: Place) -> list[Place]:
        """Columns of nodes, and all that their values are made from."""
        found: dict[Place, None] = {}
        pending = list(places)
        while pending:
            place = pending.pop(0)
            if place not in found:
                found[place] = None
                pending += self._direct_of(place)
        return list(found)

    def roles(self, *places: Place) -> list[tuple[str, str]]:
        """The roles among what some columns' values are made from, as entity and role."""
        return [
            (node.removeprefix(ROLE), one) for node, one in self.values(*places) if node.startswith(ROLE)
        ]

    def references(self, measure: str, column: str) -> list[str]:
        """What the formulas of a column name in the end: `table.column`, or a leading column."""
        return self._measure(measure)[1].references(column)

    def named(self, measure: str, reference: str) -> list[Place]:
        """The columns of nodes that a reference means."""
        key = (measure, reference)
        if key not in self._named:
            parsed, made = self._measure(measure)
            self._named[key] = _places(tree.values_of(parsed, made.path(reference), self.nodes.columns))
        return self._named[key]

    def computed(self, place: Place) -> list[Tree]:
        """The expressions by which a helper computes a column; none where it takes it over."""
        node, column = place
        return tree.computed(self._helper(node, {column}), column, self.nodes.columns)

    def _direct_of(self, place: Place) -> list[Place]:
        if place not in self._direct:
            node, column = place
            found: list[Place] = []
            if nodes.is_helper(node):
                found = _places(tree.values(self._helper(node, {column}), {column}, self.nodes.columns))
            elif nodes.fed(node):
                _, made = self._measure(node)
                found = [each for one in made.references(column) for each in self.named(node, one)]
            self._direct[place] = found
        return self._direct[place]

    def _whole(self, node: str, columns: set[str]) -> Reads:
        """All that a statement of some columns reads, of every node."""
        found: Reads = {}
        pending: Reads = {node: columns}
        while pending:
            # Those above a node tell what is wanted of it.
            name = max(pending, key=lambda one: (self.nodes.depth(one), one))
            wanted = pending.pop(name)
            found[name] = wanted
            _add(pending, self._below_of(name, wanted))
        return found

    def _below_of(self, name: str, wanted: set[str]) -> Reads:
        key = (name, frozenset(wanted))
        if key not in self._below:
            below: Reads = {}
            if nodes.is_helper(name):
                below = tree.narrow(self._helper(name, wanted), wanted, self.nodes.columns)
            elif nodes.fed(name):
                parsed, made = self._measure(name)
                below = tree.narrow_to(parsed, made.select(wanted).paths(), self.nodes.columns)
            self._below[key] = below
        return self._below[key]

    def _raw_of(self, node: str, wanted: set[str]) -> tuple[Reads, Reads]:
        key = (node, frozenset(wanted))
        if key not in self._raw:
            self._raw[key] = roles.reads(node.removeprefix(ROLE), wanted)
        return self._raw[key]

    def _helper(self, name: str, wanted: Collection[str]) -> Tree:
        return self.nodes.helper(name, wanted, None)

    def _measure(self, name: str) -> tuple[Tree, formulas.Formulas]:
        parsed = self.nodes.tree(nodes.text(name))
        return parsed, formulas.of(parsed, metrics.table(name), trust=Trust(unverified=True))


def _add(reads: Reads, more: Reads) -> None:
    for name, columns in more.items():
        reads.setdefault(name, set()).update(columns)


def _places(reads: Reads) -> list[Place]:
    return [(node, one) for node, columns in sorted(reads.items()) for one in sorted(columns)]


def _sorted(reads: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {name: sorted(columns) for name, columns in sorted(reads.items()) if columns}
