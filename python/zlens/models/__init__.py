"""Models of the machine with exact solutions: each computes an answer from a scenario.

Each model is a package whose module `model` has SUMMARY and `solve`, a plain function from a checked scenario
to an answer; the keys of its scenarios are in facts/keys, one to start from in facts/examples. Where a
scenario can be built from a measured interval, its module `measurement` has `TABLE` (the measure it queries),
`busy(settings)` (SQL of the utilization of each interval) and `compare(session, system, end, settings)`, that
compares expected with observed values. To add a model, add a package and list its name here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from msgspec import Struct

from zlens.errors import QueryError, ScenarioError
from zlens.models.scenario import Scenario, check_scenario, example
from zlens.models.scenario_keys import key_table
from zlens.rendering.answer import Answer
from zlens.schema.validators import Spec
from zlens.schema.wording import phrase

#: In the order in which they are listed.
MODELS = (
    "shares",
    "partitions",
    "queueing",
    "unparking",
    "relocation",
    "smt",
    "capacity",
    "aliases",
    "paging",
    "system",
)
#: Models whose scenarios can be built from measured intervals.
MEASURED = ("shares", "aliases", "partitions", "capacity", "smt")


class Model(Struct, frozen=True):
    """A model or a study: the keys of its scenarios, one to start from, and the solver."""

    summary: str
    spec: Spec
    example: str
    solve: Callable[..., Answer]


def find(name: str) -> Model:
    """Return the model with this name; raise QueryError if there is none."""
    if name not in MODELS:
        raise QueryError(f"no model is called {name}", expected=", ".join(MODELS), cure=phrase("models"))
    module = import_module(f"zlens.models.{name}.model")
    return Model(module.SUMMARY, key_table(f"{name}.scenario"), example(name), module.solve)


def measured(name: str) -> Any:
    """Return the module that builds scenarios from measured intervals; raise QueryError if there is none."""
    if name not in MEASURED:
        message = f"{name} scenarios cannot be built from measured data"
        raise QueryError(message, expected=f"one of {', '.join(MEASURED)}")
    return import_module(f"zlens.models.{name}.measurement")


def prepared(name: str, scenario: Mapping[str, Any], *, file: str | None = None) -> Scenario:
    """Return a scenario checked for a model; it may also have the tables that only a simulation uses."""
    scenario_model = scenario.get("model")
    if isinstance(scenario_model, str) and scenario_model != name:
        message = f"the scenario is for the model {scenario_model}, not {name}"
        raise ScenarioError(message, file=file, cure=phrase("solve_model", model=scenario_model))
    common = key_table("simulation.scenario").keys
    return check_scenario(Spec((*common, *find(name).spec.keys)), scenario, file=file)


def solve(name: str, scenario: Mapping[str, Any], *, file: str | None = None) -> Answer:
    """Return the answer of a model to a scenario parsed from TOML; raise ScenarioError if it is invalid."""
    model = find(name)
    ready = prepared(name, scenario, file=file)
    answer = model.solve(ready)
    answer.assumptions = [*ready.assumptions, *answer.assumptions]
    return answer
