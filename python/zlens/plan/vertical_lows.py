"""Removes vertical-low cores from one partition or from all."""

from __future__ import annotations

from zlens import models
from zlens.models.partitions import measurement as partitions
from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.rendering.answer import by_name

NEEDS = "machine"
FORMS = (
    WhatIfKey(
        "vertical_lows",
        ("machine", "partition"),
        "vertical-low cores: logical cores without entitlement",
        "removed",
        "removed",
    ),
)


def change(case: WhatIfCase, setting: Setting) -> None:
    """Reduce vertical partitions to the high and medium cores of their entitlement."""
    setting.choice("removed")
    indices = range(len(case.machine["partition"])) if setting.name is None else case.partitions(setting)
    rows = by_name(models.solve("partitions", case.machine).table("polarization"))
    names = list(partitions.display_names(case.machine))
    any_removed = False
    for index in indices:
        row = rows[names[index]]
        if setting.kind not in (None, row["type"]) or row["polarization"] != "vertical":
            continue
        high, medium, low = (int(str(row[key])) for key in ("high", "medium", "low"))
        # A partition has at least one core.
        after = max(1, high + medium)
        if not low or after == high + medium + low:
            continue
        any_removed = True
        partition = case.machine["partition"][index]
        case.record_change(setting, f"logical cores of {names[index]}", "cores", partition["cores"], after)
        case.replace(index, cores=after)
        used = partition.get("demand")
        if used is not None and used > after:
            case.notes.append(
                f"{names[index]} used {used:.2f} cores, but without its vertical-lows only {after} are left: "
                "it would get less than it used"
            )
    if not any_removed:
        case.notes.append(f"{setting.key}: no vertical-low cores to remove")
