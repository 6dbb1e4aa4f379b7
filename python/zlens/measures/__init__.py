"""Measures: one SQL file per table, with the formulas of its columns from the catalog.

A file `<table>.sql` joins role views and holds `{columns}` where the columns go; a file that begins with
an underscore is a private helper, a view under its own name. Other words in braces stand for what the
catalog of CPU MF makes of its facts (cpumf_formulas.PLACES). A table without a file is fed by no reader
yet: it exists, typed, and is empty.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache
from pathlib import Path

from zlens.catalog import cpumf_formulas, expressions, metrics, roles
from zlens.catalog.cpumf_formulas import SURE, Trust
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import CatalogError

#: Every measure begins with these.
LEADING = ("system", "source", "interval_end", "seconds", "flag")

_FIRST = re.compile(r"^FROM\s+(?:role\.)?\w+\s+AS\s+(\w+)", re.MULTILINE)


@cache
def _file(name: str) -> str | None:
    path = Path(__file__).parent / f"{name}.sql"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    for place, sql in cpumf_formulas.PLACES.items():
        if f"{{{place}}}" in text:
            text = text.replace(f"{{{place}}}", sql())
    return text


def helpers() -> list[str]:
    """Names of the private helper views."""
    return list(_helpers())


@cache
def _helpers() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("_*.sql")))


def helper_sql(name: str) -> str:
    """SELECT of a private helper view."""
    text = _file(name)
    if text is None:
        raise CatalogError(f"there is no measure helper {name!r}", expected=", ".join(helpers()))
    return text


def filled(name: str, tables: Container[str]) -> bool:
    """Whether one of these raw tables is one that a measure, or a role (role.entity), is made from."""
    entity = name.removeprefix("role.")
    found = {entity} if entity != name else entities(name)
    return not found or any(origin.table in tables for each in found for origin in roles.entity(each).origins)


@cache
def entities(name: str) -> frozenset[str]:
    """The entities of roles that a measure or a helper reads, by way of other helpers too."""
    text = _file(name)
    if text is None:
        return frozenset()
    below = [entities(helper) for helper in helpers() if re.search(rf"\b{helper}\b", text) and helper != name]
    return frozenset(re.findall(r"\brole\.(\w+)", text)).union(*below)


def columns(name: str) -> list[tuple[str, str]]:
    """Names and types of a measure's columns, in order."""
    table = metrics.table(name)
    return [(column.name, column.type) for column in table.columns]


def empty_sql(name: str) -> str:
    """SELECT of no rows with a measure's columns."""
    typed = ", ".join(
        f"CAST(NULL AS {SQL_TYPES[type]}) AS {expressions.quote(column)}" for column, type in columns(name)
    )
    return f"SELECT {typed} WHERE false"


def measure_sql(name: str, trust: Trust = SURE, *, published: bool = False) -> str:
    """SELECT of a measure over role views and helpers, formulas compiled from the catalog.

    `trust` says which formulas of CPU MF the user wants beyond those that are known well; `published`
    takes the formulas that round as published tables do.
    """
    text = _file(name)
    if text is None:
        return empty_sql(name)
    found = _FIRST.search(text)
    if found is None:
        raise CatalogError(f"measures/{name}.sql does not begin with FROM role.<entity> AS <entity>")
    first = expressions.quote(found[1])
    grouped = "GROUP BY" in text

    def resolve(reference: str) -> str:
        if "." in reference:
            entity, _, role = reference.partition(".")
            # Formulas of a generation name the role; a helper that adds counters up names its sums alike.
            alias = first if entity == "counter" else expressions.quote(entity)
            return f"{alias}.{expressions.quote(role)}"
        if reference == "seconds" and grouped:
            return f"max({first}.seconds)"
        if reference in LEADING:
            return f"{first}.{reference}"
        raise CatalogError(f"measure {name}: {reference!r} is neither a role nor an earlier column")

    table = metrics.table(name)
    listed = [column for column in table.columns if column.name not in LEADING]
    plain = [column for column in listed if not column.by]
    compiled = expressions.compile_columns(
        [(column.name, (published and column.published) or column.formula, column.type) for column in plain],
        resolve,
    )
    layers = _layers(table, trust)
    above = {column for layer in layers[1:] for column in layer}
    compiled |= {
        column: expressions.compile_sql(formula, resolve, _type(table, column))
        for column, formula in layers[0].items()
    }
    selected = [
        f"{first}.system",
        f"{first}.source",
        f"{first}.interval_end",
        f"{resolve('seconds')} AS seconds",
        f"max({first}.flag) AS flag" if grouped else f"{first}.flag",
    ]
    selected += [
        _selected(table, column.name, compiled.get(column.name, "NULL"))
        for column in listed
        if column.name not in above
    ]
    # What the layers above need of the roles is handed up to them.
    handed = {
        name for layer in layers[1:] for formula in layer.values() for name in expressions.names(formula)
    }
    selected += [f"{resolve(name)} AS {_handed(name)}" for name in sorted(handed) if "." in name]
    sql = text.replace("{columns}", "\n    " + ",\n    ".join(selected))
    if not above:
        return sql
    for layer in layers[1:]:
        made = [
            _selected(table, column, expressions.compile_sql(formula, _from_below, _type(table, column)))
            for column, formula in layer.items()
        ]
        sql = f"SELECT *,\n    {', '.join(made)}\nFROM ({sql})"
    ordered = ", ".join(expressions.quote(column.name) for column in table.columns)
    return f"SELECT {ordered}\nFROM ({sql})"


def percentiles_sql(name: str, sql: str, unsummed: str, gauges: list[str]) -> str:
    """A summed measure with p50, p95 and maximum of its gauges over the intervals as they are."""
    quote = expressions.quote
    quoted = [quote(key) for key in ("system", "source", *metrics.table(name).key)]
    stats = ", ".join(
        f"quantile_cont(b.{quote(g)}, 0.5) AS {quote(g + '_p50')}, "
        f"quantile_cont(b.{quote(g)}, 0.95) AS {quote(g + '_p95')}, "
        f"max(b.{quote(g)}) AS {quote(g + '_max')}"
        for g in gauges
    )
    chosen = ", ".join(f"b.{key}" for key in quoted)
    on = " AND ".join(f"m.{key} IS NOT DISTINCT FROM s.{key}" for key in quoted)
    shown = ", ".join(f"s.{quote(g + suffix)}" for g in gauges for suffix in ("_p50", "_p95", "_max"))
    return (
        f"SELECT m.*, {shown} FROM ({sql}) AS m LEFT JOIN ("
        f"SELECT {chosen}, i.bucket_end, {stats} FROM ({unsummed}) AS b "
        "JOIN _interval AS i USING (system, source, interval_end) "
        f"WHERE b.flag IS NULL GROUP BY {chosen}, i.bucket_end"
        f") AS s ON {on} AND m.interval_end = s.bucket_end"
    )


def _layers(table: metrics.Table, trust: Trust) -> list[dict[str, str]]:
    """Formulas of the columns that machines tell differently, each layer over columns of those before it.

    Were a column's formula put in the place of its name, as columns of other measures are, the statement
    would grow so long that planning it took seconds.
    """
    names = frozenset(column.name for column in table.columns if column.by)
    formulas = {name: cpumf_formulas.column_formula(name, trust, names) for name in names}
    for column in table.columns:
        if column.given:
            formulas[column.name] = _either(column.given, formulas[column.name])
    left = {column.name: formulas[column.name] for column in table.columns if formulas.get(column.name)}
    layers: list[dict[str, str]] = []
    while left or not layers:
        layer = {
            name: formula for name, formula in left.items() if not set(expressions.names(formula)) & set(left)
        }
        if left and not layer:
            raise CatalogError(f"measure {table.name}: {', '.join(left)} are told by each other")
        layers.append(layer)
        left = {name: formula for name, formula in left.items() if name not in layer}
    return layers


def _either(first: str, second: str) -> str:
    return f"coalesce({first}, {second})" if second else first


def _type(table: metrics.Table, name: str) -> str:
    column = table.column(name)
    return column.type if column else ""


def _selected(table: metrics.Table, name: str, sql: str) -> str:
    return f"CAST({sql} AS {SQL_TYPES[_type(table, name)]}) AS {expressions.quote(name)}"


def _from_below(name: str) -> str:
    return _handed(name) if "." in name else expressions.quote(name)


def _handed(name: str) -> str:
    return expressions.quote("#" + name)
