"""Answers as readable text: entries, figures, tables with units in their headings, bars and notes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from zlens.rendering.answer import Answer, AnswerEntry, AnswerTable, Value
from zlens.rendering.charts import Chart
from zlens.rendering.text_lines import WIDTH, line, with_unit, wrap_hanging
from zlens.schema.plain_text import replace_controls

#: Width of the longest bar.
_BAR = 40
#: Width of the longest bar of a table.
_TABLE_BAR = 30
#: Texts longer than the first width are sentences; their lines have the second width.
_SENTENCE_WIDTH, _WIDTH = 80, 110
#: Maximum number of rows of a bar chart; more cannot be read at a glance.
_MOST_BARS = 40


def render(*answers: Answer) -> str:
    return "\n".join(
        "\n".join(replace_controls(line.rstrip()) for line in _lines(answer)).rstrip() + "\n"
        for answer in answers
    )


def _lines(answer: Answer) -> list[str]:
    lines = [answer.title, *(() if answer.entries else ("",)), *answer.lead]
    if answer.entries:
        lines.append("_" * WIDTH)
    for entry in answer.entries:
        lines += ["", *_entry(entry)]
    if answer.lead:
        lines.append("")
    for section in answer.lists:
        lines.append(f"{section.title}:" if section.lines else section.title)
        lines += [*(f"  {text}" for text in section.lines), ""]
    for figure in answer.figures:
        value = format_value(figure.value, figure.decimals)
        lines.append(f"{figure.text}: {with_unit(value, figure.unit)}")
    if answer.figures:
        lines.append("")
    for table in answer.tables:
        lines += [*_table(table), ""]
    for chart in answer.charts:
        lines += _bars(chart)
    if answer.assumptions:
        lines.append("Assumed, because the scenario leaves it out and no public text settles it:")
        lines += [
            f"  {assumption.name} = {with_unit(str(assumption.value), assumption.unit)} "
            f"({assumption.status}): {assumption.text}"
            for assumption in answer.assumptions
        ]
        lines.append("")
    lines += [f"Note: {note}" for note in answer.notes]
    return lines


def _entry(entry: AnswerEntry) -> Iterator[str]:
    """Separate an entry without a title by a line."""
    if entry.title:
        yield f"{entry.title}{entry.aside:>{max(WIDTH - len(entry.title), len(entry.aside) + 2)}}"
    else:
        yield "_" * WIDTH
    margin = max(10, *(len(label) + 2 for label, _ in entry.facts)) if entry.facts else 0
    for label, text in entry.facts:
        yield from wrap_hanging(label.ljust(margin) if entry.title or label else "", text)


def format_value(value: Value, decimals: int) -> str:
    """Format a value for a table; dots if it cannot be computed."""
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
    headings = [column.heading.split("\n") for column in table.columns]
    depth = max(map(len, headings), default=1)
    headings = [[""] * (depth - len(heading)) + heading for heading in headings]
    if any(column.unit for column in table.columns):
        for heading, column in zip(headings, table.columns, strict=True):
            heading.append(f"({column.unit})" if column.unit else "")
    cells = [
        [format_value(row[index], column.decimals) for row in table.rows]
        for index, column in enumerate(table.columns)
    ]
    if table.groups:
        cells[0] = [f"  {cell}" for cell in cells[0]]
    if table.depths:
        cells[0] = ["  " * depth + cell for depth, cell in zip(table.depths, cells[0], strict=True)]
    longest = [max(map(len, column), default=0) for column in cells]
    # Sentences are printed below their row, because wrapped lines next to other cells are hard to follow.
    below = [index for index, length in enumerate(longest) if length > _SENTENCE_WIDTH]
    in_row = [index for index in range(len(cells)) if index not in below]
    widths = [max(longest[index], *map(len, headings[index])) for index in in_row]
    left = [table.is_text(index) for index in in_row]
    bars = _row_bars(table.bars)
    for part in zip(*(headings[index] for index in in_row), strict=True):
        yield line(part, widths, left)
    yield "  ".join("-" * width for width in widths)
    for row in range(len(table.rows)):
        if table.groups and table.groups[row] not in table.groups[max(row - 1, 0) : row]:
            yield table.groups[row]
        yield line([cells[index][row] for index in in_row], widths, left) + (f"  {bars[row]}" if bars else "")
        for index in below:
            # Paths are not broken, so that they can be copied.
            text = f"{' '.join(headings[index][:depth]).strip()}: {cells[index][row]}"
            yield from wrap_hanging(" " * 4, text, width=_WIDTH, indent=6)


def _row_bars(values: Sequence[float | None]) -> list[str]:
    """Return a bar of + or - for each value, the longest for the largest."""
    numbers = [value or 0.0 for value in values]
    largest = max(map(abs, numbers), default=0.0) or 1.0
    return [("+" if x > 0 else "-") * round(_TABLE_BAR * abs(x) / largest) for x in numbers]


def _bars(chart: Chart) -> Iterator[str]:
    """Return bar charts only; line charts need HTML."""
    values = [value for series in chart.series for value in series.values if value is not None]
    if chart.kind != "bars" or not values or len(chart.places) > _MOST_BARS or min(values) < 0:
        return
    top = max(values) or 1.0
    # At least three digits for the longest bar, so that 0.026 s is not printed as 0.0.
    decimals = max(int(top < 10_000), 2 - math.floor(math.log10(top)))
    name = max(len(str(place)) for place in chart.places)
    kind = max(len(series.name) for series in chart.series)
    yield f"{chart.title} ({chart.unit})" if chart.unit else chart.title
    for index, place in enumerate(chart.places):
        for n, series in enumerate(chart.series):
            value = series.values[index]
            bar = "" if value is None else "#" * round(_BAR * value / top)
            label = str(place) if n == 0 else ""
            number = format_value(value, decimals)
            yield f"  {label:<{name}}  {series.name:<{kind}}  {bar:<{_BAR}} {number}".rstrip()
    yield ""
