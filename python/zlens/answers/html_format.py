"""An answer as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from zlens.answers.answer import Answer, AnswerTable
from zlens.answers.text_format import format_value
from zlens.rendering import charts
from zlens.rendering.html import page

_STYLE = "th small { display: block; font-weight: normal; color: GrayText; }\n"


def render(answer: Answer) -> str:
    parts: list[str] = []
    if answer.figures:
        lines = (
            f"<tr><td class=t>{escape(figure.text)}</td><td>{format_value(figure.value, figure.decimals)} "
            f"{escape(figure.unit)}</td></tr>"
            for figure in answer.figures
        )
        parts.append(f"<table>{''.join(lines)}</table>")
    for chart in answer.charts:
        parts += [f"<h2>{escape(chart.title)}</h2>", charts.svg(chart)]
    for one in answer.tables:
        parts += drawn(one)
    if answer.assumptions:
        parts.append("<h2>Assumed</h2><ul>")
        parts += [
            f"<li><b>{escape(assumption.name)}</b> = {escape(str(assumption.value))} "
            f"{escape(assumption.unit)} ({escape(assumption.status)}): {escape(assumption.text)}. "
            f"{escape(assumption.source)}</li>"
            for assumption in answer.assumptions
        ]
        parts.append("</ul>")
    parts += [f"<p>{escape(note)}</p>" for note in answer.notes]
    parts.insert(0, f"<h1>{escape(answer.title)}</h1>")
    return page(answer.title, "\n".join(parts), _STYLE)


def drawn(table: AnswerTable) -> Iterator[str]:
    texts = [
        not column.unit and any(isinstance(row[at], str) for row in table.rows)
        for at, column in enumerate(table.columns)
    ]
    if table.title:
        yield f"<h2>{escape(table.title)}</h2>"
    yield "<div class=wide><table><thead><tr>"
    for column, text in zip(table.columns, texts, strict=True):
        unit = f"<small>{escape(column.unit)}</small>" if column.unit else ""
        hint = f' title="{escape(column.text)}"' if column.text else ""
        yield f"<th{' class=t' * text}{hint}>{escape(column.heading)}{unit}</th>"
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = (
            f"<td class={'m' if value is None else 't' if text else 'n'}>"
            f"{escape(format_value(value, column.decimals))}</td>"
            for value, column, text in zip(row, table.columns, texts, strict=True)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
