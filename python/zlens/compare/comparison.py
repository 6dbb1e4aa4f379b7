"""Comparison of sides: values, differences, tests against noise, and configuration differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import generations
from zlens.catalog.comparison_metrics import (
    REGRESSION_CRITERION,
    ComparabilityFile,
    ComparedMetric,
    compared_metrics,
    published_forms,
)
from zlens.compare import noise, waterfall
from zlens.compare.noise import NoiseVerdict, RatioEstimate
from zlens.compare.series import Key
from zlens.compare.sides import Side, SystemRun
from zlens.compare.waterfall import Waterfall
from zlens.errors import QueryError
from zlens.schema import validators
from zlens.schema.validators import Boolean, Choice, Integer
from zlens.schema.wording import phrase

#: Forms of a difference of metrics that are not shares.
FORMS = ("other/base", "base/other", "percent", "points")
AGAINST = ("base", "previous")


#: The options of a comparison, as documents and requests give them.
KEYS = (
    validators.Key(
        "against",
        Choice(AGAINST),
        "base (cumulative), or the side before (previous: incremental) (base)",
        default="base",
    ),
    validators.Key(
        "form",
        Choice(FORMS),
        "form of differences of metrics that are not shares (other/base)",
        default="other/base",
    ),
    validators.Key("burg", Boolean(), "base/other for everything, including shares", default=False),
    validators.Key(
        "delta",
        Boolean(),
        "also the form of IBM's I/O tables: per device the sides, then Delta and %Delta",
        default=False,
    ),
    validators.Key(
        "across_generations",
        Boolean(),
        "compare everything even if the machines are of different generations",
        default=False,
    ),
    validators.Key("seed", Integer(0, 2**31), "seed of the random draws of the tests (1)", default=1),
)


class CompareOptions(Struct, frozen=True):
    """Options of a comparison; KEYS describes them."""

    against: str = "base"
    form: str = "other/base"
    burg: bool = False
    delta: bool = False
    across_generations: bool = False
    seed: int = 1

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> CompareOptions:
        """Return the options among values by the names of KEYS; None is the default."""
        return cls(
            **{key.name: key.default if values[key.name] is None else values[key.name] for key in KEYS}
        )

    @property
    def published_forms(self) -> tuple[str, ...]:
        """The published forms whose tables are shown: those whose option is set."""
        return tuple(name for name in published_forms() if getattr(self, name))


class SideChange(Struct, frozen=True):
    """One side compared with another: their indices, the difference in its form, and the test."""

    base: int
    other: int
    form: str
    value: float | None
    ratio: float | None
    points: float | None
    verdict: NoiseVerdict
    #: The smallest difference beyond the noise, in percent of the base.
    noise_pct: float | None
    better: bool | None

    @property
    def percent(self) -> float | None:
        return None if self.ratio is None else 100 * (self.ratio - 1)

    @property
    def is_beyond_noise(self) -> bool:
        """Whether the difference is beyond the noise."""
        return bool(self.verdict.beyond)

    @property
    def is_outside_criterion(self) -> bool | None:
        """Whether the ratio is outside IBM's 5% criterion; None without a ratio."""
        # 0.95 is within the criterion, despite rounding.
        return (
            None if self.ratio is None else abs(self.ratio - 1) > REGRESSION_CRITERION * (1 + noise.ROUNDING)
        )


class ComparisonRow(Struct, frozen=True):
    """One metric of one subject on all sides; values are in the display unit."""

    metric: ComparedMetric
    subject: tuple[str, ...]
    values: tuple[float | None, ...]
    changes: tuple[SideChange, ...]
    #: unverified or user, if that is the status of an underlying formula on any side.
    doubt: str = ""
    #: Whether the other side has no value of the metric for any subject, so that nothing can be compared.
    alone: bool = False

    @property
    def name(self) -> str:
        marked = [f"({self.doubt})"] if self.doubt else []
        return " ".join([self.metric.heading, *filter(None, self.subject), *marked])

    @property
    def is_beyond_noise(self) -> bool:
        """Whether some difference is beyond the noise."""
        return any(change.is_beyond_noise for change in self.changes)

    @property
    def is_untested(self) -> bool:
        """Whether some difference could not be tested and is not 0."""
        return any(change.verdict.p is None and change.points != 0 for change in self.changes)


class WaterfallSet(Struct, frozen=True):
    """Parts of one side's change compared with another."""

    base: int
    other: int
    waterfalls: tuple[Waterfall, ...]


class OrderedRows(Struct):
    """Rows beyond the noise and those without a test, both largest first; within the noise; of one side."""

    beyond: list[ComparisonRow] = field(default_factory=list)
    untested: list[ComparisonRow] = field(default_factory=list)
    within: list[ComparisonRow] = field(default_factory=list)
    one_sided: list[ComparisonRow] = field(default_factory=list)

    def __iter__(self) -> Iterator[ComparisonRow]:
        return chain(self.beyond, self.untested, self.within, self.one_sided)


class SystemComparison(Struct):
    """All sides of one system, whose name may differ between sides."""

    systems: tuple[str, ...]
    sides: tuple[list[SystemRun], ...]
    rows: list[ComparisonRow]
    steps: list[WaterfallSet]
    warnings: list[str]
    notes: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        return " - ".join(dict.fromkeys(self.systems))

    def ordered(self) -> OrderedRows:
        """Return the rows in the order of all outputs."""
        ordered = OrderedRows()
        for row in self.rows:
            rows = (
                ordered.one_sided
                if row.alone
                else ordered.beyond
                if row.is_beyond_noise
                else ordered.untested
                if row.is_untested
                else ordered.within
            )
            rows.append(row)
        ordered.beyond.sort(key=_rank)
        ordered.untested.sort(key=_rank)
        return ordered

    def tested(self) -> tuple[int, int, int]:
        """Return the number of differences tested, of those beyond the noise, and of those without a test."""
        changes = [change for row in self.rows for change in row.changes]
        tested = sum(change.verdict.p is not None for change in changes)
        return tested, sum(change.is_beyond_noise for change in changes), len(changes) - tested


class Comparison(Struct):
    sides: list[Side]
    choice: CompareOptions
    systems: list[SystemComparison]
    notes: list[str]


def compare(sides: Sequence[Side], choice: CompareOptions | None = None) -> Comparison:
    """Compare sides; QueryError if they have no system in common."""
    choice = choice or CompareOptions()
    if len(sides) < 2:
        raise QueryError("nothing to compare with", cure=phrase("compare_usage"))
    systems, notes = _pairs(sides)
    return Comparison(list(sides), choice, [_compared(sides, names, choice) for names in systems], notes)


def _pairs(sides: Sequence[Side]) -> tuple[list[tuple[str, ...]], list[str]]:
    """Return matching systems: those with the same name, or the only ones of their sides."""
    if all(len(side.systems) == 1 for side in sides):
        return [tuple(side.systems[0] for side in sides)], []
    common = [name for name in sides[0].systems if all(name in side.systems for side in sides)]
    if not common:
        listed = "; ".join(f"{side.name}: {', '.join(side.systems)}" for side in sides)
        raise QueryError(f"the sides have no system in common ({listed})", cure=phrase("compare_systems"))
    unmatched = sorted({name for side in sides for name in side.systems} - set(common))
    notes = [f"not on every side, so not compared: {', '.join(unmatched)}"] if unmatched else []
    return [(name,) * len(sides) for name in common], notes


def _compared(sides: Sequence[Side], names: tuple[str, ...], choice: CompareOptions) -> SystemComparison:
    runs = tuple(side.runs_of(name) for side, name in zip(sides, names, strict=True))
    warnings = _differing_facts(sides, runs)
    notes: list[str] = []
    # Numbers of a listing are compared with those of another: one side alone says nothing.
    by_side = [{metric.key: metric for run in side for metric in run.printed} for side in runs]
    printed = {key: metric for key, metric in by_side[0].items() if all(key in other for other in by_side)}
    metrics: Iterable[ComparedMetric] = (*compared_metrics(), *printed.values())
    types = _generations(runs)
    if len(types) > 1:
        type_list = " and ".join(sorted(types))
        if choice.across_generations:
            warnings.append(
                f"machines of different generations ({type_list}): their counters mean different things"
            )
        else:
            metrics = [metric for metric in metrics if metric.across]
            notes.append(
                f"the machines are of different generations ({type_list}): only CPI, L1MP, MEMP, problem "
                "state and GHz are compared; the option across-generations compares everything"
            )
    rows = []
    for metric in metrics:
        subjects = dict.fromkeys(
            subject
            for side in runs
            for run in side
            for key, subject in run.series
            if key == metric.key and len(subject) == len(metric.by)
        )
        metric_rows = _mark_one_sided([_row(metric, subject, runs, choice) for subject in sorted(subjects)])
        if metric.most:
            metric_rows = sorted(metric_rows, key=_points, reverse=True)[: metric.most]
        rows += metric_rows
    # Rows that are 0 on all sides are omitted, except from IBM's tables, which show them.
    rows = [
        row
        for row in rows
        if any(row.values)
        or (
            row.metric.published_form in choice.published_forms
            and any(value is not None for value in row.values)
        )
    ]
    steps = []
    if len(types) <= 1 or choice.across_generations:
        steps = [_waterfalls(rows, base, other) for base, other in _side_pairs(len(sides), choice)]
    compared = SystemComparison(
        names, runs, rows, [step for step in steps if step.waterfalls], warnings, notes
    )
    compared.notes += _test_notes(compared)
    return compared


def _mark_one_sided(rows: list[ComparisonRow]) -> list[ComparisonRow]:
    """Return the rows of a metric, marked if only one side has the metric, as with a listing."""
    sides = zip(*(row.values for row in rows), strict=True)
    if all(any(value is not None for value in values) for values in sides):
        return rows
    return [replace(row, alone=all(change.points is None for change in row.changes)) for row in rows]


def _side_pairs(sides: int, choice: CompareOptions) -> list[tuple[int, int]]:
    return [(0 if choice.against == "base" else index - 1, index) for index in range(1, sides)]


def _generations(runs: Sequence[Sequence[SystemRun]]) -> set[str]:
    machine_types = generations.types()
    types = {run.machine_type for side in runs for run in side if run.machine_type}
    return {machine_types[type].generation if type in machine_types else type for type in types}


def _row(
    metric: ComparedMetric,
    subject: tuple[str, ...],
    runs: Sequence[Sequence[SystemRun]],
    choice: CompareOptions,
) -> ComparisonRow:
    key: Key = (metric.key, subject)
    estimates: list[list[RatioEstimate]] = []
    for index, side in enumerate(runs):
        side_estimates = []
        for number, run in enumerate(side):
            points = [(metric.scale * above, below) for _, above, below in run.series.get(key, ())]
            run_estimate = noise.estimate(points, f"{choice.seed} {key} {index} {number}")
            if run_estimate is not None:
                rounding = run.roundings.get(key, 0.0)
                side_estimates.append(replace(run_estimate, rounding=rounding))
        estimates.append(side_estimates)
    values = tuple(_mean(side) for side in estimates)
    changes = tuple(
        change(
            metric,
            base,
            other,
            values[base],
            values[other],
            choice,
            noise.judge(estimates[base], estimates[other]),
        )
        for base, other in _side_pairs(len(runs), choice)
    )
    doubts = [run.doubts.get(metric.column, "") for side in runs for run in side]
    return ComparisonRow(metric, subject, values, changes, max(doubts, default=""))


def change(
    metric: ComparedMetric,
    base: int,
    other: int,
    before: float | None,
    after: float | None,
    choice: CompareOptions,
    verdict: NoiseVerdict,
) -> SideChange:
    """Return the difference of two values in the form of the metric or the options."""
    forms = [published_forms()[name].form for name in choice.published_forms]
    form = max(forms, default="") or (choice.form if metric.form == "ratio" else "points")
    if before is None or after is None:
        return SideChange(base, other, form, None, None, None, verdict, None, None)
    ratio = after / before if before else None
    points = after - before
    shown = {
        "other/base": ratio,
        "base/other": before / after if after else None,
        "percent": None if ratio is None else 100 * (ratio - 1),
        "points": points,
    }
    better = None
    if metric.direction != "none" and points:
        better = (points > 0) == (metric.direction == "higher")
    pct = None if verdict.noise is None or not before else 100 * verdict.noise / abs(before)
    return SideChange(base, other, form, shown[form], ratio, points, verdict, pct, better)


def _rank(row: ComparisonRow) -> tuple[bool, float]:
    """Return the sort key, largest first: relative differences by logarithm, after changes from or to 0.

    A subject of one side only counts as a change from or to 0; any other row with one value comes last.
    """
    shown = [change for change in row.changes if change.is_beyond_noise or change.verdict.p is None]
    ratios = [change.ratio for change in shown if change.points is not None]
    sizes = [abs(math.log(ratio)) if ratio and ratio > 0 else math.inf for ratio in ratios]
    if not sizes and row.subject:
        sizes = [math.inf]
    return (not sizes, -max(sizes, default=0.0))


def _points(row: ComparisonRow) -> float:
    """Return the largest difference of a row; a side without a value counts as 0."""
    values = row.values
    return max(abs((values[change.other] or 0.0) - (values[change.base] or 0.0)) for change in row.changes)


def _waterfalls(rows: Sequence[ComparisonRow], base: int, other: int) -> WaterfallSet:
    values: list[dict[str, float | None]] = []
    for side in (base, other):
        side_values = {}
        for row in rows:
            value = row.values[side]
            if not row.subject:
                side_values[row.metric.key] = None if value is None else value / row.metric.scale
        values.append(side_values)
    return WaterfallSet(base, other, tuple(waterfall.build_waterfalls(*values)))


def _differing_facts(sides: Sequence[Side], runs: Sequence[Sequence[SystemRun]]) -> list[str]:
    """Return configuration differences: one sentence for each fact that differs."""
    warnings = []
    for fact in ComparabilityFile.load().fact:
        texts_by_side = [
            list(dict.fromkeys(run.facts[fact.name] for run in side if fact.name in run.facts))
            for side in runs
        ]
        if len({texts for side in texts_by_side for texts in side}) > 1:
            parts = [
                f"{side.name} {' or '.join(texts) or '....'}"
                for side, texts in zip(sides, texts_by_side, strict=True)
            ]
            warnings.append(f"{fact.name} differs: {'; '.join(parts)} ({fact.why})")
    spans = [sum(run.intervals for run in side) for side in runs]
    if min(spans) and max(spans) > 2 * min(spans):
        texts = ", ".join(f"{side.name} {span}" for side, span in zip(sides, spans, strict=True))
        warnings.append(
            f"lengths differ: intervals of {texts} (the longer side may contain more kinds of work)"
        )
    synthetic = [
        side.name
        for side, side_runs in zip(sides, runs, strict=True)
        if any(run.synthetic for run in side_runs)
    ]
    if synthetic:
        warnings.append(f"synthetic, not measured: {', '.join(synthetic)}")
    return warnings


def _test_notes(compared: SystemComparison) -> list[str]:
    """Return notes on the tests."""
    kinds = {change.verdict.by for row in compared.rows for change in row.changes}
    tested, _, _ = compared.tested()
    notes = []
    if "rounding" in kinds:
        notes.append("differences no larger than what printing rounds, as in listings, are within the noise")
    if "intervals" in kinds:
        notes.append(
            "tested by intervals of single runs, which show the noise within a run but not between runs; "
            f"with {noise.FEWEST_RUNS} runs of a side, runs are tested"
        )
    if tested:
        notes.append(
            f"of {tested} differences tested at {100 * noise.LEVEL:g}%, about {noise.LEVEL * tested:.1f} "
            "would be beyond the noise by chance"
        )
    return notes


def _mean(estimates: Sequence[RatioEstimate]) -> float | None:
    return math.fsum(estimate.value for estimate in estimates) / len(estimates) if estimates else None
