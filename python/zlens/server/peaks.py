"""What happened: the busiest interval, how far from usual it is, and what grew or moved with it.

The peak is the time around the busiest interval in which busy exceeds the midpoint between its median and its
maximum:
the full width at half maximum.
"""

from __future__ import annotations

import datetime as dt
import json
import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from zlens.catalog import measures
from zlens.catalog import peaks as facts
from zlens.catalog.comparison_metrics import compared_metrics
from zlens.catalog.expressions import literal
from zlens.catalog.peaks import SubjectGroup
from zlens.compare import measure_run
from zlens.compare.comparison import REGRESSION_CRITERION
from zlens.compare.correlation import correlated_metrics as moved_with
from zlens.compare.noise import FEWEST_INTERVALS
from zlens.inputs.options import parse_instant
from zlens.models import interval_choice
from zlens.models.interval_choice import BusyInterval
from zlens.server import aggregate, buckets, endpoints, json_values
from zlens.server.workspace import Workspace

#: The column by which intervals are busiest.
BUSY_COLUMN = "load.busy_pct"
#: The columns of an event.
_EVENT = ("time", "kind", "subject", "detail", "inferred")


class Peak(Struct, frozen=True):
    """The busiest interval of a window, and the stretch around it.

    source  the source whose intervals they are
    usual   median of all intervals of the recording
    rows    all complete intervals of the recording
    """

    source: str
    worst: BusyInterval
    usual: float
    start: dt.datetime
    end: dt.datetime
    rows: Sequence[BusyInterval]

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()


def answer(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """The busiest interval of a window, the subjects that grew with it and the events around it."""
    place.system_names(request["system"])
    peak = _peak(place, request)
    shown = facts.load_peak_facts()
    if peak is None:
        return {"busiest": None, "peak": None, "growth": [], "events": [], "minutes": shown.minutes}
    around = dt.timedelta(minutes=shown.minutes)
    events = _events(place, request["system"])
    whole = _recording_baselines(place, request["system"], peak.source)
    near = [event for event in events if peak.start - around <= event["time"] <= peak.end + around]
    return {
        "busiest": _busiest_interval(peak),
        "peak": {"from": json_values.epoch_seconds(peak.start), "to": json_values.epoch_seconds(peak.end)},
        "growth": [
            group
            for declared_group, of_recording in whole
            for group in [_group(place, request["system"], declared_group, of_recording, peak, near)]
            if group["rows"]
        ],
        "events": [_event(event) for event in near],
        "minutes": shown.minutes,
    }


def correlated_metrics(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """The metrics of a comparison that moved with busy in a window."""
    place.system_names(request["system"])
    peak = _peak(place, request)
    if peak is None:
        return {"rows": [], "least": facts.load_peak_facts().correlation, "fewest": FEWEST_INTERVALS}
    # The same run that a comparison of the whole input measures.
    everything = (None,) * 5

    def work() -> Any:
        with place.open_narrow(*everything) as session:
            return measure_run(session, "base")

    run = place.compute_once(("run", everything), work).systems.get(request["system"])
    shown = facts.load_peak_facts()
    first, last = _window(request)
    results = (
        []
        if run is None
        else moved_with(
            run,
            BUSY_COLUMN,
            [metric for metric in compared_metrics() if metric.key not in shown.parts],
            (first or peak.rows[0].start, last or peak.rows[-1].end),
            (peak.start, peak.end),
        )
    )
    strong = [result for result in results if abs(result.correlation) >= shown.correlation]
    return {
        "rows": [
            {
                "title": " ".join([result.metric.heading, *result.subject]),
                "correlation": result.correlation,
                "value": json_values.json_value(result.value),
                "usual": json_values.json_value(result.usual),
                "unit": result.metric.unit,
                "explain": result.metric.key,
                "view": shown.view_of(result.metric.table, result.metric.column),
            }
            for result in strong[: shown.moved]
        ],
        "least": shown.correlation,
        "fewest": FEWEST_INTERVALS,
    }


def _window(request: dict[str, Any]) -> tuple[dt.datetime | None, dt.datetime | None]:
    first, last = (None if request[name] is None else parse_instant(request[name]) for name in ("from", "to"))
    return first, last


def _peak(place: Workspace, request: dict[str, Any]) -> Peak | None:
    """None without a complete interval that has a value."""
    if not place.session.has_data("load"):
        return None
    first, last = _window(request)

    def inside(row: BusyInterval) -> bool:
        return (first is None or row.end > first) and (last is None or row.end <= last)

    system = request["system"]
    by_source = place.compute_once(("complete intervals", system), lambda: _intervals(place, system))
    sources = [source for source, rows in by_source.items() if any(map(inside, rows))]
    if not sources:
        return None
    worst = interval_choice.busiest([row for source in sources for row in by_source[source] if inside(row)])
    source, *_ = (source for source in sources if worst in by_source[source])
    rows = by_source[source]
    usual = statistics.median(row.busy or 0.0 for row in rows)
    half = (usual + (worst.busy or 0.0)) / 2
    begin = end = rows.index(worst)
    while begin > 0 and (rows[begin - 1].busy or 0.0) > half:
        begin -= 1
    while end + 1 < len(rows) and (rows[end + 1].busy or 0.0) > half:
        end += 1
    return Peak(source, worst, usual, rows[begin].start, rows[end].end, rows)


def _intervals(place: Workspace, system: str) -> dict[str, list[BusyInterval]]:
    """The complete intervals with a value of each source of a system, the longest recording first."""
    sources = {info.source for info in place.session.systems if info.system == system}
    by_source = {}
    for source in sorted(sources):
        busy = f"{interval_choice.BUSY} WHERE source = {literal(source)}"
        rows = interval_choice.complete_intervals(place.session, system, busy)
        by_source[source] = [row for row in rows if row.busy is not None]
    return dict(sorted(by_source.items(), key=lambda entry: -len(entry[1])))


def _busiest_interval(peak: Peak) -> dict[str, Any]:
    table, _, column = BUSY_COLUMN.partition(".")
    busy = measures.load_measure(table).column(column)
    assert busy is not None
    return {
        "explain": BUSY_COLUMN,
        "unit": busy.unit,
        "text": busy.text,
        "value": json_values.json_value(peak.worst.busy),
        "usual": json_values.json_value(peak.usual),
        "from": json_values.epoch_seconds(peak.worst.start),
        "to": json_values.epoch_seconds(peak.worst.end),
        "intervals": len(peak.rows),
    }


def _groups(place: Workspace) -> list[SubjectGroup]:
    return [group for group in facts.load_peak_facts().groups if place.session.has_data(group.table)]


def reads(place: Workspace) -> dict[str, list[str]]:
    """The columns of events and groups, by measure."""
    columns: dict[str, set[str]] = {"event": {"system", *_EVENT}}
    for group in _groups(place):
        read = aggregate.reads(_request(None, group, group.statistic, {**group.where, "source": None}, {}))
        columns.setdefault(group.table, set()).update(read)
    return {table: sorted(read) for table, read in columns.items() if place.session.has_data(table)}


def _recording_baselines(
    place: Workspace, system: str, source: str
) -> list[tuple[SubjectGroup, dict[tuple[Any, ...], float]]]:
    """The groups that an input has and, by subject, what their peaks are compared with: totals or medians."""

    def work() -> list[tuple[SubjectGroup, dict[tuple[Any, ...], float]]]:
        for table, columns in reads(place).items():
            place.materialized_table(table, columns)
        return [
            (group, _by_subject(place, system, source, group, statistic, {}))
            for group in _groups(place)
            for statistic in ["total" if group.statistic == "total" else "p50"]
        ]

    whole: list[tuple[SubjectGroup, dict[tuple[Any, ...], float]]] = place.compute_once(
        ("whole", system, source), work
    )
    return whole


def _group(
    place: Workspace,
    system: str,
    group: SubjectGroup,
    of_recording: dict[tuple[Any, ...], float],
    peak: Peak,
    near: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The subjects of a group that grew most, beyond the difference that counts as none."""
    within = {"from": json_values.epoch_seconds(peak.start), "to": json_values.epoch_seconds(peak.end)}
    if group.statistic == "total":
        inside = _by_subject(place, system, peak.source, group, "total", within)
        seconds = sum(row.seconds for row in peak.rows)
        own = sum(row.seconds for row in peak.rows if peak.start < row.end <= peak.end)
        usual = {
            subject: (total - inside.get(subject, 0.0)) / (seconds - own)
            for subject, total in of_recording.items()
            if seconds > own
        }
        value = {subject: total / own for subject, total in inside.items()}
    else:
        value = _by_subject(place, system, peak.source, group, "mean", within)
        usual = of_recording
    grew = [
        (subject, group.scale * value[subject], group.scale * usual[subject])
        for subject in value
        if subject in usual and value[subject] > usual[subject] * (1 + REGRESSION_CRITERION)
    ]
    grew.sort(key=lambda row: row[2] - row[1])
    return {
        "title": group.title,
        "unit": group.unit,
        "explain": group.key,
        "view": group.view,
        "rows": [
            _subject(group, dict(zip(group.by, subject, strict=True)), value_, usual_, near)
            for subject, value_, usual_ in grew[: facts.load_peak_facts().rows]
        ],
        "more": max(0, len(grew) - facts.load_peak_facts().rows),
    }


def _subject(
    group: SubjectGroup, named: dict[str, Any], value: float, usual: float, near: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    own = facts.fill_placeholders(group.event, named) if group.event else None
    return {
        "subject": facts.fill_placeholders(group.name, named),
        "value": json_values.json_value(value),
        "usual": json_values.json_value(usual),
        "settings": {key: facts.fill_placeholders(text, named) for key, text in group.settings.items()},
        "events": [
            {"t": json_values.epoch_seconds(event["time"]), "kind": event["kind"]}
            for event in near
            if own is not None and event["subject"] == own
        ],
    }


def _by_subject(
    place: Workspace, system: str, source: str, group: SubjectGroup, statistic: str, window: dict[str, Any]
) -> dict[tuple[Any, ...], float]:
    """A statistic of the column of a group by subject, as one source describes them."""
    request = _request(system, group, statistic, {**group.where, "source": source}, window)
    result = aggregate.answer(place, request)
    at = {name: index for index, name in enumerate(result["columns"])}
    value = at[f"{group.column}_{statistic}"]
    return {
        tuple(row[at[name]] for name in group.by): row[value]
        for row in json.loads(result["rows"].text)
        if row[value] is not None
    }


def _request(
    system: str | None, group: SubjectGroup, statistic: str, where: dict[str, Any], window: dict[str, Any]
) -> dict[str, Any]:
    """The request for a statistic of the column of a group by subject."""
    checked: dict[str, Any] = endpoints.find("POST", "aggregate").check(
        {
            "table": group.table,
            "columns": {group.column: [statistic]},
            "by": list(group.by),
            "system": system,
            "where": where,
            "limit": aggregate.MOST,
            **window,
        }
    )
    return checked


def _events(place: Workspace, system: str) -> list[dict[str, Any]]:
    """The events of a system, without repetitions and frequent kinds."""
    if not place.session.has_data("event"):
        return []

    def work() -> list[dict[str, Any]]:
        named = ", ".join(_EVENT)
        place.materialized_table("event", ["system", *_EVENT])
        result = place.session.select(
            f"SELECT DISTINCT {named} FROM event WHERE {buckets.is_one_of('system', [system])} ORDER BY time",
            {"event": ["system", *_EVENT]},
        )
        events = [dict(zip(_EVENT, row, strict=True)) for row in result.rows if row[0] is not None]
        counts = Counter(event["kind"] for event in events)
        return [event for event in events if counts[event["kind"]] <= facts.load_peak_facts().frequent]

    rows_of_system: list[dict[str, Any]] = place.compute_once(("events", system), work)
    return rows_of_system


def _event(event: dict[str, Any]) -> dict[str, Any]:
    shown = facts.load_peak_facts().view_of_event(event["subject"] or "")
    return {
        **{name: json_values.json_value(event[name]) for name in ("kind", "subject", "detail", "inferred")},
        "t": json_values.epoch_seconds(event["time"]),
        "view": shown and shown[0],
        "settings": shown[1] if shown else {},
    }
