"""Tests of windows of time as people write them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

import lake_builder
import zlens
from zlens import lake
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_time_spec
from zlens.inputs.time_windows import other_days, parse_window
from zlens.inputs.unix_time import to_unix_us

ZONE = dt.timezone(dt.timedelta(hours=1))
#: A Wednesday, 17:30 in the zone.
LAST = dt.datetime(2026, 7, 15, 16, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("9:00", "2026-07-15 09:00", "2026-07-15 10:00"),
        ("9:00-9:30", "2026-07-15 09:00", "2026-07-15 09:30"),
        ("9 \u2013 10", "2026-07-15 09:00", "2026-07-15 10:00"),
        ("Yesterday 14-16", "2026-07-14 14:00", "2026-07-14 16:00"),
        ("last hour", "2026-07-15 16:30", "2026-07-15 17:30"),
        ("last 30 min", "2026-07-15 17:00", "2026-07-15 17:30"),
        ("last week", "2026-07-08 17:30", "2026-07-15 17:30"),
        ("2026-07-14 14:00 to 16:00", "2026-07-14 14:00", "2026-07-14 16:00"),
        ("2026/07/14 9", "2026-07-14 09:00", "2026-07-14 10:00"),
        ("2026-07-13", "2026-07-13 00:00", "2026-07-14 00:00"),
        ("monday", "2026-07-13 00:00", "2026-07-14 00:00"),
        ("Mon 9-10", "2026-07-13 09:00", "2026-07-13 10:00"),
        ("tuesday to today", "2026-07-14 00:00", "2026-07-16 00:00"),
        ("yesterday 22:00 to today 2:00", "2026-07-14 22:00", "2026-07-15 02:00"),
        # A time that the last day does not have yet is on the day before.
        ("18:00", "2026-07-14 18:00", "2026-07-14 19:00"),
        ("22-24", "2026-07-14 22:00", "2026-07-15 00:00"),
        ("22:00-2:00", "2026-07-14 22:00", "2026-07-15 02:00"),
        # As reports print it, and in UTC.
        ("2026-07-14 09:00:00 (UTC+02:00)", "2026-07-14 08:00", "2026-07-14 09:00"),
        ("2026-07-14T14:00:00Z", "2026-07-14 15:00", "2026-07-14 16:00"),
    ],
)
def test_window_of_text(text: str, start: str, end: str) -> None:
    expected = tuple(dt.datetime.fromisoformat(time).replace(tzinfo=ZONE) for time in (start, end))
    assert parse_window(text, LAST, ZONE) == expected


def test_time_of_day_is_on_the_day_shown() -> None:
    start, end = parse_window("9-10", LAST, ZONE, dt.date(2026, 7, 2))
    assert (start, end) == tuple(dt.datetime(2026, 7, 2, hour, tzinfo=ZONE) for hour in (9, 10))


@pytest.mark.parametrize(
    "text", ["", "noon", "25:00", "9:75", "last 5 years", "9:00-", "yesterday 24:00", "0001-01-01", "9" * 90]
)
def test_other_texts_say_what_is_accepted(text: str) -> None:
    with pytest.raises(
        QueryError, match="is not a time or window; expected something like 9:00, 9:00-9:30, "
    ):
        parse_window(text, LAST, ZONE)


def test_window_ends_after_its_start() -> None:
    with pytest.raises(QueryError, match=r"^'2026-07-14 16:00 to 2026-07-14 14:00' ends before it begins; "):
        parse_window("2026-07-14 16:00 to 2026-07-14 14:00", LAST, ZONE)


def test_other_days_have_an_interval_in_the_hours() -> None:
    window = parse_window("9-10", LAST, ZONE)
    # One ends as the window starts, and so is before it.
    hours = {1: 8, 2: 9, 12: 9, 13: 8, 14: 9, 15: 9, 16: 9}
    ends = [dt.datetime(2026, 7, day, hour, 30 * (hour > 8), tzinfo=ZONE) for day, hour in hours.items()]
    ends.insert(3, dt.datetime(2026, 7, 12, 10, 0, tzinfo=ZONE))
    ends_us = [to_unix_us(end) for end in sorted(ends)]
    assert [start.day for start, _ in other_days(window, ends_us, 9)] == [2, 12, 14, 16]
    assert [start.day for start, _ in other_days(window, ends_us, 2)] == [14, 16]
    assert all(end - start == dt.timedelta(hours=1) for start, end in other_days(window, ends_us, 9))
    assert other_days((LAST - dt.timedelta(days=2), LAST), ends_us, 9) == []


@pytest.fixture(scope="module")
def three_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty minutes of each of three days, from 2026-03-02 11:00 on in the system's zone."""
    numbers = [day * 1440 + minute for day in range(3) for minute in range(20)]
    path = tmp_path_factory.mktemp("days") / "three.monwrite"
    lake_builder.write(path, lake_builder.recording(numbers))
    return path


def as_file(path: Path, folder: Path) -> Path:
    return path


def as_lake(path: Path, folder: Path) -> Path:
    lake.add([path], folder / "lake")
    return folder / "lake"


@pytest.mark.parametrize("form", [as_file, as_lake])
def test_from_and_to_relate_to_the_end_of_data(
    three_days: Path, tmp_path: Path, form: Callable[[Path, Path], Path]
) -> None:
    opened = form(three_days, tmp_path)
    for start, end, days, minutes in (
        ("yesterday 11:05", "yesterday 11:15", [3], range(6, 16)),
        ("last 5 min", None, [4], range(16, 21)),
        # The first sample has no differences.
        ("monday", "tuesday", [2], range(2, 21)),
        ("yesterday", "today", [3], range(1, 21)),
    ):
        options = Options(start=parse_time_spec(start), end=None if end is None else parse_time_spec(end))
        with zlens.open(opened, options=options) as session:
            times = [time for (time,) in session.sql("SELECT interval_end FROM load ORDER BY 1").rows]
        assert sorted({time.day for time in times}) == days, start
        assert [time.minute for time in times] == list(minutes), start
