"""Encoding of RMF report XML, and the start offsets of the XML and of each further report."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from msgspec import Struct

WINDOW = 256 * 1024

#: Start tag of a report.
_REPORT = re.compile(r"<(postprocessor|report)[\s/>]")
_ROOT = re.compile(r"<(?:!DOCTYPE\s+)?(?:ddsml|postprocessor)\b")
_DECLARED = re.compile(r"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._\-]{1,40})[\"']")

#: Single-byte encodings that are read as declared; all others are read as UTF-8.
_SINGLE_BYTE = {
    "iso-8859-1": "ISO-8859-1",
    "latin1": "ISO-8859-1",
    "iso-8859-15": "iso-8859-15",
    "windows-1252": "windows-1252",
    "cp1252": "windows-1252",
}


class XmlEncoding(Struct, frozen=True):
    """Encoding and start of the XML in a file."""

    encoding: str
    #: Offset of the XML, after any byte order mark and blanks.
    begin: int
    ebcdic: bool = False
    #: The declared encoding, if another one is used.
    stale: str | None = None

    @property
    def unit(self) -> int:
        return 2 if self.encoding.startswith("UTF-16") else 1

    @property
    def codec(self) -> str:
        """Python name of an encoding for writing tags."""
        return {"UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be"}.get(self.encoding, "ascii")


def form_of(first_bytes: bytes) -> XmlEncoding | None:
    """Return the encoding of a file with these first bytes, None if it is not RMF report XML."""
    codec, start = "utf-8", 0
    if first_bytes.startswith(b"\xef\xbb\xbf"):
        start = 3
    elif first_bytes.startswith((b"\xff\xfe", b"\xfe\xff")):
        codec, start = ("utf-16-le" if first_bytes[0] == 0xFF else "utf-16-be"), 2
    elif first_bytes[:1] == b"<" and first_bytes[1:2] == b"\0":
        codec = "utf-16-le"
    elif first_bytes[:2] == b"\0<":
        codec = "utf-16-be"
    elif first_bytes[:1] == b"\x4c":
        # '<' in EBCDIC; in ASCII the letter L, which cannot begin XML.
        codec = "cp037"
    text = first_bytes[start:].decode(codec, "replace")
    blanks = len(text) - len(text.lstrip())
    if text[blanks : blanks + 1] != "<" or not _ROOT.search(text):
        return None
    if codec == "cp037":
        return XmlEncoding(codec, start, ebcdic=True)
    if codec != "utf-8":
        return XmlEncoding("UTF-16LE" if codec == "utf-16-le" else "UTF-16BE", start + 2 * blanks)
    declared = _DECLARED.match(text, blanks)
    name = declared[1].lower() if declared else "utf-8"
    stale = declared[1] if declared and name not in {"utf-8", "utf8", "us-ascii", *_SINGLE_BYTE} else None
    return XmlEncoding(_SINGLE_BYTE.get(name, "UTF-8"), start + blanks, stale=stale)


def element_of(first_bytes: bytes, form: XmlEncoding) -> str | None:
    """Return the element of the first report in a file with these first bytes."""
    codec = form.encoding if form.ebcdic else form.codec
    match = _REPORT.search(first_bytes[form.begin :].decode(codec, "replace"))
    return match[1] if match else None


def next_report(fd: int, size: int, start: int, form: XmlEncoding, element: str) -> int | None:
    """Return the offset of the next report in such an element, at or after `start`."""
    tag = f"<{element}".encode(form.codec)
    ends = {character.encode(form.codec) for character in " \t\r\n/>"}
    for window, base in _windows(fd, size, start, len(tag) + form.unit):
        offset = window.find(tag)
        while offset >= 0:
            end = offset + len(tag)
            if (base + offset - form.begin) % form.unit == 0 and window[end : end + form.unit] in ends:
                return base + offset
            offset = window.find(tag, offset + 1)
    return None


def _windows(fd: int, size: int, start: int, overlap: int) -> Iterator[tuple[bytes, int]]:
    while start < size:
        window = os.pread(fd, min(WINDOW, size - start), start)
        if not window:
            return
        yield window, start
        if start + len(window) >= size:
            return
        start += max(len(window) - overlap + 1, 1)


def is_report(first_bytes: bytes, *, monitor3: bool) -> bool:
    """Return whether a file is RMF report XML from Monitor III or the Postprocessor, including in EBCDIC."""
    form = form_of(first_bytes)
    return form is not None and (element_of(first_bytes, form) == "report") is monitor3
