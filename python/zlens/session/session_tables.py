"""Raw tables without records: systems, intervals, inventory, problems, counter resets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from msgspec.structs import astuple

from zlens.catalog import measures, session_columns
from zlens.catalog.interval_flags import GAP, SHORT
from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.resets import KIND as RESET
from zlens.catalog.resets import subject_kind, subject_name
from zlens.inputs import data_quality, record_intervals
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, Interval, RawTable, Source, SystemInfo

#: Returns intervals, each with its system.
Intervals = Callable[[], list[tuple[SystemInfo, Interval]]]
#: A helper, its columns, and the roles that provide its data.
Helper = tuple[str, Sequence[str], Sequence[str]]

_MICROSECONDS = 1_000_000


class SessionTable:
    """A raw table whose rows are computed when it is first read.

    helpers   returns the helpers that it reads if the input has data for one of their roles: helper, columns,
              roles
    """

    def __init__(
        self,
        name: str,
        columns: tuple[RawColumn, ...],
        rows: Any,
        helpers: Callable[[], Sequence[Helper]] = tuple,
    ) -> None:
        self.name = name
        self.columns = columns
        self.helpers = helpers
        self._make = rows
        self._rows: list[tuple[Any, ...]] | None = None

    def stream(self, columns: list[str]) -> ArrowSource:
        """Return the named columns of all rows."""
        from zlens.readers.row_tables import arrow

        if self._rows is None:
            self._rows = self._make()
        index_by_name = {column.name: index for index, column in enumerate(self.columns)}
        typed = [(name, self.columns[index_by_name[name]].type) for name in columns]
        indices = [index_by_name[name] for name in columns]
        if indices == list(range(len(self.columns))):
            return arrow(typed, self._rows)
        # For one column itemgetter returns a bare value.
        select = (
            itemgetter(*indices) if len(indices) > 1 else lambda row: tuple(row[index] for index in indices)
        )
        return arrow(typed, [*map(select, self._rows)])


def tables(
    options: Options,
    sources: Sequence[Source],
    systems: Sequence[SystemInfo],
    intervals: Intervals,
    others: Intervals,
    *,
    factor: Callable[[str], float | None],
    sources_by_system: Callable[[], Mapping[str, Sequence[SystemInfo]]],
    all_problems: Callable[[], Iterable[Problem]],
    reading_problems: Callable[[], Iterable[Problem]],
) -> dict[str, RawTable]:
    """Return the tables by name. `_interval`, `_requested` and `_reset` are for joins, and hidden from users.

    systems             the selected systems
    others              intervals of records that have their own
    factor              returns the weight of a second of a system
    sources_by_system   returns the sources of each system that several describe, the one shown first
    """
    every_s = options.every_s

    def inventory() -> list[tuple[Any, ...]]:
        chosen = options.systems
        return [
            (
                row.system, row.source, row.file, row.domain, row.record, row.name, row.title, row.kind,
                row.count, row.bytes, row.first_us, row.last_us, row.min_length, row.mean_length,
                row.max_length, row.layout, row.duplicates, row.out_of_order, row.gaps, row.interval_s,
            )
            for source in sources
            for row in source.inventory()
            if not chosen or row.system in chosen
        ]  # fmt: skip

    def listed(problems: Iterable[Problem]) -> list[tuple[Any, ...]]:
        return [astuple(problem) for problem in problems]

    def resets() -> list[tuple[Any, ...]]:
        reset_rows = [(source.name, *reset) for source in sources for reset in source.resets()]
        if options.is_selective:
            chosen: dict[tuple[str, str], list[tuple[int, int]]] = {}
            for row in joined():
                chosen.setdefault((row[0], row[1]), []).append((row[2], row[3]))
            sorted_by_end = {key: sorted(of_system) for key, of_system in chosen.items()}
            reset_rows = [
                row for row in reset_rows if _is_within(sorted_by_end.get((row[1], row[0]), []), row[2])
            ]
        # Once per table, because a busy day has ten thousand resets in a dozen tables.
        kinds = {table: subject_kind(table) for table in {reset[3] for reset in reset_rows}}
        return [
            (
                system, source, time, RESET, subject_name(kinds[table], subject), evidence,
                True, table.upper(),
            )
            for source, system, time, table, subject, evidence in reset_rows
        ]  # fmt: skip

    def flagged(interval_list: Iterable[tuple[SystemInfo, Interval]]) -> list[tuple[Any, ...]]:
        rows = [_interval_row(info, interval, every_s) for info, interval in interval_list]
        return _with_bucket_flags(rows, every_s) if every_s else [(*row, row[5]) for row in rows]

    @cache
    def own() -> list[tuple[Any, ...]]:
        return flagged(intervals())

    def joined() -> list[tuple[Any, ...]]:
        rows, known_ends = own(), {(row[0], row[1], row[2]) for row in own()}
        additional = [
            (info, interval)
            for info, interval in others()
            if (info.system, info.source, interval.end_us) not in known_ends
        ]
        usual_s = {(info.system, info.source): info.nominal_s for info in systems}
        gap_ends = {(info.system, info.source): _gap_ends(info) for info in systems}
        bounded = [
            (*row, _longest(every_s, row[4], None if row[5] else usual_s.get((row[0], row[1]))))
            for row in rows
        ] + [(*row, _longest(every_s)) for row in flagged(additional)]
        return [(*row, _last(gap_ends.get((row[0], row[1]), []), row[2])) for row in bounded]

    def shown() -> list[tuple[Any, ...]]:
        rows = _without_overlap(own())
        rows = _sum_buckets(rows) if every_s else [row[:7] for row in rows]
        # The measure `interval` has its own column order: the length precedes the start.
        return [
            (system, source, end, seconds, flag, start, samples)
            for system, source, end, start, seconds, flag, samples in rows
        ]

    def requested() -> list[tuple[Any, ...]]:
        if not options.is_selective:
            return []
        # If no interval was selected, the time range is empty.
        spans = {(info.system, info.source): (0, 0) for info in systems}
        for row in joined():
            first, last = spans[row[0], row[1]]
            spans[row[0], row[1]] = (min(first or row[3], row[3]), max(last, row[2]))
        return [(*subject, *span) for subject, span in spans.items()]

    rows = {
        "system": lambda: [_system_row(info, factor(info.system)) for info in systems],
        "interval": shown,
        "problem": lambda: listed(all_problems()),
        "_noted": lambda: listed(reading_problems()),
        "inventory": inventory,
        "_interval": joined,
        "_requested": requested,
        "_sources": lambda: [
            (info.system, info.source, place)
            for infos in sources_by_system().values()
            for place, info in enumerate(infos)
        ],
        "_machines": lambda: [(info.system, info.source, *move) for info in systems for move in info.moves],
        "_reset": resets,
    }

    def read_by_problems() -> list[Helper]:
        return [(helper, data_quality.COLUMNS, roles) for helper, _, roles in data_quality.quality_views()]

    reads = {"problem": read_by_problems}
    return {
        name: SessionTable(name, columns, rows[name], reads.get(name, tuple))
        for name, columns in session_columns.always().items()
    }


def _is_within(intervals: Sequence[tuple[int, int]], us: int) -> bool:
    """Return whether a time is in one of the intervals, given as ends and starts in order of their ends."""
    index = bisect_left(intervals, us, key=itemgetter(0))
    return index < len(intervals) and intervals[index][1] < us


def throughput_tables(
    join: Callable[[list[tuple[SystemInfo, Interval]]], list[tuple[Any, ...]]],
    intervals: Intervals,
    of_load: Intervals,
) -> list[RawTable]:
    """Return the throughput file joined with each interval of a source, and with those of its load.

    Counters of SMF 113 may have intervals of one minute where the processors of SMF 70 have fifteen.
    """
    from zlens.session import throughput_join

    return [
        SessionTable("throughput_file", throughput_join.COLUMNS, lambda: join(intervals())),
        SessionTable("throughput_load", throughput_join.COLUMNS, lambda: join(of_load())),
    ]


def _system_row(info: SystemInfo, factor: float | None) -> tuple[Any, ...]:
    computed = {
        **{f"mt_{kind}": count for kind, count in info.threads.items()},
        "factor": factor,
        "first_time": info.first_us,
        "last_time": info.last_us,
        "files": len(info.files),
    }
    names = [column.name for column in measures.load_measure("system").columns]
    return tuple(computed[name] if name in computed else getattr(info, name, None) for name in names)


def _interval_row(info: SystemInfo, interval: Interval, every_s: int | None) -> tuple[Any, ...]:
    end_us = bucket_end_us(info, interval, every_s) if every_s else interval.end_us
    times = interval.end_us, interval.start_us, interval.seconds
    return info.system, info.source, *times, interval.flag, interval.samples, end_us


def bucket_end_us(info: SystemInfo, interval: Interval, every_s: int) -> int:
    """Return the end of the bucket of an interval, in microseconds UTC.

    Buckets end on local hours and days, as shifts and reports do. The middle of an interval decides, because
    intervals end some milliseconds after their nominal minute.
    """
    offset = (info.utc_offset_s or 0) * _MICROSECONDS
    length = every_s * _MICROSECONDS
    return -(-((interval.start_us + interval.end_us) // 2 + offset) // length) * length - offset


def _gap_ends(info: SystemInfo) -> list[int]:
    """Return the times at which recording resumed after a gap, in order."""
    times: list[int] = []
    recorded_us: int | None = None
    for interval in sorted(info.intervals, key=lambda interval: interval.end_us):
        gap_us = (GAP - 1) * (info.nominal_s or interval.seconds or 0.0) * _MICROSECONDS
        if recorded_us is not None and interval.start_us - recorded_us > gap_us:
            times.append(interval.start_us)
        if interval.flag == "gap":
            times.append(interval.end_us)
        recorded_us = interval.end_us
    return times


def _last(times: list[int], us: int) -> int | None:
    """Return the last of the times that is not after `us`."""
    index = bisect_right(times, us)
    return times[index - 1] if index else None


def _longest(every_s: int | None, seconds: float | None = None, usual_s: float | None = None) -> float | None:
    """Return the length from which intervals are not summed, because they span several buckets."""
    if not every_s:
        return None
    # An interval longer than usual, where the finer record type is missing, spans several buckets too.
    is_usual = usual_s is None or (seconds or 0.0) <= GAP * usual_s
    return max(record_intervals.SLACK * every_s, GAP * (seconds or 0.0) if is_usual else 0.0)


def _without_overlap(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the intervals of each source in order, each from the end of the previous one, without overlap.

    Where finer intervals cover a part of a coarser one, the coarser one has the rest.
    """
    ends: dict[tuple[str, str], int] = {}
    divided = []
    for row in sorted(rows, key=itemgetter(0, 1, 2)):
        system, source, end, start, seconds = row[:5]
        previous_end = ends.get((system, source), start)
        ends[system, source] = end
        if seconds is not None and source == record_intervals.SOURCE and start < previous_end:
            row = (*row[:3], previous_end, (end - previous_end) / _MICROSECONDS, *row[5:])
        divided.append(row)
    return divided


def _with_bucket_flags(rows: list[tuple[Any, ...]], every_s: int) -> list[tuple[Any, ...]]:
    """Return the intervals with the flag of their bucket: short if less than half of it is covered."""
    covered: dict[tuple[str, str, int], float] = {}
    for row in rows:
        if row[5] is None and row[4] is not None:
            key = (row[0], row[1], row[7])
            covered[key] = covered.get(key, 0.0) + row[4]
    return [
        (*row, "short" if covered.get((row[0], row[1], row[7]), 0.0) < SHORT * every_s else None)
        for row in rows
    ]


def _sum_buckets(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Sum intervals over buckets; flagged ones are omitted, as in every sum."""
    buckets: dict[tuple[str, str, int], list[tuple[Any, ...]]] = {}
    for row in rows:
        if row[5] is None and row[4] is not None:
            buckets.setdefault((row[0], row[1], row[7]), []).append(row)
    summed: list[tuple[Any, ...]] = []
    for (system, source, end), parts in buckets.items():
        samples = [part[6] for part in parts if part[6] is not None]
        summed.append(
            (
                system, source, end, min(part[3] for part in parts), sum(part[4] for part in parts),
                parts[0][8], sum(samples) if samples else None,
            )
        )  # fmt: skip
    return summed
