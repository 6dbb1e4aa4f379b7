"""Findings as CSV and JSON, with all details."""

from __future__ import annotations

import io

from zlens.findings.evaluate import FindingsResult
from zlens.findings.finding import Finding
from zlens.rendering import rows as present

_COLUMNS = (
    "rule", "severity", "class", "kind", "area", "title", "system", "data", "subject", "value", "unit",
    "threshold", "limit", "detail", "from", "to", "worst", "intervals", "tested", "mean", "baseline",
    "condition", "meaning", "action", "source", "guard", "disagrees",
)  # fmt: skip


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
