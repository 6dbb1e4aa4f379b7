"""Tests of the rolling average of MSU against sums over single seconds."""

from __future__ import annotations

from random import Random

import pytest

from iterations import draws
from zlens.models.partitions.rolling_average import WINDOW_S, RollingAverage


def test_rolling_average_is_the_mean_of_each_second() -> None:
    """Brute force: every second has the rate of its interval; seconds before the IPL have zero."""
    chance = draws(12)
    for _ in range(40):
        _check_history(chance)


def _check_history(chance: Random) -> None:
    window = chance.randrange(50, 400)
    seconds: dict[int, float] = {}
    average = RollingAverage()
    time = start = 1000
    ipl: int | None = None
    for _ in range(chance.randrange(2, 12)):
        if chance.random() < 0.2:
            ipl = time + chance.randrange(0, 5)
            average.restart(ipl)
        length, rate = chance.randrange(1, 120), chance.random() * 100
        seconds |= dict.fromkeys(range(time, time + length), rate)
        time += length
        average.add(time, length, rate)
        for at in (time, time - chance.randrange(0, length)):
            found = average.mean(at, window)
            inside = range(at - window, at)
            first = at - window if ipl is None or not at - window < ipl <= at else ipl
            values = [0.0 if second < first else seconds.get(second) for second in inside]
            if at - window < start and first < start:
                assert found.value is None
            elif None not in values:
                assert found.value == pytest.approx(sum(values) / window)  # type: ignore[arg-type]
            assert found.since_ipl == (first != at - window)


def test_average_needs_all_of_its_window() -> None:
    average = RollingAverage()
    average.add(WINDOW_S / 2, WINDOW_S / 2, 100)
    assert average.mean(WINDOW_S / 2).value is None
    average.add(WINDOW_S, WINDOW_S / 2, 50)
    assert average.mean(WINDOW_S).value == pytest.approx(75)
    # A gap of a minute is unknown, one of milliseconds is not.
    average.add(WINDOW_S + 360, 300, 75)
    assert average.mean(WINDOW_S + 360).value is None
    close = RollingAverage()
    close.add(WINDOW_S / 2, WINDOW_S / 2, 100)
    close.add(WINDOW_S, WINDOW_S / 2 - 0.004, 100)
    assert close.mean(WINDOW_S).value == pytest.approx(100)


def test_average_after_ipl_counts_time_before_as_zero() -> None:
    """An hour at 80 MSU after the IPL is a quarter of the window: 20 MSU."""
    average = RollingAverage()
    average.add(0, WINDOW_S, 500)
    average.restart(0)
    average.add(3600, 3600, 80)
    assert average.mean(3600).value == pytest.approx(20)
    assert average.mean(3600).since_ipl
    average.add(WINDOW_S, WINDOW_S - 3600, 80)
    assert average.mean(WINDOW_S).value == pytest.approx(80)
    assert not average.mean(WINDOW_S).since_ipl


def test_overlapping_intervals_count_once() -> None:
    average = RollingAverage()
    average.add(WINDOW_S, WINDOW_S, 10)
    average.add(WINDOW_S, WINDOW_S, 99)
    average.add(WINDOW_S + 600, 1200, 10)
    assert average.mean(WINDOW_S + 600).value == pytest.approx(10)
