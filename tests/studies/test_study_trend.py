"""Tests of trends: percentiles by shift and month, growth with uncertainty, date of a limit."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import theilslopes

import zlens
from lake_builder import recording, write
from zlens import lake, stores, studies
from zlens.errors import QueryError, ScenarioError
from zlens.rendering.answer import Answer
from zlens.stores.hourly import hourly_values
from zlens.studies import trend
from zlens.studies.growth import fit_growth


def series(values: list[float], first: str = "2026-01-01", **keys: Any) -> Answer:
    return studies.solve("trend", {"series": [{"name": "A", "from": first, "values": values}], **keys})


@given(st.lists(st.floats(0, 100), min_size=10, max_size=60))
def test_growth_is_theil_sen_slope(values: list[float]) -> None:
    # scipy rounds the index of its bounds to the nearest pair; zlens uses the pairs around it.
    x = [float(at) for at in range(len(values))]
    line = fit_growth(x, values, 10)
    expected = theilslopes(values, x, 0.95)
    assert line is not None
    assert line.slope == pytest.approx(expected.slope, abs=1e-9)
    assert line.low <= expected.low_slope + 1e-9
    assert line.high >= expected.high_slope - 1e-9


def test_straight_line_meets_limit_on_its_day() -> None:
    answer = series([50 + 0.5 * day for day in range(40)], limit=90)
    [row] = answer.table("growth").rows
    day = dt.date(2026, 1, 1) + dt.timedelta(days=80)
    assert row[:4] == ("A", "all", 40, 69.5)
    assert row[4:7] == pytest.approx([0.5 * 365.25 / 12] * 3)
    assert row[7:] == ("2026-02-09", *[day.isoformat()] * 3)
    assert answer.figure("meets_limit") == 1
    months = answer.table("months").rows
    assert [line[2:4] for line in months] == [("2026-01", 31), ("2026-02", 9)]
    assert months[0][4:] == pytest.approx((57.5, 57.5, 63.5, 64.25, 65.0))


@pytest.mark.parametrize(
    ("values", "meets"),
    [
        ([60.0 - 0.1 * day for day in range(30)], (None, None, None)),
        ([60.0] * 30, (None, None, None)),
        # Above it in a century.
        ([60.0 + 0.0008 * day for day in range(30)], (None, None, None)),
        # Above the limit on the last day.
        ([80.0 + day for day in range(30)], ("2026-01-30",) * 3),
    ],
)
def test_series_that_never_cross_limit(values: list[float], meets: tuple[str | None, ...]) -> None:
    assert series(values, limit=90).table("growth").rows[0][8:] == meets


def test_few_days_have_no_growth() -> None:
    answer = series([50.0] * 9)
    assert answer.table("growth").rows[0][3:] == (None, None, None, None, "2026-01-09", None, None, None)
    assert any("fewer than 10 days" in note for note in answer.notes)


@given(st.lists(st.floats(1e-6, 100), min_size=1, max_size=28))
def test_percentiles_are_those_of_measures(values: list[float]) -> None:
    [row] = series(values, first="2026-02-01").table("months").rows
    listed = ", ".join(f"({value!r}::DOUBLE)" for value in values)
    shares = ", ".join(f"quantile_cont(x, {share})" for share in (0.5, 0.9, 0.95))
    expected = duckdb.sql(f"SELECT avg(x), {shares}, max(x) FROM (VALUES {listed}) AS t(x)").fetchall()
    assert row[4:] == pytest.approx(expected[0], abs=1e-9)


def test_trend_lists_assumptions() -> None:
    assumed = {one.name: one.value for one in series([50.0] * 20).assumptions}
    assert assumed == {"trend_limit": 90.0, "trend_days": 10}
    assert {one.name for one in series([50.0] * 20, limit=80).assumptions} == {"trend_days"}


def test_partial_hour_is_completed(tmp_path: Path, few_measures: None) -> None:
    lake_path = tmp_path / "lake"
    whole = write(tmp_path / "whole.data", recording(range(0, 40)))
    lake.add([write(tmp_path / "first.data", recording(range(0, 20)))], lake_path)
    stores.rollup(lake_path)
    lake.add([write(tmp_path / "second.data", recording(range(20, 40)))], lake_path)

    def found(name: Path | str) -> list[tuple[object, ...]]:
        with zlens.open(name) as session:
            return [
                (hour.end, hour.seconds, hour.mean())
                for hour in hourly_values(session._core, "load", ["busy_pct"])
            ]

    assert found(lake_path) == found(whole)
    stores.rollup(lake_path)
    assert found(lake_path) == found(whole)


@pytest.mark.long
def test_trend_from_rollups_equals_intervals(demo_folder: Path, tmp_path: Path, few_measures: None) -> None:
    lake_path = tmp_path / "lake"
    lake.add([demo_folder], lake_path)

    def found() -> list[tuple[object, ...]]:
        with zlens.open(lake_path) as session:
            return [
                (hour.system, hour.source, hour.end, hour.seconds, hour.mean(0), hour.mean(1))
                for hour in hourly_values(session._core, "load", ["busy_pct", "page_rate"])
            ]

    computed = found()
    assert {system for system, *_ in computed} == {"ZLDEMO", "ZLSIM", "ZLZ1"}
    # One source per system, with the longest coverage.
    assert len({(system, source) for system, source, *_ in computed}) == 3
    stores.rollup(lake_path, systems=["ZLDEMO", "ZLZ1"])
    assert found() == computed
    stores.rollup(lake_path)
    assert found() == computed
    # The mean of an hour is the weighted mean of its intervals.
    with zlens.open(lake_path) as session:
        [(expected,)] = session.sql(
            "SELECT sum(busy_pct * online * seconds) / sum(online * seconds) FROM load "
            "WHERE system = 'ZLDEMO' AND interval_end <= '2010-03-09 08:00:30+00' AND flag IS NULL"
        ).rows
    assert computed[0][4] == pytest.approx(expected)


def test_shifts_and_months_of_data(demo_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "trend.toml"
    (tmp_path / "zldemo.monwrite").symlink_to(demo_folder / "zldemo.monwrite")
    values = {"data": ["zldemo.monwrite"], "shift": {"early": "08:00-09:00", "late": "09:00-10:00"}}
    answer = studies.solve("trend", values, file=str(file))
    rows = answer.table("months").rows
    assert [row[:4] for row in rows] == [("ZLDEMO", "early", "2010-03", 1), ("ZLDEMO", "late", "2010-03", 1)]
    assert [row[4] for row in rows] == pytest.approx([36.3765, 71.7328], abs=1e-4)
    # The mean of a month is over its intervals, not its hours: two intervals were shorter.
    [row] = studies.solve("trend", values | {"shift": {}}, file=str(file)).table("months").rows
    with zlens.open(tmp_path / "zldemo.monwrite") as session:
        [(mean,)] = session.sql(
            "SELECT sum(busy_pct * online * seconds) / sum(online * seconds) FROM load WHERE flag IS NULL"
        ).rows
    assert row[4] == pytest.approx(mean)
    assert row[4] != pytest.approx((36.3765 + 71.7328) / 2, abs=1e-3)


def test_shifts_use_zone_of_selected_source(demo_folder: Path) -> None:
    """ZLZ1 also has a report in local time of an unknown zone, which is first by name."""
    shifts = {"early": "08:00-09:00", "late": "09:00-10:00"}
    with zlens.open(demo_folder) as session:
        both = {
            (one.system, one.shift): one.hours
            for one in trend.measured_hours(session._core, "load", "busy_pct", shifts)
        }
    with zlens.open(demo_folder / "zlzos.smf") as session:
        alone = {
            (one.system, one.shift): one.hours
            for one in trend.measured_hours(session._core, "load", "busy_pct", shifts)
        }
    for name, hours_of in alone.items():
        assert [value for _, value, _ in both[name]] == [value for _, value, _ in hours_of]
        assert len(hours_of) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "has no data"),
        ({"data": ["x"], "series": [{"name": "A", "from": "2026-01-01", "values": [1]}]}, "data and series"),
        ({"series": [{"name": "A", "from": "2026-02-30", "values": [1]}]}, "2026-02-30"),
        ({"series": [{"name": "A", "from": "soon", "values": [1]}]}, "soon"),
        ({"series": [{"name": "A", "from": "2026-01-01", "values": []}]}, "values"),
    ],
)
def test_wrong_files(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        studies.solve("trend", values)


@pytest.mark.parametrize(
    ("table", "column", "said"),
    [
        ("guest", "cpu_pct", "guest is not a measure with one row per system and interval; expected .*load"),
        ("load", "nothing", "load.nothing has no mean over time; expected a rate, ratio or gauge"),
        ("nothing", "x", "nothing is not a measure with one row per system and interval"),
    ],
)
def test_columns_without_mean_by_system(demo_files: list[Path], table: str, column: str, said: str) -> None:
    with zlens.open(demo_files[0]) as session, pytest.raises(QueryError, match=said):
        hourly_values(session._core, table, [column])
