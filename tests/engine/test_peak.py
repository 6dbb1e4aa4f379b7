"""Tests of a system's peak, against brute force over every minute."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pytest

import monwrite_builder as monwrite
import zlens
from fakes import START_US, FakeSource, intervals, processors, session, system
from iterations import draws, iterations
from zlens.api import Session
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_time_spec

#: The utilization of the processors by minute, None without data.
Minutes = list[float | None]
START = dt.datetime.fromtimestamp(START_US / 1e6, dt.UTC)


def opened(minutes: Minutes, options: Options, utc_offset_s: int | None = None) -> Session:
    """Return a session over one processor; a minute without data has no record or a counter reset."""
    info = system(utc_offset_s=utc_offset_s)
    present = intervals(len(minutes))
    info.intervals = [one for one, busy in zip(present, minutes, strict=True) if busy is not None]
    table = processors(info.system, [[None if busy is None else busy - 0.05] for busy in minutes])
    return session([FakeSource([info], [table])], options)


def brute(minutes: Minutes, length: int, ends: range | None = None) -> tuple[int, int]:
    """Return the first and last minute of the busiest window, from the sums of all complete windows."""
    best: tuple[float, int] | None = None
    for first in range(len(minutes) - length + 1):
        window = minutes[first : first + length]
        known = [busy for busy in window if busy is not None]
        if len(known) == length and (ends is None or first + length - 1 in ends):
            mean = sum(known) / length
            if best is None or mean > best[0] + 1e-9:
                best = mean, first
    assert best is not None
    return best[1], best[1] + length - 1


def random_load(chosen: random.Random, count: int, missing: float) -> Minutes:
    """Return minutes of a wandering load; some have no data."""
    level, minutes = 0.5, Minutes()
    for _ in range(count):
        level = min(max(level + chosen.uniform(-0.15, 0.15), 0.1), 0.8)
        # No two minutes are equally busy, since either could be the peak.
        busy = min(max(level + chosen.uniform(-0.2, 0.2), 0.06), 0.9) - chosen.uniform(0, 0.01)
        minutes.append(None if chosen.random() < missing else busy)
    return minutes


def selected_intervals(peak: Session) -> tuple[int, int, int]:
    """Return the first and last minute of the session, and their number."""
    ends = [end for (end,) in peak.sql("SELECT interval_end FROM load ORDER BY 1").rows]
    first, last = ((end - START) // dt.timedelta(minutes=1) for end in (ends[0], ends[-1]))
    return first, last, len(ends)


@pytest.mark.parametrize("seed", range(iterations(60, 8)))
def test_busiest_complete_window(seed: int) -> None:
    chosen = draws(f"peak {seed}")
    length = chosen.choice([1, 2, 5, 15, 60])
    # Every second input has gaps, rare enough to leave a window.
    minutes = random_load(chosen, 240, chosen.choice([0, 0.3 / length]))
    # One window is always complete.
    minutes[120 : 120 + length] = [busy or 0.2 for busy in minutes[120 : 120 + length]]
    first, last = brute(minutes, length)
    assert selected_intervals(opened(minutes, Options(peak_minutes=length))) == (first, last, length)


@pytest.mark.parametrize("seed", range(iterations(20, 3)))
def test_peak_uses_whole_buckets(seed: int) -> None:
    """Buckets end on hours of the system, whose clock is half an hour ahead."""
    minutes = random_load(draws(f"buckets {seed}"), 240, 0)
    options = Options(peak_minutes=60, every_s=3600)
    # The first minute ends at 22:14 UTC.
    first, last = brute(minutes, 60, range(16, 240, 60))
    rows = opened(minutes, options, 1800).sql("SELECT interval_end, seconds, busy_pct FROM load").rows
    busy = sum(one or 0 for one in minutes[first : last + 1]) / 60
    assert rows == [(START + dt.timedelta(minutes=last), 3600.0, pytest.approx(100 * busy))]


def recorded(path: Path, shares: list[float], minutes: int = 1, peak: int = 60) -> list[tuple[int, float]]:
    """Write a file with these shares of one processor; return number and busy of the peak's intervals."""
    used, groups = 0.0, []
    for number, share in enumerate([0.0, *shares]):
        used += share
        times = {"UTIME": used, "TOTWT": number - used, "TMSYS": 0}
        values = {
            f"SYTPRP_PFX{name}": 10**12 + round(each * minutes * 60 * monwrite.TOD_S)
            for name, each in times.items()
        }
        end_us = monwrite.START_US + number * minutes * monwrite.MINUTE_US
        groups.append(monwrite.interval(end_us, monwrite.processors(end_us, {0: values})))
    monwrite.write(path, groups)
    with zlens.open(str(path), options=Options(peak_minutes=peak)) as session:
        rows = session.sql("SELECT interval_end, busy_pct FROM load ORDER BY 1").rows
    began = dt.datetime.fromtimestamp(monwrite.START_US / 1e6, dt.UTC)
    return [((end - began) // dt.timedelta(minutes=minutes) - 1, busy) for end, busy in rows]


def test_file_of_four_hours(tmp_path: Path) -> None:
    """The first minute is the busiest, but not in the busiest hour."""
    shares = [0.9, *(0.3 + 0.4 * (90 <= minute < 150) for minute in range(239))]
    found = recorded(tmp_path / "hours", shares)
    assert [number for number, _ in found] == [*range(91, 151)]
    assert [busy for _, busy in found] == pytest.approx([70] * 60)


def test_intervals_not_dividing_peak(tmp_path: Path) -> None:
    """A window overlaps its first interval: of 7 minutes, three cover 20 minutes and two do not."""
    shares = [0.8, 0.1, 0.1, 0.6, 0.6, 0.6, 0.1, 0.1]
    assert [number for number, _ in recorded(tmp_path / "seven", shares, 7, 20)] == [3, 4, 5]
    assert [number for number, _ in recorded(tmp_path / "seven", shares, 7, 21)] == [3, 4, 5]
    assert [number for number, _ in recorded(tmp_path / "seven", shares, 7, 5)] == [0]


def test_only_selected_minutes_count() -> None:
    minutes = random_load(random.Random(5), 240, 0)
    start, end = (f"{START + dt.timedelta(minutes=minute):%Y-%m-%d %H:%M}" for minute in (99, 199))
    options = Options(peak_minutes=30, start=parse_time_spec(start), end=parse_time_spec(end), utc=True)
    first, last = brute(minutes[100:200], 30)
    assert selected_intervals(opened(minutes, options)) == (100 + first, 100 + last, 30)


def test_data_shorter_than_window() -> None:
    minutes = random_load(random.Random(6), 50, 0)
    minutes[20] = None
    with pytest.raises(QueryError) as caught:
        opened(minutes, Options(peak_minutes=60)).sql("SELECT count(*) FROM load")
    assert str(caught.value) == "SYSA has no 60 minutes without a gap; expected a peak of 29 minutes or less"
    assert selected_intervals(opened(minutes, Options(peak_minutes=29))) == (21, 49, 29)


def test_counters_have_all_intervals_of_peak(demo_folder: Path) -> None:
    """Counters have intervals of one minute, processors of fifteen."""
    with zlens.open(str(demo_folder / "zlzos.smf"), options=Options(peak_minutes=30)) as peak:
        rows = peak.sql("SELECT max(interval_end), count(*) FROM interval").rows
        rows += peak.sql("SELECT max(interval_end), count(*) FROM load").rows
    end = dt.datetime(2010, 3, 9, 8, 30, tzinfo=dt.UTC)
    assert rows == [(end, 30), (end, 2)]
