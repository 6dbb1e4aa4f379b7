"""Capability of n processors in one partition or several, and how workloads scale.

Source: IBM, "z/VM for eighty logical processors": CAF values, effective capability n x c(n), tables 2 to 9.
The unit of capability is a single processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from zlens.catalog import capacity_curves
from zlens.catalog.capacity_curves import Point
from zlens.models.capacity import replacement, scaling
from zlens.models.capacity import runs as capacity_runs
from zlens.models.capacity.curve_sources import NamedCurve, named_curve
from zlens.models.optional_numbers import product, ratio
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries

SUMMARY = (
    "capability of n processors in one partition or several, and how runs of a workload scale against it"
)


def solve(scenario: Scenario) -> Answer:
    """Add the tables of sizes, deployments and runs that the scenario requests."""
    source = named_curve(scenario)
    answer = Answer("capacity", scenario.title or "Capability", [])
    replaced = replacement.requested(scenario)
    if source is None and not scenario["run"] and not replaced:
        raise scenario.error(
            "the scenario has neither curve nor run",
            "write machine = ..., factors, adjustments or data",
            f"a machine of the catalog: {', '.join(capacity_curves.capacity_curves())}",
        )
    if replaced:
        replacement.add(scenario, answer)
    if source is not None:
        _curve(scenario, source, answer)
    elif not replaced:
        _without_curve(scenario)
    if scenario["run"]:
        capacity_runs.add(scenario, None if source is None else source.curve, answer)
    else:
        scenario.unused("rolloff_gain")
    if scenario["usl"] == "curve" and source is not None:
        capacity_runs.add_law_of_curve(scenario, source.curve, answer)
    elif scenario["usl"] == "no" or not scenario["run"]:
        scenario.unused("usl_fits_within")
    return answer


def _without_curve(scenario: Scenario) -> None:
    requested = [key for key in ("sizes", "processors") if scenario[key] is not None]
    if scenario["usl"] == "curve":
        requested.append("usl")
    if requested:
        raise scenario.error(
            f"{requested[0]} needs the curve of a machine",
            "write machine = ..., factors, adjustments or data",
        )


def _curve(scenario: Scenario, source: NamedCurve, answer: Answer) -> None:
    """Add the results of the curve for sizes and deployments."""
    curve = source.curve
    sizes = scenario["sizes"] or _own_sizes(scenario, curve)
    answer.tables.append(
        answer_table("capacity", "sizes", f"Partitions of {source.text}", _size_rows(curve, sizes))
    )
    if scenario["processors"] is not None:
        total = scenario["processors"]
        factor = scaling.factor(curve, total, capacity_curves.complete_curves()).value
        together = "of the processors in one partition"
        answer.figures += [
            AnswerFigure("factor", factor, "", f"Factor {together}", 4),
            AnswerFigure("capability", product(total, factor), "processors", f"Capability {together}"),
        ]
        rows = _deployment_rows(scenario, curve)
        answer.tables.append(answer_table("capacity", "deployments", f"{total:,} processors deployed", rows))
        title = f"Capability of {total:,} processors by deployment"
        deployed = ChartSeries("capability", [row[3] for row in rows])
        answer.charts.append(Chart(title, "bars", [str(row[1]) for row in rows], (deployed,), "processors"))
        answer.follow = ("deployments", "capability")
        if too_many := [n for n in scenario["partitions"] if n > total]:
            answer.notes.append(
                f"{total:,} processors cannot form {_enumerated(too_many)} partitions: left out"
            )
    chart_sizes = _along(curve, sizes)
    linear = [float(n) for n in chart_sizes]
    series = (
        ChartSeries("capability", [scaling.capability(curve, n) for n in chart_sizes]),
        ChartSeries("linear", linear),
    )
    chart = Chart("Effective capability", "lines", linear, series, "processors", "processors")
    answer.charts.append(chart)
    if source.status == "given":
        rises = next((n for (_, previous), (n, current) in pairwise(curve) if current > previous), None)
        if rises is not None:
            answer.notes.append(
                f"The curve rises at {rises:,} processors: on no known machine does the factor grow with "
                "the number of processors, so check it"
            )
    else:
        answer.notes.append(
            f"Curve: {source.text} ({source.status}: {source.source}); it is for IBM's reference "
            "workloads at about 90% busy; other workloads scale differently"
        )
    answer.notes += source.notes
    _add_notes_on_factors(scenario, curve, sizes, answer)


def _add_notes_on_factors(
    scenario: Scenario, curve: Sequence[Point], sizes: Sequence[int], answer: Answer
) -> None:
    """Add notes on interpolated and extrapolated factors of the sizes and the runs."""
    by_how: dict[str, list[int]] = {}
    for n in sorted({*sizes, *(run["processors"] for run in scenario["run"])}):
        by_how.setdefault(scaling.factor(curve, n).how, []).append(n)
    if "between" in by_how:
        answer.notes.append(
            f"Factors of {_enumerated(by_how['between'])} processors are interpolated linearly in ln n "
            "between stated ones; the error was found on machines whose complete curve is "
            "known, or follows from the bend of this curve if larger"
        )
    if "beyond" in by_how:
        end = curve[-1][0]
        answer.notes.append(
            f"The curve ends at {end:,} processors: for {_enumerated(by_how['beyond'])} it continues as it "
            f"ended, up to {2 * end:,}"
        )


def _enumerated(numbers: Sequence[int]) -> str:
    some = ", ".join(f"{n:,}" for n in numbers[:8])
    return some if len(numbers) <= 8 else f"{some} and {len(numbers) - 8:,} other numbers of"


def _own_sizes(scenario: Scenario, curve: Sequence[Point]) -> list[int]:
    """Return default sizes: the runs' sizes, or a readable number of stated points."""
    if scenario["run"]:
        return sorted({run["processors"] for run in scenario["run"]})
    if len(curve) <= 20:
        return [n for n, _ in curve]
    last = curve[-1][0]
    return sorted({n for n in (1, 2, 4, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128, 160) if n < last} | {last})


def _size_rows(curve: Sequence[Point], sizes: Sequence[int]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for n in sizes:
        factor = scaling.factor(curve, n, capacity_curves.complete_curves())
        stated = (factor.value, factor.shown_how, factor.error_pct)
        to_first = scaling.capability_ratio(curve, n, sizes[0])
        rows.append((n, *stated, product(n, factor.value), to_first))
    return rows


def _deployment_rows(scenario: Scenario, curve: Sequence[Point]) -> list[tuple[Any, ...]]:
    total = scenario["processors"]
    rows: list[tuple[Any, ...]] = []
    first: float | None = None
    for partitions in scenario["partitions"]:
        if partitions > total:
            continue
        deployment = scaling.deployment(curve, total, partitions, capacity_curves.complete_curves())
        value, sizes = deployment.value, deployment.sizes
        first = value if not rows else first
        gain = ratio(value, first)
        name = f"{partitions:,} partition{'s' * (partitions > 1)}"
        shown = " + ".join(f"{sizes.count(size):,} x {size:,}" for size in dict.fromkeys(sizes))
        gained = None if gain is None else 100 * (gain - 1)
        how, error = deployment.shown_how, deployment.error_pct
        rows.append((name, shown, sizes[0], value, gained, how, error))
    return rows


def _along(curve: Sequence[Point], sizes: Sequence[int]) -> list[int]:
    """Return some forty sizes for the chart, from 1 to the largest size or the end of the curve."""
    last = max(curve[-1][0], *sizes)
    return sorted({1, last, *sizes, *range(1, last + 1, max(1, last // 40))})
