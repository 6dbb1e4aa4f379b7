"""Endpoints of models, what-ifs and the rig."""

from __future__ import annotations

from zlens import models
from zlens.schema.validators import Boolean, Choice, Key, ListOf, Text, Timestamp
from zlens.server.endpoints.endpoint import ANY_SYSTEM, SOURCE, Endpoint

_SET = Key("set", ListOf(Text(500), 0, 200), "other values: KEY=VALUE", default=[])
_AT = Key("at", Timestamp(), "a time in the interval; left out: the busiest", default=None)
_ANSWER = {"answer": "model, title, figures, tables, charts, notes and assumptions"}

ENDPOINTS = (
    Endpoint(
        "model",
        "Keys of a scenario of a model",
        "laboratory:keys",
        (Key("model", Choice(models.MODELS), "the model"),),
        {
            "name": "the model",
            "summary": "its purpose",
            "example": "a scenario",
            "keys": "keys of a scenario",
        },
    ),
    Endpoint(
        "solve",
        "Solve a scenario exactly",
        "laboratory:solve",
        (
            Key("model", Choice(models.MODELS), "the model"),
            Key("scenario", Text(1_000_000), "the scenario, in TOML; it may not refer to files"),
            _SET,
            Key("sweep", Text(200), "KEY=START:STOP[:STEP]", default=None),
            Key("check", Boolean(), "check the scenario only", default=False),
        ),
        {
            **_ANSWER,
            "numbers": "of a check: the numbers of the scenario by their keys for set, with allowed values",
            "wrong": "of a check: the error in the scenario, as in an error response, or null",
        },
        apart=True,
        method="POST",
    ),
    Endpoint(
        "expected",
        "Expected and observed values of a measured interval",
        "laboratory:expected",
        (Key("model", Choice(models.MEASURED), "the model"), ANY_SYSTEM, SOURCE, _AT, _SET),
        {**_ANSWER, "system": "the system", "at": "end of the interval"},
        method="POST",
    ),
    Endpoint(
        "plan",
        "What-if on a measured interval, solved before and after the change",
        "laboratory:plan",
        (
            ANY_SYSTEM,
            SOURCE,
            _AT,
            Key(
                "set",
                ListOf(Text(500), 0, 200),
                "keys to change; empty: list the keys that can be changed",
                default=[],
            ),
        ),
        _ANSWER,
        method="POST",
    ),
    Endpoint(
        "rig",
        "Results of the rig: scenarios with what is expected and observed, their charts and runs",
        "laboratory:rig",
        (),
        {
            "version": "of zlens that judged them",
            "date": "of the results",
            "scenarios": "by area: source, verdicts, numbers, charts, and runs, which may be opened",
        },
    ),
)
