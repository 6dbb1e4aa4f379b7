"""Tests of a machine's observer in an interval, against a comparison of all pairs of intervals."""

from __future__ import annotations

import datetime as dt
from importlib import resources

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

_DAY = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
_SQL = resources.files("zlens.compiler").joinpath("selects", "observer.sql").read_text()
#: Start and end of an interval in minutes.
_INTERVAL = st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda at: (at[0], at[0] + at[1]))


@st.composite
def _reporter(draw: st.DrawFn) -> dict[str, object]:
    """Draw a system's source: its machine, and its intervals by end, which may overlap and have gaps."""
    return {
        "machine": draw(st.sampled_from(["A", "A", "A", "B", None])),
        "local_time": draw(st.booleans()) and draw(st.booleans()),
        "partitions": draw(st.booleans()),
        "intervals": {end: start for start, end in draw(st.lists(_INTERVAL, min_size=1, max_size=8))},
    }


def _time(minute: float) -> dt.datetime:
    return _DAY + dt.timedelta(minutes=minute)


def _covered(start: float, end: float, others: list[dict[int, int]]) -> bool:
    middle = start + (end - start) / 2
    return any(begin < middle <= until for other in others for until, begin in other.items())


@settings(deadline=None)
@given(st.lists(_reporter(), min_size=1, max_size=6))
def test_first_system_with_interval_represents_machine(reporters):
    named = {(f"S{place}", "zvm-monitor"): one for place, one in enumerate(reporters)}
    expected = []
    for key, one in named.items():
        # A reporter with partitions precedes one without.
        before = [
            other["intervals"]
            for name, other in named.items()
            if other["machine"] == one["machine"]
            and not other["local_time"]
            and (not other["partitions"], name) < (not one["partitions"], key)
        ]
        alone = one["machine"] is None or one["local_time"]
        expected += [
            (*key, int(_time(end).timestamp()) * 1_000_000, one["machine"])
            for end, start in one["intervals"].items()
            if alone or not _covered(start, end, before)
        ]
    connection = duckdb.connect()
    head = "(system VARCHAR, source VARCHAR"
    connection.execute(f"CREATE TABLE system {head}, machine VARCHAR, local_time BOOLEAN)")
    connection.execute(f"CREATE TABLE interval {head}, interval_end TIMESTAMPTZ, interval_start TIMESTAMPTZ)")
    connection.execute("CREATE SCHEMA role")
    connection.execute(f"CREATE TABLE _sources {head}, place INTEGER)")
    connection.execute(f"CREATE TABLE _machines {head}, since TIMESTAMPTZ, machine VARCHAR)")
    connection.execute(f"CREATE TABLE role.partition {head}, interval_end TIMESTAMPTZ, seconds DOUBLE)")
    for key, one in named.items():
        connection.execute(
            "INSERT INTO system VALUES (?, ?, ?, ?)", [*key, one["machine"], one["local_time"]]
        )
        for end, start in one["intervals"].items():
            connection.execute("INSERT INTO interval VALUES (?, ?, ?, ?)", [*key, _time(end), _time(start)])
        if one["partitions"]:
            end, start = next(iter(one["intervals"].items()))
            values = [*key, _time(end), (end - start) * 60]
            connection.execute("INSERT INTO role.partition VALUES (?, ?, ?, ?)", values)
    # Microseconds, because times with a time zone would need another package.
    answer = connection.execute(f"SELECT * REPLACE (epoch_us(interval_end) AS interval_end) FROM ({_SQL})")
    assert sorted(answer.fetchall(), key=str) == sorted(expected, key=str)
