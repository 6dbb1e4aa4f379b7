"""Tests of balances of independent records on generated files: partitions, physical and own processors."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import monwrite_builder as monwrite
import partition_builder as lpar
import zlens
from zlens import demo
from zlens.api import Session
from zlens.demo import machine


@pytest.fixture(scope="module")
def hour(demo_folder: Path) -> Iterator[Session]:
    with zlens.open([demo_folder / demo.MONWRITE_NAME]) as session:
        yield session


def test_partition_busy_stays_within_machine(hour: Session) -> None:
    rows = hour.sql(
        """
        SELECT c.cpu_type, c.total_s, c.physical * c.seconds, sum(p.total_s) + any_value(c.management_s),
               sum(p.effective_s), any_value(c.effective_s), sum(p.entitlement), any_value(c.physical)
        FROM cec AS c
        JOIN partition AS p USING (system, source, interval_end, cpu_type)
        WHERE c.flag IS NULL
        GROUP BY c.interval_end, c.cpu_type, c.total_s, c.physical, c.seconds
        """
    ).rows
    assert len(rows) == 120
    for kind, total, there, added, effective, all_effective, entitled, physical in rows:
        assert 0 < total <= there, kind
        assert added == pytest.approx(total)
        assert effective == pytest.approx(all_effective)
        assert entitled == pytest.approx(physical)


def test_processor_busy_equals_partition_dispatch_time(hour: Session) -> None:
    """D0R2 and D0R16 are records built by different parts of CP."""
    rows = hour.sql(
        """
        SELECT c.interval_end, sum(c.busy_pct), any_value(100 * p.effective_s / p.seconds)
        FROM cpu AS c
        JOIN system AS s USING (system, source)
        JOIN partition AS p
            ON p.system = c.system AND p.interval_end = c.interval_end AND p.partition = s.lpar
            AND p.cpu_type = c.cpu_type
        WHERE p.flag IS NULL
        GROUP BY c.interval_end
        ORDER BY c.interval_end
        """
    ).rows
    assert len(rows) == 60
    apart = [end for end, busy, dispatched in rows if busy != pytest.approx(dispatched, rel=1e-3)]
    # Only one of the records has a processor that is varied within a minute.
    start = datetime.fromtimestamp(machine.START_US / machine.SECOND, UTC)
    commands = tomllib.loads(machine.SCENARIO.read_text("utf-8"))["command"]
    varied = [-(-one["at"] // 60) for one in commands if one["do"].startswith("vary")]
    assert apart == [start + timedelta(minutes=minute) for minute in varied]


def file(path: Path, spread: list[int]) -> Path:
    """Write a partition of two IFLs, each dispatched for a share of the time that differs by minute."""
    own = lpar.Partition("LPAR1", 1, 100, [lpar.Logical(0), lpar.Logical(1)])
    groups = [monwrite.configuration(monwrite.START_US)]
    for number in range(len(spread) + 1):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        if number:
            for one in own.processors:
                one.run(spread[number - 1], 1)
        records = [lpar.partition(end - 300, own), lpar.physical(end - 200, [("IFL", 10**9)] * 4)]
        groups.append(monwrite.interval(end, records))
    return monwrite.write(path, groups)


def test_ratios_of_buckets_are_of_summed_times(tmp_path: Path) -> None:
    options = zlens.Options(every_s=120, utc=True)
    with zlens.open(file(tmp_path / "a.mon", [10, 30, 5, 45]), options=options) as session:
        rows = session.sql(
            "SELECT p.effective_s, p.total_pct, c.lcot_l FROM partition p "
            "JOIN cec c USING (system, interval_end) ORDER BY p.interval_end"
        ).rows
    assert rows == [
        (80, pytest.approx(100 * 84 / 240), pytest.approx(84 / 80)),
        (100, pytest.approx(100 * 104 / 240), pytest.approx(104 / 100)),
    ]


def test_dedicated_processor_has_no_weight(tmp_path: Path) -> None:
    """X'FFFF' replaces the weight: one of four IFLs is not shared, 300 entitles to 2.25."""
    partitions = [
        lpar.Partition("LPAR1", 1, 300, [lpar.Logical(0), lpar.Logical(1)]),
        lpar.Partition("LPAR2", 2, 100, [lpar.Logical(0)]),
        lpar.Partition("LPAR3", 3, lpar.DEDICATED, [lpar.Logical(0)]),
    ]
    groups = [monwrite.configuration(monwrite.START_US)]
    for number in range(2):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        records = [lpar.partition(end - 300, one) for one in partitions]
        groups.append(monwrite.interval(end, [*records, lpar.physical(end - 200, [("IFL", 10**9)] * 4)]))
    with zlens.open(monwrite.write(tmp_path / "a.mon", groups)) as session:
        rows = session.sql(
            "SELECT partition, weight, dedicated, entitlement FROM partition ORDER BY ALL"
        ).rows
        (pool,) = session.sql("SELECT DISTINCT dedicated, logical_cpus, total_weight FROM cec").rows
    assert rows == [
        ("LPAR1", 300, False, 2.25),
        ("LPAR2", 100, False, 0.75),
        ("LPAR3", None, True, 1),
    ]
    assert pool == (1, 3, 400)


def violated_balances(path: Path) -> dict[str, int]:
    """Return the number of rows of each violated balance."""
    with zlens.open(path) as session:
        found = session.findings(only=["BAL-002", "BAL-004"])
        assert {rule.id for rule in found.asked} == {"BAL-002", "BAL-004"}
        return {one.rule.id: one.held for one in found.rows}


def system(
    path: Path, busy: float, dispatched: float, physical: int = 4, weight: int = 100, cpus: int = 2
) -> Path:
    """Write two processors with this utilization, and a partition with this dispatched share."""
    own = lpar.Partition("LPAR1", 1, weight, [lpar.Logical(0), lpar.Logical(1)])
    groups = [monwrite.configuration(monwrite.START_US, {**monwrite.CONFIG, "MTRSYS_LPARNAME": "LPAR1"})]
    for number in range(6):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        if number:
            for one in own.processors:
                one.run(60 * dispatched)
        user = 10**12 + round(number * 60 * monwrite.TOD_S * busy)
        times = {"SYTPRP_PFXUTIME": user, "SYTPRP_PFXTMSYS": 10**12}
        records = [lpar.partition(end - 300, own), lpar.physical(end - 200, [("IFL", 10**9)] * physical)]
        groups.append(
            monwrite.interval(end, records + monwrite.processors(end, dict.fromkeys(range(cpus), times)))
        )
    return monwrite.write(path, groups)


def test_findings_report_violated_balances(tmp_path: Path) -> None:
    assert violated_balances(system(tmp_path / "held.mon", 0.5, 0.5)) == {}
    assert violated_balances(system(tmp_path / "own.mon", 0.5, 0.3)) == {"BAL-004": 5}
    assert violated_balances(system(tmp_path / "machine.mon", 0.9, 0.9, physical=1)) == {"BAL-002": 5}


def test_inapplicable_balances_are_not_checked(tmp_path: Path) -> None:
    """A dedicated processor is dispatched also when idle; threads are not cores."""
    assert violated_balances(system(tmp_path / "dedicated.mon", 0.5, 1.0, weight=lpar.DEDICATED)) == {}
    assert violated_balances(system(tmp_path / "threads.mon", 0.5, 0.7, cpus=4)) == {}
