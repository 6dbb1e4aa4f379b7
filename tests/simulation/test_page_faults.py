"""Tests of page faults that follow from references to memory, and of what their records say.

`crates/sim/tests/memory.rs` compares fault rates with exact formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.api import Session
from zlens.errors import ScenarioError
from zlens.models.constants import constants
from zlens.simulation import run

SECONDS = 120
#: 4 volumes of 4 GiB.
SLOTS = 1_048_576


def scenario(storage: float, *users: dict[str, Any], **cp: Any) -> dict[str, Any]:
    """Return users of one virtual CPU that always has work, in a partition with this storage in MiB."""
    return {
        "model": "system",
        "processors": {"IFL": len(users)},
        "partition": [
            {
                "name": "ZVM1",
                "type": "IFL",
                "cores": len(users),
                "dedicated": True,
                "zvm": "7.4",
                "storage": storage,
            }
        ],
        "cp": cp,
        "user": [{"type": "IFL", "virtual_cpus": 1, "relative": 100, **user} for user in users],
        "control_unit": [{"name": "CU1", "aliases": 8}],
        "volume": [
            {
                "name": f"PAGE0{n}",
                "control_unit": "CU1",
                "paging": True,
                "slots": SLOTS,
                "connect": 0.1,
                "connect_page": 0.02,
            }
            for n in range(1, 5)
        ],
        "simulation": {"seconds": SECONDS, "interval": 30, "warmup": 30, "checked": True},
    }


def guest(name: str, mib: float, **keys: Any) -> dict[str, Any]:
    return {"name": name, "storage": mib, "working_set": mib, **keys}


def simulated(values: dict[str, Any], path: Path) -> Session:
    zlens.simulate(values, str(path))
    return zlens.open([str(path)])


@pytest.fixture(scope="module")
def thrashing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Two guests of 12,000 MiB in 2,048 MiB."""
    path = tmp_path_factory.mktemp("memory") / "thrashing.monwrite"
    values = scenario(2048, guest("A", 12_000), guest("B", 12_000))
    for volume in values["volume"]:
        volume["slots"] = 2 * SLOTS
    with simulated(values, path) as session:
        yield session


def one(session: Session, query: str) -> Any:
    [(value,)] = session.sql(query).rows
    return value


def test_large_guests_in_small_storage_thrash(thrashing: Session) -> None:
    # References are uniform: eleven of twelve miss. Other pages of a block are as likely as any.
    faults = "sum(page_fault_rate * seconds) / sum(virtual_s)"
    assert one(thrashing, f"SELECT {faults} FROM guest") == pytest.approx(
        10_000 * (1 - 0.98 * 2048 / (1 + 8 / 1024) / 24_000), rel=0.02
    )
    assert one(thrashing, "SELECT max(cpu_pct) FROM guest") < 20
    assert one(thrashing, "SELECT max(slots_used) - max(slots) FROM paging") <= 0


def test_reports_of_memory_agree(thrashing: Session) -> None:
    """Of one interval: pages read and slots by users, by volumes and of the system."""
    query = """
    SELECT g.resident, g.slots, p.slots, g.reads, p.reads, g.writes, p.writes, s.reads
    FROM (SELECT interval_end, sum(resident_pages) AS resident, sum(paging_slots) AS slots,
              sum(page_read_rate) AS reads, sum(page_write_rate) AS writes FROM guest GROUP BY ALL) AS g
    JOIN (SELECT interval_end, sum(slots_used) AS slots, sum(read_rate) AS reads, sum(write_rate) AS writes
          FROM paging WHERE area = 'PAGE' GROUP BY ALL) AS p USING (interval_end)
    JOIN (SELECT interval_end, max(page_read_rate) AS reads FROM storage GROUP BY ALL) AS s
        USING (interval_end)
    """
    rows = thrashing.sql(query).rows
    assert rows
    for resident, slots, on_volumes, reads, moved, writes, written, of_system in rows:
        # Frames that page: 98% of 2,048 MiB, less tables of 8 KiB per MiB.
        assert resident == pytest.approx(0.98 * 2048 * 256 / (1 + 8 / 1024), rel=0.01)
        assert resident + slots >= 24_000 * 256 - 10
        assert on_volumes == pytest.approx(slots, rel=0.01)
        assert moved == pytest.approx(reads, rel=0.01)
        assert written == pytest.approx(writes, rel=0.02)
        assert of_system == pytest.approx(reads, rel=0.01)


def test_small_guests_in_large_storage_never_page(tmp_path: Path) -> None:
    values = scenario(
        16_384, guest("A", 500, references={"rate": 20_000}), guest("B", 500, references={"rate": 20_000})
    )
    with simulated(values, tmp_path / "small.monwrite") as session:
        assert one(session, "SELECT max(read_rate + write_rate) FROM paging") == 0
        assert one(session, "SELECT min(cpu_pct) FROM guest") == pytest.approx(100, abs=0.5)


def test_busy_small_guest_keeps_working_set(tmp_path: Path) -> None:
    """Its pages are referenced every 5 ms of its time, those of the large one less than once a minute."""
    values = scenario(2048, guest("SMALL", 100), guest("LARGE", 6000))
    values["user"][0]["references"] = {"rate": 5_000_000}
    with simulated(values, tmp_path / "busy.monwrite") as session:
        resident = one(session, "SELECT min(resident_pages) FROM guest WHERE userid = 'SMALL'")
        assert resident == pytest.approx(100 * 256, rel=0.01)
        assert one(session, "SELECT max(page_fault_rate) FROM guest WHERE userid = 'SMALL'") < 1


def test_set_reserve_keeps_pages_of_idle_guest(tmp_path: Path) -> None:
    idle = {"demand": 1, "references": {"rate": 100}}
    for reserve, least, most in ((0, 0, 3000), (200, 199 * 256, 200 * 256)):
        values = scenario(1024, guest("IDLE", 200, reserve=reserve, **idle), guest("BUSY", 4000))
        values["simulation"]["warmup"] = 300
        with simulated(values, tmp_path / f"reserve{reserve}.monwrite") as session:
            resident = one(session, "SELECT max(resident_pages) FROM guest WHERE userid = 'IDLE'")
            assert least <= resident <= most, reserve
            assert one(session, "SELECT max(reserved) FROM storage") == reserve * 256
            assert one(session, "SELECT max(reserved_pages) FROM guest") == reserve * 256


def test_reserved_segment_is_not_paged(tmp_path: Path) -> None:
    """A saved segment that both guests reference seldom; what it does not keep they fault on."""
    values = scenario(1024, guest("A", 2000, references={"rate": 0}), guest("B", 2000))
    values["user"][0]["references"] = {"rate": 0}
    segment = {"name": "DCSS", "user": ["A"], "storage": 100, "references": {"rate": 100}}
    for reserve, faults in ((0, True), (100, False)):
        values["space"] = [{**segment, "reserve": reserve}]
        with simulated(values, tmp_path / f"segment{reserve}.monwrite") as session:
            rate = one(session, "SELECT max(page_fault_rate) FROM guest WHERE userid = 'A'")
            assert (rate > 1) is faults


def test_page_rate_without_shortage_is_refused() -> None:
    values = scenario(16_384, guest("A", 500, load={"page_rate": 50}))
    with pytest.raises(ScenarioError, match="nothing is paged: 500 MiB in use") as raised:
        run.prepare(values)
    assert "working_set" in str(raised.value.cure)
    # It pages all the same, or because it must.
    assert not run.prepare({**values, "cp": {"page_faults": "given"}}).lowered.scenario["systems"][0][
        "faults"
    ]
    values["partition"][0]["storage"] = 400
    assert not run.prepare(values).lowered.scenario["systems"][0]["faults"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("v['user'][0]['load'] = {'page_rate': 5}; v['user'][0]['reserve'] = 5", "reserve computes them"),
        ("v['cp'] = {'page_faults': 'given'}; v['user'][0]['reserve'] = 5", "reserve has no effect"),
        ("v['volume'] = []", "must page, but no volume is for paging"),
        (
            "v['user'][0].update(storage=40_000, working_set=40_000)",
            "paging volumes of partition ZVM1 are too",
        ),
        ("v['space'] = [{'name': 'S', 'user': ['NOBODY'], 'storage': 5}]", "NOBODY"),
    ],
)
def test_inconsistent_memory_is_rejected(change: str, says: str) -> None:
    values = scenario(1024, guest("A", 2000))
    exec(change, {"v": values})
    with pytest.raises(ScenarioError, match=says) as raised:
        run.prepare(values)
    assert raised.value.cure


def test_scenario_without_shortage_uses_no_memory_model() -> None:
    """Neither events nor random numbers of it: its history is as if there were no frames."""
    values = scenario(16_384, guest("A", 500))
    ready = run.prepare(values)
    assert not ready.lowered.scenario["systems"][0]["faults"]
    assert "sim_references" in constants()
    assert not {"sim_references", "sim_zone"} & {one.name for one in ready.constants}
    del values["partition"][0]["storage"], values["volume"]
    assert not run.prepare(values).lowered.scenario["systems"][0]["faults"]


def test_releases_choose_frames_in_their_way() -> None:
    def cp(**keys: Any) -> dict[str, Any]:
        values = scenario(1024, guest("A", 2000))
        values["partition"][0] |= keys
        if "records" in keys:
            del values["partition"][0]["zvm"]
        found: dict[str, Any] = run.prepare(values).lowered.scenario["systems"][0]["cp"]
        return {key: found[key] for key in ("selection", "zone_mib")}

    assert cp() == {"selection": "aging list", "zone_mib": 4096}
    assert cp(records="5.3") == {"selection": "demand scan", "zone_mib": None}


@pytest.mark.parametrize(
    ("release", "used", "unused"),
    [("zvm", "sim_zone", "sim_needle"), ("records", "sim_needle", "sim_zone")],
)
def test_constants_of_release_are_explained(release: str, used: str, unused: str) -> None:
    values = scenario(1024, guest("A", 2000))
    if release == "records":
        values["partition"][0]["records"] = "5.3"
        del values["partition"][0]["zvm"]
    names = {one.name for one in run.prepare(values).constants}
    assert used in names
    assert unused not in names


def test_virtual_disk_has_pages_of_its_own(tmp_path: Path) -> None:
    """Of a virtual disk that is referenced far more than the guest's storage, all pages stay in frames."""
    values = scenario(1024, guest("A", 2000, references={"rate": 1000}, virtual_cpus=2))
    values["space"] = [{"name": "SWAP1", "user": ["A"], "storage": 50, "references": {"rate": 1_000_000}}]
    with simulated(values, tmp_path / "vdisk.monwrite") as session:
        assert one(session, "SELECT min(vdisk_pages) FROM guest") == pytest.approx(50 * 256, rel=0.01)
        frames = 0.98 * 1024 * 256 / (1 + 8 / 1024)
        resident = one(session, "SELECT avg(resident_pages) FROM guest")
        assert resident == pytest.approx(frames - 50 * 256, rel=0.01)


def test_phases_bring_other_pages_in(tmp_path: Path) -> None:
    """Without phases the hot set, a tenth of the pages, is in frames; half of the next one is out."""
    hot = {"pattern": "hot set", "hot": 10, "hot_references": 100}
    rates = {}
    for phase in (None, 20):
        references = hot if phase is None else {**hot, "phase": phase}
        values = scenario(1024, guest("A", 2000, references=references), block_pages=1)
        with simulated(values, tmp_path / f"phase{phase}.monwrite") as session:
            faults = "sum(page_fault_rate * seconds) / sum(virtual_s)"
            rates[phase] = one(session, f"SELECT {faults} FROM guest")
    assert rates[None] < 1
    # 200 MiB in 20 s, of which half is out; some of the other half is taken before it is referenced.
    assert 0.9 / 2 < rates[20] / (200 * 256 / 20) < 0.9


def test_logon_needs_frames_but_no_reads(tmp_path: Path) -> None:
    """A guest that logs on references new pages, which CP makes; at logoff its frames and slots are free."""
    values = scenario(2048, guest("A", 1500), guest("LATE", 1000, logged_on=False), page_faults="computed")
    values["simulation"] |= {"interval": 10}
    values["command"] = [
        {"at": 41, "do": "logon", "user": "LATE"},
        {"at": 91, "do": "logoff", "user": "LATE"},
    ]
    with simulated(values, tmp_path / "logon.monwrite") as session:
        rows = session.sql("""
            SELECT s.interval_end, max(s.available), max(p.used), any_value(g.resident_pages)
            FROM storage AS s
            JOIN (SELECT interval_end, sum(slots_used) AS used FROM paging GROUP BY ALL) AS p
                USING (interval_end)
            LEFT JOIN guest AS g ON g.interval_end = s.interval_end AND g.userid = 'LATE'
            GROUP BY 1 ORDER BY 1
        """).rows
        before, soon, after = rows[3], rows[4], rows[-1]
        assert before[2] == 0
        assert before[1] == pytest.approx((0.98 * 2048 - 1500 * (1 + 8 / 1024)) * 256, rel=0.02)
        # In 8 to 9 s of virtual CPU time 10,000 references per second to 256,000 pages.
        assert 256_000 * (1 - math.exp(-8 / 25.6)) <= soon[3] * 1.01
        assert soon[3] <= 256_000 * (1 - math.exp(-9 / 25.6))
        assert rows[7][2] > 0
        slots = one(session, "SELECT max_by(paging_slots, interval_end) FROM guest WHERE userid = 'A'")
        assert after[2] == pytest.approx(slots, rel=0.01)
        assert after[1] > rows[7][1]
        assert one(session, "SELECT max(page_read_rate) FROM guest WHERE userid = 'LATE'") < 10_000


def test_demand_scan_waits_for_its_writes(tmp_path: Path) -> None:
    """The global aging list is written early, so its frames are available at once; else guests wait."""
    rates = {}
    for name, cp in (
        ("early", {"early_writes": 20}),
        ("late", {"early_writes": 0}),
        ("scan", {"selection": "demand scan"}),
    ):
        values = scenario(1024, guest("A", 4000), **cp)
        values["user"][0]["references"] = {"changed": 100}
        with simulated(values, tmp_path / f"{name}.monwrite") as session:
            rates[name] = one(session, "SELECT max(available_empty_rate) FROM storage")
    assert rates["early"] <= rates["late"]
    assert rates["scan"] >= rates["late"]


def test_zones_reduce_waiting_for_lock(tmp_path: Path) -> None:
    """Faults hold a lock for long: one for all processors, as before z/VM 6.4, or one for each zone."""
    times = {}
    for name, release in (("zones", {}), ("one lock", {"records": "5.3"})):
        values = scenario(
            16_384,
            *(guest(f"G{n}", 4000) for n in range(8)),
            frame_lock=50,
            below_2g=0,
            selection="aging list",
        )
        values["partition"][0] |= release
        if release:
            del values["partition"][0]["zvm"]
        [found] = zlens.simulate(values, str(tmp_path / "zones.monwrite"))
        users = found.summary["systems"]["ZVM1"]["users"].values()
        times[name] = sum(user["cpu_s"] for user in users) / sum(user["virtual_s"] for user in users)
    assert times["one lock"] > times["zones"]


def test_spins_for_frames_are_of_processors(tmp_path: Path) -> None:
    """Eight processors that hold one lock for 50 µs for each fault: its spins are those of the processors."""
    guests = (guest(f"G{n}", 4000) for n in range(8))
    values = scenario(16_384, *guests, frame_lock=50, zone=1e9, lock_hold=0)
    with simulated(values, tmp_path / "spins.monwrite") as session:
        spins = one(session, "SELECT sum(spin_pct) FROM lock WHERE lock = 'RSAAVLLK' AND mode = 'combined'")
        assert spins > 10
        assert one(session, "SELECT sum(spin_pct) FROM cpu") == pytest.approx(spins, rel=0.01)


def test_queued_returns_shorten_faults(tmp_path: Path) -> None:
    """One guest never spins; it holds the lock once for a fault, or twice."""
    times = {}
    for queued in (True, False):
        values = scenario(
            1024, guest("A", 2000), queued_returns=queued, frame_lock=20, frame_return=30, fault=0
        )
        values["cp"] |= {"dispatch_user": 0, "dispatch_system": 0}
        with simulated(values, tmp_path / "returns.monwrite") as session:
            times[queued] = one(
                session, "SELECT (sum(cpu_s) - sum(virtual_s)) / sum(page_fault_rate * seconds) FROM guest"
            )
            assert one(session, "SELECT sum(spin_pct) FROM lock WHERE lock = 'RSAAVLLK'") in (0, None)
    assert 1e6 * times[True] == pytest.approx(20, rel=0.02)
    assert 1e6 * times[False] == pytest.approx(50, rel=0.02)


def test_searches_below_2_gb_cost_time(tmp_path: Path) -> None:
    """Before z/VM 6.4: of 8 GiB, a search passes over 3 frames for one below 2 GB; each takes 1 ms here."""
    times = {}
    for part in (0, 100):
        values = scenario(8192, guest("A", 12_000), below_2g=part, needle=1000, fault=0, frame_lock=0)
        values["partition"][0]["records"] = "5.3"
        del values["partition"][0]["zvm"]
        [found] = zlens.simulate(values, str(tmp_path / "needles.monwrite"))
        [user] = found.summary["systems"]["ZVM1"]["users"].values()
        times[part] = (user["cpu_s"] - user["virtual_s"]) / user["virtual_s"]
    faults = 10_000 * (1 - 0.98 * 8192 / (1 + 8 / 1024) / 12_000)
    assert times[100] - times[0] == pytest.approx(faults * 0.003, rel=0.05)


def test_rules_see_paging_of_scenario(thrashing: Session) -> None:
    """Storage is overcommitted twelve times; all volumes together are far below their slots."""
    found = {finding.rule.id for finding in thrashing.findings().rows}
    assert {"STO-001", "PAG-003"} <= found
    assert "PAG-002" not in found


def test_records_without_shortage_do_not_depend_on_memory(tmp_path: Path) -> None:
    """No byte of the records depends on what page faults would cost, if all pages fit."""
    first, second = tmp_path / "first.monwrite", tmp_path / "second.monwrite"
    zlens.simulate(scenario(16_384, guest("A", 500)), str(first))
    costly = {"fault": 1000, "frame_lock": 1000, "zone": 1, "early_writes": 50, "page_table": 100}
    zlens.simulate(scenario(16_384, guest("A", 500), **costly), str(second))
    assert first.read_bytes() == second.read_bytes()


def test_seed_determines_page_faults(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("first.monwrite", "second.monwrite", "other.monwrite")]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        values = scenario(1024, guest("A", 2000, references={"pattern": "Zipf", "run": 4}))
        values["simulation"]["seed"] = seed
        zlens.simulate(values, str(path))
    first, second, other = (path.read_bytes() for path in files)
    assert first == second != other
