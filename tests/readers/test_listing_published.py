"""Tests of listings published by IBM, transcribed in docs/published/listings: words are in their columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import listing_roundtrip
import zlens
from zlens import reports
from zlens.api import Session
from zlens.catalog import listings
from zlens.catalog.reports import definition
from zlens.cli import main

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
#: RMF listings have a separate reader; cells of two numbers, a value and a ratio, are a case of reports.
FILES = [path for path in sorted(FOLDER.glob("*.txt")) if not path.name.startswith(("rmf-", "burg-pages"))]
TIME = re.compile(r"\d\d:\d\d:\d\d")


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def listing(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Session]]:
    with zlens.open(str(request.param)) as session:
        yield request.param, session


def rows(session: Session) -> list[tuple[str, dict[str, Any]]]:
    names = [row[0] for row in session.sql("SHOW TABLES").rows if row[0] in listings.tables()]
    return [(name, row) for name in names for row in listing_roundtrip.rows_of(session, name)]


def words(name: str, row: dict[str, Any]) -> list[str]:
    """Return the values of a row as words, in column order; numbers as Python prints them."""
    report, key = listings.tables()[name]
    table = next(table for table in definition.load_report(report).tables if table.key == key)
    found = [] if row["other"] is None else [text.split("=")[1] for text in row["other"].split("; ")]
    for column in table.columns:
        value = row[listings.column_name(column)]
        if isinstance(value, str):
            found += value.split()
        elif value is not None:
            found.append(repr(float(value)))
    return found


def printed(line: str, table: str) -> list[str]:
    """Return the words of a printed row without time, label and the dots of missing values."""
    plain = re.sub(r"^>+ ?[A-Za-z ]+[<>]{1,2}", "", line)
    plain = re.sub(r"EXCESSUSE:|CPUPAD:", "", plain) if table == "listing_sysset_processors" else plain
    found = []
    for word in plain.split():
        if set(word) <= {"."} or (TIME.fullmatch(word) and table != "listing_sysset_settings"):
            continue
        found.append(word)
    if table == "listing_sysset_processors":
        found.pop(1)
    return found


def same(word: str, value: str) -> bool:
    if word == value:
        return True
    try:
        number = float(word.rstrip("k")) * (1000 if word.endswith("k") else 1)
        return number == float(value)
    except ValueError:
        return False


def test_every_word_of_every_row_is_value(listing: tuple[Path, Session]) -> None:
    path, session = listing
    lines = path.read_text().splitlines()
    found = rows(session)
    assert found
    for name, row in found:
        expected = printed(lines[row["line_number"] - 1], name)
        values = words(name, row)
        assert len(values) == len(expected), (row["line_number"], expected, values)
        wrong = [pair for pair in zip(expected, values, strict=True) if not same(*pair)]
        assert not wrong, f"line {row['line_number']}"


def test_every_published_line_is_read(listing: tuple[Path, Session]) -> None:
    """Every line with numbers is read, except headings, titles and headers."""
    path, session = listing
    read = {row["line_number"] for _, row in rows(session)}
    assert not [problem.detail for problem in session.problems if "not recognized" in problem.detail]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if re.match(r">>|\d\d:\d\d:\d\d|\d{4}-", line):
            assert number in read, line


CELLS = [
    (
        "prclog-smt2",
        "listing_prclog",
        "line_number = 19",
        {
            "cpu_id": 8,
            "busy_pct": 677.0,
            "inst_sim_rate": 240000.0,
            "inst_sim_rate_half": 500.0,
            "row_kind": "total",
            "dvid": "MIX",
            "core_thread": "MIX",
            "system": "SYSTEMID",
        },
    ),
    (
        "prclog-smt0",
        "listing_prclog",
        "cpu_id = 2 AND row_kind = 'mean'",
        {"emulation_pct": 88.0, "sigp_rate": 74.0, "diag_rate": 509.8, "ppd": "VhD", "seconds": 630.0},
    ),
    (
        "physlog",
        "listing_physlog",
        "line_number = 13",
        {
            "lgclc_pct": 4238.0,
            "ovrhd_pct": 340.31,
            "lcot_l": 1.08,
            "lpmgt_pct": 1714.0,
            "total_pct": 6292.3,
            "type_tl": 1.485,
        },
    ),
    (
        "smtmet-types",
        "listing_smtmet_types",
        "row_kind = 'mean'",
        {
            "productivity_pct": 93.6,
            "capacity_factor_pct": 156.4,
            "max_capacity_factor_pct": 167.1,
            "mt_utilization_pct": 86.0,
            "thread_density": 1.83,
            "cores": 4.0,
        },
    ),
    (
        "smtmet-cores-idle",
        "listing_smtmet_cores",
        "line_number = 10",
        {
            "core_id": 0,
            "productivity_pct": None,
            "mt_utilization_pct": None,
            "thread_density": 1.24,
            "core_busy_pct": 0.02,
        },
    ),
    (
        "hpalias",
        "listing_hpalias",
        "line_number = 9",
        {"ssid": "0600", "io_type": "PAGING", "in_use": 12.01, "queued": 3.78, "entitlement": 14.0},
    ),
    (
        "cpumflog",
        "listing_cpumflog_caches",
        "row_kind = 'total'",
        {"l1mp": 2.02, "l2p": 87.19, "l3p": 12.74, "l4lp": 0.0},
    ),
    (
        "device-balance",
        "listing_device",
        "device = 'BE0F'",
        {"rate": 2142.0, "resp_ms": 7.04, "queued": 14.2, "serv_ms": 0.427, "links": 32.0},
    ),
    (
        "device-paging",
        "listing_device",
        "other = 'Run=AP5Z604G'",
        {"rate": 45.5, "resp_ms": 30.8, "read_pct": 84.0},
    ),
    (
        "sysconf-smt0",
        "listing_sysconf_initial",
        "line_number = 21",
        {"name": "Log. IFL : CAF", "value": "41", "total": "8", "standby": "4", "dedicated": "4"},
    ),
    (
        "sysset-smt2",
        "listing_sysset_threads",
        "kind = 'ICF core'",
        {"hardware": "2", "requested": "Max", "system_can": "1", "activated": "1"},
    ),
]


@pytest.mark.parametrize(("file", "table", "where", "cells"), CELLS, ids=[case[0] for case in CELLS])
def test_cells_are_in_their_columns(file: str, table: str, where: str, cells: dict[str, Any]) -> None:
    with zlens.open(str(FOLDER / f"{file}.txt")) as session:
        answer = session.sql(f"SELECT {', '.join(cells)} FROM {table} WHERE {where}")
        assert [dict(zip(answer.columns, row, strict=True)) for row in answer.rows] == [cells]


SAME = [
    ("prclog-smt0", "prclog", ">>Mean>>"),
    ("prclog-smt2", "prclog", ">>Mean>>"),
    ("physlog", "physlog", "10:1"),
]


@pytest.mark.parametrize(("file", "report", "begin"), SAME, ids=[case[0] for case in SAME])
def test_report_of_listing_equals_listing(file: str, report: str, begin: str) -> None:
    """Reports print the same numbers from measures of a listing."""
    path = FOLDER / f"{file}.txt"
    # A processor's core is text in the listing, which is not read as a number.
    expected = [
        [word for word in line.split() if "/" not in word]
        for line in path.read_text().splitlines()
        if line.startswith(begin)
    ]
    with zlens.open(str(path)) as session:
        lines = reports.render(report, session._core).splitlines()
    found = [line.split()[: len(expected[0])] for line in lines if line.startswith(begin)]
    assert found == expected


@pytest.mark.parametrize("system", ["", "-idle"])
def test_type_utilization_rounds_to_printed(system: str) -> None:
    """IBM prints the cores' values of two intervals by core, and by type in another listing."""
    with zlens.open(str(FOLDER / f"smtmet-types{system}.txt")) as session:
        shown = "SELECT interval_end, mt_utilization_pct FROM listing_smtmet_types"
        by_time = dict(session.sql(f"{shown} WHERE row_kind = 'interval'").rows)
    with zlens.open(str(FOLDER / f"smtmet-cores{system}.txt")) as session:
        found = session.sql("SELECT interval_end, mt_utilization_pct FROM core_type").rows
    assert len(found) == 2
    assert [(end, round(value, 1)) for end, value in found] == [(end, by_time[end]) for end, _ in found]


def test_core_utilization_is_the_printed_one(tmp_path: Path) -> None:
    """Of a core with 71.7 and 0.05, IBM prints 0.1: their product would be 0.0."""
    lines = (FOLDER / "smtmet-cores-idle.txt").read_text().splitlines(keepends=True)
    path = tmp_path / "means.txt"
    path.write_text("".join(lines[:8]))
    with zlens.open(str(path)) as session:
        rows = session.sql("SELECT core_id, mt_utilization_pct FROM core ORDER BY 1").rows
    assert rows == [(0, pytest.approx(0.1)), (1, pytest.approx(0.1)), (2, 0.0), (3, 0.0)]


def test_model_is_solved_from_listing(capsys: pytest.CaptureFixture[str]) -> None:
    """IBM, z/VM 6.4 Performance: two of 16 aliases for minidisks, 14 for paging."""
    assert main(["solve", "aliases", "--from", str(FOLDER / "hpalias.txt"), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["uses"]["rows"]
    assert [(row["name"], row["entitled"], row["observed"]) for row in rows] == [
        ("MDISK", 2.0, 2.32),
        ("PAGING", 14.0, 13.68),
    ]


def test_tables_of_tabs_or_blanks_have_equal_rows(tmp_path: Path) -> None:
    """J. Burg's tables, copied with blanks in place of tabs; a row with ratios in its cells needs tabs."""
    for name in ("hiperdispatch", "threadsafe", "z196", "pages"):
        path = FOLDER / f"burg-{name}.txt"
        copied = tmp_path / path.name
        copied.write_text(path.read_text(encoding="utf-8").replace("\t", " "), encoding="utf-8")
        with zlens.open(str(path)) as session, zlens.open(str(copied)) as other:
            found, again = (
                [(table, words(table, row)) for table, row in rows(each)] for each in (session, other)
            )
            unread = [problem.detail for problem in other.problems if problem.kind == "no_layout"]
        if name == "pages":
            assert again == found[:1]
            assert len(unread) == 1
            assert "'DB2 V10 1MB PageFix=YES 4.26 1.05" in unread[0]
        else:
            assert again == found
            assert unread == []


def test_system_of_table_is_what_all_rows_name() -> None:
    """J. Burg's tables: all rows of one are of SYSD, and those of the other of PAR1 and PAR2."""
    systems = {}
    for name in ("z196", "threadsafe"):
        with zlens.open(str(FOLDER / f"burg-{name}.txt")) as session:
            query = "SELECT DISTINCT system, sysid FROM listing_burg_metrics ORDER BY 2"
            systems[name] = session.sql(query).rows
    unknown = "unknown-burg-threadsafe"
    assert [tuple(row) for row in systems["z196"]] == [("SYSD", "SYSD")]
    assert [tuple(row) for row in systems["threadsafe"]] == [(unknown, "PAR1"), (unknown, "PAR2")]
