"""Output of perf stat -I in a stream: the counts of an interval are complete when the next one starts.

A pipe identifies neither the system nor the time. `heading` adds both as comments, which the reader accepts
in any file. Where a stream is split, a comment records the end of the previous interval.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from zlens.inputs.options import Options
from zlens.inputs.unix_time import local_us
from zlens.readers.linux import perf
from zlens.readers.linux.counter_forms import form_of
from zlens.readers.streaming import CutPoint, DecodedWindow, StreamFormat

_HEAD = 64 * 1024
_SECOND = 1_000_000
#: No interval gets counts after its end.
_NEVER = 2**62
_FORMS = frozenset({"perf-text", "perf-csv", "perf-json"})


class _Interval(NamedTuple):
    """Lines with one time: their end in the file, the time, and the start of the run, if known."""

    end: int
    since_s: float
    started: dt.datetime | None

    @property
    def us(self) -> int:
        return (local_us(self.started) if self.started else 0) + round(self.since_s * _SECOND)


class PerfStreamFormat(StreamFormat):
    """Output of perf stat -I as text, separated values or JSON."""

    def has_intervals(self, first_bytes: bytes) -> bool:
        text = first_bytes.decode("utf-8", "replace")
        form, by = _form(first_bytes)
        lines = text.splitlines()
        return form in _FORMS and any(perf.interval(line, form, by) is not None for line in lines)

    def missing_header(self, path: str, start: int, name: str, options: Options) -> bytes:
        """Return comments with the system and the start of the run, if the stream has none.

        A file is named like the reader names it. Data from a pipe is counted on this system at this time.
        """
        with open(path, "rb") as file:
            file.seek(start)
            first_bytes = file.read(_HEAD)
        is_file = os.path.exists(name) and stat.S_ISREG(os.stat(name).st_mode)
        text = first_bytes.decode("utf-8", "replace")
        host = None
        if perf.host(text) is None:
            host = f"unknown-{Path(name).stem}" if is_file else socket.gethostname()
        started = None
        form, by = _form(first_bytes)
        if not is_file and not any(perf.start(line) for line in text.splitlines()):
            since = [perf.interval(line, form, by) for line in text.splitlines()]
            first_s = next((since_s for since_s in since if since_s is not None), 0.0)
            now = dt.datetime.fromtimestamp(time.time() - first_s, dt.UTC).astimezone(options.tz)
            started = now.replace(tzinfo=None)
        return perf.heading(host, started).encode()

    def records(self, path: str) -> Iterator[tuple[int, int]]:
        for interval in _intervals(path):
            yield interval.us, interval.end

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """Return a cut point after all intervals, or before the last one if its lines may be incomplete."""
        intervals = [*_intervals(path)]
        if not (silent or ended):
            intervals = intervals[:-1]
        if not intervals:
            return None
        end = intervals[-1].end
        # After a cut point, times count from a start in a comment, so the clock measures the length of a
        # part.
        return CutPoint(end, end, time.time_ns() // 1_000, None, _NEVER)

    def keep_tail(self, window: DecodedWindow, target_path: str, options: Options, retain_us: int) -> int:
        """Write only comments: the system, the start, the columns, and the end of the last interval."""
        Path(target_path).write_bytes(_comments(window.path, window.end))
        return 0

    def write_part_header(self, path: str, target_path: str, options: Options) -> None:
        """Write the comments of the retained tail."""
        shutil.copyfile(path, target_path)


def _form(first_bytes: bytes) -> tuple[str, str]:
    """Return the format of a stream, "" if it is not output of perf, and the separator of its values."""
    text = first_bytes.decode("utf-8", "replace")
    form = form_of(first_bytes) or ""
    if not form and any(perf.interval(line, "perf-text", "") is not None for line in text.splitlines()[:60]):
        # Its column headings are before a cut point.
        form = "perf-text"
    return form, (perf.separator(text) if form == "perf-csv" else None) or ","


def _intervals(path: str) -> Iterator[_Interval]:
    """Yield the intervals of a stream; lines without a time belong to the previous interval."""
    with open(path, "rb") as file:
        form, by = _form(file.read(_HEAD))
        file.seek(0)
        started: dt.datetime | None = None
        interval: _Interval | None = None
        end = 0
        for line in file:
            if not line.endswith(b"\n"):
                break
            text = line.decode("utf-8", "replace")
            since = None if text.startswith("#") else perf.interval(text.rstrip(), form, by)
            run_start = perf.start(text) if text.startswith("#") else None
            if interval and (run_start or (since is not None and since != interval.since_s)):
                yield interval._replace(end=end)
                interval = None
            started = run_start or started
            if since is not None and interval is None:
                interval = _Interval(0, since, started)
            end += len(line)
        if interval is not None:
            yield interval._replace(end=end)


def _comments(path: str, end: int) -> bytes:
    """Return the header of an interval: the latest comment of each kind, and the previous interval end."""
    host = started = columns = interval_comment = ""
    last: _Interval | None = None
    for interval in _intervals(path):
        if interval.end <= end:
            last = interval
    with open(path, "rb") as file:
        for line in file.read(end).splitlines():
            text = line.decode("utf-8", "replace")
            if not text.startswith("#"):
                continue
            if (host_name := perf.host(text)) is not None:
                host = perf.heading(host_name, None)
            elif (run_start := perf.start(text)) is not None:
                started, interval_comment = perf.heading(None, run_start), ""
            elif perf.is_text(text):
                columns = text + "\n"
            else:
                interval_comment = text + "\n" if text.startswith("# after ") else interval_comment
    if last is not None:
        interval_comment = perf.interval_comment(last.since_s)
    return (host + started + columns + interval_comment).encode()


FORM = PerfStreamFormat()
