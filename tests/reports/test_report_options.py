"""Tests of --sort and --top, and of the order that reports have without them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import zlens
from zlens.cli import main
from zlens.errors import QueryError
from zlens.inputs.options import Options


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.split("\n\n")[0])))


def cells(rows: list[dict[str, str]], kind: str, column: str) -> list[str]:
    return [row[column] for row in rows if row["row"] == kind]


def descending(values: list[str]) -> list[str]:
    """Return numbers from the highest, and unknown ones last."""
    return sorted(values, key=lambda value: (value == "", -float(value or 0)))


@pytest.mark.parametrize(("report", "column"), [("device", "rate"), ("user", "cpu_pct")])
def test_classic_reports_are_sorted_by_load(report: str, column: str, sim_session: zlens.Session) -> None:
    """FCX108 is sorted by I/O rate, FCX112 by CPU."""
    values = cells(read(sim_session.report(report, "csv")), "row", column)
    assert len(values) > 5
    assert values == descending(values)
    assert values != sorted(values)


@pytest.mark.parametrize(
    ("report", "column", "kind"),
    [
        ("prclog", "page_read_rate", "mean"),
        ("ustat", "cpu_wait_pct", "row"),
    ],
)
def test_sort_and_top_of_any_report(report: str, column: str, kind: str, sim_session: zlens.Session) -> None:
    unsorted = read(sim_session.report(report, "csv"))
    values = cells(unsorted, kind, column)
    rows = read(sim_session.report(report, "csv", sort=column))
    assert cells(rows, kind, column) == descending(values) != values
    top = read(sim_session.report(report, "csv", sort=column, top=2))
    assert cells(top, kind, column) == descending(values)[:2]
    totals = [row for row in unsorted if row["row"] in ("total", "system")]
    assert [row for row in top if row["row"] in ("total", "system")] == totals


def test_top_of_every_interval(sim_file: Path) -> None:
    """The two busiest guests of each half-hour, as the measure has them."""
    with zlens.open(sim_file, options=Options(every_s=1800)) as session:
        rows = read(session.report("user", "csv", top=2))
        busiest = session.sql(
            "SELECT userid FROM guest "
            "QUALIFY row_number() OVER (PARTITION BY interval_end ORDER BY cpu_pct DESC) <= 2 "
            "ORDER BY interval_end, cpu_pct DESC"
        ).rows
    assert cells(rows, "interval", "userid") == [userid for (userid,) in busiest]


def test_sort_by_heading_and_text(sim_session: zlens.Session) -> None:
    by_heading = sim_session.report("device", "csv", sort="Label/ID")
    assert by_heading == sim_session.report("device", "csv", sort="volume")
    labels = [label for label in cells(read(by_heading), "row", "volume") if label]
    assert labels == sorted(labels)


def test_sort_by_unknown_column(sim_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "cpu", str(sim_file), "--sort", "speed"]) == 2
    error = capsys.readouterr().err
    assert "cpu has no column 'speed'; expected one of cpu_id, cpu_type, busy_pct" in error
    with zlens.open(sim_file) as session, pytest.raises(QueryError, match="top 0 rows; expected 1 or more"):
        session.report("cpu", top=0)
