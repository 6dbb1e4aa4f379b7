"""Times as microseconds since 1970."""

from __future__ import annotations

import datetime as dt

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def from_unix_us(us: int) -> dt.datetime:
    """A time in UTC; OverflowError if Python has no such time."""
    return EPOCH + dt.timedelta(microseconds=us)


def to_unix_us(time: dt.datetime) -> int:
    """Exact, unlike a timestamp in seconds."""
    return (time - EPOCH) // dt.timedelta(microseconds=1)
