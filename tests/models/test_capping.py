"""Tests of partitions over time: caps by the rolling average, and work that waits.

Publications: z/OS MVS Planning: Workload Management, group capacity: 50 MSU by weights 100, 50, 150.
"""

from __future__ import annotations

from typing import Any

import pytest

from iterations import draws
from zlens.models.partitions import capping
from zlens.models.partitions.capping import OfferedInterval, PartitionCourse, StepUse

HOUR = 3600.0
#: MSU of a core in these tests.
MSU = 50.0


def partition(name: str, demand: float, **keys: Any) -> dict[str, Any]:
    return {"name": name, "type": "CP", "cores": 4, "weight": 100, "demand": demand, **keys}


def hours(
    *demands: dict[str, float], capacity: float = 4.0, groups: dict[str, float] | None = None, **keys: Any
) -> list[OfferedInterval]:
    """Return an hour for each of these demands by partition; `keys` of a partition by its name."""
    return [
        OfferedInterval(
            number * HOUR,
            HOUR,
            capacity,
            [partition(name, demand, **keys.get(name, {})) for name, demand in by_name.items()],
            groups or {},
            MSU,
        )
        for number, by_name in enumerate(demands, 1)
    ]


def used(course: PartitionCourse) -> list[float]:
    """Return the MSU of each hour."""
    found = [0.0] * round(course.steps[-1].end / HOUR)
    for step in course.steps:
        found[round((step.end - step.seconds) // HOUR)] += step.msu * step.seconds / HOUR
    return found


def test_defined_capacity_caps_when_average_is_above() -> None:
    """100 MSU for hours, then 150 with a limit of 100: nothing is capped until the average exceeds 100.

    The average is above the limit after the first step of five minutes, so 11 of 12 steps of the fifth hour
    are capped at 100: 11/12 x 50 MSU wait. With 50 MSU in the sixth hour they are done: each step does 100
    MSU.
    """
    demands = [{"A": 2.0}] * 4 + [{"A": 3.0}, {"A": 1.0}, {"A": 1.0}]
    course = capping.solve(hours(*demands, A={"defined_capacity": 100.0}))["A"]
    assert used(course)[:4] == pytest.approx([100] * 4)
    assert used(course)[4] == pytest.approx(100 + 50 / 12)
    assert used(course)[5] == pytest.approx(50 + 50 * 11 / 12)
    assert course.late == pytest.approx(_late([150 / 12] * 11 + [50 / 12] * 24, 100 / 12))
    assert course.left == 0
    averages = {step.end: step.rolling for step in course.steps}
    assert averages[4 * HOUR] == pytest.approx(100)
    assert averages[4 * HOUR + 300] == pytest.approx(100 + 50 / 48)
    # Capped in 11 steps of the fifth hour, and while it works off what waits.
    assert course.limited_s == pytest.approx((11 + 10) * 300)


def _late(offered: list[float], done: float) -> float:
    """Return what is not done in the step that it comes in, behind what came before; `done` in each step."""
    late = waiting = 0.0
    for amount in offered:
        waiting = max(0.0, waiting + amount - done)
        late += min(waiting, amount)
    return late


def test_average_that_is_unknown_caps_nothing() -> None:
    known = capping.solve(hours({"A": 3.0}, A={"defined_capacity": 100.0}), {"A": 120.0})["A"]
    assert used(known) == pytest.approx([100])
    unknown = capping.solve(hours({"A": 3.0}, A={"defined_capacity": 100.0}))["A"]
    assert used(unknown) == pytest.approx([150])
    assert [step.rolling for step in unknown.steps] == [None] * 12


def test_absolute_msu_capping_ignores_average() -> None:
    [interval] = hours({"A": 3.0}, A={"defined_capacity": 100.0})
    capped = OfferedInterval(interval.end, HOUR, 4.0, interval.partitions, {}, MSU, always=frozenset({"A"}))
    assert used(capping.solve([capped])["A"]) == pytest.approx([100])


def test_full_group_shares_its_limit_by_weight() -> None:
    """IBM's example: 50 MSU by weights 100, 50 and 150 are 16.7, 8.3 and 25."""
    weights = {"A": {"weight": 100}, "B": {"weight": 50}, "C": {"weight": 150}}
    keys = {name: {**each, "capacity_group": "G"} for name, each in weights.items()}
    demands = {"A": 1.0, "B": 1.0, "C": 1.0}
    averages = {"A": 30.0, "B": 30.0, "C": 30.0}
    courses = capping.solve(hours(demands, groups={"G": 50.0}, **keys), averages)
    assert [used(courses[name])[0] for name in "ABC"] == pytest.approx([16.7, 8.3, 25], abs=0.04)
    # What a member leaves is open to the others.
    demands = {"A": 1.0, "B": 0.0, "C": 1.0}
    courses = capping.solve(hours(demands, groups={"G": 50.0}, **keys), averages)
    assert [used(courses[name])[0] for name in "ABC"] == pytest.approx([20, 0, 30])
    # The sum of the averages is below the limit: no cap.
    courses = capping.solve(hours(demands, groups={"G": 95.0}, **keys), averages)
    assert [used(courses[name])[0] for name in "ABC"] == pytest.approx([50, 0, 50], rel=0.1)


def test_waiting_work_is_done_in_order() -> None:
    """An hour of 3 cores on a machine of 2, then nothing: one core hour waits, half an hour at the end.

    The first that waits is done in the first step after, the last, which came in the last step, in the sixth.
    """
    course = capping.solve(hours({"A": 3.0}, {"A": 0.0}, capacity=2.0))["A"]
    assert used(course) == pytest.approx([100, 50])
    assert course.left == 0
    # In order: work that came at t is done at 1.5 t, so it waits t / 2, at most half an hour.
    assert course.longest_s == pytest.approx(1800)
    assert course.delay_s / 150 == pytest.approx(HOUR / 4, rel=0.1)
    assert course.limited_s == 0


def test_ipl_restarts_average() -> None:
    first, second = hours({"A": 3.0}, {"A": 3.0}, A={"defined_capacity": 100.0})
    again = OfferedInterval(second.end, HOUR, 4.0, second.partitions, {}, MSU, ipl={"A": HOUR})
    course = capping.solve([first, again], {"A": 200.0})["A"]
    # What waited is done on the other core, and only the second hour counts.
    assert used(course) == pytest.approx([100, 200])
    assert course.steps[-1].rolling == pytest.approx(50)


def test_work_is_neither_lost_nor_added() -> None:
    """Offered = done + left of each partition, whatever the caps; the machine does no more than it has."""
    chance = draws(31)
    for _ in range(25):
        names = "ABC"[: chance.randrange(1, 4)]
        keys = {
            name: {
                "weight": chance.randrange(1, 1000),
                "capped": chance.random() < 0.3,
                "defined_capacity": chance.choice([None, 30.0, 90.0]),
                "capacity_group": chance.choice([None, "G"]),
            }
            for name in names
        }
        demands = [{name: chance.random() * 3 for name in names} for _ in range(8)]
        capacity = 1 + chance.random() * 4
        averages = {name: chance.random() * 100 for name in names if chance.random() < 0.7}
        courses = capping.solve(hours(*demands, capacity=capacity, groups={"G": 80.0}, **keys), averages)
        for name, course in courses.items():
            offered = sum(each[name] for each in demands) * MSU
            assert sum(used(course)) + course.left == pytest.approx(offered)
        for steps in zip(*(course.steps for course in courses.values()), strict=True):
            assert sum(step.msu for step in steps) <= capacity * MSU + 1e-6
        _check_limits(courses, keys)


def _check_limits(courses: dict[str, PartitionCourse], keys: dict[str, dict[str, Any]]) -> None:
    """Check that a partition whose average was above its limit before a step got no more than it."""
    for name, course in courses.items():
        limit = keys[name]["defined_capacity"]
        before: StepUse | None = None
        for step in course.steps:
            if limit and before is not None and before.rolling is not None and before.rolling > limit:
                assert step.msu <= limit + 1e-6
            before = step
