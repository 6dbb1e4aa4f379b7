"""Output of a run of the rig next to its monitor data: a report, and results for programs and the web UI.

The results have exact numbers, and the files of every run.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from zlens.rendering import charts
from zlens.rendering.atomic_file import atomic_write
from zlens.rig import html_format, observed_values, tables
from zlens.rig.definition import Control
from zlens.rig.results import RigResult, VariantOutcome
from zlens.version import VERSION

REPORT, RESULTS = "report.html", "results.json"


def write(results: Sequence[RigResult], folder: str) -> None:
    """Write report.html and results.json, both with today's date."""
    when = dt.date.today().isoformat()
    for name, text in (
        (REPORT, html_format.render(results, when)),
        (RESULTS, json.dumps(_document(results, when))),
    ):
        with atomic_write(str(Path(folder) / name)) as path:
            Path(path).write_text(text, encoding="utf-8")


def _document(results: Sequence[RigResult], when: str) -> dict[str, Any]:
    """Return one object: version, date and scenarios with their policies, numbers, verdicts and runs."""
    ordered = tables.in_order(results)
    return {"version": VERSION, "date": when, "scenarios": [_scenario(result) for result in ordered]}


def _scenario(result: RigResult) -> dict[str, Any]:
    rig = result.rig
    return {
        **_fields(rig, "name", "title", "text", "area"),
        **_fields(rig.source, "publication", "place", "status"),
        **_fields(result, "passed", "complete"),
        "not_reproduced": rig.not_reproduced,
        "notes": tables.answer([result]).notes,
        "charts": [charts.as_data(chart) for chart in tables.charts(result)],
        "policies": [_outcome(one) for one in result.outcomes],
    }


def _fields(value: Struct, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _outcome(outcome: VariantOutcome) -> dict[str, Any]:
    return {
        "name": outcome.variant.name,
        "control": isinstance(outcome.variant, Control),
        **_fields(outcome, "judged", "passed"),
        "errors": list(outcome.errors),
        "observations": [
            {
                **_fields(one.observation, "name", "unit"),
                "allowed": tables.allowed(one),
                "of": one.observation.of,
                "relative": one.observation.relative_to is not None,
                "over_time": observed_values.series_sql(one.observation),
                **_fields(one, "worst", "rms", "misallocated", "passed"),
                "numbers": [
                    {
                        **_fields(row, "case", "subject"),
                        "expected": row.expected.value,
                        **_fields(row.expected, "low", "high"),
                        **_fields(row, "observed", "half", "passed"),
                    }
                    for row in one.compared
                ],
            }
            for one in outcome.verdicts
        ],
        "runs": [
            {
                **_fields(done.job, "name", "case", "seed"),
                "files": list(done.data.files),
                "throughput": done.data.throughput,
                "error": done.error,
            }
            for done in outcome.runs
        ],
    }
