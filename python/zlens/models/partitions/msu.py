"""MSU of partitions in the intervals of an input, and their rolling averages, recorded and computed.

WLM keeps the average of its own partition only, so that of others, and of systems without the record, is
computed. The average of a capacity group or of the machine is the sum of its partitions' averages.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from zlens.inputs.options import ALL
from zlens.inputs.unix_time import to_unix_us
from zlens.models.optional_numbers import total
from zlens.models.partitions.rolling_average import WINDOW_S, RollingAverage, RollingMean

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


HOUR_S = 3600
#: What has an average: kind and name.
Subject = tuple[str, str]
KINDS = ("machine", "group", "partition")
#: An average over time: end and length of each interval, and the average at its end.
Line = list[tuple[float, float, float | None]]


class ImageFacts(Struct, frozen=True):
    """What a z/OS system records about its partition in an interval.

    always: its defined capacity limits whatever the average is
    """

    system: str
    rolling: float | None
    ipl: dt.datetime | None
    always: bool


class PartitionMsu(Struct, frozen=True):
    """MSU of a partition in an interval. Times are seconds since 1970, amounts MSU per hour.

    system     the reporting one
    recorded   rolling average at the end, as WLM keeps it
    computed   the same from the use of the intervals before
    """

    system: str
    machine: str | None
    partition: str
    end: float
    seconds: float
    used: float | None
    defined: float | None
    group: str | None
    group_limit: float | None
    wlm_capped_pct: float | None
    cap_reached_pct: float | None
    recorded: float | None
    computed: RollingMean

    @property
    def rolling(self) -> float | None:
        """The average: as recorded, else computed."""
        return self.computed.value if self.recorded is None else self.recorded

    @property
    def hour(self) -> int:
        """The hour that the middle of the interval is in, since 1970."""
        return int((self.end - self.seconds / 2) // HOUR_S)


class LocalClock(Struct, frozen=True):
    """Local times of a source next to UTC times of the same machine.

    offset_s   local time minus UTC, which follows from equal values of the same intervals; None: it does not
    intervals  number of such values
    """

    offset_s: int | None
    intervals: int


#: Values of a source by subject and minute.
_Values = Mapping[tuple[Any, ...], Mapping[int, float]]
#: Largest difference of local time and UTC, and the step of zones, in minutes.
_FARTHEST, _STEP = 14 * 60, 15
#: RMF prints milliseconds.
_PRINTED_S = 0.002


def local_clocks(session: CoreSession) -> dict[tuple[str, str], LocalClock]:
    """Return the clocks of sources whose zone is unknown, where others have UTC times of the same machine.

    The offset is the only one at which all values of the same intervals are equal, of two or more.
    """
    local = {(info.system, info.source) for info in session.systems if info.local_time}
    if not local:
        return {}
    with _with_all_sources(session) as every:
        rows = every.sql(
            "SELECT system, source, machine, partition, cpu_type, seconds, interval_end, effective_s "
            "FROM partition WHERE effective_s > 0 AND seconds IS NOT NULL AND machine IS NOT NULL"
        ).rows
    known: dict[tuple[Any, ...], dict[int, float]] = {}
    unknown: dict[tuple[str, str], dict[tuple[Any, ...], dict[int, float]]] = {}
    for system, source, machine, name, kind, seconds, end, used in rows:
        own = (system, source) in local
        values = unknown.setdefault((system, source), {}) if own else known
        values.setdefault((machine, name, kind, round(seconds)), {})[minute(end)] = used
    machines = {key[0] for key in known}
    return {
        source: _solved(values, known)
        for source, values in unknown.items()
        if any(key[0] in machines for key in values)
    }


def _with_all_sources(session: CoreSession) -> CoreSession:
    """Return a session that also has rows of sources that repeat others."""
    return session.narrow(replace(session.options, source=ALL))


def _solved(values: _Values, known: _Values) -> LocalClock:
    """Return the clock of values by local minute, from others by minute UTC."""
    found: list[LocalClock] = []
    for offset in range(-_FARTHEST, _FARTHEST + _STEP, _STEP):
        same = [
            abs(value - other) < _PRINTED_S
            for subject, by_minute in values.items()
            for end, value in by_minute.items()
            if (other := known.get(subject, {}).get(end - offset)) is not None
        ]
        if len(same) > 1 and all(same):
            found.append(LocalClock(60 * offset, len(same)))
    return found[0] if len(found) == 1 else LocalClock(None, 0)


def minute(end: dt.datetime) -> int:
    """Return the minute of an interval's end: systems end their intervals some milliseconds apart."""
    return round(to_unix_us(end) / 60e6)


def _utc(clock: LocalClock | None, time: dt.datetime) -> dt.datetime | None:
    """Return a time in UTC; None if it is local and its zone unknown, next to times in UTC."""
    if clock is None:
        return time
    return None if clock.offset_s is None else time - dt.timedelta(seconds=clock.offset_s)


def images(
    session: CoreSession, clocks: Mapping[tuple[str, str], LocalClock] | None = None
) -> dict[int, dict[str, ImageFacts]]:
    """Return what systems record about their partitions, by minute and partition.

    clocks  those of sources with local times, which are converted to UTC or left out
    """
    found: dict[int, dict[str, ImageFacts]] = {}
    rows = session.sql(
        "SELECT source, interval_end, partition, system, rolling_msu, ipl_time, absolute_capping "
        "FROM image_capacity WHERE partition IS NOT NULL ORDER BY system"
    ).rows
    # Of a partition in an interval, what a source with UTC times has comes first.
    rows = sorted(rows, key=lambda row: (row[3], row[0]) in (clocks or {}))
    for source, when, name, system, rolling, ipl, always in rows:
        end = _utc((clocks or {}).get((system, source)), when)
        if end is not None:
            facts = ImageFacts(str(system), rolling, ipl, bool(always))
            found.setdefault(minute(end), {}).setdefault(str(name), facts)
    return found


def partitions(session: CoreSession, where: str = "true") -> list[PartitionMsu]:
    """Return partitions with CPs by machine and time. where: SQL condition for rows of `partition`.

    Rows with local times, where others have UTC, are at their time in UTC, or left out: see `local_clocks`.
    """
    clocks = local_clocks(session)
    if not clocks or session.options.source is not None:
        return _partitions(session, where, clocks)
    # Rows of the source that is shown may be left out: those of others then take their place.
    with _with_all_sources(session) as every:
        return _partitions(every, where, clocks)


def _partitions(
    session: CoreSession, where: str, clocks: Mapping[tuple[str, str], LocalClock]
) -> list[PartitionMsu]:
    facts = images(session, clocks)
    found_rows = session.sql(
        "SELECT source, system, machine, partition, interval_end, seconds, msu_actual, msu_defined, "
        "capacity_group, capacity_group_limit, wlm_capped_pct, cap_reached_pct FROM partition "
        f"WHERE cpu_type = 'CP' AND {where} ORDER BY machine, interval_end, partition, source"
    ).rows
    rows = [
        (system, machine, name, utc, *others)
        for source, system, machine, name, local, *others in sorted(
            found_rows, key=lambda row: (row[1], row[0]) in clocks
        )
        if (utc := _utc(clocks.get((system, source)), local)) is not None
    ]
    if clocks:
        rows.sort(key=lambda row: (row[1] is None, row[1] or "", minute(row[3]), row[2]))
    averages: dict[tuple[Any, str], RollingAverage] = {}
    found: list[PartitionMsu] = []
    last: dict[tuple[Any, str], int] = {}
    for system, machine, name, when, seconds, used, defined, group, limit, wlm, reached in rows:
        end = to_unix_us(when) / 1e6
        # Another source may report the same interval.
        if last.get((machine, name)) == minute(when):
            continue
        last[machine, name] = minute(when)
        image = facts.get(minute(when), {}).get(name)
        average = averages.setdefault((machine, name), RollingAverage())
        if image is not None and image.ipl is not None:
            average.restart(to_unix_us(image.ipl) / 1e6)
        if used is not None:
            average.add(end, seconds, used)
        recorded = None if image is None else image.rolling
        subject = (system, machine, name, end, seconds)
        limits = (defined or None, group, limit, wlm, reached)
        found.append(PartitionMsu(*subject, used, *limits, recorded, average.mean(end)))
    return found


def earlier_averages(rows: Iterable[PartitionMsu]) -> dict[str, float]:
    """Return the averages at the start of the first interval of partitions that record them.

    They are what the use in the window before was on average, if the recorded value follows from it.
    """
    earlier: dict[str, float] = {}
    seen: set[str] = set()
    for row in rows:
        if row.partition in seen:
            continue
        seen.add(row.partition)
        if row.recorded is not None and row.used is not None and row.seconds < WINDOW_S:
            before = (row.recorded * WINDOW_S - row.used * row.seconds) / (WINDOW_S - row.seconds)
            earlier[row.partition] = max(0.0, before)
    return earlier


def averages(rows: Iterable[PartitionMsu], machine: str = "machine") -> dict[Subject, Line]:
    """Return the rolling averages over time of a machine, its capacity groups and its partitions."""
    lines: dict[str, Line] = {}
    members: dict[str, set[str]] = {}
    for row in rows:
        lines.setdefault(row.partition, []).append((row.end, row.seconds, row.rolling))
        if row.group is not None:
            members.setdefault(row.group, set()).add(row.partition)
    return with_sums(lines, members, machine)


def with_sums(
    lines: Mapping[str, Line], groups: Mapping[str, Collection[str]], machine: str = "machine"
) -> dict[Subject, Line]:
    """Return averages of partitions by name after the sums of the machine and of groups of partitions."""
    sums: dict[Subject, Line] = {("machine", machine): sum_lines(lines.values())}
    for name, inside in sorted(groups.items()):
        sums["group", name] = sum_lines(lines[each] for each in sorted(inside))
    return sums | {("partition", name): line for name, line in lines.items()}


def sum_lines(lines: Iterable[Line]) -> Line:
    """Return the sum of averages at each time; None where one of them is unknown."""
    by_end: dict[float, list[tuple[float, float | None]]] = {}
    for line in lines:
        for end, seconds, value in line:
            by_end.setdefault(end, []).append((seconds, value))
    sums: Line = []
    for end, parts in sorted(by_end.items()):
        sums.append((end, parts[0][0], total(value for _, value in parts)))
    return sums


def peak_hour(line: Iterable[tuple[float, float, float | None]]) -> tuple[int, float] | None:
    """Return the hour (since 1970) with the highest mean of an average, and that mean; None without one."""
    hours: dict[int, list[float]] = {}
    for end, seconds, value in line:
        if value is not None:
            hour = hours.setdefault(int((end - seconds / 2) // HOUR_S), [0.0, 0.0])
            hour[0] += value * seconds
            hour[1] += seconds
    means = {hour: weighted / seconds for hour, (weighted, seconds) in hours.items()}
    # Of equal hours the first; sums of equal averages differ in their last digits.
    best = max(means, key=lambda hour: (round(means[hour], 6), -hour), default=None)
    return None if best is None else (best, means[best])
