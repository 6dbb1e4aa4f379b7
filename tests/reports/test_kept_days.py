"""Tests of reports of a lake: days without raw tables come from measures by day, to the last digit."""

from __future__ import annotations

from pathlib import Path

import pytest

import zos_days
from zlens import reports
from zlens.cli import main
from zlens.inputs.options import Options
from zlens.lake import forget_raw
from zlens.session.session import CoreSession
from zos_days import FIRST_US, QUARTER_US, Image, Work


def test_months_have_days_whose_raw_tables_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour before midnight and two after it; then raw tables of the first day are removed."""
    lake = str(tmp_path / "lake")
    for number, (first, count) in enumerate(((0, 4), (4, 8))):
        monkeypatch.setattr(zos_days, "FIRST_US", FIRST_US + first * QUARTER_US)
        work = [Work("ONLINE", [0.3] * count, {"CICS1": 0.75}), Work("BATCH", [1.0] * count)]
        path = zos_days.written(tmp_path / f"{number}.smf", [Image("SYSA", "LPA", 1, work, 0.25)])
        assert main(["import", str(path), "--lake", lake]) == 0
    assert main(["lake", "rollup", lake]) == 0

    def report(format: str) -> str:
        with CoreSession([lake], Options()) as session:
            return reports.render("chargeback", session, format)

    before = report("json")
    assert "measures by day" not in report("text")
    forget_raw(lake, 0, now_us=FIRST_US + 6 * QUARTER_US, even_if_lost=["unmeasured"])
    assert report("json") == before
    assert "From measures by day, as raw tables are removed: SYSA 2023-11-14." in report("text")
    with CoreSession([lake], Options()) as session:
        query = "SELECT sum(amount) FROM {} WHERE subject = 'BATCH' AND ledger = 'cpu'"
        [[raw], [day]] = (session.sql(query.format(name)).rows[0] for name in ("ledger", "ledger_day"))
    assert (raw, day) == (pytest.approx(8 * 900), pytest.approx(12 * 900))
