"""Reports on many systems: what all have in common is asked once."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from readers.smf_made import dump, record
from zlens.api import Session


def asked(path: Path, systems: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many queries a report on so many systems makes, and how many lines it has."""
    ends = (300, 600, 900)
    counters = [
        record(2, 0, end, (end * 1000, end * 500), system=f"S{number:03}")
        for end in ends
        for number in range(systems)
    ]
    queries = 0
    real = Session.sql

    def counted(self: Session, query: str) -> object:
        nonlocal queries
        queries += 1
        return real(self, query)

    with zlens.open(dump(path, counters)) as session, monkeypatch.context() as patch:
        patch.setattr(Session, "sql", counted)
        text = session.report("cpumf")
    return queries, text.count("\n")


def test_a_report_asks_no_more_for_more_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, lines = asked(tmp_path / "few.smf", 2, monkeypatch)
    many, more_lines = asked(tmp_path / "many.smf", 12, monkeypatch)
    assert more_lines > 5 * lines
    assert many == few > 0
