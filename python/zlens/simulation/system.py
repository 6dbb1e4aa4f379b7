"""Scenarios of an entire machine, which are simulated unchanged."""

from __future__ import annotations

from typing import Any

from zlens.models.scenario import Scenario


def machine(scenario: Scenario) -> dict[str, Any]:
    return scenario.values
