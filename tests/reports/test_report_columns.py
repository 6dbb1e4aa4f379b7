"""Tests of report columns and the measures that they name."""

from __future__ import annotations

from zlens.catalog.reports import definition
from zlens.catalog.reports.definition import load_report


def test_first_measure_determines_column_mean() -> None:
    several = [
        column
        for name in definition.names()
        for table in load_report(name).tables
        for column in table.columns
        if len(column.measures) > 1 and column.averaging_measure is not None
    ]
    assert several
    for column in several:
        assert column.averaging_measure is not None
        assert column.measures[0].rpartition(".")[2] == column.averaging_measure.name
