"""Results for programs and the web UI: exact numbers, and the files of every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlens.rendering import charts
from zlens.rig import observed_values, tables
from zlens.rig.definition import Control
from zlens.rig.results import RigResult, VariantOutcome
from zlens.version import VERSION


def document(results: Sequence[RigResult], when: str) -> dict[str, Any]:
    """Return one object: version, date and scenarios with their policies, numbers, verdicts and runs."""
    ordered = tables.in_order(results)
    return {"version": VERSION, "date": when, "scenarios": [_scenario(result) for result in ordered]}


def _scenario(result: RigResult) -> dict[str, Any]:
    rig = result.rig
    return {
        "name": rig.name,
        "title": rig.title,
        "text": rig.text,
        "area": rig.area,
        "publication": rig.source.publication,
        "place": rig.source.place,
        "status": rig.source.status,
        "passed": result.passed,
        "complete": result.complete,
        "not_reproduced": rig.not_reproduced,
        "notes": tables.answer([result]).notes,
        "charts": [charts.as_data(chart) for chart in tables.charts(result)],
        "policies": [_outcome(one) for one in result.outcomes],
    }


def _outcome(outcome: VariantOutcome) -> dict[str, Any]:
    return {
        "name": outcome.variant.name,
        "control": isinstance(outcome.variant, Control),
        "judged": outcome.judged,
        "passed": outcome.passed,
        "errors": list(outcome.errors),
        "observations": [
            {
                "name": one.observation.name,
                "unit": one.observation.unit,
                "allowed": tables.allowed(one),
                "of": one.observation.of,
                "relative": one.observation.relative_to is not None,
                "over_time": observed_values.series_sql(one.observation),
                "worst": one.worst,
                "rms": one.rms,
                "misallocated": one.misallocated,
                "passed": one.passed,
                "numbers": [
                    {
                        "case": row.case,
                        "subject": row.subject,
                        "expected": row.expected.value,
                        "low": row.expected.low,
                        "high": row.expected.high,
                        "observed": row.observed,
                        "half": row.half,
                        "passed": row.passed,
                    }
                    for row in one.compared
                ],
            }
            for one in outcome.verdicts
        ],
        "runs": [
            {
                "name": done.job.name,
                "case": done.job.case,
                "seed": done.job.seed,
                "files": list(done.data.files),
                "throughput": done.data.throughput,
                "error": done.error,
            }
            for done in outcome.runs
        ],
    }
