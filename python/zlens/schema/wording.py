"""Texts with different wording per interface: cures of errors, options and commands in notes.

Libraries name a code of facts/wording.toml and its arguments; the command line, the web UI and Python each
have their own wording of it.
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
    """Return the wording of a code; as a str it is Python's. KeyError if there is no such code."""
    words = {interface: text.format(**arguments) for interface, text in _words()[code].items()}
    return Wording(words["python"], words["command"], words["page"])


def sentence(text: str, **parts: str) -> Wording:
    """Return a text with {names} of parts that each interface words differently."""

    def worded(wording: Callable[[str], str]) -> str:
        return text.format(**{name: wording(part) for name, part in parts.items()})

    return Wording(worded(str), worded(Wording.for_command_line), worded(Wording.for_web_ui))
