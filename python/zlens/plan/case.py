"""A measured interval and what is asked of it: the scenarios before, and the ones that what-ifs change."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from zlens.catalog.expressions import literal
from zlens.errors import ScenarioError
from zlens.models import moments
from zlens.models.answer import Assumption, Value
from zlens.models.constants import constant
from zlens.models.partitions import measured as partitions
from zlens.models.partitions.measured import Pair
from zlens.models.scenario import Problem
from zlens.models.shares import measured as shares
from zlens.schema.kinds import Integer, Number
from zlens.schema.wording import say, sentence


@dataclass(frozen=True, slots=True)
class Form:
    """A key that what-ifs take.

    scopes: of what it may be asked: own (the partition the data are of), partition (by name), machine, user
    example: a value to try; value: in words, which there are
    beside: what of the same must be asked with it
    """

    field: str
    scopes: tuple[str, ...]
    text: str
    example: str
    value: str
    beside: str = ""

    def tried(self, key: str, example: str) -> str:
        """How one asks it."""
        words = say("set", what=f"{key}={example}")
        if not self.beside:
            return words
        return sentence(
            "{one} {other}", one=words, other=say("set", what=f"{key.rpartition('.')[0]}.{self.beside}")
        )

    def written(self) -> list[str]:
        """The key as one writes it, for each of what it may be asked of."""
        before = {"partition": "partition.NAME.", "user": "user.NAME."}
        return [before.get(scope, "") + self.field for scope in self.scopes]


@dataclass(frozen=True, slots=True)
class Asked:
    """One setting. name: of the partition or user; kind: type of cores."""

    key: str
    value: str
    form: Form
    name: str | None = None
    kind: str | None = None

    def refused(self, why: str, cure: str, expected: str | None = None) -> ScenarioError:
        """The error that says why it cannot be."""
        return ScenarioError(f"{self.key}={self.value}: {why}", expected=expected, cure=cure)

    def amount(self, allowed: Integer, now: Any = None) -> int:
        """A whole number, or one so much more or less than what is."""
        text = self.value
        if text[:1] in "+-" and text[1:].isdecimal():
            if now is None:
                raise self.refused("nothing is known that it could be added to", "give the number itself")
            after = int(text) + int(now)
            if not allowed.low <= after <= allowed.high:
                raise self.refused(
                    f"it is {now:,} and would be {after:,}", "ask for another", allowed.words()
                )
            return after
        return self.number(text, allowed, allowed.words())

    def number(self, text: str, allowed: Integer, words: str) -> int:
        """A whole number of a value."""
        if not text.strip().isdecimal():
            raise Problem(None).value(self.key, self.value, words)
        return allowed.check(int(text), self.key, Problem(None))

    def decimal(self, allowed: Number) -> float:
        """A number, with a point or without."""
        try:
            value = float(self.value)
        except ValueError:
            raise Problem(None).value(self.key, self.value, allowed.words()) from None
        return allowed.check(value, self.key, Problem(None))


@dataclass(frozen=True, slots=True)
class Situation:
    """What was measured: scenarios of the machine and of the guests, None where the data do not tell them.

    own: the partition that the data are of; threads: logical processors on each core of a type, for guests.
    """

    system: str
    end: dt.datetime
    own: str | None
    machine: partitions.Measured | None
    guests: shares.Measured | None
    threads: dict[str, int]


def situation(session: moments.Asked, system: str, end: dt.datetime) -> Situation:
    """What an interval tells."""
    where = moments.at_end(system, end)

    def rows(table: str) -> bool:
        return bool(session.sql(f'SELECT count(*) FROM "{table}" WHERE {where}').rows[0][0])

    machine = partitions.measured(session, system, end) if rows("partition") else None
    guests = None
    if rows("guest_cpu"):
        guests = shares.measured(session, system, end, hungry_above=constant("hungry_above").default)
    lpar = [
        row[0]
        for row in session.sql(
            f"SELECT lpar FROM system WHERE system = {literal(system)} AND lpar IS NOT NULL"
        ).rows
    ]
    query = f"SELECT cpu_type, max(threads) FROM core WHERE {where} AND threads > 0 GROUP BY cpu_type"
    threads = session.sql(query).rows if guests is not None else []
    return Situation(system, end, str(lpar[0]) if lpar else None, machine, guests, dict(threads))


@dataclass(slots=True)
class Case:
    """The scenarios that what-ifs change, and what was changed.

    before   the scenario of the machine as it was, machine and guests those with what is asked
    changes  rows: what is asked, of what, unit, before, after, difference
    parts    the parts of each partition that was split
    limited  guests whose share was changed
    fields   the field of each --set that changed something
    """

    situation: Situation
    before: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    guests: dict[str, Any] = field(default_factory=dict)
    changes: list[tuple[Value, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    parts: dict[Pair, list[Pair]] = field(default_factory=dict)
    limited: dict[str, Asked] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)

    def changed(self, asked: Asked, what: str, unit: str, before: Value, after: Value) -> None:
        """Keeps what a setting changes; a thing is changed once by each kind of what-if."""
        if any(row[1] == what and self.fields[str(row[0])] == asked.form.field for row in self.changes):
            raise asked.refused(f"the {what} is asked already", "ask one by one: each is a plan of its own")
        self.fields[f"{asked.key}={asked.value}"] = asked.form.field
        difference = None
        if isinstance(before, int | float) and isinstance(after, int | float):
            difference = after - before
        self.changes.append((f"{asked.key}={asked.value}", what, unit or None, before, after, difference))

    def assume(self, one: Assumption) -> None:
        """Says once what the answer rests on."""
        if all(one.name != known.name for known in self.assumptions):
            self.assumptions.append(one)

    def known(self, at: int, **values: Any) -> None:
        """Values of a partition that hold before and after; nothing was changed so far."""
        self.replace(at, **values)
        self.before = self.machine

    def replace(self, at: int, **values: Any) -> None:
        """Other values for a partition."""
        entries = self.machine["partition"]
        one = {**entries[at], **values}
        self.machine = {**self.machine, "partition": [*entries[:at], one, *entries[at + 1 :]]}

    def shown(self, at: int) -> str:
        """How answers name a partition."""
        return list(partitions.shown(self.machine))[at]

    def partitions(self, asked: Asked) -> list[int]:
        """Places of the partition that is asked for: one for each of its types."""
        entries = self.machine["partition"]
        name = asked.name or self.own(asked)
        if all(entry["name"] != name for entry in entries):
            name = name.upper()
        own = [at for at, one in enumerate(entries) if one["name"] == name]
        names = list(dict.fromkeys(entry["name"] for entry in entries))
        if not own:
            split = any(name == whole for whole, _ in self.parts)
            raise asked.refused(
                f"{name} is split already"
                if split
                else f"there is no partition {name} with cores and a weight",
                "ask for one at a time" if split else "name one of them",
                None if split else ", ".join(names),
            )
        found = [at for at in own if asked.kind in (None, entries[at].get("type", "CP"))]
        if not found:
            kinds = ", ".join(entries[at].get("type", "CP") for at in own)
            raise asked.refused(f"{name} has no cores of type {asked.kind}", "name one it has", kinds)
        return found

    def one_partition(self, asked: Asked) -> int:
        """The place of the partition that is asked for, where one type must be meant."""
        found = self.partitions(asked)
        if len(found) > 1:
            entries = self.machine["partition"]
            kinds = [entries[at].get("type", "CP") for at in found]
            name = entries[found[0]]["name"]
            raise asked.refused(
                f"{name} has cores of {len(kinds)} types",
                say("write_set", what=f"partition.{name}.{kinds[0]}.{asked.form.field}={asked.value}"),
                ", ".join(kinds),
            )
        return found[0]

    def one_type(self, asked: Asked) -> str:
        """The type of physical cores that is asked for: where it is not said, that of the own partition."""
        kinds = list(self.machine["processors"])
        if asked.kind in kinds:
            return str(asked.kind)
        own = [
            one.get("type", "CP")
            for one in self.machine["partition"]
            if asked.kind is None and one["name"] == self.situation.own
        ] or kinds
        if asked.kind is not None or len(own) != 1:
            raise asked.refused(
                f"the machine has no cores of type {asked.kind}"
                if asked.kind
                else "of which type is not said",
                say("write_set", what=f"{asked.form.field}.{own[0]}={asked.value}"),
                ", ".join(kinds),
            )
        return str(own[0])

    def own(self, asked: Asked) -> str:
        """The partition that the data are of."""
        names: Sequence[str] = list(dict.fromkeys(one["name"] for one in self.machine["partition"]))
        if self.situation.own in names:
            return str(self.situation.own)
        raise asked.refused(
            f"the data do not tell which partition is that of {self.situation.system}",
            say("write_set", what=f"partition.{names[0]}.{asked.form.field}={asked.value}"),
            ", ".join(names),
        )
