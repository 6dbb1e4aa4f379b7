"""Tests of the join of throughput and intervals, and of its clock, against simple independent definitions."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens.inputs.source import Interval, SystemInfo
from zlens.readers.throughput.table import Throughput, ThroughputRow
from zlens.session import throughput_join

SECOND = 1_000_000
PLACE = {column.name: at for at, column in enumerate(throughput_join.COLUMNS)}


@st.composite
def spans(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Draw disjoint spans of integer seconds, with gaps."""
    found, at = [], draw(st.integers(0, 20))
    for _ in range(draw(st.integers(1, 8))):
        start = at + draw(st.integers(0, 15))
        at = start + draw(st.integers(1, 40))
        found.append((start, at))
    return found


@st.composite
def rows(draw: st.DrawFn) -> tuple[ThroughputRow, ...]:
    return tuple(
        ThroughputRow(
            line,
            start * SECOND,
            end * SECOND,
            draw(st.none() | st.integers(0, 1000).map(float)),
            draw(st.none() | st.integers(0, 50).map(float)),
            None,
            None,
        )
        for line, (start, end) in enumerate(draw(spans()), 2)
    )


def joined(
    entries: tuple[ThroughputRow, ...], intervals: list[tuple[int, int]], offset_s: int = 0
) -> list[Any]:
    info = SystemInfo("A", "made")
    given = [(info, Interval(end * SECOND, float(end - start))) for start, end in intervals]
    return throughput_join.join_intervals(
        Throughput("t.csv", entries, (), False), given, None, float(offset_s)
    )


def second_by_second(
    entries: tuple[ThroughputRow, ...], start: int, end: int, offset_s: int
) -> tuple[float, ...] | None:
    """Return transactions, answered ones, response time and covered time, added per second."""
    transactions, answered, response, covered, timed, seen = 0.0, 0.0, 0.0, 0, False, False
    for second in range(start, end):
        for row in entries:
            first, last = row.start_us // SECOND + offset_s, row.end_us // SECOND + offset_s
            if first <= second < last and row.transactions is not None:
                seen = True
                one = row.transactions / (last - first)
                transactions += one
                covered += 1
                if row.response_s is not None:
                    timed = True
                    answered += one
                    response += one * row.response_s
    return (
        (transactions, answered if timed else math.nan, response if timed else math.nan, covered)
        if seen
        else None
    )


@given(entries=rows(), intervals=spans(), offset_s=st.integers(-60, 60))
def test_throughput_is_divided_by_seconds(
    entries: tuple[ThroughputRow, ...], intervals: list[tuple[int, int]], offset_s: int
) -> None:
    found = {row[PLACE["interval_end"]] // SECOND: row for row in joined(entries, intervals, offset_s)}
    for start, end in intervals:
        expected = second_by_second(entries, start, end, offset_s)
        if expected is None:
            assert end not in found
            continue
        row = found[end]
        names = ("transactions", "answered", "response_time", "covered_time")
        values = tuple(math.nan if row[PLACE[name]] is None else row[PLACE[name]] for name in names)
        assert values == pytest.approx(expected, nan_ok=True)
        assert row[PLACE["clock_offset"]] == offset_s


@given(entries=rows())
def test_intervals_without_gaps_have_all_transactions(entries: tuple[ThroughputRow, ...]) -> None:
    last = entries[-1].end_us // SECOND
    found = joined(entries, [(at, at + 7) for at in range(0, last + 7, 7)])
    total = sum(row.transactions or 0 for row in entries)
    assert sum(row[PLACE["transactions"]] for row in found) == pytest.approx(total)


@given(entries=rows(), hours=st.integers(-12, 14))
def test_local_times_are_moved_by_their_zone(entries: tuple[ThroughputRow, ...], hours: int) -> None:
    zone = dt.timezone(dt.timedelta(hours=hours))
    far = tuple(
        ThroughputRow(
            row.line,
            row.start_us + 86_400 * SECOND,
            row.end_us + 86_400 * SECOND,
            row.transactions,
            None,
            None,
            None,
        )
        for row in entries
    )
    info = SystemInfo("A", "made")
    intervals = [
        (info, Interval(row.end_us - hours * 3600 * SECOND, (row.end_us - row.start_us) / SECOND))
        for row in far
    ]
    found = throughput_join.join_intervals(Throughput("t.csv", far, (), True), intervals, zone, 0.0)
    transactions = [row.transactions for row in far if row.transactions is not None]
    assert [row[PLACE["transactions"]] for row in found] == pytest.approx(transactions)
