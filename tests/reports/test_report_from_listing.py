"""Tests of reports of listings: `zlens report` of a printed report prints it again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

import listing_roundtrip
import zlens
from zlens import reports
from zlens.api import Session
from zlens.catalog.reports import definition
from zlens.errors import InputError

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
#: Reports with means and totals, totals of each interval, several tables, and machines instead of systems.
NAMES = ("cpu", "auxlog", "user", "mondata", "locklog", "physlog", "crypto", "cpumfpol", "lparlog", "procsum")

NOTHING = "This input has no data for this report."


@pytest.fixture
def printed(sim_session: Session, tmp_path: Path) -> Callable[[str], tuple[str, str]]:
    """A function that prints a report from monitor data, and again from that listing."""

    def both(name: str) -> tuple[str, str]:
        path = tmp_path / f"{name}.txt"
        text = reports.render(name, sim_session._core)
        path.write_text(text, encoding="utf-8")
        with zlens.open(str(path)) as session:
            return text, reports.render(name, session._core)

    return both


def rows(text: str) -> list[str]:
    """Return the lines of a report without run time and dots: a text may be printed as blanks, or be missing.

    Rounded values are highest in several intervals, so a listing may have its peak in another one.
    """
    body = [line for line in text.split("\n* ")[0].splitlines()[1:] if not line.startswith(">>Peak>>")]
    return [" ".join(re.sub(r"\.{3,}", " ", line).split()) for line in body if line.strip()]


@pytest.mark.parametrize("name", NAMES)
def test_listing_report_prints_listed_rows(name: str, printed: Callable[[str], tuple[str, str]]) -> None:
    before, after = printed(name)
    assert rows(after) == rows(before)
    assert len(rows(after)) > 8


@pytest.mark.parametrize("name", ["user", "procsum"])
def test_missing_texts_of_a_listing_are_null(name: str, sim_session: Session, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.txt"
    path.write_text(reports.render(name, sim_session._core), encoding="utf-8")
    given = json.loads(reports.render(name, sim_session._core, "json"))
    with zlens.open(str(path)) as session:
        found = json.loads(reports.render(name, session._core, "json"))
    texts = {key for row in given for key, value in row.items() if isinstance(value, str)}
    missing = {key for row in found for key, value in row.items() if value is None} & texts
    assert missing
    assert [(key, row) for row in found for key, value in row.items() if value == ""] == []


@pytest.mark.parametrize(
    ("name", "raw", "every_s", "lengths"),
    [
        # Rows over the window, and two halves of it.
        ("upage", "upage", 1800, [("interval", 1800.0), ("whole", 3600.0)]),
        # The last bucket has 10 minutes, and its rows end with `short`.
        ("prclog", "prclog", 1500, [("interval", 600.0), ("interval", 1500.0), ("mean", 3600.0)]),
    ],
)
def test_listing_by_time_is_read_back(
    name: str, raw: str, every_s: int, lengths: list[tuple[str, float]], sim_session: Session, tmp_path: Path
) -> None:
    core = sim_session._core
    by_time = core.narrow(replace(core.options, every_s=every_s))
    count, wrong = listing_roundtrip.differences(by_time, name, tmp_path)
    assert not wrong
    assert count > 300
    before = reports.render(name, by_time)
    assert (" short" in before) == (name == "prclog")
    with zlens.open(str(tmp_path / f"{name}.txt")) as session:
        after = reports.render(name, session._core)
        assert rows(after) == [line.removesuffix(" short") for line in rows(before)]
        query = f"SELECT DISTINCT row_kind, seconds FROM listing_{raw} WHERE row_kind <> 'total' ORDER BY ALL"
        assert session.sql(query).rows == lengths


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(set(definition.names()) - set(NAMES)))
def test_every_report_of_listing_has_rows(
    name: str, printed: Callable[[str], tuple[str, str]], sim_session: Session
) -> None:
    if NOTHING in reports.render(name, sim_session._core):
        # The listing has no rows and is rejected.
        with pytest.raises(InputError, match="no row of its tables"):
            printed(name)
        return
    before, after = printed(name)
    assert NOTHING not in after
    # Titles with values lose them; numbers of cores lose leading zeros.
    assert len(rows(after)) == pytest.approx(len(rows(before)), abs=1)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("sysconf", "Initial Status on 2024/05/14 at 09:29, Processor 8561-T01"),
        ("sysset", "Initial Scheduler Settings: 2024/05/14 at 09:29:57"),
    ],
)
def test_title_of_listing_has_its_date(
    name: str, title: str, printed: Callable[[str], tuple[str, str]]
) -> None:
    before, after = printed(name)
    assert title in before
    assert title in after


def test_published_listing_is_printed_unchanged() -> None:
    """IBM, z/VM SMT performance presentation: FCX304 PRCLOG, whose only rows are means."""
    with zlens.open(str(FOLDER / "prclog-smt0.txt")) as session:
        text = reports.render("prclog", session._core)
        (entry,) = [each for each in reports.list_reports(session._core) if each.name == "prclog"]
    assert ">>Mean>>  0 IFL" in text
    assert entry.available


def test_filters_and_formats_apply_to_listed_rows(sim_session: Session, tmp_path: Path) -> None:
    path = tmp_path / "ustat.txt"
    path.write_text(reports.render("ustat", sim_session._core), encoding="utf-8")
    with zlens.open(str(path)) as session:
        csv = reports.render(
            "ustat", session._core, "csv", options=reports.ReportOptions(only=("LINUX0*",))
        ).splitlines()
        assert len(csv) > 5
        assert all("LINUX0" in line for line in csv[1:])
        assert reports.render("ustat", session._core, "html").count("<tr") > 5


def test_monitor_data_with_listing_is_computed(sim_session: Session, sim_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "cpu.txt"
    path.write_text(reports.render("cpu", sim_session._core), encoding="utf-8")
    with zlens.open([str(sim_file), str(path)]) as session:
        assert rows(reports.render("cpu", session._core)) == rows(reports.render("cpu", sim_session._core))


def test_report_keeps_columns_not_in_catalog() -> None:
    """IBM, z/VM Performance Report, Eighty Logical Processors: a row of each of five runs."""
    path = FOLDER / "device-paging.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    printed = [line.split() for line in lines if line.startswith("AP")]
    with zlens.open(str(path)) as session:
        text = reports.render("device", session._core)
        rows = session.report("device", "csv", only=["AP4Z604D"]).splitlines()
        (entry,) = [each for each in reports.list_reports(session._core) if each.name == "device"]
    found = [line.split() for line in text.splitlines() if line.startswith("AP")]
    # The listing has dots of its own widths for links and paths.
    assert [[word for word in line if word.strip(".")] for line in found] == [
        [word for word in line if word.strip(".")] for line in printed
    ]
    assert len(found) == 5
    assert any(line.startswith("Run      Addr") for line in text.splitlines())
    assert [row.split(",")[2:4] for row in rows] == [["run", "device"], ["AP4Z604D", "PAGING"]]
    assert entry.available


def test_repeated_unknown_heading_has_own_key(tmp_path: Path) -> None:
    """A column that is not in the catalog never hides one that is: its key differs."""
    lines = (FOLDER / "device-balance.txt").read_text(encoding="utf-8").splitlines()
    path = tmp_path / "device.txt"
    path.write_text(
        "\n".join(f"{word:8} {line}" for word, line in zip(["", "Device", *"abcdefg"], lines, strict=True)),
        encoding="utf-8",
    )
    with zlens.open(str(path)) as session:
        rows = reports.render("device", session._core, "csv").splitlines()
    assert rows[0].split(",")[2:4] == ["device_", "device"]
    assert [row.split(",")[2:4] for row in rows[1:3]] == [["b", "BE0E"], ["c", "BE0F"]]
