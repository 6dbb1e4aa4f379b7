"""Measures of listings: those of the monitor data they were printed from, to the printed precision."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import zlens
from zlens import reports
from zlens.api import Session

LISTED = ("user", "prclog", "physlog", "lparlog", "syssumlg", "availlog", "fchannel")


@pytest.fixture(scope="module")
def listed(sim_session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Reports of the demo's z/VM as one listing."""
    path = tmp_path_factory.mktemp("listing") / "reports.txt"
    path.write_text("\n".join(reports.render(name, sim_session) for name in LISTED))
    with zlens.open(str(path)) as session:
        yield session


def test_guests_of_a_listing_are_those_of_the_monitor(listed: Session, sim_session: Session) -> None:
    whole = dict(
        sim_session.sql("SELECT userid, sum(cpu_s) FROM guest WHERE cpu_s IS NOT NULL GROUP BY userid").rows
    )
    vcpus = dict(sim_session.sql("SELECT userid, max(vcpus) FROM guest GROUP BY userid").rows)
    rows = listed.sql("SELECT userid, cpu_s, vcpus, dasd_io_rate, virtual_io_rate FROM guest").rows
    assert len(rows) == len(whole) > 5
    for userid, cpu_s, virtual_cpus, dasd, virtual in rows:
        assert cpu_s == pytest.approx(whole[userid], abs=0.06)
        assert virtual_cpus == vcpus[userid]
        assert dasd <= virtual + 0.1
    # A guest of several virtual processors uses more than one of them: nothing is withheld.
    assert max(cpu_s for _, cpu_s, *_ in rows) > 3600
    assert not [problem.detail for problem in listed.problems if problem.kind == "impossible"]


def test_a_guest_of_a_listing_was_there_while_it_was_logged_on(listed: Session, sim_session: Session) -> None:
    """What is printed are rates over that time: percent, and I/O."""
    query = (
        "SELECT sum(seconds), 100 * sum(cpu_s) / sum(seconds), "
        "sum(virtual_io_rate * seconds) / sum(seconds) FILTER (virtual_io_rate IS NOT NULL) "
        "FROM guest WHERE userid = 'BATCH1'"
    )
    [shown], [exact] = listed.sql(query).rows, sim_session.sql(query).rows
    assert exact[0] < 3600 / 2
    assert shown == pytest.approx(exact, rel=1e-3)
    [always] = listed.sql("SELECT seconds, cpu_pct FROM guest WHERE userid = 'LINUX01'").rows
    assert always[0] == 3600


def test_processors_of_a_listing_are_those_of_the_monitor(listed: Session, sim_session: Session) -> None:
    query = (
        "SELECT interval_end, cpu_id, busy_pct, diag_rate, ssch_rate, sigp_rate, page_read_rate FROM cpu "
        "WHERE flag IS NULL ORDER BY ALL"
    )
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    assert len(printed) == len(exact) > 100
    for (end, cpu, *rates), (other_end, other_cpu, *others) in zip(printed, exact, strict=True):
        assert (end, cpu) == (other_end, other_cpu)
        for rate, other in zip(rates, others, strict=True):
            assert (rate is None) == (other is None)
            # Four digits, or half a unit of the last one.
            assert rate is None or rate == pytest.approx(other, rel=6e-3, abs=0.06)


def test_the_machine_of_a_listing_is_that_of_the_monitor(listed: Session, sim_session: Session) -> None:
    query = (
        "SELECT interval_end, cpu_type, physical, logical_cpus, lgclc_pct, total_pct FROM cec "
        "WHERE flag IS NULL ORDER BY interval_end, cpu_type"
    )
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    assert len(printed) == len(exact) > 10
    for row, other in zip(printed, exact, strict=True):
        assert row[:4] == other[:4]
        assert row[4:] == pytest.approx(other[4:], abs=0.2)


@pytest.mark.parametrize(
    ("columns", "table"),
    [
        ("cpu_id, core_id, thread_id", "cpu"),
        (
            "partition, cpu_type, logical_cpus, weight, dedicated, capped, upid, total_pct, phys_total_pct",
            "partition",
        ),
        ("logged_on", "load"),
        ("available, available_low, available_high, waiting, reserved", "storage"),
    ],
)
def test_other_reports_feed_their_measures(
    columns: str, table: str, listed: Session, sim_session: Session
) -> None:
    """FCX304 Core/Thread, FCX202, FCX225 users, FCX254: by interval and subject, as the monitor has them."""
    first = columns.split(", ")[0] if table in ("cpu", "partition") else "1"
    query = f"SELECT interval_end, {columns} FROM {table} WHERE flag IS NULL ORDER BY interval_end, {first}"
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    assert len(printed) == len(exact) >= 60
    for row, other in zip(printed, exact, strict=True):
        for value, wanted in zip(row, other, strict=True):
            assert value == (pytest.approx(wanted, abs=0.5001) if isinstance(wanted, float) else wanted)


def test_channels_of_a_listing_are_those_of_the_monitor(listed: Session, sim_session: Session) -> None:
    """FCX215 has percentages of what a channel path can do, and MiB: the measures have them as ratios."""
    query = (
        "SELECT interval_end, chpid, measurement_group, util_pct, partition_util_pct, bus_util_pct, "
        "read_rate, write_rate, partition_read_rate, partition_write_rate FROM channel "
        "WHERE flag IS NULL ORDER BY interval_end, chpid"
    )
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    assert len(printed) == len(exact) >= 60
    for row, other in zip(printed, exact, strict=True):
        assert row[:3] == other[:3]
        assert row[3:6] == pytest.approx(other[3:6], abs=0.5001)
        assert row[6:] == pytest.approx(other[6:], abs=0.0501 * 1048576)
