"""How precise the values of listings are: what is printed as 0.1 may be anything from 0.05 to 0.15.

A measure of a listing is off by no more than the numbers it is computed from together, each half a unit of
its last digit, as far as they have its unit: a mean is no less precise than what it is the mean of.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from zlens.catalog import listings
from zlens.catalog.compared import Metric
from zlens.catalog.expressions import quote
from zlens.catalog.reports import definition
from zlens.explain.lineage import column_lineage
from zlens.session.session import Session

#: The source of listings; those of reports without intervals begin with the same word.
_SOURCE = "listing"
#: Units of shares and times, which sums over processors or guests do not add up in these measures.
_UNITS = frozenset({"%", "ms", "us"})


def roundings(session: Session, metrics: Iterable[Metric]) -> dict[str, dict[str, float]]:
    """By system and key of a metric, the most that rounding in a listing can change its value by."""
    if not any(info.source.startswith(_SOURCE) for info in session.systems):
        return {}
    there = {row[0] for row in session.sql("SHOW TABLES").rows}
    found: dict[str, dict[str, float]] = {}
    for metric in metrics:
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
    """The printed numbers of one unit behind a column of a measure, by raw table of listings."""
    if unit not in _UNITS:
        return {}
    raw, _ = column_lineage().raw(table, column)
    found = {}
    for name, columns in raw.items():
        if name not in listings.tables():
            continue
        report, key = listings.tables()[name]
        known = {each.name: each for each in listings.columns(definition.load(report).table(key))}
        numbers = [each for each in columns if f"{each}{listings.HALF}" in known]
        if numbers and all(known[each].unit == unit for each in numbers):
            found[name] = tuple(numbers)
    return found
