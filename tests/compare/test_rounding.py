"""Tests of comparing printed numbers within their rounding error."""

from __future__ import annotations

from pathlib import Path

import pytest

import zlens
from zlens import reports
from zlens.compare import tables
from zlens.compare.comparison import compare
from zlens.compare.noise import RatioEstimate, judge
from zlens.compare.sides import Side, measure_run
from zlens.explain.names import explain

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"


def precise(session: zlens.Session) -> dict[str, float]:
    """Return the rounding bounds of the metrics of one system, without those of subjects."""
    ((_, run),) = measure_run(session._core, "").systems.items()
    return {name: bound for (name, subject), bound in run.roundings.items() if not subject}


def test_listing_measures_have_precision() -> None:
    with zlens.open(str(FOLDER / "prclog-smt0.txt")) as session:
        found = precise(session)
    assert found["load.guest_pct"] == pytest.approx(0.05)
    # User minus emulation: both are rounded.
    assert found["load.chargeable_cp_pct"] == pytest.approx(0.1)
    # Busy is printed, and not computed from user and system as elsewhere.
    assert found["load.busy_pct"] == pytest.approx(0.05)
    # A ratio: user 95.425 and emulation 88.05, each +- 0.05, of four processors.
    assert found["load.tv"] == pytest.approx((95.425 + 0.05) / 88.05 - (95.425 - 0.05) / 88.1, rel=0.5)
    # The number of processors is not a printed number.
    assert found["load.online"] == 0


def test_rounding_bounds_have_metric_unit_and_subject() -> None:
    with zlens.open(str(FOLDER / "physlog.txt")) as session:
        ((_, run),) = measure_run(session._core, "").systems.items()
    # 1,812.8 and 341.71 are printed; 6355.5 is the sum of them and the time dispatched to partitions.
    assert run.roundings["cec.lpmgt_pct", ("IFL",)] == pytest.approx(0.05)
    assert run.roundings["cec.ovrhd_pct", ("IFL",)] == pytest.approx(0.005)


def test_rounding_bound_of_several_files(tmp_path: Path) -> None:
    """Rows of all files are computed once for each change; the bound is that of one file."""
    text = (FOLDER / "prclog-smt0.txt").read_text(encoding="utf-8")
    for name in ("first", "second"):
        (tmp_path / f"{name}.txt").write_text(text.replace("SYSTEMID", name.upper()), encoding="utf-8")
    with zlens.open(str(tmp_path)) as session:
        runs = measure_run(session._core, "").systems
    for name in ("FIRST", "SECOND"):
        assert runs[name].roundings["load.guest_pct", ()] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12_345.6, "12,346"), (1000, "1,000"), (999.94, "999.9"), (100, "100.0"), (10, "10.00"),
        (9.5, "9.5000"), (0.01, "0.0100"), (-0.01, "-0.0100"), (0.009_9, "0.009900"), (0, "0.0000"),
    ],
)  # fmt: skip
def test_numbers_have_about_five_digits(value: float, shown: str) -> None:
    assert tables.number(value) == shown


def test_differences_within_rounding_are_zero() -> None:
    sides = []
    for name in ("prclog-smt0", "prclog-smt2"):
        with zlens.open(str(FOLDER / f"{name}.txt")) as session:
            sides.append(Side(name, [measure_run(session._core, name)]))
    (system,) = compare(sides).systems
    rows = {row.metric.column: row.changes[0].verdict for row in system.rows}
    assert (rows["chargeable_cp_pct"].by, rows["chargeable_cp_pct"].beyond) == ("rounding", False)
    assert rows["busy_pct"].by == "none"
    assert any("what printing rounds" in note for note in system.notes)


def test_rounding_adds_to_noise() -> None:
    def side(value: float, rounding: float) -> list[RatioEstimate]:
        return [RatioEstimate(value, 0.1, 60, 60.0, rounding)]

    exact, printed = (
        judge(side(10, 0), side(12, 0)),
        judge(side(10, 0.5), side(12, 0.25)),
    )
    assert exact.beyond
    assert printed.beyond
    assert exact.noise is not None
    assert printed.noise == pytest.approx(exact.noise + 0.75)
    inside = judge(side(10, 0.5), side(10.75, 0.25))
    assert (inside.by, inside.beyond, inside.noise) == ("rounding", False, 0.75)


def test_difference_above_rounding_is_tested() -> None:
    """Rounding may be 5 of the 6; the rest is as likely as the same difference of exact values."""
    exact = [RatioEstimate(10.0, 1.0, 60, 60.0), RatioEstimate(11.0, 1.0, 60, 60.0)]
    printed = [RatioEstimate(10.0, 1.0, 60, 60.0, 2.5), RatioEstimate(16.0, 1.0, 60, 60.0, 2.5)]
    assert judge(exact[:1], exact[1:]).p == pytest.approx(judge(printed[:1], printed[1:]).p)
    assert not judge(printed[:1], printed[1:]).beyond


def test_printed_report_equals_its_monitor_data(sim_file: Path, tmp_path: Path) -> None:
    """`compare LISTING -- MONITOR`: each common metric is within its bound, and not a difference."""
    path = tmp_path / "reports.txt"
    with zlens.open([sim_file]) as session:
        text = "\n".join(reports.render(name, session._core) for name in ("prclog", "physlog"))
        path.write_text(text, encoding="utf-8")
        monitor = Side("monitor", [measure_run(session._core, "monitor")])
    with zlens.open(str(path)) as session:
        listing = Side("listing", [measure_run(session._core, "listing")])
    machine = listing.runs[0].systems.pop(next(name for name in listing.systems if name.startswith("8561")))
    (name,) = monitor.systems
    listing.runs[0].systems[name].series |= machine.series
    listing.runs[0].systems[name].roundings |= machine.roundings
    (system,) = compare([monitor, listing]).systems
    bounds = listing.runs[0].systems[name].roundings
    both = [row for row in system.rows if None not in row.values]
    names = {row.metric.key for row in both}
    assert names >= {"load.busy_pct", "load.tv", "load.chargeable_cp_pct", "load.unparked", "cec.total_pct"}
    for row in both:
        bound = bounds[row.metric.key, row.subject]
        assert row.values[0] == pytest.approx(row.values[1], abs=bound + 1e-9), row.metric.key
        assert not row.changes[0].is_beyond_noise, row.metric.key


def test_explain_names_precision() -> None:
    assert "busy_pct +- busy_pct_half" in explain("listing_prclog.busy_pct")
    assert "half a unit of its last digit" in " ".join(explain("listing_prclog").split())


def test_rmf_listing_measures_have_precision() -> None:
    with zlens.open(str(FOLDER / "rmf-cpu-mt.txt")) as session:
        halves = session.sql("SELECT DISTINCT lpar_busy_pct_half, share_pct_half FROM rmf_cpu").rows
        found = precise(session)
        ((_, run),) = measure_run(session._core, "").systems.items()
    # 78.23, and 100.0: if all numbers end with zeros, these cannot be distinguished.
    assert halves == [(0.005, 0.5)]
    assert found["load.busy_pct"] == pytest.approx(0.005)
    assert run.roundings["core_type.mt_utilization_pct", ("ZIIP",)] == pytest.approx(0.005)
    # Two threads of four cores, each online for 100.00%, read as 100.
    assert found["load.online"] == pytest.approx(4 * 2 * 0.5 / 100)
    assert "lpar_busy_pct +- lpar_busy_pct_half" in " ".join(explain("rmf_cpu.lpar_busy_pct").split())


def test_rmf_listings_are_compared_within_rounding(tmp_path: Path) -> None:
    """A copy of a report with one number changed in its last digit does not differ."""
    text = (FOLDER / "rmf-cpu-mt.txt").read_text(encoding="utf-8")
    sides = []
    for name, busy in (("one", "78.23"), ("near", "78.24"), ("far", "98.24")):
        path = tmp_path / f"{name}.txt"
        path.write_text(text.replace("78.23", busy))
        with zlens.open(str(path)) as session:
            sides.append(Side(name, [measure_run(session._core, name)]))
    for side, by in ((sides[1], "rounding"), (sides[2], "none")):
        (system,) = compare([sides[0], side]).systems
        row = next(row for row in system.rows if row.metric.key == "load.busy_pct")
        assert row.changes[0].verdict.by == by
