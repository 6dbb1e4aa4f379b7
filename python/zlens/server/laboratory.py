"""Models: solving a scenario, comparing a model with a measured interval, and plans."""

from __future__ import annotations

from typing import Any

from zlens import models
from zlens.answers.answer import Answer
from zlens.engine.memory_limits import memory_text
from zlens.errors import InputError, QueryError, ScenarioError, Wording
from zlens.inputs.options import parse_time_spec
from zlens.models import interval_choice, scenario, sweeps
from zlens.plan import planning
from zlens.rendering import charts
from zlens.schema import toml, user_files
from zlens.server import json_values, scenario_numbers
from zlens.server.workspace import Workspace

#: Name of a sent scenario in messages.
SENT = "scenario"


def solve(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    if request["check"]:
        return _checked(request)
    model = request["model"]
    scenario_values = _read(request)
    try:
        with user_files.forbid_file_names():
            if request["sweep"]:
                return {"answer": as_data(sweeps.solve(model, scenario_values, request["sweep"]))}
            return {"answer": as_data(models.solve(model, scenario_values))}
    except MemoryError:
        raise ScenarioError(
            f"the scenario needs more than its {memory_text()} of memory", cure="make it smaller"
        ) from None


def _checked(request: dict[str, Any]) -> dict[str, Any]:
    """Assumptions and numbers of a scenario; errors in it are part of the answer."""
    spec = models.find(request["model"]).SPEC
    try:
        scenario_values = _read(request)
        with user_files.forbid_file_names():
            checked = models.prepared(request["model"], scenario_values)
            listed = scenario_numbers.scenario_numbers(spec, scenario_values)
    except (ScenarioError, InputError, QueryError) as error:
        problem = {
            "message": error.message,
            "expected": error.expected,
            "cure": error.cure and Wording.for_web_ui(error.cure),
            "kind": type(error).__name__,
        }
        return {"answer": None, "assumptions": [], "numbers": [], "wrong": problem}
    return {
        "answer": None,
        "assumptions": [_assumption(assumption) for assumption in checked.assumptions],
        "numbers": listed,
        "wrong": None,
    }


def _read(request: dict[str, Any]) -> dict[str, Any]:
    """The sent scenario with the changes of `set`."""
    try:
        scenario_values = toml.parse(request["scenario"])
    except toml.TomlError as error:
        cure = "follow the example of the model"
        raise ScenarioError(f"is not valid TOML: {error}", cure=cure) from None
    for setting in request["set"]:
        scenario_values = scenario.apply_setting(scenario_values, setting)
    return scenario_values


def expected(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Expected and observed values of a measured interval."""
    name = request["model"]
    module = models.measured(name)
    with user_files.forbid_file_names():
        system = interval_choice.choose_system(place.session, module.TABLE, request["system"])
        at = parse_time_spec(request["at"]) if request["at"] is not None else None
        end = interval_choice.choose_interval(place.session, system, at, module.busy(request["set"]))
        answer: Answer = module.compare(place.session, system, end, request["set"])
    return {"answer": as_data(answer), "system": system, "at": json_values.json_value(end)}


def plan(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """A measured interval solved before and after a change; without one, what can be changed."""
    with user_files.forbid_file_names():
        if request["set"]:
            answer = planning.plan(place.session, request["set"], system=request["system"], at=request["at"])
        else:
            answer = planning.list_settings(place.session, system=request["system"], at=request["at"])
    return {"answer": as_data(answer)}


def keys(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """The keys of a scenario of a model, and an example."""
    model = models.find(request["model"])
    return {
        "name": request["model"],
        "summary": model.SUMMARY,
        "example": model.EXAMPLE,
        "keys": "".join(scenario.describe_keys(model.SPEC)),
    }


def as_data(answer: Answer) -> dict[str, Any]:
    """The answer in the form that the page shows."""
    answer = answer.worded(Wording.for_web_ui)
    return {
        "model": answer.model,
        "title": answer.title,
        "figures": [
            {
                "key": figure.key,
                "value": json_values.json_value(figure.value),
                "unit": figure.unit,
                "text": figure.text,
                "decimals": figure.decimals,
            }
            for figure in answer.figures
        ],
        "tables": [
            {
                "key": table.key,
                "title": table.title,
                "columns": [
                    {
                        "key": column.key,
                        "heading": column.heading,
                        "unit": column.unit,
                        "text": column.text,
                        "decimals": column.decimals,
                        "whole": _whole([row[index] for row in table.rows]),
                    }
                    for index, column in enumerate(table.columns)
                ],
                "rows": json_values.rows(table.rows),
            }
            for table in answer.tables
        ],
        "charts": [json_values.json_value(charts.as_data(chart)) for chart in answer.charts],
        "notes": list(answer.notes),
        "assumptions": [_assumption(assumption) for assumption in answer.assumptions],
    }


def _whole(cells: list[Any]) -> bool:
    """Whether all values are integers, shown without decimals; in JSON, 3.0 and 3 are the same."""
    numbers = [value for value in cells if value is not None]
    return bool(numbers) and all(isinstance(value, int) and not isinstance(value, bool) for value in numbers)


def _assumption(assumption: Any) -> dict[str, Any]:
    return {
        "name": assumption.name,
        "value": json_values.json_value(assumption.value),
        "unit": assumption.unit,
        "text": assumption.text,
        "status": assumption.status,
        "source": assumption.source,
    }
