"""The answer to what-ifs: partitions, cores and guests before and after, and the kind of each number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from zlens import models
from zlens.models.partitions import measurement as partitions
from zlens.models.partitions.measurement import Pair
from zlens.models.shares import measurement as measured_shares
from zlens.plan.case import WhatIfCase
from zlens.rendering.answer import Answer, AnswerColumn, AnswerFigure, AnswerTable, Assumption, Value, by_name
from zlens.rendering.answer_columns import answer_table
from zlens.schema.plain_text import format_list
from zlens.schema.wording import phrase, sentence

Row = tuple[Value, ...]
#: Smaller differences are ignored.
_NEGLIGIBLE = 5e-4

#: Kinds of columns, the prefix of their texts: "given" is measured, or assumed if --set changes it.
_GIVEN, _MEASURED, _SOLVED = "given", "measured", "solved"

_NAMES = (AnswerColumn("name", "Partition"), AnswerColumn("type", "Type"))


def _three(unit: str, text: str, decimals: int = 2, difference: str = "") -> tuple[AnswerColumn, ...]:
    """Return the columns before, after and difference of a solved value."""
    return (
        AnswerColumn("before", "Before", unit, f"solved: {text}", decimals),
        AnswerColumn("after", "After", unit, f"solved: {text}, with the what-ifs", decimals),
        AnswerColumn("difference", "Difference", difference or unit, "solved: after less before", decimals),
    )


def _two(
    key: str, heading: str, unit: str, kind: str, text: str, decimals: int = 1
) -> tuple[AnswerColumn, ...]:
    """Return the columns before and after of a value."""
    after = kind if kind == _SOLVED else _GIVEN
    return (
        AnswerColumn(f"{key}_before", f"{heading} before", unit, f"{kind}: {text}", decimals),
        AnswerColumn(f"{key}_after", f"{heading} after", unit, f"{after}: {text}", decimals),
    )


_LIMIT = _two("held", "Limit", "", _SOLVED, "limiting resource")
_ENTITLED = (
    *_NAMES,
    *_two("weight", "Weight", "", _MEASURED, "processing weight; none if dedicated"),
    *_three("cores", "entitlement from its weight"),
)
_EXPECTED = (
    *_NAMES,
    AnswerColumn("used", "Used", "cores", "measured: including PR/SM's time on its behalf", 2),
    *_three("cores", "its use if its demand equals its measured use"),
)
_COULD = (
    *_NAMES,
    *_three("cores", "its use if its demand is unlimited and the others' equals their measured use"),
    *_LIMIT,
)
_POLARITY = (
    *_NAMES,
    *_two("high", "Vh", "cores", _SOLVED, "vertical-high cores"),
    *_two("medium", "Vm", "cores", _SOLVED, "vertical-medium cores"),
    *_two("low", "Vl", "cores", _SOLVED, "vertical-low cores"),
    *_two("each", "Each Vm", "% of 1", _SOLVED, "entitlement of each medium core, of one core"),
)
_MACHINE = (
    AnswerColumn("type", "Type"),
    *_two("physical", "Physical", "cores", _MEASURED, "cores of the machine"),
    *_two("logical", "Logical", "cores", _MEASURED, "logical cores that share them"),
    *_two("crowding", "Not Vh per left", "cores", _SOLVED, "logical cores per physical core not used by Vh"),
    *_two("idle", "Idle", "cores", _SOLVED, "of the shared cores, if all want what they used", 2),
)
_USERS = (AnswerColumn("name", "User"), AnswerColumn("type", "Type"))
_SHARES = (
    *_USERS,
    *_two("share", "Share", "", _MEASURED, "SET SHARE"),
    *_three("% of 1", "its part of the CPU time available to guests, of one logical processor", 1, "points"),
)
_GETS = (
    *_USERS,
    AnswerColumn("waited", "Waited", "% of 1", "measured: CPU wait and limit wait of its samples"),
    AnswerColumn("used", "Used", "% of 1", "measured: of one logical processor"),
    *_three("% of 1", "its expected use", 1, "points"),
    *_LIMIT,
)


class SolvedPartitions(Struct):
    """A solved scenario of partitions, by name and type of partition."""

    answer: Answer
    partitions: dict[Pair, dict[str, Value]] = field(default_factory=dict)
    polarity: dict[Pair, dict[str, Value]] = field(default_factory=dict)
    could: dict[Pair, tuple[Value, Value]] = field(default_factory=dict)


def solved(values: dict[str, Any]) -> SolvedPartitions:
    """Solve a scenario, and again for each partition with unlimited demand."""
    result = SolvedPartitions(models.solve("partitions", values))
    rows, polarity = (by_name(result.answer.table(key)) for key in ("partitions", "polarization"))
    for index, (name, pair) in enumerate(partitions.display_names(values).items()):
        result.partitions[pair], result.polarity[pair] = rows[name], polarity[name]
        result.could[pair] = partitions.attainable_share(values, index, name)
    return result


def answer(case: WhatIfCase, *, machine: bool) -> Answer:
    """Return the answer before and after. machine: whether partitions or cores are affected."""
    interval = case.situation
    title = f"Plan for {interval.system}, interval that ended {interval.shown}"
    result = Answer("plan", title, [])
    if case.changes:
        result.tables.append(answer_table("plan", "changes", "Settings", case.changes))
    else:
        result.notes.append("No setting changes anything: before and after are the same")
    before = after = None
    if machine and interval.machine is not None:
        before, after = solved(case.before), solved(case.machine)
        _add_machine(result, case, before, after)
    _add_guests(result, case, before, after)
    result.notes = [*case.notes, *result.notes]
    result.assumptions += case.assumptions
    title = "Which numbers are measured, solved or assumed"
    result.tables.append(answer_table("plan", "kinds", title, list(_kinds(result.tables))))
    return result


def _kinds(tables: Sequence[AnswerTable]) -> Iterator[Row]:
    """Yield rows that list the measured, solved and assumed columns of each table."""
    for table in tables:
        headings: dict[str, list[str]] = {"measured": [], "solved": [], "assumed": []}
        for column in table.columns:
            kind = column.text.partition(": ")[0]
            if kind == _GIVEN:
                headings["measured"].append(f"{column.heading} where not set")
                headings["assumed"].append(f"{column.heading} where set")
            elif kind in headings:
                headings[kind].append(column.heading)
        title = table.title.partition(":")[0]
        yield from (
            (title, kind, ", ".join(_merge_headings(kind_headings)))
            for kind, kind_headings in headings.items()
            if kind_headings
        )


def _merge_headings(headings: Sequence[str]) -> list[str]:
    """Merge `Vh before` and `Vh after` into one heading."""
    names = [heading.removesuffix(" before") for heading in headings]
    both = {name for name in names if f"{name} before" in headings and f"{name} after" in headings}
    return [
        f"{name} before and after" if name in both else heading
        for name, heading in zip(names, headings, strict=True)
        if heading.removesuffix(" after") not in both or heading.endswith(" before")
    ]


def _add_machine(result: Answer, case: WhatIfCase, before: SolvedPartitions, after: SolvedPartitions) -> None:
    """Add tables, figures and notes on partitions and cores."""
    entitled: list[Row] = []
    expected: list[Row] = []
    could: list[Row] = []
    polarity: list[Row] = []
    measured = case.situation.machine
    observed = {} if measured is None else measured.observed
    pairs = partitions.display_names(_before_and_parts(case))
    for name, pair in pairs.items():
        old, new = before.partitions.get(pair, {}), after.partitions.get(pair, {})
        leading: Row = (name, pair[1])
        if pair in case.parts:
            parts = [after.partitions[part] for part in case.parts[pair]]
            new = {key: _sum(parts, key) for key in ("weight", "entitlement", "allocation")}
        weights = (old.get("weight"), new.get("weight"))
        entitled.append((*leading, *weights, *_difference(old, new, "entitlement")))
        expected.append((*leading, observed.get(pair), *_difference(old, new, "allocation")))
        was, would = before.could.get(pair, (None, None)), after.could.get(pair, (None, None))
        could.append((*leading, was[0], would[0], _subtract(would[0], was[0]), was[1], would[1]))
        old, new = before.polarity.get(pair, {}), after.polarity.get(pair, {})
        if "vertical" in (old.get("polarization"), new.get("polarization")):
            columns = ("high", "medium", "low", "medium_pct")
            polarity.append((*leading, *(side.get(key) for key in columns for side in (old, new))))
    of_use = "Expected: the use of each if its demand equals its measured use"
    of_headroom = "Could get: if its demand were unlimited and the others' equaled their measured use"
    result.tables += [
        AnswerTable("entitled", "Entitled: by weights", _ENTITLED, entitled),
        AnswerTable("expected", of_use, _EXPECTED, expected),
        AnswerTable("could", of_headroom, _COULD, could),
    ]
    if polarity:
        result.tables.append(AnswerTable("polarity", "Polarity of logical cores", _POLARITY, polarity))
    result.tables.append(AnswerTable("machine", "Physical cores", _MACHINE, list(_pools(before, after))))
    result.assumptions += [
        assumption
        for assumption in after.answer.assumptions
        if assumption.name not in ("vertical_bands", "run_time_longest")
    ]
    for row in could:
        shown, kind, more = str(row[0]), str(row[1]), row[4]
        if pairs[shown] == (case.situation.own, kind) and more is not None:
            text = f"{shown} could get of {kind}, after less before"
            result.figures.append(AnswerFigure(f"could_{kind.lower()}", _number(more), "cores", text))
    _add_notes(result, case, before, after, expected)


def _before_and_parts(case: WhatIfCase) -> dict[str, Any]:
    """Return the partitions before and their parts, each split one followed by its parts."""
    by_pair = {(entry["name"], entry.get("type", "CP")): entry for entry in case.machine["partition"]}
    entries: list[dict[str, Any]] = []
    for entry in case.before["partition"]:
        parts = case.parts.get((entry["name"], entry.get("type", "CP")), ())
        entries += [entry, *(by_pair[part] for part in parts)]
    return {"partition": entries}


def _pools(before: SolvedPartitions, after: SolvedPartitions) -> Iterator[Row]:
    old, new = (by_name(side.answer.table("machine")) for side in (before, after))
    for kind in old:
        idle = f"idle_{str(kind).lower()}"
        pairs = ((old[kind][key], new[kind][key]) for key in ("physical", "logical", "crowding"))
        values = [value for pair in pairs for value in pair]
        yield (kind, *values, before.answer.figure(idle), after.answer.figure(idle))


def _add_notes(
    result: Answer,
    case: WhatIfCase,
    before: SolvedPartitions,
    after: SolvedPartitions,
    expected: Sequence[Row],
) -> None:
    """Add notes on the machine."""
    measured = case.situation.machine
    if measured is not None:
        result.notes += measured.notes
    changed = [str(row[0]) for row in expected if abs(_number(row[-1])) > _NEGLIGIBLE]
    same = "none" if not changed else f"only the demand of {format_list(changed, 5)}"
    measured_rows = [row for row in expected if row[2] is not None]
    others = [str(row[0]) for row in measured_rows if abs(_number(_subtract(row[3], row[2]))) > _NEGLIGIBLE]
    result.notes.append(
        sentence(
            "Expected before differs from Used: {others}; {more}",
            others=format_list(others, 5),
            more=phrase("solve_partitions"),
        )
        if others
        else "Expected before equals Used for all partitions with known use: each got its demand"
    )
    result.notes.append(
        "A partition's demand is its use: the data does not show more, so Expected never exceeds Used; "
        f"Could get shows the headroom. Of the partitions' Expected, {same} changes"
    )
    if case.parts:
        split_names = ", ".join(name for name, _ in case.parts)
        result.notes.append(
            f"{split_names}: Entitled and Expected after are the sums of its parts, listed below it"
        )
    for note in after.answer.notes:
        result.notes.append(note if note in before.answer.notes else f"With the what-ifs: {note}")
    removed_notes = [note for note in before.answer.notes if note not in after.answer.notes]
    result.notes += [f"Only before the what-ifs: {note}" for note in removed_notes]


def _add_guests(
    result: Answer, case: WhatIfCase, before: SolvedPartitions | None, after: SolvedPartitions | None
) -> None:
    """Add guests of the own partition, on its processors after the what-ifs."""
    interval = case.situation
    if interval.guests is None:
        return
    if not interval.guests.scenario["user"]:
        result.notes.append(f"Guests are not solved: {interval.guests.notes[0]}")
        return
    if any(name == interval.own for name, _ in case.parts):
        result.notes.append(
            f"Guests are not solved: the part of {interval.own} that each guest goes to is unknown"
        )
        return
    old, new = interval.guests.scenario, case.guests
    processors = dict(old["processors"])
    for kind in processors if before is not None and after is not None else ():
        pair = (str(interval.own), kind)
        if before is None or after is None or pair not in before.could:
            continue
        had, would = _number(before.could[pair][0]), _number(after.could[pair][0])
        cores, left = (_number(side.partitions[pair]["cores"]) for side in (before, after))
        # Guests never have more than the logical processors.
        more = min(would - had, left - cores)
        if had < cores - _NEGLIGIBLE:
            result.notes.append(
                f"Guests before are solved with all {cores:g} cores of type {kind} that were online in "
                f"{interval.own}, although it could get only {had:.2f} of them: this hides the benefit of "
                "more weight or physical cores for guests and overstates the cost of fewer logical cores"
            )
        processors[kind] = max(0.0, processors[kind] + more * interval.threads.get(kind, 1))
    new = {**new, "processors": processors}
    rows = [
        (kind, number, processors[kind], processors[kind] - number)
        for kind, number in old["processors"].items()
    ]
    result.tables.append(answer_table("plan", "processors", "Processors for guests", rows))
    first, then = (measured_shares.by_user(models.solve("shares", values)) for values in (old, new))
    shares: list[Row] = []
    gets: list[Row] = []
    for user, before_row in first.items():
        after_row = then[user]
        limits = [_share(values, user[0]) for values in (old, new)]
        shares.append((*user, *limits, *_difference(before_row, after_row, "entitlement")))
        measured = (interval.guests.waited.get(user), interval.guests.observed.get(user))
        got = _difference(before_row, after_row, "allocation")
        gets.append((*user, *measured, *got, before_row["bound_by"], after_row["bound_by"]))
    same_count = sum(abs(_number(_subtract(row[4], row[3]))) < _NEGLIGIBLE for row in gets)
    result.notes.append(
        f"Expected before equals Used for {same_count} of {len(gets)} guests; the others waited, or are "
        "limited by guests that waited"
    )
    more = sum(_number(row[6]) for row in gets)
    text = "Guests should get in total, after less before"
    result.figures.append(AnswerFigure("guests", more, "% of 1", text, 1))
    if more > _NEGLIGIBLE and before is not None:
        result.notes.append(
            f"Guests of {interval.own} that waited would use more than it used, which the Expected of "
            f"{interval.own} does not include"
        )
    shares.sort(key=lambda row: -abs(_number(row[-1])))
    gets.sort(key=lambda row: -abs(_number(row[6])))
    result.tables += [
        AnswerTable("shares", "Guests, entitled: by shares", _SHARES, shares),
        AnswerTable("guests", "Guests, expected use", _GETS, gets),
    ]
    result.notes += interval.guests.notes
    result.notes.append(
        "A guest's demand is its use plus its wait. Where none waited, more processors or "
        "shares change nothing that this data shows"
    )
    if before is not None and interval.own is not None:
        many = ", ".join(f"{number} on each core of type {kind}" for kind, number in interval.threads.items())
        text = (
            f"logical processors of guests ({many or 'one on each core'}) change with the cores that "
            f"{interval.own} could get, up to its logical cores; parked ones stay parked"
        )
        assumed = Assumption("processors_for_guests", "as Could get", "", text, "ours", "zlens")
        result.assumptions.append(assumed)


def _share(values: dict[str, Any], name: str) -> str:
    """Format SET SHARE of a user as CP writes it."""
    user = {user["name"]: user for user in values["user"]}[name]
    words = f"REL {user['relative']}" if "relative" in user else f"ABS {user['absolute']:g}%"
    if user.get("limit", "none") != "none":
        relative = user.get("maximum_relative")
        maximum = f"REL {relative}" if relative is not None else f"ABS {user['maximum_absolute']:g}%"
        words += f", {maximum} LIMIT{user['limit'].upper()}"
    return words


def _difference(old: dict[str, Value], new: dict[str, Value], key: str) -> Row:
    return old.get(key), new.get(key), _subtract(new.get(key), old.get(key))


def _subtract(value: Value, base: Value) -> Value:
    return None if value is None or base is None else _number(value) - _number(base)


def _sum(rows: Sequence[dict[str, Value]], key: str) -> Value:
    present = [row[key] for row in rows if row[key] is not None]
    all_integers = all(isinstance(value, int) for value in present)
    total = sum(map(_number, present))
    return None if not present else int(total) if all_integers else total


def _number(value: Value) -> float:
    return 0.0 if value is None else float(value)
