"""Tests of `zlens plan` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import command_line
from samples import needs, sample
from zlens.cli import main

Z15 = sample("rmf/rmf-postprocessor-cpu-8562-z15.xml")


@pytest.fixture(scope="module")
def monwrite(sim_file: Path) -> str:
    return str(sim_file)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return command_line.run(capsys, "plan", *words)


def rows_of(text: str, table: str) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(text)["tables"][table]["rows"]}


def test_plan_list_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--list")
    assert (status, err) == (0, "")
    assert out == run(capsys, "--keys")[1]
    wanted = ("logical_cores=+1", "physical_cores=+1", "weight=300", "user.NAME.relative=200", "split=2")
    for example in (*wanted, "vertical_lows=removed", "smt=on", "partition.NAME.capped=true"):
        assert f"--set {example}" in out


def test_plan_without_set_lists_settings(monwrite: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, monwrite)
    assert status == 0
    assert "What-ifs for ZLSIM, interval that ended" in out
    line = next(line for line in out.splitlines() if line.startswith("partition.ZLSIM.weight"))
    assert line.split()[-1] == "375"
    assert "--set user.LINUX01.relative=200" in out
    assert "Partitions: ZLSIM, ZLSIM2, ZLTOOL; the partition of ZLSIM is ZLSIM" in out


def test_plan_text(monwrite: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights 375, 400, 225 on twelve cores are 4.5, 4.8, 2.7; with 500 of 1,125: 5.33, 4.27, 2.40."""
    status, out, err = run(capsys, monwrite, "--set", "weight=500")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    at = lines.index("Entitled: by weights")
    assert lines[at + 1].split() == [
        *("Partition", "Type", "Weight", "before", "Weight", "after", "Before", "After"),
        "Difference",
    ]
    assert lines[at + 2].split() == ["(cores)"] * 3
    assert lines[at + 4].split() == ["ZLSIM", "IFL", "375", "500", "4.50", "5.33", "0.83"]
    assert lines[at + 5].split()[-3:] == ["4.80", "4.27", "-0.53"]
    assert any("Processors for guests" in line for line in lines)
    kinds = lines[lines.index("Which numbers are measured, solved or assumed") :]
    assert any(line.split()[:2] == ["Entitled", "solved"] for line in kinds)
    assert any("its use plus its wait" in line for line in lines)


def test_one_more_core_in_json(monwrite: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Six logical cores limit ZLSIM while two cores of the machine are idle; each core has two threads."""
    text = run(capsys, monwrite, "--set", "logical_cores=+1", "--format", "json")[1]
    could = rows_of(text, "could")["ZLSIM"]
    assert (could["before"], could["after"]) == pytest.approx((6, 7))
    processors = json.loads(text)["tables"]["processors"]["rows"][0]
    assert processors["difference"] == pytest.approx(2)
    assert sum(row["difference"] for row in rows_of(text, "guests").values()) > 70


def test_plan_html_of_interval(monwrite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "plan.html"
    words = ("--set", "split=2", "--at", "2024-05-14 07:44:30Z", "--system", "ZLSIM", "--format", "html")
    assert run(capsys, monwrite, *words, "-o", str(out))[:2] == (0, "")
    page = out.read_text(encoding="utf-8")
    assert "interval that ended 2024-05-14 09:45:00 (UTC+02:00)" in page
    assert "ZLSIM-2" in page
    assert "use_of_parts" in page


def test_smt_setting_excludes_other_settings(monwrite: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, monwrite, "--set", "smt=off", "--set", "path=1.6")
    assert (status, "Published by IBM" in out) == (0, True)
    assert "predicted" in out
    for words in (("smt=off", "weight=5"), ("weight=5", "smt=off"), ("smt=off", "smt=on")):
        status, _, err = run(capsys, monwrite, "--set", words[0], "--set", words[1])
        assert (status, "cannot be combined with" in err and "separate plan" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no input; zlens plan --list"),
        (("--list", "--set", "weight=5"), "--list and --set exclude each other"),
        (("FILE", "--set", "wieght=5"), "did you mean weight?"),
        (("FILE", "--set", "smt=maybe"), 'smt is "maybe"; expected one of "on", "off"'),
    ],
)
def test_plan_command_errors(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Changes that are invalid for every input are rejected before an input is read."""
    status, out, err = run(capsys, *words)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@needs(Z15)
def test_partitions_of_real_z15(capsys: pytest.CaptureFixture[str]) -> None:
    """Weights 25, 10, 25, 52 on two CPs; VIRPT, which wrote the report, has 52 of 112: 0.93 cores."""
    text = run(capsys, str(Z15), "--set", "physical_cores=+1", "--format", "json")[1]
    row = rows_of(text, "entitled")["VIRPT"]
    assert (row["before"], row["after"]) == pytest.approx((2 * 52 / 112, 3 * 52 / 112))
    status, _, err = run(capsys, str(Z15), "--set", "user.LINUX1.relative=5")
    assert (status, "no data for table guest; expected samples of guests (D4R3)" in err) == (2, True)


def test_help_has_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["plan", "--help"])
    assert "zlens plan monwrite.data --set logical_cores=+1" in capsys.readouterr().out
