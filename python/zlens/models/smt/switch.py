"""Throughput of a measured interval with multithreading switched on or off: bounds, rarely a point value.

All work is assumed to grow in the mix of that interval, whose throughput is 1. Arithmetic and its sources:
models/smt/bounds.py; why there is no point value: models/smt/throughput.py.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import processor_types
from zlens.catalog.expressions import literal
from zlens.errors import QueryError
from zlens.models import interval_choice
from zlens.models.constants import constant
from zlens.models.interval_choice import interval_sql
from zlens.models.optional_numbers import ratio
from zlens.models.scenario_errors import ScenarioErrors
from zlens.models.smt import bounds as smt_bounds
from zlens.models.smt import publications
from zlens.models.smt.bounds import TWICE, DemandPart, ThroughputBound
from zlens.models.smt.throughput import MISSES
from zlens.rendering.answer import Answer, AnswerFigure, AnswerTable, Value
from zlens.rendering.answer_columns import answer_table
from zlens.schema.validators import Integer, Number

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Maximum number of bounds shown for a type of cores, the lowest ones.
_MOST_BOUNDS = 12
#: Name of the remainder: CP itself, and guests that the data does not report.
_REST = ""


class Settings(Struct):
    """Parsed settings. Factors are ratios.

    path, serial, at_once  by name of guest; "" is all guests
    """

    maximum: float | None = None
    path: dict[str, float] = field(default_factory=dict)
    serial: dict[str, float] = field(default_factory=dict)
    at_once: dict[str, int] = field(default_factory=dict)

    @property
    def point(self) -> bool:
        return bool(self.path)

    def path_of(self, name: str) -> float:
        return self.path.get(name, self.path.get("", 1.0))


class SwitchedCores(Struct):
    """Cores of one type in the interval. raw: threads busy on average. Factors are ratios.

    slowing  raw time of work over its time with one thread active
    numbers  rows of numbers: name, value, unit, how, source
    """

    kind: str
    cores: int
    threads: int
    raw: float | None
    maximum: float | None = None
    slowing: float = 1.0
    entitled: float | None = None
    numbers: list[tuple[Value, ...]] = field(default_factory=list)

    def number(self, name: str, value: Value, unit: str, how: str, origin: str) -> None:
        self.numbers.append((self.kind, name, value, unit, how, origin))


class GuestProcessors(Struct, frozen=True):
    """Virtual CPUs of one type of a guest: number, processors used, and use of the busiest."""

    name: str
    virtual_cpus: int
    used: float
    busiest: float


def switch_bounds(
    session: CoreSession, system: str, end: dt.datetime, threads: int, settings: Sequence[str] = ()
) -> Answer:
    """Return the bounds on the throughput of an interval with a number of threads on each core.

    settings: `max_capacity_factor=130` (percent), `path=1.6`, `guest.NAME.path=1.6`, `guest.NAME.serial=40`
    (percent of its CPU time), `guest.NAME.serial_at_once=2`.
    """
    if threads not in (1, 2):
        raise QueryError(f"{threads} threads on a core", expected="1 or 2", cure="use smt=on or smt=off")
    parsed = _parse_settings(settings)
    where = interval_sql(system, end)
    sources = [str(row[0]) for row in session.sql(f"SELECT DISTINCT source FROM cpu WHERE {where}").rows]
    source = min(sources, default="")
    where += f" AND source = {literal(source)}"
    switch = "on" if threads == 2 else "off"
    end_time = interval_choice.local_time(session, system, end)
    title = f"Multithreading {switch}: possible throughput of {system}, interval that ended {end_time}"
    answer = Answer("smt", title, [])
    types_of_cores = list(_cores(session, where, system, parsed))
    changing = [cores for cores in types_of_cores if cores.threads != threads and cores.raw is not None]
    changing = _switchable(answer, changing, threads, source)
    _note_left_out(answer, types_of_cores, changing, threads)
    if not changing:
        answer.notes.append(f"multithreading cannot be switched {switch} for any cores of this interval")
        return answer
    users, unmeasured = _users(session, where, [cores.kind for cores in types_of_cores])
    names = {user.name for of_type in users.values() for user in of_type}
    unknown = {*parsed.path, *parsed.serial, *parsed.at_once} - {"", *names}
    if unknown:
        message, known = f"no guest {min(unknown)} in this interval", ", ".join(sorted(names)[:20])
        raise QueryError(message, expected=known or "no guest in the data", cure="leave it out")
    changes: list[tuple[Value, ...]] = []
    bounds: list[tuple[Value, ...]] = []
    for cores in changing:
        type_users = users.get(cores.kind, [])
        change, rows = _switch_type(answer, cores, type_users, threads, parsed)
        changes.append(change)
        bounds += rows
        if not type_users:
            answer.notes.append(
                f"{cores.kind}: the data reports no virtual CPUs, so only the bound of processors is "
                "shown, none of virtual CPUs or serialization"
            )
    answer.tables += [
        answer_table("smt", "changes", f"Multithreading {switch}", changes),
        answer_table("smt", "bounds", "Bounds on throughput", bounds),
        answer_table("smt", "numbers", "Numbers", [row for cores in changing for row in cores.numbers]),
        _published(threads),
    ]
    _add_transactions(session, where, answer, changes)
    _add_notes(answer, changing, threads, parsed, unmeasured)
    return answer


def _parse_settings(settings: Sequence[str]) -> Settings:
    """Parse and check the settings."""
    problem, parsed = ScenarioErrors(None), Settings()
    factor = Number(0, 1000, above=True)
    for setting in settings:
        key, _, text = setting.partition("=")
        key = key.strip()
        value: float | str = Number().parse(text)
        kind, _, rest = key.partition(".")
        name, _, last = rest.rpartition(".")
        if key == "max_capacity_factor":
            parsed.maximum = Number(100, 200).check(value, key, problem) / 100.0
        elif key == "path":
            parsed.path[""] = factor.check(value, key, problem)
        elif kind == "guest" and name and last == "path":
            parsed.path[name] = factor.check(value, key, problem)
        elif kind == "guest" and name and last == "serial":
            parsed.serial[name] = Number(0, 100, above=True).check(value, key, problem) / 100.0
        elif kind == "guest" and name and last == "serial_at_once":
            count = int(value) if isinstance(value, float) and value == int(value) else value
            parsed.at_once[name] = Integer(1, 100_000).check(count, key, problem)
        else:
            guest_keys = ("guest.NAME.path", "guest.NAME.serial", "guest.NAME.serial_at_once")
            raise problem.unknown(key, key, ("max_capacity_factor", "path", *guest_keys))
    return parsed


def _cores(session: CoreSession, where: str, system: str, parsed: Settings) -> Iterator[SwitchedCores]:
    """Yield the cores of each type: number, busy, and slowdown of their threads."""
    sampled = {
        row[0]: row[1:]
        for row in session.sql(
            "SELECT cpu_type, threads, thread_density, capacity_factor_pct, max_capacity_factor_pct, "
            f"entitlement_pct, core_busy_pct FROM core_type WHERE {where} AND cpu_type IS NOT NULL"
        ).rows
    }
    types = processor_types.modeled_types()
    activated_of = ", ".join(f"mt_{kind.lower()}" for kind in types)
    levels = session.sql(f"SELECT {activated_of} FROM system WHERE system = {literal(system)}").rows
    level = dict(zip(types, levels[0], strict=True)) if levels else {}
    rows = session.sql(
        "SELECT cpu_type, count(DISTINCT coalesce(core_id, cpu_id)), count(*), sum(busy_pct) / 100, "
        "sum(coalesce(mvs_busy_pct, busy_pct)) / 100, count(busy_pct) = count(*) "
        f"FROM cpu WHERE {where} AND cpu_type IS NOT NULL AND coalesce(online_pct, 100) > 0 "
        "GROUP BY cpu_type ORDER BY cpu_type"
    ).rows
    for kind, cores, processors, busy, threads_busy, all_measured in rows:
        of_type = sampled.get(kind, (None,) * 6)
        activated = of_type[0] or level.get(kind)
        threads = int(activated or (2 if processors > cores else 1))
        raw = (threads_busy if threads == 2 else busy) if all_measured else None
        cores_of_type = SwitchedCores(kind, int(cores), threads, raw, entitled=of_type[4])
        cores_of_type.number("cores", cores, "cores", "measured", "online processors, by core")
        how, origin = "assumed", "the data reports no threads"
        if activated or processors > cores:
            how, origin = "measured", "threads activated or observed"
        cores_of_type.number("threads", threads, "per core", how, origin)
        how = "unknown" if raw is None else "measured"
        cores_of_type.number("threads busy", raw, "processors", how, "busy of processors")
        _set_slowdown(cores_of_type, of_type, parsed)
        yield cores_of_type


def _set_slowdown(cores: SwitchedCores, of_type: Sequence[Any], parsed: Settings) -> None:
    """Set the slowdown of threads and the largest capacity factor."""
    density, factor, recorded = of_type[1], ratio(of_type[2], 100.0), ratio(of_type[3], 100.0)
    cores.maximum = parsed.maximum or recorded
    how, origin = "assumed", "unknown; two threads cannot do more: an upper bound"
    if parsed.maximum:
        how, origin = "assumed", "set: max_capacity_factor"
    elif recorded:
        how, origin = "measured", "recorded by the system"
    cores.number("max CF", 100 * (cores.maximum or TWICE), "%", how, origin)
    if cores.threads == 1 or not cores.raw:
        return
    how = "measured"
    if density is None and of_type[5]:
        density, how = cores.raw / (cores.cores * of_type[5] / 100.0), "solved"
    if density is None:
        density, how = TWICE, "assumed"
    density = min(TWICE, max(1.0, density))
    source = {
        "measured": "recorded by the system",
        "solved": "busy of threads / busy of cores",
        "assumed": "unknown; all threads active: an upper bound",
    }
    cores.number("density", density, "threads", how, source[how])
    how, origin = "measured", "recorded by the system"
    if factor is None and cores.maximum is not None:
        factor = 1.0 + (density - 1.0) * (cores.maximum - 1.0)
        how, origin = "solved", "1 + (density - 1)(max CF - 1)"
    if factor is None:
        factor, how, origin = 1.0, "assumed", "unknown; second threads had no effect: an upper bound"
    cores.number("CF", 100 * factor, "%", how, origin)
    cores.slowing = smt_bounds.slowdown(density, factor)


def _switchable(
    answer: Answer, changing: Sequence[SwitchedCores], threads: int, source: str
) -> list[SwitchedCores]:
    """Return the types whose cores can be switched."""
    if threads == 1:
        return list(changing)
    under = "z/VM" if source == "zvm-monitor" else "z/OS"
    able = publications.second_thread(under)
    answer.notes.append(
        f"Cores that can have two threads under {under}: {', '.join(able.types)} ({able.source})"
    )
    return [cores for cores in changing if cores.kind in able.types]


def _note_left_out(
    answer: Answer, types_of_cores: Sequence[SwitchedCores], changing: Sequence[SwitchedCores], threads: int
) -> None:
    for cores in types_of_cores:
        if cores in changing:
            continue
        if cores.threads == threads:
            why = f"has {threads} thread{'s' * (threads > 1)} on each core already"
        elif cores.raw is None:
            why = "the data does not report how busy its processors were"
        else:
            why = "its cores support one thread only"
        answer.notes.append(f"{cores.kind} left out: {why}")


def _users(
    session: CoreSession, where: str, kinds: Sequence[str]
) -> tuple[dict[str, list[GuestProcessors]], list[str]]:
    """Return guests by type of their virtual CPUs, and guests whose use is unknown."""
    only = kinds[0] if len(kinds) == 1 else None
    rows = session.sql(
        "SELECT userid, cpu_type, count(*), sum(cpu_pct) / 100, max(cpu_pct) / 100, "
        f"count(cpu_pct) = count(*) FROM guest_cpu WHERE {where} AND basis = 'sample' "
        "GROUP BY userid, cpu_type ORDER BY userid, cpu_type"
    ).rows
    users: dict[str, list[GuestProcessors]] = {}
    unmeasured = []
    for userid, kind, virtual, used, busiest, all_measured in rows:
        type_of = kind or only
        if type_of is None or not all_measured:
            unmeasured.append(str(userid))
            continue
        users.setdefault(type_of, []).append(GuestProcessors(str(userid), int(virtual), used, busiest))
    return users, unmeasured


def _parts(cores: SwitchedCores, users: Sequence[GuestProcessors], parsed: Settings) -> list[DemandPart]:
    """Return the work per second of each guest and of the remainder, in cores with one thread active."""
    raw = cores.raw or 0.0
    parts = []
    for user in users:
        if not user.used:
            continue
        serial = parsed.serial.get(user.name, user.busiest / user.used if user.virtual_cpus > 1 else 0.0)
        at_once = parsed.at_once.get(user.name, 1)
        parts.append(DemandPart(user.name, user.used / cores.slowing, user.virtual_cpus, serial, at_once))
    rest = max(0.0, raw - sum(user.used for user in users))
    return [*parts, DemandPart(_REST, rest / cores.slowing, 2 * cores.cores)]


def _switch_type(
    answer: Answer, cores: SwitchedCores, users: Sequence[GuestProcessors], threads: int, parsed: Settings
) -> tuple[tuple[Value, ...], list[tuple[Value, ...]]]:
    """Return the row of a type of cores, and the rows of its bounds."""
    parts = _parts(cores, users, parsed)
    maximum = cores.maximum or TWICE
    work = sum(part.demand for part in parts)
    how, origin = "measured", "threads busy"
    if cores.threads != 1:
        how, origin = "solved", "threads busy / (density / CF)"
    cores.number("work", work, "cores", how, origin)
    bounds_now = smt_bounds.work_bounds(parts, cores.cores, cores.threads, maximum)
    bounds_then = smt_bounds.work_bounds(parts, cores.cores, threads, maximum)
    pairs = [(now, then) for now, then in zip(bounds_now, bounds_then, strict=True) if _is_shown(then)]
    sure = [(now, then) for now, then in pairs if not _is_assumed(then, parsed)]
    limiting_now = smt_bounds.lowest_bound([now for now, _ in sure])
    limiting = smt_bounds.lowest_bound([then for _, then in sure])
    serial = smt_bounds.lowest_bound([then for _, then in pairs])
    bound_now, bound_then = _value_of(limiting_now), _value_of(limiting)
    predicted = _predicted(answer, cores, parts, threads, parsed, bound_now)
    density = None
    if limiting is not None and limiting.demand and threads == 2:
        density = max(1.0, limiting.at_once * work / limiting.demand / cores.cores)
    growth = ratio(bound_then or None, bound_now)
    for key, value, text in (
        ("most", bound_then, "at most, relative to the throughput of the interval"),
        ("ratio", growth, "that bound over the current one"),
        ("predicted", predicted, "predicted, then / now"),
    ):
        if key != "predicted" or parsed.point:
            figure = AnswerFigure(f"{key}_{cores.kind.lower()}", value, "", f"{cores.kind}: {text}", 3)
            answer.figures.append(figure)
    subject = (cores.kind, cores.cores, cores.threads, threads, bound_now, bound_then, growth)
    held_by = limiting.held_by if limiting else None
    row = (*subject, held_by, _value_of(serial), density, predicted)
    pairs.sort(key=lambda pair: (pair[1].held_by != "processors", _value_of(pair[1]) or 0.0))
    rows: list[tuple[Value, ...]] = []
    for now, then in pairs[:_MOST_BOUNDS]:
        at_most = (then.held_by, then.demand, then.at_once, now.most, then.most)
        rows.append((cores.kind, *at_most, _bound_basis(then, parsed)))
    if len(pairs) > _MOST_BOUNDS:
        answer.notes.append(f"{cores.kind}: {len(pairs) - _MOST_BOUNDS} higher bounds are not shown")
    return row, rows


def _predicted(
    answer: Answer,
    cores: SwitchedCores,
    parts: Sequence[DemandPart],
    threads: int,
    parsed: Settings,
    bound_now: float | None,
) -> float | None:
    """Return the throughput relative to now, at the same part of the bound; None without path factors."""
    if not parsed.point or not bound_now:
        return None
    if cores.maximum is None:
        answer.notes.append(
            f"{cores.kind}: no point value without the largest capacity factor; set max_capacity_factor=..."
        )
        return None
    grown = [replace(part, demand=part.demand * parsed.path_of(part.name)) for part in parts]
    bounds = smt_bounds.work_bounds(grown, cores.cores, threads, cores.maximum)
    limiting = smt_bounds.lowest_bound(
        [bound for bound in bounds if _is_shown(bound) and not _is_assumed(bound, parsed)]
    )
    return None if limiting is None or limiting.most is None else limiting.most / bound_now


def _is_shown(bound: ThroughputBound) -> bool:
    """Return whether to show a bound: bounds of the remainder's virtual CPUs are left out."""
    return bound.most is not None and bound.held_by != f"virtual CPUs of {_REST}"


def _part_name(bound: ThroughputBound) -> str:
    return bound.held_by.partition(" of ")[2]


def _is_assumed(bound: ThroughputBound, parsed: Settings) -> bool:
    """Return whether a bound is serialization only inferred from the busiest virtual CPU."""
    return bound.held_by.startswith("serialization") and _part_name(bound) not in parsed.serial


def _bound_basis(bound: ThroughputBound, parsed: Settings) -> str:
    if bound.held_by == "processors":
        return "measured use of all"
    if bound.held_by.startswith("virtual"):
        return "measured use, spread evenly over them"
    if _part_name(bound) in parsed.serial:
        return "assumed: serial is set"
    return "measured use of its busiest virtual CPU, assumed unable to move to others"


def _published(threads: int) -> AnswerTable:
    """Return IBM's published ranges of throughput, inverted if threads are switched off."""
    rows = [row for row in publications.ThreadFile.load().ranges if "throughput" in row.what]
    if threads == 1:
        rows = [replace(row, low=1.0 / row.high, high=1.0 / row.low, mean=None) for row in rows]
    return answer_table("smt", "published", "", rows)


def _add_transactions(
    session: CoreSession, where: str, answer: Answer, changes: Sequence[tuple[Value, ...]]
) -> None:
    """Add notes on the bounds in transactions, if the input reports them."""
    rows = session.sql(f"SELECT etr FROM load WHERE {where} AND etr IS NOT NULL").rows
    if len(rows) != 1:
        return
    for change in changes:
        bound = change[5]
        if isinstance(bound, float):
            answer.notes.append(
                f"{change[0]}: {rows[0][0]:,.1f} transactions/s measured; at most "
                f"{rows[0][0] * bound:,.1f}/s then"
            )


def _add_notes(
    answer: Answer,
    changing: Sequence[SwitchedCores],
    threads: int,
    parsed: Settings,
    unmeasured: Sequence[str],
) -> None:
    if not parsed.point:
        answer.notes.append(
            "No point value, only bounds: throughput may well decrease, and this data has no lower bound. "
            f"{MISSES}. For a point value set path=FACTOR (or guest.NAME.path), calibrated on a measured "
            "pair of runs"
        )
    else:
        answer.assumptions.append(constant("smt_bound_reached").assumed())
        answer.notes.append(
            "Path factors are assumed as given: they apply to the work and the configuration they were "
            "measured in"
        )
    if threads == 2 or any(cores.threads == 2 for cores in changing):
        answer.assumptions.append(constant("smt_idle_cores_first").assumed())
    if threads == 1:
        answer.notes.append(
            "The bounds assume that a transaction needs as much work without second threads as with them. If "
            "threads spin or pollute each other's caches it needs less, and the bounds are too low: for "
            "IBM's published SMT-2 run of serialized work the bound is 1.01, but 1 / 0.649 = 1.54 was "
            "measured"
        )
    for cores in changing:
        if cores.maximum is None and threads == 2:
            answer.notes.append(
                f"{cores.kind}: the data has no largest capacity factor, so the bounds assume 200%; "
                "try another with max_capacity_factor=130"
            )
        if cores.entitled is not None and cores.entitled < 100 * cores.cores - 1:
            answer.notes.append(
                f"{cores.kind}: the partition is entitled to {cores.entitled / 100:.2f} of its {cores.cores} "
                "cores; the bounds are for all of them, as if other partitions left theirs idle"
            )
    answer.notes.append(
        "Assumed: the mix of work stays the same, so every guest grows or shrinks in the same proportion"
    )
    if unmeasured:
        answer.notes.append(
            f"use or type of virtual CPUs unknown, so no bound of them: {', '.join(unmeasured[:5])}"
            f"{', ...' if len(unmeasured) > 5 else ''}"
        )


def _value_of(bound: ThroughputBound | None) -> float | None:
    return None if bound is None else bound.most
