"""Runs of a workload against the capability curve: ratios, rolloff and the Universal Scalability Law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from zlens.catalog.capacity_curves import Point
from zlens.models.capacity import scaling, usl
from zlens.models.constants import constant
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries


def add(scenario: Scenario, curve: Sequence[Point] | None, answer: Answer) -> None:
    """Add tables, figures, a chart and notes on the runs of a scenario to the answer."""
    runs = [
        scaling.ScalingRun(**{**run, "name": run["name"] or f"run {number}"})
        for number, run in enumerate(scenario["run"], 1)
    ]
    _check_combinations(scenario, runs)
    compared = scaling.compared(runs, curve)
    bends = scaling.rolloffs(compared, scenario["rolloff_gain"])
    rows = [_row(scaled, bends) for scaled in compared]
    answer.tables.append(answer_table("capacity", "runs", "Runs", rows))
    last = compared[-1]
    answer.figures += [
        AnswerFigure("itrr", last.itrr, "", "ITR ratio of the largest run", 3),
        AnswerFigure("efficiency", last.efficiency, "", "ITR ratio of the largest run over expected", 3),
    ]
    answer.follow = answer.follow or ("runs", "itrr")
    _add_notes(scenario, compared, bends, curve is not None, answer)
    fit = _add_fit(scenario, compared, answer) if scenario["usl"] == "runs" else None
    _add_chart(compared, fit, answer)


def add_law_of_curve(scenario: Scenario, curve: Sequence[Point], answer: Answer) -> None:
    """Add the law fitted to the curve of a machine, where one processor is 1 by definition."""
    points = [(float(n), n * value) for n, value in curve]
    _add_law(scenario, points, 1.0, "capability of the machine", answer)


def _check_combinations(scenario: Scenario, runs: Sequence[scaling.ScalingRun]) -> None:
    for run in runs:
        if run.etr is None and run.itr is None:
            raise scenario.error(f"run {run.name} has no throughput", "set etr or itr")
        if None not in (run.etr, run.busy, run.itr):
            raise scenario.error(f"run {run.name} has itr as well as etr and busy", "leave itr out")


def _row(scaled: scaling.Scaled, bends: Sequence[scaling.Rolloff]) -> tuple[Any, ...]:
    verdict = "base" if scaled.gain is None and scaled.itrr == 1 else ""
    bend = next((bend for bend in bends if bend.until == scaled.run.processors), None)
    if bend is not None:
        verdict = "falls" if bend.falls else "rolls off"
    elif scaled.gain is not None:
        verdict = "scales"
    run, (_, *compared) = scaled.run, astuple(scaled)
    return (run.name, run.processors, run.etr, run.busy, *compared, verdict)


def _add_notes(
    scenario: Scenario,
    compared: Sequence[scaling.Scaled],
    bends: Sequence[scaling.Rolloff],
    has_curve: bool,
    answer: Answer,
) -> None:
    for bend in bends:
        effect = "the ITR falls" if bend.falls else f"the ITR gains {bend.gain:.2f} of the expected gain"
        answer.notes.append(
            f"From {bend.after:,} to {bend.until:,} processors {effect}: look for serialization, for "
            "algorithms that grow with the size, or for contended cache lines"
        )
    if all(scaled.gain is None for scaled in compared):
        scenario.unused("rolloff_gain")
    elif not bends:
        answer.notes.append("No sharp bend: the ITR gains enough at every step")
    if not has_curve:
        answer.notes.append(
            "Expected is linear because no machine is set; on real machines each processor adds less"
        )
    busy = [scaled.run.busy for scaled in compared if scaled.run.busy is not None]
    max_difference = float(constant("busy_apart").default)
    if busy and max(busy) - min(busy) > max_difference:
        scenario.assume("busy_apart")
        answer.notes.append(
            f"The runs are {min(busy):.1f}% to {max(busy):.1f}% busy: processors do more at low busy, so the "
            "ITRs of such runs are not well comparable"
        )
    if any(scaled.itr is None for scaled in compared):
        answer.notes.append("A run without busy has no ITR, so its scaling is unknown")


def _add_fit(scenario: Scenario, compared: Sequence[scaling.Scaled], answer: Answer) -> usl.UslFit | None:
    points = [(float(scaled.run.processors), scaled.itr) for scaled in compared if scaled.itr is not None]
    if len({n for n, _ in points}) < 2:
        scenario.unused("usl_fits_within")
        return None
    return _add_law(scenario, points, scenario["usl_one"], "ITR of the runs", answer)


def _add_law(
    scenario: Scenario,
    points: Sequence[tuple[float, float]],
    gamma: float | None,
    subject: str,
    answer: Answer,
) -> usl.UslFit | None:
    sizes, rates = zip(*points, strict=True)
    fit = usl.fit(sizes, rates, gamma=gamma, confidence=scenario["confidence"] / 100)
    if fit is None:
        scenario.unused("usl_fits_within")
        answer.notes.append(
            "The Universal Scalability Law needs runs of at least three sizes; it is not fitted"
        )
        return None
    title = f"Universal Scalability Law of the {subject}, confidence {scenario['confidence']:g}%"
    answer.tables.append(answer_table("capacity", "law", title, fit.parameters))
    fitted = [
        (int(n), rate, *values, 100 * error)
        for n, rate, *values, error in zip(
            sizes, rates, fit.values, fit.lows, fit.highs, fit.errors, strict=True
        )
    ]
    answer.tables.append(answer_table("capacity", "fitted", "Throughput by the law", fitted))
    bound, miss = scenario["usl_fits_within"], 100 * fit.largest_error
    answer.figures += [
        AnswerFigure("usl_miss", miss, "%", "Largest error of the Universal Scalability Law", 1),
        AnswerFigure("usl_peak", fit.peak, "processors", "Peak throughput by the law at", 1),
    ]
    if miss > bound:
        answer.notes.append(
            f"The Universal Scalability Law does not fit: its error is up to {miss:.1f}%, "
            f"more than {bound:g}%; do not use its parameters or its peak"
        )
    elif fit.freedom == 0:
        answer.notes.append(
            f"The law has as many parameters as runs ({len(sizes)}), so the fit cannot be checked"
        )
    else:
        _add_parameter_notes(fit, answer)
    return fit


def _add_parameter_notes(fit: usl.UslFit, answer: Answer) -> None:
    """Add notes on how to read the parameters of a law that fits."""
    beta = fit.parameters[2]
    if fit.peak is not None and beta.low is not None and beta.low <= 0:
        answer.notes.append(
            "The interval of beta includes 0: the runs do not show whether throughput has a peak"
        )
    for parameter in fit.parameters[1:]:
        if parameter.how.startswith("at "):
            answer.notes.append(
                f"The best {parameter.name} would be {'above 1' if parameter.value else 'below 0'}, "
                f"which is meaningless: it is set to {parameter.value:g} and has no interval"
            )


def _add_chart(compared: Sequence[scaling.Scaled], fit: usl.UslFit | None, answer: Answer) -> None:
    sizes = [float(scaled.run.processors) for scaled in compared]
    base = next((scaled.itr for scaled in compared if scaled.itr), None)
    series = [
        ChartSeries("ITRR", [scaled.itrr for scaled in compared]),
        ChartSeries("expected", [scaled.ratio for scaled in compared]),
    ]
    if fit is not None and base:
        series.append(ChartSeries("law", [fit.throughput_at(n) / base for n in sizes]))
    title = "ITR by size, relative to the smallest run"
    answer.charts.append(Chart(title, "lines", sizes, tuple(series), "", "processors"))
