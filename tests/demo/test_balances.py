"""Tests that independent fields agree in generated files of every pack.

The packs are the built-in z/VM 5.3, the synthetic layouts, and an imported release whose record pages have
zlens' fields at other offsets.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import relocated_layouts

import zlens
from zlens import demo
from zlens.api import Session
from zlens.catalog import layouts, writer_plans
from zlens.simulation import run

BALANCES = [f"BAL-{number:03}" for number in range(1, 7)]
#: Balances whose records each file has.
HELD = {
    "zldemo.monwrite": {"BAL-002", "BAL-003", "BAL-004"},
    "sim.monwrite": set(BALANCES),
    "zlzos.smf": {"BAL-005"},
}
#: Reports without other tests on moved record pages.
REPORTS = ("chargeback", "iochange", "lparlog", "lsharact", "members", "pciconf", "syslog", "uconf")


def held(path: Path, wanted: set[str]) -> None:
    with zlens.open([path]) as session:
        found = session.findings(only=BALANCES)
        assert wanted <= {rule.id for rule in found.asked}
        assert [(one.rule.id, one.held) for one in found.rows] == []
        if "BAL-001" in wanted:
            # Each minute, CPU time of guests equals what processors charged to them.
            ((count, least),) = session.sql("SELECT count(capture_pct), min(capture_pct) FROM load").rows
            assert count == 60
            assert least > 99


def printed(session: Session) -> dict[str, str]:
    """Return reports without the run time and footnotes on known recording errors."""
    return {name: re.sub("Run .{19}", "", session.report(name, "text")).split("\n* ")[0] for name in REPORTS}


@pytest.mark.parametrize("name", HELD)
def test_demo_balances_hold(demo_folder: Path, name: str) -> None:
    held(demo_folder / name, HELD[name])


@pytest.mark.long
def test_demo_balances_hold_with_imported_pages(
    demo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [name for name in layouts.records() if layouts.sim_layouts(name)]
    elsewhere = relocated_layouts.moved(tmp_path, records, "7.3", monkeypatch)
    layout = writer_plans.writing_layout
    monkeypatch.setattr(
        writer_plans, "writing_layout", lambda name: elsewhere.layouts.get(name) or layout(name)
    )
    run.layouts.cache_clear()
    try:
        [done] = zlens.simulate(demo.SIM_SCENARIO, tmp_path / "made")
        data = Path(done.files["ZLSIM"]).read_bytes()
    finally:
        run.layouts.cache_clear()
    ours, theirs = (name.ljust(8).encode("cp037") for name in ("ZLENSSIM", "7.3.0"))
    assert data.count(ours) == 1
    (tmp_path / "moved.monwrite").write_bytes(data.replace(ours, theirs))
    with zlens.open([tmp_path / "moved.monwrite"]) as session:
        assert session.sql("SELECT release FROM system").rows == [("7.3",)]
        moved = printed(session)
    with zlens.open([demo_folder / "sim.monwrite"]) as session:
        own = printed(session)
    assert [name for name in REPORTS if not relocated_layouts.same(own[name], moved[name])] == []
    held(tmp_path / "moved.monwrite", HELD["sim.monwrite"] - {"BAL-005", "BAL-006"})
