"""How precise the values of listings are: what is printed as 0.1 may be anything from 0.05 to 0.15.

A measure that adds up printed numbers is off by at most the sum of their half units; a mean over processors
or time is no less precise than each of its terms. Ratios of printed numbers get no bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from zlens.catalog import expressions, listings, metrics
from zlens.catalog.columns import Column
from zlens.catalog.compared import Metric
from zlens.catalog.expressions import quote
from zlens.catalog.reports import definition
from zlens.explain.lineage import column_lineage
from zlens.session.session import Session

#: The source of listings; those of reports without intervals begin with the same word.
_SOURCE = "listing"
#: Units of means. Rates and counts are summed over processors, where errors add up.
_UNITS = frozenset({"%", "ms", "us"})


def roundings(session: Session, compared: Iterable[Metric]) -> dict[str, dict[str, float]]:
    """The largest error of each metric from rounding in a listing, by system and key of the metric."""
    if not any(info.source.startswith(_SOURCE) for info in session.systems):
        return {}
    there = {row[0] for row in session.sql("SHOW TABLES").rows}
    found: dict[str, dict[str, float]] = {}
    for metric in compared:
        for table, columns in _printed(metric.table, metric.column, metric.unit).items():
            if table not in there:
                continue
            sums = " + ".join(f"max({quote(column + listings.HALF)})" for column in columns)
            for system, half in session.sql(
                f"SELECT system, {sums} FROM {quote(table)} GROUP BY system"
            ).rows:
                if half:
                    own = found.setdefault(system, {})
                    own[metric.key] = max(own.get(metric.key, 0.0), metric.scale * float(half))
    return found


@cache
def _printed(table: str, column: str, unit: str) -> dict[str, tuple[str, ...]]:
    """The printed numbers that a column of a measure adds up, by raw table of listings.

    Empty if they have other units, or if the weight that it is divided by is printed too.
    """
    measured = metrics.table(table)
    declared = measured.column(column)
    if unit not in _UNITS or declared is None:
        return {}
    weights = [name for name in expressions.names(declared.weight or "1") if measured.column(name)]
    if any(_numbers(table, name) for name in weights):
        return {}
    numbers = _numbers(table, column)
    units = {each.unit for columns in numbers.values() for each in columns}
    if units != {unit}:
        return {}
    return {name: tuple(each.name for each in columns) for name, columns in numbers.items()}


def _numbers(table: str, column: str) -> dict[str, list[Column]]:
    """The printed numbers behind a column of a measure, by raw table of listings."""
    raw, _ = column_lineage().raw(table, column)
    found = {}
    for name, columns in raw.items():
        if name in listings.tables():
            report, key = listings.tables()[name]
            known = {each.name: each for each in listings.columns(definition.load(report).table(key))}
            numbers = [known[each] for each in columns if f"{each}{listings.HALF}" in known]
            if numbers:
                found[name] = numbers
    return found
