"""Tests that partitions, locks and CPU pools of the second demo file agree with its processors."""

from __future__ import annotations

import pytest

from zlens.api import Session

SYSTEM = "ZLSIM"
PHYSICAL, ENTITLED = 12, 4.5
WEB, WEB_LIMIT = "ZLWEB", 1.4


def test_simulated_partitions_fit_into_machine(session: Session) -> None:
    rows = session.sql("SELECT physical, total_pct, phys_total_pct, ovrhd_pct, lpmgt_pct FROM cec").rows
    assert len(rows) == 60
    for physical, total, of_physical, overhead, management in rows:
        assert physical == PHYSICAL
        assert 0 < total < 100 * physical
        assert of_physical == pytest.approx(total / physical)
        assert 0 < overhead < management < total


def test_own_cores_are_dispatched_while_busy(session: Session) -> None:
    rows = session.sql(
        "SELECT any_value(60 * c.cores), sum(k.core_busy_pct * k.sampled_s) / 100, any_value(p.effective_s), "
        "any_value(p.entitlement), any_value(p.vh), any_value(p.vm), any_value(p.vl) "
        "FROM partition AS p JOIN core AS k USING (system, interval_end) "
        "JOIN core_type AS c USING (system, interval_end) "
        f"WHERE p.partition = '{SYSTEM}' GROUP BY p.interval_end"
    ).rows
    assert len(rows) == 60
    for _, busy, effective, entitlement, *polarities in rows:
        assert effective == pytest.approx(busy, rel=1e-4)
        assert entitlement == ENTITLED
        assert polarities == [4, 1, 1]


def test_lock_spin_equals_processor_spin(session: Session) -> None:
    rows = session.sql(
        "SELECT (SELECT sum(spin_pct) FROM lock WHERE mode = 'combined' AND interval_end = c.interval_end), "
        "sum(c.spin_pct) FROM cpu AS c WHERE c.spin_pct IS NOT NULL GROUP BY c.interval_end"
    ).rows
    assert len(rows) == 60
    assert all(locks == pytest.approx(spun, rel=1e-6) and spun > 0 for locks, spun in rows)


def test_cpu_pools_stay_within_user_time(session: Session) -> None:
    rows = session.sql(
        "SELECT sum(a.cpu_time), any_value(c.used) FROM role.cpu_pool AS a "
        "JOIN (SELECT interval_end, sum(user_pct) / 100 * 60 AS used FROM cpu GROUP BY ALL) AS c "
        "USING (interval_end) WHERE a.cpu_time IS NOT NULL GROUP BY a.interval_end"
    ).rows
    assert len(rows) == 60
    assert all(0 < pools < user for pools, user in rows)


def test_cpu_pool_is_limited(session: Session) -> None:
    rows = session.sql(
        "SELECT limited_time > 0, cpu_time / seconds FROM role.cpu_pool "
        f"WHERE pool = '{WEB}' AND cpu_time IS NOT NULL"
    ).rows
    assert {limited for limited, _ in rows} == {True, False}
    assert max(used for _, used in rows) < 1.05 * WEB_LIMIT
