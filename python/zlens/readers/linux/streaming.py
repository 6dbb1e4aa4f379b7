"""Following perf stat -I: the counts of an interval are complete when those of the next one begin.

A pipe says neither which system is counted nor when. `heading` adds both as comments, which the reader takes
from any file. Where a stream is cut, a comment says when the interval before it ended.
"""

from __future__ import annotations

import datetime as dt
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zlens.inputs.options import Options
from zlens.readers.linux import perf
from zlens.readers.linux.counters import form_of
from zlens.readers.streaming import CutPoint, RetainedTail

_HEAD = 64 * 1024
_SECOND = 1_000_000
#: No interval gets counts after its end.
_NEVER = 2**62
_EPOCH = dt.datetime(1970, 1, 1)
_FORMS = frozenset({"perf-text", "perf-csv", "perf-json"})


class _Interval(NamedTuple):
    """Lines with one time: their end in the file, the time, and the start of the run, if it is known."""

    end: int
    since_s: float
    started: dt.datetime | None

    @property
    def us(self) -> int:
        begin = (self.started or _EPOCH) - _EPOCH
        return begin // dt.timedelta(microseconds=1) + round(self.since_s * _SECOND)


class PerfStreamFormat:
    """Output of perf stat -I as text, separated values or JSON."""

    #: All counts with one time are one interval.
    shares_intervals = True

    def has_intervals(self, head: bytes) -> bool:
        text = head.decode("utf-8", "replace")
        form, by = _form(head)
        lines = text.splitlines()
        return form in _FORMS and any(perf.interval(line, form, by) is not None for line in lines)

    def missing_header(self, path: str, begin: int, name: str, options: Options) -> bytes:
        """Comments with the system and the start of the run, as far as the stream lacks them.

        A file is named as the reader names it. What comes from a pipe is counted here and now.
        """
        with open(path, "rb") as file:
            file.seek(begin)
            head = file.read(_HEAD)
        is_file = os.path.exists(name) and stat.S_ISREG(os.stat(name).st_mode)
        text = head.decode("utf-8", "replace")
        host = None
        if perf.host(text) is None:
            host = f"unknown-{Path(name).stem}" if is_file else socket.gethostname()
        started = None
        form, by = _form(head)
        if not is_file and not any(perf.start(line) for line in text.splitlines()):
            since = [perf.interval(line, form, by) for line in text.splitlines()]
            first_s = next((one for one in since if one is not None), 0.0)
            now = dt.datetime.fromtimestamp(time.time() - first_s, dt.UTC).astimezone(options.tz)
            started = now.replace(tzinfo=None)
        return perf.heading(host, started).encode()

    def is_wrapped(self, path: str) -> bool:
        return False

    def unwrap(self, path: str, into: str) -> int:
        return 0

    def write_times(self, path: str) -> list[tuple[int, int]]:
        newest, moments = 0, []
        for interval in _intervals(path):
            newest = max(newest, interval.us)
            moments.append((newest, interval.end))
        return moments

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        # The reader tells of moments that come again.
        return []

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """All intervals but the last, whose lines may still come; after a silence that one, too."""
        intervals = [*_intervals(path)]
        if not (silent or ended):
            intervals = intervals[:-1]
        if not intervals:
            return None
        end = intervals[-1].end
        # Behind a cut, times count from a start that is told before it: the clock says how long a part is.
        return CutPoint(end, end, time.time_ns() // 1_000, None, _NEVER)

    def keep_tail(
        self, path: str, begin: int, fresh: int, end: int, into: str, options: Options, oldest_us: int
    ) -> RetainedTail:
        """Comments alone: of the system, the start, the columns, and when the last interval ended."""
        with open(into, "wb") as file:
            file.write(_comments(path, end))
        return RetainedTail(0, 0)

    def write_part_header(self, path: str, into: str, options: Options) -> None:
        """The same comments."""
        with open(path, "rb") as source, open(into, "wb") as file:
            file.write(source.read())

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        # No interval was kept.
        return set()


def _form(head: bytes) -> tuple[str, str]:
    """The form of a stream, "" if it is none of perf, and what separates its values."""
    text = head.decode("utf-8", "replace")
    form = form_of(head) or ""
    if not form and any(perf.interval(line, "perf-text", "") is not None for line in text.splitlines()[:60]):
        # Its columns stand before a cut.
        form = "perf-text"
    return form, (perf.separator(text) if form == "perf-csv" else None) or ","


def _intervals(path: str) -> Iterator[_Interval]:
    """The intervals of a stream; lines without a time belong to the interval before them."""
    with open(path, "rb") as file:
        form, by = _form(file.read(_HEAD))
        file.seek(0)
        started: dt.datetime | None = None
        now: _Interval | None = None
        end = 0
        for line in file:
            if not line.endswith(b"\n"):
                break
            text = line.decode("utf-8", "replace")
            since = None if text.startswith("#") else perf.interval(text.rstrip(), form, by)
            begun = perf.start(text) if text.startswith("#") else None
            if now is not None and (begun is not None or (since is not None and since != now.since_s)):
                yield now._replace(end=end)
                now = None
            started = begun or started
            if since is not None and now is None:
                now = _Interval(0, since, started)
            end += len(line)
        if now is not None:
            yield now._replace(end=end)


def _comments(path: str, end: int) -> bytes:
    """What stands before an interval: comments of the stream, the latest of each, and when one ended."""
    host = started = columns = after = ""
    last: _Interval | None = None
    for interval in _intervals(path):
        if interval.end <= end:
            last = interval
    with open(path, "rb") as file:
        for line in file.read(end).splitlines():
            text = line.decode("utf-8", "replace")
            if not text.startswith("#"):
                continue
            if (named := perf.host(text)) is not None:
                host = perf.heading(named, None)
            elif (begun := perf.start(text)) is not None:
                started, after = perf.heading(None, begun), ""
            elif perf.is_text(text):
                columns = text + "\n"
            else:
                after = text + "\n" if text.startswith("# after ") else after
    if last is not None:
        after = perf.interval_comment(last.since_s)
    return (host + started + columns + after).encode()


FORM = PerfStreamFormat()
