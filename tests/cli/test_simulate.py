"""Tests of `zlens simulate` on the command line."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

import command_line
import zlens
from zlens.cli import main

SHARES = """\
model = "shares"

[processors]
CP = 2

[[user]]
name = "A"
relative = 100

[[user]]
name = "B"
relative = 300
virtual_cpus = 2

[simulation]
seconds = 20
interval = 10
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "shares.toml"
    path.write_text(SHARES, encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return command_line.run(capsys, "simulate", *words)


def test_simulate_accepts_solver_scenario(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "shares.data")
    status, out, err = run(capsys, scenario, "-o", output, "--format", "json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert main(["solve", "shares", scenario, "--format", "json"]) == 0
    solved = json.loads(capsys.readouterr().out)
    used = {row["user"]: row["cpu"] for row in answer["tables"]["users"]["rows"]}
    for row in solved["tables"]["users"]["rows"]:
        assert used[row["name"]] == pytest.approx(row["allocation"], abs=3)
    with zlens.open(output) as session:
        assert [system.system for system in session.systems] == ["ZVM"]


def test_text_names_files(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = run(capsys, scenario, "-o", "shares.data", "--hours", "0.01", "--seed", "9")
    assert status == 0
    [line] = [line for line in out.splitlines() if line.startswith("shares.data")]
    assert line.split()[1:4] == ["ZVM", "9", "36"]
    # A name longer than a line is not broken.
    long = tmp_path / "a-folder-whose-name-is-long" / "and-one-in-it-whose-name-is-no-shorter-than-that"
    long.mkdir(parents=True)
    status, out, _ = run(capsys, scenario, "-o", str(long / "shares.data"), "--hours", "0.01")
    assert (status, str(long / "shares.data") in out) == (0, True)


def test_settings(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(tmp_path / "shares.data")
    words = ("--set", "user.B.virtual_cpus=1", "--format", "json")
    _, out, _ = run(capsys, scenario, "-o", output, *words)
    used = {row["user"]: row["cpu"] for row in json.loads(out)["tables"]["users"]["rows"]}
    assert used["B"] == pytest.approx(100, abs=1)


@pytest.mark.parametrize("start", ["2027-01-02T03:00:00Z", '"2027-01-02T03:00:00Z"', "1798858800"])
def test_start_time_formats(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], start: str
) -> None:
    output = str(tmp_path / "shares.data")
    assert run(capsys, scenario, "-o", output, "--set", f"simulation.start={start}")[0] == 0
    with zlens.open(output) as session:
        assert session.sql("SELECT epoch(min(interval_start)) FROM interval").rows == [(1_798_858_800,)]


def test_hours_with_partial_interval(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = str(tmp_path / "shares.data")
    # A fraction of an hour that neither floats nor the clock represent exactly.
    status, out, _ = run(capsys, scenario, "-o", output, "--hours", "0.0067")
    assert status == 0
    assert "interrupted" not in out
    with zlens.open(output) as session:
        flags = session.sql("SELECT flag FROM interval ORDER BY interval_end").rows
    assert flags == [(None,), (None,), ("short",)]


def test_several_runs(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, scenario, "-o", str(tmp_path / "s.data"), "--runs", "2", "--format", "json")
    assert status == 0
    files = json.loads(out)["tables"]["files"]["rows"]
    assert [(os.path.basename(one["file"]), one["seed"]) for one in files] == [
        ("s-001.data", 1),
        ("s-002.data", 2),
    ]


def test_interrupted_run(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import signal

    from zlens.simulation import run as simulation_run

    real = simulation_run.native_simulate

    def interrupted(*arguments: Any) -> str:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(simulation_run, "native_simulate", interrupted)
    output = str(tmp_path / "shares.data")
    status, out, _ = run(capsys, scenario, "-o", output)
    assert status == 130
    assert "interrupted: the files end with the last complete interval" in out
    with zlens.open(output) as session:
        assert len(session.sql("SELECT interval_end FROM load").rows) == 1


def test_simulate_explain_lists_constants(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, scenario, "--explain", "--format", "json", "--set", "cp.slice=2.5")
    assert status == 0
    rows = {row["name"]: row for row in json.loads(out)["tables"]["constants"]["rows"]}
    assert (rows["sim_slice"]["value"], rows["sim_slice"]["status"]) == (2.5, "given")
    assert set(rows["sim_lag"]) == {"name", "value", "unit", "status", "text", "source"}
    assert not (Path(scenario).parent / "shares.data").exists()


def test_simulate_example_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert tomllib.loads(run(capsys, "--example")[1])["model"] == "system"
    keys = run(capsys, "--keys")[1]
    assert "default 5.0, an assumption" in next(line for line in keys.splitlines() if " slice: " in line)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "no scenario; zlens simulate --example prints one"),
        (["/none/x.toml", "-o", "x"], "cannot be read"),
        (["{}"], "no file to write to"),
        (["{}", "-o", "-"], "no file to write to"),
        (["{}", "-o", "{}"], "the output would replace an input"),
        (["{}", "-o", "x", "--runs", "0"], "0 runs cannot be simulated; expected 1 to"),
        (["{}", "-o", "x", "--hours", "-1"], "simulation.seconds is -3600"),
        (["{}", "-o", "x", "--set", "model=paging"], "paging scenarios cannot be simulated"),
        (["{}", "-o", "x", "--set", "user.A.relative=0"], "user[1].relative is 0"),
    ],
)
def test_invalid_simulate_arguments(
    words: list[str], says: str, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *(scenario if word == "{}" else word for word in words))
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_numbered_output_keeps_scenario_file(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbered = tmp_path / "s-002.toml"
    Path(scenario).rename(numbered)
    status, _, err = run(capsys, str(numbered), "-o", str(tmp_path / "s.toml"), "--runs", "2")
    assert status == 2
    assert "would replace an input" in err
    assert numbered.read_text(encoding="utf-8") == SHARES


def test_scenario_without_model(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(scenario)
    path.write_text(SHARES.partition("\n")[2], encoding="utf-8")
    status, _, err = run(capsys, scenario, "-o", "x")
    assert status == 2
    assert "model is missing" in err
    assert 'add model = "shares"' in err
