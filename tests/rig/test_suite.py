"""Tests of suites: their scenarios, the study of their runs, errors."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest

from zlens.cli import main
from zlens.errors import ScenarioError
from zlens.rig import jobs, suite

#: A transaction of one step takes twice as long at the second level, so both ratios are a half.
SMALL = """\
title = "Twice the work"
text = "Processors that are always busy."
group = "kind"
source = { publication = "our own", status = "ours" }

[scenario]
model = "system"
processors = { CP = 1 }
partition = [{ name = "ZVM", cores = 1, dedicated = true }]
user = [{ name = "WEB", relative = 100, demand = 0 }]
transaction = [{ name = "get", customers = 4, step = [{ cpu = 5.0, user = "WEB", variation = 0.0 }] }]
simulation = { seconds = 20, interval = 10 }
cp = { dispatch_user = 0.0, dispatch_system = 0.0, lock_hold = 0.0 }

[[dimension]]
name = "processors"
value = [
    { name = "1 CP" },
    { name = "2 CPs", set = { "processors.CP" = 2, "partition.ZVM.cores" = 2, "user.WEB.virtual_cpus" = 2 } },
    { name = "3 CPs", set = { "processors.CP" = 3, "partition.ZVM.cores" = 3, "user.WEB.virtual_cpus" = 3 } },
]

[[dimension]]
name = "kind"
value = [
    { name = "few", set = { "transaction.get.customers" = 4 } },
    { name = "many", set = { "transaction.get.customers" = 8 } },
]

[base]
name = "before"

[comparison]
name = "after"
set = { "transaction.get.step.1.cpu" = 10.0 }
"""


def write(folder: Path, text: str = SMALL) -> str:
    path = folder / "small.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_shipped_suite_has_120_scenarios() -> None:
    """IBM, z/VM 6.4 Performance: about 120 scenarios, two levels, some non-SMT and some SMT-2."""
    found = suite.load(str(suite.SHIPPED))
    assert len(found.rig.cases) == 120
    assert len(set(found.groups.values())) == 3
    assert sum("SMT-2" in case.name for case in found.rig.cases) == 60
    assert len(jobs.rig_jobs(found.rig)) == 240


def test_suite_studies_its_runs_in_one_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["rig", "suite", write(tmp_path), "-o", str(tmp_path / "out"), "--jobs", "1", "--format", "json"]
    assert main(words) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    rows = tables["pairs"]["rows"]
    assert [row["pair"] for row in rows][:2] == ["1 CP, few", "1 CP, many"]
    assert len(rows) == 6
    for key in ("etrr", "itrr"):
        ratios = [row[key] for row in rows]
        assert ratios == pytest.approx([0.5] * 6, rel=0.01)
        [summary] = [row for row in tables["summary"]["rows"] if row["ratio"].startswith(key[:3].upper())]
        assert summary["mean"] == pytest.approx(statistics.fmean(ratios))
        assert summary["deviation"] == pytest.approx(statistics.stdev(ratios))
    assert {(row["group"], row["pairs"]) for row in tables["groups"]["rows"]} == {("few", 3), ("many", 3)}
    assert not any(row["outlier"] for row in rows)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (SMALL.replace('group = "kind"', 'group = "kinds"'), '"kinds"; expected one of processors, kind'),
        (SMALL.replace('"transaction.get.customers" = 8', '"processors.CP" = 2'), "two dimensions set proc"),
        (SMALL.replace('"transaction.get.step.1.cpu" = 10.0', '"processors.CP" = 4'),
         "policy 'after' sets processors.CP, which the case '2 CPs, few' sets"),
        (SMALL.replace('name = "many"', 'name = "few"'), "the same name"),
        (SMALL.replace("seconds = 20", "seconds = 5"), "seconds is 5, less than an interval of 10"),
    ],
)  # fmt: skip
def test_invalid_suite_is_rejected(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says):
        suite.load(write(tmp_path, text))


def test_failed_runs_leave_other_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = SMALL.replace('{ name = "1 CP" }', '{ name = "1 CP", set = { "machine.type" = "9999" } }')
    words = ["rig", "suite", write(tmp_path, bad), "-o", str(tmp_path / "out"), "--jobs", "1"]
    assert main(words) == 2
    printed = capsys.readouterr().out
    assert "2 CPs, few" in printed
    assert 'Without 1_cp_few-before-1: machine.type is "9999"' in " ".join(printed.split())
