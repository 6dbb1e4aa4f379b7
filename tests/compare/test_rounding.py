"""What is printed rounded is compared as precisely as it is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from zlens import reports
from zlens.catalog.compared import declared
from zlens.compare.comparison import compare
from zlens.compare.noise import Estimate, judge
from zlens.compare.rounding import roundings
from zlens.compare.sides import Side, measure
from zlens.explain.names import explain

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"


def test_a_listing_says_how_precise_its_measures_are() -> None:
    with zlens.open(str(FOLDER / "prclog-smt0.txt")) as session:
        ((system, found),) = roundings(session, declared()).items()
    assert system == "SYSTEMID"
    assert found["load.guest_pct"] == pytest.approx(0.05)
    # User less emulation: both are rounded.
    assert found["load.chargeable_cp_pct"] == pytest.approx(0.1)
    # All numbers that it may be computed from count: busy, or user and system.
    assert found["load.busy_pct"] == pytest.approx(0.15)
    # Ratios of printed numbers get no bound, whatever their unit.
    assert "load.tv" not in found
    assert "load.capture_pct" not in found


def test_monitor_data_is_exact(sim_session: zlens.Session) -> None:
    assert roundings(sim_session, declared()) == {}


def test_differences_within_rounding_are_none() -> None:
    sides = []
    for name in ("prclog-smt0", "prclog-smt2"):
        with zlens.open(str(FOLDER / f"{name}.txt")) as session:
            sides.append(Side(name, [measure(session, name)]))
    (system,) = compare(sides).systems
    rows = {row.metric.column: row.changes[0].verdict for row in system.rows}
    assert (rows["chargeable_cp_pct"].by, rows["chargeable_cp_pct"].beyond) == ("rounding", False)
    assert rows["busy_pct"].by == "none"
    assert any("what printing rounds" in note for note in system.notes)


def test_rounding_adds_to_the_noise() -> None:
    def side(value: float, rounding: float) -> list[Estimate]:
        return [Estimate(value, 0.1, 60, 60.0, rounding)]

    exact, printed = judge(side(10, 0), side(12, 0)), judge(side(10, 0.5), side(12, 0.25))
    assert exact.beyond
    assert printed.beyond
    assert exact.noise is not None
    assert printed.noise == pytest.approx(exact.noise + 0.75)
    inside = judge(side(10, 0.5), side(10.75, 0.25))
    assert (inside.by, inside.beyond, inside.noise) == ("rounding", False, 0.75)


def test_a_printed_report_of_monitor_data_does_not_differ_from_it(sim_file: Path, tmp_path: Path) -> None:
    """`compare LISTING -- MONITOR`: what the listing rounds is no difference."""
    path = tmp_path / "prclog.txt"
    with zlens.open([sim_file]) as session:
        path.write_text(reports.render("prclog", session), encoding="utf-8")
        monitor = Side("monitor", [measure(session, "monitor")])
    with zlens.open(str(path)) as session:
        listing = Side("listing", [measure(session, "listing")])
    (system,) = compare([monitor, listing]).systems
    busy = next(row for row in system.rows if row.metric.key == "load.busy_pct")
    assert not busy.changes[0].beyond
    assert busy.values[0] == pytest.approx(busy.values[1], abs=0.15)


def test_explain_names_the_precision() -> None:
    assert "busy_pct +- busy_pct_half" in explain("listing_prclog.busy_pct")
    assert "half a unit of its last digit" in " ".join(explain("listing_prclog").split())
