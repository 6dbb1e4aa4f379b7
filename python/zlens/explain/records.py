"""`zlens explain` of roles, records, fields and the raw tables of readers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from zlens.catalog import caveats, layouts, listings, measures, rmf_reports, roles, user_roles
from zlens.catalog.layouts import MonitorField, RecordLayout
from zlens.compiler.cached_lineage import FormulaSource
from zlens.compiler.nodes import ROLE
from zlens.errors import CatalogError
from zlens.explain import smf as explain_smf
from zlens.explain.description import Description, Facts
from zlens.explain.lineage import column_lineage
from zlens.schema.facts import FACTS

_RECORD_TABLE = re.compile(r"d(\d{1,2})r(\d{1,5})(?:_(\w+))?")

#: First columns of every raw table.
RAW_LEADING = {
    "system": "system",
    "source": "source of the row: zvm-monitor, rmf-xml",
    "file": "file the row was read from",
    "offset": "byte offset of the record in its file",
    "tod": "timestamp of the record, UTC",
    "interval_end": "first interval end at or after the record, UTC; NULL after the last",
    "seconds": "time since the subject's previous sample; NULL for the first, and after a reset",
    "flag": "short: shorter than half the usual interval; gap: the sample before is missing; else NULL",
}
#: Text of each status of a column of a printed report.
_PRINTED = {
    "verified": "found in a file written by RMF",
    "carried": "as IBM describes the printed report",
    "derived": "follows from other values of the report",
    "unverified": "its heading in the XML is not known",
}


def role_pages(name: str) -> Iterator[Description]:
    """Yield descriptions of an entity by its name, or of a role as `entity.role` or alone."""
    prefix, _, role = name.rpartition(".")
    for entity in roles.entities():
        if prefix and entity != prefix:
            continue
        definition = roles.entity(entity)
        if name == entity:
            yield Description(
                f"role.{entity}: {definition.text}",
                [
                    ("Key", ", ".join(definition.key)),
                    ("From", [f"{_place(origin.table)} ({origin.source})" for origin in definition.origins]),
                    ("Roles", [f"{entry.name}: {entry.text}" for entry in definition.roles.values()]),
                    ("Example", f"SELECT * FROM role.{entity}"),
                ],
            )
        elif role in definition.roles and prefix in (entity, ""):
            first, *rest = role_lines(entity, role)
            used = ", ".join(column_lineage().columns_using(entity, role))
            facts: Facts = [("From", [line[2:] for line in rest]), ("Used by", used or "no measure")]
            yield Description(f"role.{first}", facts)


def input_lines(table: measures.Measure, sources: Mapping[str, Iterable[FormulaSource]]) -> list[str]:
    """Return the inputs of the formulas of a measure: leading columns, roles, and columns of helpers."""
    lines: list[str] = []
    explained: set[tuple[str, str]] = set()
    for name, inputs in sources.items():
        if "." not in name:
            column = table.column(name)
            lines.append(f"{name}: {column.text}" if column else name)
        for source in inputs:
            lines += _source_lines(source, explained)
    return lines


def _source_lines(source: FormulaSource, explained: set[tuple[str, str]]) -> list[str]:
    """Return lines of a role, or of a column of a helper with its roles."""
    if source.node.startswith(ROLE):
        return _role_lines(source.roles, explained)
    entities = ", ".join(dict.fromkeys(f"role.{entity}" for entity, _ in source.roles))
    return [
        f"{source.node.removeprefix('_')}.{source.column}: {source.computed or 'copied'}",
        f"  compiler/selects/{source.node[1:]}.sql" + (f", from {entities}" if entities else ""),
        *(f"  {line}" for line in _role_lines(source.roles, explained)),
    ]


def _role_lines(pairs: Iterable[tuple[str, str]], explained: set[tuple[str, str]]) -> list[str]:
    """Return lines of roles with their origins, which are listed once; none for the leading columns."""
    lines: list[str] = []
    for entity, role in pairs:
        if role in roles.entity(entity).roles:
            lines += role_lines(entity, role)[: 1 if (entity, role) in explained else None]
            explained.add((entity, role))
    return lines


def role_lines(entity: str, role: str) -> list[str]:
    """Return a line with the role and indented lines with its origin in each source."""
    definition = roles.entity(entity)
    facts = definition.roles[role]
    unit = f" [{facts.unit}]" if facts.unit else ""
    lines = [f"{entity}.{role}: {facts.text}{unit}"]
    for origin in definition.origins:
        rule = origin.roles.get(role)
        if rule is None:
            absent = f"  {_place(origin.table)}: not available"
            page_name = _page_name(origin.table)
            lines.append(
                f"{absent} so far; its record page {page_name} may describe a field" if page_name else absent
            )
        else:
            lines += [f"  {line}" for line in _origin(origin.table, rule)]
    return lines


def _origin(table: str, rule: roles.RoleValue) -> list[str]:
    location = _place(table)
    limit = f", before z/VM {rule.before} only" if rule.before else ""
    if rule.value is not None:
        return [f"{location}: always {rule.value}{limit}"]
    if rule.expression:
        return [f"{location}: {rule.expression}{limit}"]
    if rule.over == "count":
        return [f"{location}: number of rows{limit}"]
    steps = [" or ".join(rule.fields)]
    if rule.take == "difference":
        steps.append("difference of two samples")
    if rule.scale:
        steps.append(f"times {roles.scale_factor(rule.scale):.9g}")
    if rule.base:
        steps.append(f"read as a number of base {rule.base}")
    if rule.codes:
        steps.append("decoded to text")
    if rule.over:
        steps.append(f"{rule.over} over the entries")
    if isinstance(rule, user_roles.BoundValue):
        steps.append(f"as {rule.where} says")
    lines = [f"{location}: {', '.join(steps)}{limit}"]
    for name in rule.fields:
        lines += [f"  {line}" for line in _positions_by_release(table, name)]
    if isinstance(rule, user_roles.BoundValue) and rule.fallback:
        lines += [
            f"else {line}" if index == 0 else line for index, line in enumerate(_origin(table, rule.fallback))
        ]
    return lines


def _record_of(table: str) -> str | None:
    match = _RECORD_TABLE.fullmatch(table)
    record = layouts.record_id(int(match[1]), int(match[2])) if match else None
    return record if record and layouts.files(record) else None


def _place(table: str) -> str:
    """Return the label of a raw table: record and section."""
    record = _record_of(table)
    section = table.partition("_")[2]
    return table if record is None else f"{record} {section}".strip()


def _page_name(table: str) -> str:
    record = _record_of(table)
    head = layouts.record_info(record) if record else None
    return head.dsect if head else ""


def _fields(layout: RecordLayout) -> Iterator[tuple[str, MonitorField]]:
    """Yield all named fields of a layout, with their section."""
    for field in layout.fields:
        if not field.reserved:
            yield "", field
    for section in layout.sections:
        for field, _ in section.rows:
            if not field.reserved:
                yield section.name, field


def _release(layout: RecordLayout) -> str:
    pack = "" if layout.pack == layouts.BUILTIN else f" (pack {layout.pack})"
    return f"{layout.release}{pack}"


def _kind(field: MonitorField) -> str:
    return field.kind if field.kind_status == "unknown" else f"{field.kind} ({field.kind_status})"


def _positions_by_release(table: str, name: str) -> list[str]:
    """Return the position of a field by release; a sentence if no layout contains it."""
    record = _record_of(table)
    if record is None:
        return explain_smf.place_lines(table, name)
    releases_by_position: dict[str, list[str]] = {}
    for layout in layouts.layouts(record):
        for section, field in _fields(layout):
            if field.name == name:
                place = f"{field.status} {_field_position(layout, section, field)}".lstrip()
                position = f"{place}, {_kind(field)}"
                releases_by_position.setdefault(position, []).append(_release(layout))
    if not releases_by_position and name != "seconds":
        is_synthetic = any(
            field.name == name for layout in layouts.sim_layouts(record) for _, field in _fields(layout)
        )
        exception = f" except that of synthetic files ({layouts.SIM})" if is_synthetic else ""
        page_name = _page_name(table)
        return [f"in no known layout{exception}; the record page {page_name} of your release has it"]
    return [
        f"z/VM {', '.join(dict.fromkeys(releases))}: {position}"
        for position, releases in releases_by_position.items()
    ]


def _field_position(layout: RecordLayout, section: str, field: MonitorField) -> str:
    """Return the position of a field in its record."""
    rows = next((candidate.rows for candidate in layout.sections if candidate.name == section), ())
    part = next((part for other, part in rows if other == field), "record")
    if part == "ordinal":
        return f"the number of the entry of {section}"
    if part == "string":
        return f"a text of an entry of {section}, after its length"
    if part in ("counter", "count"):
        return f"{section}, joined from records that continue each other"
    entry = f" of an entry of {section}" if section else ""
    after = " after the texts" if part == "tail" else ""
    length = f"{field.length} bytes" if field.length else "to the end"
    return f"byte {field.offset}{after}{entry}, {length}"


def record_pages(name: str) -> Iterator[Description]:
    """Yield descriptions of a record (by id, raw table or page), a field, or a column of a raw table."""
    record = _record_of(name) or _with_page(name)
    if record is not None:
        yield _record(record)
        return
    table, _, bare = name.rpartition(".")
    if table and _record_of(table) is None:
        return
    if bare in RAW_LEADING:
        if table or bare not in measures.LEADING_NAMES:
            yield Description(
                f"{name}: {RAW_LEADING[bare]}", [("Where", "the first columns of every raw table")]
            )
        return
    field_name = bare.upper()
    if table or len(field_name) >= 3:
        searched = (
            [_record_of(table)]
            if table
            else _mentioning(field_name) + _mentioning(field_name.removesuffix("_D"))
        )
        for candidate in dict.fromkeys(searched):
            if candidate is not None:
                yield from _field(candidate, field_name)


def _with_page(name: str) -> str | None:
    """Return the record described by a record page such as MRSYTPRP."""
    if not re.fullmatch(r"mr[a-z0-9]{3,6}", name):
        return None
    return next(iter(_containing(f'dsect = "{name.upper()}"')), None)


def _mentioning(field: str) -> list[str]:
    """Return records with a field of that name, with or without the record's prefix."""
    return list(dict.fromkeys([*_containing(f'"{field}"'), *_containing(f'_{field}"')]))


def _containing(text: str) -> list[str]:
    """Return records whose files contain a text, in any case; parsing all files would be slow."""
    root = layouts.pack_root()
    return [
        record
        for record in layouts.records(root)
        if any(text.upper() in _text(path, path.stat().st_mtime_ns) for path in _files(record, root))
    ]


def _files(record: str, root: Path) -> list[Path]:
    """Return the files that describe a record, including its synthetic layouts."""
    synthetic = layouts.SIM_FOLDER / layouts.file_name(record)
    return [*(path for _, path in layouts.files(record, root)), *([synthetic] if synthetic.is_file() else [])]


@cache
def _text(path: Path, changed: int) -> str:
    """Return the text of a file in upper case; `changed` invalidates the cache."""
    return path.read_text(encoding="utf-8").upper()


def field_names() -> list[str]:
    """Return the names of all fields, found by searching the files."""
    named = re.compile(r'\bname = "(\w+)"')
    return [
        name
        for record in layouts.records()
        for _, path in layouts.files(record)
        for name in named.findall(path.read_text(encoding="utf-8"))
    ]


def _record(record: str) -> Description:
    head = layouts.record_info(record)
    if head is None:
        raise CatalogError(f"the record {record} is not described")
    known_layouts = layouts.layouts(record)
    sections = dict.fromkeys(section.name.lower() for layout in known_layouts for section in layout.sections)
    tables = ", ".join([record.lower(), *(f"{record.lower()}_{name}" for name in sections)])
    lengths = ", ".join(f"{length} (z/VM {release})" for release, length in head.lengths.items())
    facts: Facts = [
        ("Table", tables),
        ("Class", head.kind),
        ("Page", f"{head.dsect} of IBM's monitor record pages"),
        ("Bytes", lengths),
        (
            "Layouts",
            [_layout(layout) for layout in known_layouts] or "none; import the record page of your release",
        ),
        ("Note", head.note or ""),
        ("Changed", head.changes),
        ("Fault", caveats.explain_lines(caveats.find_caveats(record=record))),
    ]
    fields: dict[str, str] = {}
    for layout in known_layouts:
        for _, field in _fields(layout):
            text = field.text or fields.get(field.name, "")
            fields[field.name] = f"{text} ({field.status})" if field.status else text
    return Description(
        f"{record} {head.dsect}: {head.title}",
        facts,
        fields,
        "Fields (details: explain FIELD)",
        f"SELECT * FROM {record.lower()}",
    )


def _layout(layout: RecordLayout) -> str:
    completeness = "complete" if layout.complete else "not complete"
    return f"z/VM {_release(layout)}: {layout.length} bytes, {completeness}, {layout.status}; {layout.source}"


def _field(record: str, requested: str) -> Iterator[Description]:
    """Yield descriptions of fields by name, with or without the record's prefix, or of a difference."""
    matches: dict[str, tuple[str, MonitorField]] = {}
    # Synthetic layouts first, so that a real layout of the same field replaces them.
    for layout in (*layouts.sim_layouts(record), *layouts.layouts(record)):
        for section, field in _fields(layout):
            names = {field.name.upper(), field.name.upper().partition("_")[2]}
            if field.has_difference:
                names |= {f"{name}_D" for name in names}
            if requested in names:
                matches[field.name] = (section, field)
    for name, (section, field) in matches.items():
        column = name.lower()
        table = "_".join(filter(None, (record.lower(), section.lower())))
        after = ""
        if field.has_difference:
            after = f"; {column}_d is the difference from the sample before"
        elif field.counts:
            after = "; not differenced, since it may wrap any number of times between two samples"
        elif field.kind == "unknown":
            after = "; not differenced, since its meaning is not known"
        feeds = [
            f"{entity}.{role}"
            for entity in roles.entities()
            for origin in roles.entity(entity).origins
            for role, rule in origin.roles.items()
            if _record_of(origin.table) == record and name in rule.fields
        ]
        direction = {"down": ", counts down", "learn": ", direction learned from the data"}
        head = layouts.record_info(record)
        yield Description(
            f"{record} {name}: {field.text or 'meaning not known'}",
            [
                ("Record", f"{record} {head.dsect}, {head.title}" if head else record),
                ("Column", f"{column} of table {table}{after}"),
                ("Kind", f"{_kind(field)}{direction.get(field.direction or '', '')}"),
                ("Unit", _unit(field.unit)),
                ("Places", _positions_by_release(table, name)),
                ("Roles", ", ".join(dict.fromkeys(feeds)) or "none"),
                ("Note", field.remark),
            ],
        )


def _unit(name: str | None) -> str:
    unit = roles.RawUnit.by_name().get(name or "")
    return unit.text if unit else name or ""


@cache
def printed_reports() -> tuple[rmf_reports.RmfReport, ...]:
    """Return all reports whose printed format a reader parses."""
    folder = FACTS / "rmf"
    return tuple(rmf_reports.report(path.stem) for path in sorted(folder.glob("[!_]*.toml")))


def printed_pages(name: str) -> Iterator[Description]:
    """Yield descriptions of a raw table of a printed report, or of one of its columns."""
    table_name, dot, column_name = name.rpartition(".")
    for report in printed_reports():
        for table in report.tables:
            if name == table.name:
                facts: Facts = [
                    ("Report", report.title),
                    ("Columns", [f"{column.name}: {column.text}" for column in table.columns]),
                    ("Source", report.source),
                    ("Example", f"SELECT * FROM {table.name}"),
                ]
                yield Description(f"{table.name}: {table.text}", facts)
            for column in table.columns if dot and table_name == table.name else ():
                if column_name == column.name:
                    precision = listings.precision_column(column.name)
                    rounded = f"in printed reports: the value is {column.name} +- {precision}"
                    facts = [
                        ("Report", report.title),
                        ("Value", ", ".join(filter(None, (column.raw.type, column.unit)))),
                        ("Printed", column.head),
                        ("Rounded", rounded if column.type == "float" else ""),
                        ("Source", report.source),
                        ("Status", f"{column.status}: {_PRINTED[column.status]}"),
                    ]
                    yield Description(f"{name}: {column.text}", facts)
