"""Queues: response and throughput of stations, open (work arrives) or closed (customers come back)."""

from __future__ import annotations

import math
from typing import Any

from zlens.models.answer import Answer, Column, Figure, Table
from zlens.models.queueing import queues
from zlens.models.scenario import Scenario
from zlens.present.charts import Chart, Series
from zlens.schema.kinds import Choice, Integer, Key, Line, Many, Named, Number, Spec

SUMMARY = "queues: throughput, response and utilization, exact for open and closed systems"

_TIME = Number(0, 1e9)

_STATION = Spec(
    (
        Key("name", Line(), "name of the station"),
        Key("kind", Choice(("queue", "delay")), "whether anybody waits there", default="queue"),
        Key("servers", Integer(1, 1000), "servers behind one queue", default=1),
        Key(
            "speeds",
            Many(Number(0, 1e9, above=True), 1),
            "speed with 1, 2, ... customers there; the last holds for more",
            default=None,
        ),
        Key(
            "arrival_variation",
            Number(0, 1e6),
            "squared coefficient of variation of the times between arrivals: 1 by chance, more in bursts",
            default=1.0,
        ),
        Key("service_variation", Number(0, 1e6), "that of the service times", default=1.0),
    )
)

_CLASS = Spec(
    (
        Key("name", Line(), "name of the class of work"),
        Key("rate", Number(0, 1e12), "arrivals of an open class", "per second", default=None),
        Key("customers", Integer(0, 10_000), "customers of a closed class", default=None),
        Key("think", _TIME, "time a customer spends outside", "seconds", default=0.0),
        Key("demand", Named(_TIME), "service of each station for one transaction", "seconds"),
    )
)

SPEC = Spec(
    (
        Key("station", Many(_STATION, least=1), "a station"),
        Key("class", Many(_CLASS, least=1), "a class of work"),
    )
)

EXAMPLE = """\
# Forty users of a transaction system: how many transactions, and how long do they take?
model = "queueing"
title = "Forty users, two processors, a disk"

[[station]]
name = "CPU"
servers = 2

[[station]]
name = "DASD"

[[class]]
name = "users"
customers = 40               # closed; rate = 5.0 (per second) would be open
think = 10.0                 # seconds
demand = { CPU = 0.30, DASD = 0.12 }
"""

_CLASSES = (
    Column("name", "Class"),
    Column("throughput", "Throughput", "1/s", "transactions", 4),
    Column("response", "Response", "s", "time in the system", 4),
    Column("in_system", "In system", "", "transactions in the system on average", 2),
)
_STATIONS = (
    Column("name", "Station"),
    Column("utilization", "Busy", "%", "of its servers; with speeds, of its highest speed", 2),
    Column("queue", "There", "", "transactions that wait or are served, on average", 3),
    Column("residence", "Residence", "s", "time of one transaction at the station, waiting included", 5),
)


def solve(scenario: Scenario) -> Answer:
    """Open and closed systems; both at once are not solved."""
    stations, classes = scenario["station"], scenario["class"]
    _together(scenario, stations, classes)
    is_open = classes[0]["rate"] is not None
    rows, of_classes, notes = (_open if is_open else _closed)(scenario, stations, classes)
    busiest = max(rows, key=lambda row: -1.0 if row[1] is None else row[1])
    figures = [
        Figure("throughput", _sum(row[1] for row in of_classes), "1/s", "Throughput", 4),
        Figure("response", _mean(of_classes), "s", "Mean response time", 4),
        Figure("busiest", busiest[1], "%", f"Busy of the busiest station, {busiest[0]}", 2),
    ]
    chart = Chart(
        "Busy", "bars", [str(row[0]) for row in rows], (Series("busy", [row[1] for row in rows]),), "%"
    )
    tables = [
        Table("classes", "Classes", _CLASSES, of_classes),
        Table("stations", "Stations", _STATIONS, rows),
    ]
    return Answer("queueing", scenario.title or "Queues", tables, figures, [chart], notes)


def _sum(values: Any) -> float | None:
    found = list(values)
    return None if None in found else math.fsum(found)


def _mean(of_classes: list[tuple[Any, ...]]) -> float | None:
    if any(row[2] is None for row in of_classes):
        return None
    total = math.fsum(row[1] for row in of_classes)
    return math.fsum(row[1] * row[2] for row in of_classes) / total if total else None


def _open(
    scenario: Scenario, stations: list[dict[str, Any]], classes: list[dict[str, Any]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[str]]:
    """Each station by itself; classes are stretched alike, as where all share the servers evenly."""
    rows: list[tuple[Any, ...]] = []
    stretched: dict[str, float | None] = {}
    notes = []
    arriving = math.fsum(one["rate"] for one in classes)
    for station in stations:
        name = station["name"]
        offered = math.fsum(one["rate"] * one["demand"].get(name, 0.0) for one in classes)
        if station["kind"] == "delay":
            stretched[name] = 1.0
            rows.append((name, None, offered, offered / arriving if arriving else None))
            continue
        # One visit of all classes together: the mean demand, as often as transactions arrive.
        service = offered / arriving if arriving else 0.0
        found = queues.many_servers(
            arriving,
            service,
            station["servers"],
            arrivals=station["arrival_variation"],
            services=station["service_variation"],
        )
        busy = 100.0 * offered / station["servers"]
        if found is None:
            stretched[name] = None
            rows.append((name, busy, None, None))
            notes.append(f"{name}: more arrives than can be served, its queue grows without end")
        else:
            stretched[name] = found.response / service if service else 1.0
            rows.append((name, busy, found.queued + offered, found.response))
    of_classes = []
    for one in classes:
        parts = [
            None if stretched[name] is None else stretched[name] * demand
            for name, demand in one["demand"].items()
            if demand
        ]
        response = None if None in parts else math.fsum(part for part in parts if part is not None)
        inside = None if response is None else one["rate"] * response
        of_classes.append((one["name"], one["rate"], response, inside))
    return rows, of_classes, notes


def _closed(
    scenario: Scenario, stations: list[dict[str, Any]], classes: list[dict[str, Any]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], list[str]]:
    names = [station["name"] for station in stations]
    demands = [[one["demand"].get(name, 0.0) for name in names] for one in classes]
    kinds = [_speeds(station) for station in stations]
    if len(classes) == 1:
        found = queues.one_class(demands[0], classes[0]["customers"], classes[0]["think"], kinds)
    else:
        try:
            found = queues.several_classes(
                demands,
                [one["customers"] for one in classes],
                [one["think"] for one in classes],
                [station["kind"] == "delay" for station in stations],
            )
        except ValueError as error:
            raise scenario.problem.wrong(
                f"{error} are too many to go through",
                "put classes together",
                f"{queues.MOST_STATES:,} at most",
            ) from None
    rows: list[tuple[Any, ...]] = []
    for at, station in enumerate(stations):
        kind = kinds[at]
        top = 1.0 if kind is None else max(kind, default=0.0)
        busy = 100.0 * found.utilization[at] / top if top else None
        there = math.fsum(queue[at] for queue in found.queue)
        total = math.fsum(found.throughput)
        rows.append((station["name"], busy, there, there / total if total else None))
    of_classes = [
        (one["name"], rate, response, rate * response)
        for one, rate, response in zip(classes, found.throughput, found.response, strict=True)
    ]
    return rows, of_classes, []


def _speeds(station: dict[str, Any]) -> list[float] | None:
    if station["kind"] == "delay":
        return []
    if station["speeds"] is not None:
        return list(station["speeds"])
    return None if station["servers"] == 1 else [float(n) for n in range(1, station["servers"] + 1)]


def _together(scenario: Scenario, stations: list[dict[str, Any]], classes: list[dict[str, Any]]) -> None:
    """Keys that are each right, but not together."""
    wrong = scenario.problem.wrong
    names = {station["name"] for station in stations}
    if len(names) < len(stations) or len({one["name"] for one in classes}) < len(classes):
        raise wrong("two stations or two classes have the same name", "give each a name of its own")
    kinds = {one["rate"] is not None for one in classes}
    for one in classes:
        here = f"class.{one['name']}"
        if (one["rate"] is None) == (one["customers"] is None):
            raise wrong(f"{here} has neither rate nor customers, or both", "write one of them")
        for name in one["demand"]:
            if name not in names:
                raise wrong(f"{here}.demand.{name} is no station", f"write one of {', '.join(sorted(names))}")
        if not one["think"] + sum(one["demand"].values()):
            raise wrong(f"{here} asks nothing of any station", "give it a demand")
        if one["rate"] is not None and one["think"]:
            raise wrong(f"{here} arrives and thinks", "leave think out, or write customers")
    if len(kinds) > 1:
        raise wrong("some classes are open and some closed", "solve them one after the other")
    for station in stations:
        here = f"station.{station['name']}"
        many = station["servers"] > 1 or station["speeds"] is not None
        if station["speeds"] is not None and (True in kinds or station["servers"] > 1):
            raise wrong(f"{here}.speeds is for closed systems, in place of servers", "leave one of them out")
        if station["kind"] == "delay" and many:
            raise wrong(f"{here} is a delay and has servers", 'write kind = "queue", or leave servers out')
        if False in kinds and len(classes) > 1 and many:
            raise wrong(
                f"{here} has several servers, and there are several closed classes",
                "put the classes together: the exact answer is for one of them",
            )
        if False in kinds and (station["arrival_variation"] != 1 or station["service_variation"] != 1):
            raise wrong(f"{here} has a variation, and the system is closed", "leave it out")
