"""The weight of a partition."""

from __future__ import annotations

from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.schema.validators import Integer

NEEDS = "machine"
FORMS = (
    WhatIfKey(
        "weight", ("own", "partition"), "processing weight of a partition", "300", "an integer, 1 to 999"
    ),
)
_WEIGHT = Integer(1, 999)


def change(case: WhatIfCase, setting: Setting) -> None:
    """Set the weight. PR/SM allows integers from 1 to 999."""
    index = case.one_partition(setting)
    partition = case.machine["partition"][index]
    if partition.get("dedicated"):
        why = "its cores are dedicated, so it has no weight"
        raise setting.setting_error(why, "set logical_cores or split instead")
    after = setting.amount(_WEIGHT, partition["weight"])
    case.record_change(setting, f"weight of {case.display_name(index)}", "", partition["weight"], after)
    case.replace(index, weight=after)
