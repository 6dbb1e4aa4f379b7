"""Aliases: a control unit whose volumes get random requests at the rate of the scenario.

Minidisk and paging I/O are the uses that z/VM has; the paging volumes are those of the use PAGING.
"""

from __future__ import annotations

from typing import Any

from zlens.models.aliases import model
from zlens.models.scenario import Scenario
from zlens.simulation.queueing import FREE

Entry = dict[str, Any]
PAGING = "PAGING"
#: Maximum number of requests to a volume; more are refused.
_MOST = 10_000


def machine(scenario: Scenario) -> dict[str, Any]:
    model.check_combinations(scenario)
    error, uses, devices = scenario.error, scenario["use"], scenario["device"]
    names = [use["name"] for use in uses]
    if len(names) > 2 or (len(names) == 2 and PAGING not in names):
        raise error(f"the uses are {', '.join(names[:5])}", f"name them MDISK and {PAGING}",
                    f"one use, or two of which one is {PAGING}")  # fmt: skip
    used = {device["use"] or (names[0] if names else None) for device in devices}
    for name in names:
        if name not in used:
            raise error(f"use.{name} has no device, so it starts no I/O", "add [[device]] with that use")
    unit: Entry = {"name": "LCU", "aliases": scenario["aliases"]}
    if len(uses) == 2:
        shares = {
            ("paging_share" if use["name"] == PAGING else "minidisk_share"): use["share"] for use in uses
        }
        unit |= shares
    notes: list[str] = []
    assumed = uses or [{"name": "all"}]
    return {
        "processors": {"CP": 1},
        "partition": [{"name": "ZVM", "cores": 1, "dedicated": True}],
        "user": [{"name": "IO", "relative": 100, "demand": 0}],
        "control_unit": [unit],
        "volume": [_volume(device) for device in devices],
        "transaction": [
            {
                "name": device["name"],
                "rate": device["rate"],
                # Allen-Cunneen: the factor is half the sum of both variations, and that of service is 1.
                "rate_variation": max(0.0, 2 * model.volume(scenario, device, assumed, notes).burst - 1),
                "most": _MOST,
                "step": [{"io": 1, "user": "IO", "volumes": [device["name"]]}],
            }
            for device in devices
            if device["rate"]
        ],
        "cp": FREE,
    }


def _volume(device: Entry) -> Entry:
    has_parts = device["serv"] is None
    return {
        "name": device["name"],
        "control_unit": "LCU",
        "paging": device["use"] == PAGING,
        "pending": device["pend"] if has_parts else 0.0,
        "connect": device["conn"] if has_parts else device["serv"],
        # The mean over all operations, so every one is disconnected.
        "miss": device["disc"] if has_parts else 0.0,
        "read_hit": 0.0,
        "read": 100.0,
        "variation": 1.0,
    }
