"""Cases of rules: an input on which each rule holds, and one on which it does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from measure_rows import MINUTE, START, SYSTEM, Row, Tables, event, minutes, several, system


@dataclass
class Case:
    """Rows by table on which a rule fires and is silent, and a baseline if it needs one."""

    fires: Tables
    silent: Tables
    baseline: Tables | None = None
    subjects: set[str] = field(default_factory=set)


def one(table: str, fires: dict[str, Any], silent: dict[str, Any], **same: Any) -> Case:
    """Return a case of one table, whose rows differ in a few values."""
    return Case({table: minutes(**{**same, **fires})}, {table: minutes(**{**same, **silent})})


LOAD = {"busy_pct": 50.0, "online": 4.0, "unparked": 4.0, "tv": 1.2, "nonchargeable_cp_pct": 2.0}
GUEST = {"userid": "LINUX01", "vcpus": 2.0, "cpu_pct": 100.0, "cpu_s": 60.0}
CORES = {"cpu_type": "IFL", "threads": 2, "mt_utilization_pct": 80.0}
IDLE_CORES = {**CORES, "mt_utilization_pct": 0.1, "core_busy_pct": 0.3}
OWN = {"machine": "8561-02", "partition": "LP1", "cpu_type": "IFL", "dedicated": False}
HOST = {"lpar": "LP1", "machine": "8561-02", "release": "7.3.0"}
PAGE = {"volume": "PAG001", "area": "PAGE", "device": "0A00", "slots": 1_000_000}
DISK = {"device": "0A00", "volume": "PAG001", "rate": 50.0, "serv_s": 0.002, "resp_s": 0.002, "queued": 0.0}
POOL = {"ssid": "0600", "pool": 0, "io_type": "PAGING"}
PORT = {"kind": "uplink", "port": "VSW1.P00"}


def processors(*each: dict[str, Any], **same: Any) -> list[Row]:
    return several({"cpu_id": number, "cpu_type": "IFL", **same, **one} for number, one in enumerate(each))


def busy_cores(value: dict[str, Any]) -> list[Row]:
    return minutes(**{**CORES, "core_busy_pct": 95.0, **value})


def cores(*each: tuple[float, float | None]) -> list[Row]:
    """Return cores with this utilization and productivity."""
    return several(
        {"core_id": n, "core_busy_pct": busy, "productivity_pct": productivity}
        for n, (busy, productivity) in enumerate(each)
    )


def settings(**values: Any) -> Tables:
    """Return settings of the scheduler at the start."""
    same = {"activated_max": 2, "polarization": "Vertical", "distribution": "Reshuffle", "global_data": "ON"}
    return {"role_scheduler_settings": [{**SYSTEM, "tod": START, **same, **values}]}


def pool(used_s: float) -> Tables:
    """Return a CPU pool of two processors that uses this time per minute."""
    used_pct = 100 * used_s / (2 * 60)
    limit = {"limit_kind": "CAPACITY", "limit_amount": 2.0}
    return {"cpu_pool": minutes(pool="LINUX", of_limit_pct=used_pct, limited_pct=1.0, **limit)}


def links(*devices: int) -> Tables:
    """Return logical links with these numbers of real devices."""
    return {
        "role_isfc_link_configuration": [
            {**SYSTEM, "tod": START, "node": f"NODE{n}", "devices": count} for n, count in enumerate(devices)
        ]
    }


def page_volumes(*ssids: str) -> dict[str, list[Row]]:
    numbers = [f"0A{n:02X}" for n in range(len(ssids))]
    return {
        "paging": several(
            {**PAGE, "volume": f"PAG{n}", "device": number} for n, number in enumerate(numbers)
        ),
        "device": several(
            {**DISK, "device": number, "ssid": ssid} for number, ssid in zip(numbers, ssids, strict=True)
        ),
    }


def command_responses(*milliseconds: float) -> list[Row]:
    """Return the channel paths of a logical control unit with these times to the initial command response."""
    return several(
        {"lcu": "0042", "chpid": f"4{n}", "initial_response_s": ms / 1000}
        for n, ms in enumerate(milliseconds)
    )


def inventory(*names: str, after: float = 0.0) -> list[Row]:
    last = START + 4 * MINUTE
    rows = [{**SYSTEM, "name": name, "class": "sample", "last_time": last} for name in names]
    return [*rows, {**SYSTEM, "name": "D4R1", "class": "event", "last_time": last + after * MINUTE}]


def hungry(*used: tuple[float, float]) -> list[Row]:
    """Return guests that always wait for processors, with these shares and utilizations."""
    wants = {"vcpus": 8.0, "share_kind": "relative", "running_pct": 60.0, "cpu_wait_pct": 40.0}
    return several(
        {"userid": f"G{n}", "share": share, "cpu_pct": cpu, **wants} for n, (share, cpu) in enumerate(used)
    )


def relocations(*steps: tuple[float, str, str]) -> list[Row]:
    return [
        event(at, record=record, kind="relocation", subject=f"guest {user}") for at, record, user in steps
    ]


def relocated(end_code: int) -> Tables:
    """Return the end of a relocation: code 0 completed, 4 MAXTOTAL exceeded."""
    row = {**SYSTEM, "tod": START + 2 * MINUTE, "kind": "end", "userid": "A"}
    row |= {"from_system": "M1", "to_system": "M2", "end_code": end_code, "end": f"code {end_code}"}
    return {"event": relocations((2, "D4R12", "A")), "role_relocation": [row]}


def risen(after: float) -> list[Row]:
    """Return a load that rises after two minutes."""
    return minutes(**{**LOAD, "busy_pct": [50.0, 50.0, after, after]})


def logon(cpu_pct: float) -> Tables:
    """Return a guest that logs on after two minutes."""
    rows = minutes(**{**GUEST, "cpu_pct": cpu_pct, "cpu_s": 0.6 * cpu_pct})
    return {"event": [event(2, kind="logon", subject="guest LINUX01")], "guest": rows[2:]}


def cycles(counted: float, busy: float) -> Tables:
    return {
        "cpumf": minutes(cpu_id=0, cpu_type="IFL", lpar_cpu_pct=counted, generation="z15"),
        "cpu": processors({"busy_pct": busy}),
    }


CASES: dict[str, Case] = {
    "CPU-001": one("guest", {"cpu_pct": 180.0}, {"cpu_pct": 150.0}, **GUEST),
    "CPU-002": one("load", {"busy_pct": 46.0}, {"busy_pct": 44.0}, **{**LOAD, "unparked": 2.0}),
    "CPU-003": Case(
        {"load": minutes(**{**LOAD, "busy_pct": 76.0, "etr": 10.0})},
        {"load": minutes(**{**LOAD, "busy_pct": 85.0, "etr": 10.0})},
        {"load": minutes(**{**LOAD, "busy_pct": 90.0, "etr": 12.0})},
    ),
    "CPU-004": Case(
        {"load": minutes(**{**LOAD, "busy_pct": 30.0, "tv": 1.4})},
        {"load": minutes(**{**LOAD, "busy_pct": 50.0, "tv": 1.4})},
        {"load": minutes(**{**LOAD, "busy_pct": 70.0, "tv": 1.2})},
    ),
    "CPU-005": Case(
        {
            "load": minutes(**{**LOAD, "nonchargeable_cp_pct": 8.0}),
            "lock": several([{"lock": "SRMSLOCK", "mode": "combined", "spin_pct": 30.0}]),
        },
        {
            "load": minutes(**{**LOAD, "nonchargeable_cp_pct": 8.0}),
            "lock": several(
                {"lock": name, "mode": "combined", "spin_pct": spin}
                for name, spin in (("RSAAVLLK", 9.0), ("HCPPGDPL", 8.0), ("HCPPGDSL", 7.0), ("SRMSLOCK", 6.0))
            ),
        },
    ),
    "CPU-006": Case(
        {
            "lock": several(
                {"lock": name, "mode": mode, "spin_pct": 30.0}
                for name in ("SRMSLOCK", "RSAAVLLK")
                for mode in ("combined", "exclusive")
            )
        },
        {
            "lock": several(
                {"lock": "SRMSLOCK", "mode": mode, "spin_pct": 30.0} for mode in ("combined", "exclusive")
            )
        },
    ),
    "CPU-007": Case(
        {"cpu": processors({"diag9c_rate": 160.0}, {"diag9c_rate": 160.0})},
        {"cpu": processors({"diag9c_rate": 140.0}, {"diag9c_rate": 140.0})},
        {"cpu": processors({"diag9c_rate": 100.0}, {"diag9c_rate": 100.0})},
    ),
    "CPU-008": Case(
        {"cpu": processors({"suspend_pct": 9.0}, {"suspend_pct": 4.0})},
        {"cpu": processors({"suspend_pct": 3.0}, {"suspend_pct": 60.0, "parked_pct": 100.0})},
    ),
    "CPU-009": Case(
        {"event": [event(2, kind="capability change", subject="machine", record="D1R18")]},
        {"event": [event(2, kind="logon", subject="guest A", record="D4R1")]},
    ),
    "CAP-001": Case(
        {
            "event": [],
            "role_capability": minutes(indication=[100, 87, 87, 87], reason=1, state="REDUCED."),
            "role_notice": [],
        },
        {
            "event": [],
            "role_capability": minutes(indication=100, reason=0, state="NOMINAL."),
            "role_notice": [],
        },
    ),
    "CPU-011": Case(
        {"partition": minutes(**OWN, logical_cpus=41.0), "system": system(**HOST, mt_ifl=2)},
        {"partition": minutes(**OWN, logical_cpus=41.0), "system": system(**HOST, mt_ifl=1)},
    ),
    "CPU-013": Case(
        {"load": minutes(**LOAD), "guest": several({**GUEST, "userid": f"G{n}"} for n in range(9))},
        {"load": minutes(**LOAD), "guest": several({**GUEST, "userid": f"G{n}"} for n in range(8))},
    ),
    "CPU-014": Case(
        {"event": [event(2, kind="vary off processor", subject="CPU 3")], "load": risen(91.0)},
        {"event": [event(2, kind="vary off processor", subject="CPU 3")], "load": risen(89.0)},
        subjects={"CPU 3"},
    ),
    "SMT-002": Case({"core": cores((99.9, None), (90.0, 80.0))}, {"core": cores((0.02, None), (90.0, 80.0))}),
    "SMT-003": Case(
        {"core_type": busy_cores({"max_capacity_factor_pct": 110.0})},
        {"core_type": minutes(**{**IDLE_CORES, "max_capacity_factor_pct": 101.0})},
    ),
    "SMT-004": Case(
        {"core_type": busy_cores({"thread_density": 1.28})},
        {"core_type": busy_cores({"thread_density": 1.95})},
    ),
    "SMT-005": Case(
        {
            "load": minutes(**LOAD, etr=65.0),
            "system": system(mt_ifl=2),
            "guest": minutes(**{**GUEST, "cpu_pct": 191.0}),
        },
        {
            "load": minutes(**LOAD, etr=99.0),
            "system": system(mt_ifl=2),
            "guest": minutes(**{**GUEST, "cpu_pct": 191.0}),
        },
        {"load": minutes(**LOAD, etr=100.0), "system": system(mt_ifl=1), "guest": minutes(**GUEST)},
    ),
    "SMT-006": Case(
        {"event": [event(2, record="D5R21", kind="multithreading change", subject="system")]},
        {
            "event": [event(2, record="D5R21", kind="multithreading change", subject="system")],
            "throughput": minutes(etr=10.0),
        },
    ),
    "SMT-008": Case(
        {
            "core_type": busy_cores({}),
            "cpu": processors({"busy_pct": 62.0, "thread_id": 0}, {"busy_pct": 60.0, "thread_id": 1}),
        },
        {
            "core_type": busy_cores({}),
            "cpu": processors({"busy_pct": 92.0, "thread_id": 0}, {"busy_pct": 90.0, "thread_id": 1}),
        },
    ),
    "SMT-009": Case(
        {"core_type": busy_cores({"capacity_factor_pct": 104.0})},
        {"core_type": busy_cores({"capacity_factor_pct": 125.0})},
    ),
    "SMT-010": Case(settings(distribution="Rebalance"), settings(distribution="Reshuffle")),
    "LPAR-001": one(
        "cec", {"lpmgt_pct": 1804.8}, {"lpmgt_pct": 20.0}, cpu_type="IFL", total_pct=5290.4, type_tl=1.1
    ),
    "LPAR-002": Case(
        {
            "partition": several({**OWN, "partition": f"LP{n}", "vh": 10, "vm": 1, "vl": 16} for n in (1, 2)),
            "cec": minutes(cpu_type="IFL", physical=24.0),
        },
        {
            "partition": several({**OWN, "partition": f"LP{n}", "vh": 10, "vm": 1, "vl": 2} for n in (1, 2)),
            "cec": minutes(cpu_type="IFL", physical=24.0),
        },
    ),
    "LPAR-003": one("partition", {"logical_cpus": 26.0}, {"logical_cpus": 21.0}, **OWN, entitlement=19.0),
    "LPAR-004": Case(
        {
            "partition": minutes(**OWN, total_s=300.0, entitlement=4.0),
            "cec": minutes(cpu_type="IFL", phys_total_pct=96.0),
        },
        {
            "partition": minutes(**OWN, total_s=300.0, entitlement=4.0),
            "cec": minutes(cpu_type="IFL", phys_total_pct=60.0),
        },
    ),
    "LPAR-005": Case(
        {
            "partition": minutes(**OWN, entitlement=1.0, logical_cpus=4.0),
            "system": system(**HOST),
            "cpu": processors({"polarity": "Hor"}),
        },
        {
            "partition": minutes(**OWN, entitlement=1.0, logical_cpus=4.0),
            "system": system(**HOST),
            "cpu": processors({"polarity": "Vm"}),
        },
    ),
    "LPAR-006": Case(settings(global_data="OFF"), settings(global_data="ON")),
    "LPAR-007": one("partition", {"capped": True}, {"capped": False}, **OWN, total_s=118.0, entitlement=2.0),
    "LPAR-008": Case(
        {"guest": minutes(**GUEST, dispatch_wait_mean_s=0.000257)},
        {"guest": minutes(**GUEST, dispatch_wait_mean_s=0.000003)},
        {"guest": minutes(**GUEST, dispatch_wait_mean_s=0.00000176)},
    ),
    "SHR-001": Case(
        {"guest": hungry((100, 60.0), (200, 60.0), (100, 60.0))},
        {"guest": hungry((100, 50.0), (200, 100.0), (100, 50.0))},
        subjects={"guest G1"},
    ),
    "SHR-003": one("guest", {"limit_wait_pct": 3.0}, {"limit_wait_pct": 0.0}, **GUEST, limit_kind="hard"),
    "CPL-001": Case(pool(115.0), pool(100.0)),
    "CF-001": one("coupling_facility", {"busy_pct": 50.0}, {"busy_pct": 49.9}, facility="CF01"),
    "CF-002": one("coupling_facility", {"delayed_pct": 10.1}, {"delayed_pct": 9.9}, facility="CF01"),
    "CF-003": one(
        "coupling_structure", {"changed_pct": 10.0}, {"changed_pct": 9.9}, facility="CF01", structure="LOCK1"
    ),
    "CHN-001": one(
        "channel",
        {"util_pct": 50.1},
        {"util_pct": 50.0},
        chpid="5A",
        measurement_group=2,
        channel_type="FC_S",
        partition_util_pct=20.0,
    ),
    "RMF-001": one("ready_work", {"samples_pct": 38.0}, {"samples_pct": 41.0}, bucket="<=N"),
    "RMF-004": one(
        "workload",
        {"performance_index": 1.4},
        {"performance_index": 1.0},
        **{"class": "ONLINE", "class_kind": "service", "period": 2, "importance": 1},
    ),
    "PAG-011": one("image_storage", {"slots_used_pct": 31.0}, {"slots_used_pct": 30.0}),
    "RMF-002": one("address_spaces", {"average": 1.1}, {"average": 1.0}, kind="OUT READY Queue", most=3.0),
    "RMF-011": one(
        "capture",
        {"capture_pct": 87.9},
        {"capture_pct": 88.0},
        cpu_type="CP",
        dispatch_s=100.0,
        uncaptured_s=12.1,
    ),
    "RMF-012": one(
        "hiperdispatch",
        {"mvs_busy_pct": 95.0, "unparks": 0},
        {"mvs_busy_pct": 94.9, "unparks": 0},
        cpu_type="CP",
        unpark_limit_pct=95.0,
        unparked=2.0,
        parked=0.0,
        refused=30,
        decisions=30,
    ),
    "STO-001": one("storage", {"overcommit": 2.4}, {"overcommit": 1.6}, zone="all"),
    "STO-003": one("storage", {"available_empty_rate": 0.2}, {"available_empty_rate": 0.0}, zone="all"),
    "STO-004": one(
        "storage",
        {"available": [1000, 990, 900, 800, 700, 600, 400, 300]},
        {"available": [1000, 990, 900, 950, 970, 980, 900, 950]},
        zone="below 2 GB",
        count=8,
    ),
    "STO-006": one("storage", {"standby_bytes": 2**30}, {"standby_bytes": 0}, zone="all"),
    "PAG-001": one("paging", {"mload_s": 0.0031}, {"mload_s": 0.0011}, **PAGE),
    "PAG-002": one("paging", {"slots_used": 800_000}, {"slots_used": 700_000}, **PAGE),
    "PAG-003": Case(
        {"device": minutes(**DISK, busy_pct=24.0), "paging": minutes(**PAGE)},
        {"device": minutes(**{**DISK, "device": "0B00"}, busy_pct=90.0), "paging": minutes(**PAGE)},
    ),
    "PAG-004": Case(
        {"paging": several({**PAGE, "volume": f"PAG{n}", "slots": n} for n in (1_000_000, 3_000_000))},
        {"paging": several({**PAGE, "volume": f"PAG{n}"} for n in (1, 2))},
    ),
    "PAG-005": Case(
        page_volumes("0600", "0600", "0600", "0601"), page_volumes("0600", "0600", "0601", "0601")
    ),
    "PAG-006": one("paging", {"queue": 0.5}, {"queue": 0.0}, **PAGE),
    "PAG-007": Case(
        {
            "device": minutes(**DISK, read_hit_pct=58.0, disc_s=0.0105, conn_s=0.0005),
            "paging": minutes(**PAGE),
        },
        {
            "device": minutes(**DISK, read_hit_pct=96.0, disc_s=0.0005, conn_s=0.0002),
            "paging": minutes(**PAGE),
        },
    ),
    "PAG-009": Case(
        {"paging": minutes(**PAGE), "guest": minutes(**GUEST, storage_bytes=2_000_000 * 4096)},
        {"paging": minutes(**PAGE), "guest": minutes(**GUEST, storage_bytes=900_000 * 4096)},
    ),
    "PAG-010": Case(
        {"load": minutes(**LOAD, page_rate=1300.0, etr=10.0)},
        {"load": minutes(**LOAD, page_rate=1100.0, etr=10.0)},
        {"load": minutes(**LOAD, page_rate=1000.0, etr=10.0)},
    ),
    "IO-001": one("device", {"resp_s": 0.00657, "queued": 13.2}, {}, **DISK),
    "IO-002": one("device", {"disc_s": 0.0015}, {"disc_s": 0.0001}, **DISK, pend_s=0.0002),
    "IO-003": one("alias_pool", {"queued": 5.2}, {"queued": 0.0}, **POOL, in_use=13.9, entitlement=14.0),
    "IO-008": Case({"lcu_path": command_responses(11, 3, 2, 4)}, {"lcu_path": command_responses(9, 3, 2, 4)}),
    "IO-005": Case(
        {"event": [event(2, record="D6R31", kind="minidisk caching changed by CP", subject="guest A")]},
        {"event": [event(2, record="D6R32", kind="HPF feature change", subject="device 0A00")]},
    ),
    "NET-004": one(
        "network", {"out_discards_rate": 0.5}, {"out_discards_rate": 0.0}, **PORT, in_discards_rate=0.0
    ),
    "USR-001": one("guest", {"cpu_wait_pct": 20.0}, {"cpu_wait_pct": 8.0}, **GUEST, dormant_pct=60.0),
    "USR-002": one("guest", {"page_wait_pct": 7.0}, {"page_wait_pct": 2.0}, **GUEST),
    "USR-004": one("guest", {"running_pct": 48.0}, {"running_pct": 40.0}, **GUEST, dormant_pct=50.0),
    "USR-006": Case(
        {"guest": minutes(**GUEST, dispatch_wait_mean_s=0.0009)},
        {"guest": minutes(**GUEST, dispatch_wait_mean_s=0.0007)},
        {"guest": minutes(**GUEST, dispatch_wait_mean_s=0.0004)},
    ),
    "USR-008": Case(
        {**logon(cpu_pct=60.0), "load": risen(76.0)},
        {**logon(cpu_pct=20.0), "load": risen(76.0)},
        subjects={"guest LINUX01"},
    ),
    "MF-003": Case(
        {"system": system(), "inventory": inventory("D0R2")},
        {"system": system(), "inventory": inventory("D0R2", "D5R13")},
    ),
    "MF-004": Case(
        {"cpumf_type": minutes(cpu_type="IFL", ghz=[5.2, 5.2, 4.4, 4.4])},
        {"cpumf_type": minutes(cpu_type="IFL", ghz=5.2)},
    ),
    "MF-005": Case(
        {"cpumf": minutes(cpu_id=0, generation_by="machine type 9999 is not known")},
        {"cpumf": minutes(cpu_id=0, generation="z15")},
    ),
    "MF-006": one("cpumf_type", {"tlb_cpu_miss_pct": 16.0}, {"tlb_cpu_miss_pct": 6.0}, cpu_type="IFL"),
    "LGR-001": Case(
        {"event": relocations((1, "D4R11", "A"), (2, "D4R11", "B"), (3, "D4R12", "A"), (3.5, "D4R12", "B"))},
        {"event": relocations((1, "D4R11", "A"), (2, "D4R12", "A"), (2.5, "D4R11", "B"), (3, "D4R12", "B"))},
    ),
    "SSI-001": Case(links(4, 6), links(4, 16), subjects={"link to NODE1"}),
    "CHG-001": one("guest", {"mt1_s": 40.0}, {"mt1_s": 60.0}, **GUEST),
    "CHG-002": Case(relocated(0), relocated(4)),
    "LGR-003": Case(relocated(4), relocated(0)),
    "CMP-004": Case(
        {"load": minutes(**{**LOAD, "busy_pct": [10.0, 12.0, 11.0, 90.0]})},
        {"load": minutes(**{**LOAD, "busy_pct": [60.0, 70.0, 65.0, 90.0]})},
    ),
    "CMP-005": Case(
        {"system": system(machine_type="8561", model="704", release="7.3.0"), "load": minutes(**LOAD)},
        {"system": system(machine_type="8561", model="703", release="7.2.0"), "load": minutes(**LOAD)},
        {"system": system(machine_type="8561", model="703", release="7.2.0"), "load": minutes(**LOAD)},
        subjects={"machine", "level"},
    ),
    "DQ-001": Case(
        {"inventory": inventory("D0R2", after=2.0)},
        {"inventory": inventory("D0R2", after=-1.0)},
    ),
    "DQ-002": Case(
        {"event": [event(2, kind="event recording suspended", subject="monitor", record="D1R12")]},
        {"event": [event(2, kind="logon", subject="guest A", record="D4R1")]},
    ),
    "DQ-004": Case(
        {"system": system(nominal_s=300.0), "cpumf": minutes(cpu_id=0, cycles=10**9, generation="z15")},
        {"system": system(nominal_s=60.0), "cpumf": minutes(cpu_id=0, cycles=10**9, generation="z15")},
    ),
    "BAL-001": one("load", {"capture_pct": 96.5}, {"capture_pct": 99.2}, **LOAD),
    "BAL-002": one("cec", {"total_s": 62.4, "physical": 1}, {"total_s": 59.4, "physical": 1}, cpu_type="IFL"),
    "BAL-003": Case(
        {"cpu": processors({"busy_pct": 60.0, "wait_pct": 50.0})},
        {"cpu": processors({"busy_pct": 60.0, "wait_pct": 38.0})},
    ),
    "BAL-004": Case(
        {
            "cpu": processors({"busy_pct": 60.0}, {"busy_pct": 60.0}),
            "partition": minutes(**OWN, effective_s=40.0),
            "system": system(**HOST),
        },
        {
            "cpu": processors({"busy_pct": 60.0}, {"busy_pct": 60.0}),
            "partition": minutes(**OWN, effective_s=71.0),
            "system": system(**HOST),
        },
    ),
    "BAL-005": Case(
        {
            "system": system(),
            "_contradicting_systems": [
                {
                    **SYSTEM,
                    "balance": "problem-state",
                    "text": "more in problem state than in all",
                    "times": 3,
                    "first_end": START + MINUTE,
                    "cpu_id": 0,
                    "found": 9.0,
                    "allowed": 5.0,
                }
            ],
        },
        {"system": system()},
    ),
    "BAL-006": Case(cycles(70.0, 60.0), cycles(61.0, 60.0)),
}
