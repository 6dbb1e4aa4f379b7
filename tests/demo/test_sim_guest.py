"""Tests of guests with synthetic layouts: their times equal those of the processors."""

from __future__ import annotations

import pytest

from zlens.api import Session

MINUTES = 60
#: Minutes in which BATCH1 logs on and off.
COMES, GOES = 20, 45
#: Samples of a virtual CPU per minute: one every two seconds.
SAMPLES = 30


def test_guest_time_adds_up_to_user_time(session: Session) -> None:
    rows = session.sql("SELECT capture_pct, logged_on, active FROM load ORDER BY interval_end").rows
    assert [captured for captured, _, _ in rows] == [pytest.approx(100)] * MINUTES
    assert [count for _, count, _ in rows] == [
        12 if COMES <= number < GOES else 11 for number in range(1, MINUTES + 1)
    ]
    assert {active for _, _, active in rows} == {11, 12}


def test_guest_virtual_time_equals_emulation_time(session: Session) -> None:
    rows = session.sql(
        "SELECT g.virtual, l.guest_pct / 100 * l.online * l.seconds FROM load AS l JOIN "
        "(SELECT interval_end, sum(virtual_s) AS virtual FROM guest GROUP BY interval_end) AS g "
        "USING (interval_end)"
    ).rows
    assert len(rows) == MINUTES
    assert all(guests == pytest.approx(emulated, rel=1e-6) for guests, emulated in rows)


def test_three_times_keep_their_order(session: Session) -> None:
    """A thread needs less time without a sibling than with one; core time is the minimum."""
    rows = session.sql("SELECT cpu_s, mt1_s, prorated_s FROM guest_cpu").rows
    assert len(rows) > 1_500
    assert all(0 <= prorated <= mt1 <= raw < 60 for raw, mt1, prorated in rows if raw is not None)


def test_states_are_sampled_continuously(session: Session) -> None:
    rows = session.sql(
        "SELECT samples, running_samples, seconds FROM guest_wait WHERE samples IS NOT NULL"
    ).rows
    assert {samples for samples, _, seconds in rows if seconds > 50} == {SAMPLES}
    (ran,) = session.sql("SELECT 100 * sum(cpu_s) / sum(seconds) FROM guest_cpu").rows[0]
    assert 100 * sum(r for _, r, _ in rows) / sum(s for s, _, _ in rows) == pytest.approx(ran, abs=3)
