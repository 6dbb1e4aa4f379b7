"""Tests of the second demo file's I/O data for consistency."""

from __future__ import annotations

import json

import pytest

import zlens

MINUTES = 60
#: Volumes except one that is added later; aliases of each pool; bytes of an operation, by volume.
DISKS = 18
ALIASES = {0: 4, 1: 6}
OPERATION = {"PAGE": 8 * 4096, "LNX003": 1 << 20, "LNX004": 1 << 20}
USUAL = 16 * 1024


def test_control_unit_rates_equal_device_rates(session: zlens.Session) -> None:
    rows = session.sql(
        "SELECT max(abs(d.rate - c.io_rate)), max(abs(d.read_pct - c.read_pct)), count(*) "
        "FROM device AS d JOIN cache AS c USING (system, interval_end, device)"
    ).rows
    # The volume added later exists from minute 25.
    assert rows[0][2] == MINUTES * DISKS + 36
    assert rows[0][:2] == (pytest.approx(0, abs=1e-6), pytest.approx(0, abs=1e-6))


def test_processor_ssch_rate_equals_device_rate(session: zlens.Session) -> None:
    rows = session.sql(
        "SELECT d.rate, c.rate FROM "
        "(SELECT interval_end, sum(rate) AS rate FROM device GROUP BY interval_end) AS d JOIN "
        "(SELECT interval_end, sum(ssch_rate) AS rate FROM cpu GROUP BY interval_end) AS c "
        "USING (interval_end)"
    ).rows
    assert len(rows) == MINUTES
    for disks, processors in rows:
        # Only processors count an operation that is active at the end of a minute.
        assert processors == pytest.approx(disks, abs=30 / 60)
        assert disks > 50


def test_reports_print_one_number_of_starts(session: zlens.Session) -> None:
    """SYSTEM, SYSSUMLG and DEVICE each round it differently."""
    ((disks,),) = session.sql(
        "SELECT avg(rate) FROM (SELECT sum(rate) AS rate FROM device GROUP BY interval_end)"
    ).rows
    (line,) = (line for line in session.report("system").split("\n") if "Real SSCH" in line)
    assert round(disks) == int(line.split()[4])
    summed = json.loads(session.report("syssumlg", "json"))
    (mean,) = (row for row in summed if row["row"] == "mean")
    assert mean["ssch_rate"] == pytest.approx(disks)


def test_channel_paths_carry_bytes_of_their_disks(session: zlens.Session) -> None:
    ((carried,),) = session.sql(
        "SELECT avg(total) FROM (SELECT sum(partition_read_rate + partition_write_rate) AS total "
        "FROM channel GROUP BY interval_end)"
    ).rows
    rows = session.sql("SELECT volume, avg(rate) FROM device WHERE volume IS NOT NULL GROUP BY volume").rows
    moved = sum(rate * OPERATION.get(volume, OPERATION.get(volume[:4], USUAL)) for volume, rate in rows)
    assert carried == pytest.approx(moved, rel=0.001)
    ((own, every),) = session.sql("SELECT max(partition_util_pct), max(util_pct) FROM channel").rows
    assert 0 < own < every < 80


def test_alias_use_stays_within_pool(session: zlens.Session) -> None:
    rows = session.sql(
        "SELECT pool, max(used), max(due), min(due), any_value(there) FROM ("
        "SELECT pool, interval_end, sum(in_use) AS used, sum(entitlement) AS due, "
        "any_value(aliases) AS there FROM alias_pool WHERE io_type <> 'ALL' GROUP BY ALL) "
        "GROUP BY pool ORDER BY pool"
    ).rows
    for pool, used, most, least, there in rows:
        assert used <= there + 1e-6
        assert (most, least) == (pytest.approx(there), pytest.approx(there))
        assert there == ALIASES[pool]
    ((waited,),) = session.sql("SELECT max(queued) FROM alias_pool WHERE pool = 0 AND io_type = 'MDISK'").rows
    assert waited > 0, "the story is of minidisk I/O that waits for aliases"


def test_volumes_in_service_equal_aliases_and_bases(session: zlens.Session) -> None:
    """Operations in service run on base devices and aliases."""
    rows = session.sql(
        "SELECT any_value(a.used), sum(d.rate * d.serv_s), count(*) FROM ("
        "SELECT interval_end, ssid, sum(in_use) AS used FROM alias_pool "
        "WHERE io_type <> 'ALL' GROUP BY ALL) AS a "
        "JOIN cache AS c USING (interval_end, ssid) JOIN device AS d USING (interval_end, device) "
        "GROUP BY interval_end, ssid"
    ).rows
    assert len(rows) == 2 * MINUTES
    for used, serving, volumes in rows:
        # Device times have units of 128 microseconds and count when an operation ends.
        assert used <= serving * 1.01 + 0.01
        assert serving <= used + volumes


def test_loading_guest_delays_minidisks(session: zlens.Session) -> None:
    """BATCH1 logs on at 07:49:20 and off at 08:14:35; in between, its volumes use all aliases."""
    rows = session.sql(
        "SELECT interval_end BETWEEN '2024-05-14 07:51:00Z' AND '2024-05-14 08:14:00Z' AS loads, "
        "min(queued), max(queued), max(in_use) FROM alias_pool WHERE pool = 0 AND io_type = 'MDISK' "
        "AND interval_end NOT IN ('2024-05-14 07:50:00Z', '2024-05-14 08:15:00Z') GROUP BY 1 ORDER BY 1"
    ).rows
    (_, _, calm, _), (_, least, _, used) = rows
    assert least > 2
    assert used > 3.5
    assert calm < 0.1
