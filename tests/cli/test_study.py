"""Tests of `zlens study` on the command line."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import command_line
import monwrite_builder as monwrite
from zlens import studies
from zlens.cli import main

RUNS = """\
title = "Two sizes"
machine = "z14-m05"

[[run]]
name = "small"
processors = 16
etr = 3295.34
guest_busy = 658.6387
chargeable_busy = 296.5102
nonchargeable_busy = 92.7207

[[run]]
name = "large"
processors = 32
etr = 2589.74
guest_busy = 544.3393
chargeable_busy = 322.3837
nonchargeable_busy = 78.4516
"""


@pytest.fixture
def runs(tmp_path: Path) -> str:
    path = tmp_path / "runs.toml"
    path.write_text(RUNS, encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    return command_line.run(capsys, "study", *words)


def test_study_text(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "scaling", runs)
    assert (status, err) == (0, "")
    assert out.startswith("Two sizes\n")
    lines = [line.split() for line in out.splitlines() if line.startswith("large ")]
    assert lines[0][:4] == ["large", "32", "29.5", "2,589.74"]
    assert "something other than processors holds the workload back" in out


def test_as_published(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    def itr(*words: str) -> float:
        answer = json.loads(run(capsys, "scaling", runs, "--format", "json", *words)[1])
        return float(answer["tables"]["scaling"]["rows"][0]["itr"])

    assert itr("--as-published") == pytest.approx(5031.1, abs=0.06)
    assert itr() == pytest.approx(5031.68, abs=0.01)


def test_study_json_equals_csv(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    tables = json.loads(run(capsys, "scaling", runs, "--format", "json")[1])["tables"]
    lines = list(csv.DictReader(io.StringIO(run(capsys, "scaling", runs, "--format", "csv")[1])))
    assert {line["table"] for line in lines} >= set(tables)
    costs = [row["cpu_tx"] for row in tables["cpu"]["rows"]]
    assert costs == pytest.approx([3.1799, 3.6497], abs=0.0001)
    assert [float(row["cpu_tx"]) for row in lines if row["table"] == "cpu"] == pytest.approx(costs)


def test_html_fetches_nothing(runs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert run(capsys, "scaling", runs, "--format", "html", "-o", str(page)) == (0, "", "")
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 3
    assert "Ratios to the smallest run" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_set_changes_run(runs: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = run(capsys, "scaling", runs, "--set", "run.large.etr=9999", "--format", "json")[1]
    rows = json.loads(text)["tables"]["scaling"]["rows"]
    assert next(row["etr"] for row in rows if row["run"] == "large") == 9999


@pytest.mark.parametrize("name", studies.STUDIES)
def test_examples_and_keys(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, example, _ = run(capsys, name, "--example")
    assert status == 0
    path = tmp_path / "example.toml"
    path.write_text(example, encoding="utf-8")
    assert run(capsys, name, str(path))[0] == 0
    described = {"trend": "shift: hours by name"}.get(name, "also: other numbers")
    assert described in run(capsys, name, "--keys")[1]
    assert name in run(capsys, "--list")[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "which study?"),
        (["growth"], "no study is called growth"),
        (["scaling"], "no runs"),
        (["scaling", "nothing.toml"], "nothing.toml: cannot be read"),
        (["scaling", __file__], "that zlens study scaling --example prints"),
        (["scaling", "RUNS", "--set", "run.small.buzy=1"], "run[1].buzy is not known here"),
        (["scaling", "RUNS", "--set", 'run.small.file="x"'], "x: no such file"),
    ],
)
def test_invalid_study_arguments(
    words: list[str], said: str, runs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *(runs if word == "RUNS" else word for word in words))
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


# Measured runs --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes of a synthetic system, with throughput for six of them."""
    place = tmp_path_factory.mktemp("study")
    monwrite.write(place / "a.data", [monwrite.configuration(monwrite.START_US), *monwrite.minutes(10)])
    rows = [f"2026-03-02 09:0{minute}:00,{60 * (100 + minute)},{10 * minute}" for minute in range(7)]
    (place / "load.csv").write_text("\n".join(["Time,Requests/min,Latency (ms)", *rows]), encoding="utf-8")
    return place


def measured(
    folder: Path, capsys: pytest.CaptureFixture[str], *lines: str
) -> tuple[int, dict[str, Any], str]:
    path = folder / "measured.toml"
    path.write_text("\n".join(["[[run]]", 'name = "ours"', 'file = "a.data"', *lines]), encoding="utf-8")
    status, out, err = run(capsys, "scaling", str(path), "--format", "json")
    return status, json.loads(out) if out else {}, err


def of(answer: dict[str, Any], table: str) -> dict[str, Any]:
    return answer["tables"][table]["rows"][0]


def test_measured_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File names are relative to the TOML file's folder; the numbers equal the measures."""
    status, rows, err = measured(folder, capsys, 'throughput = "load.csv"')
    assert (status, err) == (0, "")
    assert main(
        ["sql", str(folder / "a.data"), "--throughput", str(folder / "load.csv"), "--format", "json", "-q",
         "select avg(etr) etr, avg(busy_pct) busy, avg(online) online, avg(guest_pct * online) guest, "
         "count(*) n from load where etr is not null"]
    ) == 0  # fmt: skip
    (want,) = json.loads(capsys.readouterr().out)
    found = of(rows, "scaling") | of(rows, "cpu")
    assert found["etr"] == pytest.approx(want["etr"])
    assert found["busy_pct"] == pytest.approx(want["busy"])
    assert found["processors"] == pytest.approx(want["online"])
    assert found["guest_pct"] == pytest.approx(want["guest"])
    assert found["itr"] == pytest.approx(100 * want["etr"] / want["busy"])
    assert of(rows, "measured")["intervals"] == want["n"]
    assert any("covers" in note for note in rows["notes"])


def test_measured_run_of_window(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, rows, _ = measured(folder, capsys, 'throughput = "load.csv"', 'from = "09:02"', 'to = "09:04"')
    found = of(rows, "measured")
    assert (found["first"], found["last"]) == ("2026-03-02 09:02:00", "2026-03-02 09:04:00")
    assert (found["intervals"], found["seconds"]) == (2, 120)
    # The mean of its two minutes, weighted by transactions.
    assert of(rows, "beside")["response_ms"] == pytest.approx((103 * 30 + 104 * 40) / 207)


def test_explicit_run_numbers_override_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, rows, _ = measured(folder, capsys, "etr = 50.0", "busy = 25.0")
    assert of(rows, "scaling")["itr"] == pytest.approx(200.0)
    # Components of the measured busy do not apply to an explicit busy.
    assert "guest_pct" not in of(rows, "cpu")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['throughput = "load.csv"', 'system = "OTHER"'], "there is no system OTHER in the input"),
        (['throughput = "load.csv"', 'from = "20:00"'], "no interval lies in the selected times"),
        (['throughput = "no.csv"'], "no.csv"),
        ([], "has no throughput"),
        (["etr = 1.0", 'from = "soon"'], "'soon' is not a time"),
    ],
)
def test_invalid_measured_run(
    lines: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, rows, err = measured(folder, capsys, *lines)
    assert (status, rows) == (2, {})
    assert said in err
    assert "run[1]" in err
    assert err.count("\n") == 1
