"""Findings as CSV and JSON, with all details."""

from __future__ import annotations

from zlens.findings.evaluate import FindingsResult
from zlens.findings.finding import Finding
from zlens.rendering import rows as present

_COLUMNS = (
    "rule", "severity", "class", "kind", "area", "title", "system", "data", "subject", "value", "unit",
    "threshold", "limit", "detail", "from", "to", "worst", "intervals", "tested", "mean", "baseline",
    "condition", "meaning", "action", "source", "guard", "disagrees",
)  # fmt: skip


def to_csv(findings: FindingsResult) -> str:
    rows = ([_cell(row[name]) for name in _COLUMNS] for row in map(Finding.to_row, findings.rows))
    return present.csv_text(_COLUMNS, rows)


def _cell(value: object) -> object:
    return " | ".join(value) or None if isinstance(value, list) else value


def to_json(findings: FindingsResult) -> str:
    return present.json_text(map(Finding.to_row, findings.rows))
