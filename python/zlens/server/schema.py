"""Contents of the inputs: systems, tables, reports and models."""

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
from zlens.rendering.rows import iso
from zlens.reports import report_list
from zlens.server.workspace import Workspace
from zlens.session.source_choice import SystemSource
from zlens.version import VERSION

#: A condition of the workload hint.
_HINT_TEST = re.compile(r"(l1mp|rni) (<=?|>=?) ([0-9.]+)")


def answer(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """The schema; fast even for inputs of many gigabytes, since nothing is decoded."""
    schema: dict[str, Any] = place.compute_once("schema", lambda: _schema(place))
    return schema


def _schema(place: Workspace) -> dict[str, Any]:
    session = place.session
    gone = without_raw_tables(session.sources)
    own = session.tables_by_source
    fills = session.measures_by_source
    return {
        "version": VERSION,
        "synthetic": any(info.synthetic for info in session.systems),
        "inputs": [{"name": name} for name in place.names],
        "systems": [
            {
                **system(info, gone, many=place.has_many_systems),
                "fills": fills.get((info.system, info.source), []),
                "same": info.system in session.sources_by_system,
            }
            for info in session.systems_in_order
        ],
        "tables": _tables(place),
        "reports": _reports(place, own),
        "subjects": subjects.entries(),
        "events": session.has_data("event"),
        "runs": place.runs is not None,
        "live": place.live,
        "wide": place.has_many_systems,
        "throughput": session.throughput is not None,
        "models": [
            {
                "name": name,
                "summary": models.find(name).SUMMARY,
                "example": models.find(name).EXAMPLE,
                "measured": models.measured(name).TABLE if name in models.MEASURED else None,
            }
            for name in models.MODELS
        ],
        "expected": list(models.MEASURED),
        "classes": list(USUAL),
        "every_s": session.options.every_s,
        "hints": hint_regions(),
        "glossary": [
            {"name": term.name, "text": term.text, "source": term.source, "of": term.of}
            for term in glossary.terms()
        ],
    }


def system(info: SystemInfo, gone: Container[str], *, many: bool = False) -> dict[str, Any]:
    """A system of a source, and the time that its intervals span.

    gone   the systems without raw tables
    many   whether intervals are left unread where their span is known without them: they are not counted,
           and the first one is taken to be as long as usual
    """
    count: int | None = None
    first: int | None
    last: int | None
    if many and info.ends_us is not None:
        first, last = info.ends_us
        first -= round((info.nominal_s or 0) * 1e6)
    else:
        ends = [interval.end_us for interval in info.intervals]
        count = len(ends)
        first = ends[0] if ends else info.first_us
        last = ends[-1] if ends else info.last_us
        if info.intervals and info.intervals[0].seconds:
            first = (first or 0) - round(info.intervals[0].seconds * 1e6)
    return {
        "system": info.system,
        "source": info.source,
        "lpar": info.lpar,
        "machine": info.machine,
        "machine_type": info.machine_type,
        "model": info.model,
        "serial": info.serial,
        "release": info.release,
        "utc_offset_s": info.utc_offset_s,
        "local_time": info.local_time,
        "dated": info.dated,
        "nominal_s": info.nominal_s,
        "intervals": count,
        "start": _time(first),
        "end": _time(last),
        "synthetic": info.synthetic,
        "forgotten": info.system in gone,
    }


def _time(micro: int | None) -> str | None:
    return None if micro is None else iso(from_unix_us(micro))


def _tables(place: Workspace) -> list[dict[str, Any]]:
    session = place.session
    tables = []
    for name in measures.measure_names():
        table = measures.load_measure(name)
        tables.append(
            {
                "name": name,
                "kind": "measure",
                "text": table.text,
                "key": [*table.row_key],
                "fills": session.has_data(name),
                "lazy": table.lazy,
                "records": table.records,
                "columns": [
                    {
                        "name": column.name,
                        "type": column.type,
                        "unit": column.unit,
                        "text": column.text,
                        "status": column.status,
                        "aggregate": column.aggregate,
                        "formula": column.formula or column.definition,
                        "scope": column.scope,
                    }
                    for column in table.columns
                ],
            }
        )
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


def _reports(place: Workspace, own: Mapping[SystemSource, frozenset[str]]) -> list[dict[str, Any]]:
    """The reports, without decoding. fills: whether the inputs fill a measure or role that the report reads;
    possible: number of columns whose measures the inputs fill."""
    filled: dict[str, bool] = {}

    def fills(table: str) -> bool:
        if table not in filled:
            filled[table] = place.session.has_data(table)
        return filled[table]

    tables = {*measures.measure_names(), *(f"role.{name}" for name in roles.entities())}
    engine = place.session.engine
    tables_of: dict[str, frozenset[str]] = {}
    for (system, _), raw in own.items():
        tables_of[system] = tables_of.get(system, frozenset()) | raw
    # Most systems have the same tables.
    distinct = {*tables_of.values()}
    listed = []
    for name in definition.names():
        report = definition.load_report(name)
        read = {table for item in report.tables for table in engine.tables(item.query)} & tables
        # The first table is what a report is about; others may add a line of a more common measure.
        about = report.tables[0].query
        filling = {raw for raw in distinct if engine.query_has_data(about, raw)}
        systems = [system for system, raw in tables_of.items() if raw in filling]
        columns = [column for table in report.tables for column in table.columns]
        possible = sum(
            all(fills(measure.partition(".")[0]) for measure in column.measures)
            for column in columns
            if column.measures
        )
        listed.append(
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
                "fills": not read or any(fills(table) for table in read),
                "systems": systems,
            }
        )
    return sorted(listed, key=lambda item: (item["group"], item["name"]))


def reports(place: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """The reports with the number of columns that have values; decodes everything."""

    def work() -> list[dict[str, Any]]:
        listed = []
        names = definition.names()
        known: dict[str, list[int]] = {}
        report_list.announce_counts(map(definition.load_report, names), place.session)
        for done, name in enumerate(names):
            cancellation.report_progress(done, len(names), f"report {name}")
            report = definition.load_report(name)
            entry = report_list.entry(report, report_list.report_values(report, place.session, known).count)
            listed.append({"name": name, "has": entry.available, "of": entry.known, "state": entry.state})
        return listed

    return {"reports": place.compute_once("reports", work)}


def hint_regions() -> dict[str, Any]:
    """The workload hint as rectangles to draw: bounds of L1MP and RNI of each line, null if open.

    The first line that applies gives the category, so a bound belongs to the earlier line.
    """
    table = cpumf.hint_table()
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
