"""Shares: a z/VM system on a machine with exactly its processors, all dedicated."""

from __future__ import annotations

from typing import Any

from zlens.models.scenario import Scenario
from zlens.models.shares import model

#: Name of the partition and of its system.
NAME = "ZVM"


def machine(scenario: Scenario) -> dict[str, Any]:
    model.check_combinations(scenario)
    processors = {}
    for kind, number in scenario["processors"].items():
        if number != int(number):
            raise scenario.problem.value(
                f"processors.{kind}", number, "an integer number of processors, to be simulated"
            )
        processors[kind] = int(number)
    return {
        "processors": processors,
        "partition": [
            {"name": NAME, "type": kind, "cores": count, "dedicated": True}
            for kind, count in processors.items()
            if count
        ],
        "user": scenario["user"],
        "pool": scenario["pool"],
        "absolute_shares_at_most": scenario["absolute_shares_at_most"],
    }
