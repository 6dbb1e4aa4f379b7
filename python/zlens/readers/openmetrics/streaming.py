"""Scrapes in a stream: each arrives completely and is an interval of its own.

A scrape has no time. `add_timestamps` adds timestamps as in the Prometheus text format, so a stored scrape is
read like any saved one.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import suppress

from zlens.catalog.openmetrics import EXPORTERS, load_exporter
from zlens.inputs.options import Options
from zlens.readers.openmetrics.text import LONGEST_S, number, sample
from zlens.readers.streaming import CutPoint, StreamFormat


def add_timestamps(text: bytes, ms: int) -> bytes:
    """Return the scrape with a timestamp, in milliseconds since 1970, on every sample without one."""
    prefixes = _prefixes()
    lines = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(prefixes):
            parsed = sample(bare.decode("utf-8", "replace"))
            if parsed is not None and parsed.us is None:
                bare += b" %d" % ms
        # OpenMetrics ends with this line; more scrapes follow here.
        lines.append(b"" if bare == b"# EOF" else bare)
    return b"".join(line + b"\n" for line in lines if line)


def has_known_samples(text: bytes) -> bool:
    """Return whether a text has a sample of a known program."""
    return any(line.startswith(_prefixes()) for line in text.splitlines())


def interval_s(text: bytes) -> float | None:
    """Return the interval length of a scrape in seconds; None if it has none or several."""
    names = tuple(name.encode() for one in EXPORTERS if (name := load_exporter(one).interval))
    lengths = set()
    for line in text.splitlines():
        if line.startswith(names):
            parsed = sample(line.decode("utf-8", "replace").strip())
            if parsed is not None and parsed.name.encode() in names:
                with suppress(ValueError):
                    lengths.add(number(parsed.value))
    length = lengths.pop() if len(lengths) == 1 else 0.0
    return length if 0 < length <= LONGEST_S else None


def _prefixes() -> tuple[bytes, ...]:
    return tuple(load_exporter(name).prefix.encode() for name in EXPORTERS)


class ScrapeStreamFormat(StreamFormat):
    """Consecutive scrapes of one of EXPORTERS, with timestamps; each is self-contained."""

    def __init__(self, name: str) -> None:
        self._name = name

    def records(self, path: str) -> Iterator[tuple[int, int]]:
        """Yield consecutive samples of one time together."""
        for us, samples in itertools.groupby(self._samples(path), key=lambda sample: sample[0]):
            yield us, max(end for _, end in samples)

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        """Return the byte ranges of samples whose interval is closed. The reader reports other duplicates."""
        ranges: list[tuple[int, int]] = []
        start = 0
        for us, end in self.records(path):
            if us in known:
                if ranges and ranges[-1][1] == start:
                    start = ranges.pop()[0]
                ranges.append((start, end))
            start = end
        return ranges

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """Return a cut point after all complete lines, because a source provides complete scrapes."""
        scrapes = [*self.records(path)]
        if not scrapes:
            return None
        newest, end = max(us for us, _ in scrapes), scrapes[-1][1]
        return CutPoint(end, end, newest, None, newest)

    def _samples(self, path: str) -> Iterator[tuple[int, int]]:
        """Yield time in microseconds and line end offset of each sample with a timestamp."""
        prefix = load_exporter(self._name).prefix.encode()
        size = os.stat(path).st_size
        end = 0
        with open(path, "rb") as file:
            for line in file:
                end += len(line)
                if end > size or not line.endswith(b"\n"):
                    return
                if line.startswith(prefix):
                    parsed = sample(line.decode("utf-8", "replace").strip())
                    if parsed is not None and parsed.us:
                        yield parsed.us, end
