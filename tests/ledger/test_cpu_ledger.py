"""Tests of the CPU ledger: its levels add up, over inputs of all kinds and over the systems of a machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import zlens
from samples import needs, sample
from zlens import demo
from zlens.catalog.ledgers import load_ledger
from zlens.cli import main
from zlens.errors import QueryError
from zlens.inputs.options import Options, parse_zone
from zlens.ledger import answer
from zlens.ledger.ledger_row import LedgerRow
from zlens.ledger.rows import ledger_rows
from zlens.ledger.tree import entries, imbalances
from zlens.session.session import CoreSession

CPU = load_ledger("cpu")
INPUTS = (
    sample("rmf/rmf-postprocessor-cpu-8562-z15.xml"),
    sample("smf/rmf_cpu_activity_S0W1_2021-07-27.txt"),
    sample("public/smf70-rmf-and-cmf.smf"),
    sample("public/smf70-moved-to-other-cpc.smf"),
    sample("smf/synth_rdw.smf"),
)
NO_USE = sample("public/smf72-impossible-cpu.smf")


@pytest.fixture(scope="module")
def demo_session(demo_files: list[Path]) -> Iterator[CoreSession]:
    """All demo files: three machines' time, of which z/VM and z/OS share one."""
    options = Options(tz=parse_zone(demo.ZONE))
    with CoreSession([str(path) for path in demo_files], options) as session:
        yield session


@pytest.fixture(scope="module")
def demo_rows(demo_session: CoreSession) -> list[LedgerRow]:
    return ledger_rows(demo_session, CPU)


def amount(rows: list[LedgerRow], account: str, subject: str | None = None) -> float:
    found = [row.amount for row in rows if row.account == account and subject in (None, row.subject)]
    assert found
    return sum(value for value in found if value is not None)


def test_ledger_levels_of_demo_add_up(demo_rows: list[LedgerRow]) -> None:
    balances = imbalances(CPU, demo_rows)
    assert {node.split("/")[0] for node in balances} == {"machine", "partition", "system", "workload"}
    assert set(balances.values()) == {0.0}
    leaves = [row for row in demo_rows if row.node is None or row.node not in balances]
    roots = sum(row.amount or 0.0 for row in demo_rows if row.parent is None)
    assert sum(row.amount or 0.0 for row in leaves) == pytest.approx(roots)


@pytest.mark.parametrize("path", [pytest.param(path, marks=needs(path), id=path.name) for path in INPUTS])
def test_ledger_levels_of_samples_add_up(path: Path) -> None:
    with CoreSession([str(path)]) as session:
        rows = ledger_rows(session, CPU)
    balances = imbalances(CPU, rows)
    assert balances
    assert set(balances.values()) == {0.0}


def test_ledger_states_what_has_no_owner(demo_session: CoreSession, demo_files: list[Path]) -> None:
    """ZLDEMO, with z/VM 5.3, has guests at the ends of transactions, and what Linux on them counts.

    What Linux counts is at most what the others leave of the time charged to users.
    """
    query = (
        "SELECT account, sum(amount) FROM ledger WHERE ledger = 'cpu' AND account LIKE 'user%' GROUP BY ALL"
    )
    [(account, users)] = demo_session.sql(query).rows
    assert account == "user_difference"
    share = answer.solve(demo_session, "cpu").figure("not_attributed_pct")
    assert share == pytest.approx(100 * abs(users) / (4 * 3600))
    for path in demo_files:
        with CoreSession([str(path)], Options(tz=parse_zone(demo.ZONE))) as session:
            alone = answer.solve(session, "cpu").figure("not_attributed_pct")
        assert alone is None or alone < 5, path.name


def batch_beside_linux(demand: float, burst_ms: float, seconds: int) -> dict[str, object]:
    """Return a scenario of z/VM 5.3, where BATCH ends transactions, and LINUX1 has APPLDATA instead."""
    return {
        "model": "system",
        "processors": {"IFL": 2},
        "machine": {"type": "2097", "hardware_counters": False},
        "partition": [
            {"name": "ZVM1", "type": "IFL", "cores": 2, "dedicated": True, "storage": 8192}
            | {"records": "5.3", "transaction_ends": True}
        ],
        "user": [
            {"name": name, "type": "IFL", "relative": 100, "virtual_cpus": 1, "demand": demand, "load": load}
            | {"storage": 1024, "application_data": linux}
            for name, demand, load, linux in (
                ("LINUX1", 60, {"burst": 10, "simulation_rate": 20000, "simulation_cost": 5}, True),
                ("BATCH", demand, {"burst": burst_ms}, False),
            )
        ],
        "simulation": {"seconds": seconds},
    }


@pytest.mark.long
def test_guests_without_samples_have_use_by_linux(tmp_path: Path) -> None:
    """z/VM 5.3: LINUX1 never ends a transaction, BATCH does; the simulator knows what both used."""
    scenario = batch_beside_linux(5, 200, 120)
    [done] = zlens.simulate(scenario, tmp_path / "zvm.data")
    used = done.summary["systems"]["ZVM1"]["users"]["LINUX1"]["cpu_s"]
    with CoreSession([str(tmp_path / "zvm.data")]) as session:
        rows = ledger_rows(session, CPU)
        share = answer.solve(session, "cpu").figure("not_attributed_pct")
    by_account = {row.account: row for row in rows if row.subject == "LINUX1"}
    assert by_account["guests"].amount == pytest.approx(used, rel=0.03)
    statuses = {name: row.status for name, row in by_account.items()}
    assert statuses == {"guests": "assumed", "guest_instructions": "measured", "guest_cp": "assumed"}
    assert share is not None
    assert share < 5
    assert set(imbalances(CPU, rows).values()) == {0.0}


@pytest.mark.long
def test_use_before_its_record_is_a_difference(tmp_path: Path) -> None:
    """z/VM 5.3: a transaction of BATCH takes 75 s of CPU time, and is recorded in the minute of its end."""
    scenario = batch_beside_linux(50, 40000, 360)
    zlens.simulate(scenario, tmp_path / "zvm.data")
    with CoreSession([str(tmp_path / "zvm.data")]) as session:
        negative = session.sql("SELECT account, amount FROM ledger WHERE amount < -1").rows
        rows = ledger_rows(session, CPU)
    assert [account for account, _ in negative] == ["user_difference"]
    assert "users" not in {row.account for row in rows}
    assert set(imbalances(CPU, rows).values()) == {0.0}


def test_share_without_owner_is_unknown_if_a_part_is(
    demo_session: CoreSession, demo_rows: list[LedgerRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = [replace(row, amount=None) if row.account == "workload_rest" else row for row in demo_rows]
    assert unknown != demo_rows
    monkeypatch.setattr(answer, "ledger_rows", lambda *_, **__: unknown)
    assert answer.solve(demo_session, "cpu").figure("not_attributed_pct") is None


def test_ledger_joins_systems_of_one_machine(demo_session: CoreSession, demo_rows: list[LedgerRow]) -> None:
    """z/VM reports the partitions each minute, z/OS itself each quarter of an hour; 3 CPs for an hour."""
    [processors] = [row for row in demo_rows if row.level == "machine" and row.cpu_type == "CP"]
    assert processors.amount == pytest.approx(3 * 3600)
    [system] = [row for row in demo_rows if row.account == "systems" and row.subject == "ZLZ1"]
    query = "SELECT sum(effective_s) FROM partition WHERE partition = 'ZLZOS' AND observer = 'ZLDEMO'"
    [(effective,)] = demo_session.sql(query).rows
    assert system.amount == pytest.approx(effective)
    assert system.parent == "partition/2097-D3E01/ZLZOS"
    assert not [row for row in demo_rows if row.account == "unreported" and row.subject == "ZLZOS"]


def test_ledger_of_zos_ends_in_its_jobs(demo_session: CoreSession, demo_rows: list[LedgerRow]) -> None:
    """Jobs with records of intervals count by these, others by their end; all classes have their jobs."""
    query = "SELECT sum(cp_s) FROM job WHERE kind NOT IN ('step')"
    [(jobs,)] = demo_session.sql(query).rows
    assert amount(demo_rows, "jobs") == pytest.approx(jobs)
    assert amount(demo_rows, "service_classes") == pytest.approx(jobs, rel=1e-6)
    query = """
    SELECT account, sum(cp_s)
    FROM job
    WHERE kind <> 'step' AND account IS NOT NULL
    GROUP BY account
    ORDER BY account
    """
    charged = dict(demo_session.sql(query).rows)
    assert list(charged) == ["ZL2000", "ZL4711"]
    query = "SELECT account_number, sum(amount) FROM ledger WHERE ledger = 'cpu' GROUP BY account_number"
    accounts = dict(demo_session.sql(query).rows)
    assert {name: accounts[name] for name in charged} == pytest.approx(charged)
    query = "SELECT sum(dispatch_s) FROM capture"
    [(dispatched,)] = demo_session.sql(query).rows
    assert amount(demo_rows, "uncaptured") == pytest.approx(dispatched - jobs, rel=1e-6)


def test_transactions_of_guests_are_those_cp_counts(
    demo_session: CoreSession, demo_rows: list[LedgerRow]
) -> None:
    """A record D4R9 is a transaction; ZLSIM has none of them, so that its guests' are unknown.

    The first of OPERATOR, of 76, has no CPU time, and so no amount.
    """
    counted = demo_session.sql(
        "SELECT userid, count(*) FROM role.guest_end WHERE kind = 'transaction' GROUP BY userid"
    ).rows
    guests = {row.subject: row for row in demo_rows if row.account == "guests" and row.transactions}
    assert {name: row.transactions for name, row in guests.items()} == dict(counted) | {"OPERATOR": 75}
    assert not [row for row in demo_rows if row.parent == "system/ZLSIM/zvm-monitor" and row.transactions]


def test_cost_of_a_transaction_is_the_same_everywhere(
    demo_session: CoreSession, demo_files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """CPU time of CICSHI over the transactions that ended in it, by SMF 72-3."""
    query = "SELECT sum(appl_cp_pct / 100 * seconds) / sum(ended) FROM workload WHERE class = 'CICSHI'"
    [(cost,)] = demo_session.sql(f"{query} AND class_kind = 'service'").rows
    assert main(["ledger", "cpu", str(demo_files[2]), "--format", "json"]) == 0
    accounts = json.loads(capsys.readouterr().out)["tables"]["accounts"]["rows"]
    assert main(["report", "chargeback", str(demo_files[2]), "--format", "json"]) == 0
    for rows in (accounts, json.loads(capsys.readouterr().out)):
        [row] = [row for row in rows if row.get("subject") == "CICSHI"]
        assert row["per_transaction"] == pytest.approx(cost)
    query = "SELECT sum(per_transaction * transactions) / sum(transactions) FROM ledger"
    [(by_interval,)] = demo_session.sql(f"{query} WHERE subject = 'CICSHI' AND ledger = 'cpu'").rows
    assert by_interval == pytest.approx(cost)


def test_others_have_no_cost_of_a_transaction(demo_rows: list[LedgerRow]) -> None:
    classes = [row for row in demo_rows if row.account == "service_classes"]
    [shown] = [entry.row for entry in entries(classes, 1) if entry.row.subject == "4 others"]
    assert shown.transactions == 8
    assert shown.per_transaction is None


def test_threads_count_as_time_of_cores(demo_session: CoreSession, demo_rows: list[LedgerRow]) -> None:
    """With two threads per core, guests have their prorated time, and CP a part of the cores, assumed."""
    query = "SELECT sum(prorated_s) FROM guest WHERE system = 'ZLSIM'"
    [(prorated,)] = demo_session.sql(query).rows
    guests = [
        row for row in demo_rows if row.account == "guests" and row.parent == "system/ZLSIM/zvm-monitor"
    ]
    assert sum(row.amount or 0.0 for row in guests) == pytest.approx(prorated)
    assert {row.status for row in guests} == {"measured"}
    own = {row.parent: row.status for row in demo_rows if row.account == "cp_system"}
    assert own == {"system/ZLSIM/zvm-monitor": "assumed", "system/ZLDEMO/zvm-monitor": "measured"}


def test_sources_with_local_times_are_separate(demo_files: list[Path]) -> None:
    """Without a time zone, the times of RMF's XML cannot be compared with those of other files."""
    with CoreSession([str(path) for path in demo_files[:2]]) as session:
        rows = ledger_rows(session, CPU)
    machines = {row.machine for row in rows if row.level == "machine"}
    assert machines == {"2097-D3E01", "2097-D3E01 (ZLZ1, local time)"}


def test_groups_replace_their_members(demo_files: list[Path], tmp_path: Path) -> None:
    groups = tmp_path / "groups.toml"
    groups.write_text('[guest]\n"LINUX*" = "linux"\n')
    with CoreSession([str(demo_files[3])], Options(group=str(groups))) as session:
        rows = ledger_rows(session, CPU)
        [(prorated,)] = session.sql("SELECT sum(prorated_s) FROM guest WHERE group_name = 'linux'").rows
    [linux] = [row for row in rows if row.account == "guests" and row.subject == "linux"]
    assert linux.amount == pytest.approx(prorated)
    assert not [row for row in rows if (row.subject or "").startswith("LINUX")]
    assert set(imbalances(CPU, rows).values()) == {0.0}


def test_ledger_measure_has_the_same_totals(demo_session: CoreSession, demo_rows: list[LedgerRow]) -> None:
    query = "SELECT account, sum(amount), any_value(unit) FROM ledger WHERE ledger = 'cpu' GROUP BY account"
    for account, total, unit in demo_session.sql(query).rows:
        assert unit == "s"
        assert total == pytest.approx(amount(demo_rows, account))


def test_smaller_subjects_are_one_row(demo_rows: list[LedgerRow]) -> None:
    shown = [*entries(demo_rows, 2)]
    others = [entry.row for entry in shown if (entry.row.subject or "").endswith(" others")]
    assert others
    for other in others:
        part = other.account, other.parent
        whole = sum(row.amount or 0 for row in demo_rows if (row.account, row.parent) == part)
        rows = [entry.row for entry in shown if (entry.row.account, entry.row.parent) == part]
        assert sum(row.amount or 0 for row in rows) == pytest.approx(whole)


def test_parts_of_two_processor_types_are_shown_once() -> None:
    """A partition used 6 of 10 s of CPs and 1 of 5 s of zIIPs, and the system in it these 7 s."""

    def row(account: str, kind: str | None, seconds: float, node: str, parent: str | None) -> LedgerRow:
        return LedgerRow(account, account, node, parent, "M", None, kind, node, None, seconds, "measured")

    rows = [
        row("machine", "ZIIP", 5, "ziips", None),
        row("machine", "CP", 10, "cps", None),
        row("partition", "ZIIP", 1, "LPA", "ziips"),
        row("partition", "CP", 6, "LPA", "cps"),
        row("system", None, 7, "SYSA", "LPA"),
    ]
    shown = [
        (entry.row.subject, entry.row.cpu_type, entry.depth, entry.root.amount) for entry in entries(rows)
    ]
    assert shown == [
        ("cps", "CP", 0, 10),
        ("LPA", "CP", 1, 10),
        ("SYSA", None, 2, 15),
        ("ziips", "ZIIP", 0, 5),
        ("LPA", "ZIIP", 1, 5),
    ]


def test_ledger_command_prints_every_format(
    demo_files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", "cpu", str(demo_files[2]), "--format", "json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    capture = [row for row in tables["meters"]["rows"] if row["title"] == "Dispatched and captured"]
    assert [row["subject"] for row in capture] == ["CP"]
    assert 0 < capture[0]["ratio_pct"] < 100
    assert main(["ledger", "cpu", str(demo_files[2]), "--every", "30m"]) == 0
    text = capsys.readouterr().out
    assert "Accounts by time" in text
    assert "does not count" in text
    assert main(["ledger", "--list"]) == 0
    assert "cpu: " in capsys.readouterr().out


def test_unknown_ledger_is_an_error(demo_session: CoreSession) -> None:
    with pytest.raises(QueryError, match="there is no ledger 'gold'") as error:
        answer.solve(demo_session, "gold")
    assert error.value.expected is not None
    assert "cpu" in error.value.expected


@needs(NO_USE)
def test_input_without_use_of_processors_is_an_error() -> None:
    """Its only record is one of SMF 72-3: no processors are reported that classes could divide."""
    with CoreSession([str(NO_USE)]) as session, pytest.raises(QueryError, match="no data of the ledger cpu"):
        answer.solve(session, "cpu")


@pytest.mark.long
def test_ledgers_of_a_lake_and_its_rollups_are_the_same(demo_files: list[Path], tmp_path: Path) -> None:
    """Sums of days add amounts in another order: they are the same to the last digit."""
    files = [str(demo_files[0]), str(demo_files[2])]
    lake = str(tmp_path / "lake")
    assert main(["import", *files, "--lake", lake]) == 0
    assert main(["lake", "rollup", lake]) == 0
    with CoreSession(files) as raw, CoreSession([lake]) as stored:
        for name in ("cpu", "msu"):
            assert ledger_rows(stored, load_ledger(name)) == ledger_rows(raw, load_ledger(name))
            keys = "month, account, node, parent, subject, status"
            query = (
                f"SELECT {keys}, sum(amount), sum(raw_s), sum(transactions) FROM %s "
                f"WHERE ledger = '{name}' GROUP BY {keys} ORDER BY ALL"
            )
            rows = raw.sql(query % "ledger").rows
            assert {row[0] for row in rows} == {"2010-03"}
            for table in ("ledger_hour", "ledger_day"):
                assert stored.sql(query % table).rows == rows
        query = (
            "SELECT comparison, subject, sum(first_amount), sum(second_amount) FROM %s "
            "GROUP BY comparison, subject ORDER BY ALL"
        )
        meters = raw.sql(query % "ledger_meter").rows
        assert ("guest_linux", "LNXBAT01") in {row[:2] for row in meters}
        assert stored.sql(query % "ledger_meter_day").rows == meters


#: Accounts whose amounts are divided by ratios: those of a bucket are not the sums of those of its intervals.
DIVIDED = {
    "guests",
    "users",
    "user_difference",
    "guest_cp",
    "guest_instructions",
    "cp_system",
    "workload_rest",
}


@pytest.mark.long
def test_buckets_have_the_amounts_of_their_intervals(demo_files: list[Path]) -> None:
    """By account, and by level down to guests and classes, which leave each other what they divide."""
    query = "SELECT ledger, level, account, sum(amount), count(*), count(amount) FROM ledger GROUP BY ALL"
    for path in demo_files:
        sums: list[dict[tuple[str, ...], tuple[float, float]]] = []
        for every_s in (None, 900):
            amounts: dict[tuple[str, ...], tuple[float, float]] = {}
            with zlens.open(path, options=Options(tz=parse_zone(demo.ZONE), every_s=every_s)) as session:
                rows = session.sql(query).rows
            for ledger, level, account, amount, count, known in rows:
                assert known == count, (path.name, ledger, account)
                keys = [] if account in DIVIDED else [(ledger, level, account)]
                if level != "job":
                    keys.append((ledger, level))
                for key in keys:
                    total, rounding = amounts.get(key, (0.0, 0.0))
                    amounts[key] = total + amount, rounding + count * load_ledger(ledger).step / 2
            sums.append(amounts)
        one, other = sums
        assert one.keys() == other.keys(), path.name
        for key, (amount, rounding) in one.items():
            assert abs(amount - other[key][0]) <= rounding + other[key][1], (path.name, key)
