"""Shares of a guest: relative or absolute, and a maximum share with its limit."""

from __future__ import annotations

import difflib
from typing import Any

from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.schema.plain_text import format_list
from zlens.schema.validators import Integer, Number
from zlens.schema.wording import phrase

NEEDS = "guests"
_ONLY = ("user",)
_RELATIVE, _ABSOLUTE = Integer(1, 10_000), Number(0.1, 100)
_REL, _ABS = "an integer, 1 to 10,000", "percent of all processors, 0.1 to 100"
_MAXIMUM = "maximum share, with limit"
_HOW = "hard or soft, with a maximum share; or none"
FORMS = (
    WhatIfKey("relative", _ONLY, "relative share of a guest", "200", _REL),
    WhatIfKey("absolute", _ONLY, "absolute share of a guest", "20", _ABS),
    WhatIfKey("maximum_relative", _ONLY, _MAXIMUM, "300", _REL, "limit=hard"),
    WhatIfKey("maximum_absolute", _ONLY, _MAXIMUM, "25", _ABS, "limit=hard"),
    WhatIfKey("limit", _ONLY, "how its maximum share is enforced", "hard", _HOW, "maximum_absolute=25"),
)
#: The share that each share replaces.
_EXCLUDES = {
    "relative": "absolute",
    "absolute": "relative",
    "maximum_relative": "maximum_absolute",
    "maximum_absolute": "maximum_relative",
}
_UNITS = {"absolute": "% of all", "maximum_absolute": "% of all"}


def change(case: WhatIfCase, setting: Setting) -> None:
    """Set a share, maximum or limit; a relative share replaces an absolute one and vice versa.

    Like SET SHARE without a type, it applies to virtual CPUs of all types.
    """
    field = setting.form.field
    users = case.guests["user"]
    indices = _places(case, setting)
    guest: dict[str, Any] = dict(users[indices[0]])
    before = guest.get(field, "none" if field == "limit" else None)
    after: Any
    if field == "limit":
        after = setting.choice("hard", "soft", "none")
    elif field.endswith("relative"):
        after = setting.amount(_RELATIVE, before)
    else:
        after = setting.decimal(_ABSOLUTE)
    instead = _EXCLUDES.get(field, "")
    replaced = [(instead, guest[instead], None)] if instead in guest else []
    for key, old, new in (*replaced, (field, before, after)):
        subject = "limit" if key == "limit" else f"{key.replace('_', ' ')} share"
        case.record_change(setting, f"{subject} of {guest['name']}", _UNITS.get(key, ""), old, new)
    removed = {instead} if after != "none" else {"maximum_relative", "maximum_absolute"}
    changed = [
        {**{key: value for key, value in user.items() if key not in removed}, field: after}
        if index in indices
        else user
        for index, user in enumerate(users)
    ]
    case.guests = {**case.guests, "user": changed}
    case.limited[guest["name"]] = setting


def check_limits(case: WhatIfCase) -> None:
    """Check after all changes that every limit has a maximum share and vice versa."""
    for guest in case.guests.get("user", ()):
        setting = case.limited.get(guest["name"])
        limit = guest.get("limit", "none") != "none"
        maximum = any(key in guest for key in ("maximum_relative", "maximum_absolute"))
        if setting is None or limit == maximum:
            continue
        why, missing = "a limit needs a maximum share", "maximum_absolute=25"
        if maximum:
            why, missing = "a maximum share needs a limit", "limit=hard"
        raise setting.setting_error(why, phrase("add_set", what=f"user.{guest['name']}.{missing}"))


def _places(case: WhatIfCase, setting: Setting) -> list[int]:
    names = [user["name"] for user in case.guests["user"]]
    for requested in (setting.name, (setting.name or "").upper()):
        if requested in names:
            return [index for index, name in enumerate(names) if name == requested]
    names = list(dict.fromkeys(names))
    near = difflib.get_close_matches((setting.name or "").upper(), names, 1)
    raise setting.setting_error(
        f"the data reports no guest {setting.name} with a share",
        f"did you mean {near[0]}?" if near else phrase("plan_of_file"),
        format_list(names, 10),
    )
