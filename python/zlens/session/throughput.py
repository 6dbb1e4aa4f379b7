"""The user's throughput beside what systems recorded: joined by overlapping time, and how clocks differ.

A row's transactions belong to the intervals that it overlaps, in proportion to the overlap. Nothing is
joined with a system whose times are local and of an unknown zone.
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from zlens.catalog.columns import Column
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.source import Interval, SystemInfo
from zlens.readers.throughput.table import Row, Throughput
from zlens.schema.wording import say

_SECOND = 1_000_000

#: The raw table of the join: what the file tells of each interval.
COLUMNS = (
    Column("system", "text"),
    Column("source", "text"),
    Column("file", "text", "", "the throughput file"),
    Column("offset", "int", "", "first line of the file that tells of the interval"),
    Column("interval_end", "time"),
    Column("seconds", "float"),
    Column("flag", "text"),
    Column("workload", "text", "", "name of the workload"),
    Column("transactions", "float", "count", "transactions ended"),
    Column("answered", "float", "count", "transactions whose response time is told"),
    Column("response_time", "float", "s", "response times of all of them together"),
    Column("covered_time", "float", "s", "part of the interval that the file tells of"),
    Column("clock_offset", "float", "s", "what was added to the file's times"),
)


def zone_of(throughput: Throughput, info: SystemInfo, tz: dt.tzinfo | None) -> dt.tzinfo | None:
    """The zone of the file's times beside a system; None where they are UTC by themselves."""
    return (tz or info.zone()) if throughput.local else None


def belongs(throughput: Throughput, systems: Sequence[SystemInfo]) -> None:
    """InputError where a file does not say of which system it tells, or of systems that are not there."""
    known = {info.system for info in systems}
    named = {row.system for row in throughput.rows}
    if None in named and len(known) > 1:
        line = next(row.line for row in throughput.rows if row.system is None)
        raise InputError(
            f"line {line} does not say which system it tells of, and the input has {len(known)}",
            file=throughput.path,
            expected=f"a column system with {', '.join(sorted(known)[:8])}",
            cure=say("throughput_system"),
        )
    if known and None not in named and not known & named:
        raise InputError(
            f"tells of {', '.join(sorted(filter(None, named))[:8])}, and the input has no such system",
            file=throughput.path,
            expected=f"one of {', '.join(sorted(known)[:8])}",
        )


def _utc(row: Row, zone: dt.tzinfo | None, offset_us: int) -> tuple[int, int]:
    return _at(row.start_us, zone) + offset_us, _at(row.end_us, zone) + offset_us


def _at(us: int, zone: dt.tzinfo | None) -> int:
    if zone is None:
        return us
    local = dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=us)
    shift = local.utcoffset() or dt.timedelta()
    return us - shift // dt.timedelta(microseconds=1)


def joined(
    throughput: Throughput,
    intervals: Iterable[tuple[SystemInfo, Interval]],
    tz: dt.tzinfo | None,
    offset_s: float,
) -> list[tuple[Any, ...]]:
    """Rows of COLUMNS: each interval of each system that the file tells of, by workload."""
    by_system: dict[tuple[str, str], list[tuple[SystemInfo, Interval]]] = {}
    for info, interval in intervals:
        by_system.setdefault((info.system, info.source), []).append((info, interval))
    found: list[tuple[Any, ...]] = []
    for mine in by_system.values():
        info = mine[0][0]
        if info.local_time:
            continue
        zone = zone_of(throughput, info, tz)
        series: dict[str | None, list[tuple[int, int, Row]]] = {}
        for row in throughput.rows:
            if row.system in (None, info.system):
                start, end = _utc(row, zone, round(offset_s * _SECOND))
                series.setdefault(row.workload, []).append((start, end, row))
        for workload, rows in series.items():
            rows.sort(key=lambda each: each[:2])
            ends = [end for _, end, _ in rows]
            for _, interval in mine:
                told = _told(rows, ends, interval)
                if told is None:
                    continue
                line, *sums = told
                found.append(
                    (
                        info.system, info.source, throughput.path, line, interval.end_us, interval.seconds,
                        interval.flag, workload, *sums, offset_s,
                    )
                )  # fmt: skip
    return found


def _told(
    rows: Sequence[tuple[int, int, Row]], ends: Sequence[int], interval: Interval
) -> tuple[int, float, float | None, float | None, float] | None:
    """First line, transactions, answered ones, their time, time covered; None where nothing is told."""
    if not interval.seconds:
        return None
    last = interval.end_us
    first = last - round(interval.seconds * _SECOND)
    line, transactions, answered, response, covered = 0, 0.0, 0.0, 0.0, 0.0
    timed = False
    # Ends are in order: rows of one workload do not lie over each other.
    for start, end, row in rows[bisect_right(ends, first) :]:
        if start >= last:
            break
        both = min(end, last) - max(start, first)
        if both <= 0 or row.transactions is None:
            continue
        part = row.transactions * both / (end - start)
        line = line or row.line
        transactions += part
        covered += both / _SECOND
        if row.response_s is not None:
            timed = True
            answered += part
            response += part * row.response_s
    if not line:
        return None
    return line, transactions, answered if timed else None, response if timed else None, covered


# How clocks differ --------------------------------------------------------------------------------

#: Clocks are looked for as far apart as zones are.
FARTHEST_S = 14 * 3600
#: Fewer intervals than these say nothing.
LEAST = 12
_MOST_POINTS = 720


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The clock offset at which rate and busy go together best. `sure` is sure, likely or unknown.

    measure  what the rate was held against: busy, or cycles where nothing tells of busy
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

    def said(self) -> str:
        both = f"rate and {self.measure} of {self.system}"
        if self.sure == "unknown":
            return (
                f"clock offset cannot be told from the correlation of {both}: "
                f"{self.correlation:.2f} at best ({self.intervals} intervals), or as good elsewhere"
            )
        now = (
            "" if self.given_correlation is None else f", {self.given_correlation:.2f} at {self.given_s:+g} s"
        )
        how = "surely" if self.sure == "sure" else "likely"
        if abs(self.offset_s - self.given_s) <= self.step_s:
            return (
                f"clocks {how} agree: {both} correlate best, {self.correlation:.2f}, "
                f"within {self.step_s:g} s of the offset used ({self.intervals} intervals)"
            )
        return (
            f"clocks {how} differ: {both} correlate best, {self.correlation:.2f}, at "
            f"throughput offset {self.offset_s:g} (give or take {self.step_s:g} s{now}; "
            f"{self.intervals} intervals)"
        )


def suggest(
    throughput: Throughput,
    info: SystemInfo,
    busy: Iterable[tuple[int, float | None, float | None]],
    tz: dt.tzinfo | None,
    given_s: float,
    measure: str = "busy",
) -> Suggestion | None:
    """The offset of the file's clock, from busy as (end in microseconds, seconds, value); None: too little.

    How sure it is: the best correlation against the best one more than an interval away, by Fisher's z.
    Neighboring intervals are taken as independent, which flatters smooth loads.
    """
    used = [
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
    if len(used) < LEAST or not rows:
        return None
    used = _thinned(used)
    step = round((used[-1][1] - used[0][0]) / len(used))
    times, sums = _running(rows)

    def at(offset_us: int) -> tuple[float, int] | None:
        return _correlation(used, times, sums, offset_us)

    reach = min(FARTHEST_S * _SECOND, _MOST_POINTS // 2 * step)
    least = max(LEAST, len(used) // 4)
    given = round(given_s * _SECOND)
    tried = {
        given + k * step: found
        for k in range(-(reach // step), reach // step + 1)
        if (found := at(given + k * step)) is not None and found[1] >= least
    }
    if not tried:
        return None
    best = max(tried, key=lambda each: (tried[each][0], -abs(each - given)))
    fine = {best + k * step // 10: at(best + k * step // 10) for k in range(-9, 10)}
    near = {each: found for each, found in fine.items() if found is not None}
    offset = max(near, key=lambda each: (near[each][0], -abs(each - given)))
    correlation, count = near[offset]
    elsewhere = max((r for each, (r, _) in tried.items() if abs(each - best) > step), default=0.0)
    here = at(given)
    return Suggestion(
        info.system, info.source, round(offset / _SECOND, 1), max(step / 10 / _SECOND, 0.1), correlation,
        given_s, here[0] if here else None, count, _sure(correlation, elsewhere, count), measure,
    )  # fmt: skip


def _sure(best: float, elsewhere: float, count: int) -> str:
    apart = (_fisher(best) - _fisher(elsewhere)) / math.sqrt(2 / max(count - 3, 1))
    if best < 0.5 or apart < 1:
        return "unknown"
    return "sure" if apart >= 3 and best >= 0.7 else "likely"


def _fisher(r: float) -> float:
    return math.atanh(max(min(r, 0.999999), -0.999999))


def _thinned(used: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
    """As many neighbors together as are needed to leave no more points than can be tried quickly."""
    size = -(-len(used) // _MOST_POINTS)
    found = []
    for at in range(0, len(used), size):
        part = used[at : at + size]
        total = sum(end - start for start, end, _ in part)
        found.append((part[0][0], part[-1][1], sum(p * (end - start) for start, end, p in part) / total))
    return found


def _running(rows: Sequence[tuple[int, int, float]]) -> tuple[list[int], list[tuple[float, float]]]:
    """Transactions and time told up to each edge of the rows, all workloads together."""
    changes: dict[int, tuple[float, int]] = {}
    for start, end, count in rows:
        rate = count / (end - start)
        for edge, sign in ((start, 1), (end, -1)):
            r, n = changes.get(edge, (0.0, 0))
            changes[edge] = (r + sign * rate, n + sign)
    times = sorted(changes)
    sums: list[tuple[float, float]] = []
    done, told, rate, level, before = 0.0, 0.0, 0.0, 0, times[0]
    for edge in times:
        done += rate * (edge - before)
        told += (edge - before) if level else 0
        sums.append((done, told))
        rate, level, before = rate + changes[edge][0], level + changes[edge][1], edge
    return times, sums


def _upto(times: Sequence[int], sums: Sequence[tuple[float, float]], moment: int) -> tuple[float, float]:
    place = bisect_right(times, moment)
    if place == 0:
        return 0.0, 0.0
    if place == len(times):
        return sums[-1]
    (a, x), (b, y) = sums[place - 1], sums[place]
    part = (moment - times[place - 1]) / (times[place] - times[place - 1])
    return a + (b - a) * part, x + (y - x) * part


def _correlation(
    used: Sequence[tuple[int, int, float]], times: Sequence[int], sums: Sequence[tuple[float, float]], by: int
) -> tuple[float, int] | None:
    """Pearson's correlation of rate and busy with the file's clock moved, over intervals told in full."""
    pairs = []
    for start, end, busy in used:
        done, told = (b - a for a, b in zip(*_both(times, sums, start - by, end - by), strict=True))
        if told >= 0.9 * (end - start):
            pairs.append((done / told, busy))
    n = len(pairs)
    if n < LEAST:
        return None
    mx, my = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    xx, yy = sum((x - mx) ** 2 for x, _ in pairs), sum((y - my) ** 2 for _, y in pairs)
    if xx <= 1e-18 * max(mx * mx, 1e-30) * n or yy <= 1e-12:
        return None
    return sum((x - mx) * (y - my) for x, y in pairs) / math.sqrt(xx * yy), n


def _both(
    times: Sequence[int], sums: Sequence[tuple[float, float]], start: int, end: int
) -> Iterator[tuple[float, float]]:
    yield _upto(times, sums, start)
    yield _upto(times, sums, end)


# What was understood ------------------------------------------------------------------------------


def said(
    throughput: Throughput,
    systems: Iterable[SystemInfo],
    rows: Iterable[tuple[Any, ...]],
    intervals: int,
    options: Options,
) -> list[str]:
    """What a file was taken for: columns and units, the zone of its times, what it covers."""
    lines = [f"{throughput.path}: {'; '.join(one.said() for one in throughput.taken)}"]
    if throughput.left:
        more = f" and {len(throughput.left) - 8} more" if len(throughput.left) > 8 else ""
        shown = ", ".join(repr(heading[:40]) for heading in throughput.left[:8])
        lines.append(f"nothing is taken from {shown}{more}: throughput-columns says what a column is")
    if throughput.local:
        zones = {_zone(options.tz, info) for info in systems if not info.local_time}
        lines.append(f"its times have no zone and were taken as {' and '.join(sorted(zones)) or 'nothing'}")
    place = {column.name: index for index, column in enumerate(COLUMNS)}
    told = {tuple(row[place[name]] for name in ("system", "source", "interval_end")) for row in rows}
    lines.append(
        f"its rows ({len(throughput.rows):,}) tell of {len(told):,} of {intervals:,} intervals, with a clock "
        f"offset of {options.throughput_offset_s:g} s"
    )
    if not told and intervals:
        first, last = throughput.rows[0].start_us, max(row.end_us for row in throughput.rows)
        lines.append(f"nothing of it is joined: its times are {_shown(first)} to {_shown(last)}")
    if any(info.local_time for info in systems):
        lines.append("nothing is joined with systems whose times are of an unknown zone: name it (option tz)")
    return lines


def _shown(us: int) -> str:
    return f"{dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=us):%Y-%m-%d %H:%M:%S}"


def _zone(tz: dt.tzinfo | None, info: SystemInfo) -> str:
    if tz is not None:
        return str(tz)
    return f"local time of {info.system} ({info.zone()})"
