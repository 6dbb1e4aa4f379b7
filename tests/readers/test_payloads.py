"""Tests of application data of Linux guests, arrays as rows, and other variable sections as raw tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import monwrite_builder as monwrite
import record_encoder
import zlens
from zlens import _native
from zlens.api import Session
from zlens.catalog import layouts

LAYOUT = next(one for one in layouts.layouts("D10R2") if one.release == "5.3")
KERNEL = "d3c9d5e4e7d2d9d5d3"
MONWRITER = "4c4e584150504c"


def payload(
    time_us: int,
    section: str,
    values: Mapping[str, Any],
    *,
    guest: str = "LINUX1",
    level: str = "",
    padding: int = 0,
    **more: Any,
) -> bytes:
    """Return a record with one payload of a guest; `level` is the end of the product ID."""
    found = LAYOUT.section(section)
    assert found is not None
    assert found.match is not None
    product = found.match[1] + level
    own = {"APLSDT_USERID": guest, "APLSDT_MDGPROD": product.ljust(32, "0"), **more}
    tod = _native.tod_from_unix_us(time_us)
    data = record_encoder.encode(LAYOUT, own, tod=tod, entries={section: [values]})
    data += b"\xff" * padding
    return len(data).to_bytes(2) + data[2:]


def opened(path: Path, samples: Sequence[Sequence[bytes]]) -> Session:
    groups = [monwrite.configuration(monwrite.START_US)]
    groups += [
        monwrite.interval(monwrite.START_US + n * monwrite.MINUTE_US, records)
        for n, records in enumerate(samples)
    ]
    return zlens.open([monwrite.write(path / "a.mon", groups)])


def end(number: int) -> int:
    return monwrite.START_US + number * monwrite.MINUTE_US - 500


def faults(session: Session) -> list[str]:
    list(session.sql("SELECT * FROM problem").rows)
    return [p.detail for p in session._core.all_problems() if p.kind == "section"]


def test_memory_and_network_of_guest(tmp_path: Path) -> None:
    samples = []
    for number in range(3):
        mem = {"sync_count_1": number, "sync_count_2": number, "pgpgin": 100 * number, "freeram": 5000}
        net = {"sync_count_1": 9, "sync_count_2": 9, "nr_interfaces": 2, "rx_bytes": 10**12 * number}
        samples.append([payload(end(number), "linux_mem", mem), payload(end(number) + 1, "linux_net", net)])
    with opened(tmp_path, samples) as session:
        rows = session.sql(
            "SELECT aplsdt_userid, pgpgin, pgpgin_d, freeram FROM d10r2_linux_mem ORDER BY tod"
        ).rows
        assert rows == [("LINUX1", 0, None, 5000), ("LINUX1", 100, 100, 5000), ("LINUX1", 200, 100, 5000)]
        assert session.sql("SELECT rx_bytes_d FROM d10r2_linux_net ORDER BY tod").rows[1:] == [(10**12,)] * 2
        assert faults(session) == []


@pytest.mark.parametrize("length", [36, 28])
def test_processors_of_guest_in_both_levels(length: int, tmp_path: Path) -> None:
    samples = []
    for number in range(3):
        cpus = [
            {"per_cpu_user": 100 * number * (cpu + 1), "per_cpu_iowait": 7, "cpu_id": cpu}
            | ({"per_cpu_steal": 3 * number} if length == 36 else {})
            for cpu in (0, 1)
        ]
        if length == 28:
            cpus = [{k: v for k, v in cpu.items() if k != "cpu_id"} for cpu in cpus]
        values = {"sync_count_1": 1, "sync_count_2": 1, "per_cpu_size": length, "linux_os_cpu": cpus}
        samples.append([payload(end(number), "linux_os", values, padding=40)])
    with opened(tmp_path, samples) as session:
        rows = session.sql(
            "SELECT cpu_number, cpu_id, per_cpu_user_d, per_cpu_iowait, per_cpu_steal_d "
            "FROM d10r2_linux_os_cpu ORDER BY tod, cpu_number"
        ).rows
        steal, known = (3, True) if length == 36 else (None, False)
        assert (
            rows[2:]
            == [
                (1, 0 if known else None, 100, 7, steal),
                (2, 1 if known else None, 200, 7, steal),
            ]
            * 2
        )
        assert session.sql("SELECT nr_cpus, per_cpu_size FROM d10r2_linux_os").rows == [(2, length)] * 3
        assert faults(session) == []


def test_payload_entries_end_with_data(tmp_path: Path) -> None:
    values = {"sync_count_1": 1, "sync_count_2": 1, "nr_cpus": 4, "linux_os_cpu": [{"cpu_id": 5}]}
    # Bytes after the data in the buffer are not the guest's.
    with opened(tmp_path, [[payload(end(0), "linux_os", values, padding=200)]]) as session:
        assert session.sql("SELECT cpu_id FROM d10r2_linux_os_cpu").rows == [(5,)]
        (fault,) = faults(session)
        assert "4 entries of 36 bytes" in fault
        assert "1 fit" in fault


def test_torn_payload_is_problem(tmp_path: Path) -> None:
    torn = {"sync_count_1": 8, "sync_count_2": 7, "nr_cpus": 1, "linux_os_cpu": [{"cpu_id": 1}]}
    good = {"sync_count_1": 8, "sync_count_2": 8, "nr_threads": 77}
    records = [payload(end(0), "linux_os", torn), payload(end(0) + 1, "linux_os", good, guest="LINUX2")]
    with opened(tmp_path, [records]) as session:
        assert session.sql("SELECT aplsdt_userid, nr_threads FROM d10r2_linux_os").rows == [("LINUX2", 77)]
        assert session.sql("SELECT count(*) FROM d10r2_linux_os_cpu").rows == [(0,)]
        assert session.sql("SELECT count(*) FROM d10r2").rows == [(2,)]
        (fault,) = faults(session)
        assert "torn" in fault


def test_variable_texts_of_file_systems_and_processes(tmp_path: Path) -> None:
    disk = {"fs_name": "/dev/dasda1", "fs_dir": "/", "fs_type": "ext4", "fs_blocks": 10**9, "fs_flag": 4096}
    other = {"fs_name": "tmpfs", "fs_dir": "/run/user/1000", "fs_type": "tmpfs", "fs_bavail": 3}
    task = {
        **{"pid": 4711, "real_user": "root", "effective_user": "web", "effective_group": "www", "pcpu": 1250},
        **{"wait_channel": "", "command": "nginx", "command_line": "nginx: master process"},
    }
    total = {"task_total": 200, "loadavg_1": "0.55", "mem_free": 2**40}
    records = [
        payload(end(0), "mon_fsstatd", disk),
        payload(end(0) + 1, "mon_fsstatd", other, level="000000000001", padding=300),
        payload(end(0) + 2, "mon_procd", total, padding=9),
        payload(end(0) + 3, "mon_procd_task", task, padding=50),
    ]
    with opened(tmp_path, [records]) as session:
        rows = session.sql(
            "SELECT fs_name, fs_dir, fs_type, fs_blocks, fs_bavail, fs_flag "
            "FROM d10r2_mon_fsstatd ORDER BY tod"
        ).rows
        assert rows == [
            ("/dev/dasda1", "/", "ext4", 10**9, 0, 4096),
            ("tmpfs", "/run/user/1000", "tmpfs", 0, 3, 0),
        ]
        rows = session.sql("SELECT task_total, loadavg_1, mem_free FROM d10r2_mon_procd").rows
        assert rows == [(200, "0.55", 2**40)]
        rows = session.sql(
            "SELECT pid, real_user, effective_user, effective_group, wait_channel, command, command_line, "
            "pcpu FROM d10r2_mon_procd_task"
        ).rows
        assert rows == [(4711, "root", "web", "www", "", "nginx", "nginx: master process", 1250)]
        assert faults(session) == []


def test_oversized_texts_are_problems(tmp_path: Path) -> None:
    disk = {"fs_name": "/dev/dasda1", "fs_dir": "/", "fs_type": "ext4"}
    bad = bytearray(payload(end(0), "mon_fsstatd", disk))
    place = bad.index(b"/dev") - 2
    bad[place : place + 2] = (500).to_bytes(2)
    with opened(tmp_path, [[bytes(bad), payload(end(0) + 1, "mon_fsstatd", disk)]]) as session:
        assert session.sql("SELECT fs_dir FROM d10r2_mon_fsstatd").rows == [("/",)]
        (fault,) = faults(session)
        assert "text 1" in fault


def test_block_paging_is_row_for_each_size(tmp_path: Path) -> None:
    values = {name: [base + n for n in range(20)] for name, base in (
        ("STOBPG_PGDBR", 100), ("STOBPG_PGDBM", 200), ("STOBPG_PGDBS", 300)
    )}  # fmt: skip
    with opened(tmp_path, [[monwrite.record("D3R8", end(0), values)]]) as session:
        rows = session.sql(
            "SELECT stobpg_block_size, stobpg_blocks_r, stobpg_blocks_m, stobpg_blocks_s "
            "FROM d3r8_blocks ORDER BY stobpg_block_size"
        ).rows
        assert rows == [(n + 1, 100 + n, 200 + n, 300 + n) for n in range(20)]


def entries(record: str, section: str, own: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bytes:
    layout = next(one for one in layouts.layouts(record) if one.release == "5.3")
    return record_encoder.encode(layout, own, tod=_native.tod_from_unix_us(end(0)), entries={section: rows})


def test_sections_of_system_domain(tmp_path: Path) -> None:
    records = [
        entries(
            "D0R16",
            "CPUDATA",
            {"SYTCUP_LCUPNAME": "LPAR1"},
            [{"SYTCUP_LCUCPUID": 3, "SYTCUP_LCXCPTYP": "IFL"}, {"SYTCUP_LCUCPUID": 4, "SYTCUP_LCUCACTM": 77}],
        ),
        entries(
            "D0R17", "MIBDATA", {}, [{"SYTCUM_LCUMCPU": 9, "SYTCUM_LCUMGTM": 5, "SYTCUM_LCUPTYPE": "CP"}]
        ),
        entries("D0R20", "ECMENTRY", {"SYTEPM_CALCHPID": 0x5A}, [{"SYTEPM_CUIV": 1}]),
        entries("D0R23", "CALLKDATA", {}, [{"SYTLCK_CALLCKID": "SRMSLOCK", "SYTLCK_CALXSCNT": 8}]),
    ]
    with opened(tmp_path, [records]) as session:
        rows = session.sql("SELECT sytcup_lcupname, sytcup_lcucpuid, sytcup_lcxcptyp FROM d0r16_cpudata").rows
        assert rows == [("LPAR1", 3, "IFL"), ("LPAR1", 4, "")]
        assert session.sql("SELECT sytcum_lcumcpu, sytcum_lcumgtm FROM d0r17_mibdata").rows == [(9, 5)]
        assert session.sql("SELECT sytepm_calchpid, sytepm_cuiv FROM d0r20_ecmentry").rows == [(0x5A, 1)]
        assert session.sql("SELECT sytlck_callckid FROM d0r23_callkdata").rows == [("SRMSLOCK",)]
