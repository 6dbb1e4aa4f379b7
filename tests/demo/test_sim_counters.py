"""Tests of hardware counters with synthetic layouts: they agree with the work of the processors."""

from __future__ import annotations

from zlens.api import Session


def test_every_thread_is_measured_in_every_minute(session: Session) -> None:
    rows = session.sql(
        "SELECT cpu_id, count(*), any_value(generation) FROM cpumf GROUP BY cpu_id ORDER BY 1"
    ).rows
    assert rows == [(cpu, 60, "z15") for cpu in range(12)]
    (problems,) = session.sql("SELECT count(*) FROM problem").rows
    assert problems == (0,)


def test_cycles_equal_busy_time(session: Session) -> None:
    (apart,) = session.sql(
        "SELECT max(abs(counter.used - processor.user_time - processor.system_time)) "
        "FROM role.counter JOIN role.processor USING (system, source, interval_end, cpu_id)"
    ).rows
    assert apart[0] < 0.01


def test_load_increases_cache_misses(session: Session) -> None:
    rows = session.sql(
        "SELECT min(cpi), max(cpi), min(l1mp), max(l2p), max(memp), min(problem_state_pct) "
        "FROM cpumf WHERE cpi IS NOT NULL"
    ).rows
    ((least, most, l1mp, l2p, memp, problem),) = rows
    assert 1.2 < least < 1.5 < 2.4 < most < 3.2
    assert l1mp > 2.9
    assert 75 < l2p < 90
    assert 1 < memp < 4
    # The mean of users with 35 to 75%, weighted by their use.
    assert 50 < problem < 75
    report = session.report("$cpumflg")
    assert "$CPUMFLG" in report
    assert ">>Mean>>  11 IFL" in report
