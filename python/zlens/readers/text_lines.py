"""Lines of printed text, without line ends, tabs and HTML markup."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

#: A longer line is not a line of a listing.
MAX_LINE = 32_768
_CONTROL = frozenset("1 0+-")
_TAG = re.compile(
    r"<(?:/?(?:html|head|body|pre|p|div|span|font|tt|code|b|i|a|title|meta|style)\b[^>]*|!--.*?--|br\s*/?)>",
    re.I,
)
_PAGE = "\f"


class TextLine(NamedTuple):
    """A line of a file: its number from 1, the offset of its first byte, its text without trailing blanks."""

    number: int
    offset: int
    text: str


def decoded(raw: bytes) -> str:
    """Return bytes as text: UTF-8, else Latin-1, in which every byte is a character."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def clean_line(text: str) -> str:
    """Return a line without its end, tabs, page feeds, and HTML tags and entities."""
    if "&" in text or "<" in text:
        # Headings may contain < and >, such as <PhCore>.
        text = html.unescape(_TAG.sub("", text)) if _TAG.search(text) else html.unescape(text)
    if "\t" in text:
        text = text.expandtabs(8)
    return text.replace(_PAGE, "").replace("\xa0", " ").rstrip()


def has_carriage_control(line: str) -> bool:
    """Return whether the first character of a line could be carriage control."""
    return not line or line[0] in _CONTROL
