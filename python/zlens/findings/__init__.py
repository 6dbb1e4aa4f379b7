"""Findings: the rules of the catalog held against an input, and what they tell, worst first."""

from __future__ import annotations

from zlens.findings.evaluate import Findings, check, evaluate
from zlens.findings.finding import Finding

FORMATS = ("text", "csv", "json", "html")

__all__ = ["FORMATS", "Finding", "Findings", "check", "evaluate", "render"]


def render(findings: Findings, format: str = "text", *, missing: bool = False) -> str:
    """Findings in one of FORMATS; `missing`: in text also every rule that could not be computed."""
    # Imported when asked for: text does not pay for the others.
    if format == "text":
        from zlens.findings import as_text

        return as_text.render(findings, missing=missing)
    from zlens.findings import as_data

    return as_data.RENDER[format](findings)
