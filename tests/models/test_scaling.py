"""Tests of capability and scaling with published tables.

Publications: IBM, "z/VM for eighty logical processors" (tables 2 to 9), Eighty below; factors of a z196
from its /proc/sysinfo (a dump among the tests of util-linux).
"""

from __future__ import annotations

import math

import pytest

from iterations import draws
from zlens.catalog import capacity_curves
from zlens.models.capacity import scaling
from zlens.models.capacity.scaling import ScalingRun

Z14 = capacity_curves.capacity_curves()["z14-m05"].curve

#: Processors, ETR, ITR, busy, ITRR, capability ratio of each run, as printed.
Rows = list[tuple[int, float, float, float, float, float]]
TABLES: dict[str, Rows] = {
    "Eighty, table 4: monolithic, layer-3 vswitch": [
        (19, 82817.32, 86810.6, 95.4, 1.00, 1.00),
        (38, 155433.48, 162587.3, 95.6, 1.87, 1.80),
        (57, 221439.86, 226885.1, 97.6, 2.61, 2.53),
        (76, 265372.72, 269962.1, 98.3, 3.11, 3.21),
        (95, 271351.24, 271622.9, 99.9, 3.13, 3.87),
    ],
    "Eighty, table 5: tiled, layer-3 vswitch": [
        (19, 84330.31, 87570.4, 96.3, 1.00, 1.00),
        (38, 162532.18, 166358.4, 97.7, 1.90, 1.80),
        (57, 228187.21, 231427.2, 98.6, 2.64, 2.53),
        (76, 294185.16, 298059.9, 98.7, 3.40, 3.21),
    ],
    "Eighty, table 6: tiled 9x36, layer-2 vswitch": [
        (19, 86930.42, 89804.1, 96.8, 1.00, 1.00),
        (38, 169233.84, 173217.9, 97.7, 1.93, 1.80),
        (57, 241547.85, 245725.2, 98.3, 2.74, 2.53),
        (76, 314145.88, 314145.9, 100.0, 3.50, 3.21),
    ],
    "Eighty, table 7: tiled 7x36, layer-2 vswitch": [
        (19, 66448.79, 87088.8, 76.3, 1.00, 1.00),
        (38, 127483.36, 156613.5, 81.4, 1.80, 1.80),
        (57, 176862.63, 208564.4, 84.8, 2.39, 2.53),
        (76, 228846.15, 260348.3, 87.9, 2.99, 3.21),
        (95, 292037.90, 311009.5, 93.9, 3.57, 3.87),
    ],
    "Eighty, table 8: DASD paging, UNPARKING LARGE": [
        (16, 3295.34, 5031.1, 65.5, 1.000, 1.00),
        (32, 2589.74, 8778.8, 29.5, 1.745, 1.79),
        (48, 3239.92, 12272.4, 26.4, 2.439, 2.51),
        (64, 4143.10, 15873.9, 26.1, 3.155, 3.21),
        (80, 3745.58, 18634.7, 20.1, 3.704, 3.84),
    ],
    "Eighty, table 9: DASD paging, UNPARKING SMALL": [
        (16, 3184.44, 4921.9, 64.7, 1.000, 1.00),
        (32, 2547.23, 9262.7, 27.5, 1.882, 1.79),
        (48, 3133.38, 12737.3, 24.6, 2.588, 2.51),
        (64, 2988.47, 15812.0, 18.9, 3.213, 3.21),
        (80, 3417.83, 18987.9, 18.0, 3.858, 3.84),
    ],
}
#: Rolloffs of the ITR according to IBM.
ROLLS_OFF = {"Eighty, table 4: monolithic, layer-3 vswitch": [(57, 76), (76, 95)]}


# The curve ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("processors", "capability", "ratio"),
    [(16, 11.54, 1.00), (32, 20.67, 1.79), (48, 28.94, 2.51), (64, 36.99, 3.21), (80, 44.32, 3.84)],
)
def test_eighty_table_2(processors: int, capability: float, ratio: float) -> None:
    assert scaling.capability(Z14, processors) == pytest.approx(capability, abs=0.0065)
    assert scaling.capability_ratio(Z14, processors, 16) == pytest.approx(ratio, abs=0.0065)


def test_two_processors_of_z14() -> None:
    assert scaling.capability(Z14, 2) == pytest.approx(1.882)


@pytest.mark.parametrize(
    ("partitions", "each", "capability"), [(1, 80, 44.32), (2, 40, 49.76), (4, 20, 55.44), (8, 10, 64.16)]
)
def test_eighty_table_3(partitions: int, each: int, capability: float) -> None:
    found = scaling.deployment(Z14, 80, partitions)
    assert found.sizes == (each,) * partitions
    assert found.value == pytest.approx(capability, abs=0.0051)
    assert (found.how, found.error) == ("stated", 0.0)


def test_twelve_z196_processors_as_cluster() -> None:
    """IBM's experiment with one, two and four members estimates the gain of smaller n-ways."""
    curve = capacity_curves.capacity_curves()["z196-m66"].curve
    found = [scaling.deployment(curve, 12, members).value or 0.0 for members in (1, 2, 4)]
    assert found == pytest.approx([9.353, 10.419, 11.038], abs=0.002)
    assert [one / found[0] for one in found] == pytest.approx([1.0, 1.114, 1.18], abs=0.002)


def test_eighty_tables_4_to_7_capability_ratios() -> None:
    found = [scaling.capability_ratio(Z14, n, 19) for n in (19, 38, 57, 76, 95)]
    assert found == pytest.approx([1.0, 1.8, 2.53, 3.21, 3.87], rel=0.012)
    assert found[:4] == pytest.approx([1.0, 1.8, 2.53, 3.21], rel=0.004)
    assert [scaling.factor(Z14, n).how for n in (38, 80, 95)] == ["between", "stated", "beyond"]


@pytest.mark.parametrize(
    ("machine", "of_two"),
    [("z196-m66", 0.9445), ("z13-nc9", 0.938), ("z13-n63-400", 0.9546), ("z15-lt1-400", 0.9575)],
)
def test_adjustments_of_stsi_are_65536ths(machine: str, of_two: float) -> None:
    assert dict(capacity_curves.capacity_curves()[machine].curve)[2] == pytest.approx(of_two, abs=0.0001)


@pytest.mark.parametrize(
    ("machine", "last", "of_last"),
    [
        ("z196-m66", 69, 0.564),
        ("z13-nc9", 129, 0.487),
        ("z13-n63-400", 63, 0.719),
        ("z15-lt1-400", 190, 0.702),
    ],
)
def test_capacity_curves_are_complete(machine: str, last: int, of_last: float) -> None:
    curve = capacity_curves.capacity_curves()[machine].curve
    assert [n for n, _ in curve] == list(range(1, last + 1))
    assert curve[-1][1] == pytest.approx(of_last, abs=0.0006)


@pytest.mark.parametrize(("machine", "other"), [("z196-m66", "z13-nc9"), ("z13-nc9", "z196-m66")])
def test_interpolation_error_bound_holds(machine: str, other: str) -> None:
    """Errors of a curve at the points printed for the z14 are within the estimate by another curve."""
    whole = capacity_curves.capacity_curves()[machine].curve
    thin = [point for point in whole if point[0] in dict(Z14)]
    known = [dict(capacity_curves.capacity_curves()[other].curve)]
    inside = []
    for n, value in whole[:54]:
        found = scaling.factor(thin, n, known)
        alone = scaling.factor(thin, n)
        assert found.value is not None
        assert found.error is not None
        assert alone.error is not None
        assert abs(found.value - value) <= found.error * 1.7 + 1e-12
        inside.append(abs(found.value - value) <= found.error)
        assert found.error >= alone.error
        if n < 9:
            assert abs(found.value - value) <= alone.error * 1.5
    assert sum(inside) / len(inside) > 0.8
    assert max(scaling.factor(thin, n, known).error or 0 for n in range(16, 49)) < 0.006


def test_interpolation_error_of_line_and_bend() -> None:
    line = [(n, 1 - 0.1 * math.log(n)) for n in (1, 2, 8, 32)]
    assert scaling.factor(line, 4).value == pytest.approx(1 - 0.1 * math.log(4))
    assert scaling.factor(line, 4).error == pytest.approx(0, abs=1e-12)
    parabola = [(n, 1 - 0.02 * math.log(n) ** 2) for n in (1, 2, 8, 32)]
    found = scaling.factor(parabola, 4)
    assert found.value is not None
    # The second difference of a parabola is its exact error.
    assert 1 - 0.02 * math.log(4) ** 2 - found.value == pytest.approx(found.error)


def test_factor_outside_curve_is_null() -> None:
    assert scaling.factor([(1, 1.0)], 1) == scaling.Factor(1.0, 0.0, "stated")
    assert scaling.factor([(1, 1.0)], 2).value is None
    assert scaling.factor([(2, 0.9), (4, 0.8)], 1).value is None
    assert scaling.factor(Z14, 160).value is not None
    assert scaling.factor(Z14, 161).value is None
    assert scaling.capability(Z14, 161) is None
    assert scaling.capability_ratio(Z14, 161, 16) is None
    assert scaling.factor([(1, 1.0), (2, 0.2)], 4).value is None
    assert scaling.deployment([(1, 1.0)], 4, 2).value is None
    assert scaling.deployment([(1, 1.0)], 4, 4).value == 4


def test_errors_of_partitions_add_up() -> None:
    """The error of two partitions of 19 is twice the error of one."""
    whole, one = scaling.deployment(Z14, 38, 2), scaling.factor(Z14, 19)
    assert whole.how == "between"
    assert one.error is not None
    assert whole.error == pytest.approx(38 * one.error)
    mixed = scaling.deployment(Z14, 39, 2)
    assert mixed.sizes == (20, 19)
    assert mixed.error == pytest.approx(19 * one.error)
    assert scaling.deployment([(1, 1.0), (4, 0.8)], 4, 2).error is None


def test_processors_are_spread_evenly() -> None:
    rng = draws(6)
    curve = capacity_curves.capacity_curves()["z13-nc9"].curve
    for _ in range(1000):
        total = rng.randint(1, 96)
        partitions = rng.randint(1, total)
        found = scaling.deployment(curve, total, partitions)
        assert sum(found.sizes) == total
        assert len(found.sizes) == partitions
        assert found.sizes[0] - found.sizes[-1] <= 1
        assert list(found.sizes) == sorted(found.sizes, reverse=True)
        expected = sum(size * dict(curve)[size] for size in found.sizes)
        assert found.value == pytest.approx(expected)


@pytest.mark.parametrize("machine", sorted(capacity_curves.capacity_curves()))
def test_more_partitions_increase_capacity(machine: str) -> None:
    curve = capacity_curves.capacity_curves()[machine].curve
    for total in (12, 40):
        found = [scaling.deployment(curve, total, k).value or 0 for k in range(1, total + 1)]
        assert found == sorted(found)
        assert found[-1] == pytest.approx(total)


# Runs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", sorted(TABLES))
def test_itr_and_ratios_as_printed(table: str) -> None:
    rows = TABLES[table]
    found = scaling.compared([ScalingRun(n, etr, busy) for n, etr, _, busy, _, _ in rows], Z14)
    assert [one.itr for one in found] == pytest.approx([row[2] for row in rows], abs=0.06)
    # IBM truncates some ITRR instead of rounding them.
    assert [one.itrr for one in found] == pytest.approx([row[4] for row in rows], abs=0.006)
    assert [one.ratio for one in found] == pytest.approx([row[5] for row in rows], rel=0.012)
    assert [one.etrr for one in found] == pytest.approx([row[1] / rows[0][1] for row in rows])
    for one in found:
        assert one.efficiency == pytest.approx((one.itrr or 0) / (one.ratio or 1))


def test_eighty_table_4_efficiency_shows_vswitch_fault() -> None:
    rows = TABLES["Eighty, table 4: monolithic, layer-3 vswitch"]
    found = scaling.compared([ScalingRun(n, etr, busy) for n, etr, _, busy, _, _ in rows], Z14)
    assert [one.efficiency for one in found] == pytest.approx([1, 1.04, 1.03, 0.97, 0.81], abs=0.01)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_rolloffs_as_published(table: str) -> None:
    found = scaling.compared([ScalingRun(n, etr, busy) for n, etr, _, busy, _, _ in TABLES[table]], Z14)
    bends = scaling.rolloffs(found, 0.75)
    assert [(bend.after, bend.until) for bend in bends] == ROLLS_OFF.get(table, [])
    assert not any(bend.falls for bend in bends)


def test_falling_throughput_is_rolloff() -> None:
    found = scaling.compared([ScalingRun(1, itr=10), ScalingRun(2, itr=18), ScalingRun(4, itr=17)])
    bends = scaling.rolloffs(found, 0.75)
    assert [(bend.after, bend.until, bend.falls) for bend in bends] == [(2, 4, True)]
    assert [one.ratio for one in found] == [1, 2, 4]
    assert [one.gain for one in found] == [None, pytest.approx(0.8), pytest.approx(-0.05)]


def test_runs_are_sorted_and_missing_busy_gives_null() -> None:
    found = scaling.compared([ScalingRun(8, 70.0, 50.0), ScalingRun(2, 20.0, 50.0), ScalingRun(4, 40.0)])
    assert [one.run.processors for one in found] == [2, 4, 8]
    assert [one.itr for one in found] == [40, None, 140]
    assert [one.itrr for one in found] == [1, None, 3.5]
    assert [one.gain for one in found] == [None, None, None]
    assert scaling.compared([]) == []
    assert scaling.itr(5, 0) is None
    same = scaling.compared([ScalingRun(2, itr=5), ScalingRun(2, itr=6)])
    assert same[1].gain is None


def test_one_run_is_base_of_itself() -> None:
    (found,) = scaling.compared([ScalingRun(3, 10.0, 80.0)], Z14)
    assert (found.itr, found.itrr, found.etrr, found.ratio, found.efficiency) == (12.5, 1, 1, 1, 1)
    assert found.gain is None
