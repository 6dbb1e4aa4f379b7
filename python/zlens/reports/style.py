"""Times and missing values in the classic text reports; numbers are in `crates/text/src/number.rs`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

Value = object
Display = Callable[[datetime], datetime]


def dots(width: int) -> str:
    return "." * width


def clock(time: datetime) -> str:
    return time.strftime("%H:%M:%S")


def day(time: datetime) -> str:
    return time.strftime("%Y/%m/%d")


def stamp(time: datetime) -> str:
    return time.strftime("%Y/%m/%d %H:%M:%S")
