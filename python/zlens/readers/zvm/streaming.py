"""Following z/VM monitor data: every D1R11 closes an interval."""

from __future__ import annotations

import os

from zlens import _native
from zlens.catalog import expressions
from zlens.engine.connection import connect
from zlens.inputs.options import Options
from zlens.readers.streaming import CutPoint, RetainedTail
from zlens.readers.zvm.boundaries import MonwriteBoundaryReader
from zlens.readers.zvm.intervals import MonitorSystem
from zlens.readers.zvm.monwrite import MonwriteSource, open_files

#: The domain of the monitor itself, whose records tell how the others are to be read.
_MONITOR = 1
_INTERVAL_END, _END_OF_FRAME = 11, 13
_ALL = 2**31


class MonitorStreamFormat:
    """z/VM monitor data as MONWRITE writes them, or as the live stream gives them."""

    shares_intervals = True

    def has_intervals(self, head: bytes) -> bool:
        return True

    def missing_header(self, path: str, begin: int, name: str, options: Options) -> bytes:
        return b""

    def is_wrapped(self, path: str) -> bool:
        return _native.MonwriteFile.open(path).capture

    def unwrap(self, path: str, into: str) -> int:
        """The first interval of a capture of the live stream, as MONWRITE would have written it."""
        file = _native.MonwriteFile.open(path)
        end = next((cut for _, cut in file.split_points() if cut <= file.size), 0)
        if end:
            os.truncate(path, end)
            _native.MonwriteFile.open(path).write_plain(into)
        return end

    def write_times(self, path: str) -> list[tuple[int, int]]:
        file = _native.MonwriteFile.open(path)
        newest = 0
        moments = []
        for tod, whole in sorted(file.split_points(), key=lambda cut: cut[1]):
            newest = max(newest, _native.unix_us_from_tod(tod))
            moments.append((newest, min(whole, file.size)))
        return moments

    def repeated_ranges(self, path: str, options: Options, known: set[int]) -> list[tuple[int, int]]:
        file = _native.MonwriteFile.open(path)
        seen = set(known)
        ranges: list[tuple[int, int]] = []
        begin = 0
        ends = zip(file.interval_ends(), file.split_points(), strict=True)
        for (tod, samples, _), (_, whole) in ends:
            if whole > file.size:
                break
            us = _native.unix_us_from_tod(tod, options.leap or 0)
            if samples and us in seen:
                ranges.append((begin, whole))
            elif samples:
                seen.add(us)
            begin = whole
        return ranges

    def cut_point(
        self, path: str, options: Options, *, passed_us: int | None, grace_s: float, silent: bool, ended: bool
    ) -> CutPoint | None:
        """Up to the last D1R11 with samples, and all that was written together with it.

        The interval that it closes is held until the next one is closed: events of it may be written later.
        """
        file = _native.MonwriteFile.open(path)
        ends = zip(file.interval_ends(), file.split_points(), strict=True)
        leap = options.leap or 0
        cuts = [
            (whole, _native.unix_us_from_tod(tod, leap))
            for (tod, samples, _), (_, whole) in ends
            if samples and whole <= file.size
        ]
        if not cuts or (cuts[-1][1] == passed_us and not ended):
            return None
        window, now_us = cuts[-1]
        if ended:
            return CutPoint(window, window, now_us, None, now_us)
        end, held_us = cuts[-2] if len(cuts) > 1 else (0, -1)
        return CutPoint(window, end, now_us, None, held_us)

    def keep_tail(
        self, path: str, begin: int, fresh: int, end: int, into: str, options: Options, oldest_us: int
    ) -> RetainedTail:
        source = open_files([path], options, None)
        group = _current(source)
        joints = MonwriteBoundaryReader(source, group)
        closed = max(
            (mark.end_us for mark in joints.marks() if mark.samples and mark.offset < begin), default=-1
        )
        chosen: set[int] = set()
        late = 0
        decoder = source.full_decoder(group)
        connection = connect(None)
        try:
            for plan in source.all_plans(group):
                table, monitor = plan["table"], plan["domain"] == _MONITOR
                subject = joints.subject(table)
                if subject is None:
                    continue
                connection.register(
                    "raw", decoder.stream(table, [*dict.fromkeys([*subject, "offset", "tod"])])
                )
                by = ", ".join(map(expressions.quote, subject))
                query = (
                    'SELECT max("offset") FILTER ("offset" < ?), epoch_us(max(tod)), '
                    'count(*) FILTER ("offset" >= ? AND epoch_us(tod) <= ?) '
                    f"FROM raw {f'GROUP BY {by}' if by else ''}"
                )
                rows = connection.execute(query, [end, fresh, closed]).fetchall()
                late += sum(count for _, _, count in rows if not monitor)
                chosen |= {
                    offset
                    for offset, us, _ in rows
                    if offset is not None and (monitor or us is None or us >= oldest_us)
                }
        finally:
            connection.close()
        # Whether or not a layout of it is known.
        ends = [offset for file in group.files for _, samples, offset in file.interval_ends() if samples]
        chosen.add(max(offset for offset in ends if offset < end))
        joints.extract_records(sorted(chosen), into)
        return RetainedTail(len(chosen), late)

    def write_part_header(self, path: str, into: str, options: Options) -> None:
        """The configuration records, as of the last end of an interval: as a recording begins with them."""
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
        # One unit of the clock later: what is at the end itself belongs to the interval before.
        MonwriteBoundaryReader(source, group).extract_records(sorted({*offsets}), into, stamp=max(ends) + 1)

    def interval_ends(self, path: str, options: Options) -> set[tuple[str, str, int]]:
        source = open_files([path], options, None)
        group = _current(source)
        marks = MonwriteBoundaryReader(source, group).marks()
        return {(group.info.system, source.name, mark.end_us) for mark in marks if mark.samples}


def _current(source: MonwriteSource) -> MonitorSystem:
    """The system whose recording is the last one of a stream."""

    def end(group: MonitorSystem) -> int:
        return max((offset for file in group.files for _, _, offset in file.interval_ends()), default=-1)

    return max(source.groups, key=end)


FORM = MonitorStreamFormat()
