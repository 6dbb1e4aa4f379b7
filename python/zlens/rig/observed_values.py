"""What a run's monitor data say, by the measures of the catalog."""

from __future__ import annotations

from collections.abc import Sequence

from zlens.catalog import aggregation, measures
from zlens.catalog.aggregation import MeasureQuery
from zlens.catalog.expressions import literal, quote
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import Options
from zlens.rig.definition import Observation
from zlens.session.session import CoreSession

#: Values of one run by observation and subject.
Values = dict[str, dict[str, float | None]]
#: More subjects than anybody compares.
_MOST = 10_000


def observed_values(
    files: Sequence[str], throughput: str | None, observations: Sequence[Observation]
) -> Values:
    """The observed values of a run's files."""
    with CoreSession(list(files), Options(throughput=throughput)) as session:
        queries = [one.sql or observation_sql(one) for one in observations]
        session.prepare_queries(queries)
        return {one.name: _rows(session, sql, one) for one, sql in zip(observations, queries, strict=True)}


def observation_sql(one: Observation) -> str:
    """SQL of subject and value: the column averaged as the catalog declares."""
    return _query(one, [])


def series_sql(one: Observation) -> str | None:
    """SQL of end of interval, subject and value, scaled; None for an observation with SQL of its own."""
    if one.sql is not None:
        return None
    rows = _query(one, ["interval_end"])
    return f"SELECT interval_end, subject, value * {one.scale!r} FROM ({rows}) ORDER BY 1, 2"


def _query(one: Observation, before: list[str]) -> str:
    assert one.measure is not None
    assert one.column is not None
    table = measures.load_measure(one.measure)
    column = table.column(one.column)
    assert column is not None
    conditions = [f"{quote(name)} = {literal(value)}" for name, value in one.where.items()]
    question = MeasureQuery(
        table,
        [(column, [one.statistic])],
        quote(table.name),
        [*before, *([one.by] if one.by else [])],
        aggregation.pinned_columns(table, one.where),
        " AND ".join(conditions) or "true",
    )
    subject = f"{quote(one.by)}::VARCHAR" if one.by else "''"
    columns = [*before, f"{subject} AS subject", f"{quote(question.names()[0])} AS value"]
    return f"SELECT {', '.join(columns)} FROM ({question.sql()})"


def _rows(session: CoreSession, sql: str, one: Observation) -> dict[str, float | None]:
    rows = session.sql(f"SELECT * FROM ({sql}) LIMIT {_MOST}").rows
    found: dict[str, float | None] = {}
    for row in rows:
        if len(row) != 2 or not isinstance(row[1], int | float | None):
            raise QueryError(f"the query of {one.name} gives {row}", expected="a subject and a number")
        subject = "" if row[0] is None else str(row[0]).rstrip()
        if subject in found:
            raise ScenarioError(
                f"{one.name} has several values of {subject or 'its only subject'}",
                cure="limit it by where, or name its system",
            )
        found[subject] = None if row[1] is None else float(row[1]) * one.scale
    return found
