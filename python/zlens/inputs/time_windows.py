"""Windows of time as people write them: `9:00-9:30`, `yesterday 14-16`, `last hour`.

A window is one or two times of `parse_time_spec`; hours need no minutes.
"""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_right
from collections.abc import Sequence

from zlens.errors import QueryError
from zlens.inputs.options import DAY, TimeSpec, parse_time_spec
from zlens.inputs.unix_time import from_unix_us, to_unix_us

Window = tuple[dt.datetime, dt.datetime]

EXAMPLES = (
    "something like 9:00, 9:00-9:30, yesterday 14-16, monday, last hour, last 30 min "
    "or 2026-07-14 14:00 to 16:00"
)
_DATE = rf"(?:\d{{4}}[-/]\d\d[-/]\d\d|{DAY})"
_TIME = rf"(?:{_DATE}(?:[ t]+\d{{1,2}}(?::\d\d){{0,2}})?|\d{{1,2}}(?::\d\d){{0,2}})"
_WINDOW = rf"(?P<start>{_TIME})(?:\s*(?:-|to|until)\s*(?P<end>{_TIME}))?"
_HOUR = dt.timedelta(hours=1)
_DAY = dt.timedelta(days=1)


def parse_window(text: str, last: dt.datetime, zone: dt.tzinfo, day: dt.date | None = None) -> Window:
    """Return the start and end of a window, in UTC; QueryError with examples for other texts.

    A time of day alone is the hour from it, a date alone the whole day. Times of day are on `day`, by default
    the last day on which the window begins before the end of the data, `last`. A window whose end is a time
    of day before its start ends a day later.
    """
    clean = " ".join(text.lower().replace("\u2013", "-").replace("\u2014", "-").split())
    match = re.fullmatch(_WINDOW, clean)
    parts = match.group("start", "end") if match else (text, None)
    try:
        specs = [_spec(part) for part in parts if part is not None]
    except QueryError:
        raise QueryError(f"{text!r} is not a time or window", expected=EXAMPLES) from None
    start, *rest = (spec.at_end(to_unix_us(last), zone) for spec in specs)
    if specs[0].back_s is not None:
        return start.utc(zone, last.date()), last
    first = start.utc(zone, day or last.astimezone(zone).date())
    if start.date is None and day is None and first >= last:
        first -= _DAY
    is_day = [re.fullmatch(_DATE, part) is not None for part in parts if part]
    if not rest:
        return first, first + (_DAY if is_day[0] else _HOUR)
    [end] = rest
    until = end.utc(zone, first.astimezone(zone).date())
    if is_day[1] or (until <= first and end.date is None):
        until += _DAY
    if until <= first:
        raise QueryError(f"{text!r} ends before it begins", expected=EXAMPLES)
    return first, until


def _spec(text: str) -> TimeSpec:
    """Parse a time whose hour may have no minutes; 24 is midnight."""
    with_minutes = re.sub(r"(^|[ t])(\d{1,2})$", r"\1\2:00", text)
    spec = parse_time_spec("00:00" if with_minutes == "24:00" else with_minutes)
    if spec.date is not None and not 1900 < spec.date.year < 2200:
        raise QueryError(f"{text!r} is not a time")
    return spec


def other_days(window: Window, ends_us: Sequence[int], most: int) -> list[Window]:
    """Return the same hours of other days that have intervals: the nearest `most` days, in order of time.

    A window of more than a day has no other days.

    ends_us: the interval ends of the system in order of time, in microseconds since 1970, UTC
    """
    start, end = window
    if not ends_us or end - start > _DAY:
        return []
    first, last = from_unix_us(ends_us[0]), from_unix_us(ends_us[-1])
    days = range((first - end) // _DAY, (last - start) // _DAY + 1)
    windows = []
    for number in sorted(days, key=abs):
        shift = number * _DAY
        at = bisect_right(ends_us, to_unix_us(start + shift))
        if number and at < len(ends_us) and ends_us[at] <= to_unix_us(end + shift):
            windows.append((start + shift, end + shift))
        if len(windows) == most:
            break
    return sorted(windows)
