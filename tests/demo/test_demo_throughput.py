"""Tests of throughput on the demo's z/OS system: load from RMF, instructions from SMF counters."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

import zlens
from zlens import demo
from zlens.inputs.options import Options, parse_zone

#: Transactions per second and percent of a busy processor.
PER_PERCENT = 10.0


@pytest.mark.parametrize("every", [None, 1800])
def test_load_of_rmf_and_counters_of_smf(demo_folder: Path, tmp_path: Path, every: int | None) -> None:
    inputs = [demo_folder / demo.RMF_NAME, demo_folder / demo.SMF_NAME]
    zone = parse_zone("+01:00")
    with zlens.open(inputs, options=Options(tz=zone, source="rmf-xml")) as session:
        busy = session.sql("SELECT interval_end, busy_pct FROM load WHERE source = 'rmf-xml' ORDER BY 1").rows
        counted = session.sql("SELECT interval_end, instructions FROM cpumf_type").rows
    assert len(busy) == 4
    rows = ["start,end,tps"]
    quarter = dt.timedelta(minutes=15)
    for end, percent in busy:
        rows.append(f"{(end - quarter).isoformat()},{end.isoformat()},{percent * PER_PERCENT}")
    path = tmp_path / "achieved.csv"
    path.write_text("\n".join(rows))
    options = Options(tz=zone, source="rmf-xml", throughput=str(path), every_s=every)
    with zlens.open(inputs, options=options) as session:
        found = session.sql(
            "SELECT interval_end, seconds, itr, cpu_s, guest_s, etr, instructions, counted_cpu_s "
            "FROM per_transaction WHERE source = 'rmf-xml' AND etr IS NOT NULL ORDER BY 1"
        ).rows
    assert len(found) == (2 if every else 4)
    for end, seconds, itr, cpu_s, guest_s, etr, instructions, counted_s in found:
        assert itr == pytest.approx(100 * PER_PERCENT)
        assert cpu_s == pytest.approx(3 / (100 * PER_PERCENT))
        assert guest_s is None
        start = end - dt.timedelta(seconds=seconds)
        inside = sum(count for ended, count in counted if start < ended <= end)
        assert instructions == pytest.approx(inside / seconds / etr)
        # Counters and RMF of the synthetic hour nearly agree.
        assert counted_s == pytest.approx(cpu_s, rel=0.01)
