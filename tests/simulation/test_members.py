"""Tests of several members of a cluster in one scenario: guests that continue at the destination."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.api import Session
from zlens.errors import ScenarioError
from zlens.models import solve
from zlens.simulation import run

SECONDS = 600
#: 600 MiB at 50 MiB/s from second 300 on, and the fixed part of the quiesce.
MOVED_AT = 300 + 600 / 50 + 0.5


def members(**relocation: Any) -> dict[str, Any]:
    """Return two members; MOVER goes from one to the other."""
    user = {"type": "IFL", "relative": 100, "storage": 4096, "virtual_cpus": 2}
    move = {"user": "MOVER", "to": "ZVM2", "at": 300, "touched": 600, "fixed_quiesce": 0.5, **relocation}
    return {
        "model": "system",
        "processors": {"IFL": 4},
        "partition": [
            {"name": name, "type": "IFL", "cores": 2, "dedicated": True, "zvm": "7.4"}
            for name in ("ZVM1", "ZVM2")
        ],
        "user": [
            {"name": "MOVER", "partition": "ZVM1", "demand": 60, **user},
            {"name": "STAYS1", "partition": "ZVM1", "demand": 20, **user},
            {"name": "STAYS2", "partition": "ZVM2", "demand": 20, **user},
        ],
        "link": {"rate": 50, "cluster": "ZLSSI", "cpu": 1.0, "receive": 2.0},
        "relocation": [move],
        "simulation": {"seconds": SECONDS, "interval": 30, "checked": True},
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = tmp_path_factory.mktemp("cluster") / "members.data"
    [done] = zlens.simulate(members(), path)
    with zlens.open(list(done.files.values())) as session:
        yield session


def test_relocated_guest_continues_at_destination(cluster: Session) -> None:
    """Its CPU time at both members is that of its demand, but for the quiesce, and in no interval less."""
    query = "SELECT system, sum(virtual_s) FROM guest WHERE userid = 'MOVER' GROUP BY 1 ORDER BY 1"
    found = dict(cluster.sql(query).rows)
    assert found["ZVM1"] == pytest.approx(0.6 * MOVED_AT, rel=0.01)
    assert found["ZVM2"] == pytest.approx(0.6 * (SECONDS - MOVED_AT), rel=0.01)
    assert sum(found.values()) == pytest.approx(0.6 * SECONDS, rel=0.003)
    query = "SELECT interval_end, sum(virtual_s) FROM guest WHERE userid = 'MOVER' GROUP BY 1 ORDER BY 1"
    used = [row[1] for row in cluster.sql(query).rows]
    assert len(used) == SECONDS / 30
    assert used == pytest.approx([0.6 * 30] * len(used), rel=0.1)


def test_both_ends_of_link_count_relocation(cluster: Session) -> None:
    amounts = "sum(local_sent), sum(local_received)"
    query = f"SELECT system, node, {amounts} FROM role.isfc_link GROUP BY ALL ORDER BY 1"
    sent = pytest.approx(600 * 2**20, rel=0.01)
    assert cluster.sql(query).rows == [("ZVM1", "ZVM2", sent, 0), ("ZVM2", "ZVM1", 0, sent)]
    assert cluster.sql("SELECT system, cluster FROM role.ssi ORDER BY 1").rows == [
        ("ZVM1", "ZLSSI"), ("ZVM2", "ZLSSI"),
    ]  # fmt: skip


def test_both_ends_spend_time_on_relocation(tmp_path: Path, cluster: Session) -> None:
    """600 MiB for 1 ms each at the source, and for 2 ms each at the destination, are 0.6 and 1.2 s."""
    values = members()
    values["link"] |= {"cpu": 0.0, "receive": 0.0}
    [done] = zlens.simulate(values, tmp_path / "free.data")
    query = "SELECT system, sum(system_pct * seconds) / 100 FROM cpu GROUP BY 1 ORDER BY 1"
    with zlens.open(list(done.files.values())) as free:
        without = dict(free.sql(query).rows)
    found = {name: seconds - without[name] for name, seconds in cluster.sql(query).rows}
    assert found == {"ZVM1": pytest.approx(0.6, rel=0.1), "ZVM2": pytest.approx(1.2, rel=0.1)}


def test_transactions_follow_relocated_guest(tmp_path: Path) -> None:
    values = members()
    values["user"][0]["demand"] = 0
    values["transaction"] = [
        {
            "name": "WEB",
            "partition": "ZVM1",
            "customers": 1,
            "think": 0.1,
            "step": [{"cpu": 20, "user": "MOVER"}],
        }
    ]
    [done] = zlens.simulate(values, tmp_path / "m.data")
    seconds = {
        name: system["users"]["MOVER"]["virtual_s"] for name, system in done.summary["systems"].items()
    }
    # 20 ms of each 120 ms.
    assert sum(seconds.values()) == pytest.approx(SECONDS / 6, rel=0.05)
    assert seconds["ZVM2"] == pytest.approx((SECONDS - MOVED_AT) / 6, rel=0.05)


def test_canceled_guest_stays_at_its_member(tmp_path: Path) -> None:
    [done] = zlens.simulate(members(maxquiesce=0.1), tmp_path / "m.data")
    seconds = {
        name: system["users"]["MOVER"]["virtual_s"] for name, system in done.summary["systems"].items()
    }
    assert seconds == {"ZVM1": pytest.approx(0.6 * SECONDS, rel=0.01), "ZVM2": 0}


@pytest.mark.parametrize(
    ("limit", "code"), [({"maxtotal": 15}, 4), ({"maxquiesce": 0.1}, 5), ({"maxquiesce": 0.3}, 5), ({}, 0)]
)
def test_canceled_passes_equal_those_of_solver(tmp_path: Path, limit: dict[str, float], code: int) -> None:
    """The pass in which a relocation is canceled counts."""
    values = {
        "model": "relocation",
        "maxquiesce": "NOLIMIT",
        "link": {"rate": 100},
        "guest": [
            {"name": "MOVER", "memory": 1000, "change_rate": 60, "changing": 900, "fixed_quiesce": 0.2}
        ],
        "simulation": {"seconds": 120, "interval": 60},
        **limit,
    }
    [table] = [table for table in solve("relocation", values).tables if table.key == "relocations"]
    [expected] = table.column("passes")
    assert table.column("end_code") == [code]
    [done] = zlens.simulate(values, tmp_path / "m.data")
    with zlens.open(list(done.files.values())) as session:
        rows = session.sql(
            "SELECT passes, end_code FROM role.relocation WHERE kind = 'end' AND userid IS NOT NULL"
        ).rows
    assert rows == [(expected, code)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"logged_on": True}, "of which ZVM2 has another"),
        ({"logged_on": False, "virtual_cpus": 1}, "with the same type and virtual_cpus"),
    ],
)
def test_guest_that_arrives_must_not_be_there(change: dict[str, Any], message: str) -> None:
    values = members(partition="ZVM1")
    values["user"].append(values["user"][0] | {"partition": "ZVM2"} | change)
    with pytest.raises(ScenarioError, match=message):
        run.prepare(values)


def test_transactions_with_io_cannot_move() -> None:
    values = members()
    values["control_unit"] = [{"name": "CU1", "partition": "ZVM1", "aliases": 0}]
    values["volume"] = [{"name": "DATA01", "control_unit": "CU1"}]
    step = {"io": 1, "user": "MOVER", "volumes": ["DATA01"]}
    values["transaction"] = [{"name": "WEB", "partition": "ZVM1", "customers": 1, "think": 1, "step": [step]}]
    with pytest.raises(ScenarioError, match="their volumes stay behind"):
        run.prepare(values)


def test_named_members_exchange_messages(tmp_path: Path) -> None:
    """1,000 messages to the other member and as many from it, 100 µs each: a fifth of a processor."""
    values = members()
    del values["relocation"]
    del values["user"][0]
    seconds = []
    for message in (0.0, 100.0):
        values["link"] |= {"members": ["ZVM1", "ZVM2"], "messages": 1000, "message": message}
        [done] = zlens.simulate(values, tmp_path / f"{message}.data")
        with zlens.open(list(done.files.values())) as session:
            rows = session.sql("SELECT system, node FROM role.isfc_link GROUP BY ALL ORDER BY 1").rows
            assert rows == [("ZVM1", "ZVM2"), ("ZVM2", "ZVM1")]
            query = "SELECT sum(system_pct * seconds) / 100 FROM cpu GROUP BY system ORDER BY system"
            seconds.append([row[0] for row in session.sql(query).rows])
    for less, more in zip(*seconds, strict=True):
        assert more - less == pytest.approx(0.2 * SECONDS, rel=0.05)


def test_arriving_guest_has_its_pages_in_frames(tmp_path: Path) -> None:
    """All 600 MiB that were touched and sent are resident where the guest continues."""
    values = members()
    values["user"][0] |= {"storage": 600, "working_set": 600}
    values["cp"] = {"page_faults": "computed"}
    for part in values["partition"]:
        part["storage"] = 16384
    [done] = zlens.simulate(values, tmp_path / "m.data")
    query = (
        "SELECT system, arg_max(resident_pages, interval_end) FROM guest "
        "WHERE userid = 'MOVER' AND basis = 'sample' GROUP BY 1 ORDER BY 1"
    )
    with zlens.open(list(done.files.values())) as session:
        found = dict(session.sql(query).rows)
    assert found["ZVM2"] == pytest.approx(600 * 256, rel=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"link": {"rate": 50, "members": ["ZVM3"]}}, "link.members"),
        (
            {
                "control_unit": [
                    {"name": "CU1", "partition": "ZVM1", "server": "DS", "ranks": 1},
                    {"name": "CU2", "partition": "ZVM2", "server": "DS", "ranks": 2},
                ]
            },
            "ranks differs from that of others of DS",
        ),
    ],
)
def test_cluster_that_contradicts_itself(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        run.prepare(members() | change)
