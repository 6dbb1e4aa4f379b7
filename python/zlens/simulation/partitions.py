"""Partitions: each uses its demand; z/VM records them from those with `zvm`, or else from the first."""

from __future__ import annotations

from typing import Any

from zlens.models.partitions import model
from zlens.models.scenario import Scenario
from zlens.models.scenario_keys import key_table


def machine(scenario: Scenario) -> dict[str, Any]:
    model.check_combinations(scenario)
    return {name: scenario[name] for name in key_table("partitions.scenario").by_name}
