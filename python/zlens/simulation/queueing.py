"""Queues: a station is a user with a virtual CPU and a core for each server, without CP overhead."""

from __future__ import annotations

from typing import Any

from zlens.models.queueing import model
from zlens.models.scenario import Scenario

Entry = dict[str, Any]
#: A station only serves.
FREE = {"dispatch_user": 0.0, "dispatch_system": 0.0, "lock_hold": 0.0}
#: Maximum number of transactions of an open class in the system.
_MOST = 100_000


def machine(scenario: Scenario) -> dict[str, Any]:
    model.check_combinations(scenario)
    error = scenario.error
    stations = {station["name"]: station for station in scenario["station"]}
    for name, station in stations.items():
        if station["speeds"] is not None:
            raise error(f"station.{name}.speeds cannot be simulated", "write servers = 2")
    queues = [station for station in stations.values() if station["kind"] == "queue"]
    users = [
        {"name": station["name"], "relative": 100, "virtual_cpus": station["servers"], "demand": 0}
        for station in queues
    ]
    cores = max(1, sum(station["servers"] for station in queues))
    return {
        "processors": {"CP": cores},
        "partition": [{"name": "ZVM", "cores": cores, "dedicated": True}],
        # A network of delays still needs a system.
        "user": users or [{"name": "IDLE", "relative": 100, "demand": 0}],
        "transaction": [_transaction(scenario, class_, stations) for class_ in scenario["class"]],
        "cp": FREE,
    }


def _transaction(scenario: Scenario, class_: Entry, stations: dict[str, Entry]) -> Entry:
    path = f"class.{class_['name']}"
    steps: list[Entry] = []
    variation = 1.0
    for name, demand in class_["demand"].items():
        if not demand:
            continue
        station = stations[name]
        times = {"variation": station["service_variation"]}
        if station["kind"] == "delay":
            steps.append({"delay": 1000 * demand, **times})
        else:
            if not steps:
                variation = station["arrival_variation"]
            steps.append({"cpu": 1000 * demand, "user": name, **times})
    if not steps:
        raise scenario.error(f"{path} only thinks", "add a demand at a station")
    if class_["rate"] is None:
        if not class_["customers"]:
            raise scenario.error(f"{path} has no customers", "write customers = 1 or more")
        kept = {key: class_[key] for key in ("name", "customers", "think")}
        return {**kept, "step": steps}
    if not class_["rate"]:
        raise scenario.error(f"{path}.rate is 0", "write a rate above 0")
    kept = {key: class_[key] for key in ("name", "rate")}
    return {**kept, "rate_variation": variation, "most": _MOST, "step": steps}
