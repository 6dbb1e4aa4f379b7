"""Tests of measures from SMF 70-1 against printed reports of such records.

Publications: a report of real SMF 70 records by smf2db (system S0W1, a zPDT, 27 July 2021; smf2db, quick
start, MIT license), and IBM, "z/VM and simultaneous multithreading", 2015 and 2020: the RMF CPU Activity
report of four zIIPs with MT=2. The counters are computed from the printed figures.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import draws
from readers import section_builder, smf113_builder
from smf70_builder import (
    DEDICATED,
    HIGH,
    LOW,
    MEDIUM,
    Core,
    Cpu,
    Logical,
    Lpar,
    Record,
    encoded,
    record,
    session,
)
from zlens import reports
from zlens.catalog.smf_record import CounterSetValues
from zlens.inputs.options import Options

#: The intervals of smf2db's report, 29:59.996, and of IBM's, 10.14.053.
S0W1_S, ZIIP_S = 1799.996, 614.053

#: smf2db's report: processor, LPAR busy, MVS busy, I/O interrupts per second, % via TPI. The third decimal of
#: LPAR busy is not printed; it is chosen to match the printed sums of dispatch times.
S0W1_CP = ((0, 4.238, 3.49, 5.71, 0.25), (1, 2.548, 1.87, 2.11, 0.18), (2, 5.910, 4.70, 1.28, 0.39))
S0W1_ZIIP = ((3, 6.847, 5.70), (4, 1.357, 0.69), (5, 0.887, 0.21))


def s0w1() -> Record:
    """Return its record; printed sums of dispatch times are divided by the LPAR busy of the processors."""
    effective, total, total_ziip, effective_ziip = 217.095, 228.521, 163.643, 155.461
    cp_busy, ziip_busy = sum(row[1] for row in S0W1_CP), sum(row[1] for row in S0W1_ZIIP)
    capped = {"VPF": 0x10}
    logical = [
        Logical("CP", n, total * b / cp_busy, effective * b / cp_busy, weight=950, fields=capped)
        for n, b, *_ in S0W1_CP
    ] + [
        Logical(
            "IIP", n, total_ziip * b / ziip_busy, effective_ziip * b / ziip_busy, weight=950, fields=capped
        )
        for n, b, _ in S0W1_ZIIP
    ]
    cpus = []
    for n, _, mvs, rate, tpi in S0W1_CP:
        taken = round(rate * S0W1_S * tpi / 100)
        io = {"TPI": taken, "SLH": round(rate * S0W1_S) - taken}
        cpus.append(Cpu(n, 0, S0W1_S * (1 - mvs / 100), fields=io))
    cpus += [Cpu(n, 2, S0W1_S * (1 - mvs / 100)) for n, _, mvs in S0W1_ZIIP]
    return record(
        S0W1_S,
        [Lpar("SYSPLEX", 1, logical)],
        cpus,
        own=1,
        physical={"CP": 6, "IIP": 3},
        management_s={"CP": 7.843},
    )


def test_processors_of_s0w1() -> None:
    with session({"S0W1": [s0w1()]}, S0W1_S) as opened:
        rows = opened.sql(
            "SELECT cpu_id, cpu_type, online_pct, round(busy_pct, 2), round(mvs_busy_pct, 2), parked_pct, "
            "round(io_interrupt_rate, 2), round(tpi_pct, 2) FROM cpu ORDER BY cpu_id"
        ).rows
        means = opened.sql(
            "SELECT cpu_type, round(avg(busy_pct), 2), round(avg(mvs_busy_pct), 2) FROM cpu GROUP BY ALL"
        ).rows
    assert rows == [
        (0, "CP", 100.0, 4.24, 3.49, 0.0, 5.71, 0.25),
        (1, "CP", 100.0, 2.55, 1.87, 0.0, 2.11, 0.18),
        (2, "CP", 100.0, 5.91, 4.70, 0.0, 1.28, 0.39),
        (3, "ZIIP", 100.0, 6.85, 5.70, 0.0, None, None),
        (4, "ZIIP", 100.0, 1.36, 0.69, 0.0, None, None),
        (5, "ZIIP", 100.0, 0.89, 0.21, 0.0, None, None),
    ]
    assert sorted(means) == [("CP", 4.23, 3.35), ("ZIIP", 3.03, 2.2)]


def test_partition_data_of_s0w1() -> None:
    with session({"S0W1": [s0w1()]}, S0W1_S) as opened:
        rows = opened.sql(
            "SELECT cpu_type, partition, status, weight, cap_text, logical_cpus, round(effective_s, 3), "
            "round(total_s, 3), round(effective_pct, 2), round(total_pct, 2), round(phys_lpmgt_pct, 2), "
            "round(phys_effective_pct, 2), round(phys_total_pct, 2), msu_actual FROM partition ORDER BY 1"
        ).rows
        totals = opened.sql(
            "SELECT cpu_type, total_weight, round(effective_s, 3), round(total_s, 3), management_s, "
            "round(lpmgt_pct / physical, 2), round(phys_lpmgt_pct, 2), round(phys_effective_pct, 2), "
            "round(phys_total_pct, 2) FROM cec WHERE cpu_type = 'CP'"
        ).rows
    common = ("SYSPLEX", "Active", 950.0, "Y N N", 3.0)
    # zPDT has no capacity in MSU. smf2db prints its physical zIIP columns as 0.00 in error.
    assert rows == [
        ("CP", *common, 217.095, 228.521, 4.02, 4.23, 0.11, 2.01, 2.12, None),
        ("ZIIP", *common, 155.461, 163.643, 2.88, 3.03, 0.15, 2.88, 3.03, None),
    ]
    assert totals == [("CP", 950.0, 217.095, 236.364, 7.843, 0.07, 0.18, 2.01, 2.19)]


#: IBM's report: core, LPAR busy, MVS busy of its threads, productivity; UTIL of its rows is 68.29, 50.92,
#: 71.38, 55.03, and 245.62 in total. The third decimal of LPAR busy is not printed; it is chosen to match.
ZIIPS = (
    (4, 78.226, (67.24, 58.40), 87.30),
    (5, 59.456, (50.57, 41.88), 85.64),
    (6, 80.766, (70.34, 62.20), 88.38),
    (7, 63.668, (55.08, 45.52), 86.43),
)


def four_ziips(**changed: Any) -> Record:
    logical = [
        Logical("IIP", core, busy * ZIIP_S / 100, 0, weight=500, polarity=HIGH, own_weight=125)
        for core, busy, _, _ in ZIIPS
    ]
    cpus = [
        Cpu(2 * core + thread, 2, ZIIP_S * (1 - mvs / 100))
        for core, _, both, _ in ZIIPS
        for thread, mvs in enumerate(both)
    ]
    cores = [Core(core, 2, prod / 100, ZIIP_S * busy / 100) for core, busy, _, prod in ZIIPS]
    factors = {"MCF": 1024, "CF": 1024, "ATD": 1024}
    factors |= {"MCFS": round(1.473 * 1024), "CFS": round(1.283 * 1024), "ATDS": round(1.6 * 1024)}
    return record(
        ZIIP_S,
        [Lpar("PATPLX29", 1, logical, vertical=True)],
        cpus,
        own=1,
        physical={"IIP": 4},
        cores=cores,
        control={**factors, **changed},
    )


def test_cores_of_ibms_report() -> None:
    with session({"SYSA": [four_ziips()]}, ZIIP_S) as opened:
        rows = opened.sql(
            "SELECT core_id, threads, round(core_busy_pct, 2), round(productivity_pct, 2), "
            "round(mt_utilization_pct, 2), entitlement_pct, polarity FROM core ORDER BY 1"
        ).rows
        threads = opened.sql(
            "SELECT core_id, thread_id, round(mvs_busy_pct, 2), online_pct FROM cpu ORDER BY 1, 2"
        ).rows
        types = opened.sql(
            "SELECT cpu_type, threads, round(max_capacity_factor_pct / 100, 3), "
            "round(capacity_factor_pct / 100, 3), round(thread_density, 3), round(core_busy_pct, 2), "
            "round(productivity_pct, 2), round(mt_utilization_pct, 2), entitlement_pct, "
            "round(mt_used_pct, 2), round(mt_available_pct, 2) FROM core_type"
        ).rows
    assert rows == [
        (4, 2, 78.23, 87.30, 68.29, 100.0, "Vh"),
        (5, 2, 59.46, 85.64, 50.92, 100.0, "Vh"),
        (6, 2, 80.77, 88.38, 71.38, 100.0, "Vh"),
        (7, 2, 63.67, 86.43, 55.03, 100.0, "Vh"),
    ]
    assert threads == [(core, n, mvs, 100.0) for core, _, both, _ in ZIIPS for n, mvs in enumerate(both)]
    # IBM adds the printed rows: 245.62% used, 154.38% available of 400%.
    assert types == [("ZIIP", 2, 1.473, 1.283, 1.6, 70.53, 86.94, 61.41, 400.0, 245.62, 154.38)]


def test_system_has_threads_per_core() -> None:
    with session({"SYSA": [four_ziips()], "S0W1": [s0w1()]}, ZIIP_S) as opened:
        rows = opened.sql("SELECT system, mt_ziip, mt_cp FROM system ORDER BY 1").rows
    assert rows == [("S0W1", None, None), ("SYSA", 2, None)]


def test_invalid_multithreading_values() -> None:
    """Where HISMT failed (SMF70HHF), its values are invalid; LPAR busy is PR/SM's and stays."""
    with session({"SYSA": [four_ziips(HHF=0xD0)]}, ZIIP_S) as opened:
        rows = opened.sql(
            "SELECT round(core_busy_pct, 2), productivity_pct, mt_utilization_pct FROM core ORDER BY core_id"
        ).rows
        types = opened.sql("SELECT max_capacity_factor_pct, thread_density, mt_used_pct FROM core_type").rows
    assert rows == [(round(busy, 2), None, None) for _, busy, _, _ in ZIIPS]
    assert types == [(None, None, None)]


def one(
    logical: Logical, cpu: Cpu, *, vertical: bool = False, hhf: int = 0x80, **control: Any
) -> tuple[Any, ...]:
    """Return LPAR busy, MVS busy, parked and share of a system of one processor, over 100 s."""
    content = record(
        100, [Lpar("A", 1, [logical], vertical=vertical)], [cpu], own=1, physical={"CP": 4},
        control={"HHF": hhf, **control},
    )  # fmt: skip
    with session({"A": [content]}, 100) as opened:
        row: tuple[Any, ...] = opened.sql(
            "SELECT round(busy_pct, 6), round(mvs_busy_pct, 6), parked_pct, entitlement_pct FROM cpu"
        ).rows[0]
    return row


def test_lpar_busy_by_kind_of_processor() -> None:
    """For a dedicated processor or wait completion, LPAR busy is another sum, but not with HiperDispatch."""
    cpu = Cpu(0, 0, wait_s=30)
    dedicated = Logical("CP", 0, 100, 99, weight=DEDICATED)
    waiting = Logical("CP", 0, 95, 94, fields={"VPF": 0x80})
    shared = Logical("CP", 0, 60, 59)
    assert one(dedicated, cpu)[0] == 70
    assert one(waiting, cpu)[0] == 65
    assert one(shared, cpu)[0] == 60
    assert one(dedicated, cpu, hhf=0xC0)[0] == 100
    assert one(waiting, cpu, hhf=0xC0)[0] == 95


def test_absolute_caps_are_hundredths_of_processor() -> None:
    """SMF 70-1, HW_CAP_LIMIT; 0 means no cap."""
    lpars = [
        Lpar("A", 1, [Logical("CP", 0, 60, 59, fields={"HW_CAP_LIMIT": 250})]),
        Lpar("B", 2, [Logical("CP", 0, 60, 59)]),
    ]
    content = record(100, lpars, [Cpu(0, 0, wait_s=30)], own=1, physical={"CP": 4})
    with session({"A": [content]}, 100) as opened:
        query = "SELECT partition, absolute_cap, any_cap FROM partition ORDER BY partition"
        assert opened.sql(query).rows == [("A", 2.5, True), ("B", None, False)]


def test_cap_of_hardware_group_and_threads() -> None:
    """SMF 70-1: HWGR_CAP_LIMIT in hundredths, 0 no cap; SMF70MTID the largest thread number, 0 no threads."""
    capped = {"HWGR_CAP_LIMIT": 450}
    lpars = [
        Lpar("A", 1, [Logical("CP", 0, 60, 59, fields=capped)], fields={"HWGR_NAME": "WEB", "MTID": 1}),
        Lpar("B", 2, [Logical("CP", 0, 60, 59)]),
    ]
    content = record(100, lpars, [Cpu(0, 0, wait_s=30)], own=1, physical={"CP": 4})
    with session({"A": [content]}, 100) as opened:
        query = "SELECT partition, hardware_group, group_cap, any_cap, threads FROM partition ORDER BY 1"
        assert opened.sql(query).rows == [("A", "WEB", 4.5, True, 2), ("B", None, None, False, None)]
        text = reports.render("lparlog", opened._core)
        shown = json.loads(reports.render("lpar", opened._core, "json"))
    assert re.search(r"^>>Mean>> A .* \.{6}   4\.50 WEB       2 ", text, re.MULTILINE)
    machine = [(row["partitions"], row["physical_cpus"]) for row in shown if row["table"] == "machine"]
    assert machine == [(2, 4)]
    physical = [row for row in shown if row["table"] == "physical"]
    # Both run for 60 of 100 s; four processors have 400 s.
    assert [(row["cpu_type"], row["physical"], row["lgclc_pct"]) for row in physical] == [("CP", 4, 118.0)]


def test_parked_and_offline_time() -> None:
    """MVS busy is relative to the time not parked; for a processor online half the time, to that half."""
    assert one(Logical("CP", 0, 10, 9), Cpu(0, 0, wait_s=20, parked_s=60))[:3] == (10, 50, 60)
    # Parked the entire time: RMF prints dashes.
    assert one(Logical("CP", 0, 0, 0), Cpu(0, 0, wait_s=0, parked_s=100))[:3] == (0, None, 100)
    assert one(Logical("CP", 0, 20, 19, online_s=50), Cpu(0, 0, wait_s=25))[:2] == (40, 50)
    # Data of a processor that was reconfigured in the interval is invalid.
    assert one(Logical("CP", 0, 20, 19), Cpu(0, 0, wait_s=25, flags=0x02))[1:3] == (None, None)
    # Under z/VM the wait time is invalid.
    seen = one(Logical("CP", 0, 20, 19), Cpu(0, 0, wait_s=25), INB=0x04)
    assert seen[:3] == (20, None, 0)


def test_thread_offline_while_its_core_is_online() -> None:
    core = Core(0, 2, 0.9, 50)
    content = record(
        100, [Lpar("A", 1, [Logical("IIP", 0, 50, 49)])], [Cpu(0, 2, 50), Cpu(1, 2, 0, flags=0x10)],
        own=1, physical={"IIP": 1}, cores=[core],
    )  # fmt: skip
    with session({"A": [content]}, 100) as opened:
        rows = opened.sql("SELECT cpu_id, busy_pct, mvs_busy_pct, online_pct FROM cpu ORDER BY 1").rows
        assert opened.sql("SELECT busy_pct, online FROM load").rows == [(50, 1)]
    assert rows == [(0, 50, 50, 100), (1, None, None, 0)]


def test_shares_by_polarity() -> None:
    """With HiperDispatch each processor has its share of the weight; without it all shares are equal."""
    lpars = [
        Lpar(
            "A", 1,
            [
                Logical("CP", 0, 1, 1, weight=350, polarity=HIGH, own_weight=250),
                Logical("CP", 1, 1, 1, weight=350, polarity=MEDIUM, own_weight=100),
                Logical("CP", 2, 1, 1, weight=350, polarity=LOW),
            ],
            vertical=True,
        ),
        Lpar("B", 2, [Logical("CP", 0, 1, 1, weight=650), Logical("CP", 1, 1, 1, weight=650)]),
    ]  # fmt: skip
    query = "SELECT polarity, entitlement_pct FROM cpu ORDER BY cpu_id"
    cpus = [Cpu(n, 0, 50) for n in range(3)]
    with session({"A": [record(100, lpars, cpus, own=1, physical={"CP": 4})]}, 100) as opened:
        assert opened.sql(query).rows == [("Vh", 100.0), ("Vm", 40.0), ("Vl", 0.0)]
    with session({"B": [record(100, lpars, cpus[:2], own=2, physical={"CP": 4})]}, 100) as opened:
        # PR/SM reports the polarity of all partitions to every system.
        counts = "SELECT partition, vh, vm, vl FROM partition ORDER BY 1"
        assert opened.sql(counts).rows == [("A", 1, 1, 1), ("B", None, None, None)]
        # The weight of 2.6 processors for two.
        assert opened.sql(query).rows == [("Hor", 100.0)] * 2
    # The weight exceeds the processors: each is entitled to at most one physical processor.
    alone = [Lpar("A", 1, [Logical("CP", 0, 1, 1, polarity=HIGH, own_weight=100)], vertical=True)]
    with session({"A": [record(100, alone, cpus[:1], own=1, physical={"CP": 4})]}, 100) as opened:
        assert opened.sql(query).rows == [("Vh", 100.0)]
    fewer = {"CP": 2}
    with session({"B": [record(100, lpars, cpus[:2], own=2, physical=fewer)]}, 100) as opened:
        assert opened.sql(query).rows == [("Hor", 65.0)] * 2


def test_capacity_in_msu() -> None:
    """MSU = time x 16 x scaling factor / adjustment factor x 3.6 / interval, as in IBM's SMF Explorer."""
    lpars = [Lpar("A", 1, [Logical("CP", 0, 60, 50), Logical("IIP", 1, 60, 50)])]
    for control, wanted in (
        ({"CPA_ACTUAL": 1920, "CPA_SCALING_FACTOR": 16}, 240.0),
        # Before z/OS 2.1 there was no scaling factor.
        ({"CPA": 120}, 240.0),
        ({}, None),
    ):
        content = record(
            100, lpars, [Cpu(0, 0, 50)], own=1, physical={"CP": 4, "IIP": 1}, control={"MCR": 0, **control}
        )
        with session({"A": [content]}, 100) as opened:
            rows = opened.sql("SELECT msu_actual FROM partition ORDER BY cpu_type").rows
        assert rows == [(wanted,), (None,)]
    microseconds, milliseconds = 50_000_000, 100_000
    assert microseconds * 16 * 16 / 1920 * 3.6 / milliseconds == pytest.approx(240)


def test_inactive_partitions() -> None:
    lpars = [Lpar("A", 1, [Logical("CP", 0, 1, 1)]), Lpar("IDLE", 2, []), Lpar("", 3, [])]
    content = record(100, lpars, [Cpu(0, 0, 50)], own=1, physical={"CP": 4}, management_s={"CP": 0.5})
    with session({"A": [content]}, 100) as opened:
        rows = opened.sql("SELECT partition, status, cpu_type, logical_cpus FROM partition ORDER BY 1").rows
        assert opened.sql("SELECT management_s, logical_cpus FROM cec").rows == [(0.5, 1.0)]
    assert rows == [("A", "Active", "CP", 1.0), ("IDLE", "Deactivated", None, None)]


def test_one_machine_in_records_of_two_systems() -> None:
    """Both report all partitions: the machine is shown once, and each system has its own processors."""
    lpars = [
        Lpar("A", 1, [Logical("CP", 0, 30, 29)]),
        Lpar("B", 2, [Logical("CP", 0, 10, 9), Logical("CP", 1, 5, 4)]),
    ]
    seen = {
        "A": [record(100, lpars, [Cpu(0, 0, 60)], own=1, physical={"CP": 4})],
        "B": [record(100, lpars, [Cpu(0, 0, 80), Cpu(1, 0, 90)], own=2, physical={"CP": 4})],
    }
    with session(seen, 100) as opened:
        assert opened.sql("SELECT system, total_s FROM cec").rows == [("A", 45.0)]
        assert opened.sql("SELECT partition FROM partition ORDER BY 1").rows == [("A",), ("B",)]
        assert opened.sql("SELECT system, busy_pct FROM cpu ORDER BY ALL").rows == [
            ("A", 30.0), ("B", 5.0), ("B", 10.0),
        ]  # fmt: skip


def test_bucket_sums_with_moved_sections() -> None:
    """Activation of a partition moves the sections of the others: they are joined within their record."""

    def build(with_new: bool) -> Record:
        new = [Lpar("AA", 3, [Logical("CP", 0, 7, 6)])] if with_new else []
        lpars = [*new, Lpar("B", 2, [Logical("CP", 0, 20, 18)])]
        return record(100, lpars, [Cpu(0, 0, 60)], own=2, physical={"CP": 4})

    options = Options(every_s=3600)
    with session({"B": [build(k % 2 == 1) for k in range(30)]}, 100, options) as opened:
        rows = opened.sql(
            "SELECT partition, sum(total_s), sum(effective_s) FROM partition GROUP BY ALL ORDER BY 1"
        ).rows
        assert opened.sql("SELECT DISTINCT busy_pct FROM cpu").rows == [(20.0,)]
    assert rows == [
        ("AA", pytest.approx(15 * 7), pytest.approx(15 * 6)),
        ("B", pytest.approx(600), pytest.approx(540)),
    ]


def test_core_location() -> None:
    """The preferred location of each core, from drawer to chip; a highest level of 1 means no location."""
    content = four_ziips()
    places = ((4, (3, 1, 2, 0)), (3, (7, 1, 2, 0)), (1, (1, 0, 0, 0)), (0, (0, 0, 0, 0)))
    for logical, (highest, levels) in zip(content["logical"], places, strict=False):
        logical |= {"MAXNL": highest} | {f"CORDL{n}": place for n, place in enumerate(levels, 1)}
    with session({"SYSA": [content]}, ZIIP_S) as opened:
        rows = opened.sql("SELECT nesting FROM core ORDER BY core_id").rows
    assert rows == [("0/2/1/3",), ("2/1/7",), (None,), (None,)]


def test_changes_between_records_are_events() -> None:
    """No record reports a change of capacity, so it is inferred; recorded changes are not."""
    before = {"MDL": "716", "MCR": 1900, "CAI": 100, "CCR": 0, "CPA_ACTUAL": 1000}
    saving = {"MDL": "716", "MCR": 1625, "CAI": 85, "CCR": 1, "CPA_ACTUAL": 1170}
    records = [four_ziips(**control) for control in (before, before, saving, saving, before)]
    records[2]["control"][0]["INB"] = 0x40
    records[3]["partition"][0] |= {"PFG": 0x02, "MSU": 300}
    records[3]["cpu"][1]["CNF"] = 0x02
    with session({"SYSA": records}, ZIIP_S) as opened:
        second = "date_trunc('second', {})".format
        ends = [
            row[0] for row in opened.sql(f"SELECT {second('interval_end')} FROM interval ORDER BY 1").rows
        ]
        rows = opened.sql(
            f"SELECT {second('time')}, kind, subject, detail, inferred FROM event ORDER BY time, kind"
        ).rows
    changed = "capacity change"
    assert rows == [
        (ends[2], changed, "machine",
         "1900 to 1625 MSU/h, adjustment indication 100 to 85, reason none to manual control", True),
        (ends[2], "physical processors changed", "machine", "", False),
        (ends[3], "defined capacity changed", "partition PATPLX29", "now 300 MSU/h", False),
        (ends[3], "processor reconfigured", "CPU 9", "ZIIP", False),
        (ends[4], changed, "machine",
         "1625 to 1900 MSU/h, adjustment indication 85 to 100, reason manual control to none", True),
    ]  # fmt: skip


def test_older_and_split_smf70_records() -> None:
    """Shorter sections of older levels, and a record that RMF split, have the same values."""
    query = (
        "SELECT cpu_id, core_id, thread_id, round(busy_pct, 4), round(mvs_busy_pct, 4), polarity, "
        "round(entitlement_pct, 4), round(lpmgt_pct, 4) FROM cpu ORDER BY 1"
    )
    with session({"SYSA": [four_ziips()]}, ZIIP_S) as opened:
        whole = opened.sql(query).rows
        partitions = opened.sql("SELECT * FROM partition").rows
        cores = opened.sql("SELECT * FROM core").rows
    assert len(whole) == 8
    older = {"control": 344, "logical": 88, "cpu": 80}
    with session({"SYSA": [four_ziips()]}, ZIIP_S, lengths=older) as opened:
        assert opened.sql(query).rows == whole
    with session({"SYSA": [four_ziips()]}, ZIIP_S, most=1100) as opened:
        assert opened.sql("SELECT count FROM inventory WHERE name = 'SMF 70.1'").rows[0][0] > 2
        assert opened.sql(query).rows == whole
        assert opened.sql("SELECT * FROM partition").rows == partitions
        assert opened.sql("SELECT * FROM core").rows == cores
    # Without multithreading fields in the control section, the cores still have theirs.
    with session({"SYSA": [four_ziips()]}, ZIIP_S, lengths={"control": 220}) as opened:
        (row,) = opened.sql("SELECT max_capacity_factor_pct, productivity_pct FROM core_type").rows
    assert row == (None, pytest.approx(86.94, abs=0.005))


def test_changes_are_detected_per_system() -> None:
    """Each record is compared with the previous one of its own system."""
    small, large = four_ziips(MDL="701"), four_ziips(MDL="716")
    with session({"A": [small] * 3, "B": [large] * 3}, ZIIP_S) as opened:
        assert opened.sql("SELECT * FROM event").rows == []


def test_counters_add_threads_to_core_times(tmp_path: Path) -> None:
    """RMF has the busy time of a core, the MT-diagnostic counters the number of threads that it ran."""
    end, speed = ZIIP_S, 5200
    cycles = speed * 1_000_000
    (rmf,) = encoded("SYSA", four_ziips(), smf113_builder.START_US + round(end * 1e6), ZIIP_S)
    basic = CounterSetValues("basic", [cycles * 300, cycles * 100, 0, 0, 0, 0], 8)
    # Of 480 s the core ran one thread for 180 s and both for 300 s.
    threads = CounterSetValues("mt_diag", [cycles * 180, cycles * 300, *[0] * 46], 8)
    facts: dict[str, Any] = {
        "start": 0.0, "speed": speed, "COREID": 4, "CPUPROCCLASS": 4, "CTRVERSION1": 4, "CTRVERSION2": 6,
        "MACHTYPE": "8561",
        "MACHSEQCODE": "0000000000012F17",
    }  # fmt: skip
    counted = [
        smf113_builder.record(1, 8, end, sets=[basic, threads], **facts),
        smf113_builder.record(1, 9, end, sets=[basic], **facts),
    ]
    query = (
        "SELECT core_id, round(core_busy_pct, 2), round(thread_density, 4), round(productivity_pct, 2), "
        "one_thread_s, two_thread_s FROM core ORDER BY 1"
    )
    with zlens.open([smf113_builder.dump(tmp_path / "both", [rmf, *counted])]) as opened:
        assert opened._core.all_problems() == []
        rows = opened.sql(query).rows
    assert rows[0] == (4, 78.23, 1.625, 87.30, pytest.approx(180), pytest.approx(300))
    assert rows[1] == (5, 59.46, None, 85.64, None, None)
    with zlens.open([smf113_builder.dump(tmp_path / "counters", counted)]) as opened:
        (alone,) = opened.sql(query).rows
    assert alone[:3] == (4, round(100 * 480 / end, 2), 1.625)


def test_damaged_smf70_gives_rows_or_problems(tmp_path: Path) -> None:
    """Whatever the sections contain, every table and report has a result, and all numbers are finite."""
    dice = draws(70)
    records = []
    for k in range(60):
        (good,) = encoded("SYSA", four_ziips(), smf113_builder.START_US + k * 614_053_000, ZIIP_S)
        bad = bytearray(good)
        for _ in range(dice.choice((1, 4, 30))):
            # After the header: the triplets, and all that they locate.
            bad[dice.randrange(24, len(bad))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        records.append(bytes(bad))
    with zlens.open([smf113_builder.dump(tmp_path / "damaged", records)]) as opened:
        for table in ("cpu", "core", "core_type", "partition", "cec", "load", "event", "system", "interval"):
            answer = opened.sql(f"SELECT * FROM {table}")
            numbers = [value for row in answer.rows for value in row if isinstance(value, float)]
            assert all(map(math.isfinite, numbers)), table
        for report in ("rmfcpu", "partition", "lpar"):
            assert opened.report(report)
        assert len(opened.sql("SELECT DISTINCT interval_end FROM cpu").rows) > 20


#: A flag of a section, its event, and the detail.
CHANGED = [
    (
        "logical",
        {"VPF": 0x20},
        ("weight changed", "partition A", "weight changed within the interval; the record has 300"),
    ),
    (
        "logical",
        {"VPF": 0x08},
        ("capping changed", "partition A", "initial capping changed within the interval"),
    ),
    ("logical", {"POF": 0x20}, ("polarization changed", "partition A", "")),
    (
        "control",
        {"STF": 0x40, "CPA": 1234},
        (
            "capacity change",
            "machine",
            "physical CPU adjustment factor changed within the interval; the record has 1234",
        ),
    ),
    (
        "control",
        {"STF": 0x20, "WLA": 50},
        (
            "capacity change",
            "system",
            "capacity available to it changed within the interval; the record has 50 MSU/h",
        ),
    ),
    (
        "control",
        {"STF": 0x04, "PMT": 5},
        (
            "option changed",
            "BLWLTRPCT",
            "changed within the interval; the record has 5 thousandths of the capacity",
        ),
    ),
    (
        "control",
        {"STF": 0x02, "PML": 20},
        ("option changed", "BLWLINTHD", "changed within the interval; the record has 20 s"),
    ),
    ("control", {"STF": 0x99}, None),
]


@pytest.mark.parametrize(("section", "fields", "event"), CHANGED)
def test_change_within_interval_is_event(
    section: str, fields: dict[str, Any], event: tuple[str, str, str] | None
) -> None:
    """One event per partition, however many processors; bits 0, 3, 4, 7 of SMF70STF are not changes."""
    lpars = [
        Lpar("A", 1, [Logical("CP", n, 10, 9, weight=300) for n in range(3)]),
        Lpar("B", 2, [Logical("CP", 0, 10, 9)]),
    ]
    content = record(1800, lpars, [Cpu(0, 0, 1000)], own=1, physical={"CP": 4})
    for one in content[section][:2]:
        one.update(fields)
    with session({"SYSA": [content]}) as opened:
        rows = opened.sql("SELECT kind, subject, detail FROM event").rows
        marked = opened.sql("SELECT partition, weight_changed FROM partition ORDER BY 1").rows
    assert rows == ([event] if event else [])
    assert marked == [("A", fields == {"VPF": 0x20}), ("B", False)]


def test_tenant_resource_groups_against_their_fields(tmp_path: Path) -> None:
    """Service units of an interval of 900 s, and memory added over its samples; a group without a tenant."""
    groups = [
        {
            "TRG_NAME": "TRGBANK", "TRG_DESC": "Banking", "TRG_TNTID": "T1", "TRG_TNTNAME": "A bank",
            "TRG_SBID": "S1", "TRG_SUCP": 1_800_000, "TRG_SUIFA": 900, "TRG_SUSUP": 450_000, "TRG_LAC": 12,
            "TRG_MEM": 15_000,
        },
        {"TRG_NAME": "TRGIDLE"},
    ]  # fmt: skip
    records = [
        record
        for end, samples in ((900, 15), (1_800, 0))
        for record in section_builder.rmf(70, end, {"control": [{"TRG_M_CNT": samples}], "tenant": groups})
    ]
    path = smf113_builder.dump(tmp_path / "a", records)
    with zlens.open([path]) as session:
        found = session.sql(
            "SELECT group_name, description, tenant_id, tenant_name, solution, cp_service_rate, "
            "zaap_service_rate, ziip_service_rate, msu, rolling_msu, memory FROM tenant "
            "ORDER BY interval_end, 1"
        ).rows
    bank = ("TRGBANK", "Banking", "T1", "A bank", "S1", 2_000, 1, 500, 7.2, 12)
    idle = ("TRGIDLE", None, None, None, None, 0, 0, 0, 0, 0)
    assert found == [(*bank, 4_096_000), (*idle, 0), (*bank, None), (*idle, None)]


def test_recorded_four_hour_averages_of_a_longer_row(tmp_path: Path) -> None:
    """An average of the four hours up to the end of an interval (IBM: SMF70LAC) is that of the last one."""
    records = []
    for number, average in enumerate((10, 40, 20), 1):
        [own] = section_builder.rmf(
            70,
            900 * number,
            {
                "control": [{"LAC": average, "GAU": -average, "WLA": 100 * average}],
                "partition": [{"LPM": "LPA", "LPN": 1, "PFL": 0x4000, "GNM": "GROUP"}],
                "tenant": [{"TRG_NAME": "TRGBANK", "TRG_LAC": average}],
            },
            product={"PTN": 1},
        )
        records.append(own)
    path = smf113_builder.dump(tmp_path / "a", records)
    with zlens.open([path], options=Options(every_s=2700)) as session:
        image = session.sql("SELECT rolling_msu, group_unused_msu, available_msu FROM image_capacity").rows
        tenant = session.sql("SELECT rolling_msu FROM tenant").rows
    assert (image, tenant) == ([(20, -20, pytest.approx(7_000 / 3))], [(20,)])
