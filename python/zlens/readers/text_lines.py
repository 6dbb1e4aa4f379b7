"""Lines of printed text, without line ends, tabs and what HTML adds."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

#: A longer line is no line of a listing.
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
    """Text of bytes: UTF-8, else Latin-1, in which every byte is a character."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def clean_line(text: str) -> str:
    """A line without its end, tabs, page feeds, and tags and entities of HTML."""
    if "&" in text or "<" in text:
        # Heads have < and > of their own: <PhCore>.
        text = html.unescape(_TAG.sub("", text)) if _TAG.search(text) else html.unescape(text)
    if "\t" in text:
        text = text.expandtabs(8)
    return text.replace(_PAGE, "").replace("\xa0", " ").rstrip()


def has_carriage_control(line: str) -> bool:
    """Whether the first character of a line could be carriage control."""
    return not line or line[0] in _CONTROL
