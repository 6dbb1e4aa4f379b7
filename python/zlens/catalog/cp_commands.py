"""CP commands whose responses are read as text (facts/zvm/console.toml)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from zlens.schema import document
from zlens.schema.facts import FACTS


class CpCommand(Struct, frozen=True):
    """A command. Without `labels` and `parts`, its response is unknown.

    labels      column by label
    parts       patterns of parts of lines
    verb, word  patterns of the command
    begins      pattern of the first line of its response
    instead     source of the same facts in another format
    """

    name: str
    word: str
    source: str
    status: str
    instead: str
    labels: Mapping[str, str]
    states: tuple[str, ...]
    verb: str
    begins: str
    parts: tuple[re.Pattern[str], ...]

    @property
    def is_supported(self) -> bool:
        return bool(self.labels or self.parts)

    @property
    def unsupported_reason(self) -> str:
        """The reason why its response is not read."""
        return f"the format of the response to {self.name} is not known from a public source"


@cache
def commands() -> tuple[CpCommand, ...]:
    entries = document.load_unchecked(FACTS / "zvm" / "console.toml")["command"]
    return tuple(
        CpCommand(
            entry["name"],
            entry["word"],
            entry["source"],
            entry["status"],
            entry["instead"],
            entry.get("labels", {}),
            tuple(entry.get("states", ())),
            entry.get("verb", "Q(?:UERY)?"),
            entry.get("begins", ""),
            tuple(re.compile(part) for part in entry.get("parts", ())),
        )
        for entry in entries
    )


def find_command(name: str) -> CpCommand | None:
    """Return the command with that name, in any case."""
    normalized = " ".join(name.upper().split())
    return next((command for command in commands() if command.name == normalized), None)
