"""Options that apply to any query: systems, times and presentation.

Times without a zone are local times of the system concerned (UTC with `utc`). Words such as yesterday relate
to the end of the system's data.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.errors import QueryError
from zlens.inputs.identity import KnownSystem
from zlens.inputs.unix_time import from_unix_us, to_unix_us

#: Value of `source`: measures have the rows of every source, even if they repeat each other.
ALL = "all"
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

#: Compiled when used, because most commands use none of these.
_DURATION = r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?"
_CLOCK = r"(\d{1,2}):(\d{2})(?::(\d{2}))?"
#: A day relative to the last day of the data, optionally with a time of day.
DAY = r"today|yesterday|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
_DAY = rf"(?P<day>{DAY})(?:\s+(?P<clock>[\d:]+))?"
_LAST = r"last\s+(?P<number>\d{1,4})?\s*(?P<unit>[a-z]+?)s?"
#: Seconds of the units of `last 2 hours`.
_UNITS = {
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("m", "min", "minute"), 60),
    **dict.fromkeys(("h", "hour"), 3600),
    **dict.fromkeys(("d", "day"), 86400),
    "week": 7 * 86400,
}
_AFTER_MIDNIGHT_US = 60_000_000
_OFFSET = r"([+-])(\d{1,2}):?(\d{2})"
_SHIFT = r"(?:(?P<days>[A-Za-z,\- ]+?)\s+)?(?P<start>\d{1,2}:\d{2})\s*-\s*(?P<end>\d{1,2}:\d{2})"


class TimeSpec(Struct, frozen=True):
    """A time on the command line: a date with a time, a time of day on every date, or relative to the end.

    day     first three letters of `today` (the last day of the data), `yesterday` or a day of the week
    back_s  seconds before the end of the data
    """

    date: dt.date | None
    time: dt.time
    zone: dt.tzinfo | None = None
    day: str | None = None
    back_s: int | None = None

    @classmethod
    def from_utc(cls, time: dt.datetime) -> TimeSpec:
        return cls(time.date(), time.time(), dt.UTC)

    def utc(self, zone: dt.tzinfo, day: dt.date) -> dt.datetime:
        """Return the time in UTC; `zone` and `day` are the defaults if it names none."""
        local = dt.datetime.combine(self.date or day, self.time, tzinfo=self.zone or zone)
        return local.astimezone(dt.UTC)

    def at_end(self, last_us: int | None, zone: dt.tzinfo) -> TimeSpec:
        """Return the time with a date if it is relative to the end of the data, `last_us` since 1970, UTC."""
        if last_us is None or (self.day is None and self.back_s is None):
            return self
        if self.back_s is not None:
            return TimeSpec.from_utc(from_unix_us(last_us - self.back_s * 1_000_000))
        # Data of a day may end moments after midnight.
        last = from_unix_us(last_us - _AFTER_MIDNIGHT_US).astimezone(self.zone or zone).date()
        weekday = WEEKDAYS.index(self.day) if self.day in WEEKDAYS else last.weekday()
        back = 1 if self.day == "yes" else (last.weekday() - weekday) % 7
        return replace(self, date=last - dt.timedelta(days=back), day=None)

    def us(self, zone: dt.tzinfo, last_us: int | None) -> int | None:
        """Return the time in microseconds since 1970, UTC; None for a time of day. Data end at `last_us`."""
        dated = self.at_end(last_us, zone)
        return None if dated.date is None else to_unix_us(dated.utc(zone, dated.date))


class Shift(Struct, frozen=True):
    """Hours of some days of the week, in the system's local time. A shift may run over midnight."""

    days: frozenset[int]
    start: dt.time
    end: dt.time

    def contains(self, local: dt.datetime) -> bool:
        """Return whether an interval that ends at `local` is in the shift (only its end counts)."""
        clock, day = local.time(), local.weekday()
        if self.start < self.end:
            return day in self.days and self.start < clock <= self.end
        if clock > self.start:
            return day in self.days
        return clock <= self.end and (day - 1) % 7 in self.days


class Options(Struct, frozen=True):
    """Options that every command shares.

    systems       only these systems; empty: all
    source        the source whose rows measures have if several describe a system; None: the one with the
                  longest recording; ALL: every source
    start, end    only intervals that end after start and not after end
    shift         only intervals of this shift
    peak_minutes  only the busiest time range of this length, per system
    every_s       sum intervals up to this length
    tz            zone of sources that have only local times
    date          date of listings and lines without one
    utc           show times in UTC instead of the system's local time
    leap          leap seconds to subtract from TOD values; None: as recorded, else 0
    allow_unverified  include metrics whose formula no source confirms
    weights       file with the user's own numbers for RNI and finite CPI
    group         file with the user's groups of guests, devices, volumes and partitions (catalog/groups.py)
    group_lines   the lines of such a file, in place of it
    throughput    CSV file with the throughput of an application (readers/throughput/table.py)
    throughput_columns   meaning of its columns: 'time=When,rate=Load:per min'
    throughput_offset_s  seconds to add to its times to match the system's clock
    as_published  round ITR as published tables do
    kept_days     ledgers also have the days of a lake whose raw tables are removed, from its measures by day;
                  these have no groups, so that amounts of groups are those of their members, added
    known         systems of other inputs; a system of the same name that contradicts them gets another name
    address       where scrapes were polled; systems of one label at two addresses are two
    """

    systems: tuple[str, ...] = ()
    source: str | None = None
    start: TimeSpec | None = None
    end: TimeSpec | None = None
    shift: Shift | None = None
    peak_minutes: int | None = None
    every_s: int | None = None
    tz: dt.tzinfo | None = None
    date: dt.date | None = None
    utc: bool = False
    leap: int | None = None
    allow_unverified: bool = False
    weights: str | None = None
    group: str | None = None
    group_lines: str | None = None
    throughput: str | None = None
    throughput_columns: str | None = None
    throughput_offset_s: float = 0.0
    as_published: bool = False
    kept_days: bool = False
    known: tuple[KnownSystem, ...] = ()
    address: str | None = None

    @property
    def is_selective(self) -> bool:
        """Whether the options may exclude intervals."""
        return bool(self.start or self.end or self.shift or self.peak_minutes)

    def bounds_us(self, zone: dt.tzinfo, last_us: int | None) -> tuple[int | None, int | None]:
        """Return the exclusive lower and the inclusive upper bound of interval ends of a system in this zone.

        They are microseconds since 1970, UTC, as is the end of its data, `last_us`; None: no bound, or only a
        time of day.
        """
        default = dt.UTC if self.utc else zone
        return (
            None if self.start is None else self.start.us(default, last_us),
            None if self.end is None else self.end.us(default, last_us),
        )


def parse_duration(text: str, longest: int = 366) -> int:
    """Parse '90s', '15m', '1h30m', '1d' or a number of seconds; returns seconds, at most `longest` days."""
    clean = text.strip().lower()
    if clean.isdecimal() and len(clean) < 10:
        seconds = int(clean)
    else:
        match = re.fullmatch(_DURATION, clean)
        if match is None or not any(match.groups()) or len(clean) > 32:
            raise QueryError(f"{text!r} is not a length of time", expected="something like 15m, 1h or 90s")
        days, hours, minutes, secs = (int(part or 0) for part in match.groups())
        seconds = ((days * 24 + hours) * 60 + minutes) * 60 + secs
    if not 0 < seconds <= longest * 86400:
        years = "one year" if longest == 366 else f"{longest // 366} years"
        raise QueryError(f"{text!r} is not a usable length of time", expected=f"one second to {years}")
    return seconds


def parse_offset(text: str) -> float:
    """Parse '+90', '-1h', '2m30s' or '-0.5' for --throughput-offset; returns seconds."""
    clean = text.strip()
    sign = -1 if clean.startswith("-") else 1
    bare = clean.removeprefix("-").removeprefix("+")
    if re.fullmatch(r"\d{1,8}(\.\d{1,6})?", bare):
        return sign * float(bare)
    try:
        return float(sign * parse_duration(bare))
    except QueryError:
        message = f"{text!r} is not a clock offset"
        raise QueryError(message, expected="something like +90, -1h or 0.5") from None


def parse_minutes(text: str) -> int:
    """Parse a duration for --peak; returns minutes."""
    seconds = parse_duration(text)
    if seconds % 60:
        raise QueryError(f"{text!r} is not an integer number of minutes", expected="something like 60m")
    return seconds // 60


def parse_selection(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options shift, peak_minutes and every_s; values has their texts as shift, peak and every.

    A text that is missing or None is no option. Raises QueryError if one is invalid.
    """
    shift, peak, every = (values.get(name) for name in ("shift", "peak", "every"))
    return {
        **({"shift": parse_shift(shift)} if shift else {}),
        **({"peak_minutes": parse_minutes(peak)} if peak else {}),
        **({"every_s": parse_duration(every)} if every else {}),
    }


def parse_leap(text: str) -> int:
    """Parse leap seconds for --leap."""
    if not (text.isascii() and text.isdecimal() and len(text) < 3):
        raise QueryError(f"{text!r} is not a number of leap seconds", expected="0 to 99; 27 since 2017")
    return int(text)


def parse_zone(text: str) -> dt.tzinfo:
    """Parse a zone: a name (Europe/Berlin), an offset (+02:00) or UTC."""
    if text.upper() in {"UTC", "Z"}:
        return dt.UTC
    if match := re.fullmatch(_OFFSET, text):
        minutes = int(match[2]) * 60 + int(match[3])
        if minutes <= 18 * 60 and int(match[3]) < 60:
            return dt.timezone(dt.timedelta(minutes=minutes if match[1] == "+" else -minutes))
    else:
        import zoneinfo

        try:
            return zoneinfo.ZoneInfo(text)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    expected = "a name such as Europe/Berlin or an offset such as -04:00"
    raise QueryError(f"{text!r} is not a time zone", expected=expected)


def parse_date(text: str) -> dt.date:
    """Parse a date for --date: '2026-03-02'."""
    try:
        return dt.date.fromisoformat(text.strip().replace("/", "-"))
    except ValueError:
        raise QueryError(f"{text!r} is not a date", expected="something like 2026-03-02") from None


def parse_time_spec(text: str | float) -> TimeSpec:
    """Parse '2026-03-02 09:15', '2026-03-02T09:15:00Z', '2026-03-02', '09:15' or seconds since 1970.

    A zone may follow as reports print it: '2026-03-02 09:15:00 (UTC+02:00)'. Relative to the end of the data
    are 'yesterday', 'yesterday 09:15', 'today 09:15', 'monday 09:15', 'last hour' and 'last 15 minutes'.
    """
    if not isinstance(text, str):
        try:
            time = dt.datetime.fromtimestamp(text, dt.UTC)
        except (ValueError, OverflowError, OSError):
            raise QueryError(f"{text:g} is not a time", expected="seconds since 1970") from None
        return TimeSpec.from_utc(time)
    bare, _, printed = text.strip().removesuffix(")").partition(" (UTC")
    # Hours of one digit.
    clean = re.sub(r"([ T])(?=\d:)", r"\g<1>0", bare.replace("/", "-"))
    relative = re.fullmatch(_DAY, clean.lower())
    last = re.fullmatch(_LAST, clean.lower())
    try:
        zone = parse_zone(printed or "UTC") if " (UTC" in text else None
        if last:
            back_s = int(last["number"] or 1) * _UNITS[last["unit"]]
            return TimeSpec(None, dt.time(), zone, back_s=back_s)
        clock = (relative["clock"] or "00:00") if relative else clean
        if match := re.fullmatch(_CLOCK, clock):
            time_of_day = dt.time(int(match[1]), int(match[2]), int(match[3] or 0))
            return TimeSpec(None, time_of_day, zone, relative["day"][:3] if relative else None)
        time = dt.datetime.fromisoformat(clean)
    except (KeyError, ValueError, QueryError):
        expected = "something like 2026-03-02 09:15, 2026-03-02, 09:15, yesterday 09:15 or last hour"
        raise QueryError(f"{text!r} is not a time", expected=expected) from None
    return TimeSpec(time.date(), time.time(), time.tzinfo or zone)


def parse_instant(text: str | float, zone: dt.tzinfo = dt.UTC) -> dt.datetime:
    """Parse a time with a date; returns UTC. `zone` is the default if the text names none."""
    spec = parse_time_spec(text)
    if spec.date is None:
        raise QueryError(f"{text!r} has no date", expected="something like 2026-03-02 09:15 or 2026-03-02")
    return spec.utc(zone, spec.date)


def parse_shift(text: str) -> Shift:
    """Parse 'Mon-Fri 08:00-17:00', 'Sat,Sun 00:00-12:00' or '22:00-06:00' (all days, over midnight)."""
    match = re.fullmatch(_SHIFT, text.strip())
    expected = "something like 'Mon-Fri 08:00-17:00'"
    if match is None or len(text) > 100:
        raise QueryError(f"{text!r} is not a shift", expected=expected)
    days: set[int] = set()
    for day_range in (match["days"] or "Mon-Sun").replace(" ", "").split(","):
        first, _, last = day_range.partition("-")
        try:
            first_day = WEEKDAYS.index(first[:3].lower())
            last_day = WEEKDAYS.index(last[:3].lower()) if last else first_day
        except ValueError:
            raise QueryError(f"{day_range!r} is not a day of the week", expected=expected) from None
        days.update((first_day + step) % 7 for step in range((last_day - first_day) % 7 + 1))
    try:
        start, end = (dt.time.fromisoformat(match[side].zfill(5)) for side in ("start", "end"))
    except ValueError:
        raise QueryError(f"{text!r} has no such time of day", expected=expected) from None
    return Shift(frozenset(days), start, end)
