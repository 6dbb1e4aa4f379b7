"""Reports as one self-contained HTML file: a click on a heading sorts, all text is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING

from zlens._native import Lines
from zlens.catalog.reports.definition import (
    TIME_HEADING,
    ReportColumn,
    ReportDefinition,
    ReportTable,
    group_spans,
)
from zlens.rendering.html import page
from zlens.reports import column_facts, style
from zlens.reports.header import footnotes, header
from zlens.reports.rows import Block, Part, RowSection, fetch, offset_us, rows_in_order
from zlens.reports.text_format import NARROWEST, is_left_blank, local

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

_STYLE = """\
body { font: 14px/1.4 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; max-width: none; }
pre { margin: 0 0 1rem; overflow-x: auto; }
div { overflow-x: auto; margin-bottom: 1rem; }
table { margin-bottom: 0; }
th, td { padding: .1rem .5rem; text-align: left; }
th { position: sticky; top: 0; background: Canvas; border: none; cursor: pointer; }
th[colspan] { text-align: center; cursor: auto; border-bottom: 1px solid GrayText; }
th[aria-sort=ascending]::after { content: " \\2191"; }
th[aria-sort=descending]::after { content: " \\2193"; }
.r { text-align: right; }
.plain tr > :first-child { display: none; }
tbody { border-top: 1px solid GrayText; }
tr:hover td { background: color-mix(in srgb, Highlight 15%, Canvas); }
"""

#: Placeholder of the body, where the document is split.
_BODY = "\0"

# Rows are sorted within their body: means stay above interval rows.
_SCRIPT = """"use strict";
for (const head of document.querySelectorAll("th[data-i]")) {
  const sort = () => {
    const i = Number(head.dataset.i);
    const up = head.getAttribute("aria-sort") !== "ascending";
    const table = head.closest("table");
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => {
      const cell = row.cells[i];
      if (cell.classList.contains("m")) return null;
      const text = cell.dataset.v ?? cell.textContent;
      return head.dataset.n !== undefined && text !== "" && !isNaN(text) ? Number(text) : text;
    };
    const compare = (a, b) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const numbers = typeof a === "number" && typeof b === "number";
      const order = numbers ? a - b : String(a).localeCompare(String(b));
      return up ? order : -order;
    };
    for (const body of table.tBodies) {
      const rows = [...body.rows].map((row) => [value(row), row]);
      rows.sort((a, b) => compare(a[0], b[0]));
      for (const pair of rows) body.append(pair[1]);
    }
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
  });
}
"""


def chunks(definition: ReportDefinition, session: CoreSession, *, now: datetime) -> Iterator[str]:
    blocks = fetch(definition, session)
    title = " ".join(part for part in (definition.number, definition.title) if part)
    before_body, after_body = page(title, _BODY, _STYLE, _SCRIPT).split(_BODY)
    yield before_body
    for block in blocks:
        yield from _block(definition, block, session, now)
    if not blocks:
        yield f"<p>No system in this input. {escape(definition.needs)}</p>\n"
    yield after_body


def _block(definition: ReportDefinition, block: Block, session: CoreSession, now: datetime) -> Iterator[str]:
    heading = "\n".join(
        line.rstrip() for line in header(definition, block, local(block, session), now, NARROWEST)
    )
    yield f"<section>\n<pre>{escape(heading)}</pre>\n"
    if block.empty:
        yield f"<p>This input has no data for this report. It needs: {escape(definition.needs)}</p>\n"
    offset = offset_us(block, session)
    for table, parts in block.shown:
        yield from _table(table, parts, offset)
    foot = "".join(f"<li>{escape(note)}</li>" for note in footnotes(definition, block, session))
    yield f"<ul>{foot}</ul>\n" if foot else "\n"
    yield "</section>\n"


def _table(table: ReportTable, parts: list[Part], offset: int) -> Iterator[str]:
    lines = [f"<h2>{escape(table.title)}</h2>"] if table.title else []
    # Rows that are all of one kind need no column that names it.
    plain = ' class="plain"' if not table.time and all(rows.kind == "row" for rows in table.rows) else ""
    lines += [f"<div><table{plain}>", "<thead>"]
    leading = 2 if table.time else 1
    if table.groups:
        cells = ["<td></td>"] * leading
        next_free = 0
        for key, first, last in group_spans(table.columns):
            cells += ["<td></td>"] * (first - next_free)
            cells.append(f'<th colspan="{last - first + 1}">{escape(table.groups[key])}</th>')
            next_free = last + 1
        lines.append(f"<tr>{''.join(cells)}</tr>")
    headings = ['<th data-i="0" tabindex="0">Row</th>']
    if table.time:
        headings.append(f'<th data-i="1" tabindex="0">{" ".join(TIME_HEADING)}</th>')
    for index, column in enumerate(table.columns):
        name = "<br>".join(escape(line.strip()) for line in column.heading if line.strip()) or escape(
            column.name
        )
        unit = column_facts.unit(column)
        title = escape(column_facts.text(column) + (f" ({unit})" if unit else ""))
        numeric = ' class="r" data-n' if column.type in ("number", "id") else ""
        headings.append(f'<th data-i="{index + leading}"{numeric} tabindex="0" title="{title}">{name}</th>')
    lines += [f"<tr>{''.join(headings)}</tr>", "</thead>"]
    yield "\n".join(lines) + "\n"
    for part in parts:
        yield "<tbody>\n"
        yield from _rows(table, part, offset)
        yield "</tbody>\n"
    yield "</table></div>\n"


def _rows(table: ReportTable, part: Part, offset: int) -> Iterator[str]:
    fixed: list[list[str | None]] = []
    empty = []
    for section in part:
        cells = section.rows.cells
        fixed.append(
            [
                f"<td>{escape(cells[column.key])}</td>" if column.key in cells else None
                for column in table.columns
            ]
        )
        empty.append([_empty(section, column) for column in table.columns])
    return Lines.html(
        rows_in_order(part),
        [(column.align == "right", column.type in ("number", "id")) for column in table.columns],
        [
            escape((section.rows.time_label if table.time else section.rows.label) or section.rows.kind)
            for section in part
        ],
        fixed,
        empty,
        timed=bool(table.time),
        offset_us=offset,
    )


def _empty(section: RowSection, column: ReportColumn) -> str:
    dots = "" if is_left_blank(section, column) else style.dots(column.width)
    return f'<td class="m{" r" if column.align == "right" else ""}">{dots}</td>'
