"""Extracts the text of a saved monitor record page: bytes to lines, HTML or plain.

Tags are removed here, because pages are untrusted and the parser of the standard library takes quadratic time
on some broken pages and fails on an entity with thousands of digits. This module examines every byte once;
anything that it does not recognize stays as text.
"""

from __future__ import annotations

import codecs
import hashlib
import html.entities
import re
from pathlib import Path

from msgspec import Struct

from zlens.errors import CatalogError

#: Maximum size of a file in bytes; the largest published page is well under 1 MB.
MAX_BYTES = 8 * 1024 * 1024
#: Maximum length of text without tags; a page of 4,000 rows is half a megabyte.
MAX_TEXT = 2 * 1024 * 1024
#: Maximum length of a word; the longest names have some 30 letters.
MAX_WORD = 2_000
#: Maximum length of a tag; the `<` of a longer one is text.
_MAX_TAG = 20_000

_CURE = "save the page again from the browser, as HTML or as text"
_HTML = re.compile(r"<(?:!doctype|html|head|body|pre|p|a|br|div|span|table|tt|h[1-6])\b", re.IGNORECASE)
_TAG = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9]{0,15})")
_ENTITY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]{1,31}));?")
_CONTROLS = dict.fromkeys((*range(9), 11, *range(14, 32), *range(127, 161), 0xFEFF), " ") | {0xFFFD: "?"}
#: Tags that end a line outside preformatted text.
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article blockquote body br center dd div dl dt footer form h1 h2 h3 h4 h5 h6 head header hr "
        "html li main nav ol p pre section table tbody tfoot thead title tr ul xmp listing",
    )
)
#: Elements whose content is not text of the page.
_HIDDEN = frozenset(("script", "style"))
_KEPT = frozenset(("pre", "xmp", "listing"))


class PageText(Struct, frozen=True):
    """A page as lines of text, and the checksum of its bytes."""

    file: str
    sha256: str
    lines: tuple[str, ...]


def read(path: Path) -> PageText:
    """Read one file; raises `CatalogError` if it cannot be a page."""
    file = str(path)
    try:
        # One byte more than allowed is enough to detect the excess, whatever size the directory reports.
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        message = f"the page cannot be read: {reason}"
        raise CatalogError(message, file=file, cure="check the path and its permissions") from error
    return from_bytes(data, file)


def from_bytes(data: bytes, file: str) -> PageText:
    """Return the text of a page in bytes."""
    if not data.strip():
        raise CatalogError("the page is empty", file=file, offset=0, cure=_CURE)
    if len(data) > MAX_BYTES:
        message = "the file is too large for a record page"
        raise CatalogError(message, file=file, expected=f"at most {MAX_BYTES:,} bytes", cure=_CURE)
    text = _decode(data, file)
    if _HTML.search(text):
        text = without_tags(text)
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    if len(text) > MAX_TEXT:
        expected, message = f"at most {MAX_TEXT:,} letters", "too much text for a record page"
        raise CatalogError(message, file=file, expected=expected, cure=_CURE)
    text = text.translate(_CONTROLS)
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_WORD and max(map(len, line.split()), default=0) > MAX_WORD:
            message = f"line {number} has a word of more than {MAX_WORD:,} letters"
            raise CatalogError(message, file=file, cure=_CURE)
    lines = tuple(line.expandtabs(8).rstrip() if "\t" in line else line.rstrip() for line in text.split("\n"))
    return PageText(file, hashlib.sha256(data).hexdigest(), lines)


def _decode(data: bytes, file: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace").replace("\0", " ")
    zero = data.find(b"\0")
    if zero >= 0:
        raise CatalogError("the file is not text: it has zero bytes", file=file, offset=zero, cure=_CURE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        # Latin-1 maps every byte to a character, so this cannot fail.
        return data.decode("latin-1")


def without_tags(text: str) -> str:
    """Convert HTML to text: preformatted lines are preserved, elsewhere only block elements end a line."""
    out: list[str] = []
    preformatted = 0  # number of open preformatted elements
    position = 0
    close = -1  # position of the next `>`, searched for once
    while position < len(text):
        start = text.find("<", position)
        if start < 0:
            out.append(_words(text[position:], preformatted))
            break
        out.append(_words(text[position:start], preformatted))
        if text.startswith("<!--", start):
            end = text.find("-->", start + 4)
            position = len(text) if end < 0 else end + 3
            continue
        tag = _TAG.match(text, start + 1)
        declared = text.startswith(("<!", "<?"), start)
        if close < start:
            close = text.find(">", start)
            close = len(text) if close < 0 else close
        if not (tag or declared) or close == len(text) or close - start > _MAX_TAG:
            # A less-than sign, or a page that is truncated inside a tag.
            out.append("<")
            position = start + 1
            continue
        position = close + 1
        if tag is None:
            continue
        name = tag[2].lower()
        if name in _HIDDEN and not tag[1]:
            position = _after(text, name, position)
        elif name in _KEPT:
            preformatted = max(0, preformatted - 1) if tag[1] else min(preformatted + 1, 100)
            out.append("\n")
        elif name in _BLOCKS:
            out.append("\n")
        elif name in ("td", "th"):
            out.append(" ")
    return "".join(out)


def _after(text: str, name: str, position: int) -> int:
    """Return the position after a hidden element that has started."""
    end = re.compile(rf"</{name}", re.IGNORECASE).search(text, position)
    if end is None:
        return len(text)
    close = text.find(">", end.end(), end.end() + _MAX_TAG)
    return end.end() if close < 0 else close + 1


def _words(text: str, preformatted: int) -> str:
    if not preformatted and not text.isspace():
        lead = " " if text[:1].isspace() else ""
        tail = " " if text[-1:].isspace() else ""
        text = lead + " ".join(text.split()) + tail
    elif not preformatted and text:
        text = " "
    return _ENTITY.sub(_letter, text) if "&" in text else text


def _letter(match: re.Match[str]) -> str:
    if match[3]:
        return html.entities.html5.get(match[3] + ";", match[0])
    code = int(match[1]) if match[1] else int(match[2], 16)
    # Half of a surrogate pair is not a character and could not be written to a file.
    return chr(code) if 0 < code < 0xD800 or 0xE000 <= code < 0x110000 else " "
