"""Checks of the record layouts of the catalog and of the user's packs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

from msgspec import Struct

from zlens.catalog import (
    capacity_curves,
    comparison_metrics,
    cpumf,
    exposition,
    measures,
    peaks,
    raw_tables,
    resets,
    roles,
    user_roles,
)
from zlens.catalog import layouts as catalog
from zlens.catalog.layouts import SIM, STATUS, MonitorField, MonitorSection, RecordFile, RecordLayout
from zlens.catalog.raw_columns import FIXED, field_parts
from zlens.checks import cpumf as check_cpumf
from zlens.checks import sections as check_sections
from zlens.checks import smf as check_smf
from zlens.errors import CatalogError
from zlens.schema.facts import FACTS

_PAGE = re.compile(r"MR[A-Z0-9]{3,8}")
_FIELD = re.compile(r"[A-Za-z$#@][A-Za-z0-9_$#@]*")
_SECTION = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RELEASE = re.compile(r"\d+\.\d+")
_APAR = re.compile(r"VM\d{5}")
#: Maximum length of a record, which never crosses a 4 KB frame.
_MAX_RECORD = 4096
_NUMBERS = ("counter", "timer", "sampled", "gauge")


class CatalogIssue(Struct, frozen=True):
    """A problem in a catalog file: location, message, and fix."""

    file: str
    line: int | None
    what: str
    cure: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.what}; {self.cure}"


def check(root: Path | None = None) -> list[CatalogIssue]:
    """Return catalog issues of all record files, built in and in packs, and of references to them."""
    findings: list[CatalogIssue] = []
    for record in catalog.records(root):
        for pack, path in catalog.files(record, root):
            findings += check_file(path, pack)
    for record in catalog.sim_records():
        findings += check_sim(catalog.SIM_FOLDER / catalog.file_name(record))
    findings += _evidence(root)
    return findings


def check_catalog(root: Path | None = None) -> list[str]:
    """Return all catalog issues, one sentence each: records, roles and measures."""
    problems = [str(finding) for finding in check(root)]
    problems += user_roles.check() if root is None else []
    problems += roles.check()
    problems += check_cpumf.check()
    problems += check_smf.check()
    problems += check_sections.check()
    problems += raw_tables.check()
    problems += capacity_curves.check()
    problems += _differences(root)
    loaders: list[Callable[[], object]] = [
        comparison_metrics.compared_metrics,
        comparison_metrics.ComparabilityFile.load,
        peaks.load_peak_facts,
        lambda: [convention.names() for convention in exposition.other_conventions()],
        *(partial(measures.load_measure, name) for name in measures.measure_names()),
    ]
    for load in loaders:
        try:
            load()
        except CatalogError as error:
            problems.append(str(error))
    return problems


def summary(root: Path | None = None) -> str:
    """Return a summary of the contents of the catalog."""
    layouts = [layout for record in catalog.records(root) for layout in catalog.layouts(record, root)]
    fields = sum(not field.reserved for one in layouts for field in (*one.fields, *_entry_fields(one)))
    packs = len(catalog.packs(root))
    details = f"{packs} packs, {len(roles.entities())} roles, {len(measures.measure_names())} measures"
    details = f"{details}, {len(catalog.sim_records())} records of {SIM}"
    return f"{len(catalog.records(root))} records with {len(layouts)} layouts of {fields:,} fields, {details}"


def check_file(path: Path, pack: str = catalog.BUILTIN) -> list[CatalogIssue]:
    """Return catalog issues of one record file."""
    try:
        file = catalog.read(path, pack)
    except CatalogError as error:
        cure = error.cure or f"expected {error.expected or 'another format'}"
        return [CatalogIssue(str(path), None, error.message, cure)]
    return _located(path, _file(file, path))


def check_sim(path: Path) -> list[CatalogIssue]:
    """Return catalog issues of a record file of zlens' own pack, including conflicts with real layouts."""
    return check_file(path, SIM) or _located(path, _sim(path))


def _located(path: Path, problems: _Problems) -> list[CatalogIssue]:
    """Return problems with the lines of the names that they concern."""
    issues = []
    for name, problem, cure in problems:
        text = path.read_text(encoding="utf-8")
        start = -1 if name is None else text.find(f'name = "{name}"')
        line = None if start < 0 else text.count("\n", 0, start) + 1
        issues.append(CatalogIssue(str(path), line, problem, cure))
    return issues


def _sim(path: Path) -> _Problems:
    real = catalog.read(catalog.MONITOR_FOLDER / path.name)
    kinds = {f.name: f.kind for x in real.layouts for f in x.fields if f.kind != "unknown"}
    for layout in catalog.read(path, SIM).layouts:
        for field in layout.fields:
            if field.kind not in ("unknown", kinds.get(field.name, field.kind)):
                problem = f"{field.name} is a {kinds[field.name]} in records/{path.name}"
                yield field.name, problem, "use that kind"


#: Name that locates the line, problem, fix.
_Problems = Iterator[tuple[str | None, str, str]]


def _file(file: RecordFile, path: Path) -> _Problems:
    info = file.head
    if path.name != catalog.file_name(info.record):
        yield None, f"contains {info.record}", f"name it {catalog.file_name(info.record)}"
    if not _PAGE.fullmatch(info.dsect):
        yield None, f"dsect is {info.dsect!r}", "add the name of the record page, such as MRSYTPRP"
    if info.kind not in catalog.CLASSES:
        yield None, f"kind of the record is {info.kind!r}", f"use one of {', '.join(catalog.CLASSES)}"
    if not info.title:
        yield None, "the record has no title", "add the title of the record page"
    for release, length in info.lengths.items():
        if not _RELEASE.fullmatch(release):
            yield None, f"lengths has the release {release!r}", "write releases as 7.3"
        if not catalog.HEADER_LENGTH <= length <= _MAX_RECORD:
            yield None, f"the length of release {release} is {length}", "add the length on the record page"
    for release, apars in info.changed_by.items():
        if not _RELEASE.fullmatch(release) or not all(map(_APAR.fullmatch, apars)):
            problem = f"changed_by has {release!r} with {', '.join(apars)}"
            yield None, problem, "write releases as 7.3, APARs as VM66823"
    seen: set[str] = set()
    for layout in file.layouts:
        if layout.release in seen and not layout.callevel:
            problem = f"there are two layouts of {layout.release}"
            yield None, problem, "keep one, or distinguish them by callevel"
        seen.add(layout.release)
        published = info.lengths.get(layout.release)
        if published is not None and published != layout.length and not layout.variable:
            problem = f"the layout of {layout.release} has {layout.length} bytes, the record page {published}"
            yield None, problem, "correct one of them"
        yield from _layout(layout)
    names = {field.name for layout in file.layouts for field in layout.fields}
    # A partial layout need not have them: they may be in the part that is not known.
    complete = any(layout.complete for layout in file.layouts)
    for name in (*file.subject, *file.reset_on):
        if complete and name not in names:
            yield None, f"no layout has the field {name} of subject or reset_on", "name a field of the record"
    yield from _same_kinds(file)


def _same_kinds(file: RecordFile) -> _Problems:
    """Check that a field has the same kind in every release."""
    kinds: dict[str, str] = {}
    for layout in file.layouts:
        for field in layout.fields:
            if field.reserved or field.kind == "unknown":
                continue
            if kinds.setdefault(field.name, field.kind) != field.kind:
                kinds_seen = f"a {kinds[field.name]} in one release and a {field.kind} in {layout.release}"
                problem = f"{field.name} is {kinds_seen}"
                yield field.name, problem, "decide which"


def _layout(layout: RecordLayout) -> _Problems:
    where = f"layout of {layout.release}"
    if not catalog.HEADER_LENGTH <= layout.length <= _MAX_RECORD:
        limits = f"a record has {catalog.HEADER_LENGTH} to {_MAX_RECORD}"
        yield None, f"{where} has {layout.length} bytes", limits
    if (layout.release == SIM) != (layout.pack == SIM):
        yield None, f"{where}: zlens' own pack, and only it, has the release {SIM}", "correct the release"
    elif layout.release != SIM and not _RELEASE.fullmatch(layout.release):
        yield None, f"{where}: not a release", "write releases as 7.3"
    if layout.status not in STATUS:
        yield None, f"{where} has the status {layout.status!r}", f"use one of {', '.join(STATUS)}"
    if not layout.source:
        yield None, f"{where} has no source", "add its source"
    if layout.stable_to is not None and not catalog.HEADER_LENGTH <= layout.stable_to <= layout.length:
        yield None, f"{where}: stable_to is {layout.stable_to}", "set an offset inside the record"
    yield from _fields(layout.fields, layout.length, catalog.HEADER_LENGTH, where)
    if layout.complete:
        yield from _uncovered_bytes(layout.fields, layout.length, catalog.HEADER_LENGTH, where)
    sections: set[str] = set()
    for section in layout.sections:
        if section.name.lower() in sections:
            yield section.name, f"{where} has two sections {section.name}", "rename one"
        sections.add(section.name.lower())
        yield from _section(section, layout, where)
    yield from _columns(layout.fields, where)
    for section in layout.sections:
        columns = (*(field for field in layout.fields if field.length), *(field for field, _ in section.rows))
        yield from _columns(columns, f"{where} with section {section.name}")


def _section(section: MonitorSection, layout: RecordLayout, where: str) -> _Problems:
    here = f"{where} section {section.name}"
    if not _SECTION.fullmatch(section.name):
        yield section.name, f"{here}: not a valid table name", "use letters, digits and underscores"
    if section.length <= 0:
        yield section.name, f"{here} has {section.length} bytes", "add the length of an entry"
    if section.status not in STATUS:
        yield section.name, f"{here} has the status {section.status!r}", f"use one of {', '.join(STATUS)}"
    outer: RecordLayout | MonitorSection | None = layout.section(section.within) if section.within else layout
    outer_fields = {field.name for field in outer.fields} if outer else set()
    if outer is None:
        yield section.name, f"{here} is within {section.within}, which does not exist", "name a section"
    for field_name in (section.offset, section.stride, section.count):
        if isinstance(field_name, str) and field_name not in outer_fields:
            problem = f"{here} is located by {field_name}, which does not exist"
            yield section.name, problem, "name a field of the record"
    if section.match:
        field = layout.field(section.match[0])
        try:
            begins = bytes.fromhex(section.match[1])
        except ValueError:
            begins = b""
        if field is None or not begins or len(begins) > field.total_length:
            yield section.name, f"{here} has an invalid match", "name a field and the bytes it begins with"
    names = {field.name for field, _ in section.rows}
    references = [(f"the subject {name}", name, names) for name in section.subject]
    entry = {field.name for field in section.fields}
    references += [("its data", name, entry) for name in (*(section.inner or ()), *(section.equal or ()))]
    record = {field.name for field in layout.fields}
    references += [("its bound", section.bound, record)] if section.bound else []
    references += [("its join", name, record) for name in (section.join.names if section.join else ())]
    for reference, name, allowed in references:
        if name not in allowed:
            problem = f"{here} has {reference} by {name}, which does not exist"
            yield section.name, problem, "name one of its fields"
    if section.join:
        for counters in section.join.sets:
            if counters.name not in cpumf.sets():
                yield section.name, f"{here} joins a set {counters.name}", f"one of {', '.join(cpumf.sets())}"
    yield from _fields(section.fields, section.length, 0, here)
    yield from _fields(section.tail, max((field.end for field in section.tail), default=0), 0, here)


def _fields(fields: Iterable[MonitorField], length: int, start: int, where: str) -> _Problems:
    names: set[str] = set()
    spaces: list[MonitorField] = []
    for field in fields:
        here = f"{where}: {field.name}"
        yield from _field(field, here)
        if not field.reserved and field.name.upper() in names:
            yield field.name, f"{here} is defined twice", "rename or remove one"
        names.add(field.name.upper())
        if field.offset < start:
            yield field.name, f"{here} is at {field.offset}, inside the header", f"begin at {start}"
        if field.end > length:
            problem = f"{here} ends at {field.end}, beyond the {length} bytes"
            yield field.name, problem, "correct its offset or the length"
        if field.length == 0 and field.offset < length:
            yield field.name, f"{here} has no length and is not at the end", f"set its offset to {length}"
        if not field.overlay and field.length:
            spaces.append(field)
    spaces.sort(key=lambda field: field.offset)
    for first, second in pairwise(spaces):
        if second.offset < first.end:
            problem = f"{where}: {first.name} at {first.offset} and {second.name} at {second.offset} overlap"
            yield second.name, problem, "correct an offset, or declare an overlay"
    covered = {byte for field in spaces for byte in range(field.offset, min(field.end, _MAX_RECORD))}
    for field in fields:
        if field.overlay and not covered.issuperset(range(field.offset, min(field.end, _MAX_RECORD))):
            yield field.name, f"{where}: {field.name} does not overlay a field", "remove overlay"


def _field(field: MonitorField, here: str) -> _Problems:
    name = field.name
    if not field.reserved and not _FIELD.fullmatch(name):
        yield name, f"{here}: not a field name", "use the name on the record page"
    for key, value, allowed in (
        ("type", field.type, catalog.TYPES),
        ("kind", field.kind, catalog.KINDS),
        ("kind_status", field.kind_status, catalog.KIND_STATUS),
        ("status", field.status, ("", *STATUS)),
    ):
        if value not in allowed:
            yield name, f"{here} has the {key} {value!r}", f"use one of {', '.join(filter(None, allowed))}"
    if (field.kind == "unknown") != (field.kind_status == "unknown"):
        problem = f"{here} is {field.kind} with status {field.kind_status}"
        yield name, problem, "an unknown kind has an unknown status"
    if field.unit is not None and field.unit not in (*catalog.UNITS, *catalog.ENCODINGS):
        units = ", ".join((*catalog.UNITS, *catalog.ENCODINGS))
        yield name, f"{here} has the unit {field.unit!r}", f"use one of {units}"
    if field.kind in _NUMBERS and not 1 <= field.length <= 8:
        yield name, f"{here} is a {field.kind} of {field.length} bytes", "a number has 1 to 8"
    if field.kind == "time" and field.length not in (4, 8):
        yield name, f"{here} is a time of {field.length} bytes", "a TOD stamp has 8"
    if field.kind == "timer" and field.direction is None:
        yield name, f"{here} is a timer without direction", "set up, down or learn"
    is_directed = field.direction in catalog.DIRECTIONS and field.kind in ("timer", "counter")
    if field.direction is not None and not is_directed:
        yield name, f"{here} has the direction {field.direction!r}", "only timers and counters have one"
    if field.kind == "identifier" and field.type == "character" and field.unit not in catalog.ENCODINGS:
        encodings = ", ".join(catalog.ENCODINGS)
        yield name, f"{here} is an identifier of characters", f"set its unit to one of {encodings}"
    if field.kind in _NUMBERS and field.unit in catalog.ENCODINGS:
        yield name, f"{here} is a {field.kind} in {field.unit}", f"use one of {', '.join(catalog.UNITS)}"


def _uncovered_bytes(fields: Iterable[MonitorField], length: int, start: int, where: str) -> _Problems:
    end = start
    for field in sorted(fields, key=lambda field: field.offset):
        if field.offset > end:
            problem = f"{where} is complete, but no field covers bytes {end} to {field.offset}"
            yield None, problem, "reserve them"
        end = max(end, field.end)
    if end < length:
        yield None, f"{where} is complete, but no field covers bytes {end} to {length}", "reserve them"


def _columns(fields: Iterable[MonitorField], where: str) -> _Problems:
    """Check that column names are unique: they are named after fields, with _d for differences."""
    taken = dict.fromkeys(FIXED, "a column of every table")
    for field in fields:
        for part in field_parts(field):
            column = part.name.lower()
            for name in (column, f"{column}_d") if field.has_difference else (column,):
                if name in taken:
                    problem = f"{where}: {field.name} and {taken[name]} both define the column {name}"
                    yield field.name, problem, "rename it"
                taken[name] = field.name


def _entry_fields(layout: RecordLayout) -> list[MonitorField]:
    return [field for section in layout.sections for field in section.fields]


def _differences(root: Path | None) -> Iterator[str]:
    """Check that roles use differences only of fields that have them."""
    for name in roles.entities():
        for origin in roles.catalog_entity(name).origins:
            record = catalog.record_of_table(origin.table)
            if record is None:
                continue
            layouts = [*catalog.layouts(record, root), *catalog.sim_layouts(record)]
            fields = {f.name: f for layout in layouts for f in (*_entry_fields(layout), *layout.fields)}
            for role, how in origin.roles.items():
                for field_name in how.fields if how.take == "difference" else ():
                    field = fields.get(field_name)
                    if field is not None and not field.has_difference:
                        what = f"a {field.kind} of {field.length} bytes" if field.counts else field.kind
                        problem = f"computes differences of {field_name}, which is {what}"
                        yield f"roles/{name}.toml: {role} {problem}"


def _evidence(root: Path | None) -> Iterator[CatalogIssue]:
    path = str(FACTS / resets.ResetFile.path)
    try:
        declared = resets.ResetFile.load().evidence
    except CatalogError as error:
        yield CatalogIssue(path, None, str(error), "correct the file")
        return
    records = set(catalog.records(root))
    for item in declared:
        if item.record not in records:
            message = f"{item.record} is not a known record"
            yield CatalogIssue(path, None, message, "name a record of the catalog")
            continue
        layouts = catalog.layouts(item.record, root)
        names = {field.name for layout in layouts for field in layout.fields}
        for name in (*item.fields, *([item.time] if item.time else [])):
            if layouts and name not in names:
                message = f"{item.record} has no field {name}"
                yield CatalogIssue(path, None, message, "name a field of the record")
        if item.status not in STATUS:
            message = f"{item.record} has the status {item.status!r}"
            yield CatalogIssue(path, None, message, f"use one of {', '.join(STATUS)}")
