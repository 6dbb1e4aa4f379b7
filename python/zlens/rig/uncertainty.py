"""Scenarios in many worlds: what no public text settles is drawn from its range, and each is judged again.

A world has a value for each assumed constant with a range that the runs of a scenario use, and a factor for
each `[[uncertain]]` of its file. Values are a Latin hypercube: each of N worlds has its own Nth of a range.
Controls run in each world, too: an observation that none of them breaks is as expected whatever happens.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from random import Random
from statistics import NormalDist, StatisticsError, correlation, median
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.errors import QueryError
from zlens.models.constants import ASSUMED, constant, constants, replaced
from zlens.models.scenario import ScenarioValues, set_value, value_at
from zlens.rig import batch, jobs, results
from zlens.rig.batch import Progress
from zlens.rig.definition import Control, Observation, Policy, RigDefinition
from zlens.rig.jobs import Job
from zlens.rig.results import VariantOutcome
from zlens.rig.runners import Runner, SimulatorRunner
from zlens.rig.verdict import ObservationVerdict
from zlens.simulation import run as simulation

#: Fewest worlds: of fewer, even a rank correlation of 1 says little.
MIN_WORLDS = 5
#: Probability that a constant without effect is named, over all constants of a conclusion.
_CHANCE = 0.05
#: From this ratio of its ends on, a range is drawn by order of magnitude.
_WIDE = 8.0


class World(Struct, frozen=True):
    """Values of constants by name, and factors of keys of the scenario."""

    number: int
    constants: dict[str, Any]
    factors: dict[str, float]


class NumberBand(Struct, frozen=True):
    """An observed number over the worlds."""

    policy: str
    case: str
    observation: str
    subject: str
    expected: float | None
    lowest: float
    median: float
    highest: float
    unit: str


class Conclusion(Struct, frozen=True):
    """An observation of a policy, or a control: in how many worlds it holds, and what it depends on most.

    observation  "" of a control, which holds where it breaks an observation, as it must
    holds        worlds in which the observation is as expected, and a control breaks it
    undetected   worlds in which it is as expected, but no control breaks it
    depends_on   a constant or key; None if no correlation can be distinguished from chance
    correlation  Spearman's rank correlation of its value with the largest difference from what is expected,
                 or, without expected values, with the mean of what is observed
    """

    policy: str
    observation: str
    holds: int
    undetected: int
    worlds: int
    depends_on: str | None
    correlation: float | None


class UncertainResult(Struct, frozen=True):
    """A scenario in its worlds. errors: why worlds have no verdict."""

    rig: RigDefinition
    worlds: tuple[World, ...]
    conclusions: tuple[Conclusion, ...]
    bands: tuple[NumberBand, ...]
    errors: tuple[str, ...]


def run(
    rigs: Sequence[RigDefinition],
    runner: Runner,
    folder: str,
    count: int,
    *,
    seeds: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[UncertainResult]:
    """Run the judged policies and the controls of scenarios in `count` worlds each.

    Raises QueryError for too few worlds, BatchInterrupted after an interrupt.
    """
    if not isinstance(runner, SimulatorRunner):
        raise QueryError("constants are those of the simulator", cure="leave the runner out, or the worlds")
    if count < MIN_WORLDS:
        message = f"{count} worlds are too few to tell an effect from chance"
        raise QueryError(message, expected=f"{MIN_WORLDS} or more")
    in_worlds = [
        (rig, [(world, _world_jobs(rig, world, seeds)) for world in worlds(rig, count)]) for rig in rigs
    ]
    wanted = [
        (rig, [job for _, variants in each for _, by_case in variants
               for those in by_case.values() for job in those])
        for rig, each in in_worlds
    ]  # fmt: skip
    done = batch.run(wanted, runner, folder, jobs=workers, progress=progress)
    found = []
    for rig, each in in_worlds:
        outcomes = []
        for world, variants in each:
            own = world_rig(rig, world)
            with replaced(world.constants):
                outcomes.append([results.outcome(own, *variant, done) for variant in variants])
        found.append(_result(rig, [world for world, _ in each], outcomes))
    return found


def uncertain_constants(rig: RigDefinition) -> list[str]:
    """Return the assumed constants with a range that the runs of the judged policies use and do not set."""
    names: dict[str, None] = {}
    judged = {policy.name for policy in rig.policies if policy.judged}
    for job in jobs.rig_jobs(replace(rig, controls=()), 1):
        if job.variant in judged:
            for one in simulation.prepare(job.values, file=rig.file).constants:
                known = constants().get(one.name)
                if known is not None and known.range and one.status in ASSUMED:
                    names[one.name] = None
    return sorted(names)


def worlds(rig: RigDefinition, count: int) -> list[World]:
    """Return `count` worlds of a scenario, always the same ones."""
    ranges: dict[str, Sequence[Any]] = {name: constant(name).range or () for name in uncertain_constants(rig)}
    columns = {name: _column(name, values, count) for name, values in ranges.items()}
    factors = {one.key: _column(one.key, one.factor, count) for one in rig.uncertain}
    return [
        World(
            number + 1,
            {name: column[number] for name, column in columns.items()},
            {key: column[number] for key, column in factors.items()},
        )
        for number in range(count)
    ]


def _column(name: str, values: Sequence[Any], count: int) -> list[Any]:
    """Return a value for each world: each from its own part of the range, in random order."""
    random = Random(f"worlds/{name}")
    if any(isinstance(value, bool | str) for value in values):
        found = [values[at * len(values) // count] for at in range(count)]
    else:
        low, high = values
        parts = [(at + random.random()) / count for at in range(count)]
        if low > 0 and high / low >= _WIDE:
            found = [low * (high / low) ** part for part in parts]
        else:
            found = [low + (high - low) * part for part in parts]
        if isinstance(low, int) and isinstance(high, int):
            found = [round(value) for value in found]
    random.shuffle(found)
    return found


def world_rig(rig: RigDefinition, world: World) -> RigDefinition:
    """Return a scenario in a world, with factors in the cases that set their keys, or else in its values."""
    scenario: Mapping[str, Any] = rig.scenario
    cases = list(rig.cases)
    for key, factor in world.factors.items():
        if not any(key in case.set for case in cases):
            scenario = set_value(scenario, key, value_at(scenario, key) * factor)
        cases = [
            replace(case, set={**case.set, key: case.set[key] * factor}) if key in case.set else case
            for case in cases
        ]
    return replace(rig, scenario=ScenarioValues(scenario, ""), cases=tuple(cases))


def _world_jobs(
    rig: RigDefinition, world: World, seeds: int | None
) -> list[tuple[Policy | Control, dict[str, list[Job]]]]:
    """Return the judged policies, then the controls, with their runs by case."""

    def in_world(job: Job) -> Job:
        return replace(job, name=f"{job.name}-world-{world.number}", constants=world.constants)

    return [
        (variant, {case: [in_world(job) for job in those] for case, those in by_case.items()})
        for variant, by_case in jobs.jobs_by_variant(world_rig(rig, world), seeds)
        if isinstance(variant, Control) or variant.judged
    ]


def _result(
    rig: RigDefinition, all_worlds: Sequence[World], outcomes: Sequence[Sequence[VariantOutcome]]
) -> UncertainResult:
    errors = [
        f"world {world.number}: {error}"
        for world, found in zip(all_worlds, outcomes, strict=True)
        for one in found
        for error in one.errors
    ]
    conclusions: list[Conclusion] = []
    bands: list[NumberBand] = []
    for at, first in enumerate(outcomes[0]):
        usable = [
            (world, found[at], [one for one in found if isinstance(one.variant, Control)])
            for world, found in zip(all_worlds, outcomes, strict=True)
            if not found[at].errors
        ]
        if isinstance(first.variant, Control):
            holds = sum(outcome.passed for _, outcome, _ in usable)
            label = f"control: {first.variant.name}"
            conclusions.append(Conclusion(label, "", holds, 0, len(usable), None, None))
            continue
        for number, observation in enumerate(rig.observations):
            verdicts = [(world, outcome.verdicts[number]) for world, outcome, _ in usable]
            cause, rho = strongest(_effects(verdicts))
            passed = [
                not controls or any(one.verdicts[number].broken for one in controls)
                for _, outcome, controls in usable
                if outcome.verdicts[number].passed
            ]
            policy, holds = first.variant.name, sum(passed)
            worlds = (holds, len(passed) - holds, len(verdicts))
            conclusions.append(Conclusion(policy, observation.name, *worlds, cause, rho))
            bands += _bands(policy, observation, [verdict for _, verdict in verdicts])
    unique = tuple(dict.fromkeys(errors))
    return UncertainResult(rig, tuple(all_worlds), tuple(conclusions), tuple(bands), unique)


def _effects(verdicts: Sequence[tuple[World, ObservationVerdict]]) -> list[tuple[World, float]]:
    """Return the largest difference of each world, or else the mean of what is observed."""
    effects = []
    for world, verdict in verdicts:
        observed = [row.observed for row in verdict.compared if row.observed is not None]
        if observed:
            mean = math.fsum(observed) / len(observed)
            effects.append((world, verdict.worst if verdict.worst is not None else mean))
    return effects


def _bands(policy: str, observation: Observation, verdicts: Sequence[ObservationVerdict]) -> list[NumberBand]:
    values: dict[tuple[str, str], list[float]] = {}
    expected: dict[tuple[str, str], float | None] = {}
    for row in (row for verdict in verdicts for row in verdict.compared):
        if row.observed is not None:
            values.setdefault((row.case, row.subject), []).append(row.observed)
            expected[row.case, row.subject] = row.expected.value
    return [
        NumberBand(policy, case, observation.name, subject, expected[case, subject], min(found),
                   median(found), max(found), observation.unit)
        for (case, subject), found in values.items()
    ]  # fmt: skip


def strongest(effects: Sequence[tuple[World, float]]) -> tuple[str | None, float | None]:
    """Return the constant or key whose values have the largest rank correlation with an effect.

    None if the largest can be chance: below the normal approximation's limit for all of them together. Of the
    alternatives of a constant that is not a number, the one that differs most from the others counts.
    """
    if len(effects) < MIN_WORLDS:
        return None, None
    amounts = [amount for _, amount in effects]
    columns = {
        name: [{**world.constants, **world.factors}[name] for world, _ in effects]
        for name in (*effects[0][0].constants, *effects[0][0].factors)
    }
    found = [(abs(rho), name, rho) for name, column in columns.items() if (rho := _spearman(column, amounts))]
    if not found:
        return None, None
    _, name, rho = max(found)
    return (name, rho) if abs(rho) >= chance_limit(len(effects), len(columns)) else (None, None)


def chance_limit(world_count: int, constant_count: int) -> float:
    """Return the rank correlation that the largest of some constants without effect rarely exceeds."""
    return NormalDist().inv_cdf(1 - _CHANCE / 2 / max(1, constant_count)) / math.sqrt(world_count - 1)


def _spearman(values: Sequence[Any], amounts: Sequence[float]) -> float | None:
    if any(isinstance(value, bool | str) for value in values):
        alternatives = sorted(set(values), key=str)
        if len(alternatives) > 2:
            found = [_spearman([value == one for value in values], amounts) for one in alternatives]
            return max((rho for rho in found if rho is not None), key=abs, default=None)
        values = [alternatives.index(value) for value in values]
    with suppress(StatisticsError):
        return correlation(_ranks(values), _ranks(amounts))
    # One of them is constant.
    return None


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values have their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) + 1) / 2 for value in values]
