"""Following scrapes of an HMC exporter: each arrives whole and is an interval of its own.

A scrape has no time. `stamped` adds time stamps where the Prometheus text format has them, so that a kept
scrape reads like any saved one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from zlens.inputs.options import Options
from zlens.readers.following import Cut, Last
from zlens.readers.hmc.exporter import PREFIX, sample_time

_PREFIX = PREFIX.encode()


def stamped(text: bytes, ms: int) -> bytes:
    """The scrape with a time stamp, in milliseconds since 1970, on every sample that lacks one."""
    lines = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(_PREFIX) and sample_time(bare.decode("utf-8", "replace")) == 0:
            bare += b" %d" % ms
        lines.append(bare)
    return b"".join(line + b"\n" for line in lines if line)


def has_samples(text: bytes) -> bool:
    """Whether a text has a sample of the exporter."""
    return re.search(rb"(?m)^" + _PREFIX, text) is not None


class Scrapes:
    """Scrapes, one behind the other, with time stamps."""

    #: The samples of a machine at one moment are one interval, whatever table they are in.
    together = True

    def follows(self, head: bytes) -> bool:
        return True

    def heading(self, path: str, begin: int, name: str, options: Options) -> bytes:
        return b""

    def wrapped(self, path: str) -> bool:
        return False

    def unwrap(self, path: str, into: str) -> int:
        return 0

    def moments(self, path: str) -> list[tuple[int, int]]:
        newest, moments = 0, []
        for us, end in _samples(path):
            if us > newest:
                newest = us
                moments.append((us, end))
            elif moments:
                moments[-1] = (newest, end)
        return moments

    def repeated(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        """Byte ranges of samples whose moment is closed. The reader reports other duplicates."""
        ranges: list[tuple[int, int]] = []
        begin = 0
        for us, end in _samples(path):
            if us in known:
                if ranges and ranges[-1][1] == begin:
                    begin = ranges.pop()[0]
                ranges.append((begin, end))
            begin = end
        return ranges

    def cut(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> Cut | None:
        """All whole lines: a source gives whole scrapes."""
        samples = [*_samples(path)]
        if not samples:
            return None
        newest, end = max(us for us, _ in samples), samples[-1][1]
        return Cut(end, end, newest, None, newest)

    def last(
        self, path: str, begin: int, fresh: int, end: int, into: str, options: Options, oldest_us: int
    ) -> Last:
        """Nothing: no value is compared with an earlier one."""
        open(into, "wb").close()
        return Last(0, 0)

    def begin(self, path: str, into: str, options: Options) -> None:
        """Every scrape stands for itself."""
        open(into, "wb").close()

    def ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        # Nothing was kept.
        return set()


def _samples(path: str) -> Iterator[tuple[int, int]]:
    """Time in microseconds and end of line of each sample that has a time stamp."""
    size = os.stat(path).st_size
    end = 0
    with open(path, "rb") as file:
        for line in file:
            end += len(line)
            if end > size or not line.endswith(b"\n"):
                return
            if line.startswith(_PREFIX) and (us := sample_time(line.decode("utf-8", "replace").strip())):
                yield us, end


FORM = Scrapes()
