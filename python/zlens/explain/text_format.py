"""Descriptions as text: a title, facts with their labels in the margin, and members."""

from __future__ import annotations

import textwrap

from zlens.explain.description import Description

WIDTH = 100
_MARGIN = 9


def format_text(description: Description) -> str:
    """The page of a description."""
    lines = [*textwrap.wrap(description.title, WIDTH), ""]
    for label, fact in description.facts:
        texts = fact if isinstance(fact, list) else [fact] if fact else []
        for line in texts:
            indent = len(line) - len(line.lstrip())
            lines += wrap_hanging(f"{label:<{_MARGIN}}{' ' * indent}", line)
            label = ""
    if description.members:
        lines += ["", description.details, ""]
        width = max(map(len, description.members))
        for name, text in description.members.items():
            lines += wrap_hanging(f"  {name:<{width}}  ", text)
    if description.example:
        lines += ["", f"{'Example':<{_MARGIN}}{description.example}"]
    return "\n".join(lines) + "\n"


def wrap_hanging(head: str, text: str) -> list[str]:
    """Text wrapped with a hanging indent after `head`."""
    wrapped = textwrap.wrap(
        " ".join(text.split()),
        max(WIDTH, len(head) + 40),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped or [head.rstrip()]
