"""Restores mailed listings: decodes quoted-printable text and rejoins wrapped lines."""

from __future__ import annotations

import io
import quopri
import re
from typing import BinaryIO, NamedTuple

from zlens.readers import text_lines
from zlens.readers.listing.header import RULE, parse_first_line

#: Bytes from which the form is known, and the largest file that is put together in memory.
_FIRST, MAX_BYTES = 64 * 1024, 64 * 1024 * 1024
#: The longest line of quoted-printable text, and the widest lines that mailers wrap to.
_QUOTED, _WIDEST = 76, 80
_SOFT = re.compile(rb"=\r?\n")
_FROM, _TO = re.compile(r"[1 0+-]?From\s+\d"), re.compile(r"[1 0+-]?To\s+\d")
#: Blanks that may have been where a line was broken.
_BLANKS = 4
_LEFT = re.compile(r"[1 0+-]?(?:From|To|For)\s+\d")


class RestoredFile(NamedTuple):
    """A file as it was before it was mailed.

    change   what was done to it, "" for nothing
    ordered  words of rows may have lost their places, not their order
    """

    file: BinaryIO
    change: str
    ordered: bool


def restore_file(file: BinaryIO) -> RestoredFile:
    """The file with its lines as they were printed; itself if they are. Its position is at the start."""
    head = file.read(_FIRST)
    file.seek(0)
    changes, ordered = [], False
    quoted = _quoted(head)
    if quoted:
        head = quopri.decodestring(head)
        changes.append("decoded from quoted-printable")
    wrap = _wrap(text_lines.decoded(head).splitlines())
    if wrap is not None:
        changes.append(f"rejoined, because its lines were wrapped at {wrap.width} characters")
        ordered = wrap.words
    if not changes:
        return RestoredFile(file, "", False)
    data = file.read(MAX_BYTES)
    if quoted:
        data = quopri.decodestring(data)
    if wrap is not None:
        data = "\n".join(_joined(text_lines.decoded(data).splitlines(), wrap)).encode()
    change = f"the text was {' and '.join(changes)}; line numbers refer to the result"
    if file.read(1):
        change += f"; only its first {MAX_BYTES // 2**20} MB are read"
    return RestoredFile(io.BytesIO(data), change, ordered)


def _quoted(head: bytes) -> bool:
    lines = head.splitlines()
    return _SOFT.search(head) is not None and all(len(line) <= _QUOTED for line in lines)


class _Wrap(NamedTuple):
    """width: longest line after wrapping; whole: longest line before it; words: at blanks, not anywhere."""

    width: int
    whole: int
    words: bool


def _wrap(lines: list[str]) -> _Wrap | None:
    """How lines were wrapped; None if they were not.

    The header shows it: `To` follows `From` directly, and the rule below it is as wide as the longest line.
    """
    at = next((at for at, line in enumerate(lines) if parse_first_line(line) is not None), None)
    if at is None:
        return None
    start = next(
        (number for number in range(at, min(at + 8, len(lines))) if _FROM.match(lines[number])), None
    )
    if start is None or start + 1 >= len(lines) or _TO.match(lines[start + 1]):
        return None
    rules = [number for number, line in enumerate(lines) if RULE.match(line)]
    if not rules:
        return None
    width = max(len(line) for line in lines if not RULE.match(line))
    first = len(lines[rules[0]])
    if width > _WIDEST:
        return None
    if first > width:
        return _Wrap(width, first, words=True)
    # The rule was broken too: all lines are cut into pieces of its first one's length.
    whole, number = 0, rules[0]
    while number < len(lines) and RULE.match(f"{lines[number]}________"):
        whole += len(lines[number])
        number += 1
    return _Wrap(first, whole, words=False) if whole > first else None


def _joined(lines: list[str], wrap: _Wrap) -> list[str]:
    """Lines put together: what was wrapped did not fit into its line."""
    found: list[str] = []
    last = ""
    for line in lines:
        follows = (
            bool(found) and len(found[-1]) + len(line) < wrap.whole + 2 and parse_first_line(line) is None
        )
        if wrap.words and last.endswith(" ") and follows:
            # Blanks at the ends of lines are kept: nothing is lost.
            found[-1] += line
        elif wrap.words:
            word = line.split(" ", 1)[0] if line.strip() else ""
            follows = follows and bool(last.strip()) and bool(line.strip())
            right = _LEFT.match(last) is not None and _LEFT.match(line) is None and RULE.match(line) is None
            if follows and (right or len(last) + _BLANKS + len(word or line) > wrap.width):
                found[-1] += f" {line}"
            else:
                found.append(line)
        elif follows and len(last) == wrap.width:
            found[-1] += line
        else:
            found.append(line)
        last = line
    return found
