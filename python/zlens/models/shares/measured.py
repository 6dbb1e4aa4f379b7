"""CP shares of a measured interval: expected beside observed use of each guest.

A virtual processor counts as hungry if it waited for a processor (or in the limit list) in more than a
given part of its non-idle samples; its demand is then a full logical processor. Otherwise its demand is what
it used. CP's own time is deducted from the processors first.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from zlens import models
from zlens.models import moments
from zlens.models import scenario as scenarios
from zlens.models.answer import Answer, Column, Figure, Table, Value, by_name
from zlens.models.constants import constant
from zlens.models.moments import BUSY, Asked, at_end
from zlens.schema.kinds import Number

TABLE = "guest"

_COLUMNS = (
    Column("name", "User"),
    Column("type", "Type"),
    Column("entitlement", "Entitled", "% of 1", "solved: share of what guests could use"),
    Column("hungry", "Hungry", "VCPUs", "measured: virtual processors that waited too often", 0),
    Column("expected", "Expected", "% of 1", "solved"),
    Column("observed", "Observed", "% of 1", "measured"),
    Column("error", "Error", "points", "observed less expected"),
    Column("bound_by", "Limited by", text="solved: what limits it"),
)


def busy(_settings: Sequence[str] = ()) -> str:
    """SQL of intervals and how busy the processors were."""
    return BUSY


@dataclass(slots=True)
class Measured:
    """A scenario for `shares` with the observed values by user name."""

    scenario: dict[str, Any]
    observed: dict[str, float] = field(default_factory=dict)
    hungry: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def measured(session: Asked, system: str, end: dt.datetime, *, hungry_above: float) -> Measured:
    """The scenario of one interval. hungry_above: percent of non-idle samples."""
    where = at_end(system, end)
    processors = _processors(session, where)
    shares = {
        userid: (kind, share)
        for userid, kind, share in session.sql(
            f"SELECT userid, share_kind, share FROM guest WHERE {where} AND basis = 'sample'"
        ).rows
    }
    rows = session.sql(
        "SELECT userid, cpu_type, vcpu, cpu_pct, "
        "100 - dormant_pct - coalesce(test_idle_pct, 0) AS awake, cpu_wait_pct + coalesce(limit_wait_pct, 0) "
        f"FROM guest_cpu WHERE {where} AND basis = 'sample' ORDER BY 1, 2, 3"
    ).rows
    measurement = Measured({"model": "shares", "processors": processors, "user": []})
    # If all processors are of one type, so are the virtual processors.
    only = next(iter(processors)) if len(processors) == 1 else None
    by_user: dict[tuple[str, str | None], list[Sequence[Any]]] = {}
    for row in rows:
        by_user.setdefault((row[0], row[1] or only), []).append(row)
    kinds = Counter(user for user, _ in by_user)
    left_out: list[str] = []
    unknown: dict[str, list[str]] = {}
    blind = 0
    for (userid, kind), virtual in by_user.items():
        used = [row[3] for row in virtual if row[3] is not None]
        share_kind, share = shares.get(userid, (None, None))
        if kind is None or kind not in processors or len(used) < len(virtual):
            left_out.append(userid)
            continue
        if share_kind != "relative" or share is None:
            processors[kind] = max(0.0, processors[kind] - sum(used) / 100)
            unknown.setdefault(kind, []).append(userid)
            continue
        name = f"{userid}/{kind}" if kinds[userid] > 1 else userid
        wants = [_hungry(row[4], row[5], hungry_above) for row in virtual]
        blind += wants.count(None)
        measurement.scenario["user"].append(
            {
                "name": name,
                "type": kind,
                "virtual_cpus": len(virtual),
                "relative": round(share),
                "demands": [100.0 if want else use for want, use in zip(wants, used, strict=True)],
            }
        )
        measurement.observed[name] = sum(used)
        measurement.hungry[name] = wants.count(True)
    if not measurement.scenario["user"]:
        measurement.notes.append("the data report no guest with a relative share in this interval")
    for kind, users in unknown.items():
        measurement.notes.append(
            f"{kind}: the data do not report the share of {len(users)} guests ({', '.join(users[:5])}"
            f"{', ...' if len(users) > 5 else ''}); their use is deducted from the processors"
        )
    if left_out:
        measurement.notes.append(
            "left out, because their use or processor type is unknown: "
            f"{', '.join(left_out[:5])}"
            f"{', ...' if len(left_out) > 5 else ''}"
        )
    if session.sql(f"SELECT count(*) FROM cpu WHERE {where} AND parked_pct IS NULL").rows[0][0]:
        measurement.notes.append("parked processors are unknown: all online processors are counted")
    if blind:
        measurement.notes.append(
            f"{blind} virtual processors have no samples of states: their demand is taken to be their use"
        )
    measurement.notes.append("limits and CPU pools are not in these data; add them with settings")
    return measurement


def _processors(session: Asked, where: str) -> dict[str, float]:
    """Logical processors of each type for guests: online and not parked, less CP's own time."""
    rows = session.sql(
        "SELECT cpu_type, sum(coalesce(online_pct, 100) / 100 * (100 - coalesce(parked_pct, 0)) / 100 "
        f"- coalesce(system_pct, 0) / 100) FROM cpu WHERE {where} AND cpu_type IS NOT NULL "
        "GROUP BY cpu_type ORDER BY cpu_type"
    ).rows
    return {kind: max(0.0, number or 0.0) for kind, number in rows}


def _hungry(awake: float | None, waited: float | None, above: float) -> bool | None:
    """Whether a virtual processor waited in more than `above` percent of its non-idle samples."""
    if awake is None or waited is None:
        return None
    return awake > 0 and 100 * waited / awake > above


def compare(session: Asked, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Expected beside observed. settings: `hungry_above=20`, or values of the scenario, as of --set."""
    threshold = constant("hungry_above")
    above, rest = threshold.default, []
    for setting in settings:
        key, _, text = setting.partition("=")
        if key.strip() == "hungry_above":
            above = Number(0, 100).check(Number().read(text), "hungry_above", scenarios.Problem(None))
        else:
            rest.append(setting)
    measurement = measured(session, system, end, hungry_above=above)
    values = measurement.scenario
    for setting in rest:
        values = scenarios.changed(values, setting)
    if not values["user"]:
        return Answer("shares", f"{system} {moments.shown(end)}", [], notes=measurement.notes)
    solved = models.solve("shares", values)
    rows: list[tuple[Value, ...]] = []
    errors = []
    for name, row in by_name(solved.table("users")).items():
        observed = measurement.observed.get(str(name))
        expected = row["allocation"]
        error = None
        if observed is not None and isinstance(expected, float):
            error = observed - expected
            errors.append(error)
        rows.append(
            (
                name,
                row["type"],
                row["entitlement"],
                measurement.hungry.get(str(name)),
                expected,
                observed,
                error,
                row["bound_by"],
            )
        )
    rows.sort(key=lambda row: -abs(row[6]) if isinstance(row[6], float) else 1.0)
    capacity_pct = 100.0 * sum(values["processors"].values())
    figures = [
        Figure("worst", max(map(abs, errors), default=None), "points", "Largest error of a guest", 1),
        Figure("rms", _rms(errors), "points", "Root mean square of the errors", 1),
        Figure(
            "misplaced",
            100.0 * sum(map(abs, errors)) / 2 / capacity_pct if capacity_pct and errors else None,
            "% of the processors",
            "Used by guests other than expected",
            2,
        ),
    ]
    table = Table("compared", "Expected beside observed", _COLUMNS, rows)
    title = f"CP shares of {system}, interval that ended {moments.shown(end)}"
    assumptions = [*solved.assumptions]
    if above == threshold.default:
        assumptions.append(threshold.assumed())
    capacity = ", ".join(f"{number:.2f} {kind}" for kind, number in values["processors"].items())
    notes = [
        f"Processors for guests, measured: {capacity} (online and not parked, less CP's own time)",
        *measurement.notes,
        *(f"changed: {setting}" for setting in rest),
    ]
    return Answer("shares", title, [table], figures, [], notes, assumptions)


def _rms(errors: Sequence[float]) -> float | None:
    return math.sqrt(math.fsum(error * error for error in errors) / len(errors)) if errors else None
