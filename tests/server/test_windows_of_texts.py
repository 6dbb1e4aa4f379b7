"""Tests of /window and /days: windows written as text, and the same hours of other days."""

from __future__ import annotations

import datetime as dt

import pytest

import lake_builder
import zlens

DAYS = range(9)
MINUTES = range(10)


def data(response):
    assert response.status_code == 200, response.text
    return response.json()


def moment(text, offset_s=3600):
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC).timestamp() - offset_s


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("9:00-9:10", "2010-03-09 09:00", "2010-03-09 09:10"),
        ("last 10 min", "2010-03-09 09:20", "2010-03-09 09:30"),
        ("yesterday 14-16", "2010-03-08 14:00", "2010-03-08 16:00"),
        ("2010-03-09 09:15", "2010-03-09 09:15", "2010-03-09 10:15"),
    ],
)
def test_text_means_window_of_the_system(served, text, start, end):
    answer = data(served.get("window", text=text, system="ZLDEMO"))
    # The last record is written moments after the end of the interval.
    assert answer["from"] == pytest.approx(moment(start), abs=1)
    assert answer["to"] == pytest.approx(moment(end), abs=1)


def test_text_relates_to_the_time_nearby(served):
    near = moment("2010-02-01 23:30")
    answer = data(served.get("window", text="9-10", system="ZLDEMO", near=near))
    assert answer == {"from": moment("2010-02-01 09:00"), "to": moment("2010-02-01 10:00")}


def test_wrong_text_says_what_is_accepted(served):
    response = served.get("window", text="noonish", system="ZLDEMO")
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["message"] == "'noonish' is not a time or window"
    assert error["expected"].startswith("something like 9:00, 9:00-9:30, yesterday 14-16")
    # The search asks about every text.
    answer = data(served.get("window", text="noonish", system="ZLDEMO", lenient=True))
    assert answer == {"from": None, "to": None}


def test_recording_of_one_day_has_no_other_days(served):
    window = {"from": moment("2010-03-09 09:00"), "to": moment("2010-03-09 09:10")}
    assert data(served.get("days", system="ZLDEMO", **window))["days"] == []


def test_days_have_the_busy_of_each_day(serve_over, tmp_path):
    numbers = [day * 1440 + minute for day in DAYS for minute in MINUTES]
    path = lake_builder.write(tmp_path / "days.monwrite", lake_builder.recording(numbers))
    with zlens.open(path) as session, serve_over(session, [path]) as served:
        window = data(served.get("window", text="2026-03-09 11:02-11:05", system="LAKETEST"))
        answer = data(served.get("days", system="LAKETEST", **window))
        assert answer["column"] == "load.busy_pct"
        days = answer["days"]
        starts = [dt.datetime.fromtimestamp(day["from"], dt.UTC) for day in days]
        # The window and the six nearest of nine days, from 2026-03-02 on.
        assert [start.day for start in starts] == [4, 5, 6, 7, 8, 9, 10]
        for day, start in zip(days, starts, strict=True):
            assert day["t"] == [day["from"] + 60 * minute for minute in (1, 2, 3)]
            # User and system time of three processors in a minute, from lake_builder.samples.
            number = (start.day - 2) * 1440 + 2
            minutes = [number + step for step in range(3)]
            used = [6 * 7 + 3 * 0.6 + 3 * 0.001 * (2 * minute - 1) for minute in minutes]
            busy = [100 * seconds / 180 for seconds in used]
            assert day["value"] == pytest.approx(busy, rel=1e-6)
