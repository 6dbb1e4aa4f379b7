"""The answer to what-ifs: partitions, cores and guests before and after, and which kind each number is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zlens import models
from zlens.models.answer import Answer, Assumption, Column, Figure, Table, Value, by_name
from zlens.models.constants import constant
from zlens.models.partitions import measured as partitions
from zlens.models.partitions.measured import Pair
from zlens.plan.case import Case
from zlens.schema.wording import say, sentence

Row = tuple[Value, ...]
#: Less than this is no difference that a table shows.
_NOTHING = 5e-4

#: Kinds of columns, as their texts begin: what was given is measured, and assumed where --set changes it.
_GIVEN, _MEASURED, _SOLVED = "given", "measured", "solved"

_CHANGES = (
    Column("asked", "Asked"),
    Column("what", "What"),
    Column("unit", "Unit"),
    Column("before", "Before", text="measured: as it was", decimals=2),
    Column("after", "After", text="assumed: what was changed", decimals=2),
    Column("difference", "Difference", text="assumed: after less before", decimals=2),
)
_NAMES = (Column("name", "Partition"), Column("type", "Type"))


def _three(unit: str, text: str, decimals: int = 2, difference: str = "") -> tuple[Column, ...]:
    """Before, after and difference of what is solved."""
    return (
        Column("before", "Before", unit, f"solved: {text}", decimals),
        Column("after", "After", unit, f"solved: {text}, with what is asked", decimals),
        Column("difference", "Difference", difference or unit, "solved: after less before", decimals),
    )


def _two(key: str, head: str, unit: str, kind: str, text: str, decimals: int = 1) -> tuple[Column, ...]:
    """Before and after of something beside that."""
    after = kind if kind == _SOLVED else _GIVEN
    return (
        Column(f"{key}_before", f"{head} before", unit, f"{kind}: {text}", decimals),
        Column(f"{key}_after", f"{head} after", unit, f"{after}: {text}", decimals),
    )


_HELD = _two("held", "Held", "", _SOLVED, "what would hold it")
_ENTITLED = (
    *_NAMES,
    *_two("weight", "Weight", "", _MEASURED, "processing weight; none where dedicated"),
    *_three("cores", "what its weight entitles it to"),
)
_EXPECTED = (
    *_NAMES,
    Column("used", "Used", "cores", "measured: PR/SM's time on its behalf included", 2),
    *_three("cores", "what it gets if it wants what it used"),
)
_COULD = (*_NAMES, *_three("cores", "what it gets if it wants all, the others what they used"), *_HELD)
_POLARITY = (
    *_NAMES,
    *_two("high", "Vh", "cores", _SOLVED, "vertical-high cores"),
    *_two("medium", "Vm", "cores", _SOLVED, "vertical-medium cores"),
    *_two("low", "Vl", "cores", _SOLVED, "vertical-low cores"),
    *_two("each", "Each Vm", "% of 1", _SOLVED, "what each medium core is entitled to, of one core"),
)
_MACHINE = (
    Column("type", "Type"),
    *_two("physical", "Physical", "cores", _MEASURED, "cores of the machine"),
    *_two("logical", "Logical", "cores", _MEASURED, "logical cores that share them"),
    *_two(
        "crowding", "Not Vh per left", "cores", _SOLVED, "logical cores on each physical one that no Vh holds"
    ),
    *_two("idle", "Idle", "cores", _SOLVED, "of what is shared, if all want what they used", 2),
)
_PROCESSORS = (
    Column("type", "Type"),
    Column("before", "Before", "processors", "measured: online and not parked, less CP's own time", 2),
    Column("after", "After", "processors", "solved: with what the partition could get more or less", 2),
    Column("difference", "Difference", "processors", "solved: after less before", 2),
)
_USERS = (Column("name", "User"), Column("type", "Type"))
_SHARES = (
    *_USERS,
    *_two("share", "Share", "", _MEASURED, "SET SHARE"),
    *_three("% of 1", "its part of what guests could use, of one logical processor", 1, "points"),
)
_GETS = (
    *_USERS,
    Column("hungry", "Hungry", "VCPUs", "measured: virtual processors that waited too often", 0),
    Column("used", "Used", "% of 1", "measured: of one logical processor"),
    *_three("% of 1", "what it should get", 1, "points"),
    *_HELD,
)
_KINDS = (
    Column("table", "Table"),
    Column("kind", "Kind"),
    Column("columns", "Columns"),
)


@dataclass(slots=True)
class Solved:
    """A solved scenario of partitions, by name and type of partitions."""

    answer: Answer
    partitions: dict[Pair, dict[str, Value]] = field(default_factory=dict)
    polarity: dict[Pair, dict[str, Value]] = field(default_factory=dict)
    could: dict[Pair, tuple[Value, Value]] = field(default_factory=dict)


def solved(values: dict[str, Any]) -> Solved:
    """Solves a scenario, and once more for each partition as if it wanted all."""
    found = Solved(models.solve("partitions", values))
    rows, polarity = (by_name(found.answer.table(key)) for key in ("partitions", "polarization"))
    for at, (name, pair) in enumerate(partitions.shown(values).items()):
        found.partitions[pair], found.polarity[pair] = rows[name], polarity[name]
        found.could[pair] = partitions.could_get(values, at, name)
    return found


def answer(case: Case, *, machine: bool) -> Answer:
    """Before and after. machine: something of partitions or cores was asked."""
    known = case.situation
    title = f"Plan for {known.system}, interval that ended {known.end.astimezone(dt.UTC):%F %T} UTC"
    found = Answer("plan", title, [])
    if case.changes:
        found.tables.append(Table("changes", "What is asked", _CHANGES, case.changes))
    else:
        found.notes.append("Nothing is asked that changes anything: before and after are the same")
    before = after = None
    if machine and known.machine is not None:
        before, after = solved(case.before), solved(case.machine)
        _machine(found, case, before, after)
    _guests(found, case, before, after)
    found.notes = [*case.notes, *found.notes]
    found.assumptions += case.assumptions
    found.tables.append(
        Table("kinds", "Which numbers are measured, solved or assumed", _KINDS, list(_kinds(found.tables)))
    )
    return found


def _kinds(tables: Sequence[Table]) -> Iterator[Row]:
    """Which columns of each table are measured, solved, assumed."""
    for table in tables:
        found: dict[str, list[str]] = {"measured": [], "solved": [], "assumed": []}
        for column in table.columns:
            kind = column.text.partition(": ")[0]
            if kind == _GIVEN:
                found["measured"].append(f"{column.heading} where it is not asked")
                found["assumed"].append(f"{column.heading} where it is asked")
            elif kind in found:
                found[kind].append(column.heading)
        title = table.title.partition(":")[0]
        yield from ((title, kind, ", ".join(_paired(heads))) for kind, heads in found.items() if heads)


def _paired(heads: Sequence[str]) -> list[str]:
    """`Vh before` and `Vh after` in one word."""
    names = [head.removesuffix(" before") for head in heads]
    both = {name for name in names if f"{name} before" in heads and f"{name} after" in heads}
    return [
        f"{name} before and after" if name in both else head
        for name, head in zip(names, heads, strict=True)
        if head.removesuffix(" after") not in both or head.endswith(" before")
    ]


def _machine(found: Answer, case: Case, before: Solved, after: Solved) -> None:
    """Partitions and cores."""
    entitled: list[Row] = []
    expected: list[Row] = []
    could: list[Row] = []
    polarity: list[Row] = []
    measured = case.situation.machine
    observed = {} if measured is None else measured.observed
    pairs = partitions.shown(_both(case))
    for name, pair in pairs.items():
        old, new = before.partitions.get(pair, {}), after.partitions.get(pair, {})
        begin: Row = (name, pair[1])
        if pair in case.parts:
            parts = [after.partitions[part] for part in case.parts[pair]]
            new = {key: _sum(parts, key) for key in ("weight", "entitlement", "allocation")}
        entitled.append((*begin, old.get("weight"), new.get("weight"), *_difference(old, new, "entitlement")))
        expected.append((*begin, observed.get(pair), *_difference(old, new, "allocation")))
        was, would = before.could.get(pair, (None, None)), after.could.get(pair, (None, None))
        could.append((*begin, was[0], would[0], _less(would[0], was[0]), was[1], would[1]))
        old, new = before.polarity.get(pair, {}), after.polarity.get(pair, {})
        if "vertical" in (old.get("polarization"), new.get("polarization")):
            columns = ("high", "medium", "low", "medium_pct")
            polarity.append((*begin, *(one.get(key) for key in columns for one in (old, new))))
    found.tables += [
        Table("entitled", "Entitled: what weights give", _ENTITLED, entitled),
        Table("expected", "Expected: what each gets if it wants what it used", _EXPECTED, expected),
        Table("could", "Could get: if it wanted all, the others what they used", _COULD, could),
    ]
    if polarity:
        found.tables.append(Table("polarity", "Polarity of logical cores", _POLARITY, polarity))
    found.tables.append(Table("machine", "Physical cores", _MACHINE, list(_pools(before, after))))
    found.assumptions += [
        assumption
        for assumption in after.answer.assumptions
        if assumption.name not in ("vertical_bands", "run_time_longest")
    ]
    for row in could:
        shown, kind, more = str(row[0]), str(row[1]), row[4]
        if pairs[shown] == (case.situation.own, kind) and more is not None:
            text = f"{shown} could get of {kind}, after less before"
            found.figures.append(Figure(f"could_{kind.lower()}", _number(more), "cores", text))
    _said(found, case, before, after, expected)


def _both(case: Case) -> dict[str, Any]:
    """Partitions before and those made of them, each split one before its parts."""
    made = {(one["name"], one.get("type", "CP")): one for one in case.machine["partition"]}
    every: list[dict[str, Any]] = []
    for one in case.before["partition"]:
        every += [one, *(made[part] for part in case.parts.get((one["name"], one.get("type", "CP")), ()))]
    return {"partition": every}


def _pools(before: Solved, after: Solved) -> Iterator[Row]:
    old, new = (by_name(one.answer.table("machine")) for one in (before, after))
    for kind in old:
        idle = f"idle_{str(kind).lower()}"
        pairs = ((old[kind][key], new[kind][key]) for key in ("physical", "logical", "crowding"))
        values = [value for pair in pairs for value in pair]
        yield (kind, *values, before.answer.figure(idle), after.answer.figure(idle))


def _said(found: Answer, case: Case, before: Solved, after: Solved, expected: Sequence[Row]) -> None:
    """Notes on the machine."""
    measured = case.situation.machine
    if measured is not None:
        found.notes += measured.notes
    changed = [str(row[0]) for row in expected if abs(_number(row[-1])) > _NOTHING]
    same = "nothing" if not changed else f"only that of {_listed(changed)}"
    known = [row for row in expected if row[2] is not None]
    others = [str(row[0]) for row in known if abs(_number(_less(row[3], row[2]))) > _NOTHING]
    found.notes.append(
        sentence(
            "Expected before is not what was used: {others}; {more}",
            others=_listed(others),
            more=say("solve_partitions"),
        )
        if others
        else "Expected before equals Used for all partitions whose use is known: each got what it wanted"
    )
    found.notes.append(
        "What a partition wants is what it used: more is not known, so no Expected rises beyond Used; "
        f"Could get tells the room there is. Of what partitions get, {same} changes"
    )
    if case.parts:
        whole = ", ".join(name for name, _ in case.parts)
        found.notes.append(
            f"{whole}: Entitled and Expected after are the sum of its parts, which stand below it"
        )
    for note in after.answer.notes:
        found.notes.append(note if note in before.answer.notes else f"With what is asked: {note}")
    gone = [note for note in before.answer.notes if note not in after.answer.notes]
    found.notes += [f"Before, and no more with what is asked: {note}" for note in gone]


def _guests(found: Answer, case: Case, before: Solved | None, after: Solved | None) -> None:
    """Guests of the own partition, on the processors that it has then."""
    known = case.situation
    if known.guests is None:
        return
    if not known.guests.scenario["user"]:
        found.notes.append(f"Guests are not solved: {known.guests.notes[0]}")
        return
    split = [name for name, _ in case.parts if name == known.own]
    if split:
        found.notes.append(
            f"Which guests go to which part of {split[0]} nobody can tell: they are not solved"
        )
        return
    old, new = known.guests.scenario, case.guests
    processors = dict(old["processors"])
    for kind in processors if before is not None and after is not None else ():
        pair = (str(known.own), kind)
        if before is None or after is None or pair not in before.could:
            continue
        had, would = _number(before.could[pair][0]), _number(after.could[pair][0])
        cores, left = (_number(one.partitions[pair]["cores"]) for one in (before, after))
        # Guests never have more logical processors than there are.
        more = min(would - had, left - cores)
        if had < cores - _NOTHING:
            found.notes.append(
                f"Guests before are solved with all {cores:g} cores of type {kind} that were online of "
                f"{known.own}, though it could get only {had:.2f} of them: what more weight or physical "
                "cores bring guests is not seen here, and what fewer logical cores cost them is too much"
            )
        processors[kind] = max(0.0, processors[kind] + more * known.threads.get(kind, 1))
    new = {**new, "processors": processors}
    rows = [
        (kind, number, processors[kind], processors[kind] - number)
        for kind, number in old["processors"].items()
    ]
    found.tables.append(Table("processors", "Processors for guests", _PROCESSORS, rows))
    first, then = (by_name(models.solve("shares", values).table("users")) for values in (old, new))
    shares: list[Row] = []
    gets: list[Row] = []
    for name, one in first.items():
        other = then[name]
        begin: Row = (name, one["type"])
        entitled, got = _difference(one, other, "entitlement"), _difference(one, other, "allocation")
        limits = [_share(values, str(name)) for values in (old, new)]
        shares.append((*begin, *limits, *entitled))
        user = str(name)
        gets.append((*begin, known.guests.hungry.get(user), known.guests.observed.get(user), *got,
                     one["bound_by"], other["bound_by"]))  # fmt: skip
    alike = sum(abs(_number(_less(row[4], row[3]))) < _NOTHING for row in gets)
    found.notes.append(
        f"Expected before equals Used for {alike} of {len(gets)} guests; the others are hungry, or held "
        "by those who are"
    )
    more = sum(_number(row[6]) for row in gets)
    found.figures.append(Figure("guests", more, "% of 1", "Guests should get together, after less before", 1))
    if more > _NOTHING and before is not None:
        found.notes.append(
            f"Hungry guests of {known.own} would use more than it used, which the Expected of {known.own} "
            "does not count"
        )
    shares.sort(key=lambda row: -abs(_number(row[-1])))
    gets.sort(key=lambda row: -abs(_number(row[6])))
    found.tables += [
        Table("shares", "Guests, entitled: what shares give", _SHARES, shares),
        Table("guests", "Guests, expected: what each should get", _GETS, gets),
    ]
    found.notes += [note for note in known.guests.notes if not note.startswith("limits and CPU pools")]
    found.notes.append("Limits and CPU pools that hold now are not in these data: none is taken to hold")
    found.notes.append(
        "What a guest wants is what it used; only a hungry virtual processor wants all of a logical one. "
        "Where nobody is hungry, more processors or shares change nothing that these data tell"
    )
    found.assumptions.append(constant("hungry_above").assumed())
    if before is not None and known.own is not None:
        many = ", ".join(f"{number} on each core of type {kind}" for kind, number in known.threads.items())
        found.assumptions.append(
            Assumption(
                "processors_for_guests",
                "as Could get",
                "",
                f"guests have so many logical processors ({many or 'one on each core'}) more or less as "
                f"{known.own} could get cores more or less, never more than its logical cores make; what was "
                "parked stays so",
                "ours",
                "zlens",
            )
        )


def _share(values: dict[str, Any], name: str) -> str:
    """SET SHARE of a user, as CP writes it."""
    one = next(one for one in values["user"] if one["name"] == name)
    words = f"REL {one['relative']}" if "relative" in one else f"ABS {one['absolute']:g}%"
    if one.get("limit", "none") != "none":
        relative = one.get("maximum_relative")
        most = f"REL {relative}" if relative is not None else f"ABS {one['maximum_absolute']:g}%"
        words += f", {most} LIMIT{one['limit'].upper()}"
    return words


def _difference(old: dict[str, Value], new: dict[str, Value], key: str) -> Row:
    return old.get(key), new.get(key), _less(new.get(key), old.get(key))


def _less(one: Value, other: Value) -> Value:
    return None if one is None or other is None else _number(one) - _number(other)


def _sum(rows: Sequence[dict[str, Value]], key: str) -> Value:
    known = [row[key] for row in rows if row[key] is not None]
    whole = all(isinstance(value, int) for value in known)
    total = sum(map(_number, known))
    return None if not known else int(total) if whole else total


def _number(value: Value) -> float:
    return 0.0 if value is None else float(value)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
