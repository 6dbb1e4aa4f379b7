"""Tests of partly unknown values: they are not zero, and the known rest is used."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

import lake_builder
import zlens
from zlens.catalog import aggregation, measures
from zlens.inputs.options import Options

HALF_HOUR, FIVE = 1800, 300


def rows(path: Path, query: str, every_s: int | None = None) -> list[tuple[Any, ...]]:
    with zlens.open(path, options=Options(every_s=every_s)) as session:
        return session.sql(query).rows


def mean(table: str, column: str) -> str:
    declared = measures.load_measure(table).column(column)
    assert declared is not None
    return aggregation.mean_sql(declared)


def test_guest_logoff_makes_sum_null(sim_file: Path) -> None:
    """No record has the virtual I/O of BATCH1 in the 35 seconds after its last sample."""
    (unknown,) = rows(sim_file, "SELECT interval_end FROM load WHERE virtual_io_rate IS NULL")
    assert f"{unknown[0].astimezone(UTC):%H:%M}" == "08:15"


def test_rate_is_of_known_part(sim_file: Path) -> None:
    """Dispatches of BATCH1 are known for 240 of 275 seconds, its CPU time for all of them."""
    query = "SELECT dispatch_rate, seconds, dispatch_wait_s, cpu_s FROM guest WHERE userid = 'BATCH1'"
    *_, last = rows(sim_file, f"{query} ORDER BY interval_end", FIVE)
    minutes = (
        "SELECT dispatch_rate, seconds FROM guest WHERE userid = 'BATCH1' ORDER BY interval_end DESC LIMIT 5"
    )
    (unknown, _), *known = rows(sim_file, minutes)
    assert unknown is None
    assert last[0] == pytest.approx(sum(rate * seconds for rate, seconds in known) / 240)
    assert (last[1], last[2]) == (pytest.approx(275.02), None)
    assert last[3] is not None


@pytest.mark.parametrize(("userid", "pct"), [("OPERATOR", 0.0511), ("DIRMAINT", 0.0660)])
def test_long_transaction_counts_for_its_length(userid: str, pct: float, demo_files: list[Path]) -> None:
    query = f"SELECT {mean('guest', 'cpu_pct')}, count(flag) FROM guest WHERE userid = '{userid}'"
    assert rows(demo_files[0], query) == [(pytest.approx(pct, abs=5e-5), 0)]


def test_difference_over_recorded_intervals_is_not_gap(demo_files: list[Path]) -> None:
    """A device has no record for two minutes: its next difference spans three, and counts."""
    query = "SELECT seconds, flag FROM cache WHERE seconds > 60"
    assert rows(demo_files[0], query) == [(180, None)]


@pytest.mark.parametrize("every_s", [None, 3600])
def test_times_of_threads_are_those_of_counters(every_s: int | None, sim_file: Path) -> None:
    """A core that was sampled for 6 seconds of a minute ran for at most 6 seconds."""
    query = "SELECT sum(one_thread_s), sum(two_thread_s), sum(core_busy_pct * sampled_s / 100) FROM core"
    ((one, two, busy),) = rows(sim_file, query, every_s)
    assert (one, two) == (pytest.approx(7472.94, abs=0.01), pytest.approx(busy - 7472.94, abs=0.01))
    if every_s is None:
        (short,) = rows(sim_file, "SELECT one_thread_s FROM core WHERE abs(sampled_s - 6) < 0.01")
        assert short == (pytest.approx(3.05, abs=0.005),)


def test_hits_are_weighted_by_reads_they_are_of(demo_files: list[Path]) -> None:
    """No record of this system has the share of reads among all operations."""
    by_hand = "sum(read_hit_pct * cache_reads) / sum(cache_reads)"
    ((weighted, expected),) = rows(
        demo_files[0], f"SELECT {mean('device', 'read_hit_pct')}, {by_hand} FROM device"
    )
    assert weighted == pytest.approx(expected)


@pytest.mark.parametrize("column", ["page_rate", "ssch_rate"])
def test_bucket_rate_is_of_known_minutes(column: str, demo_files: list[Path]) -> None:
    """A processor is varied off at 09:07:20 and on at 09:13:40; rates of these minutes are unknown."""
    half = "interval_end > (SELECT max(interval_end) - INTERVAL 30 MINUTE FROM load)"
    ((expected, count),) = rows(
        demo_files[0], f"SELECT avg({column}), count({column}) FROM load WHERE {half}"
    )
    assert count == 28
    *_, last = rows(demo_files[0], f"SELECT {column} FROM load ORDER BY interval_end", HALF_HOUR)
    assert last == (pytest.approx(expected),)


@pytest.mark.parametrize(("recorded", "flag"), [(range(10), None), ([*range(6), *range(7, 10)], "gap")])
def test_difference_over_unrecorded_time_is_gap(
    recorded: Iterable[int], flag: str | None, tmp_path: Path
) -> None:
    """A device is missing in two intervals, of which the second may be in no file."""
    records = [lake_builder.configuration(0)]
    for number in recorded:
        devices = lake_builder.DEVICES[: 3 if number in (5, 6) else None]
        records += lake_builder.interval(number, devices=devices)
    path = Path(lake_builder.write(tmp_path / "a", records))
    query = "SELECT seconds, flag FROM device WHERE device = '02FF' AND seconds > 170"
    assert rows(path, query) == [(pytest.approx(180), flag)]
