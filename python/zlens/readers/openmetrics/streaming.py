"""Following scrapes: each arrives whole and is an interval of its own.

A scrape has no time. `stamped` adds time stamps where the Prometheus text format has them, so that a kept
scrape reads like any saved one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from zlens.catalog.openmetrics import EXPORTERS, load_exporter
from zlens.inputs.options import Options
from zlens.readers.openmetrics.text import LONGEST_S, number, sample
from zlens.readers.streaming import CutPoint, RetainedTail


def add_timestamps(text: bytes, ms: int) -> bytes:
    """The scrape with a time stamp, in milliseconds since 1970, on every sample that lacks one."""
    prefixes = _prefixes()
    lines = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(prefixes):
            found = sample(bare.decode("utf-8", "replace"))
            if found is not None and found.us is None:
                bare += b" %d" % ms
        # OpenMetrics ends so; others stand behind it here.
        lines.append(b"" if bare == b"# EOF" else bare)
    return b"".join(line + b"\n" for line in lines if line)


def has_known_samples(text: bytes) -> bool:
    """Whether a text has a sample of a known program."""
    return any(line.startswith(_prefixes()) for line in text.splitlines())


def interval_s(text: bytes) -> float | None:
    """Seconds that the values of a scrape are of; None: it does not say, or says several."""
    names = tuple(name.encode() for each in EXPORTERS if (name := load_exporter(each).interval))
    lengths = set()
    for line in text.splitlines():
        if line.startswith(names):
            found = sample(line.decode("utf-8", "replace").strip())
            if found is not None and found.name.encode() in names:
                with suppress(ValueError):
                    lengths.add(number(found.value))
    length = lengths.pop() if len(lengths) == 1 else 0.0
    return length if 0 < length <= LONGEST_S else None


def _prefixes() -> tuple[bytes, ...]:
    return tuple(load_exporter(name).prefix.encode() for name in EXPORTERS)


class ScrapeStreamFormat:
    """Scrapes of one of EXPORTERS, one behind the other, with time stamps."""

    #: The samples of a system at one moment are one interval, whatever table they are in.
    shares_intervals = True

    def __init__(self, name: str) -> None:
        self._name = name

    def has_intervals(self, head: bytes) -> bool:
        return True

    def missing_header(self, path: str, begin: int, name: str, options: Options) -> bytes:
        return b""

    def is_wrapped(self, path: str) -> bool:
        return False

    def unwrap(self, path: str, into: str) -> int:
        return 0

    def write_times(self, path: str) -> list[tuple[int, int]]:
        newest, moments = 0, []
        for us, end in self._samples(path):
            if us > newest:
                newest = us
                moments.append((us, end))
            elif moments:
                moments[-1] = (newest, end)
        return moments

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        """Byte ranges of samples whose moment is closed. The reader reports other duplicates."""
        ranges: list[tuple[int, int]] = []
        begin = 0
        for us, end in self._samples(path):
            if us in known:
                if ranges and ranges[-1][1] == begin:
                    begin = ranges.pop()[0]
                ranges.append((begin, end))
            begin = end
        return ranges

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """All whole lines: a source gives whole scrapes."""
        samples = [*self._samples(path)]
        if not samples:
            return None
        newest, end = max(us for us, _ in samples), samples[-1][1]
        return CutPoint(end, end, newest, None, newest)

    def keep_tail(
        self, path: str, begin: int, fresh: int, end: int, into: str, options: Options, oldest_us: int
    ) -> RetainedTail:
        """Nothing: no value is compared with an earlier one."""
        open(into, "wb").close()
        return RetainedTail(0, 0)

    def write_part_header(self, path: str, into: str, options: Options) -> None:
        """Every scrape stands for itself."""
        open(into, "wb").close()

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        # Nothing was kept.
        return set()

    def _samples(self, path: str) -> Iterator[tuple[int, int]]:
        """Time in microseconds and end of line of each sample that has a time stamp."""
        prefix = load_exporter(self._name).prefix.encode()
        size = os.stat(path).st_size
        end = 0
        with open(path, "rb") as file:
            for line in file:
                end += len(line)
                if end > size or not line.endswith(b"\n"):
                    return
                if line.startswith(prefix):
                    found = sample(line.decode("utf-8", "replace").strip())
                    if found is not None and found.us:
                        yield found.us, end
