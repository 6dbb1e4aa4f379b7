"""Descriptions as text: a title, facts with labels in the margin, and members."""

from __future__ import annotations

import textwrap

from zlens.explain.description import Description
from zlens.rendering.text_lines import WIDTH, wrap_hanging

_MARGIN = 9


def format_text(description: Description) -> str:
    """Return a description as text."""
    lines = [*textwrap.wrap(description.title, WIDTH), ""]
    for label, fact in description.facts:
        texts = fact if isinstance(fact, list) else [fact] if fact else []
        for line in texts:
            indent = len(line) - len(line.lstrip())
            prefix = f"{label:<{_MARGIN}}{' ' * indent}"
            lines += wrap_hanging(prefix, line) or [prefix.rstrip()]
            label = ""
    if description.members:
        lines += ["", description.details, ""]
        width = max(map(len, description.members))
        for name, text in description.members.items():
            lines += wrap_hanging(f"  {name:<{width}}  ", text) or [f"  {name}"]
    if description.example:
        lines += ["", f"{'Example':<{_MARGIN}}{description.example}"]
    return "\n".join(lines) + "\n"
