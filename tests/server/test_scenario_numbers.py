"""Tests of the numbers of a scenario, which have the names that --set accepts."""

from __future__ import annotations

import tomllib

import pytest

from zlens import models
from zlens.models import scenario
from zlens.server import scenario_numbers


@pytest.mark.parametrize("name", models.MODELS)
def test_every_number_can_be_set_to_itself(name: str) -> None:
    model = models.find(name)
    values = tomllib.loads(model.example)
    found = scenario_numbers.scenario_numbers(model.spec, values)
    assert found
    for one in found:
        assert scenario.apply_setting(values, f"{one['path']}={one['value']}") == values, one["path"]


def test_scenario_numbers_have_limits() -> None:
    found = scenario_numbers.scenario_numbers(
        models.find("shares").spec, tomllib.loads(models.find("shares").example)
    )
    by_path = {one["path"]: one for one in found}
    assert (by_path["user.LINUX1.relative"]["low"], by_path["user.LINUX1.relative"]["high"]) == (1, 10_000)
    assert by_path["user.LINUX1.relative"]["whole"]
    assert by_path["processors.CP"]["allowed"] == "a number from 0 to 1000"


def test_unnamed_entries_are_indexed() -> None:
    values = {
        "processors": {"CP": 2},
        "user": [
            {"name": "A", "relative": 100},
            {"name": "A", "relative": 200},
            {"name": "B.C", "relative": 300},
        ],
    }
    paths = [one["path"] for one in scenario_numbers.scenario_numbers(models.find("shares").spec, values)]
    assert paths == ["processors.CP", "user.1.relative", "user.2.relative", "user.3.relative"]
