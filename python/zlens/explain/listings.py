"""Explanations of raw tables of listings: meaning and precision of their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from zlens.catalog import expressions, listings, roles
from zlens.catalog.raw_columns import LISTED
from zlens.catalog.reports import definition
from zlens.explain.description import Description, Facts


def listing_pages(name: str) -> Iterator[Description]:
    """Yield the description of a raw table of listings, or of one of its columns."""
    table_name, _, column_name = name.rpartition(".")
    known = listings.tables()
    found = known.get(name) or known.get(table_name)
    if found is None:
        return
    report = definition.load_report(found[0])
    columns = {column.name: column for column in listings.columns(report.table(found[1]))}
    of_report = ("Report", f"{report.name}: {report.title}")
    if name in known:
        shown = [each for each in columns.values() if not each.name.endswith(listings.PRECISION_SUFFIX)]
        facts: Facts = [
            of_report,
            ("Columns", [f"{column.name}: {column.text}" for column in shown]),
            (
                "Printed",
                f"of each number COLUMN, COLUMN{listings.PRECISION_SUFFIX} is half a unit of its last digit",
            ),
            ("Feeds", _feeds(name)),
            ("Source", report.source),
            ("Example", f"SELECT * FROM {name}"),
        ]
        yield Description(f"{name}: a table of the report {report.name}, read from listings", facts)
    elif (column := columns.get(column_name)) is not None:
        precision = f"{column_name}{listings.PRECISION_SUFFIX}"
        facts = [
            of_report,
            ("Value", f"{column.type}, {column.unit}" if column.unit else column.type),
            (
                "Printed",
                f"rounded: the value is {column_name} +- {precision}" if precision in columns else "",
            ),
            ("Feeds", _feeds(name)),
            ("Source", report.source),
        ]
        yield Description(f"{name}: {column.text}", facts)


def _feeds(name: str) -> list[str] | str:
    """Return the roles that a table or column provides, or the reason why it provides none."""
    fed = sorted(_fed().get(name, ()))
    why = listings.unmapped_reasons()
    if fed:
        left = (key.removeprefix(f"{name}.") for key in why if key.startswith(f"{name}."))
        return [*fed, *(f"not {column}: {why[f'{name}.{column}']}" for column in left)]
    reason = why.get(name) or why.get(name.partition(".")[0])
    return f"no role: {reason}" if reason else ""


@cache
def _fed() -> Mapping[str, set[str]]:
    """Return the roles provided by tables and columns of listings: entities of tables, roles of columns."""
    fed: dict[str, set[str]] = {}

    def add_role(entity: roles.Entity, origin: roles.RoleOrigin, role: str, how: roles.RoleValue) -> None:
        for field in (*how.fields, *(expressions.names(how.expression) if how.expression else ())):
            table, dot, column = field.rpartition(".")
            table = table if dot else origin.table
            if table.startswith(LISTED) and column != "seconds":
                fed.setdefault(f"{table}.{column.lower()}", set()).add(f"{entity.name}.{role}")
                fed.setdefault(table, set()).add(f"role {entity.name}: {entity.text}")

    for entity in map(roles.entity, roles.entities()):
        for origin in entity.origins:
            for role, how in origin.roles.items():
                add_role(entity, origin, role, how)
    return fed


def listing_names() -> list[str]:
    """Return the raw tables of listings."""
    return list(listings.tables())
