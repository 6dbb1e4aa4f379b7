"""Tests of report totals: sum(value * seconds) / window, computed from the rows of each report."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import quick_subset
from zlens import reports
from zlens.api import Session
from zlens.catalog.reports.definition import ReportTable, RowKind
from zlens.inputs.options import Options, parse_time_spec

TOTALED = [
    name
    for name in reports.names()
    if any(
        rows.kind == "total" and not rows.rule
        for table in reports.load_report(name).tables
        for rows in table.rows
    )
]
USUAL = ("prclog", "upage", "cpowned")


def summed(table: ReportTable, rows: RowKind) -> Iterator[tuple[str, str]]:
    """Yield key and column of the columns that are added."""
    for column in table.columns:
        if column.total == "sum" and column.key not in rows.cells:
            yield column.key, column.column


def by_hand(
    session: Session, table: ReportTable, rows: RowKind, block: str
) -> dict[tuple[Any, ...], dict[str, float | None]]:
    """Return the sums over the window for each block and value of `by`."""
    answer = session.sql(rows.query or table.query)
    found = [dict(zip(answer.columns, values, strict=True)) for values in answer.rows]
    time = table.time or "interval_end"
    groups: dict[tuple[Any, ...], dict[Any, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    lengths: dict[Any, dict[Any, float]] = defaultdict(dict)
    for row in found:
        if row["flag"] is None:
            length = row.get("whole", row["seconds"]) or 0.0
            own = lengths[row[block]]
            own[row[time]] = max(own.get(row[time], 0.0), length)
            groups[row[block], *(row[name] for name in rows.by)][row[time]].append(row)
    sums: dict[tuple[Any, ...], dict[str, float | None]] = {}
    for group, times in groups.items():
        for key, column in summed(table, rows):
            if column not in answer.columns:
                continue
            amount, window = 0.0, sum(lengths[group[0]].values())
            for end, present in times.items():
                values = [(row[column], row["seconds"]) for row in present if row["known"]]
                if not values or any(value is None for value, _ in values):
                    window -= lengths[group[0]][end]
                else:
                    amount += sum(value * seconds for value, seconds in values)
            sums.setdefault(group, {})[key] = amount / window if window > 1e-6 else None
    return sums


def shown(session: Session, name: str) -> list[dict[str, Any]]:
    return json.loads("".join(reports.chunks(name, session._core, "json")))


def check(session: Session, name: str) -> int:
    """Compare the totals of a report with computed sums; returns the number of values."""
    definition, compared, all_rows = reports.load_report(name), 0, shown(session, name)
    for table in definition.tables:
        own = [row for row in all_rows if row.get("table", table.key) == table.key]
        totals = [row for row in own if row["row"] == "total" and row.get("interval_end") is None]
        for rows in table.rows:
            if rows.kind != "total" or rows.of == "interval" or rows.rule:
                continue
            if rows.of == "row" and not rows.query:
                for key, _ in summed(table, rows):
                    values = [row[key] for row in own if row["row"] == "row"]
                    assert sum(row[key] for row in totals) == pytest.approx(sum(values)), (name, key)
                    compared += len(totals)
                continue
            sums = by_hand(session, table, rows, definition.block)
            for row in totals:
                group = (row[definition.block], *(row[by] for by in rows.by))
                for key, value in sums.get(group, {}).items():
                    assert row[key] == pytest.approx(value), (name, group, key)
                    compared += 1
    return compared


@pytest.mark.parametrize("name", quick_subset(3, sorted(TOTALED, key=lambda name: name not in USUAL)))
def test_totals_are_sums_over_window(name: str, demo_files: list[Path]) -> None:
    for path in demo_files:
        if path.suffix != ".xml":
            with zlens.open(path) as session:
                check(session, name)


def test_processor_is_weighted_by_online_time(demo_files: list[Path]) -> None:
    """CPU 3 is online in three of ten minutes."""
    options = Options(start=parse_time_spec("09:05"), end=parse_time_spec("09:15"))
    with zlens.open(demo_files[0], options=options) as session:
        assert check(session, "prclog") > 5
        (total,) = [row for row in shown(session, "prclog") if row["row"] == "total"]
    assert total["busy_pct"] == pytest.approx(301.1, abs=0.05)


def test_pages_of_guests_are_those_of_volumes(sim_file: Path) -> None:
    """In the minute of a logoff the pages of the guest are unknown, and so is the sum."""
    with zlens.open(sim_file) as session:
        assert check(session, "upage") > 5
        upage, auxlog = (shown(session, name) for name in ("upage", "auxlog"))
    minutes = [row for row in auxlog if row["row"] == "interval" and "T08:15" not in row["interval_end"]]
    assert len(minutes) == 59
    (total,) = [row for row in upage if row["row"] == "total"]
    known = sum(row["page_read_rate"] for row in minutes) / 59
    assert total["page_read_rate"] == pytest.approx(known, rel=1e-3)
