"""Tests that logical processors and cores with synthetic layouts agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens import demo
from zlens.api import Session
from zlens.catalog import layouts


def test_simulated_system_is_described(session: Session) -> None:
    rows = session.sql("SELECT system, release, synthetic, mt_cp, mt_ifl, nominal_s FROM system").rows
    assert rows == [("ZLSIM", layouts.SIM, True, 1, 2, 60.0)]
    assert session._core.all_problems() == []
    (count,) = session.sql('SELECT count(*) FROM "interval" WHERE flag IS NULL').rows
    assert count == (60,)


@pytest.mark.long
def test_another_seed_is_another_hour(sim_file: Path, tmp_path: Path) -> None:
    demo.write(tmp_path, 531)
    assert (tmp_path / demo.SIM_NAME).read_bytes() != sim_file.read_bytes()


def test_time_of_threads_adds_up(session: Session) -> None:
    """User, system, wait and parked time equal elapsed time minus PR/SM's time for other partitions."""
    rows = session.sql(
        "SELECT user_pct + system_pct + wait_pct + parked_pct, suspend_pct, polarity "
        "FROM cpu WHERE user_pct IS NOT NULL"
    ).rows
    assert len(rows) == 60 * 12
    for total, suspended, polarity in rows:
        assert total + suspended == pytest.approx(100, abs=1e-6)
        assert -1e-6 <= suspended < (1 if polarity == "Vh" else 25)


def test_threads_and_cores_agree(session: Session) -> None:
    """The time of a core's threads equals its busy time by thread density while the core was not parked."""
    rows = session.sql(
        "SELECT any_value(k.core_busy_pct * k.thread_density * k.sampled_s / k.seconds), "
        "sum(c.user_pct + c.system_pct) "
        "FROM core AS k JOIN cpu AS c USING (system, source, interval_end, core_id) "
        "WHERE k.core_busy_pct IS NOT NULL GROUP BY k.interval_end, core_id"
    ).rows
    assert len(rows) > 300
    for threads, ran in rows:
        assert threads == pytest.approx(ran, abs=0.01)


def test_available_capacity_is_entitlement_less_use(session: Session) -> None:
    """Used is the sum of the sampled cores' MT utilization; available is the entitlement minus used."""
    rows = session.sql(
        "SELECT t.mt_used_pct, t.mt_available_pct, t.entitlement_pct, "
        "sum(k.productivity_pct * k.core_busy_pct * k.sampled_s / k.seconds) / 100 "
        "FROM core_type AS t JOIN core AS k USING (system, source, interval_end, cpu_type) "
        "GROUP BY ALL"
    ).rows
    assert len(rows) == 60
    for used, left, entitled, cores in rows:
        # The productivity of the type is the plain mean over its cores, whose busy differs a little.
        assert used == pytest.approx(cores, rel=0.02)
        assert entitled == 450
        assert left == pytest.approx(entitled - used)


def test_two_state_model_holds(session: Session) -> None:
    """Capacity factor is productivity by its maximum, as in IBM's listings of busy systems."""
    rows = session.sql(
        "SELECT productivity_pct, capacity_factor_pct, max_capacity_factor_pct, mt_utilization_pct, "
        "core_busy_pct FROM core_type WHERE core_busy_pct > 60"
    ).rows
    assert len(rows) > 20
    for productivity, factor, maximum, utilization, busy in rows:
        assert 100 < factor < maximum
        assert factor == pytest.approx(productivity * maximum / 100, rel=0.01)
        assert utilization == pytest.approx(productivity * busy / 100)


def test_vertical_low_core_is_parked_at_low_load(session: Session) -> None:
    """The number of unparked cores equals CP's decisions, one every two seconds."""
    rows = session.sql("SELECT interval_end, cores FROM core_type ORDER BY interval_end").rows
    decided = session.sql(
        "SELECT date_trunc('minute', tod) + INTERVAL 1 MINUTE, avg(unparked) FROM role.unparking "
        "GROUP BY 1 ORDER BY 1"
    ).rows
    assert len(rows) == len(decided) == 60
    for (end, cores), (minute, unparked) in zip(rows, decided, strict=True):
        assert end == minute
        # A decision holds until the next one, which may be in the next minute.
        assert cores == pytest.approx(unparked, abs=2 / 60)
    assert rows[0][1] == 5
    assert max(cores for _, cores in rows) == 6


REPORTS = (
    "smtmet", "sysset", "sysconf", "system", "cpu", "procsum", "prclog", "privop", "topolog", "pucfglog",
    "indicate_multithread", "query_capability",
)  # fmt: skip


def test_two_records_agree_on_diagnose_count(session: Session) -> None:
    """D5R12 counts by code and in total, D0R1 in total."""
    ((first, second),) = session.sql(
        "SELECT (SELECT sum(sytsyp_plsdiagt_d) FROM d0r1), (SELECT sum(prcdia_plstotdi_d) FROM d5r12)"
    ).rows
    assert first == second > 0


def test_cores_have_location(session: Session) -> None:
    rows = session.sql("SELECT DISTINCT core_id, polarity, threads, nesting FROM core ORDER BY core_id").rows
    assert rows[0] == (0, "Vh", 2, "1/1/1")
    assert rows[-1][:3] == (5, "Vl", 2)
    assert len({row[3] for row in rows}) > 1
