"""GET /fleet: all systems side by side. GET /cluster: what the members of one share. GET /machine: its
partitions over time. GET /trend: months and growth.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from zlens.catalog import measures
from zlens.errors import QueryError
from zlens.inputs.options import parse_instant
from zlens.models.constants import constant
from zlens.server import json_values
from zlens.server.laboratory import as_data
from zlens.server.workspace import Workspace
from zlens.studies import cluster, fleet, trend


def answer(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    moments = [request[name] for name in ("from", "to", "base_from", "base_to")]

    def work() -> dict[str, Any]:
        start, end, base_start, base_end = (None if at is None else parse_instant(at) for at in moments)
        before = None if base_start is None and base_end is None else (base_start, base_end)
        return _systems(place, fleet.members(place.session, (start, end), before))

    return _cached(place, ("fleet", *moments), work)


def members(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """What the members of a cluster have in common, and how much each uses of it."""
    name = request["name"]
    systems = sorted(system for system, of in fleet.clusters(place.session).items() if of == name)
    if not systems:
        known = ", ".join(sorted({*fleet.clusters(place.session).values()})) or "none"
        raise QueryError(f"there is no cluster {name}", expected=f"a cluster of this input: {known}")
    span = _span(request)

    def kind(of: cluster.SharedMeasure) -> dict[str, Any]:
        rows = cluster.shared_subjects(place.session, of, systems, span)
        return {
            "unit": of.unit(),
            "explain": f"{of.table}.{of.column}",
            "rows": [
                [one.name, json_values.json_value(one.together), len(one.members)]
                + [json_values.json_value(one.members.get(system)) for system in systems]
                for one in rows
            ],
        }

    return {"members": systems, "volumes": kind(cluster.VOLUMES), "guests": kind(cluster.GUESTS)}


def machine(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """The partitions of a machine by hour."""
    name = request["name"]
    known = sorted({info.machine for info in place.session.systems if info.machine is not None})
    if name not in known:
        listed = ", ".join(known) or "none"
        raise QueryError(f"there is no machine {name}", expected=f"a machine of this input: {listed}")

    def work() -> dict[str, Any]:
        found = fleet.partitions(place.session, name, _span(request))
        axis = sorted({end for partition in found for end, _ in partition.hours})

        def row(partition: fleet.Partition) -> dict[str, Any]:
            return {
                "partition": partition.name,
                "cpu_type": partition.cpu_type,
                "mean": json_values.json_value(partition.mean),
                "course": _series(partition.hours, axis),
            }

        column = measures.load_measure(fleet.PARTITIONS).column(fleet.USED)
        return {
            "unit": column.unit if column is not None else "",
            "explain": f"{fleet.PARTITIONS}.{fleet.USED}",
            "t": [end.timestamp() for end in axis],
            "partitions": [row(partition) for partition in found],
        }

    return _cached(place, ("machine", name, request["from"], request["to"]), work)


def trends(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Growth and months of all systems by shift."""
    shifts = {}
    for text in filter(None, map(str.strip, request["shifts"].split(";"))):
        name, _, hours = map(str.strip, text.partition("="))
        if not name or not hours:
            raise QueryError(
                f"{text!r} is not a shift with a name", expected="something like prime=Mon-Fri 08:00-17:00"
            )
        shifts[name] = hours

    def work() -> dict[str, Any]:
        found = [*trend.measured_hours(place.session, fleet.MEASURE, fleet.COLUMN, shifts)]
        limit, least = constant("trend_limit"), constant("trend_days")
        title = f"Trend of {fleet.MEASURE}.{fleet.COLUMN}"
        answer = trend.trend_answer(title, found, fleet.unit(), float(limit.default), int(least.default))
        answer.assumptions = [limit.assumed(), least.assumed()]
        return {"answer": as_data(answer)}

    return _cached(place, ("trend", *shifts.items()), work)


def _span(request: dict[str, Any]) -> fleet.Span:
    start, end = (None if request[at] is None else parse_instant(request[at]) for at in ("from", "to"))
    return start, end


def _series(hours: list[tuple[dt.datetime, float]], axis: list[dt.datetime]) -> list[Any]:
    """The value of each hour of an axis."""
    known = dict(hours)
    return [json_values.json_value(known.get(end)) for end in axis]


def _cached(place: Workspace, key: tuple[Any, ...], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    # What still arrives is computed for each request.
    return work() if place.live else place.compute_once(key, work)


def _systems(place: Workspace, members: list[fleet.FleetMember]) -> dict[str, Any]:
    session = place.session
    axis = sorted({end for member in members for end, _ in member.hours})
    clusters = fleet.clusters(session)
    infos = {(info.system, info.source): info for info in session.systems}

    def row(member: fleet.FleetMember) -> dict[str, Any]:
        info = infos[member.system, member.source]
        return {
            "system": member.system,
            "source": member.source,
            "machine": info.last_machine,
            "sysplex": info.sysplex,
            "cluster": clusters.get(member.system),
            "release": info.release,
            "mean": json_values.json_value(member.mean),
            "busiest": json_values.json_value(member.busiest),
            "at": json_values.json_value(member.at),
            "before": json_values.json_value(member.before),
            "change": json_values.json_value(member.change),
            "growth": json_values.json_value(member.growth),
            "meets": member.meets,
            "course": _series(member.hours, axis),
        }

    return {
        "unit": fleet.unit(),
        "limit": float(constant("trend_limit").default),
        "t": [end.timestamp() for end in axis],
        "systems": [row(member) for member in members],
    }
