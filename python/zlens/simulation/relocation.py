"""Relocations: guests of one virtual CPU that is always busy, so that they change storage as stated."""

from __future__ import annotations

import math
from typing import Any

from zlens.models.relocation import model
from zlens.models.scenario import Scenario


def machine(scenario: Scenario) -> dict[str, Any]:
    model.check_combinations(scenario)
    guests = scenario["guest"]
    link = scenario["link"]
    for guest in guests:
        if guest["pattern"] != "uniform" and guest["change_rate"]:
            raise scenario.problem.wrong(
                f'guest.{guest["name"]}.pattern is "{guest["pattern"]}"',
                'write pattern = "uniform" with a smaller changing',
                '"uniform", to be simulated',
            )
    source = link["from"] or "SOURCE"
    # One core is left for CP, which sends.
    cores = len(guests) + 1
    return {
        "processors": {"CP": cores},
        "partition": [{"name": "ZVM", "system": source, "cores": cores, "dedicated": True}],
        "user": [{"name": guest["name"], "relative": 100, "storage": guest["memory"]} for guest in guests],
        "link": {**link, "at_once": scenario["at_once"]},
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
        "change_rate": guest["change_rate"],
        "changing": model.changing(guest),
        "setup": guest["setup"],
        "fixed_quiesce": guest["fixed_quiesce"],
        **{key: scenario[key] for key in ("stop_below", "live_passes", "passes_most", "quiesce_passes")},
        **({} if scenario["no_progress"] is None else {"no_progress": scenario["no_progress"]}),
    }


def _limit(seconds: float) -> float | str:
    return "NOLIMIT" if math.isinf(seconds) else seconds
