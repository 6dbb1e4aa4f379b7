"""Checks of the layouts of SMF records that are lists of sections."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import smf_sections
from zlens.catalog.layouts import STATUS
from zlens.catalog.raw_columns import FIXED
from zlens.catalog.smf_sections import KINDS, SmfField, SmfLayout, SmfSection
from zlens.errors import CatalogError

#: Allowed lengths by kind of field; other kinds may have any.
_LENGTHS: dict[str, tuple[int, ...]] = {
    "unsigned": (1, 2, 3, 4, 8),
    "signed": (1, 2, 4, 8),
    "flags": (1, 2, 4),
    **dict.fromkeys(("tod", "tod_local", "duration", "offset"), (8,)),
    "hfp": (4, 8),
    **dict.fromkeys(("date", "packed_time", "packed_duration", "hundredths"), (4,)),
}
_TIMES_OF_DAY = ("packed_time", "hundredths")


def check() -> list[str]:
    """Return catalog issues of the files, one sentence each."""
    problems: list[str] = []
    tables: dict[str, str] = {}
    for name in smf_sections.names():
        here = f"smf/{name}.toml"
        try:
            layout = smf_sections.layout(name)
            problems += [f"{here}: {problem}" for problem in _layout(layout)]
            smf_sections.plan(layout)
        except (CatalogError, KeyError, TypeError, ValueError) as error:
            problems.append(f"{here}: {error}")
            continue
        for section in layout.sections:
            if tables.setdefault(section.table, name) != name:
                problems.append(f"{here}: table {section.table} is also one of type {tables[section.table]}")
    return problems


def _layout(layout: SmfLayout) -> Iterator[str]:
    names = [section.name for section in layout.sections]
    for name in {name for name in names if names.count(name) > 1}:
        yield f"section {name} is defined twice"
    triplets = [(section.within, section.triplet) for section in layout.sections]
    if len(set(triplets)) < len(triplets):
        yield "two sections have the same triplet"
    for section in layout.sections:
        for problem in _section(layout, section):
            yield f"section {section.name}: {problem}"
    yield from _writer(layout)


def _writer(layout: SmfLayout) -> Iterator[str]:
    facts = layout.system
    paths = [facts.utc_offset, facts.release, facts.sysplex, facts.machine_type, *facts.model, facts.serial]
    paths += [facts.lpar_number, *layout.identity.values()]
    paths += [facts.lpar.number, facts.lpar.name] if facts.lpar is not None else []
    paths += [facts.threads.type] if facts.threads is not None else []
    for section, _, field in (path.partition(".") for path in paths if path):
        layout.section(section).field(field)
    if facts.threads is not None and layout.section(facts.threads.type.partition(".")[0]).owner is None:
        yield "threads are sections without an owner"
    if not set(facts.written_at_end) <= set(layout.subtypes):
        yield "written_at_end has a subtype that it does not have"


def _section(layout: SmfLayout, section: SmfSection) -> Iterator[str]:
    if section.status not in STATUS:
        yield f"status is {section.status!r}"
    seen = dict.fromkeys(FIXED, "every table")
    known_fields = [field for field in section.fields if field.kind in KINDS]
    columns = [column for field in known_fields for column in smf_sections.field_columns(field)]
    for column in (*smf_sections.key_columns(layout, section), *columns):
        if not column.text:
            yield f"column {column.name} has no text"
        if column.name in seen:
            yield f"column {column.name} is defined twice"
        seen[column.name] = section.name
    # Fields that need different values of another may share bytes.
    taken: dict[tuple[int, tuple[tuple[str, int], ...]], str] = {}
    for field in sorted(section.fields, key=lambda field: bool(field.when)):
        yield from (f"field {field.name}: {problem}" for problem in _field(section, field))
        when = tuple(field.when.items())
        for byte in range(field.offset, field.offset + field.length):
            other = taken.get((byte, ()), "") or taken.setdefault((byte, when), field.name)
            if other != field.name:
                yield f"fields {other} and {field.name} overlap"
                break
    if section.within and (section.triplet is None or layout.section(section.within) is section):
        yield "it has no triplet in another section"
    if section.length_byte and (section.within or layout.broken is not None):
        yield "sections with lengths of their own are nested or split"
    if section.owner is not None:
        owner = layout.section(section.owner.section)
        if not section.owner.first and section.within != owner.name:
            yield "its owner neither has its triplet nor names its first section"
        for name in filter(None, (section.owner.first, section.owner.number)):
            if owner.field(name).kind not in ("unsigned", "signed"):
                yield f"field {name} of its owner is not a number"


def _field(section: SmfSection, field: SmfField) -> Iterator[str]:
    if field.kind not in KINDS:
        yield f"kind is {field.kind!r}"
        return
    is_rest = section.length_byte and field.kind == "text" and not field.length
    if field.length not in _LENGTHS.get(field.kind, (field.length,)) or (field.length < 1 and not is_rest):
        yield f"{field.kind} cannot have {field.length} bytes"
    if field.offset + field.length > section.length:
        yield f"ends at {field.offset + field.length}, its section at {section.length}"
    if field.status not in STATUS:
        yield f"status is {field.status!r}"
    if bool(field.date) != (field.kind in _TIMES_OF_DAY):
        yield "a time of day needs the field of its date; other kinds do not"
    elif field.date and section.field(field.date).kind != "date":
        yield f"{field.date} is not a date"
    if field.after and section.field(field.after).kind != field.kind:
        yield f"{field.after} is not a {field.kind}"
    if any(section.field(name).kind not in ("unsigned", "flags") for name in field.when):
        yield "its condition is not on a number"
    if len(field.when) > 1:
        yield "it has several conditions"
    bits = [bit for bit, _ in field.bits.values()]
    if bits and field.kind != "flags":
        yield "only flags have bits"
    if any(not 0 <= bit < 8 * field.length for bit in bits) or len(set(bits)) < len(bits):
        yield "its bits do not name each bit of its bytes once"
