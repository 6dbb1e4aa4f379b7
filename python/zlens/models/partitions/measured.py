"""Partitions of a machine in a measured interval: what PR/SM entitled each to beside what it used.

Demand of a partition is what it used, PR/SM's time on its behalf included, for no data tell of work that
waited: expected and used differ only where the model would not have given what was used. What PR/SM used for
itself is taken off the cores. Beside that stands what a partition could have got if it alone had wanted all.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zlens import models
from zlens.catalog.expressions import literal
from zlens.models import scenario as scenarios
from zlens.models.answer import Answer, Column, Figure, Table, Value
from zlens.models.moments import Asked, at_end
from zlens.models.partitions.model import TYPES

TABLE = "partition"
#: Cores that a partition used.
_USED = "coalesce(total_s / seconds, total_pct / 100 * logical_cpus, effective_pct / 100 * logical_cpus)"
#: Cores that are no difference.
_SAME = 0.005
#: Names that a note lists.
_MOST_NAMES = 5

_COMPARED = (
    Column("name", "Partition"),
    Column("type", "Type"),
    Column("cores", "Logical", "cores", "measured: logical cores"),
    Column("weight", "Weight", text="measured: processing weight; none where dedicated"),
    Column("entitlement", "Entitled", "cores", "solved: what its weight gives", 2),
    Column("expected", "Expected", "cores", "solved: what it gets if it wants what it used", 2),
    Column("observed", "Used", "cores", "measured", 2),
    Column("error", "Error", "cores", "used less expected", 2),
    Column("beyond", "Beyond", "cores", "used less entitled", 2),
    Column("could_get", "Could get", "cores", "solved: if it wanted all, as the others were", 2),
    Column("held_by", "Held by", text="solved: what would hold it then"),
)
_POLARITY = (
    Column("name", "Partition"),
    Column("type", "Type"),
    Column("cores", "Logical", "cores", "measured: logical cores"),
    Column("entitlement", "Entitled", "cores", "solved: what its weight gives", 2),
    Column("high", "Vh", "expected", "solved: vertical-high"),
    Column("medium", "Vm", "expected", "solved: vertical-medium"),
    Column("low", "Vl", "expected", "solved: vertical-low"),
    Column("vh", "Vh", "measured", "measured: vertical-high"),
    Column("vm", "Vm", "measured", "measured: vertical-medium"),
    Column("vl", "Vl", "measured", "measured: vertical-low"),
    Column("same", "Same", text="whether both are the same; dots where nothing was measured"),
)

Pair = tuple[str, str]


@dataclass(slots=True)
class Measured:
    """A scenario for `partitions`, and beside it what was measured, by name and type of partitions."""

    scenario: dict[str, Any]
    observed: dict[Pair, float] = field(default_factory=dict)
    vertical: dict[Pair, tuple[int, int, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def busy(_settings: Sequence[str] = ()) -> str:
    """Intervals and how busy the machine was: cores in use."""
    return (
        f"SELECT system, interval_end, seconds, flag, sum({_USED}) AS busy FROM partition "
        "GROUP BY system, source, interval_end, seconds, flag"
    )


def measured(session: Asked, system: str, end: dt.datetime) -> Measured:
    """The scenario of one interval."""
    where = at_end(system, end)
    sources = [row[0] for row in session.sql(f"SELECT DISTINCT source FROM partition WHERE {where}").rows]
    source = min(map(str, sources))
    where += f" AND source = {literal(source)}"
    found = Measured({"model": "partitions", "processors": {}, "partition": [], "physlog": []})
    if len(sources) > 1:
        others = ", ".join(sorted(set(map(str, sources)) - {source}))
        found.notes.append(f"The partitions are those of {source}; {others} tells them too")
    _physical(session, where, found)
    rows = session.sql(
        f"SELECT partition, cpu_type, dedicated, weight, capped, cap_text, logical_cpus, {_USED}, vh, vm, "
        f"vl, msu_defined FROM partition WHERE {where} AND partition NOT IN ('*PHYSICAL*', 'TOTAL') "
        "AND logical_cpus > 0 ORDER BY cpu_type, partition, partition_number"
    ).rows
    said: dict[str, list[str]] = {}
    for name, kind, dedicated, weight, capped, caps, logical, used, vh, vm, vl, msu in rows:
        pair = (str(name), str(kind))
        reason = _left_out(found, pair, dedicated, weight)
        if reason is not None:
            said.setdefault(reason, []).append(str(name))
            continue
        cores = math.ceil(logical - 1e-6)
        one: dict[str, Any] = {"name": pair[0], "type": pair[1], "cores": cores}
        one |= {"dedicated": True} if dedicated else {"weight": round(weight), "capped": bool(capped)}
        if used is not None:
            one["demand"] = found.observed[pair] = used
        if vh is not None and vm is not None and vl is not None and not dedicated:
            found.vertical[pair] = (vh, vm, vl)
            one["polarization"] = "vertical" if vh + vm + vl else "horizontal"
        for words in _strange(one, logical, weight, capped, caps, used, msu):
            said.setdefault(words, []).append(pair[0])
        found.scenario["partition"].append(one)
    found.notes += [f"{_listed(names)}: {words}" for words, names in said.items()]
    if not found.scenario["partition"]:
        found.notes.append("no partition of this interval has cores and a weight that the data tell")
    elif len(found.vertical) < sum(not one.get("dedicated") for one in found.scenario["partition"]):
        found.notes.append(
            "Where the data do not tell the polarity of cores it is taken to be vertical; "
            "partition.NAME.polarization=horizontal says otherwise"
        )
    return found


def _physical(session: Asked, where: str, found: Measured) -> None:
    """Physical cores of each type, and what PR/SM used for itself."""
    rows = session.sql(
        "SELECT cpu_type, physical, dedicated, lgclc_pct, ovrhd_pct, lpmgt_pct "
        f"FROM cec WHERE {where} ORDER BY cpu_type"
    ).rows
    for kind, physical, dedicated, lgclc, ovrhd, lpmgt in rows:
        if kind not in TYPES or physical is None:
            continue
        found.scenario["processors"][kind] = max(round(physical), math.ceil((dedicated or 0.0) - 1e-6))
        if lpmgt is None:
            found.notes.append(f"{kind}: the data do not tell what PR/SM used for itself")
        else:
            line = {"type": kind, "lgclc": lgclc or 0.0, "ovrhd": max(0.0, ovrhd or 0.0), "lpmgt": lpmgt}
            found.scenario["physlog"].append(line)


def _left_out(found: Measured, pair: Pair, dedicated: bool | None, weight: float | None) -> str | None:
    """Why a partition has no place in the scenario; None where it has."""
    if pair[1] not in found.scenario["processors"]:
        return f"left out: the data do not tell how many cores of type {pair[1]} the machine has"
    if not dedicated and (weight is None or round(weight) < 1):
        return "left out: the data tell no weight, and what the others are entitled to is too much by that"
    if any((one["name"], one["type"]) == pair for one in found.scenario["partition"]):
        return "there twice by that name, and left out once"
    return None


def _strange(
    one: dict[str, Any],
    logical: float,
    weight: float | None,
    capped: bool | None,
    caps: str | None,
    used: float | None,
    msu: float | None,
) -> Iterator[str]:
    """What is to be said of a partition; the same words for several are said once."""
    if one["cores"] - logical > 0.01:
        yield "logical cores came or went within the interval, and the most are taken"
    if used is None:
        yield "the data do not tell what it used, so it is taken to want all"
    if one.get("dedicated"):
        return
    if weight is not None and abs(weight - round(weight)) > 0.01:
        yield "the weight changed within the interval, and the mean is taken"
    if capped is None:
        yield "the data do not tell whether it is capped; partition.NAME.capped=true says so"
    flags = (caps or "").split()
    if len(flags) == 3 and "Y" in flags[1]:
        yield "has an absolute cap that the data do not tell; partition.NAME.absolute_cap=CORES adds it"
    if len(flags) == 3 and "Y" in flags[2]:
        yield "is in a group with an absolute cap, which the data do not tell"
    if msu:
        yield "has a defined capacity, which holds the average of four hours and not an interval: left out"


def compare(session: Asked, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Expected beside observed. settings: values of the scenario, as of --set."""
    found = measured(session, system, end)
    title = f"Partitions as {system} saw them, interval that ended {end.astimezone(dt.UTC):%F %T} UTC"
    values = found.scenario
    if not values["partition"]:
        return Answer("partitions", title, [], notes=found.notes)
    for setting in settings:
        values = scenarios.changed(values, setting)
    solved = models.solve("partitions", values)
    pairs = shown(values)
    given = {pair: at for at, pair in enumerate(pairs.values())}
    rows, errors = [], []
    for row in _dicts(solved.table("partitions")):
        pair = pairs[str(row["name"])]
        used, expected = found.observed.get(pair), row["allocation"]
        error = None if used is None else used - float(str(expected))
        errors += [] if error is None else [error]
        beyond = None if used is None else used - float(str(row["entitlement"]))
        could, held = could_get(values, given[pair], str(row["name"]))
        begin = (row["name"], row["type"], row["cores"], row["weight"], row["entitlement"])
        rows.append((*begin, expected, used, error, beyond, could, held))
    polarity = list(_polarity(solved, pairs, found))
    tables = [Table("compared", "Expected beside used", _COMPARED, rows)]
    if polarity:
        tables.append(Table("polarity", "Polarity of logical cores", _POLARITY, polarity))
    tables.append(solved.table("machine"))
    figures = [
        Figure(
            "worst",
            max(map(abs, errors), default=None),
            "cores",
            "Largest use beyond what the model gives",
            2,
        ),
        *solved.figures,
    ]
    different = [str(row[0]) for row in polarity if row[-1] == "no"]
    notes = [
        *found.notes,
        *_circular(values, found, rows),
        *(f"changed: {setting}" for setting in settings),
        *solved.notes,
    ]
    if different:
        notes.append(
            f"{_listed(different)}: cores stand otherwise than the weights of this interval give; weights or "
            "cores may have changed since, or a cap that is not in these data counts"
        )
    # Bands of accuracy are not shown here.
    assumed = [assumption for assumption in solved.assumptions if assumption.name != "vertical_bands"]
    return Answer("partitions", title, tables, figures, [], notes, assumed)


def _circular(values: dict[str, Any], found: Measured, rows: Sequence[tuple[Value, ...]]) -> Iterator[str]:
    """That use stands on both sides, where nothing else tells what a partition wanted."""
    wants = {(one["name"], one.get("type", "CP")): one.get("demand") for one in values["partition"]}
    circular = sum(
        demand is not None and found.observed.get(pair) == demand for pair, demand in wants.items()
    )
    if not circular:
        return
    errors = [row[7] for row in rows if isinstance(row[7], float)]
    allowed = sum(abs(error) < _SAME for error in errors)
    yield (
        f"{circular} of {len(wants)} partitions are taken to have wanted what they used, for the data do not "
        f"tell of work that waited: no error ({allowed} of {len(errors)}) says only that weights, cores and "
        "caps allow what was used, and confirms nothing; an error is what the model would not have given"
    )


def shown(values: dict[str, Any]) -> dict[str, Pair]:
    """Name and type of the partitions of a scenario, in its order, under the names that answers show."""
    pairs = [(str(one["name"]), str(one.get("type", "CP"))) for one in values["partition"]]
    times = Counter(name for name, _ in pairs)
    return {f"{name} {kind}" if times[name] > 1 else name: (name, kind) for name, kind in pairs}


def could_get(values: dict[str, Any], at: int, name: str) -> tuple[Value, Value]:
    """What a partition would get if it wanted all, and what would hold it. name: as answers show it."""
    partitions = list(values["partition"])
    partitions[at] = {key: value for key, value in partitions[at].items() if key != "demand"}
    solved = models.solve("partitions", {**values, "partition": partitions})
    row = next(row for row in _dicts(solved.table("partitions")) if row["name"] == name)
    return row["allocation"], row["bound_by"]


def _polarity(solved: Answer, pairs: dict[str, Pair], found: Measured) -> Iterator[tuple[Value, ...]]:
    """Vertical partitions: expected beside measured."""
    cores = {row["name"]: row["cores"] for row in _dicts(solved.table("partitions"))}
    for row in _dicts(solved.table("polarization")):
        if row["polarization"] != "vertical":
            continue
        expected = (row["high"], row["medium"], row["low"])
        seen = found.vertical.get(pairs[str(row["name"])])
        same = None if seen is None else "yes" if seen == expected else "no"
        entitled = float(str(row["entitlement_pct"])) / 100
        begin = (row["name"], row["type"], cores[row["name"]], entitled)
        yield (*begin, *expected, *(seen or (None, None, None)), same)


def _dicts(table: Table) -> list[dict[str, Value]]:
    names = [column.key for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(names[:_MOST_NAMES])
    return some if len(names) <= _MOST_NAMES else f"{some} and {len(names) - _MOST_NAMES} others"
