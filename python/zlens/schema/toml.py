"""TOML texts: their values, and the lines of their keys."""

from __future__ import annotations

from typing import Any

from zlens import _native

#: Tables and arrays in each other.
DEEPEST = 50


class TomlError(ValueError):
    """A text is not valid TOML. line: where."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"{message} (at line {line})")
        self.line = line


def parse(text: str) -> dict[str, Any]:
    """The values of a text; the only exception is a TomlError."""
    try:
        return _native.toml_values(text, DEEPEST)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise TomlError("half of a surrogate pair is not a character", line) from None
    except ValueError as error:
        raise TomlError(*error.args) from None


def line_of(text: str, where: str) -> int | None:
    """The line of a key such as `tables[2].columns[1].width`; else of its nearest parent."""
    return _native.toml_line(text, where)
