"""Lists of objects in JSON that tools of s390-tools print, also of a run that was interrupted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from zlens.readers.linux.perf import Note


def begins(name: str) -> re.Pattern[str]:
    """Return the pattern of the beginning of a list with a name."""
    return re.compile(rf'"{name}"\s*:\s*\[')


def entries(text: str, beginning: re.Pattern[str], note: Note) -> Iterator[tuple[int, int, Any]]:
    """Yield offset, run and value of the entries of all lists with a beginning; a list is one run of a tool.

    A text without such a list is a sequence of entries (formats jsonl and json-seq), where an object with the
    key `meta` begins a run. A truncated list yields its complete entries, and a note.
    """
    start, run = beginning.search(text), 0
    load = json.JSONDecoder().raw_decode
    offset = start.end() if start else 0
    while offset < len(text):
        if text[offset] in ", \r\n\t\x1e\ufeff":
            offset += 1
        elif text[offset] == "]" and start:
            following = beginning.search(text, offset)
            if following is None:
                return
            # Another run, appended to the first.
            offset, run = following.end(), run + 1
        else:
            try:
                value, end = load(text, offset)
            except (ValueError, RecursionError):
                note("truncated", "the last entry is incomplete; not read", offset)
                return
            if not start and isinstance(value, dict) and "meta" in value:
                run += 1
            else:
                yield offset, run, value
            offset = end
    if start:
        note("truncated", "the list does not end", offset)
