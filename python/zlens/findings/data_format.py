"""Findings as CSV, JSON and one HTML page, with all details."""

from __future__ import annotations

import io
from collections.abc import Callable
from html import escape

from zlens.findings.evaluate import FindingsResult
from zlens.findings.finding import Finding, format_amount
from zlens.rendering import rows as present
from zlens.rendering.html import page

_COLUMNS = (
    "rule", "severity", "class", "kind", "area", "title", "system", "data", "subject", "value", "unit",
    "threshold", "limit", "detail", "from", "to", "worst", "intervals", "tested", "mean", "baseline",
    "condition", "meaning", "action", "source", "guard", "disagrees",
)  # fmt: skip

_STYLE = """\
section { border-left: .3rem solid GrayText; padding: .1rem 1rem; margin: 1rem 0; }
section.crit { border-color: #c00; }
section.warn { border-color: #c80; }
h2 { font-size: 1.05rem; margin: .2rem 0; }
h2 small { color: GrayText; font-weight: normal; }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .1rem .5rem; margin: .3rem 0; }
dt { color: GrayText; }
dd { margin: 0; }
"""


def to_csv(findings: FindingsResult) -> str:
    out = io.StringIO()
    rows = ([_cell(row[name]) for name in _COLUMNS] for row in map(Finding.to_row, findings.rows))
    present.write_csv(out, _COLUMNS, [*rows])
    return out.getvalue()


def _cell(value: object) -> object:
    return " | ".join(value) or None if isinstance(value, list) else value


def to_json(findings: FindingsResult) -> str:
    out = io.StringIO()
    present.write_objects(out, map(Finding.to_row, findings.rows))
    return out.getvalue()


def to_html(findings: FindingsResult) -> str:
    sections = [_section(finding) for finding in findings.rows] or ["<p>Nothing found.</p>"]
    counts = f"<p>{len(findings.asked)} rules checked; {len(findings.missing)} not computable.</p>"
    return page("Findings", "\n".join(["<h1>Findings</h1>", counts, *sections]), _STYLE)


def _section(finding: Finding) -> str:
    row = finding.to_row()
    value = format_amount(finding.value, finding.rule.unit)
    value_text = f"{value} against {finding.limit}" if value and finding.limit else value or finding.limit
    if finding.detail:
        value_text = f"{value_text}; {finding.detail}" if value_text else finding.detail
    interval = (
        f"{row['from']} to {row['to']}, {finding.held:,} of {finding.tested:,} intervals"
        if finding.first
        else ""
    )
    facts = [
        ("On", " ".join(filter(None, (finding.system, finding.subject)))),
        ("Found", value_text),
        ("When", interval),
        ("Means", finding.rule.meaning),
        ("Action", finding.rule.action),
        ("Caution", finding.rule.guard),
        *(("But", other) for other in finding.others),
        ("Source", finding.rule.source),
    ]
    items = "".join(f"<dt>{head}</dt><dd>{escape(fact)}</dd>" for head, fact in facts if fact)
    title = f"{escape(finding.rule.id)} {escape(finding.rule.title)}"
    note = f"<small>{finding.severity}, class {escape(finding.rule.threshold_class)}</small>"
    return f'<section class="{finding.severity}"><h2>{title} {note}</h2><dl>{items}</dl></section>'


RENDER: dict[str, Callable[[FindingsResult], str]] = {"csv": to_csv, "json": to_json, "html": to_html}
