"""Responses of CP commands that are read as text: facts/zvm/console.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from zlens.schema import document
from zlens.schema.facts import FACTS


@dataclass(frozen=True, slots=True)
class Command:
    """A command. word: a pattern of its operand; labels: column by label; none if its response is not known.

    instead: what has the same facts in another form
    """

    name: str
    word: str
    source: str
    status: str
    instead: str
    labels: Mapping[str, str]
    states: tuple[str, ...]

    @property
    def known(self) -> bool:
        return bool(self.labels)

    @property
    def unread(self) -> str:
        """Why its response is not read."""
        return f"the form of the response to {self.name} is not known from a public source"


@cache
def commands() -> tuple[Command, ...]:
    entries = document.facts(FACTS / "zvm" / "console.toml")["command"]
    return tuple(
        Command(**{**entry, "labels": entry.get("labels", {}), "states": tuple(entry.get("states", ()))})
        for entry in entries
    )


def find(name: str) -> Command | None:
    """The command with that name, in any case."""
    wanted = " ".join(name.upper().split())
    return next((command for command in commands() if command.name == wanted), None)
