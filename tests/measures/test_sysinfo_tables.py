"""Tests of measures from the machine data of Linux on Z."""

from __future__ import annotations

from pathlib import Path

import zlens
from samples import needs, sample
from sysinfo_builder import CPUS, SYSINFO, folder, texts

SAMPLES = sample("sysinfo")


def test_system_and_interval(tmp_path: Path) -> None:
    with zlens.open([folder(tmp_path / "s", texts())]) as session:
        assert session.sql(
            "SELECT system, source, machine, model, release, lpar, lpar_number, mt_ifl,"
            " first_time = last_time FROM system"
        ).rows == [("made", "linux-sysinfo", "3931-12345", "7A1", "6.4.0-made", "MADE1", 7, None, True)]
        assert session.sql("SELECT count(*), count(seconds) FROM interval").rows == [(1, 0)]


def test_sysinfo_partition_has_cores_by_polarity(tmp_path: Path) -> None:
    with zlens.open([folder(tmp_path / "s", texts())]) as session:
        (row,) = session.sql(
            "SELECT machine, partition, partition_number, cpu_type, dedicated, capped, logical_cpus, "
            "weight, effective_s, total_pct, vh, vm, vl FROM partition"
        ).rows
        # Two threads are one core.
        assert row == ("3931-12345", "MADE1", 7, None, True, True, 2.0, None, None, None, 1, 1, 1)
        assert session.sql("SELECT * FROM cec").rows == []


def test_kvm_guest_has_partition_without_cores(tmp_path: Path) -> None:
    guest = SYSINFO + "\nVM00 Name:            KVM1\nVM00 Control Program: KVM/Linux\n"
    files = texts(proc__sysinfo=guest)
    assert f"{CPUS}/cpu0/polarization" in files
    with zlens.open([folder(tmp_path / "s", files)]) as session:
        assert session.sql("SELECT partition, logical_cpus, vh, vm, vl FROM partition").rows == [
            ("MADE1", 2.0, None, None, None)
        ]


@needs(SAMPLES)
def test_five_real_systems() -> None:
    names = ("kvm", "lpar", "lpar-drawer", "nested-virt", "zvm")
    with zlens.open([str(SAMPLES / f"s390-{name}") for name in names]) as session:
        assert session.sql(
            "SELECT machine, partition, partition_number, dedicated, capped, logical_cpus, vh, vm, vl "
            "FROM partition ORDER BY partition"
        ).rows == [
            ("2964-33E8", "L16", 22, False, True, 12.0, None, None, None),
            ("2817-EAA14", "R17LP39", 41, False, False, 4.0, None, None, None),
            ("2817-EAA14", "R17LP45", 47, False, False, 3.0, None, None, None),
            ("2817-89F25", "R35LP37", 39, False, False, 18.0, 0, 1, 17),
            ("2964-829E7", "S35LP67", 71, False, False, 8.0, None, None, None),
        ]
