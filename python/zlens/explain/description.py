"""Descriptions of names, as text: a title, facts with labels in the margin, and members."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from msgspec import Struct, field

from zlens.rendering.text_lines import WIDTH, wrap_hanging

_MARGIN = 9

#: Facts with their labels; several lines of one fact are a list. Empty facts are omitted.
Facts = list[tuple[str, "str | list[str]"]]


class Description(Struct, frozen=True):
    """A measure, column, record, field, role, rule or counter.

    title     its name, and after a colon what it is
    members   texts of its columns or fields, which have descriptions of their own
    details   heading of the members, with the command that explains one
    example   a statement that reads it
    """

    title: str
    facts: Facts
    members: Mapping[str, str] = field(default_factory=dict)
    details: str = ""
    example: str = ""


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
