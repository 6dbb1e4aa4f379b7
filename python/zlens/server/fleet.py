"""GET /fleet: all systems side by side. GET /cluster: what the members of one share."""

from __future__ import annotations

from typing import Any

from zlens.errors import QueryError
from zlens.models.constants import constant
from zlens.server import values
from zlens.server.buckets import instant
from zlens.server.place import Place
from zlens.studies import cluster, fleet


def answer(place: Place, request: dict[str, Any]) -> dict[str, Any]:
    moments = [request[name] for name in ("from", "to", "base_from", "base_to")]

    def work() -> dict[str, Any]:
        start, end, base_start, base_end = (None if at is None else instant(at) for at in moments)
        before = None if base_start is None and base_end is None else (base_start, base_end)
        return _systems(place, fleet.members(place.session, (start, end), before))

    # What still arrives is computed for each request.
    return work() if place.live else place.once(("fleet", *moments), work)


def members(place: Place, request: dict[str, Any]) -> dict[str, Any]:
    """What the members of a cluster have in common, and how much each uses of it."""
    name = request["name"]
    systems = sorted(system for system, of in fleet.clusters(place.session).items() if of == name)
    if not systems:
        known = ", ".join(sorted({*fleet.clusters(place.session).values()})) or "none"
        raise QueryError(f"there is no cluster {name}", expected=f"a cluster of this input: {known}")
    start, end = (None if request[at] is None else instant(request[at]) for at in ("from", "to"))

    def kind(of: cluster.Kind) -> dict[str, Any]:
        rows = cluster.shared(place.session, of, systems, (start, end))
        return {
            "unit": of.unit(),
            "explain": f"{of.table}.{of.column}",
            "rows": [
                [one.name, values.plain(one.together), len(one.members)]
                + [values.plain(one.members.get(system)) for system in systems]
                for one in rows
            ],
        }

    return {"members": systems, "volumes": kind(cluster.VOLUMES), "guests": kind(cluster.GUESTS)}


def _systems(place: Place, members: list[fleet.Member]) -> dict[str, Any]:
    session = place.session
    axis = sorted({end for member in members for end, _ in member.hours})
    clusters = fleet.clusters(session)
    infos = {(info.system, info.source): info for info in session.systems}

    def row(member: fleet.Member) -> dict[str, Any]:
        info = infos[member.system, member.source]
        course = dict(member.hours)
        return {
            "system": member.system,
            "source": member.source,
            "machine": info.machine,
            "sysplex": info.sysplex,
            "cluster": clusters.get(member.system),
            "release": info.release,
            "mean": values.plain(member.mean),
            "busiest": values.plain(member.busiest),
            "at": values.plain(member.at),
            "before": values.plain(member.before),
            "change": values.plain(member.change),
            "growth": values.plain(member.growth),
            "meets": member.meets,
            "course": [values.plain(course.get(end)) for end in axis],
        }

    return {
        "unit": fleet.unit(),
        "limit": float(constant("trend_limit").default),
        "t": [end.timestamp() for end in axis],
        "systems": [row(member) for member in members],
    }
