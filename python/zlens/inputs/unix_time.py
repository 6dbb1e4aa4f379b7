"""Times as microseconds since 1970."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
#: The year 2200, before which valid times are.
LATEST_US = 7_258_118_400_000_000


def from_unix_us(us: int) -> dt.datetime:
    """Return a time in UTC; OverflowError if Python cannot represent it."""
    return EPOCH + dt.timedelta(microseconds=us)


def time_range(times: Iterable[int | None]) -> tuple[int | None, int | None]:
    """Return the first and the last known time; None if none is known."""
    known = [time for time in times if time is not None]
    return min(known, default=None), max(known, default=None)


def local_us(time: dt.datetime) -> int:
    """Return a time without a zone in microseconds since 1970, as if it were UTC."""
    return to_unix_us(time.replace(tzinfo=dt.UTC))


def to_unix_us(time: dt.datetime) -> int:
    """Return microseconds since 1970, exact unlike a float of seconds."""
    return (time - EPOCH) // dt.timedelta(microseconds=1)
