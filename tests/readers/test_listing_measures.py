"""Tests that measures of listings equal their monitor data, to the printed precision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import zlens
from zlens import reports
from zlens.api import Session

LISTED = (
    "user", "prclog", "physlog", "lparlog", "syssumlg", "availlog", "fchannel", "upage", "uconf", "sysconf",
    "ustat", "cpowned",
)  # fmt: skip
PAGES = (
    "SELECT userid, {mean} FROM guest WHERE resident_pages IS NOT NULL GROUP BY userid ORDER BY userid"
).format(
    mean=", ".join(
        f"sum({name} * seconds) / sum(seconds)" if name.endswith("rate") else f"avg({name})"
        for name in (
            "page_read_rate", "page_write_rate", "page_steal_rate", "page_fault_rate",
            "resident_pages", "working_set_pages", "locked_pages", "paging_slots",
        )
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def listed(sim_session: Session, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Reports of the demo's z/VM as one listing."""
    path = tmp_path_factory.mktemp("listing") / "reports.txt"
    path.write_text("\n".join(reports.render(name, sim_session._core) for name in LISTED))
    with zlens.open(str(path)) as session:
        yield session


def test_listed_guests_equal_monitor(listed: Session, sim_session: Session) -> None:
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
    # A guest with several virtual CPUs uses more than one of them: nothing is withheld.
    assert max(cpu_s for _, cpu_s, *_ in rows) > 3600
    assert not [problem.detail for problem in listed.problems if problem.kind == "impossible"]


def test_listed_guest_exists_while_logged_on(listed: Session, sim_session: Session) -> None:
    """Printed percentages and I/O rates are over the time logged on."""
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


def test_listed_processors_equal_monitor(listed: Session, sim_session: Session) -> None:
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
            # Four digits, or the precision of the last one.
            assert rate is None or rate == pytest.approx(other, rel=6e-3, abs=0.06)


def test_listed_machine_equals_monitor(listed: Session, sim_session: Session) -> None:
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
    """FCX304 Core/Thread, FCX202, FCX225 users and FCX254 equal the monitor by interval and subject."""
    first = columns.split(", ")[0] if table in ("cpu", "partition") else "1"
    query = f"SELECT interval_end, {columns} FROM {table} WHERE flag IS NULL ORDER BY interval_end, {first}"
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    assert len(printed) == len(exact) >= 60
    for row, other in zip(printed, exact, strict=True):
        for value, wanted in zip(row, other, strict=True):
            assert value == (pytest.approx(wanted, abs=0.5001) if isinstance(wanted, float) else wanted)


METRICS = {
    "l1mp": 0.005, "l15p": 0.005, "l2lp": 0.005, "l2rp": 0.005, "l2p": 0.005, "l3p": 0.005, "l4lp": 0.005,
    "l4rp": 0.005, "memp": 0.005, "cpi": 0.0005, "est_instr_cmplx_cpi": 0.0005, "est_finite_cpi": 0.0005,
    "rni": 0.0005, "problem_state_pct": 0.005, "ghz": 0.0005, "lpar_cpu_pct": 0.005, "executed_mips": 0.05,
}  # fmt: skip


@pytest.mark.parametrize(("table", "key"), [("cpumf", "cpu_id"), ("cpumf_type", "cpu_type")])
@pytest.mark.parametrize("input", ["dump_session", "sim_session"])
def test_listed_counter_metrics_equal_records(
    input: str, table: str, key: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """$CPUMFLG has metrics: a processor's are as printed, those of a type weighted by instructions."""
    session: Session = request.getfixturevalue(input)
    path = tmp_path / "cpumflog.txt"
    path.write_text(reports.render("cpumflog", session._core))
    query = (
        f"SELECT interval_end, {key}, {', '.join(METRICS)}, basis, tlb_cpu_miss_pct, transactions "
        f"FROM {table} WHERE flag IS NULL ORDER BY ALL"
    )
    with zlens.open(str(path)) as listing:
        printed, exact = listing.sql(query).rows, session.sql(query).rows
        assert not [problem.detail for problem in listing.problems if problem.kind != "zone"]
    assert len(printed) == len(exact) >= 60
    for row, other in zip(printed, exact, strict=True):
        assert row[:2] == other[:2]
        for (name, half), value, wanted in zip(METRICS.items(), row[2:-3], other[2:-3], strict=True):
            # The sum of the processors' shares has the rounding of each.
            allowed = half * (1 if table == "cpumf" else 10 if name == "lpar_cpu_pct" else 2)
            assert value == (None if wanted is None else pytest.approx(wanted, abs=1.001 * allowed)), name
        assert row[-2:] == (None, None)


def test_idle_processor_does_not_hide_metrics(dump_session: Session, tmp_path: Path) -> None:
    """Of a processor that ran no instruction nothing is printed but its speed and no use."""
    lines = reports.render("cpumflog", dump_session._core).splitlines()
    last = max(number for number, line in enumerate(lines) if re.match(r"\d\d:\d\d:\d\d +2 CP ", line))
    cells = lines[last].split()[3:]
    assert len(cells) == 13
    idle = [*["." * 10] * 10, cells[10].rjust(10), "0.00".rjust(10), "." * 10]
    places = [match.span() for match in re.finditer(r"\S+", lines[last])][3:]
    for (_, end), cell in zip(places, idle, strict=True):
        lines[last] = lines[last][: end - 10] + cell + lines[last][end:]
    path = tmp_path / "cpumflog.txt"
    path.write_text("\n".join(lines))
    with zlens.open(str(path)) as listing:
        [row] = listing.sql(
            "SELECT cpi, l1mp, lpar_cpu_pct, executed_mips, processors FROM cpumf_type "
            "ORDER BY interval_end DESC LIMIT 1"
        ).rows
        [alone] = listing.sql(
            "SELECT cpi, l1mp, instructions, ghz FROM cpumf ORDER BY interval_end DESC, cpu_id DESC LIMIT 1"
        ).rows
    (l1mp, cpi, busy, mips), (other_l1mp, other_cpi, other_busy, other_mips) = (
        [float(lines[number].split()[cell]) for cell in (3, 8, 14, 15)] for number in (last - 2, last - 1)
    )
    # Instructions are MIPS times CPU time.
    first, second = mips * busy, other_mips * other_busy
    assert row == pytest.approx(
        (
            (cpi * first + other_cpi * second) / (first + second),
            (l1mp * first + other_l1mp * second) / (first + second),
            busy + other_busy,
            (first + second) / (busy + other_busy),
            3,
        )
    )
    assert alone == (None, None, 0, float(cells[10]))


def test_listed_channels_equal_monitor(listed: Session, sim_session: Session) -> None:
    """FCX215 has percentages of a channel path's maximum, and MiB: the measures have them as ratios."""
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


@pytest.mark.parametrize("reports_of_it", [("user", "upage", "uconf"), ("upage",)])
def test_listed_guest_pages_equal_monitor(
    reports_of_it: tuple[str, ...], sim_session: Session, tmp_path: Path
) -> None:
    """FCX113, with and without FCX112, gives one row for each guest, with rates over the guest's time."""
    path = tmp_path / "reports.txt"
    path.write_text("\n".join(reports.render(name, sim_session._core) for name in reports_of_it))
    with zlens.open(str(path)) as session:
        printed, exact = session.sql(PAGES).rows, sim_session.sql(PAGES).rows
        [(rows, guests)] = session.sql("SELECT count(*), count(DISTINCT userid) FROM guest").rows
        [batch] = session.sql("SELECT seconds, vcpus FROM guest WHERE userid = 'BATCH1'").rows
    assert rows == guests == len(exact) == len(printed)
    for row, other in zip(printed, exact, strict=True):
        assert row[0] == other[0]
        assert row[1:5] == pytest.approx(other[1:5], abs=0.0501)
        # The report averages over samples, the measure over time; virtual CPUs are added.
        assert row[5:] == pytest.approx(other[5:], rel=1e-3, abs=1.5)
    # Without USER, the time logged on is unknown.
    assert (batch[0] < 1800, batch[1]) == ((True, 2) if "user" in reports_of_it else (False, None))


def test_parts_of_printed_sums_are_null(listed: Session) -> None:
    """FCX112 prints DASD, unit record and all virtual I/O, but not the console's part of the rest."""
    kinds = "count(console_io_rate), count(ctca_io_rate), count(other_io_rate)"
    ((*others, known),) = listed.sql(f"SELECT {kinds}, count(virtual_io_rate) FROM guest").rows
    assert others == [0, 0, 0]
    assert known > 0


def test_listed_guest_definitions_equal_monitor(listed: Session, sim_session: Session) -> None:
    query = (
        "SELECT userid, max(storage_bytes), max(share_kind), max(share), max(reserved_pages), max(account), "
        "max(nullif(cpu_pool, '')), max(logon) FROM guest GROUP BY userid ORDER BY userid"
    )
    assert listed.sql(query).rows == sim_session.sql(query).rows
    query = (
        "SELECT userid, max(vcpus), max(storage), max(relative_share), min(max_share), max(reserved), "
        "max(account), max(nullif(logon_by, '')), max(logon) FROM role.guest_configuration "
        "GROUP BY userid ORDER BY userid"
    )
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    for row, other in zip(printed, exact, strict=True):
        # The size of a limit is not printed; USER has the virtual CPUs of a guest that logged on later.
        assert (row[0], row[2:4], row[5:]) == (other[0], other[2:4], other[5:])
        assert row[4] in (other[4], None)
        assert other[1] in (row[1], None)


def test_sysconf_processors_equal_monitor(listed: Session, sim_session: Session) -> None:
    query = (
        "SELECT DISTINCT cpu_id, upper(serial), cpu_type, status, core_id, thread_id "
        "FROM role.processor_configuration ORDER BY cpu_id"
    )
    printed = listed.sql(query).rows
    assert printed == sim_session.sql(query).rows
    assert len(printed) > 5


def test_listed_guest_states_equal_monitor(listed: Session, sim_session: Session) -> None:
    """FCX114 has percentages of the samples of all virtual CPUs, and the number of samples."""
    states = (
        "running", "cpu_wait", "loading", "page_wait", "io_wait", "simulation_wait", "console_wait",
        "test_idle", "eligible", "dormant", "dormant_server", "io_active", "page_active", "limit_wait",
    )  # fmt: skip
    shares = ", ".join(f"100 * sum({state}_samples) / sum(samples)" for state in states)
    query = f"SELECT userid, sum(samples), {shares} FROM guest_wait GROUP BY userid ORDER BY userid"
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    assert len(printed) == len(exact) > 10
    for row, other in zip(printed, exact, strict=True):
        assert row[:2] == other[:2]
        # Percentages and samples are integers; the rest of active and dormant has two rounding errors.
        assert row[2:] == pytest.approx(other[2:], abs=1.1)
    [unknown] = listed.sql("SELECT count(eligible_server_samples) FROM guest_wait").rows
    assert unknown == (0,)
    # USER of the same listing has the same guests: rows have states and use.
    query = (
        "SELECT userid, sum(samples), sum(running_pct * samples) / sum(samples) FROM guest "
        "WHERE samples > 0 GROUP BY userid ORDER BY userid"
    )
    for row, other in zip(listed.sql(query).rows, sim_session.sql(query).rows, strict=True):
        assert row[:2] == other[:2]
        assert row[2] == pytest.approx(other[2], abs=0.6)


def test_listed_paging_volumes_equal_monitor(listed: Session, sim_session: Session) -> None:
    query = (
        "SELECT volume, area, any_value(device), max(slots), arg_max(slots_used_pct, interval_end), "
        "avg(read_rate), avg(write_rate), avg(io_rate), avg(queue), 1000 * avg(mload_s) FROM paging "
        "WHERE flag IS NULL GROUP BY volume, area ORDER BY volume"
    )
    printed, exact = listed.sql(query).rows, sim_session.sql(query).rows
    assert {area for _, area, *_ in printed} == {"PAGE", "SPOOL"}
    assert len(printed) == len(exact) > 5
    for row, other in zip(printed, exact, strict=True):
        assert row[:4] == other[:4]
        assert row[4] == pytest.approx(other[4], abs=0.6)
        assert row[5:8] == pytest.approx(other[5:8], abs=0.06)
        assert row[8:] == pytest.approx(other[8:], abs=0.006)


def test_volume_with_two_areas_has_two_rows(sim_session: Session, tmp_path: Path) -> None:
    """The report does not print the start of an area; its kind distinguishes it from the other."""
    text = reports.render("cpowned", sim_session._core)
    [spool] = [line for line in text.splitlines() if line.startswith("D100 VMRES1 SPOOL")]
    path = tmp_path / "cpowned.txt"
    path.write_text(text.replace(spool, spool.replace("D100 VMRES1", "D010 PAGE01")))
    with zlens.open(str(path)) as session:
        query = "SELECT area, slots FROM paging WHERE volume = 'PAGE01' ORDER BY area"
        assert session.sql(query).rows == [("PAGE", 1803060), ("SPOOL", 180300)]
