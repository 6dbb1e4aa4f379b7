"""Explanations of names, as text and as the facts that the web UI shows."""

from __future__ import annotations

from typing import Any

from zlens.explain import names
from zlens.explain.description import Description
from zlens.server.workspace import Workspace

#: Labels that name an option of the command line.
_LABELS = {"--every": "Combined"}


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    name = request["name"]
    sections = [_section(section) for section in names.describe_name(name)]
    return {"name": name, "text": names.explain(name), "sections": sections}


def _section(section: Description | str) -> dict[str, Any]:
    """Return the title, facts and members of a description; a text has no facts."""
    if isinstance(section, str):
        title, _, text = section.partition("\n")
        return {"title": title, "text": text.strip("\n"), "facts": [], "members": {}, "example": ""}
    facts = {label: [fact] if isinstance(fact, str) else fact for label, fact in section.facts if fact}
    example = facts.pop("Example", [section.example])
    return {
        "title": section.title,
        "text": "",
        "facts": [
            {"label": _LABELS.get(label, label), "lines": lines} for label, lines in facts.items() if lines
        ],
        "members": section.members,
        "example": "\n".join(example),
    }
