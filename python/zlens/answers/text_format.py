"""An answer as readable text: figures, tables with units in their headings, bars, assumptions and notes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from textwrap import wrap

from zlens.answers.answer import Answer, AnswerColumn, AnswerTable, Value
from zlens.rendering.charts import Chart
from zlens.rendering.text_tables import line

#: Width of the longest bar.
_BAR = 40
#: A longer text is a sentence, and lines of sentences have this width.
_SENTENCE_WIDTH, _WIDTH = 80, 110
#: A chart with more rows is too long to read at a glance.
_MOST_BARS = 40


def render(answer: Answer) -> str:
    lines = [answer.title, ""]
    for figure in answer.figures:
        value = format_value(figure.value, figure.decimals)
        lines.append(f"{figure.text}: {value}{' ' * bool(figure.unit)}{figure.unit}")
    if answer.figures:
        lines.append("")
    for table in answer.tables:
        lines += [*_table(table), ""]
    for chart in answer.charts:
        lines += _bars(chart)
    if answer.assumptions:
        lines.append("Assumed, because the scenario leaves it out and no public text settles it:")
        lines += [
            f"  {assumption.name} = {assumption.value}{' ' * bool(assumption.unit)}{assumption.unit} "
            f"({assumption.status}): {assumption.text}"
            for assumption in answer.assumptions
        ]
        lines.append("")
    lines += [f"Note: {note}" for note in answer.notes]
    return "\n".join(lines).rstrip() + "\n"


def format_value(value: Value, decimals: int) -> str:
    """The value as a table shows it; dots where it cannot be computed."""
    if value is None:
        return "...."
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        # Adding 0.0 turns -0.0 into 0.0.
        return f"{round(value, decimals) + 0.0:,.{decimals}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(table: AnswerTable) -> Iterator[str]:
    if table.title:
        yield table.title
    heads = [(column.heading, f"({column.unit})" if column.unit else "") for column in table.columns]
    cells = [
        [format_value(row[at], column.decimals) for row in table.rows]
        for at, column in enumerate(table.columns)
    ]
    longest = [max(map(len, column), default=0) for column in cells]
    # Sentences stand below their row: beside it, nobody sees where a line goes on.
    below = [at for at, length in enumerate(longest) if length > _SENTENCE_WIDTH]
    beside = [at for at in range(len(cells)) if at not in below]
    widths = [max(longest[at], *map(len, heads[at])) for at in beside]
    left = [_is_text(table.columns[at], table, at) for at in beside]
    for part in (0, 1) if any(heads[at][1] for at in beside) else (0,):
        yield line([heads[at][part] for at in beside], widths, left)
    yield "  ".join("-" * width for width in widths)
    for row in range(len(table.rows)):
        yield line([cells[at][row] for at in beside], widths, left)
        for at in below:
            text = f"{heads[at][0]}: {cells[at][row]}"
            # A path stays whole, to be copied.
            yield from wrap(
                text,
                _WIDTH,
                initial_indent=" " * 4,
                subsequent_indent=" " * 6,
                break_long_words=False,
                break_on_hyphens=False,
            )


def _is_text(column: AnswerColumn, table: AnswerTable, at: int) -> bool:
    return not column.unit and any(isinstance(row[at], str) for row in table.rows)


def _bars(chart: Chart) -> Iterator[str]:
    """Bar charts only; line charts need a page."""
    values = [value for series in chart.series for value in series.values if value is not None]
    if chart.kind != "bars" or not values or len(chart.places) > _MOST_BARS or min(values) < 0:
        return
    top = max(values) or 1.0
    # At least three digits of the longest bar, so that 0.026 s is not printed as 0.0, nor half pages.
    decimals = max(int(top < 10_000), 2 - math.floor(math.log10(top)))
    name = max(len(str(place)) for place in chart.places)
    kind = max(len(series.name) for series in chart.series)
    yield f"{chart.title} ({chart.unit})" if chart.unit else chart.title
    for at, place in enumerate(chart.places):
        for n, series in enumerate(chart.series):
            value = series.values[at]
            bar = "" if value is None else "#" * round(_BAR * value / top)
            label = str(place) if n == 0 else ""
            number = format_value(value, decimals)
            yield f"  {label:<{name}}  {series.name:<{kind}}  {bar:<{_BAR}} {number}".rstrip()
    yield ""
