"""Tests of inputs that many processes stage and others commit to a lake."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_lake_killed import few, seen

import zlens
from iterations import draws, iterations
from lake_builder import differences, recording, tables, write
from zlens import demo, lake
from zlens.cli import main
from zlens.errors import InputError, LakeError
from zlens.inputs.options import Options
from zlens.lake import staging

COMMIT = "import sys; from zlens import lake; lake.commit(sys.argv[2:], sys.argv[1])"
STAGE = "import sys; from zlens import lake; lake.stage(sys.argv[2:], sys.argv[1])"


def begin(code: str, *words: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], stderr=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("staged")
    return [few(folder / f"{at}.data", range(at * 3, at * 3 + 3)) for at in range(4)]


@pytest.fixture(scope="module")
def area(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all files staged, to be copied."""
    folder = tmp_path_factory.mktemp("area") / "staged"
    lake.stage(files, folder)
    return folder


@pytest.fixture
def own(area: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(area, tmp_path / "staged"))


def folder_of(area: Path, file: str) -> Path:
    """Return the staged folder of the input with this path."""
    return next(
        path
        for path in area.iterdir()
        if json.loads((path / staging.NAME).read_bytes())["input"]["path"] == file
    )


def test_parts_committed_in_any_order_equal_import(tmp_path: Path) -> None:
    parts = [write(tmp_path / f"{at}.data", recording(range(at, at + 6))) for at in (0, 6, 12)]
    # Each in its own area, as by three machines; committed in two calls, the last one first.
    for at, part in enumerate(parts):
        lake.stage([part], tmp_path / f"area{at}")
    lake_path = tmp_path / "lake"
    lake.commit([tmp_path / "area2"], lake_path)
    lake.commit([tmp_path / "area1", tmp_path / "area0"], lake_path)
    assert lake.check(lake_path).faults == []
    assert differences(tables(lake_path), tables(parts)) == []
    assert not [left for area in tmp_path.glob("area*") for left in area.iterdir()]


def test_committed_lake_equals_import(demo_folder: Path, tmp_path: Path) -> None:
    few = [demo_folder / name for name in (demo.RMF_NAME, demo.SMF_NAME)]
    inputs = iterations([demo_folder], few)
    lake.stage(inputs, tmp_path / "staged")
    lake.commit([tmp_path / "staged"], tmp_path / "joined")
    lake.add(inputs, tmp_path / "imported")

    def listed(lake_path: Path) -> dict[str, bytes]:
        paths = [path for path in lake_path.rglob("*") if path.is_file() and path.name != "manifest.json"]
        return {str(path.relative_to(lake_path)): path.read_bytes() for path in paths}

    joined, imported = listed(tmp_path / "joined"), listed(tmp_path / "imported")
    assert joined.keys() == imported.keys()
    assert [name for name in joined if joined[name] != imported[name]] == []


@pytest.mark.long
def test_staged_twice_and_by_two_at_once(files: list[str], tmp_path: Path) -> None:
    area = tmp_path / "staged"
    both = [begin(STAGE, area, *order) for order in (files, files[::-1])]
    assert [process.wait(60) for process in both] == [0, 0]
    assert sorted(os.listdir(area)) == sorted(
        path.name for path in area.iterdir() if (path / staging.NAME).exists()
    )
    again, _ = lake.stage(files, area)
    assert all(added.again for added in again)
    # In two areas, and already in the lake.
    lake.stage(files[:2], tmp_path / "other")
    results = lake.commit([area, tmp_path / "other"], tmp_path / "lake", keep=True)
    assert sorted(result.again for result in results) == [False] * 4 + [True] * 2
    assert all(result.again for result in lake.commit([area], tmp_path / "lake"))
    assert seen(tmp_path / "lake") == seen(files)


def test_two_commit_at_once(own: Path, files: list[str], tmp_path: Path) -> None:
    lake_path = tmp_path / "lake"
    both = [begin(COMMIT, lake_path, own) for _ in range(2)]
    # The later commit may find no input and fail; inputs that it finds are already in the lake.
    assert 0 in {process.wait(60) for process in both}
    assert seen(lake_path) == seen(files)
    assert lake.check(lake_path).faults == []


@pytest.mark.long
def test_killed_commits_can_be_repeated(area: Path, files: list[str], tmp_path: Path) -> None:
    moments = draws(31)
    expected = seen(files)
    began = time.monotonic()
    timed = shutil.copytree(area, tmp_path / "timed")
    assert begin(COMMIT, tmp_path / "first", timed).wait(60) == 0
    whole = time.monotonic() - began
    for number in range(iterations(20, 2)):
        lake_path, own = tmp_path / f"lake{number}", tmp_path / f"staged{number}"
        shutil.copytree(area, own)
        process = begin(COMMIT, lake_path, own)
        time.sleep(moments.uniform(whole / 3, whole))
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        # A commit killed before the manifest lists an input leaves an empty lake.
        if (lake_path / "manifest.json").exists() and lake.contents(lake_path).inputs:
            assert set(seen(lake_path)) <= set(expected)
        if list(own.glob(f"*/{staging.NAME}")):
            lake.commit([own], lake_path)
        assert seen(lake_path) == expected
        assert lake.check(lake_path).faults == []


def test_killed_stage_leaves_nothing_to_commit(files: list[str], tmp_path: Path) -> None:
    area = tmp_path / "staged"
    moments = draws(37)
    for _ in range(iterations(10, 2)):
        process = begin(STAGE, area, *files)
        time.sleep(moments.uniform(0.1, 0.8))
        process.send_signal(signal.SIGKILL)
        process.wait(20)
    lake.stage(files, area)
    assert len(os.listdir(area)) == len(files)
    lake.commit([area], tmp_path / "lake")
    assert seen(tmp_path / "lake") == seen(files)


def test_folder_committed_by_other_process_is_skipped(
    own: Path, files: list[str], tmp_path: Path, monkeypatch
) -> None:
    """The folder is removed during the copy, which is not an error."""
    lake_path = tmp_path / "lake"
    real = staging._copy_file

    def copied(path: Path, target: Path):
        monkeypatch.setattr(staging, "_copy_file", real)
        lake.commit([own], lake_path)
        return real(path, target)

    monkeypatch.setattr(staging, "_copy_file", copied)
    assert [(result.again, result.error) for result in lake.commit([own], lake_path)] == [(True, None)] * 4
    assert seen(lake_path) == seen(files)


def test_damage_of_staged_files_is_found(own: Path, files: list[str], tmp_path: Path) -> None:
    """A file truncated, changed or lost in transfer blocks only its own input."""
    damaged = [folder_of(own, file) for file in files[:3]]
    paths = [next(path.rglob("*.parquet")) for path in damaged]
    paths[0].write_bytes(paths[0].read_bytes()[:-1])
    changed = bytearray(paths[1].read_bytes())
    changed[100] ^= 1
    paths[1].write_bytes(changed)
    paths[2].unlink()
    results = lake.commit([own], tmp_path / "lake")
    errors = {result.path: result.error for result in results}
    assert [str(errors[str(path)]).partition(";")[0] for path in damaged] == [
        f"{paths[0]}: this is not the file that was staged",
        f"{paths[1]}: this is not the file that was staged",
        f"{paths[2]}: a file of the staged input is missing",
    ]
    assert seen(tmp_path / "lake") == seen(files[3:])
    # They stay for another attempt.
    assert all(path.exists() for path in damaged)
    assert len(list(own.iterdir())) == len(damaged)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["files"].update({"../../evil": [1, "0" * 64]}),
        lambda value: value["files"].update({"/etc/passwd": [1, "0" * 64]}),
        lambda value: value["files"].update({"manifest.json": [1, "0" * 64]}),
        lambda value: value["files"].update({"_schemas/0123456789abcdef.json": [1, "f" * 64]}),
        lambda value: value["files"].clear(),
        lambda value: value["input"].update(sha256="x"),
        lambda value: value["input"]["parts"].append(value["input"]["parts"][0]),
        lambda value: value["input"].update(documents={"0123456789abcdef": "0" * 64}),
        lambda value: value.update(zlens_staged=1),
        lambda value: value.pop("input"),
    ],
)
def test_invalid_staged_file_is_rejected(change, own: Path, files: list[str], tmp_path: Path) -> None:
    file = folder_of(own, files[0]) / staging.NAME
    value = json.loads(file.read_bytes())
    change(value)
    file.write_text(json.dumps(value))
    with pytest.raises(InputError, match=r"staged\.json"):
        lake.commit([own], tmp_path / "lake")
    assert not (tmp_path / "lake" / "manifest.json").exists()


def test_random_damage_of_list(own: Path, files: list[str], tmp_path: Path) -> None:
    file = folder_of(own, files[0]) / staging.NAME
    data = file.read_bytes()
    chance = draws(41)
    for number in range(iterations(200, 20)):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        file.write_bytes(damaged)
        lake_path = tmp_path / f"lake{number}"
        try:
            results = lake.commit([file.parent], lake_path, keep=True)
        except InputError:
            continue
        # A name or time may have changed; the listed files are verified nevertheless.
        assert all(result.error is not None for result in results) or lake.check(lake_path).faults == []


def test_inputs_of_system_are_alike(files: list[str], tmp_path: Path) -> None:
    lake.stage(files[:1], tmp_path / "a")
    lake.stage(files[1:2], tmp_path / "b", options=Options(leap=27))
    with pytest.raises(LakeError, match="staged with 0 leap seconds"):
        lake.stage(files[:1], tmp_path / "a", options=Options(leap=27))
    # In one batch, and in sequence.
    results = lake.commit([tmp_path / "a", tmp_path / "b"], tmp_path / "lake", keep=True)
    assert [type(result.error) for result in results] == [type(None), LakeError]
    results = lake.commit([tmp_path / "b"], tmp_path / "lake")
    assert "with 0 leap seconds, not 27" in str(results[0].error)
    assert seen(tmp_path / "lake") == seen(files[:1])


def test_removed_input_can_be_committed_again(own: Path, files: list[str], tmp_path: Path) -> None:
    lake_path = tmp_path / "lake"
    lake.commit([own], lake_path, keep=True)
    lake.forget(lake_path, Options(systems=("LAKETEST",)))
    results = lake.commit([own], lake_path)
    # A completely removed input is treated as new.
    assert all(result.error is None for result in results)
    assert seen(lake_path) == seen(files)


def test_partly_removed_input_needs_import(tmp_path: Path) -> None:
    """The staged folder has all systems of the input, and the lake would get some twice."""
    both = write(tmp_path / "both.data", [*recording(range(3)), *recording(range(3), system="OTHER")])
    lake.stage([both], tmp_path / "staged")
    lake_path = tmp_path / "lake"
    lake.commit([tmp_path / "staged"], lake_path, keep=True)
    assert len(lake.contents(lake_path).systems) == 2
    lake.forget(lake_path, Options(systems=("OTHER",)))
    [result] = lake.commit([tmp_path / "staged"], lake_path)
    assert "systems of this input were removed from the lake; import the file itself" in str(result.error)
    lake.add([both], lake_path)
    assert differences(tables(lake_path), tables(both)) == []


def test_stage_and_commit_commands(files: list[str], tmp_path: Path, capsys) -> None:
    area, lake_path = str(tmp_path / "staged"), str(tmp_path / "lake")
    assert main(["import", *files[:2], "--stage", area]) == 0
    assert "LAKETEST, 2026-03-02 " in capsys.readouterr().out
    assert main(["import", files[0], "--stage", area]) == 0
    assert f"already in {area}; nothing added" in capsys.readouterr().out
    assert main(["lake", "commit", lake_path, area]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{file}: LAKETEST" for file in files[:2]]
    assert main(["lake", "commit", lake_path, area]) == 2
    assert (
        "the folder contains no staged input; stage one first: zlens import INPUT --stage DIR"
        in capsys.readouterr().err
    )
    assert main(["import", files[0], "--stage", lake_path]) == 2
    assert "this is a lake" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["import", files[0], "--stage", area, "--lake", lake_path])
    with zlens.open(lake_path) as session:
        assert [info.system for info in session.systems] == ["LAKETEST"]


def test_documented_lines_of_schedulers(files: list[str], tmp_path: Path) -> None:
    """The lines in docs/lake-sharing.md for xargs, a task of an array job and of an indexed job."""
    text = (Path(__file__).parents[2] / "docs" / "lake-sharing.md").read_text(encoding="utf-8")
    lines = text.replace("\\\n", "").splitlines()
    xargs = next(line.strip() for line in lines if "| xargs" in line)
    array = next(line.strip() for line in lines if "SLURM_ARRAY_TASK_ID" in line).partition("--wrap")[2]
    indexed = next(line.strip() for line in lines if "JOB_COMPLETION_INDEX" in line)
    area, data = tmp_path / "staged", tmp_path / "data"
    data.mkdir()
    for at, file in enumerate(files[:2]):
        shutil.copy(file, data / f"{at}.monwrite")
    (data / "inputs.txt").write_text("".join(f"{file}\n" for file in files[2:]))

    def run(line: str, **environment: str) -> None:
        line = line.replace("/scratch/staged", str(area)).replace("/data/", f"{data}/")
        line = line.replace("zlens import", f"{sys.executable} -m zlens import")
        subprocess.run(["bash", "-c", line], check=True, cwd=data, env=os.environ | environment, timeout=120)

    run(xargs)
    run(array.strip().strip("'"), SLURM_ARRAY_TASK_ID="1")
    run(indexed, JOB_COMPLETION_INDEX="1")
    lake.commit([area], tmp_path / "lake")
    assert seen(tmp_path / "lake") == seen(files)
