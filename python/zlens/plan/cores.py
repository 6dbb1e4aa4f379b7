"""Cores: logical cores of a partition, or physical cores of the machine."""

from __future__ import annotations

from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.schema.validators import Integer

NEEDS = "machine"
_VALUE = "+1 or -2: more or fewer; 8: that many"
FORMS = (
    WhatIfKey("logical_cores", ("own", "partition"), "logical cores of a partition", "+1", _VALUE),
    WhatIfKey("physical_cores", ("machine",), "physical cores of the machine", "+1", _VALUE),
)
_CORES = Integer(1, 1000)


def change(case: WhatIfCase, setting: Setting) -> None:
    """Change the number of cores."""
    if setting.form.field == "physical_cores":
        _physical(case, setting)
        return
    index = case.one_partition(setting)
    partition = case.machine["partition"][index]
    after = setting.amount(_CORES, partition["cores"])
    case.record_change(
        setting, f"logical cores of {case.display_name(index)}", "cores", partition["cores"], after
    )
    case.replace(index, cores=after)
    if partition.get("dedicated"):
        more = after - partition["cores"]
        case.notes.append(
            f"{case.display_name(index)}: its cores are dedicated, so the others share {abs(more)} "
            f"{'fewer' if more > 0 else 'more'}"
        )


def _physical(case: WhatIfCase, setting: Setting) -> None:
    kind = case.one_type(setting)
    current = case.machine["processors"][kind]
    after = setting.amount(_CORES, current)
    case.record_change(setting, f"physical cores of type {kind}", "cores", current, after)
    case.machine = {**case.machine, "processors": {**case.machine["processors"], kind: after}}
