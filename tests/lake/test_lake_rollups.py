"""zlens lake rollup: measures by hour and day follow from the intervals, and stay when raw tables go."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from pathlib import Path

import pytest

import zlens
from zlens import cli

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def lake(tmp_path: Path, demo_folder: Path) -> Path:
    into = tmp_path / "lake"
    assert cli.main(["import", str(demo_folder / "zldemo.monwrite"), "--lake", str(into)]) == 0
    assert cli.main(["lake", "rollup", str(into)]) == 0
    return into


def by_hour(
    lake: Path, table: str, key: str, mean: str, total: str
) -> dict[tuple[str, dt.datetime], list[float]]:
    """Sum, weight and total, worked out here from intervals; flagged ones count in totals only."""
    sums: dict[tuple[str, dt.datetime], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    with zlens.open(lake) as session:
        rows = session.sql(f"SELECT {key}, interval_end, seconds, flag, {mean}, {total} FROM {table}").rows
    for subject, end, seconds, flag, value, amount in rows:
        assert isinstance(end, dt.datetime)
        middle = end - dt.timedelta(seconds=30)
        hour = middle.replace(minute=0, second=0, microsecond=0) + HOUR
        row = sums[str(subject), hour]
        if flag is None and value is not None:
            row[0] += value * seconds
            row[1] += seconds
        row[2] += amount or 0.0
    return sums


@pytest.mark.parametrize(
    ("table", "key", "mean", "total"),
    [("guest", "userid", "cpu_pct", "cpu_s"), ("cpu", "cpu_id", "user_pct", "seconds")],
)
def test_means_and_totals_by_hour_follow_from_the_intervals(
    lake: Path, table: str, key: str, mean: str, total: str
):
    expected = by_hour(lake, table, key, mean, total)
    with zlens.open(lake) as session:
        hours = session.sql(
            f"SELECT {key}, bucket_end, {mean}, {mean}_sum, {mean}_weight, {total} FROM {table}_hour"
        ).rows
    assert {(str(subject), end) for subject, end, *_ in hours} == set(expected)
    for subject, end, value, above, below, amount in hours:
        right = expected[str(subject), end]
        assert (above, below) == pytest.approx((right[0], right[1]), rel=1e-9)
        assert value == pytest.approx(right[0] / right[1], rel=1e-9)
        if total != "seconds":
            assert amount == pytest.approx(right[2], rel=1e-9)


def test_sums_of_hours_make_the_mean_of_the_day(lake: Path):
    query = "SELECT cpu_id, sum(busy_pct_sum) / sum(busy_pct_weight) FROM cpu_hour GROUP BY cpu_id ORDER BY 1"
    with zlens.open(lake) as session:
        days = session.sql("SELECT cpu_id, busy_pct FROM cpu_day ORDER BY 1").rows
        hours = session.sql(query).rows
    assert len(days) == 4
    assert [row[1] for row in hours] == pytest.approx([row[1] for row in days], rel=1e-12)


def test_measures_stay_when_raw_tables_are_forgotten(lake: Path, capsys: pytest.CaptureFixture[str]):
    with zlens.open(lake) as session:
        before = session.sql("FROM guest_hour ORDER BY ALL").rows
    assert cli.main(["lake", "rollup", str(lake)]) == 0
    assert "up to date" in capsys.readouterr().out
    assert cli.main(["lake", "forget", str(lake), "--raw", "--older-than", "90d"]) == 0
    with zlens.open(lake) as session:
        assert session.sql("FROM guest_hour ORDER BY ALL").rows == before
        assert session.sql("SELECT count(*) FROM guest").rows == [(0,)]
    assert cli.main(["lake", "check", str(lake)]) == 0


def test_raw_and_its_age_belong_together(lake: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["lake", "forget", str(lake), "--raw"]) != 0
    assert "--raw and --older-than belong together" in capsys.readouterr().err
