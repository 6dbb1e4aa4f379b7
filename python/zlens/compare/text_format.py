"""A comparison as text: configuration differences, differences beyond the noise, parts of the change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zlens.compare import noise
from zlens.compare.comparison import (
    REGRESSION_CRITERION,
    Comparison,
    ComparisonRow,
    SideChange,
    SystemComparison,
    WaterfallSet,
)
from zlens.compare.sides import SystemRun
from zlens.compare.waterfall import Waterfall
from zlens.rendering import text_tables

#: The heading of what cannot be compared.
ALONE = "Of one side only"
_BAR = 30
_WIDEST_NAME = 44


def render(comparison: Comparison) -> str:
    lines: list[str] = []
    for compared in comparison.systems:
        lines += [*_system(comparison, compared), ""]
    lines += [f"Note: {note}" for note in comparison.notes]
    return "\n".join(lines).rstrip() + "\n"


def _system(comparison: Comparison, compared: SystemComparison) -> Iterator[str]:
    names = [side.name for side in comparison.sides]
    yield f"Comparison of {compared.title}"
    yield ""
    yield from _sides(comparison, compared)
    if compared.warnings:
        yield "Configuration differences:"
        yield from (f"  {warning}" for warning in compared.warnings)
        yield ""
    criterion = list(criterion_lines(compared, names))
    if criterion:
        yield f"IBM's regression criterion (within {100 * REGRESSION_CRITERION:g} %):"
        yield from (f"  {line}" for line in criterion)
        yield ""
    if comparison.choice.burg:
        yield from _published(compared, names)
    first, rest, alone = compared.ordered()
    if first:
        yield headline(compared)
        yield from _table(first, names)
        yield ""
    elif rest:
        yield headline(compared)
        yield ""
    if rest:
        yield "Within the noise"
        yield from _table(rest, names, grouped=True)
        yield ""
    if alone:
        yield ALONE
        yield from _table(alone, names, grouped=True)
        yield ""
    if not compared.rows:
        yield "These inputs have no values to compare."
        yield ""
    for step in compared.steps:
        yield f"Parts of the change: {names[step.other]} against {names[step.base]}"
        for waterfall in step.waterfalls:
            yield from _waterfall(waterfall, step, names)
        yield ""
    if compared.rows:
        yield (
            f"* beyond the noise at {100 * noise.LEVEL:g} %   "
            f"! outside {100 * REGRESSION_CRITERION:g} %   + better   "
            "- worse   ? no test possible   Noise: the smallest difference beyond the noise"
        )
        yield "Samples: runs, or intervals corrected for autocorrelation, of base and other side"
    yield from (f"Note: {note}" for note in compared.notes)


def _sides(comparison: Comparison, compared: SystemComparison) -> Iterator[str]:
    width = max(len(side.name) for side in comparison.sides)
    for side, name in zip(comparison.sides, compared.systems, strict=True):
        labeled_runs = [(run.label, run.systems[name]) for run in side.runs if name in run.systems]
        for number, (label, run) in enumerate(labeled_runs):
            head = side.name if number == 0 else ""
            yield f"{head:<{width}}  {label}: {run.system}, {span(run)}, {run.intervals} intervals"
    yield ""


def span(run: SystemRun) -> str:
    """The time span of a run in the display zone."""
    if run.first is None or run.last is None:
        return "no time"
    return f"{run.first:%Y-%m-%d %H:%M} to {run.last:%Y-%m-%d %H:%M}"


def headline(compared: SystemComparison) -> str:
    """How certain the differences are, in one line."""
    tested, beyond, untested = compared.tested()
    sure = f"{beyond} of {tested} tested are beyond the noise (*)"
    if not untested:
        return f"Differences, largest first: {sure}"
    why = "; ".join(reasons(compared.rows))
    return f"Differences, largest first: {sure}; {untested} have no test (?): {why}"


def reasons(rows: Sequence[ComparisonRow]) -> list[str]:
    """The reasons why rows could not be tested."""
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
    """The result of the criterion for each metric that it applies to."""
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


def _table(rows: Sequence[ComparisonRow], names: Sequence[str], *, grouped: bool = False) -> Iterator[str]:
    pairs = [(change.base, change.other) for change in rows[0].changes]
    head = ["", "Unit", *names]
    for base, other in pairs:
        head += [f"{names[other]} : {names[base]}", "Form", "Noise", ""]
    head.append("Samples")
    lines: list[list[str] | str] = []
    group = ""
    for row in rows:
        if grouped and row.metric.group != group:
            group = row.metric.group
            lines.append(group)
        name = row.name if len(row.name) <= _WIDEST_NAME else row.name[: _WIDEST_NAME - 3] + "..."
        cells = ["  " * grouped + name, row.metric.unit, *map(number, row.values)]
        for change in row.changes:
            cells += [format_difference(change), change.form, format_noise(row, change), marks(change)]
        cells.append(format_samples(row))
        lines.append(cells)
    cells_of = [line for line in lines if not isinstance(line, str)]
    width = [max(len(head[index]), *(len(line[index]) for line in cells_of)) for index in range(len(head))]
    text_columns = {0, 1, *(3 + len(names) + 4 * index for index in range(len(pairs)))}
    left = [index in text_columns for index in range(len(head))]
    yield text_tables.line(head, width, left)
    yield "  ".join("-" * column_width for column_width in width)
    for line in lines:
        yield line if isinstance(line, str) else text_tables.line(line, width, left)


def number(value: float | None) -> str:
    """A number with about five digits; dots for a missing value."""
    if value is None:
        return "...."
    size = abs(value)
    decimals = (
        0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 10 else 4 if size >= 0.01 or not size else 6
    )
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def format_difference(change: SideChange) -> str:
    """The difference in its form as text."""
    value = change.value
    if value is None:
        return "...."
    if change.form == "percent":
        return f"{value:+.1f}"
    if change.form == "points":
        return f"{round(value, 4) + 0.0:+.2f}" if abs(value) >= 0.1 else f"{round(value, 4) + 0.0:+.4f}"
    return f"{value:,.3f}"


def format_noise(row: ComparisonRow, change: SideChange) -> str:
    """The noise as text: in points if the difference is in points, else in percent of the base."""
    if change.verdict.noise is None:
        return "...."
    if change.form == "points":
        return f"±{number(change.verdict.noise)}"
    if change.noise_pct is None:
        return "...."
    return f"±{change.noise_pct:.{1 if change.noise_pct >= 1 else 2}f} %"


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
    """Samples of every side as text: runs, or effective intervals."""
    by_side = {}
    for change in row.changes:
        if change.verdict.samples:
            by_side[change.base], by_side[change.other] = change.verdict.samples
    unit = " runs" if any(change.verdict.by == "runs" for change in row.changes) else ""
    return (
        " / ".join(f"{by_side[side]:.0f}" if side in by_side else "." for side in range(len(row.values)))
        + unit
    )


def _waterfall(waterfall: Waterfall, step: WaterfallSet, names: Sequence[str]) -> Iterator[str]:
    yield f"  {waterfall.title} ({waterfall.unit})" + (f"; {waterfall.note}" if waterfall.note else "")
    rows = [(part.name, part.change) for part in waterfall.parts]
    width = max(len(name) for name in (names[step.base], names[step.other], *(name for name, _ in rows)))
    largest = max((abs(change) for _, change in rows), default=0.0) or 1.0
    yield f"    {names[step.base]:<{width}}  {number(waterfall.start):>10}"
    for name, value in rows:
        share = f"{100 * value / waterfall.start:+.1f} %" if waterfall.start else ""
        bar = ("+" if value > 0 else "-") * round(_BAR * abs(value) / largest)
        yield f"    {name:<{width}}  {format_signed(value):>10}  {share:>9}  {bar}".rstrip()
    yield f"    {names[step.other]:<{width}}  {number(waterfall.end):>10}"


def format_signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{number(value)}"


def burg_tables(compared: SystemComparison) -> Iterator[tuple[str, list[ComparisonRow]]]:
    """Rows of the table that --burg prints, by processor type."""
    rows = [
        row
        for row in compared.rows
        if row.metric.published and any(value is not None for value in row.values)
    ]
    for subject in dict.fromkeys(row.subject for row in rows):
        yield " ".join(subject), [row for row in rows if row.subject == subject]


def _published(compared: SystemComparison, names: Sequence[str]) -> Iterator[str]:
    """The form of IBM's CPU MF tables: metrics as columns, sides as rows, base/new as improvement."""
    for subject, rows in burg_tables(compared):
        yield f"CPU MF of {subject} (improvement: base/new)"
        heads = [row.metric.published for row in rows]
        body = [[name, *(number(row.values[index]) for row in rows)] for index, name in enumerate(names)]
        for index, change in enumerate(rows[0].changes):
            ratios = [row.changes[index].value for row in rows]
            label = f"{names[change.other]} improvement" + (
                f" on {names[change.base]}" if change.base else ""
            )
            body.append([label, *("...." if ratio is None else f"{ratio:.2f}" for ratio in ratios)])
        depth = max(len(head.split()) for head in heads)
        stacked = [["", *(_word(head, depth, index) for head in heads)] for index in range(depth)]
        width = [max(len(line[index]) for line in (*stacked, *body)) for index in range(len(body[0]))]
        for line in (*stacked, ["-" * column_width for column_width in width], *body):
            yield text_tables.line(line, width, [index == 0 for index in range(len(width))])
        yield ""


def _word(head: str, depth: int, line: int) -> str:
    """The word of a heading on one of `depth` lines, aligned to the bottom."""
    words = head.split()
    index = line - (depth - len(words))
    return words[index] if index >= 0 else ""
