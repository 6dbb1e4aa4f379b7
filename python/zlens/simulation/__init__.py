"""The simulator: runs scenarios that `zlens solve` answers as discrete events.

Each module named after a model converts its scenarios to one of an entire machine (`machine`); `lowering`
converts that to the input of the native simulator, and `run` simulates it. To simulate another model, add a
module and its name here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from zlens.errors import QueryError
from zlens.models.scenario import Scenario

#: Models whose scenarios can be simulated.
SIMULATED = ("system", "shares", "partitions", "queueing", "unparking", "relocation", "aliases")


def find(name: str) -> Callable[[Scenario], dict[str, Any]]:
    """Return what converts scenarios of a model to values of the model `system`; QueryError if unknown."""
    if name not in SIMULATED:
        raise QueryError(
            f"{name} scenarios cannot be simulated", expected=f"one of {', '.join(SIMULATED)}",
            cure='write a scenario of model = "system"',
        )  # fmt: skip
    machine: Callable[[Scenario], dict[str, Any]] = import_module(f"zlens.simulation.{name}").machine
    return machine
