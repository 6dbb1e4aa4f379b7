"""What-ifs on a measured interval: the keys, the settings, and the answer before and after.

The scenarios are those of the models partitions and shares, as built by `zlens solve ... --from`; the
families change them. If both are available, the attainable share of the own partition determines the number
of processors for its guests.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterator, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from msgspec import Struct

from zlens.catalog.reports import definition
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import parse_time_spec
from zlens.models import interval_choice
from zlens.models.partitions import measurement as partitions
from zlens.models.partitions.model import TYPES
from zlens.models.scenario_errors import ScenarioErrors
from zlens.models.shares import measurement as shares
from zlens.models.smt.switch import switch_bounds
from zlens.plan import FAMILIES, course, guest_shares
from zlens.plan import tables as plan_tables
from zlens.plan.case import MeasuredInterval, Setting, WhatIfCase, WhatIfKey, situation
from zlens.rendering.answer import Answer, AnswerColumn, AnswerTable
from zlens.rendering.answer_columns import answer_columns, answer_table
from zlens.schema.plain_text import format_list
from zlens.schema.validators import Choice
from zlens.schema.wording import phrase

#: Measure that each of the two scenarios is built from, and the limits of averages.
TABLES = {"machine": "partition", "guests": "guest", "averages": "image_capacity"}
_SEPARATE = "use a separate plan for each"
#: The setting that switches multithreading, its values with the threads on a core, and what goes with it.
_SMT, _SMT_VALUE = "smt", "on or off"
_THREADS = {"on": 2, "off": 1}
_WITH_SMT = "max_capacity_factor, path, guest.NAME.path, guest.NAME.serial, guest.NAME.serial_at_once"


def families() -> list[ModuleType]:
    """Return the modules of what-ifs, in the order in which they are applied."""
    return [import_module(f"zlens.plan.{name}") for name in FAMILIES]


def all_keys() -> Iterator[tuple[ModuleType, WhatIfKey]]:
    """Yield all keys with their families."""
    # Facts that the user adds are listed last.
    facts, *changing = families()
    for family in (*changing, facts):
        for form in family.FORMS:
            yield family, form


def parse_setting(setting: str) -> tuple[ModuleType, Setting]:
    """Parse a setting; returns its family and the setting, ScenarioError if there is no such what-if."""
    key, equals, value = (part.strip() for part in setting.partition("="))
    if not equals or not key or not value:
        raise ScenarioError(f"{setting} has no value", expected="KEY=VALUE", cure=phrase("plan_list"))
    first, *rest = key.split(".")
    name = kind = None
    if first in ("partition", "user", "group", "class") and len(rest) > 1:
        scopes, field, name = {first}, rest[-1], ".".join(rest[:-1])
        if first == "partition" and rest[-2].upper() in TYPES and len(rest) > 2:
            name, kind = ".".join(rest[:-2]), rest[-2].upper()
    else:
        scopes, field = {"own", "machine"}, first
        kind = rest[0].upper() if rest else None
        if len(rest) > 1 or (kind is not None and kind not in TYPES):
            field = key
    for family, form in all_keys():
        if form.field == field and scopes & set(form.scopes):
            return family, Setting(key, value, form, name, kind)
    keys = [form_key for _, form in all_keys() for form_key in form.full_keys()]
    plain = ".".join((first, "NAME", field)) if name is not None else field
    near = difflib.get_close_matches(plain, keys, 1)
    raise ScenarioError(
        f"{setting}: no what-if is called {key}",
        expected=f"one of {', '.join(keys)}",
        cure=f"did you mean {near[0]}?" if near else phrase("plan_list"),
    )


class PlanRequest(Struct, frozen=True):
    """The settings: what-ifs with their families, or threads per core with their settings."""

    wanted: Sequence[tuple[ModuleType, Setting]] = ()
    threads: int | None = None
    beside: Sequence[str] = ()


def parse_question(settings: Sequence[str]) -> PlanRequest:
    """Parse the settings, checked where possible without data; ScenarioError if they are invalid."""
    switch = [setting for setting in settings if setting.partition("=")[0].strip() == _SMT]
    if switch:
        return _parse_switch(settings, switch)
    what_ifs = [parse_setting(setting) for setting in settings]
    _check_combinations(what_ifs)
    return PlanRequest(what_ifs)


def plan(
    session: Any,
    settings: Sequence[str],
    *,
    system: str | None = None,
    at: str | float | None = None,
    over_time: bool = False,
) -> Answer:
    """Return the answer for the busiest interval of an input, or for the one at a given time.

    over_time: for all intervals instead, with rolling averages of MSU and work that waits; settings that
    limit an average imply it
    """
    parsed = parse_question(settings)
    averages = [setting for family, setting in parsed.wanted if getattr(family, "OVER_TIME", False)]
    if over_time or averages:
        _check_over_time(parsed, settings, at, averages)
        return course.answer(session, parsed.wanted, families(), _system(session, "partition", system))
    if parsed.threads is not None:
        name = _system(session, "cpu", system)
        end = interval_choice.choose_interval(session, name, None if at is None else parse_time_spec(at))
        return switch_bounds(session, name, end, parsed.threads, parsed.beside)
    what_ifs = parsed.wanted
    name, end = choose_interval(session, what_ifs, system, at)
    interval = situation(session, name, end)
    for family, request in what_ifs:
        _check_reported(interval, family.NEEDS, request)
    case = WhatIfCase(interval)
    if interval.machine is not None:
        case.before = case.machine = interval.machine.scenario
    if interval.guests is not None:
        case.guests = interval.guests.scenario
    in_order = families()
    for family, request in sorted(what_ifs, key=lambda what_if: in_order.index(what_if[0])):
        family.change(case, request)
    guest_shares.check_limits(case)
    return plan_tables.answer(case, machine=any(family.NEEDS == "machine" for family, _ in what_ifs))


def queries() -> list[str]:
    """Return the SELECTs of all intervals that what-ifs read of tables that others may share."""
    return [partitions.busy(), *partitions.queries(), *shares.queries()]


def _check_over_time(
    parsed: PlanRequest, settings: Sequence[str], at: str | float | None, averages: Sequence[Setting]
) -> None:
    """Reject settings that apply to one interval only."""
    why = f"{averages[0].key} limits or moves work over time" if averages else "it solves all intervals"
    if at is not None:
        raise QueryError(f"a time of one interval is given, but {why}", cure="leave one of them out")
    if parsed.threads is not None:
        raise ScenarioError(f"{settings[0]} is for one interval, but {why}", cure=_SEPARATE)
    for family, setting in parsed.wanted:
        if family.NEEDS != "machine" or setting.form.field == "split":
            raise setting.setting_error(f"it is for one interval, but {why}", _SEPARATE)


def _parse_switch(settings: Sequence[str], switch: Sequence[str]) -> PlanRequest:
    """Parse a change of multithreading, which is a separate plan."""
    others = [setting for setting in settings if setting not in switch]
    fields = {form.field for _, form in all_keys()}
    mixed = [setting for setting in others if setting.partition("=")[0].split(".")[-1].strip() in fields]
    if mixed or len(switch) > 1:
        message = f"{switch[0]} cannot be combined with {(mixed or switch)[-1]}"
        raise ScenarioError(message, expected=f"only {_WITH_SMT} with it", cure=_SEPARATE)
    value = switch[0].partition("=")[2].strip()
    threads = _THREADS[Choice(tuple(_THREADS)).check(value, _SMT, ScenarioErrors(None))]
    return PlanRequest(threads=threads, beside=others)


def _check_combinations(wanted: Sequence[tuple[ModuleType, Setting]]) -> None:
    """Reject duplicate and contradictory settings."""
    seen: set[str] = set()
    for _, request in wanted:
        if request.key in seen:
            raise request.setting_error(f"{request.key} is given twice", _SEPARATE)
        seen.add(request.key)
    fields = {((request.name or "").upper(), request.form.field): request for _, request in wanted}
    for (name, field), request in fields.items():
        if field.endswith("absolute") and (name, field.replace("absolute", "relative")) in fields:
            raise request.setting_error("a share is relative or absolute, not both", "leave one of them out")
    split = next((request for _, request in wanted if request.form.field == "split"), None)
    guests = any(family.NEEDS == "guests" for family, _ in wanted)
    if split is not None and guests:
        why = "shares and a split cannot be combined: the part that each guest goes to is unknown"
        raise split.setting_error(why, "leave one of them out")


def choose_interval(
    session: Any, wanted: Sequence[tuple[ModuleType, Setting]], system: str | None, at: str | float | None
) -> tuple[str, dt.datetime]:
    """Return system and end of the interval."""
    guests = any(family.NEEDS == "guests" for family, _ in wanted)
    machine = any(family.NEEDS == "machine" for family, _ in wanted)
    when = None if at is None else parse_time_spec(at)
    table = "partition"
    if not machine:
        table = "guest" if guests else "partition" if _has_rows(session, "partition") else "load"
    name = _system(session, table, system)
    busy = partitions.busy() if table == "partition" and not guests else interval_choice.BUSY
    return name, interval_choice.choose_interval(session, name, when, busy)


def _has_rows(session: Any, table: str) -> bool:
    return bool(session.sql(f'SELECT count(*) FROM "{table}"').rows[0][0])


def _system(session: Any, table: str, requested: str | None) -> str:
    """Return the only system in a table; if the table is empty, the error names the data it needs."""
    if not _has_rows(session, table):
        cure = phrase("explain", name=table)
        message = f"the input has no data for table {table}"
        raise QueryError(message, expected=required_records(table), cure=cure)
    return interval_choice.choose_system(session, table, requested)


def _entries(interval: MeasuredInterval, needed: str) -> Sequence[dict[str, Any]]:
    """Return the partitions or the guests of an interval; none if its data does not report them."""
    measured = interval.machine if needed == "machine" else interval.guests
    return () if measured is None else measured.scenario["partition" if needed == "machine" else "user"]


def _check_reported(interval: MeasuredInterval, needed: str, request: Setting) -> None:
    """Reject settings for which the interval has no data."""
    if _entries(interval, needed):
        return
    measured = interval.machine if needed == "machine" else interval.guests
    subject = "partitions" if needed == "machine" else "guests with a share"
    why = f"the interval has no {subject}"
    if measured is not None and measured.notes:
        why += f": {measured.notes[0]}"
    table = TABLES[needed]
    raise request.setting_error(why, phrase("explain", name=table), required_records(table))


def required_records(table: str) -> str:
    """Return the records that a table needs, from its classic report."""
    return definition.load_report(_REPORTS[table]).needs


def list_settings(
    session: Any | None = None, *, system: str | None = None, at: str | float | None = None
) -> Answer:
    """List the keys; for an input, those that its data supports, with its own names."""
    if session is None:
        rows_of_all = [
            (key, form.setting(key, form.example), form.value, form.text)
            for _, form in all_keys()
            for key in form.full_keys()
        ]
        text = "multithreading of the cores of the system, with no other change"
        rows_of_all.append((_SMT, phrase("set", what=f"{_SMT}=on"), _SMT_VALUE, text))
        table = answer_table("plan", "whatifs", "", rows_of_all)
        return Answer("plan", "What-ifs for a measured interval", [table], notes=list(_NOTES))
    name, end = choose_interval(session, (), system, at)
    interval = situation(session, name, end)
    rows, notes = [], []
    keys_without_data: dict[str, list[str]] = {}
    with_msu = _has_rows(session, "image_capacity")
    for family, form in all_keys():
        over_time = getattr(family, "OVER_TIME", False)
        for key, value, current in _keys_of_interval(interval, form, family.NEEDS):
            if value is None or (over_time and not with_msu):
                keys_without_data.setdefault("averages" if over_time else family.NEEDS, []).append(key)
            else:
                rows.append((key, form.setting(key, value), form.value, current))
    for needed, keys in keys_without_data.items():
        notes.append(
            f"{', '.join(keys)}: not available, because this interval has no data for it; "
            f"needs: {required_records(TABLES[needed])}"
        )
    if _has_rows(session, "cpu"):
        rows.append((_SMT, phrase("set", what=f"{_SMT}=on"), _SMT_VALUE, None))
    title = f"What-ifs for {name}, interval that ended {interval.shown}"
    columns = (*answer_columns("plan", "whatifs")[:3], AnswerColumn("now", "Current, measured"))
    if interval.machine is not None:
        names = ", ".join(partitions.display_names(interval.machine.scenario))
        notes.append(f"Partitions: {names}; the partition of {name} is {interval.own or 'unknown'}")
    if interval.guests is not None and interval.guests.scenario["user"]:
        guests = list(dict.fromkeys(user["name"] for user in interval.guests.scenario["user"]))
        notes.append(f"Guests: {format_list(guests, _MOST)}")
    return Answer("plan", title, [AnswerTable("whatifs", "", columns, rows)], notes=[*notes, *_NOTES])


def _keys_of_interval(
    interval: MeasuredInterval, form: WhatIfKey, needed: str
) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield keys of a form with names of an interval: key, value to try (None: no data), current value."""
    entries = _entries(interval, needed)
    if not entries:
        yield from ((key, None, None) for key in form.full_keys())
    elif needed == "guests":
        guest = entries[0]
        yield f"user.{guest['name']}.{form.field}", form.example, _current_value(guest.get(form.field))
    elif set(form.scopes) & {"group", "class"}:
        # These are in other records than the partitions of one interval.
        yield from ((key, form.example, None) for key in form.full_keys())
    elif form.field == "physical_cores" and interval.machine is not None:
        for of_type, number in interval.machine.scenario["processors"].items():
            yield f"{form.field}.{of_type}", form.example, _current_value(number)
    else:
        entry = next((entry for entry in entries if entry["name"] == interval.own), entries[0])
        name, current = entry["name"], "cores" if form.field == "logical_cores" else form.field
        is_single_type = sum(peer["name"] == name for peer in entries) == 1
        dotted = name if is_single_type else f"{name}.{entry.get('type', 'CP')}"
        for scope in form.scopes:
            key = f"partition.{dotted}.{form.field}" if scope == "partition" else form.field
            if scope != "own" or (name == interval.own and is_single_type):
                yield key, form.example, _current_value(entry.get(current))


def _current_value(value: Any) -> str | None:
    """Format a value for the list; None for flags and missing values."""
    if value is None or isinstance(value, bool):
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


_REPORTS = {
    "partition": "partition",
    "guest": "user",
    "load": "cpu",
    "cpu": "cpu",
    "image_capacity": "rmfcpu",
}
_MOST = 20
_NOTES = (
    "Weights, cores, shares and vertical-lows can be combined in one plan; smt cannot be combined with "
    "these, nor a split with shares",
    "Defined and group capacity and partitions of service classes are solved over all intervals, with "
    "weights, cores and vertical-lows if these are set, too",
    "The own partition is read from the data; partition.NAME.TYPE.weight selects its cores of one type",
)
