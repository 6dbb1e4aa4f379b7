"""A measured interval and its what-ifs: the scenarios before, and the changed ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.errors import ScenarioError
from zlens.models import interval_choice
from zlens.models.partitions import measurement as partitions
from zlens.models.partitions.measurement import Pair
from zlens.models.scenario_errors import ScenarioErrors
from zlens.models.shares import measurement as shares
from zlens.rendering.answer import Assumption, Value
from zlens.schema.validators import Choice, Integer, Number
from zlens.schema.wording import phrase, sentence

if TYPE_CHECKING:
    from zlens.session.session import CoreSession


class WhatIfKey(Struct, frozen=True):
    """A key of what-ifs.

    scopes: own (the partition that the data is from), partition, machine, user, group (of partitions), class
    example: a value to try; value: description of the values
    beside: setting of the same subject that it requires
    """

    field: str
    scopes: tuple[str, ...]
    text: str
    example: str
    value: str
    beside: str = ""

    def setting(self, key: str, example: str) -> str:
        """Return the text that explains how to set it."""
        words = phrase("set", what=f"{key}={example}")
        if not self.beside:
            return words
        return sentence(
            "{one} {other}", one=words, other=phrase("set", what=f"{key.rpartition('.')[0]}.{self.beside}")
        )

    def full_keys(self) -> list[str]:
        """Return the key as written for each scope."""
        return [
            f"{'' if scope in ('own', 'machine') else f'{scope}.NAME.'}{self.field}" for scope in self.scopes
        ]


class Setting(Struct, frozen=True):
    """One setting. name: partition or user; kind: type of cores."""

    key: str
    value: str
    form: WhatIfKey
    name: str | None = None
    kind: str | None = None

    def setting_error(self, why: str, cure: str, expected: str | None = None) -> ScenarioError:
        """Return the error that states why the setting is invalid."""
        return ScenarioError(f"{self.key}={self.value}: {why}", expected=expected, cure=cure)

    def amount(self, allowed: Integer, current: Any = None) -> int:
        """Parse an integer, absolute or relative (+1, -2) to the current one."""
        text = self.value
        if text[:1] in "+-" and text[1:].isdecimal():
            if current is None:
                raise self.setting_error("the current number is unknown", "use the number itself")
            after = int(text) + int(current)
            if not allowed.low <= after <= allowed.high:
                why = f"it is {current:,} and would become {after:,}"
                raise self.setting_error(why, "use another value", allowed.describe())
            return after
        return self.number(text, allowed, allowed.describe())

    def number(self, text: str, allowed: Integer, words: str) -> int:
        """Parse an integer from a value."""
        if not text.strip().isdecimal():
            raise ScenarioErrors(None).value(self.key, self.value, words)
        return allowed.check(int(text), self.key, ScenarioErrors(None))

    def choice(self, *words: str) -> str:
        """Return the value, one of some words."""
        return Choice(words).check(self.value, self.key, ScenarioErrors(None))

    def decimal(self, allowed: Number) -> float:
        """Parse a number, with or without decimals."""
        return allowed.check(allowed.parse(self.value), self.key, ScenarioErrors(None))


class ClassUse(Struct, frozen=True):
    """CPs that a service class of z/OS used on average in its partition."""

    name: str
    partition: str
    cores: float


class MeasuredInterval(Struct, frozen=True):
    """A measured interval: scenarios of the machine and of the guests, None if the data does not report them.

    shown: the end in the system's local time; own: the partition that the data is from; threads: logical
    processors per core of a type, for guests; classes: use of CPs by service classes.
    """

    system: str
    end: dt.datetime
    shown: str
    own: str | None
    machine: partitions.MeasuredPartitions | None
    guests: shares.MeasuredShares | None
    threads: dict[str, int]
    classes: Sequence[ClassUse] = ()


def situation(session: CoreSession, system: str, end: dt.datetime) -> MeasuredInterval:
    """Return the measured interval of a system with this end."""
    condition = interval_choice.interval_sql(system, end)

    def rows(table: str) -> bool:
        return bool(session.sql(f'SELECT count(*) FROM "{table}" WHERE {condition}').rows[0][0])

    machine = partitions.measured_partitions(session, system, end) if rows("partition") else None
    guests = shares.measured(session, system, end) if rows("guest") else None
    query = f"SELECT cpu_type, max(threads) FROM core WHERE {condition} AND threads > 0 GROUP BY cpu_type"
    threads = session.sql(query).rows if guests is not None else []
    shown = interval_choice.local_time(session, system, end)
    own = partitions.own_partition(session, system)
    return MeasuredInterval(system, end, shown, own, machine, guests, dict(threads))


class WhatIfCase(Struct):
    """The scenarios that what-ifs change, and their changes.

    before   scenario of the machine as measured; machine and guests: those with the what-ifs
    changes  rows: setting, subject, unit, before, after, difference
    parts    parts of each split partition
    limited  guests whose share was changed
    fields   field of each --set that changed something
    """

    situation: MeasuredInterval
    before: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    guests: dict[str, Any] = field(default_factory=dict)
    changes: list[tuple[Value, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    assumptions: list[Assumption] = field(default_factory=list)
    parts: dict[Pair, list[Pair]] = field(default_factory=dict)
    limited: dict[str, Setting] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)

    def record_change(self, setting: Setting, subject: str, unit: str, before: Value, after: Value) -> None:
        """Record what a setting changes; each kind of what-if changes a subject only once."""
        if any(row[1] == subject and self.fields[str(row[0])] == setting.form.field for row in self.changes):
            raise setting.setting_error(f"the {subject} is already changed", "use a separate plan for each")
        shown = f"{setting.key}={setting.value}"
        self.fields[shown] = setting.form.field
        difference = None
        if isinstance(before, int | float) and isinstance(after, int | float):
            difference = after - before
        self.changes.append((shown, subject, unit or None, before, after, difference))

    def assume(self, assumption: Assumption) -> None:
        """Record an assumption of the answer once."""
        if all(assumption.name != earlier.name for earlier in self.assumptions):
            self.assumptions.append(assumption)

    def assume_own(self, name: str, value: Value, unit: str, text: str) -> None:
        """Record an assumption of zlens' own."""
        self.assume(Assumption(name, value, unit, text, "ours", "zlens"))

    def replace(self, at: int, **values: Any) -> None:
        """Set values of a partition."""
        entries = self.machine["partition"]
        entry = {**entries[at], **values}
        self.machine = {**self.machine, "partition": [*entries[:at], entry, *entries[at + 1 :]]}

    def display_name(self, index: int) -> str:
        """Return the name of a partition in answers."""
        return list(partitions.display_names(self.machine))[index]

    def partition_named(self, setting: Setting, name: str) -> int:
        """Return the index of a partition's CPs."""
        return self.partitions(replace(setting, name=name, kind="CP"))[0]

    def partitions(self, setting: Setting) -> list[int]:
        """Return the indices of the requested partition: one for each of its types."""
        entries = self.machine["partition"]
        name = setting.name or self.own_partition(setting)
        if all(entry["name"] != name for entry in entries):
            name = name.upper()
        own_indices = [index for index, entry in enumerate(entries) if entry["name"] == name]
        names = list(dict.fromkeys(entry["name"] for entry in entries))
        if not own_indices:
            if any(name == split_name for split_name, _ in self.parts):
                raise setting.setting_error(f"{name} is already split", "split each only once")
            why = f"there is no partition {name} with cores and a weight"
            raise setting.setting_error(why, "name one of them", ", ".join(names))
        indices = [index for index in own_indices if setting.kind in (None, entries[index].get("type", "CP"))]
        if not indices:
            kinds = ", ".join(entries[index].get("type", "CP") for index in own_indices)
            why = f"{name} has no cores of type {setting.kind}"
            raise setting.setting_error(why, "name one it has", kinds)
        return indices

    def one_partition(self, setting: Setting) -> int:
        """Return the index of the requested partition if it has a single type; raises an error otherwise."""
        indices = self.partitions(setting)
        if len(indices) > 1:
            entries = self.machine["partition"]
            kinds = [entries[index].get("type", "CP") for index in indices]
            name = entries[indices[0]]["name"]
            what = f"partition.{name}.{kinds[0]}.{setting.form.field}={setting.value}"
            cure = phrase("write_set", what=what)
            raise setting.setting_error(f"{name} has cores of {len(kinds)} types", cure, ", ".join(kinds))
        return indices[0]

    def one_type(self, setting: Setting) -> str:
        """Return the requested type of physical cores; by default that of the own partition."""
        kinds = list(self.machine["processors"])
        if setting.kind in kinds:
            return str(setting.kind)
        own = [
            entry.get("type", "CP")
            for entry in self.machine["partition"]
            if setting.kind is None and entry["name"] == self.situation.own
        ] or kinds
        if setting.kind is not None or len(own) != 1:
            why = (
                f"the machine has no cores of type {setting.kind}" if setting.kind else "the type is missing"
            )
            cure = phrase("write_set", what=f"{setting.form.field}.{own[0]}={setting.value}")
            raise setting.setting_error(why, cure, ", ".join(kinds))
        return str(own[0])

    def own_partition(self, setting: Setting) -> str:
        """Return the name of the partition that the data is from."""
        names: Sequence[str] = list(dict.fromkeys(entry["name"] for entry in self.machine["partition"]))
        if self.situation.own in names:
            return str(self.situation.own)
        why = f"the data does not show which partition {self.situation.system} runs in"
        cure = phrase("write_set", what=f"partition.{names[0]}.{setting.form.field}={setting.value}")
        raise setting.setting_error(why, cure, ", ".join(names))
