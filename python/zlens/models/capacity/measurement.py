"""Capability of the processors of a measured interval, and how much of it was used.

The curve is the one reported by Linux on the same machine, if the input has one; otherwise the catalog's for
the machine and its capability. With multithreading, cores are counted, not threads.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from zlens import models
from zlens.catalog.expressions import literal
from zlens.errors import QueryError, ScenarioError
from zlens.models import scenario as scenarios
from zlens.models.capacity import curve_sources
from zlens.models.interval_choice import interval_sql, load_busy, local_time
from zlens.models.optional_numbers import product, total
from zlens.rendering.answer import Answer, AnswerFigure, Value
from zlens.rendering.answer_columns import answer_table
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

TABLE = "cpu"
busy = load_busy
#: Keys of the scenario that select a curve.
_CURVES = ("machine", "factors", "adjustments", "data")


def compare(session: CoreSession, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Compare capability with use. settings: `machine=z14-m05`, or other values of the scenario."""
    title = f"Capability of {system}, interval that ended {local_time(session, system, end)}"
    types, unit_text = _processors(session, interval_sql(system, end))
    number = round(sum(row[1] for row in types))
    if not number:
        return Answer("capacity", title, [], notes=["the data reports no online processor"])
    values: dict[str, Any] = {"model": "capacity", "title": title, "processors": number, "sizes": [number]}
    notes = [f"{number:,} {unit_text}"]
    text = None
    if not any(setting.startswith(_CURVES) for setting in settings):
        curve = _curve(session, system)
        values["factors"] = {str(n): factor for n, factor in curve.curve}
        text = curve.text
        notes += [f"Curve: {curve.text} ({curve.status}: {curve.source})", *curve.notes]
    parked_all = sum(row[2] or 0.0 for row in types)
    if parked_all >= 0.5:
        notes.append(
            f"{parked_all:.1f} of them were parked on average, and the factor is for all; "
            f"processors={max(1, round(number - parked_all))} computes it for the others"
        )
    if len(types) > 1:
        notes.append("processors of several types: the curve is for one capability and applied to all")
    values = scenarios.apply_settings(values, settings)
    notes += [f"changed: {setting}" for setting in settings]
    solved = models.solve("capacity", values)
    # For the measured processors, even if --set changes processors.
    factor = models.solve("capacity", {**values, "processors": number}).figure("factor")
    rows: list[tuple[Value, ...]] = [
        (kind, online, parked, used, factor, product(online, factor), product(used, factor))
        for kind, online, parked, used in types
    ]
    used = product(total(row[3] for row in types), factor)
    tables = [answer_table("capacity", "measured", "Processors of the interval", rows)]
    for table in solved.tables:
        retitled = text is not None and table.key == "sizes"
        tables.append(replace(table, title=f"Partitions of {text}") if retitled else table)
    figures = [*solved.figures, AnswerFigure("used", used, "processors", "Capability used")]
    return replace(solved, tables=tables, figures=figures, notes=[*notes, *solved.notes])


def _processors(session: CoreSession, where: str) -> tuple[list[Sequence[Any]], str]:
    """Return type with online, parked and busy processors or cores, and the name of the unit."""
    cores = session.sql(
        "SELECT cpu_type, count(*), sum(parked_pct) / 100, sum(core_busy_pct) / 100 "
        f"FROM core WHERE {where} GROUP BY cpu_type HAVING count(core_busy_pct) > 0 ORDER BY cpu_type"
    ).rows
    if cores:
        return list(cores), "cores (multithreading: threads are not counted separately)"
    rows = session.sql(
        "SELECT cpu_type, sum(coalesce(online_pct, 100)) / 100, sum(parked_pct) / 100, sum(busy_pct) / 100 "
        f"FROM cpu WHERE {where} GROUP BY cpu_type ORDER BY cpu_type"
    ).rows
    return list(rows), "processors online"


def _curve(session: CoreSession, system: str) -> curve_sources.NamedCurve:
    """Return the curve of a system's machine; raise QueryError if the data does not determine it."""
    source = system
    if session.has_data("role.linux_caf"):
        peers = session.sql(
            "SELECT other.system FROM system AS own JOIN system AS other ON own.machine = other.machine "
            f"WHERE own.system = {literal(system)} AND other.system IN (SELECT system FROM role.linux_caf) "
            "ORDER BY other.system"
        ).rows
        source = str(peers[0][0]) if peers else system
    try:
        return curve_sources.curve_of_session(session, source)
    except ScenarioError as error:
        cure = phrase("machine_or_sysinfo")
        raise QueryError(error.message, expected=error.expected, cure=cure) from None
