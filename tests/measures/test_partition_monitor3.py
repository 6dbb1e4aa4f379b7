"""Tests of measures from the CPC report of RMF Monitor III, which has percentages and no times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from rmf_builder import document, monitor3
from samples import needs, sample
from zlens.api import Session
from zlens.inputs.options import parse_zone

CPC = sample("rmf/rmf-monitor3-cpc.xml")
HALF_HOUR = sample("rmf/rmf-postprocessor-cpu-small.xml")


@pytest.fixture
def report_session(tmp_path: Path) -> Iterator[Session]:
    path = tmp_path / "cpc.xml"
    path.write_text(
        document(monitor3(), monitor3(end="140320").replace("<col>20.5</col>", "<col>40.5</col>"))
    )
    with zlens.open([path]) as session:
        yield session


def test_monitor3_percentages_equal_rmf(report_session: Session) -> None:
    rows = report_session.sql(
        """
        SELECT partition, cpu_type, effective_s, total_s, effective_pct, total_pct, phys_total_pct,
               msu_actual, round(share_pct, 3), round(entitlement, 3), vh, vm, vl, upid, capped
        FROM partition WHERE interval_end = (SELECT min(interval_end) FROM partition)
        ORDER BY cpu_type, partition
        """
    ).rows
    assert rows == [
        ("ALPHA", "CP", None, None, 20.0, 20.5, 20.5, 20.0, 60.0, 2.4, 2, 1, 1, 4, False),
        ("BETA", "CP", None, None, 9.4, 9.5, 9.5, 9.0, 40.0, 1.6, None, None, None, 5, False),
        ("ALPHA", "ZIIP", None, None, 4.9, 5.0, 5.0, None, 100.0, 1.0, None, None, None, None, False),
    ]


def test_pools_of_machine(report_session: Session) -> None:
    """100 is one processor in FCX302, and all processors in RMF."""
    rows = report_session.sql(
        """
        SELECT cpu_type, physical, total_weight, total_s, phys_effective_pct, phys_lpmgt_pct, phys_total_pct,
               round(lgclc_pct, 6), round(ovrhd_pct, 6), lpmgt_pct, round(total_pct, 6), msu_capacity
        FROM cec WHERE interval_end = (SELECT min(interval_end) FROM cec) AND total_weight IS NOT NULL
        ORDER BY cpu_type
        """
    ).rows
    assert rows == [
        ("CP", 4.0, 100.0, None, 29.4, 1.1, 30.5, 117.6, 2.4, 2.0, 122.0, 100.0),
        ("ZIIP", 1.0, 10.0, None, 4.9, 0.1, 5.0, 4.9, None, None, 5.0, 100.0),
    ]


def test_monitor3_percentages_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "cpc.xml"
    second = monitor3(end="140320").replace("<col>20.5</col>", "<col>40.5</col>")
    path.write_text(document(monitor3(), second))
    with zlens.open([path], options=zlens.Options(every_s=600)) as session:
        rows = session.sql(
            "SELECT total_pct FROM partition WHERE partition = 'ALPHA' AND cpu_type = 'CP'"
        ).rows
    assert rows == [(30.5,)]


def test_changed_capacity_is_event(tmp_path: Path) -> None:
    path = tmp_path / "cpc.xml"
    text = monitor3().replace("<caption>", "<caption><var><name>CPCHCCCR</name><value>1</value></var>", 1)
    path.write_text(document(text))
    with zlens.open([path]) as session:
        ((kind, detail),) = session.sql("SELECT kind, detail FROM event").rows
    assert kind == "capacity change"
    assert detail.startswith("reason code 1")


def test_capacity_of_system(report_session: Session) -> None:
    rows = report_session.sql(
        "SELECT capacity, used_long, group_name, group_limit, change_reason FROM role.image"
    ).rows
    assert set(rows) == {(100.0, None, None, None, None)}
    text = report_session.report("rmfcpu")
    assert [line.split()[:3] for line in text.splitlines() if line.startswith("09:")] == [
        ["09:01:40", "100", "100"],
        ["09:03:20", "100", "100"],
    ]


def test_monitor3_report(report_session: Session) -> None:
    text = report_session.report("partition")
    (dotted,) = [line for line in text.split("* ") if line.startswith("Not available in")]
    assert "Dispatch Seconds Effective, Dispatch Seconds Total" in dotted
    rows = [row for row in json.loads(report_session.report("partition", "json")) if row["row"] == "interval"]
    physical = [row["phys_total_pct"] for row in rows if row["partition"] == "*PHYSICAL*"]
    assert physical == [0.5, 0.5]
    totals = [
        row["phys_total_pct"] for row in rows if row["partition"] == "TOTAL" and row["cpu_type"] == "CP"
    ]
    assert totals == [30.5, 30.5]


def test_monitor3_report_has_no_status(tmp_path: Path) -> None:
    """A partition with logical processors is active; without them, its status is unknown."""
    text = document(monitor3())
    without = text.replace(
        "<col>9</col><col>N N N</col><col>4.0</col>", "<col>9</col><col>N N N</col><col>0.0</col>"
    )
    assert without != text
    path = tmp_path / "cpc.xml"
    path.write_text(without)
    with zlens.open([path]) as session:
        query = "SELECT DISTINCT partition, status FROM partition ORDER BY 1"
        assert session.sql(query).rows == [("ALPHA", "Active"), ("BETA", None)]


@needs(CPC)
def test_absolute_cap_of_real_partition() -> None:
    """CPCPHWCC of VIRPT is 10; letters of the others are N N N."""
    with zlens.open([CPC], options=zlens.Options(tz=parse_zone("-04:00"))) as session:
        query = "SELECT partition, absolute_cap FROM partition WHERE any_cap OR absolute_cap IS NOT NULL"
        assert session.sql(query).rows == [("VIRPT", 10.0)]


@needs(CPC)
def test_real_response_agrees_with_half_hour() -> None:
    """CPC response and Postprocessor report of a z15 T02, 12 April 2022 (zowe/zebra, EPL-2.0)."""
    options = zlens.Options(tz=parse_zone("-04:00"))
    query = """
        SELECT partition, cpu_type, source, machine, entitlement, share_pct, logical_cpus, vm, phys_total_pct
        FROM partition WHERE status = 'Active' ORDER BY partition, cpu_type
    """
    with zlens.open([CPC], options=options) as session:
        inner = session.sql(query).rows
    with zlens.open([HALF_HOUR], options=options) as session:
        outer = session.sql(query).rows
    assert len(inner) == len(outer) == 9
    for mine, theirs in zip(inner, outer, strict=True):
        assert (mine[2], theirs[2]) == ("rmf3-xml", "rmf-xml")
        assert mine[:2] + mine[3:7] == theirs[:2] + theirs[3:7]
        assert abs(mine[8] - theirs[8]) < 0.5
        if mine[0] == "VIRPT":
            # Both have its polarity: the first as counts, the second by processor.
            assert (mine[7], theirs[7]) == (1, 1)
    # If both have a machine in one interval, one is shown.
    with zlens.open([CPC, HALF_HOUR], options=options) as session:
        assert session.sql(query).rows == outer
