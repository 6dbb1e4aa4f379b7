"""TOML texts: their values and the lines of their keys."""

from __future__ import annotations

from typing import Any

from zlens._native import toml_line, toml_values

#: Maximum nesting depth of tables and arrays.
DEEPEST = 50


class TomlError(ValueError):
    """Error of a text that is not valid TOML. line: its line number."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(f"{message} (at line {line})")
        self.line = line


def parse(text: str) -> dict[str, Any]:
    """Return the values of a text; raises only TomlError."""
    try:
        return toml_values(text, DEEPEST)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise TomlError("half of a surrogate pair is not a character", line) from None
    except ValueError as error:
        raise TomlError(*error.args) from None


def line_of(text: str, location: str) -> int | None:
    """Return the line of a key such as `tables[2].columns[1].width`, or of its nearest parent."""
    return toml_line(text, location)
