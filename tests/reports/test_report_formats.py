"""Tests of CSV, JSON and HTML: exact values, times with Z, no NaN or infinity, escaped texts."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import machine_records
import pytest
import user_records
from fake_session import FakeSession

import zlens
from iterations import quick_subset
from zlens import reports
from zlens.api import Session
from zlens.catalog.reports import definition
from zlens.errors import QueryError
from zlens.reports import report_list

NOW = datetime(2026, 11, 21, 8, 0, 0)
END = datetime(2026, 11, 20, 23, 59, 30, 250000, tzinfo=UTC)
NAME = "<script>alert('x')</script>&"


def session() -> FakeSession:
    head = {"system": "A", "source": "zvm-monitor", "interval_end": END, "seconds": 60.0, "cpu_type": "IFL"}
    return FakeSession(
        {
            "system": [{"system": "A", "source": "zvm-monitor", "utc_offset_s": 3600}],
            "cpu": [
                {**head, "cpu_id": 0, "busy_pct": 2 / 3, "inst_sim_rate": 152399.125, "parked_pct": 0.0},
                {**head, "cpu_id": 10, "busy_pct": math.nan, "inst_sim_rate": math.inf, "cpu_type": NAME},
                {**head, "cpu_id": 9, "busy_pct": -0.25, "flag": "gap"},
            ],
            "inventory": [
                {
                    "system": "A",
                    "domain": 0,
                    "record": 2,
                    "name": "D0R2",
                    "class": "sample",
                    "count": 2**53 + 1,
                }
            ],
        }
    )


@pytest.fixture(scope="module")
def shared() -> FakeSession:
    return session()


def test_csv_has_keys_and_exact_values() -> None:
    rows = list(csv.DictReader(io.StringIO(reports.render("prclog", session(), "csv", now=NOW))))
    interval = [row for row in rows if row["row"] == "interval"]
    assert [row["cpu_id"] for row in interval] == ["0", "9", "10"]
    assert float(interval[0]["busy_pct"]) == 2 / 3
    assert interval[0]["inst_sim_rate"] == "152399.125"
    assert interval[0]["interval_end"] == "2026-11-20T23:59:30.250000Z"
    assert interval[0]["system"] == "A"
    assert interval[0]["sigp_rate"] == ""
    assert interval[1]["flag"] == "gap"
    assert interval[2]["busy_pct"] == interval[2]["inst_sim_rate"] == ""
    assert interval[2]["cpu_type"] == NAME
    assert {row["row"] for row in rows} == {"mean", "total", "peak", "interval"}


def test_json_is_one_array_of_objects() -> None:
    text = reports.render("prclog", session(), "json", now=NOW)
    assert "NaN" not in text
    assert "Infinity" not in text
    rows = json.loads(text)
    interval = [row for row in rows if row["row"] == "interval"]
    assert interval[0]["busy_pct"] == 2 / 3
    assert interval[0]["cpu_id"] == 0
    assert interval[0]["interval_end"] == "2026-11-20T23:59:30.250000Z"
    assert interval[2]["busy_pct"] is None
    mean = next(row for row in rows if row["row"] == "mean")
    assert mean["interval_end"] is None
    (count,) = [row["records"] for row in json.loads(reports.render("mondata", session(), "json", now=NOW))][
        :1
    ]
    assert count == 2**53 + 1


def test_all_formats_have_same_rows() -> None:
    fake = session()
    text = reports.render("prclog", fake, now=NOW)
    printed = sum(line.startswith((">>", "00:59")) for line in text.split("\n"))
    assert len(json.loads(reports.render("prclog", fake, "json", now=NOW))) == printed
    assert reports.render("prclog", fake, "csv", now=NOW).count("\n") - 1 == printed
    assert reports.render("prclog", fake, "html", now=NOW).count("<tr><td>") - 1 == printed


class Page(HTMLParser):
    """Tags, attributes and cells of an HTML file; every tag but void ones must be closed in order."""

    VOID = frozenset({"meta", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


@pytest.mark.parametrize("name", quick_subset(10, reports.names()))
def test_report_html_is_self_contained(shared: FakeSession, name: str) -> None:
    page = Page(reports.render(name, shared, "html", now=NOW))
    assert not page.open
    assert not {"link", "img", "iframe", "base", "object"} & set(page.tags)
    assert not {"src", "href", "onclick", "style"} & {key for key, _ in page.attributes}
    assert page.tags.count("script") == 1
    assert (
        "content",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
    ) in page.attributes


def test_html_names_only_rows_of_several_kinds(sim_session: Session) -> None:
    """UCONF has only rows of one kind; PRCLOG has means, totals, peaks and intervals."""
    tables = {
        name: re.findall(r"<table[^>]*>", reports.render(name, sim_session._core, "html"))
        for name in ("uconf", "prclog")
    }
    assert tables == {"uconf": ['<table class="plain">'], "prclog": ["<table>"]}


def test_html_escapes_and_keeps_exact_values() -> None:
    page = Page(reports.render("prclog", session(), "html", now=NOW))
    assert NAME in page.cells
    assert ".7" in page.cells
    assert "152k" in page.cells
    values = [value for key, value in page.attributes if key == "data-v"]
    assert repr(2 / 3) in values
    assert "152399.125" in values
    assert "2026-11-20T23:59:30.250000Z" in values
    assert "2026/11/21 00:59:30" in page.cells


def test_unknown_report_format_is_error() -> None:
    with pytest.raises(QueryError, match=r"no format 'pdf'.*text, csv, json, html"):
        reports.render("prclog", session(), "pdf", now=NOW)


def test_several_tables_follow_each_other() -> None:
    """CSV separates tables by an empty line, JSON by the field `table`."""
    report = reports.load_report("mondata")
    (table,) = report.tables
    from msgspec.structs import replace

    both = replace(report, tables=(table, replace(table, key="again", title="Once More")))
    assert "\n\nrow,system,name" not in reports.render(report, session(), "csv", now=NOW)
    assert reports.render(both, session(), "csv", now=NOW).count("\n\ntable,row,system,name") == 1
    rows = json.loads(reports.render(both, session(), "json", now=NOW))
    assert [(row["table"], row["row"]) for row in rows] == [
        ("records", "row"), ("records", "total"), ("again", "row"), ("again", "total"),
    ]  # fmt: skip
    assert "\nOnce More\n\n" in reports.render(both, session(), now=NOW)
    assert "<h2>Once More</h2>" in reports.render(both, session(), "html", now=NOW)


def test_report_list_counts_available_columns() -> None:
    listed = {entry.name: entry for entry in reports.list_reports(session())}
    assert listed["prclog"].columns == 22
    assert listed["prclog"].available == 5
    assert listed["prclog"].state == "partial"
    assert listed["partition"].state == "none"
    text = reports.format_report_list(list(listed.values()))
    words = " ".join(text.split())
    assert "FCX304 Processor Activity, by Time 22 columns, 5 available (partial)" in words
    assert "\n  partition " not in text
    assert "\nWithout data in this input: " in text
    assert " partition," in words[words.index("Without data") :]
    assert "available" not in reports.format_report_list(reports.list_reports())


@pytest.mark.parametrize(
    ("way", "counts"),
    [("sim", (35, 61, 35, "available")), ("5.3", (35, 61, 7, "partial"))],
)
def test_report_list_counts_lines_instead_of_columns(
    tmp_path: Path, way: str, counts: tuple[int, int, int, str]
) -> None:
    """35 lines have a value, and z/VM no longer counts the other 26: the report is not partial."""
    only = tmp_path / "reports"
    only.mkdir()
    shutil.copy(definition.files()["system"], only)
    with zlens.open([machine_records.system_counters(tmp_path, way)]) as session:
        (entry,) = reports.list_reports(session._core, only)
    assert (entry.columns, entry.known, entry.available, entry.state) == counts


def test_repeated_line_is_counted_once(tmp_path: Path) -> None:
    """INDICATE LOAD has eight lines, although PROC occurs twice, and the interval that they are of."""
    report = definition.load_report("indload")
    with zlens.open(user_records.queues(tmp_path)) as session:
        counts = report_list.value_counts([report], session._core)
        available = report_list.report_values(report, session._core, counts).count
    assert (report.shown_count, available) == (10, 10)
