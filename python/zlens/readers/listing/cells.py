"""The cells of a row, by the places of its columns, and the numbers in them with their precision."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_WORDS = re.compile(r"\S+")
_NUMBER = re.compile(r"([-+]?)(\d*)(?:\.(\d*))?([kMGTPE]?)\Z")
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
#: Texts of numbers that were not computable.
_NOTHING = re.compile(r"[.\-*]+|N/A|n/a|na\Z")


class Place(NamedTuple):
    """Where the cells of a column stand. start, end: of its head; right: numbers end below the end of the head."""

    start: int
    end: int
    right: bool


class Number(NamedTuple):
    """A number as printed. half: half of a unit of its last digit."""

    value: float
    half: float


def number(text: str) -> Number | None:
    """A printed number: 1.06, .5, 152k, 3,545.7, 95.8%. None: not computable. ValueError: it is none."""
    plain = text.replace(",", "").removesuffix("%")
    found = _NUMBER.match(plain)
    if found is None or not (found[2] or found[3]):
        if _NOTHING.fullmatch(text):
            return None
        raise ValueError(text)
    sign, whole, fraction, letter = found.groups()
    factor = _FACTORS[letter]
    value = float(f"{sign}{whole or 0}.{fraction or 0}")
    return Number(value * factor, 0.5 * 10.0 ** -len(fraction or "") * factor)


def cells(line: str, places: Sequence[Place]) -> list[str] | None:
    """The texts below each place; None if a word of the line stands below none, or below two heads.

    With as many words as places, each word is a cell. Otherwise a cell of a column that is aligned on the right
    ends below its head, and one of another column begins there.
    """
    words = [(found.start(), found.end()) for found in _WORDS.finditer(line)]
    if len(words) == len(places) and _each(words, places):
        return [line[start:end] for start, end in words]
    extents: list[tuple[int, int] | None] = [None] * len(places)
    at = 0
    for start, end in words:
        while at + 1 < len(places) and _beyond(start, end, places[at], places[at + 1]):
            at += 1
        if at + 1 < len(places) and end > places[at + 1].start and start < places[at].end:
            return None
        known = extents[at]
        if known is None:
            extents[at] = (start, end)
        elif places[at].right:
            # A number has no blanks in it.
            return None
        else:
            extents[at] = (known[0], end)
    return ["" if extent is None else line[extent[0] : extent[1]] for extent in extents]


def _beyond(start: int, end: int, place: Place, after: Place) -> bool:
    """Whether a word is not of a place but of one after it."""
    if place.right:
        if after.right:
            return end > place.end and (start >= place.end or end - place.end > place.end - start)
        return end > place.end and start >= min(place.end, after.start)
    if not after.right:
        return start >= after.start
    # A text before numbers: what ends below the head of the numbers is one.
    return end >= after.end or start >= after.start


def _each(words: Sequence[tuple[int, int]], places: Sequence[Place]) -> bool:
    """Whether each word is near its place."""
    last = len(places) - 1
    for at, (start, end) in enumerate(words):
        if at and start < places[at - 1].start:
            return False
        if at < last and end > places[at + 1].end:
            return False
    return True
