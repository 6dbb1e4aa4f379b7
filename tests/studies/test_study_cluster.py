"""Tests of shared subjects of cluster members: volumes by total device busy, guests by name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from zlens.api import Session
from zlens.catalog import aggregation
from zlens.inputs.options import Options
from zlens.session.queries import Queries
from zlens.studies import cluster

ALWAYS = (None, None)


def member(name: str, demand: int, rate: int, path: Path) -> str:
    """Write the file of a system with LINUX1, SHARE1, and a guest and volume of its own."""
    scenario = {
        "model": "system",
        "processors": {"IFL": 2},
        "partition": [{"name": name, "type": "IFL", "cores": 2, "dedicated": True, "zvm": "7.4"}],
        "control_unit": [{"name": "CU"}],
        "volume": [
            {"name": "SHARE1", "control_unit": "CU", "device": 0x1234},
            {"name": f"OWN{name[-1]}", "control_unit": "CU", "device": 0x2000},
        ],
        "user": [
            {
                "name": user,
                "type": "IFL",
                "relative": 100,
                "virtual_cpus": 1,
                "demand": demand,
                "load": {"io_rate": rate, "volumes": ["SHARE1", f"OWN{name[-1]}"]},
            }
            for user in ("LINUX1", f"ONLY{name[-1]}")
        ],
        "simulation": {"seconds": 300},
    }
    zlens.simulate(scenario, path / f"{name}.monwrite")
    return str(path / f"{name}.monwrite")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("cluster")
    files = [member("ZVM1", 20, 40, folder), member("ZVM2", 30, 10, folder)]
    groups = folder / "groups.toml"
    groups.write_text('[cluster]\n"ZVM?" = "SITE"\n')
    with zlens.open(files, options=Options(group=str(groups))) as session:
        yield session


def test_volumes_are_added_over_members(site: Session) -> None:
    volumes = cluster.shared_subjects(site._core, cluster.VOLUMES, ["ZVM1", "ZVM2"], ALWAYS)
    rows = site.sql("SELECT system, volume, avg(busy_pct) FROM device WHERE flag IS NULL GROUP BY ALL").rows
    expected = {(system, volume): mean for system, volume, mean in rows}
    found = {one.name: one for one in volumes}
    assert found.keys() == {"SHARE1", "OWN1", "OWN2"}
    assert found["SHARE1"].members == {
        system: pytest.approx(expected[system, "SHARE1"], rel=1e-6) for system in ("ZVM1", "ZVM2")
    }
    assert found["SHARE1"].together == pytest.approx(sum(found["SHARE1"].members.values()))
    assert [*found["OWN2"].members] == ["ZVM2"]
    uses = [one.together for one in volumes]
    assert uses == sorted(uses, reverse=True)
    assert min(uses) > 0


def test_guests_are_those_of_one_name(site: Session) -> None:
    guests = {
        one.name: one for one in cluster.shared_subjects(site._core, cluster.GUESTS, ["ZVM1", "ZVM2"], ALWAYS)
    }
    assert guests["LINUX1"].members == {
        "ZVM1": pytest.approx(20, rel=0.1),
        "ZVM2": pytest.approx(30, rel=0.1),
    }
    assert guests["LINUX1"].together == pytest.approx(50, rel=0.1)
    assert [*guests["ONLY1"].members] == ["ZVM1"]


def test_cluster_counts_only_members_and_range(site: Session) -> None:
    [first, *_] = [row[0] for row in site.sql("SELECT DISTINCT interval_end FROM load ORDER BY 1").rows]
    span = (None, first + dt.timedelta(seconds=61))
    [guest] = [
        one
        for one in cluster.shared_subjects(site._core, cluster.GUESTS, ["ZVM2"], span)
        if one.name == "LINUX1"
    ]
    [(cpu,)] = site.sql(
        "SELECT avg(cpu_pct) FROM guest WHERE system = 'ZVM2' AND userid = 'LINUX1' AND flag IS NULL "
        f"AND interval_end <= '{span[1].isoformat()}'"
    ).rows
    assert guest.members == {"ZVM2": pytest.approx(cpu)}
    assert (
        cluster.shared_subjects(site._core, cluster.GUESTS, ["ZVM2"], (span[1] + dt.timedelta(days=1), None))
        == []
    )


def test_unknown_member_makes_sum_null(site: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    class Rows:
        rows = (("ZVM1", "zvm", "A", 1.0), ("ZVM2", "zvm", "A", None), ("ZVM1", "zvm", "B", 2.0),
                ("ZVM1", "zvm", "B", 3.0), ("ZVM1", "rmf", "B", 9.0), ("ZVM1", "zvm", None, 1.0))  # fmt: skip

    monkeypatch.setattr(Queries, "select", lambda *_: Rows)
    assert cluster.shared_subjects(site._core, cluster.VOLUMES, ["ZVM1", "ZVM2"], ALWAYS) == [
        ("B", 5.0, {"ZVM1": 5.0}),
        ("A", None, {"ZVM1": 1.0, "ZVM2": None}),
    ]


def test_input_without_guests_has_no_shared_guests(demo_folder: Path) -> None:
    with zlens.open(demo_folder / "zlzos-rmf-cpu.xml") as session:
        assert cluster.shared_subjects(session._core, cluster.GUESTS, ["ZLZ1"], ALWAYS) == []


@pytest.mark.parametrize("kind", [cluster.VOLUMES, cluster.GUESTS])
def test_shared_measures_are_sums(kind: cluster.SharedMeasure) -> None:
    assert aggregation.subject_rule(kind.measured()) == "sum"
