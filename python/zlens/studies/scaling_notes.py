"""Notes of a scaling study."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from zlens.models.capacity import curve_sources, scaling, usl
from zlens.models.constants import constant
from zlens.models.optional_numbers import ratio
from zlens.models.scenario import Scenario
from zlens.studies.notes import AS_PUBLISHED, machine_note, run_notes, shorten_list, shorten_notes
from zlens.studies.scaling_tables import ScaledRun


def notes(
    rows: list[ScaledRun],
    bends: list[scaling.Rolloff],
    fit: usl.UslFit | None,
    scenario: Scenario,
    curve: curve_sources.NamedCurve | None,
    as_published: bool,
) -> Iterator[str]:
    """Yield notes on scaling, doubtful ratios and the source of the factors."""
    yield from _rolloff_notes(rows, bends, scenario)
    yield from _factor_notes(rows)
    yield from _busy_notes(rows, scenario)
    yield from shorten_notes(_other_limit_notes(rows))
    if any(row.run.cores != row.run.processors for row in rows):
        yield (
            "Under SMT, busy counts threads. A thread is slower if its core's other thread is busy, so the "
            "ITR promises more than the cores can deliver, and a change of ITR with the SMT level is not a "
            "change of capacity."
        )
    if fit is not None and fit.largest_error > constant("usl_fits_within").default / 100:
        scenario.assume("usl_fits_within")
        yield (
            "The Universal Scalability Law does not fit: "
            f"its error is up to {100 * fit.largest_error:.1f}%. "
            "Do not use its parameters."
        )
    if curve is not None:
        yield f"Factors: {curve.text}. {curve.source}."
        yield from curve.notes
    yield from shorten_notes(run_notes([(row.run, row.measured) for row in rows]))
    yield from machine_note([row.measured for row in rows], "The runs")
    if as_published:
        yield AS_PUBLISHED


def _rolloff_notes(rows: list[ScaledRun], bends: list[scaling.Rolloff], scenario: Scenario) -> Iterator[str]:
    curve = any(row.factor is not None for row in rows)
    expected = "capability" if curve else "number of cores"
    yield from shorten_notes(_bend_notes(bends, expected))
    gains = [row.scaled.gain for row in rows if row.scaled.gain is not None]
    if not gains:
        scenario.unused("rolloff_gain")
    if gains and not bends:
        yield (
            f"No rolloff: at each step the ITR ratio gains {100 * min(gains):.0f}% or more of the gain of "
            f"the {expected}."
        )
    if gains and not curve:
        yield (
            "No capacity adjustment factors are given (machine or factors), so linear scaling is expected, "
            "which no machine reaches."
        )


def _bend_notes(bends: list[scaling.Rolloff], expected: str) -> Iterator[str]:
    for bend in bends:
        if bend.falls:
            yield f"From {bend.after} to {bend.until} cores the ITR falls."
        else:
            yield (
                f"From {bend.after} to {bend.until} cores the ITR ratio gains {100 * bend.gain:.0f}% of "
                f"the gain of the {expected}: the workload rolls off there."
            )


def _factor_notes(rows: list[ScaledRun]) -> Iterator[str]:
    for how, word in (("between", "interpolated in ln n"), ("beyond", "extrapolated in ln n")):
        factors = {
            row.scaled.run.processors: row.factor
            for row in rows
            if row.factor and row.factor.how == how and row.factor.value
        }
        if factors:
            errors = [
                factor.error / factor.value for factor in factors.values() if factor.error and factor.value
            ]
            within = f" (estimated error {100 * max(errors):.1f}%)" if errors else ""
            yield f"The factors of {shorten_list(list(factors))} cores are {word}{within}."
    if any(row.factor is not None and row.factor.value is None for row in rows):
        yield "Beyond the range of the factors there is no expected value."


def _busy_notes(rows: list[ScaledRun], scenario: Scenario) -> Iterator[str]:
    """Yield notes on busy: IBM's reference workloads run at about 90%; ITR favors less busy runs."""
    busy_runs = [(row.run.busy, row.run.name) for row in rows if row.run.busy is not None]
    max_difference = constant("busy_apart").default
    if len(busy_runs) < 2 or rows[0].run.busy is None:
        return
    base, name = busy_runs[0]
    (low, least_busy), (high, busiest) = min(busy_runs), max(busy_runs)
    if high - base > max_difference or base - low > max_difference:
        scenario.assume("busy_apart")
    if high - base > max_difference:
        yield (
            f"{name} is {base:.1f}% busy and {busiest} {high:.1f}%. Processors are more efficient when "
            "less busy, so the ITR of the base is optimistic and the ratios to it are too low."
        )
    if base - low > max_difference:
        yield (
            f"{name} is {base:.1f}% busy and {least_busy} {low:.1f}%. Processors are more efficient when "
            "less busy, so the ratios of less busy runs are optimistic."
        )


def _other_limit_notes(rows: list[ScaledRun]) -> Iterator[str]:
    for prior, current in pairwise(rows):
        itr_ratio = ratio(current.scaled.itr, prior.scaled.itr)
        etr_ratio = ratio(current.run.etr, prior.run.etr)
        if itr_ratio is not None and etr_ratio is not None and etr_ratio < 1 < itr_ratio:
            yield (
                f"From {prior.run.name} to {current.run.name} the ETR falls while the ITR rises: something "
                "other than processors holds the workload back."
            )
