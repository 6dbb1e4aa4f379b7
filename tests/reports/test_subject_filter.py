"""Tests of --only, which selects subjects of a report."""

from __future__ import annotations

from pathlib import Path

import pytest
import user_records

import zlens
from zlens.cli import main
from zlens.errors import QueryError


@pytest.fixture
def session(tmp_path: Path) -> zlens.Session:
    return zlens.open([user_records.processors_alone(tmp_path, 3, cpus=12)])


@pytest.mark.parametrize("format", ["text", "csv", "json", "html"])
def test_filters_in_every_format(session: zlens.Session, format: str) -> None:
    whole, part = session.report("prclog", format), session.report("prclog", format, only=["7"])
    assert 0 < part.count("IFL") < whole.count("IFL") / 5


@pytest.mark.parametrize("name", ["12", "1%", "_", "", "' OR true --", "\\"])
def test_report_of_unknown_subject(session: zlens.Session, name: str) -> None:
    with pytest.raises(QueryError) as caught:
        session.report("prclog", only=[name])
    assert "prclog has no rows for" in str(caught.value)
    assert "0, 1, 2, 3, 4, 5, 6, 7, ..." in str(caught.value)


@pytest.mark.parametrize(
    ("report", "name", "column"),
    [
        ("dispwait", "LINUX01", "dispatch_rate"),
        ("upage", "LINUX01", "resident_pages"),
        ("cpowned", "PAGE01", "total_rate"),
    ],
)
def test_totals_are_over_selected_subjects(
    report: str, name: str, column: str, sim_session: zlens.Session
) -> None:
    """A total is over all subjects if all are selected, and over one if one is."""

    def rows(only: list[str]) -> list[list[str]]:
        text = sim_session.report(report, "csv", only=only)
        return [line.split(",") for line in text.splitlines()]

    assert rows(["*"]) == rows([])
    head, *found = rows([name])
    one, total = (next(row for row in found if row[0] == kind) for kind in ("row", "total"))
    assert float(total[head.index(column)]) == pytest.approx(float(one[head.index(column)]))


def test_report_command_selects_subject(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = user_records.processors_alone(tmp_path, 3, cpus=3)
    assert main(["report", "fcx304", str(path), "--only", "1"]) == 0
    said = capsys.readouterr().out
    assert "\n>>Mean>>  1 IFL " in said
    assert "\n>>Mean>>  2 IFL " not in said
    assert main(["report", "fcx304", str(path), "--only", "0999"]) == 2
    assert "no rows for '0999'" in capsys.readouterr().err
