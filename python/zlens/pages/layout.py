"""From a record page to a record file of a pack: places from the page, kinds from what is known.

What the page says of places counts; the catalog adds what a field is, what identifies a subject and
where the entries of a section stand, all found by name, so that nothing is bound to our offsets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from zlens.catalog import layouts
from zlens.catalog.layouts import DIFFERENCED, HEADER_LENGTH, Field, Head, Layout, RecordFile, Section
from zlens.catalog.plans import SAMPLED_CLASSES
from zlens.errors import CatalogError
from zlens.pages.check import confirmed, findings
from zlens.pages.kinds import KnownRecord, known, plain, short
from zlens.pages.kinds import field as make_field
from zlens.pages.table import MAX_RECORD, Page, Row, Structure

#: More than this of one kind of disagreement on a page is summed up.
MAX_FINDINGS = 40
_MAX_WORDS = 2_000


@dataclass(slots=True)
class Built:
    """A page as a record file, what is new on it, and what did not agree."""

    record: str
    file: RecordFile
    new: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    @property
    def fields(self) -> int:
        """How many fields the page names."""
        return sum(
            sum(1 for f in fields if not f.reserved)
            for made in self.file.layouts
            for fields in (made.fields, *(section.fields for section in made.sections))
        )


def build(page: Page, release: str) -> Built:
    """The layout that a page gives for a release."""
    found = findings(page)
    domain, number = _key(page, found)
    record = layouts.record_id(domain, number)
    knowledge = known(record)
    old = knowledge.file.head if knowledge.file else None
    head = Head(
        record=record,
        domain=domain,
        number=number,
        dsect=page.record,
        title=page.title or (old.title if old else page.record),
        kind=page.kind or (old.kind if old else "event"),
        lengths={},
        variable=False,
        note=None,
        pack=release,
    )
    built = Built(record, RecordFile(head, (), None, (), ()), findings=found)
    if not page.null:
        _table(page, release, knowledge, built)
    if page.release and page.release != release:
        built.findings.append(f"the page is for z/VM {page.release}; imported for {release} as asked")
    if len(found) > MAX_FINDINGS:
        built.findings = [*found[:MAX_FINDINGS], f"and {len(found) - MAX_FINDINGS:,} more"]
    return built


@cache
def _numbers() -> dict[str, tuple[int, int]]:
    """Domain and number of every record that the catalog knows, by its page's name."""
    found = {}
    for path in sorted(layouts.monitor_root().glob("d??r*.toml")):
        head = layouts.read(path).head
        found[head.dsect] = (head.domain, head.number)
    return found


def _key(page: Page, found: list[str]) -> tuple[int, int]:
    """Domain and number: the catalog's where it knows the page's name, else the prolog's."""
    here = None if page.domain is None or page.number is None else (page.domain, page.number)
    there = _numbers().get(page.record)
    if there is None and here is None:
        raise CatalogError(
            f"the prolog of {page.record} does not say which domain and record it is",
            file=page.file,
            expected="lines such as `Domain 0 - System Domain` and `Record 2 - ...`",
            cure="save the whole page again, prolog included",
        )
    if there is None:
        assert here is not None
        taken = next((name for name, key in _numbers().items() if key == here), None)
        if taken is not None:
            raise CatalogError(
                f"the prolog of {page.record} says domain {here[0]} record {here[1]}, which is {taken}",
                file=page.file,
                cure="save the page again; if it really says so, it cannot be imported",
            )
        return here
    if here is not None and here != there:
        found.append(
            f"the prolog says domain {here[0]} record {here[1]}, but {page.record} is domain {there[0]} "
            f"record {there[1]}, which is used"
        )
    return there


def _table(page: Page, release: str, knowledge: KnownRecord, built: Built) -> None:
    main, *others = page.structures
    names = frozenset(short(structure.name) for structure in others)
    length, rows = _usable(main, page, built, HEADER_LENGTH, names)
    fields = _fields(rows, knowledge, built)
    old = knowledge.file
    all_end = max((row.end for row in rows), default=HEADER_LENGTH)
    holes = _holes(rows, HEADER_LENGTH)
    built.findings += [f"bytes {begin} to {end} stand in no row of the table" for begin, end in holes]
    variable = main.variable or bool(others) or any(f.length == 0 for f in fields)
    lookup = _lookup(fields)
    subject = _named(old.subject, lookup) if old else ()
    certain = _subject_is_certain(old, subject, built.file.head)
    sampled = built.file.head.kind in SAMPLED_CLASSES
    if sampled and not certain and any(f.differenced for f in fields):
        fields = _undifferenced(fields)
        built.findings.append(
            "its counters are not differenced: say in user.toml what `subject` the record has"
        )
    layout = Layout(
        record=built.record,
        domain=built.file.head.domain,
        number=built.file.head.number,
        dsect=page.record,
        title=built.file.head.title,
        kind=built.file.head.kind,
        release=release,
        length=length,
        variable=variable,
        complete=page.ended and not page.rejected and not holes and (variable or all_end >= length),
        source=f"record page {page.record} of z/VM {page.release or release}, imported",
        status="unverified" if built.findings else "verified",
        note=None,
        pack=release,
        fields=fields,
        subject=subject,
        subject_kind=old.subject_kind if old else None,
        reset_on=_named(old.reset_on, lookup) if old else (),
        sections=_sections(others, page, lookup, knowledge, built, fields),
    )
    head = replace(built.file.head, lengths={release: length}, variable=variable)
    built.file = RecordFile(head, subject, layout.subject_kind, layout.reset_on, (layout,))


def _holes(rows: list[Row], begin: int) -> list[tuple[int, int]]:
    """Bytes between rows that no row describes, not even as reserved: lines are missing on the page."""
    holes = []
    for row in sorted(rows, key=lambda row: row.offset):
        if row.offset > begin:
            holes.append((begin, row.offset))
        begin = max(begin, row.end)
    return holes


def _subject_is_certain(old: RecordFile | None, subject: tuple[str, ...], head: Head) -> bool:
    """Whether it is known whose record this is: rows of two subjects must not be differenced."""
    if old is not None and old.subject:
        return len(subject) == len(old.subject)
    return (old is not None and old.subject_kind == "system") or "(global)" in head.title.lower()


def _undifferenced(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    note = "not differenced: what the record is about is not known; say `subject` in user.toml"
    return tuple(
        replace(f, kind_status="unknown", note=f"{f.note}; {note}" if f.note else note)
        if f.kind in DIFFERENCED and f.kind_status != "unknown"
        else f
        for f in fields
    )


def _usable(
    structure: Structure, page: Page, built: Built, begin: int, sections: frozenset[str] = frozenset()
) -> tuple[int, list[Row]]:
    """The length of a structure and those of its rows that are fields within it."""
    body = [row for row in structure.rows if row.offset >= begin]
    last = max((row.offset for row in body if row.length), default=-1)
    length = structure.length
    over = [row for row in body if row.end > length and not structure.variable]
    sure = [row for row in over if row.name != "*" and confirmed(page, row)]
    if sure and len(sure) == sum(row.name != "*" for row in over):
        # Table and cross reference agree on the fields: it is the length that is wrong.
        length = max(row.end for row in sure)
        built.findings.append(f"{structure.name}: taken as {length} bytes long, as its fields are")
        over = [row for row in over if row.end > length]
    if over:
        built.findings.append(
            f"{structure.name}: {len(over)} fields run past its {length} bytes and are left out, "
            f"the first being {over[0].name} at {over[0].offset}"
        )
        page.rejected += len(over)
    beyond = {id(row) for row in over}
    rows: list[Row] = []
    seen: set[str] = set()
    for row in body:
        if id(row) in beyond or row.offset > MAX_RECORD or (row.name != "*" and row.name in seen):
            continue
        if row.length == 0 and not _open_end(row, length, last, sections):
            continue
        seen.add(row.name)
        rows.append(row)
    return length, rows


def _open_end(row: Row, length: int, last: int, sections: frozenset[str]) -> bool:
    """Whether a row of no length is text up to the record's end; the others are marks and group labels."""
    return (
        row.name != "*"
        and row.offset == length
        and row.offset > last
        and not row.name.endswith("_END")
        and row.name != "MRHDR"
        and short(row.name) not in sections
    )


def _fields(rows: list[Row], knowledge: KnownRecord, built: Built) -> tuple[Field, ...]:
    made: list[Field] = []
    covered = bytearray(2 * MAX_RECORD)
    for row in rows:
        row.text = row.text[:_MAX_WORDS]
        f, is_known = make_field(row, knowledge)
        if any(covered[row.offset : row.end]):
            # The first row at a place names it, what comes after overlays it.
            f = replace(f, overlay=True)
        covered[row.offset : row.end] = b"\1" * (row.end - row.offset)
        made.append(f)
        if not is_known:
            built.new.append(f.name)
        if f.kind == "unknown" and not f.reserved:
            built.unknown.append(f.name)
    return tuple(made)


def _lookup(fields: tuple[Field, ...]) -> dict[str, str]:
    """Names as the page has them, by what the catalog may call them: in upper case, without the prefix."""
    named = [f.name for f in fields if not f.reserved]
    return {name.upper(): name for name in named} | {short(name.upper()): name for name in reversed(named)}


def _named(names: tuple[str, ...], lookup: dict[str, str]) -> tuple[str, ...]:
    found = [lookup.get(name.upper()) or lookup.get(short(name.upper())) for name in names]
    return tuple(name for name in found if name is not None)


def _sections(
    structures: list[Structure],
    page: Page,
    lookup: dict[str, str],
    knowledge: KnownRecord,
    built: Built,
    fields: tuple[Field, ...],
) -> tuple[Section, ...]:
    made: dict[str, Section] = {}
    for structure in structures:
        section = _section(structure, page, lookup, knowledge, built)
        if section.name.lower() in made:
            built.findings.append(
                f"section {section.name} (line {structure.line}) is defined twice; left out"
            )
        made.setdefault(section.name.lower(), section)
    for section in carried(lookup, knowledge, fields):
        made.setdefault(section.name.lower(), section)
    return tuple(made.values())


def carried(lookup: dict[str, str], knowledge: KnownRecord, fields: tuple[Field, ...]) -> Iterator[Section]:
    """What follows from fields of the record, wherever they stand, and is no table on any page."""

    def there(name: str) -> str:
        found = lookup.get(name) or lookup.get(short(name))
        if found is None:
            raise KeyError(name)
        return found

    def place(value: str | int) -> str | int:
        return there(value) if isinstance(value, str) else value

    names: set[str] = set()
    for section in [s for one in (knowledge.file.layouts if knowledge.file else ()) for s in one.sections]:
        outer = section.within
        if not section.derived or (outer is not None and outer not in names):
            continue
        try:
            made = replace(
                section,
                offset=section.offset if outer else place(section.offset),
                stride=section.stride if outer else place(section.stride),
                count=section.count if outer or section.count is None else place(section.count),
                bound=there(section.bound) if section.bound else None,
                match=(there(section.match[0]), section.match[1]) if section.match else None,
                arrays=tuple((name, there(array)) for name, array in section.arrays),
                join=section.join.renamed(there) if section.join else None,
            ).placed(fields)
        except KeyError:
            continue
        if made is not None:
            names.add(made.name)
            yield made


def _section(
    structure: Structure, page: Page, lookup: dict[str, str], knowledge: KnownRecord, built: Built
) -> Section:
    length, rows = _usable(structure, page, built, 0)
    fields = _fields([row for row in rows if row.length], knowledge, built)
    old, before = _old_section(structure, fields, knowledge)
    name = old.name if old else short(structure.name)
    places = {} if old is None else {"offset": old.offset, "stride": old.stride, "count": old.count}
    for key, place in places.items():
        if isinstance(place, str):
            places[key] = next(iter(_named((place,), lookup)), None)
    # Numbers were said of other lengths: of entries that follow the fixed part, and each other.
    if old is not None and old.offset == before:
        places["offset"] = page.structures[0].length
    if old is not None and old.stride == old.length:
        places["stride"] = length
    placed = old is not None and places["offset"] is not None and places["stride"] is not None
    if old is not None and isinstance(old.count, str) and places["count"] is None:
        placed = False
    note = None
    if not placed:
        places = {"offset": 0, "stride": max(length, 1), "count": 0}
        note = "nothing says where the entries stand; say offset, stride and count in user.toml"
        built.findings.append(f"section {name}: {note}{_likely(page, lookup)}")
        fields = _undifferenced(fields)
    here = _lookup(fields)
    offset, stride = places["offset"], places["stride"]
    assert offset is not None
    assert stride is not None
    return Section(
        name=name,
        title=old.title if old else structure.text[:120] or f"entry of {structure.name}",
        length=length,
        offset=offset,
        stride=stride,
        count=places["count"],
        fields=fields,
        subject=_named(old.subject, here) if old else (),
        subject_kind=old.subject_kind if old else None,
        source=f"record page {page.record} of z/VM {page.release or built.file.head.pack}, imported",
        status="unverified" if built.findings else "verified",
        note=note,
    )


#: Words with which pages describe the fields that tell of entries: one of each list.
_PARTS = ("entry", "entries", "section", "sections", "element", "elements", "array")
_TELLING = {
    "offset": (("offset", "displacement"),),
    "stride": (("length", "size"), _PARTS),
    "count": (("number", "count"), _PARTS),
}


def _likely(page: Page, lookup: dict[str, str]) -> str:
    """Fields of the fixed part whose words are those of one that tells of entries: to be looked at."""
    found = []
    for key, lists in _TELLING.items():
        names = [
            row.name
            for row in page.structures[0].rows
            if row.name in lookup.values()
            and row.type in ("unsigned", "signed")
            and 1 <= row.length <= 4
            and all(any(f" {word} " in plain(row.text) for word in words) for words in lists)
        ]
        if names:
            found.append(f"{key} {' or '.join(names[:3])}")
    return f" (perhaps {', '.join(found)})" if found else ""


def _old_section(
    structure: Structure, fields: tuple[Field, ...], knowledge: KnownRecord
) -> tuple[Section | None, int]:
    """The section that the catalog knows under this name, or with most of these fields, and how long the
    fixed part is that it belongs to."""
    if knowledge.file is None:
        return None, 0
    names = {short(f.name.upper()) for f in fields if not f.reserved}
    best: Section | None = None
    before = 0
    most = len(names) // 2
    for layout in knowledge.file.layouts:
        for section in layout.sections:
            if section.derived:
                continue
            if section.name in (structure.name, short(structure.name)):
                return section, layout.length
            shared = len(names & {short(f.name.upper()) for f in section.fields})
            if shared > most:
                best, before, most = section, layout.length, shared
    return best, before
