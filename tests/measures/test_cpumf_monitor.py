"""Tests of CPU MF counters in z/VM monitor data: joins, differences and metrics as with SMF 113."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import relocated_layouts

import cpumf_records
import monwrite_builder as monwrite
import smf113_rows
import zlens
from zlens.api import Session
from zlens.catalog import layouts

#: Counts of one processor in a minute: 40% busy at 5200 cycles a microsecond, a fifth in problem state.
MINUTE = {
    "B0": 0.4 * 60 * 5.2e9,
    "B1": 0.2 * 60 * 5.2e9,
    "B2": 1e9,
    "B3": 20e9,
    "B4": 2e9,
    "B5": 30e9,
    "P32": 0.08 * 60 * 5.2e9,
    "P33": 0.04 * 60 * 5.2e9,
    "C66": 5e6,
    "E129": 2e7,
    "E130": 9e8,
    "E133": 1.5e9,
    "E134": 1e7,
    "E135": 4e8,
    "E136": 1.2e9,
    "E143": 9e9,
    "E144": 2.5e8,
    "E157": 1e7,
    "E163": 4e7,
}
#: Columns that depend only on the counters.
COLUMNS = (
    "cpu_id, generation, round(cpi, 9) AS cpi, round(l1mp, 9) AS l1mp, round(l2p, 9) AS l2p, "
    "round(l3p, 9) AS l3p, round(l4rp, 9) AS l4rp, round(memp, 9) AS memp, "
    "round(problem_state_pct, 9) AS p, round(ghz, 9) AS ghz"
)


def config(base: Mapping[str, Any] = monwrite.SIM_CONFIG) -> dict[str, Any]:
    """Return the configuration record of a z14."""
    return {**base, "MTRSYS_SYSMTYPE": "3906"}


def file(
    path: Path,
    per_minute: Iterable[Mapping[str, float]],
    *,
    make: cpumf_records.Make = monwrite.sim_record,
    base: Mapping[str, Any] = monwrite.SIM_CONFIG,
    area: int | None = None,
    **facts: Any,
) -> Path:
    """Write a file with these counts of processors 0 and 1 in each minute after the first sample."""
    groups = [monwrite.configuration(monwrite.START_US, config(base))]
    total: dict[str, float] = {}
    for number, counted in enumerate([{}, *per_minute]):
        for name, value in counted.items():
            total[name] = total.get(name, 0) + value
        end = monwrite.START_US + number * monwrite.MINUTE_US
        records = [
            record
            for cpu in (0, 1)
            for record in cpumf_records.counters(make, end - 500 + 50 * cpu, cpu, total, area=area, **facts)
        ]
        groups.append(monwrite.interval(end, records))
    return monwrite.write(path, groups)


def measured(session: Session, columns: str = COLUMNS) -> list[tuple[Any, ...]]:
    return session.sql(f"SELECT {columns} FROM cpumf ORDER BY interval_end, cpu_id").rows


def test_monitor_counters_equal_smf_counters(tmp_path: Path) -> None:
    twice = {name: 2 * value for name, value in MINUTE.items()}
    # Counters without counts are zero.
    others = {f"E{number}": 0 for number in range(128, 256)} | {f"C{number}": 0 for number in range(64, 80)}
    smf = smf113_rows.opened([
        smf113_rows.row({**others, **counted}, generation="z14", minute=minute, cpu_id=cpu, cpsp=5200)
        for minute, counted in enumerate((MINUTE, twice))
        for cpu in (0, 1)
    ])  # fmt: skip
    with zlens.open([file(tmp_path / "a.mon", (MINUTE, twice))]) as session:
        found = measured(session)
        # The first sample is only the base of differences.
        assert [row[0] for row in found] == [0, 1, 0, 1]
        assert found == measured(smf)
        assert found[0][1] == "z14"
        assert session.sql("SELECT DISTINCT cpu_type FROM cpumf").rows == [("IFL",)]
        assert [p for p in session._core.all_problems() if p.kind == "section"] == []


def test_counter_version_change_is_reset_evidence(tmp_path: Path) -> None:
    groups = [monwrite.configuration(monwrite.START_US, config())]
    for number, csvn in enumerate((5, 5, 4, 4)):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        values = {name: (number + 1) * value for name, value in MINUTE.items()}
        groups.append(
            monwrite.interval(
                end, cpumf_records.counters(monwrite.sim_record, end - 500, 0, values, PRCMFC_ZLCSVN=csvn)
            )
        )
    with zlens.open([monwrite.write(tmp_path / "a.mon", groups)]) as session:
        rows = session.sql("SELECT c0_d FROM d5r13_counters ORDER BY tod").rows
        assert [row[0] is not None for row in rows] == [False, True, False, True]
        events = session.sql("SELECT detail FROM event WHERE record = 'D5R13_COUNTERS'").rows
        assert events == [("prcmfc_zlcsvn changed",)]


def test_contradicting_monitor_counters_are_withheld(tmp_path: Path) -> None:
    wrong = {**MINUTE, "P32": 2 * MINUTE["B0"]}
    with zlens.open([file(tmp_path / "a.mon", (wrong,))]) as session:
        assert measured(session) == []
        assert session.sql("SELECT count(*) FROM d5r13_counters").rows == [(4,)]
        details = [p.detail for p in session._core.all_problems()]
        assert any("more cycles in problem state than in total" in detail for detail in details)


def test_core_counters_are_read_from_first_thread(tmp_path: Path) -> None:
    groups = [monwrite.configuration(monwrite.START_US, config())]
    for number in range(3):
        end = monwrite.START_US + number * monwrite.MINUTE_US
        busy = {"M448": number * 0.3 * 60 * 5.2e9, "M449": number * 0.2 * 60 * 5.2e9}
        records = []
        for cpu in range(4):
            core, thread = divmod(cpu, 2)
            values = {name: number * value for name, value in MINUTE.items()}
            records += cpumf_records.counters(monwrite.sim_record, end - 900 + 50 * cpu, cpu, values)
            records += cpumf_records.of_the_core(
                monwrite.sim_record, end - 400 + 50 * cpu, cpu, busy, core=core, thread=thread
            )
        groups.append(monwrite.interval(end, records))
    with zlens.open([monwrite.write(tmp_path / "a.mon", groups)]) as session:
        rows = session.sql(
            "SELECT core_id, round(core_busy_pct, 6), round(thread_density, 6) FROM core "
            "WHERE core_busy_pct IS NOT NULL ORDER BY interval_end, core_id"
        ).rows
        assert rows == [(0, 50.0, 1.4), (1, 50.0, 1.4)] * 2
        assert session.sql("SELECT count(*), count(DISTINCT c448) FROM d5r20_counters").rows == [(12, 3)]


@pytest.mark.parametrize("name", ["cpumflog", "$CPUMFLG"])
def test_cpumf_report_does_not_depend_on_offsets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zlens.open([file(tmp_path / "sim.mon", (MINUTE, MINUTE))]) as session:
        here = session.report(name)
    elsewhere = relocated_layouts.moved(tmp_path, ["D5R13", "D5R20"], "7.3", monkeypatch)
    area = elsewhere.layouts["D5R13"].length
    assert area != layouts.sim_layouts("D5R13")[0].length
    there_file = file(
        tmp_path / "there.mon",
        (MINUTE, MINUTE),
        make=elsewhere.record,
        base={**elsewhere.config},
        area=area,
    )
    with zlens.open([there_file]) as session:
        there = session.report(name)
    assert "$CPUMFLG" in here
    # The first line has the time of printing.
    assert relocated_layouts.same(here.partition("\n")[2], there.partition("\n")[2])
    assert ">>Mean>>   0 IFL        " in here
