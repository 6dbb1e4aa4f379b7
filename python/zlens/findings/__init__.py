"""Findings: the rules of the catalog checked against an input, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from zlens.findings.evaluate import FindingsResult, check, evaluate
from zlens.findings.finding import Finding
from zlens.rendering.answer import FORMATS

__all__ = ["FORMATS", "Finding", "FindingsResult", "check", "evaluate", "render"]


def render(
    findings: FindingsResult,
    format: str = "text",
    *,
    verdicts: Sequence[tuple[str, str]] = (),
    missing: bool = False,
) -> str:
    """Return findings in one of FORMATS.

    verdicts  systems and their verdicts, which text and html begin with
    missing   text also lists the rules that could not be computed
    """
    # Imported on demand: no format needs all of them.
    if format in ("csv", "json"):
        from zlens.findings import data_format

        return data_format.to_csv(findings) if format == "csv" else data_format.to_json(findings)
    from zlens.findings import entries

    if format == "html":
        return entries.build_answer(findings, verdicts=verdicts).render(format)
    return entries.build_answer(findings, verdicts=verdicts, most=entries.SHOWN, missing=missing).render(
        format
    )
