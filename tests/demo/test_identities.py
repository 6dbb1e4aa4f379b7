"""Identities of published listings, and relations between records, over every demo file.

The file of a whole z/VM system must have rows for each of them; others are asked what they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.api import Session
from zlens.inputs.options import parse_zone

FILES = (demo.MONWRITE_NAME, demo.RMF_NAME, demo.SMF_NAME, demo.SIM_NAME)

#: Kinds of cryptographic functions with counters of their own.
CRYPTO = ("prng", "sha", "dea", "aes")

#: A name: the table and the rows it is about, and the condition that holds for each of them.
HOLD = {
    # Times of processors and partitions.
    "processor times make up the interval": (
        "cpu WHERE wait_pct IS NOT NULL",
        "user_pct + system_pct + wait_pct + coalesce(parked_pct, 0) BETWEEN 0 AND 100.01",
    ),
    "emulation is part of user time": (
        "cpu WHERE emulation_pct IS NOT NULL",
        "emulation_pct <= user_pct + 1e-6",
    ),
    "spinning is part of system time": ("cpu WHERE spin_pct IS NOT NULL", "spin_pct <= system_pct + 0.5"),
    "partitions use no more than the machine has": (
        "cec WHERE total_pct IS NOT NULL",
        "total_pct <= 100 * physical + 0.01",
    ),
    "PR/SM takes part of what partitions are dispatched for": (
        "partition WHERE total_s IS NOT NULL",
        "effective_s <= total_s + 1e-6",
    ),
    # Multithreading (SMTMET, eight of eight published rows; RMF, six).
    "MT utilization is productivity by core busy": (
        "core WHERE mt_utilization_pct IS NOT NULL",
        "abs(mt_utilization_pct - productivity_pct * core_busy_pct / 100 * sampled_s / seconds) < 0.1 "
        "OR abs(mt_utilization_pct - productivity_pct * core_busy_pct / 100) < 0.1",
    ),
    "capacity factor is productivity by its maximum": (
        "core_type WHERE core_busy_pct > 60",
        "abs(capacity_factor_pct - productivity_pct * max_capacity_factor_pct / 100) < 3",
    ),
    # Devices.
    "service time is pending, disconnect and connect time": (
        "device WHERE serv_s IS NOT NULL",
        "abs(serv_s - pend_s - disc_s - conn_s) < 1e-9",
    ),
    "response time is service time and queue by rate": (
        "device WHERE resp_s IS NOT NULL AND rate > 0",
        "abs(resp_s - serv_s - queued / rate) < 1e-6",
    ),
    "hits are part of reads": ("cache WHERE read_hit_pct IS NOT NULL", "read_hit_pct BETWEEN 0 AND 100"),
    "a partition's part of a channel path is part of it": (
        "channel WHERE util_pct IS NOT NULL",
        "partition_util_pct <= util_pct + 1e-9",
    ),
    # Aliases (HPALIAS, four of four published intervals).
    "entitlement is aliases by share": (
        "alias_pool WHERE io_type = 'MDISK'",
        "abs(entitlement - aliases * share / (SELECT sum(o.share) FROM alias_pool AS o "
        "WHERE o.interval_end = alias_pool.interval_end AND o.pool = alias_pool.pool "
        "AND o.io_type <> 'ALL')) < 1e-6",
    ),
    # Pages.
    "available frames are part of all": (
        "storage WHERE zone = 'all' AND available IS NOT NULL",
        "available < frames",
    ),
}

#: A name: a query of the rows that it is about, each with whether it holds.
ROWS = {
    # Within half a point in the published rows; caches that are filled again after a move take some here.
    "the model of two states": (
        "SELECT abs(k.productivity_pct "
        "- 100 * ((2 - k.thread_density) + (k.thread_density - 1) * most) / most) < 1 "
        "FROM (SELECT *, max_capacity_factor_pct / 100 AS most FROM core_type) AS t "
        "JOIN core AS k USING (system, interval_end, cpu_type) WHERE k.core_busy_pct > 60"
    ),
    "aliases in use are operations in service": (
        "SELECT any_value(a.used) <= sum(d.rate * d.serv_s) * 1.01 + 0.01 FROM ("
        "SELECT interval_end, ssid, sum(in_use) AS used FROM alias_pool "
        "WHERE io_type <> 'ALL' GROUP BY ALL) AS a "
        "JOIN cache AS c USING (interval_end, ssid) JOIN device AS d USING (interval_end, device) "
        "GROUP BY interval_end, ssid"
    ),
    "DIAGNOSE by code is part of all": (
        "SELECT sum(d.diag_x44 + d.diag_x9c + d.diag_xa8) <= sum(a.diagnose_ibm) FROM role.diagnoses AS d "
        "JOIN role.activity AS a USING (system, source, interval_end, cpu_id) GROUP BY interval_end"
    ),
    "as many DIAGNOSE X'9C' of guests by processor as by outcome": (
        "SELECT abs(sum(d.diag_x9c) - any_value(s.diag9c_not_ready + s.diag9c_wait + s.diag9c_soft_wait "
        "+ s.diag9c_dispatched)) < 0.5 FROM role.diagnoses AS d "
        "JOIN role.system_activity AS s USING (system, source, interval_end) GROUP BY interval_end"
    ),
    "users of a pool are guests that say so": (
        "SELECT p.users = count(DISTINCT g.userid) FROM role.cpu_pool AS p "
        "LEFT JOIN role.guest AS g ON g.interval_end = p.interval_end AND g.cpu_pool = p.pool "
        "GROUP BY p.interval_end, p.pool, p.users"
    ),
    "a pool uses what its guests do": (
        "SELECT abs(any_value(p.cpu_time) - sum(g.cpu_time)) < 0.01 FROM role.cpu_pool AS p "
        "JOIN role.guest AS g ON g.interval_end = p.interval_end AND g.cpu_pool = p.pool "
        "WHERE p.cpu_time IS NOT NULL AND (p.pool <> 'ZLDEV' "
        # The minute in which a guest joins.
        "OR p.interval_end <> '2024-05-14 07:42:00Z') "
        "GROUP BY p.interval_end, p.pool HAVING bool_and(g.cpu_time IS NOT NULL)"
    ),
    "locks are what processors spin for": (
        "SELECT abs(any_value(l.spun) - sum(c.spin_pct)) <= 1e-4 * any_value(l.spun) FROM cpu AS c JOIN ("
        "SELECT interval_end, sum(spin_pct) AS spun FROM lock WHERE mode = 'combined' GROUP BY ALL) AS l "
        "USING (interval_end) GROUP BY interval_end "
        # VARY resets the counters of a processor.
        "HAVING bool_and(c.spin_pct IS NOT NULL) AND count(*) = (SELECT max(n) FROM ("
        "SELECT count(*) AS n FROM cpu GROUP BY interval_end))"
    ),
    "guests hold no more frames than there are": (
        "SELECT sum(g.resident_high + coalesce(g.resident_low, 0)) <= any_value(s.frames) "
        "FROM (SELECT interval_end, frames FROM storage "
        "WHERE zone = 'all') AS s JOIN role.guest AS g USING (interval_end) GROUP BY interval_end"
    ),
    "what guests have on paging volumes is what these hold": (
        "SELECT abs(sum(g.slots) - any_value(p.used)) < 100 "
        "FROM (SELECT interval_end, sum(page_slots) AS used FROM role.page_volume GROUP BY ALL) AS p "
        "JOIN role.guest AS g USING (interval_end) "
        "GROUP BY interval_end HAVING any_value(p.used) > 0"
    ),
    "guests are charged what processors were": (
        "SELECT abs(capture_pct - 100) < 1 FROM load WHERE capture_pct IS NOT NULL"
    ),
    "a guest runs on no more processors than it has virtual ones": (
        "SELECT cpu_s <= seconds * vcpus + 0.01 FROM guest WHERE cpu_s IS NOT NULL AND vcpus IS NOT NULL"
    ),
    "the own partition uses what its processors were busy": (
        "SELECT abs(any_value(p.effective_s) - sum(k.core_busy_pct * k.sampled_s) / 100) "
        "<= 0.002 * any_value(p.effective_s) FROM core AS k JOIN partition AS p "
        "ON p.interval_end = k.interval_end AND p.partition = k.system GROUP BY p.interval_end"
    ),
    **{
        f"{kind} waits only where it runs": (
            f"SELECT coalesce({kind}_blocked_fn_rate, 0) <= 0 OR {kind}_fn_rate > 0 FROM cpumf "
            f"WHERE {kind}_fn_rate IS NOT NULL"
        )
        for kind in CRYPTO
    },
}  # fmt: skip

#: Which of these the file of one whole z/VM system is asked: all.
COMPLETE = demo.SIM_NAME


@pytest.fixture(scope="module", params=FILES)
def opened(request: pytest.FixtureRequest, demo_folder: Path) -> Iterator[tuple[str, Session]]:
    with zlens.open([demo_folder / request.param], options=zlens.Options(tz=parse_zone(demo.ZONE))) as found:
        yield request.param, found


@pytest.mark.parametrize("name", HOLD)
def test_every_row_holds(opened: tuple[str, Session], name: str) -> None:
    file, session = opened
    rows, condition = HOLD[name]
    told(file, session.sql(f"SELECT {condition} FROM {rows}").rows)


@pytest.mark.parametrize("name", ROWS)
def test_records_agree(opened: tuple[str, Session], name: str) -> None:
    file, session = opened
    told(file, session.sql(ROWS[name]).rows)


def told(file: str, rows: list[tuple[object, ...]]) -> None:
    assert rows or file != COMPLETE, "nothing to ask"
    assert [number for number, (held,) in enumerate(rows) if held is False] == []
    if file == COMPLETE:
        assert any(held for (held,) in rows), "never known"


def test_a_share_with_a_limit_is_reported_as_limited(sim_file: Path) -> None:
    with zlens.open([sim_file]) as session:
        rows = [line.split() for line in session.report("uconf").splitlines()]
    limited = {row[0] for row in rows if "limited" in row}
    assert limited == {"LINUX07"}
