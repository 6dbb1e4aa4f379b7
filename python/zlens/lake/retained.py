"""Intervals and raw tables that the measures of a day retain.

Interval ends are stored in integer seconds, as runs of equal steps: a day by the minute is one run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct, field

from zlens.lake.validators import TEXT, WHOLE, list_of
from zlens.schema.validators import FixedTuple, Integer, Key, Spec

_SECOND_US = 1_000_000


class EndRun(NamedTuple):
    """Run of interval ends at equal steps, in seconds since 1970."""

    first: int
    step: int
    length: int

    def has(self, second: int) -> bool:
        """Return whether one of the ends is this second."""
        index, rest = divmod(second - self.first, self.step)
        return rest == 0 and 0 <= index < self.length


class Retained(Struct):
    """Intervals and raw tables that the measures of one day of a system retain.

    feeds   measures whose rows come from each raw table; if there are none, all measures that read it
    ends    ends of the intervals with rows, by source and measure
    """

    feeds: dict[str, list[str]] = field(default_factory=dict)
    ends: dict[tuple[str, str], list[EndRun]] = field(default_factory=dict)

    def measures(self, table: str, source: str, end_us: int) -> list[str]:
        """Return the measures that have rows of an interval of a raw table."""
        second = _second(end_us)
        return [
            measure
            for measure in self.feeds.get(table, ())
            if any(run.has(second) for run in self.ends.get((source, measure), ()))
        ]

    def facts(self) -> dict[str, Any]:
        """Return the JSON value: tables grouped by equal measures, and measures grouped by equal ends."""
        tables: dict[tuple[str, ...], list[str]] = {}
        for table, measures in sorted(self.feeds.items()):
            tables.setdefault(tuple(measures), []).append(table)
        measures_by_ends: dict[tuple[str, tuple[EndRun, ...]], list[str]] = {}
        for (source, measure), runs in sorted(self.ends.items()):
            measures_by_ends.setdefault((source, tuple(runs)), []).append(measure)
        return {
            "feeds": [[list(measures), names] for measures, names in tables.items()],
            "ends": [
                [source, names, [list(run) for run in runs]]
                for (source, runs), names in measures_by_ends.items()
            ],
        }


def retained(feeds: Mapping[str, list[str]], ends_us: Mapping[tuple[str, str], Iterable[int]]) -> Retained:
    """Return a `Retained` of the measures that read each raw table and of interval ends in microseconds."""
    return Retained({**feeds}, {key: _runs(ends) for key, ends in ends_us.items()})


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


def _loaded(values: dict[str, Any]) -> Retained:
    feeds = {table: [*measures] for measures, tables in values["feeds"] for table in tables}
    ends = {(source, measure): [*runs] for source, measures, runs in values["ends"] for measure in measures}
    return Retained(feeds, ends)


_NAMES = list_of(TEXT)
_RUN = FixedTuple((WHOLE, Integer(1), Integer(1)), "first end, step and length", EndRun)
#: Schema in a document of measures.
RETAINED = Spec(
    (
        Key("feeds", list_of(FixedTuple((_NAMES, _NAMES), "measures and the tables that they read"))),
        Key("ends", list_of(FixedTuple((TEXT, _NAMES, list_of(_RUN)), "source, measures and runs"))),
    ),
    lambda **values: _loaded(values),
)
