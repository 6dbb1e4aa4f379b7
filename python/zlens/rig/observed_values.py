"""Values observed in a run's monitor data, by the measures of the catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zlens.catalog import aggregation, measures
from zlens.catalog.expressions import literal, quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import Options
from zlens.rig.definition import Observation
from zlens.session.session import CoreSession

if TYPE_CHECKING:
    from zlens.engine.results import QueryResult

#: Values of one run by observation and subject.
Values = dict[str, dict[str, float | None]]
#: Maximum number of subjects.
_MOST = 10_000


def observed_values(
    files: Sequence[str], throughput: str | None, observations: Sequence[Observation]
) -> Values:
    """Return the observed values of a run's files."""
    with CoreSession(list(files), Options(throughput=throughput)) as session:
        queries = [
            f"SELECT * FROM ({observation.sql or _query(observation, [])}) LIMIT {_MOST}"
            for observation in observations
        ]
        return {
            observation.name: _rows(result, observation)
            for observation, result in zip(observations, session.answers(queries), strict=True)
        }


def series_sql(observation: Observation) -> str | None:
    """Return SQL of interval end, subject and value, scaled; None for an observation with its own SQL."""
    if observation.sql is not None:
        return None
    rows = _query(observation, ["interval_end"])
    return f"SELECT interval_end, subject, value * {observation.scale!r} FROM ({rows}) ORDER BY 1, 2"


def _query(observation: Observation, leading: list[str]) -> str:
    assert observation.measure is not None
    assert observation.column is not None
    table = measures.load_measure(observation.measure)
    column = table.column(observation.column)
    assert column is not None
    conditions = [f"{quote(name)} = {literal(value)}" for name, value in observation.where.items()]
    query = MeasureQuery(
        table,
        [(column, [observation.statistic])],
        quote(table.name),
        [*leading, *([observation.by] if observation.by else [])],
        aggregation.pinned_columns(table, observation.where),
        " AND ".join(conditions) or "true",
    )
    subject = f"{quote(observation.by)}::VARCHAR" if observation.by else "''"
    columns = [*leading, f"{subject} AS subject", f"{quote(query.names()[0])} AS value"]
    return f"SELECT {', '.join(columns)} FROM ({query.sql()})"


def _rows(result: QueryResult, observation: Observation) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for row in result.rows:
        if len(row) != 2 or not isinstance(row[1], int | float | None):
            message = f"the query of {observation.name} returns {row}"
            raise QueryError(message, expected="a subject and a number")
        subject = "" if row[0] is None else str(row[0]).rstrip()
        if subject in values:
            message = f"{observation.name} has several values of {subject or 'its only subject'}"
            raise ScenarioError(message, cure="limit it by where, or name its system")
        values[subject] = None if row[1] is None else float(row[1]) * observation.scale
    return values
