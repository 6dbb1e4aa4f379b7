"""Tests of zlens import and zlens lake: output and exit status."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import zlens
from command_line import run
from lake_builder import recording, write
from zlens.cli import main
from zlens.inputs.options import Options, parse_zone


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [
        write(tmp_path / f"{at}.data", recording(numbers))
        for at, numbers in enumerate((range(3), range(3, 6)))
    ]


def test_import_and_read_lake_commands(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    lake_path = tmp_path / "lake"
    status, out, err = run(capsys, "import", *files, "--lake", lake_path)
    assert (status, err) == (0, "")
    first, second = out.splitlines()
    assert first.startswith(f"{files[0]}: LAKETEST, 2026-03-02 10:00 to 10:03 UTC, ")
    assert " rows of 6 tables, " in second

    status, out, err = run(capsys, "import", tmp_path / "?.data", "--lake", lake_path)
    assert (status, err) == (0, "")
    assert out.splitlines() == [f"{file}: already in the lake; nothing added" for file in files]

    status, out, _ = run(capsys, "lake", "show", lake_path, "--days", "--tables", "--inputs")
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == str(lake_path)
    assert lines[1].startswith("  2 inputs of ")
    assert any(line.split()[:2] == ["LAKETEST", "zvm-monitor"] for line in lines)
    assert any(line.split()[:2] == ["LAKETEST", "2026-03-02"] for line in lines)
    assert any(line.split()[:2] == ["LAKETEST", "d6r3"] for line in lines)
    assert any(line.startswith(files[1]) for line in lines)

    status, out, _ = run(capsys, "lake", "show", lake_path, "--format", "json")
    document = json.loads(out)
    assert status == 0
    assert [one["path"] for one in document["inputs"]] == files
    assert document["systems"][0]["first"] == "2026-03-02T10:00:00Z"
    assert document["systems"][0]["tables"]["d0r2"]["rows"] == 18

    status, out, _ = run(capsys, "lake", "check", lake_path)
    assert (status, out.rstrip().endswith("no faults")) == (0, True)

    status, out, err = run(
        capsys, "sql", lake_path, "-q", "SELECT count(*) AS n FROM d0r2", "--format", "csv"
    )
    assert (status, out, err) == (0, "n\n18\n", "")
    status, of_lake, _ = run(capsys, "report", "prclog", lake_path, "--format", "csv")
    assert status == 0
    status, of_files, _ = run(capsys, "report", "prclog", *files, "--format", "csv")
    assert of_lake == of_files
    status, out, _ = run(capsys, "info", lake_path)
    assert status == 0
    assert f"lake {lake_path}" in out
    assert out.count("System    LAKETEST") == 2

    status, out, _ = run(
        capsys, "lake", "forget", lake_path, "--to", "2026-03-02 10:03", "--utc", "--dry-run"
    )
    assert status == 0
    assert out.splitlines()[0] == f"would remove LAKETEST of {files[0]}"
    status, out, _ = run(capsys, "lake", "forget", lake_path, "--to", "2026-03-02 10:05", "--utc")
    assert status == 0
    assert out.splitlines()[:2] == [
        f"removed LAKETEST of {files[0]}",
        f"kept LAKETEST of {files[1]}: only partly within these times",
    ]
    status, out, _ = run(capsys, "lake", "check", lake_path)
    assert status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["import", "{file}"], "one of the arguments --lake --stage is required"),
        (["import", "{folder}/nosuch", "--lake", "{folder}/lake"], "no such file or folder"),
        (["import", "{file}", "--lake", "{file}"], "cannot become a lake"),
        (["import", "{file}", "--lake", "{folder}"], "contains other files and is not a lake"),
        (["lake", "show", "{folder}"], "this is not a lake; create one with zlens import INPUT --lake DIR"),
        (["lake", "check", "{folder}/nosuch"], "this is not a lake"),
        (["lake", "forget", "{lake}"], "nothing to remove was named; use --system, --from, --to"),
        (["lake", "forget", "{lake}", "--from", "09:00"], "a time of day is not a range"),
        (
            ["lake", "forget", "{lake}", "--system", "X"],
            "there is no system X in the lake; expected one of LAKETEST",
        ),
        (["import", "{lake}", "--lake", "{folder}/other"], "this is a lake"),
        (["sql", "{lake}", "-q", "FROM d0r2", "--leap", "27"], "imported with 0 leap seconds, not 27"),
    ],
)
def test_wrong_words_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str], words: list[str], said: str
) -> None:
    lake_path = tmp_path / "lake"
    if any("{lake}" in word for word in words):
        run(capsys, "import", files[0], "--lake", lake_path)
    places = {"{file}": files[0], "{folder}": str(tmp_path), "{lake}": str(lake_path)}
    filled = []
    for word in words:
        for name, place in places.items():
            word = word.replace(name, place)
        filled.append(word)
    status, out, err = run(capsys, *filled)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_problems_count_under_strict(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    path = Path(files[0])
    path.write_bytes(path.read_bytes()[:-4096])
    (tmp_path / "bad.bin").write_bytes(b"\x01\x02\x03" * 5000)
    status, out, err = run(
        capsys, "import", path, tmp_path / "bad.bin", "--lake", tmp_path / "lake", "--strict"
    )
    assert status == 1
    assert len(out.splitlines()) == 1
    assert "bad.bin" in err
    status, _, err = run(capsys, "sql", tmp_path / "lake", "-q", "FROM problem", "--strict")
    assert status == 1


def test_lake_check_fails_for_damaged_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: list[str]
) -> None:
    lake_path = tmp_path / "lake"
    run(capsys, "import", files[0], "--lake", lake_path)
    path = next(lake_path.glob("d0r2/**/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    status, out, _ = run(capsys, "lake", "check", lake_path)
    assert status == 1
    assert out.splitlines()[0].startswith(f"changed: {path}: it has ")
    assert out.splitlines()[-1].endswith("1 fault")


def test_lake_inside_imported_folder_is_skipped(
    demo_files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copy(demo_files[1], folder)
    words = ["import", str(folder), "--tz", "+01:00", "--lake", str(folder / "lake")]
    for _ in range(2):
        assert main(words) == 0
        assert "no reader" not in capsys.readouterr().err
    with zlens.open(folder, options=Options(tz=parse_zone("+01:00"))) as session:
        assert session._core.all_problems() == []


def test_lake_check_includes_schema(
    demo_files: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = tmp_path / "lake"
    assert main(["import", str(demo_files[1]), "--tz", "+01:00", "--lake", str(lake)]) == 0
    schema = next((lake / "_schemas").iterdir())
    schema.write_bytes(schema.read_bytes() + b" ")
    capsys.readouterr()
    assert main(["lake", "check", str(lake)]) == 1
    assert "it is not the schema that its name says" in capsys.readouterr().out
