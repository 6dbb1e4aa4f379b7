"""Converts a record page to a record file of a pack: offsets from the page, kinds from known facts.

The page determines offsets; the catalog adds the kinds of fields, the fields that identify a subject and the
location of section entries, all by name, so that nothing depends on zlens' own offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import layouts
from zlens.catalog.layouts import MonitorField, MonitorSection, RecordFile, RecordInfo, RecordLayout
from zlens.catalog.plans import SAMPLED_CLASSES
from zlens.errors import CatalogError
from zlens.record_pages.consistency import confirmed, inconsistencies
from zlens.record_pages.field_kinds import KnownRecord, known_record, normalize, short
from zlens.record_pages.field_kinds import field as make_field
from zlens.record_pages.table import MAX_RECORD, FieldRow, RecordPage, Structure

#: Maximum number of inconsistencies listed for a page.
MAX_FINDINGS = 40
_MAX_WORDS = 2_000


class BuiltLayout(Struct):
    """A page as a record file, with its new fields, those of unknown kind, and its inconsistencies."""

    page: RecordPage
    file: RecordFile
    new: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def record(self) -> str:
        return self.file.head.record

    @property
    def release(self) -> str:
        return self.file.head.pack

    @property
    def null(self) -> bool:
        """Whether the page states that the record is no longer produced."""
        return self.page.null

    @property
    def length(self) -> int:
        """Length of the record in bytes; 0 if it is no longer produced."""
        return max((layout.length for layout in self.file.layouts), default=0)

    @property
    def fields(self) -> int:
        """Number of fields that the page names."""
        return sum(
            sum(1 for page_field in fields if not page_field.reserved)
            for layout in self.file.layouts
            for fields in (layout.fields, *(section.fields for section in layout.sections))
        )


def build(page: RecordPage, release: str) -> BuiltLayout:
    """Return the layout that a page defines for a release."""
    problems = inconsistencies(page)
    domain, number = _key(page, problems)
    record = layouts.record_id(domain, number)
    knowledge = known_record(record)
    known_head = knowledge.file.head if knowledge.file else None
    head = RecordInfo(
        record=record,
        domain=domain,
        number=number,
        dsect=page.record,
        title=page.title or (known_head.title if known_head else page.record),
        kind=page.kind or (known_head.kind if known_head else "event"),
        pack=release,
    )
    built = BuiltLayout(page, RecordFile(head, (), None, (), ()), findings=problems)
    if not page.null:
        _table(knowledge, built)
    if page.release and page.release != release:
        built.findings.append(f"the page is for z/VM {page.release}; imported for {release} as requested")
    if len(problems) > MAX_FINDINGS:
        built.findings = [*problems[:MAX_FINDINGS], f"and {len(problems) - MAX_FINDINGS:,} more"]
    return built


@cache
def _numbers() -> dict[str, tuple[int, int]]:
    """Return domain and number of every record in the catalog, by the name of its page."""
    keys = {}
    for path in sorted(layouts.MONITOR_FOLDER.glob("d??r*.toml")):
        head = layouts.read(path).head
        keys[head.dsect] = (head.domain, head.number)
    return keys


def _key(page: RecordPage, problems: list[str]) -> tuple[int, int]:
    """Return domain and number: from the catalog if it knows the page's name, otherwise from the prolog."""
    from_prolog = None if page.domain is None or page.number is None else (page.domain, page.number)
    from_catalog = _numbers().get(page.record)
    if from_catalog is None and from_prolog is None:
        raise CatalogError(
            f"the prolog of {page.record} does not state its domain and record number",
            file=page.file,
            expected="lines such as `Domain 0 - System Domain` and `Record 2 - ...`",
            cure="save the complete page again, prolog included",
        )
    if from_catalog is None:
        assert from_prolog is not None
        owner = next((name for name, key in _numbers().items() if key == from_prolog), None)
        if owner is not None:
            raise CatalogError(
                f"the prolog of {page.record} says domain {from_prolog[0]} record {from_prolog[1]}, "
                f"which is {owner}",
                file=page.file,
                cure="save the page again; if its content is the same, it cannot be imported",
            )
        return from_prolog
    if from_prolog is not None and from_prolog != from_catalog:
        problems.append(
            f"the prolog says domain {from_prolog[0]} record {from_prolog[1]}, but {page.record} is "
            f"domain {from_catalog[0]} record {from_catalog[1]}, which is used"
        )
    return from_catalog


def _table(knowledge: KnownRecord, built: BuiltLayout) -> None:
    page, release = built.page, built.release
    main, *others = page.structures
    names = frozenset(short(structure.name) for structure in others)
    length, rows = _usable_rows(main, built, layouts.HEADER_LENGTH, names)
    fields = _fields(rows, knowledge, built)
    known_file = knowledge.file
    all_end = max((row.end for row in rows), default=layouts.HEADER_LENGTH)
    gaps = _uncovered_bytes(rows, layouts.HEADER_LENGTH)
    built.findings += [f"bytes {first} to {end} are in no row of the table" for first, end in gaps]
    variable = main.variable or bool(others) or any(page_field.length == 0 for page_field in fields)
    lookup = _lookup(fields)
    matches = [(names, _match_names(names, lookup)) for names in knowledge.subjects]
    identified = [found for names, found in matches if len(found) == len(names)]
    subject = identified[0] if identified else matches[0][1] if matches else ()
    # Rows of two subjects must not be differenced.
    is_global = "(global)" in built.file.head.title.lower()
    of_system = is_global or (known_file is not None and known_file.subject_kind == "system")
    certain = bool(identified) if matches else of_system
    sampled = built.file.head.kind in SAMPLED_CLASSES
    if sampled and not certain and any(page_field.has_difference for page_field in fields):
        fields = _without_differences(fields)
        built.findings.append("its counters are not differenced: set the record's `subject` in user.toml")
    of_record = {
        name: getattr(built.file.head, name)
        for name in ("record", "domain", "number", "dsect", "title", "kind", "pack")
    }
    layout = RecordLayout(
        **of_record,
        release=release,
        length=length,
        variable=variable,
        complete=page.ended and not page.rejected and not gaps and (variable or all_end >= length),
        source=f"record page {page.record} of z/VM {page.release or release}, imported",
        status="unverified" if built.findings else "verified",
        fields=fields,
        subject=subject,
        subject_kind=known_file.subject_kind if known_file else None,
        reset_on=_match_names(known_file.reset_on, lookup) if known_file else (),
        sections=_sections(others, lookup, knowledge, built, fields),
    )
    head = replace(built.file.head, lengths={release: length}, variable=variable)
    built.file = RecordFile(head, subject, layout.subject_kind, layout.reset_on, (layout,))


def _uncovered_bytes(rows: list[FieldRow], start: int) -> list[tuple[int, int]]:
    """Return the uncovered bytes between rows, not even reserved: lines are missing on the page."""
    gaps = []
    for row in sorted(rows, key=lambda row: row.offset):
        if row.offset > start:
            gaps.append((start, row.offset))
        start = max(start, row.end)
    return gaps


def _without_differences(fields: tuple[MonitorField, ...]) -> tuple[MonitorField, ...]:
    note = "not differenced: the record's subject is unknown; set `subject` in user.toml"
    return tuple(
        replace(one, kind_status="unknown", note=f"{one.note}; {note}" if one.note else note)
        if one.kind in layouts.DIFFERENCED and one.kind_status != "unknown"
        else one
        for one in fields
    )


def _usable_rows(
    structure: Structure, built: BuiltLayout, start_offset: int, sections: frozenset[str] = frozenset()
) -> tuple[int, list[FieldRow]]:
    """Return the length of a structure, and its rows that are fields within it."""
    body = [row for row in structure.rows if row.offset >= start_offset]
    last = max((row.offset for row in body if row.length), default=-1)
    length = structure.length
    overlong = [row for row in body if row.end > length and not structure.variable]
    confirmed_rows = [row for row in overlong if row.name != "*" and confirmed(built.page, row)]
    if confirmed_rows and len(confirmed_rows) == sum(row.name != "*" for row in overlong):
        # Table and cross reference agree on the fields, so the length is wrong.
        length = max(row.end for row in confirmed_rows)
        message = f"{structure.name}: assumed to be {length} bytes long, the length of its fields"
        built.findings.append(message)
        overlong = [row for row in overlong if row.end > length]
    if overlong:
        built.findings.append(
            f"{structure.name}: {len(overlong)} fields run past its {length} bytes and are left out, "
            f"the first being {overlong[0].name} at {overlong[0].offset}"
        )
        built.page.rejected += len(overlong)
    beyond = {id(row) for row in overlong}
    rows: list[FieldRow] = []
    seen: set[str] = set()
    for row in body:
        if id(row) in beyond or row.offset > MAX_RECORD or (row.name != "*" and row.name in seen):
            continue
        if row.length == 0 and not _open_end(row, length, last, sections):
            continue
        seen.add(row.name)
        rows.append(row)
    return length, rows


def _open_end(row: FieldRow, length: int, last: int, sections: frozenset[str]) -> bool:
    """Return whether a row without length is text up to the record's end; others are marks and labels."""
    return (
        row.name != "*"
        and row.offset == length
        and row.offset > last
        and not row.name.endswith("_END")
        and row.name != "MRHDR"
        and short(row.name) not in sections
    )


def _fields(rows: list[FieldRow], knowledge: KnownRecord, built: BuiltLayout) -> tuple[MonitorField, ...]:
    result: list[MonitorField] = []
    covered = bytearray(2 * MAX_RECORD)
    for row in rows:
        row.text = row.text[:_MAX_WORDS]
        result_field, is_known = make_field(row, knowledge)
        if any(covered[row.offset : row.end]):
            # The first row at an offset names it; later ones overlay it.
            result_field = replace(result_field, overlay=True)
        covered[row.offset : row.end] = b"\1" * (row.end - row.offset)
        result.append(result_field)
        if not is_known:
            built.new.append(result_field.name)
        if result_field.kind == "unknown" and not result_field.reserved:
            built.unknown.append(result_field.name)
    return tuple(result)


def _lookup(fields: tuple[MonitorField, ...]) -> dict[str, str]:
    """Return the names on the page by possible catalog names: in upper case, with or without the prefix."""
    names = [page_field.name for page_field in fields if not page_field.reserved]
    return {name.upper(): name for name in names} | {short(name.upper()): name for name in reversed(names)}


def _match_names(names: tuple[str, ...], lookup: dict[str, str]) -> tuple[str, ...]:
    matches = [lookup.get(name.upper()) or lookup.get(short(name.upper())) for name in names]
    return tuple(name for name in matches if name is not None)


def _sections(
    structures: list[Structure],
    lookup: dict[str, str],
    knowledge: KnownRecord,
    built: BuiltLayout,
    fields: tuple[MonitorField, ...],
) -> tuple[MonitorSection, ...]:
    sections: dict[str, MonitorSection] = {}
    for structure in structures:
        section = _section(structure, lookup, knowledge, built)
        if section.name.lower() in sections:
            finding = f"section {section.name} (line {structure.line}) is defined twice; left out"
            built.findings.append(finding)
        sections.setdefault(section.name.lower(), section)
    for section in carried_sections(lookup, knowledge, fields):
        sections.setdefault(section.name.lower(), section)
    return tuple(sections.values())


def carried_sections(
    lookup: dict[str, str], knowledge: KnownRecord, fields: tuple[MonitorField, ...]
) -> Iterator[MonitorSection]:
    """Yield sections that follow from fields of the record at any offset and are not tables on a page."""

    def require(name: str) -> str:
        field_name = lookup.get(name) or lookup.get(short(name))
        if field_name is None:
            raise KeyError(name)
        return field_name

    def place(value: str | int) -> str | int:
        return require(value) if isinstance(value, str) else value

    names: set[str] = set()
    known_layouts = knowledge.file.layouts if knowledge.file else ()
    for section in (section for layout in known_layouts for section in layout.sections):
        outer = section.within
        if not section.derived or (outer is not None and outer not in names):
            continue
        try:
            placed_section = replace(
                section,
                offset=section.offset if outer else place(section.offset),
                stride=section.stride if outer else place(section.stride),
                count=section.count if outer or section.count is None else place(section.count),
                bound=require(section.bound) if section.bound else None,
                match=(require(section.match[0]), section.match[1]) if section.match else None,
                arrays=tuple((name, require(array)) for name, array in section.arrays),
                join=section.join.renamed(require) if section.join else None,
            ).placed(fields)
        except KeyError:
            continue
        if placed_section is not None:
            names.add(placed_section.name)
            yield placed_section


def _section(
    structure: Structure, lookup: dict[str, str], knowledge: KnownRecord, built: BuiltLayout
) -> MonitorSection:
    page = built.page
    length, rows = _usable_rows(structure, built, 0)
    fields = _fields([row for row in rows if row.length], knowledge, built)
    known_section, fixed_length = _old_section(structure, fields, knowledge)
    name = known_section.name if known_section else short(structure.name)
    locators = None
    if known_section is not None:
        # Numbers apply to other lengths, if entries follow the fixed part and each other.
        if known_section.offset == fixed_length:
            known_section = replace(known_section, offset=page.structures[0].length)
        if known_section.stride == known_section.length:
            known_section = replace(known_section, stride=length)
        locators = _locators(known_section, lookup)
    note = None
    if locators is None:
        locators = 0, max(length, 1), 0
        note = "the offset of the entries is unknown; set offset, stride and count in user.toml"
        built.findings.append(f"section {name}: {note}{_likely_locators(page, lookup)}")
        fields = _without_differences(fields)
    entry_lookup = _lookup(fields)
    offset, stride, count = locators
    return MonitorSection(
        name=name,
        title=known_section.title if known_section else structure.text[:120] or f"entry of {structure.name}",
        length=length,
        offset=offset,
        stride=stride,
        count=count,
        fields=fields,
        subject=_match_names(known_section.subject, entry_lookup) if known_section else (),
        subject_kind=known_section.subject_kind if known_section else None,
        source=f"record page {page.record} of z/VM {page.release or built.release}, imported",
        status="unverified" if built.findings else "verified",
        note=note,
    )


def _locators(
    section: MonitorSection, lookup: dict[str, str]
) -> tuple[str | int, str | int, str | int | None] | None:
    """Return offset, stride and count of a section's entries; None if a field of them is not on the page."""
    places: list[str | int | None] = []
    for place in (section.offset, section.stride, section.count):
        found = _match_names((place,), lookup) if isinstance(place, str) else (place,)
        if not found:
            return None
        places.append(found[0])
    offset, stride, count = places
    return None if offset is None or stride is None else (offset, stride, count)


#: Words with which pages describe fields that locate entries: one of each list.
_PARTS = ("entry", "entries", "section", "sections", "element", "elements", "array")
_TELLING = {
    "offset": (("offset", "displacement"),),
    "stride": (("length", "size"), _PARTS),
    "count": (("number", "count"), _PARTS),
}


def _likely_locators(page: RecordPage, lookup: dict[str, str]) -> str:
    """Return fields of the fixed part whose words suggest that they locate entries."""
    candidates = []
    for key, lists in _TELLING.items():
        names = [
            row.name
            for row in page.structures[0].rows
            if row.name in lookup.values()
            and row.type in ("unsigned", "signed")
            and 1 <= row.length <= 4
            and all(any(f" {word} " in normalize(row.text) for word in words) for words in lists)
        ]
        if names:
            candidates.append(f"{key} {' or '.join(names[:3])}")
    return f" (perhaps {', '.join(candidates)})" if candidates else ""


def _old_section(
    structure: Structure, fields: tuple[MonitorField, ...], knowledge: KnownRecord
) -> tuple[MonitorSection | None, int]:
    """Return the catalog's section with this name or with most of these fields, and its fixed length."""
    if knowledge.file is None:
        return None, 0
    names = {short(page_field.name.upper()) for page_field in fields if not page_field.reserved}
    best: MonitorSection | None = None
    fixed_length = 0
    max_shared = len(names) // 2
    for layout in knowledge.file.layouts:
        for section in layout.sections:
            if section.derived:
                continue
            if section.name in (structure.name, short(structure.name)):
                return section, layout.length
            shared = len(names & {short(page_field.name.upper()) for page_field in section.fields})
            if shared > max_shared:
                best, fixed_length, max_shared = section, layout.length, shared
    return best, fixed_length
