"""Tests of every report of the demo's files: its systems and their numbers of rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

import expected
import zlens
from zlens import demo, reports
from zlens.inputs.options import Options, parse_zone

EXPECTED = Path(__file__).parent / "reports-of-the-demo.txt"


@pytest.mark.long
def test_demo_reports_cover_systems_with_data(demo_files: list[Path]) -> None:
    """`machine` represents rows without a system, `nothing` a report without rows."""
    lines = []
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
        for name in reports.names():
            rows = json.loads(reports.render(name, session._core, "json"))
            count = Counter(row.get("system") or "machine" for row in rows)
            counts = ", ".join(f"{system} {count[system]}" for system in sorted(count))
            lines.append(f"{name}: {counts or 'nothing'}\n")
    expected.check(EXPECTED, "".join(lines))


def test_mean_itr_is_mean_etr_over_mean_busy(demo_files: list[Path], tmp_path: Path) -> None:
    """IBM, z/VM support for eighty logical processors: ITR is ETR over mean busy.

    One of the demo's is varied off in the hour, so that means over time and over processors differ.
    """
    path = tmp_path / "achieved.csv"
    path.write_text(
        "system,start,end,tps\n"
        "ZLDEMO,2010-03-09T07:30Z,2010-03-09T08:00Z,120\nZLDEMO,2010-03-09T08:00Z,2010-03-09T08:30Z,190\n"
    )
    options = Options(tz=parse_zone(demo.ZONE), throughput=str(path))
    with zlens.open(demo_files[:1], options=options) as session:
        mean = json.loads(reports.render("throughput", session._core, "json"))[0]
    assert (mean["row"], mean["etr"]) == ("mean", pytest.approx(155))
    assert mean["itr"] == pytest.approx(100 * mean["etr"] / mean["busy_pct"])


def test_mean_index_is_that_of_all_transactions(demo_files: list[Path]) -> None:
    """Both ways add the buckets of all intervals: the mean row, and one interval that covers all."""
    options = Options(tz=parse_zone(demo.ZONE))
    with zlens.open(demo_files, options=options) as session:
        rows = json.loads(reports.render("workload", session._core, "json"))
    means = {
        (row["class"], row["kind"]): row["performance_index"]
        for row in rows
        if row["table"] == "goals" and row["row"] == "mean"
    }
    with zlens.open(demo_files, options=replace(options, every_s=7200)) as session:
        whole = session.sql("SELECT class, upper(class_kind[1]), performance_index FROM workload").rows
    assert means["CICSHI", "S"] == 0.8
    assert means == {(name, kind): index and pytest.approx(index) for name, kind, index in whole}


def test_service_classes_capture_most_dispatched_time(demo_files: list[Path]) -> None:
    """`demo.zos` charges classes 94.5% of the dispatched time, less 4% where all processors are busy."""
    with zlens.open(demo_files, options=Options(tz=parse_zone(demo.ZONE))) as session:
        rows = json.loads(reports.render("workload", session._core, "json"))
    captured = [row for row in rows if row["table"] == "captured"]
    mean, *intervals = sorted(captured, key=lambda row: row["row"] == "interval")
    assert [row["cpu_type"] for row in captured] == ["CP"] * 5
    for row in intervals:
        part = 0.945 - 0.04 * row["dispatch_s"] / (3 * 900)
        assert row["service_s"] == pytest.approx(row["dispatch_s"] * part, rel=3e-4)
        assert row["capture_pct"] == pytest.approx(100 * part, rel=3e-4)
        assert row["service_s"] + row["uncaptured_s"] == pytest.approx(row["dispatch_s"])
    whole = sum(row["service_s"] for row in intervals) / sum(row["dispatch_s"] for row in intervals)
    assert mean["capture_pct"] == pytest.approx(100 * whole)
