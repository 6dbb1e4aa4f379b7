"""Titles of tables with values from the input: `Initial Status on 2015/02/14 at 16:04`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

#: A value in a title: its name, and the format of a time.
IN_TITLE = re.compile(r"\{([a-z_]+)(?::([^}]*))?\}")


def with_value_names(title: str) -> str:
    """Return the title with the names of its values: `Initial Status on SINCE`."""
    return IN_TITLE.sub(lambda match: match[1].upper().replace("_", " "), title)


def fill_title(title: str, values: Mapping[str, object], local: Callable[[datetime], datetime]) -> str:
    """Return the title with its values; dots for values that the input does not have."""

    def text(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if isinstance(value, datetime):
            return local(value).strftime(match[2] or "%Y/%m/%d %H:%M:%S")
        return str(value) if value not in (None, "") else "...."

    return IN_TITLE.sub(text, title)
