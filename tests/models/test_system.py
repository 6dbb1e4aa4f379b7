"""Tests of the solved machine: partitions and users are solved by their own models."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from zlens import models
from zlens.errors import ScenarioError
from zlens.models.scenario import example
from zlens.rendering.answer import Answer, by_name


def solve(values: dict[str, Any]) -> Answer:
    return models.solve("system", values)


def machine(*users: dict[str, Any], **partition: Any) -> dict[str, Any]:
    return {
        "model": "system",
        "processors": {"IFL": 4},
        "partition": [
            {"name": "Z", "type": "IFL", "cores": 4, "weight": 500, "zvm": "7.4", **partition},
            {"name": "L", "type": "IFL", "cores": 4, "weight": 500},
        ],
        "user": [{"type": "IFL", "relative": 100, "virtual_cpus": 4, **user} for user in users],
    }


def test_users_share_partition_allocation() -> None:
    answer = solve(machine({"name": "A"}, {"name": "B", "relative": 300}))
    assert by_name(answer.table("partitions"))["Z"]["allocation"] == pytest.approx(2)
    users = by_name(answer.table("users"))
    # Half of the machine, shared 1 to 3.
    assert [users[name]["allocation"] for name in "AB"] == pytest.approx([50, 150])


def test_partition_demand_is_user_demand() -> None:
    answer = solve(machine({"name": "A", "demand": 70}, {"name": "B", "demand": 50}))
    partitions = by_name(answer.table("partitions"))
    assert partitions["Z"]["demand"] == pytest.approx(1.2)
    assert partitions["L"]["allocation"] == pytest.approx(2.8)
    assert [row["allocation"] for row in by_name(answer.table("users")).values()] == pytest.approx([70, 50])


def test_transactions_are_demand() -> None:
    values = machine({"name": "A"}, {"name": "B"})
    values["transaction"] = [
        {"name": "open", "rate": 10.0, "step": [{"cpu": 20, "user": ["A", "B"]}, {"cpu": 30, "user": "B"}]},
        {
            "name": "closed",
            "customers": 5,
            "think": 0.9,
            "step": [{"cpu": 60, "user": "A"}, {"delay": 40}],
        },
    ]
    users = by_name(solve(values).table("users"))
    # 10/s of 20 ms, alternating users; five customers with a cycle of one second.
    assert users["A"]["demand"] == pytest.approx(10 + 30)
    assert users["B"]["demand"] == pytest.approx(10 + 30)
    values["partition"][0]["demand"] = 2.0
    assert by_name(solve(values).table("users"))["A"]["demand"] == pytest.approx(40)


def test_logged_off_user_gets_nothing() -> None:
    values = machine({"name": "A"}, {"name": "B", "logged_on": False})
    values["command"] = [{"at": 5, "do": "logon", "user": "B"}]
    assert list(by_name(solve(values).table("users"))) == ["A"]


def test_several_systems_have_table_each() -> None:
    values = machine({"name": "A", "partition": "Z"}, {"name": "A", "partition": "L", "demand": 30})
    values["partition"][1]["system"] = "PROD"
    answer = solve(values)
    assert by_name(answer.table("users_L"))["A"]["allocation"] == pytest.approx(30)
    assert answer.table("users_L").title == "Users of PROD"
    assert by_name(answer.table("users_Z"))["A"]["allocation"] == pytest.approx(370)


def test_partitions_of_two_types() -> None:
    values = machine({"name": "A", "type": "CP", "demand": 50}, {"name": "B"})
    values["processors"]["CP"] = 1
    values["partition"].insert(0, {"name": "Z", "type": "CP", "cores": 1, "weight": 10, "zvm": "7.4"})
    users = by_name(solve(values).table("users"))
    assert users["A"]["allocation"] == pytest.approx(50)
    assert users["B"]["allocation"] == pytest.approx(200)


def test_simulated_values_are_not_assumptions() -> None:
    assumed = {one.name for one in solve(tomllib.loads(example("system"))).assumptions}
    assert not any(name.startswith(("sim_", "unpark")) for name in assumed)


@pytest.mark.parametrize("table", ["simulation", "machine", "cp"])
def test_every_model_checks_simulation_tables(table: str) -> None:
    values = tomllib.loads(models.find("shares").example)
    assert models.solve("shares", values | {table: {}}).tables == models.solve("shares", values).tables
    with pytest.raises(ScenarioError, match=f"{table}.nothing is not known here"):
        models.solve("shares", values | {table: {"nothing": 1}})
