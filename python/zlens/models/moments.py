"""Which system and which interval of an input a scenario is made of."""

from __future__ import annotations

import datetime as dt
from typing import Any, Protocol

from zlens.catalog.expressions import literal
from zlens.errors import QueryError
from zlens.inputs.options import Moment
from zlens.schema.wording import say


class Asked(Protocol):
    """What answers a question: a session."""

    def sql(self, query: str) -> Any: ...

    def display(self, when: dt.datetime, system: str) -> dt.datetime:
        """A time in the zone of a system."""
        ...


#: Intervals of the systems and how busy their processors were.
BUSY = "SELECT system, interval_end, seconds, flag, busy_pct AS busy FROM load"


def at_end(system: str, end: dt.datetime) -> str:
    """Which rows are of one interval of a system, as SQL says it."""
    return f"system = {literal(system)} AND interval_end = TIMESTAMPTZ '{end.isoformat()}'"


def shown(end: dt.datetime) -> str:
    """The end of an interval as titles have it: 2024-05-14 08:24:00 UTC."""
    return f"{end.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


def system(session: Asked, table: str, wanted: str | None) -> str:
    """The one system with rows in a table; QueryError where there is none, or more than one."""
    found = [row[0] for row in session.sql(f'SELECT DISTINCT system FROM "{table}" ORDER BY 1').rows]
    if wanted is not None:
        found = [name for name in found if name == wanted]
    if not found:
        raise QueryError(f"the input tells nothing of table {table}", cure=say("explain", name=table))
    if len(found) > 1:
        raise QueryError(
            "the input holds several systems", expected=", ".join(found), cure=say("choose_system")
        )
    return str(found[0])


def moment(session: Asked, name: str, at: Moment | None, busy: str = BUSY) -> dt.datetime:
    """The end of the interval that a time lies in, or of the busiest one; QueryError where there is none.

    busy: a query for intervals with columns as BUSY has, by what "busiest" is for the model that is asked.

    A time without a date is of the day on which the data end, one without a zone of the system's own.
    """
    rows = session.sql(
        f"SELECT interval_end, seconds, busy FROM ({busy}) WHERE system = {literal(name)} "
        "AND seconds IS NOT NULL AND flag IS NULL ORDER BY interval_end"
    ).rows
    if not rows:
        raise QueryError(f"{name} has no whole interval", cure="give a file with two samples or more")
    if at is not None:
        last = session.display(rows[-1][0], name)
        when = at.utc(last.tzinfo or dt.UTC, last.date())
        rows = [row for row in rows if row[0] - dt.timedelta(seconds=row[1]) < when <= row[0]]
        if not rows:
            raise QueryError(
                f"{name} has no whole interval at {shown(when)}",
                cure=say("times_of_data"),
            )
    busiest = max(rows, key=lambda row: -1.0 if row[2] is None else row[2])
    end: dt.datetime = busiest[0]
    return end
