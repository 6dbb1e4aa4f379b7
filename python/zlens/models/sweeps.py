"""Sweeps: one scenario solved for many values of a key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zlens import models
from zlens.engine.cancellation import report_progress
from zlens.errors import ScenarioError
from zlens.models.scenario import set_value, sweep_values
from zlens.rendering.answer import Answer, AnswerColumn, AnswerFigure, AnswerTable, Assumption, Value
from zlens.rendering.charts import Chart, ChartSeries
from zlens.schema.wording import phrase

#: Maximum number of rows of an answer that a sweep follows: more are unreadable.
MOST_FOLLOWED = 20


def solve(model: str, scenario: Mapping[str, Any], sweep: str, *, file: str | None = None) -> Answer:
    """Return the answer of a model for each value of `KEY=START:STOP[:STEP]`, one row per value."""
    path, equals, texts = sweep.partition("=")
    if not equals:
        message, expected = f"{sweep} is not a key with a range", "KEY=START:STOP[:STEP]"
        raise ScenarioError(message, expected=expected, cure="write virtual_cpus=1:8")
    values = list(sweep_values(texts))
    results: list[dict[str, AnswerFigure]] = []
    assumed: dict[str, Assumption] = {}
    notes: dict[str, None] = {}
    for index, value in enumerate(values):
        report_progress(index, len(values), f"{path} = {value}")
        answer = models.solve(model, set_value(dict(scenario), path, value), file=file)
        results.append({figure.key: figure for figure in (*answer.figures, *_row_figures(answer))})
        assumed.update((assumption.name, assumption) for assumption in answer.assumptions)
        notes.update(dict.fromkeys(answer.notes))
    figure_by_key = {key: figure for result in results for key, figure in result.items()}
    if not figure_by_key:
        message = f"{model} has no number to show for each value"
        raise ScenarioError(message, file=file, cure=phrase("no_sweep"))
    kinds = figure_by_key.values()
    columns = (
        AnswerColumn("value", path, text="value of the key", decimals=3),
        *(AnswerColumn(kind.key, kind.text, kind.unit, decimals=kind.decimals) for kind in kinds),
    )
    lines = {
        key: [result[key].value if key in result else None for result in results] for key in figure_by_key
    }
    rows: list[tuple[Value, ...]] = list(zip(values, *lines.values(), strict=True))
    axis = [float(value) for value in values]
    charts = []
    for unit in dict.fromkeys(kind.unit for kind in kinds):
        series = tuple(ChartSeries(kind.text, lines[kind.key]) for kind in kinds if kind.unit == unit)
        charts.append(Chart(f"By {path}", "lines", axis, series, unit, path))
    title = f"{scenario.get('title') or model}: {path} from {values[0]} to {values[-1]}"
    table = AnswerTable("sweep", "", columns, rows)
    return Answer(model, title, [table], [], charts, list(notes), list(assumed.values()))


def _row_figures(answer: Answer) -> Iterator[AnswerFigure]:
    """Yield one column of an answer's table as figures, named after its rows."""
    if answer.follow is None:
        return
    key, name = answer.follow
    table = answer.table(key)
    column = next(column for column in table.columns if column.key == name)
    for label, value in list(zip(table.labels(), table.column(name), strict=True))[:MOST_FOLLOWED]:
        number = None if value is None else float(value)
        text = f"{label} {column.heading.lower()}"
        yield AnswerFigure(f"{name}_{label}", number, column.unit, text, column.decimals)
