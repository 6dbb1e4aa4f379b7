"""Models of the machine that are solved exactly: a scenario goes in, an answer comes out.

Each model is a package whose module `model` has SUMMARY, SPEC (the keys of a scenario), EXAMPLE (a scenario
to start from) and `solve`, a plain function from a checked scenario to an answer. Where a scenario can be
built from a measured interval, its module `measured` has `TABLE` (the measure it queries), `busy(settings)`
(SQL for how busy each interval was) and `compare(session, system, moment, settings)`, which shows observed
beside expected values. To add a model, add a package and list its name here.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from zlens.answers.answer import Answer
from zlens.errors import QueryError, ScenarioError
from zlens.models import simulation_spec
from zlens.models.scenario import Scenario, check_scenario
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


class Model(Protocol):
    """The interface of a model's module."""

    SUMMARY: str
    SPEC: Spec
    EXAMPLE: str

    def solve(self, scenario: Scenario) -> Answer: ...


def find(name: str) -> Model:
    """The model with this name; QueryError if there is none."""
    if name not in MODELS:
        raise QueryError(f"no model is called {name}", expected=", ".join(MODELS), cure=phrase("models"))
    return cast(Model, import_module(f"zlens.models.{name}.model"))


def measured(name: str) -> Any:
    """The module that builds scenarios of a model from measured intervals; QueryError if it has none."""
    if name not in MEASURED:
        raise QueryError(
            f"{name} scenarios cannot be built from measured data",
            expected=f"one of {', '.join(MEASURED)}",
        )
    return import_module(f"zlens.models.{name}.measurement")


def prepared(name: str, scenario: Mapping[str, Any], *, file: str | None = None) -> Scenario:
    """A scenario checked for a model; it may also have the tables that only a simulation uses."""
    other = scenario.get("model")
    if isinstance(other, str) and other != name:
        said = f"the scenario is for the model {other}, not {name}"
        raise ScenarioError(said, file=file, cure=phrase("solve_model", model=other))
    return check_scenario(Spec((*simulation_spec.KEYS, *find(name).SPEC.keys)), scenario, file=file)


def solve(name: str, scenario: Mapping[str, Any], *, file: str | None = None) -> Answer:
    """The answer of a model to a scenario as parsed from TOML; ScenarioError if the scenario is wrong."""
    model = find(name)
    ready = prepared(name, scenario, file=file)
    answer = model.solve(ready)
    answer.assumptions = [*ready.assumptions, *answer.assumptions]
    return answer
