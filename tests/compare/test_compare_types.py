"""Tests of comparisons by processor type: only values of the same type are compared."""

from __future__ import annotations

import datetime as dt

import pytest

from measures.test_smf70 import S0W1_S, ZIIP_S, four_ziips, s0w1
from smf70_builder import session as smf70
from smf113_rows import opened, row
from zlens.catalog import comparison_metrics as declared
from zlens.catalog import measures
from zlens.compare import CompareOptions, Side, SideRun, compare, measure_run
from zlens.compare.sides import SystemRun

START = dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)
CPI = "cpumf_type.cpi"


def side(name: str, **cpi: float) -> Side:
    """Return a side with these cycles per instruction by type in each of twelve intervals."""
    run = SystemRun("SYSA", {}, intervals=12, machine_type="8561")
    run.first, run.last = START, START + dt.timedelta(minutes=12)
    ends = [START + dt.timedelta(minutes=minute) for minute in range(12)]
    for kind, value in cpi.items():
        run.series[CPI, (kind,)] = [(end, value, 1.0) for end in ends]
    return Side(name, [SideRun(name, {"SYSA": run})])


def test_different_processor_types_are_not_paired() -> None:
    [compared] = compare([side("a", CP=2.0), side("b", IFL=3.0)], CompareOptions()).systems
    found = {each.subject: each for each in compared.rows if each.metric.key == CPI}
    assert set(found) == {("CP",), ("IFL",)}
    assert found["CP",].values == (2.0, None)
    assert found["IFL",].values == (None, 3.0)
    assert all(change.value is None for each in found.values() for change in each.changes)


def test_same_processor_types_are_paired() -> None:
    [compared] = compare([side("a", CP=2.0, IFL=4.0), side("b", IFL=3.0, CP=1.0)], CompareOptions()).systems
    found = {each.subject: each.changes[0].value for each in compared.rows if each.metric.key == CPI}
    assert found == {("CP",): pytest.approx(0.5), ("IFL",): pytest.approx(0.75)}


def test_metrics_of_typed_tables_are_per_type() -> None:
    """Otherwise values of different types would be added up in one row."""
    tables = {each.table for each in declared.compared_metrics()}
    typed = {
        table
        for table in tables
        if any(column.name == "cpu_type" for column in measures.load_measure(table).columns)
    }
    assert typed == {"cec", "core_type", "cpumf_type"}
    assert [
        each.key for each in declared.compared_metrics() if each.table in typed and "cpu_type" not in each.by
    ] == []


def test_measured_types_stay_separate() -> None:
    rows = [
        row({"B0": 3000.0, "B1": 1000.0}, generation="z15"),
        row({"B0": 9000.0, "B1": 1000.0}, generation="z15", cpu_id=1, cpu_type="IFL"),
    ]
    with opened(rows) as session:
        series = measure_run(session._core, "x").systems["SYSA"].series
    cpi = {
        of: [above / below for _, above, below in points]
        for (key, of), points in series.items()
        if key == CPI
    }
    assert cpi == {("CP",): [pytest.approx(3.0)], ("IFL",): [pytest.approx(9.0)]}


def test_systems_on_different_types_are_not_comparable() -> None:
    """Systems of different processor types can be compared, with a warning about the types."""
    with smf70({"SYSA": [four_ziips()]}, ZIIP_S) as session:
        ziips = measure_run(session._core, "ziips")
    with smf70({"SYSA": [s0w1()]}, S0W1_S) as session:
        cps = measure_run(session._core, "cps")
    assert ziips.systems["SYSA"].facts["types of processors"] == "ZIIP"
    assert "CP" in cps.systems["SYSA"].facts["types of processors"]
    [compared] = compare([Side("ziips", [ziips]), Side("cps", [cps])]).systems
    assert any(
        warning.startswith("types of processors differs: ziips ZIIP; cps CP") for warning in compared.warnings
    )
