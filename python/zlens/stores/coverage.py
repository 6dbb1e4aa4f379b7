"""Coverage of raw tables by measures: the intervals that are retained when raw tables are removed.

A row of a raw table is retained if a measure that reads the table has a row of the same system and interval.
Measures show partitions and processors of a machine as one of its systems reported them (column observer);
intervals of the other systems are retained by rows of the machine for the same time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import measures as metrics
from zlens.catalog import roles
from zlens.errors import LakeError
from zlens.lake.retained import Retained, retained
from zlens.lake.rollups import DAY_US, day_name
from zlens.schema.plain_text import format_count
from zlens.schema.wording import phrase
from zlens.session.session import CoreSession

#: Maximum number of days and tables in an error.
_MOST = 8
#: System, source, and interval end in microseconds since 1970, UTC.
End = tuple[str, str, int]

_COLUMNS = ("system", "source", "interval_end", "seconds")
_RAW_COLUMNS = (*_COLUMNS, "flag")
#: The first sample of a subject has no difference and no interval; a truncated report is a problem.
_RAW = (
    'SELECT "table", system, source, epoch_us(interval_end), max(seconds) FROM records '
    "WHERE interval_end IS NOT NULL AND seconds IS NOT NULL AND flag IS DISTINCT FROM 'cut' GROUP BY ALL"
)


class Lost(Struct, frozen=True):
    """Intervals of a raw table on a local day without rows in any measure."""

    system: str
    day: str
    table: str
    intervals: int

    def __str__(self) -> str:
        return f"{self.system}, {self.day}: {format_count(self.intervals, 'interval')} of {self.table}"


class Coverage(Struct):
    """Intervals of an input's raw tables, and the intervals that measures have rows of.

    feeds     measures whose rows come from each raw table; if there are none, all measures that read it
    only_adds raw tables that only add columns to rows of others; they need not be in a measure
    withheld  intervals of each raw table that all measures withhold, as a problem reports
    raw       length in seconds of each interval of each raw table
    retained  intervals that each measure has rows of, from this or another system of the machine
    """

    feeds: dict[str, list[str]] = field(default_factory=dict)
    only_adds: set[str] = field(default_factory=set)
    withheld: dict[str, set[End]] = field(default_factory=dict)
    raw: dict[str, dict[End, float]] = field(default_factory=dict)
    retained: dict[str, set[End]] = field(default_factory=dict)

    def limit(self, first_us: int, last_us: int) -> None:
        """Drop intervals that end outside a time range, in microseconds since 1970."""
        for table, ends in self.raw.items():
            self.raw[table] = {end: length for end, length in ends.items() if first_us <= end[2] <= last_us}

    def lost(self, offsets: Mapping[tuple[str, str], int], days: Iterable[int] | None = None) -> list[Lost]:
        """Return the intervals without rows in any measure, on some local days (counted from 1970) or on all.

        offsets   seconds between local time and UTC, by system and source
        """
        selected_days = None if days is None else {*days}
        counts: dict[tuple[str, int, str], int] = {}
        for table, ends in self.raw.items():
            if table in self.only_adds:
                continue
            retained_ends: set[End] = set().union(*(self.retained[name] for name in self.feeds[table]))
            for end in ends.keys() - retained_ends - self.withheld.get(table, set()):
                system, source, end_us = end
                local_us = end_us - round(ends[end] * 500_000) + offsets.get((system, source), 0) * 1_000_000
                # A day contains its end, not its start.
                day = (local_us - 1) // DAY_US
                if selected_days is None or day in selected_days:
                    counts[system, day, table] = counts.get((system, day, table), 0) + 1
        return [Lost(system, day_name(day), table, n) for (system, day, table), n in sorted(counts.items())]

    def retained_on(self, system: str, day: int, offsets: Mapping[tuple[str, str], int]) -> Retained:
        """Return the intervals of a local day that the measures of a system retain, for the lake."""
        ends: dict[tuple[str, str], list[int]] = {}
        for name, ends_of_measure in self.retained.items():
            for owner, source, end_us in ends_of_measure:
                if owner == system:
                    local_us = end_us + offsets.get((system, source), 0) * 1_000_000
                    if (local_us - 1) // DAY_US == day:
                        ends.setdefault((source, name), []).append(end_us)
        return retained(self.feeds, ends)


def lost_error(path: str, lost: Sequence[Lost]) -> LakeError:
    """Return the error for intervals of raw tables without rows in any measure."""
    more = f"; and {len(lost) - _MOST:,} more" if len(lost) > _MOST else ""
    message = f"rows of raw tables are in no measure: {'; '.join(map(str, lost[:_MOST]))}{more}"
    return LakeError(message, file=path, cure=phrase("rows_in_no_measure"))


def coverage(session: CoreSession, names: Sequence[str]) -> Coverage:
    """Return the coverage of a session's raw tables by some measures."""
    result = Coverage()
    lengths: dict[str, dict[End, float]] = {}
    is_measured = session.has_intervals
    if not is_measured:
        # Without intervals there are no measures, but raw tables may have rows.
        session = session.narrow(replace(session.options, start=None, end=None))
    for name in names:
        if metrics.load_measure(name).repeats or not session.has_data(name):
            continue
        for table in sorted(session.queries.tables_of(name)):
            result.feeds.setdefault(table, []).append(name)
        result.retained[name] = set()
        if not is_measured:
            continue
        rows = session.queries.select(
            f"SELECT system, source, epoch_us(interval_end), max(seconds) FROM {name} GROUP BY ALL",
            {name: _COLUMNS},
        ).rows
        lengths[name] = {(system, source, end): seconds or 0.0 for system, source, end, seconds in rows}
        result.retained[name] |= lengths[name].keys()
    for table, measures in result.feeds.items():
        if filling := [name for name in measures if _has_rows_of(session, name, table)]:
            result.feeds[table] = filling
        else:
            result.only_adds.add(table)
    with_intervals = [
        table
        for table in result.feeds
        if {*_RAW_COLUMNS} <= {column for column, _ in session.engine.raw_columns(table)}
    ]
    if not with_intervals:
        return result
    rows = session.engine.query_all_records(with_intervals, _RAW_COLUMNS, _RAW, only_taken=True)
    for table, system, source, end, seconds in rows:
        result.raw.setdefault(table, {})[system, source, end] = seconds
    if counters := {origin.table for origin in roles.entity("counter").origins} & result.raw.keys():
        result.withheld = _withheld(session, {table: result.raw[table].keys() for table in counters})
    machines = {info.system: info.machine for info in session.systems if info.machine}
    for name, ends_of_measure in lengths.items():
        if metrics.load_measure(name).column("observer") is not None:
            result.retained[name] |= _observed(result, name, ends_of_measure, machines)
    return result


def _has_rows_of(session: CoreSession, measure: str, table: str) -> bool:
    """Return whether a measure has rows of a raw table that each input with the table has."""
    entities = map(roles.entity, session.queries.compiler.nodes.entities(measure))
    optional = {origin.optional for entity in entities for origin in entity.origins if origin.table == table}
    return optional != {True} and session.queries.has_data(measure, {table})


def _withheld(session: CoreSession, counters: Mapping[str, Iterable[End]]) -> dict[str, set[End]]:
    """Return intervals whose counters contradict each other, and all of a system if many do."""
    ends = session.queries.select(
        "SELECT DISTINCT system, source, epoch_us(interval_end) FROM _contradicting_samples",
        {"_contradicting_samples": ("system", "source", "interval_end")},
    ).rows
    systems = session.queries.select(
        "SELECT system, source FROM _contradicting_systems WHERE of_system",
        {"_contradicting_systems": ("system", "source", "of_system")},
    ).rows
    samples, suspect_systems = {*map(tuple, ends)}, {*map(tuple, systems)}
    return {
        table: {end for end in of_table if end in samples or end[:2] in suspect_systems}
        for table, of_table in counters.items()
    }


def _observed(found: Coverage, name: str, ends: Mapping[End, float], machines: Mapping[str, str]) -> set[End]:
    """Return intervals for whose time a measure has rows from another system of the machine."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for (system, _, end), seconds in ends.items():
        if system in machines:
            spans.setdefault(machines[system], []).append((end, end - round(seconds * 1e6)))
    for of_machine in spans.values():
        of_machine.sort()
    observed: set[End] = set()
    for table, measures in found.feeds.items():
        if name not in measures:
            continue
        for interval, length_s in found.raw.get(table, {}).items():
            system, _, end_us = interval
            of_machine = spans.get(machines.get(system, ""), [])
            following = bisect_left(of_machine, (end_us - round(length_s * 1e6) + 1, 0))
            if following < len(of_machine) and of_machine[following][1] < end_us:
                observed.add(interval)
    return observed
