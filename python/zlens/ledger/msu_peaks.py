"""Four-hour averages of MSU: the highest hours of each month, what was done in them, and what they cost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct

from zlens.catalog.expressions import literal
from zlens.catalog.ledgers import load_ledger
from zlens.ledger.prices import Prices
from zlens.models.partitions import msu
from zlens.models.partitions.msu import HOUR_S, KINDS, Line, PartitionMsu, Subject
from zlens.models.partitions.rolling_average import WINDOW_S
from zlens.rendering.answer import AnswerTable, Value
from zlens.rendering.answer_columns import answer_columns

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Subjects of a level shown of what was done in a peak hour.
_MOST = 10
#: Intervals end some milliseconds after their minute.
_LATE_S = 30


class _Month(Struct, frozen=True):
    """Rows and averages of a machine in a month of its local time."""

    name: str
    machine: str
    rows: Sequence[PartitionMsu]
    averages: dict[Subject, Line]


def tables(
    session: CoreSession, prices: Prices | None = None, *, by_time: bool = False
) -> Iterator[AnswerTable]:
    """Yield the tables of averages of an input; none if it has no MSU of partitions.

    prices: the user's; by_time: with the averages of each interval
    """
    rows = msu.partitions(session)

    def table(key: str, title: str, found: Iterable[tuple[Value, ...]]) -> Iterator[AnswerTable]:
        shown = list(found)
        if shown:
            yield AnswerTable(key, title, answer_columns("msu_ledger", key), shown)

    clocks = (_clock_row(*each) for each in sorted(msu.local_clocks(session).items()))
    yield from table("clocks", "Sources with local times, without a zone", clocks)
    if all(row.used is None for row in rows):
        return
    months = list(_months(session, rows))
    peaks = (row for month in months for row in _peak_rows(session, month))
    yield from table("peaks", "Highest hour of the four-hour average, in MSU", peaks)
    work = (row for month in months for row in _work_rows(session, month))
    yield from table("peak_work", "Work in the machine's highest hour, in MSU-hours", work)
    yield from table("recorded", "Averages recorded and computed, in MSU", _compared(rows))
    if by_time:
        yield from table("averages", "Averages by time, in MSU", _by_time(session, rows))
    if prices is not None:
        costs = (row for month in months for row in _costs(session, month, prices))
        yield from table("costs", f"Cost of the highest hours, in {prices.currency}", costs)


def _clock_row(source: tuple[str, str], clock: msu.LocalClock) -> tuple[Value, ...]:
    if clock.offset_s is None:
        return (*source, None, None, "left out of the four-hour averages: set the time zone (option tz)")
    hours, minutes = divmod(abs(clock.offset_s) // 60, 60)
    offset = f"{'-' if clock.offset_s < 0 else '+'}{hours:02}:{minutes:02}"
    return (*source, offset, clock.intervals, "solved")


def _months(session: CoreSession, rows: Sequence[PartitionMsu]) -> Iterator[_Month]:
    def month(row: PartitionMsu) -> str:
        return f"{_local(session, row.system, row.hour * HOUR_S):%Y-%m}"

    for machine, of_machine in groupby(rows, lambda row: row.machine):
        for name, of_month in groupby(of_machine, month):
            inside = list(of_month)
            yield _Month(name, machine or "machine", inside, msu.averages(inside, machine or "machine"))


def _local(session: CoreSession, system: str, time: float) -> dt.datetime:
    return session.display(dt.datetime.fromtimestamp(time, dt.UTC), system)


def _hour_end(session: CoreSession, month: _Month, hour: int) -> str:
    return f"{_local(session, month.rows[0].system, (hour + 1) * HOUR_S):%Y-%m-%d %H:%M}"


def _peak_rows(session: CoreSession, month: _Month) -> Iterator[tuple[Value, ...]]:
    for subject in sorted(month.averages, key=lambda each: (KINDS.index(each[0]), each[1])):
        kind, name = subject
        rows = [
            row
            for row in month.rows
            if kind == "machine" or (row.group if kind == "group" else row.partition) == name
        ]
        peak = msu.peak_hour(month.averages[subject])
        hour, highest = (None, None) if peak is None else peak
        at_peak = [row for row in rows if row.hour == hour]
        limits = [row.group_limit if kind == "group" else row.defined for row in at_peak or rows]
        limit = next((limit for limit in reversed(limits) if limit is not None), None)
        recorded = at_peak and all(row.recorded is not None for row in at_peak)
        yield (
            month.name,
            name,
            kind,
            highest,
            None if hour is None else _hour_end(session, month, hour),
            None if not at_peak else "recorded" if recorded else "computed",
            "yes" if any(row.computed.since_ipl for row in at_peak) else None,
            _mean_used(at_peak),
            None if kind == "machine" else limit,
            _capped_hours((row.seconds, row.wlm_capped_pct) for row in rows),
            _capped_hours((row.seconds, row.cap_reached_pct) for row in rows),
        )


def _mean_used(rows: Sequence[PartitionMsu]) -> float | None:
    """Return the MSU per hour used in rows of the same time; None if a part is unknown."""
    lengths = {row.end: row.seconds for row in rows}
    amounts = [row.used * row.seconds for row in rows if row.used is not None]
    return sum(amounts) / sum(lengths.values()) if rows and len(amounts) == len(rows) else None


def _capped_hours(shares: Iterable[tuple[float, float | None]]) -> float | None:
    """Return hours from seconds and percent of them; None if a part is unknown."""
    hours = [None if share is None else seconds * share / 100 / HOUR_S for seconds, share in shares]
    known = [part for part in hours if part is not None]
    return sum(known) if known and len(known) == len(hours) else None


def _work_rows(session: CoreSession, month: _Month) -> Iterator[tuple[Value, ...]]:
    """Yield what was done in the machine's highest hour, and in the window of its average, by the ledger."""
    peak = msu.peak_hour(month.averages["machine", month.machine])
    if peak is None:
        return
    hour, first, last = (
        f"TIMESTAMPTZ '{dt.datetime.fromtimestamp((peak[0] + 1) * HOUR_S + _LATE_S - before, dt.UTC)}'"
        for before in (HOUR_S, WINDOW_S, 0)
    )
    in_hour = f"FILTER (WHERE interval_end > {hour})"
    query = (
        "SELECT level, account, partition, node, parent, subject, "
        f"CASE WHEN count(amount) {in_hour} = count(*) {in_hour} THEN sum(amount) {in_hour} END, "
        "CASE WHEN count(amount) = count(*) THEN sum(amount) END FROM ledger "
        f"WHERE ledger = 'msu' AND level IN ('partition', 'class', 'job') AND interval_end > {first} "
        f"AND interval_end <= {last} AND machine IS NOT DISTINCT FROM {literal(month.machine)} "
        "GROUP BY level, account, partition, node, parent, subject ORDER BY 7 DESC NULLS LAST"
    )
    found = session.sql(query).rows
    names = {node: subject for _, _, _, node, _, subject, _, _ in found if node is not None}
    titles = {name: account.title for name, account in load_ledger("msu").accounts().items()}
    for level in ("partition", "class", "job"):
        rows = [row for row in found if row[0] == level and row[6]]
        for _, account, partition, _, parent, subject, *amounts in rows[:_MOST]:
            of_class = names.get(parent) if level == "job" else None
            yield (month.name, titles[account], partition, of_class, subject, *amounts)


def _compared(rows: Sequence[PartitionMsu]) -> Iterator[tuple[Value, ...]]:
    """Yield how the averages that systems record differ from those computed from use."""
    for name in sorted({row.partition for row in rows}):
        pairs = [
            (row.recorded, row.computed.value)
            for row in rows
            if row.partition == name and row.recorded is not None and row.computed.value is not None
        ]
        if pairs:
            recorded, computed = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
            largest = max((one - other for one, other in pairs), key=abs)
            yield (name, len(pairs), recorded, computed, recorded - computed, largest)


def _by_time(session: CoreSession, rows: Sequence[PartitionMsu]) -> Iterator[tuple[Value, ...]]:
    for row in rows:
        computed, since_ipl = row.computed.value, "yes" if row.computed.since_ipl else None
        time = f"{_local(session, row.system, row.end):%Y-%m-%d %H:%M:%S}"
        yield (time, row.partition, row.group, row.used, row.recorded, computed, row.rolling, since_ipl)


def _costs(session: CoreSession, month: _Month, prices: Prices) -> Iterator[tuple[Value, ...]]:
    """Yield the highest hour of each product's partitions together, and its cost."""
    lines = {name: line for (kind, name), line in month.averages.items() if kind == "partition"}
    for product in prices.products:
        names = list(product.partitions) or sorted(lines)
        missing = [name for name in names if name not in lines]
        peak = msu.peak_hour(msu.sum_lines([lines[name] for name in names if name in lines]))
        if missing or peak is None:
            yield (month.name, product.name, ", ".join(names), None, None, product.price, None)
            continue
        hour, highest = peak
        cost = highest * product.price
        yield (
            month.name,
            product.name,
            ", ".join(names),
            highest,
            _hour_end(session, month, hour),
            product.price,
            cost,
        )
