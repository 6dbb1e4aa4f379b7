"""Tests of regression studies of simulated files: patterns that pair them, their throughput, errors."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.cli import main
from zlens.inputs.options import Options

MACHINE = """\
model = "system"
processors = { CP = 2 }
partition = [{ name = "ZVM", cores = 2, dedicated = true }]
user = [{ name = "WEB", relative = 100, demand = 0 }]
transaction = [{ name = "get", customers = 2, step = [{ cpu = 5.0, user = "WEB" }, { delay = 5.0 }] }]
simulation = { seconds = 20, interval = 10 }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with three runs of a machine and three of the same with longer transactions."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "machine.toml").write_text(MACHINE, encoding="utf-8")
    for name, cpu in (("before", 5.0), ("after", 6.0)):
        words = ["simulate", str(folder / "machine.toml"), "-o", str(folder / f"{name}.data"), "--runs", "3"]
        assert main([*words, "--set", f"transaction.get.step.1.cpu={cpu}"]) == 0
    return folder


def pair(base: str, comparison: str) -> str:
    return f"[[pair]]\nname = 'web'\nbase = {{ file = '{base}' }}\ncomparison = {{ file = '{comparison}' }}\n"


def run(
    folder: Path, text: str, capsys: pytest.CaptureFixture[str], status: int = 0
) -> tuple[dict[str, Any], str]:
    path = folder / "pairs.toml"
    path.write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert main(["study", "regression", str(path), "--format", "json"]) == status
    out, err = capsys.readouterr()
    return (json.loads(out) if out else {}), err


def rates(path: Path) -> tuple[float, float]:
    """Return ETR and busy of a file by its intervals, which are of the same length."""
    with zlens.open([str(path)], options=Options(throughput=f"{path}.throughput.csv")) as session:
        rows = session.sql("SELECT etr, busy_pct FROM load WHERE flag IS NULL AND etr IS NOT NULL").rows
    return statistics.fmean(row[0] for row in rows), statistics.fmean(row[1] for row in rows)


def test_pattern_pairs_simulated_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer, _ = run(folder, pair("before-*.data", "after-*.data"), capsys)
    rows = answer["tables"]["pairs"]["rows"]
    assert [row["pair"] for row in rows] == ["web 001", "web 002", "web 003"]
    for row in rows:
        number = row["pair"].split()[1]
        (etr, busy), (new_etr, new_busy) = (
            rates(folder / f"{name}-{number}.data") for name in ("before", "after")
        )
        assert row["etrr"] == pytest.approx(new_etr / etr)
        assert row["itrr"] == pytest.approx(new_etr / new_busy / (etr / busy))
        # A transaction takes 6 ms instead of 5 ms.
        assert row["itrr"] == pytest.approx(5 / 6, rel=0.05)
    (etr_row, itr_row) = answer["tables"]["summary"]["rows"]
    for key, summary in (("etrr", etr_row), ("itrr", itr_row)):
        assert summary["mean"] == pytest.approx(statistics.fmean(row[key] for row in rows))
        assert summary["deviation"] == pytest.approx(statistics.stdev(row[key] for row in rows))


def test_pattern_covers_folders_of_rig(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rig writes FOLDER/SCENARIO/RUN.data: two parts of the path are matched."""
    for rig, name in (("old", "before"), ("new", "after")):
        place = folder / rig / "web-load"
        place.mkdir(parents=True)
        for suffix in ("data", "data.throughput.csv"):
            (place / f"one_case-1.{suffix}").symlink_to(folder / f"{name}-001.{suffix}")
    answer, _ = run(folder, pair("old/*/*.data", "new/*/*.data"), capsys)
    single, _ = run(folder, pair("before-001.data", "after-001.data"), capsys)
    (row,) = answer["tables"]["pairs"]["rows"]
    (expected,) = single["tables"]["pairs"]["rows"]
    assert row == expected | {"pair": "web web-load one_case-1"}


@pytest.mark.parametrize(
    ("base", "comparison", "said"),
    [
        ("none-*.data", "after-*.data", "pair[1].base.file matches no file: 'none-*.data'"),
        ("before-*.data", "after-001.data", "pair[1]: before-001.data has no partner among 'after-001.data'"),
        ("before-*.data", "after-0*.data", "expected a file with '001' in place of *"),
    ],
)
def test_unpaired_files_are_rejected(
    base: str, comparison: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run(folder, pair(base, comparison), capsys, 2)
    assert said in re.sub(r"\s+", " ", err)
    assert "pairs.toml" in err
