"""Evidence of a rule: its value and threshold over time for one subject."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from zlens.catalog import expressions, measures
from zlens.catalog.rules import Rule, load
from zlens.errors import QueryError
from zlens.findings.statements import condition_sql, threshold
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Maximum number of points, about the width of a screen; omitted ones are between the extremes of a segment.
POINTS = 1500


class FindingSeries(Struct, frozen=True):
    """Points in order of time: interval end (UTC), value, threshold, and whether the condition held.

    unit and column are those of the points: the rule's, or those of the column that a rule about events shows
    before and after them, whose threshold is NULL if it has another unit.

    With more than `POINTS` intervals, the minimum and maximum of each segment, unchanged.
    """

    rule: Rule
    sql: str
    unit: str
    column: str | None
    points: list[tuple[datetime, float | None, float | None, bool]]


def evidence(
    session: CoreSession, name: str, system: str, subject: str, *, points: int = POINTS
) -> FindingSeries:
    """Return the values of a rule for one subject of a system; QueryError for an unknown rule."""
    rule = load().get(name.upper())
    if rule is None or not rule.computable:
        raise QueryError(f"there is no rule {name}", cure=phrase("rules"))
    unit, column = rule.unit, None
    sql = _question(rule, system, subject)
    if rule.around:
        table, _, name = rule.around.partition(".")
        around = measures.load_measure(table).column(name)
        unit, column = around.unit if around else "", rule.around
        sql = _around(rule, table, name, system, unit)
    thinned = f"""
WITH points AS (
    SELECT *, ntile({max(1, points // 2)}) OVER (ORDER BY interval_end) AS stretch FROM ({sql})
), marked AS (
    SELECT *, row_number() OVER (PARTITION BY stretch ORDER BY value, interval_end) AS low,
        row_number() OVER (PARTITION BY stretch ORDER BY value DESC, interval_end) AS high
    FROM points
)
SELECT interval_end, value, threshold, held FROM marked WHERE low = 1 OR high = 1 ORDER BY interval_end
"""
    return FindingSeries(
        rule,
        sql.strip(),
        unit,
        column,
        [(row[0], row[1], row[2], bool(row[3])) for row in session.sql(thinned).rows],
    )


def _question(rule: Rule, system: str, subject: str) -> str:
    return f"""
SELECT interval_end, CAST(value AS DOUBLE) AS value, {threshold(rule)} AS threshold,
    coalesce({condition_sql(rule)}, false) AS held
FROM (
{rule.sql()}
) AS tested
WHERE system = {expressions.literal(system)} AND coalesce(subject, '') = {expressions.literal(subject)}
    AND interval_end IS NOT NULL
ORDER BY interval_end
"""


def _around(rule: Rule, table: str, column: str, system: str, unit: str) -> str:
    """Return SQL of the column that shows what was before and after the events of a rule."""
    limit = rule.threshold.get("T") if rule.unit == unit else None
    return f"""
SELECT interval_end, CAST({column} AS DOUBLE) AS value,
    CAST({"NULL" if limit is None else limit} AS DOUBLE) AS threshold, false AS held
FROM {table}
WHERE system = {expressions.literal(system)} AND flag IS NULL
ORDER BY interval_end
"""
