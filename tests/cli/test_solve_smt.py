"""Tests of `zlens solve smt` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zlens.cli import main
from zlens.models.scenario import example


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "smt.toml"
    path.write_text(example("smt"), encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["solve", "smt", *words]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def test_solve_smt_text(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, scenario).splitlines()
    core = next(line for line in lines if line.startswith("0 "))
    assert core.split() == ["0", "IFL", "80.00", "1.25", "73.2", "113.9", "155.6", "58.57", "100.0", "41.43"]
    assert any(line.startswith("throughput of a core (capacity statement)") for line in lines)
    assert any("smt_bound_reached" in line and "(ours)" in line for line in lines)
    assert any(line.startswith("Note: SMT-2, 4 cores: path factors apply to") for line in lines)


def test_smt_without_calibration_has_only_bounds(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer has bounds, a range, and the reason why a prediction is missing."""
    text = Path(scenario).read_text(encoding="utf-8").replace('calibrated_by = "SMT-2" ', "")
    Path(scenario).write_text(text, encoding="utf-8")
    out = run(capsys, scenario)
    assert "throughput predicted" not in out
    assert "Capacity factors do not predict throughput" in out


def test_solve_smt_set_and_sweep(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    key = "run.SMT-2, 4 cores.cores"
    tables = json.loads(run(capsys, scenario, "--set", f"{key}=1", "--format", "json"))["tables"]
    four = next(row for row in tables["runs"]["rows"] if row["name"] == "SMT-2, 4 cores")
    assert four["held_by"] == "processors"
    tables = json.loads(run(capsys, scenario, "--sweep", f"{key}=1:6", "--format", "json"))["tables"]
    predicted = [row["predicted_SMT-2, 4 cores"] for row in tables["sweep"]["rows"]]
    assert predicted == sorted(predicted)
    assert predicted[0] == pytest.approx(four["predicted"])
