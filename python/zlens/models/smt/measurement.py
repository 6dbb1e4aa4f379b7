"""Multithreading of a measured interval: solved metrics of cores compared with recorded ones.

Thread density comes from the busy times of a core and its threads, everything else from that and the largest
capacity factor that the system recorded for the type: an independent check of productivity and utilization.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens import models
from zlens.catalog.expressions import literal
from zlens.models import scenario as scenarios
from zlens.models.interval_choice import interval_sql, local_time
from zlens.models.optional_numbers import difference, product, ratio, total
from zlens.models.smt.model import TYPES
from zlens.rendering.answer import Answer, AnswerFigure, Value
from zlens.rendering.answer_columns import answer_table
from zlens.schema.plain_text import format_list

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

TABLE = "core"
#: Rounding and different reading times can exceed 1 or 2 threads by this much.
_ROUNDING = 0.02
#: This close to two threads always active, productivity does not determine the largest capacity factor.
_NEARLY_TWO = 0.02
#: Maximum number of names in a note, and of guests shown.
_MOST_NAMES = 8
_MOST_GUESTS = 20


class MeasuredCores(Struct):
    """A scenario for `smt` with the recorded values.

    cores   by name of core: density, productivity and utilization, None if not recorded
    types   by type: values recorded for all its cores, by columns of core_type
    alone   cores whose density or productivity is the recorded value, so it cannot be checked
    """

    scenario: dict[str, Any]
    cores: dict[str, tuple[float | None, float | None, float | None]] = field(default_factory=dict)
    types: dict[str, Mapping[str, float | None]] = field(default_factory=dict)
    alone: set[str] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def say(self, words: str, name: str) -> None:
        self.notes.setdefault(words, []).append(name)


def busy(_settings: Sequence[str] = ()) -> str:
    """Return SQL of intervals and their core utilization."""
    return (
        "SELECT system, interval_end, seconds, flag, avg(core_busy_pct) AS busy FROM core "
        "GROUP BY system, source, interval_end, seconds, flag"
    )


_OF_TYPE = (
    "threads",
    "thread_density",
    "capacity_factor_pct",
    "max_capacity_factor_pct",
    "productivity_pct",
    "mt_utilization_pct",
    "mt_used_pct",
    "mt_available_pct",
)


def measured(session: CoreSession, system: str, end: dt.datetime) -> MeasuredCores:
    """Return the scenario of one interval."""
    where = interval_sql(system, end)
    sources = [str(row[0]) for row in session.sql(f"SELECT DISTINCT source FROM core WHERE {where}").rows]
    where += f" AND source = {literal(min(sources))}"
    measurement = MeasuredCores({"model": "smt", "core": []})
    for kind, *numbers in session.sql(
        f"SELECT cpu_type, {', '.join(_OF_TYPE)} FROM core_type WHERE {where} AND cpu_type IS NOT NULL"
    ).rows:
        measurement.types[str(kind)] = dict(zip(_OF_TYPE, numbers, strict=True))
    threads: dict[int, list[float | None]] = {}
    for core, used in session.sql(
        f"SELECT core_id, coalesce(mvs_busy_pct, busy_pct) FROM cpu WHERE {where} AND core_id IS NOT NULL "
        "AND coalesce(online_pct, 100) > 0 ORDER BY core_id, thread_id"
    ).rows:
        threads.setdefault(core, []).append(used)
    rows = session.sql(
        "SELECT core_id, cpu_type, threads, core_busy_pct, thread_density, productivity_pct, "
        f"mt_utilization_pct, entitlement_pct FROM core WHERE {where} ORDER BY core_id"
    ).rows
    for core, kind, number, of_core, density, productivity, utilization, share in rows:
        name = str(core)
        if kind not in TYPES:
            measurement.say("left out: the data does not report a type of core with threads", name)
            continue
        if of_core is None:
            measurement.say("left out: the data does not report how busy the core was", name)
            continue
        entry: dict[str, Any] = {"name": name, "type": kind, "core_busy": min(100.0, of_core)}
        if share is None:
            measurement.say("the data does not report its entitlement: a full core is assumed", name)
        else:
            entry["share"] = min(100.0, max(0.0, share))
        single = (number or measurement.types.get(kind, {}).get("threads")) == 1
        maximum = 100.0 if single else measurement.types.get(kind, {}).get("max_capacity_factor_pct")
        if maximum is not None:
            entry["max_capacity_factor"] = maximum
        entry |= _thread_data(
            measurement, name, of_core, single, threads.get(core, []), (density, productivity)
        )
        if not any(key in entry for key in ("threads_busy", "thread_density", "productivity")):
            continue
        measurement.cores[name] = (density, productivity, utilization)
        measurement.scenario["core"].append(entry)
    return measurement


def _thread_data(
    measurement: MeasuredCores,
    name: str,
    of_core: float,
    single: bool,
    threads: Sequence[float | None],
    recorded: tuple[float | None, float | None],
) -> dict[str, Any]:
    """Return data on the threads of a core: their busy, else the recorded values."""
    density, productivity = recorded
    if not of_core:
        return {"threads_busy": [0.0]}
    if single:
        return {"thread_density": 1.0}
    reported = [used for used in threads if used is not None]
    if len(reported) == len(threads) == 2:
        ratio = sum(reported) / of_core
        if 1.0 - _ROUNDING <= ratio <= 2.0 + _ROUNDING:
            return {"threads_busy": [min(100.0, used) for used in reported]}
        measurement.say(
            f"its threads were busy {ratio:.2f} times as long as the core, but only 1 to 2 is possible", name
        )
    else:
        measurement.say("the data does not report how busy its two threads were", name)
    measurement.alone.add(name)
    if density is not None:
        return {"thread_density": min(2.0, max(1.0, density))}
    if productivity is not None:
        return {"productivity": min(100.0, max(0.0, productivity))}
    measurement.say("left out: neither density nor productivity was recorded", name)
    return {}


def compare(session: CoreSession, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Compare solved with recorded values. settings: `max_capacity_factor=130`, or values of the scenario."""
    measurement = measured(session, system, end)
    title = f"Multithreading of {system}, interval that ended {local_time(session, system, end)}"
    values = measurement.scenario
    if not values["core"]:
        notes = [*_merged_notes(measurement), "the data reports no threads of cores in this interval"]
        return Answer("smt", title, [], notes=notes)
    for setting in settings:
        key, _, text = setting.partition("=")
        of_all = key.strip() == "max_capacity_factor"
        each = [f"core.{core['name']}.max_capacity_factor={text.strip()}" for core in values["core"]]
        values = scenarios.apply_settings(values, each if of_all else [setting])
    solved = models.solve("smt", values)
    entries = {core["name"]: core for core in values["core"]}
    rows = [_row(measurement, entries[str(row["name"])], row) for row in solved.table("cores").records()]
    types = [
        type_row
        for row in solved.table("types").records()
        for type_row in _type_rows(measurement, row, entries)
    ]
    tables = [
        answer_table("smt", "compared", "Solved and recorded, core by core", rows),
        answer_table("smt", "types", "Types of cores", types, columns="observed_types"),
    ]
    times, time_notes = _times(session, interval_sql(system, end), solved)
    if times:
        tables.append(answer_table("smt", "times", "CPU time of guests", times, columns="observed_times"))
    figures = [
        _worst("productivity", rows, 11, "points", "Productivity: largest error of a core"),
        _worst("density", rows, 5, "threads", "Thread density: largest error of a core"),
        *solved.figures,
    ]
    notes = [
        "Solved: density from busy of threads and cores; capacity factor, productivity and MT utilization "
        "from that and the recorded largest capacity factor of the type",
        *_merged_notes(measurement),
        *_missing_notes(measurement, entries, rows),
        *_unrecorded_notes(types),
        *time_notes,
        *(f"changed, and assumed: {setting}" for setting in settings),
        *(note for note in solved.notes if "no largest capacity factor" not in note),
    ]
    return replace(solved, title=title, tables=tables, figures=figures, notes=notes)


def _row(measurement: MeasuredCores, entry: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Value, ...]:
    """Return the row of a core: solved and recorded values, without values that only repeat the record."""
    name = str(entry["name"])
    density_said, productivity_said, utilization_said = measurement.cores[name]
    is_solved = name not in measurement.alone
    density = row["thread_density"]
    solved_density = density if is_solved else None
    circular = "productivity" in entry
    productivity = None if circular else row["productivity_pct"]
    utilization = None if circular else row["mt_utilization_pct"]
    maximum = None if circular else _maximum(density, productivity_said)
    recorded = measurement.types.get(str(row["type"]), {}).get("max_capacity_factor_pct")
    return (
        *(name, row["type"], row["core_busy_pct"]),
        *_with_error(solved_density, density_said),
        *(row["capacity_factor_pct"], maximum, recorded),
        *_with_error(productivity, productivity_said),
        *_with_error(utilization, utilization_said),
    )


def _maximum(density: float | None, productivity: float | None) -> float | None:
    """Return the largest capacity factor from density and productivity, percent.

    productivity = (1 + (density - 1)(maximum - 1)) / maximum, solved for maximum; None near two threads
    always active, where productivity is always 100%, with one thread, and without a plausible solution.
    """
    if density is None or productivity is None or not 1.0 < density < 2.0 - _NEARLY_TWO:
        return None
    below = productivity / 100.0 - (density - 1.0)
    maximum = 100.0 * (2.0 - density) / below if below > 0 else None
    return maximum if maximum is not None and 50.0 <= maximum <= 400.0 else None


def _type_rows(
    measurement: MeasuredCores, row: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[Value, ...]]:
    """Yield rows of the values of a type: solved, recorded, and what it was solved from."""
    kind = str(row["type"])
    recorded = measurement.types.get(kind, {})
    cores = [core for core in entries.values() if core["type"] == kind]
    shares = all("share" in core for core in cores)
    density, factor = recorded.get("thread_density"), recorded.get("capacity_factor_pct")
    maximum = None
    if density is not None and factor is not None and density > 1.0 + _ROUNDING:
        maximum = 100.0 * (1.0 + (factor / 100.0 - 1.0) / (density - 1.0))
    checked = not any(str(core["name"]) in measurement.alone for core in cores)
    circular = any("productivity" in core for core in cores)
    used = None if circular else row["used_pct"]
    density_solved = row["thread_density"] if checked else None
    productivity = None if circular else row["productivity_pct"]
    left = row["available_pct"] if shares and not circular else None
    how_productive = "MT util / core busy; RMF prints the plain mean of cores"
    lines: tuple[tuple[str, str, float | None, str, str], ...] = (
        ("thread density", "threads", density_solved, "thread_density", "density of cores, by busy time"),
        ("CF", "%", row["capacity_factor_pct"], "capacity_factor_pct", "CF of cores, by busy time"),
        ("max CF", "%", maximum, "max_capacity_factor_pct", "recorded density and CF of the type"),
        ("productivity", "%", productivity, "productivity_pct", how_productive),
        ("MT utilization", "%", ratio(used, row["cores"]), "mt_utilization_pct", "mean of cores"),
        ("used", "% of 1", used, "mt_used_pct", "sum of MT util of cores"),
        ("left", "% of 1", left, "mt_available_pct", "entitlement less used"),
    )
    for number, unit, value, column, how in lines:
        if value is not None or recorded.get(column) is not None:
            yield (kind, number, unit, *_with_error(value, recorded.get(column)), how)


def _times(session: CoreSession, where: str, solved: Answer) -> tuple[list[tuple[Value, ...]], list[str]]:
    """Return rows of guest times by density and capacity factor of their type, and notes."""
    types = {str(row["type"]): row for row in solved.table("types").records()}
    rows = session.sql(
        "SELECT userid, cpu_type, sum(cpu_s), "
        "CASE WHEN count(mt1_s) = count(*) THEN sum(mt1_s) END, "
        "CASE WHEN count(prorated_s) = count(*) THEN sum(prorated_s) END "
        f"FROM guest_cpu WHERE {where} AND basis = 'sample' "
        "GROUP BY userid, cpu_type HAVING count(cpu_s) = count(*) AND sum(cpu_s) > 0 "
        "ORDER BY sum(cpu_s) DESC, userid"
    ).rows
    time_rows: list[tuple[Value, ...]] = []
    for kind, of_type in types.items():
        density, factor = of_type["thread_density"], of_type["capacity_factor_pct"]
        type_rows = [row for row in rows if row[1] == kind or (row[1] is None and len(types) == 1)]
        if density is None or not type_rows:
            continue
        times = (total(row[index] for row in type_rows) for index in (2, 3, 4))
        all_guests = ("all guests", kind, *times)
        for name, _, raw, mt1, prorated in (all_guests, *type_rows[:_MOST_GUESTS]):
            share = ratio(raw, density)
            mt1_solved = ratio(product(share, factor), 100.0)
            subject = (name, kind, raw, mt1_solved, mt1, _relative_error(mt1, mt1_solved))
            time_rows.append((*subject, share, prorated, _relative_error(prorated, share)))
    notes = []
    if time_rows:
        notes.append(
            "Times of guests are solved with the mean density and capacity factor of their type: a guest "
            "that shared its cores with other threads more than most has less MT-1 and prorated time"
        )
        if all(time_row[4] is None and time_row[7] is None for time_row in time_rows):
            notes.append("the data does not report MT-1 equivalent or prorated time of guests")
    return time_rows, notes


def _missing_notes(
    measurement: MeasuredCores, entries: Mapping[str, Mapping[str, Any]], rows: Sequence[tuple[Value, ...]]
) -> Iterator[str]:
    """Yield notes on why values are missing."""
    without_factor = [name for name, core in entries.items() if "max_capacity_factor" not in core]
    if without_factor:
        yield (
            f"{format_list(without_factor, _MOST_NAMES)}: the system recorded no largest capacity factor, "
            "so capacity factor, productivity and utilization are not solved; "
            "try one with max_capacity_factor=130"
        )
    missing = [str(row[0]) for row in rows if row[10] is None and row[2]]
    if missing:
        yield (
            f"{format_list(missing, _MOST_NAMES)}: productivity was not recorded; z/VM does not compute it "
            "for a core that is nearly idle or nearly always busy"
        )
    no_density = [str(row[0]) for row in rows if row[4] is None and row[2]]
    if no_density:
        yield f"{format_list(no_density, _MOST_NAMES)}: thread density was not recorded"
    copied = [name for name in entries if name in measurement.alone]
    if copied:
        yield (
            f"{format_list(copied, _MOST_NAMES)}: density or productivity is the recorded value, not solved, "
            "so its error is unknown"
        )


def _unrecorded_notes(types: Sequence[tuple[Value, ...]]) -> Iterator[str]:
    """Yield notes on values of a type that were solved but not recorded."""
    for kind in sorted({str(row[0]) for row in types}):
        names = [str(row[1]) for row in types if row[0] == kind and row[4] is None]
        if names:
            yield f"{kind}: the data does not report {', '.join(names)} of the type, so the error is unknown"


def _merged_notes(measurement: MeasuredCores) -> list[str]:
    return [f"core {format_list(names, _MOST_NAMES)}: {words}" for words, names in measurement.notes.items()]


def _worst(key: str, rows: Sequence[tuple[Value, ...]], index: int, unit: str, text: str) -> AnswerFigure:
    errors = [abs(value) for row in rows if isinstance(value := row[index], float)]
    return AnswerFigure(key, max(errors, default=None), unit, text, 3)


def _with_error(solved: float | None, recorded: float | None) -> tuple[Value, ...]:
    return solved, recorded, difference(recorded, solved)


def _relative_error(recorded: float | None, solved: float | None) -> float | None:
    return None if recorded is None or not solved else 100.0 * (recorded / solved - 1.0)
