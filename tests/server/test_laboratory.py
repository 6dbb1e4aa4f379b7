"""What-ifs, checked scenarios and saved comparisons, as the page asks for them."""

from __future__ import annotations

import tomllib

import pytest

from zlens import models
from zlens.plan import planning


def told(response):
    assert response.status_code == 200, response.text
    return response.json()


def test_what_can_be_asked_of_an_interval(served):
    listed = told(served.post("plan", system="ZLDEMO"))["answer"]
    own = planning.list_settings(served.session, system="ZLDEMO")
    assert [row[0] for row in listed["tables"][0]["rows"]] == [row[0] for row in own.tables[0].rows]


@pytest.mark.parametrize("at", ["2010-03-09T07:45:00Z", 1268120700])
def test_a_what_if_before_and_after(served, at):
    listed = told(served.post("plan", system="ZLDEMO", at=at))["answer"]
    setting = listed["tables"][0]["rows"][0][1].removeprefix("--set ")
    answer = told(served.post("plan", system="ZLDEMO", at=at, set=[setting]))["answer"]
    assert "08:45:00 (UTC+01:00)" in answer["title"]
    assert {column["key"] for table in answer["tables"] for column in table["columns"]} >= {"before", "after"}


def test_a_what_if_that_there_is_not(served):
    error = served.post("plan", set=["nosuch=1"]).json()["error"]
    assert error["kind"] == "ScenarioError"
    assert "nosuch" in error["message"]
    assert error["expected"]


def test_a_time_that_is_none_is_said(served):
    assert served.post("plan", at=1e11, set=["weight=1"]).json()["error"]["kind"] == "QueryError"


def test_a_checked_scenario_names_its_numbers(served):
    example = models.find("queueing").EXAMPLE
    found = told(served.post("solve", model="queueing", scenario=example, check=True))
    by_path = {one["path"]: one for one in found["numbers"]}
    assert by_path["class.users.customers"]["value"] == 40
    assert by_path["class.users.customers"]["whole"] is True


def test_a_wrong_value_is_named_with_what_is_allowed(served):
    example = models.find("shares").EXAMPLE.replace("relative = 400", "relative = 99999")
    error = told(served.post("solve", model="shares", scenario=example, check=True))["wrong"]
    assert error["kind"] == "ScenarioError"
    assert "99999" in error["message"]
    assert error["expected"] == "an integer from 1 to 10,000"


def test_counts_are_told_from_other_numbers(served):
    example = models.find("shares").EXAMPLE
    answer = told(served.post("solve", model="shares", scenario=example))["answer"]
    whole = {column["key"]: column["whole"] for column in answer["tables"][0]["columns"]}
    solved = models.solve("shares", tomllib.loads(example))
    assert [key for key, is_whole in whole.items() if is_whole] == [
        column.key
        for at, column in enumerate(solved.tables[0].columns)
        if all(isinstance(row[at], int) for row in solved.tables[0].rows)
    ]


def test_a_comparison_is_saved_as_one_page(served):
    half = "2010-03-09T08:00:00Z"
    sides = {"base": {"to": half}, "others": [{"from": half}]}
    page = told(served.post("compare", format="html", **sides))["html"]
    assert page.startswith("<!DOCTYPE html>")
    assert "Comparison of ZLDEMO" in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
