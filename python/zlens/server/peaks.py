"""The peak of a window: the busiest interval, the usual value, and what grew or moved with it.

The peak is the time around the busiest interval in which busy exceeds the midpoint between its median and its
maximum: the full width at half maximum.
"""

from __future__ import annotations

import datetime as dt
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import measures
from zlens.catalog import peaks as facts
from zlens.catalog.comparison_metrics import REGRESSION_CRITERION, ComparedMetric, compared_metrics
from zlens.catalog.expressions import literal
from zlens.catalog.peaks import SubjectGroup
from zlens.compare import SideRun, measure_run
from zlens.compare.correlation import correlated_metrics as moved_with
from zlens.compare.correlation import metric_changes
from zlens.compare.noise import FEWEST_INTERVALS
from zlens.compare.sides import SystemRun
from zlens.models import interval_choice
from zlens.models.interval_choice import BusyInterval
from zlens.plan import offline_processors
from zlens.server import aggregate, buckets, endpoints, json_values
from zlens.server.workspace import Workspace
from zlens.session.source_choice import SystemSource

#: The column by which intervals are busiest.
BUSY_COLUMN = "load.busy_pct"
#: The values of the columns that name a subject.
Subject = tuple[Any, ...]
#: A subject with its value in a peak and outside of it.
ComparedSubject = tuple[Subject, float, float]
#: The columns of an event.
_EVENT = ("time", "kind", "subject", "detail", "inferred")


class Peak(Struct, frozen=True):
    """The busiest interval of a window, and the time around it.

    source  source of the intervals
    usual   median of busy over `rows`
    rows    all complete intervals of the recording
    """

    source: str
    worst: BusyInterval
    usual: float
    start: dt.datetime
    end: dt.datetime
    rows: Sequence[BusyInterval]


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the busiest interval of a window, the subjects that grew with it and the events around it."""
    workspace.system_names(request["system"])
    peak = _peak(workspace, request)
    settings = facts.load_peak_facts()
    if peak is None:
        return {"busiest": None, "peak": None, "growth": [], "events": [], "minutes": settings.minutes}
    around = dt.timedelta(minutes=settings.minutes)
    events = _events(workspace, request["system"])
    near = [event for event in events if peak.start - around <= event["time"] <= peak.end + around]

    def work() -> list[dict[str, Any]]:
        compared = _compare_subjects(workspace, request["system"], peak)
        groups = [_growth(group, rows, near) for group, rows in compared]
        return [group for group in groups if group["rows"]]

    # Many windows have the same peak.
    key = ("growth", request["system"], peak.source, peak.start, peak.end)
    return {
        "busiest": _busiest_interval(peak),
        "peak": {"from": json_values.epoch_seconds(peak.start), "to": json_values.epoch_seconds(peak.end)},
        "growth": workspace.compute_once(key, work),
        "events": [_event(event) for event in near],
        "minutes": settings.minutes,
    }


def correlated_metrics(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics that correlate with busy in a window."""
    workspace.system_names(request["system"])
    peak = _peak(workspace, request)
    if peak is None:
        return {"rows": [], "least": facts.load_peak_facts().correlation, "fewest": FEWEST_INTERVALS}
    run = _complete_run(workspace, request["system"])
    settings = facts.load_peak_facts()
    first, last = buckets.span(request)
    metrics = [metric for metric in compared_metrics() if metric.key not in settings.parts]
    window = first or peak.rows[0].start, last or peak.rows[-1].end
    results = [] if run is None else moved_with(run, BUSY_COLUMN, metrics, window, (peak.start, peak.end))
    strong = [result for result in results if abs(result.correlation) >= settings.correlation]
    return {
        "rows": [
            {
                "title": " ".join([result.metric.heading, *result.subject]),
                "correlation": result.correlation,
                **_values_of_metric(result.metric, result),
            }
            for result in strong[: settings.moved]
        ],
        "least": settings.correlation,
        "fewest": FEWEST_INTERVALS,
    }


def window_changes(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics and subjects that differ between a window and the rest of the recording."""
    workspace.system_names(request["system"])
    settings = facts.load_peak_facts()
    window = _busiest(workspace, request)
    if window is None or (window.end - window.start).total_seconds() >= sum(
        row.seconds for row in window.rows
    ):
        return {"metrics": [], "groups": []}
    run = _complete_run(workspace, request["system"])
    changes = [] if run is None else metric_changes(run, compared_metrics(), (window.start, window.end))
    groups = []
    for group, compared in _compare_subjects(workspace, request["system"], window):
        rows = [row for row in compared if abs(row[1] - row[2]) > REGRESSION_CRITERION * max(row[1], row[2])]
        if rows:
            rows.sort(key=lambda row: -abs(row[2] - row[1]))
            groups.append(_rows_of_group(group, rows, []))
    return {
        "metrics": [
            {"title": change.metric.heading, **_values_of_metric(change.metric, change)}
            for change in changes
            if change.size > REGRESSION_CRITERION
        ][: settings.moved],
        "groups": groups,
    }


def _values_of_metric(metric: ComparedMetric, values: object) -> dict[str, Any]:
    """Return the value of a metric and the usual one, with its unit, explanation and view."""
    return {
        **json_values.attributes(values, "value", "usual"),
        "unit": metric.unit,
        "explain": metric.key,
        "view": facts.load_peak_facts().view_of(metric.table, metric.column),
    }


def _complete_run(workspace: Workspace, system: str) -> SystemRun | None:
    """Return the run of a comparison of the complete input, which comparisons share."""
    complete_input = (None,) * 5

    def work() -> SideRun:
        with workspace.open_narrow(*complete_input) as session:
            return measure_run(session, "base")

    return workspace.compute_once(("run", complete_input), work).systems.get(system)


def with_processors(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return busy as it would have been with the processors online that were varied off."""
    workspace.system_names(request["system"])
    start, end = buckets.span(request)

    def work() -> list[offline_processors.OfflineBusy]:
        return offline_processors.busy_with_processors(workspace.session, request["system"], start, end)

    lines = workspace.compute_once(("with processors", request["system"], start, end), work)
    return {
        "lines": [
            {
                "name": f"with {' and '.join(line.processors)} online",
                "t": [json_values.epoch_seconds(time) for time in line.ends],
                "value": line.busy,
            }
            for line in lines
        ],
        "assumptions": list(offline_processors.ASSUMPTIONS) if lines else [],
    }


def _peak(workspace: Workspace, request: dict[str, Any]) -> Peak | None:
    """Return the peak; None without a complete interval that has a value."""
    window = _busiest(workspace, request)
    if window is None:
        return None
    rows, worst = window.rows, window.worst
    busy = worst.busy or 0.0
    if busy <= window.usual:
        # What is busier around a quiet window is not its peak.
        return replace(window, start=worst.start, end=worst.end)
    half = (window.usual + busy) / 2
    start = end = rows.index(worst)
    while start > 0 and (rows[start - 1].busy or 0.0) > half:
        start -= 1
    while end + 1 < len(rows) and (rows[end + 1].busy or 0.0) > half:
        end += 1
    return replace(window, start=rows[start].start, end=rows[end].end)


def _busiest(workspace: Workspace, request: dict[str, Any]) -> Peak | None:
    """Return the complete intervals of a window and their busiest; None without one that has a value."""
    if not workspace.session.has_data("load"):
        return None
    first, last = buckets.span(request)

    def inside(row: BusyInterval) -> bool:
        return (first is None or row.end > first) and (last is None or row.end <= last)

    system = request["system"]
    by_source = workspace.compute_once(("complete intervals", system), lambda: _intervals(workspace, system))
    within_by_source = {source: [*filter(inside, rows)] for source, rows in by_source.items()}
    within_all = [row for within in within_by_source.values() for row in within]
    if not within_all:
        return None
    worst = interval_choice.busiest(within_all)
    source, *_ = (source for source, within in within_by_source.items() if worst in within)
    rows, within = by_source[source], within_by_source[source]
    usual = statistics.median(row.busy or 0.0 for row in rows)
    return Peak(source, worst, usual, within[0].start, within[-1].end, rows)


def _intervals(workspace: Workspace, system: str) -> dict[str, list[BusyInterval]]:
    """Return the complete intervals with a value by source of a system, longest recording first."""
    sources = {info.source for info in workspace.session.systems if info.system == system}
    by_source = {}
    for source in sorted(sources):
        busy = f"{interval_choice.BUSY} WHERE source = {literal(source)}"
        rows = interval_choice.complete_intervals(workspace.session, system, busy)
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


def _groups(workspace: Workspace, of: SystemSource | None) -> list[SubjectGroup]:
    """Return the groups with data: of a source of a system, or of any."""
    by_source = workspace.session.measures_by_source
    filled = {*(chain.from_iterable(by_source.values()) if of is None else by_source.get(of, ()))}
    return [group for group in facts.load_peak_facts().group if group.table in filled]


def reads(workspace: Workspace, of: SystemSource | None = None) -> dict[str, list[str]]:
    """Return the columns of events and groups by measure; `of` is a system with its source."""
    columns: dict[str, set[str]] = {"event": {"system", *_EVENT}}
    for group in _groups(workspace, of):
        read = aggregate.reads(
            workspace, _request(None, [group], group.statistic, {**group.where, "source": None}, {})
        )
        columns.setdefault(group.table, set()).update(read)
    return {table: sorted(read) for table, read in columns.items() if workspace.session.has_data(table)}


def _recording_baselines(
    workspace: Workspace, system: str, source: str
) -> list[tuple[SubjectGroup, dict[Subject, float]]]:
    """Return the groups with data and their totals or medians by subject, to compare peaks with."""

    def work() -> list[tuple[SubjectGroup, dict[Subject, float]]]:
        for table, columns in reads(workspace, (system, source)).items():
            workspace.materialized_table(table, columns)
        groups = _groups(workspace, (system, source))
        return _by_subject(workspace, system, source, groups, "p50", {})

    return workspace.compute_once(("whole", system, source), work)


def _growth(
    group: SubjectGroup, compared: Sequence[ComparedSubject], events: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the subjects of a group that grew most, above the regression criterion."""
    growth = [row for row in compared if row[1] > row[2] * (1 + REGRESSION_CRITERION)]
    growth.sort(key=lambda row: row[2] - row[1])
    return _rows_of_group(group, growth, events)


def _compare_subjects(
    workspace: Workspace, system: str, peak: Peak
) -> Iterator[tuple[SubjectGroup, list[ComparedSubject]]]:
    """Yield the groups with data, and their subjects with their values in a peak and outside of it."""
    within = {"from": json_values.epoch_seconds(peak.start), "to": json_values.epoch_seconds(peak.end)}
    baselines = _recording_baselines(workspace, system, peak.source)
    groups = [group for group, _ in baselines]
    of_peak = _by_subject(workspace, system, peak.source, groups, "mean", within)
    total_s = sum(row.seconds for row in peak.rows)
    peak_s = sum(row.seconds for row in peak.rows if peak.start < row.end <= peak.end)
    for (group, baseline), (_, inside) in zip(baselines, of_peak, strict=True):
        if group.statistic != "total":
            value, usual = inside, baseline
        elif total_s > peak_s:
            value = {subject: inside.get(subject, 0.0) / peak_s for subject in baseline}
            usual = {
                subject: (total - inside.get(subject, 0.0)) / (total_s - peak_s)
                for subject, total in baseline.items()
            }
        else:
            value = usual = {}
        yield (
            group,
            [
                (subject, group.scale * value[subject], group.scale * usual[subject])
                for subject in value
                if subject in usual
            ],
        )


def _rows_of_group(
    group: SubjectGroup,
    rows: Sequence[ComparedSubject],
    events: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "title": group.title,
        "unit": group.unit,
        "explain": group.key,
        "view": group.view,
        "rows": [
            _subject(group, dict(zip(group.by, subject, strict=True)), value_, usual_, events)
            for subject, value_, usual_ in rows[: facts.load_peak_facts().rows]
        ],
        "more": max(0, len(rows) - facts.load_peak_facts().rows),
    }


def _subject(
    group: SubjectGroup, values: dict[str, Any], value: float, usual: float, events: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    event_subject = facts.fill_placeholders(group.event, values) if group.event else None
    return {
        "subject": facts.fill_placeholders(group.name, values),
        "value": json_values.json_value(value),
        "usual": json_values.json_value(usual),
        "settings": {key: facts.fill_placeholders(text, values) for key, text in group.settings.items()},
        "events": [
            {"t": json_values.epoch_seconds(event["time"]), "kind": event["kind"]}
            for event in events
            if event_subject is not None and event["subject"] == event_subject
        ],
    }


def _by_subject(
    workspace: Workspace,
    system: str,
    source: str,
    groups: Sequence[SubjectGroup],
    level: str,
    window: dict[str, Any],
) -> list[tuple[SubjectGroup, dict[Subject, float]]]:
    """Return groups with the column of each by subject, from one source: totals, or the statistic `level`.

    Groups of the same rows share a query.
    """
    shared: dict[tuple[Any, ...], list[int]] = {}
    for number, group in enumerate(groups):
        shared.setdefault((group.table, group.by, str(group.where), group.statistic), []).append(number)
    values: dict[int, dict[Subject, float]] = {}
    for numbers in shared.values():
        together = [groups[number] for number in numbers]
        first = together[0]
        statistic = "total" if first.statistic == "total" else level
        request = _request(system, together, statistic, {**first.where, "source": source}, window)
        result = aggregate.answer(workspace, request)
        rows = msgspec.json.decode(result["rows"].text, type=list[tuple[Any, ...]])
        keys = result["columns"].index(first.by[0])
        subject = slice(keys, keys + len(first.by))
        for number, group in zip(numbers, together, strict=True):
            value = result["columns"].index(f"{group.column}_{statistic}")
            values[number] = {row[subject]: row[value] for row in rows if row[value] is not None}
    return [(group, values[number]) for number, group in enumerate(groups)]


def _request(
    system: str | None,
    groups: Sequence[SubjectGroup],
    statistic: str,
    where: dict[str, Any],
    window: dict[str, Any],
) -> dict[str, Any]:
    """Return the request for a statistic of the columns of groups of the same rows by subject."""
    group = groups[0]
    checked: dict[str, Any] = endpoints.find("POST", "aggregate").check(
        {
            "table": group.table,
            "columns": {each.column: [statistic] for each in groups},
            "by": list(group.by),
            "system": system,
            "where": where,
            "limit": aggregate.MOST,
            **window,
        }
    )
    return checked


def _events(workspace: Workspace, system: str) -> list[dict[str, Any]]:
    """Return the events of a system, without duplicates and frequent kinds."""
    if not workspace.session.has_data("event"):
        return []

    def work() -> list[dict[str, Any]]:
        names = ", ".join(_EVENT)
        workspace.materialized_table("event", ["system", *_EVENT])
        result = workspace.session.queries.select(
            f"SELECT DISTINCT {names} FROM event WHERE {buckets.is_one_of('system', [system])} "
            f"ORDER BY {names}",
            {"event": ["system", *_EVENT]},
        )
        events = [dict(zip(_EVENT, row, strict=True)) for row in result.rows if row[0] is not None]
        counts = Counter(event["kind"] for event in events)
        return [event for event in events if counts[event["kind"]] <= facts.load_peak_facts().frequent]

    return workspace.compute_once(("events", system), work)


def _event(event: dict[str, Any]) -> dict[str, Any]:
    view = facts.load_peak_facts().view_of_event(event["subject"] or "")
    return {
        **{name: json_values.json_value(event[name]) for name in ("kind", "subject", "detail", "inferred")},
        "t": json_values.epoch_seconds(event["time"]),
        "view": view and view[0],
        "settings": view[1] if view else {},
    }
