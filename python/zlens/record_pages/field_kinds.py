"""Kinds of fields on a record page: from the catalog, from the user, and from the page's words.

Fields are identified by name, with the record's prefix and then without it; a kind known to the catalog
applies at any offset. Other fields are unknown unless a rule of `page_words.toml` applies, and an unknown
field is never differenced.
"""

import re
from typing import Annotated, ClassVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from zlens.catalog import layouts
from zlens.catalog.layouts import MonitorField, RecordFile
from zlens.record_pages.table import Bit, FieldRow
from zlens.schema.structs import FactFile, FactTable, SourcedTable, doc

_WORDS = re.compile(r"[a-z0-9]+")
#: Attributes of a field that are copied from the catalog.
_CARRIED = ("kind", "kind_status", "unit", "direction", "note")


_Phrase = Annotated[str, Meta(pattern="^[a-z0-9]+( [a-z0-9]+)*$", title="words in lower case")]


class KindRule(FactTable, frozen=True, rename={"phrases": "any", "excluded": "not"}):
    """Words of a description that determine the kind of a field."""

    name: Annotated[str, doc("its name")]
    kind: Annotated[str, doc("the kind")]
    phrases: Annotated[tuple[_Phrase, ...], doc("one of them is there")]
    excluded: Annotated[tuple[_Phrase, ...], doc("none of them is there")]
    types: Annotated[tuple[str, ...], doc("types of the field")]
    lengths: Annotated[tuple[int, ...], doc("lengths of the field; empty: any")]
    unit: Annotated[str | None, doc("the unit")] = None
    direction: Annotated[str | None, doc("the direction")] = None

    def __post_init__(self) -> None:
        if self.kind not in layouts.KINDS or not set(self.types) <= set(layouts.TYPES):
            raise ValueError(f"rule {self.name}: {self.kind} for {self.types} is impossible")
        if self.direction not in (None, *layouts.DIRECTIONS):
            raise ValueError(f"rule {self.name}: direction {self.direction}")

    def matches(self, words: str) -> bool:
        """Return whether it applies to normalized words."""
        return any(f" {phrase} " in words for phrase in self.phrases) and not any(
            f" {phrase} " in words for phrase in self.excluded
        )


class RuleFile(FactFile, SourcedTable, frozen=True):
    """Rules for fields unknown to the catalog."""

    path: ClassVar = "zvm/page_words.toml"
    note: Annotated[str, doc("a remark")]
    rule: tuple[KindRule, ...]


class KnownRecord(Struct, frozen=True):
    """Facts of the built-in catalog about one record, including its synthetic layouts.

    A field known only by name is the same field if a record page states its offset.
    """

    file: RecordFile | None
    #: Fields that identify its subject: those of z/VM, then those of the synthetic layout if others.
    subjects: tuple[tuple[str, ...], ...]
    #: By name in upper case, because some pages have names in mixed case.
    by_name: dict[str, MonitorField]
    by_short: dict[str, MonitorField]

    def field(self, name: str) -> MonitorField | None:
        """Return the known field with that name, with the record's prefix or without it."""
        return self.by_name.get(name.upper()) or self.by_short.get(short(name.upper()))


def short(name: str) -> str:
    """Return a field's name without the prefix of its record."""
    return name.split("_", 1)[-1]


def known_record(record: str) -> KnownRecord:
    """Return the fields of a record known to the catalog, from the newest layout that states their kind."""
    path = layouts.MONITOR_FOLDER / layouts.file_name(record)
    if not path.is_file():
        return KnownRecord(None, (), {}, {})
    file = layouts.read(path, layouts.BUILTIN)
    subjects = [file.subject]
    if (layouts.SIM_FOLDER / path.name).is_file():
        sim_file = layouts.read(layouts.SIM_FOLDER / path.name, layouts.SIM)
        subjects.append(sim_file.subject)
        file = replace(
            file,
            subject_kind=file.subject_kind or sim_file.subject_kind,
            reset_on=file.reset_on or sim_file.reset_on,
            layouts=(*sim_file.layouts, *file.layouts),
        )
    by_name: dict[str, MonitorField] = {}
    for layout in reversed(file.layouts):
        for fields in (layout.fields, *(section.fields for section in layout.sections)):
            for field in fields:
                known = by_name.get(field.name)
                if not field.reserved and (known is None or known.kind == "unknown"):
                    by_name[field.name] = field
    by_short = {short(name): field for name, field in reversed(by_name.items())}
    return KnownRecord(file, tuple(filter(None, dict.fromkeys(subjects))), by_name, by_short)


def normalize(text: str) -> str:
    """Return words in lower case with a blank around each, so that phrases match complete words."""
    return f" {' '.join(_WORDS.findall(text.lower()))} "


def match_rule(text: str, type_: str, length: int) -> KindRule | None:
    """Return the rule that a description matches; None if no rule matches or two disagree."""
    words = normalize(text)
    matching = [
        rule
        for rule in RuleFile.load().rule
        if type_ in rule.types and (not rule.lengths or length in rule.lengths) and rule.matches(words)
    ]
    return matching[0] if matching and len({rule.kind for rule in matching}) == 1 else None


def field(row: FieldRow, knowledge: KnownRecord) -> tuple[MonitorField, bool]:
    """Convert a row to a field; returns it and whether the catalog knows its name."""
    # The content of a reserved area is unknown, so it is bytes whatever type the page states.
    kind, text = "" if row.name == "*" else row.type, row.text or None
    result = MonitorField(row.name, row.offset, row.length, kind, text=text, count=row.count, first=row.first)
    if row.name == "*":
        return result, True
    known_field = knowledge.field(row.name)
    if known_field is not None:
        carried = {name: getattr(known_field, name) for name in _CARRIED}
        result = replace(result, **carried, text=result.text or known_field.text)
    if result.kind == "unknown":
        result = _from_page(result, row)
    return _with_bits(result, row.bits), known_field is not None


def _from_page(result: MonitorField, row: FieldRow) -> MonitorField:
    """Return a field of unknown kind with the kind that the page itself shows."""
    if any(bit.name != "*" for bit in row.bits):
        return replace(result, kind="flags", kind_status="stated", note="by the named bits on the page")
    rule = match_rule(row.text, row.type, row.length)
    if rule is None:
        return result
    return replace(
        result,
        kind=rule.kind,
        kind_status="stated",
        unit=rule.unit or result.unit,
        direction=rule.direction,
        note=f"by the text of the page: rule `{rule.name}`",
    )


def _with_bits(result: MonitorField, bits: list[Bit]) -> MonitorField:
    names = [f"{bit.byte}:{bit.value:02X} {bit.name}" for bit in bits if bit.name != "*"]
    if not names:
        return result
    listed = "bits (byte:value): " + ", ".join(names)
    return replace(result, note=f"{result.note}; {listed}" if result.note else listed)
