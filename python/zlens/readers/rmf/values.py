"""Exact conversion of printed RMF values: numbers, durations, dates. None if a value does not apply."""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from typing import Any

from zlens.catalog.rmf_reports import RmfColumn
from zlens.inputs.unix_time import local_us

#: Maximum number of values in the cache of a converter.
_KEPT = 4_096

_NOTHING = re.compile(r"[-*.]*")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})")
_DURATION = re.compile(r"[0-9]{1,6}(?:[.:][0-9]{2}){1,2}[.:][0-9]{2,3}")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,8}")
_STAMP = re.compile(r"[0-9]{14}")
_DATES = (
    # 04/12/2022-00.30.00, month first: en-us, the only locale that RMF is known to write
    re.compile(
        r"(?P<m>\d\d)/(?P<d>\d\d)/(?P<y>\d{4})[- ](?P<H>\d\d)[.:](?P<M>\d\d)[.:](?P<S>\d\d)", re.ASCII
    ),
    re.compile(
        r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)[-T ](?P<H>\d\d)[.:](?P<M>\d\d)[.:](?P<S>\d\d)", re.ASCII
    ),
)


class NotAValueError(ValueError):
    """The text is not a valid value of its column."""


def is_blank(text: str) -> bool:
    """Return whether a text means no value: blank, or a run of dashes, asterisks or dots."""
    return _NOTHING.fullmatch(text) is not None


def number_text(text: str) -> str:
    """Remove the asterisk that marks a value as changed during the interval."""
    return text.rstrip("* ") if text.endswith("*") else text


def integer(text: str) -> int:
    clean = number_text(text)
    if _INTEGER.fullmatch(clean):
        return int(clean)
    value = decimal(text)
    if value != int(value):
        raise NotAValueError("an integer")
    return int(value)


def hexadecimal(text: str) -> int:
    clean = number_text(text)
    if not _HEXADECIMAL.fullmatch(clean):
        raise NotAValueError("a hexadecimal number")
    return int(clean, 16)


def decimal(text: str) -> float:
    clean = number_text(text)
    if not _DECIMAL.fullmatch(clean):
        raise NotAValueError("a number")
    return float(clean)


def yes_no(text: str) -> bool:
    answer = number_text(text).upper()
    if answer not in {"YES", "NO", "Y", "N"}:
        raise NotAValueError("YES or NO")
    return answer[0] == "Y"


@lru_cache(1024)
def milliseconds(text: str) -> int:
    """Parse a duration into milliseconds.

    Formats: 00.00.30.899 and 0:00:30:899 (h m s ms), 29:59:997 (m s ms), 00.30.00 (h m s). Three final digits
    are milliseconds, which distinguishes the formats with three groups.
    """
    clean = number_text(text)
    if not _DURATION.fullmatch(clean):
        raise NotAValueError("a duration such as 00.00.30.899")
    groups = re.split("[.:]", clean)
    ms = int(groups.pop()) if len(groups[-1]) == 3 else 0
    if not 2 <= len(groups) <= 3 or any(int(group) > 59 for group in groups[1:]):
        raise NotAValueError("a duration such as 00.00.30.899")
    seconds = 0
    for group in groups:
        seconds = seconds * 60 + int(group)
    return seconds * 1000 + ms


@lru_cache(1024)
def local_time(text: str, locale: str | None) -> dt.datetime:
    """Parse a printed date and time without a zone. Hour 24 is midnight of the next day."""
    clean = text.strip()
    for number, pattern in enumerate(_DATES):
        match = pattern.fullmatch(clean)
        if match is None or (number == 0 and (locale or "en-us").lower() != "en-us"):
            continue
        year, month, day, hour, minute, second = (int(match[part]) for part in "ymdHMS")
        is_midnight = hour == 24
        try:
            time = dt.datetime(year, month, day, 0 if is_midnight else hour, minute, second)
            if not 1900 <= year <= 2200:
                break
        except ValueError:
            break
        return time + dt.timedelta(days=1) if is_midnight else time
    raise NotAValueError("a date and time such as 04/12/2022-00.30.00")


def stamp(text: str) -> dt.datetime:
    """Parse a date and time of fourteen digits, such as 20220412042500."""
    try:
        if not _STAMP.fullmatch(text):
            raise ValueError
        time = dt.datetime.strptime(text, "%Y%m%d%H%M%S")
        if not 1900 <= time.year <= 2200:
            raise ValueError
    except ValueError:
        raise NotAValueError("a date and time such as 20220412042500") from None
    return time


def in_zone(local: dt.datetime, zone: dt.tzinfo, *, second: bool = False) -> int:
    """Return a local time in microseconds UTC; `second`: its second occurrence in a repeated hour."""
    return local_us(local) - offset_us(local, zone, second=second)


def offset_us(local: dt.datetime, zone: dt.tzinfo, *, second: bool = False) -> int:
    offset = local.replace(tzinfo=zone, fold=int(second)).utcoffset() or dt.timedelta()
    return offset // dt.timedelta(microseconds=1)


def is_ambiguous(local: dt.datetime, zone: dt.tzinfo) -> bool:
    """Return whether the clock showed this time twice because it was set back."""
    return offset_us(local, zone) > offset_us(local, zone, second=True)


def is_skipped(local: dt.datetime, zone: dt.tzinfo) -> bool:
    """Return whether the clock skipped this time because it was set forward."""
    return offset_us(local, zone) < offset_us(local, zone, second=True)


class Converter:
    """Converts cell text to column values. Equal texts share one object because values repeat."""

    __slots__ = ("cache", "column", "none")

    def __init__(self, column: RmfColumn, not_applicable: tuple[str, ...]) -> None:
        self.column = column
        self.none = {text.upper() for text in (*not_applicable, *column.not_applicable)}
        self.cache: dict[str, Any] = {}

    def convert(self, text: str) -> Any:
        """Return the value of a text. Raises NotAValueError if it is invalid."""
        value = self._value(text)
        if len(self.cache) < _KEPT:
            self.cache[text] = value
        return value

    def _value(self, text: str) -> Any:
        column = self.column
        if column.take == "headed":
            return True
        if is_blank(text) or text.upper() in self.none:
            return None
        if column.take:
            verb, _, operand = column.take.partition(" ")
            if verb == "equals":
                return text == operand
            if verb == "letter":
                letters = text.split()
                if len(letters) < int(operand):
                    raise NotAValueError(f"{operand} letters")
                return yes_no(letters[int(operand) - 1])
            if verb == "hexadecimal":
                return hexadecimal(text)
            inner = re.search(r"\(([^()]*)\)[^()]*$", text)
            return column.rename.get(inner[1], inner[1]) if inner else None
        if column.type == "text":
            return column.rename.get(text, text)
        if column.type == "int":
            return integer(text)
        if column.type == "float":
            return decimal(text)
        if column.type == "bool":
            return yes_no(text)
        return milliseconds(text) / 1000
