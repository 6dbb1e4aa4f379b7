"""Precision of the metrics of listings: a value printed as 0.1 may be anything from 0.05 to 0.15."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from zlens.catalog import expressions, listings, measures
from zlens.catalog.expressions import literal
from zlens.catalog.reports import definition
from zlens.compare.series import Key, MetricSeries
from zlens.explain.lineage import column_lineage
from zlens.session.rounding_bounds import (
    CHANGE_SEPARATOR,
    RoundingChange,
    has_rounded_values,
    perturb,
    rounding_changes,
)
from zlens.session.session import CoreSession


def rounding_bounds(session: CoreSession, compared: Sequence[MetricSeries]) -> dict[tuple[str, Key], float]:
    """Return the maximum effect of printing on the mean of a metric, by system and key of the metric.

    The effects of all printed numbers add up, and those of a number over its rows, because each may be
    rounded up or down.
    """
    if not has_rounded_values(session):
        return {}
    numbers = (
        number
        for series in compared
        for metric in series.metrics
        for number in _numbers(metric.table, metric.column)
    )
    changed = rounding_changes(session, numbers)
    if not changed:
        return {}
    bounds: dict[tuple[str, Key], float] = {}
    with perturb(session, changed) as perturbed:
        all_series = [
            variant
            for series in compared
            for variant in (series, series.separate_subjects())
            if variant is not None
        ]
        queries = [_effects(series, len(changed)) for series in all_series]
        for series, result in zip(all_series, perturbed.answers(queries), strict=True):
            # If subjects are separate, their errors do not cancel, so the bound is never smaller.
            bounds |= _bounds(series, changed, result.rows)
    return bounds


def _bounds(
    series: MetricSeries, changed: Sequence[RoundingChange], rows: Iterable[Sequence[Any]]
) -> dict[tuple[str, Key], float]:
    """Return the bounds of a series' metrics, from the effect of each change."""
    keys = len(series.by)
    points: dict[tuple[str, Key], tuple[int, str]] = {}
    effects: dict[tuple[str, Key], dict[tuple[str, str], float]] = {}
    for system, source, number, *rest in rows:
        change = changed[number - 1]
        for index, metric in enumerate(series.metrics):
            key = system, (metric.key, tuple(rest[:keys]))
            count, effect = rest[keys + 2 * index : keys + 2 * index + 2]
            # The source that `MetricSeries.points` selects.
            best = points.get(key)
            if not count or (best is not None and (-best[0], best[1]) < (-count, source)):
                continue
            if best != (count, source):
                points[key], effects[key] = (count, source), {}
            effect_by_column = effects[key]
            column = change.table, change.column
            effect_by_column[column] = max(effect_by_column.get(column, 0.0), effect or 0.0)
    scales = {metric.key: metric.scale for metric in series.metrics}
    return {
        (system, key): scales[key[0]] * math.fsum(effect_by_column.values())
        for (system, key), effect_by_column in effects.items()
    }


def _effects(series: MetricSeries, count: int) -> str:
    """Return a SELECT of system, source, change, subject and, for each metric, its points and the effect.

    The effect is the maximum change of the mean if any of its rows change. The mean is A / B, sums over rows;
    to first order, row i changes it by (dA_i - A / B * dB_i) / B.
    """
    own = [f"k{at}" for at in range(len(series.by))]
    keys = [f"k{at}" for at in range(len(series.by) + len(series.beneath))]
    at_each = range(len(series.metrics))
    mark = f"split_part({{}}, {literal(CHANGE_SEPARATOR)}, {{}})"
    parts = ", ".join(
        f"CASE WHEN {there} THEN a{at} ELSE 0 END AS a{at}, CASE WHEN {there} THEN b{at} ELSE 0 END AS b{at}"
        for at in at_each
        for there in (f"(a{at} IS NOT NULL AND b{at} > 0)",)
    )
    # A machine is marked in the same way as its systems.
    subject = "".join(f", {mark.format(key, 1)} AS {key}" for key in keys)
    known = "".join(f" AND {key} IS NOT NULL" for key in keys)
    listed = ", ".join(["system", "source", *keys, "interval_end"])
    of_row = ", ".join(
        f"sum(a{at}) AS a{at}, sum(b{at}) AS b{at}, max(b{at}) > 0 AS there{at}" for at in at_each
    )
    negative = ", ".join(f"-a{at}, -b{at}" for at in at_each)
    both = ", ".join(f"a{at}, b{at}" for at in at_each)
    sums = ", ".join(
        f"sum(a{at}) AS above{at}, sum(b{at}) AS below{at}, count(*) FILTER (b{at} > 0) AS points{at}"
        for at in at_each
    )
    subjects = ", ".join(["system", "source", *own])
    effects = ", ".join(
        f"any_value(totals.points{at}), CASE WHEN bool_or(moved.there{at}) "
        f"THEN sum(abs(moved.a{at} - totals.above{at} / totals.below{at} * moved.b{at})) "
        f"/ (any_value(totals.below{at}) + least(sum(moved.b{at}), 0)) END"
        for at in at_each
    )
    named = ", ".join(f"moved.{name}" for name in ["system", "source", "change", *own])
    return (
        f"WITH points AS MATERIALIZED (SELECT {mark.format('system', 1)} AS system, source, "
        f"CAST({mark.format('system', 2)} AS INTEGER) AS change{subject}, interval_end, {parts} "
        f"FROM ({series.rows}) WHERE true{known}), "
        f"unchanged AS MATERIALIZED (SELECT * FROM points WHERE change = 0), "
        f"totals AS (SELECT {subjects}, {sums} FROM unchanged GROUP BY {subjects}), "
        # Rows of only one of the two count in full.
        f"moved AS (SELECT {listed}, change, {of_row} FROM (SELECT {listed}, change, {both} FROM points "
        f"WHERE change > 0 UNION ALL SELECT {listed}, c.change, {negative} FROM unchanged "
        f"CROSS JOIN range(1, {count + 1}) AS c(change)) GROUP BY {listed}, change) "
        f"SELECT {named}, {effects} FROM moved JOIN totals USING ({subjects}) GROUP BY {named} ORDER BY ALL"
    )


@cache
def _numbers(table: str, column: str) -> tuple[tuple[str, str], ...]:
    """Return the printed numbers underlying a metric and its weight, as raw table and column."""
    measured = measures.load_measure(table)
    declared = measured.column(column)
    weights = expressions.names(declared.weight or "1") if declared is not None else ()
    numbers = []
    for read_column in (column, *(name for name in weights if measured.column(name))):
        raw, _ = column_lineage().raw_columns(table, read_column)
        numbers += [
            (name, each) for name, columns in raw.items() if name.startswith("rmf_") for each in columns
        ]
        for name in raw.keys() & listings.tables().keys():
            report, key = listings.tables()[name]
            known = {each.name for each in listings.columns(definition.load_report(report).table(key))}
            numbers += [(name, each) for each in raw[name] if f"{each}{listings.PRECISION_SUFFIX}" in known]
    return tuple(numbers)
