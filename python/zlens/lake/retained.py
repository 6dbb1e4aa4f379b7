"""Intervals and raw tables that the measures of a day retain.

Interval ends are stored in integer seconds, as runs of equal steps: a day by the minute is one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from zlens.schema.structs import Int64, Text

_SECOND_US = 1_000_000
_Positive = Annotated[int, Meta(ge=1, le=2**63 - 1)]
_Names = list[Text]


class EndRun(NamedTuple):
    """Run of interval ends at equal steps, in seconds since 1970."""

    first: Int64
    step: _Positive
    length: _Positive

    def has(self, second: int) -> bool:
        """Return whether one of the ends is this second."""
        index, rest = divmod(second - self.first, self.step)
        return rest == 0 and 0 <= index < self.length


_Run = Annotated[EndRun, Meta(title="first end, step and length")]


class Retained(Struct, dict=True, forbid_unknown_fields=True):
    """Intervals and raw tables that the measures of one day of a system retain.

    feeds   raw tables grouped by the measures whose rows come from them; if there are none, by all measures
            that read them
    ends    ends of the intervals with rows, by source and measures with equal ones
    """

    feeds: list[Annotated[tuple[_Names, _Names], Meta(title="measures and the tables that they read")]]
    ends: list[Annotated[tuple[Text, _Names, list[_Run]], Meta(title="source, measures and runs")]]

    @cached_property
    def measures_by_table(self) -> dict[str, list[str]]:
        return {table: measures for measures, tables in self.feeds for table in tables}

    @cached_property
    def _runs(self) -> dict[tuple[str, str], list[EndRun]]:
        return {(source, measure): runs for source, measures, runs in self.ends for measure in measures}

    def measures(self, table: str, source: str, end_us: int) -> list[str]:
        """Return the measures that have rows of an interval of a raw table."""
        second = _second(end_us)
        return [
            measure
            for measure in self.measures_by_table.get(table, ())
            if any(run.has(second) for run in self._runs.get((source, measure), ()))
        ]


def retained(feeds: Mapping[str, list[str]], ends_us: Mapping[tuple[str, str], Iterable[int]]) -> Retained:
    """Return a `Retained` of the measures that read each raw table and of interval ends in microseconds."""
    tables: dict[tuple[str, ...], list[str]] = {}
    for table, measures in sorted(feeds.items()):
        tables.setdefault(tuple(measures), []).append(table)
    measures_by_ends: dict[tuple[str, tuple[EndRun, ...]], list[str]] = {}
    for (source, measure), ends in sorted(ends_us.items()):
        measures_by_ends.setdefault((source, tuple(_runs(ends))), []).append(measure)
    return Retained(
        [([*measures], names) for measures, names in tables.items()],
        [(source, names, [*runs]) for (source, runs), names in measures_by_ends.items()],
    )


def _second(end_us: int) -> int:
    return (end_us + _SECOND_US // 2) // _SECOND_US


def _runs(ends_us: Iterable[int]) -> list[EndRun]:
    runs: list[EndRun] = []
    for second in sorted({_second(end) for end in ends_us}):
        if runs and second == runs[-1].first + runs[-1].step * runs[-1].length:
            runs[-1] = runs[-1]._replace(length=runs[-1].length + 1)
        elif runs and runs[-1].length == 1:
            runs[-1] = EndRun(runs[-1].first, second - runs[-1].first, 2)
        else:
            runs.append(EndRun(second, 1, 1))
    return runs
