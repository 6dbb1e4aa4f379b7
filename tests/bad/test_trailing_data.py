"""Tests of files with trailing data: a problem names the skipped bytes and the command to extract them."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import pytest

import zlens
from zlens.inputs.problems import Problem


def parts(demo_files: list[Path]) -> dict[str, bytes]:
    monwrite, rmf, smf, _ = (path.read_bytes() for path in demo_files)
    return {"monwrite": monwrite, "rmf": rmf, "smf": smf, "gzip": gzip.compress(smf)}


def trailing_problems(path: Path) -> list[Problem]:
    with zlens.open(path) as session:
        return [problem for problem in session.problems if problem.kind == "section"]


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("monwrite", "smf", "an SMF dump"),
        ("smf", "monwrite", "MONWRITE data"),
        ("smf", "gzip", "a gzip file"),
        ("monwrite", "gzip", "a gzip file"),
        ("monwrite", "rmf", "an RMF Postprocessor XML report"),
        ("smf", "rmf", "an RMF Postprocessor XML report"),
    ],
)
def test_trailing_data_is_reported_with_command(
    demo_files: list[Path], tmp_path: Path, first: str, second: str, what: str
) -> None:
    contents = parts(demo_files)
    path = tmp_path / "both"
    path.write_bytes(contents[first] + contents[second])
    (problem,) = trailing_problems(path)
    start, size = len(contents[first]), len(contents[second])
    assert problem.offset == start
    assert f"the skipped bytes {start:,} to {start + size:,} are {what};" in problem.detail
    assert f"tail -c +{start + 1} FILE | head -c {size} > OTHER" in problem.detail
    # The command in the message extracts the data.
    cut = tmp_path / "cut"
    cut.write_bytes(path.read_bytes()[start : start + size])
    with zlens.open(cut) as session:
        assert {problem.kind for problem in session.problems} <= {"zone"}


def test_trailing_text_is_reported(demo_files: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "both"
    share = b"q share lnx1\nUSER LNX1    : RELATIVE SHARE = 100\n"
    path.write_bytes(demo_files[0].read_bytes() + share * 100)
    (problem,) = trailing_problems(path)
    assert "are z/VM console text;" in problem.detail


def test_leading_data_is_reported(demo_files: list[Path], tmp_path: Path) -> None:
    contents = parts(demo_files)
    path = tmp_path / "both"
    path.write_bytes(contents["rmf"] + contents["monwrite"])
    (problem,) = trailing_problems(path)
    assert "are an RMF Postprocessor XML report" in problem.detail
    assert f"head -c {len(contents['rmf'])} > OTHER" in problem.detail


def archive(data: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as written:
        written.writestr("data", data)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("gzip", "zip", "a ZIP archive"),
        ("zip", "gzip", "a gzip file"),
        ("gzip", "monwrite", "MONWRITE data"),
        ("gzip", "smf", "an SMF dump"),
        # More bytes than an archive comment may have.
        ("zip", "monwrite", "MONWRITE data"),
    ],
)
def test_data_after_compressed_dump_is_reported(
    demo_files: list[Path], tmp_path: Path, first: str, second: str, what: str
) -> None:
    contents = parts(demo_files)
    contents["zip"] = archive(contents["smf"])
    path = tmp_path / "both"
    path.write_bytes(contents[first] + contents[second])
    (problem,) = trailing_problems(path)
    start, size = len(contents[first]), len(contents[second])
    assert problem.offset == start
    assert f"the bytes {start:,} to {start + size:,}, which are not read, are {what};" in problem.detail
    assert f"tail -c +{start + 1} FILE | head -c {size} > OTHER" in problem.detail


def test_trailing_data_within_gzip_is_reported(demo_files: list[Path], tmp_path: Path) -> None:
    contents = parts(demo_files)
    path = tmp_path / "both.gz"
    path.write_bytes(contents["gzip"] + gzip.compress(contents["monwrite"]))
    (problem,) = trailing_problems(path)
    assert f"the unpacked bytes {len(contents['smf']):,} to " in problem.detail
    assert "are MONWRITE data" in problem.detail
    # Two dumps of one format are read as one.
    half = len(contents["smf"])
    path.write_bytes(contents["gzip"] + gzip.compress(contents["smf"][:half]))
    assert trailing_problems(path) == []


def test_bytes_after_zip_archive_are_reported(demo_files: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "both.zip"
    path.write_bytes(archive(parts(demo_files)["smf"]) + b"junk" * 100)
    with zlens.open(path) as session:
        (problem,) = [problem for problem in session.problems if problem.kind == "length"]
    assert "400 bytes after the ZIP archive are not read" in problem.detail
    assert problem.bytes == 400


def test_concatenated_archives_are_reported(demo_files: list[Path], tmp_path: Path) -> None:
    contents = parts(demo_files)
    path = tmp_path / "both.zip"
    first = archive(contents["smf"])
    path.write_bytes(first + archive(contents["smf"]))
    (problem,) = trailing_problems(path)
    assert f"the bytes up to {len(first):,} are another ZIP archive" in problem.detail
    path.write_bytes(first)
    assert trailing_problems(path) == []


def test_damage_is_not_reported_as_trailing_file(demo_files: list[Path], tmp_path: Path) -> None:
    data = bytearray(demo_files[0].read_bytes())
    data[400_000:500_000] = bytes(100_000)
    path = tmp_path / "damaged"
    path.write_bytes(data + bytes(10_000))
    assert trailing_problems(path) == []
