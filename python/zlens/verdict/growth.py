"""What subjects added: their mean use while a rule held, against the time before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from zlens.catalog import measures, peaks
from zlens.catalog.aggregation import default_statistic, statistic_name
from zlens.catalog.expressions import literal, quote
from zlens.catalog.measure_query import MeasureQuery
from zlens.catalog.peaks import SubjectGroup
from zlens.session.session import CoreSession

#: Start and end; of intervals that end after the start.
Window = tuple[datetime, datetime]


class AddedUse(Struct, frozen=True):
    """What a subject used in addition, in the unit of its group, and its percentage of the growth of all."""

    group: SubjectGroup
    subject: Mapping[str, Any]
    added: float
    share: float | None

    @property
    def name(self) -> str:
        return peaks.fill_placeholders(self.group.name, self.subject)

    @property
    def event_subject(self) -> str:
        """The subject of its events."""
        return peaks.fill_placeholders(self.group.event, self.subject) if self.group.event else ""

    @property
    def settings(self) -> dict[str, str]:
        """Settings of the view of the group that select it."""
        return {key: peaks.fill_placeholders(text, self.subject) for key, text in self.group.settings.items()}


def group_of(subject: str) -> SubjectGroup | None:
    """Return the group of the subject of an event, such as `guest LINUX01`, if its use is added up."""
    kind = subject.partition(" ")[0]
    return next((group for group in added_up() if group.event.partition(" ")[0] == kind), None)


def added_up() -> list[SubjectGroup]:
    """Return the groups whose use is added up."""
    return [group for group in peaks.load_peak_facts().group if group.statistic == "total"]


def group_with_data(session: CoreSession, keys: Sequence[str]) -> SubjectGroup | None:
    """Return the first of the groups with these keys that the input has."""
    groups = {group.key: group for group in added_up()}
    return next((groups[key] for key in keys if session.has_data(groups[key].table)), None)


def growth(
    group: SubjectGroup, earlier: Mapping[tuple[Any, ...], float], later: Mapping[tuple[Any, ...], float]
) -> list[AddedUse]:
    """Return what subjects added, largest first, from `rates` of two windows; nothing if one has none."""
    if not earlier or not later:
        return []
    added = {
        subject: group.scale * (later.get(subject, 0.0) - earlier.get(subject, 0.0))
        for subject in later.keys() | earlier.keys()
    }
    total = sum(added.values())
    found = []
    for subject, amount in sorted(added.items(), key=lambda item: (-item[1], str(item[0]))):
        share = 100 * amount / total if total > 0 else None
        found.append(AddedUse(group, dict(zip(group.by, subject, strict=True)), amount, share))
    return found


def rates(
    session: CoreSession, system: str, group: SubjectGroup, window: Window
) -> dict[tuple[Any, ...], float]:
    """Return the use of each subject per second of elapsed time; nothing of a window without intervals."""
    query = use_query(group, in_window(system, window))
    columns = [*query.columns(), *group.where]
    if query.table.lazy:
        # Computed once for all windows.
        list(session.queries.materialize({query.table.name: columns}))
    rows = session.queries.select(query.sql(), {query.table.name: columns}).rows
    sources = {row[1] for row in rows}
    if not sources:
        return {}
    source = min(sources)
    elapsed = session.sql(
        'SELECT sum(seconds) FROM "interval" '
        f"WHERE {in_window(system, window)} AND source = {literal(source)}"
    ).rows[0][0]
    if not elapsed:
        return {}
    return {tuple(row[2:-1]): row[-1] / elapsed for row in rows if row[1] == source and row[-1] is not None}


def use_query(group: SubjectGroup, condition: str = "true") -> MeasureQuery:
    """Return the query of the use of each subject."""
    table = measures.load_measure(group.table)
    column = table.column(group.column)
    assert column is not None
    where = [
        f"{quote(name)} IN ({', '.join(map(literal, [values] if isinstance(values, str) else values))})"
        for name, values in group.where.items()
    ]
    return MeasureQuery(
        table,
        [(column, ["total"])],
        quote(table.name),
        group.by,
        list(group.where),
        " AND ".join([condition, *where]),
    )


def in_window(system: str, window: Window) -> str:
    """Return the SQL condition of a system's intervals that end in a window."""
    start, end = (f"TIMESTAMPTZ '{time.isoformat()}'" for time in window)
    return f"system = {literal(system)} AND interval_end > {start} AND interval_end <= {end}"


def means(
    session: CoreSession, system: str, window: Window, table: str, columns: Sequence[str], by: str = ""
) -> dict[Any, dict[str, float | None]]:
    """Return the default statistic of columns of a measure in a window, for each value of `by`."""
    query = means_query(table, columns, by, in_window(system, window))
    result = session.queries.select(query.sql(), {table: query.columns()})
    names = {statistic_name(column, statistic): column.name for column, [statistic] in query.wanted}
    found: dict[Any, dict[str, float | None]] = {}
    for row in result.rows:
        values = dict(zip(result.columns, row, strict=True))
        found.setdefault(values.get(by), {column: values[statistic] for statistic, column in names.items()})
    return found


def means_query(table: str, columns: Sequence[str], by: str = "", condition: str = "true") -> MeasureQuery:
    """Return the query of the default statistic of columns of a measure, for each value of `by`."""
    measure = measures.load_measure(table)
    wanted = [(column, [default_statistic(column)]) for name in columns if (column := measure.column(name))]
    return MeasureQuery(measure, wanted, quote(table), [by] if by else [], [], condition)
