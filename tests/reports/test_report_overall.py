"""Tests that rows over all members and over the window do not depend on --group and --every."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import zlens
from iterations import quick_subset
from zlens.inputs.options import Options
from zlens.reports import load_report

GROUPS = """
[guest]
"LINUX*" = "linux"

[device]
"PAGE*" = "PAGES"

[volume]
"PAGE*" = "PAGES"
"""
NUMBER = re.compile(r"-?\d+\.\d+(e-?\d+)?")
#: The kind of the rows over all members, by report.
OVERALL = {
    "device": "all dasd",
    "dispwait": "total",
    "upage": "total",
    "ustat": "system",
    "cpowned": "total",
}
#: Reports with rows over the window, including those of groups of intervals.
WHOLE = ("device", "dispwait", "ustat", "prclog", "procsum", "smtmet", "cpu", "lparlog", "throughput")


def rows(report: str, path: Path, **options: object) -> list[list[str]]:
    with zlens.open(path, options=Options(**options)) as session:  # type: ignore[arg-type]
        text = session.report(report, "csv")
    return [row for row in csv.reader(io.StringIO(text)) if row]


def over_window(report: str, rows: list[list[str]]) -> list[list[str]]:
    """Return the rows over the window without times, and without counts and times in means, per interval."""
    left_out = {"interval_end", "flag"} | {
        column.key
        for table in load_report(report).tables
        for column in table.columns
        if column.is_amount and table.time
    }
    shown = []
    for row in rows:
        if "row" in row[:2] and {"system", "interval_end"} & {*row}:
            head = row
        if not {"interval", "peak"} & {*row[:2]}:
            shown.append([cell for name, cell in zip(head, row, strict=True) if name not in left_out])
    return shown


def near(rows: list[list[str]]) -> list[list[object]]:
    """Return rows with approximate numbers: the last digit of float sums depends on the order of rows."""
    return [[pytest.approx(float(cell)) if NUMBER.fullmatch(cell) else cell for cell in row] for row in rows]


def numbers(rows: list[list[str]]) -> list[list[object]]:
    return [[float(cell) if NUMBER.fullmatch(cell) else cell for cell in row] for row in rows]


@pytest.mark.parametrize("shown", ["sum", "mean"])
@pytest.mark.parametrize("report", quick_subset(2, OVERALL))
def test_overall_rows_are_over_members(report: str, shown: str, sim_file: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups.toml"
    groups.write_text(f'show = "{shown}"\n{GROUPS}', encoding="utf-8")
    plain = rows(report, sim_file)
    grouped = rows(report, sim_file, group=str(groups))
    overall = [row for row in plain if row[0] == OVERALL[report]]
    assert overall
    assert numbers([row for row in grouped if row[0] == OVERALL[report]]) == near(overall)
    assert len(grouped) < len(plain), "there are groups in it"


def test_group_has_virtual_processors_of_its_members(sim_file: Path, tmp_path: Path) -> None:
    groups = tmp_path / "groups.toml"
    groups.write_text(GROUPS, encoding="utf-8")
    head, *members = rows("dispwait", sim_file)
    at = head.index("vcpus")
    of_linux = sum(int(row[at]) for row in members if row[2].startswith("LINUX"))
    (linux,) = [row for row in rows("dispwait", sim_file, group=str(groups)) if row[2] == "linux"]
    assert int(linux[at]) == of_linux > 0


@pytest.mark.parametrize("report", quick_subset(4, WHOLE))
def test_rows_over_window_do_not_depend_on_every(report: str, sim_file: Path, tmp_path: Path) -> None:
    rates = tmp_path / "thr.csv"
    rates.write_text(
        "start,end,rate\n"
        + "".join(
            f"2024-05-14 {9 + (30 + 15 * n) // 60:02}:{(30 + 15 * n) % 60:02},"
            f"2024-05-14 {9 + (45 + 15 * n) // 60:02}:{(45 + 15 * n) % 60:02},{rate}\n"
            for n, rate in enumerate((1200, 2900, 2500, 3900))
        ),
        encoding="utf-8",
    )
    options: dict[str, object] = {"throughput": str(rates)} if report == "throughput" else {}
    plain = rows(report, sim_file, **options)
    whole = over_window(report, plain)
    assert len(whole) > 1
    summed = rows(report, sim_file, every_s=900, **options)
    assert numbers(over_window(report, summed)) == near(whole)


def test_means_of_ratios_are_over_sums(sim_file: Path, tmp_path: Path) -> None:
    """Four rates of 15 minutes: ITR is their mean divided by busy of all processors and seconds."""
    rates = tmp_path / "thr.csv"
    spans = [("09:30", "09:45"), ("09:45", "10:00"), ("10:00", "10:15"), ("10:15", "10:30")]
    rates.write_text(
        "start,end,rate\n"
        + "".join(
            f"2024-05-14 {start},2024-05-14 {end},{rate}\n"
            for (start, end), rate in zip(spans, (1200, 2900, 2500, 3900), strict=True)
        ),
        encoding="utf-8",
    )
    head, *found = rows("throughput", sim_file, throughput=str(rates))
    (mean,) = [dict(zip(head, row, strict=False)) for row in found if row[1] == "mean"]
    with zlens.open([sim_file]) as session:
        ((busy, busy_s),) = session.sql(
            "SELECT sum(busy_pct * online * seconds) / sum(online * seconds), "
            "sum(busy_pct * online * seconds) / 100 FROM load"
        ).rows
    assert float(mean["itr"]) == pytest.approx(2625 / (busy / 100), abs=0.1)
    assert float(mean["cpu_ms"]) == pytest.approx(1000 * busy_s / (2625 * 3600), abs=0.001)
