"""Tests of counters split over several records, across two inputs of a lake."""

from __future__ import annotations

from pathlib import Path

import pytest

import cpumf_records
import monwrite_builder as monwrite
import zlens
from iterations import quick_subset
from zlens import lake

COLUMNS = "tod, prcmfc_zlcpuad, c0, c0_d, c33_d, c160_d, seconds"


def write_minutes(path: Path, minutes: range) -> Path:
    config = {**monwrite.SIM_CONFIG, "MTRSYS_SYSMTYPE": "3906"}
    groups = [
        monwrite.configuration(
            monwrite.START_US + minutes[0] * monwrite.MINUTE_US - 40 * monwrite.S_US, config
        )
    ]
    for minute in minutes:
        end = monwrite.START_US + minute * monwrite.MINUTE_US
        values = {"B0": minute * 10**9, "P33": minute * 7, "E160": minute**2}
        records = [
            record
            for cpu in range(3)
            for record in cpumf_records.counters(monwrite.sim_record, end - 900 + 50 * cpu, cpu, values)
        ]
        groups.append(monwrite.interval(end, records))
    return monwrite.write(path, groups)


@pytest.mark.parametrize("turned", quick_subset(1, [True, False]))
def test_differences_at_boundary_equal_one_file(turned: bool, tmp_path: Path) -> None:
    files = [write_minutes(tmp_path / "a.mon", range(1, 4)), write_minutes(tmp_path / "b.mon", range(4, 7))]
    query = f"SELECT {COLUMNS} FROM d5r13_counters ORDER BY tod, prcmfc_zlcpuad"
    with zlens.open(files) as session:
        expected = session.sql(query).rows
    assert [row[3] for row in expected[3:]] == [10**9] * 15
    for file in files[::-1] if turned else files:
        lake.add([file], tmp_path / "lake")
    with zlens.open([tmp_path / "lake"]) as session:
        assert session.sql(query).rows == expected
        assert session.sql("SELECT count(*) FROM d5r13").rows == [(6 * 3 * 3,)]
    assert lake.check(tmp_path / "lake").faults == []
