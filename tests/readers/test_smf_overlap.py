"""Tests of a dump whose counters (113) and RMF records (70-1) have different interval ends."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from overlap_builder import mixed
from zlens.api import Session
from zlens.inputs.options import Options, parse_time_spec


@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_counters_join_polarity_by_overlap(tmp_path: Path, shift: float) -> None:
    with zlens.open([mixed(tmp_path / "a.smf", shift)]) as session:
        rows = session.sql("SELECT polarity, parked_pct FROM cpumf ORDER BY interval_end").rows
        assert [row[0] for row in rows] == ["Vl"] * 3
        assert [row[1] for row in rows] == [pytest.approx(p, abs=0.15) for p in (0, 25, 50)]
        assert session.sql("SELECT count(*), min(parked_pct), max(parked_pct) FROM cpu").rows == [(2, 0, 50)]
        kinds = [(problem.kind, problem.detail[:20]) for problem in session._core.all_problems()]
        assert kinds == [("time", "intervals of the cou")]


def found(session: Session) -> list[tuple[float, float | None]]:
    return session.sql("SELECT seconds, parked_pct FROM cpu ORDER BY interval_end").rows


def test_other_intervals_are_selected_by_own_times(tmp_path: Path) -> None:
    path = mixed(tmp_path / "a.smf", 1.5)
    # The quarter ends at 22:35:01.5, before 22:36; the counter interval at 22:40 ends after it.
    with zlens.open([path], options=Options(utc=True, end=parse_time_spec("2011-01-09 22:36"))) as session:
        assert found(session) == [(900, 0)]
        assert session.sql("SELECT count(*) FROM cpumf").rows == [(1,)]
    with zlens.open([path], options=Options(every_s=1800)) as session:
        # An interval belongs to the half-hour of its middle; the last counters are in the second one.
        assert found(session) == [(900, 0), (900, 50)]


def test_intervals_longer_than_every_are_reported(tmp_path: Path) -> None:
    """CP3KEXTR reports intervals that are longer than the reporting interval."""
    for shift in (0.0, 1.5):
        path = mixed(tmp_path / f"{shift}.smf", shift)
        with zlens.open([path], options=Options(every_s=600)) as session:
            assert found(session) == []
            assert session.sql("SELECT count(*), min(seconds), max(seconds) FROM cpumf").rows == [
                (3, 600, 600)
            ]
            details = [problem.detail for problem in session._core.all_problems() if problem.kind == "time"]
            assert details == [
                "2 intervals of up to 900 s are longer than 600 s: their records are not shown; "
                "buckets of 900 s or more show them"
            ]
        with zlens.open([path], options=Options(every_s=900)) as session:
            assert len(found(session)) == 2
            assert [
                problem.kind for problem in session._core.all_problems() if "--every" in problem.detail
            ] == []
