"""Comparison of two or more runs: differences beyond the noise, and the parts of the change."""

from __future__ import annotations

from zlens.compare.comparison import AGAINST, FORMS, Choice, Comparison, compare
from zlens.compare.sides import Run, Side, measure

__all__ = ["AGAINST", "FORMS", "Choice", "Comparison", "Run", "Side", "compare", "measure", "render"]


def render(comparison: Comparison, form: str) -> str:
    """The comparison as text, csv, json or html."""
    from zlens.compare import as_data, as_html, as_text

    if form == "csv":
        return as_data.to_csv(comparison)
    if form == "json":
        return as_data.to_json(comparison)
    if form == "html":
        return as_html.render(comparison)
    return as_text.render(comparison)
