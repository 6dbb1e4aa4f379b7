"""Tests of listings without a date: times start in 1970, which is reported, or at the given date."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

import zlens
from zlens import reports
from zlens.cli import main
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_date

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
GIVEN = dt.date(2015, 2, 14)


@pytest.fixture
def excerpt(tmp_path: Path) -> Path:
    """A PRCLOG listing without its header, in a file of another day."""
    lines = (FOLDER / "prclog-smt0.txt").read_text().splitlines()
    path = tmp_path / "excerpt.txt"
    path.write_text("\n".join(lines[6:]) + "\n")
    os.utime(path, (1_772_366_400,) * 2)
    return path


def days(path: Path, date: dt.date | None) -> list[tuple[object, ...]]:
    with zlens.open(path, options=Options(date=date)) as session:
        return session.sql("SELECT DISTINCT CAST(CAST(interval_end AS DATE) AS VARCHAR) FROM cpu").rows


def test_undated_excerpt_uses_given_date(excerpt: Path) -> None:
    assert days(excerpt, None) == [("1970-01-01",)]
    assert days(excerpt, GIVEN) == [(str(GIVEN),)]


def test_unknown_date_is_reported(excerpt: Path) -> None:
    unknown = "The date is not known"
    for date in (None, GIVEN):
        with zlens.open(excerpt, options=Options(date=date)) as session:
            details = [problem.detail for problem in session.problems if "has no date" in problem.detail]
            assert len(details) == (date is None)
            printed = " ".join(reports.render("prclog", session._core).split())
            assert (unknown in printed) == (date is None)
            assert [info.dated for info in session.systems] == [date is not None]


def test_dated_listing_ignores_given_date() -> None:
    path = FOLDER / "prclog-smt0.txt"
    assert days(path, GIVEN) == days(path, None) != [("1970-01-01",)]


def test_date_option(excerpt: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT DISTINCT strftime(interval_end, '%Y-%m-%d') AS day FROM cpu"
    assert main(["sql", str(excerpt), "--date", "2015-02-14", "-q", query]) == 0
    assert "2015-02-14" in capsys.readouterr().out
    assert main(["sql", str(excerpt), "--date", "14.2.2015", "-q", query]) == 2
    assert "'14.2.2015' is not a date; expected something like 2026-03-02" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["2015-02-14", "2015/02/14"])
def test_dates(text: str) -> None:
    assert parse_date(text) == GIVEN


@pytest.mark.parametrize("text", ["", "now", "2015-02-30", "2015-02-14 10:00"])
def test_no_dates(text: str) -> None:
    with pytest.raises(QueryError, match="is not a date"):
        parse_date(text)
