"""Tests of rig runs by simulator, program and existing files, and of resumed batches."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from rig_samples import EQUAL, write
from zlens.errors import QueryError, ZlensError
from zlens.rig import batch, definition, results, runners, tables
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
    result = run(write(folder, EQUAL), folder / "out")
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
    harmless = EQUAL.replace('"user.A.relative" = 200', '"user.A.relative" = 100')
    result = run(write(tmp_path, harmless), tmp_path / "out", seeds=1)
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
    write(tmp_path, EQUAL.replace("seconds = 20", "seconds = 30"))
    before = (tmp_path / "out" / "equal" / "1.data").read_bytes()
    assert run(str(tmp_path / "equal.toml"), tmp_path / "out").passed
    assert (tmp_path / "out" / "equal" / "1.data").read_bytes() != before


def test_changed_observation_reads_same_data(simulated: Path, tmp_path: Path) -> None:
    shutil.copytree(simulated / "out", tmp_path / "out")
    file = tmp_path / "out" / "equal" / "1.data"
    before = os.stat(file).st_mtime_ns
    write(tmp_path, EQUAL.replace('column = "cpu_pct"', 'column = "mt1_pct"'))
    result = run(str(tmp_path / "equal.toml"), tmp_path / "out")
    assert result.outcomes[0].verdicts[0].observation.column == "mt1_pct"
    assert os.stat(file).st_mtime_ns == before


def test_interrupted_batch_continues(simulated: Path, tmp_path: Path) -> None:
    """After an interrupt, the completed run is retained and the next batch runs the others."""
    file = write(tmp_path, EQUAL)

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


def test_control_without_data_breaks_nothing(tmp_path: Path) -> None:
    """The guests of the control have other names, so their numbers are not observed."""
    renamed = EQUAL.replace(
        'solver = { "user.A.relative" = 200 }', 'set = { "user.1.name" = "X", "user.2.name" = "Y" }'
    )
    result = run(write(tmp_path, renamed), tmp_path / "out", seeds=1)
    judged, control = result.outcomes
    assert judged.passed
    assert control.verdicts[0].failures == ("A: not observed", "B: not observed")
    assert not control.passed
    assert not result.passed


def test_every_observation_needs_control(tmp_path: Path) -> None:
    """No control changes the guests' number of virtual CPUs."""
    other = """
[[observe]]
name = "virtual CPUs"
sql = "SELECT userid, max(vcpus) FROM guest GROUP BY userid"
expected = "published"
largest = 0.0
of = "points"

[[case]]
name = "one"
expected."virtual CPUs" = { A = 1, B = 1 }
"""
    result = run(write(tmp_path, EQUAL + other), tmp_path / "out", seeds=1)
    assert all(outcome.passed for outcome in result.outcomes), result.errors
    assert result.undetected == ["virtual CPUs"]
    assert not result.passed
    assert "no control breaks virtual CPUs" in tables.answer([result]).notes[0]


def test_observed_subject_must_be_expected(tmp_path: Path) -> None:
    published = EQUAL.replace('"solver:users.allocation"', '"published"')
    one = '[[case]]\nname = "one"\nexpected.CPU = { A = 50 }\n'
    result = run(write(tmp_path, published + one), tmp_path / "out", seeds=1)
    assert result.errors == ["one: CPU: B is observed, but not expected"]
    assert not result.passed


def test_changed_run_data_is_error(simulated: Path, tmp_path: Path) -> None:
    shutil.copytree(simulated / "out", tmp_path / "out")
    data = tmp_path / "out" / "equal" / "1.data"
    content = bytearray(data.read_bytes())
    content[-1] ^= 1
    data.write_bytes(content)
    result = run(str(simulated / "equal.toml"), tmp_path / "out")
    assert not result.passed
    assert len(result.errors) == 1
    assert "changed since the run that wrote it" in result.errors[0]
    data.unlink()
    assert run(str(simulated / "equal.toml"), tmp_path / "out").passed


def test_settings_apply_to_all_runs(simulated: Path, tmp_path: Path) -> None:
    """With a share of 300 the solver expects 75 and 25, and the simulator gives it."""
    rig = definition.changed(definition.load(str(simulated / "equal.toml")), ["user.A.relative=300"])
    [result] = results.run([rig], runners.find("simulate"), str(tmp_path), workers=1, seeds=1)
    numbers = [(row.expected.value, row.observed) for row in result.outcomes[0].verdicts[0].compared]
    assert [found for _, found in numbers] == pytest.approx([75, 25], abs=0.2)
    assert [value for value, _ in numbers] == pytest.approx([75, 25])


def test_error_of_one_run_leaves_others(tmp_path: Path) -> None:
    """The second case cannot be simulated."""
    cases = '[[case]]\nname = "good"\n[[case]]\nname = "bad"\nset = { "processors.CP" = 1.5 }\n'
    result = run(write(tmp_path, EQUAL + cases), tmp_path / "out", seeds=1)
    case, control = result.errors
    assert case.startswith("bad-1: ")
    assert control.startswith("bad-control_wrong_share-1: ")
    assert "an integer number of processors" in case
    good = [row for row in result.outcomes[0].verdicts[0].compared if row.case == "good"]
    assert all(row.passed for row in good)


def test_batch_reads_every_observation(simulated: Path) -> None:
    assert batch._completed_run(str(simulated / "out" / "equal" / "1.data"), "another digest") is None
