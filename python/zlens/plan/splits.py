"""A partition split into several.

Equal parts share its weight, so together they have its entitlement. Which part would use what it used is
unknown: its use is spread by weight (by cores if they are dedicated).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from zlens.answers.answer import Assumption
from zlens.models.scenario_errors import ScenarioErrors
from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.schema.validators import Integer

NEEDS = "machine"
_VALUE = "2 equal parts or more, or weights 250,125, or with cores 250:4,125:2"
FORMS = (WhatIfKey("split", ("own", "partition"), "a partition split into several", "2", _VALUE),)
_WEIGHT, _CORES = Integer(1, 999), Integer(1, 1000)


def change(case: WhatIfCase, asked: Setting) -> None:
    """Replace a partition by its parts."""
    parts_of = _given_parts if "," in asked.value or ":" in asked.value else _equal_parts
    places = case.partitions(asked)
    if parts_of is _given_parts and len(places) > 1:
        case.one_partition(asked)
    called = {at: case.display_name(at) for at in places}
    for at in reversed(places):
        own = case.machine["partition"][at]
        name, shown = own["name"], called[at]
        weights, cores = parts_of(asked, own)
        case.record_change(asked, f"weight of {shown}", "", own.get("weight"), _joined(weights))
        case.record_change(asked, f"logical cores of {shown}", "cores", own["cores"], _joined(cores))
        by = cores if own.get("dedicated") else weights
        names = [f"{name}-{n}" for n in range(1, len(cores) + 1)]
        taken = {entry["name"] for entry in case.machine["partition"] if entry.get("type") == own.get("type")}
        if taken & set(names):
            raise asked.setting_error(
                "the machine already has partitions with these names", "split another one"
            )
        parts = []
        for part, weight, number, share in zip(names, weights, cores, by, strict=True):
            entry = {**own, "name": part, "cores": number}
            entry |= {} if own.get("dedicated") else {"weight": weight}
            entry |= {"demand": own["demand"] * share / sum(by)} if "demand" in own else {}
            parts.append(entry)
        entries = case.machine["partition"]
        case.machine = {**case.machine, "partition": [*entries[:at], *parts, *entries[at + 1 :]]}
        case.parts[name, own.get("type", "CP")] = [(part, own.get("type", "CP")) for part in names]
        if not own.get("dedicated") and sum(weights) != own["weight"]:
            case.notes.append(
                f"{shown}: the weights of its parts sum to {sum(weights)}, not {own['weight']}: the "
                "entitlement of all partitions changes"
            )
        elif len(set(weights)) > 1 and parts_of is _equal_parts:
            case.notes.append(f"{shown}: weights are whole numbers, so its parts are as equal as can be")
        case.assume(
            Assumption(
                "use_of_parts",
                "by cores" if own.get("dedicated") else "by weight",
                "",
                "the parts of a split partition together want what it used; how much each wants is unknown",
                "ours",
                "zlens",
            )
        )


def _equal_parts(asked: Setting, own: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Weights and cores of equal parts."""
    largest = own["cores"] if own.get("dedicated") else min(own["cores"], own["weight"])
    if largest < 2:
        raise asked.setting_error(f"{own['name']} has {own['cores']} logical core", "set logical_cores first")
    number = asked.amount(Integer(2, largest))
    return _apportion(own.get("weight") or 0, [1] * number), _apportion(own["cores"], [1] * number)


def _given_parts(asked: Setting, own: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Weights and cores as given; without cores, those of the partition are apportioned by weight."""
    parts = [part.partition(":") for part in asked.value.split(",")]
    if len(parts) < 2 or len({bool(colon) for _, colon, _ in parts}) > 1:
        raise ScenarioErrors(None).value(asked.key, asked.value, _VALUE)
    weights = [asked.number(weight, _WEIGHT, _VALUE) for weight, _, _ in parts]
    if own.get("dedicated"):
        raise asked.setting_error(
            "its cores are dedicated, so it has no weight", "split it into equal parts: 2"
        )
    if parts[0][1]:
        return weights, [asked.number(cores, _CORES, _VALUE) for _, _, cores in parts]
    if len(parts) > own["cores"]:
        raise asked.setting_error(
            f"{own['name']} has {own['cores']} logical cores for {len(parts)} parts",
            "give the cores of each: 250:4,125:2",
        )
    return weights, _apportion(own["cores"], weights)


def _apportion(total: int, by: Sequence[int]) -> list[int]:
    """Apportion a whole number in proportion to weights, at least 1 each if it is large enough."""
    exact = [total * weight / sum(by) for weight in by]
    parts = [max(math.floor(amount + 1e-9), 1 if total >= len(by) else 0) for amount in exact]
    while sum(parts) != total:
        step = 1 if sum(parts) < total else -1
        able = [at for at in range(len(by)) if step > 0 or parts[at] > 1]
        at = max(able, key=lambda at: (step * (exact[at] - parts[at]), -at))
        parts[at] += step
    return parts


def _joined(numbers: Sequence[int]) -> str | None:
    return " + ".join(map(str, numbers)) if any(numbers) else None
