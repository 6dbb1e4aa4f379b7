"""A partition split into several.

Equal parts share its weight, so in total they have its entitlement. It is unknown which part would use what
it used, so its use is distributed by weight (by cores if they are dedicated).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from zlens.models.scenario_errors import ScenarioErrors
from zlens.plan.case import Setting, WhatIfCase, WhatIfKey
from zlens.schema.validators import Integer

NEEDS = "machine"
_VALUE = "2 equal parts or more, or weights 250,125, or with cores 250:4,125:2"
FORMS = (WhatIfKey("split", ("own", "partition"), "a partition split into several", "2", _VALUE),)
_WEIGHT, _CORES = Integer(1, 999), Integer(1, 1000)


def change(case: WhatIfCase, setting: Setting) -> None:
    """Replace a partition by its parts."""
    parts_of = _given_parts if "," in setting.value or ":" in setting.value else _equal_parts
    indices = case.partitions(setting)
    if parts_of is _given_parts and len(indices) > 1:
        case.one_partition(setting)
    names_by_index = {index: case.display_name(index) for index in indices}
    for index in reversed(indices):
        partition = case.machine["partition"][index]
        name, shown, dedicated = partition["name"], names_by_index[index], partition.get("dedicated")
        kind = partition.get("type", "CP")
        weights, cores = parts_of(setting, partition)
        case.record_change(setting, f"weight of {shown}", "", partition.get("weight"), _joined(weights))
        case.record_change(setting, f"logical cores of {shown}", "cores", partition["cores"], _joined(cores))
        by = cores if dedicated else weights
        names = [f"{name}-{n}" for n in range(1, len(cores) + 1)]
        taken = {
            entry["name"] for entry in case.machine["partition"] if entry.get("type") == partition.get("type")
        }
        if taken & set(names):
            why = "the machine already has partitions with these names"
            raise setting.setting_error(why, "split another one")
        parts = []
        for part, weight, number, share in zip(names, weights, cores, by, strict=True):
            entry = {**partition, "name": part, "cores": number}
            entry |= {} if dedicated else {"weight": weight}
            entry |= {"demand": partition["demand"] * share / sum(by)} if "demand" in partition else {}
            parts.append(entry)
        entries = case.machine["partition"]
        case.machine = {**case.machine, "partition": [*entries[:index], *parts, *entries[index + 1 :]]}
        case.parts[name, kind] = [(part, kind) for part in names]
        if not dedicated and sum(weights) != partition["weight"]:
            case.notes.append(
                f"{shown}: the weights of its parts sum to {sum(weights)}, not {partition['weight']}: the "
                "entitlement of all partitions changes"
            )
        elif len(set(weights)) > 1 and parts_of is _equal_parts:
            case.notes.append(f"{shown}: weights are integers, so its parts are as equal as possible")
        how = "by cores" if dedicated else "by weight"
        text = "the parts of a split partition want its use in total; the demand of each is unknown"
        case.assume_own("use_of_parts", how, "", text)


def _equal_parts(setting: Setting, partition: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return weights and cores of equal parts."""
    cores, weight = partition["cores"], partition.get("weight") or 0
    largest = cores if partition.get("dedicated") else min(cores, weight)
    if largest < 2:
        raise setting.setting_error(
            f"{partition['name']} has {cores} logical core", "set logical_cores first"
        )
    equal = [1] * setting.amount(Integer(2, largest))
    return _apportion(weight, equal), _apportion(cores, equal)


def _given_parts(setting: Setting, partition: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return the weights and cores of the setting; without cores, those are apportioned by weight."""
    parts = [part.partition(":") for part in setting.value.split(",")]
    if len(parts) < 2 or len({bool(colon) for _, colon, _ in parts}) > 1:
        raise ScenarioErrors(None).value(setting.key, setting.value, _VALUE)
    weights = [setting.number(weight, _WEIGHT, _VALUE) for weight, _, _ in parts]
    if partition.get("dedicated"):
        why = "its cores are dedicated, so it has no weight"
        raise setting.setting_error(why, "split it into equal parts: 2")
    if parts[0][1]:
        return weights, [setting.number(cores, _CORES, _VALUE) for _, _, cores in parts]
    if len(parts) > partition["cores"]:
        why = f"{partition['name']} has {partition['cores']} logical cores for {len(parts)} parts"
        raise setting.setting_error(why, "set the cores of each: 250:4,125:2")
    return weights, _apportion(partition["cores"], weights)


def _apportion(total: int, by: Sequence[int]) -> list[int]:
    """Apportion an integer in proportion to weights, at least 1 each if it is large enough."""
    exact = [total * weight / sum(by) for weight in by]
    parts = [max(math.floor(amount + 1e-9), 1 if total >= len(by) else 0) for amount in exact]
    while sum(parts) != total:
        step = 1 if sum(parts) < total else -1
        able = [index for index in range(len(by)) if step > 0 or parts[index] > 1]
        index = max(able, key=lambda index: (step * (exact[index] - parts[index]), -index))
        parts[index] += step
    return parts


def _joined(numbers: Sequence[int]) -> str | None:
    return " + ".join(map(str, numbers)) if any(numbers) else None
