"""Findings: the rules of the catalog checked against an input, worst first."""

from __future__ import annotations

from zlens.findings.evaluate import FindingsResult, check, evaluate
from zlens.findings.finding import Finding

FORMATS = ("text", "csv", "json", "html")

__all__ = ["FORMATS", "Finding", "FindingsResult", "check", "evaluate", "render"]


def render(findings: FindingsResult, format: str = "text", *, missing: bool = False) -> str:
    """Findings in one of FORMATS; `missing`: text also lists the rules that could not be computed."""
    # Imported on demand: text does not need the others.
    if format == "text":
        from zlens.findings import text_format

        return text_format.render(findings, missing=missing)
    from zlens.findings import data_format

    return data_format.RENDER[format](findings)
