"""Answers of models, studies, comparisons, findings and the rig, and their formats."""

from __future__ import annotations

from zlens.answers.answer import Answer

FORMATS = ("text", "csv", "json", "html")


def render(answer: Answer, form: str) -> str:
    """Return the answer in one of FORMATS."""
    # Imported on demand: text needs none of the others.
    if form == "text":
        from zlens.answers import text_format

        return text_format.render(answer)
    if form == "html":
        from zlens.answers import html_format

        return html_format.render(answer)
    from zlens.answers import data_format

    return data_format.to_csv(answer) if form == "csv" else data_format.to_json(answer)
