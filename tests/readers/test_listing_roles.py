"""Tests of roles of listings against published cells and the records of the same system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

import listing_roundtrip
import zlens
from readers import test_lspai, test_zpwr
from zlens import reports
from zlens.api import Session
from zlens.catalog import listings, roles
from zlens.catalog.raw_columns import LISTED
from zlens.inputs.options import Options, parse_time_spec

MONITOR = (
    "cpu", "procsum", "lockact", "pciact", "pciconf", "cplact", "syslog", "evswitch", "vswitch", "lsharact",
    "partition", "dispwait", "relocations", "topolog",
)  # fmt: skip
DUMP = ("workload", "workstate", "partition")
#: A scrape of an HMC whose reports have all kinds of adapters, and partitions with and without power.
SCRAPE = """\
zhmc_nic_data_rate_sent_bytes_per_second{cpc="A",partition="P1",nic="N",adapter="OSD1",port="1"} 5000000
zhmc_port_bandwidth_usage_ratio{cpc="A",adapter="OSD1",port="1"} 0.25
zhmc_channel_usage_ratio{cpc="A",channel_css_chpid="0.5C",partition="P2",shared="false"} 0.5
zhmc_channel_usage_ratio{cpc="A",channel_css_chpid="0.5D",partition="",shared="true"} 0.75
zhmc_partition_power_watt{cpc="A",partition="P1"} 812.5
zhmc_partition_power_watt{cpc="A",partition="P2"} 12.5
zhmc_partition_network_adapter_usage_ratio{cpc="A",partition="P1"} 0.4
zhmc_partition_crypto_adapter_usage_ratio{cpc="A",partition="P3"} 0.1
zhmc_cpc_power_watts{cpc="A"} 6081.0
zhmc_cpc_heat_load_total_btu_per_hour{cpc="A"} 20927
"""
#: Inputs of reports of neither system, and values that they have at least.
INPUTS = {"power": (test_zpwr.as_json(), 14), "hmc": (SCRAPE, 12)}


PUBLISHED = Path(__file__).parents[2] / "docs" / "published" / "listings"
#: Measures with the printed cells of listings that IBM published.
CELLS = {
    "prclog-smt2": (
        "SELECT cpu_id, core_id, thread_id, cpu_type, polarity, dedicated, entitlement_pct, busy_pct, "
        "user_pct, system_pct, emulation_pct, inst_sim_rate, diag_rate, sigp_rate, ssch_rate, page_read_rate "
        "FROM cpu WHERE cpu_id IN (0, 5) ORDER BY cpu_id",
        [
            (0, 0, 0, "IFL", "Vh", True, 100, 84.7, 84.5, 0.2, 77.0, 30035, 416.7, 1124, 34.6, 0.2),
            (5, 2, 1, "IFL", "Vh", True, 100, 84.9, 84.7, 0.2, 77.5, 29667, 526.1, 1029, 1.3, 0.0),
        ],
    ),
    "physlog": (
        "SELECT cpu_type, physical, dedicated, logical_cpus, total_weight, round(lgclc_pct, 1), "
        "round(ovrhd_pct, 2), round(lcot_l, 3), round(lpmgt_pct, 1), round(total_pct, 1), round(type_tl, 3) "
        "FROM cec ORDER BY interval_end LIMIT 2",
        [
            ("IFL", 86, 0, 116, 1000, 4238.0, 340.31, 1.080, 1714.0, 6292.3, 1.485),
            # 4164.1 + 343.12 + 1911.5, which is printed as 6418.7.
            ("IFL", 86, 0, 115, 1000, 4164.1, 343.12, 1.082, 1911.5, 6418.7, 1.541),
        ],
    ),
    "hpalias": (
        "SELECT ssid, pool, io_type, share, entitlement, in_use, queued FROM alias_pool "
        "ORDER BY interval_end, io_type LIMIT 2",
        [("0600", 0, "MDISK", 20, 2.00, 2.37, 27.18), ("0600", 0, "PAGING", 140, 14.00, 13.63, 5.19)],
    ),
    "cpumflog": (
        "SELECT cpu_id, cpu_type, l1mp, l2p, l3p, l4lp, cpi, instructions, ghz, lpar_cpu_pct "
        "FROM cpumf WHERE cpu_id IN (2, 3) ORDER BY cpu_id",
        [
            (2, "IFL", 1.96, 87.01, 12.93, 0.0, None, None, None, None),
            (3, "IFL", 1.96, 86.93, 13.01, 0.0, None, None, None, None),
        ],
    ),
    "smtmet-cores": (
        "SELECT core_id, cpu_type, round(core_busy_pct, 2), round(thread_density, 2), productivity_pct, "
        "round(mt_utilization_pct, 1) FROM core ORDER BY interval_end, core_id LIMIT 3",
        [
            (0, "IFL", 79.26, 1.84, 93.4, 74.0),
            (1, "IFL", 79.91, 1.83, 93.1, 74.4),
            (2, "IFL", 79.11, 1.85, 93.8, 74.2),
        ],
    ),
    "sysset-smt2": (
        "SELECT limit_algorithm, distribution, polarization, global_data, multithreading, requested_cp, "
        "activated_cp, activated_ifl, activated_icf, activated_ziip FROM role.scheduler_settings",
        [("Consumption", "Reshuffle", "Vertical", "ON", "Enabled", "Max", 1, 2, 1, 1)],
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_measures_equal_published_cells(name: str) -> None:
    query, expected = CELLS[name]
    with zlens.open(PUBLISHED / f"{name}.txt") as session:
        assert session.sql(query).rows == expected


def fed() -> set[str]:
    """Return the raw tables of listings that roles read."""
    origins = [origin for name in roles.entities() for origin in roles.entity(name).origins]
    return {table for origin in origins for table in roles.tables_read(origin) if table.startswith(LISTED)}


def test_listing_table_feeds_role_or_has_reason() -> None:
    """Exactly the tables that feed no role have a reason."""
    tables = set(listings.tables())
    apart = {key for key in listings.unmapped_reasons() if "." not in key}
    assert tables - fed() == apart
    assert len(fed()) > 50


def test_listing_table_yields_to_better_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog check reports a table that would never be read."""
    lock = roles.entity("lock")
    assert [each.table for each in lock.origins[-1].unless] == ["listing_locklog", "d0r23_callkdata"]
    assert roles.check() == []
    wrong = replace(lock, origins=lock.origins[:1] + lock.origins[2:])
    monkeypatch.setattr(roles, "entity", lambda name: wrong if name == "lock" else roles.catalog_entity(name))
    assert roles.check() == [
        "roles/lock.toml: listing_lockact yields to listing_locklog, which provides no role"
    ]


@pytest.mark.parametrize("name", MONITOR)
def test_reports_of_z_vm(name: str, sim_session: Session, tmp_path: Path) -> None:
    same, missing, wrong = listing_roundtrip.of_measures(sim_session._core, name, tmp_path)
    assert missing == []
    # A mean of a few waits is computed from rounded numbers. The time logged on is not printed, so the
    # total rate is not reproduced.
    apart = [
        each
        for each in wrong
        if each.startswith("listing_dispwait mean_us: ")
        or (each.startswith("listing_dispwait dispatch_rate: ") and "'row': 'total'" in each)
    ]
    assert [each for each in wrong if each not in apart] == []
    assert same >= 10


@pytest.mark.parametrize("name", DUMP)
def test_reports_of_z_os(name: str, dump_session: Session, tmp_path: Path) -> None:
    same, missing, wrong = listing_roundtrip.of_measures(dump_session._core, name, tmp_path)
    assert (missing, wrong) == ([], [])
    assert same > 100


@pytest.mark.parametrize("name", INPUTS)
def test_reports_of_linux_and_of_hmc(name: str, tmp_path: Path) -> None:
    text, least = INPUTS[name]
    path = tmp_path / "input"
    path.write_text(text)
    with zlens.open(path) as session:
        same, missing, wrong = listing_roundtrip.of_measures(session._core, name, tmp_path)
    assert (missing, wrong) == ([], [])
    assert same >= least


def test_executions_of_listing_by_time_and_in_total(tmp_path: Path) -> None:
    """Rows >>Mean>> of a report without intervals have the mean of an interval, and the rate of all time."""
    path = tmp_path / "input"
    path.write_text(test_lspai.csv())
    columns = '"set", state, name, function, sum(executions) FROM pai WHERE executions > 0'
    by_time = f"SELECT interval_end, {columns} GROUP BY ALL ORDER BY ALL"
    in_total = f"SELECT {columns} GROUP BY ALL ORDER BY ALL"
    with zlens.open(path) as session:
        lines = reports.render("pai", session._core).splitlines(keepends=True)
        exact, total = session.sql(by_time).rows, session.sql(in_total).rows
    path.write_text("".join(lines))
    with zlens.open(path) as session:
        assert session.sql(by_time).rows == exact
    path.write_text("".join(line for line in lines if not re.match(r"\d\d:|>>Peak", line)))
    with zlens.open(path) as session:
        printed = session.sql(in_total).rows
    assert [row[:-1] for row in printed] == [row[:-1] for row in total]
    # A rate has two decimals, and the time is of two minutes.
    assert [row[-1] for row in printed] == [pytest.approx(row[-1], abs=120 * 0.005 + 0.5) for row in total]
    assert len(total) == 2


def test_use_of_partition_in_two_reports_is_joined(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_text(SCRAPE)
    query = "SELECT partition, power_w, network_pct, crypto_pct FROM partition_use ORDER BY partition"
    with zlens.open(path) as session:
        exact = session.sql(query).rows
        printed = "\n".join(reports.render(name, session._core) for name in ("hmc", "power"))
    path.write_text(printed)
    with zlens.open(path) as session:
        assert session.sql(query).rows == exact
    assert exact == [("P1", 812.5, 40.0, None), ("P2", 12.5, None, None), ("P3", None, None, 10.0)]


def test_interval_report_replaces_total_report(sim_session: Session, tmp_path: Path) -> None:
    """If FCX100 CPU and FCX304 PRCLOG have the same time, only the second feeds processors."""
    cpu, prclog = (reports.render(name, sim_session._core) for name in ("cpu", "prclog"))
    query = "SELECT source, count(*), count(DISTINCT cpu_id), avg(busy_pct) FROM cpu GROUP BY source"
    answers = []
    for text in (prclog, cpu + "\n" + prclog, cpu):
        path = tmp_path / "reports.txt"
        path.write_text(text)
        with zlens.open(path) as session:
            answers.append(session.sql(query).rows)
    by_time, both, whole = answers
    assert by_time == both
    assert [row[0] for row in both] == ["listing"]
    assert [row[0] for row in whole] == ["listing-means"]
    assert whole[0][1] == whole[0][2] == both[0][2] < both[0][1]
    assert whole[0][3] == pytest.approx(both[0][3], abs=0.1)


def test_columns_of_shorter_report_are_retained(sim_session: Session, tmp_path: Path) -> None:
    """FCX267 EVSWITCH has all ports; the controller of an uplink is in FCX240 VSWITCH."""
    path = tmp_path / "reports.txt"
    path.write_text("\n".join(reports.render(name, sim_session._core) for name in ("evswitch", "vswitch")))
    query = "SELECT kind, count(*), count(controller), count(queue_full_rate) FROM network GROUP BY kind"
    with zlens.open(path) as session:
        assert sorted(session.sql(query).rows) == [("nic", 6, 0, 0), ("uplink", 1, 1, 1)]


def test_report_of_other_time_is_retained(sim_file: Path, tmp_path: Path) -> None:
    """PRCLOG of the last half hour has no data of the first."""
    half = parse_time_spec("10:00")
    with zlens.open(sim_file, options=Options(end=half)) as first:
        cpu = reports.render("cpu", first._core)
    with zlens.open(sim_file, options=Options(start=half)) as second:
        prclog = reports.render("prclog", second._core)
    path = tmp_path / "reports.txt"
    path.write_text(cpu + "\n" + prclog)
    query = "SELECT source, count(DISTINCT interval_end) FROM cpu GROUP BY source ORDER BY source"
    with zlens.open(path) as session:
        assert session.sql(query).rows == [("listing", 30), ("listing-means", 1)]


def test_settings_of_scheduler_reach_rules(sim_session: Session, tmp_path: Path) -> None:
    """FCX154 SYSSET has several tables with one row for each setting; the role has one row of all."""
    path = tmp_path / "sysset.txt"
    path.write_text(reports.render("sysset", sim_session._core))
    query = "SELECT polarization, multithreading, activated_max, excess_use_ifl FROM role.scheduler_settings"
    with zlens.open(path) as session:
        assert session.sql(query).rows == sim_session.sql(query).rows != []


def test_records_replace_their_listings(sim_session: Session, sim_file: Path, tmp_path: Path) -> None:
    """A folder has a monitor file and its listings; nothing is counted twice."""
    for name in ("cpu", "prclog", "user"):
        (tmp_path / f"{name}.txt").write_text(reports.render(name, sim_session._core))
    with zlens.open([sim_file, tmp_path]) as session:
        for table in ("cpu", "guest", "load"):
            query = f"SELECT source, count(*) FROM {table} GROUP BY source"
            assert session.sql(query).rows == sim_session.sql(query).rows
