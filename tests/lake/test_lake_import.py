"""Tests of imports: files written once, failed imports, unusual names and full disks."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import quick_subset
from lake_builder import configuration, differences, interval, record, recording, tables, write
from zlens import lake
from zlens.errors import InputError, LakeError
from zlens.inputs.options import Options, parse_time_spec, parse_zone
from zlens.lake import file_names, importer, lake_folder


def everything(lake_path: Path) -> dict[str, bytes]:
    """Return all files of a lake except its locks."""
    return {
        str(path.relative_to(lake_path)): path.read_bytes()
        for path in sorted(lake_path.rglob("*"))
        if path.is_file() and path.name not in (file_names.LOCK, file_names.READERS)
    }


@pytest.fixture
def file(tmp_path: Path) -> str:
    return write(tmp_path / "a.data", recording(range(0, 4)))


# Files --------------------------------------------------------------------------------------------


def test_earlier_file_is_read_once_for_all_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each system of a file is checked against earlier files, before and after decoding it."""
    for number in (1, 2):
        (tmp_path / f"{number}.txt").write_text(
            "".join(f'zhmc_cpc_power_watt{{cpc="{cpc}"}} {number} {number}000000\n' for cpc in "ABCDE")
        )
    lake.add([tmp_path / "1.txt"], tmp_path / "lake")
    checking: list[bool] = []
    read: list[tuple[str, str]] = []
    check, document = importer.check_compatible, lake_folder.LakeFolder.document

    def checked(*arguments: Any) -> None:
        checking.append(True)
        check(*arguments)
        checking.pop()

    def counted(folder: Any, imported: Any, key: str) -> Any:
        if checking:
            read.append((imported.path, key))
        return document(folder, imported, key)

    monkeypatch.setattr(importer, "check_compatible", checked)
    monkeypatch.setattr(lake_folder.LakeFolder, "document", counted)
    (added,), problems = lake.add([tmp_path / "2.txt"], tmp_path / "lake")
    assert (added.systems, problems) == ([*"ABCDE"], [])
    assert [path for path, _ in read] == [str(tmp_path / "1.txt")] * 2


def test_folder_for_each_table_system_and_day(tmp_path: Path) -> None:
    path = write(tmp_path / "a.data", recording(range(836, 844)))
    heard: list[lake.ImportResult] = []
    added, problems = lake.add([path], tmp_path / "lake", report=heard.append)
    assert heard == added
    assert problems == []
    (one,) = added
    assert (one.path, one.systems, one.again, one.problems) == (path, ["LAKETEST"], False, [])
    found = sorted(
        str(p.relative_to(tmp_path / "lake")) for p in (tmp_path / "lake").glob("d0r2/**/*.parquet")
    )
    base = "d0r2/system=LAKETEST/day=2026-03-0{}/" + one.sha256
    assert found == [
        base.format(2) + ".edge.parquet",
        base.format(2) + ".parquet",
        base.format(3) + ".parquet",
    ]
    assert one.rows == sum(system.amount.rows for system in lake.contents(tmp_path / "lake").systems)
    assert not list((tmp_path / "lake" / file_names.STAGING).iterdir())


def test_repeated_import_adds_nothing(tmp_path: Path, file: str) -> None:
    lake.add([file], tmp_path / "lake")
    before = everything(tmp_path / "lake")
    shutil.copy(file, tmp_path / "b.data")
    added, _ = lake.add([tmp_path / "b.data"], tmp_path / "lake")
    assert [(one.again, one.known_as) for one in added] == [(True, file)]
    assert everything(tmp_path / "lake") == before


def test_import_is_reproducible(tmp_path: Path, file: str) -> None:
    for name in ("one", "two"):
        lake.add([file], tmp_path / name)
    one, two = everything(tmp_path / "one"), everything(tmp_path / "two")
    manifests = [json.loads(found.pop("manifest.json")) for found in (one, two)]
    for manifest in manifests:
        manifest["inputs"][0].pop("added_us")
    assert manifests[0] == manifests[1]
    assert one == two


def test_invalid_file_does_not_block_import_of_others(tmp_path: Path, file: str) -> None:
    bad = tmp_path / "z.data"
    bad.write_bytes(b"nothing that anybody knows" * 100)
    added, problems = lake.add([file, bad], tmp_path / "lake")
    assert [one.path for one in added] == [file]
    assert [(p.file, p.kind) for p in problems] == [(str(bad), "header")]
    with pytest.raises(InputError, match="this is text, which zlens cannot read"):
        lake.add([bad], tmp_path / "lake")


def test_damaged_data_keeps_its_problems(tmp_path: Path, file: str) -> None:
    data = bytearray(Path(file).read_bytes())
    data[0x3000:0x3040] = b"\xff" * 64
    Path(file).write_bytes(data[: len(data) - 5000])
    lake.add([file], tmp_path / "lake")
    with zlens.open(file) as session:
        expected = session._core.all_problems()
    assert expected
    with zlens.open(tmp_path / "lake") as session:
        assert sorted(map(repr, session._core.all_problems())) == sorted(map(repr, expected))
    assert differences(tables(tmp_path / "lake"), tables(file)) == []


def test_lake_is_not_imported(tmp_path: Path, file: str) -> None:
    lake.add([file], tmp_path / "lake")
    with pytest.raises(InputError, match="this is a lake"):
        lake.add([tmp_path / "lake"], tmp_path / "other")


def test_import_rejects_folder_with_other_files(tmp_path: Path, file: str) -> None:
    with pytest.raises(
        LakeError, match="contains other files and is not a lake; name a new or an empty folder"
    ):
        lake.add([file], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["a.data"]


def test_leap_seconds_of_system_cannot_change(tmp_path: Path, file: str) -> None:
    lake.add([file], tmp_path / "lake")
    other = write(tmp_path / "b.data", recording(range(5, 8)))
    before = everything(tmp_path / "lake")
    with pytest.raises(LakeError, match="in the lake with 0 leap seconds, not 27; use Options"):
        lake.add([other], tmp_path / "lake", options=Options(leap=27))
    assert everything(tmp_path / "lake") == before


# Names --------------------------------------------------------------------------------------------

ODD = [
    "",
    ".",
    "..",
    "a/b",
    "../../etc",
    "A B",
    "SYS#1@$",
    "%41",
    "unknown-x",
    "ÄÖ",
    "a\x00b",
    "\n",
    "=",
    "x" * 90,
]


@pytest.mark.parametrize("name", ODD)
def test_names_of_systems_become_names_of_folders(name: str) -> None:
    text = file_names.escape(name)
    assert text
    assert not set(text) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-%")
    assert file_names.is_own(file_names.data_file("d0r2", name, "2026-03-02", "0" * 64, "main"))


def test_system_folders_are_unique() -> None:
    assert (
        len({file_names.escape(name) for name in [*ODD, "A%20B", "a%2Fb", "é" * 300, "é" * 301]})
        == len(ODD) + 4
    )
    assert len(file_names.escape("é" * 300)) <= file_names.LONGEST


@pytest.mark.parametrize("name", quick_subset(2, ["A/B", "..", "X.Y Z", "$#@", "é"]))
def test_system_with_unusual_name(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "a.data", recording(range(0, 3), system=name))
    lake.add([path], tmp_path / "lake")
    with zlens.open(tmp_path / "lake", options=Options(systems=(name,))) as session:
        assert session.sql("SELECT DISTINCT system FROM d0r2").rows == [(name,)]
    assert {p.name for p in (tmp_path / "lake" / "d0r2").iterdir()} == {f"system={file_names.escape(name)}"}
    assert lake.check(tmp_path / "lake").faults == []


def test_file_whose_system_has_no_name(tmp_path: Path) -> None:
    groups = [group for at in range(4) for group in interval(at)]
    path = write(tmp_path / "it's [a] file.data", groups)
    lake.add([path], tmp_path / "la[k]e*")
    assert differences(tables(tmp_path / "la[k]e*"), tables(path)) == []


def test_wrong_clocks_create_few_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zlens.lake import table_writer as written

    monkeypatch.setattr(written, "MAX_DAYS", 2)
    groups = [configuration(0), *interval(0), *interval(1)]
    groups += [(True, 0x82, 0, 0, [record("D0R3", 10**15 + at * 10**13, {})]) for at in range(50)]
    path = write(tmp_path / "a.data", [*groups, *interval(2)])
    lake.add([path], tmp_path / "lake")
    days = {p.name for p in (tmp_path / "lake" / "d0r3").rglob("day=*")}
    assert len(days) <= 3
    assert differences(tables(tmp_path / "lake"), tables(path)) == []


# RMF ----------------------------------------------------------------------------------------------


def test_reports_of_overlapping_intervals_are_imported(demo_folder: Path, tmp_path: Path) -> None:
    from zlens.demo import RMF_NAME, machine

    options = Options(tz=parse_zone("+01:00"))
    begin, *reports = (demo_folder / RMF_NAME).read_text("utf-8").split("<postprocessor>")
    reports[-1] = reports[-1].removesuffix("</ddsml>\n")
    assert len(reports) == 4
    files = []
    for at, some in enumerate((reports[:3], reports[1:], reports)):
        path = tmp_path / f"{at}.xml"
        path.write_text("<postprocessor>".join([begin, *some]) + "</ddsml>\n", encoding="utf-8")
        files.append(str(path))
    whole = files.pop()
    expected = tables(whole, options)
    for order in (files, files[::-1]):
        lake_path = tmp_path / f"lake{order.index(files[0])}"
        for path in order:
            lake.add([path], lake_path, options=options)
        assert differences(tables(lake_path), expected) == []
        with zlens.open(lake_path) as session:
            details = [p.detail for p in session._core.all_problems() if p.kind == "duplicate"]
        assert len(details) == 1
        assert "2 intervals are duplicates of" in details[0]
        assert lake.check(lake_path).faults == []
    lake.forget(lake_path, Options(systems=(machine.ZOS_SYSTEM,)))
    assert lake.contents(lake_path).inputs == []
    with pytest.raises(InputError, match="the lake is empty"):
        zlens.open(lake_path)


# Failures -----------------------------------------------------------------------------------------


def limited(lake_path: Path, files: list[str], size: int) -> subprocess.CompletedProcess[str]:
    """Run an import in a process whose file size is limited."""
    code = (
        "import resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "from zlens.cli import main\n"
        f"sys.exit(main(['import', *{files!r}, '--lake', {str(lake_path)!r}]))"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_import_on_full_disk_leaves_lake_unchanged(tmp_path: Path, file: str) -> None:
    lake_path = tmp_path / "lake"
    lake.add([file], lake_path)
    other = write(tmp_path / "b.data", recording(range(4, 8)))
    before = everything(lake_path)
    done = limited(lake_path, [other], 3000)
    assert done.returncode == 2
    assert "no space left" in done.stderr
    assert "the lake is unchanged; free space on the disk" in done.stderr
    assert done.stderr.count("\n") == 1
    assert everything(lake_path) == before
    lake.add([other], lake_path)
    assert lake.check(lake_path).faults == []


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A lake with one file, this file and another one."""
    folder = tmp_path_factory.mktemp("begun")
    files = [write(folder / f"{at}.data", recording(range(4 * at, 4 * at + 4))) for at in range(2)]
    lake.add(files[:1], folder / "lake")
    return folder / "lake", files[0], files[1]


@pytest.mark.parametrize(
    ("step", "after"),
    [
        ("replace", 9),
        ("fsync", 0),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in [("replace", 0), ("makedirs", 2), ("link", 0)]
        ),
    ],
)
def test_full_disk_at_any_step_leaves_lake_unchanged(
    tmp_path: Path,
    begun: tuple[Path, str, str],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    after: int,
) -> None:
    whole, file, other = begun
    lake_path = tmp_path / "lake"
    shutil.copytree(whole, lake_path)
    before = everything(lake_path)
    real = getattr(os, step)
    count = 0

    def full(*words: object, **named: object) -> object:
        nonlocal count
        count += 1
        if count > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*words, **named)

    with monkeypatch.context() as patch:
        patch.setattr(lake_folder.os, step, full)
        if step == "link":
            # Without hard links, files are copied.
            lake.add([other], lake_path)
        else:
            with pytest.raises(LakeError, match="no space left"):
                lake.add([other], lake_path)
            assert everything(lake_path) == before
    if after or step == "link":
        lake.add([other], lake_path)
        assert lake.check(lake_path).faults == []
        assert differences(tables(lake_path), tables([file, other])) == []


@pytest.fixture(scope="module")
def three_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("days")
    files = [write(folder / f"{at}.data", recording(range(1440 * at, 1440 * at + 4))) for at in range(3)]
    lake.add(files, folder / "lake")
    return folder / "lake"


@pytest.mark.parametrize(
    ("step", "after", "is_gone"),
    [("replace", 2, False), ("replace", 8, True), ("unlink", 3, True), ("fsync", 3, False)],
)
def test_removal_on_full_disk(
    tmp_path: Path, three_days: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: int, is_gone: bool
) -> None:
    """Before the manifest is replaced, the lake is unchanged; later leftovers are removed afterwards."""
    lake_path = tmp_path / "lake"
    shutil.copytree(three_days, lake_path)
    options = Options(start=parse_time_spec("2026-03-03"), end=parse_time_spec("2026-03-04"), utc=True)
    before, real, calls = everything(lake_path), getattr(os, step), 0

    def full(*words: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*words, **named)

    with monkeypatch.context() as patch:
        patch.setattr(lake_folder.os, step, full)
        if is_gone:
            forgotten = lake.forget(lake_path, options)
            assert len(forgotten.gone) == 1
            assert forgotten.waiting >= 0
        else:
            with pytest.raises(LakeError, match="the lake is unchanged; free space on the disk") as caught:
                lake.forget(lake_path, options)
            assert "elsewhere" not in str(caught.value)
    assert calls > after
    assert (everything(lake_path) == before) is not is_gone
    assert lake.check(lake_path).faults == []
    if not is_gone:
        lake.forget(lake_path, options)
        assert everything(lake_path) != before
        assert lake.check(lake_path).faults == []


def test_import_reports_changing_file(tmp_path: Path, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importer.InputWriter.write

    def write_and_touch(self: importer.InputWriter) -> None:
        real(self)
        with open(file, "ab") as more:
            more.write(b"\0" * 4096)

    with monkeypatch.context() as patch:
        patch.setattr(importer.InputWriter, "write", write_and_touch)
        with pytest.raises(InputError, match="the file changed while it was read; import it again"):
            lake.add([file], tmp_path / "lake")
    assert everything(tmp_path / "lake") == {}


def test_interrupted_import_leaves_nothing(tmp_path: Path, file: str) -> None:
    lake_path = tmp_path / "lake"
    lake.add([file], lake_path)
    before = everything(lake_path)
    other = write(tmp_path / "b.data", recording(range(4, 40)))
    code = (
        "import sys, threading, time, os, signal\n"
        "from zlens.lake import importer\n"
        "real = importer.InputWriter._table\n"
        "def slow(self, *words):\n"
        "    real(self, *words)\n"
        "    if len(self.draft.tables) == 3:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(0.1)\n"
        "importer.InputWriter._table = slow\n"
        "from zlens.cli import main\n"
        f"sys.exit(main(['import', {other!r}, '--lake', {str(lake_path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert everything(lake_path) == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
