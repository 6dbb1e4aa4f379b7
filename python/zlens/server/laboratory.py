"""Models: what should happen by a scenario, and what should have happened in a measured interval."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from zlens import models
from zlens.errors import InputError, QueryError, ScenarioError, Wording
from zlens.models import moments, scenario, sweeps
from zlens.models.answer import Answer
from zlens.plan import planning
from zlens.present.rows import iso
from zlens.schema import user_files
from zlens.server import numbers, values
from zlens.server.place import Place, moment

#: What a scenario that is sent is called in messages.
SENT = "scenario"


def solve(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    if asked["check"]:
        return _checked(asked)
    model = asked["model"]
    read = _read(asked)
    with user_files.sealed():
        if asked["sweep"]:
            return {"answer": as_data(sweeps.solve(model, read, asked["sweep"]))}
        return {"answer": as_data(models.solve(model, read))}


def _checked(asked: dict[str, Any]) -> dict[str, Any]:
    """What a scenario assumes and which numbers it holds. A scenario that is wrong is an answer to that."""
    spec = models.find(asked["model"]).SPEC
    try:
        read = _read(asked)
        with user_files.sealed():
            ready = scenario.checked(spec, read)
            held = numbers.of(spec, read)
    except (ScenarioError, InputError, QueryError) as error:
        wrong = {
            "message": error.message,
            "expected": error.expected,
            "cure": error.cure and Wording.as_page(error.cure),
            "kind": type(error).__name__,
        }
        return {"answer": None, "assumptions": [], "numbers": [], "wrong": wrong}
    return {
        "answer": None,
        "assumptions": [_assumption(assumption) for assumption in ready.assumptions],
        "numbers": held,
        "wrong": None,
    }


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    """The scenario that was sent, with what was set in it."""
    try:
        read = user_files.toml(asked["scenario"], SENT, "write it like the example of the model")
    except InputError as error:
        raise ScenarioError(error.message, expected=error.expected, cure=error.cure) from None
    except RecursionError:
        raise ScenarioError("the scenario is nested too deeply", cure="write it flat") from None
    for setting in asked["set"]:
        read = scenario.changed(read, setting)
    return read


def expected(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    """What should have happened beside what did."""
    name = asked["model"]
    module = models.measured(name)
    with user_files.sealed():
        system = moments.system(place.session, module.TABLE, asked["system"])
        at = moment(asked["at"]) if asked["at"] is not None else None
        end = moments.moment(place.session, system, at, module.busy(asked["set"]))
        answer: Answer = module.compare(place.session, system, end, asked["set"])
    return {"answer": as_data(answer), "system": system, "at": values.plain(end)}


def plan(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    """A what-if on a measured interval, before and after; without one, what can be asked of it."""
    at = asked["at"]
    if isinstance(at, int | float):
        at = _clock(at)
    with user_files.sealed():
        if asked["set"]:
            answer = planning.plan(place.session, asked["set"], system=asked["system"], at=at)
        else:
            answer = planning.listed(place.session, system=asked["system"], at=at)
    return {"answer": as_data(answer)}


def _clock(at: float) -> str:
    """A time as --at takes it."""
    try:
        return iso(dt.datetime.fromtimestamp(math.floor(at), dt.UTC))
    except (ValueError, OverflowError, OSError):
        raise QueryError(f"{at:g} is no time", expected="seconds since 1970") from None


def keys(place: Place, asked: dict[str, Any]) -> dict[str, Any]:
    """What a scenario of a model may say, and one to begin with."""
    model = models.find(asked["model"])
    return {
        "name": asked["model"],
        "summary": model.SUMMARY,
        "example": model.EXAMPLE,
        "keys": "".join(scenario.described(model.SPEC)),
    }


def as_data(answer: Answer) -> dict[str, Any]:
    """An answer as the page shows it."""
    answer = answer.worded(Wording.as_page)
    return {
        "model": answer.model,
        "title": answer.title,
        "figures": [
            {
                "key": figure.key,
                "value": values.plain(figure.value),
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
                        "whole": _whole([row[at] for row in table.rows]),
                    }
                    for at, column in enumerate(table.columns)
                ],
                "rows": values.rows(table.rows),
            }
            for table in answer.tables
        ],
        "charts": [
            {
                "title": chart.title,
                "kind": chart.kind,
                "places": values.plain(list(chart.places)),
                "series": [
                    {"name": line.name, "values": values.plain(list(line.values))} for line in chart.series
                ],
                "unit": chart.unit,
                "along": chart.along,
            }
            for chart in answer.charts
        ],
        "notes": list(answer.notes),
        "assumptions": [_assumption(assumption) for assumption in answer.assumptions],
    }


def _whole(found: list[Any]) -> bool:
    """Whether numbers are counts, which text prints without decimals. In JSON 3.0 and 3 are one number."""
    known = [value for value in found if value is not None]
    return bool(known) and all(isinstance(value, int) and not isinstance(value, bool) for value in known)


def _assumption(one: Any) -> dict[str, Any]:
    return {
        "name": one.name,
        "value": values.plain(one.value),
        "unit": one.unit,
        "text": one.text,
        "status": one.status,
        "source": one.source,
    }
