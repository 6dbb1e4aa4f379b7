"""Tests of rules against cases that IBM published: they hold for the problems, not for the fixes.

Publications: z/VM and SMT (2015, 2020); z/VM 6.4 Performance Update (Wade, 2016-2018); z/VM Performance
Report, Eighty Logical Processors (VM66265, 2019).
"""

from __future__ import annotations

import pytest
from measure_rows import Made, Tables, minutes, several, system

from zlens.catalog import rules
from zlens.findings.evaluate import find
from zlens.findings.finding import Finding


def found(tables: Tables, baseline: Tables | None = None) -> dict[str, Finding]:
    """Return the findings by rule; of several subjects, the worst."""
    before = Made(baseline) if baseline is not None else None
    rows = find(Made(tables), classes=rules.CLASSES, baseline=before).rows
    return {each.rule.id: each for each in reversed(rows)}


def smt(busy: float, threads_busy: float, density: float, factor: float, largest: float) -> Tables:
    """Return four cores with two threads each, as in a run with a single server."""
    return {
        "core_type": minutes(
            cpu_type="IFL", threads=2, core_busy_pct=busy, thread_density=density, capacity_factor_pct=factor,
            max_capacity_factor_pct=largest, mt_utilization_pct=80.0,
        ),
        "cpu": several(
            {"cpu_id": n, "thread_id": n % 2, "cpu_type": "IFL", "busy_pct": threads_busy, "polarity": "Vh"}
            for n in range(8)
        ),
    }  # fmt: skip


def test_one_server_under_multithreading() -> None:
    bad = found(smt(95.5, 61.1, 1.28, 104.0, 115.0))
    assert {"SMT-003", "SMT-004", "SMT-008", "SMT-009"} <= set(bad)
    assert bad["SMT-004"].value == 1.28
    assert bad["SMT-008"].value == pytest.approx(95.5 - 61.1)
    # More servers on the same cores: a gain above the expected average of 10 to 40%.
    good = found(smt(95.1, 92.6, 1.95, 149.0, 151.0))
    assert {name for name in good if name.startswith("SMT")} == {"SMT-009"}


def test_throughput_of_one_server() -> None:
    def run(etr: float, used: float, threads: int) -> Tables:
        guest = {"userid": "SERVER", "vcpus": 1.0, "cpu_pct": used}
        return {"load": minutes(etr=etr), "guest": minutes(**guest), "system": system(mt_ifl=threads)}

    before = run(1.0, 70.5, 1)
    assert found(run(0.649, 95.4, 2), before)["SMT-005"].value == pytest.approx(0.649)
    assert "SMT-005" not in found(run(1.065, 95.4, 2), before)


def test_time_of_pr_sm() -> None:
    tables = {
        "cec": minutes(cpu_type="IFL", physical=86.0, lpmgt_pct=1804.8, total_pct=5290.4, type_tl=1.632),
    }
    assert found(tables)["LPAR-001"].value == pytest.approx(34.1, abs=0.05)


def test_rule_finds_too_many_vertical_lows() -> None:
    partitions = ((6, 1, 5), (19, 1, 4), (19, 1, 4), (19, 1, 8), (19, 1, 8))
    tables = {
        "partition": several(
            {"partition": f"LP{n}", "machine": "M", "cpu_type": "IFL", "vh": vh, "vm": vm, "vl": vl}
            for n, (vh, vm, vl) in enumerate(partitions)
        ),
        "cec": minutes(cpu_type="IFL", physical=86.0),
    }
    assert found(tables)["LPAR-002"].value == pytest.approx(8.5)


@pytest.mark.parametrize(("lows", "held"), [(0, False), (1, True), (10, True)])
def test_vertical_lows_without_free_cores(lows: int, held: bool) -> None:
    """Ten physical cores with entitlements of 6 and 4: no core is left for a vertical low."""
    tables = {
        "partition": several(
            {"partition": name, "machine": "M", "cpu_type": "IFL", "vh": vh, "vm": 0, "vl": vl}
            for name, vh, vl in (("LP1", 6, lows), ("LP2", 4, 0))
        ),
        "cec": minutes(cpu_type="IFL", physical=10.0),
    }
    assert ("LPAR-002" in found(tables)) == held
    if held:
        finding = found(tables)["LPAR-002"]
        assert (finding.value, finding.threshold, finding.detail) == (lows, 0, f"{lows} on 0")


def test_cores_beyond_entitlement() -> None:
    own = {"partition": "LP1", "cpu_type": "IFL", "logical_cpus": 26.0, "entitlement": 19.0}
    assert found({"partition": minutes(**own)})["LPAR-003"].value == pytest.approx(700.0)


@pytest.mark.parametrize(("response_ms", "queue", "held"), [(6.57, 13.2, True), (0.427, 0.0, False)])
def test_queueing_minidisks(response_ms: float, queue: float, held: bool) -> None:
    row = {"device": "BE0E", "volume": "QRMD00", "rate": 2149.0, "serv_s": 0.000427, "queued": queue}
    disks = found({"device": minutes(**row, resp_s=response_ms / 1000)})
    assert ("IO-001" in disks) == held
    if held:
        assert disks["IO-001"].value == pytest.approx(6.57 / 0.427)


def test_pool_whose_minidisks_wait() -> None:
    pool = {"ssid": "0600", "pool": 0, "entitlement": 2.0}
    waiting = found({"alias_pool": minutes(**pool, io_type="MDISK", in_use=2.37, queued=27.18)})
    assert waiting["IO-003"].value == pytest.approx(118.5)
    assert waiting["IO-003"].subject == "0600 pool 0 MDISK"


@pytest.mark.parametrize(
    ("disc_ms", "conn_ms", "hit", "held"), [(0.479, 0.229, 97, False), (10.5, 0.480, 58, True)]
)
def test_paging_volumes_with_cache(disc_ms: float, conn_ms: float, hit: float, held: bool) -> None:
    disk = {"device": "0A00", "read_hit_pct": hit, "disc_s": disc_ms / 1000, "conn_s": conn_ms / 1000}
    tables = {"device": minutes(**disk), "paging": minutes(device="0A00", volume="PAG001", area="PAGE")}
    assert ("PAG-007" in found(tables)) == held


def test_servers_wait_longer_when_fewer_are_unparked() -> None:
    def run(wait_us: float) -> Tables:
        return {"guest": minutes(userid="SERVER", dispatch_wait_mean_s=wait_us / 1e6)}

    found_now = found(run(257.17), run(1.76))
    assert {"LPAR-008", "USR-006"} <= set(found_now)
    assert found_now["LPAR-008"].baseline == pytest.approx(1.76e-6)
    assert "LPAR-008" not in found(run(2.43), run(2.20))


def test_shares_agree_with_solver() -> None:
    # 100:200:100:400 on two processors is 25, 50, 25 and 100 percent.
    def run(*used: float) -> Tables:
        wants = {"vcpus": 4.0, "share_kind": "relative", "running_pct": 50.0, "cpu_wait_pct": 50.0}
        return {
            "guest": several(
                {**wants, "userid": f"G{share}", "share": share, "cpu_pct": cpu}
                for share, cpu in zip((100, 200, 100, 400), used, strict=True)
            )
        }

    assert "SHR-001" not in found(run(25.0, 50.0, 25.0, 100.0))
    assert found(run(50.0, 50.0, 50.0, 50.0))["SHR-001"].subject == "guest G400"


def test_reduced_capacity_says_why_and_since_when() -> None:
    """IBM (Burg, 2011): power save mode of z/OS; z/VM Performance Update: responses of QUERY CAPABILITY."""
    stated = "RUNNING WITH REDUCED CAPACITY DUE TO A MANUAL CONTROL SETTING."
    tables: Tables = {
        "event": [],
        "role_notice": [],
        "role_capability": minutes(indication=[100, 83, 83, 100], reason=[0, 1, 1, 0], state=stated),
    }
    assert found(tables)["CAP-001"].detail == (
        "RUNNING WITH REDUCED CAPACITY DUE TO A MANUAL CONTROL SETTING, capacity-adjustment indication 83, "
        "capacity-change reason 1, since 2026-03-02 09:02:00"
    )
    tables["role_capability"] = minutes(indication=83, reason=1, state=stated)
    assert str(found(tables)["CAP-001"].detail).endswith(", at least since 2026-03-02 09:01:00")
    why = "THE SYSTEM IS RUNNING WITH REDUCED CAPACITY BECAUSE OF A MANUAL CONTROL SETTING"
    texts = [why, "THE SYSTEM IS RUNNING AT NOMINAL CAPACITY"]
    tables = {
        "event": [],
        "role_capability": [],
        "role_notice": minutes(2, message="IWM064I", text=texts, reason=["A MANUAL CONTROL SETTING", None]),
    }
    assert found(tables)["CAP-001"].detail == f"{why}, since 2026-03-02 09:01:00, until 2026-03-02 09:02:00"
