"""Findings as CSV, JSON and one HTML page: every finding, with all that is known of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from html import escape

from zlens.findings.evaluate import Findings
from zlens.findings.finding import Finding, amount

_COLUMNS = (
    "rule", "severity", "class", "kind", "area", "title", "system", "data", "subject", "value", "unit",
    "threshold", "limit", "detail", "from", "to", "worst", "intervals", "tested", "mean", "baseline",
    "condition", "meaning", "action", "source", "guard", "disagrees",
)  # fmt: skip

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Findings</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem; max-width: 70rem; }}
section {{ border-left: .3rem solid GrayText; padding: .1rem 1rem; margin: 1rem 0; }}
section.crit {{ border-color: #c00; }}
section.warn {{ border-color: #c80; }}
h2 {{ font-size: 1.05rem; margin: .2rem 0; }}
h2 small {{ color: GrayText; font-weight: normal; }}
dl {{ display: grid; grid-template-columns: 6rem 1fr; gap: .1rem .5rem; margin: .3rem 0; }}
dt {{ color: GrayText; }}
dd {{ margin: 0; }}
</style>
</head>
<body>
<h1>Findings</h1>
{body}
</body>
</html>
"""


def to_csv(findings: Findings) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for each in findings.rows:
        row = each.row()
        writer.writerow([_cell(row[name]) for name in _COLUMNS])
    return out.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, list):
        return " | ".join(value)
    return repr(value) if isinstance(value, float) else value


def to_json(findings: Findings) -> str:
    lines = [json.dumps(each.row(), ensure_ascii=False, allow_nan=False) for each in findings.rows]
    return "[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n"


def to_html(findings: Findings) -> str:
    sections = [_section(each) for each in findings.rows] or ["<p>Nothing found.</p>"]
    held = (
        f"<p>{len(findings.asked)} rules held against this input; {len(findings.missing)} not computable.</p>"
    )
    return _PAGE.format(body="\n".join([held, *sections]))


def _section(each: Finding) -> str:
    row = each.row()
    value = amount(each.value, each.rule.unit)
    found = f"{value} against {each.limit}" if value and each.limit else value or each.limit
    if each.detail:
        found = f"{found}; {each.detail}" if found else each.detail
    when = f"{row['from']} to {row['to']}, {each.held:,} of {each.tested:,} intervals" if each.first else ""
    facts = [
        ("On", " ".join(filter(None, (each.system, each.subject)))),
        ("Found", found),
        ("When", when),
        ("Means", each.rule.meaning),
        ("Action", each.rule.action),
        ("Caution", each.rule.guard),
        *(("But", other) for other in each.others),
        ("Source", each.rule.source),
    ]
    listed = "".join(f"<dt>{head}</dt><dd>{escape(fact)}</dd>" for head, fact in facts if fact)
    title = f"{escape(each.rule.id)} {escape(each.rule.title)}"
    note = f"<small>{each.severity}, class {escape(each.rule.threshold_class)}</small>"
    return f'<section class="{each.severity}"><h2>{title} {note}</h2><dl>{listed}</dl></section>'


RENDER: dict[str, Callable[[Findings], str]] = {"csv": to_csv, "json": to_json, "html": to_html}
