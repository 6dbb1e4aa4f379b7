"""What a report lacks for an input: records that are not in it, and roles that no field gives.

A column without a value is followed back: from the report to the measure it shows, from the measure's formula
to the roles it needs, from each role to the raw tables and fields that give it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zlens.catalog import layouts, roles
from zlens.explain.lineage import known
from zlens.reports.definition import FOLDER, Column, load, names
from zlens.reports.entries import Entry, entry, expect, values_of, with_values
from zlens.reports.rows import Session

#: Names of fields in zlens' own pack where no public one is known.
_OURS = re.compile(r"_ZL[A-Z0-9]+$")
_RECORD = re.compile(r"d(\d{1,2})r(\d{1,5})(?:_|$)")


@dataclass(frozen=True, slots=True)
class Input:
    """What there is: raw tables with their columns, and the records, decoded or not."""

    tables: Mapping[str, frozenset[str]]
    records: frozenset[str]


@dataclass(frozen=True, slots=True)
class Missing:
    """A role that columns need and have not, and why."""

    role: str
    #: Records that would have it and are not in the input.
    records: tuple[str, ...]
    #: Why records that are in the input do not give it; '' where there is none.
    why: str


@dataclass(slots=True)
class Lacks:
    """A report for an input: how many columns have values, and what the others lack."""

    entry: Entry
    columns: list[str] = field(default_factory=list)
    missing: dict[str, Missing] = field(default_factory=dict)

    @property
    def records(self) -> list[str]:
        """Records that are not in the input and would give values."""
        return sorted({record for each in self.missing.values() for record in each.records}, key=_order)

    @property
    def roles(self) -> list[str]:
        """Roles that records of the input should give and do not."""
        return sorted(name for name, each in self.missing.items() if each.why)


def lacks(session: Session, given: Input, folder: Path | None = None) -> list[Lacks]:
    """Every report (of a folder), by group and name, and what it lacks for an input."""
    found = []
    here = folder or FOLDER
    definitions = [load(name, here) for name in names(here)]
    expect(definitions, session)
    for definition in definitions:
        filled = with_values(definition, session)
        one = Lacks(entry(definition, values_of(definition, session, filled)))
        for table in definition.tables:
            for column in table.columns:
                if (table.key, column.key) not in filled:
                    one.columns.append(column.name)
                    one.missing.update(_missing(column, given))
            if not one.missing and not filled:
                # Its columns say nothing; then what its question reads counts.
                for entity in known().entities(table.query):
                    one.missing.update(_entity(entity, given))
        found.append(one)
    return sorted(found, key=lambda one: (one.entry.group, one.entry.name))


def _entity(entity: str, given: Input) -> dict[str, Missing]:
    """An entity of which no record is there."""
    if any(origin.table in given.tables for origin in roles.entity(entity).origins):
        return {}
    missing = _role(entity, "", given)
    return {entity: replace(missing, role=entity)} if missing else {}


def _missing(column: Column, given: Input) -> dict[str, Missing]:
    found = {}
    for measure in column.measures:
        table, _, name = measure.partition(".")
        for entity, role in known().roles(table, name):
            missing = _role(entity, role, given)
            if missing is not None:
                found[missing.role] = missing
    return found


def _role(entity: str, role: str, given: Input) -> Missing | None:
    """What keeps a role from having values; None where nothing known does."""
    # Of what z/VM does not write, it cannot be said that it should have been recorded.
    origins = [origin for origin in roles.entity(entity).origins if _record(origin.table)]
    bound = [origin for origin in origins if role in origin.roles] or origins
    reasons = []
    for origin in roles.entity(entity).origins:
        if origin.table not in given.tables:
            record = _record(origin.table)
            if record in given.records and origin in bound:
                reasons.append(f"of {record} no layout is known{_page(origin.table)}")
            continue
        how = origin.roles.get(role)
        if how is None:
            reasons.append(f"no field of {_called(origin.table)} is known for it{_page(origin.table)}")
            continue
        lacking = _fields(how, given.tables[origin.table])
        if not lacking:
            return None
        reasons.append(_why(origin.table, lacking))
    absent = [record for origin in bound if (record := _record(origin.table)) and record not in given.records]
    if not reasons and not absent:
        return None
    return Missing(f"{entity}.{role}", tuple(dict.fromkeys(absent)), "; ".join(dict.fromkeys(reasons)))


def _why(table: str, lacking: list[str]) -> str:
    called, page = _called(table), _page(table)
    public = [name for name in lacking if not _OURS.search(name)]
    if public:
        return f"the layout used for {called} has no {' or '.join(public)}{page}"
    # The names are zlens' own: it is known that the field is there, not what it is called.
    return f"the field of {called} has no public name{page}"


def _page(table: str) -> str:
    record = _record(table)
    head = layouts.head(record) if record else None
    return f" (page {head.dsect})" if head else ""


def _fields(how: Mapping[str, Any], columns: frozenset[str]) -> list[str]:
    """The fields of which a role needs one and the table has none; [] where it has what is needed."""
    suffix = "_d" if how.get("take") == "difference" else ""
    named = roles.fields(how)
    if not named or any(name.lower() + suffix in columns or name == "seconds" for name in named):
        return []
    other = how.get("else")
    if other is not None and not _fields(other, columns):
        return []
    undifferenced = [name for name in named if name.lower() in columns]
    return [f"difference of {name}" for name in undifferenced] or named


def _record(table: str) -> str | None:
    match = _RECORD.match(table)
    return layouts.record_id(int(match[1]), int(match[2])) if match else None


def _called(table: str) -> str:
    return _record(table) or table


def _order(record: str) -> tuple[int, int]:
    return layouts.record_key(record)


def text(found: list[Lacks]) -> str:
    """The reports, what each lacks, and once for all why."""
    lines = ["Reports of this input"]
    width = max((len(one.entry.name) for one in found), default=0)
    for one in found:
        state = {"none": "no data", "partial": "partial"}.get(one.entry.state)
        counted = f"{one.entry.available} of {one.entry.known} columns"
        absent = one.entry.known - one.entry.columns
        told = [part for part in (state, f"{absent} have no public source" if absent else "") if part]
        remark = f" ({', '.join(told)})" if told else ""
        lines.append(f"  {one.entry.name:<{width}}  {counted}{remark}")
        what = [", ".join(part) for part in (one.records, one.roles) if part]
        if what:
            lines += _wrapped(f"lacks {'; '.join(what)}", " " * (width + 4))
        elif one.columns:
            lines += _wrapped(f"zlens explain {one.entry.name} says what its columns need", " " * (width + 4))
    records = sorted({record for one in found for record in one.records}, key=_order)
    if records:
        lines += ["", "Records that are not in the input"]
    for record in records:
        head = layouts.head(record)
        lines.append(f"  {record:<7} {head.title if head else 'not known to the catalog'}")
    missing = {name: one.missing[name] for one in found for name in one.roles}
    if missing:
        lines += ["", "Roles that no field gives"]
    for name, each in sorted(missing.items()):
        lines.append(f"  {name}")
        lines += _wrapped(each.why, "      ")
    if missing:
        lines += ["A record page imported may have their fields; roles.toml binds those of other names."]
    return "\n".join(lines) + "\n"


def _wrapped(words: str, head: str) -> list[str]:
    return textwrap.wrap(
        words,
        100,
        initial_indent=head,
        subsequent_indent=head,
        break_long_words=False,
        break_on_hyphens=False,
    )
