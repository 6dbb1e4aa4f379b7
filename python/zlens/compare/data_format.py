"""A comparison as one array of objects: differences, parts of waterfalls, warnings and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zlens.compare.comparison import Comparison, ComparisonRow, SideChange, SystemComparison
from zlens.rendering import rows as out_rows


def to_json(comparison: Comparison) -> str:
    return out_rows.json_text(objects(comparison))


def to_csv(comparison: Comparison) -> str:
    """Return only the differences, because a table has one kind of rows."""
    differences = [difference for difference in objects(comparison) if difference["kind"] == "difference"]
    columns = [name for name in (differences[0] if differences else _EMPTY) if name != "kind"]
    return out_rows.csv_text(
        columns, [tuple(difference[name] for name in columns) for difference in differences]
    )


_EMPTY = ("system", "metric", "base", "other", "base_value", "other_value", "form", "change")


def objects(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Yield objects by kind: difference (as in `SystemComparison.ordered`), part, warning, note."""
    names = [side.name for side in comparison.sides]
    for compared in comparison.systems:
        for row in compared.ordered():
            for change in row.changes:
                yield _difference(compared, row, change, names)
        for step in compared.steps:
            for waterfall in step.waterfalls:
                for part in waterfall.parts:
                    yield {
                        "kind": "part",
                        "system": compared.title,
                        "base": names[step.base],
                        "other": names[step.other],
                        "waterfall": waterfall.title,
                        "unit": waterfall.unit,
                        "base_value": waterfall.start,
                        "other_value": waterfall.end,
                        "part": part.name,
                        "change": part.change,
                    }
        for kind, texts in (("warning", compared.warnings), ("note", compared.notes)):
            yield from ({"kind": kind, "system": compared.title, "text": text} for text in texts)
    yield from ({"kind": "note", "system": None, "text": text} for text in comparison.notes)


def _difference(
    compared: SystemComparison, row: ComparisonRow, change: SideChange, names: list[str]
) -> dict[str, Any]:
    verdict = change.verdict
    base, other = verdict.samples or (None, None)
    return {
        "kind": "difference",
        "system": compared.title,
        "group": row.metric.group,
        "metric": row.metric.key,
        "heading": row.metric.heading,
        "subject": " ".join(row.subject),
        "unit": row.metric.unit,
        "direction": row.metric.direction,
        "doubt": row.doubt or None,
        "base": names[change.base],
        "other": names[change.other],
        "base_value": row.values[change.base],
        "other_value": row.values[change.other],
        "form": change.form,
        "change": change.value,
        "ratio": change.ratio,
        "percent": change.percent,
        "points": change.points,
        "beyond_noise": verdict.beyond,
        "outside_5_pct": change.is_outside_criterion,
        "better": change.better,
        "tested_by": verdict.by,
        "not_tested": verdict.why or None,
        "p": verdict.p,
        "noise": verdict.noise,
        "base_samples": base,
        "other_samples": other,
    }
