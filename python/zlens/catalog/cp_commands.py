"""CP commands whose responses are read as text (facts/zvm/console.toml)."""

import re
from typing import Annotated, ClassVar

from zlens.schema.structs import FactFile, SourcedTable, doc


class CpCommand(SourcedTable, frozen=True):
    """A command. Without `labels` and `parts`, its response is unknown."""

    name: str
    word: Annotated[str, doc("the pattern of its operand")]
    instead: Annotated[str, doc("a source of the same facts in another format")]
    labels: Annotated[dict[str, str], doc("columns by label")] = {}
    states: Annotated[tuple[str, ...], doc("lines that are the state")] = ()
    verb: Annotated[str, doc("the pattern of the verb")] = "Q(?:UERY)?"
    begins: Annotated[str, doc("the pattern of the response's first line")] = ""
    parts: Annotated[tuple[re.Pattern[str], ...], doc("patterns of what lines consist of")] = ()

    @property
    def is_supported(self) -> bool:
        return bool(self.labels or self.parts)

    @property
    def unsupported_reason(self) -> str:
        """The reason why its response is not read."""
        return f"the format of the response to {self.name} is not known from a public source"


class CommandFile(FactFile, frozen=True):
    """All commands."""

    path: ClassVar = "zvm/console.toml"
    command: tuple[CpCommand, ...]


def commands() -> tuple[CpCommand, ...]:
    return CommandFile.load().command


def find_command(name: str) -> CpCommand | None:
    """Return the command with that name, in any case."""
    normalized = " ".join(name.upper().split())
    return next((command for command in commands() if command.name == normalized), None)
