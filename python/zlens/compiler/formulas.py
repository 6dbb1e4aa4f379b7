"""SQL of a measure's columns over the roles and helpers that it is joined from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from msgspec import Struct, field

from zlens.catalog import expressions, measures, roles
from zlens.catalog.cpumf import FormulaPolicy, Present
from zlens.catalog.roles import SQL_TYPES
from zlens.compiler.sql_tree import Tree, walk
from zlens.errors import CatalogError


class LayeredSelect(Struct):
    """The SELECT of a measure's columns, in layers, each over the columns of the previous one.

    first   expressions over the tables that the measure joins
    above   the expressions of the layers above it
    reads   columns that the first layer reads, by the alias of their table
    """

    first: list[str] = field(default_factory=list)
    above: list[list[str]] = field(default_factory=list)
    reads: dict[str, set[str]] = field(default_factory=dict)

    def paths(self) -> list[tuple[str, str]]:
        """Return the columns that the first layer reads, as table and column."""
        return [(alias, column) for alias, columns in self.reads.items() for column in sorted(columns)]


class Formulas:
    """The formulas of one measure for an input.

    base       the alias of the table that provides its rows
    grouped    whether rows are grouped
    entities   entities by the alias of their rows
    present    the machine generations in the input
    published  whether to use the formulas that round like published tables
    """

    def __init__(
        self,
        table: measures.Measure,
        base: str = "",
        *,
        trust: FormulaPolicy,
        grouped: bool = False,
        entities: Mapping[str, str] | None = None,
        present: Present = None,
        published: bool = False,
    ) -> None:
        self.table = table
        self._entities = entities or {}
        self.base = base
        self.grouped = grouped
        self.trust = trust
        self.present = present
        self.published = published
        self.layers = LayeredSelect()
        self._columns = {column.name: column for column in table.columns}
        self._by = frozenset(column.name for column in table.columns if column.varies_by)
        self._inlined: dict[str, str] = {}
        #: Columns that the first layer computes for the layers above it.
        self._leading: set[str] = set()
        self._passed: set[str] = set()
        self._aggregates: dict[str, str] = {}
        self._needed: set[str] = set()
        self._spanned = False

    def select(self, requested: Collection[str]) -> LayeredSelect:
        """Return the SQL of some columns, including requested leading ones.

        A layer computes the columns that the layers above mention several times: a column that others are
        computed from, and every number before it is known to be finite.
        """
        selected = self.layers
        by_layers = self._layers([name for name in requested if name in self._by])
        levels = self._levels([name for name in requested if name not in self._by])
        for name in measures.LEADING_NAMES:
            if name in requested:
                self._lead(name)
        bounded: dict[str, str] = {}
        for column in self.table.columns:
            if column.name in levels[0]:
                self._add_column(
                    selected.first, column, self.formula(column.name), self._inline, bounded, requested
                )
        if by_layers:
            self._add_generation_columns(by_layers[0], selected.first, self.role, bounded)
        # Joined columns that upper layers need are passed up to them.
        passed = {name for layer in by_layers[1:] for formula in layer.values() for name in _names(formula)}
        for name in sorted(passed):
            if "." in name:
                self._pass(name)
        for level in levels[1:]:
            layer: list[str] = []
            for column in self.table.columns:
                if column.name in level:
                    formula = self.formula(column.name)
                    self._add_column(layer, column, formula, self._over, bounded, requested, self._aggregated)
            selected.above.append(layer)
        if self._spanned:
            # Below all layers that divide by it.
            selected.above.insert(0, [f"{expressions.finite_sql(_raw('seconds'))} AS seconds"])
        if bounded:
            selected.above.append([f"{sql} AS {expressions.quote(name)}" for name, sql in bounded.items()])
        for by_layer in by_layers[1:]:
            numbers: list[str] = []
            bounded = {}
            self._add_generation_columns(by_layer, numbers, _is_lower_column, bounded)
            selected.above.append(numbers)
            if bounded:
                selected.above.append(
                    [f"{sql} AS {expressions.quote(name)}" for name, sql in bounded.items()]
                )
        return selected

    def _lead(self, name: str) -> str:
        """Return the name of a leading column in the layers above the first, which computes it."""
        if name not in self._leading:
            self._leading.add(name)
            if name == "seconds" and self.table.span:
                self._spanned = True
                sql = expressions.compile_raw(self.table.span, self.role, "float")
                self.layers.first.append(f"{sql} AS {_raw(name)}")
            elif name == "flag" and self.grouped:
                self.layers.first.append(f"max({self.of(self.base, 'flag')}) AS flag")
            else:
                self.layers.first.append(f"{self.role(name)} AS {name}")
        return expressions.quote(name)

    def _pass(self, name: str) -> str:
        """Return the name of a joined column in the layers above the first."""
        if name not in self._passed:
            self._passed.add(name)
            self.layers.first.append(f"{self.role(name)} AS {_passed_name(name)}")
        return _passed_name(name)

    def _aggregated(self, node: expressions.FormulaNode) -> str:
        """Return the name of an aggregate in the layers above the first."""
        sql = expressions.compile_node(node, self._inline)
        if sql not in self._aggregates:
            self._aggregates[sql] = expressions.quote(f"#{len(self._aggregates)}")
            self.layers.first.append(f"{sql} AS {self._aggregates[sql]}")
        return self._aggregates[sql]

    def _add_column(
        self,
        layer: list[str],
        column: measures.MeasureColumn,
        formula: str,
        resolve: expressions.Resolve,
        bounded: dict[str, str],
        requested: Collection[str],
        below: Callable[[expressions.FormulaNode], str] | None = None,
    ) -> None:
        """Add a column to a layer, bounded by its type or as the columns above read it."""
        if not formula:
            layer.append(_typed("NULL", column))
        elif self._is_role(column.name):
            layer.append(f"{resolve(formula)} AS {expressions.quote(column.name)}")
        elif column.type == "float" or column.name in self._needed:
            raw = expressions.compile_raw(formula, resolve, column.type, below)
            layer.append(f"{raw} AS {_raw(column.name)}")
            if column.name in requested:
                bounded[column.name] = _bounded(_raw(column.name), column)
        else:
            layer.append(
                f"{_bounded(expressions.compile_raw(formula, resolve, column.type, below), column)} "
                f"AS {expressions.quote(column.name)}"
            )

    def _add_generation_columns(
        self,
        formulas: Mapping[str, str],
        layer: list[str],
        resolve: expressions.Resolve,
        bounded: dict[str, str],
    ) -> None:
        """Add columns that differ by machine; the layers above read their bounded values."""
        for name, formula in formulas.items():
            self._add_column(layer, self._columns[name], formula, resolve, bounded, formulas)

    def _levels(self, requested: Iterable[str]) -> list[set[str]]:
        """Return columns by the layer that computes them: after the columns that their formulas name."""
        levels: dict[str, int] = {}
        pending = list(requested)
        while pending:
            name = pending[-1]
            named_columns = [] if name in measures.LEADING_NAMES else self._own_columns(name)
            missing = [other for other in named_columns if other not in levels]
            if missing:
                pending += missing
                continue
            pending.pop()
            if name not in measures.LEADING_NAMES:
                over = any(reference == "seconds" for reference in _names(self.formula(name)))
                spanned = bool(over and self.table.span)
                levels[name] = max([1 + levels[other] for other in named_columns] + [int(spanned)], default=0)
        self._needed = {other for name in levels for other in self._own_columns(name)}
        return [
            {name for name, level in levels.items() if level == number}
            for number in range(1 + max(levels.values(), default=0))
        ]

    def _own_columns(self, name: str) -> list[str]:
        """Return the columns of the measure that a formula names outside of aggregates."""
        return [
            other
            for other in expressions.names_outside_aggregates(self.formula(name))
            if other in self._columns and other not in measures.LEADING_NAMES and self._columns[other].formula
        ]

    def _is_role(self, name: str) -> bool:
        """Return whether a column is just a role of its type, whose values are in its bounds.

        Sums and means over --every have another type than the integers that they are of.
        """
        column = self._columns[name]
        alias, _, role = self.formula(name).partition(".")
        found = roles.entity(self._entities[alias]).roles.get(role) if alias in self._entities else None
        return found is not None and found.type == column.type != "int" and not self.grouped

    def _over(self, name: str) -> str:
        """Return SQL of a name in a formula of a layer above the first."""
        column = self._columns.get(name)
        if name in measures.LEADING_NAMES:
            return self._lead(name)
        if column is not None and not column.varies_by and column.formula:
            return expressions.quote(name) if self._is_role(name) else _raw(name)
        return self._pass(name) if "." in name else self.role(name)

    def of(self, alias: str, name: str) -> str:
        self.layers.reads.setdefault(alias, set()).add(name)
        return f"{expressions.quote(alias)}.{expressions.quote(name)}"

    def path(self, reference: str) -> tuple[str, str]:
        """Return the table and column that a name in a formula refers to."""
        entity, dot, role = reference.partition(".")
        # Formulas of a generation name the role; a helper that adds counters uses the same names for sums.
        return (self.base if entity == "counter" else entity, role) if dot else (self.base, reference)

    def role(self, reference: str) -> str:
        """Return SQL of a name in a formula that is not a column of the measure."""
        if "." in reference:
            return self.of(*self.path(reference))
        if reference == "seconds" and self.table.span:
            return expressions.compile_sql(self.table.span, self.role, "float")
        if reference == "seconds" and self.grouped:
            return f"max({self.of(self.base, 'seconds')})"
        if reference in measures.LEADING_NAMES:
            return self.of(self.base, reference)
        raise CatalogError(
            f"measure {self.table.name}: {reference!r} is neither a role nor an earlier column"
        )

    def inline_sql(self, name: str, type: str = "") -> str:
        """Return SQL of a column by its formula, with the formulas of the columns it names inlined."""
        formula = self.formula(name)
        return expressions.compile_sql(formula, self._inline, type) if formula else "NULL"

    def formula(self, name: str) -> str:
        """Return the formula of a column for the input; '' if it has none."""
        column = self._columns[name]
        if not column.varies_by:
            return (self.published and column.published) or column.formula
        from zlens.catalog import cpumf_formulas

        formula = cpumf_formulas.column_formula(name, self.trust, self._by, self.present)
        if column.preferred_formula:
            return f"coalesce({column.preferred_formula}, {formula})" if formula else column.preferred_formula
        return formula

    def references(self, name: str) -> list[str]:
        """Return the columns that a formula ultimately names: `table.column`, or a leading column."""
        references: dict[str, None] = {}
        pending, seen = [name], set[str]()
        while pending:
            reference = pending.pop(0)
            if reference in seen:
                continue
            seen.add(reference)
            formula = (
                self.formula(reference)
                if reference in self._columns and reference not in measures.LEADING_NAMES
                else ""
            )
            if formula:
                pending = [*expressions.names(formula), *pending]
            elif "." in reference or reference in measures.LEADING_NAMES:
                references[reference] = None
        return list(references)

    def _inline(self, name: str) -> str:
        column = self._columns.get(name)
        if column is None or column.varies_by or not column.formula or name in measures.LEADING_NAMES:
            return self.role(name)
        if name not in self._inlined:
            self._inlined[name] = self.inline_sql(name)
        return self._inlined[name]

    def _layers(self, requested: list[str]) -> list[dict[str, str]]:
        """Return formulas of columns that differ by machine, in layers over columns of the previous ones.

        Inlining these formulas would make the statement so large that planning it costs seconds.
        """
        formulas: dict[str, str] = {}
        pending = list(requested)
        while pending:
            name = pending.pop()
            if name in formulas:
                continue
            formulas[name] = self.formula(name)
            pending += _names(formulas[name]) & self._by
        # In the order of the table, so that the statement is deterministic.
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


def measure_formulas(
    parsed: Tree,
    table: measures.Measure,
    *,
    trust: FormulaPolicy,
    present: Present = None,
    published: bool = False,
) -> Formulas:
    """Return the formulas of a measure over the tree of its rows."""
    node = parsed["statements"][0]["node"]
    entities = {
        str(ref.get("alias") or ref["table_name"]): str(ref["table_name"])
        for ref in walk(node["from_table"])
        if ref.get("type") == "BASE_TABLE" and ref.get("schema_name") == "role"
    }
    return Formulas(
        table,
        _base(node["from_table"]),
        entities=entities,
        grouped=bool(node["group_expressions"]),
        trust=trust,
        present=present,
        published=published,
    )


def _base(ref: Tree) -> str:
    """Return the name of the first table of a FROM clause."""
    while ref["type"] == "JOIN":
        ref = ref["left"]
    return str(ref.get("alias") or ref.get("table_name"))


def _names(formula: str) -> set[str]:
    return set(expressions.names(formula)) if formula else set()


def _typed(sql: str, column: measures.MeasureColumn) -> str:
    return f"CAST({sql} AS {SQL_TYPES[column.type]}) AS {expressions.quote(column.name)}"


def _raw(name: str) -> str:
    """Return the name of a column's value before its type bounds it."""
    return expressions.quote(f"#{name}")


def _bounded(sql: str, column: measures.MeasureColumn) -> str:
    """Return SQL of a column from its raw value."""
    if column.type == "float":
        return expressions.finite_sql(sql)
    type = SQL_TYPES[column.type]
    return f"TRY_CAST({sql} AS {type})" if column.type == "int" else expressions.cast(sql, type)


def _is_lower_column(name: str) -> str:
    return _passed_name(name) if "." in name else expressions.quote(name)


def _passed_name(name: str) -> str:
    return expressions.quote("#" + name)
