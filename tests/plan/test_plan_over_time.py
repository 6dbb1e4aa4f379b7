"""Tests of what-ifs over all intervals: limits of four-hour averages, moved classes, work that waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import zlens
from zlens.api import Session
from zlens.errors import QueryError, ScenarioError
from zlens.models.partitions import msu
from zlens.plan import planning
from zlens.rendering.answer import Answer, by_name
from zos_days import MSU, QUARTER_S, Image, Work, written

#: CPs of a class for five hours, a busy one, and four hours.
BUSY = [1.0] * 20 + [3.0] * 4 + [1.0] * 16


def images(batch: Sequence[float] = BUSY, **keys: Any) -> list[Image]:
    """Return two systems; the class BATCH of the first is busy for an hour."""
    quiet = [0.5] * len(batch)
    return [
        Image("SYSA", "LPA", 1, [Work("BATCH", batch), Work("ONLINE", quiet)], 0.25, **keys),
        Image("SYSB", "LPB", 2, [Work("ONLINE", quiet)]),
    ]


@contextmanager
def opened(path: Path, given: Sequence[Image], physical: int = 8) -> Iterator[Session]:
    with zlens.open([written(path / "days.smf", given, physical)]) as session:
        yield session


def plan(path: Path, given: Sequence[Image], *settings: str, physical: int = 8, **keys: Any) -> Answer:
    with opened(path, given, physical) as session:
        return planning.plan(session._core, settings, system="SYSA", **keys)


def brute_force_peak(used: Sequence[float]) -> float:
    """Return the highest hourly mean of the four-hour averages of quarters, in MSU."""
    averages = {end: sum(used[end - 16 : end]) / 16 * MSU for end in range(16, len(used) + 1)}
    hours: dict[int, list[float]] = {}
    for end, average in averages.items():
        hours.setdefault((end - 1) // 4, []).append(average)
    return max(sum(values) / len(values) for values in hours.values())


def test_averages_without_limits_are_those_measured(tmp_path: Path) -> None:
    answer = plan(tmp_path, images(), "weight=300", over_time=True)
    used = [0.75 + cores for cores in BUSY]
    rows = by_name(answer.table("averages"))
    assert rows["LPA"]["measured"] == pytest.approx(brute_force_peak(used))
    assert rows["LPB"]["measured"] == pytest.approx(0.5 * MSU)
    assert rows["machine"]["measured"] == pytest.approx(brute_force_peak([each + 0.5 for each in used]))
    for name in ("machine", "LPA", "LPB"):
        # The hour's mean is over its twelve steps of five minutes, not over its four quarters.
        assert rows[name]["before"] == pytest.approx(rows[name]["measured"], rel=0.02)
        assert rows[name]["after"] == rows[name]["before"]
    assert rows["LPA"]["hour_before"] == "11-15 06:00"
    assert "No work waits, before or after" in answer.notes
    assert [table.key for table in answer.tables] == ["changes", "averages"]


def test_defined_capacity_makes_work_wait(tmp_path: Path) -> None:
    """What does not fit into the busy hour at 300 MSU is done in the hours after it.

    All of it is done before the busy hour leaves the window, so the highest average is the same, but later.
    """
    answer = plan(tmp_path, images(), "defined_capacity=300")
    assert answer.table("changes").rows == [
        ("defined_capacity=300", "defined capacity of LPA", "MSU", None, 300.0, None)
    ]
    row = by_name(answer.table("averages"))["LPA"]
    assert row["before"] == pytest.approx(324, rel=0.01)
    assert row["after"] == pytest.approx(324)
    assert (row["hour_before"], row["hour_after"]) == ("11-15 06:00", "11-15 08:00")
    [waits] = answer.table("waits").records()
    assert waits["name"] == "LPA"
    assert (waits["late_before"], waits["capped_before"], waits["mean_before"]) == (0, 0, None)
    assert waits["late_after"] > 0
    assert waits["left_after"] == 0
    assert 0 < waits["mean_after"] <= waits["longest_after"]
    assert any("first four hours" in note for note in answer.notes)
    assert {each.name for each in answer.assumptions} >= {"demand", "step", "caps", "waiting_work"}


def test_low_defined_capacity_lowers_average(tmp_path: Path) -> None:
    """At 260 MSU, 8 are left for what waits: most of it does at the end, and the average is lower."""
    answer = plan(tmp_path, images(), "defined_capacity=260")
    row = by_name(answer.table("averages"))["LPA"]
    assert 260 < row["after"] < 280
    assert row["difference"] == pytest.approx(row["after"] - row["before"])
    [waits] = answer.table("waits").records()
    assert waits["left_after"] > 150
    # In order, ten steps of 280 MSU too much wait as long as 260 take for them: 0.9 hours, in whole steps.
    assert waits["longest_after"] == pytest.approx(11 / 12)


def test_group_capacity_counts_all_members(tmp_path: Path) -> None:
    """Each partition alone is below 350 MSU, both together are not; the order of settings does not matter."""
    settings = ("partition.LPA.capacity_group=G", "partition.LPB.capacity_group=G", "group.G.capacity=350")
    answer = plan(tmp_path, images(), *settings)
    rows = by_name(answer.table("averages"))
    assert rows["G"]["after"] == pytest.approx(rows["LPA"]["after"] + rows["LPB"]["after"], rel=0.01)
    assert rows["G"]["before"] is None
    assert rows["G"]["after"] < rows["machine"]["before"]
    assert [row["name"] for row in answer.table("waits").records()] == ["LPA"]


def test_moved_class_changes_both_partitions(tmp_path: Path) -> None:
    answer = plan(tmp_path, images(), "class.BATCH.partition=LPB")
    rows = by_name(answer.table("averages"))
    assert rows["LPA"]["after"] == pytest.approx(0.75 * MSU)
    assert rows["LPB"]["after"] == pytest.approx(brute_force_peak([0.5 + each for each in BUSY]), rel=0.01)
    assert rows["machine"]["difference"] == pytest.approx(0)
    assert any(each.name == "moved_class" for each in answer.assumptions)


def test_physical_cores_make_work_wait(tmp_path: Path) -> None:
    """3.75 + 0.5 CPs do not fit into 4 (a quarter of a CP hour is late), and do into 5."""
    before, after = images(), ("physical_cores=-1",)
    answer = plan(tmp_path, before, *after, physical=5, over_time=True)
    late = {row["name"]: (row["late_before"], row["left_after"]) for row in answer.table("waits").records()}
    assert late == {"LPA": (0, 0)}


def test_recorded_average_is_the_history(tmp_path: Path) -> None:
    """With a recorded average of 310 MSU, a limit of 300 applies from the first interval."""
    answer = plan(tmp_path, images(averages=[310.0] * len(BUSY)), "defined_capacity=300")
    [waits] = answer.table("waits").records()
    # 1.75 CPs are 252 MSU, below the limit: only the busy hour is limited, from its start.
    assert waits["capped_after"] > 1
    assert not any("LPA: no average" in note for note in answer.notes)


def test_recorded_limits_apply_before(tmp_path: Path) -> None:
    fields = {"MSU": 300, "PFL": ["GRP"], "GNM": "G", "GMU": 500}
    answer = plan(tmp_path, images(fields=fields), "defined_capacity=0")
    assert answer.table("changes").rows == [
        ("defined_capacity=0", "defined capacity of LPA", "MSU", 300.0, None, None)
    ]
    [waits] = answer.table("waits").records()
    assert waits["late_before"] > waits["late_after"] == 0
    assert by_name(answer.table("averages"))["G"]["before"] is not None


def test_averages_of_the_input_by_brute_force(tmp_path: Path) -> None:
    """Recorded averages are used where they are; others are computed from the use of 16 quarters."""
    given = images(averages=[100.0 + number for number in range(len(BUSY))])
    with opened(tmp_path, given) as session:
        rows = msu.partitions(session._core)
    by_partition = {name: [row for row in rows if row.partition == name] for name in ("LPA", "LPB")}
    used = [0.75 + cores for cores in BUSY]
    for number, row in enumerate(by_partition["LPA"], 1):
        expected = sum(used[number - 16 : number]) / 16 * MSU if number >= 16 else None
        assert row.computed.value == (None if expected is None else pytest.approx(expected))
        assert row.recorded == row.rolling == 99 + number
    assert [row.rolling for row in by_partition["LPB"]][:16] == [None] * 15 + [pytest.approx(72)]
    earlier = msu.earlier_averages(rows)
    first = by_partition["LPA"][0]
    again = (earlier["LPA"] * (4 * 3600 - QUARTER_S) + first.used * QUARTER_S) / (4 * 3600)
    assert list(earlier) == ["LPA"]
    assert again == pytest.approx(100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["defined_capacity=-1"], "expected a number from 0"),
        (["partition.LPX.defined_capacity=100"], "there is no partition LPX"),
        (["partition.LPA.capacity_group=H"], "there is no capacity group H"),
        (["class.CICS.partition=LPB"], "no CPU time of a service class CICS; expected BATCH, ONLINE"),
        (["class.BATCH.partition=LPX"], "there is no partition LPX"),
        (["defined_capacity=100", "split=2"], "for one interval, but defined_capacity"),
        (["defined_capacity=100", "user.A.relative=2"], "for one interval, but defined_capacity"),
    ],
)
def test_settings_that_do_not_apply_over_time(tmp_path: Path, settings: list[str], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        plan(tmp_path, images([1.0] * 2), *settings)


def test_time_of_one_interval_contradicts_all(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="a time of one interval is given, but it solves all intervals"):
        plan(tmp_path, images([1.0] * 2), "weight=2", at="2023-11-14 23:10", over_time=True)
    unrated = images([1.0] * 2, control={"CPA_ACTUAL": 0, "MCR": 0})[:1]
    with pytest.raises(QueryError, match="no partitions with a capacity in MSU"):
        plan(tmp_path, unrated, "defined_capacity=100")
