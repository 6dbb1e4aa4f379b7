"""Times of Linux counters: local, UTC or since the start of a run, depending on the tool."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from msgspec import Struct

from zlens.inputs.source import SystemInfo
from zlens.inputs.unix_time import local_us, to_unix_us
from zlens.readers.linux.perf import PerfReading

_SECOND = 1_000_000


class ReadingClock(Struct):
    """The times of the readings of one file."""

    _info: SystemInfo
    _note: Callable[[str, str, int | None], None]
    _zone: dt.tzinfo | None
    _run: int = -1
    _previous_since_s: float = 0.0
    _last_us: int | None = None
    _run_start_us: int = 0
    _is_local_reported: bool = False

    def end_and_length(self, reading: PerfReading) -> tuple[int, float | None]:
        """Return the end of a reading in microseconds UTC, and its length in seconds."""
        is_new_run = reading.run != self._run
        self._run = reading.run
        if is_new_run:
            self._previous_since_s = 0.0
        if reading.after_s is not None:
            self._previous_since_s = reading.after_s
        if is_new_run:
            self._run_start_us = self._last_us or 0
        seconds = reading.seconds
        if reading.since_s is not None:
            seconds = reading.since_s - self._previous_since_s
            self._previous_since_s = reading.since_s
        if reading.epoch_s is not None:
            end = reading.epoch_s * _SECOND
            if reading.local is not None:
                self._info.utc_offset_s = round(local_us(reading.local) / _SECOND) - reading.epoch_s
        elif reading.local is not None:
            end = self._utc(reading.local, None if is_new_run else self._last_us, reading.offset)
            end += round((reading.since_s if reading.since_s is not None else seconds or 0) * _SECOND)
        else:
            detail = "the file has no time of day; times count from 1970 at the beginning of the file"
            self._note_local(detail, reading.offset)
            elapsed_s = reading.since_s if reading.since_s is not None else seconds or 1.0
            end = self._run_start_us + round(elapsed_s * _SECOND)
        if reading.since_s is None and seconds is None and not is_new_run and self._last_us is not None:
            difference_s = (end - self._last_us) / _SECOND
            seconds = difference_s if difference_s > 0 else None
        if self._last_us is not None and end < self._last_us:
            self._note("time", "a sample follows one with a later time", reading.offset)
        self._last_us = end
        return end, seconds

    def _utc(self, local: dt.datetime, last: int | None, offset: int) -> int:
        zone = self._zone
        if zone is None:
            self._note_local("times are local and the time zone is unknown; set it (option tz)", offset)
            return local_us(local)
        aware = local.replace(tzinfo=zone)
        if last is not None and to_unix_us(aware) <= last:
            # In a repeated hour, the second occurrence comes later.
            aware = local.replace(tzinfo=zone, fold=1)
        shift = aware.utcoffset()
        self._info.utc_offset_s = round(shift.total_seconds()) if shift is not None else None
        return to_unix_us(aware)

    def _note_local(self, detail: str, offset: int) -> None:
        self._info.local_time = True
        if not self._is_local_reported:
            self._is_local_reported = True
            self._note("zone", detail, offset)
