"""Unparking: a z/VM partition among others whose weights entitle it to the cores of the scenario."""

from __future__ import annotations

import math
from typing import Any

from zlens.models.partitions import prsm
from zlens.models.scenario import Scenario
from zlens.models.unparking import policies

Entry = dict[str, Any]
#: Seconds between two decisions of z/VM; a history has a value for each.
_STEP = policies.ZVM_SECONDS
_NAME, _OTHER = "ZVM", "OTHERS"
#: Maximum weight.
_MOST = 999


def machine(scenario: Scenario) -> dict[str, Any]:
    error = scenario.error
    if scenario["policy"] != "zvm":
        raise scenario.problem.value("policy", scenario["policy"], '"zvm", to be simulated')
    uses = scenario["history"] or ([] if scenario["used"] is None else [scenario["used"]])
    if not uses:
        raise error("neither used nor history defines what the partition uses", "add used = 800")
    if scenario["lows_power"] is not None:
        raise error("lows_power follows from the other partitions when simulated", "write [[partition]]")
    if scenario["mediums"] and scenario["medium_share"] is None:
        raise error("medium_share is missing: mediums have an entitlement", "add medium_share = 78")
    cores = scenario["highs"] + scenario["mediums"] + scenario["lows"]
    own = (100 * scenario["highs"] + scenario["mediums"] * (scenario["medium_share"] or 0.0)) / 100
    if not cores or not own:
        raise error("the partition has no cores with entitlement", "write highs = 1 or more")
    others = _others(scenario, own)
    physical = max(1, round(own + math.fsum(entitled for _, entitled, _ in others)))
    heaviest = max([own, *(entitled for _, entitled, _ in others)])
    weights = [max(1, round(_MOST * entitled / heaviest)) for entitled in (own, *(one[1] for one in others))]
    entitled = prsm.entitlements(physical, weights)[0]
    polarity = prsm.vertical(entitled, cores, "all high")
    if (polarity.high, polarity.medium) != (scenario["highs"], scenario["mediums"]):
        raise error(
            f"{scenario['highs']} vertical-highs and {scenario['mediums']} mediums follow from no weights on "
            f"a machine of {physical} cores: {entitled:.2f} cores are {polarity.high} and {polarity.medium}",
            "correct highs, mediums and medium_share, or the entitlements of [[partition]]",
        )
    highest = max(max(uses), 1e-6)
    profile = [
        [time, use / highest] for n, use in enumerate(uses) for time in (_STEP * n, _STEP * (n + 1) - 0.001)
    ]
    cp_keys = ("unparking", "excessuse", "excessuse_high", "excessuse_medium", "excessuse_low",
            "global_performance_data", "cpupad", "projection_factor", "projection_base",
            "low_powered")  # fmt: skip
    return {
        "processors": {"IFL": physical},
        "integer_entitlement": "all high",
        "partition": [
            {"name": _NAME, "type": "IFL", "cores": cores, "weight": weights[0]},
            *(
                {
                    "name": name,
                    "type": "IFL",
                    "cores": max(1, min(physical, math.ceil(max(part, demand)))),
                    "weight": weight,
                    "demand": demand,
                    "polarization": "horizontal",
                }
                for (name, part, demand), weight in zip(others, weights[1:], strict=True)
            ),
        ],
        "user": [
            {
                "name": "WORK",
                "partition": _NAME,
                "type": "IFL",
                "relative": 100,
                "virtual_cpus": cores,
                "demand": highest,
                "load": {"profile": profile if len(uses) > 1 else []},
            }
        ],
        "cp": {key: scenario[key] for key in cp_keys},
    }


def _others(scenario: Scenario, own: float) -> list[tuple[str, float, float]]:
    """Return name, entitlement and demand of the other partitions, in cores."""
    if scenario["partition"]:
        wanted = ("used" if one["demand"] is None else "demand" for one in scenario["partition"])
        return [
            (one["name"], one["entitlement"] / 100, one[key] / 100)
            for one, key in zip(scenario["partition"], wanted, strict=True)
        ]
    excess = (scenario["excess"] or 0.0) / 100
    if not excess and own == int(own):
        # All cores are its own.
        return []
    # The rest of the machine demands all but the excess.
    rest = max(math.ceil(own + excess) - own, 0.001)
    return [(_OTHER, rest, max(0.0, rest - excess))]
