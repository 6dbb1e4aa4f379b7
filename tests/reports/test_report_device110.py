"""Tests of DEVICE FCX110: its absent columns, and means of any intervals."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from io_builder import devices

import zlens
from iterations import iterations
from zlens import reports
from zlens.explain.reports import explain_report
from zlens.inputs.options import Options


def test_printed_columns_are_not_absent() -> None:
    definition = reports.load_report("device110")
    absent = {name for one in definition.absent for name in one.columns}
    printed = {column.name for table in definition.tables for column in table.columns}
    assert not absent & printed
    assert absent.isdisjoint({"Page reads/s", "Page writes/s", "Spool reads/s", "Total pages/s"})


def test_device110_explains_absent_columns() -> None:
    text = explain_report("device110")
    for heading in ("I/O contention", "SENSE SSCH", "MDISK Extent", "PG resp. time"):
        assert heading in text


BUSY = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 50), st.integers(0, 50), st.integers(0, 20)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=iterations(8, 2), deadline=None)
@given(intervals=BUSY)
def test_device110_means_cover_all_operations(
    tmp_path_factory: pytest.TempPathFactory, intervals: list[tuple[int, int, int, int]]
) -> None:
    """Means of times per operation are weighted by operations, and --every returns the same."""
    samples = [
        {0x145: {"rate": float(rate), "pend": pend / 10, "conn": conn / 10, "queued": queued / 10}}
        for rate, pend, conn, queued in intervals
    ]
    operations = sum(rate for rate, *_ in intervals)
    served = sum(rate * (pend + conn) / 10 for rate, pend, conn, _ in intervals)
    waiting = sum(queued / 10 for *_, queued in intervals)
    path = devices(tmp_path_factory.mktemp("x") / "a", samples)
    with zlens.open([path]) as session:
        report = session.report("device", "json")
        log = session.report("device110", "json")
    with zlens.open([path], options=Options(every_s=86400)) as session:
        ((rate, serv, resp, queued),) = session.sql("SELECT rate, serv_s, resp_s, queued FROM device").rows
    rows = [row for row in _rows(report) if row["row"] == "row"]
    means = [row for row in _rows(log) if row["row"] == "mean" and row["table"] == "log"]
    count = len(intervals)
    for row in (
        rows[0],
        means[0],
        {"rate": rate, "queued": queued, "serv_ms": 1000 * serv if serv else serv},
    ):
        assert row["rate"] == pytest.approx(operations / count)
        assert row["queued"] == pytest.approx(waiting / count, abs=0.02)
        if operations:
            assert row["serv_ms"] == pytest.approx(served / operations, abs=0.15)
        else:
            assert row["serv_ms"] is None
    if operations and all(one[0] for one in intervals):
        assert 1000 * resp == pytest.approx(rows[0]["resp_ms"], abs=0.01)
        assert 1000 * resp == pytest.approx(rows[0]["serv_ms"] + 1000 * queued / rate, abs=0.01)


def _rows(text: str) -> list[dict[str, Any]]:
    import json

    return list(json.loads(text))
