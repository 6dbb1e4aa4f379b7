"""Tests of `zlens rig` on the command line."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from rig_samples import EQUAL, write
from zlens.cli import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["rig", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = write(tmp_path, EQUAL), str(tmp_path / "out")
    status, text, _ = said(capsys, "run", file, "-o", out, "--jobs", "1")
    assert status == 0
    assert text.startswith("1 of 1 scenarios as expected\n")
    assert "fails, as it must" in text
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "://" not in page.replace("http://www.w3.org", "")
    status, text, _ = said(capsys, "run", str(tmp_path), "-o", out, "--format", "json")
    [scenario] = json.loads(text)["scenarios"]
    judged, control = scenario["policies"]
    numbers = judged["observations"][0]["numbers"]
    found = [(one["subject"], one["expected"], one["passed"]) for one in numbers]
    assert found == [("A", 50, True), ("B", 50, True)]
    assert control["control"]
    assert control["passed"]
    assert [Path(run["files"][0]).name for run in judged["runs"]] == ["1.data", "2.data"]
    kept = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert kept["scenarios"] == [scenario]
    status, text, _ = said(capsys, "run", file, "-o", out, "--format", "csv", "--numbers")
    rows = list(csv.DictReader(io.StringIO(text)))
    numbers = [row for row in rows if row["table"] == "numbers"]
    assert [(row["subject"], float(row["expected"])) for row in numbers[:2]] == [("A", 50), ("B", 50)]


def test_failing_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = EQUAL.replace('{ name = "B", relative = 100 }', '{ name = "B", relative = 100, demand = 10 }')
    published = wrong.replace('"solver:users.allocation"', '"published"')
    file = write(tmp_path, published + '[[case]]\nname = "x"\nexpected.CPU = { A = 50, B = 50 }\n')
    status, text, _ = said(capsys, "run", file, "-o", str(tmp_path / "out"), "--seeds", "1")
    assert status == 1
    assert "for 50, off by" in text


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, EQUAL.replace('"A", relative', '"A", relativ'))
    assert said(capsys, "run", file, "-o", str(tmp_path / "out"), "--seeds", "1")[0] == 2
    assert "which scenario?" in said(capsys, "show")[2]
    assert "no scenario to run" in said(capsys, "run")[2]
    assert "--seeds is 0" in said(capsys, "run", file, "--seeds", "0")[2]
    (tmp_path / "empty").mkdir()
    assert "has no scenario" in said(capsys, "run", str(tmp_path / "empty"))[2]
    other = tmp_path / "other"
    other.mkdir()
    assert "two scenarios are named equal" in said(capsys, "run", file, write(other))[2]


def test_list_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = said(capsys, "list")
    assert status == 0
    assert "unequal-shares" in text
    status, text, _ = said(capsys, "show", "unequal-shares")
    assert "expected LINUX1 25, LINUX2 50, LINUX3 25, LINUX4 100" in text
    assert "Source: IBM, z/VM 6.4 Performance, 2018" in text


def test_charts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bar chart per case includes the control; a line chart per subject does not."""
    vary = '[vary]\nkey = "processors.CP"\nvalues = [1, 2, 3]\n'
    for kind, titles in (
        ("bars", ["CPU, processors.CP = 1", "CPU, processors.CP = 2", "CPU, processors.CP = 3"]),
        ("lines", ["CPU of A", "CPU of B"]),
    ):
        text = (EQUAL + vary).replace("seeds = 2", f'seeds = 1\nchart = "{kind}"')
        status, page, _ = said(
            capsys, "run", write(tmp_path, text), "-o", str(tmp_path / "out"), "--format", "html"
        )
        assert status == 0
        assert re.findall(r"<figcaption>(.*?)</figcaption>", page) == titles
        assert page.count(">control: wrong share</text>") == (3 if kind == "bars" else 0)
