"""Tests of queries of reports: none without data, and one for all systems."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from readers.smf113_builder import dump, record
from zlens import demo, reports
from zlens.catalog.reports import definition
from zlens.session.queries import Queries


@pytest.fixture
def announced_queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries that sessions run."""
    queries: list[str] = []
    sql = Queries.answer

    def noted(session: Queries, query: str) -> object:
        queries.append(query)
        return sql(session, query)

    monkeypatch.setattr(Queries, "answer", noted)
    return queries


@pytest.mark.parametrize(
    ("file", "name"),
    [(demo.RMF_NAME, "locklog"), (demo.SIM_NAME, "workload"), (demo.MONWRITE_NAME, "pai")],
)
def test_report_without_data_computes_nothing(
    demo_folder: Path, announced_queries: list[str], monkeypatch: pytest.MonkeyPatch, file: str, name: str
) -> None:
    announced: list[str] = []
    monkeypatch.setattr(Queries, "stages", lambda queries, texts: announced.extend(texts) or iter(()))
    with zlens.open([demo_folder / file]) as session:
        text = " ".join(session.report(name).split())
    report = definition.load_report(name)
    assert f"This input has no data for this report. It needs: {report.needs}" in text
    own = {table.query for table in report.tables}
    assert not announced
    assert not any(query in question for query in own for question in announced_queries)


def test_report_list_runs_only_possible_queries(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[str] = []
    together = Queries.select_together

    def noted(session: Queries, queries: list[str]) -> list[list[tuple[object, ...]]]:
        joined.extend(queries)
        return together(session, queries)

    monkeypatch.setattr(Queries, "select_together", noted)
    with zlens.open([demo_folder / demo.RMF_NAME]) as session:
        entries = {entry.name: entry for entry in reports.list_reports(session._core)}
        possible = {
            table.query
            for name in definition.names()
            for table in definition.load_report(name).tables
            if session._core.queries.query_has_data(table.query)
        }
        assert len(joined) == len(set(joined)) == len(possible)
        # The result agrees with the queries of all reports.
        for name, entry in entries.items():
            filled = [
                table.key
                for table in definition.load_report(name).tables
                if session.sql(f"SELECT count(*) FROM ({table.query})").rows[0][0]
            ]
            assert bool(entry.available) <= bool(filled), name
    assert entries["partition"].available
    assert not entries["user"].available


def count_queries(path: Path, systems: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return the number of queries and of lines of a report on this number of systems."""
    ends = (300, 600, 900)
    counters = [
        record(2, 0, end, (end * 1000, end * 500), system=f"S{number:03}")
        for end in ends
        for number in range(systems)
    ]
    queries = 0
    real = Queries.answer

    def counted(self: Queries, query: str) -> object:
        nonlocal queries
        queries += 1
        return real(self, query)

    with zlens.open(dump(path, counters)) as session, monkeypatch.context() as patch:
        patch.setattr(Queries, "answer", counted)
        text = session.report("cpumf")
    return queries, text.count("\n")


def test_report_query_count_is_independent_of_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, lines = count_queries(tmp_path / "few.smf", 2, monkeypatch)
    many, more_lines = count_queries(tmp_path / "many.smf", 12, monkeypatch)
    assert more_lines > 5 * lines
    assert many == few > 0
