"""Multithreading of a measured interval: the calculator's metrics of cores beside what the system recorded.

Thread density comes from how busy a core and its threads were, all else from that and the largest capacity
factor that the system recorded for the type: an independent check of its productivity and utilization.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zlens import models
from zlens.catalog.expressions import literal
from zlens.models import scenario as scenarios
from zlens.models.answer import Answer, Column, Figure, Table, Value
from zlens.models.moments import Asked, at_end
from zlens.models.smt.model import TYPES
from zlens.models.smt.switch import switched

__all__ = ["TABLE", "busy", "compare", "switched"]

TABLE = "core"
#: Rounding and different moments of reading can lead this far beyond 1 or 2 threads.
_ROUNDING = 0.02
#: So near to two threads always active the largest capacity factor cannot be solved from productivity.
_NEARLY_TWO = 0.02
#: Names that a note lists, guests that are shown.
_MOST_NAMES = 8
_MOST_GUESTS = 20

_COMPARED = (
    Column("name", "Core"),
    Column("type", "Type"),
    Column("core_busy_pct", "Core busy", "%", "measured", 2),
    Column("density", "Density", "solved", "threads busy / core busy", 3),
    Column("density_said", "Density", "recorded", "measured: as the system recorded it", 3),
    Column("density_error", "Error", "threads", "recorded less solved", 3),
    Column("factor_pct", "CF", "% solved", "1 + (density - 1)(max CF - 1)"),
    Column("maximum_pct", "Max CF", "% solved", "from density and the recorded productivity"),
    Column("maximum_said_pct", "Max CF", "% recorded", "measured: of the type of core"),
    Column("productivity_pct", "Prod", "% solved", "CF / max CF"),
    Column("productivity_said_pct", "Prod", "% recorded", "measured: as the system recorded it"),
    Column("productivity_error", "Error", "points", "recorded less solved", 2),
    Column("utilization_pct", "MT util", "% solved", "core busy x productivity", 2),
    Column("utilization_said_pct", "MT util", "% recorded", "measured: as the system recorded it", 2),
    Column("utilization_error", "Error", "points", "recorded less solved", 2),
)
_TYPES = (
    Column("type", "Type"),
    Column("number", "Number"),
    Column("unit", "Unit"),
    Column("solved", "Solved", "", "from what was measured of its cores", 3),
    Column("recorded", "Recorded", "", "measured: of the type, or added from its cores", 3),
    Column("error", "Error", "", "recorded less solved", 3),
    Column("how", "Solved from"),
)
_TIMES = (
    Column("name", "Guest"),
    Column("type", "Type"),
    Column("raw", "Raw", "s", "measured: time on threads", 3),
    Column("mt1", "MT-1", "s solved", "raw x CF / density of the type", 3),
    Column("mt1_said", "MT-1", "s recorded", "measured: MT-1 equivalent time", 3),
    Column("mt1_error", "Error", "%", "recorded against solved", 2),
    Column("prorated", "Prorated", "s solved", "raw / density of the type", 3),
    Column("prorated_said", "Prorated", "s recorded", "measured: prorated core time", 3),
    Column("prorated_error", "Error", "%", "recorded against solved", 2),
)


@dataclass(slots=True)
class Measured:
    """A scenario for `smt`, and beside it what was recorded.

    cores   by name of the core: density, productivity and utilization, None where nothing was recorded
    types   by type: what the system recorded of all of its cores, by columns of core_type
    alone   cores whose density or productivity is that of the record, which nothing else checks
    """

    scenario: dict[str, Any]
    cores: dict[str, tuple[float | None, float | None, float | None]] = field(default_factory=dict)
    types: dict[str, Mapping[str, float | None]] = field(default_factory=dict)
    alone: set[str] = field(default_factory=set)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def say(self, words: str, name: str) -> None:
        self.notes.setdefault(words, []).append(name)


def busy(_settings: Sequence[str] = ()) -> str:
    """Intervals and how busy the cores were."""
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


def measured(session: Asked, system: str, end: dt.datetime) -> Measured:
    """The scenario of one interval."""
    where = at_end(system, end)
    sources = [str(row[0]) for row in session.sql(f"SELECT DISTINCT source FROM core WHERE {where}").rows]
    where += f" AND source = {literal(min(sources))}"
    found = Measured({"model": "smt", "core": []})
    for kind, *numbers in session.sql(
        f"SELECT cpu_type, {', '.join(_OF_TYPE)} FROM core_type WHERE {where} AND cpu_type IS NOT NULL"
    ).rows:
        found.types[str(kind)] = dict(zip(_OF_TYPE, numbers, strict=True))
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
            found.say("left out: the data do not tell a type of core that has threads", name)
            continue
        if of_core is None:
            found.say("left out: the data do not tell how busy the core was", name)
            continue
        one: dict[str, Any] = {"name": name, "type": kind, "core_busy": min(100.0, of_core)}
        if share is None:
            found.say("the data do not tell what it is entitled to: a whole core is assumed", name)
        else:
            one["share"] = min(100.0, max(0.0, share))
        single = (number or found.types.get(kind, {}).get("threads")) == 1
        maximum = 100.0 if single else found.types.get(kind, {}).get("max_capacity_factor_pct")
        if maximum is not None:
            one["max_capacity_factor"] = maximum
        one |= _numbers(found, name, of_core, single, threads.get(core, []), (density, productivity))
        if not any(key in one for key in ("threads_busy", "thread_density", "productivity")):
            continue
        found.cores[name] = (density, productivity, utilization)
        found.scenario["core"].append(one)
    return found


def _numbers(
    found: Measured,
    name: str,
    of_core: float,
    single: bool,
    threads: Sequence[float | None],
    recorded: tuple[float | None, float | None],
) -> dict[str, Any]:
    """What tells of the threads of a core: how busy they were, else what the system recorded of them."""
    density, productivity = recorded
    if not of_core:
        return {"threads_busy": [0.0]}
    if single:
        return {"thread_density": 1.0}
    known = [used for used in threads if used is not None]
    if len(known) == len(threads) == 2:
        ratio = sum(known) / of_core
        if 1.0 - _ROUNDING <= ratio <= 2.0 + _ROUNDING:
            return {"threads_busy": [min(100.0, used) for used in known]}
        found.say(f"its threads were busy {ratio:.2f} times as long as it was, and 1 to 2 can be", name)
    else:
        found.say("the data do not tell how busy its two threads were", name)
    found.alone.add(name)
    if density is not None:
        return {"thread_density": min(2.0, max(1.0, density))}
    if productivity is not None:
        return {"productivity": min(100.0, max(0.0, productivity))}
    found.say("left out: neither density nor productivity was recorded", name)
    return {}


def compare(session: Asked, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Solved beside recorded. settings: `max_capacity_factor=130` of all cores, or values of the scenario."""
    found = measured(session, system, end)
    title = f"Multithreading of {system}, interval that ended {end.astimezone(dt.UTC):%F %T} UTC"
    values = found.scenario
    if not values["core"]:
        notes = [*_said(found), "no core of this interval has numbers of its threads"]
        return Answer("smt", title, [], notes=notes)
    for setting in settings:
        key, _, text = setting.partition("=")
        if key.strip() != "max_capacity_factor":
            values = scenarios.changed(values, setting)
            continue
        for one in values["core"]:
            values = scenarios.changed(values, f"core.{one['name']}.max_capacity_factor={text.strip()}")
    solved = models.solve("smt", values)
    says = {one["name"]: one for one in values["core"]}
    rows = [_row(found, says[str(row["name"])], row) for row in _dicts(solved.table("cores"))]
    types = [line for row in _dicts(solved.table("types")) for line in _type_rows(found, row, says)]
    tables = [
        Table("compared", "Solved beside recorded, core by core", _COMPARED, rows),
        Table("types", "Types of cores", _TYPES, types),
    ]
    times, more = _times(session, at_end(system, end), solved)
    if times:
        tables.append(Table("times", "CPU time of guests", _TIMES, times))
    figures = [
        _worst("productivity", rows, 11, "points", "Productivity: largest error of a core"),
        _worst("density", rows, 5, "threads", "Thread density: largest error of a core"),
        *solved.figures,
    ]
    notes = [
        "Solved: density from busy of threads and cores; capacity factor, productivity and MT utilization "
        "from that and the largest capacity factor of the type, which is recorded",
        *_said(found),
        *_missing(found, says, rows),
        *_unrecorded(types),
        *more,
        *(f"changed, and assumed: {setting}" for setting in settings),
        *(note for note in solved.notes if "no largest capacity factor" not in note),
    ]
    return replace(solved, title=title, tables=tables, figures=figures, notes=notes)


def _row(found: Measured, says: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Value, ...]:
    """One core: what was solved, and what was recorded. What only repeats the record is left out."""
    name = str(says["name"])
    density_said, productivity_said, utilization_said = found.cores[name]
    own = name not in found.alone
    density = row["thread_density"]
    solved_density = density if own else None
    circular = "productivity" in says
    productivity = None if circular else row["productivity_pct"]
    utilization = None if circular else row["mt_utilization_pct"]
    return (
        name,
        row["type"],
        row["core_busy_pct"],
        solved_density,
        density_said,
        _less(density_said, solved_density),
        row["capacity_factor_pct"],
        _maximum(density, productivity_said) if not circular else None,
        found.types.get(str(row["type"]), {}).get("max_capacity_factor_pct"),
        productivity,
        productivity_said,
        _less(productivity_said, productivity),
        utilization,
        utilization_said,
        _less(utilization_said, utilization),
    )


def _maximum(density: float | None, productivity: float | None) -> float | None:
    """Largest capacity factor from density and productivity, percent.

    productivity = (1 + (density - 1)(maximum - 1)) / maximum, solved for it; None near two threads always
    active, where productivity is 100 % whatever it is, and with one thread, and where none fits.
    """
    if density is None or productivity is None or not 1.0 < density < 2.0 - _NEARLY_TWO:
        return None
    below = productivity / 100.0 - (density - 1.0)
    found = 100.0 * (2.0 - density) / below if below > 0 else None
    return found if found is not None and 50.0 <= found <= 400.0 else None


def _type_rows(
    found: Measured, row: Mapping[str, Any], says: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[Value, ...]]:
    """Each number of a type: solved, recorded, and from what it was solved."""
    kind = str(row["type"])
    recorded = found.types.get(kind, {})
    own = [one for one in says.values() if one["type"] == kind]
    shares = all("share" in one for one in own)
    density, factor = recorded.get("thread_density"), recorded.get("capacity_factor_pct")
    maximum = None
    if density is not None and factor is not None and density > 1.0 + _ROUNDING:
        maximum = 100.0 * (1.0 + (factor / 100.0 - 1.0) / (density - 1.0))
    checked = not any(str(one["name"]) in found.alone for one in own)
    circular = any("productivity" in one for one in own)
    used = row["used_pct"]
    lines: tuple[tuple[str, str, float | None, str, str], ...] = (
        (
            "thread density",
            "threads",
            row["thread_density"] if checked else None,
            "thread_density",
            "density of cores, by busy time",
        ),
        ("CF", "%", row["capacity_factor_pct"], "capacity_factor_pct", "CF of cores, by busy time"),
        ("max CF", "%", maximum, "max_capacity_factor_pct", "recorded density and CF of the type"),
        (
            "productivity",
            "%",
            None if circular else row["productivity_pct"],
            "productivity_pct",
            "MT util / core busy; RMF prints the plain mean of cores",
        ),
        (
            "MT utilization",
            "%",
            None if circular or used is None else used / row["cores"],
            "mt_utilization_pct",
            "mean of cores",
        ),
        ("used", "% of 1", None if circular else used, "mt_used_pct", "MT util of cores, added"),
        (
            "left",
            "% of 1",
            row["available_pct"] if shares and not circular else None,
            "mt_available_pct",
            "entitlement less used",
        ),
    )
    for number, unit, value, column, how in lines:
        said = recorded.get(column)
        if value is not None or said is not None:
            yield (kind, number, unit, value, said, _less(said, value), how)


def _times(session: Asked, where: str, solved: Answer) -> tuple[list[tuple[Value, ...]], list[str]]:
    """Times of guests by the density and capacity factor of their type, beside those that were recorded."""
    types = {str(row["type"]): row for row in _dicts(solved.table("types"))}
    rows = session.sql(
        "SELECT userid, cpu_type, sum(cpu_s), "
        "CASE WHEN count(mt1_s) = count(*) THEN sum(mt1_s) END, "
        "CASE WHEN count(prorated_s) = count(*) THEN sum(prorated_s) END "
        f"FROM guest_cpu WHERE {where} AND basis = 'sample' "
        "GROUP BY userid, cpu_type HAVING count(cpu_s) = count(*) AND sum(cpu_s) > 0 "
        "ORDER BY sum(cpu_s) DESC, userid"
    ).rows
    lines: list[tuple[Value, ...]] = []
    for kind, of_type in types.items():
        density, factor = of_type["thread_density"], of_type["capacity_factor_pct"]
        own = [row for row in rows if row[1] == kind or (row[1] is None and len(types) == 1)]
        if density is None or not own:
            continue
        whole = ("all guests", kind, *(_sum([row[at] for row in own]) for at in (2, 3, 4)))
        for name, _, raw, mt1, prorated in (whole, *own[:_MOST_GUESTS]):
            share = None if raw is None else raw / density
            alone = None if share is None or factor is None else share * factor / 100.0
            begin = (name, kind, raw, alone, mt1, _against(mt1, alone))
            lines.append((*begin, share, prorated, _against(prorated, share)))
    notes = []
    if lines:
        notes.append(
            "Times of guests are solved with the mean density and capacity factor of their type: a guest "
            "that ran beside other threads more than most has less MT-1 and prorated time than that"
        )
        if all(line[4] is None and line[7] is None for line in lines):
            notes.append("the data do not tell MT-1 equivalent or prorated time of guests")
    return lines, notes


def _missing(
    found: Measured, says: Mapping[str, Mapping[str, Any]], rows: Sequence[tuple[Value, ...]]
) -> Iterator[str]:
    """Why dots stand where they do."""
    without = [name for name, one in says.items() if "max_capacity_factor" not in one]
    if without:
        yield (
            f"{_listed(without)}: the system recorded no largest capacity factor, without which capacity "
            "factor, productivity and utilization are not solved; max_capacity_factor=130 tries one"
        )
    silent = [str(row[0]) for row in rows if row[10] is None and row[2]]
    if silent:
        yield (
            f"{_listed(silent)}: productivity was not recorded; z/VM does not compute it of a core that is "
            "nearly idle or nearly always busy"
        )
    no_density = [str(row[0]) for row in rows if row[4] is None and row[2]]
    if no_density:
        yield f"{_listed(no_density)}: thread density was not recorded of the core"
    alone = [name for name in says if name in found.alone]
    if alone:
        yield (
            f"{_listed(alone)}: density or productivity is that of the record and is not solved; an error of "
            "it cannot be told"
        )


def _unrecorded(types: Sequence[tuple[Value, ...]]) -> Iterator[str]:
    """Numbers of a type that only the calculator has."""
    for kind in sorted({str(row[0]) for row in types}):
        names = [str(row[1]) for row in types if row[0] == kind and row[4] is None]
        if names:
            yield f"{kind}: the data do not tell {', '.join(names)} of the type, so an error cannot be told"


def _said(found: Measured) -> list[str]:
    return [f"core {_listed(names)}: {words}" for words, names in found.notes.items()]


def _worst(key: str, rows: Sequence[tuple[Value, ...]], at: int, unit: str, text: str) -> Figure:
    errors = [abs(value) for row in rows if isinstance(value := row[at], float)]
    return Figure(key, max(errors, default=None), unit, text, 3)


def _dicts(table: Table) -> list[dict[str, Any]]:
    names = [column.key for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def _less(said: float | None, solved: float | None) -> float | None:
    return None if said is None or solved is None else said - solved


def _against(said: float | None, solved: float | None) -> float | None:
    return None if said is None or not solved else 100.0 * (said / solved - 1.0)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(names[:_MOST_NAMES])
    return some if len(names) <= _MOST_NAMES else f"{some} and {len(names) - _MOST_NAMES} others"
