"""Tests of what-ifs, checked scenarios and saved comparisons, as in the web UI."""

from __future__ import annotations

import tomllib

import pytest

from zlens import models
from zlens.plan import planning


def response_data(response):
    assert response.status_code == 200, response.text
    return response.json()


def test_plan_response_lists_settings(served):
    listed = response_data(served.post("plan", system="ZLDEMO"))["answer"]
    own = planning.list_settings(served.session, system="ZLDEMO")
    assert [row[0] for row in listed["tables"][0]["rows"]] == [row[0] for row in own.tables[0].rows]


@pytest.mark.parametrize("at", ["2010-03-09T07:45:00Z", 1268120700])
def test_plan_response_has_before_and_after(served, at):
    listed = response_data(served.post("plan", system="ZLDEMO", at=at))["answer"]
    setting = listed["tables"][0]["rows"][0][1].removeprefix("--set ")
    answer = response_data(served.post("plan", system="ZLDEMO", at=at, set=[setting]))["answer"]
    assert "08:45:00 (UTC+01:00)" in answer["title"]
    assert {column["key"] for table in answer["tables"] for column in table["columns"]} >= {"before", "after"}


def test_unknown_what_if_is_error(served):
    error = served.post("plan", set=["nosuch=1"]).json()["error"]
    assert error["kind"] == "ScenarioError"
    assert "nosuch" in error["message"]
    assert error["expected"]


def test_invalid_plan_time_is_error(served):
    assert served.post("plan", at=1e11, set=["weight=1"]).json()["error"]["kind"] == "QueryError"


def test_checked_scenario_names_its_numbers(served):
    example = models.find("queueing").example
    found = response_data(served.post("solve", model="queueing", scenario=example, check=True))
    by_path = {one["path"]: one for one in found["numbers"]}
    assert by_path["class.users.customers"]["value"] == 40
    assert by_path["class.users.customers"]["whole"] is True


def test_invalid_scenario_value_names_allowed_range(served):
    example = models.find("shares").example.replace("relative = 400", "relative = 99999")
    error = response_data(served.post("solve", model="shares", scenario=example, check=True))["wrong"]
    assert error["kind"] == "ScenarioError"
    assert "99999" in error["message"]
    assert error["expected"] == "an integer from 1 to 10,000"


def test_integer_columns_are_marked(served):
    example = models.find("shares").example
    answer = response_data(served.post("solve", model="shares", scenario=example))["answer"]
    whole = {column["key"]: column["whole"] for column in answer["tables"][0]["columns"]}
    solved = models.solve("shares", tomllib.loads(example))
    assert [key for key, is_whole in whole.items() if is_whole] == [
        column.key
        for at, column in enumerate(solved.tables[0].columns)
        if all(isinstance(row[at], int) for row in solved.tables[0].rows)
    ]


def test_comparison_is_saved_as_one_page(served):
    half = "2010-03-09T08:00:00Z"
    sides = {"base": {"to": half}, "others": [{"from": half}]}
    page = response_data(served.post("compare", format="html", **sides))["html"]
    assert page.startswith("<!DOCTYPE html>")
    assert "Comparison of ZLDEMO" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
