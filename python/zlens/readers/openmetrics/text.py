"""Lines of the Prometheus text format and of OpenMetrics."""

from __future__ import annotations

import re

from msgspec import Struct

#: Maximum length of an interval that a program may report, in seconds.
LONGEST_S = 86_400.0
#: Timestamps below this are in seconds, as in OpenMetrics, others in milliseconds, as in the Prometheus text
#: format. As milliseconds, this limit is in the year 1973, as seconds in the year 5138.
_SECONDS_BELOW = 10**11

_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(\{.*\})?\s+(\S+)(?:\s+(-?\d{1,16}(?:\.\d{1,9})?))?\s*\Z")
_LABEL = re.compile(r'\s*([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|\Z)')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_MAX_DESCRIPTIONS = 10_000


class Sample(Struct, frozen=True):
    """A line with a value, of which only the name and the time are parsed.

    labels  as written, with their braces
    us      microseconds since 1970; None: the line has no timestamp
    """

    name: str
    labels: str
    value: str
    us: int | None


def sample(line: str) -> Sample | None:
    """Return the sample in a line; None if the line is not a sample."""
    match = _SAMPLE.match(line)
    if match is None:
        return None
    return Sample(match[1], match[2] or "", match[3], _microseconds(match[4]) if match[4] else None)


def _microseconds(timestamp: str) -> int:
    integer, _, decimals = timestamp.partition(".")
    if decimals or abs(int(integer)) < _SECONDS_BELOW:
        fraction = int(decimals.ljust(6, "0")[:6])
        return int(integer) * 1_000_000 + (-fraction if integer.startswith("-") else fraction)
    return int(integer) * 1000


def labels(text: str) -> dict[str, str]:
    """Return the labels of a sample. Raises ValueError if they are malformed or contain a duplicate."""
    values: dict[str, str] = {}
    inner = text[1:-1]
    position = 0
    while position < len(inner):
        label = _LABEL.match(inner, position)
        if not label or label[1] in values:
            raise ValueError("malformed labels")
        values[label[1]] = re.sub(r'\\[\\"n]', lambda escape: _ESCAPES[escape[0]], label[2])
        position = label.end()
    return values


def number(text: str) -> float:
    """Parse a value. Raises ValueError if it is not a number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("a value that is not a number") from None


class Descriptions:
    """Types and descriptions of the metrics of a text, from its comments."""

    def __init__(self) -> None:
        self._all: dict[str, tuple[str | None, str | None]] = {}

    def add(self, line: str) -> None:
        """Parse a comment."""
        words = line.split(maxsplit=3)
        if len(words) == 4 and words[1] in ("HELP", "TYPE") and len(self._all) < _MAX_DESCRIPTIONS:
            kind, text = self._all.get(words[2], (None, None))
            self._all[words[2]] = (kind, words[3]) if words[1] == "HELP" else (words[3], text)

    def of(self, name: str) -> tuple[str | None, str | None]:
        """Return type and description of a metric. OpenMetrics names a counter without its last part."""
        return self._all.get(name) or self._all.get(name.removesuffix("_total")) or (None, None)
