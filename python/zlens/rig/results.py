"""Turns runs into verdicts for each policy and control of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from zlens.errors import ZlensError
from zlens.models.optional_numbers import ratio
from zlens.rig import batch, expected_values, jobs, verdict
from zlens.rig.batch import CompletedRun, Progress
from zlens.rig.definition import Control, ExpectedNumber, Observation, Policy, RigDefinition
from zlens.rig.jobs import Job
from zlens.rig.runners import Runner
from zlens.rig.verdict import ObservationVerdict


class VariantOutcome(Struct, frozen=True):
    """The verdicts of a policy or control, one for each observation, and its runs.

    errors   why runs have no values, or the solver no answer
    """

    variant: Policy | Control
    verdicts: tuple[ObservationVerdict, ...]
    runs: tuple[CompletedRun, ...]
    errors: tuple[str, ...]

    @property
    def judged(self) -> bool:
        return isinstance(self.variant, Control) or self.variant.judged

    @property
    def passed(self) -> bool:
        """Whether the outcome is as required: a control breaks an observation, everything else passes."""
        if self.errors:
            return False
        if isinstance(self.variant, Control):
            return any(one.broken for one in self.verdicts)
        return all(one.passed for one in self.verdicts)


class RigResult(Struct, frozen=True):
    """A file with its outcomes. complete: False if an interrupt prevented runs."""

    rig: RigDefinition
    outcomes: tuple[VariantOutcome, ...]
    complete: bool = True

    @property
    def errors(self) -> list[str]:
        return [error for one in self.outcomes for error in one.errors]

    @property
    def undetected(self) -> list[str]:
        """The observations that no control breaks: errors of them would not be detected."""
        if not self.rig.controls:
            return []
        controls = [one for one in self.outcomes if isinstance(one.variant, Control)]
        broken = {one.observation.name for control in controls for one in control.verdicts if one.broken}
        return [one.name for one in self.rig.observations if one.name not in broken]

    @property
    def passed(self) -> bool:
        judged = all(one.passed for one in self.outcomes if one.judged)
        return self.complete and judged and not self.undetected

    @property
    def seconds(self) -> float:
        """Approximate seconds of the runs performed now."""
        return sum(done.seconds for one in self.outcomes for done in one.runs)


def run(
    rigs: Sequence[RigDefinition],
    runner: Runner,
    folder: str,
    *,
    seeds: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[RigResult]:
    """Run files and judge them. Raises RigInterrupted after an interrupt, with the results so far."""
    wanted = [(rig, jobs.rig_jobs(rig, seeds)) for rig in rigs]
    try:
        done = batch.run(wanted, runner, folder, jobs=workers, progress=progress)
    except batch.BatchInterrupted as interrupt:
        raise RigInterrupted([judge_rig(rig, interrupt.done, seeds) for rig in rigs]) from None
    return [judge_rig(rig, done, seeds) for rig in rigs]


class RigInterrupted(KeyboardInterrupt):
    """An interrupt, with the results of the completed runs."""

    def __init__(self, results: list[RigResult]) -> None:
        super().__init__()
        self.results = results


def judge_rig(
    rig: RigDefinition, done: Mapping[tuple[str, str], CompletedRun], seeds: int | None = None
) -> RigResult:
    """Return the result of a file from its runs."""
    outcomes = [outcome(rig, *each, done) for each in jobs.jobs_by_variant(rig, seeds)]
    missing = any((job.rig, job.name) not in done for job in jobs.rig_jobs(rig, seeds))
    return RigResult(rig, tuple(outcomes), complete=not missing)


def outcome(
    rig: RigDefinition,
    variant: Policy | Control,
    cases: Mapping[str, Sequence[Job]],
    done: Mapping[tuple[str, str], CompletedRun],
) -> VariantOutcome:
    """Return the outcome of a policy or control from its runs by case."""
    by_case = {name: [done.get((job.rig, job.name)) for job in found] for name, found in cases.items()}
    runs = [one for found in by_case.values() for one in found if one is not None]
    errors = [f"{one.job.name}: {one.error}" for one in runs if one.error is not None]
    control = variant if isinstance(variant, Control) else None
    numbers = {}
    for case in rig.cases:
        try:
            numbers[case.name] = expected_values.expected_values(rig, case, control)
        except ZlensError as error:
            errors.append(str(error))
    verdicts = []
    for one in rig.observations:
        values = {
            name: [run.values.get(one.name, {}) if run else {} for run in found]
            for name, found in by_case.items()
        }
        base = values.get(one.relative_to) if one.relative_to is not None else None
        observed = {name: _by_subject(each, base) for name, each in values.items()}
        wanted = {name: by_name[one.name] for name, by_name in numbers.items()}
        if control is None:
            errors += _unexpected(one, wanted, observed)
        verdicts.append(verdict.judge(one, wanted, observed))
    return VariantOutcome(variant, tuple(verdicts), tuple(runs), tuple(dict.fromkeys(errors)))


def _unexpected(
    one: Observation,
    wanted: Mapping[str, Mapping[str, ExpectedNumber]],
    observed: Mapping[str, Mapping[str, Sequence[float | None]]],
) -> list[str]:
    """Return errors for observed subjects without an expected number, in cases that have others."""
    return [
        f"{case}: {one.name}: {subject} is observed, but not expected".removeprefix(": ")
        for case, numbers in wanted.items()
        if numbers
        for subject, values in observed.get(case, {}).items()
        if subject not in numbers and any(value is not None for value in values)
    ]


def _by_subject(
    runs: Sequence[Mapping[str, float | None]], base: Sequence[Mapping[str, float | None]] | None
) -> dict[str, list[float | None]]:
    """Return the values of each subject, one for each seed; relative to those of `base` if given."""
    subjects = dict.fromkeys(subject for run in runs for subject in run)
    if base is None:
        return {subject: [run.get(subject) for run in runs] for subject in subjects}
    pairs = list(zip(runs, base, strict=True))
    return {subject: [ratio(run.get(subject), of.get(subject)) for run, of in pairs] for subject in subjects}
