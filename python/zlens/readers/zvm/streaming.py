"""z/VM monitor data in a stream: every D1R11 closes an interval."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

from zlens._native import MonwriteFile, unix_us_from_tod
from zlens.engine.connection import connect
from zlens.inputs.options import Options
from zlens.readers.boundaries import subject_records_sql
from zlens.readers.streaming import CutPoint, DecodedWindow, StreamFormat
from zlens.readers.zvm.boundaries import MonwriteBoundaryReader
from zlens.readers.zvm.intervals import MonitorSystem
from zlens.readers.zvm.monwrite import MonwriteSource, open_files

#: The domain of the monitor itself, whose records describe how to read the others.
_MONITOR = 1
_INTERVAL_END, _END_OF_FRAME = 11, 13
_ALL = 2**31


class MonitorStreamFormat(StreamFormat):
    """z/VM monitor data as written by MONWRITE, or as read from the live stream."""

    def is_wrapped(self, path: str) -> bool:
        return MonwriteFile.open(path).capture

    def unwrap(self, path: str, target_path: str) -> int:
        """Write the first interval of a live capture in MONWRITE format; return the bytes read."""
        file = MonwriteFile.open(path)
        end = next((offset for _, offset in file.split_points() if offset <= file.size), 0)
        if end:
            os.truncate(path, end)
            MonwriteFile.open(path).write_plain(target_path)
        return end

    def records(self, path: str) -> Iterator[tuple[int, int]]:
        file = MonwriteFile.open(path)
        for tod, end_offset in sorted(file.split_points(), key=lambda point: point[1]):
            yield unix_us_from_tod(tod), min(end_offset, file.size)

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        file = MonwriteFile.open(path)
        seen = set(known)
        ranges: list[tuple[int, int]] = []
        start = 0
        ends = zip(file.interval_ends(), file.split_points(), strict=True)
        for (tod, samples, _), (_, end_offset) in ends:
            if end_offset > file.size:
                break
            us = unix_us_from_tod(tod, options.leap or 0)
            if samples and us in seen:
                ranges.append((start, end_offset))
            elif samples:
                seen.add(us)
            start = end_offset
        return ranges

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """Return a cut point at the last D1R11 with samples, after all data written together with it.

        The interval that it closes is held until the next one is closed, because its events may be written
        later.
        """
        file = MonwriteFile.open(path)
        ends = zip(file.interval_ends(), file.split_points(), strict=True)
        leap = options.leap or 0
        closed_intervals = [
            (end_offset, unix_us_from_tod(tod, leap))
            for (tod, samples, _), (_, end_offset) in ends
            if samples and end_offset <= file.size
        ]
        if not closed_intervals or (closed_intervals[-1][1] == passed_us and not ended):
            return None
        window, now_us = closed_intervals[-1]
        if ended:
            return CutPoint(window, window, now_us, None, now_us)
        end, held_us = closed_intervals[-2] if len(closed_intervals) > 1 else (0, -1)
        return CutPoint(window, end, now_us, None, held_us)

    def keep_tail(self, window: DecodedWindow, target_path: str, options: Options, retain_us: int) -> int:
        source = open_files([window.path], options, None)
        group = _current(source)
        boundary_reader = MonwriteBoundaryReader(source, group)
        closed_us = max(
            (mark.end_us for mark in boundary_reader.marks() if mark.samples and mark.offset < window.start),
            default=-1,
        )
        retained: set[int] = set()
        late_count = 0
        decoder = source.full_decoder(group)
        with closing(connect(None)) as connection:
            for plan in source.all_plans(group):
                table, monitor = plan["table"], plan["domain"] == _MONITOR
                subject = boundary_reader.subject(table)
                if subject is None:
                    continue
                columns = [*dict.fromkeys([*subject, "offset", "tod"])]
                connection.register("raw", decoder.stream(table, columns))
                is_late = f'"offset" >= {window.decoded_until} AND epoch_us(tod) <= {closed_us}'
                late = f"count(*) FILTER ({is_late}) AS late"
                records = subject_records_sql(subject, "raw", end=window.end, values=[late])
                rows = connection.execute(f"SELECT last_offset, last_us, late FROM ({records})").fetchall()
                late_count += sum(count for _, _, count in rows if not monitor)
                retained |= {
                    offset
                    for offset, us, _ in rows
                    if offset is not None and (monitor or us is None or us >= retain_us)
                }
        # Retained even if its layout is unknown.
        ends = [offset for file in group.files for _, samples, offset in file.interval_ends() if samples]
        retained.add(max(offset for offset in ends if offset < window.end))
        boundary_reader.extract_records(sorted(retained), target_path)
        return late_count

    def write_part_header(self, path: str, target_path: str, options: Options) -> None:
        """Write the configuration records as of the last interval end, as at the start of a recording."""
        source = open_files([path], options, None)
        group = _current(source)
        ends = [tod for file in group.files for tod, samples, _ in file.interval_ends() if samples]
        offsets = [
            offset
            for file in group.files
            for row in file.inventory()
            if row["domain"] == _MONITOR
            and row["sample"]
            and row["record"] not in (_INTERVAL_END, _END_OF_FRAME)
            for offset, _ in file.records(_MONITOR, row["record"], _ALL)
        ]
        # One TOD unit later, because records at the end itself belong to the interval before it.
        reader = MonwriteBoundaryReader(source, group)
        reader.extract_records(sorted({*offsets}), target_path, stamp=max(ends) + 1)

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        source = open_files([path], options, None)
        group = _current(source)
        marks = MonwriteBoundaryReader(source, group).marks()
        return {(group.info.system, source.name, mark.end_us) for mark in marks if mark.samples}


def _current(source: MonwriteSource) -> MonitorSystem:
    """Return the system that was recorded last in a stream."""

    def end(group: MonitorSystem) -> int:
        return max((offset for file in group.files for _, _, offset in file.interval_ends()), default=-1)

    return max(source.groups, key=end)


FORM = MonitorStreamFormat()
