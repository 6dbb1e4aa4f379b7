"""Tests of zip archives of record pages: read like folders, and never trusted."""

from __future__ import annotations

import random
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import page_render
import pytest

from iterations import draws, iterations
from zlens.catalog import layouts
from zlens.cli import main
from zlens.errors import CatalogError
from zlens.record_pages import importer as pages
from zlens.record_pages import packs, page_files
from zlens.record_pages import text as page_text

NOWHERE = Path("/nonexistent")
GOOD = [next(x for x in layouts.layouts(name, NOWHERE) if x.complete) for name in ("D0R2", "D5R1", "D0R16")]


def zipped(path: Path, members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def good(path: Path, **more: str | bytes) -> Path:
    rendered = {f"mon730/{x.dsect}.HTML": page_render.page(x, markup=True) for x in GOOD}
    return zipped(path, {**rendered, "mon730/logo.gif": b"GIF89a", **more})


def bring(path: Path) -> pages.ImportReport:
    return pages.import_pages([path], pack_root=path.parent / "packs")


def refused(path: Path) -> str:
    with pytest.raises(CatalogError) as caught:
        bring(path)
    assert not (path.parent / "packs").exists()
    return str(caught.value)


def test_zip_import_equals_folder_import(tmp_path: Path) -> None:
    report = bring(good(tmp_path / "mon730.zip"))
    assert [record.record for record in report.imported] == ["D0R2", "D0R16", "D5R1"]
    assert report.disagreements == ()
    assert [skip.file for skip in report.skipped] == ["1 other files"]
    pack = packs.load("7.3", tmp_path / "packs")
    assert [page.file for page in pack.pages] == ["MRSYTPRP.HTML", "MRSYTCUP.HTML", "MRPRCVON.HTML"]


def test_zip_in_folder_or_with_other_name(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    good(tmp_path / "in" / "mon730.ZIP")
    other = good(tmp_path / "download.bin")
    for path in (tmp_path / "in", other):
        assert len(bring(path).imported) == 3
    # In a folder, only files named .zip are archives.
    (tmp_path / "in" / "mon730.ZIP").rename(tmp_path / "in" / "mon730.bin")
    with pytest.raises(CatalogError, match="not pages by their names"):
        bring(tmp_path / "in")


def test_pages_in_files_and_zips_are_one_import(tmp_path: Path) -> None:
    first = zipped(tmp_path / "a.zip", {"MRSYTPRP.txt": page_render.page(GOOD[0])})
    second = zipped(tmp_path / "b.zip", {"MRPRCVON.txt": page_render.page(GOOD[1])})
    third = tmp_path / "MRSYTCUP.txt"
    third.write_text(page_render.page(GOOD[2]), encoding="utf-8")
    report = pages.import_pages([first, second, third], pack_root=tmp_path / "packs")
    assert [record.record for record in report.imported] == ["D0R2", "D0R16", "D5R1"]


@pytest.mark.parametrize(
    "name",
    ["/etc/MRSYTPRP.html", "../MRSYTPRP.html", "a/../../b.html", "C:\\x.html", "..\\x.html"],
)
def test_zip_path_traversal_is_rejected(tmp_path: Path, name: str) -> None:
    path = good(tmp_path / "x.zip", **{name: "anything"})
    assert "outside its folder" in refused(path)
    assert [one.name for one in tmp_path.iterdir()] == ["x.zip"]


def test_zip_bomb_is_rejected_before_extraction(tmp_path: Path) -> None:
    zeros = bytes(page_text.MAX_BYTES)
    members: dict[str, str | bytes] = {f"MR{at}.html": zeros for at in range(33)}
    path = zipped(tmp_path / "bomb.zip", members)
    assert path.stat().st_size < 400_000
    assert "unpacks to more than" in refused(path)


def test_oversized_page_is_rejected(tmp_path: Path) -> None:
    path = zipped(tmp_path / "one.zip", {"MRSYTPRP.html": b"A " * (5 * page_text.MAX_BYTES)})
    assert "too large for a record page" in refused(path)


def test_member_is_not_read_past_declared_size(tmp_path: Path) -> None:
    path = zipped(tmp_path / "liar.zip", {"MRSYTPRP.html": b"A" * 1_000_000})
    data = path.read_bytes()
    said = struct.pack("<L", 1_000_000)
    assert data.count(said) == 2
    path.write_bytes(data.replace(said, struct.pack("<L", 10)))
    assert "cannot be unpacked" in refused(path)


def test_too_many_zip_members_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_files, "MAX_FILES", 3)
    assert "more than 3 members" in refused(good(tmp_path / "x.zip"))


def test_oversized_zip_directory_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_files, "_MAX_LIST", 100)
    monkeypatch.setattr(zipfile, "ZipFile", None)
    (tmp_path / "x").mkdir()
    path = tmp_path / "x.zip"
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 101, 0, 0)
    for comment in (b"", b"comment"):
        path.write_bytes(bytes(200) + end[:-2] + struct.pack("<H", len(comment)) + comment)
        assert "member list is too long" in refused(path)


def test_zip64_archive_is_rejected(tmp_path: Path) -> None:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 46, 0, 0)
    path = tmp_path / "x.zip"
    path.write_bytes(bytes(100) + b"PK\6\7" + bytes(16) + end)
    assert "more than 65,535 members" in refused(path)


def test_encrypted_and_unsupported_members_are_skipped(tmp_path: Path) -> None:
    path = good(tmp_path / "x.zip")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_LZMA) as archive:
        archive.writestr("MRIODDEV.html", "packed")
        archive.writestr("more.zip", b"PK")
    data = bytearray(path.read_bytes())
    # The flag of the first member, in its header and in the directory.
    at = data.find(b"PK\1\2")
    data[6] |= 1
    data[at + 8] |= 1
    path.write_bytes(data)
    report = bring(path)
    assert [record.record for record in report.imported] == ["D0R16", "D5R1"]
    said = "\n".join(f"{Path(skip.file).name}: {skip.reason}" for skip in report.skipped)
    assert "MRSYTPRP.HTML: it is encrypted" in said
    assert "MRIODDEV.html: it uses an unusual compression method" in said
    assert "more.zip: an archive inside an archive" in said


def test_zip_links_are_skipped(tmp_path: Path) -> None:
    path = good(tmp_path / "x.zip")
    link = zipfile.ZipInfo("MRLINK.html")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("empty/", b"")
        archive.writestr(".hidden.html", b"x")
    report = bring(path)
    assert [skip.file for skip in report.skipped] == ["2 other files"]


@pytest.mark.parametrize("keep", [0, 3, 4, 30, 0.5, 0.9, 0.999])
def test_truncated_zip_is_rejected(tmp_path: Path, keep: float) -> None:
    path = good(tmp_path / "x.zip")
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data)) if 0 < keep < 1 else int(keep)])
    assert "cannot be read" in refused(path)


def damaged(data: bytearray, chance: random.Random) -> bytes:
    for _ in range(chance.choice((1, 1, 2, 5, 40))):
        at = chance.choice(
            (chance.randrange(len(data)), len(data) - 1 - chance.randrange(min(len(data), 400)))
        )
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                data[at : at + chance.choice((1, 4, 100))] = b""
            case 2:
                data[at : at + 4] = chance.choice((b"\xff" * 4, bytes(4), b"PK\5\6", b"PK\1\2", b"PK\6\7"))
            case _:
                data[at:at] = data[: chance.choice((1, 30, 300))]
        data = data or bytearray(b"P")
    return bytes(data)


def test_damaged_zips_give_pages_or_error(tmp_path: Path) -> None:
    chance = draws(20261122)
    small = {
        "MRPRCVON.txt": page_render.page(GOOD[1]),
        "MRSYTPRP.html": page_render.page(GOOD[0], markup=True),
    }
    makers: list[Callable[[Path], Path]] = [
        lambda path: zipped(path, dict(small)),
        lambda path: zipped(path, dict(small), zipfile.ZIP_STORED),
    ]
    whole = [make(tmp_path / "seed.zip").read_bytes() for make in makers]
    path = tmp_path / "x.zip"
    read = failed = 0
    tried = iterations(400, 80)
    for round_ in range(tried):
        path.write_bytes(damaged(bytearray(whole[round_ % 2]), chance))
        try:
            report = pages.import_pages([path], pack_root=tmp_path / "packs", dry_run=True)
        except CatalogError as error:
            failed += bool(error.message)
        else:
            read += bool(report.imported)
    assert read + failed == tried
    assert read > tried / 8
    assert failed > tried / 8


def test_command_reads_zip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZLENS_DATA", str(tmp_path / "data"))
    path = good(tmp_path / "mon730.zip")
    assert main(["catalog", "import", str(path), "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("would import 3 records of z/VM 7.3: ")
    assert not (tmp_path / "data").exists()
    assert main(["catalog", "import", str(path)]) == 0
    assert f"pack: {tmp_path / 'data' / 'packs' / '7.3'}\n" in capsys.readouterr().out
    assert main(["catalog", "show", "MRSYTPRP", "--release", "7.3"]) == 0
    assert "Layout of release 7.3 (pack 7.3)" in capsys.readouterr().out
    unsafe = good(tmp_path / "unsafe.zip", **{"../x.html": "x"})
    assert main(["catalog", "import", str(unsafe)]) == 2
    assert "outside its folder" in capsys.readouterr().err


def test_folder_or_archive_without_file_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    (empty / "deeper").mkdir(parents=True)
    (empty / ".hidden").touch()
    archive = zipped(tmp_path / "empty.zip", {"folder/": b""})
    for path in (empty, archive):
        assert refused(path) == (
            f"{path}: contains no file; expected saved pages of z/VM monitor records (MRxxxxxx); "
            "name the folder that they were saved in"
        )
    report = pages.import_pages([good(tmp_path / "mon730.zip"), empty], pack_root=tmp_path / "packs")
    assert [(skip.file, skip.reason) for skip in report.skipped] == [
        (str(empty), "contains no file"),
        ("1 other files", "not pages by their names (pictures, styles and the like)"),
    ]
