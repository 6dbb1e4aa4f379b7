"""Tests of rig runs by simulator, program and existing files, and of resumed batches."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from rig_samples import EQUAL, WRONG, write
from zlens.errors import QueryError, ZlensError
from zlens.rig import batch, definition, results, runners
from zlens.rig.results import RigResult

#: Stand-in for a driver of a real system: copies a prepared file.
STAND_IN = """\
import shutil, sys, tomllib
scenario = tomllib.load(open(sys.argv[1], "rb"))
assert scenario["model"] == "shares" and scenario["simulation"]["seed"] == int(sys.argv[3])
shutil.copy(sys.argv[4] + f"/{sys.argv[3]}.data", sys.argv[2])
"""


def run(file: str, folder: Path, runner: str = "simulate", **options: int) -> RigResult:
    [result] = results.run(
        [definition.load(file)], runners.find(runner), str(folder), **{"workers": 1, **options}
    )
    return result


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rig")
    result = run(write(folder, EQUAL + WRONG), folder / "out")
    assert result.passed
    return folder


def test_rig_verdict_and_control(simulated: Path) -> None:
    result = run(str(simulated / "equal.toml"), simulated / "out")
    judged, control = result.outcomes
    [verdict] = judged.verdicts
    assert [row.observed for row in verdict.compared] == pytest.approx([50, 50], abs=0.2)
    assert not control.verdicts[0].passed
    assert control.passed
    assert [done.job.seed for done in judged.runs] == [1, 2]


def test_passing_control_is_failure(tmp_path: Path) -> None:
    harmless = WRONG.replace('"user.A.relative" = 200', '"user.A.relative" = 100')
    result = run(write(tmp_path, EQUAL + harmless), tmp_path / "out", seeds=1)
    assert result.outcomes[0].passed
    assert not result.passed


def test_completed_runs_are_not_repeated(simulated: Path) -> None:
    files = sorted((simulated / "out" / "equal").glob("*.data"))
    before = [os.stat(path).st_mtime_ns for path in files]
    assert len(files) == 3
    result = run(str(simulated / "equal.toml"), simulated / "out")
    assert result.passed
    assert result.seconds == 0
    assert [os.stat(path).st_mtime_ns for path in files] == before


def test_changed_scenario_is_rerun(simulated: Path, tmp_path: Path) -> None:
    shutil.copytree(simulated / "out", tmp_path / "out")
    write(tmp_path, (EQUAL + WRONG).replace("seconds = 20", "seconds = 30"))
    before = (tmp_path / "out" / "equal" / "1.data").read_bytes()
    assert run(str(tmp_path / "equal.toml"), tmp_path / "out").passed
    assert (tmp_path / "out" / "equal" / "1.data").read_bytes() != before


def test_changed_observation_reads_same_data(simulated: Path, tmp_path: Path) -> None:
    shutil.copytree(simulated / "out", tmp_path / "out")
    file = tmp_path / "out" / "equal" / "1.data"
    before = os.stat(file).st_mtime_ns
    write(tmp_path, (EQUAL + WRONG).replace('column = "cpu_pct"', 'column = "mt1_pct"'))
    result = run(str(tmp_path / "equal.toml"), tmp_path / "out")
    assert result.outcomes[0].verdicts[0].observation.column == "mt1_pct"
    assert os.stat(file).st_mtime_ns == before


def test_interrupted_batch_continues(simulated: Path, tmp_path: Path) -> None:
    """After an interrupt, the completed run is retained and the next batch runs the others."""
    file = write(tmp_path, EQUAL + WRONG)

    def interrupt(done: int, _of: int, _what: str) -> None:
        if done == 1:
            raise KeyboardInterrupt

    simulator, out = runners.find("simulate"), str(tmp_path / "out")
    with pytest.raises(results.RigInterrupted) as stopped:
        results.run([definition.load(file)], simulator, out, workers=1, progress=interrupt)
    [result] = stopped.value.results
    assert not result.complete
    assert not result.passed
    kept = {path: os.stat(path).st_mtime_ns for path in (tmp_path / "out" / "equal").glob("*.data")}
    assert 1 <= len(kept) < 3
    assert run(file, tmp_path / "out").passed
    assert all(os.stat(path).st_mtime_ns == time for path, time in kept.items())


def test_program_runner_writes_data(simulated: Path, tmp_path: Path) -> None:
    program = tmp_path / "stand in.py"
    program.write_text(STAND_IN, encoding="utf-8")
    data = simulated / "out" / "equal"
    runner = f"command:{sys.executable} '{program}' {{scenario}} {{out}} {{seed}} {data}"
    file = write(tmp_path, EQUAL)
    result = run(file, tmp_path / "out", runner)
    assert result.passed, result.errors
    assert (tmp_path / "out" / "equal" / "1.data").read_bytes() == (data / "1.data").read_bytes()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import sys; print('no LOGON'); sys.exit(3)", "ended with status 3: no LOGON"),
        ("pass", "left no monitor data"),
    ],
)
def test_failing_program_runner(tmp_path: Path, code: str, says: str) -> None:
    program = tmp_path / "fails.py"
    program.write_text(code, encoding="utf-8")
    result = run(write(tmp_path), tmp_path / "out", f"command:{sys.executable} {program} {{out}}", seeds=1)
    assert not result.passed
    assert says in result.errors[0]


def test_existing_files_runner(simulated: Path, tmp_path: Path) -> None:
    file = str(simulated / "equal.toml")
    assert run(file, tmp_path / "out", f"files:{simulated / 'out'}").passed
    assert not list((tmp_path / "out" / "equal").glob("*.data"))
    missing = run(file, tmp_path / "other", f"files:{tmp_path}")
    assert "has no monitor data" in missing.errors[0]


@pytest.mark.parametrize(
    ("runner", "said"),
    [
        ("simulat", "there is no runner 'simulat'; expected simulate, command:PROGRAM or files:FOLDER"),
        ("command:", "there is no runner 'command:'"),
        ("files:", "there is no runner 'files:'"),
        ("command:run.sh", "the runner's command does not say where to write; add {out}"),
        ("command:'run {out}", "the runner's command cannot be split: No closing quotation"),
    ],
)
def test_unknown_runners(runner: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        runners.find(runner)


def test_damaged_run_record_is_written_again(simulated: Path, tmp_path: Path) -> None:
    shutil.copytree(simulated / "out", tmp_path / "out")
    kept = tmp_path / "out" / "equal" / "1.data.json"
    kept.write_text(kept.read_text(encoding="utf-8")[:40], encoding="utf-8")
    assert run(str(simulated / "equal.toml"), tmp_path / "out").passed
    assert json.loads(kept.read_text(encoding="utf-8"))["files"] == ["1.data"]


def test_unwritable_rig_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file", encoding="utf-8")
    with pytest.raises(ZlensError, match="cannot be written"):
        run(write(tmp_path), tmp_path / "out")


def test_error_of_one_run_leaves_others(tmp_path: Path) -> None:
    """The second case cannot be simulated."""
    cases = '[[case]]\nname = "good"\n[[case]]\nname = "bad"\nset = { "processors.CP" = 1.5 }\n'
    result = run(write(tmp_path, EQUAL + cases), tmp_path / "out", seeds=1)
    assert len(result.errors) == 1
    assert "an integer number of processors" in result.errors[0]
    good = [row for row in result.outcomes[0].verdicts[0].compared if row.case == "good"]
    assert all(row.passed for row in good)


def test_batch_reads_every_observation(simulated: Path) -> None:
    assert batch._completed_run(str(simulated / "out" / "equal" / "1.data"), "another digest") is None
