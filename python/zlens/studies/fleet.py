"""All systems of an input: utilization by hour, growth, and the partitions of their machines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from zlens.catalog import measures
from zlens.models.constants import constant
from zlens.session.session import CoreSession
from zlens.stores.hourly import Hour, hourly_values, hours_of_machine, mean
from zlens.studies import trend

MEASURE, COLUMN = "load", "busy_pct"
#: Use of a machine by each of its partitions.
PARTITIONS, USED = "partition", "phys_total_pct"

#: After the first timestamp up to the second one, UTC; None is unbounded.
Span = tuple[dt.datetime | None, dt.datetime | None]


class FleetMember(NamedTuple):
    """A system over a time range.

    mean      mean of the column, by the weights of its intervals
    busiest   mean of the busiest hour; at: end of that hour
    before    mean over another time range; None without one
    growth    growth per month of the busiest hour of a day, over all data; None with too few days
    meets     day on which the trend reaches `trend_limit`
    hours     ends and means of hours
    """

    system: str
    source: str
    mean: float | None
    busiest: float | None
    at: dt.datetime | None
    before: float | None
    growth: float | None
    meets: str | None
    hours: list[tuple[dt.datetime, float]]

    @property
    def change(self) -> float | None:
        """Growth of the mean."""
        return None if self.mean is None or self.before is None else self.mean - self.before


class Partition(NamedTuple):
    """The processors of one type of a partition over a time range.

    mean   mean of the column
    hours  ends and means of hours
    """

    name: str
    cpu_type: str
    mean: float | None
    hours: list[tuple[dt.datetime, float]]


def members(session: CoreSession, span: Span, before: Span | None = None) -> list[FleetMember]:
    """Return the systems with processor utilization, in the order of their names."""
    by_system: dict[tuple[str, str], list[Hour]] = {}
    for hour in hourly_values(session, MEASURE, [COLUMN]):
        by_system.setdefault((hour.system, hour.source), []).append(hour)
    return [_member(session, *name, all_hours, span, before) for name, all_hours in by_system.items()]


def partitions(session: CoreSession, machine: str, span: Span) -> list[Partition]:
    """Return the partitions of a machine that its systems report, by type and name."""
    reported = []
    for of_partition in hours_of_machine(session, machine, PARTITIONS, [USED]):
        hours = [hour for hour in of_partition if _within(hour, span)]
        # Another system may have taken over reporting within an hour.
        values = [(end, mean(some)) for end, some in groupby(hours, key=lambda hour: hour.end)]
        known = [(end, value) for end, value in values if value is not None]
        if known:
            _, name, cpu_type = hours[0].keys
            reported.append(Partition(name or "", cpu_type or "", mean(hours), known))
    return sorted(reported, key=lambda partition: (partition.cpu_type, partition.name))


def unit() -> str:
    """Return the unit of the compared column."""
    return measures.load_measure(MEASURE).column(COLUMN).unit  # type: ignore[union-attr]


def clusters(session: CoreSession) -> dict[str, str]:
    """Return the cluster of each member: the group of the user, else the recorded SSI cluster."""
    recorded = {}
    if session.has_data("role.ssi"):
        rows = session.sql("SELECT system, arg_max(cluster, tod) FROM role.ssi GROUP BY system").rows
        recorded = {str(system): str(cluster) for system, cluster in rows if cluster}
    names = {info.system for info in session.systems}
    explicit = {name: session.cluster(name) for name in names}
    return recorded | {name: cluster for name, cluster in explicit.items() if cluster is not None}


def _member(
    session: CoreSession, system: str, source: str, all_hours: Sequence[Hour], span: Span, before: Span | None
) -> FleetMember:
    known = [(hour, value) for hour in all_hours for value in [hour.mean()] if value is not None]
    hours = [hour for hour in all_hours if _within(hour, span)]
    values = [(hour.end, value) for hour, value in known if _within(hour, span)]
    busiest_end, busiest = max(values, key=itemgetter(1), default=(None, None))
    growth, meets = _trend(session, system, source, known)
    earlier = None if before is None else mean(hour for hour in all_hours if _within(hour, before))
    return FleetMember(system, source, mean(hours), busiest, busiest_end, earlier, growth, meets, values)


def _within(hour: Hour, span: Span) -> bool:
    start, end = span
    return (start is None or hour.end > start) and (end is None or hour.end <= end)


def _trend(
    session: CoreSession, system: str, source: str, known: Sequence[tuple[Hour, float]]
) -> tuple[float | None, str | None]:
    zone = session.zone(system, source)
    values = [(_local(hour.end, zone), value, hour.weights[0] or 0.0) for hour, value in known]
    shift_hours = trend.ShiftHours(system, trend.ALL, values)
    line = trend.fit_trend(shift_hours, int(constant("trend_days").default))
    names = [column.key for column in trend.growth_columns("")]
    row = dict(zip(names, trend.row(shift_hours, line, float(constant("trend_limit").default)), strict=True))
    return row["growth"], row["meets"]  # type: ignore[return-value]


@lru_cache(4096)
def _local(end: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """Return the local end of an hour; cached, because many systems have the same hours."""
    return end.astimezone(zone)
