"""Sources as the page sees them: with all intervals that are kept, not only those of the raw records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from zlens.inputs import record_intervals
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, RawTable, Source, SystemInfo, WithoutFiles

Intervals = Mapping[tuple[str, str], Mapping[int, Interval]]


class KeptSource:
    """A source with the intervals that are kept. Its own problems were reported when they arrived."""

    def __init__(
        self, source: Source, infos: Mapping[tuple[str, str], SystemInfo], intervals: Intervals
    ) -> None:
        self._source = source
        self._problems: list[Problem] = []
        self.name = source.name
        self.systems = [
            _with_intervals(replace(info, made=infos[info.system, info.source].made), intervals)
            for info in source.systems
            if (info.system, info.source) in infos
        ]
        self.tables: dict[str, list[RawTable]] = source.tables

    @classmethod
    def alone(cls, infos: Iterable[SystemInfo], intervals: Intervals, problems: list[Problem]) -> KeptSource:
        """Systems of which there are no raw records, and the problems of all."""
        source = cls(_Nothing(), {}, {})
        source.systems = [_with_intervals(info, intervals) for info in infos]
        source._problems = problems
        return source

    @property
    def paths(self) -> list[str]:
        return list(getattr(self._source, "paths", ()))

    def problems(self, *, complete: bool = False) -> list[Problem]:
        return self._problems

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        return self._source.resets()

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        return self._source.inventory(with_layouts=with_layouts)

    def info(self) -> list[dict[str, Any]]:
        return self._source.info()


class _Nothing(WithoutFiles):
    name = "live"

    def __init__(self) -> None:
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}


def _with_intervals(info: SystemInfo, intervals: Intervals) -> SystemInfo:
    ordered = record_intervals.union(intervals.get((info.system, info.source), {}).values())
    if not ordered:
        return info
    begin = ordered[0].end_us - round((ordered[0].seconds or 0) * 1e6)
    return replace(
        info,
        known=ordered,
        first_us=min(begin, info.first_us or begin),
        last_us=ordered[-1].end_us,
    )
