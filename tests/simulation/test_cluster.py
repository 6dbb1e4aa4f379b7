"""Tests of records of an SSI cluster member, its links, its global switch and its Linux guests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from zlens.api import Session
from zlens.cli import main
from zlens.models import constants
from zlens.simulation import run

#: Reports on data that z/VM does not record: SMF, RMF, the HMC, Linux files, the user's throughput.
ELSEWHERE = {
    *(
        "hmc",
        "power",
        "meters",
        "energy",
        "pai",
        "monitor3",
        "caf",
        "rmfcf",
        "rmfcpu",
        "rmfpaging",
        "rmfpagesp",
        "capture",
        "groupcap",
        "hiperdispatch",
        "latent",
        "topology",
        "throughput",
        "jobs",
        "workload",
        "workstate",
        "rmfdevice",
        "rmfioq",
        "rmfcache",
    ),
    *("his032i", "iwm064i"),
}
INTERVALS = 15
SECONDS = 60 * INTERVALS
MIB = 2**20
#: CPU seconds by the scenario: LINUX1 uses 80% of a processor, LINUX2 half of one from its pool, and OTHER
#: 10% until its relocation ends, 12 s after its start: 600 MiB at 50 MiB/s.
CPU_S = {"LINUX1": 0.8 * SECONDS, "LINUX2": 0.5 * SECONDS, "OTHER": 0.1 * (300 + 600 / 50)}


@pytest.fixture(scope="module")
def member(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A system with a guest that is relocated once, to ZVM2, and one limited by its pool."""
    path = tmp_path_factory.mktemp("cluster") / "member.monwrite"
    zlens.simulate(scenario(), str(path))
    with zlens.open([str(path)]) as session:
        yield session


def scenario(**user: object) -> dict[str, object]:
    linux = {"type": "IFL", "relative": 100, "storage": 4096, "application_data": True, **user}
    return {
        "model": "system",
        "processors": {"IFL": 4},
        "partition": [{"name": "ZVM1", "type": "IFL", "cores": 4, "dedicated": True, "zvm": "7.4"}],
        "pool": [{"name": "HALF", "type": "IFL", "capacity": 0.5}],
        "user": [
            {"name": "LINUX1", "demand": 80, "virtual_cpus": 2, **linux},
            {"name": "LINUX2", "virtual_cpus": 1, "pool": "HALF", **linux},
            {"name": "OTHER", "demand": 10, "virtual_cpus": 1, **linux, "application_data": False},
        ],
        "switch": [
            {
                "name": "VSWG",
                "global": True,
                "device": 0x0A00,
                "port": [{"user": "LINUX1", "out": 20, "in": 8}, {"user": "OTHER", "out": 1, "next": 2}],
            }
        ],
        "function": [
            {"id": 7, "user": "LINUX1", "type": 2, "format": "packets", "in": 3, "out": 5, "packet": 1000}
        ],
        "link": {
            "rate": 50,
            "cluster": "ZLSSI",
            "chpid": [{"name": "60", "speed": 8, "rdevs": [f"C1{n:02X}" for n in (2, 0, 1, *range(3, 16))]}],
        },
        "relocation": [{"user": "OTHER", "to": "ZVM2", "at": 300, "touched": 600}],
        "simulation": {"seconds": SECONDS, "start": "2026-03-02T08:00:00Z"},
    }


def test_demo_fills_every_report_of_zvm_system(
    demo_files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    systems = [str(path) for path in demo_files if path.suffix == ".monwrite"]
    assert main(["report", "--list", *systems]) == 0
    _, _, names = capsys.readouterr().out.partition("\nWithout data in this input: ")
    assert set(names.partition(".")[0].replace("\n", " ").split(", ")) == ELSEWHERE


def test_member_names_its_cluster_and_others(member: Session) -> None:
    assert member.sql("SELECT cluster FROM role.ssi").rows == [("ZLSSI",)]
    ends = "SELECT end_point, other_node FROM role.isfc_end_point"
    assert member.sql(ends).rows == [("00000001", "ZVM2")]
    configured = "SELECT node, devices, COLUMNS('device[0-9]+') FROM role.isfc_link_configuration"
    assert member.sql(configured).rows == [("ZVM2", 16, *(f"C1{n:02X}" for n in range(16)))]


def test_link_traffic_equals_relocation_pages(member: Session) -> None:
    """All touched storage is sent at the rate of the link, only in the minutes of the relocation."""
    sent = member.sql("SELECT interval_end, local_sent FROM role.isfc_link ORDER BY 1").rows
    assert sum(row[1] for row in sent) == pytest.approx(600 * 2**20, rel=0.01)
    assert [row[0].minute for row in sent if row[1]] == [6]
    received = "SELECT sum(local_received), sum(forwarded_sent), count(*) FROM role.isfc_link"
    assert member.sql(received).rows == [(0, 0, INTERVALS)]


def test_cluster_state_is_constant(member: Session) -> None:
    synchronized = "SELECT count(*), sum(synchronizations) FROM role.ssi_synchronization"
    assert member.sql(synchronized).rows == [(INTERVALS, 0)]
    assert member.sql("SELECT count(*), sum(joining) FROM role.ssi_state").rows == [(INTERVALS, 0)]


def test_global_switch_counts_uplink_traffic(member: Session) -> None:
    """LINUX1 sends 20 MiB and receives 8 MiB per second of CPU time, OTHER sends 1 MiB.

    Traffic of OTHER to the next port stays within the switch.
    """
    received = 8 * CPU_S["LINUX1"] * MIB
    sent = (20 * CPU_S["LINUX1"] + CPU_S["OTHER"]) * MIB
    packet = constants.constant("sim_packet").default
    for kind in ("global", "uplink"):
        columns = "sum(in_bytes), sum(out_bytes), sum(in_packets), sum(out_packets)"
        [row] = member.sql(f"SELECT {columns} FROM role.network_port WHERE kind = '{kind}'").rows
        assert row == pytest.approx((received, sent, received / packet, sent / packet), rel=1e-4), kind


def test_linux_guest_has_own_and_stolen_time(member: Session) -> None:
    """Used, stolen and idle time sum to all time; used time equals CP's and the scenario's."""
    rows = member.sql(
        "SELECT userid, sum(user_time), sum(steal_time), sum(idle_time), sum(seconds) "
        "FROM role.linux_guest_cpu GROUP BY userid ORDER BY userid"
    ).rows
    given = dict(member.sql("SELECT userid, sum(virtual_s) FROM guest GROUP BY userid").rows)
    assert [row[0] for row in rows] == ["LINUX1", "LINUX2"]
    for userid, used, stolen, idle, seconds in rows:
        assert used == pytest.approx(CPU_S[userid], rel=0.001)
        assert given[userid] == pytest.approx(CPU_S[userid], rel=0.001)
        assert used + stolen + idle == pytest.approx(seconds, rel=0.001)
    # LINUX2 always wants a processor; its pool has half of one.
    assert rows[1][2] == pytest.approx(SECONDS / 2, rel=0.02)
    assert rows[1][3] == pytest.approx(0, abs=1)


def test_steal_has_time_of_other_partitions(tmp_path: Path) -> None:
    """A guest that always wants a processor of a partition entitled to 60% of it: steal 40, load 1."""
    values = {
        "model": "system",
        "processors": {"IFL": 1},
        "partition": [
            {"name": "ZVM1", "type": "IFL", "cores": 1, "weight": 60, "zvm": "7.4"},
            {"name": "OTHER", "type": "IFL", "cores": 1, "weight": 40},
        ],
        "user": [{"name": "HUNGRY", "type": "IFL", "relative": 100, "application_data": True}],
        "simulation": {"seconds": 600},
    }
    zlens.simulate(values, tmp_path / "steal.data")
    with zlens.open([tmp_path / "steal.data"]) as session:
        [row] = session.sql(
            "SELECT 100 * sum(steal_time) / sum(seconds), 100 * sum(idle_time) / sum(seconds) "
            "FROM role.linux_guest_cpu"
        ).rows
        assert row == pytest.approx((40, 0), abs=0.2)
        [[load]] = session.sql("SELECT arg_max(load, interval_end) FROM role.linux_guest").rows
        assert load == pytest.approx(1, abs=0.01)


def test_load_average_approaches_runnable_processors(member: Session) -> None:
    loads = dict(
        member.sql("SELECT userid, arg_max(load, interval_end) FROM role.linux_guest GROUP BY 1").rows
    )
    # Average of one minute after fifteen minutes.
    assert loads["LINUX2"] == pytest.approx(1, rel=0.01)
    assert loads["LINUX1"] == pytest.approx(0.8, rel=0.01)


def test_linux_guest_counts_port_and_function_traffic(member: Session) -> None:
    traffic = "SELECT userid, sum(received), sum(sent) FROM role.linux_guest_network GROUP BY userid"
    [(userid, received, sent)] = member.sql(traffic).rows
    assert userid == "LINUX1"
    assert sent == pytest.approx((20 + 5) * CPU_S["LINUX1"] * MIB, rel=1e-4)
    assert received == pytest.approx(((8 + 3) * CPU_S["LINUX1"] + 2 * CPU_S["OTHER"]) * MIB, rel=1e-4)


def test_linux_guest_memory_equals_use(member: Session) -> None:
    memory = "SELECT DISTINCT userid, total, total - free FROM role.linux_guest_memory ORDER BY userid"
    assert member.sql(memory).rows == [
        (userid, 4096 * 2**20, pytest.approx(4096 * 2**20 / 2)) for userid in ("LINUX1", "LINUX2")
    ]


def test_system_without_relocations_is_not_cluster_member(tmp_path: Path) -> None:
    path = tmp_path / "alone.monwrite"
    alone = scenario(application_data=False)
    del alone["relocation"], alone["link"]
    alone["simulation"] = {"seconds": 60}
    alone["switch"][0]["global"] = False
    zlens.simulate(alone, str(path))
    with zlens.open([str(path)]) as session:
        records = {row[0] for row in session.sql("SELECT DISTINCT record FROM inventory").rows}
    assert not records & {"D1R23", "D1R24", "D1R25", "D8R4", "D9R2", "D9R4", "D10R2", "D11R1", "D11R2"}


def test_devices_without_numbers_get_some() -> None:
    values = scenario()
    values["link"] = {"chpid": [{"name": "60", "speed": 8, "ctcs": 2}, {"name": "61", "speed": 8, "ctcs": 1}]}
    lowered = run.prepare(values).lowered.scenario["systems"][0]["link"]
    assert (lowered["cluster"], lowered["devices"]) == ("CLUSTER", [0xC000, 0xC001, 0xC002])
