"""Tests of regression studies: published mean and deviation, outliers, IBM's criterion, errors."""

from __future__ import annotations

import math
import random
import statistics
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens import studies
from zlens.errors import ScenarioError
from zlens.rendering import answer_html, answer_text
from zlens.rendering.answer import Answer, by_name
from zlens.studies.ratio_statistics import outlier_scores, ratio_spread


def study(pairs: list[dict[str, Any]], *, as_published: bool = False, **keys: Any) -> Answer:
    return studies.solve("regression", {"pair": pairs, **keys}, as_published=as_published)


def around(mean: float, deviation: float, count: int) -> list[float]:
    """Return `count` ratios, half above and half below, with this mean and standard deviation."""
    off = deviation * math.sqrt((count - 1) / count)
    return [mean + off * (-1) ** at for at in range(count)]


def pairs_of(etrr: list[float], itrr: list[float]) -> list[dict[str, Any]]:
    return [
        {"name": f"workload {at}", "etrr": e, "itrr": i}
        for at, (e, i) in enumerate(zip(etrr, itrr, strict=True))
    ]


#: "z/VM 6.4 Performance": mean and deviation of the ratios of ETR, and of ITR; the workloads are not printed.
PUBLISHED = {
    "z/VM 6.4": (1.10, 0.24, 1.15, 0.37),
    "z/VM 6.4 1Q17": (0.98, 0.14, 0.98, 0.14),
    "z/VM 6.4 3Q17": (1.02, 0.52, 1.02, 0.44),
}


@pytest.mark.parametrize("release", PUBLISHED)
def test_zvm_64_performance_regression(release: str) -> None:
    etr_mean, etr_deviation, itr_mean, itr_deviation = PUBLISHED[release]
    answer = study(pairs_of(around(etr_mean, etr_deviation, 120), around(itr_mean, itr_deviation, 120)))
    assert answer.figure("etrr_mean") == pytest.approx(etr_mean)
    assert answer.figure("etrr_deviation") == pytest.approx(etr_deviation)
    assert answer.figure("itrr_mean") == pytest.approx(itr_mean)
    assert answer.figure("itrr_deviation") == pytest.approx(itr_deviation)
    within = "" if abs(etr_mean - 1) <= 0.05 else "not "
    assert f"The mean ETR ratio is {within}within 5% of 1." in answer.notes


def test_zvm_64_performance_outlying_workload() -> None:
    """3Q17: the two workloads printed for VM65988 and 118 others have the printed mean and deviation."""

    def others(one: float, two: float, mean: float, deviation: float) -> list[float]:
        left = (120 * mean - one - two) / 118
        squares = 119 * deviation**2 - (one - mean) ** 2 - (two - mean) ** 2 - 118 * (left - mean) ** 2
        return [one, two, *around(left, math.sqrt(squares / 117), 118)]

    answer = study(pairs_of(others(6.29, 1.03, 1.02, 0.52), others(5.00, 1.44, 1.02, 0.44)))
    assert answer.figure("etrr_mean") == pytest.approx(1.02)
    assert answer.figure("etrr_deviation") == pytest.approx(0.52)
    assert answer.figure("itrr_deviation") == pytest.approx(0.44)
    outliers = [row["pair"] for row in by_name(answer.table("pairs")).values() if row["outlier"]]
    assert outliers == ["workload 0"]
    without = by_name(answer.table("summary"))["ETR ratio, without outliers"]
    assert without["pairs"] == 119
    assert without["deviation"] == pytest.approx(0.19, abs=0.005)
    assert any("0.520, is mostly due to outliers" in note for note in answer.notes)


def test_ratios_are_those_of_runs() -> None:
    pair = {
        "name": "a",
        "base": {"etr": 100.0, "busy": 80.0, "processors": 4},
        "comparison": {"etr": 110.0, "busy": 80.0, "processors": 4},
    }
    row = by_name(study([pair]).table("pairs"))["a"]
    assert row["etrr"] == pytest.approx(1.1)
    assert row["itrr"] == pytest.approx(1.1)
    assert row["cpu_ratio"] == pytest.approx(1 / 1.1)


def test_as_published_rounds_busy() -> None:
    pair = {
        "name": "a",
        "base": {"etr": 100.0, "busy": 20.04},
        "comparison": {"etr": 100.0, "busy": 20.06},
    }
    assert by_name(study([pair]).table("pairs"))["a"]["itrr"] == pytest.approx(20.04 / 20.06)
    rounded = study([pair], as_published=True)
    assert by_name(rounded.table("pairs"))["a"]["itrr"] == pytest.approx(20.0 / 20.1)
    assert "Busy is rounded to 0.1%, as in published tables." in rounded.notes


@pytest.mark.parametrize(
    ("etrr", "itrr", "verdict"),
    [
        (1.0, 1.0, "within"),
        (0.95, 1.05, "within"),
        (0.949, 1.0, "worse"),
        (1.0, 0.949, "worse"),
        (1.2, 0.94, "worse"),
        (1.0, 1.051, "better"),
        (1.051, 1.0, "better"),
    ],
)
def test_criterion_is_five_percent(etrr: float, itrr: float, verdict: str) -> None:
    """ "z/VM Performance Update": results are within usual 5% regression criteria."""
    answer = study([{"name": "a", "etrr": etrr, "itrr": itrr}])
    assert by_name(answer.table("pairs"))["a"]["verdict"] == verdict
    assert answer.figure("worse") == (verdict == "worse")


def test_large_decrease_is_outlier() -> None:
    names = pairs_of([*around(1.0, 0.02, 20), 0.5], [1.0] * 21)
    rows = study(names).table("pairs")
    assert rows.column("outlier") == [False] * 20 + [True]
    assert "The mean ETR ratio is within 5% of 1." in study(names).notes
    for mean in (0.95, 1.05):
        edge = study(pairs_of([mean] * 2, [1.0] * 2))
        assert "The mean ETR ratio is within 5% of 1." in edge.notes
    low = study(pairs_of([0.9, 0.92], [1.0, 1.0]))
    assert "The mean ETR ratio is not within 5% of 1." in low.notes


def test_criterion_is_configurable() -> None:
    answer = study([{"name": "a", "etrr": 0.93}], criterion=10)
    assert by_name(answer.table("pairs"))["a"]["verdict"] == "within"
    assert "regression_criterion" not in [one.name for one in answer.assumptions]


def test_one_ratio_of_two_is_enough() -> None:
    answer = study([{"name": "a", "etrr": 0.9}, {"name": "b", "itrr": 1.2}])
    assert answer.table("pairs").column("verdict") == ["worse", "better"]
    assert answer.table("summary").column("pairs") == [1, 1]
    assert answer.figure("etrr_deviation") is None


def test_groups_have_own_rows() -> None:
    pairs = [
        {"name": "a", "group": "web", "etrr": 0.9, "itrr": 0.9},
        {"name": "b", "group": "web", "etrr": 1.1, "itrr": 1.1},
        {"name": "c", "etrr": 1.0, "itrr": 1.0},
    ]
    rows = study(pairs).table("groups").rows
    assert [(row[0], row[1], row[2]) for row in rows] == [
        ("web", "ETR", 2), ("web", "ITR", 2), (None, "ETR", 1), (None, "ITR", 1),
    ]  # fmt: skip
    assert rows[0][3] == pytest.approx(1.0)
    assert rows[0][-1] == 1
    assert "groups" not in [table.key for table in study(pairs[2:]).tables]


def test_different_processor_counts_are_noted() -> None:
    pair = {
        "name": "a",
        "base": {"etr": 1.0, "busy": 50.0, "processors": 4},
        "comparison": {"etr": 2.0, "busy": 50.0, "processors": 8},
    }
    assert any("different numbers of processors" in note for note in study([pair]).notes)


def test_averaged_processor_count_is_equal() -> None:
    pair = {
        "name": "a",
        "base": {"etr": 1.0, "busy": 50.0, "processors": 4},
        "comparison": {"etr": 2.0, "busy": 50.0, "processors": 3.99},
    }
    assert not any("numbers of processors" in note for note in study([pair]).notes)
    del pair["base"]["processors"]  # type: ignore[attr-defined]
    assert not any("numbers of processors" in note for note in study([pair]).notes)


def test_few_pairs_have_no_outliers() -> None:
    few = pairs_of([1.0, 1.01, 0.99, 9.0], [1.0] * 4)
    answer = study(few)
    assert "outlier" not in [column.key for column in answer.table("pairs").columns]
    assert any("outliers cannot be detected" in note for note in answer.notes)
    assert not any("one by one" in note for note in answer.notes)
    more = study(pairs_of([1.0, 1.01, 0.99, 9.0, 1.02], [1.0] * 5))
    assert more.table("pairs").column("outlier") == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ({"name": "a"}, "has no ratio"),
        ({"name": "a", "base": {"etr": 1.0}}, r"pair\[1\]\.comparison is missing"),
        ({"name": "a", "comparison": {"etr": 1.0}}, r"pair\[1\]\.base is missing"),
        ({"name": "a", "etrr": 1.0, "base": {"etr": 1.0}}, "has etrr and runs"),
        ({"name": "a", "base": {"busy": 1.0}, "comparison": {"busy": 1.0}}, "has no throughput"),
        ({"name": "a", "etrr": 0}, "a number above 0"),
        ({"name": "a", "base": {"etr": 1.0, "cpus": 1}, "comparison": {"etr": 1.0}}, "cpus is not known"),
    ],
)
def test_invalid_pairs_are_rejected(pair: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        study([pair])


def test_pair_names_are_unique() -> None:
    with pytest.raises(ScenarioError, match=r'pair\[2\]\.name is a duplicate: "a"'):
        study([{"name": "a", "etrr": 1.0}] * 2)
    with pytest.raises(ScenarioError, match="pair is a list of 0"):
        study([])


def test_regression_example_answer() -> None:
    answer = studies.solve("regression", tomllib.loads(studies.find("regression").example))
    assert answer.figure("worse") == 1


def test_many_pairs_are_shown_in_order() -> None:
    generator = random.Random(1)
    answer = study(pairs_of(*([generator.lognormvariate(0, 0.1) for _ in range(120)] for _ in range(2))))
    (chart,) = answer.charts
    assert chart.kind == "lines"
    values = [value for value in chart.series[0].values if value is not None]
    assert values == sorted(values)
    assert len(values) == 120
    assert "<svg" in answer_html.render(answer)
    assert "workload 119" in answer_text.render(answer)


# Arithmetic -----------------------------------------------------------------------------------------

RATIOS = st.lists(st.floats(0.01, 100), min_size=1, max_size=40)


@given(RATIOS)
def test_spread_agrees_with_statistics_module(values: list[float]) -> None:
    found = ratio_spread(values)
    assert found.mean == pytest.approx(statistics.mean(values))
    assert found.geometric == pytest.approx(statistics.geometric_mean(values))
    assert found.median == statistics.median(values)
    assert (found.least, found.most, found.count) == (min(values), max(values), len(values))
    if len(values) > 1:
        squares = sum((value - sum(values) / len(values)) ** 2 for value in values)
        assert found.deviation == pytest.approx(math.sqrt(squares / (len(values) - 1)), abs=1e-9)
    else:
        assert found.deviation is None


@given(RATIOS)
def test_outlier_scores_are_symmetric(values: list[float]) -> None:
    turned = outlier_scores([1 / value for value in values])
    for score, other in zip(outlier_scores(values), turned, strict=True):
        assert score is not None
        assert other is not None
        assert score == pytest.approx(-other, abs=1e-3, rel=1e-3)


def test_normal_outlier_scores_are_deviations() -> None:
    normal = statistics.NormalDist(0, 0.1)
    values = [math.exp(normal.inv_cdf((at + 0.5) / 2001)) for at in range(2001)]
    found = outlier_scores(values)
    assert found[1000] == pytest.approx(0, abs=1e-9)
    assert found[-1] == pytest.approx(normal.inv_cdf(2000.5 / 2001) / 0.1, rel=0.01)


def test_outlier_scores_of_equal_values() -> None:
    assert outlier_scores([1.0, 1.0, 1.0]) == [0.0, 0.0, 0.0]
    assert outlier_scores([]) == []
    assert outlier_scores([None, 2.0]) == [None, 0.0]
    # More than half are equal: the other one is an outlier.
    found = outlier_scores([1.0] * 20 + [3.0])
    assert found[-1] is not None
    assert found[-1] > 3.5
    assert found[0] == 0.0


# Outliers are beyond the spread -----------------------------------------------------------------------


@pytest.mark.parametrize("regular", [1.0, 1.0002])
def test_wide_spread_has_no_outliers(regular: float) -> None:
    """A quarter of 120 pairs within 0.4% of the others is their spread."""
    tight = [regular ** (-1) ** at for at in range(90)]
    wide = [1 + 0.004 * (-1) ** at * (at + 1) / 30 for at in range(30)]
    answer = study(pairs_of([*tight, *wide], [1.0] * 120))
    assert not any(answer.table("pairs").column("outlier"))
    one = study(pairs_of([*tight, *wide[:-1], 1.02], [1.0] * 120))
    assert one.table("pairs").column("outlier") == [False] * 119 + [True]


def test_tenth_of_ratios_may_be_outliers() -> None:
    ratios = around(1.0, 0.01, 18)
    assert study(pairs_of([*ratios, 2.0, 3.0], [1.0] * 20)).table("pairs").column("outlier").count(True) == 2
    three = study(pairs_of([*ratios[1:], 2.0, 2.1, 2.2], [1.0] * 20))
    assert not any(three.table("pairs").column("outlier"))
