"""Busy as it would have been with the processors online that a VARY took offline.

Each interval is solved by the model of partitions, as measured and with the cores added.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from msgspec import Struct

from zlens import models
from zlens.catalog.expressions import literal
from zlens.errors import ScenarioError
from zlens.models import interval_choice
from zlens.models.partitions import measurement as partitions
from zlens.rendering.answer import by_name
from zlens.session.session import CoreSession

#: Maximum intervals that are solved, from the first one on.
MOST_INTERVALS = 15
_VARY_OFF, _VARY_ON = "vary off processor", "vary on processor"
ASSUMPTIONS = (
    "The demand of each partition is what it used: work that waited for a processor is not recorded, so busy "
    "would have been at least this",
    "The processors that were online and the added ones share the work alike",
    "Weights and the other partitions are as measured",
)


class OfflineBusy(Struct, frozen=True):
    """Busy with processors online that were offline, in percent of all of them.

    processors  their subjects in events: CPU 3
    ends        ends of the intervals in which they were offline throughout
    """

    processors: tuple[str, ...]
    ends: list[dt.datetime]
    busy: list[float]


def busy_with_processors(
    session: CoreSession, system: str, start: dt.datetime | None = None, end: dt.datetime | None = None
) -> list[OfflineBusy]:
    """Return busy with the offline processors online, by the processors, of the intervals in a window.

    Empty without an event that took a processor offline, and if processors are threads of cores.
    """
    infos = [info for info in session.systems if info.system == system]
    if not session.has_data("event") or any(max(info.threads.values(), default=1) > 1 for info in infos):
        return []
    spans = _offline_spans(session, system)
    own = next((info.lpar for info in infos if info.lpar), None)
    if not spans or own is None:
        return []
    found: dict[tuple[str, ...], OfflineBusy] = {}
    count = 0
    for interval in interval_choice.complete_intervals(session, system):
        offline = tuple(
            cpu for cpu, since, until in spans if since <= interval.start and interval.end <= until
        )
        inside = (start is None or interval.end > start) and (end is None or interval.end <= end)
        if not offline or not inside or interval.busy is None or count == MOST_INTERVALS:
            continue
        count += 1
        share = _share(session, system, interval.end, own, len(offline))
        if share is not None:
            line = found.setdefault(offline, OfflineBusy(offline, [], []))
            line.ends.append(interval.end)
            line.busy.append(interval.busy * share)
    return list(found.values())


def _offline_spans(session: CoreSession, system: str) -> Sequence[tuple[str, dt.datetime, dt.datetime]]:
    """Return the processors that events took offline, with the start and end of that time."""
    rows = session.sql(
        f"SELECT time, kind, subject FROM event WHERE system = {literal(system)} AND subject IS NOT NULL "
        f"AND kind IN ({literal(_VARY_OFF)}, {literal(_VARY_ON)}) ORDER BY time, subject, kind"
    ).rows
    since: dict[str, dt.datetime] = {}
    spans = []
    for time, kind, subject in rows:
        if kind == _VARY_OFF:
            since.setdefault(subject, time)
        elif subject in since:
            spans.append((subject, since.pop(subject), time))
    forever = dt.datetime.max.replace(tzinfo=dt.UTC)
    return [*spans, *((subject, time, forever) for subject, time in since.items())]


def _share(session: CoreSession, system: str, end: dt.datetime, own: str, added: int) -> float | None:
    """Return busy with more cores relative to busy as measured; None if the interval cannot be solved."""
    condition = interval_choice.interval_sql(system, end)
    if not session.sql(f"SELECT 1 FROM partition WHERE {condition} LIMIT 1").rows:
        return None
    scenario = partitions.measured_partitions(session, system, end).scenario
    entries = scenario["partition"]
    places = [at for at, entry in enumerate(entries) if entry["name"] == own]
    if len(places) != 1:
        return None
    [at] = places
    cores = entries[at]["cores"]
    more = [*entries[:at], {**entries[at], "cores": cores + added}, *entries[at + 1 :]]
    name = list(partitions.display_names(scenario))[at]
    try:
        before, after = (
            by_name(models.solve("partitions", {**scenario, "partition": each}).table("partitions"))[name]
            for each in (entries, more)
        )
    except ScenarioError:
        return None
    used, would = before["allocation"], after["allocation"]
    if not isinstance(used, int | float) or not isinstance(would, int | float) or not used:
        return None
    return float(would / used * cores / (cores + added))
