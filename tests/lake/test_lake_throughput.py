"""Tests of a throughput file with a lake: results equal those with the imported file."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from lake_builder import end_us, recording, write
from zlens import lake
from zlens.inputs.options import Options


@pytest.mark.parametrize("every", [None, 180])
def test_lake_throughput_equals_file(tmp_path: Path, every: int | None) -> None:
    data = write(tmp_path / "a.data", recording(range(12)))
    lake.add([data], tmp_path / "lake")
    rows = [f"{end_us(k) / 1e6 - 60:.0f},{end_us(k) / 1e6:.0f},{60 + k},2" for k in range(12)]
    achieved = tmp_path / "achieved.csv"
    achieved.write_text("\n".join(["start,end,transactions,response", *rows]))
    options = Options(throughput=str(achieved), every_s=every)
    query = "SELECT interval_end, etr, itr, cpu_s, guest_s FROM per_transaction ORDER BY 1"
    found = []
    for name in (data, tmp_path / "lake"):
        with zlens.open(name, options=options) as session:
            found.append(session.sql(query).rows)
            text = session.report("throughput")
            assert ">>Mean>>" in text
            assert "LAKETEST" in text
    # Doubles are added in another order, so that the last digit differs.
    assert [row[0] for row in found[0]] == [row[0] for row in found[1]]
    for one, other in zip(*found, strict=True):
        assert one[1:] == pytest.approx(other[1:], rel=1e-14)
    assert any(row[3] for row in found[0])
