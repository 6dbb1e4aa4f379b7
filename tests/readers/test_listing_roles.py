"""Reports made from the measures of their own listings are the printed ones: what roles read is put back."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import listing_round
import zlens
from zlens import reports
from zlens.api import Session
from zlens.catalog import listings, roles
from zlens.catalog.columns import LISTED
from zlens.inputs.options import Options, parse_moment

MONITOR = (
    "cpu", "procsum", "lockact", "pciact", "pciconf", "cplact", "syslog", "evswitch", "vswitch", "lsharact",
    "partition", "dispwait", "relocations", "topolog",
)  # fmt: skip
DUMP = ("workload", "workstate", "partition")


def fed() -> set[str]:
    """The raw tables of listings that roles read."""
    origins = [origin for name in roles.entities() for origin in roles.entity(name).origins]
    return {table for origin in origins for table in roles.read(origin) if table.startswith(LISTED)}


def test_every_table_feeds_a_role_or_the_catalog_says_why_not() -> None:
    """Nothing is set apart that is fed, and what is set apart is there."""
    tables = set(listings.tables())
    apart = {key for key in listings.apart() if "." not in key}
    assert tables - fed() == apart
    assert len(fed()) > 50


def test_a_table_gives_way_to_one_of_the_same_entity(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the catalog names one that would never be read."""
    lock = roles.entity("lock")
    assert [each.table for each in lock.origins[-1].unless] == ["listing_locklog", "d0r23_callkdata"]
    assert roles.check() == []
    wrong = replace(lock, origins=lock.origins[:1] + lock.origins[2:])
    monkeypatch.setattr(roles, "entity", lambda name: wrong if name == "lock" else roles.cataloged(name))
    assert roles.check() == [
        "roles/lock.toml: listing_lockact gives way to listing_locklog, which gives nothing"
    ]


@pytest.mark.parametrize("name", MONITOR)
def test_reports_of_z_vm(name: str, sim_session: Session, tmp_path: Path) -> None:
    same, missing, wrong = listing_round.of_measures(sim_session, name, tmp_path)
    assert missing == []
    # A mean of a few waits is computed from rounded numbers.
    assert [each for each in wrong if not each.startswith("listing_dispwait mean_us: ")] == []
    assert same >= 10


@pytest.mark.parametrize("name", DUMP)
def test_reports_of_z_os(name: str, dump_session: Session, tmp_path: Path) -> None:
    same, missing, wrong = listing_round.of_measures(dump_session, name, tmp_path)
    assert (missing, wrong) == ([], [])
    assert same > 100


def test_a_report_by_time_replaces_one_of_the_whole_time(sim_session: Session, tmp_path: Path) -> None:
    """Of FCX100 CPU and FCX304 PRCLOG of one time, the second feeds processors: none is counted twice."""
    cpu, prclog = (reports.render(name, sim_session) for name in ("cpu", "prclog"))
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


def test_what_only_the_shorter_report_has_is_kept(sim_session: Session, tmp_path: Path) -> None:
    """FCX267 EVSWITCH has all ports; the controller of an uplink is in FCX240 VSWITCH."""
    path = tmp_path / "reports.txt"
    path.write_text("\n".join(reports.render(name, sim_session) for name in ("evswitch", "vswitch")))
    query = "SELECT kind, count(*), count(controller), count(queue_full_rate) FROM network GROUP BY kind"
    with zlens.open(path) as session:
        assert sorted(session.sql(query).rows) == [("nic", 6, 0, 0), ("uplink", 1, 1, 1)]


def test_one_of_another_time_is_kept(sim_file: Path, tmp_path: Path) -> None:
    """PRCLOG of the last half hour says nothing of the first."""
    half = parse_moment("10:00")
    with zlens.open(sim_file, options=Options(end=half)) as first:
        cpu = reports.render("cpu", first)
    with zlens.open(sim_file, options=Options(start=half)) as second:
        prclog = reports.render("prclog", second)
    path = tmp_path / "reports.txt"
    path.write_text(cpu + "\n" + prclog)
    query = "SELECT source, count(DISTINCT interval_end) FROM cpu GROUP BY source ORDER BY source"
    with zlens.open(path) as session:
        assert session.sql(query).rows == [("listing", 30), ("listing-means", 1)]


def test_settings_of_the_scheduler_reach_the_rules(sim_session: Session, tmp_path: Path) -> None:
    """FCX154 SYSSET is several tables with one row for each setting; the role has a row of them."""
    path = tmp_path / "sysset.txt"
    path.write_text(reports.render("sysset", sim_session))
    query = "SELECT polarization, multithreading, activated_max, excess_use_ifl FROM role.scheduler_settings"
    with zlens.open(path) as session:
        assert session.sql(query).rows == sim_session.sql(query).rows != []


def test_records_replace_what_was_printed_from_them(
    sim_session: Session, sim_file: Path, tmp_path: Path
) -> None:
    """A folder with a monitor file and its listings: nothing is counted twice."""
    for name in ("cpu", "prclog", "user"):
        (tmp_path / f"{name}.txt").write_text(reports.render(name, sim_session))
    with zlens.open([sim_file, tmp_path]) as session:
        for table in ("cpu", "guest", "load"):
            query = f"SELECT source, count(*) FROM {table} GROUP BY source"
            assert session.sql(query).rows == sim_session.sql(query).rows
