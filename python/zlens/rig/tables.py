"""Results as an answer: a summary, and expected with observed values of every number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import astuple

from zlens.models.constants import constant
from zlens.rendering.answer import Answer, Value
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries
from zlens.rig.definition import AREAS, PUBLISHED, Control, RigDefinition
from zlens.rig.results import RigResult, VariantOutcome
from zlens.rig.uncertainty import UncertainResult, chance_limit
from zlens.rig.verdict import ObservationVerdict


def answer(results: Sequence[RigResult], *, every: bool = False) -> Answer:
    """Return the summary of results; every: with all numbers."""
    ordered = in_order(results)
    tables = [answer_table("rig", "summary", "", [row for one in ordered for row in _summary(one)])]
    if every:
        rows = [row for one in ordered for row in _numbers(one)]
        tables.append(answer_table("rig", "numbers", "Expected and observed", rows))
    failed = [one for one in ordered if not one.passed]
    notes = [note for one in failed for note in _why(one)]
    passed = len(ordered) - len(failed)
    return Answer("rig", f"{passed} of {len(ordered)} scenarios as expected", tables, notes=notes)


def uncertain_answer(found: Sequence[UncertainResult], *, every: bool = False) -> Answer:
    """Return what holds in how many worlds, and the bands of all numbers; every: and what was sampled."""
    conclusions, bands, sampled = [], [], []
    notes = []
    for result in found:
        name = result.rig.name
        conclusions += [(name, *astuple(one)) for one in result.conclusions]
        bands += [(name, *astuple(band)) for band in result.bands]
        for constant_name in result.worlds[0].constants:
            one = constant(constant_name)
            ends = one.range or [None]
            sampled.append((name, constant_name, str(ends[0]), str(ends[-1]), one.status))
        sampled += [
            (name, uncertain.key, f"x {uncertain.factor[0]:g}", f"x {uncertain.factor[1]:g}", "ours")
            for uncertain in result.rig.uncertain
        ]
        first, worlds = result.worlds[0], len(result.worlds)
        count = len(first.constants) + len(first.factors)
        chance = f"a correlation below {chance_limit(worlds, count):.2f} can be chance"
        notes.append(f"{name}: {count} values in {worlds} worlds: {chance}")
        notes += [f"{name}: {error}" for error in result.errors[:3]]
    tables = [
        answer_table("rig", "conclusions", "", conclusions),
        answer_table("rig", "bands", "Observed in all worlds", bands),
    ]
    if every:
        tables.append(answer_table("rig", "sampled", "Sampled", sampled))
    held = sum(one.holds == one.worlds for result in found for one in result.conclusions)
    title = f"{held} of {len(conclusions)} conclusions hold in all worlds"
    return Answer("rig", title, tables, notes=notes)


def scenario_answer(result: RigResult) -> Answer:
    """Return a scenario with its source, charts and all numbers."""
    rig = result.rig
    summary = answer([result], every=True)
    summary.title = f"{rig.title}: {outcome_word(result)}"
    summary.lead = [rig.text, f"Source: {rig.source.cited}", *([rig.source.note] if rig.source.note else [])]
    summary.charts = list(charts(result))
    return summary


def outcome_word(result: RigResult) -> str:
    """Return the result of a scenario in words."""
    if not result.complete:
        return "interrupted"
    return "as expected" if result.passed else "not as expected"


def in_order(results: Sequence[RigResult]) -> list[RigResult]:
    """Return results by area, then by name."""
    return sorted(results, key=lambda one: (AREAS.index(one.rig.area), one.rig.name))


def scenario_table(rigs: Sequence[RigDefinition], runs: Sequence[int]) -> Answer:
    """Return the scenarios, one row each."""
    rows = [
        (rig.name, rig.area, rig.title, count, rig.source.publication)
        for rig, count in sorted(zip(rigs, runs, strict=True), key=lambda one: AREAS.index(one[0].area))
    ]
    return Answer("rig", f"{len(rigs)} scenarios", [answer_table("rig", "scenarios", "", rows)])


def variant_label(outcome: VariantOutcome) -> str:
    """Return the label of a policy or control in tables."""
    name = outcome.variant.name
    return f"control: {name}" if isinstance(outcome.variant, Control) else name


def result_word(outcome: VariantOutcome, one: ObservationVerdict) -> str:
    """Return the result of an observation under a policy or control. Of a control, one must fail."""
    if outcome.errors:
        return "ERROR"
    if isinstance(outcome.variant, Control):
        if not outcome.passed:
            return "PASSES, must fail"
        return "fails, as it must" if one.broken else "passes"
    if not outcome.variant.judged:
        return "not judged"
    return "pass" if one.passed else "FAIL"


def _summary(result: RigResult) -> Iterator[tuple[Value, ...]]:
    for outcome in result.outcomes:
        for one in outcome.verdicts:
            own = result_word(outcome, one)
            seeds = max((sum(1 for done in outcome.runs if done.job.case == case.name)
                         for case in result.rig.cases), default=0)  # fmt: skip
            unit = one.observation.of_unit.strip()
            own = own if result.complete else "interrupted"
            yield (result.rig.name, variant_label(outcome), one.observation.name, len(one.compared), seeds,
                   one.worst, one.rms, unit, allowed(one), own)  # fmt: skip


def allowed(one: ObservationVerdict) -> str:
    """Return the bands of an observation in words."""
    observation = one.observation
    unit = "" if observation.of == "points" else "%" + " of the sum" * (observation.of == "sum")
    parts = []
    if any(row.expected.banded for row in one.compared):
        parts.append("band")
    if observation.largest is not None:
        parts.append(f"{observation.largest:g}{unit}")
    if observation.rms is not None:
        parts.append(f"rms {observation.rms:g}{unit}")
    if observation.misallocated is not None:
        parts.append(f"misallocated {observation.misallocated:g}%")
    if observation.order:
        parts.append("order")
    return ", ".join(parts)


def _numbers(result: RigResult) -> Iterator[tuple[Value, ...]]:
    for outcome in result.outcomes:
        for one in outcome.verdicts:
            for row in one.compared:
                passed = "" if row.passed is None else "ok" if row.passed else "off"
                yield (result.rig.name, variant_label(outcome), row.case, one.observation.name, row.subject,
                       row.expected.value, row.expected.low, row.expected.high, row.observed, row.half,
                       row.error, one.observation.unit, passed)  # fmt: skip


def _why(result: RigResult) -> Iterator[str]:
    """Yield the reasons why a file is not as expected."""
    if not result.complete:
        yield f"{result.rig.name}: interrupted; the same command continues"
    if result.rig.not_reproduced is not None:
        yield f"{result.rig.name}: known not to be reproduced: {result.rig.not_reproduced}"
    if result.complete and not result.errors:
        for name in result.undetected:
            yield f"{result.rig.name}: no control breaks {name}, so the rig would not detect an error of it"
    for outcome in result.outcomes:
        if outcome.passed or not outcome.judged or not result.complete:
            continue
        prefix = ": ".join(part for part in (result.rig.name, variant_label(outcome)) if part)
        for error in outcome.errors[:3]:
            yield f"{prefix}: {error}"
        if isinstance(outcome.variant, Control) and not outcome.errors:
            yield f"{prefix}: passes, so the rig would not detect this error"
        for one in outcome.verdicts if not isinstance(outcome.variant, Control) else ():
            more = f"; and {len(one.failures) - 3} more" if len(one.failures) > 3 else ""
            if one.failures:
                yield f"{prefix}: {'; '.join(one.failures[:3])}{more}"


def charts(result: RigResult) -> Iterator[Chart]:
    """Yield charts of each observation: expected values, then each policy and control.

    Bars: one chart for all cases of a single number, or one of all subjects for each case. Lines: one for
    each subject over the cases, without controls.
    """
    rig = result.rig
    for index, observation in enumerate(rig.observations):
        expected = "expected" if observation.expected == PUBLISHED else "solver"
        drawn = [
            (variant_label(outcome) or "observed", outcome.verdicts[index])
            for outcome in result.outcomes
            if rig.chart == "bars" or not isinstance(outcome.variant, Control)
        ]
        keys = [(row.case, row.subject) for row in drawn[0][1].compared]
        subjects, cases = ({key[part]: None for key in keys} for part in (1, 0))
        if rig.chart == "lines":
            positions = {
                case.name: float(n if case.at is None else case.at) for n, case in enumerate(rig.cases, 1)
            }
            for subject in subjects:
                own_keys = [key for key in keys if key[1] == subject]
                title = f"{observation.name}{f' of {subject}' if subject else ''}"
                places = [positions[case] for case, _ in own_keys]
                series = _series(expected, drawn, own_keys)
                yield Chart(title, "lines", places, series, observation.unit, rig.along)
        elif list(subjects) == [""]:
            names = [case or observation.name for case, _ in keys]
            yield Chart(observation.name, "bars", names, _series(expected, drawn, keys), observation.unit)
        else:
            for case in cases:
                own_keys = [key for key in keys if key[0] == case]
                title = f"{observation.name}{f', {case}' if case else ''}"
                names = [subject for _, subject in own_keys]
                yield Chart(title, "bars", names, _series(expected, drawn, own_keys), observation.unit)


def _series(
    expected_name: str, policies: Sequence[tuple[str, ObservationVerdict]], keys: Sequence[tuple[str, str]]
) -> tuple[ChartSeries, ...]:
    rows_by_policy = [{(row.case, row.subject): row for row in one.compared} for _, one in policies]
    expected: list[float | None] = []
    for key in keys:
        row = rows_by_policy[0].get(key)
        if row is None:
            expected.append(None)
        elif row.expected.value is not None:
            expected.append(row.expected.value)
        else:
            ends = [end for end in (row.expected.low, row.expected.high) if end is not None]
            expected.append(sum(ends) / len(ends) if ends else None)
    observed = [
        ChartSeries(name, [rows[key].observed if key in rows else None for key in keys])
        for (name, _), rows in zip(policies, rows_by_policy, strict=True)
    ]
    return (ChartSeries(expected_name, expected), *observed)
