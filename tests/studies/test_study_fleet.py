"""Tests of the comparison of all systems: means, earlier means, growth and clusters."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import zlens
from zlens import lake, stores, studies
from zlens.inputs.options import Options
from zlens.stores import bucket_sql
from zlens.stores.hourly import Hour
from zlens.studies import fleet

BEGIN = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
#: The mean of a system with the weights of its intervals.
MEAN = "sum(busy_pct * online * seconds) / sum(online * seconds)"


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"{text}+00:00")


def test_fleet_mean_equals_intervals(demo_folder: Path) -> None:
    with zlens.open(demo_folder) as session:
        members = {member.system: member for member in fleet.members(session._core, (None, None))}
        rows = session.sql(f"SELECT system, source, {MEAN} FROM load WHERE flag IS NULL GROUP BY ALL").rows
    # ZLZ1 has two sources; one is used.
    expected = {system: mean for system, source, mean in rows if members[system].source == source}
    assert len(rows) == 3
    assert members.keys() == expected.keys() == {"ZLDEMO", "ZLSIM", "ZLZ1"}
    for system, member in members.items():
        assert member.mean == pytest.approx(expected[system])
        assert member.before is None
        assert member.change is None
        assert (member.growth, member.meets) == (None, None)
        assert (member.at, member.busiest) == max(member.hours, key=lambda hour: hour[1])


def test_two_time_ranges_are_compared(demo_folder: Path) -> None:
    first, second = (at("2010-03-09T07:00"), at("2010-03-09T08:00")), (at("2010-03-09T08:00"), None)
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        [early] = fleet.members(session._core, first)
        [late] = fleet.members(session._core, second, first)
        [whole] = fleet.members(session._core, (None, None), (None, at("2010-03-09T07:00")))
    assert (len(early.hours), len(late.hours), len(whole.hours)) == (1, 1, 2)
    assert late.before == early.mean
    assert late.change == pytest.approx(late.mean - early.mean)
    # No data precedes the first hour.
    assert (whole.before, whole.change) == (None, None)


def test_growth_does_not_depend_on_shown_range(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The busiest hour of forty days grows by half a percent per day from 50%."""
    days = range(40)
    hours = [
        Hour("ZLDEMO", "zvm-monitor", BEGIN + dt.timedelta(days=day, hours=hour), 3600.0, (busy,), (1.0,))
        for day in days
        for hour, busy in ((9, 20.0), (10, 50 + 0.5 * day), (11, 30.0))
    ]
    monkeypatch.setattr(fleet, "hourly_values", lambda *_: hours)
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        [member] = fleet.members(session._core, (BEGIN + dt.timedelta(days=33), None))
    values = [50 + 0.5 * day for day in days]
    study = studies.solve("trend", {"series": [{"name": "A", "from": "2026-01-05", "values": values}]})
    [row] = study.table("growth").rows
    assert member.growth == pytest.approx(row[4]) == pytest.approx(0.5 * 365.25 / 12)
    assert member.meets == row[8] == (dt.date(2026, 1, 5) + dt.timedelta(days=80)).isoformat()
    assert len(member.hours) == 3 * 7
    assert member.busiest == 69.5
    assert member.at == BEGIN + dt.timedelta(days=39, hours=10)


def test_clusters_are_users_or_recorded(demo_folder: Path, tmp_path: Path) -> None:
    with zlens.open(demo_folder) as session:
        assert fleet.clusters(session._core) == {"ZLSIM": "ZLSSI"}
    file = tmp_path / "groups.toml"
    file.write_text('[cluster]\n"zld?mo" = "SITE"\n"ZLS*" = "SIMS"\n"*" = "REST"\n')
    with zlens.open(demo_folder, options=Options(group=str(file))) as session:
        assert fleet.clusters(session._core) == {"ZLDEMO": "SITE", "ZLSIM": "SIMS", "ZLZ1": "REST"}
    file.write_text('[cluster]\n"ZLZ*" = "SITE"\n')
    with zlens.open(demo_folder, options=Options(group=str(file))) as session:
        assert fleet.clusters(session._core) == {"ZLSIM": "ZLSSI", "ZLZ1": "SITE"}


def test_partitions_of_machine_by_hour(demo_folder: Path) -> None:
    with zlens.open(demo_folder / "zldemo.monwrite") as session:
        found = fleet.partitions(session._core, "2097-D3E01", (None, None))
        rows = session.sql(
            "SELECT cpu_type, partition, sum(phys_total_pct * seconds) / sum(seconds) "
            "FROM partition WHERE machine = '2097-D3E01' AND flag IS NULL GROUP BY ALL ORDER BY ALL"
        ).rows
        late = fleet.partitions(session._core, "2097-D3E01", (at("2010-03-09T08:00"), None))
        assert fleet.partitions(session._core, "none", (None, None)) == []
    assert [(one.cpu_type, one.name) for one in found] == [row[:2] for row in rows]
    assert len(found) > 1
    for one, (_, _, mean) in zip(found, rows, strict=True):
        assert len(one.hours) == 2
        assert one.mean == pytest.approx(mean)
        assert min(value for _, value in one.hours) <= one.mean <= max(value for _, value in one.hours)
    assert [one.hours for one in late] == [one.hours[1:] for one in found]
    # The report in local time of an unknown zone would be an hour late.
    with zlens.open(demo_folder) as session:
        every = fleet.partitions(session._core, "2097-D3E01", (None, None))
    assert {one.name for one in every} >= {one.name for one in found}
    assert {end for one in every for end, _ in one.hours} == {end for one in found for end, _ in one.hours}


def test_fleet_partitions_from_rollups(
    demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one of two systems of a machine reports; the other has no hours."""
    monkeypatch.setattr(bucket_sql, "measures", lambda: ["partition"])
    lake_path = tmp_path / "lake"
    lake.add([demo_folder / "zldemo.monwrite", demo_folder / "zlzos.smf"], lake_path)

    def found() -> list[fleet.Partition]:
        with zlens.open(lake_path) as session:
            return fleet.partitions(session._core, "2097-D3E01", (None, None))

    computed = found()
    assert computed
    stores.rollup(lake_path)
    # Values are from rollups: nothing is computed again.
    monkeypatch.setattr(bucket_sql, "buckets_sql", None)
    assert found() == computed
