"""Joins the user's throughput with recorded intervals by overlapping time, and compares their clocks.

A row's transactions belong to the intervals that it overlaps, in proportion to the overlap. Systems with
local times in an unknown zone are not joined.
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from zlens.catalog.raw_columns import RawColumn
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.source import Interval, SystemInfo
from zlens.inputs.unix_time import to_unix_us
from zlens.readers.throughput.table import Throughput, ThroughputRow
from zlens.schema.wording import phrase

_SECOND = 1_000_000

#: Query of the work that throughput is compared with.
WORK_QUERY = (
    "SELECT system, source, interval_end, seconds, 'busy', busy_pct FROM load WHERE flag IS NULL "
    # Counters measure the work of a system if they are its only source.
    "UNION ALL SELECT system, source, interval_end, max(seconds), 'cycles', sum(cycles / seconds) "
    "FROM cpumf_type WHERE flag IS NULL AND system NOT IN (SELECT DISTINCT system FROM load) "
    "GROUP BY system, source, interval_end ORDER BY interval_end"
)

#: Raw table of the join: the file's values for each interval.
COLUMNS = (
    RawColumn("system", "text"),
    RawColumn("source", "text"),
    RawColumn("file", "text", "", "the throughput file"),
    RawColumn("offset", "int", "", "first line of the file for the interval"),
    RawColumn("interval_end", "time"),
    RawColumn("seconds", "float"),
    RawColumn("flag", "text"),
    RawColumn("workload", "text", "", "name of the workload"),
    RawColumn("transactions", "float", "count", "transactions ended"),
    RawColumn("answered", "float", "count", "transactions with a response time"),
    RawColumn("response_time", "float", "s", "sum of all response times"),
    RawColumn("covered_time", "float", "s", "part of the interval that the file covers"),
    RawColumn("clock_offset", "float", "s", "offset added to the file's times"),
)


def zone_of(throughput: Throughput, info: SystemInfo, tz: dt.tzinfo | None) -> dt.tzinfo | None:
    """Return the zone of the file's times for a system; None if they are in UTC."""
    return (tz or info.zone()) if throughput.local else None


def check_systems(throughput: Throughput, systems: Sequence[SystemInfo]) -> None:
    """Raise InputError if a file does not name its system, or names systems that the input does not have."""
    input_systems = {info.system for info in systems}
    file_systems = {row.system for row in throughput.rows}
    if None in file_systems and len(input_systems) > 1:
        line = min(row.line for row in throughput.rows if row.system is None)
        raise InputError(
            f"line {line} does not name its system, and the input has {len(input_systems)}",
            file=throughput.path,
            expected=f"a column system with {', '.join(sorted(input_systems)[:8])}",
            cure=phrase("throughput_system"),
        )
    if input_systems and None not in file_systems and not input_systems & file_systems:
        raise InputError(
            f"contains {', '.join(sorted(filter(None, file_systems))[:8])}, but the input has no such system",
            file=throughput.path,
            expected=f"one of {', '.join(sorted(input_systems)[:8])}",
        )


def _utc(row: ThroughputRow, zone: dt.tzinfo | None, offset_us: int) -> tuple[int, int]:
    return _at(row.start_us, zone) + offset_us, _at(row.end_us, zone) + offset_us


def _at(us: int, zone: dt.tzinfo | None) -> int:
    if zone is None:
        return us
    local = dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=us)
    shift = local.utcoffset() or dt.timedelta()
    return us - shift // dt.timedelta(microseconds=1)


def join_intervals(
    throughput: Throughput,
    intervals: Iterable[tuple[SystemInfo, Interval]],
    tz: dt.tzinfo | None,
    offset_s: float,
) -> list[tuple[Any, ...]]:
    """Return rows of COLUMNS: each interval of each system that the file covers, by workload."""
    by_system: dict[tuple[str, str], list[tuple[SystemInfo, Interval]]] = {}
    for info, interval in intervals:
        by_system.setdefault((info.system, info.source), []).append((info, interval))
    result: list[tuple[Any, ...]] = []
    for own_intervals in by_system.values():
        info = own_intervals[0][0]
        if info.local_time:
            continue
        zone = zone_of(throughput, info, tz)
        series: dict[str | None, list[tuple[int, int, ThroughputRow]]] = {}
        for row in throughput.rows:
            if row.system in (None, info.system):
                start, end = _utc(row, zone, round(offset_s * _SECOND))
                series.setdefault(row.workload, []).append((start, end, row))
        for workload, rows in series.items():
            rows.sort(key=lambda entry: entry[:2])
            ends = [end for _, end, _ in rows]
            for _, interval in own_intervals:
                overlap = _overlap(rows, ends, interval)
                if overlap is None:
                    continue
                line, *sums = overlap
                result.append(
                    (
                        info.system, info.source, throughput.path, line, interval.end_us, interval.seconds,
                        interval.flag, workload, *sums, offset_s,
                    )
                )  # fmt: skip
    return result


def _overlap(
    rows: Sequence[tuple[int, int, ThroughputRow]], ends: Sequence[int], interval: Interval
) -> tuple[int, float, float | None, float | None, float] | None:
    """Return first line, transactions, timed ones, their time, covered time; None if not covered."""
    if not interval.seconds:
        return None
    last = interval.end_us
    first = last - round(interval.seconds * _SECOND)
    line, transactions, answered, response, covered = 0, 0.0, 0.0, 0.0, 0.0
    timed = False
    # Ends are in order, because rows of one workload do not overlap.
    for start, end, row in rows[bisect_right(ends, first) :]:
        if start >= last:
            break
        shared_us = min(end, last) - max(start, first)
        if shared_us <= 0 or row.transactions is None:
            continue
        part = row.transactions * shared_us / (end - start)
        line = line or row.line
        transactions += part
        covered += shared_us / _SECOND
        if row.response_s is not None:
            timed = True
            answered += part
            response += part * row.response_s
    if not line:
        return None
    return line, transactions, answered if timed else None, response if timed else None, covered


# Clock differences ---------------------------------------------------------------------------------

#: Maximum clock difference to search, as large as between time zones.
MAX_CLOCK_OFFSET_S = 14 * 3600
#: Minimum number of intervals for a conclusion.
LEAST = 12
_MOST_POINTS = 720


class ClockOffset(Struct, frozen=True):
    """The clock offset with the best correlation of rate and busy. `sure` is sure, likely or unknown.

    measure  metric that the rate was compared with: busy, or cycles if no source reports busy
    """

    system: str
    source: str
    offset_s: float
    step_s: float
    correlation: float
    given_s: float
    given_correlation: float | None
    intervals: int
    sure: str
    measure: str = "busy"

    def describe(self) -> str:
        subject = f"rate and {self.measure} of {self.system}"
        if self.sure == "unknown":
            return (
                f"clock offset cannot be determined from the correlation of {subject}: "
                f"{self.correlation:.2f} at best ({self.intervals} intervals), or as good elsewhere"
            )
        at_given = (
            "" if self.given_correlation is None else f", {self.given_correlation:.2f} at {self.given_s:+g} s"
        )
        certainty = "surely" if self.sure == "sure" else "likely"
        if abs(self.offset_s - self.given_s) <= self.step_s:
            return (
                f"clocks {certainty} agree: {subject} correlate best, {self.correlation:.2f}, "
                f"within {self.step_s:g} s of the offset used ({self.intervals} intervals)"
            )
        return (
            f"clocks {certainty} differ: {subject} correlate best, {self.correlation:.2f}, at "
            f"throughput offset {self.offset_s:g} (give or take {self.step_s:g} s{at_given}; "
            f"{self.intervals} intervals)"
        )


def suggest_offsets(
    throughput: Throughput, systems: Iterable[SystemInfo], rows: Sequence[tuple[Any, ...]], options: Options
) -> list[ClockOffset]:
    """Return the clock offset with the best correlation of rate and work, for each source of a system.

    rows: those of WORK_QUERY.
    """
    suggestions = []
    for info in systems:
        own_rows = [] if info.local_time else [row for row in rows if row[:2] == (info.system, info.source)]
        busy = [(to_unix_us(end), seconds, value) for _, _, end, seconds, _, value in own_rows]
        measure = own_rows[0][4] if own_rows else "busy"
        suggestion = suggest_offset(throughput, info, busy, options.tz, options.throughput_offset_s, measure)
        suggestions += [] if suggestion is None else [suggestion]
    return suggestions


def suggest_offset(
    throughput: Throughput,
    info: SystemInfo,
    busy: Iterable[tuple[int, float | None, float | None]],
    tz: dt.tzinfo | None,
    given_s: float,
    measure: str = "busy",
) -> ClockOffset | None:
    """Return the offset of the file's clock; None for too little data.

    busy: end in microseconds, seconds, value. The certainty compares the best correlation with the best one
    more than an interval away, by Fisher's z. Neighboring intervals are treated as independent, which
    overrates smooth loads.
    """
    points = [
        (end - round(seconds * _SECOND), end, percent)
        for end, seconds, percent in busy
        if seconds and percent is not None
    ]
    zone = zone_of(throughput, info, tz)
    rows = sorted(
        (*_utc(row, zone, 0), row.transactions)
        for row in throughput.rows
        if row.transactions is not None and row.system in (None, info.system)
    )
    if len(points) < LEAST or not rows:
        return None
    points = _downsample(points)
    step = round((points[-1][1] - points[0][0]) / len(points))
    times, sums = _running_sums(rows)

    def at(offset_us: int) -> tuple[float, int] | None:
        return _correlation(points, times, sums, offset_us)

    reach = min(MAX_CLOCK_OFFSET_S * _SECOND, _MOST_POINTS // 2 * step)
    min_count = max(LEAST, len(points) // 4)
    given_us = round(given_s * _SECOND)
    candidates = {
        given_us + k * step: result
        for k in range(-(reach // step), reach // step + 1)
        if (result := at(given_us + k * step)) is not None and result[1] >= min_count
    }
    if not candidates:
        return None
    best = max(candidates, key=lambda shift: (candidates[shift][0], -abs(shift - given_us)))
    fine = {best + k * step // 10: at(best + k * step // 10) for k in range(-9, 10)}
    refined = {shift: result for shift, result in fine.items() if result is not None}
    offset = max(refined, key=lambda shift: (refined[shift][0], -abs(shift - given_us)))
    correlation, count = refined[offset]
    elsewhere = max(
        (value for shift, (value, _) in candidates.items() if abs(shift - best) > step), default=0.0
    )
    here = at(given_us)
    return ClockOffset(
        info.system, info.source, round(offset / _SECOND, 1), max(step / 10 / _SECOND, 0.1), correlation,
        given_s, here[0] if here else None, count, _certainty(correlation, elsewhere, count), measure,
    )  # fmt: skip


def _certainty(best: float, elsewhere: float, count: int) -> str:
    distance = (_fisher(best) - _fisher(elsewhere)) / math.sqrt(2 / max(count - 3, 1))
    if best < 0.5 or distance < 1:
        return "unknown"
    return "sure" if distance >= 3 and best >= 0.7 else "likely"


def _fisher(r: float) -> float:
    return math.atanh(max(min(r, 0.999999), -0.999999))


def _downsample(points: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """Merge neighbors until there are few enough points to try quickly."""
    size = -(-len(points) // _MOST_POINTS)
    thinned = []
    for start_index in range(0, len(points), size):
        part = points[start_index : start_index + size]
        total = sum(end - start for start, end, _ in part)
        thinned.append(
            (part[0][0], part[-1][1], sum(percent * (end - start) for start, end, percent in part) / total)
        )
    return thinned


def _running_sums(rows: Sequence[tuple[int, int, float]]) -> tuple[list[int], list[tuple[float, float]]]:
    """Return transactions and covered time up to each edge of the rows, over all workloads."""
    changes: dict[int, tuple[float, int]] = {}
    for start, end, count in rows:
        rate = count / (end - start)
        for edge, sign in ((start, 1), (end, -1)):
            rate_change, active_change = changes.get(edge, (0.0, 0))
            changes[edge] = (rate_change + sign * rate, active_change + sign)
    times = sorted(changes)
    sums: list[tuple[float, float]] = []
    done, covered, rate, active, previous = 0.0, 0.0, 0.0, 0, times[0]
    for edge in times:
        done += rate * (edge - previous)
        covered += (edge - previous) if active else 0
        sums.append((done, covered))
        rate, active, previous = rate + changes[edge][0], active + changes[edge][1], edge
    return times, sums


def _sums_at(times: Sequence[int], sums: Sequence[tuple[float, float]], time: int) -> tuple[float, float]:
    index = bisect_right(times, time)
    if index == 0:
        return 0.0, 0.0
    if index == len(times):
        return sums[-1]
    (a, x), (b, y) = sums[index - 1], sums[index]
    part = (time - times[index - 1]) / (times[index] - times[index - 1])
    return a + (b - a) * part, x + (y - x) * part


def _correlation(
    points: Sequence[tuple[int, int, float]],
    times: Sequence[int],
    sums: Sequence[tuple[float, float]],
    shift_us: int,
) -> tuple[float, int] | None:
    """Return Pearson's correlation of rate and busy at this clock shift, over fully covered intervals."""
    pairs = []
    for start, end, busy in points:
        before, after = (_sums_at(times, sums, edge - shift_us) for edge in (start, end))
        done, covered = after[0] - before[0], after[1] - before[1]
        if covered >= 0.9 * (end - start):
            pairs.append((done / covered, busy))
    n = len(pairs)
    if n < LEAST:
        return None
    mx, my = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    xx, yy = sum((x - mx) ** 2 for x, _ in pairs), sum((y - my) ** 2 for _, y in pairs)
    if xx <= 1e-18 * max(mx * mx, 1e-30) * n or yy <= 1e-12:
        return None
    return sum((x - mx) * (y - my) for x, y in pairs) / math.sqrt(xx * yy), n


def describe(
    throughput: Throughput,
    systems: Iterable[SystemInfo],
    rows: Iterable[tuple[Any, ...]],
    intervals: int,
    options: Options,
) -> list[str]:
    """Return how a file was interpreted: columns and units, the zone of its times, what it covers."""
    lines = [f"{throughput.path}: {'; '.join(column.describe() for column in throughput.columns)}"]
    if throughput.unused:
        more = f" and {len(throughput.unused) - 8} more" if len(throughput.unused) > 8 else ""
        shown = ", ".join(repr(heading[:40]) for heading in throughput.unused[:8])
        lines.append(f"not used: {shown}{more}: throughput-columns says what a column is")
    if throughput.local:
        local = {f"local time of {info.system} ({info.zone()})" for info in systems if not info.local_time}
        zones = {str(options.tz)} if local and options.tz is not None else local
        lines.append(f"its times have no zone and were read as {' and '.join(sorted(zones)) or 'nothing'}")
    place = {column.name: index for index, column in enumerate(COLUMNS)}
    matched = {tuple(row[place[name]] for name in ("system", "source", "interval_end")) for row in rows}
    lines.append(
        f"its rows ({len(throughput.rows):,}) cover {len(matched):,} of {intervals:,} intervals, "
        f"with a clock offset of {options.throughput_offset_s:g} s"
    )
    if not matched and intervals:
        first, last = throughput.rows[0].start_us, max(row.end_us for row in throughput.rows)
        lines.append(f"none of it is joined: its times are {_format_time(first)} to {_format_time(last)}")
    if any(info.local_time for info in systems):
        lines.append("systems with times in an unknown zone are not joined: name the zone (option tz)")
    return lines


def _format_time(time_us: int) -> str:
    return f"{dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=time_us):%Y-%m-%d %H:%M:%S}"
