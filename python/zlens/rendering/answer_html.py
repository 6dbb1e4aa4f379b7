"""Answers as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from zlens.rendering import charts
from zlens.rendering.answer import Answer, AnswerEntry, AnswerTable
from zlens.rendering.answer_text import format_value
from zlens.rendering.charts import Chart, ChartSeries
from zlens.rendering.html import page

STYLE = """\
th small { display: block; font-weight: normal; color: GrayText; }
th[scope=rowgroup] { text-align: left; padding-top: .8rem; }
figure { margin: 0 0 1.5rem; max-width: 760px; }
figcaption { font-weight: 600; }
.entry { border-left: .3rem solid GrayText; padding: .1rem 1rem; margin: 1rem 0; }
div.crit { border-color: #c00; }
div.warn { border-color: #c80; }
.entry h2 { font-size: 1.05rem; margin: .2rem 0; }
.entry h2 small { color: GrayText; font-weight: normal; }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .1rem .5rem; margin: .3rem 0; }
dt { color: GrayText; grid-column: 1; }
dd { margin: 0; grid-column: 2; }
"""


def render(*answers: Answer) -> str:
    title = "; ".join(answer.title for answer in answers)
    return page(title, "\n".join(part for answer in answers for part in body(answer)), STYLE)


def body(answer: Answer) -> Iterator[str]:
    """Return the HTML parts of an answer."""
    yield f"<h1>{escape(answer.title)}</h1>"
    yield from (f"<p>{escape(text)}</p>" for text in answer.lead)
    for entry in answer.entries:
        yield from _entry(entry)
    for section in answer.lists:
        yield f"<h2>{escape(section.title)}</h2>"
        if section.lines:
            yield f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in section.lines)}</ul>"
    if answer.figures:
        lines = (
            f"<tr><td class=t>{escape(figure.text)}</td><td>{format_value(figure.value, figure.decimals)} "
            f"{escape(figure.unit)}</td></tr>"
            for figure in answer.figures
        )
        yield f"<table>{''.join(lines)}</table>"
    for chart in answer.charts:
        # A chart without a value has no drawing.
        if drawing := charts.svg(chart):
            yield f"<figure><figcaption>{escape(chart.title)}</figcaption>{drawing}</figure>"
    for table in answer.tables:
        yield from _table(table)
    if answer.assumptions:
        yield "<h2>Assumed</h2><ul>"
        for assumption in answer.assumptions:
            yield (
                f"<li><b>{escape(assumption.name)}</b> = {escape(str(assumption.value))} "
                f"{escape(assumption.unit)} ({escape(assumption.status)}): {escape(assumption.text)}. "
                f"{escape(assumption.source)}</li>"
            )
        yield "</ul>"
    yield from (f"<p>{escape(note)}</p>" for note in answer.notes)


def _entry(entry: AnswerEntry) -> Iterator[str]:
    yield f"<div class='entry {escape(entry.kind)}'>"
    if entry.title:
        yield f"<h2>{escape(entry.title)} <small>{escape(entry.aside)}</small></h2>"
    facts = (
        f"<dt>{escape(label)}</dt>" * bool(label) + f"<dd>{escape(text)}</dd>"
        for label, text in entry.facts
        if text
    )
    yield f"<dl>{''.join(facts)}</dl></div>"


def _table(table: AnswerTable) -> Iterator[str]:
    texts = [table.is_text(index) for index in range(len(table.columns))]
    if table.title:
        yield f"<h2>{escape(table.title)}</h2>"
    if table.bars:
        bars = [(str(row[0]), bar) for row, bar in zip(table.rows, table.bars, strict=True)]
        names, values = zip(*(bar for bar in bars if bar[1] is not None), strict=True)
        unit = table.columns[1].unit
        yield charts.svg(Chart(table.title, "bars", names, (ChartSeries("change", values),), unit))
    yield "<div class=wide><table><thead><tr>"
    for column, text in zip(table.columns, texts, strict=True):
        unit = f"<small>{escape(column.unit)}</small>" if column.unit else ""
        hint = f' title="{escape(column.text)}"' if column.text else ""
        yield f"<th{' class=t' * text}{hint}>{escape(column.heading)}{unit}</th>"
    yield "</tr></thead><tbody>"
    group = ""
    for index, row in enumerate(table.rows):
        if table.groups and table.groups[index] != group:
            group = table.groups[index]
            yield f"<tr><th scope=rowgroup colspan={len(row)}>{escape(group)}</th></tr>"
        indents = [table.depths[index] if table.depths else 0, *[0] * (len(row) - 1)]
        cells = (
            f"<td class={'m' if value is None else 't' if text else 'n'}"
            f"{f' style=padding-left:{depth + 0.5}em' if depth else ''}>"
            f"{escape(format_value(value, column.decimals))}</td>"
            for value, column, text, depth in zip(row, table.columns, texts, indents, strict=True)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
