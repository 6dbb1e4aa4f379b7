"""What the options of a session select: intervals, and rows of raw tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable

from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.options import Options, TimeSpec
from zlens.inputs.source import Interval, SystemInfo
from zlens.inputs.unix_time import from_unix_us

#: Condition on a row with a time that is no interval end: it is in a selected interval.
_WITHIN = """EXISTS (
    SELECT 1
    FROM (SELECT system AS "s#", source AS "o#", interval_start AS "a#", interval_end AS "e#" FROM _interval)
    WHERE "s#" = system AND "o#" = source AND {time} > "a#" AND {time} <= "e#"
)"""


def is_selected(options: Options, info: SystemInfo, interval: Interval) -> bool:
    """Return whether the options select an interval of a system."""
    if not (options.start or options.end or options.shift):
        return True
    zone = dt.UTC if options.utc else info.zone()
    local = from_unix_us(interval.end_us).astimezone(zone)
    start, end = (bound and bound.at_end(info.last_us, zone) for bound in (options.start, options.end))
    if start and not _after(local, start, zone):
        return False
    if end and _after(local, end, zone):
        return False
    return options.shift is None or options.shift.contains(local)


def _after(local: dt.datetime, limit: TimeSpec, zone: dt.tzinfo) -> bool:
    if limit.date is None:
        return local.time() > limit.time
    return local > limit.utc(zone, limit.date)


def condition(
    options: Options, table: str, columns: Iterable[RawColumn], ends: Callable[[], tuple[int, int] | None]
) -> tuple[str, set[str]] | None:
    """Return the options as a condition on a raw table with these columns, and the columns that it names.

    `ends` returns the first and last selected interval end, in microseconds UTC.
    """
    from zlens.catalog.expressions import literal

    names = {column.name for column in columns}
    parts: list[str] = []
    columns_read: set[str] = set()
    if options.systems and "system" in names:
        parts.append(f"system IN ({', '.join(map(literal, options.systems))})")
        columns_read.add("system")
    if options.is_selective and "interval_end" in names:
        columns_read |= {"system", "source", "interval_end"}
        if _has_decisions(table):
            parts.append(_WITHIN.format(time="interval_end"))
        else:
            parts.append(
                "(system, source, interval_end) IN (SELECT (system, source, interval_end) FROM _interval)"
            )
            if (span := ends()) is not None:
                # The same as a plain range, which can exclude entire blocks of rows.
                first, last = (from_unix_us(end) for end in span)
                parts.append(f"interval_end BETWEEN TIMESTAMPTZ '{first}' AND TIMESTAMPTZ '{last}'")
    elif options.is_selective and {"system", "source", "time"} <= names:
        # Precomputed events.
        parts.append(_WITHIN.format(time="time"))
        columns_read |= {"system", "source", "time"}
    return (" AND ".join(parts), columns_read) if parts else None


def _has_decisions(table: str) -> bool:
    """Return whether the times of a raw table are of decisions, which are no interval ends."""
    if not table.startswith("smf"):
        return False
    from zlens.catalog import smf_sections

    return smf_sections.has_decisions(table)
