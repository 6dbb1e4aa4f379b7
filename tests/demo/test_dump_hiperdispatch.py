"""Tests of the demo's HiperDispatch records, goals and queues against its other records of the same hour."""

from __future__ import annotations

import pytest

from zlens.api import Session
from zlens.demo import machine, zos


@pytest.fixture(scope="module")
def session(dump_session: Session) -> Session:
    return dump_session


def test_decisions_agree_with_processors(session: Session) -> None:
    """Each is of one minute; fifteen of them are the dispatch time and MVS busy of SMF 70-1."""
    decisions = session.sql(
        "SELECT interval_end, used_pct, mvs_busy_pct, lpar_busy_pct, unparked, parked, machine_pct, request "
        "FROM decision ORDER BY 1"
    ).rows
    assert len(decisions) == 60
    quarters = session.sql(
        "SELECT interval_end, sum(busy_pct), avg(mvs_busy_pct), avg(busy_pct), count(*), "
        "count(*) FILTER (WHERE polarity = 'Vh') FROM cpu WHERE mvs_busy_pct IS NOT NULL "
        "GROUP BY ALL ORDER BY 1"
    ).rows
    totals = session.sql("SELECT phys_total_pct FROM cec WHERE cpu_type = 'CP' ORDER BY interval_end").rows
    assert len(quarters) == len(totals) == 4
    for number, ((end, used, mvs, lpar, cpus, high), (machine_pct,)) in enumerate(
        zip(quarters, totals, strict=True)
    ):
        within = decisions[15 * number : 15 * number + 15]
        assert within[-1][0] == end
        means = [sum(row[column] for row in within) / 15 for column in (1, 2, 3, 6)]
        # Busy is in sixteenths of a percent.
        assert means == pytest.approx([used, mvs, lpar, machine_pct], abs=0.05)
        assert {row[4:6] for row in within} == {(high, 0)} == {(cpus, 0)}
    assert {row[7] for row in decisions} == {None}


def test_topology_of_the_dump_is_of_its_cores(session: Session) -> None:
    rows = session.sql("SELECT core_id, cpu_type, polarity, nest_2, nest_1 FROM topology ORDER BY 1").rows
    assert rows == [(cpu, "CP", "Vh", 1, 1) for cpu in range(3)]


def test_goals_of_the_dump_are_those_of_workloads(session: Session) -> None:
    """Indexes are hundredths."""
    found = session.sql(
        "SELECT p.interval_end, class, w.performance_index, p.local_index, p.importance = w.importance, "
        "w.goal = p.goal FROM policy_interval AS p "
        "JOIN workload AS w USING (system, interval_end, class, period) WHERE class_kind = 'service'"
    ).rows
    assert len(found) == 4 * len(zos.CLASSES)
    for _, _, index, local, *same in found:
        assert local == (None if index is None else pytest.approx(index, abs=0.0051))
        assert same in ([True, True], [None, None])


def test_ready_work_units_are_those_of_workloads(session: Session) -> None:
    """A sample that uses or waits for a processor is a ready work unit."""
    samples = zos.samples_of(15 * machine.MINUTE)
    found = session.sql(
        "SELECT u.interval_end, any_value(u.average), sum(w.using), sum(w.delay) FROM work_units AS u "
        "JOIN (SELECT system, interval_end, cpu_using AS using, cpu_delay AS delay FROM role.class_period "
        "WHERE NOT report_class) AS w USING (system, interval_end) GROUP BY ALL ORDER BY 1"
    ).rows
    assert len(found) == 4
    for _, average, using, delay in found:
        assert average == pytest.approx((using + delay) / samples, abs=0.002)


def test_distribution_of_ready_work_adds_up(session: Session) -> None:
    rows = session.sql(
        "SELECT interval_end, count(*), sum(samples_pct) FROM ready_work GROUP BY ALL ORDER BY 1"
    ).rows
    assert [row[1:] for row in rows] == [(16, pytest.approx(100))] * 4


def test_address_spaces_are_those_with_records(session: Session) -> None:
    spaces = [space for service in zos.CLASSES for space in service.spaces]
    jobs = sum(space.kind == zos.JOB for space in spaces)
    rows = session.sql(
        "SELECT DISTINCT kind, average FROM address_spaces WHERE least = most AND most > 0"
    ).rows
    assert sorted(rows) == [
        ("BATCH Address Spaces", jobs),
        ("IN Queue", len(spaces)),
        ("STC Address Spaces", len(spaces) - jobs),
    ]
