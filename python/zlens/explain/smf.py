"""`zlens explain` of SMF records: raw tables, fields of sections, columns of counter records."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zlens.catalog import expressions, roles, smf, smf_sections
from zlens.catalog.smf_sections import SmfField, SmfLayout, SmfSection
from zlens.explain.description import Description

_RECORD = re.compile(r"smf ?(\d+)(?:\.(\d+))?")
#: Names of fields begin with the number of their record or subtype, unless a column has a name of its own.
_FIELD = re.compile(r"(?:smf|r)\d|.*_")
_COUNTER = re.compile(r"c\d+_d")


def smf_pages(name: str) -> Iterator[Description]:
    """Yield descriptions of a record type, raw table or field, by its name in lower case."""
    match = _RECORD.fullmatch(name)
    if match is not None:
        record = int(match[1])
        if record in (*smf.counter_record_types(), *smf_sections.by_type()):
            yield describe_record(record)
    section = smf_sections.find(name)
    if section is not None:
        yield describe_table(*section)
    if _FIELD.match(name):
        yield from _fields(name)


def smf_names() -> list[str]:
    """Return the names of the raw tables of SMF records and their fields."""
    names = [smf.layout(record).table for record in smf.counter_record_types()]
    for layout in smf_sections.layouts():
        for section in layout.sections:
            names.append(section.table)
            names += [field.column for field in section.fields]
    return list(dict.fromkeys(names))


def place_lines(table: str, name: str) -> list[str]:
    """Return the position of a field in its section; empty if the table is not that of a section."""
    layout_and_section = smf_sections.find(table)
    if layout_and_section is None:
        return []
    _, section = layout_and_section
    return [_place(section, field) for field in section.fields if field.column == name.lower()]


def summary() -> list[tuple[str, str]]:
    """Return all raw tables of SMF records, with a description."""
    rows = [(smf.layout(record).table, smf.layout(record).text) for record in smf.counter_record_types()]
    for layout in smf_sections.layouts():
        rows += [(section.table, section.title) for section in layout.sections]
    return sorted(rows)


def describe_record(record: int) -> Description:
    """Return the description of a supported record type."""
    if record in smf.counter_record_types():
        counters = smf.layout(record)
        subtypes = [
            f"{number}: {subtype.text}; {subtype.status}" for number, subtype in counters.subtypes.items()
        ]
        columns = [
            f"{column.name}: {column.text}"
            for column in smf.columns(record)
            if not _COUNTER.fullmatch(column.name)
        ]
        return Description(
            f"{counters.table}: {counters.text}",
            [
                ("Subtypes", subtypes),
                ("Columns", [*columns, "c0_d and so on: counts, by counter number"]),
                ("Example", f"SELECT * FROM {counters.table} LIMIT 10"),
            ],
        )
    layouts = smf_sections.of_type(record)
    title = layouts[0].title if len(layouts) == 1 else smf.SmfTypes.load().names[record]
    return Description(
        f"SMF {record}: {title}",
        [
            (
                "Subtypes",
                [
                    f"{number}: {text}" if len(layouts) == 1 else f"{number}: {layout.title}: {text}"
                    for layout in layouts
                    for number, text in layout.subtypes.items()
                ],
            ),
            ("Tables", [f"{each.table}: {each.title}" for layout in layouts for each in layout.sections]),
            ("Not read", [layout.unread for layout in layouts if layout.unread]),
            ("Join", "sections of one record have system, file and offset in common"),
        ],
    )


def describe_table(layout: SmfLayout, section: SmfSection) -> Description:
    """Return the description of the raw table of a section."""
    owner = {} if section.owner is None else {section.owner.column: f"; {section.owner.status}"}
    keys = [
        f"{key.name}: {key.text}{owner.get(key.name, '')}"
        for key in smf_sections.key_columns(layout, section)
    ]
    location = "the header" if section.triplet is None else f"triplet at {section.triplet}"
    location += f" of section {section.within}" if section.within else ""
    length = (
        "each with a length of its own, in its first byte"
        if section.length_byte
        else f"{section.length} bytes at the level described"
    )
    position = f"{section.structure}, {location}, {length}"
    return Description(
        f"{section.table}: {section.title}",
        [
            ("Record", f"SMF {layout.record}, {layout.title}"),
            ("Section", position.removeprefix(", ")),
            ("Status", section.status),
            ("Source", section.source),
            ("Note", section.note),
            ("Keys", keys),
            ("Fields", [_line(section, field) for field in section.fields]),
            ("Example", f"SELECT * FROM {section.table} LIMIT 10"),
        ],
    )


def _line(section: SmfSection, field: SmfField) -> str:
    unit = f" [{field.unit}]" if field.unit else ""
    bits = "".join(f"; {field.column}_{name.lower()}: {text}" for name, (_, text) in field.bits.items())
    status = f" ({field.status})" if field.status != section.status else ""
    place = f"{field.offset:>4} {field.length or '*':>3} {field.kind:<15}"
    return f"{place} {field.column}: {field.text}{unit}{bits}{status}"


def _place(section: SmfSection, field: SmfField) -> str:
    structure = section.structure or section.table
    length = {0: "the rest", 1: "1 byte"}.get(field.length, f"{field.length} bytes")
    return f"{field.kind}, {length} at {field.offset} of {structure}"


def _fields(name: str) -> Iterator[Description]:
    listed = (
        (section, field)
        for each in smf_sections.layouts()
        for section in each.sections
        for field in section.fields
    )
    for section, field in listed:
        bit = next((b for b in field.bits if f"{field.column}_{b.lower()}" == name), None)
        if field.column != name and bit is None:
            continue
        text = field.text if bit is None else f"{field.bits[bit][1]} (bit {field.bits[bit][0]})"
        when = [f"{section.field(other).column} = {value}" for other, value in field.when.items()]
        yield Description(
            f"{section.table}.{name}: {text}",
            [
                ("Where", _place(section, field)),
                ("Only if", when),
                ("Type", smf_sections.KINDS[field.kind] if bit is None else "bool"),
                ("Unit", field.unit),
                ("Status", field.status),
                ("Source", field.source),
                ("Roles", list(_roles(section.table, field.column)) or "none"),
            ],
        )


def _roles(table: str, column: str) -> Iterator[str]:
    """Yield the roles that use a column."""
    for entity in roles.entities():
        for origin in roles.entity(entity).origins:
            for role, rule in origin.roles.items():
                columns = {field.lower() for field in rule.fields}
                columns |= {*expressions.names(rule.expression)} if rule.expression else set()
                if origin.table == table and column in columns:
                    yield f"{entity}.{role}"
