"""Texts with different wording per interface: cures of errors, options and commands in notes.

Libraries name a code of facts/wording.toml and its arguments; the command line, the web UI and Python each
have their own wording of it.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

from zlens.errors import Wording
from zlens.schema.structs import NamedFacts, doc


class InterfaceTexts(NamedFacts, frozen=True):
    """The texts of a code, with {arguments}."""

    path: ClassVar = "wording.toml"
    command: Annotated[str, doc("on the command line")]
    page: Annotated[str, doc("in the web UI")]
    python: Annotated[str, doc("in Python")]


def phrase(code: str, **arguments: object) -> Wording:
    """Return the wording of a code; as a str it is Python's. KeyError if there is no such code."""
    texts = InterfaceTexts.by_name()[code]
    return Wording(*(text.format(**arguments) for text in (texts.python, texts.command, texts.page)))


def sentence(text: str, **parts: str) -> Wording:
    """Return a text with {names} of parts that each interface words differently."""

    def worded(wording: Callable[[str], str]) -> str:
        return text.format(**{name: wording(part) for name, part in parts.items()})

    return Wording(worded(str), worded(Wording.for_command_line), worded(Wording.for_web_ui))
