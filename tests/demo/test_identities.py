"""Tests of identities from published listings and of relations between records, for every demo file.

The file of a complete z/VM system must have rows for each z/VM identity, the SMF dump for each z/OS identity;
other files are checked where they have rows.
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

#: Kinds of cryptographic functions with their own counters.
CRYPTO = ("prng", "sha", "dea", "aes")

#: By name: the table and rows concerned, and the condition that holds for each row.
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
    "PR/SM's whole is logical cores, its overhead for them and its management (PHYSLOG)": (
        "cec WHERE total_pct IS NOT NULL AND lpmgt_pct IS NOT NULL",
        "abs(total_pct - lgclc_pct - ovrhd_pct - lpmgt_pct) < 0.01",
    ),
    "physical use is effective use and management (RMF, Partition Data)": (
        "cec WHERE phys_total_pct IS NOT NULL",
        "abs(phys_total_pct - phys_lpmgt_pct - phys_effective_pct) < 0.01",
    ),
    "logical cores run no longer than there was time": (
        "partition WHERE total_s IS NOT NULL",
        "total_s <= logical_cpus * seconds * 1.001",
    ),
    "every vertical core is high, medium or low": (
        "partition WHERE vh IS NOT NULL",
        "vh + vm + vl = logical_cpus",
    ),
    "shared weight is the partitions' weight": (
        "cec WHERE total_weight IS NOT NULL",
        "total_weight = (SELECT sum(p.weight) FROM partition AS p WHERE p.interval_end = cec.interval_end "
        "AND p.cpu_type = cec.cpu_type AND p.source = cec.source AND NOT coalesce(p.dedicated, false))",
    ),
    # Entitlement (zVPS: 100 x weight / sum of weights x shared physical cores).
    "a partition is entitled to its share of the shared cores": (
        "partition WHERE entitlement IS NOT NULL",
        "abs(entitlement - share_pct / 100 * (SELECT any_value(physical - coalesce(dedicated, 0)) "
        "FROM cec AS c WHERE c.interval_end = partition.interval_end "
        "AND c.cpu_type = partition.cpu_type)) < 0.02",
    ),
    # Hardware counters (CPU MF: definitions of Burg's formulas, MT-diagnostic counters).
    "CPI is instruction complexity and finite cache": (
        "cpumf WHERE est_finite_cpi IS NOT NULL",
        "abs(cpi - est_finite_cpi - est_instr_cmplx_cpi) < 1e-9 AND est_finite_cpi BETWEEN 0 AND cpi",
    ),
    "finite cache CPI is cycles per L1 miss by misses": (
        "cpumf WHERE est_finite_cpi IS NOT NULL",
        "abs(est_finite_cpi - est_scpl1m * l1mp / 100) < 1e-9",
    ),
    "every L1 miss is sourced somewhere": (
        "cpumf WHERE memp IS NOT NULL",
        "abs(coalesce(l15p, 0) + coalesce(l2p, 0) + coalesce(l2lp, 0) + coalesce(l2rp, 0) + coalesce(l3p, 0) "
        "+ coalesce(l4lp, 0) + coalesce(l4rp, 0) + memp - 100) < 0.5",
    ),
    "problem state is part of all instructions": (
        "cpumf WHERE problem_state_pct IS NOT NULL",
        "problem_state_pct BETWEEN 0 AND 100",
    ),
    "a processor counts no more cycles than it has": (
        "cpumf WHERE lpar_cpu_pct IS NOT NULL",
        "lpar_cpu_pct <= 100.01",
    ),
    "cryptographic functions are part of the cycles": (
        "cpumf WHERE crypto_busy_pct IS NOT NULL",
        "crypto_busy_pct <= lpar_cpu_pct",
    ),
    "misses of the TLB are part of the cycles, and of page tables part of these misses": (
        "cpumf WHERE tlb_cpu_miss_pct IS NOT NULL",
        "tlb_cpu_miss_pct BETWEEN 0 AND 100 AND tlb_pte_pct BETWEEN 0 AND 100",
    ),
    "one or two threads are active in a core that is dispatched": (
        "core WHERE one_thread_s IS NOT NULL",
        "thread_density BETWEEN 1 AND 2 AND abs(thread_density "
        "- (one_thread_s + 2 * two_thread_s) / (one_thread_s + two_thread_s)) < 0.01",
    ),
    "the factor of prorated time is that of the threads' time (Linux, vtime.c)": (
        "core WHERE prorated_factor IS NOT NULL",
        "abs(prorated_factor "
        "- (2 * one_thread_s + two_thread_s) / (2 * (one_thread_s + two_thread_s))) < 1e-6",
    ),
    # Guests.
    "a guest's own instructions are part of its CPU time": (
        "guest WHERE virtual_s IS NOT NULL",
        "virtual_s <= cpu_s + 1e-6",
    ),
    "prorated time is part of raw time": (
        "guest WHERE prorated_s IS NOT NULL",
        "prorated_s <= cpu_s + 1e-6",
    ),
    "resident pages are part of a guest's storage": (
        "guest WHERE resident_pages IS NOT NULL",
        "resident_pages * 4096 <= storage_bytes",
    ),
    "DASD is part of virtual I/O": (
        "guest WHERE virtual_io_rate IS NOT NULL",
        "dasd_io_rate <= virtual_io_rate + 1e-9",
    ),
    "a guest is found in exactly one state at a time (USTAT)": (
        "guest WHERE samples > 0",
        "abs(io_wait_pct + console_wait_pct + simulation_wait_pct + page_wait_pct + limit_wait_pct "
        "+ cpu_wait_pct + running_pct + eligible_server_pct + loading_pct + dormant_pct "
        "+ dormant_server_pct + io_active_pct + test_idle_pct + test_idle_server_pct + page_active_pct "
        "+ other_wait_pct - 100) < 1e-6",
    ),
    # Locks (LOCKLOG: collisions by their mean spin).
    "spinning is collisions by their mean time": (
        "lock WHERE mode = 'combined'",
        "abs(spin_pct - 100 * collision_rate * avg_spin_s) <= 1e-6 * spin_pct + 1e-9",
    ),
    # Workload activity of z/OS (RMF).
    "velocity is using by using and delay": (
        "workload WHERE velocity_pct IS NOT NULL",
        "using_samples + delay_samples <= samples "
        "AND abs(velocity_pct - 100 * using_samples / (using_samples + delay_samples)) < 0.01",
    ),
    "APPL% is the time on CPs": (
        "workload WHERE appl_cp_pct IS NOT NULL",
        "abs(appl_cp_pct - 100 * cp_s / seconds) < 0.01",
    ),
    "execution is part of the response": (
        "workload WHERE response_s IS NOT NULL AND execution_s IS NOT NULL",
        "execution_s <= response_s + 1e-6",
    ),
    "service is that of CPU, SRB, I/O and storage": (
        "workload_service WHERE service_rate IS NOT NULL",
        "abs(service_rate - cpu_service_rate - srb_service_rate - io_service_rate - storage_service_rate) "
        "<= 1e-6 * service_rate + 0.01",
    ),
    "MVS busy is a share": ("cpu WHERE mvs_busy_pct IS NOT NULL", "mvs_busy_pct BETWEEN 0 AND 100"),
    # Devices.
    "measured operations are part of all": (
        "device WHERE measured_rate IS NOT NULL",
        "measured_rate <= rate + 1e-9",
    ),
    "slots in use are part of a paging area": (
        "paging WHERE slots IS NOT NULL",
        "slots_used <= slots",
    ),
    "aliases in use are part of a pool's": (
        "alias_pool WHERE in_use IS NOT NULL",
        "in_use <= aliases + 0.01",
    ),
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

#: By name: a query of the rows concerned, each with whether the identity holds.
ROWS = {
    # Within half a point in the published rows; refilling caches after a move costs some here.
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
    "counters run while processors are busy": (
        "SELECT abs(avg(c.lpar_cpu_pct) - any_value(u.busy_pct)) < 0.5 FROM cpu AS u JOIN cpumf AS c "
        "ON c.system = u.system AND c.cpu_id = u.cpu_id AND c.interval_end <= u.interval_end "
        "AND c.interval_end > u.interval_end - to_microseconds(CAST(u.seconds * 1e6 AS BIGINT)) "
        "WHERE u.busy_pct IS NOT NULL GROUP BY u.cpu_id, u.interval_end"
    ),
    "a machine's partitions are all that uses it": (
        "SELECT abs(any_value(c.effective_s) - sum(p.effective_s)) < 0.01 FROM cec AS c "
        "JOIN partition AS p USING (machine, source, interval_end, cpu_type) GROUP BY interval_end, cpu_type"
    ),
    "modes of a lock make up the whole": (
        "SELECT abs(sum(spin_pct) FILTER (mode = 'combined') "
        "- coalesce(sum(spin_pct) FILTER (mode <> 'combined'), 0)) < 1e-6 "
        "FROM lock GROUP BY interval_end, lock HAVING count(DISTINCT mode) > 1"
    ),
    "virtual processors make up their guest": (
        "SELECT abs(any_value(g.cpu_s) - sum(c.cpu_s)) < 1e-6 FROM guest AS g "
        "JOIN guest_cpu AS c USING (system, interval_end, userid, basis) GROUP BY interval_end, userid, basis"
    ),
    "storage is defined once for all processors of a guest": (
        "SELECT abs(any_value(s.virtual_bytes) - sum(g.storage_bytes)) < 1 FROM storage AS s "
        "JOIN guest AS g USING (system, interval_end) WHERE s.zone = 'all' AND s.virtual_bytes IS NOT NULL "
        "AND g.basis = 'sample' GROUP BY s.interval_end"
    ),
    "pages are read from the volumes": (
        "SELECT abs(any_value(s.page_read_rate) - sum(p.read_rate)) "
        "<= 0.02 * any_value(s.page_read_rate) + 0.1 "
        "FROM storage AS s JOIN paging AS p USING (system, interval_end) "
        "WHERE s.zone = 'all' AND p.area = 'PAGE' "
        "GROUP BY s.interval_end"
    ),
    "the cache sees what the device does": (
        "SELECT abs(c.io_rate - d.rate) <= 0.02 * d.rate + 0.1 FROM cache AS c "
        "JOIN device AS d USING (system, interval_end, device) "
        "WHERE c.io_rate IS NOT NULL AND d.rate IS NOT NULL"
    ),
    "service classes use no more than the CPs did": (
        "SELECT sum(w.cp_s) <= any_value(u.used) * 1.001 FROM workload AS w JOIN ("
        "SELECT system, interval_end, sum(busy_pct * online_pct / 1e4 * seconds) AS used "
        "FROM cpu WHERE cpu_type = 'CP' GROUP BY ALL) AS u USING (system, interval_end) "
        "WHERE w.class_kind = 'service' GROUP BY interval_end"
    ),
    "a class is sampled once": (
        "SELECT s.samples = w.samples FROM workload_state AS s "
        "JOIN workload AS w USING (system, interval_end, class, class_kind, period) "
        "WHERE s.samples IS NOT NULL"
    ),
    "transactions of all buckets are those that ended": (
        "SELECT max(r.total) = max(w.ended) FROM workload_response AS r "
        "JOIN workload AS w USING (system, interval_end, class, class_kind, period) "
        "GROUP BY interval_end, class, period"
    ),
    "DIAGNOSE instructions of all codes are those of all processors (PRIVOP, PRCLOG)": (
        "SELECT abs(sum(number) - any_value(total)) <= 0.001 * any_value(total) "
        "FROM (UNPIVOT (SELECT COLUMNS('diag_.*') FROM role.diagnoses) ON COLUMNS(*) "
        "INTO NAME code VALUE number), "
        "(SELECT sum(diagnose_ibm) AS total FROM role.activity)"
    ),
    "processors of the machine are configured, standby or reserved (SYSCONF)": (
        "SELECT real_total = real_configured + real_standby + real_reserved FROM role.configuration"
    ),
    "as many threads of Linux run as it has (APPLDATA)": "SELECT running <= threads FROM role.linux_guest",
    "a CP core has one thread (SYSSET)": (
        "SELECT hardware_cp = 1 AND activated_cp = 1 FROM role.scheduler_settings"
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

#: z/OS identities; the file of one complete z/VM system must have rows for all others.
ZOS = {
    "velocity is using by using and delay",
    "APPL% is the time on CPs",
    "execution is part of the response",
    "service is that of CPU, SRB, I/O and storage",
    "MVS busy is a share",
    "service classes use no more than the CPs did",
    "a class is sampled once",
    "transactions of all buckets are those that ended",
}


@pytest.fixture(scope="module", params=FILES)
def opened(request: pytest.FixtureRequest, demo_folder: Path) -> Iterator[tuple[str, Session]]:
    with zlens.open([demo_folder / request.param], options=zlens.Options(tz=parse_zone(demo.ZONE))) as found:
        yield request.param, found


@pytest.mark.parametrize("name", HOLD)
def test_demo_identities_hold(opened: tuple[str, Session], name: str) -> None:
    file, session = opened
    rows, condition = HOLD[name]
    check_identity(file, name, session.sql(f"SELECT {condition} FROM {rows}").rows)


@pytest.mark.parametrize("name", ROWS)
def test_records_agree(opened: tuple[str, Session], name: str) -> None:
    file, session = opened
    check_identity(file, name, session.sql(ROWS[name]).rows)


def check_identity(file: str, name: str, rows: list[tuple[object, ...]]) -> None:
    assert [number for number, (held,) in enumerate(rows) if held is False] == []
    if file == (demo.SMF_NAME if name in ZOS else demo.SIM_NAME):
        assert any(held for (held,) in rows), "nothing to ask, or never known"


def test_share_with_limit_is_reported_as_limited(sim_file: Path) -> None:
    with zlens.open([sim_file]) as session:
        rows = [line.split() for line in session.report("uconf").splitlines()]
    limited = {row[0] for row in rows if "limited" in row}
    assert limited == {"LINUX07"}
