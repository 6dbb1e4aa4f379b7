"""The work of a z/OS service class in another partition."""

from __future__ import annotations

from zlens.plan.case import Setting, WhatIfCase, WhatIfKey

NEEDS = "machine"
OVER_TIME = True
FORMS = (
    WhatIfKey(
        "partition", ("class",), "partition that does the work of a service class", "PROD2", "a partition"
    ),
)
_ASSUMED = (
    "its CPU time on CPs moves and stays equal; uncaptured time stays, and nothing is added for communication"
)


def change(case: WhatIfCase, setting: Setting) -> None:
    """Move the use of a class from its partitions to another one."""
    moved = [use for use in case.situation.classes if use.name == setting.name]
    if not moved:
        known = sorted({use.name for use in case.situation.classes})
        raise setting.setting_error(
            f"the data has no CPU time of a service class {setting.name}",
            "name one of them" if known else "add its workload records of RMF",
            ", ".join(known) or None,
        )
    target = case.partition_named(setting, setting.value)
    name = case.machine["partition"][target]["name"]
    for use in moved:
        if use.partition == name:
            continue
        source = case.partition_named(setting, use.partition)
        cores = min(use.cores, case.machine["partition"][source].get("demand") or 0.0)
        case.record_change(setting, f"partition of class {use.name}", "", use.partition, name)
        case.replace(source, demand=(case.machine["partition"][source].get("demand") or 0.0) - cores)
        case.replace(target, demand=(case.machine["partition"][target].get("demand") or 0.0) + cores)
    case.assume_own("moved_class", "as used", "", _ASSUMED)
