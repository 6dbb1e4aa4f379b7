"""How precise the metrics of listings are: what is printed as 0.1 may be anything from 0.05 to 0.15."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from functools import cache

from zlens.catalog import expressions, listings, metrics
from zlens.catalog.compared import Metric
from zlens.catalog.reports import definition
from zlens.compare.series import Key, Series
from zlens.explain.lineage import column_lineage
from zlens.session.rounded import MARK, changes, has_printed, named, rounded
from zlens.session.session import Session


def roundings(session: Session, compared: Sequence[Series]) -> dict[tuple[str, Key], float]:
    """The most that printing can have changed the mean of a metric by, by system and key of the metric.

    The effects of all printed numbers add up, and those of a number over its rows: each may be rounded up or
    down.
    """
    if not has_printed(session):
        return {}
    numbers = (number for series in compared for metric in series.metrics for number in _numbers(metric))
    changed = changes(session, numbers)
    if not changed:
        return {}
    found: dict[tuple[str, Key], float] = {}
    with rounded(session, changed) as beside:
        whole = [each for series in compared for each in (series, series.apart()) if each is not None]
        beside.expect([series.query for series in whole])
        for series in whole:
            scales = {metric.key: metric.scale for metric in series.metrics}
            for (system, key), rows in _rows(series, beside).items():
                effects: dict[tuple[str, str], float] = {}
                for number, change in enumerate(changed, 1):
                    column = (change.table, change.column)
                    effect = _effect(rows[0], rows[number]) if 0 in rows and number in rows else 0.0
                    effects[column] = max(effects.get(column, 0.0), effect)
                # Apart, where errors of subjects do not cancel, the bound is never smaller.
                found[system, key] = scales[key[0]] * math.fsum(effects.values())
    return found


#: Numerator and denominator of each row, by its subject and time.
_Rows = dict[tuple[tuple[str, ...], dt.datetime], tuple[float, float]]


def _rows(series: Series, beside: Session) -> dict[tuple[str, Key], dict[int, _Rows]]:
    """The rows of a metric, by system and key of the metric, and by change."""
    found: dict[tuple[str, Key], dict[int, _Rows]] = {}
    for (marked, (metric, subject)), points in series.points(beside).items():
        system, number = named(marked)
        # A machine is marked as its systems are.
        subject = tuple(text.partition(MARK)[0] for text in subject)
        rows = found.setdefault((system, (metric, subject[: len(series.by)])), {}).setdefault(number, {})
        rows.update(((subject, end), (above, below)) for end, above, below in points)
    return found


def _effect(rows: _Rows, changed: _Rows) -> float:
    """The most that a mean can change if any of the rows change.

    The mean is A / B, sums over rows; to first order, row i changes it by (dA_i - A / B * dB_i) / B.
    """
    below = math.fsum(b for _, b in rows.values())
    mean = math.fsum(a for a, _ in rows.values()) / below
    least = min(below, math.fsum(b for _, b in changed.values()))
    moved = []
    for place in rows.keys() | changed.keys():
        (above, weight), (new_above, new_weight) = (side.get(place, (0.0, 0.0)) for side in (rows, changed))
        moved.append(abs(new_above - above - mean * (new_weight - weight)))
    return math.fsum(moved) / least


@cache
def _numbers(metric: Metric) -> tuple[tuple[str, str], ...]:
    """The printed numbers behind a metric and its weight, as raw table and column."""
    measured = metrics.table(metric.table)
    declared = measured.column(metric.column)
    weights = expressions.names(declared.weight or "1") if declared is not None else ()
    found = []
    for column in (metric.column, *(name for name in weights if measured.column(name))):
        raw, _ = column_lineage().raw(metric.table, column)
        found += [
            (name, each) for name, columns in raw.items() if name.startswith("rmf_") for each in columns
        ]
        for name in raw.keys() & listings.tables().keys():
            report, key = listings.tables()[name]
            known = {each.name for each in listings.columns(definition.load(report).table(key))}
            found += [(name, each) for each in raw[name] if f"{each}{listings.HALF}" in known]
    return tuple(found)
