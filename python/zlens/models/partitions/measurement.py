"""Partitions of a machine in a measured interval: entitlement by PR/SM compared with use.

Demand of a partition is what it used, including PR/SM's time on its behalf, because no data reports work that
waited: expected and used differ only if the model would not have allowed the use. PR/SM's own use is deducted
from the cores. The answer also shows what each partition could have got if only it had wanted all.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from zlens import models
from zlens.catalog.expressions import literal
from zlens.models import scenario as scenarios
from zlens.models.interval_choice import interval_sql, local_time
from zlens.models.partitions.model import TYPES
from zlens.rendering.answer import Answer, AnswerFigure, Value, by_name
from zlens.rendering.answer_columns import answer_table
from zlens.schema.plain_text import format_list, replace_controls

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

TABLE = "partition"
#: Cores that a partition used.
_USED = "coalesce(total_s / seconds, total_pct / 100 * logical_cpus, effective_pct / 100 * logical_cpus)"
#: Differences below this many cores are ignored.
_SAME = 0.005
#: Maximum number of names in a note.
_MOST_NAMES = 5


Pair = tuple[str, str]


class MeasuredPartitions(Struct):
    """A scenario for `partitions` with the measured values by name and type of partition."""

    scenario: dict[str, Any]
    observed: dict[Pair, float] = field(default_factory=dict)
    vertical: dict[Pair, tuple[int, int, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def busy(_settings: Sequence[str] = ()) -> str:
    """Return SQL of intervals and their utilization: cores in use of the machine."""
    return (
        f"SELECT system, interval_end, seconds, flag, sum({_USED}) AS busy FROM partition "
        "GROUP BY system, source, interval_end, seconds, flag"
    )


def queries(where: str = "true", extra: Sequence[str] = ()) -> tuple[str, str, str]:
    """Return the SELECTs of a scenario's partitions, physical cores, and own online cores, by interval."""
    return (
        "SELECT interval_end, seconds, partition, cpu_type, dedicated, weight, capped, cap_text, "
        "absolute_cap, "
        f"logical_cpus, {_USED}, vh, vm, vl, msu_defined{''.join(f', {each}' for each in extra)} "
        f"FROM partition WHERE {where} AND partition NOT IN ('*PHYSICAL*', 'TOTAL') AND logical_cpus > 0 "
        "ORDER BY interval_end, cpu_type, partition, partition_number",
        "SELECT interval_end, cpu_type, physical, dedicated, lgclc_pct, ovrhd_pct, lpmgt_pct "
        f"FROM cec WHERE {where} ORDER BY cpu_type",
        "SELECT interval_end, cpu_type, count(DISTINCT coalesce(core_id, cpu_id)) FROM cpu "
        f"WHERE {where} AND coalesce(online_pct, 100) > 0 GROUP BY interval_end, cpu_type",
    )


def measured_partitions(session: CoreSession, system: str, end: dt.datetime) -> MeasuredPartitions:
    """Return the scenario of one interval."""
    found = [interval.measured for interval in measured_intervals(session, system, end)]
    return found[0] if found else MeasuredPartitions(_scenario())


class PartitionInterval(Struct, frozen=True):
    """An interval with its scenario, and rows of `partition` with the columns of `extra`, by partition."""

    end: dt.datetime
    seconds: float
    measured: MeasuredPartitions
    extra: dict[Pair, tuple[Any, ...]]


def measured_intervals(
    session: CoreSession, system: str, end: dt.datetime | None = None, extra: Sequence[str] = ()
) -> Iterator[PartitionInterval]:
    """Yield the scenario of one interval, or of all of the system's machine, in order of time."""
    where = f"system = {literal(system)}" if end is None else interval_sql(system, end)
    online = _online_cores(session, system, queries(where)[2])
    if end is None:
        where = machine_sql(session, system)
    sources = [row[0] for row in session.sql(f"SELECT DISTINCT source FROM partition WHERE {where}").rows]
    if not sources:
        return
    source = min(map(str, sources))
    where += f" AND source = {literal(source)}"
    physical: dict[dt.datetime, list[Any]] = {}
    of_partitions, of_machine, _ = queries(where, extra)
    for ended, *row in session.sql(of_machine).rows:
        physical.setdefault(ended, []).append(row)
    rows = session.sql(of_partitions).rows
    by_end = {ended: list(group) for ended, group in groupby(rows, itemgetter(0))}
    for ended in sorted({*by_end, *physical}):
        measurement = MeasuredPartitions(_scenario())
        if len(sources) > 1:
            others = ", ".join(sorted(set(map(str, sources)) - {source}))
            measurement.notes.append(f"Partitions are read from {source}; {others} reports them, too")
        _physical(physical.get(ended, ()), measurement)
        found = by_end.get(ended, [])
        added = _add_partitions(measurement, found, online.get(ended, {}), over_time=end is None)
        yield PartitionInterval(ended, max((row[1] for row in found), default=0.0), measurement, added)


def _scenario() -> dict[str, Any]:
    return {"model": "partitions", "processors": {}, "partition": [], "physlog": []}


def _add_partitions(
    measurement: MeasuredPartitions,
    rows: Sequence[tuple[Any, ...]],
    online: dict[Pair, int],
    *,
    over_time: bool,
) -> dict[Pair, tuple[Any, ...]]:
    """Add the partitions of an interval; returns the further columns of their rows."""
    names_by_note: dict[str, list[str]] = {}
    added: dict[Pair, tuple[Any, ...]] = {}
    for row in rows:
        _, _, name, kind, dedicated, weight, capped, caps, absolute_cap, logical, used, *others = row[:15]
        vh, vm, vl, msu = others
        # Scenarios take printable names only.
        pair = (replace_controls(str(name)), str(kind))
        reason = _left_out(measurement, pair, dedicated, weight)
        if reason is not None:
            names_by_note.setdefault(reason, []).append(pair[0])
            continue
        cores = defined = math.ceil(logical - 1e-6)
        if pair in online:
            # A core that went offline within the interval was used, too.
            cores = min(defined, max(online[pair], math.ceil((used or 0.0) - _SAME)))
        partition: dict[str, Any] = {"name": pair[0], "type": pair[1], "cores": cores}
        partition |= {"dedicated": True} if dedicated else {"weight": round(weight), "capped": bool(capped)}
        if absolute_cap is not None and not dedicated:
            partition["absolute_cap"] = absolute_cap
        if used is not None:
            partition["demand"] = measurement.observed[pair] = used
        if vh is not None and vm is not None and vl is not None and not dedicated:
            measurement.vertical[pair] = (vh, vm, vl)
            partition["polarization"] = "vertical" if vh + vm + vl else "horizontal"
        if cores < defined:
            words = f"{cores} of {defined} logical cores of type {pair[1]} were online, and only these count"
            names_by_note.setdefault(words, []).append(pair[0])
        msu = None if over_time else msu
        for words in _partition_notes(partition, min(logical, cores), weight, capped, caps, used, msu):
            names_by_note.setdefault(words, []).append(pair[0])
        measurement.scenario["partition"].append(partition)
        added[pair] = row[15:]
    measurement.notes += [
        f"{format_list(names, _MOST_NAMES)}: {words}" for words, names in names_by_note.items()
    ]
    if not measurement.scenario["partition"]:
        measurement.notes.append("the data reports no partition with cores and a weight in this interval")
    shared = [one for one in measurement.scenario["partition"] if not one.get("dedicated")]
    if not over_time and len(measurement.vertical) < len(shared):
        measurement.notes.append(
            "Where the data does not report the polarity of cores, vertical is assumed; "
            "partition.NAME.polarization=horizontal changes that"
        )
    return added


def _online_cores(session: CoreSession, system: str, query: str) -> dict[dt.datetime, dict[Pair, int]]:
    """Return the online cores of a system's own partition by type: data of others has the defined ones."""
    own = own_partition(session, system)
    online: dict[dt.datetime, dict[Pair, int]] = {}
    for end, kind, cores in session.sql(query).rows if own is not None else ():
        online.setdefault(end, {})[replace_controls(own or ""), str(kind)] = cores
    return online


def own_partition(session: CoreSession, system: str) -> str | None:
    """Return the name of the partition that a system runs in; None if it is unknown."""
    own = session.sql(f"SELECT lpar FROM system WHERE system = {literal(system)} AND lpar IS NOT NULL").rows
    return str(own[0][0]) if own else None


def machine_sql(session: CoreSession, system: str) -> str:
    """Return the SQL condition of a system's machine; of the system if its machine is unknown."""
    where = f"system = {literal(system)}"
    machine = session.sql(f"SELECT max(machine) FROM partition WHERE {where}").rows[0][0]
    return where if machine is None else f"machine = {literal(machine)}"


def _physical(rows: Sequence[Sequence[Any]], measurement: MeasuredPartitions) -> None:
    """Add physical cores of each type, and PR/SM's own use, to the scenario."""
    for kind, physical, dedicated, lgclc, ovrhd, lpmgt in rows:
        if kind not in TYPES or physical is None:
            continue
        measurement.scenario["processors"][kind] = max(round(physical), math.ceil((dedicated or 0.0) - 1e-6))
        if lpmgt is None:
            measurement.notes.append(f"{kind}: the data does not report PR/SM's own use")
        else:
            line = {"type": kind, "lgclc": lgclc or 0.0, "ovrhd": max(0.0, ovrhd or 0.0), "lpmgt": lpmgt}
            measurement.scenario["physlog"].append(line)


def _left_out(
    measurement: MeasuredPartitions, pair: Pair, dedicated: bool | None, weight: float | None
) -> str | None:
    """Return the reason to leave a partition out of the scenario; None to include it."""
    if pair[1] not in measurement.scenario["processors"]:
        return f"left out: the data does not report how many {pair[1]} cores the machine has"
    if not dedicated and (weight is None or round(weight) < 1):
        return "left out: the data reports no weight, so the entitlement of the others comes out too high"
    if any((partition["name"], partition["type"]) == pair for partition in measurement.scenario["partition"]):
        return "reported twice under that name; one is left out"
    return None


def _partition_notes(
    partition: dict[str, Any],
    logical: float,
    weight: float | None,
    capped: bool | None,
    caps: str | None,
    used: float | None,
    msu: float | None,
) -> Iterator[str]:
    """Yield notes on a partition; identical notes of several are merged."""
    if partition["cores"] - logical > 0.01:
        yield "the number of logical cores changed within the interval: the highest is used"
    if used is None:
        yield "the data does not report its use, so it is assumed to want all"
    if partition.get("dedicated"):
        return
    if weight is not None and abs(weight - round(weight)) > 0.01:
        yield "the weight changed within the interval: the mean is used"
    if capped is None:
        yield "the data does not report whether it is capped; if so, set partition.NAME.capped=true"
    flags = (caps or "").split()
    if len(flags) == 3 and "Y" in flags[1] and "absolute_cap" not in partition:
        yield "has an absolute cap of unknown value; add it with partition.NAME.absolute_cap=CORES"
    if len(flags) == 3 and "Y" in flags[2]:
        yield "is in a group with an absolute cap of unknown value"
    if msu:
        yield "has a defined capacity, which limits the four-hour average, not an interval: left out"


def compare(session: CoreSession, system: str, end: dt.datetime, settings: Sequence[str] = ()) -> Answer:
    """Compare expected with observed use. settings: values of the scenario, as of --set."""
    measurement = measured_partitions(session, system, end)
    title = f"Partitions as {system} saw them, interval that ended {local_time(session, system, end)}"
    values = measurement.scenario
    if not values["partition"]:
        return Answer("partitions", title, [], notes=measurement.notes)
    values = scenarios.apply_settings(values, settings)
    solved = models.solve("partitions", values)
    pairs = display_names(values)
    indexes = {pair: index for index, pair in enumerate(pairs.values())}
    rows, errors = [], []
    for row in solved.table("partitions").records():
        pair = pairs[str(row["name"])]
        used, expected = measurement.observed.get(pair), row["allocation"]
        error = None if used is None else used - float(str(expected))
        errors += [] if error is None else [error]
        beyond = None if used is None else used - float(str(row["entitlement"]))
        could, bound = attainable_share(values, indexes[pair], str(row["name"]))
        subject = (row["name"], row["type"], row["cores"], row["weight"], row["entitlement"])
        rows.append((*subject, expected, used, error, beyond, could, bound))
    polarity = list(_polarity(solved, pairs, measurement))
    tables = [answer_table("partitions", "compared", "Expected and used", rows)]
    if polarity:
        tables.append(answer_table("partitions", "polarity", "Polarity of logical cores", polarity))
    tables.append(solved.table("machine"))
    worst, text = max(map(abs, errors), default=None), "Largest use beyond the model's allocation"
    figures = [AnswerFigure("worst", worst, "cores", text, 2), *solved.figures]
    different = [str(row[0]) for row in polarity if row[-1] == "no"]
    notes = [
        *measurement.notes,
        *_demand_notes(values, measurement, rows),
        *(f"changed: {setting}" for setting in settings),
        *solved.notes,
    ]
    if different:
        notes.append(
            f"{format_list(different, _MOST_NAMES)}: polarity differs from that expected from the weights of "
            "this interval; weights or cores may have changed, or an unreported cap applies"
        )
    # This answer does not show the bands of accuracy.
    assumed = [assumption for assumption in solved.assumptions if assumption.name != "vertical_bands"]
    return Answer("partitions", title, tables, figures, [], notes, assumed)


def _demand_notes(
    values: dict[str, Any], measurement: MeasuredPartitions, rows: Sequence[tuple[Value, ...]]
) -> Iterator[str]:
    """Yield a note that demand is derived from use, so that agreement proves nothing."""
    wants = {(one["name"], one.get("type", "CP")): one.get("demand") for one in values["partition"]}
    observed = measurement.observed
    circular = sum(demand is not None and observed.get(pair) == demand for pair, demand in wants.items())
    if not circular:
        return
    errors = [row[7] for row in rows if isinstance(row[7], float)]
    allowed = sum(abs(error) < _SAME for error in errors)
    yield (
        f"{circular} of {len(wants)} partitions are assumed to have no demand beyond their use, because the "
        f"data does not report work that waited: no error ({allowed} of {len(errors)}) shows only that "
        "weights, cores and caps allow the use, and is no confirmation; an error is use that the model would "
        "not allow"
    )


def display_names(values: dict[str, Any]) -> dict[str, Pair]:
    """Return name and type of the partitions of a scenario, in order, by the names shown in answers."""
    pairs = [(str(partition["name"]), str(partition.get("type", "CP"))) for partition in values["partition"]]
    times = Counter(name for name, _ in pairs)
    return {f"{name} {kind}" if times[name] > 1 else name: (name, kind) for name, kind in pairs}


def attainable_share(values: dict[str, Any], index: int, name: str) -> tuple[Value, Value]:
    """Return the cores that a partition would get if it wanted all, and its limit. name: as in answers."""
    partitions = list(values["partition"])
    partitions[index] = {key: value for key, value in partitions[index].items() if key != "demand"}
    solved = models.solve("partitions", {**values, "partition": partitions})
    row = by_name(solved.table("partitions"))[name]
    return row["allocation"], row["bound_by"]


def _polarity(
    solved: Answer, pairs: dict[str, Pair], measurement: MeasuredPartitions
) -> Iterator[tuple[Value, ...]]:
    """Yield rows of vertical partitions: expected and measured polarity."""
    cores = {row["name"]: row["cores"] for row in solved.table("partitions").records()}
    for row in solved.table("polarization").records():
        if row["polarization"] != "vertical":
            continue
        expected = (row["high"], row["medium"], row["low"])
        measured = measurement.vertical.get(pairs[str(row["name"])])
        same = None if measured is None else "yes" if measured == expected else "no"
        entitled = float(str(row["entitlement_pct"])) / 100
        subject = (row["name"], row["type"], cores[row["name"]], entitled)
        yield (*subject, *expected, *(measured or (None, None, None)), same)
