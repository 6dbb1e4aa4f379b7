"""What-ifs over all intervals of an input: rolling averages of MSU, caps, and work that waits for them.

The scenarios of the intervals are those of the single-interval plan, changed by the same families, with the
limits of the averages. Solved over time twice, before and after the changes, by models/partitions/capping.py.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from zlens.errors import QueryError, ScenarioError
from zlens.inputs.unix_time import to_unix_us
from zlens.models.optional_numbers import difference, ratio
from zlens.models.partitions import capping, msu
from zlens.models.partitions import measurement as partitions
from zlens.models.partitions.capping import OfferedInterval, PartitionCourse
from zlens.models.partitions.measurement import PartitionInterval
from zlens.models.partitions.msu import KINDS, ImageFacts, Line, PartitionMsu, Subject, peak_hour, with_sums
from zlens.models.partitions.rolling_average import WINDOW_S
from zlens.plan.case import ClassUse, MeasuredInterval, Setting, WhatIfCase
from zlens.rendering.answer import Answer, Value
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries
from zlens.schema.plain_text import format_list

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

_HOUR = 3600
_CP = "CP"
_EXTRA = ("effective_s", "total_s", "msu_of_cpu", "capacity_group", "capacity_group_limit", "msu_defined")
_ASSUMED = (
    ("demand", "as used", "", "the data does not show work that waited for a recorded cap"),
    (
        "step",
        5,
        "minutes",
        "each is solved with the averages at its start; use of an interval is spread evenly",
    ),
    (
        "caps",
        "at the limit",
        "",
        "a defined capacity limits while the average is above it, a full group shares its limit by weight; "
        "WLM's cap patterns and phantom weights are not modeled",
    ),
    ("waiting_work", "in order", "", "work that does not fit waits and is done first come, first served"),
    ("management", "as measured", "", "PR/SM's part in the time of a partition"),
)


class PlanSide(Struct):
    """The intervals before or after the changes; `courses` by partition."""

    intervals: list[OfferedInterval] = field(default_factory=list)
    courses: dict[str, PartitionCourse] = field(default_factory=dict)


def answer(
    session: CoreSession,
    what_ifs: Sequence[tuple[ModuleType, Setting]],
    families: Iterable[ModuleType],
    system: str,
) -> Answer:
    """Return the answer for all intervals of a system's machine.

    Raises ScenarioError for a setting that applies to no interval, QueryError if the data has no capacity in
    MSU.
    """
    forms = [form for family in families for form in family.FORMS]
    ordered = sorted(what_ifs, key=lambda what_if: forms.index(what_if[1].form))
    measured = list(partitions.measured_intervals(session, system, extra=_EXTRA))
    images, classes = msu.images(session), _classes(session)
    own = partitions.own_partition(session, system)
    before, after = PlanSide(), PlanSide()
    first: WhatIfCase | None = None
    errors: dict[str, ScenarioError] = {}
    applied: set[str] = set()
    notes: dict[str, None] = {}
    for interval in measured:
        scenario = _with_limits(interval)
        if scenario is None:
            continue
        facts = images.get(msu.minute(interval.end), {})
        uses = classes.get(msu.minute(interval.end), ())
        case = WhatIfCase(MeasuredInterval(system, interval.end, "", own, interval.measured, None, {}, uses))
        case.before = case.machine = scenario
        for family, setting in ordered:
            try:
                family.change(case, setting)
                applied.add(setting.key)
            except ScenarioError as error:
                errors.setdefault(setting.key, error)
        for note in (*interval.measured.notes, *case.notes):
            notes.setdefault(note)
        if first is None or len(case.changes) > len(first.changes):
            first = case
        before.intervals.append(_offered(interval, case.before, facts))
        after.intervals.append(_offered(interval, case.machine, facts))
    for _, setting in ordered:
        if setting.key not in applied and setting.key in errors:
            raise errors[setting.key]
    if first is None:
        raise QueryError(
            f"the data of {system} has no partitions with a capacity in MSU",
            expected="CPU records of RMF, or its CPU report",
        )
    measured_msu = msu.partitions(session, partitions.machine_sql(session, system))
    history = msu.earlier_averages(measured_msu)
    for side in (before, after):
        side.courses = capping.solve(side.intervals, history)
    return _answer(session, system, first, before, after, measured_msu, list(notes), history)


def _classes(session: CoreSession) -> dict[int, list[ClassUse]]:
    """Return the use of CPs by service classes, by minute."""
    found: dict[int, list[ClassUse]] = {}
    rows = session.sql(
        "SELECT w.interval_end, w.class, i.partition, sum(w.cp_s) / max(w.seconds) FROM workload AS w "
        "JOIN image_capacity AS i USING (system, source, interval_end) "
        "WHERE w.class_kind = 'service' AND w.cp_s IS NOT NULL AND i.partition IS NOT NULL GROUP BY ALL"
    ).rows
    for end, name, partition, cores in rows:
        found.setdefault(msu.minute(end), []).append(ClassUse(str(name), str(partition), cores))
    return found


def _with_limits(interval: PartitionInterval) -> dict[str, Any] | None:
    """Return the scenario of an interval with the limits of averages; None without a capacity in MSU."""
    extras = {name: extra for (name, kind), extra in interval.extra.items() if kind == _CP}
    if _CP not in interval.measured.scenario["processors"] or _msu_of_cpu(extras) is None:
        return None
    entries, groups = [], {}
    for entry in interval.measured.scenario["partition"]:
        if entry["type"] == _CP:
            *_, group, limit, defined = extras[entry["name"]]
            entry = {**entry, "defined_capacity": defined or None, "capacity_group": group}
            if group is not None and limit is not None:
                groups[group] = limit
        entries.append(entry)
    return {
        **interval.measured.scenario,
        "partition": entries,
        "group": [{"name": name, "capacity": limit} for name, limit in groups.items()],
    }


def _msu_of_cpu(extras: Mapping[str, tuple[Any, ...]]) -> float | None:
    return next((float(extra[2]) for extra in extras.values() if extra[2] is not None), None)


def _offered(
    interval: PartitionInterval, scenario: Mapping[str, Any], images: Mapping[str, ImageFacts]
) -> OfferedInterval:
    """Return an interval of the solver from a scenario."""
    extras = {name: extra for (name, kind), extra in interval.extra.items() if kind == _CP}
    entries = [entry for entry in scenario["partition"] if entry.get("type") == _CP]
    dedicated = sum(entry["cores"] for entry in entries if entry.get("dedicated"))
    management = sum(line["lpmgt"] for line in scenario["physlog"] if line["type"] == _CP) / 100
    end = to_unix_us(interval.end) / 1e6
    ipls = {name: to_unix_us(fact.ipl) / 1e6 for name, fact in images.items() if fact.ipl is not None}
    return OfferedInterval(
        end=end,
        seconds=interval.seconds,
        capacity=max(0.0, scenario["processors"][_CP] - dedicated - management),
        partitions=entries,
        groups={group["name"]: group["capacity"] for group in scenario["group"]},
        msu_of_cpu=_msu_of_cpu(extras) or 0.0,
        effective={
            name: extra[0] / extra[1]
            for name, extra in extras.items()
            if extra[0] is not None and extra[1] and extra[0] <= extra[1]
        },
        always=frozenset(name for name, fact in images.items() if fact.always),
        # An IPL is recorded in every interval after it.
        ipl={name: time for name, time in ipls.items() if time > end - interval.seconds - WINDOW_S},
    )


# -- answer ------------------------------------------------------------------------------------------------


def _lines(side: PlanSide) -> dict[Subject, Line]:
    """Return the rolling averages over time: of the machine, its capacity groups and its partitions."""
    groups: dict[str, set[str]] = {}
    for interval in side.intervals:
        for entry in interval.partitions:
            if entry.get("capacity_group"):
                groups.setdefault(entry["capacity_group"], set()).add(entry["name"])
    lines = {name: [(step.end, step.seconds, step.rolling) for step in course.steps]
             for name, course in side.courses.items()}  # fmt: skip
    return with_sums(lines, groups)


def _answer(
    session: CoreSession,
    system: str,
    first: WhatIfCase,
    before: PlanSide,
    after: PlanSide,
    measured: Sequence[PartitionMsu],
    notes: Sequence[str],
    history: Mapping[str, float],
) -> Answer:
    """Return the tables of averages and of waiting work, before and after."""

    def local_hour(hour: int | None) -> Value:
        if hour is None:
            return None
        end = dt.datetime.fromtimestamp((hour + 1) * _HOUR, dt.UTC)
        return f"{session.display(end, system):%m-%d %H:%M}"

    old, new = _lines(before), _lines(after)
    seen = msu.averages(measured)
    rows: list[tuple[Value, ...]] = []
    for kind, name in sorted({*old, *new}, key=lambda key: (KINDS.index(key[0]), key[1])):
        peaks = [peak_hour(side.get((kind, name), ())) or (None, None) for side in (seen, old, new)]
        times, (was, old_mean, new_mean) = zip(*peaks, strict=True)
        values = (was, old_mean, new_mean, difference(new_mean, old_mean))
        rows.append((name, kind, *values, *map(local_hour, times[1:])))
    waits: list[tuple[Value, ...]] = []
    for name in sorted({*before.courses, *after.courses}):
        sides = [side.courses.get(name, PartitionCourse()) for side in (before, after)]
        if any(side.late > 0 or side.limited_s > 0 for side in sides):
            pairs = zip(*map(_waiting, sides), strict=True)
            waits.append((name, *(value for pair in pairs for value in pair)))
    notes = [*notes]
    capped_h = sum(row.seconds for row in measured if (row.cap_reached_pct or 0) > 0) / _HOUR
    if capped_h:
        notes.append(
            f"A recorded cap limited a partition in intervals of {capped_h:.2f} hours: the demand then was "
            "higher than the use that the data shows, so less waits here than really would"
        )
    unknown = sorted(name for name, course in before.courses.items() if name not in history and course.steps)
    if unknown:
        notes.append(
            f"{format_list(unknown, 5)}: no average is recorded, so it is unknown, and no limit of it "
            "applies, in the first four hours"
        )
    unlike = [str(row[0]) for row in rows if _differ(row[2], row[3])]
    if unlike:
        notes.append(
            f"{format_list(unlike, 5)}: Before is not Measured: the machine did not apply the limits of the "
            "data as the model does"
        )
    if not waits:
        notes.append("No work waits, before or after")
    changes = answer_table("plan", "changes", "What changes", first.changes)
    tables = [
        changes,
        answer_table("plan", "averages", "Highest hour of the four-hour average", rows),
    ]
    if waits:
        tables.append(answer_table("plan", "waits", "Work that waits", waits))
    for name, value, unit, text in _ASSUMED:
        first.assume_own(name, value, unit, text)
    begin, finish = before.intervals[0], before.intervals[-1]
    lines = {"before": old["machine", "machine"], "after": new["machine", "machine"]}
    series = tuple(ChartSeries(name, [value for _, _, value in line]) for name, line in lines.items())
    hours = [(end - begin.end) / _HOUR for end, _, _ in lines["before"]]
    chart = Chart("Four-hour average of the machine", "lines", hours, series, "MSU", "hours")
    start, end = (
        f"{session.display(dt.datetime.fromtimestamp(time, dt.UTC), system):%Y-%m-%d %H:%M:%S}"
        for time in (begin.end - begin.seconds, finish.end)
    )
    title = f"Plan for the machine of {system}, {start} to {end}"
    return Answer("plan", title, tables, charts=[chart], notes=notes, assumptions=first.assumptions)


def _differ(measured: Value, before: Value) -> bool:
    """Return whether two averages differ by more than the rounding of a recorded one and steps explain."""
    if not isinstance(measured, float) or not isinstance(before, float):
        return False
    return abs(measured - before) > 1 + 0.02 * measured


def _waiting(course: PartitionCourse) -> tuple[Value, ...]:
    """Return hours capped, MSU that waited, mean and longest wait in hours, and MSU left at the end."""
    mean = ratio(course.mean_delay_s, _HOUR)
    return (course.limited_s / _HOUR, course.late, mean, course.longest_s / _HOUR, course.left)
