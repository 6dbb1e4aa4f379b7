"""Sources for the web UI, with all retained intervals, not only those of the raw records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from zlens.inputs import record_intervals
from zlens.inputs.identity import KnownSystem
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import FilelessSource, Interval, RawTable, Source, SystemInfo
from zlens.readers import recognition

Intervals = Mapping[tuple[str, str], Mapping[int, Interval]]


class Parts(Struct, frozen=True):
    """Files of a source: the name of their reader, and the size of each file when it was opened.

    known    systems known when the files were opened
    address  where scrapes were polled
    """

    reader: str
    sizes: dict[str, int]
    known: tuple[KnownSystem, ...] = ()
    address: str | None = None

    def open(self, paths: list[str], options: Options) -> Source:
        named_options = replace(options, known=self.known, address=self.address)
        source: Source = recognition.reader_module(self.reader).open_files(paths, named_options, None)
        return source


class RetainedSource:
    """A source with all retained intervals. Its own problems were reported when its data arrived."""

    def __init__(
        self, source: Source, parts: Parts, systems: list[SystemInfo], problems: list[Problem]
    ) -> None:
        self.parts = parts
        self.name = source.name
        self.systems = systems
        self.tables = source.tables
        self.paths = list(getattr(source, "paths", ()))
        self.resets, self.inventory, self.info = source.resets, source.inventory, source.info
        self._problems = problems

    @classmethod
    def of(
        cls, parts: Parts, options: Options, infos: Mapping[tuple[str, str], SystemInfo], intervals: Intervals
    ) -> RetainedSource:
        """Open the source of some files, limited to the systems in `infos`."""
        source = parts.open([*parts.sizes], options)
        systems = [
            _with_intervals(replace(info, synthetic=infos[info.system, info.source].synthetic), intervals)
            for info in source.systems
            if (info.system, info.source) in infos
        ]
        return cls(source, parts, systems, [])

    @classmethod
    def alone(
        cls, infos: Iterable[SystemInfo], intervals: Intervals, problems: list[Problem]
    ) -> RetainedSource:
        """Return a source of systems without raw records, with the problems of all systems."""
        systems = [_with_intervals(info, intervals) for info in infos]
        return cls(NoFiles(), Parts("", {}), systems, problems)

    def problems(self, *, complete: bool = False) -> list[Problem]:
        return self._problems


class NoFiles(FilelessSource):
    name = "live"

    def __init__(self) -> None:
        self.systems: list[SystemInfo] = []
        self.tables: dict[str, list[RawTable]] = {}


def _with_intervals(info: SystemInfo, intervals: Intervals) -> SystemInfo:
    ordered = record_intervals.union(intervals.get((info.system, info.source), {}).values())
    if not ordered:
        return info
    start_us = ordered[0].end_us - round((ordered[0].seconds or 0) * 1e6)
    return replace(
        info, known=ordered, first_us=min(start_us, info.first_us or start_us), last_us=ordered[-1].end_us
    )
