"""Tests of damaged, truncated and hostile texts and archives: all are reported, none is fatal."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iterations import draws, iterations
from raw_rows import rows
from sysinfo_builder import CPUS, SYSINFO, folder, tar, texts
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers.linux import sysinfo, sysinfo_text, sysinfo_tree
from zlens.readers.linux.sysinfo import SysinfoSource, open_files


def opened(*paths: str | Path) -> SysinfoSource:
    return open_files([str(path) for path in paths], Options())


def archive(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "s.tar"
    path.write_bytes(data)
    return path


def test_unknown_sysinfo_line_is_problem(tmp_path: Path) -> None:
    text = SYSINFO.replace("Plant:", "Planet:") + "words without a colon\nVM00 Shape:  round\n"
    path = tmp_path / "sysinfo"
    path.write_text(text)
    found = opened(path).problems()
    assert [(p.kind, p.offset) for p in found] == [
        ("no_layout", text.index("Planet")),
        ("no_layout", text.index("words")),
        ("no_layout", text.index("VM00")),
    ]
    assert "'Planet'" in found[0].detail


def test_invalid_sysinfo_number_is_null(tmp_path: Path) -> None:
    path = tmp_path / "sysinfo"
    path.write_text(
        SYSINFO.replace("CPUs Total:           16", "CPUs Total:           many")
        .replace("Capability:           416\n", "Capability:           1e9\n")
        .replace("62000", "9" * 30)
    )
    source = opened(path)
    (row,) = rows(source, "linux_sysinfo")
    assert (row["cpus_total"], row["capability"], row["cpus_configured"]) == (None, None, 10)
    assert [r["cpus"] for r in rows(source, "linux_caf")] == [100]
    assert [p.kind for p in source.problems()] == ["header"] * 3


@pytest.mark.parametrize(("number", "kind"), [(7, "duplicate"), (8, "conflict")])
def test_repeated_sysinfo_line_is_read_once(tmp_path: Path, number: int, kind: str) -> None:
    path = tmp_path / "sysinfo"
    path.write_text(SYSINFO + f"LPAR Number:          {number}\n")
    source = opened(path)
    assert source.systems[0].lpar_number == 7
    assert [p.kind for p in source.problems()] == [kind]


def test_empty_sysinfo_in_archive_is_error_with_fix(tmp_path: Path) -> None:
    path = archive(tmp_path, tar(texts(proc__sysinfo="")))
    with pytest.raises(InputError, match="is empty") as caught:
        opened(path)
    assert "copy the texts before packing" in str(caught.value)
    both = opened(path, folder(tmp_path / "s", texts()))
    assert [(p.kind, p.file) for p in both.problems()] == [("truncated", str(path)), ("header", str(path))]


def test_archive_without_sysinfo(tmp_path: Path) -> None:
    path = archive(tmp_path, tar({"dump.smf": "x", "proc/cpuinfo": "vendor_id : IBM/S390"}))
    with pytest.raises(InputError, match="this is a tar archive without proc/sysinfo"):
        opened(path)


@pytest.mark.parametrize("part", [0.5, 0.7])
@pytest.mark.parametrize("packed", [False, True])
def test_truncated_archive_is_read_up_to_end(tmp_path: Path, part: float, packed: bool) -> None:
    data = tar(texts(), packed=packed)
    source = opened(archive(tmp_path, data[: int(part * len(data))]))
    assert source.systems[0].machine == "3931-12345"
    assert [p.kind for p in source.problems()] == ["truncated"]


def test_damaged_header_ends_archive_there(tmp_path: Path) -> None:
    data = bytearray(tar(texts()))
    place = data.index(f"{CPUS}/cpu2/online".encode())
    data[place] ^= 1
    source = opened(archive(tmp_path, bytes(data)))
    assert [(p.kind, p.offset) for p in source.problems()] == [("header", place)]
    assert {r["cpu"] for r in rows(source, "linux_cpu")} == {0, 1, 2}


@pytest.mark.parametrize("packed", [False, True])
def test_concatenated_archives_are_read(tmp_path: Path, packed: bool) -> None:
    other = texts(proc__sysinfo=SYSINFO.replace("12345", "54321"))
    source = opened(archive(tmp_path, tar(texts(), packed=packed) + tar(other, "two/", packed=packed)))
    assert {info.serial for info in source.systems} == {"0000000000012345", "0000000000054321"}
    assert source.problems() == []
    behind = opened(archive(tmp_path, tar(texts()) + b"what is this? " * 100))
    assert [(p.kind, p.offset) for p in behind.problems()] == [("header", len(tar(texts())))]


def test_invalid_data_after_gzip_header(tmp_path: Path) -> None:
    data = tar(texts(), packed=True)
    half = len(data) // 2
    source = opened(archive(tmp_path, data[:half] + bytes(half)))
    assert source.systems[0].machine == "3931-12345"
    assert source.problems()


def test_damage_within_gzip_data_is_never_silent(tmp_path: Path) -> None:
    """Damaged data may unpack to zeros, which look like the archive end; the checksum detects it."""
    whole = tar(texts(), packed=True)
    silent = []
    for place in range(12, len(whole) - 8, max(1, len(whole) // 150)):
        data = bytearray(whole)
        data[place] ^= 0x10
        try:
            source = opened(archive(tmp_path, bytes(data)))
        except InputError:
            continue
        if not source.problems():
            silent.append(place)
    assert silent == []
    for left in range(len(whole) // 2, len(whole), max(1, len(whole) // 40)):
        try:
            source = opened(archive(tmp_path, whole[:left]))
        except InputError:
            continue
        assert source.problems(), left


def test_gzip_bomb_is_read_in_chunks(tmp_path: Path) -> None:
    path = archive(tmp_path, tar(texts(proc__cpuinfo=" " * 20_000_000), packed=True))
    assert path.stat().st_size < 100_000
    tracemalloc.start()
    source = opened(path)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()
    assert [p.kind for p in source.problems()] == ["length"]


def test_oversized_archive_content_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysinfo_tree, "MAX_KEPT", 1500)
    source = opened(archive(tmp_path, tar(texts())))
    assert [p.kind for p in source.problems()] == ["length"]


def test_numbers_of_cpus_are_bounded() -> None:
    assert sysinfo_text.cpu_list("0-3,7") == frozenset({0, 1, 2, 3, 7})
    assert sysinfo_text.cpu_list("") == frozenset()
    for text in ("0-99999999999", "3-1", "a", "1,,2", "-1", "1-2-3", "0-8192"):
        assert sysinfo_text.cpu_list(text) is None, text
    assert sysinfo_text.cpu_mask("00000000,0000000f") == frozenset({0, 1, 2, 3})
    assert sysinfo_text.cpu_mask("f" * 100_000) is None
    assert sysinfo_text.cpu_mask("0x1") is None


def test_invalid_cpu_siblings(tmp_path: Path) -> None:
    files = texts() | {f"{CPUS}/cpu0/topology/core_siblings_list": "0-99999999"}
    source = opened(folder(tmp_path / "s", files))
    (problem,) = source.problems()
    assert (problem.system, problem.kind) == ("made", "header")
    assert problem.file.endswith("cpu0/topology/core_siblings_list")
    assert next(r for r in rows(source, "linux_cpu") if r["cpu"] == 0)["socket"] is None


def test_links_and_pipes_of_folder_are_not_followed(tmp_path: Path) -> None:
    root = Path(folder(tmp_path / "s", texts()))
    (root / CPUS / "cpu0/address").unlink()
    (root / CPUS / "cpu0/address").symlink_to("/etc/hostname")
    (root / CPUS / "cpu1/address").unlink()
    os.mkfifo(root / CPUS / "cpu1/address")
    source = opened(root)
    assert [p.kind for p in source.problems()] == ["changed", "changed"]
    assert [r["address"] for r in rows(source, "linux_cpu")][:3] == [None, None, 2]


def test_long_sysinfo_text_is_truncated(tmp_path: Path) -> None:
    files = texts(proc__cpuinfo="bogomips per cpu: 1.00\n" + "x" * sysinfo_tree.MAX_FILE)
    source = opened(folder(tmp_path / "s", files))
    assert [p.kind for p in source.problems()] == ["length"]
    assert rows(source, "linux_sysinfo")[0]["bogomips"] == 1.0


@given(st.binary(max_size=300))
def test_any_bytes_are_read_as_sysinfo(data: bytes) -> None:
    for text in (data, SYSINFO.encode()[:200] + data):
        for note in sysinfo_text.parse(text).notes:
            assert note.kind in KINDS
            assert 0 <= note.offset < len(text)
        sysinfo_text.parse_cpuinfo(text)
        sysinfo_text.parse_lscpu(b"BogoMIPS: 1\n" + text)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("seed", range(iterations(20, 6)))
def test_sysinfo_survives_flipped_bytes(tmp_path: Path, seed: int, packed: bool) -> None:
    dice = draws(seed)
    data = bytearray(tar(texts(), packed=packed))
    for _ in range(dice.choice([1, 10, 100])):
        data[dice.randrange(len(data))] = dice.randrange(256)
    try:
        source = opened(archive(tmp_path, bytes(data)))
    except InputError:
        return
    for table in source.tables:
        rows(source, table)
    assert all(problem.kind in KINDS for problem in source.problems())


def test_detect_needs_several_labels() -> None:
    assert sysinfo.detect(SYSINFO.encode(), len(SYSINFO))
    assert not sysinfo.detect(b"Manufacturer: IBM\n", 18)
    assert not sysinfo.detect(b"\x1f\x8b" + bytes(300), 302)
    assert not sysinfo.detect(b"", 0)
