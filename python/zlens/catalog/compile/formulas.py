"""SQL of a measure's columns over the roles and helpers that it is joined from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from zlens.catalog import cpumf_formulas, expressions, metrics
from zlens.catalog.compile.tree import Tree
from zlens.catalog.cpumf_formulas import Present, Trust
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import CatalogError

#: Every measure begins with these.
LEADING = ("system", "source", "interval_end", "seconds", "flag")


@dataclass
class Columns:
    """The SELECT of a measure's columns, in layers: each layer is over the columns of the previous one.

    first   expressions over the tables that the measure joins
    above   the expressions of the layers above it
    reads   columns that the first layer reads, by the alias of their table
    """

    first: list[str] = field(default_factory=list)
    above: list[list[str]] = field(default_factory=list)
    reads: dict[str, set[str]] = field(default_factory=dict)

    def paths(self) -> list[tuple[str, str]]:
        """What the first layer reads, as table and column."""
        return [(alias, column) for alias, columns in self.reads.items() for column in sorted(columns)]


class Formulas:
    """The formulas of one measure for an input.

    base       the alias of the table that gives its rows
    grouped    whether rows are grouped
    present    the machine generations in the input
    published  whether to use the formulas that round as published tables do
    """

    def __init__(
        self,
        table: metrics.Table,
        base: str = "",
        *,
        trust: Trust,
        grouped: bool = False,
        present: Present = None,
        published: bool = False,
    ) -> None:
        self.table = table
        self.base = base
        self.grouped = grouped
        self.trust = trust
        self.present = present
        self.published = published
        self.made = Columns()
        self._columns = {column.name: column for column in table.columns}
        self._by = frozenset(column.name for column in table.columns if column.by)
        self._inlined: dict[str, str] = {}

    def select(self, wanted: Collection[str]) -> Columns:
        """The SQL of some columns, including the leading ones if they are wanted."""
        selected = self.made
        layers = self._layers([name for name in wanted if name in self._by])
        above = {name for layer in layers[1:] for name in layer}
        for name in LEADING:
            if name in wanted:
                sql = (
                    f"max({self.of(self.base, 'flag')})"
                    if name == "flag" and self.grouped
                    else self.role(name)
                )
                selected.first.append(f"{sql} AS {name}")
        computed = {*wanted}.union(layers[0] if layers else ())
        for column in self.table.columns:
            if column.name in LEADING or column.name not in computed or column.name in above:
                continue
            if column.by:
                formula = layers[0].get(column.name, "")
                sql = expressions.compile_sql(formula, self.role, column.type) if formula else "NULL"
            else:
                sql = self.plain(column.name, column.type)
            selected.first.append(_typed(sql, column))
        # Joined columns that upper layers need are passed up to them.
        passed = {name for layer in layers[1:] for formula in layer.values() for name in _names(formula)}
        selected.first += [
            f"{self.role(name)} AS {_passed_name(name)}" for name in sorted(passed) if "." in name
        ]
        for layer in layers[1:]:
            selected.above.append(
                [
                    _typed(self._above(formula, self._columns[name].type), self._columns[name])
                    for name, formula in layer.items()
                ]
            )
        return selected

    @staticmethod
    def _above(formula: str, type: str) -> str:
        return expressions.compile_sql(formula, _from_below, type) if formula else "NULL"

    def of(self, alias: str, name: str) -> str:
        self.made.reads.setdefault(alias, set()).add(name)
        return f"{expressions.quote(alias)}.{expressions.quote(name)}"

    def path(self, reference: str) -> tuple[str, str]:
        """The table and column that a name in a formula refers to."""
        entity, dot, role = reference.partition(".")
        # Formulas of a generation name the role; a helper that adds counters up names its sums alike.
        return (self.base if entity == "counter" else entity, role) if dot else (self.base, reference)

    def role(self, reference: str) -> str:
        """SQL of a name in a formula that is not a column of the measure."""
        if "." in reference:
            return self.of(*self.path(reference))
        if reference == "seconds" and self.table.span:
            return expressions.compile_sql(self.table.span, self.role, "float")
        if reference == "seconds" and self.grouped:
            return f"max({self.of(self.base, 'seconds')})"
        if reference in LEADING:
            return self.of(self.base, reference)
        raise CatalogError(
            f"measure {self.table.name}: {reference!r} is neither a role nor an earlier column"
        )

    def plain(self, name: str, type: str = "") -> str:
        """SQL of a column by its formula, with the formulas of the columns it names inlined."""
        formula = self.formula(name)
        return expressions.compile_sql(formula, self._inline, type) if formula else "NULL"

    def formula(self, name: str) -> str:
        """The formula of a column for the input; '' if it has none."""
        column = self._columns[name]
        if not column.by:
            return (self.published and column.published) or column.formula
        formula = cpumf_formulas.column_formula(name, self.trust, self._by, self.present)
        if column.given:
            return f"coalesce({column.given}, {formula})" if formula else column.given
        return formula

    def references(self, name: str) -> list[str]:
        """What the formula of a column ultimately names: `table.column`, or a leading column."""
        references: dict[str, None] = {}
        pending, seen = [name], set[str]()
        while pending:
            reference = pending.pop(0)
            if reference in seen:
                continue
            seen.add(reference)
            formula = (
                self.formula(reference) if reference in self._columns and reference not in LEADING else ""
            )
            if formula:
                pending = [*expressions.names(formula), *pending]
            elif "." in reference or reference in LEADING:
                references[reference] = None
        return list(references)

    def _inline(self, name: str) -> str:
        column = self._columns.get(name)
        if column is None or column.by or not column.formula or name in LEADING:
            return self.role(name)
        if name not in self._inlined:
            self._inlined[name] = self.plain(name)
        return self._inlined[name]

    def _layers(self, wanted: list[str]) -> list[dict[str, str]]:
        """Formulas of columns that differ by machine, in layers: each is over columns of those before it.

        If these formulas were inlined, as those of other columns are, the statement would grow so long
        that planning it would take seconds.
        """
        formulas: dict[str, str] = {}
        pending = list(wanted)
        while pending:
            name = pending.pop()
            if name in formulas:
                continue
            formulas[name] = self.formula(name)
            pending += _names(formulas[name]) & self._by
        # In the order of the table, so that the statement is always the same.
        remaining = {name: formulas[name] for name in self._columns if name in formulas}
        layers: list[dict[str, str]] = []
        while remaining:
            layer = {
                name: formula for name, formula in remaining.items() if not _names(formula) & set(remaining)
            }
            if not layer:
                raise CatalogError(f"measure {self.table.name}: {', '.join(remaining)} depend on each other")
            layers.append(layer)
            remaining = {name: formula for name, formula in remaining.items() if name not in layer}
        return layers


def of(
    parsed: Tree, table: metrics.Table, *, trust: Trust, present: Present = None, published: bool = False
) -> Formulas:
    """The formulas of a measure over the tree of its rows."""
    node = parsed["statements"][0]["node"]
    return Formulas(
        table,
        _base(node["from_table"]),
        grouped=bool(node["group_expressions"]),
        trust=trust,
        present=present,
        published=published,
    )


def _base(ref: Tree) -> str:
    """The name of the table that a FROM clause begins with."""
    while ref["type"] == "JOIN":
        ref = ref["left"]
    return str(ref.get("alias") or ref.get("table_name"))


def _names(formula: str) -> set[str]:
    return set(expressions.names(formula)) if formula else set()


def _typed(sql: str, column: metrics.Column) -> str:
    return f"CAST({sql} AS {SQL_TYPES[column.type]}) AS {expressions.quote(column.name)}"


def _from_below(name: str) -> str:
    return _passed_name(name) if "." in name else expressions.quote(name)


def _passed_name(name: str) -> str:
    return expressions.quote("#" + name)
