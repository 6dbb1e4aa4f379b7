"""Models of the machine that are solved exactly: a scenario goes in, an answer comes out.

Each model is a room whose module `model` has SUMMARY, SPEC (what a scenario may say), EXAMPLE (a scenario
to begin with) and `solve`, a plain function from a checked scenario to an answer. Where a scenario can be
made of a measured interval, its module `measured` has `TABLE` (the measure it asks), `busy(settings)` (SQL of
the busiest interval for it) and `compare(session, system, moment, settings)`, which puts what was measured
beside what should have happened. A new model is a new room and its name here.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from zlens.errors import QueryError
from zlens.models.answer import Answer
from zlens.models.scenario import Scenario, checked
from zlens.schema.kinds import Spec
from zlens.schema.wording import say

#: In the order of the list that is shown.
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
)
#: Models of which a scenario can be made of what was measured.
MEASURED = ("shares", "aliases", "partitions", "capacity", "smt")


class Model(Protocol):
    """What a module of a model has."""

    SUMMARY: str
    SPEC: Spec
    EXAMPLE: str

    def solve(self, scenario: Scenario) -> Answer: ...


def find(name: str) -> Model:
    """The model of a name; QueryError where there is none."""
    if name not in MODELS:
        raise QueryError(f"no model is called {name}", expected=", ".join(MODELS), cure=say("models"))
    return cast(Model, import_module(f"zlens.models.{name}.model"))


def measured(name: str) -> Any:
    """What makes scenarios of a model from measured intervals; QueryError where nothing does."""
    if name not in MEASURED:
        raise QueryError(
            f"no scenario of {name} can be made of what was measured",
            expected=f"one of {', '.join(MEASURED)}",
        )
    return import_module(f"zlens.models.{name}.measured")


def solve(name: str, scenario: Mapping[str, Any], *, file: str | None = None) -> Answer:
    """The answer of a model to a scenario as it stands in TOML; ScenarioError where that is wrong."""
    model = find(name)
    ready = checked(model.SPEC, scenario, file=file)
    answer = model.solve(ready)
    answer.assumptions = [*ready.assumptions, *answer.assumptions]
    return answer
