"""The kinds of fields on a record page: what the catalog knows, what the user says, what the words say.

A field whose kind the catalog knows keeps it wherever the field stands on the page; the name decides,
with the record's prefix and then without it. Another field is unknown unless a rule of
`page_words.toml` holds, and an unknown field is never differenced.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from zlens.catalog.layouts import (
    BUILTIN,
    DIRECTIONS,
    KINDS,
    SIM,
    TYPES,
    Field,
    RecordFile,
    file_name,
    monitor_root,
    read,
    sim_root,
)
from zlens.errors import CatalogError
from zlens.pages.table import Bit, Row
from zlens.schema import document
from zlens.schema.facts import FACTS

_WORDS = re.compile(r"[a-z0-9]+")
#: What of a field the catalog's knowledge is carried over.
_CARRIED = ("kind", "kind_status", "unit", "direction", "note")


@dataclass(frozen=True, slots=True)
class Rule:
    """Words that leave one reading of what a field is."""

    name: str
    kind: str
    phrases: tuple[str, ...]
    excluded: tuple[str, ...]
    types: tuple[str, ...]
    lengths: tuple[int, ...]
    unit: str | None
    direction: str | None


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """What the built-in catalog knows of one record, our own pack included: a field of which it was known
    only that there is one is the same field where a page shows its place."""

    file: RecordFile | None
    #: By names in upper case: some pages have letters of both.
    by_name: dict[str, Field]
    by_short: dict[str, Field]

    def field(self, name: str) -> Field | None:
        """The known field of that name, with the record's prefix or without it."""
        return self.by_name.get(name.upper()) or self.by_short.get(short(name.upper()))


def short(name: str) -> str:
    """A field's name without the prefix of its record."""
    return name.split("_", 1)[-1]


def known(record: str) -> KnownRecord:
    """What the built-in catalog knows of the fields of a record: the newest layout that says what it is."""
    path = monitor_root() / file_name(record)
    if not path.is_file():
        return KnownRecord(None, {}, {})
    file = read(path, BUILTIN)
    if (sim_root() / path.name).is_file():
        own = read(sim_root() / path.name, SIM)
        file = replace(
            file,
            subject=file.subject or own.subject,
            subject_kind=file.subject_kind or own.subject_kind,
            reset_on=file.reset_on or own.reset_on,
            layouts=(*own.layouts, *file.layouts),
        )
    by_name: dict[str, Field] = {}
    for layout in reversed(file.layouts):
        for fields in (layout.fields, *(section.fields for section in layout.sections)):
            for field in fields:
                if not field.reserved and (
                    field.name not in by_name or by_name[field.name].kind == "unknown"
                ):
                    by_name[field.name] = field
    return KnownRecord(file, by_name, {short(name): field for name, field in reversed(by_name.items())})


@cache
def rules() -> tuple[Rule, ...]:
    """The rules of the catalog, read once."""
    path = FACTS / "zvm" / "page_words.toml"
    data = document.facts(path)
    found = []
    for item in data["rule"]:
        rule = Rule(
            name=item["name"],
            kind=item["kind"],
            phrases=tuple(plain(phrase) for phrase in item["any"]),
            excluded=tuple(plain(phrase) for phrase in item["not"]),
            types=tuple(item["types"]),
            lengths=tuple(item["lengths"]),
            unit=item.get("unit"),
            direction=item.get("direction"),
        )
        if rule.kind not in KINDS or not set(rule.types) <= set(TYPES):
            raise CatalogError(f"rule {rule.name}: {rule.kind} for {rule.types} cannot be", file=str(path))
        if rule.direction is not None and rule.direction not in DIRECTIONS:
            raise CatalogError(f"rule {rule.name}: direction {rule.direction}", file=str(path))
        found.append(rule)
    return tuple(found)


def plain(text: str) -> str:
    """Words in lower case with a blank around each, so that a phrase is found as whole words."""
    return f" {' '.join(_WORDS.findall(text.lower()))} "


def by_words(text: str, type_: str, length: int) -> Rule | None:
    """The rule that the words of a description meet, or None where none does or two disagree."""
    said = plain(text)
    held = [
        rule
        for rule in rules()
        if type_ in rule.types
        and (not rule.lengths or length in rule.lengths)
        and any(phrase in said for phrase in rule.phrases)
        and not any(phrase in said for phrase in rule.excluded)
    ]
    return held[0] if held and len({rule.kind for rule in held}) == 1 else None


def field(row: Row, knowledge: KnownRecord) -> tuple[Field, bool]:
    """A row as a field, and whether the catalog knows it by name."""
    if row.name == "*":
        # What a reserved area holds is not known: it is bytes, whatever type the page gives it.
        reserved = Field("*", row.offset, row.length, text=row.text or None, count=row.count, first=row.first)
        return reserved, True
    made = Field(
        name=row.name,
        offset=row.offset,
        length=row.length,
        type=row.type,
        text=row.text or None,
        count=row.count,
        first=row.first,
    )
    old = knowledge.field(row.name)
    if old is not None:
        carried = {name: getattr(old, name) for name in _CARRIED}
        made = replace(made, **carried, text=made.text or old.text)
    if made.kind == "unknown":
        made = _from_page(made, row)
    return _with_bits(made, row.bits), old is not None


def _from_page(made: Field, row: Row) -> Field:
    """What the page itself says of a field whose kind is not known."""
    if any(bit.name != "*" for bit in row.bits):
        return replace(made, kind="flags", kind_status="stated", note="by the bits that the page names")
    rule = by_words(row.text, row.type, row.length)
    if rule is None:
        return made
    return replace(
        made,
        kind=rule.kind,
        kind_status="stated",
        unit=rule.unit or made.unit,
        direction=rule.direction,
        note=f"by the page's words: rule `{rule.name}`",
    )


def _with_bits(made: Field, bits: list[Bit]) -> Field:
    names = [f"{bit.byte}:{bit.value:02X} {bit.name}" for bit in bits if bit.name != "*"]
    if not names:
        return made
    listed = "bits (byte:value): " + ", ".join(names)
    return replace(made, note=f"{made.note}; {listed}" if made.note else listed)
