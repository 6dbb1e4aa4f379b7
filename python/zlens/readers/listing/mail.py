"""Restoration of mailed listings: decodes quoted-printable text and rejoins wrapped lines."""

from __future__ import annotations

import io
import quopri
import re
from typing import BinaryIO, NamedTuple

from zlens.readers import text_lines
from zlens.readers.listing.header import RULE, parse_first_line

#: Bytes that are inspected for changes, and maximum size of a file that is restored in memory.
_FIRST, MAX_BYTES = 64 * 1024, 64 * 1024 * 1024
#: Maximum length of a line of quoted-printable text, and maximum width to which mailers wrap lines.
_QUOTED, _WIDEST = 76, 80
_SOFT = re.compile(rb"=\r?\n")
_FROM, _TO = re.compile(r"[1 0+-]?From\s+\d"), re.compile(r"[1 0+-]?To\s+\d")
#: Maximum number of blanks lost where a line was wrapped.
_BLANKS = 4
_LEFT = re.compile(r"[1 0+-]?(?:From|To|For)\s+\d")


class RestoredFile(NamedTuple):
    """A restored file.

    change   description of the restoration, "" for none
    ordered  words of rows may have moved, but their order is unchanged
    """

    file: BinaryIO
    change: str
    ordered: bool


def restore_file(file: BinaryIO) -> RestoredFile:
    """Return the file with its lines as printed, positioned at the start; the same file if unchanged."""
    first_bytes = file.read(_FIRST)
    file.seek(0)
    changes, ordered = [], False
    is_quoted = _quoted(first_bytes)
    if is_quoted:
        first_bytes = quopri.decodestring(first_bytes)
        changes.append("decoded from quoted-printable")
    wrap = _wrap(text_lines.decoded(first_bytes).splitlines())
    if wrap is not None:
        changes.append(f"rejoined, because its lines were wrapped at {wrap.width} characters")
        ordered = wrap.words
    if not changes:
        return RestoredFile(file, "", False)
    data = file.read(MAX_BYTES)
    if is_quoted:
        data = quopri.decodestring(data)
    if wrap is not None:
        data = "\n".join(_joined(text_lines.decoded(data).splitlines(), wrap)).encode()
    change = f"the text was {' and '.join(changes)}; line numbers refer to the result"
    if file.read(1):
        change += f"; only its first {MAX_BYTES // 2**20} MB are read"
    return RestoredFile(io.BytesIO(data), change, ordered)


def _quoted(first_bytes: bytes) -> bool:
    lines = first_bytes.splitlines()
    return _SOFT.search(first_bytes) is not None and all(len(line) <= _QUOTED for line in lines)


class _Wrap(NamedTuple):
    """width: longest line after wrapping; whole: longest line before it; words: at blanks, not anywhere."""

    width: int
    whole: int
    words: bool


def _wrap(lines: list[str]) -> _Wrap | None:
    """Return how lines were wrapped; None if they were not.

    The header shows it: `To` follows `From` directly, and the rule below it is as wide as the longest line.
    """
    header = next((number for number, line in enumerate(lines) if parse_first_line(line)), len(lines))
    start = next((at for at, line in enumerate(lines[header : header + 8]) if _FROM.match(line)), None)
    below = lines[header + start + 1 :] if start is not None else []
    if not below or _TO.match(below[0]):
        return None
    rules = [number for number, line in enumerate(lines) if RULE.match(line)]
    width = max(len(line) for line in lines if not RULE.match(line))
    if not rules or width > _WIDEST:
        return None
    first = len(lines[rules[0]])
    if first > width:
        return _Wrap(width, first, words=True)
    # The rule was wrapped too: all lines are split at the length of its first line.
    original_width, number = 0, rules[0]
    while number < len(lines) and RULE.match(f"{lines[number]}________"):
        original_width += len(lines[number])
        number += 1
    return _Wrap(first, original_width, words=False) if original_width > first else None


def _joined(lines: list[str], wrap: _Wrap) -> list[str]:
    """Return the lines with wrapped lines rejoined: the next word did not fit into the line."""
    joined: list[str] = []
    previous = ""
    for line in lines:
        follows = bool(joined) and len(joined[-1] + line) < wrap.whole + 2 and not parse_first_line(line)
        if wrap.words and previous.endswith(" ") and follows:
            # Blanks at the ends of lines are preserved, so nothing is lost.
            joined[-1] += line
        elif wrap.words:
            word = line.split(" ", 1)[0] if line.strip() else ""
            follows = follows and bool(previous.strip()) and bool(line.strip())
            is_right = bool(_LEFT.match(previous)) and not (_LEFT.match(line) or RULE.match(line))
            if follows and (is_right or len(previous) + _BLANKS + len(word or line) > wrap.width):
                joined[-1] += f" {line}"
            else:
                joined.append(line)
        elif follows and len(previous) == wrap.width:
            joined[-1] += line
        else:
            joined.append(line)
        previous = line
    return joined
