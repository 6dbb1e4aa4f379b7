"""Choice of the system and the interval that a scenario is built from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from zlens.catalog.expressions import literal
from zlens.errors import QueryError
from zlens.inputs.options import TimeSpec
from zlens.inputs.unix_time import to_unix_us
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


#: Intervals of all systems and their processor utilization.
BUSY = "SELECT system, interval_end, seconds, flag, busy_pct AS busy FROM load"


def load_busy(_settings: Sequence[str] = ()) -> str:
    """Return SQL of intervals and their utilization, for models whose settings do not select other ones."""
    return BUSY


def interval_sql(system: str, end: dt.datetime) -> str:
    """Return the SQL condition for the rows of one interval of a system."""
    return f"system = {literal(system)} AND interval_end = TIMESTAMPTZ '{end.isoformat()}'"


def local_time(session: CoreSession, system: str, time: dt.datetime) -> str:
    """Return a time in the system's zone, as --at accepts it: 2024-05-14 10:24:00 (UTC+02:00)."""
    local = session.display(time.astimezone(dt.UTC), system)
    return f"{local:%Y-%m-%d %H:%M:%S} ({local.tzname() or 'UTC'})"


def choose_system(session: CoreSession, table: str, requested: str | None) -> str:
    """Return the only system with rows in a table; raise QueryError if there is none or more than one."""
    systems = [row[0] for row in session.sql(f'SELECT DISTINCT system FROM "{table}" ORDER BY 1').rows]
    if requested is not None:
        known = [row[0] for row in session.sql("SELECT DISTINCT system FROM system ORDER BY 1").rows]
        if requested not in known:
            message = f"there is no system {requested} in the input"
            raise QueryError(message, expected=f"one of {', '.join(known)}")
        systems = [name for name in systems if name == requested]
    if not systems:
        raise QueryError(f"the input has no data for table {table}", cure=phrase("explain", name=table))
    if len(systems) > 1:
        names, cure = ", ".join(systems), phrase("choose_system")
        raise QueryError("the input contains several systems", expected=names, cure=cure)
    return str(systems[0])


class BusyInterval(Struct, frozen=True):
    """A complete interval and its utilization."""

    end: dt.datetime
    seconds: float
    busy: float | None

    @property
    def start(self) -> dt.datetime:
        return self.end - dt.timedelta(seconds=self.seconds)


def complete_intervals(session: CoreSession, name: str, busy: str = BUSY) -> list[BusyInterval]:
    """Return the complete intervals of a system in order of time; `busy` as in `choose_interval`."""
    rows = session.sql(
        f"SELECT interval_end, seconds, busy FROM ({busy}) WHERE system = {literal(name)} "
        "AND seconds IS NOT NULL AND flag IS NULL ORDER BY interval_end"
    ).rows
    return [BusyInterval(*row) for row in rows]


def busiest(rows: Sequence[BusyInterval]) -> BusyInterval:
    """Return the busiest interval of models, what-ifs and the overview: the first with the largest busy."""
    return max(rows, key=lambda row: -1.0 if row.busy is None else row.busy)


def choose_interval(session: CoreSession, name: str, time: TimeSpec | None, busy: str = BUSY) -> dt.datetime:
    """Return the end of the interval that contains a time, or of the busiest; raise QueryError without one.

    busy: a query for the intervals of the model, with the columns of BUSY. In all models, what-ifs and the
    overview, the busiest interval is the one with the highest processor busy (`load`); busy of the query
    decides only in inputs without `load`.

    A time without a date is on the last day of the data; a time without a zone is in the system's zone.
    """
    rows = complete_intervals(session, name, busy)
    if not rows:
        load = f"SELECT 1 FROM load WHERE system = {literal(name)} LIMIT 1"
        if busy == BUSY and not session.sql(load).rows:
            message = f"{name} has no data for table load, which has processor busy"
            raise QueryError(message, cure=phrase("explain", name="load"))
        raise QueryError(f"{name} has no complete interval", cure="use a file with two or more samples")
    if time is None:
        ends = {row.end for row in rows}
        loads = [row for row in complete_intervals(session, name) if row.end in ends and row.busy is not None]
        return busiest(loads or rows).end
    last = session.display(rows[-1].end, name)
    zone = last.tzinfo or dt.UTC
    time_utc = time.at_end(to_unix_us(rows[-1].end), zone).utc(zone, last.date())
    rows = [row for row in rows if row.start < time_utc <= row.end]
    if not rows:
        message = f"{name} has no complete interval at {local_time(session, name, time_utc)}"
        raise QueryError(message, cure=phrase("times_of_data"))
    return busiest(rows).end
