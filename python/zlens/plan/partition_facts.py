"""Facts about a partition that the user adds to the data; they apply before and after."""

from __future__ import annotations

from typing import Any

from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.schema.validators import Number

NEEDS = "machine"
_SCOPES = ("partition",)
_FACT = "fact to add to the data, before and after:"
FORMS = (
    WhatIfKey("polarization", _SCOPES, f"{_FACT} polarization", "horizontal", "vertical or horizontal"),
    WhatIfKey("capped", _SCOPES, f"{_FACT} initial capping", "true", "true or false"),
    WhatIfKey("absolute_cap", _SCOPES, f"{_FACT} absolute capping", "2.5", "cores, above 0"),
)


def change(case: WhatIfCase, setting: Setting) -> None:
    """Add the fact to both scenarios."""
    index = case.one_partition(setting)
    partition = case.machine["partition"][index]
    field = setting.form.field
    if partition.get("dedicated"):
        raise setting.setting_error("its cores are dedicated, so this does not apply", "leave it out")
    value: Any
    if field == "absolute_cap":
        value = setting.decimal(Number(0, 1000, above=True))
    elif field == "capped":
        value = setting.choice("true", "false") == "true"
    else:
        value = setting.choice("vertical", "horizontal")
    case.replace(index, **{field: value})
    # No change has been made yet.
    case.before = case.machine
    case.notes.append(f"{setting.key}={setting.value} applies before and after: assumed")
