"""Where something stands in a TOML file that a user wrote: the parser gives values without their lines."""

from __future__ import annotations

import re


def line_of(lines: list[str], table: str, key: str | None) -> int | None:
    """The line of a table, or of a key in it, however written; that of the table if the key has none."""
    quoted = re.escape(table)
    head = re.compile(rf"\s*\[\s*[\"']?{quoted}[\"']?\s*(?:\]|\.)|\s*[\"']?{quoted}[\"']?\s*[.=]")
    inside = False
    first: int | None = None
    for number, line in enumerate(lines, 1):
        if head.match(line):
            inside = True
            first = first or number
        elif line.lstrip().startswith("["):
            inside = False
        if key is not None and inside and re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", line):
            return number
    return first
