"""Tests of a synthetic Linux on Z system, as a folder and in archives."""

from __future__ import annotations

import datetime as dt
import tarfile
from pathlib import Path
from typing import Any

import pytest

import zlens
from raw_rows import rows
from sysinfo_builder import CPUS, MOMENT_S, SYSINFO, folder, tar, texts
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.lake import importer
from zlens.readers.linux import sysinfo, sysinfo_text
from zlens.readers.linux.sysinfo import open_files
from zlens.readers.recognition import expand, recognize


def opened(*paths: str) -> sysinfo.SysinfoSource:
    return open_files(list(paths), Options())


def values(source: sysinfo.SysinfoSource) -> dict[str, list[dict[str, Any]]]:
    """Return all tables without the file column."""
    return {
        name: [{k: v for k, v in row.items() if k != "file"} for row in rows(source, name)]
        for name in source.tables
    }


def test_sysinfo_describes_system(tmp_path: Path) -> None:
    (info,) = opened(folder(tmp_path / "s", texts())).systems
    assert (info.system, info.source, info.machine, info.model) == (
        "made",
        "linux-sysinfo",
        "3931-12345",
        "7A1",
    )
    assert (info.lpar, info.lpar_number, info.release) == ("MADE1", 7, "6.4.0-made")
    assert [interval.end_us for interval in info.intervals] == [MOMENT_S * 1_000_000]
    # Linux does not report the type of its cores.
    assert info.threads == {}


def test_lines_of_sysinfo(tmp_path: Path) -> None:
    source = opened(folder(tmp_path / "s", texts()))
    (row,) = rows(source, "linux_sysinfo")
    assert row["tod"] == dt.datetime(2023, 11, 14, 22, 14, tzinfo=dt.UTC)
    assert row["seconds"] is None
    assert row["flag"] is None
    assert (row["machine_type"], row["model"], row["model_hardware"]) == ("3931", "7A1", "A01")
    assert (row["model_capacity"], row["model_capacity_rating"]) == ("7A1", 1234)
    assert (row["capability"], row["secondary_capability"]) == (416.0, 416.5)
    assert (row["dedicated"], row["shared"], row["limited"]) == (True, False, True)
    assert (row["lpar_cpus_standby"], row["lpar_ps_mtid"], row["hypervisor"]) == (1, 1, "PR/SM")
    assert row["lpar_uuid"] == "00000000-0000-0000-0000-000000000007"
    assert row["nominal_capability"] is None, "an absent line is no value"
    assert (row["drawers"], row["books"], row["sockets"], row["cores"], row["threads"]) == (4, 2, 2, 8, 2)
    assert (row["online_cpus"], row["configured_cpus"], row["standby_cpus"]) == (5, 6, 2)
    caf = {r["cpus"]: r["adjustment"] for r in rows(source, "linux_caf")}
    assert caf == {2: 62000, 100: 31000}
    assert source.problems() == []


def test_alternate_capability_and_short_floats(tmp_path: Path) -> None:
    """Linux, arch/s390/kernel/sysinfo.c: an alternate value follows the first; floats as their bits."""
    text = (
        SYSINFO.replace("Capability:           416\n", "Capability:           416 1132462080\n")
        .replace("Secondary Capability: 416.5", "Secondary Capability: 1137711514")
        .replace("02-way:    62000", "02-way:    62000 61000")
    )
    path = tmp_path / "sysinfo"
    path.write_text(text)
    source = opened(str(path))
    (row,) = rows(source, "linux_sysinfo")
    assert (row["capability"], row["alternate_capability"]) == (416.0, 256.0)
    assert row["secondary_capability"] == pytest.approx(416.2, rel=1e-6)
    caf = [(r["cpus"], r["adjustment"], r["alternate"]) for r in rows(source, "linux_caf")]
    assert caf == [(2, 62000, 61000), (100, 31000, None)]
    assert source.problems() == []


def test_cpu_locations(tmp_path: Path) -> None:
    source = opened(folder(tmp_path / "s", texts()))
    places = {
        r["cpu"]: (r["thread"], r["core"], r["socket"], r["book"], r["drawer"], r["socket_id"], r["polarity"])
        for r in rows(source, "linux_cpu")
    }
    assert places == {
        0: (0, 0, 0, 0, 0, 5, "Vh"),
        1: (1, 0, 0, 0, 0, 5, "Vh"),
        2: (0, 1, 0, 0, 0, 5, "Vm"),
        3: (1, 1, 0, 0, 0, 5, "Vm"),
        4: (0, 2, 1, 0, 0, 6, "Vl"),
        **dict.fromkeys((5, 6, 7), (None, None, None, None, None, None, None)),
    }
    cores = {r["cpu"]: r["core_address"] for r in rows(source, "linux_cpu") if r["address"] is not None}
    assert cores == {0: 0, 1: 0, 2: 1, 3: 1, 4: 2}, "the last bit of an address is the thread"
    states = {r["cpu"]: (r["online"], r["configured"]) for r in rows(source, "linux_cpu")}
    assert states[5] == (False, True)
    assert states[6] == (False, False)


def test_cpu_masks_of_older_kernels(tmp_path: Path) -> None:
    lists = texts()
    masks = {
        name.removesuffix("_list"): f"{sum(1 << cpu for cpu in _numbers(text)):08x}"
        if "siblings" in name
        else text
        for name, text in lists.items()
    }
    first = opened(folder(tmp_path / "lists", lists))
    second = opened(folder(tmp_path / "masks", masks))
    assert rows(first, "linux_cpu")[0]["socket"] is not None
    assert values(first)["linux_cpu"] == values(second)["linux_cpu"]


def _numbers(text: str) -> frozenset[int]:
    return sysinfo_text.cpu_list(text) or frozenset()


def test_virtual_machines(tmp_path: Path) -> None:
    guest = SYSINFO + (
        "\nVM00 Name:            KVM1\nVM00 Control Program: KVM/Linux\nVM00 CPUs Total:      2\n"
        "VM00 Extended Name:   a long name: with a colon\n\n"
        "VM01 Name:            HOST\nVM01 Control Program: z/VM    7.3.0\nVM01 Adjustment:      333\n"
    )
    files = texts(proc__sysinfo=guest)
    del files["proc/sys/kernel/hostname"]
    source = opened(folder(tmp_path / "s", files))
    levels = {
        r["level"]: (r["name"], r["control_program"], r["adjustment"]) for r in rows(source, "linux_vm")
    }
    assert levels == {0: ("KVM1", "KVM/Linux", None), 1: ("HOST", "z/VM 7.3.0", 333)}
    assert source.systems[0].system == "a long name: with a colon"
    (row,) = rows(source, "linux_sysinfo")
    assert (row["hypervisor"], row["vm_levels"]) == ("KVM/Linux", 2)
    assert source.info()[0]["runs_on"] == "KVM/Linux as KVM1 in z/VM 7.3.0 as HOST in partition MADE1"


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize(
    ("root", "pad", "packed"), [("", 0, False), ("./", 4000, True), ("x" * 90 + "/", 0, False)]
)
def test_archive_equals_folder(tmp_path: Path, form: int, root: str, pad: int, packed: bool) -> None:
    plain = opened(folder(tmp_path / "s", texts()))
    path = tmp_path / "s.tar"
    path.write_bytes(tar(texts(), root, form=form, pad=pad, packed=packed))
    assert sysinfo.detect(path.read_bytes()[:65536], path.stat().st_size)
    archived = opened(str(path))
    assert values(archived) == values(plain)
    assert archived.problems() == []


def test_several_systems_and_snapshots_in_archive(tmp_path: Path) -> None:
    other = texts(proc__sys__kernel__hostname="other")
    (tmp_path / "two.tar").write_bytes(tar(texts(), "one/") + b"")
    archive = tar({f"a/{n}": t for n, t in texts().items()} | {f"b/{n}": t for n, t in other.items()})
    (tmp_path / "two.tar").write_bytes(archive)
    later = folder(tmp_path / "later", texts(), MOMENT_S + 3600)
    source = opened(str(tmp_path / "two.tar"), later)
    assert [(i.system, len(i.intervals)) for i in source.systems] == [("made", 2), ("other", 1)]
    assert source.problems() == []


def test_same_linux_name_on_two_machines_is_two_systems(tmp_path: Path) -> None:
    there = texts(proc__sysinfo=SYSINFO.replace("12345", "54321"))
    source = opened(folder(tmp_path / "a", texts()), folder(tmp_path / "b", there))
    assert [(i.system, i.machine) for i in source.systems] == [
        ("made", "3931-12345"),
        ("made'", "3931-54321"),
    ]


def test_repeated_snapshot_is_read_once(tmp_path: Path) -> None:
    source = opened(folder(tmp_path / "a", texts()), folder(tmp_path / "b", texts()))
    assert len(rows(source, "linux_sysinfo")) == 1
    assert [p.kind for p in source.problems()] == ["duplicate"]
    other = texts(proc__sysinfo=SYSINFO.replace("CPUs Total:", "CPUs Total: 1"))
    assert other != texts()
    source = opened(folder(tmp_path / "a", texts()), folder(tmp_path / "c", other))
    assert [p.kind for p in source.problems() if "same time" in p.detail] == ["conflict"]


def test_nested_sysinfo_folder_is_found(tmp_path: Path) -> None:
    folder(tmp_path / "data" / "host", texts())
    root = str(tmp_path / "data" / "host")
    assert list(expand([str(tmp_path / "data")])) == [root]
    assert recognize([root]).files == {"linux.sysinfo": [root]}
    with zlens.open([f"{root}/proc/sysinfo"]) as session:
        assert session.sql("SELECT count(*) FROM linux_cpu").rows == [(8,)]
        assert session.sql("SELECT system, machine, lpar FROM system").rows == [
            ("made", "3931-12345", "MADE1")
        ]


def test_sysinfo_file_without_folder_has_no_cpus(tmp_path: Path) -> None:
    path = tmp_path / "sysinfo.txt"
    path.write_text(SYSINFO)
    source = opened(str(path))
    assert source.systems[0].system == "MADE1"
    assert rows(source, "linux_cpu") == []
    (row,) = rows(source, "linux_sysinfo")
    assert row["online_cpus"] is None
    assert row["threads"] is None
    assert row["dispatching"] is None


def test_live_machine_is_selected_by_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zlens.readers.linux.sysinfo_tree.is_tree", lambda folder: False)
    with pytest.raises(InputError, match="not Linux on IBM Z"):
        list(expand(["/"]))
    monkeypatch.setattr("zlens.readers.linux.sysinfo_tree.is_tree", lambda folder: folder == "/")
    assert list(expand(["/"])) == ["/"]


def test_inventory_and_info(tmp_path: Path) -> None:
    source = opened(folder(tmp_path / "s", texts()))
    counts = {row.name: row.count for row in source.inventory()}
    assert counts["proc/sysinfo"] == 1
    assert counts[CPUS] > 60
    (info,) = source.info()
    assert (info["system"], info["cpus_online"], info["runs_on"]) == ("made", 5, "partition MADE1")


def test_sysinfo_folder_in_lake_equals_input(tmp_path: Path) -> None:
    root, lake = folder(tmp_path / "s", texts()), str(tmp_path / "lake")
    assert not importer.add([root], lake)[0][0].again
    assert importer.add([root], lake)[0][0].again, "only what is new"
    columns = "cpu, online, configured, core, socket, book, drawer, polarity, mhz_dynamic, tod"
    question = f"SELECT {columns} FROM linux_cpu ORDER BY cpu"
    with zlens.open([root]) as raw, zlens.open([lake]) as kept:
        assert raw.sql(question).rows == kept.sql(question).rows
        assert raw.sql("SELECT * FROM partition").rows == kept.sql("SELECT * FROM partition").rows


def test_snapshot_from_other_format_is_imported_once(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    importer.add([folder(tmp_path / "s", texts())], lake)
    (tmp_path / "s.tar").write_bytes(tar(texts()))
    importer.add([str(tmp_path / "s.tar")], lake)
    importer.add([folder(tmp_path / "later", texts(), MOMENT_S + 60)], lake)
    with zlens.open([lake]) as session:
        assert session.sql("SELECT tod, count(*) FROM linux_cpu GROUP BY tod ORDER BY tod").rows == [
            (dt.datetime(2023, 11, 14, 22, 14, tzinfo=dt.UTC), 8),
            (dt.datetime(2023, 11, 14, 22, 15, tzinfo=dt.UTC), 8),
        ]


def test_pattern_finds_folders(tmp_path: Path) -> None:
    for name in ("a1", "a2", "b1"):
        folder(tmp_path / name, texts())
    found = [Path(path).name for path in expand([str(tmp_path / "a*")])]
    assert found == ["a1", "a2"]
