"""What-ifs on a measured interval: which there are, what is asked, and the answer before and after.

The scenarios are those of partitions.py and shares.py, as `zlens solve ... --from` makes them; the families
of whatifs/ change them. Where both are known, what the own partition could get on the machine decides how
many processors its guests have.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import parse_moment
from zlens.models import moments
from zlens.models.answer import Answer, Column, Table
from zlens.models.partitions import measured as partitions
from zlens.models.partitions.model import TYPES
from zlens.models.shares import measured as shares
from zlens.plan import FAMILIES, smt, users
from zlens.plan import tables as plan_tables
from zlens.plan.case import Asked, Case, Form, Situation, situation
from zlens.reports import definition
from zlens.schema.wording import say

#: The table of measures that each of the two scenarios is made of.
TABLES = {"machine": "partition", "guests": "guest"}
_FORMS = (
    Column("key", "Key"),
    Column("example", "Example"),
    Column("values", "Value"),
    Column("what", "What if: another value for"),
)


def families() -> list[ModuleType]:
    """The modules of what-ifs, in the order in which they are applied."""
    return [import_module(f"zlens.plan.{name}") for name in FAMILIES]


def forms() -> Iterator[tuple[ModuleType, Form]]:
    """All keys there are."""
    # What is only known beside the data is told last.
    known, *changing = families()
    for family in (*changing, known):
        for form in family.FORMS:
            yield family, form


def asked(setting: str) -> tuple[ModuleType, Asked]:
    """A setting taken apart, and the family that answers it; ScenarioError where there is none."""
    key, equals, value = (part.strip() for part in setting.partition("="))
    if not equals or not key or not value:
        raise ScenarioError(
            f"{setting} has no value",
            expected="KEY=VALUE",
            cure=say("plan_list"),
        )
    first, *rest = key.split(".")
    name = kind = None
    if first in ("partition", "user") and len(rest) > 1:
        scopes, field, name = {first}, rest[-1], ".".join(rest[:-1])
        if first == "partition" and rest[-2].upper() in TYPES and len(rest) > 2:
            name, kind = ".".join(rest[:-2]), rest[-2].upper()
    else:
        scopes, field = {"own", "machine"}, first
        kind = rest[0].upper() if rest else None
        if len(rest) > 1 or (kind is not None and kind not in TYPES):
            field = key
    for family, form in forms():
        if form.field == field and scopes & set(form.scopes):
            return family, Asked(key, value, form, name, kind)
    known = [known for _, form in forms() for known in form.written()]
    plain = ".".join((first, "NAME", field)) if name is not None else field
    near = difflib.get_close_matches(plain, known, 1)
    raise ScenarioError(
        f"{setting}: there is no what-if {key}",
        expected=f"one of {', '.join(known)}",
        cure=f"did you mean {near[0]}?" if near else say("plan_list"),
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: what-ifs with their families, or threads on each core with what stands beside that."""

    wanted: Sequence[tuple[ModuleType, Asked]] = ()
    threads: int | None = None
    beside: Sequence[str] = ()


def understood(settings: Sequence[str]) -> Question:
    """What is asked, as far as it can be told without data; ScenarioError where it cannot be asked."""
    switch = [setting for setting in settings if setting.partition("=")[0].strip() == smt.KEY]
    if switch:
        return _switch(settings, switch)
    wanted = [asked(setting) for setting in settings]
    _together(wanted)
    return Question(wanted)


def plan(
    session: Any, settings: Sequence[str], *, system: str | None = None, at: str | None = None
) -> Answer:
    """The answer to what is asked of an input: of its busiest interval, or of that at a time."""
    question = understood(settings)
    if question.threads is not None:
        name = _system(session, "cpu", system)
        end = moments.moment(session, name, parse_moment(at) if at else None, shares.busy())
        return smt.answer(session, name, end, question.threads, question.beside)
    wanted = question.wanted
    name, end = chosen(session, wanted, system, at)
    known = situation(session, name, end)
    for family, one in wanted:
        _told(known, family.NEEDS, one)
    case = Case(known)
    if known.machine is not None:
        case.before = case.machine = known.machine.scenario
    if known.guests is not None:
        case.guests = known.guests.scenario
    for family in families():
        for own, one in wanted:
            if own is family:
                family.change(case, one)
    users.whole(case)
    return plan_tables.answer(case, machine=any(family.NEEDS == "machine" for family, _ in wanted))


def _switch(settings: Sequence[str], switch: Sequence[str]) -> Question:
    """Multithreading on or off, which is asked by itself."""
    others = [setting for setting in settings if setting not in switch]
    known = {form.field for _, form in forms()}
    mixed = [other for other in others if other.partition("=")[0].split(".")[-1].strip() in known]
    if mixed or len(switch) > 1:
        raise ScenarioError(
            f"{switch[0]} is asked by itself, and {(mixed or switch)[-1]} stands beside it",
            expected=f"beside it only {', '.join(smt.BESIDE)}",
            cure="ask them one by one",
        )
    return Question(threads=smt.threads(switch[0]), beside=others)


def _together(wanted: Sequence[tuple[ModuleType, Asked]]) -> None:
    """Refuses what is asked twice."""
    seen: set[str] = set()
    for _, one in wanted:
        if one.key in seen:
            raise one.refused(f"{one.key} is asked twice", "ask one by one: each is a plan of its own")
        seen.add(one.key)
    fields = {((one.name or "").upper(), one.form.field): one for _, one in wanted}
    for (name, field), one in fields.items():
        if field.endswith("absolute") and (name, field.replace("absolute", "relative")) in fields:
            raise one.refused("a share is relative or absolute, not both", "leave one of them out")
    split = next((one for _, one in wanted if one.form.field == "split"), None)
    guests = any(family.NEEDS == "guests" for family, _ in wanted)
    if split is not None and guests:
        raise split.refused(
            "which guests go to which part nobody can tell, so shares and a split are asked one by one",
            "leave one of them out",
        )


def chosen(
    session: Any, wanted: Sequence[tuple[ModuleType, Asked]], system: str | None, at: str | None
) -> tuple[str, dt.datetime]:
    """System and end of the interval that is asked of."""
    guests = any(family.NEEDS == "guests" for family, _ in wanted)
    machine = any(family.NEEDS == "machine" for family, _ in wanted)
    when = parse_moment(at) if at else None
    if guests and not machine:
        name = _system(session, "guest", system)
        return name, moments.moment(session, name, when, shares.busy())
    if not machine and not _any(session, "partition"):
        name = _system(session, "load", system)
        return name, moments.moment(session, name, when, shares.busy())
    name = _system(session, "partition", system)
    busy = shares.busy() if guests else partitions.busy()
    return name, moments.moment(session, name, when, busy)


def _any(session: Any, table: str) -> bool:
    return bool(session.sql(f'SELECT count(*) FROM "{table}"').rows[0][0])


def _system(session: Any, table: str, wanted: str | None) -> str:
    """The one system; where its table has nothing, what would give it is said."""
    if not _any(session, table):
        raise QueryError(
            f"the input tells nothing of table {table}", expected=needs(table), cure=_explain(table)
        )
    return moments.system(session, table, wanted)


def _explain(table: str) -> str:
    return say("explain", name=table)


def _told(known: Situation, needed: str, one: Asked) -> None:
    """Refuses what the interval does not tell."""
    measured = known.machine if needed == "machine" else known.guests
    entries = () if measured is None else measured.scenario["partition" if needed == "machine" else "user"]
    if entries:
        return
    what = "partitions" if needed == "machine" else "guests with a share"
    why = f"the interval tells no {what}"
    if measured is not None and measured.notes:
        why += f": {measured.notes[0]}"
    raise one.refused(why, _explain(TABLES[needed]), needs(TABLES[needed]))


def needs(table: str) -> str:
    """Which records give a table: what the classic report of it says."""
    return definition.load(_REPORTS[table]).needs


def listed(session: Any | None = None, *, system: str | None = None, at: str | None = None) -> Answer:
    """What can be asked; of an input, what of it can be asked of this one, with names of its own."""
    if session is None:
        every = [
            (key, form.tried(key, form.example), form.value, form.text)
            for _, form in forms()
            for key in form.written()
        ]
        every.append((smt.KEY, say("set", what=f"{smt.KEY}=on"), smt.VALUE, smt.TEXT))
        table = Table("whatifs", "", _FORMS, every)
        return Answer("plan", "What can be asked of a measured interval", [table], notes=list(_NOTES))
    name, end = chosen(session, (), system, at)
    known = situation(session, name, end)
    rows, notes = [], []
    silent: dict[str, list[str]] = {}
    for family, form in forms():
        for key, value, now in _here(known, form, family.NEEDS):
            if value is None:
                silent.setdefault(family.NEEDS, []).append(key)
            else:
                rows.append((key, form.tried(key, value), form.value, now))
    for needed, keys in silent.items():
        notes.append(
            f"{', '.join(keys)}: not of this interval, because the data tell nothing of it; "
            f"what would: {needs(TABLES[needed])}"
        )
    if _any(session, "cpu"):
        rows.append((smt.KEY, say("set", what=f"{smt.KEY}=on"), smt.VALUE, None))
    title = f"What can be asked of {name}, interval that ended {end.astimezone(dt.UTC):%F %T} UTC"
    columns = (*_FORMS[:3], Column("now", "Now, measured"))
    if known.machine is not None:
        names = list(partitions.shown(known.machine.scenario))
        notes.append(f"Partitions: {', '.join(names)}; that of {name} is {known.own or 'not known'}")
    if known.guests is not None and known.guests.scenario["user"]:
        users_ = [one["name"] for one in known.guests.scenario["user"]]
        more = f" and {len(users_) - _MOST} others" if len(users_) > _MOST else ""
        notes.append(f"Guests: {', '.join(users_[:_MOST])}{more}")
    return Answer("plan", title, [Table("whatifs", "", columns, rows)], notes=[*notes, *_NOTES])


def _here(known: Situation, form: Form, needed: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Keys of a form with names of an interval: the key, a value to try (None: not told), what is now."""
    machine = None if known.machine is None else known.machine.scenario
    guests = None if known.guests is None else known.guests.scenario
    if (needed == "machine" and not (machine or {}).get("partition")) or (
        needed == "guests" and not (guests or {}).get("user")
    ):
        yield from ((key, None, None) for key in form.written())
        return
    if needed == "guests" and guests is not None:
        own = guests["user"][0]
        yield f"user.{own['name']}.{form.field}", form.example, _now(own.get(form.field))
    elif machine is not None and needed == "machine":
        entries = machine["partition"]
        one = next((entry for entry in entries if entry["name"] == known.own), entries[0])
        field = "cores" if form.field == "logical_cores" else form.field
        for scope, key in zip(form.scopes, form.written(), strict=True):
            kind = one.get("type", "CP")
            alone = sum(other["name"] == one["name"] for other in entries) == 1
            if scope == "own" and (one["name"] != known.own or not alone):
                continue
            if scope == "partition":
                dotted = one["name"] if alone else f"{one['name']}.{kind}"
                yield f"partition.{dotted}.{form.field}", form.example, _now(one.get(field))
            elif form.field == "physical_cores":
                for of_type, number in machine["processors"].items():
                    yield f"{key}.{of_type}", form.example, _now(number)
            else:
                yield key, form.example, _now(one.get(field))
    else:
        yield form.field, form.example, None


def _now(value: Any) -> str | None:
    """As a list shows it; flags are not distinguished from what the data do not tell."""
    if value is None or isinstance(value, bool):
        return None
    return f"{value:g}" if isinstance(value, float) else str(value)


_REPORTS = {"partition": "partition", "guest": "user", "load": "cpu", "cpu": "cpu"}
_MOST = 20
_NOTES = (
    "Several settings are answered together: weights, cores, shares and vertical-lows; smt is asked by "
    "itself, and so are a split and shares",
    "What the own partition is comes from the data; partition.NAME.TYPE.weight means its cores of one type",
)
