"""Vertical-low cores taken away: of one partition, or of all of the machine."""

from __future__ import annotations

from zlens import models
from zlens.models.answer import by_name
from zlens.models.partitions import measured as partitions
from zlens.models.scenario import Problem
from zlens.plan.case import Asked, Case, Form
from zlens.schema.kinds import Choice

NEEDS = "machine"
FORMS = (
    Form(
        "vertical_lows",
        ("machine", "partition"),
        "logical cores that no weight entitles to anything: vertical-low ones",
        "removed",
        "removed",
    ),
)


def change(case: Case, asked: Asked) -> None:
    """Leaves vertical partitions the high and medium cores that their entitlement makes."""
    Choice(("removed",)).check(asked.value, asked.key, Problem(None))
    wanted = range(len(case.machine["partition"])) if asked.name is None else case.partitions(asked)
    rows = by_name(models.solve("partitions", case.machine).table("polarization"))
    names = list(partitions.shown(case.machine))
    found = False
    for at in wanted:
        row = rows[names[at]]
        if asked.kind not in (None, row["type"]) or row["polarization"] != "vertical":
            continue
        high, medium, low = (int(str(row[key])) for key in ("high", "medium", "low"))
        # A partition keeps one core, whatever it is entitled to.
        after = max(1, high + medium)
        if not low or after == high + medium + low:
            continue
        found = True
        own = case.machine["partition"][at]
        case.changed(asked, f"logical cores of {names[at]}", "cores", own["cores"], after)
        case.replace(at, cores=after)
        used = own.get("demand")
        if used is not None and used > after:
            case.notes.append(
                f"{names[at]} used {used:.2f} cores, and {after} are left without its vertical-lows: it "
                "would get less than it used"
            )
    if not found:
        case.notes.append(f"{asked.key}: there are no vertical-low cores to remove")
