"""Schema of the inputs: systems, tables, reports and models."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from zlens import models
from zlens.catalog import cpumf, glossary, measures, roles, subjects
from zlens.catalog.reports import definition, menus
from zlens.engine import cancellation
from zlens.findings.evaluate import USUAL
from zlens.inputs.source import SystemInfo, without_raw_tables
from zlens.inputs.unix_time import from_unix_us
from zlens.models import interval_choice
from zlens.rendering.rows import iso
from zlens.reports import report_list
from zlens.server.aggregate import measure
from zlens.server.json_values import attributes
from zlens.server.workspace import Workspace
from zlens.session.session import CoreSession
from zlens.session.source_choice import SystemSource
from zlens.version import VERSION

#: A condition of the workload hint.
_HINT_TEST = re.compile(r"(l1mp|rni) (<=?|>=?) ([0-9.]+)")


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the requested parts of the schema, without decoding: fast even for many gigabytes.

    parts    what to return (all)
    tables   the names of the tables to return (all); raises QueryError for an unknown one
    """
    parts, named = request.get("parts"), request.get("tables")
    schema: dict[str, Any] = {}
    if parts is None or "systems" in parts:
        schema |= workspace.compute_once("schema", lambda: _systems(workspace))
    if parts is None or "tables" in parts:
        schema["tables"] = (
            workspace.compute_once("tables", lambda: _tables(workspace))
            if named is None
            else [_measure(workspace, measure(name)) for name in dict.fromkeys(named)]
        )
    if parts is None or "reports" in parts:
        schema["reports"] = workspace.compute_once(
            "schema/reports", lambda: _reports(workspace, workspace.session.tables_by_source)
        )
    if parts is None or "models" in parts:
        schema["models"] = [
            {
                "name": name,
                "summary": models.find(name).summary,
                "example": models.find(name).example,
                "needs": _model_needs(name),
            }
            for name in models.MODELS
        ]
    return schema


def _systems(workspace: Workspace) -> dict[str, Any]:
    """Return everything but tables, reports and models."""
    session = workspace.session
    gone = without_raw_tables(session.sources)
    measures_by_source = session.measures_by_source
    return {
        "version": VERSION,
        "synthetic": any(info.synthetic for info in session.systems),
        "inputs": [{"name": name} for name in workspace.names],
        "systems": [
            {
                **system(session, info, gone, many=workspace.has_many_systems),
                "fills": measures_by_source.get((info.system, info.source), []),
                "same": info.system in session.sources_by_system,
            }
            for info in session.systems_in_order
        ],
        "subjects": subjects.entries(),
        "events": session.has_data("event"),
        "runs": workspace.runs is not None,
        "live": workspace.live,
        "wide": workspace.has_many_systems,
        "throughput": session.throughput is not None,
        "expected": list(models.MEASURED),
        "classes": list(USUAL),
        "every_s": session.options.every_s,
        "hints": hint_regions(),
        "statuses": measures.STATUSES,
        "glossary": [attributes(term, "name", "text", "source", "of") for term in glossary.terms()],
    }


def _model_needs(name: str) -> list[str]:
    """Return the measures of which a model needs rows; none for models without measured intervals."""
    if name not in models.MEASURED:
        return []
    module = models.measured(name)
    return [module.TABLE, *(["load"] if module.busy(()) == interval_choice.BUSY else [])]


def system(
    session: CoreSession, info: SystemInfo, gone: Container[str], *, many: bool = False
) -> dict[str, Any]:
    """Return a system of a source with the time range that the options select.

    gone   systems without raw tables
    many   whether to skip reading intervals if their time range is known: they are not counted, and the
           first one is assumed to have the nominal length
    """
    count: int | None = None
    first: int | None
    last: int | None
    if many and info.ends_us is not None and not session.options.is_selective:
        first, last = info.ends_us
        first -= round((info.nominal_s or 0) * 1e6)
    else:
        intervals = session.intervals_of(info)
        count = len(intervals)
        first, last = info.first_us, info.last_us
        if intervals:
            first, last = intervals[0].start_us, intervals[-1].end_us
    return {
        **attributes(info, "system", "source", "lpar", "machine", "machine_type", "model", "serial"),
        **attributes(info, "release", "utc_offset_s", "local_time", "dated", "nominal_s"),
        "intervals": count,
        "start": _time(first),
        "end": _time(last),
        "synthetic": info.synthetic,
        "forgotten": info.system in gone,
    }


def _time(us: int | None) -> str | None:
    return None if us is None else iso(from_unix_us(us))


def _measure(workspace: Workspace, table: measures.Measure) -> dict[str, Any]:
    return {
        "name": table.name,
        "kind": "measure",
        "text": table.text,
        "key": [*table.row_key],
        "fills": workspace.session.has_data(table.name),
        "lazy": table.lazy,
        "records": table.records,
        "columns": [
            {
                **attributes(column, "name", "type", "unit", "text", "status", "aggregate"),
                "formula": column.formula or column.definition,
                "scope": column.scope,
            }
            for column in table.columns
        ],
    }


def _tables(workspace: Workspace) -> list[dict[str, Any]]:
    session = workspace.session
    tables = [_measure(workspace, measures.load_measure(name)) for name in measures.measure_names()]
    engine = session.engine
    for name in engine.raw_tables():
        if name not in measures.measure_names():
            columns = [{"name": column, "type": type} for column, type in engine.raw_columns(name)]
            raw = {"name": name, "kind": "raw", "text": "", "key": [], "fills": True, "columns": columns}
            tables.append(raw)
    for name in roles.entities():
        entity = roles.entity(name)
        tables.append(
            {
                "name": f"role.{name}",
                "kind": "role",
                "text": entity.text,
                "key": [],
                "fills": session.has_data(f"role.{name}"),
                "columns": [{"name": role, "type": field.type} for role, field in entity.roles.items()],
            }
        )
    return tables


def _reports(
    workspace: Workspace, tables_by_source: Mapping[SystemSource, frozenset[str]]
) -> list[dict[str, Any]]:
    """Return the reports without decoding.

    fills      whether a measure or role that the report reads has data
    possible   number of columns whose measures have data
    """
    tables = {*measures.measure_names(), *(f"role.{name}" for name in roles.entities())}
    queries = workspace.session.queries
    tables_by_system: dict[str, frozenset[str]] = {}
    for (system, _), raw in tables_by_source.items():
        tables_by_system[system] = tables_by_system.get(system, frozenset()) | raw
    # Most systems have the same tables.
    distinct = {*tables_by_system.values()}
    entries = []
    for name in definition.names():
        report = definition.load_report(name)
        read = {table for item in report.tables for table in queries.tables(item.query)} & tables
        # The first table has the subject of the report; others may add a line of a more common measure.
        main_query = report.tables[0].query
        matching = {raw for raw in distinct if queries.query_has_data(main_query, raw)}
        systems = [system for system, raw in tables_by_system.items() if raw in matching]
        columns = [column for table in report.tables for column in table.columns]
        possible = sum(
            all(workspace.session.has_data(measure.partition(".")[0]) for measure in column.measures)
            for column in columns
            if column.measures
        )
        entries.append(
            {
                "name": name,
                "fcx": report.number,
                "title": report.title,
                "group": report.group,
                "heading": menus.heading(report.group),
                "opening": report.opening,
                "columns": report.shown_count,
                "of": report.known_count,
                "possible": possible,
                "fills": not read or any(map(workspace.session.has_data, read)),
                "systems": systems,
            }
        )
    return sorted(entries, key=lambda item: (item["group"], item["name"]))


def reports(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return the number of columns with values of each report; decodes everything."""

    def work() -> list[dict[str, Any]]:
        entries = []
        names = definition.names()
        counts = report_list.value_counts(map(definition.load_report, names), workspace.session)
        for done, name in enumerate(names):
            cancellation.report_progress(done, len(names), f"report {name}")
            report = definition.load_report(name)
            values = report_list.report_values(report, workspace.session, counts)
            entry = report_list.entry(report, values.count)
            entries.append({"name": name, "has": entry.available, "of": entry.known, "state": entry.state})
        return entries

    return {"reports": workspace.compute_once("reports", work)}


def hint_regions() -> dict[str, Any]:
    """Return the workload hint as rectangles: bounds of L1MP and RNI of each line, null if open.

    The first matching line defines the category, so a bound belongs to the earlier line.
    """
    table = cpumf.HintTable.load()
    return {
        "status": table.status,
        "source": table.source,
        "note": table.note,
        "generations": list(cpumf.hinted_generations()),
        "regions": [{"category": hint.category, **_hint_bounds(hint.when)} for hint in table.hints],
    }


def _hint_bounds(when: str) -> dict[str, list[float | None]]:
    bounds: dict[str, list[float | None]] = {"l1mp": [None, None], "rni": [None, None]}
    for test in when.split(" and "):
        match = _HINT_TEST.fullmatch(test)
        if match is None:
            raise ValueError(f"cannot draw the condition of a hint: {test!r}")
        name, sign, value = match.groups()
        bounds[name][0 if sign.startswith(">") else 1] = float(value)
    return bounds
