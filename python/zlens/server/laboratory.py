"""Models: scenarios, comparisons with measured intervals, and what-ifs; results of the rig."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from zlens import models
from zlens.engine.memory_limits import memory_text
from zlens.errors import InputError, QueryError, ScenarioError, Wording
from zlens.inputs.options import parse_time_spec
from zlens.models import interval_choice, scenario, sweeps
from zlens.plan import planning
from zlens.rendering import charts
from zlens.rendering.answer import Answer
from zlens.schema import toml, user_files
from zlens.server import json_values, rig_runs, scenario_numbers
from zlens.server.workspace import Workspace


def solve(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
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
            f"the scenario needs more than its {memory_text()} of memory", cure="reduce it"
        ) from None


def _checked(request: dict[str, Any]) -> dict[str, Any]:
    """Return assumptions and numbers of a scenario; its errors are part of the response."""
    spec = models.find(request["model"]).spec
    try:
        scenario_values = _read(request)
        with user_files.forbid_file_names():
            checked = models.prepared(request["model"], scenario_values)
            numbers = scenario_numbers.scenario_numbers(spec, scenario_values)
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
        "assumptions": [json_values.json_value(asdict(assumption)) for assumption in checked.assumptions],
        "numbers": numbers,
        "wrong": None,
    }


def _read(request: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario of a request with the changes of `set`."""
    try:
        scenario_values = toml.parse(request["scenario"])
    except toml.TomlError as error:
        cure = "follow the example of the model"
        raise ScenarioError(f"is not valid TOML: {error}", cure=cure) from None
    for setting in request["set"]:
        scenario_values = scenario.apply_setting(scenario_values, setting)
    return scenario_values


def expected(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return expected and observed values of a measured interval."""
    name = request["model"]
    module = models.measured(name)
    with user_files.forbid_file_names():
        system = interval_choice.choose_system(workspace.session, module.TABLE, request["system"])
        time = parse_time_spec(request["at"]) if request["at"] is not None else None
        end = interval_choice.choose_interval(workspace.session, system, time, module.busy(request["set"]))
        answer: Answer = module.compare(workspace.session, system, end, request["set"])
    return {"answer": as_data(answer), "system": system, "at": json_values.json_value(end)}


def plan(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Solve a measured interval before and after a change; without one, list what can be changed."""
    with user_files.forbid_file_names():
        if request["set"]:
            answer = planning.plan(
                workspace.session, request["set"], system=request["system"], at=request["at"]
            )
        else:
            answer = planning.list_settings(workspace.session, system=request["system"], at=request["at"])
    return {"answer": as_data(answer)}


def keys(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the keys and an example of a scenario of a model."""
    model = models.find(request["model"])
    return {
        "name": request["model"],
        "summary": model.summary,
        "example": model.example,
        "keys": "".join(scenario.describe_keys(model.spec)),
    }


def as_data(answer: Answer) -> dict[str, Any]:
    """Convert an answer to JSON values for the web UI."""
    answer = answer.worded(Wording.for_web_ui)
    return {
        "model": answer.model,
        "title": answer.title,
        "figures": [json_values.json_value(asdict(figure)) for figure in answer.figures],
        "tables": [*map(json_values.answer_table, answer.tables)],
        "charts": [json_values.json_value(charts.as_data(chart)) for chart in answer.charts],
        "notes": list(answer.notes),
        "assumptions": [json_values.json_value(asdict(assumption)) for assumption in answer.assumptions],
    }


def rig(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the results of the rig; each run shows whether its monitor data can be opened."""
    if workspace.runs is None:
        raise QueryError("this server has no rig runs", cure="serve their folder")
    results, names = workspace.runs.results(), set(workspace.runs.names())
    for rig_scenario, run in rig_runs.runs_of(results):
        run["opens"] = f"{rig_scenario}/{run['name']}" in names
        for key in ("files", "throughput"):
            run.pop(key, None)
    return results
