"""Measures of I/O from SMF 74-1, 74-5 and 78-3 against a computation from the values that were written.

The formulas are those of RMF's overview conditions (IBM, z/OS RMF User's Guide, conditions based on SMF
record types 74-1 and 74-5), and of smf2db where those have none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from smf_io_builder import (
    CACHED,
    CONTROL,
    DEVICE,
    LCU,
    PATH,
    PAV,
    POOL,
    UNIT_S,
    cached,
    devices,
    opened,
    queuing,
)
from zlens.api import Session


def one(session: Session, table: str, where: str = "true") -> dict[str, Any]:
    answer = session.sql(f"SELECT * FROM {table} WHERE {where}")
    (row,) = answer.rows
    return dict(zip(answer.columns, row, strict=True))


# -- devices ---------------------------------------------------------------------------------------------


def test_device_of_smf_against_its_counts(tmp_path: Path) -> None:
    with opened(tmp_path, [devices(DEVICE)]) as session:
        row = one(session, "device")
    pend, disc, conn = (UNIT_S * DEVICE[name] / DEVICE["MEC"] for name in ("PEN", "DIS", "CNN"))
    iosq = 27_000_000 / 90_000 / 1e6
    expected = {
        "rate": 100.0,
        "measured_rate": 80_000 / 900,
        "pend_s": pend,
        "disc_s": disc,
        "conn_s": conn,
        "serv_s": pend + disc + conn,
        "queue_s": iosq,
        "resp_s": iosq + pend + disc + conn,
        "queued": 0.2,
        "initial_response_s": UNIT_S * 60_000 / 80_000,
        "device_busy_s": UNIT_S * 10_000 / 80_000,
        "cu_wait_s": UNIT_S * 2_000 / 80_000,
        "interrupt_delay_s": 50e-6,
        "connected_pct": 100 * 200_000 * UNIT_S / 900,
        "utilization_pct": 100 * (250_000 * UNIT_S / 900 + 9 / 450),
        "reserved_pct": 4.0,
        "allocated_pct": 90.0,
        "mount_pending_pct": 100 * 3 / 450,
        "not_ready_pct": 100 * 2 / 450,
        "allocations": 3.0,
        "exposures": 4.0,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    columns = (
        "device",
        "device_class",
        "device_type",
        "volume",
        "lcu",
        "storage_group",
        "cylinders",
        "online",
    )
    assert [row[name] for name in columns] == [
        "0A01",
        "DASD",
        "33909",
        "ZLVOL1",
        "0042",
        "SGONE",
        10017,
        True,
    ]
    assert row["sync_read_rate"] is None


def test_older_device_section_has_queue_by_littles_law(tmp_path: Path) -> None:
    """Without the time in the queue, it is the queue's length over the rate: 90 / 450 requests at 100/s."""
    old = {name: value for name, value in DEVICE.items() if name != "IOS"}
    with opened(tmp_path, [devices(old, length=200)]) as session:
        row = one(session, "device")
    assert row["queue_s"] == pytest.approx(0.002)
    assert row["resp_s"] == pytest.approx(row["serv_s"] + 0.002)


def test_idle_device_has_a_rate_and_no_times(tmp_path: Path) -> None:
    idle = dict.fromkeys(("SSC", "MEC", "CNN", "PEN", "DIS", "QUE", "UTL", "CMR", "DVB", "IDT"), 0)
    with opened(tmp_path, [devices({**DEVICE, **idle, "IOS": 0.0})]) as session:
        row = one(session, "device")
    assert (row["rate"], row["connected_pct"], row["utilization_pct"]) == (0.0, 0.0, 0.0)
    times = ("pend_s", "disc_s", "conn_s", "queue_s", "resp_s", "initial_response_s", "interrupt_delay_s")
    assert [row[name] for name in times] == [None] * len(times)


MEASURED = (
    "rate",
    "pend_s",
    "disc_s",
    "conn_s",
    "resp_s",
    "initial_response_s",
    "interrupt_delay_s",
    "reserved_pct",
)


@pytest.mark.parametrize(
    ("fields", "control", "unknown"),
    [
        pytest.param({"CNF": ["CMB", "STA"]}, {}, MEASURED, id="measurement block invalid"),
        pytest.param({"CNF": ["VAC", "STA"]}, {}, MEASURED, id="varied"),
        pytest.param({"CNX": ["DDT"]}, {}, {"disc_s", "resp_s"}, id="disconnect time invalid"),
        pytest.param({"CNX": ["CNI"]}, {}, {"conn_s", "resp_s"}, id="connect time invalid"),
        pytest.param(
            {"CNX": ["NTF"]},
            {},
            {"pend_s", "disc_s", "conn_s", "resp_s", "initial_response_s"},
            id="no timing",
        ),
        pytest.param({}, {"ENF": ["ECM", "FID"]}, {"initial_response_s"}, id="no command response"),
        pytest.param({}, {"ENF": ["ECM", "FCM"]}, {"interrupt_delay_s"}, id="no interrupt delay"),
        pytest.param({"CNF": ["LCD", "STA"]}, {}, {"lcu"}, id="no logical control unit"),
    ],
)
def test_invalid_device_data_is_unknown(
    fields: dict[str, Any], control: dict[str, Any], unknown: set[str], tmp_path: Path
) -> None:
    with opened(tmp_path, [devices({**DEVICE, **fields}, control={**CONTROL, **control})]) as session:
        row = one(session, "device")
    names = (*MEASURED, "lcu")
    assert {name for name in names if row[name] is None} == set(unknown)
    assert (row["device"], row["volume"]) == ("0A01", "ZLVOL1")


def test_hyperpav_base_and_subchannel_sets(tmp_path: Path) -> None:
    base = {**DEVICE, "CNX": ["HPV", "NXC"], "NUX": 1200, "PSM": 400}
    other = {**DEVICE, "SCS": 1, "SSC": 900, "SER": "ZLSEC1"}
    with opened(tmp_path, [devices(base, other)]) as session:
        columns = "device, volume, hyperpav, exposures_changed, exposures, rate"
        rows = session.sql(f"SELECT {columns} FROM device ORDER BY device").rows
    assert rows == [("0A01", "ZLVOL1", True, True, 3.0, 100.0), ("10A01", "ZLSEC1", False, False, 4.0, 1.0)]


def test_synchronous_requests_of_a_device(tmp_path: Path) -> None:
    """4,000 of 5,000 requests complete; the time of a read is 20 us, of a write 25 us."""
    counts = {
        "CN2": ["SIR", "SIW"], "SQR": 3000.0, "SQW": 1000.0, "SPR": 3000 * 40.0, "SPW": 1000 * 50.0,
        "SBR": 3000 * 4096.0, "SBW": 1000 * 8192.0, "SLBR": 100.0, "SLBW": 50.0, "SCMR": 700.0,
        "SNIS": 50.0, "STOR": 40.0, "STOW": 30.0, "SOR": 20.0, "SOW": 10.0,
    }  # fmt: skip
    with opened(tmp_path, [devices({**DEVICE, **counts})]) as session:
        row = one(session, "device")
    expected = {
        "sync_read_rate": 3000 / 900,
        "sync_write_rate": 1000 / 900,
        "sync_request_rate": 5000 / 900,
        "sync_success_pct": 80.0,
        "sync_read_s": 20e-6,
        "sync_write_s": 25e-6,
        "sync_read_bytes_rate": 3000 * 4096 / 900,
        "sync_write_bytes_rate": 1000 * 8192 / 900,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_device_means_divide_sums(tmp_path: Path) -> None:
    """Over a window, times are all times over all requests, not the mean of the intervals."""
    later = {**DEVICE, "SSC": 9_000, "MEC": 8_000, "PEN": 100_000, "IOS": 9_000_000.0}
    records = [devices(DEVICE), devices(later, number=2)]
    with opened(tmp_path, records) as session:
        ((pend, queue),) = session.sql(
            "SELECT sum(pend_s * measured_rate * seconds) / sum(measured_rate * seconds), "
            "sum(queue_s * rate * seconds) / sum(rate * seconds) FROM device"
        ).rows
    assert pend == pytest.approx(UNIT_S * 225_000 / 88_000)
    assert queue == pytest.approx(36.0 / 99_000)


# -- caches ----------------------------------------------------------------------------------------------


def test_cache_of_smf_against_its_counts(tmp_path: Path) -> None:
    """Rates divide by the time since the subsystem was last asked, here 600 s of an interval of 900."""
    with opened(tmp_path, [cached(CACHED), devices(DEVICE)]) as session:
        row = one(session, "cache")
        device = one(session, "device")
    reads, read_hits, writes, write_hits = 51_000, 39_500, 25_400, 23_900
    expected = {
        "io_rate": (reads + writes) / 600,
        "total_rate": (reads + writes + 400) / 600,
        "read_rate": reads / 600,
        "write_rate": writes / 600,
        "read_pct": 100 * reads / (reads + writes),
        "read_hit_pct": 100 * read_hits / reads,
        "write_hit_pct": 100 * write_hits / writes,
        "hit_pct": 100 * (read_hits + write_hits) / (reads + writes),
        "total_hit_pct": 100 * (read_hits + write_hits) / (reads + writes + 400),
        "inhibit_rate": 0.5,
        "bypass_rate": 100 / 600,
        "stage_rate": 15.0,
        "destage_rate": 10.0,
        "delayed_rate": 0.1,
        "cache_full_rate": 0.05,
        "fast_write_rate": (19_500 + 4_900 + 400) / 600,
        "normal_read_rate": 40_000 / 600,
        "normal_read_hit_pct": 75.0,
        "sequential_write_rate": 5_000 / 600,
        "sequential_write_hit_pct": 96.0,
        "cache_fast_read_hit_pct": 50.0,
        "cache_fast_write_hit_pct": 25.0,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert (row["subchannel"], row["device"], row["volume"], row["ssid"]) == (None, "0A01", "ZLVOL1", "2401")
    assert (device["cache_reads"], device["read_hit_pct"]) == (reads, pytest.approx(100 * read_hits / reads))


def test_cache_joins_device_of_its_subchannel_set(tmp_path: Path) -> None:
    second = {**CACHED, "DVOL": "ZLSEC1", "DFL4": 0x90, "DRCR": 0.0, "DRSR": 0.0, "DRNR": 7.0, "DNRH": 7.0}
    records = [cached(CACHED, second), devices(DEVICE, {**DEVICE, "SCS": 1})]
    with opened(tmp_path, records) as session:
        rows = session.sql("SELECT device, cache_reads FROM device ORDER BY device").rows
        disks = session.sql("SELECT device, volume FROM cache ORDER BY device").rows
    assert rows == [("0A01", 51_000), ("10A01", 7)]
    assert disks == [("0A01", "ZLVOL1"), ("10A01", "ZLSEC1")]


def test_disks_behind_cache_against_their_counts(tmp_path: Path) -> None:
    """Units are 128 KiB and 16 ms, by device and subchannel set; counts of ranks are not known."""
    second = {**CACHED, "DFL4": 0x10}
    pools = [POOL, {**POOL, "1SCS": 1, "1FLG": 1, "1INC": []}]
    with opened(tmp_path, [cached(CACHED, second, pools=pools)]) as session:
        row = one(session, "cache", "device = '0A01'")
        rank = one(session, "cache", "device = '10A01'")
    expected = {
        "read_bytes_rate": 6_000 * 131_072 / 600,
        "write_bytes_rate": 1_500 * 131_072 / 600,
        "physical_read_rate": 5,
        "physical_write_rate": 10,
        "physical_read_size": 8_192,
        "physical_write_size": 65_536,
        "physical_read_bytes_rate": 5 * 8_192,
        "physical_write_bytes_rate": 10 * 65_536,
        "physical_read_s": 0.006,
        "physical_write_s": 0.002,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert {rank[name] for name in (*expected, "pool")} == {None}
    assert row["pool"] == "001F"


def test_second_pool_section_does_not_double_a_disk(tmp_path: Path) -> None:
    """A subsystem reports a disk once: counts of its first section, and its operations counted once."""
    pools = [POOL, {**POOL, "2XID": 0x20, "2PRO": 6_000.0}, {**POOL, "1SCS": 1}]
    records = [cached(CACHED, pools=pools, number=number) for number in (1, 2)]
    with opened(tmp_path, [*records, devices(DEVICE)]) as session:
        rows = session.sql("SELECT device, pool, physical_read_rate FROM cache").rows
        (total,) = session.sql("SELECT sum(cache_reads) FROM device").rows
    assert (rows, total) == ([("0A01", "001F", 5.0)] * 2, (51_000,))


def test_units_of_pools_that_are_not_known_have_no_bytes(tmp_path: Path) -> None:
    """Bits 5 and 6 of the increments say that the units are others."""
    with opened(tmp_path, [cached(CACHED, pools=[{**POOL, "1INC": 0x05}])]) as session:
        row = one(session, "cache")
    assert (row["physical_read_rate"], row["physical_read_s"], row["read_bytes_rate"]) == (5, None, None)


def test_cache_without_requests_has_no_shares(tmp_path: Path) -> None:
    counts = [name for name, value in CACHED.items() if isinstance(value, float)]
    with opened(tmp_path, [cached({**CACHED, **dict.fromkeys(counts, 0.0)})]) as session:
        row = one(session, "cache")
    shares = ("read_pct", "read_hit_pct", "write_hit_pct", "hit_pct", "total_hit_pct")
    assert [row[name] for name in shares] == [None] * len(shares)
    assert row["io_rate"] == 0


# -- I/O processors, logical control units, aliases ------------------------------------------------------


def test_io_processor_against_its_counts(tmp_path: Path) -> None:
    with opened(tmp_path, [queuing(), queuing(lcu=[{**LCU, "ID2": 0x43}], path=[], pav=[])]) as session:
        row = one(session, "io_processor")
    retries = 400 + 300 + 200 + 100
    expected = {
        "busy_pct": 25.0,
        "compression_pct": 2.0,
        "start_rate": 100.0,
        "interrupt_rate": 200.0,
        "queued_rate": 1_200 / 900,
        "queue_length": (1_500 - 1_200) / 1_200,
        "retried_pct": 100 * retries / (90_000 + retries),
        "path_retried_pct": 100 * 400 / (90_000 + retries),
        "device_retried_pct": 100 * 100 / (90_000 + retries),
        "retries": retries / 90_000,
        "port_retries": 300 / 90_000,
        "cu_retries": 200 / 90_000,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert (row["iop"], row["storage_class_pct"]) == ("03", None)


def test_unmeasured_io_processor_has_only_its_queue(tmp_path: Path) -> None:
    with opened(tmp_path, [queuing(**{"global": [{"GFLG": []}]})]) as session:
        row = one(session, "io_processor")
    assert (row["busy_pct"], row["start_rate"], row["retries"]) == (None, None, None)
    assert row["queued_rate"] == pytest.approx(1_200 / 900)


@pytest.mark.parametrize("flag", ["GCMF", "GDIF"])
def test_failed_queuing_measurement_gives_no_rows(flag: str, tmp_path: Path) -> None:
    with opened(tmp_path, [queuing(**{"global": [{"GFLG": [flag, "GIUD"]}]})]) as session:
        for table in ("io_processor", "lcu", "lcu_path", "alias_pool"):
            assert session.sql(f"SELECT count(*) FROM {table}").rows == [(0,)], table


def test_paths_and_their_sum_against_counts(tmp_path: Path) -> None:
    with opened(tmp_path, [queuing()]) as session:
        first = one(session, "lcu_path", "chpid = '4A'")
        second = one(session, "lcu_path", "chpid = '4B'")
        both = one(session, "lcu")
    expected = {
        "taken_rate": 60_000 / 900,
        "port_busy_pct": 100 * 300 / 60_900,
        "cu_busy_pct": 100 * 600 / 60_900,
        "cu_busy_s": UNIT_S * 9_000 / 60_000,
        "initial_response_s": UNIT_S * 30_000 / 60_000,
        "ready_enabled_pct": 20.0,
    }
    assert {name: first[name] for name in expected} == pytest.approx(expected)
    assert (first["attribute"], second["attribute"], first["online"]) == ("preferred", "nonpreferred", True)
    expected = {
        "taken_rate": 100_000 / 900,
        "port_busy_pct": 100 * 600 / 101_800,
        "cu_busy_pct": 100 * 1_200 / 101_800,
        "cu_busy_s": UNIT_S * 18_000 / 100_000,
        "initial_response_s": UNIT_S * 40_000 / 100_000,
        "subsystem_s": UNIT_S * 40_000 / 100_000,
        "contention_rate": 500 / 900,
        "delay_queue": 200 / 500,
        "transfers": UNIT_S * 1_000_000 / 900,
    }
    assert {name: both[name] for name in expected} == pytest.approx(expected)
    assert (both["lcu"], both["control_unit"], both["alias_group"]) == ("0042", "2400", 11)
    assert both["managed_most"] is None


def test_managed_paths_are_added_to_their_unit(tmp_path: Path) -> None:
    managed = {
        "DST": ["LDCM"], "PTM": 20_000, "DPBM": 50, "CUBM": 70, "CBTM": 1_000, "CMRM": 5_000,
        "MCMN": 1, "MCMX": 3, "MCDF": 4,
    }  # fmt: skip
    with opened(tmp_path, [queuing(lcu=[{**LCU, **managed}])]) as session:
        row = one(session, "lcu")
    assert row["taken_rate"] == pytest.approx(120_000 / 900)
    assert row["cu_busy_pct"] == pytest.approx(100 * 1_270 / (120_000 + 650 + 1_270))
    assert row["initial_response_s"] == pytest.approx(UNIT_S * 45_000 / 120_000)
    assert (row["managed_least"], row["managed_most"], row["managed_defined"]) == (1, 3, 4)


PATH_TIMES = ("cu_busy_s", "initial_response_s")


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        pytest.param(
            {"CPST": ["CPI", "CPO", "NMCD"]}, {"taken_rate", "cu_busy_s", "initial_response_s"}, id="invalid"
        ),
        pytest.param({"CPXF": []}, set(PATH_TIMES), id="no extended block"),
        pytest.param({"PT": 0, "CUB": 0, "DPB": 0}, set(PATH_TIMES), id="no request"),
    ],
)
def test_invalid_path_data_is_unknown(changes: dict[str, Any], unknown: set[str], tmp_path: Path) -> None:
    with opened(tmp_path, [queuing(path=[{**PATH, **changes}])]) as session:
        row = one(session, "lcu_path")
    names = ("taken_rate", *PATH_TIMES)
    assert {name for name in names if row[name] is None} == unknown


def test_unit_without_hardware_data_has_no_queue(tmp_path: Path) -> None:
    with opened(tmp_path, [queuing(lcu=[{**LCU, "DST": ["NHMA"]}])]) as session:
        row = one(session, "lcu")
    names = ("contention_rate", "delay_queue", "subsystem_s", "transfers")
    assert [row[name] for name in names] == [None] * len(names)
    assert row["taken_rate"] == pytest.approx(100_000 / 900)


def test_each_unit_of_a_record_has_its_paths(tmp_path: Path) -> None:
    """Every configuration section has the triplet of its own paths."""
    sections = {
        "configuration_control": [{"ID1": 0x42}, {"ID1": 0x43}, {"ID1": 0x44}],
        "path": [
            {**PATH, "configuration_no": number, "CPID": f"{number}{path}", "PT": 900 * (10 * number + path)}
            for number in (0, 2)
            for path in (1, 2)
        ],
        "lcu": [{**LCU, "ID2": number} for number in (0x42, 0x43, 0x44)],
    }
    with opened(tmp_path, [queuing(**sections)]) as session:
        rows = session.sql("SELECT lcu, chpid, taken_rate FROM lcu_path ORDER BY ALL").rows
        owners = session.sql("SELECT configuration_no, section_no FROM smf78_path ORDER BY ALL").rows
        units = session.sql("SELECT lcu, taken_rate FROM lcu ORDER BY ALL").rows
        problems = list(session.problems)
    assert rows == [("0042", "01", 1.0), ("0042", "02", 2.0), ("0044", "21", 21.0), ("0044", "22", 22.0)]
    assert owners == [(0, 0), (0, 1), (2, 2), (2, 3)]
    assert units == [("0042", 3.0), ("0044", 43.0)]
    assert [problem for problem in problems if problem.kind == "section"] == []


def test_alias_use_against_its_counts(tmp_path: Path) -> None:
    with opened(tmp_path, [queuing()]) as session:
        row = one(session, "alias_pool")
    expected = {
        "io_rate": 100.0,
        "fails_rate": 0.1,
        "wait_ratio": 0.001,
        "tries_rate": 2_000 / 900,
        "used_ratio": 0.9,
        "none_at_home_ratio": 0.15,
        "queued_at_need": 0.25,
        "in_use_at_need": 3.0,
        "borrow_rate": 0.2,
        "lend_rate": 0.05,
        "borrow_fails_rate": 0.01,
        "most_in_use": 7,
        "most_of_base": 5,
        "most_queued": 3,
        "most_borrowed": 2,
        "most_lent": 1,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    assert (row["pool"], row["io_type"], row["entitlement"]) == (0x42, "ALL", None)


@pytest.mark.parametrize(
    ("state", "requests", "expected"),
    [(["HIND"], 90_000.0, (0.001, None)), (["HIND", "XIND"], 0.0, (None, 0.9)), ([], 90_000.0, None)],
    ids=["HyperPAV", "no request", "no aliases"],
)
def test_alias_data_is_known_by_mode(
    state: list[str], requests: float, expected: tuple[float | None, ...] | None, tmp_path: Path
) -> None:
    sections = {"lcu": [{**LCU, "DST": state}], "pav": [{**PAV, "HTIO": requests}]}
    with opened(tmp_path, [queuing(**sections)]) as session:
        rows = session.sql("SELECT wait_ratio, used_ratio FROM alias_pool").rows
    assert rows == ([] if expected is None else [pytest.approx(expected)])
