"""Reports as one HTML file: nothing is fetched, columns sort on a click, every text is escaped."""

from __future__ import annotations

from datetime import datetime
from html import escape

from zlens.reports import as_json, facts, style
from zlens.reports.as_text import NARROWEST, blank, local
from zlens.reports.definition import TIME_HEADING, Column, Definition, Table, group_spans
from zlens.reports.header import footnotes, header
from zlens.reports.rows import Block, Part, Section, Session, fetch, order

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.4 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; margin: 1.5rem; }}
pre {{ margin: 0 0 1rem; overflow-x: auto; }}
div {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .1rem .5rem; text-align: left; white-space: nowrap; }}
th {{ vertical-align: bottom; position: sticky; top: 0; background: Canvas; cursor: pointer; }}
th[colspan] {{ text-align: center; cursor: auto; border-bottom: 1px solid GrayText; }}
th[aria-sort=ascending]::after {{ content: " \\2191"; }}
th[aria-sort=descending]::after {{ content: " \\2193"; }}
.r {{ text-align: right; }}
.m {{ color: GrayText; }}
tbody {{ border-top: 1px solid GrayText; }}
tr:hover td {{ background: color-mix(in srgb, Highlight 15%, Canvas); }}
</style>
</head>
<body>
{body}<script>
{script}</script>
</body>
</html>
"""

# Rows are sorted within their body: means stay above the rows of the intervals.
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


def render(definition: Definition, session: Session, *, now: datetime) -> str:
    body: list[str] = []
    for block in fetch(definition, session):
        body += _block(definition, block, session, now)
    if not body:
        body = [f"<p>No system in this input. {escape(definition.needs)}</p>"]
    title = escape(" ".join(part for part in (definition.number, definition.title) if part))
    return _PAGE.format(title=title, body="\n".join(body) + "\n", script=_SCRIPT)


def _block(definition: Definition, block: Block, session: Session, now: datetime) -> list[str]:
    display = local(block, session)
    head = "\n".join(line.rstrip() for line in header(definition, block, display, now, NARROWEST))
    lines = ["<section>", f"<pre>{escape(head)}</pre>"]
    if block.empty:
        lines.append(f"<p>This input has nothing for this report. It needs: {escape(definition.needs)}</p>")
    else:
        for table, parts in block.shown:
            lines += _table(table, parts, display)
    foot = "".join(f"<li>{escape(note)}</li>" for note in footnotes(definition, block, session))
    return [*lines, f"<ul>{foot}</ul>" if foot else "", "</section>"]


def _table(table: Table, parts: list[Part], display: style.Display) -> list[str]:
    lines = [f"<h2>{escape(table.title)}</h2>"] if table.title else []
    lines += ["<div><table>", "<thead>"]
    before = 2 if table.time else 1
    if table.groups:
        cells = ["<td></td>"] * before
        next_free = 0
        for key, first, last in group_spans(table.columns):
            cells += ["<td></td>"] * (first - next_free)
            cells.append(f'<th colspan="{last - first + 1}">{escape(table.group(key).heading)}</th>')
            next_free = last + 1
        lines.append(f"<tr>{''.join(cells)}</tr>")
    heads = ['<th data-i="0" tabindex="0">Row</th>']
    if table.time:
        heads.append(f'<th data-i="1" tabindex="0">{" ".join(TIME_HEADING)}</th>')
    for i, column in enumerate(table.columns):
        name = "<br>".join(escape(line.strip()) for line in column.heading if line.strip()) or escape(
            column.name
        )
        unit = facts.unit(column)
        title = escape(facts.text(column) + (f" ({unit})" if unit else ""))
        numeric = ' class="r" data-n' if column.type in ("number", "id") else ""
        heads.append(f'<th data-i="{i + before}"{numeric} tabindex="0" title="{title}">{name}</th>')
    lines += [f"<tr>{''.join(heads)}</tr>", "</thead>"]
    for part in parts:
        bodies = {id(section): _cells(table, section, display) for section in part}
        lines.append("<tbody>")
        lines += [
            f"<tr>{_label(table, section, i, display)}{bodies[id(section)][i]}</tr>"
            for section, i in order(part)
        ]
        lines.append("</tbody>")
    lines.append("</table></div>")
    return lines


def _label(table: Table, section: Section, i: int, display: style.Display) -> str:
    flag = section.flags[i]
    label = section.rows.label or section.rows.kind
    cells = f"<td>{escape(f'{label} ({flag})' if flag else label)}</td>"
    if not table.time:
        return cells
    time = section.times[i]
    if time is None:
        return cells + '<td class="m"></td>'
    return f'{cells}<td data-v="{as_json.iso(time)}">{style.stamp(display(time))}</td>'


def _cells(table: Table, section: Section, display: style.Display) -> list[str]:
    columns = []
    for column, values in zip(table.columns, section.values, strict=True):
        if column.key in section.rows.cells:
            columns.append([f"<td>{escape(section.rows.cells[column.key])}</td>"] * len(section))
            continue
        texts = style.cells(values, column, display)
        right = column.align == "right"
        dots = "" if blank(section, column) else style.dots(column.width)
        empty = f'<td class="m{" r" if right else ""}">{dots}</td>'
        columns.append(
            [
                empty if text is None else _cell(value, text, column, right)
                for value, text in zip(values, texts, strict=True)
            ]
        )
    return ["".join(cells) for cells in zip(*columns, strict=True)]


def _cell(value: style.Value, text: str, column: Column, right: bool) -> str:
    exact = ""
    if column.type in ("number", "id") and isinstance(value, (int, float)) and text != str(value):
        exact = f' data-v="{value!r}"'
    elif isinstance(value, datetime):
        exact = f' data-v="{as_json.iso(value)}"'
    place = ' class="r"' if right else ""
    return f"<td{place}{exact}>{escape(text)}</td>"
