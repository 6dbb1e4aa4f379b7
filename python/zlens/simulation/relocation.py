"""Relocations: guests with one virtual CPU that is always busy, so that they change storage as stated."""

from __future__ import annotations

import math
from typing import Any

from zlens.models.relocation import model
from zlens.models.relocation.dirtying import RandomWrites, WriteModel
from zlens.models.scenario import Scenario
from zlens.simulation.queueing import FREE


def machine(scenario: Scenario) -> dict[str, Any]:
    model.check_combinations(scenario)
    guests = scenario["guest"]
    link = scenario["link"]
    for guest in guests:
        if guest["pattern"] == "sweep" and guest["change_rate"]:
            raise scenario.error(
                f'guest.{guest["name"]}.pattern is "sweep"',
                'write pattern = "uniform" with a smaller changing',
                "a pattern of random writes, to be simulated",
            )
    source = link["from"] or "SOURCE"
    # One core is left for CP, which sends.
    cores = len(guests) + 1
    return {
        "processors": {"CP": cores},
        "partition": [{"name": "ZVM", "system": source, "cores": cores, "dedicated": True}],
        "user": [{"name": guest["name"], "relative": 100, "storage": guest["memory"]} for guest in guests],
        # Sending takes no time of guests, as in the model.
        "link": {**link, "at_once": scenario["at_once"], "cpu": 0.0, "receive": 0.0, "message": 0.0},
        "cp": FREE,
        "relocation": [_relocation(scenario, guest) for guest in guests],
    }


def _relocation(scenario: Scenario, guest: dict[str, Any]) -> dict[str, Any]:
    solved = model.guest_of(scenario, guest)
    return {
        "user": guest["name"],
        "to": scenario["link"]["to"] or "TARGET",
        "immediate": solved.immediate,
        "maxquiesce": _limit(solved.max_quiesce),
        "maxtotal": _limit(solved.max_total),
        "touched": model.touched(guest),
        "writes": _writes(solved.writes),
        "walk": scenario["walk"],
        "page_in": solved.page_in,
        "setup": guest["setup"],
        "fixed_quiesce": guest["fixed_quiesce"],
        **{key: scenario[key] for key in ("stop_below", "live_passes", "passes_most", "quiesce_passes")},
        **({} if scenario["no_progress"] is None else {"no_progress": scenario["no_progress"]}),
    }


def _writes(dirtying: WriteModel) -> list[tuple[float, float]]:
    """Return MiB of each kind of storage, and MiB/s written to it."""
    if not isinstance(dirtying, RandomWrites):
        return [(0.0, 0.0)]
    return [(pages / model.PAGES_IN_MIB, pages * rate / model.PAGES_IN_MIB) for pages, rate in dirtying.kinds]


def _limit(seconds: float) -> float | str:
    return "NOLIMIT" if math.isinf(seconds) else seconds
