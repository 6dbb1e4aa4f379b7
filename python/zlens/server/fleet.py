"""The endpoints /fleet, /cluster (shared resources), /machine (partitions) and /trend (growth by month)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from zlens.catalog import measures
from zlens.errors import QueryError
from zlens.inputs.options import parse_instant
from zlens.models.constants import constant
from zlens.server import buckets, json_values
from zlens.server.laboratory import as_data
from zlens.server.workspace import Workspace
from zlens.studies import cluster, fleet, trend


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    times = [request[name] for name in ("from", "to", "base_from", "base_to")]

    def work() -> dict[str, Any]:
        start, end, base_start, base_end = (None if time is None else parse_instant(time) for time in times)
        base = None if base_start is None and base_end is None else (base_start, base_end)
        return _systems(workspace, fleet.members(workspace.session, (start, end), base))

    return _cached(workspace, ("fleet", *times), work)


def members(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the resources that the members of a cluster share, and each member's use of them."""
    name = request["name"]
    systems = sorted(system for system, of in fleet.clusters(workspace.session).items() if of == name)
    if not systems:
        known = ", ".join(sorted({*fleet.clusters(workspace.session).values()})) or "none"
        raise QueryError(f"there is no cluster {name}", expected=f"a cluster of this input: {known}")
    span = buckets.span(request)

    def kind(measure: cluster.SharedMeasure) -> dict[str, Any]:
        rows = cluster.shared_subjects(workspace.session, measure, systems, span)
        return {
            "unit": measure.unit(),
            "explain": f"{measure.table}.{measure.column}",
            "rows": [
                [subject.name, json_values.json_value(subject.together), len(subject.members)]
                + [json_values.json_value(subject.members.get(system)) for system in systems]
                for subject in rows
            ],
        }

    return {"members": systems, "volumes": kind(cluster.VOLUMES), "guests": kind(cluster.GUESTS)}


def machine(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the partitions of a machine by hour."""
    name = request["name"]
    known = sorted({info.machine for info in workspace.session.systems if info.machine is not None})
    if name not in known:
        listed = ", ".join(known) or "none"
        raise QueryError(f"there is no machine {name}", expected=f"a machine of this input: {listed}")

    def work() -> dict[str, Any]:
        partitions = fleet.partitions(workspace.session, name, buckets.span(request))
        axis = sorted({end for partition in partitions for end, _ in partition.hours})

        column = measures.load_measure(fleet.PARTITIONS).column(fleet.USED)
        return {
            "unit": column.unit if column is not None else "",
            "explain": f"{fleet.PARTITIONS}.{fleet.USED}",
            "t": [end.timestamp() for end in axis],
            "partitions": [
                {
                    "partition": partition.name,
                    **json_values.attributes(partition, "cpu_type", "mean"),
                    "series": _series(partition.hours, axis),
                }
                for partition in partitions
            ],
        }

    return _cached(workspace, ("machine", name, request["from"], request["to"]), work)


def trends(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return growth and months of all systems by shift."""
    shifts = {}
    for text in filter(None, map(str.strip, request["shifts"].split(";"))):
        name, _, hours = map(str.strip, text.partition("="))
        if not name or not hours:
            raise QueryError(
                f"{text!r} is not a shift with a name", expected="something like prime=Mon-Fri 08:00-17:00"
            )
        shifts[name] = hours

    def work() -> dict[str, Any]:
        hours_by_shift = [*trend.measured_hours(workspace.session, fleet.MEASURE, fleet.COLUMN, shifts)]
        limit, min_days = constant("trend_limit"), constant("trend_days")
        title = f"Trend of {fleet.MEASURE}.{fleet.COLUMN}"
        answer = trend.trend_answer(
            title, hours_by_shift, fleet.unit(), float(limit.default), int(min_days.default)
        )
        answer.assumptions = [limit.assumed(), min_days.assumed()]
        return {"answer": as_data(answer)}

    return _cached(workspace, ("trend", *shifts.items()), work)


def _series(hours: list[tuple[dt.datetime, float]], axis: list[dt.datetime]) -> list[Any]:
    """Return the value of each hour of an axis; None for a missing hour."""
    known = dict(hours)
    return [json_values.json_value(known.get(end)) for end in axis]


def _cached(workspace: Workspace, key: tuple[Any, ...], work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    # Live data change, so they are computed for each request.
    return work() if workspace.live else workspace.compute_once(key, work)


def _systems(workspace: Workspace, members: list[fleet.FleetMember]) -> dict[str, Any]:
    session = workspace.session
    axis = sorted({end for member in members for end, _ in member.hours})
    clusters = fleet.clusters(session)
    infos = {(info.system, info.source): info for info in session.systems}

    def row(member: fleet.FleetMember) -> dict[str, Any]:
        info = infos[member.system, member.source]
        return {
            **json_values.attributes(member, "system", "source"),
            "machine": info.last_machine,
            "sysplex": info.sysplex,
            "cluster": clusters.get(member.system),
            "release": info.release,
            **json_values.attributes(member, "mean", "busiest", "at", "before", "change", "growth", "meets"),
            "series": _series(member.hours, axis),
        }

    return {
        "unit": fleet.unit(),
        "limit": float(constant("trend_limit").default),
        "t": [end.timestamp() for end in axis],
        "systems": [row(member) for member in members],
    }
