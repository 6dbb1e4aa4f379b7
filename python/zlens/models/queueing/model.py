"""Queues: response and throughput of stations, with open (arriving) and closed (returning) classes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from zlens.models.optional_numbers import product, ratio
from zlens.models.queueing import queues
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries

Entry = dict[str, Any]
Row = tuple[Any, ...]
#: Rows of stations, rows of classes, and notes.
Solution = tuple[list[Row], list[Row], list[str]]

SUMMARY = "queues: throughput, response and utilization, exact for open, closed and mixed systems"


def solve(scenario: Scenario) -> Answer:
    """Solve an open, a closed or a mixed system."""
    stations, classes = scenario["station"], scenario["class"]
    check_combinations(scenario)
    kinds = {class_["rate"] is not None for class_ in classes}
    solve_rows = _mixed if len(kinds) > 1 else _open if True in kinds else _closed
    rows, of_classes, notes = solve_rows(scenario, stations, classes)
    busiest = max(rows, key=lambda row: -1.0 if row[1] is None else row[1])
    throughput = math.fsum(row[1] for row in of_classes)
    figures = [
        AnswerFigure("throughput", throughput, "1/s", "Throughput", 4),
        AnswerFigure("response", _mean(of_classes), "s", "Mean response time", 4),
        AnswerFigure("busiest", busiest[1], "%", f"Busy of the busiest station, {busiest[0]}", 2),
    ]
    series = ChartSeries("busy", [row[1] for row in rows])
    chart = Chart("Busy", "bars", [str(row[0]) for row in rows], (series,), "%")
    tables = [
        answer_table("queueing", "classes", "Classes", of_classes),
        answer_table("queueing", "stations", "Stations", rows),
    ]
    return Answer("queueing", scenario.title or "Queues", tables, figures, [chart], notes)


def _mean(of_classes: list[Row]) -> float | None:
    if any(row[2] is None for row in of_classes):
        return None
    total = math.fsum(row[1] for row in of_classes)
    return ratio(math.fsum(row[1] * row[2] for row in of_classes), total)


def _work(classes: list[Entry], rates: Mapping[str, float], station: Entry) -> float:
    """Return the work per second that classes bring to a station at these rates, in servers."""
    name = station["name"]
    return math.fsum(rates[class_["name"]] * class_["demand"].get(name, 0.0) for class_ in classes)


def _open(scenario: Scenario, stations: list[Entry], classes: list[Entry]) -> Solution:
    """Solve each station separately; queueing slows all classes equally, as with evenly shared servers."""
    rows: list[Row] = []
    stretched: dict[str, float | None] = {}
    notes = []
    arriving = {class_["name"]: float(class_["rate"]) for class_ in classes}
    served, full = _served(stations, classes, dict(arriving))
    throughput = math.fsum(served.values())
    for station in stations:
        name, servers = station["name"], station["servers"]
        offered = _work(classes, served, station)
        if station["kind"] == "delay":
            stretched[name] = 1.0
            rows.append((name, None, offered, ratio(offered, throughput)))
            continue
        # One aggregate class: the mean demand, at the total arrival rate.
        service = offered / throughput if throughput else 0.0
        queue = None if name in full else queues.multi_server_queue(
            throughput, service, servers,
            arrivals=station["arrival_variation"], services=station["service_variation"],
        )  # fmt: skip
        if queue is None:
            stretched[name] = None
            rows.append((name, min(100.0, 100.0 * offered / servers), None, None))
            needed = _work(classes, arriving, station)
            comparison = "more arrives than" if needed > servers else "as much arrives as"
            servers_needed = f"{needed:.4g} server{'' if needed == 1 else 's'}"
            notes.append(
                f"{name}: {comparison} can be served (work for {servers_needed}, and it has {servers}), "
                "so its queue grows without limit"
            )
        else:
            stretched[name] = queue.response / service if service else 1.0
            rows.append((name, 100.0 * offered / servers, queue.queued + offered, queue.response))
    if full:
        notes.append(
            "Throughput is the service rate of the full station, by class in proportion to its arrivals; "
            "its waiting work reaches no other station"
        )
    of_classes = []
    for class_ in classes:
        parts = [product(stretched[name], demand) for name, demand in class_["demand"].items() if demand]
        response = None if None in parts else math.fsum(part for part in parts if part is not None)
        rate = served[class_["name"]]
        of_classes.append((class_["name"], rate, response, product(rate, response)))
    return rows, of_classes, notes


def _served(
    stations: list[Entry], classes: list[Entry], served: dict[str, float]
) -> tuple[dict[str, float], set[str]]:
    """Return the throughput of each open class, and the stations that are full. served: rates of arrivals.

    Stations fill in sequence, the most overloaded first; each passes on what it can serve.
    """
    full: set[str] = set()
    for _ in stations:
        loads = {
            station["name"]: _work(classes, served, station) / station["servers"]
            for station in stations
            if station["kind"] == "queue" and station["name"] not in full
        }
        name, load = max(loads.items(), key=lambda pair: pair[1], default=("", 0.0))
        if load < 1.0:
            break
        full.add(name)
        for class_ in classes:
            if class_["demand"].get(name):
                served[class_["name"]] /= load
    return served, full


def _mixed(scenario: Scenario, stations: list[Entry], classes: list[Entry]) -> Solution:
    """Solve open and closed classes at the same stations exactly.

    Open work occupies its part of each server and closed classes use the rest: their demands grow by
    1 / (1 - utilization by open classes). An open transaction waits for closed customers, too. Source:
    Lazowska et al., Quantitative System Performance, mixed classes; Bruell and Balbo, Computational
    Algorithms for Closed Queueing Networks.
    """
    opened = [class_ for class_ in classes if class_["rate"] is not None]
    closed = [class_ for class_ in classes if class_["rate"] is None]
    rates = {class_["name"]: class_["rate"] for class_ in opened}
    taken = {station["name"]: _work(opened, rates, station) for station in stations}
    remaining = dict.fromkeys(taken, 1.0)
    for station in stations:
        if station["kind"] == "queue":
            name = station["name"]
            remaining[name] -= taken[name]
            if taken[name] >= 1.0:
                what = f"the open classes use all of {name} ({100 * taken[name]:.4g}%)"
                cure = "lower their rates; closed classes would get nothing there"
                raise scenario.error(what, cure)
    slowed = [
        {**class_, "demand": {name: demand / remaining[name] for name, demand in class_["demand"].items()}}
        for class_ in closed
    ]
    rows, of_closed, notes = _closed(scenario, stations, slowed)
    by_name = {row[0]: row for row in rows}
    throughput = math.fsum(row[1] for row in of_closed) + math.fsum(rates.values())
    merged_rows: list[Row] = []
    residence: dict[str, float] = {}
    for station in stations:
        name = station["name"]
        _, busy, inside, _ = by_name[name]
        if station["kind"] == "delay":
            residence[name] = 1.0
            inside += taken[name]
        else:
            residence[name] = (1.0 + inside) / remaining[name]
            inside += taken[name] * residence[name]
            busy = busy * remaining[name] + 100.0 * taken[name]
        merged_rows.append((name, busy, inside, ratio(inside, throughput)))
    of_open = {}
    for class_ in opened:
        response = math.fsum(residence[name] * demand for name, demand in class_["demand"].items())
        of_open[class_["name"]] = (class_["name"], class_["rate"], response, class_["rate"] * response)
    of_classes = {row[0]: row for row in of_closed} | of_open
    return merged_rows, [of_classes[class_["name"]] for class_ in classes], notes


def _closed(scenario: Scenario, stations: list[Entry], classes: list[Entry]) -> Solution:
    names = [station["name"] for station in stations]
    demands = [[class_["demand"].get(name, 0.0) for name in names] for class_ in classes]
    station_speeds = [_speeds(station) for station in stations]
    if len(classes) == 1:
        network = queues.one_class(demands[0], classes[0]["customers"], classes[0]["think"], station_speeds)
    else:
        try:
            network = queues.multi_class_network(
                demands,
                [class_["customers"] for class_ in classes],
                [class_["think"] for class_ in classes],
                [station["kind"] == "delay" for station in stations],
            )
        except ValueError as error:
            at_most = f"{queues.MOST_STATES:,} at most"
            raise scenario.error(f"{error} are too many to solve", "merge classes", at_most) from None
    rows: list[Row] = []
    for index, (station, speeds) in enumerate(zip(stations, station_speeds, strict=True)):
        top = 1.0 if speeds is None else max(speeds, default=0.0)
        busy = ratio(100.0 * network.utilization[index], top)
        in_station = math.fsum(queue[index] for queue in network.queue)
        rows.append((station["name"], busy, in_station, ratio(in_station, math.fsum(network.throughput))))
    of_classes = [
        (class_["name"], rate, response, rate * response)
        for class_, rate, response in zip(classes, network.throughput, network.response, strict=True)
    ]
    return rows, of_classes, []


def _speeds(station: Entry) -> list[float] | None:
    if station["kind"] == "delay":
        return []
    if station["speeds"] is not None:
        return list(station["speeds"])
    return None if station["servers"] == 1 else [float(n) for n in range(1, station["servers"] + 1)]


def check_combinations(scenario: Scenario) -> None:
    """Raise an error for valid keys that contradict each other."""
    error = scenario.error
    stations, classes = scenario["station"], scenario["class"]
    names = {station["name"] for station in stations}
    if len(names) < len(stations) or len({class_["name"] for class_ in classes}) < len(classes):
        raise error("two stations or two classes have the same name", "use unique names")
    kinds = {class_["rate"] is not None for class_ in classes}
    for class_ in classes:
        path = f"class.{class_['name']}"
        if (class_["rate"] is None) == (class_["customers"] is None):
            raise error(f"{path} needs exactly one of rate and customers", "set one of them")
        for name in class_["demand"]:
            if name not in names:
                cure = f"write one of {', '.join(sorted(names))}"
                raise error(f"{path}.demand.{name} is not a station", cure)
        if not class_["think"] + sum(class_["demand"].values()):
            raise error(f"{path} has no demand at any station", "set a demand")
        if class_["rate"] is not None and class_["think"]:
            raise error(f"{path} has both rate and think", "leave think out, or set customers")
    for station in stations:
        path = f"station.{station['name']}"
        has_many_servers = station["servers"] > 1 or station["speeds"] is not None
        if station["speeds"] is not None and (True in kinds or station["servers"] > 1):
            raise error(f"{path}.speeds is for closed systems, instead of servers", "leave one of them out")
        if station["kind"] == "delay" and has_many_servers:
            raise error(f"{path} is a delay and has servers", 'write kind = "queue", or leave servers out')
        if kinds == {False} and len(classes) > 1 and has_many_servers:
            raise error(
                f"{path} has several servers, and the system has several closed classes",
                "merge the classes: the exact solution supports one",
            )
        if len(kinds) > 1 and has_many_servers:
            raise error(
                f"{path} has several servers or speeds, and some classes are open and some closed",
                "set one server: the exact solution of mixed classes has one at each station",
            )
        if False in kinds and (station["arrival_variation"] != 1 or station["service_variation"] != 1):
            raise error(f"{path} has a variation, but the system is closed", "leave it out")
