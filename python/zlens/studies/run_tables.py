"""Tables of runs in every study: other numbers, and sources of measured runs."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from zlens.rendering.answer import AnswerColumn, AnswerTable
from zlens.rendering.answer_columns import answer_columns, answer_table
from zlens.studies.measurement import MeasuredRun
from zlens.studies.runs import WorkloadRun


def other_numbers(runs: Sequence[WorkloadRun]) -> AnswerTable | None:
    """Return the table of other numbers of runs; None if no run has any."""
    names = list(dict.fromkeys(name for run in runs for name in run.also))
    if not names:
        return None
    columns = (
        AnswerColumn("run", "Run"),
        *(AnswerColumn(name, name, decimals=_decimals(runs, name)) for name in names),
    )
    rows = [(run.name, *(run.also.get(name) for name in names)) for run in runs]
    return AnswerTable("also", "Other numbers", columns, rows)


def _decimals(runs: Sequence[WorkloadRun], name: str) -> int:
    """Return the decimals as given, at most 6."""
    written = (f"{run.also[name]:.6f}".rstrip("0") for run in runs if name in run.also)
    return max(len(text.partition(".")[2]) for text in written)


def window(runs: Sequence[tuple[str, MeasuredRun]]) -> AnswerTable | None:
    """Return the table of the sources of measured runs; None without runs."""
    if not runs:
        return None
    keys = [column.key for column in answer_columns("studies", "measured")[1:]]
    rows = [(name, *attrgetter(*keys)(measured)) for name, measured in runs]
    return answer_table("studies", "measured", "Measured", rows)
