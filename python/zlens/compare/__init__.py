"""Comparison of two or more runs: differences beyond the noise, and the parts of the change."""

from __future__ import annotations

from zlens.compare.comparison import CompareOptions, Comparison, compare
from zlens.compare.sides import Side, SideRun, measure_run

__all__ = [
    "CompareOptions",
    "Comparison",
    "Side",
    "SideRun",
    "compare",
    "measure_run",
    "render",
]


def render(comparison: Comparison, form: str) -> str:
    """Return the comparison as text, csv, json or html."""
    from zlens.compare import charts, data_format, tables
    from zlens.rendering import answer_html, answer_text

    if form == "csv":
        return data_format.to_csv(comparison)
    if form == "json":
        return data_format.to_json(comparison)
    answers = tables.build_answers(comparison)
    if form == "text":
        return answer_text.render(*answers)
    for answer, compared in zip(answers, comparison.systems, strict=True):
        answer.charts += charts.charts(comparison, compared)
    return answer_html.render(*answers)
