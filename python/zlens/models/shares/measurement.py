"""CP shares of a measured interval: expected and observed CPU use of each guest.

The demand of a virtual CPU is what it used and what it waited for: CPU time, CPU wait and limit wait,
at most all of a logical processor. CP's own use is deducted from the processors first.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from zlens import models
from zlens.catalog.expressions import literal
from zlens.models import interval_choice
from zlens.models import scenario as scenarios
from zlens.models.interval_choice import interval_sql
from zlens.models.optional_numbers import ratio
from zlens.rendering.answer import Answer, AnswerFigure, Value
from zlens.rendering.answer_columns import answer_table
from zlens.schema.plain_text import replace_controls

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

TABLE = "guest"
busy = interval_choice.load_busy
#: Minimum number of idle processors for a note.
_IDLE = 0.1


#: A user and a type of its virtual CPUs: a guest with CPs and IFLs is two entries of one name.
User = tuple[str, str]


class MeasuredShares(Struct):
    """A scenario for `shares` with the observed values by user and type."""

    scenario: dict[str, Any]
    observed: dict[User, float] = field(default_factory=dict)
    waited: dict[User, float | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def queries(where: str = "true") -> tuple[str, str]:
    """Return the SELECTs of a scenario's processors and shares in an interval.

    Processors are logical ones for guests: online and not parked, less CP's own time.
    """
    return (
        "SELECT cpu_type, sum(coalesce(online_pct, 100) / 100 * (100 - coalesce(parked_pct, 0)) / 100 "
        f"- coalesce(system_pct, 0) / 100) FROM cpu WHERE {where} AND cpu_type IS NOT NULL "
        "GROUP BY cpu_type ORDER BY cpu_type",
        f"SELECT userid, share_kind, share, cpu_pool FROM guest WHERE {where} AND basis = 'sample'",
    )


def measured(session: CoreSession, system: str, end: dt.datetime) -> MeasuredShares:
    """Return the scenario of one interval."""
    where = interval_sql(system, end)
    of_processors, of_shares = queries(where)
    processors = {kind: max(0.0, number or 0.0) for kind, number in session.sql(of_processors).rows}
    shares = {userid: (kind, share, pool) for userid, kind, share, pool in session.sql(of_shares).rows}
    rows = session.sql(
        "SELECT userid, cpu_type, vcpu, cpu_pct, cpu_wait_pct + coalesce(limit_wait_pct, 0) "
        f"FROM guest_cpu WHERE {where} AND basis = 'sample' ORDER BY 1, 2, 3"
    ).rows
    measurement = MeasuredShares({"model": "shares", "processors": processors, "user": []})
    notes, guests = measurement.notes, measurement.scenario["user"]
    # If all processors are of one type, so are the virtual CPUs.
    only = next(iter(processors)) if len(processors) == 1 else None
    by_user: dict[tuple[str, str | None], list[Sequence[Any]]] = {}
    for row in rows:
        by_user.setdefault((row[0], row[1] or only), []).append(row)
    left_out: list[str] = []
    unknown: dict[str, list[str]] = {}
    unsampled = 0
    pools = _pools(session, system, end)
    for (recorded, kind), virtual in by_user.items():
        used = [row[3] for row in virtual if row[3] is not None]
        share_kind, share, pool = shares.get(recorded, (None, None, None))
        # Scenarios take printable names only.
        userid = replace_controls(recorded)
        if kind is None or kind not in processors or len(used) < len(virtual):
            left_out.append(userid)
            continue
        if share_kind != "relative" or share is None:
            processors[kind] = max(0.0, processors[kind] - sum(used) / 100)
            unknown.setdefault(kind, []).append(userid)
            continue
        waits = [row[4] for row in virtual]
        unsampled += waits.count(None)
        user = {
            "name": userid,
            "type": kind,
            "virtual_cpus": len(virtual),
            "relative": round(share),
            "demands": [min(100.0, use + (wait or 0.0)) for use, wait in zip(used, waits, strict=True)],
        }
        if pool in pools and pools[pool]["type"] == kind:
            user["pool"] = pools[pool]["name"]
        guests.append(user)
        measurement.observed[userid, kind] = sum(used)
        measurement.waited[userid, kind] = None if None in waits else sum(waits)
    occupied = {user["pool"] for user in guests if "pool" in user}
    if occupied:
        by_name = {entry["name"]: entry for entry in pools.values()}
        measurement.scenario["pool"] = [by_name[name] for name in sorted(occupied)]
    for kind, number in processors.items():
        of_kind = (used for (_, user_kind), used in measurement.observed.items() if user_kind == kind)
        idle = number - sum(of_kind) / 100
        # Processors may have been used by guests that are left out.
        if idle > _IDLE and measurement.observed and not left_out:
            notes.append(
                f"{kind}: {idle:.2f} of the {number:.2f} processors for guests were idle: guests waited to "
                "be dispatched although processors were available"
            )
    if not guests:
        notes.append("the data reports no guest with a relative share in this interval")
    for kind, users in unknown.items():
        notes.append(
            f"{kind}: the data does not report the share of {len(users)} guests ({_some(users)}); their use "
            "is deducted from the processors"
        )
    if left_out:
        notes.append(f"left out, because their use or processor type is unknown: {_some(left_out)}")
    if session.sql(f"SELECT count(*) FROM cpu WHERE {where} AND parked_pct IS NULL").rows[0][0]:
        notes.append("parked processors are unknown: all online processors are counted")
    if unsampled:
        notes.append(
            f"{unsampled} virtual CPUs have no samples of states: their demand is assumed to equal their use"
        )
    empty = sorted(entry["name"] for entry in pools.values() if entry["name"] not in occupied)
    if empty:
        notes.append(
            f"CPU pools {', '.join(empty)}: the data does not list their guests; add them with settings"
        )
    observed = {userid for userid, _ in measurement.observed}
    limited = [userid for userid in _limited(session, system, end) if userid in observed]
    if limited:
        notes.append(
            f"the share of {', '.join(limited)} is limited, but the data does not state the limit: more is "
            "expected than the limit allows, until settings add it, such as "
            f"user.{limited[0]}.limit=hard and user.{limited[0]}.maximum_absolute=5"
        )
    missing = [name for name, known in (("limits", limited), ("CPU pools", pools)) if not known]
    if missing:
        notes.append(f"{' and '.join(missing)} are not in this data; add them with settings")
    return measurement


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _limited(session: CoreSession, system: str, end: dt.datetime) -> list[str]:
    """Return the guests whose share has a maximum at that time; its unit is not published."""
    rows = session.sql(
        f"SELECT userid FROM role.guest_configuration WHERE system = {literal(system)} "
        f"AND tod <= {literal(end.isoformat())}::TIMESTAMPTZ GROUP BY userid "
        "HAVING arg_max(max_share, tod) > 0 ORDER BY userid"
    ).rows
    return [replace_controls(userid) for (userid,) in rows]


def _pools(session: CoreSession, system: str, end: dt.datetime) -> dict[str, dict[str, Any]]:
    """Return the CPU pools that limit their users at that time, as entries of a scenario."""
    rows = session.sql(
        "SELECT pool, arg_max(cpu_type, tod), arg_max(limit_kind, tod), arg_max(limit_amount, tod) "
        f"FROM role.cpu_pool_configuration WHERE system = {literal(system)} "
        f"AND tod <= {literal(end.isoformat())}::TIMESTAMPTZ AND pool IS NOT NULL GROUP BY pool"
    ).rows
    limits = {"LIMITHARD": "limithard", "CAPACITY": "capacity"}
    return {
        pool: {"name": replace_controls(pool), "type": kind or "CP", limits[limit]: float(amount)}
        for pool, kind, limit, amount in rows
        if limit in limits and amount is not None
    }


def compare(session: CoreSession, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Compare expected with observed use. settings: values of the scenario, as of --set."""
    measurement = measured(session, system, end)
    ended = interval_choice.local_time(session, system, end)
    title = f"CP shares of {system}, interval that ended {ended}"
    values = scenarios.apply_settings(measurement.scenario, settings)
    if not values["user"]:
        return Answer("shares", f"{system} {ended}", [], notes=measurement.notes)
    solved = models.solve("shares", values)
    rows: list[tuple[Value, ...]] = []
    errors = []
    for user, row in by_user(solved).items():
        observed = measurement.observed.get(user)
        expected = row["allocation"]
        error = None
        if observed is not None and isinstance(expected, float):
            error = observed - expected
            errors.append(error)
        waited = measurement.waited.get(user)
        rows.append((*user, row["entitlement"], waited, expected, observed, error, row["bound_by"]))
    rows.sort(key=lambda row: -abs(row[6]) if isinstance(row[6], float) else 1.0)
    capacity_pct = 100.0 * sum(values["processors"].values())
    beyond = sum(max(error, 0.0) for error in errors)
    misplaced = ratio(100.0 * beyond, capacity_pct) if errors else None
    text = "Got by guests beyond what they should have"
    figures = [
        AnswerFigure("worst", max(map(abs, errors), default=None), "points", "Largest error of a guest", 1),
        AnswerFigure("rms", _rms(errors), "points", "Root mean square of the errors", 1),
        AnswerFigure("misplaced", misplaced, "% of the processors", text, 2),
    ]
    table = answer_table("shares", "compared", "Expected and observed", rows)
    capacity = ", ".join(f"{number:.2f} {kind}" for kind, number in values["processors"].items())
    notes = [
        f"Processors for guests, measured: {capacity} (online and not parked, less CP's own time)",
        *measurement.notes,
        *(f"changed: {setting}" for setting in settings),
    ]
    return Answer("shares", title, [table], figures, [], notes, solved.assumptions)


def by_user(solved: Answer) -> dict[User, dict[str, Value]]:
    """Return the rows of solved users by user and type."""
    return {(str(row["name"]), str(row["type"])): row for row in solved.table("users").records()}


def _rms(errors: Sequence[float]) -> float | None:
    return math.sqrt(math.fsum(error * error for error in errors) / len(errors)) if errors else None
