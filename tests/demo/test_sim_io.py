"""The I/O part of the second demo file: what it tells must agree with itself."""

from __future__ import annotations

import json

import pytest

import zlens
from zlens.demo import sim, sim_io


def test_control_units_count_what_the_disks_did(session: zlens.Session) -> None:
    rows = session.sql(
        "SELECT max(abs(d.rate - c.io_rate)), max(abs(d.read_pct - c.read_pct)), count(*) "
        "FROM device AS d JOIN cache AS c USING (system, interval_end, device)"
    ).rows
    assert rows[0][2] == sim.MINUTES * len(sim_io.DISKS)
    assert rows[0][:2] == (pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6))


def test_processors_start_what_the_disks_did(session: zlens.Session) -> None:
    rows = session.sql(
        "SELECT d.rate, c.rate FROM "
        "(SELECT interval_end, sum(rate) AS rate FROM device GROUP BY interval_end) AS d JOIN "
        "(SELECT interval_end, sum(ssch_rate) AS rate FROM cpu GROUP BY interval_end) AS c "
        "USING (interval_end)"
    ).rows
    assert len(rows) == sim.MINUTES
    for disks, processors in rows:
        assert processors == pytest.approx(disks)
        assert disks > 100


def test_reports_print_one_number_of_starts(session: zlens.Session) -> None:
    """SYSTEM, SYSSUMLG and DEVICE round it each in their own way."""
    ((disks,),) = session.sql(
        "SELECT avg(rate) FROM (SELECT sum(rate) AS rate FROM device GROUP BY interval_end)"
    ).rows
    (line,) = (line for line in session.report("system").split("\n") if "Real SSCH" in line)
    assert round(disks) == int(line.split()[4])
    summed = json.loads(session.report("syssumlg", "json"))
    (mean,) = (row for row in summed if row["row"] == "mean")
    assert mean["ssch_rate"] == pytest.approx(disks)


def test_channel_paths_carry_the_bytes_of_their_disks(session: zlens.Session) -> None:
    ((carried,),) = session.sql(
        "SELECT avg(total) FROM (SELECT sum(partition_read_rate + partition_write_rate) AS total "
        "FROM channel GROUP BY interval_end)"
    ).rows
    moved = sum(
        sim_io.done(530, disk, sim.MINUTES).operations * disk.bytes / (60 * sim.MINUTES)
        for disk in sim_io.DISKS
    )
    assert carried == pytest.approx(moved, rel=0.001)
    ((own, every),) = session.sql("SELECT max(partition_util_pct), max(util_pct) FROM channel").rows
    assert 0 < own < every < 80


def test_pools_have_no_more_in_use_than_there_is(session: zlens.Session) -> None:
    rows = session.sql(
        "SELECT pool, max(used), max(due), min(due), any_value(there) FROM ("
        "SELECT pool, interval_end, sum(in_use) AS used, sum(entitlement) AS due, "
        "any_value(aliases) AS there FROM alias_pool WHERE io_type <> 'ALL' GROUP BY ALL) "
        "GROUP BY pool ORDER BY pool"
    ).rows
    for pool, used, most, least, there in rows:
        assert used <= there + 1e-6
        assert (most, least) == (pytest.approx(there), pytest.approx(there))
        assert there == sim_io.POOLS[pool][1]
    ((waited,),) = session.sql("SELECT max(queued) FROM alias_pool WHERE pool = 0 AND io_type = 'MDISK'").rows
    assert waited > 0, "the story is of minidisk I/O that waits for aliases"


def test_paging_misses_the_cache_when_the_load_is_high(session: zlens.Session) -> None:
    rows = session.sql(
        "SELECT interval_end, avg(disc_s) AS disc, avg(read_hit_pct) AS hit FROM device "
        "WHERE volume LIKE 'PAGE%' GROUP BY interval_end ORDER BY disc"
    ).rows
    calm, busy = rows[0], rows[-1]
    assert busy[1] > 2 * calm[1]
    assert busy[2] < calm[2] - 10
