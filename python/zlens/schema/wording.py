"""Texts with different words in each interface: cures of errors, options and commands in notes.

Libraries name a code of facts/wording.toml and its arguments; the command line, the page and Python each have
their own words for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from zlens.errors import Wording
from zlens.schema import document
from zlens.schema.facts import FACTS


@cache
def _words() -> dict[str, dict[str, str]]:
    return document.load_unchecked(FACTS / "wording.toml")


def phrase(code: str, **arguments: object) -> Wording:
    """The words of a code; as a str it has Python's words. KeyError if there is no such code."""
    words = {face: text.format(**arguments) for face, text in _words()[code].items()}
    return Wording(words["python"], words["command"], words["page"])


def sentence(text: str, **parts: str) -> Wording:
    """A text with {names} of parts that each interface words differently."""

    def worded(face: Callable[[str], str]) -> str:
        return text.format(**{name: face(part) for name, part in parts.items()})

    return Wording(worded(str), worded(Wording.for_command_line), worded(Wording.for_web_ui))
