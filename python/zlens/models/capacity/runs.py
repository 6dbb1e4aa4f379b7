"""Runs of a workload beside the curve of capability: ratios, where they roll off, and the scalability law."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlens.catalog.machines import Point
from zlens.models.answer import Answer, Column, Figure, Table
from zlens.models.capacity import scaling, usl
from zlens.models.constants import constant
from zlens.models.scenario import Scenario
from zlens.present.charts import Chart, Series

_RUNS = (
    Column("name", "Run"),
    Column("processors", "Processors"),
    Column("etr", "ETR", "1/s", "external throughput rate", 2),
    Column("busy", "Busy", "%", "average logical processor"),
    Column("itr", "ITR", "1/s", "internal throughput rate: ETR of a fully busy partition", 1),
    Column("etrr", "ETRR", "", "ETR, that of the smallest run being 1", 3),
    Column("itrr", "ITRR", "", "ITR, that of the smallest run being 1", 3),
    Column("ratio", "Expected", "", "capability, that of the smallest run being 1", 3),
    Column("efficiency", "ITRR/exp.", "", "1: the workload scales as the reference workloads do", 3),
    Column("gain", "Gain", "", "what ITRR gained since the run before, of what was expected", 2),
    Column("verdict", "Verdict"),
)
_LAW = (
    Column("name", "Parameter", text="gamma: throughput of one; alpha: contention; beta: coherency"),
    Column("value", "Value", "", "", 8),
    Column("low", "Low", "", "lower end of the interval of confidence", 8),
    Column("high", "High", "", "upper end of it", 8),
    Column("how", "How", text="fitted, given, or held at 0"),
)
_FITTED = (
    Column("processors", "Processors"),
    Column("throughput", "Throughput", "", "what is fitted", 2),
    Column("fitted", "Fitted", "", "what the law has", 2),
    Column("low", "Low", "", "lower end of the interval of confidence of the curve", 2),
    Column("high", "High", "", "upper end of it", 2),
    Column("error", "Miss", "%", "fitted against observed", 1),
)


def add(scenario: Scenario, curve: Sequence[Point] | None, answer: Answer) -> None:
    """The runs of a scenario, as tables, figures, a chart and notes of the answer."""
    runs = [
        scaling.Run(run["processors"], run["etr"], run["busy"], run["itr"], run["name"] or f"run {at}")
        for at, run in enumerate(scenario["run"], 1)
    ]
    _together(scenario, runs)
    compared = scaling.compared(runs, curve)
    bends = scaling.rolloffs(compared, scenario["rolloff_gain"])
    rows = [_row(one, bends) for one in compared]
    answer.tables.append(Table("runs", "Runs", _RUNS, rows))
    last = compared[-1]
    answer.figures += [
        Figure("itrr", last.itrr, "", "ITR ratio of the largest run", 3),
        Figure("efficiency", last.efficiency, "", "ITR ratio of the largest run, of what is expected", 3),
    ]
    answer.follow = answer.follow or ("runs", "itrr")
    _notes(scenario, compared, bends, curve is not None, answer)
    fit = _fitted(scenario, compared, answer) if scenario["usl"] == "runs" else None
    _chart(compared, fit, answer)


def add_law_of_curve(scenario: Scenario, curve: Sequence[Point], answer: Answer) -> None:
    """The law fitted to the curve of a machine, where one processor is 1 by definition."""
    sizes = [float(n) for n, _ in curve]
    values = [n * value for n, value in curve]
    fit = usl.fit(sizes, values, gamma=1.0, confidence=scenario["confidence"] / 100)
    _law(scenario, fit, sizes, values, "capability of the machine", answer)


def _together(scenario: Scenario, runs: Sequence[scaling.Run]) -> None:
    for run in runs:
        told = (run.etr is not None, run.busy is not None, run.itr is not None)
        if not (told[0] or told[2]):
            raise scenario.problem.wrong(f"run {run.name} has no throughput", "write etr = ..., or itr = ...")
        if told[2] and told[0] and told[1]:
            raise scenario.problem.wrong(f"run {run.name} has itr beside etr and busy", "leave itr out")


def _row(one: scaling.Scaled, bends: Sequence[scaling.Rolloff]) -> tuple[Any, ...]:
    verdict = "base" if one.gain is None and one.itrr == 1 else ""
    bend = next((bend for bend in bends if bend.until == one.run.processors), None)
    if bend is not None:
        verdict = "falls" if bend.falls else "rolls off"
    elif one.gain is not None:
        verdict = "scales"
    run = one.run
    return (
        run.name,
        run.processors,
        run.etr,
        run.busy,
        one.itr,
        one.etrr,
        one.itrr,
        one.ratio,
        one.efficiency,
        one.gain,
        verdict,
    )


def _notes(
    scenario: Scenario,
    compared: Sequence[scaling.Scaled],
    bends: Sequence[scaling.Rolloff],
    has_curve: bool,
    answer: Answer,
) -> None:
    for bend in bends:
        what = "the ITR falls" if bend.falls else f"the ITR gains {bend.gain:.2f} of what is expected"
        answer.notes.append(
            f"From {bend.after:,} to {bend.until:,} processors {what}: look for serialization, for "
            "algorithms that grow with the size, or for contended cache lines"
        )
    told = [one.gain for one in compared if one.gain is not None]
    if told and not bends:
        answer.notes.append("No sharp bend: the ITR gains enough at every step")
    elif not told:
        scenario.unused("rolloff_gain")
    if not has_curve:
        answer.notes.append(
            "Expected is linear here, for no machine is named; real machines bring less with each processor"
        )
    busy = [one.run.busy for one in compared if one.run.busy is not None]
    apart = float(constant("busy_apart").default)
    if busy and max(busy) - min(busy) > apart:
        scenario.assume("busy_apart")
        answer.notes.append(
            f"The runs are from {min(busy):.1f}% to {max(busy):.1f}% busy: processors do more at low busy, "
            "so that ITR of such runs do not compare well"
        )
    if any(one.itr is None for one in compared):
        answer.notes.append("A run without busy has no ITR, and nothing is said of how it scales")


def _fitted(scenario: Scenario, compared: Sequence[scaling.Scaled], answer: Answer) -> usl.Fit | None:
    told = [(float(one.run.processors), one.itr) for one in compared]
    sizes = [n for n, rate in told if rate is not None]
    rates = [rate for _, rate in told if rate is not None]
    if len(set(sizes)) < 2:
        scenario.unused("usl_fits_within")
        return None
    fit = usl.fit(sizes, rates, gamma=scenario["usl_one"], confidence=scenario["confidence"] / 100)
    _law(scenario, fit, sizes, rates, "ITR of the runs", answer)
    return fit


def _law(
    scenario: Scenario,
    fit: usl.Fit | None,
    sizes: Sequence[float],
    rates: Sequence[float],
    what: str,
    answer: Answer,
) -> None:
    if fit is None:
        scenario.unused("usl_fits_within")
        answer.notes.append(
            "The Universal Scalability Law takes runs of three sizes and more; none is fitted"
        )
        return
    rows = [(one.name, one.value, one.low, one.high, one.how) for one in fit.parameters]
    title = f"Universal Scalability Law of the {what}, confidence {scenario['confidence']:g}%"
    answer.tables.append(Table("law", title, _LAW, rows))
    fitted = [
        (int(n), rate, value, low, high, 100 * error)
        for n, rate, value, low, high, error in zip(
            sizes, rates, fit.values, fit.lows, fit.highs, fit.errors, strict=True
        )
    ]
    answer.tables.append(Table("fitted", "What the law has", _FITTED, fitted))
    answer.figures += [
        Figure("usl_miss", 100 * fit.worst, "%", "Largest miss of the Universal Scalability Law", 1),
        Figure("usl_peak", fit.peak, "processors", "Throughput peaks by the law at", 1),
    ]
    bound = scenario["usl_fits_within"]
    if 100 * fit.worst > bound:
        answer.notes.append(
            f"The Universal Scalability Law does not fit: it misses by {100 * fit.worst:.1f}%, more than "
            f"{bound:g}%; do not use its parameters or its peak"
        )
    elif fit.freedom == 0:
        answer.notes.append(
            f"The law has as many parameters as there are runs ({len(sizes)}): nothing tells whether it fits"
        )
    else:
        _of_parameters(fit, answer)


def _of_parameters(fit: usl.Fit, answer: Answer) -> None:
    """What may be read from the parameters of a law that fits."""
    beta = fit.parameters[2]
    if fit.peak is not None and beta.low is not None and beta.low <= 0:
        answer.notes.append(
            "The interval of beta holds 0: the runs do not tell whether the throughput has a peak at all"
        )
    for one in fit.parameters[1:]:
        if one.how.startswith("at "):
            answer.notes.append(
                f"The best {one.name} would be {'above 1' if one.value else 'below 0'}, which means nothing: "
                f"it is taken as {one.value:g}, and has no interval"
            )


def _chart(compared: Sequence[scaling.Scaled], fit: usl.Fit | None, answer: Answer) -> None:
    places = [float(one.run.processors) for one in compared]
    base = next((one.itr for one in compared if one.itr), None)
    series = [
        Series("ITRR", [one.itrr for one in compared]),
        Series("expected", [one.ratio for one in compared]),
    ]
    if fit is not None and base:
        series.append(Series("law", [fit.at(n) / base for n in places]))
    answer.charts.append(
        Chart("ITR by size, the smallest run being 1", "lines", places, tuple(series), "", "processors")
    )
