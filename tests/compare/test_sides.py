"""Tests of measured runs: ratios computed from sums, one source at a time, and unverified formulas."""

from __future__ import annotations

import pytest

from smf113_rows import opened, row
from zlens.catalog import listings
from zlens.compare import measure_run
from zlens.inputs.options import Options


def test_cpi_is_of_all_cycles_and_instructions() -> None:
    rows = [
        row({"B0": 3000.0, "B1": 1000.0}, generation="z15", minute=0),
        row({"B0": 9000.0, "B1": 1000.0}, generation="z15", minute=1),
        row({"B0": 2000.0, "B1": 2000.0}, generation="z15", minute=1, cpu_id=1),
        # Flagged rows are left out, as in means.
        row({"B0": 9e9, "B1": 1.0}, generation="z15", minute=2, flag="short"),
    ]
    with opened(rows) as session:
        points = measure_run(session._core, "x").systems["SYSA"].series["cpumf_type.cpi", ("CP",)]
    assert len(points) == 2
    assert [above / below for _, above, below in points] == pytest.approx([3.0, 11 / 3])
    assert sum(above for _, above, _ in points) == pytest.approx(14000)
    assert sum(below for *_, below in points) == pytest.approx(4000)


def test_unverified_formulas_are_listed_per_run() -> None:
    rows = [row({"B0": 3000.0, "B1": 1000.0, "B2": 20.0, "B4": 20.0}, generation="z15")]
    with opened(rows) as session:
        assert measure_run(session._core, "x").systems["SYSA"].doubts == {}
    with opened(rows, Options(allow_unverified=True)) as session:
        assert measure_run(session._core, "x").systems["SYSA"].doubts == {"rni": "unverified"}


def test_records_are_compared_without_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only numbers of listings are looked up in reports, and reading all of these takes long."""

    def tables() -> dict[str, tuple[str, str]]:
        raise AssertionError("all reports were read")

    monkeypatch.setattr(listings, "tables", tables)
    with opened([row({"B0": 3000.0, "B1": 1000.0}, generation="z15")]) as session:
        run = measure_run(session._core, "x").systems["SYSA"]
    assert ("cpumf_type.cpi", ("CP",)) in run.series
    assert run.printed == []
