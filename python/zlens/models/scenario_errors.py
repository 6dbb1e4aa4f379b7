"""Collects errors and assumptions of a scenario, separately for the answer and for the simulation."""

from __future__ import annotations

from typing import Any

from msgspec import field
from msgspec.structs import replace

from zlens.errors import ScenarioError, ZlensError
from zlens.models.constants import constant
from zlens.rendering.answer import Assumption
from zlens.schema import validators
from zlens.schema.validators import Spec


class ScenarioErrors(validators.DocumentErrors):
    """Builds the errors of one scenario and collects its assumptions.

    assumed   assumptions of its answer
    moving    assumptions of its simulation only
    """

    error: type[ZlensError] = ScenarioError
    root: str = "the scenario"
    assumed: dict[str, Assumption] = field(default_factory=dict)
    moving: dict[str, Assumption] = field(default_factory=dict)

    def constant(self, name: str) -> Any:
        assumption = constant(name)
        if name not in self.assumed:
            self.assumed[name] = assumption.assumed()
        return assumption.default


class SimulationSpec(Spec, frozen=True):
    """A table that only a simulation uses; its defaults are not assumptions of a solved answer."""

    def check(self, value: Any, where: str, problem: validators.DocumentErrors) -> Any:
        if isinstance(problem, ScenarioErrors):
            problem = replace(problem, assumed=problem.moving)
        return super().check(value, where, problem)
