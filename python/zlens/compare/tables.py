"""A comparison as an answer: configuration differences, differences beyond the noise, parts of the change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlens.catalog.comparison_metrics import REGRESSION_CRITERION, PublishedForm, published_forms
from zlens.compare import noise
from zlens.compare.comparison import (
    Comparison,
    ComparisonRow,
    SideChange,
    SystemComparison,
    WaterfallSet,
)
from zlens.compare.sides import SystemRun
from zlens.compare.waterfall import Waterfall
from zlens.rendering.answer import Answer, AnswerColumn, AnswerList, AnswerTable
from zlens.schema.plain_text import format_count

_LEGEND = (
    f"* beyond the noise at {100 * noise.LEVEL:g}%   "
    f"! outside {100 * REGRESSION_CRITERION:g}%   + better   "
    "- worse   ? not tested   Noise: the smallest difference beyond the noise"
)
_SAMPLES = "Samples: runs, or intervals corrected for autocorrelation, of base and other"


def build_answers(comparison: Comparison) -> list[Answer]:
    """Return one answer for each system."""
    answers = [_system(comparison, compared) for compared in comparison.systems]
    answers[-1].notes += comparison.notes
    return answers


def _system(comparison: Comparison, compared: SystemComparison) -> Answer:
    names = [side.name for side in comparison.sides]
    ordered = compared.ordered()
    criterion = list(criterion_lines(compared, names))
    lists = []
    if compared.warnings:
        lists.append(AnswerList("Configuration differences", compared.warnings))
    if criterion:
        within = f"IBM's regression criterion (within {100 * REGRESSION_CRITERION:g}%)"
        lists.append(AnswerList(within, criterion))
    if compared.rows and not ordered.beyond:
        lists.append(AnswerList(headline(compared)))
    if not compared.rows:
        lists.append(AnswerList("These inputs have no values to compare."))
    tables: list[AnswerTable] = []
    for form in comparison.choice.published_forms:
        tables += _published(compared, names, published_forms()[form])
    if ordered.beyond:
        tables.append(_table("differences", headline(compared), ordered.beyond, names))
    if ordered.untested:
        why = "; ".join(reasons(ordered.untested))
        tables.append(_table("untested", f"Not tested (?), largest first: {why}", ordered.untested, names))
    if ordered.within:
        tables.append(_table("noise", "Within the noise", ordered.within, names, grouped=True))
    if ordered.one_sided:
        tables.append(_table("one_side", "Of one side only", ordered.one_sided, names, grouped=True))
    tables += [_parts(fall, step, names) for step in compared.steps for fall in step.waterfalls]
    return Answer(
        "compare",
        f"Comparison of {compared.title}",
        tables,
        lead=list(_sides(comparison, compared)),
        lists=lists,
        notes=[*((_LEGEND, _SAMPLES) if compared.rows else ()), *compared.notes],
    )


def _sides(comparison: Comparison, compared: SystemComparison) -> Iterator[str]:
    width = max(len(side.name) for side in comparison.sides)
    for side, name in zip(comparison.sides, compared.systems, strict=True):
        labeled_runs = [(run.label, run.systems[name]) for run in side.runs if name in run.systems]
        for number, (label, run) in enumerate(labeled_runs):
            label_text = side.name if number == 0 else ""
            intervals = format_count(run.intervals, "interval")
            yield f"{label_text:<{width}}  {label}: {run.system}, {span(run)}, {intervals}"


def span(run: SystemRun) -> str:
    """Return the time range of a run in the display zone."""
    if run.first is None or run.last is None:
        return "no time"
    return f"{run.first:%Y-%m-%d %H:%M} to {run.last:%Y-%m-%d %H:%M}"


def headline(compared: SystemComparison) -> str:
    """Return the numbers of differences beyond the noise, tested and not tested, in one line."""
    tested, beyond, untested = compared.tested()
    order = ", largest first" if beyond else ""
    unknown = f"; {untested} not tested (?)" if untested else ""
    return f"Beyond the noise (*){order}: {beyond} of {tested} tested{unknown}"


def reasons(rows: Sequence[ComparisonRow]) -> list[str]:
    """Return the reasons why rows could not be tested."""
    verdicts = [change.verdict for row in rows for change in row.changes]
    texts = []
    intervals = [
        min(verdict.samples) for verdict in verdicts if verdict.samples and "intervals" in verdict.why
    ]
    if intervals:
        texts.append(f"fewer than {noise.FEWEST_INTERVALS} intervals")
    if any("independent" in verdict.why for verdict in verdicts):
        texts.append(f"fewer than {noise.FEWEST_EFFECTIVE:g} independent samples, as when the load drifts")
    if any("side" in verdict.why for verdict in verdicts):
        texts.append("only one side has a value")
    return texts


def criterion_lines(compared: SystemComparison, names: Sequence[str]) -> Iterator[str]:
    """Yield the result of the criterion for each metric that it applies to."""
    for row in compared.rows:
        if not row.metric.criterion:
            continue
        for change in row.changes:
            if change.ratio is None:
                continue
            result = (
                "within"
                if not change.is_outside_criterion
                else "outside, better"
                if change.better
                else "outside, WORSE"
            )
            certainty = f"{'beyond' if change.is_beyond_noise else 'within'} the noise"
            certainty = "not tested" if change.verdict.p is None else certainty
            sides = f"{names[change.other]}/{names[change.base]}"
            yield f"{row.name}: {sides} {change.ratio:.3f}, {result}; {certainty}"


def _table(
    key: str, title: str, rows: Sequence[ComparisonRow], names: Sequence[str], *, grouped: bool = False
) -> AnswerTable:
    columns = [AnswerColumn("metric", ""), AnswerColumn("unit", "Unit")]
    columns += [AnswerColumn(f"value{index}", name, numeric=True) for index, name in enumerate(names)]
    for index, change in enumerate(rows[0].changes):
        columns += [
            AnswerColumn(f"change{index}", f"{names[change.other]} : {names[change.base]}", numeric=True),
            AnswerColumn(f"form{index}", "Form"),
            AnswerColumn(f"noise{index}", "Noise", numeric=True),
            AnswerColumn(f"marks{index}", "", numeric=True),
        ]
    columns.append(AnswerColumn("samples", "Samples", numeric=True))
    cells = []
    for row in rows:
        own = [row.name, row.metric.unit, *map(number, row.values)]
        for change in row.changes:
            own += [format_difference(change), change.form, format_noise(row, change), marks(change)]
        cells.append((*own, format_samples(row)))
    groups = [row.metric.group for row in rows] if grouped else ()
    return AnswerTable(key, title, tuple(columns), cells, groups)


def number(value: float | None) -> str:
    """Format a number with about five digits; dots for a missing value."""
    if value is None:
        return "...."
    size = abs(value)
    decimals = (
        0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 4 if size >= 0.01 or not size else 6
    )
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def format_difference(change: SideChange) -> str:
    """Format the difference in its form."""
    value = change.value
    if value is None:
        return "...."
    if change.form == "percent":
        return f"{value:+.1f}"
    if change.form == "points":
        return f"{round(value, 4) + 0.0:+.2f}" if abs(value) >= 0.1 else f"{round(value, 4) + 0.0:+.4f}"
    return f"{value:,.3f}"


def format_noise(row: ComparisonRow, change: SideChange) -> str:
    """Format the noise: in points if the difference is in points, else in percent of the base."""
    if change.verdict.noise is None:
        return "...."
    if change.form == "points":
        return f"±{number(change.verdict.noise)}"
    if change.noise_pct is None:
        return "...."
    return f"±{change.noise_pct:.{1 if change.noise_pct >= 1 else 2}f}%"


def marks(change: SideChange) -> str:
    test = "*" if change.is_beyond_noise else "?" if change.verdict.p is None else ""
    better = (
        ""
        if change.better is None or not (change.is_beyond_noise or change.is_outside_criterion)
        else "+"
        if change.better
        else "-"
    )
    return f"{test}{'!' if change.is_outside_criterion and change.form != 'points' else ''}{better}"


def format_samples(row: ComparisonRow) -> str:
    """Format the samples of every side: runs, or effective intervals."""
    by_side = {}
    for change in row.changes:
        if change.verdict.samples:
            by_side[change.base], by_side[change.other] = change.verdict.samples
    unit = " runs" if any(change.verdict.by == "runs" for change in row.changes) else ""
    return (
        " / ".join(f"{by_side[side]:.0f}" if side in by_side else "." for side in range(len(row.values)))
        + unit
    )


def _parts(waterfall: Waterfall, step: WaterfallSet, names: Sequence[str]) -> AnswerTable:
    """Return a table of the parts of a change, which add up to it."""
    base, other = names[step.base], names[step.other]
    columns = (
        AnswerColumn("part", "Part"),
        AnswerColumn("change", "Change", waterfall.unit),
        AnswerColumn("share", "Share", "% of base"),
    )
    rows = [(base, number(waterfall.start), "")]
    for part in waterfall.parts:
        share = f"{100 * part.change / waterfall.start:+.1f}" if waterfall.start else ""
        rows.append((part.name, f"{'+' if part.change > 0 else ''}{number(part.change)}", share))
    rows.append((other, number(waterfall.end), ""))
    title = f"{waterfall.title}: {other} against {base}{f'; {waterfall.note}' if waterfall.note else ''}"
    return AnswerTable(
        "parts", title, columns, rows, bars=[None, *(part.change for part in waterfall.parts), None]
    )


def _published(
    compared: SystemComparison, names: Sequence[str], form: PublishedForm
) -> Iterator[AnswerTable]:
    """Yield tables as in a publication, with the differences of the sides below them."""
    shown = [
        row
        for row in compared.rows
        if row.metric.published_form == form.name and any(value is not None for value in row.values)
    ]
    subjects = dict.fromkeys(row.subject for row in shown)
    for subject in [subject for subject in subjects if subject] or subjects:
        # What a system has as a whole is beside each of its devices.
        rows = [row for row in shown if row.subject in (subject, ())]
        rows.sort(key=lambda row: not row.subject)
        columns = [AnswerColumn("side", "")]
        columns += [
            AnswerColumn(row.metric.key, "\n".join(row.metric.published.split()), numeric=True)
            for row in rows
        ]
        body = [
            (name, *(_published_number(row, row.values[index]) for row in rows))
            for index, name in enumerate(names)
        ]
        differences = _improvements if form.differences == "improvement" else _deltas
        for index in range(len(rows[0].changes)):
            body += differences(rows, index, names)
        title = " of ".join(filter(None, (form.title, " ".join(subject))))
        yield AnswerTable("published", f"{title} {form.note}".rstrip(), tuple(columns), body)


def _published_number(row: ComparisonRow, value: float | None) -> str:
    """Format a value of a row in the unit and with the digits of the publication."""
    if value is None or row.metric.published_decimals < 0:
        return number(value)
    return f"{value * row.metric.published_scale:.{row.metric.published_decimals}f}"


def _improvements(
    rows: Sequence[ComparisonRow], index: int, names: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    change = rows[0].changes[index]
    ratios = [row.changes[index].value for row in rows]
    label = f"{names[change.other]} improvement" + (f" on {names[change.base]}" if change.base else "")
    yield (label, *("...." if ratio is None else f"{ratio:.2f}" for ratio in ratios))


def _deltas(rows: Sequence[ComparisonRow], index: int, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the differences of a side in the units of the columns, and in percent of the base."""
    changes = [row.changes[index] for row in rows]
    which = f" {names[changes[0].other]} : {names[changes[0].base]}" if len(rows[0].changes) > 1 else ""
    points = zip(rows, changes, strict=True)
    yield (f"Delta{which}", *(_published_number(row, change.points) for row, change in points))
    percents = (change.percent for change in changes)
    yield (f"%Delta{which}", *("...." if percent is None else f"{percent:.2f}" for percent in percents))
