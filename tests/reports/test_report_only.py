"""--only: a report of some of its subjects."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from monwrite_made import START_US, configuration, minutes, write
from zlens.errors import QueryError


@pytest.fixture
def session(tmp_path: Path) -> zlens.Session:
    return zlens.open([write(tmp_path / "a", [configuration(START_US), *minutes(3, cpus=12)])])


def labeled(text: str, label: str) -> list[list[str]]:
    return [line.split() for line in text.split("\n") if line.startswith(label)]


def test_means_totals_and_intervals_are_of_these_alone(session: zlens.Session) -> None:
    text = session.report("prclog", only=["1", "2"])
    assert [row[1] for row in labeled(text, ">>Mean>>")] == ["1", "2"]
    assert [row[1] for row in labeled(text, ">>Total>")] == ["2"], "two processors"
    assert [row[1] for row in labeled(text, "09:01:00")] == ["1", "2"]


def test_any_column_of_the_subject_may_be_named(session: zlens.Session) -> None:
    assert len(labeled(session.report("prclog", only=["ifl"]), ">>Mean>>")) == 12


def test_patterns(session: zlens.Session) -> None:
    means = labeled(session.report("prclog", only=["1?"]), ">>Mean>>")
    assert [row[1] for row in means] == ["10", "11"]
    assert len(labeled(session.report("prclog", only=["*"]), ">>Mean>>")) == 12


@pytest.mark.parametrize("format", ["text", "csv", "json", "html"])
def test_in_every_form(session: zlens.Session, format: str) -> None:
    whole, part = session.report("prclog", format), session.report("prclog", format, only=["7"])
    assert 0 < part.count("IFL") < whole.count("IFL") / 5


@pytest.mark.parametrize("name", ["12", "1%", "_", "", "' OR true --", "\\"])
def test_a_name_that_nothing_has(session: zlens.Session, name: str) -> None:
    with pytest.raises(QueryError) as caught:
        session.report("prclog", only=[name])
    assert "prclog has no rows for" in str(caught.value)
    assert "0, 1, 2, 3, 4, 5, 6, 7, ..." in str(caught.value)
