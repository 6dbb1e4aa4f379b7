"""How times and missing values look in the classic text reports; numbers: `crates/text/src/number.rs`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

Value = object
Display = Callable[[datetime], datetime]


def dots(width: int) -> str:
    return "." * width


def clock(when: datetime) -> str:
    return when.strftime("%H:%M:%S")


def day(when: datetime) -> str:
    return when.strftime("%Y/%m/%d")


def stamp(when: datetime) -> str:
    return when.strftime("%Y/%m/%d %H:%M:%S")
