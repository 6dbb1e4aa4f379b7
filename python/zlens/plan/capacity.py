"""Limits of z/OS on the rolling average: defined capacity, capacity groups and their limits."""

from __future__ import annotations

from typing import Any

from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.schema.validators import Number

NEEDS = "machine"
#: Limits of an average apply over time.
OVER_TIME = True
#: Groups come first: partitions join them.
FORMS = (
    WhatIfKey(
        "capacity", ("group",), "limit of the four-hour average of a capacity group", "200", "MSU; 0 for none"
    ),
    WhatIfKey(
        "defined_capacity",
        ("own", "partition"),
        "defined capacity: limit of a partition's four-hour average",
        "100",
        "MSU; 0 for none",
    ),
    WhatIfKey(
        "capacity_group",
        ("partition",),
        "capacity group of a partition",
        "GROUP1",
        "a group of the data or of a group.NAME.capacity; or none",
    ),
)
_MSU = Number(0, 1_000_000)


def change(case: WhatIfCase, setting: Setting) -> None:
    """Set a limit, or the group of a partition."""
    field = setting.form.field
    groups: list[dict[str, Any]] = case.machine.get("group", [])
    if field == "capacity":
        limit = setting.decimal(_MSU)
        before = next((group["capacity"] for group in groups if group["name"] == setting.name), None)
        others = [group for group in groups if group["name"] != setting.name]
        added = [{"name": setting.name, "capacity": limit}] if limit else []
        case.record_change(setting, f"limit of capacity group {setting.name}", "MSU", before, limit or None)
        case.machine = {**case.machine, "group": [*others, *added]}
        return
    index = case.partition_named(setting, setting.name or case.own_partition(setting))
    partition = case.machine["partition"][index]
    name = partition["name"]
    if field == "capacity_group":
        group = None if setting.value.lower() == "none" else setting.value
        known = [each["name"] for each in groups]
        if group is not None and group not in known:
            cure, expected = f"add group.{group}.capacity=MSU", ", ".join(known) or "a group"
            raise setting.setting_error(f"there is no capacity group {group}", cure, expected)
        case.record_change(setting, f"capacity group of {name}", "", partition.get("capacity_group"), group)
        case.replace(index, capacity_group=group)
        return
    if partition.get("dedicated"):
        raise setting.setting_error("its cores are dedicated, so it has no defined capacity", "leave it out")
    limit = setting.decimal(_MSU)
    case.record_change(
        setting, f"defined capacity of {name}", "MSU", partition.get("defined_capacity"), limit or None
    )
    case.replace(index, defined_capacity=limit or None)
