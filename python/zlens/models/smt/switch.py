"""What a measured interval could do with multithreading switched on, or off: bounds, hardly ever a point.

All work is taken to grow as it was mixed in that interval, whose throughput is 1. Arithmetic and its
sources: models/smt/bounds.py; what speaks against a point value: models/smt/throughput.py.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from zlens.catalog import processor_types
from zlens.catalog.expressions import literal
from zlens.errors import QueryError
from zlens.models import moments
from zlens.models import scenario as scenarios
from zlens.models.answer import Answer, Column, Figure, Table, Value
from zlens.models.constants import constant
from zlens.models.moments import Asked, at_end
from zlens.models.smt import bounds as smt_bounds
from zlens.models.smt import tables as smt_tables
from zlens.models.smt.bounds import Bound, Part
from zlens.models.smt.throughput import MISSES
from zlens.schema.kinds import Integer, Number

#: Two threads never do more than twice the work of one.
_TWICE = 2.0
#: Bounds of a type of cores that are shown: the lowest ones.
_MOST_BOUNDS = 12
#: The part that is nobody's: CP for itself, and guests that the data do not tell of.
_REST = ""

_CHANGES = (
    Column("type", "Type"),
    Column("cores", "Cores", text="measured: cores online", decimals=0),
    Column("threads_now", "Threads", "now", "threads of a core in the interval", 0),
    Column("threads_then", "Threads", "then", "threads of a core after the switch", 0),
    Column("most_now", "At most", "now", "solved: lowest bound; throughput of the interval is 1", 3),
    Column("most_then", "At most", "then", "solved: lowest bound; throughput of the interval is 1", 3),
    Column("ratio", "Then/now", "", "solved: of the bounds, not of throughput", 3),
    Column("held_by", "Held by", text="solved: what the lowest bound is of then"),
    Column("serial", "If serial", "then", "at most, if the busiest virtual CPU's work cannot move", 3),
    Column("density", "Density", "then", "solved: threads active on a busy core at that bound", 2),
    Column("predicted", "Predicted", "then/now", "point value; only with path factors", 3),
)
_BOUNDS = (
    Column("type", "Type"),
    Column("held_by", "Bound"),
    Column("work", "Work", "cores", "CPU time of a second, as if alone on cores", 3),
    Column("at_once", "At once", "then", "threads, or virtual CPUs", 0),
    Column("most_now", "At most", "now", "solved; throughput of the interval is 1", 3),
    Column("most_then", "At most", "then", "solved; throughput of the interval is 1", 3),
    Column("how", "Rests on", text="what of it is measured and what assumed"),
)
_NUMBERS = (
    Column("type", "Type"),
    Column("number", "Number"),
    Column("value", "Value", decimals=3),
    Column("unit", "Unit"),
    Column("how", "How", text="measured, solved, assumed, or not known"),
    Column("where", "From"),
)
_PUBLISHED = (
    Column("what", "Published by IBM"),
    Column("machine", "Machine"),
    Column("low", "From", "then/now", decimals=2),
    Column("high", "To", "then/now", decimals=2),
    Column("mean", "Mean", "then/now", decimals=2),
    Column("publication", "Publication"),
)


@dataclass(slots=True)
class Settings:
    """What settings say. Factors are ratios.

    path, serial, at_once  of guests by name; under "" of all of them
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


@dataclass(slots=True)
class Cores:
    """Cores of one type in the interval. raw: threads busy on average. Factors are ratios.

    slowing  raw time of a piece of work against its time alone on a core
    numbers  what is said of each number: name, value, unit, how, where from
    """

    kind: str
    cores: int
    threads: int
    raw: float | None
    maximum: float | None = None
    slowing: float = 1.0
    entitled: float | None = None
    numbers: list[tuple[Value, ...]] = field(default_factory=list)

    def number(self, name: str, value: Value, unit: str, how: str, where: str) -> None:
        self.numbers.append((self.kind, name, value, unit, how, where))


@dataclass(frozen=True, slots=True)
class User:
    """Virtual processors of one type of a guest: how many, processors they used, and the busiest of them."""

    name: str
    virtual_cpus: int
    used: float
    busiest: float


def switched(
    session: Asked, system: str, end: dt.datetime, threads: int, settings: Sequence[str] = ()
) -> Answer:
    """What throughput an interval could have at most with so many threads on each core.

    settings: `max_capacity_factor=130` (percent), `path=1.6`, `guest.NAME.path=1.6`, `guest.NAME.serial=40`
    (percent of its CPU time), `guest.NAME.serial_at_once=2`.
    """
    if threads not in (1, 2):
        raise QueryError(f"{threads} threads on a core", expected="1 or 2", cure="say smt=on or smt=off")
    told = _told(settings)
    where = at_end(system, end)
    sources = [str(row[0]) for row in session.sql(f"SELECT DISTINCT source FROM cpu WHERE {where}").rows]
    source = min(sources, default="")
    where += f" AND source = {literal(source)}"
    switch = "on" if threads == 2 else "off"
    title = (
        f"Multithreading {switch}: what {system} could do, by the interval that ended {moments.shown(end)}"
    )
    answer = Answer("smt", title, [])
    found = list(_cores(session, where, system, told))
    changing = [one for one in found if one.threads != threads and one.raw is not None]
    changing = _can(answer, changing, threads, source)
    _left_out(answer, found, changing, threads)
    if not changing:
        answer.notes.append(f"no cores of this interval can have multithreading switched {switch}")
        return answer
    users, blind = _users(session, where, [one.kind for one in found])
    names = {user.name for of_type in users.values() for user in of_type}
    unknown = {*told.path, *told.serial, *told.at_once} - {"", *names}
    if unknown:
        raise QueryError(
            f"no guest {min(unknown)} in this interval",
            expected=", ".join(sorted(names)[:20]) or "no guest that the data tell of",
            cure="leave it out",
        )
    changes: list[tuple[Value, ...]] = []
    bounds: list[tuple[Value, ...]] = []
    for one in changing:
        own = users.get(one.kind, [])
        change, rows = _switch(answer, one, own, threads, told)
        changes.append(change)
        bounds += rows
        if not own:
            answer.notes.append(
                f"{one.kind}: the data tell of no virtual CPUs, so there is no bound by them or by "
                "serialization; that of processors alone is shown"
            )
    answer.tables += [
        Table("changes", f"Multithreading {switch}", _CHANGES, changes),
        Table("bounds", "Bounds on throughput", _BOUNDS, bounds),
        Table("numbers", "Numbers", _NUMBERS, [row for one in changing for row in one.numbers]),
        _published(threads),
    ]
    _transactions(session, where, answer, changes)
    _notes(answer, changing, threads, told, blind)
    return answer


def _told(settings: Sequence[str]) -> Settings:
    """Settings, each checked."""
    problem, told = scenarios.Problem(None), Settings()
    factor = Number(0, 1000, above=True)
    for setting in settings:
        key, _, text = setting.partition("=")
        key = key.strip()
        given: float | str = Number().read(text)
        kind, _, rest = key.partition(".")
        name, _, last = rest.rpartition(".")
        if key == "max_capacity_factor":
            told.maximum = Number(100, 200).check(given, key, problem) / 100.0
        elif key == "path":
            told.path[""] = factor.check(given, key, problem)
        elif kind == "guest" and name and last == "path":
            told.path[name] = factor.check(given, key, problem)
        elif kind == "guest" and name and last == "serial":
            told.serial[name] = Number(0, 100, above=True).check(given, key, problem) / 100.0
        elif kind == "guest" and name and last == "serial_at_once":
            whole = int(given) if isinstance(given, float) and given == int(given) else given
            told.at_once[name] = Integer(1, 100_000).check(whole, key, problem)
        else:
            known = ("guest.NAME.path", "guest.NAME.serial", "guest.NAME.serial_at_once")
            raise problem.unknown(key, key, ("max_capacity_factor", "path", *known))
    return told


def _cores(session: Asked, where: str, system: str, told: Settings) -> Iterator[Cores]:
    """Cores of each type: how many, how busy, and how their threads slow each other."""
    sampled = {
        row[0]: row[1:]
        for row in session.sql(
            "SELECT cpu_type, threads, thread_density, capacity_factor_pct, max_capacity_factor_pct, "
            f"entitlement_pct, core_busy_pct FROM core_type WHERE {where} AND cpu_type IS NOT NULL"
        ).rows
    }
    types = processor_types.modeled()
    activated_of = ", ".join(f"mt_{kind.lower()}" for kind in types)
    levels = session.sql(f"SELECT {activated_of} FROM system WHERE system = {literal(system)}").rows
    level = dict(zip(types, levels[0], strict=True)) if levels else {}
    rows = session.sql(
        "SELECT cpu_type, count(DISTINCT coalesce(core_id, cpu_id)), count(*), sum(busy_pct) / 100, "
        "sum(coalesce(mvs_busy_pct, busy_pct)) / 100, count(busy_pct) = count(*) "
        f"FROM cpu WHERE {where} AND cpu_type IS NOT NULL AND coalesce(online_pct, 100) > 0 "
        "GROUP BY cpu_type ORDER BY cpu_type"
    ).rows
    for kind, cores, processors, busy, threads_busy, whole in rows:
        of_type = sampled.get(kind, (None,) * 6)
        activated = of_type[0] or level.get(kind)
        threads = int(activated or (2 if processors > cores else 1))
        raw = (threads_busy if threads == 2 else busy) if whole else None
        one = Cores(kind, int(cores), threads, raw, entitled=of_type[4])
        one.number("cores", cores, "cores", "measured", "processors online, by their cores")
        if activated or processors > cores:
            one.number("threads", threads, "per core", "measured", "threads activated, or seen")
        else:
            one.number("threads", threads, "per core", "assumed", "the data tell of no threads")
        one.number(
            "threads busy",
            raw,
            "processors",
            "not known" if raw is None else "measured",
            "busy of processors",
        )
        _slowing(one, of_type, told)
        yield one


def _slowing(one: Cores, of_type: Sequence[Any], told: Settings) -> None:
    """How threads slowed each other, and the largest capacity factor."""
    density, factor, recorded = of_type[1], _part(of_type[2]), _part(of_type[3])
    one.maximum = told.maximum or recorded
    if told.maximum:
        one.number("max CF", 100 * told.maximum, "%", "assumed", "set: max_capacity_factor")
    elif recorded:
        one.number("max CF", 100 * recorded, "%", "measured", "as the system recorded it")
    else:
        one.number(
            "max CF", 100 * _TWICE, "%", "assumed", "not known; no two threads can do more: an upper bound"
        )
    if one.threads == 1 or not one.raw:
        return
    how = "measured"
    if density is None and of_type[5]:
        density, how = one.raw / (one.cores * of_type[5] / 100.0), "solved"
    if density is None:
        density, how = _TWICE, "assumed"
    density = min(_TWICE, max(1.0, density))
    source = {
        "measured": "as the system recorded it",
        "solved": "busy of threads / busy of cores",
        "assumed": "not known; all threads active: an upper bound",
    }
    one.number("density", density, "threads", how, source[how])
    how, where = "measured", "as the system recorded it"
    if factor is None and one.maximum is not None:
        factor = 1.0 + (density - 1.0) * (one.maximum - 1.0)
        how, where = "solved", "1 + (density - 1)(max CF - 1)"
    if factor is None:
        factor, how, where = 1.0, "assumed", "not known; second threads added nothing: an upper bound"
    one.number("CF", 100 * factor, "%", how, where)
    one.slowing = smt_bounds.slowing(density, factor)


def _can(answer: Answer, changing: Sequence[Cores], threads: int, source: str) -> list[Cores]:
    """Those whose cores can have second threads."""
    if threads == 1:
        return list(changing)
    under = "z/VM" if source == "zvm-monitor" else "z/OS"
    types, publication = smt_tables.second_thread(under)
    answer.notes.append(f"Cores that can have two threads under {under}: {', '.join(types)} ({publication})")
    return [one for one in changing if one.kind in types]


def _left_out(answer: Answer, found: Sequence[Cores], changing: Sequence[Cores], threads: int) -> None:
    for one in found:
        if one in changing:
            continue
        if one.threads == threads:
            why = f"has {threads} thread{'s' * (threads > 1)} on each core already"
        elif one.raw is None:
            why = "the data do not tell how busy its processors were"
        else:
            why = "its cores run one thread only"
        answer.notes.append(f"{one.kind} left out: {why}")


def _users(session: Asked, where: str, kinds: Sequence[str]) -> tuple[dict[str, list[User]], list[str]]:
    """Guests by type of their virtual processors, and those whose use is not known."""
    only = kinds[0] if len(kinds) == 1 else None
    rows = session.sql(
        "SELECT userid, cpu_type, count(*), sum(cpu_pct) / 100, max(cpu_pct) / 100, "
        f"count(cpu_pct) = count(*) FROM guest_cpu WHERE {where} AND basis = 'sample' "
        "GROUP BY userid, cpu_type ORDER BY userid, cpu_type"
    ).rows
    users: dict[str, list[User]] = {}
    blind = []
    for userid, kind, virtual, used, busiest, whole in rows:
        of = kind or only
        if of is None or not whole:
            blind.append(str(userid))
            continue
        users.setdefault(of, []).append(User(str(userid), int(virtual), used, busiest))
    return users, blind


def _parts(one: Cores, users: Sequence[User], told: Settings) -> list[Part]:
    """Work of a second of each guest and of the rest, in cores with one thread active."""
    raw = one.raw or 0.0
    parts = []
    for user in users:
        if not user.used:
            continue
        serial = told.serial.get(user.name, user.busiest / user.used if user.virtual_cpus > 1 else 0.0)
        parts.append(
            Part(
                user.name,
                user.used / one.slowing,
                user.virtual_cpus,
                serial,
                told.at_once.get(user.name, 1),
            )
        )
    rest = max(0.0, raw - sum(user.used for user in users))
    return [*parts, Part(_REST, rest / one.slowing, 2 * one.cores)]


def _switch(
    answer: Answer, one: Cores, users: Sequence[User], threads: int, told: Settings
) -> tuple[tuple[Value, ...], list[tuple[Value, ...]]]:
    """The row of a type of cores, and those of its bounds."""
    parts = _parts(one, users, told)
    maximum = one.maximum or _TWICE
    work = sum(part.demand for part in parts)
    one.number(
        "work",
        work,
        "cores",
        "measured" if one.threads == 1 else "solved",
        "threads busy" if one.threads == 1 else "threads busy / (density / CF)",
    )
    now = smt_bounds.work_bounds(parts, one.cores, one.threads, maximum)
    then = smt_bounds.work_bounds(parts, one.cores, threads, maximum)
    pairs = [(before, after) for before, after in zip(now, then, strict=True) if _shown(after)]
    sure = [(before, after) for before, after in pairs if not _assumed(after, told)]
    held_now = smt_bounds.binding([before for before, _ in sure])
    held = smt_bounds.binding([after for _, after in sure])
    serial = smt_bounds.binding([after for _, after in pairs])
    most_now, most = _most(held_now), _most(held)
    predicted = _predicted(answer, one, parts, threads, told, most_now)
    density = None
    if held is not None and held.demand and threads == 2:
        density = max(1.0, held.at_once * work / held.demand / one.cores)
    for key, value, text in (
        ("most", most, f"{one.kind}: at most, with the throughput of the interval as 1"),
        ("ratio", most / most_now if most and most_now else None, f"{one.kind}: that bound against now's"),
        *((("predicted", predicted, f"{one.kind}: predicted, then / now"),) if told.point else ()),
    ):
        answer.figures.append(Figure(f"{key}_{one.kind.lower()}", value, "", text, 3))
    row = (
        one.kind,
        one.cores,
        one.threads,
        threads,
        most_now,
        most,
        most / most_now if most and most_now else None,
        held.held_by if held else None,
        _most(serial),
        density,
        predicted,
    )
    pairs.sort(key=lambda pair: (pair[1].held_by != "processors", _most(pair[1]) or 0.0))
    rows: list[tuple[Value, ...]] = [
        (
            one.kind,
            after.held_by,
            after.demand,
            after.at_once,
            before.most,
            after.most,
            _rests_on(after, told),
        )
        for before, after in pairs[:_MOST_BOUNDS]
    ]
    if len(pairs) > _MOST_BOUNDS:
        answer.notes.append(f"{one.kind}: {len(pairs) - _MOST_BOUNDS} bounds that are higher are not shown")
    return row, rows


def _predicted(
    answer: Answer, one: Cores, parts: Sequence[Part], threads: int, told: Settings, most_now: float | None
) -> float | None:
    """Throughput against now's, at the same part of the bound; None without path factors."""
    if not told.point or not most_now:
        return None
    if one.maximum is None:
        answer.notes.append(
            f"{one.kind}: no point value without the largest capacity factor; max_capacity_factor=... "
            "gives it"
        )
        return None
    grown = [replace(part, demand=part.demand * told.path_of(part.name)) for part in parts]
    bounds = smt_bounds.work_bounds(grown, one.cores, threads, one.maximum)
    held = smt_bounds.binding([bound for bound in bounds if _shown(bound) and not _assumed(bound, told)])
    return None if held is None or held.most is None else held.most / most_now


def _shown(bound: Bound) -> bool:
    """Not the virtual processors of what has none."""
    return bound.most is not None and bound.held_by != f"virtual CPUs of {_REST}"


def _of(bound: Bound) -> str:
    return bound.held_by.partition(" of ")[2]


def _assumed(bound: Bound, told: Settings) -> bool:
    """Serialization that is only read off the busiest virtual processor."""
    return bound.held_by.startswith("serialization") and _of(bound) not in told.serial


def _rests_on(bound: Bound, told: Settings) -> str:
    if bound.held_by == "processors":
        return "measured use of all"
    if bound.held_by.startswith("virtual"):
        return "measured use, spread over them evenly"
    if _of(bound) in told.serial:
        return "assumed: serial is set"
    return "measured use of its busiest virtual CPU; assumed: that cannot move to others"


def _published(threads: int) -> Table:
    """IBM's ranges of throughput, the other way round where threads are switched off."""
    rows: list[tuple[Value, ...]] = []
    for one in smt_tables.ranges():
        if "throughput" not in one["what"]:
            continue
        low, high, mean = one["low"], one["high"], one.get("mean")
        if threads == 1:
            low, high, mean = 1.0 / high, 1.0 / low, None
        rows.append((one["what"], one["machine"], low, high, mean, one["publication"]))
    return Table("published", "", _PUBLISHED, rows)


def _transactions(session: Asked, where: str, answer: Answer, changes: Sequence[tuple[Value, ...]]) -> None:
    """What the bounds are in transactions, where the input tells of them."""
    rows = session.sql(f"SELECT etr FROM load WHERE {where} AND etr IS NOT NULL").rows
    if len(rows) != 1:
        return
    for change in changes:
        most = change[5]
        if isinstance(most, float):
            answer.notes.append(
                f"{change[0]}: {rows[0][0]:,.1f} transactions/s were measured; at most "
                f"{rows[0][0] * most:,.1f}/s then"
            )


def _notes(
    answer: Answer, changing: Sequence[Cores], threads: int, told: Settings, blind: Sequence[str]
) -> None:
    if not told.point:
        answer.notes.append(
            "No point value, only bounds: throughput may well go down, and no lower bound follows from these "
            f"data. {MISSES}. path=FACTOR (or guest.NAME.path), calibrated on a measured pair of runs, "
            "gives one"
        )
    else:
        answer.assumptions.append(constant("smt_bound_reached").assumed())
        answer.notes.append(
            "Path factors are assumed as given: they hold for the work and the configuration they were "
            "measured in"
        )
    if threads == 2 or any(one.threads == 2 for one in changing):
        answer.assumptions.append(constant("smt_idle_cores_first").assumed())
    if threads == 1:
        answer.notes.append(
            "The bounds take a transaction to need as much work without second threads as with them. Where "
            "threads spin or spoil each other's caches it needs less, and they are too low: the bound of "
            "IBM's published SMT-2 run of serialized work says 1.01, and 1 / 0.649 = 1.54 was measured"
        )
    for one in changing:
        if one.maximum is None and threads == 2:
            answer.notes.append(
                f"{one.kind}: the data know no largest capacity factor, and the bounds are those of 200 %; "
                "max_capacity_factor=130 tries another"
            )
        if one.entitled is not None and one.entitled < 100 * one.cores - 1:
            answer.notes.append(
                f"{one.kind}: the partition is entitled to {one.entitled / 100:.2f} of its {one.cores} "
                "cores; the bounds are of all of them, as where other partitions leave theirs idle"
            )
    answer.notes.append(
        "Assumed: the mix of work stays as it was, so that every guest does more or less in one proportion"
    )
    if blind:
        answer.notes.append(
            f"use or type of virtual CPUs not known, so no bound by them: {', '.join(blind[:5])}"
            f"{', ...' if len(blind) > 5 else ''}"
        )


def _most(bound: Bound | None) -> float | None:
    return None if bound is None else bound.most


def _part(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0
