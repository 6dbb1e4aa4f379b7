"""Findings: the rules of the catalog checked against an input, worst first."""

from __future__ import annotations

from zlens.findings.evaluate import Findings, check, evaluate
from zlens.findings.finding import Finding

FORMATS = ("text", "csv", "json", "html")

__all__ = ["FORMATS", "Finding", "Findings", "check", "evaluate", "render"]


def render(findings: Findings, format: str = "text", *, missing: bool = False) -> str:
    """Findings in one of FORMATS; `missing`: text also lists the rules that could not be computed."""
    # Imported on demand: text does not need the others.
    if format == "text":
        from zlens.findings import as_text

        return as_text.render(findings, missing=missing)
    from zlens.findings import as_data

    return as_data.RENDER[format](findings)
