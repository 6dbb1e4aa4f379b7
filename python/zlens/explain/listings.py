"""Explanations of raw tables of listings: what a column is, and how precise it is printed."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import listings
from zlens.catalog.reports import definition
from zlens.explain.records import Facts, page


def listing_pages(name: str) -> Iterator[str]:
    """Pages of a raw table of listings, or of one of its columns."""
    table_name, dot, column_name = name.rpartition(".")
    known = listings.tables()
    if name in known:
        report = definition.load(known[name][0])
        columns = listings.columns(report.table(known[name][1]))
        shown = [column for column in columns if not column.name.endswith(listings.HALF)]
        facts: Facts = [
            ("Report", f"{report.name}: {report.title}"),
            ("Columns", [f"{column.name}: {column.text}" for column in shown]),
            ("Printed", f"of each number COLUMN, COLUMN{listings.HALF} is half a unit of its last digit"),
            ("Source", report.source),
            ("Example", f"SELECT * FROM {name}"),
        ]
        yield page(f"{name}: a table of the report {report.name}, read from listings", facts)
    if dot and table_name in known:
        report = definition.load(known[table_name][0])
        for column in listings.columns(report.table(known[table_name][1])):
            if column.name != column_name:
                continue
            half = f"{column_name}{listings.HALF}"
            printed = {each.name for each in listings.columns(report.table(known[table_name][1]))}
            facts = [
                ("Report", f"{report.name}: {report.title}"),
                ("Value", f"{column.type}, {column.unit}" if column.unit else column.type),
                ("Printed", f"rounded: the value is {column_name} +- {half}" if half in printed else ""),
                ("Source", report.source),
            ]
            yield page(f"{name}: {column.text}", facts)


def listing_names() -> list[str]:
    """The raw tables of listings."""
    return list(listings.tables())
