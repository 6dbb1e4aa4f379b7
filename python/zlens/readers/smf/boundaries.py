"""File boundaries of SMF dumps: decodes the records of a system again, with the records of other dumps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from zlens._native import SmfFile, unix_us_from_tod
from zlens.catalog import smf, smf_sections
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, Interval, Source
from zlens.readers.boundaries import BoundaryReader, Fragments, StitchedRecords
from zlens.readers.smf.dump import NAME, RECORD, SmfSource, open_files
from zlens.readers.smf.systems import SmfSystem, first_samples

#: Each subtype of a processor has its own row.
SUBJECT = ["subtype", "cpu_id"]


def open_boundary(source: Source, system: str) -> SmfBoundaryReader | None:
    """Return the boundary reader of a system in a source with one file; None if nothing of it is decoded."""
    if not isinstance(source, SmfSource):
        raise TypeError(type(source).__name__)
    group = source.groups[system]
    return SmfBoundaryReader(group) if group.ends else None


def deduplicated_tables() -> dict[str, list[str]]:
    """Return the record types whose repeated records the decoder reads once, with their tables."""
    return {
        f"SMF {layout.record}.{min(layout.subtypes)}": [section.table for section in layout.sections]
        for layout in smf_sections.layouts()
    }


class SmfBoundaryReader(BoundaryReader):
    """One system of a source with one file."""

    needs_all_records = True

    def __init__(self, group: SmfSystem) -> None:
        (dump,) = group.dumps
        self._group = group
        self._file = dump.file

    def subject(self, table: str) -> list[str] | None:
        # Change records do not depend on others.
        return SUBJECT if table == smf.layout(RECORD).table else None

    def span(self) -> tuple[int, int] | None:
        first, last = self._group.ends[0], self._group.ends[-1]
        leap = self._group.info.leap_s
        return unix_us_from_tod(first, leap), unix_us_from_tod(last, leap)

    def first_samples(self) -> int:
        return first_samples((interval.end, interval.records) for interval in self._group.seen)

    def offsets(self) -> list[int]:
        ids = [id for _, record, id in self._group.ids if record == RECORD]
        return sorted(offset for id in ids for offset in _offsets(self._file, id))

    def extract_records(self, offsets: Sequence[int], path: str) -> None:
        self._file.extract(RECORD, smf.layout(RECORD).order, None, sorted(offsets), path)


def _offsets(file: SmfFile, stream: bytes | None) -> list[int]:
    """Return the offsets of the decoded records of a stream, or of all, including those not shown."""
    return file.offsets(RECORD, smf.layout(RECORD).order, stream)


class StitchedSmfRecords(StitchedRecords):
    """Fragments of dumps of one system. The records contain the usual interval and the resets."""

    def __init__(self, fragments: Fragments) -> None:
        self._source = open_files(list(fragments.paths), Options(leap=fragments.leap))
        (self._group,) = self._source.groups.values()
        (self._dump,) = [dump for dump in self._group.dumps if dump.file.path == fragments.file]
        super().__init__(fragments, _offsets(self._dump.file, None))

    @property
    def tables(self) -> list[str]:
        return list(self._source.tables)

    def stream(self, table: str, columns: list[str]) -> ArrowSource:
        (raw_table,) = self._source.tables[table]
        return raw_table.stream(columns)

    def intervals(self) -> list[Interval]:
        """Return the intervals of the fragment, completed from the others."""
        ends = self._group.ends
        own_ends = {
            unix_us_from_tod(ends[index], self._group.info.leap_s)
            for _, _, _, end, _ in self._dump.intervals
            if (index := bisect_left(ends, end)) < len(ends)
        }
        return [interval for interval in self._group.info.intervals if interval.end_us in own_ends]

    def resets(self) -> list[tuple[int, str, str, str]]:
        return [(us, table, subject, evidence) for _, us, table, subject, evidence in self._source.resets()]

    def problems(self) -> list[Problem]:
        return [
            self.with_original_offset(problem)
            for problem in self._source.problems(complete=True)
            if problem.file == self.file and problem.source == NAME
        ]


STITCHED = StitchedSmfRecords
