"""Descriptions of names: text of `zlens explain`, Markdown of the reference pages of the site."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

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
