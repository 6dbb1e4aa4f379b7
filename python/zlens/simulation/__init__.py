"""The simulator: runs scenarios that `zlens solve` answers as discrete events.

Each module named after a model converts its scenarios to one of an entire machine; `lowering` converts that
to the input of the native simulator, and `run` simulates it. To simulate another model, add a module and its
name here.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol, cast

from zlens.errors import QueryError
from zlens.models.scenario import Scenario

#: Models whose scenarios can be simulated.
SIMULATED = ("system", "shares", "partitions", "queueing", "unparking", "relocation", "aliases")


class ScenarioLowering(Protocol):
    """Interface of a model's module."""

    def machine(self, scenario: Scenario) -> dict[str, Any]:
        """Return the scenario as the values of one of the model `system`."""


def find(name: str) -> ScenarioLowering:
    """Return the module that converts scenarios of a model to entire machines; QueryError if unknown."""
    if name not in SIMULATED:
        raise QueryError(
            f"{name} scenarios cannot be simulated", expected=f"one of {', '.join(SIMULATED)}",
            cure='write a scenario of model = "system"',
        )  # fmt: skip
    return cast(ScenarioLowering, import_module(f"zlens.simulation.{name}"))
