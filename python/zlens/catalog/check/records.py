"""Checks the record layouts of the catalog and of the user's packs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from zlens.catalog import compared, cpumf, machines, metrics, resets, roles, user_roles
from zlens.catalog import layouts as catalog
from zlens.catalog.check import cpumf as check_cpumf
from zlens.catalog.check import sections as check_sections
from zlens.catalog.check import smf as check_smf
from zlens.catalog.columns import FIXED, field_parts
from zlens.catalog.layouts import (
    BUILTIN,
    CLASSES,
    DIRECTIONS,
    ENCODINGS,
    HEADER_LENGTH,
    KIND_STATUS,
    KINDS,
    SIM,
    STATUS,
    TYPES,
    UNITS,
    Field,
    Layout,
    RecordFile,
    Section,
)
from zlens.errors import CatalogError

_PAGE = re.compile(r"MR[A-Z0-9]{3,8}")
_FIELD = re.compile(r"[A-Za-z$#@][A-Za-z0-9_$#@]*")
_SECTION = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RELEASE = re.compile(r"\d+\.\d+")
_TABLE = re.compile(r"d(\d{1,2})r(\d{1,5})(?:_|$)")
#: A record never crosses a 4 KB frame.
_MAX_RECORD = 4096
_NUMBERS = ("counter", "timer", "sampled", "gauge")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong in a catalog file: where, what, and what to do."""

    file: str
    line: int | None
    what: str
    cure: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.what}; {self.cure}"


def check(root: Path | None = None) -> list[Finding]:
    """Everything wrong in all record files, built in and in packs, and in what refers to them."""
    found: list[Finding] = []
    for record in catalog.records(root):
        for pack, path in catalog.files(record, root):
            found += check_file(path, pack)
    for record in catalog.sim_records():
        found += check_sim(catalog.sim_root() / catalog.file_name(record))
    found += _evidence(root)
    return found


def everything(root: Path | None = None) -> list[str]:
    """Everything wrong in the catalog, a sentence each: records, roles and measures."""
    found = [str(finding) for finding in check(root)]
    found += user_roles.check() if root is None else []
    found += roles.check()
    found += check_cpumf.check()
    found += check_smf.check()
    found += check_sections.check()
    found += machines.check()
    found += _differences(root)
    found += compared.check()
    for name in metrics.tables():
        try:
            metrics.table(name)
        except CatalogError as error:
            found.append(str(error))
    return found


def summary(root: Path | None = None) -> str:
    """How much there is to check."""
    known = [layout for record in catalog.records(root) for layout in catalog.layouts(record, root)]
    fields = sum(1 for x in known for f in (*x.fields, *_entry_fields(x)) if not f.reserved)
    packs = len(catalog.packs(root))
    rest = f"{packs} packs, {len(roles.entities())} roles, {len(metrics.tables())} measures"
    rest = f"{rest}, {len(catalog.sim_records())} records of {SIM}"
    return f"{len(catalog.records(root))} records with {len(known)} layouts of {fields:,} fields, {rest}"


def check_file(path: Path, pack: str = BUILTIN) -> list[Finding]:
    """What is wrong in one record file."""
    try:
        file = catalog.read(path, pack)
    except CatalogError as error:
        return [
            Finding(
                str(path), None, error.message, error.cure or f"expected {error.expected or 'another form'}"
            )
        ]
    lines = _Lines(path)
    return [Finding(str(path), lines.of(name), what, cure) for name, what, cure in _file(file, path)]


def check_sim(path: Path) -> list[Finding]:
    """What is wrong in a record file of our own pack, and where real layouts say otherwise."""
    found = check_file(path, SIM)
    if not found:
        lines = _Lines(path)
        found = [Finding(str(path), lines.of(name), what, cure) for name, what, cure in _sim(path)]
    return found


def _sim(path: Path) -> _Found:
    file = catalog.read(path, SIM)
    head = file.head
    beside = catalog.monitor_root() / path.name
    if not beside.is_file():
        yield None, f"no real layout file describes {head.record}", "describe the record in monitor/ first"
        return
    real = catalog.read(beside)
    for what in ("dsect", "title", "kind"):
        if getattr(head, what) != getattr(real.head, what):
            yield (
                None,
                f"its {what} is not that of monitor/{path.name}",
                f"write {getattr(real.head, what)!r}",
            )
    if len(file.layouts) != 1:
        yield None, f"has {len(file.layouts)} layouts", "give one, of release zlens-sim"
    kinds = {f.name: f.kind for x in real.layouts for f in x.fields if f.kind != "unknown"}
    for layout in file.layouts:
        if layout.status != "constructed":
            yield None, f"the status is {layout.status!r}", 'write "constructed": the places are our own'
        for field in layout.fields:
            if field.kind not in ("unknown", kinds.get(field.name, field.kind)):
                yield (
                    field.name,
                    f"{field.name} is a {kinds[field.name]} in monitor/{path.name}",
                    "write that",
                )


#: The name a line is looked up by, what is wrong, what to do.
_Found = Iterator[tuple[str | None, str, str]]


class _Lines:
    """Finds the line of a name; the file is read only when something was found."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text: list[str] | None = None

    def of(self, name: str | None) -> int | None:
        if name is None:
            return None
        if self._text is None:
            self._text = self._path.read_text(encoding="utf-8").splitlines()
        wanted = f'name = "{name}"'
        return next((i for i, line in enumerate(self._text, 1) if wanted in line), None)


def _file(file: RecordFile, path: Path) -> _Found:
    head = file.head
    if path.name != catalog.file_name(head.record):
        yield None, f"holds {head.record}", f"name it {catalog.file_name(head.record)}"
    if not _PAGE.fullmatch(head.dsect):
        yield None, f"dsect is {head.dsect!r}", "give the name of the page, such as MRSYTPRP"
    if head.kind not in CLASSES:
        yield None, f"kind of the record is {head.kind!r}", f"use one of {', '.join(CLASSES)}"
    if not head.title:
        yield None, "the record has no title", "give the title of the page"
    for release, length in head.lengths.items():
        if not _RELEASE.fullmatch(release):
            yield None, f"lengths has the release {release!r}", "write releases as 7.3"
        if not HEADER_LENGTH <= length <= _MAX_RECORD:
            yield None, f"the length of release {release} is {length}", "give the length on the page"
    seen: set[str] = set()
    for layout in file.layouts:
        if layout.release in seen and not layout.callevel:
            yield (
                None,
                f"there are two layouts of {layout.release}",
                "keep one, or tell them apart by callevel",
            )
        seen.add(layout.release)
        published = head.lengths.get(layout.release)
        if published is not None and published != layout.length and not layout.variable:
            what = f"the layout of {layout.release} has {layout.length} bytes, the page {published}"
            yield None, what, "correct one of them"
        yield from _layout(layout)
    names = {field.name for layout in file.layouts for field in layout.fields}
    for name in (*file.subject, *file.reset_on):
        if file.layouts and name not in names:
            yield None, f"no layout has the field {name} of subject or reset_on", "name a field of the record"
    yield from _same_kinds(file)


def _same_kinds(file: RecordFile) -> _Found:
    """A field is the same thing in every release."""
    kinds: dict[str, str] = {}
    for layout in file.layouts:
        for field in layout.fields:
            if field.reserved or field.kind == "unknown":
                continue
            if kinds.setdefault(field.name, field.kind) != field.kind:
                both = f"a {kinds[field.name]} in one release and a {field.kind} in {layout.release}"
                what = f"{field.name} is {both}"
                yield field.name, what, "decide which"


def _layout(layout: Layout) -> _Found:
    where = f"layout of {layout.release}"
    if not HEADER_LENGTH <= layout.length <= _MAX_RECORD:
        yield None, f"{where} has {layout.length} bytes", f"a record has {HEADER_LENGTH} to {_MAX_RECORD}"
    if (layout.release == SIM) != (layout.pack == SIM):
        yield None, f"{where}: {SIM} is the release of zlens' own pack, and only that", "correct the release"
    elif layout.release != SIM and not _RELEASE.fullmatch(layout.release):
        yield None, f"{where}: not a release", "write releases as 7.3"
    if layout.status not in STATUS:
        yield None, f"{where} has the status {layout.status!r}", f"use one of {', '.join(STATUS)}"
    if not layout.source:
        yield None, f"{where} has no source", "say where it is from"
    if layout.stable_to is not None and not HEADER_LENGTH <= layout.stable_to <= layout.length:
        yield None, f"{where}: stable_to is {layout.stable_to}", "give a place inside the record"
    yield from _fields(layout.fields, layout.length, HEADER_LENGTH, where)
    if layout.complete:
        yield from _holes(layout.fields, layout.length, HEADER_LENGTH, where)
    sections: set[str] = set()
    for section in layout.sections:
        if section.name.lower() in sections:
            yield section.name, f"{where} has two sections {section.name}", "rename one"
        sections.add(section.name.lower())
        yield from _section(section, layout, where)
    yield from _columns(layout.fields, where)
    for section in layout.sections:
        both = (*(field for field in layout.fields if field.length), *(field for field, _ in section.rows))
        yield from _columns(both, f"{where} with section {section.name}")


def _section(section: Section, layout: Layout, where: str) -> _Found:
    here = f"{where} section {section.name}"
    if not _SECTION.fullmatch(section.name):
        yield section.name, f"{here}: not a name for a table", "use letters, digits and underscores"
    if section.length <= 0:
        yield section.name, f"{here} has {section.length} bytes", "give the length of an entry"
    if section.status not in STATUS:
        yield section.name, f"{here} has the status {section.status!r}", f"use one of {', '.join(STATUS)}"
    outer: Layout | Section | None = layout.section(section.within) if section.within else layout
    known = {field.name for field in outer.fields} if outer else set()
    if outer is None:
        yield section.name, f"{here} is within {section.within}, which there is not", "name a section"
    for place in (section.offset, section.stride, section.count):
        if isinstance(place, str) and place not in known:
            yield (
                section.name,
                f"{here} is found by {place}, which there is not",
                "name a field of the record",
            )
    if section.match:
        field = layout.field(section.match[0])
        try:
            begins = bytes.fromhex(section.match[1])
        except ValueError:
            begins = b""
        if field is None or not begins or len(begins) > field.span:
            yield (
                section.name,
                f"{here} is told by a match that cannot be",
                "name a field and the bytes it begins with",
            )
    names = {field.name for field, _ in section.rows}
    own = [(f"the subject {name}", name, names) for name in section.subject]
    entry = {field.name for field in section.fields}
    own += [("its data", name, entry) for name in (*(section.inner or ()), *(section.equal or ()))]
    record = {field.name for field in layout.fields}
    own += [("its bound", section.bound, record)] if section.bound else []
    own += [("its join", name, record) for name in (section.join.names if section.join else ())]
    for what, name, known in own:
        if name not in known:
            yield section.name, f"{here} has {what} by {name}, which there is not", "name one of its fields"
    if section.join:
        for each in section.join.sets:
            if each.name not in cpumf.sets():
                yield section.name, f"{here} joins a set {each.name}", f"one of {', '.join(cpumf.sets())}"
    yield from _fields(section.fields, section.length, 0, here)
    yield from _fields(section.tail, max((field.end for field in section.tail), default=0), 0, here)


def _fields(fields: Iterable[Field], length: int, start: int, where: str) -> _Found:
    names: set[str] = set()
    spaces: list[Field] = []
    for field in fields:
        here = f"{where}: {field.name}"
        yield from _field(field, here)
        if not field.reserved and field.name.upper() in names:
            yield field.name, f"{here} is there twice", "rename or remove one"
        names.add(field.name.upper())
        if field.offset < start:
            yield field.name, f"{here} stands at {field.offset}, inside the header", f"begin at {start}"
        if field.end > length:
            yield (
                field.name,
                f"{here} ends at {field.end}, beyond the {length} bytes",
                "correct its place or the length",
            )
        if field.length == 0 and field.offset < length:
            yield field.name, f"{here} has no length and is not at the end", f"place it at {length}"
        if not field.overlay and field.length:
            spaces.append(field)
    spaces.sort(key=lambda field: field.offset)
    for before, after in pairwise(spaces):
        if after.offset < before.end:
            what = f"{where}: {before.name} at {before.offset} and {after.name} at {after.offset} overlap"
            yield after.name, what, "correct a place, or declare an overlay"
    covered = {at for field in spaces for at in range(field.offset, min(field.end, _MAX_RECORD))}
    for field in fields:
        if field.overlay and not covered.issuperset(range(field.offset, min(field.end, _MAX_RECORD))):
            yield field.name, f"{where}: {field.name} lies over nothing", "remove overlay"


def _field(field: Field, here: str) -> _Found:
    name = field.name
    if not field.reserved and not _FIELD.fullmatch(name):
        yield name, f"{here}: not a field name", "use the name on the page"
    if field.type not in TYPES:
        yield name, f"{here} has the type {field.type!r}", f"use one of {', '.join(TYPES)}"
    if field.kind not in KINDS:
        yield name, f"{here} has the kind {field.kind!r}", f"use one of {', '.join(KINDS)}"
    if field.kind_status not in KIND_STATUS:
        yield (
            name,
            f"{here} has the kind_status {field.kind_status!r}",
            f"use one of {', '.join(KIND_STATUS)}",
        )
    if (field.kind == "unknown") != (field.kind_status == "unknown"):
        yield (
            name,
            f"{here} is {field.kind} with status {field.kind_status}",
            "an unknown kind has an unknown status",
        )
    if field.unit is not None and field.unit not in (*UNITS, *ENCODINGS):
        yield name, f"{here} has the unit {field.unit!r}", f"use one of {', '.join((*UNITS, *ENCODINGS))}"
    if field.kind in _NUMBERS and not 1 <= field.length <= 8:
        yield name, f"{here} is a {field.kind} of {field.length} bytes", "a number has 1 to 8"
    if field.kind == "time" and field.length not in (4, 8):
        yield name, f"{here} is a time of {field.length} bytes", "a TOD stamp has 8"
    if field.kind == "timer" and field.direction is None:
        yield name, f"{here} is a timer without direction", "say up, down or learn"
    if field.direction is not None and (
        field.direction not in DIRECTIONS or field.kind not in ("timer", "counter")
    ):
        yield name, f"{here} has the direction {field.direction!r}", "only timers and counters have one"
    if field.kind == "identifier" and field.type == "character" and field.unit not in ENCODINGS:
        yield (
            name,
            f"{here} is an identifier of characters",
            f"give one of {', '.join(ENCODINGS)} as its unit",
        )
    if field.kind in _NUMBERS and field.unit in ENCODINGS:
        yield name, f"{here} is a {field.kind} in {field.unit}", f"use one of {', '.join(UNITS)}"


def _holes(fields: Iterable[Field], length: int, start: int, where: str) -> _Found:
    at = start
    for field in sorted(fields, key=lambda field: field.offset):
        if field.offset > at:
            yield (
                None,
                f"{where} is complete, but no field has bytes {at} to {field.offset}",
                "add them as reserved",
            )
        at = max(at, field.end)
    if at < length:
        yield None, f"{where} is complete, but no field has bytes {at} to {length}", "add them as reserved"


def _columns(fields: Iterable[Field], where: str) -> _Found:
    """Columns are named after fields, with _d for differences: no two may be the same."""
    taken = dict.fromkeys(FIXED, "a column of every table")
    for field in fields:
        for part in field_parts(field):
            names = (
                [part.name.lower(), f"{part.name.lower()}_d"] if field.differenced else [part.name.lower()]
            )
            for name in names:
                if name in taken:
                    yield (
                        field.name,
                        f"{where}: {field.name} and {taken[name]} both give the column {name}",
                        "rename it",
                    )
                taken[name] = field.name


def _entry_fields(layout: Layout) -> list[Field]:
    return [field for section in layout.sections for field in section.fields]


def _differences(root: Path | None) -> Iterator[str]:
    """Roles take differences only of fields that have them."""
    for name in roles.entities():
        for origin in roles.cataloged(name).origins:
            match = _TABLE.match(origin.table)
            if match is None:
                continue
            record = catalog.record_id(int(match[1]), int(match[2]))
            known = [*catalog.layouts(record, root), *catalog.sim_layouts(record)]
            fields = {f.name: f for x in known for f in (*_entry_fields(x), *x.fields)}
            for role, how in origin.roles.items():
                for wanted in roles.fields(how) if how.get("take") == "difference" else ():
                    field = fields.get(wanted)
                    if field is not None and not field.differenced:
                        what = f"takes differences of {wanted}, which is {field.kind}"
                        yield f"roles/{name}.toml: {role} {what}"


def _evidence(root: Path | None) -> Iterator[Finding]:
    path = str(resets.PATH)
    try:
        known = resets.evidence()
    except (CatalogError, KeyError) as error:
        yield Finding(path, None, str(error), "correct the file")
        return
    records = set(catalog.records(root))
    for item in known:
        if item.record not in records:
            yield Finding(path, None, f"{item.record} is no known record", "name a record of the catalog")
            continue
        layouts = catalog.layouts(item.record, root)
        names = {field.name for layout in layouts for field in layout.fields}
        for name in (*item.fields, *([item.time] if item.time else [])):
            if layouts and name not in names:
                yield Finding(path, None, f"{item.record} has no field {name}", "name a field of the record")
        if item.status not in STATUS:
            yield Finding(
                path, None, f"{item.record} has the status {item.status!r}", f"use one of {', '.join(STATUS)}"
            )
