"""Measures: one SQL file per table, with the formulas of its columns from the catalog.

A file `<table>.sql` joins role views and holds `{columns}` where the columns go; a file that begins with
an underscore is a private helper, a view under its own name. A table without a file is fed by no reader
yet: it exists, typed, and is empty.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from zlens.catalog import expressions, metrics
from zlens.catalog.roles import SQL_TYPES
from zlens.errors import CatalogError

#: Every measure begins with these.
LEADING = ("system", "source", "interval_end", "seconds", "flag")

_FIRST = re.compile(r"^FROM\s+(?:role\.)?\w+\s+AS\s+(\w+)", re.MULTILINE)


@cache
def _file(name: str) -> str | None:
    path = Path(__file__).parent / f"{name}.sql"
    return path.read_text(encoding="utf-8") if path.is_file() else None


def helpers() -> list[str]:
    """Names of the private helper views."""
    return sorted(path.stem for path in Path(__file__).parent.glob("_*.sql"))


def helper_sql(name: str) -> str:
    """SELECT of a private helper view."""
    text = _file(name)
    if text is None:
        raise CatalogError(f"there is no measure helper {name!r}", expected=", ".join(helpers()))
    return text


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


def measure_sql(name: str) -> str:
    """SELECT of a measure over role views and helpers, formulas compiled from the catalog."""
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
            return f"{expressions.quote(entity)}.{expressions.quote(role)}"
        if reference == "seconds" and grouped:
            return f"max({first}.seconds)"
        if reference in LEADING:
            return f"{first}.{reference}"
        raise CatalogError(f"measure {name}: {reference!r} is neither a role nor an earlier column")

    listed = [column for column in metrics.table(name).columns if column.name not in LEADING]
    compiled = expressions.compile_columns(
        [(column.name, column.formula, column.type) for column in listed], resolve
    )
    selected = [
        f"{first}.system",
        f"{first}.source",
        f"{first}.interval_end",
        f"{resolve('seconds')} AS seconds",
        f"max({first}.flag) AS flag" if grouped else f"{first}.flag",
    ]
    for column in listed:
        sql = compiled.get(column.name, "NULL")
        selected.append(f"CAST({sql} AS {SQL_TYPES[column.type]}) AS {expressions.quote(column.name)}")
    return text.replace("{columns}", "\n    " + ",\n    ".join(selected))
