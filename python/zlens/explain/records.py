"""The lower half of `zlens explain`: roles, records, fields and the raw tables of readers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from zlens.catalog import caveats, layouts, metrics, rmf_reports, roles
from zlens.catalog.compile.kept_lineage import Source
from zlens.catalog.compile.nodes import ROLE
from zlens.catalog.layouts import Field, Layout
from zlens.errors import CatalogError
from zlens.explain import smf as explain_smf
from zlens.explain.lineage import known
from zlens.schema import document
from zlens.schema.facts import FACTS

WIDTH = 100
_MARGIN = 9
_RECORD_TABLE = re.compile(r"d(\d{1,2})r(\d{1,5})(?:_(\w+))?")

#: What every raw table begins with, whatever its reader.
RAW_LEADING = {
    "system": "system",
    "source": "where the row comes from: zvm-monitor, rmf-xml",
    "file": "file the row was read from",
    "offset": "byte offset of the record in its file",
    "tod": "time stamp of the record, UTC",
    "interval_end": "first interval end at or after the record, UTC; NULL after the last",
    "seconds": "time since the subject's previous sample; NULL for the first, and after a reset",
    "flag": "short: a stub below half the usual interval; gap: the sample before is missing; else NULL",
}
#: What the status of a column of a printed report says.
_PRINTED = {
    "verified": "seen in a file RMF wrote",
    "carried": "as IBM describes the printed report",
    "derived": "follows from other values of the report",
    "unverified": "how the XML heads it is not known",
}

Facts = list[tuple[str, "str | list[str]"]]


# Form


def page(title: str, facts: Iterable[tuple[str, str | list[str]]]) -> str:
    """A title and facts under it, each with its head in the margin; empty facts are left out."""
    lines = [*textwrap.wrap(title, WIDTH), ""]
    for head, fact in facts:
        told = fact if isinstance(fact, list) else [fact] if fact else []
        for line in told:
            indent = len(line) - len(line.lstrip())
            lines.append(hang(f"{head:<{_MARGIN}}{' ' * indent}", line.strip()))
            head = ""
    return "\n".join(lines) + "\n"


def hang(head: str, text: str) -> str:
    """Text broken into lines, hanging under what stands before it."""
    wrapped = textwrap.wrap(
        " ".join(text.split()),
        max(WIDTH, len(head) + 40),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapped) or head.rstrip()


# Roles


def role_pages(name: str) -> Iterator[str]:
    """An entity by its name, or a role as `entity.role` or alone."""
    of, _, role = name.rpartition(".")
    for entity in roles.entities():
        if of and entity != of:
            continue
        what = roles.entity(entity)
        if name == entity:
            yield page(
                f"role.{entity}: {what.text}",
                [
                    ("Key", ", ".join(what.key)),
                    ("From", [f"{_place(origin.table)} ({origin.source})" for origin in what.origins]),
                    ("Roles", [f"{each.name}: {each.text}" for each in what.roles.values()]),
                    ("Example", f"SELECT * FROM role.{entity}"),
                ],
            )
        elif role in what.roles and of in (entity, ""):
            first, *rest = role_lines(entity, role)
            used = ", ".join(known().uses(entity, role))
            facts: Facts = [("From", [line[2:] for line in rest]), ("Used by", used or "no measure")]
            yield page(f"role.{first}", facts)


def input_lines(table: metrics.Table, sources: Mapping[str, Iterable[Source]]) -> list[str]:
    """What the formulas of a measure name: leading columns, roles, and what helpers compute."""
    lines: list[str] = []
    told: set[tuple[str, str]] = set()
    for name, meant in sources.items():
        if "." not in name:
            column = table.column(name)
            lines.append(f"{name}: {column.text}" if column else name)
        for source in meant:
            lines += _source_lines(source, told)
    return lines


def _source_lines(source: Source, told: set[tuple[str, str]]) -> list[str]:
    """A role, or what a helper computes and from which roles."""
    if source.node.startswith(ROLE):
        return _role_lines(source.roles, told)
    entities = ", ".join(dict.fromkeys(f"role.{entity}" for entity, _ in source.roles))
    return [
        f"{source.node.removeprefix('_')}.{source.column}: {source.computed or 'taken over'}",
        f"  catalog/helpers/{source.node[1:]}.sql" + (f", from {entities}" if entities else ""),
        *(f"  {line}" for line in _role_lines(source.roles, told)),
    ]


def _role_lines(behind: Iterable[tuple[str, str]], told: set[tuple[str, str]]) -> list[str]:
    """Roles with where they come from, but for those told already; none for what all roles begin with."""
    lines: list[str] = []
    for entity, role in behind:
        if role in roles.entity(entity).roles:
            lines += role_lines(entity, role)[: 1 if (entity, role) in told else None]
            told.add((entity, role))
    return lines


def role_lines(entity: str, role: str) -> list[str]:
    """A role in words, then where each source has it, indented."""
    what = roles.entity(entity)
    facts = what.roles[role]
    unit = f" [{facts.unit}]" if facts.unit else ""
    lines = [f"{entity}.{role}: {facts.text}{unit}"]
    for origin in what.origins:
        how = origin.roles.get(role)
        if how is None:
            absent = f"  {_place(origin.table)}: not there"
            named = _page_name(origin.table)
            lines.append(f"{absent} so far; its record page {named} may name a field" if named else absent)
        else:
            lines += [f"  {line}" for line in _origin(origin.table, how)]
    return lines


def _origin(table: str, how: Mapping[str, Any]) -> list[str]:
    where = _place(table)
    limit = f", before z/VM {how['before']} only" if "before" in how else ""
    if "value" in how:
        return [f"{where}: always {how['value']}{limit}"]
    if "expression" in how:
        return [f"{where}: {how['expression']}{limit}"]
    if how.get("over") == "count":
        return [f"{where}: number of rows{limit}"]
    steps = [" or ".join(roles.fields(how))]
    if how.get("take") == "difference":
        steps.append("difference of two samples")
    if "scale" in how:
        steps.append(f"times {roles.scale_factor(how['scale']):.9g}")
    if "base" in how:
        steps.append(f"read as a number of base {how['base']}")
    if "codes" in how:
        steps.append("put into words")
    if "over" in how:
        steps.append(f"{how['over']} over the entries")
    if "user" in how:
        steps.append(f"as {how['user']} says")
    lines = [f"{where}: {', '.join(steps)}{limit}"]
    for name in roles.fields(how):
        lines += [f"  {line}" for line in _places(table, name)]
    if "user" in how and "else" in how:
        lines += [f"else {line}" if at == 0 else line for at, line in enumerate(_origin(table, how["else"]))]
    return lines


# Records and fields


def _record_of(table: str) -> str | None:
    match = _RECORD_TABLE.fullmatch(table)
    record = layouts.record_id(int(match[1]), int(match[2])) if match else None
    return record if record and layouts.files(record) else None


def _place(table: str) -> str:
    """A raw table as an analyst calls it."""
    record = _record_of(table)
    section = table.partition("_")[2]
    return table if record is None else f"{record} {section}".strip()


def _page_name(table: str) -> str:
    record = _record_of(table)
    head = layouts.head(record) if record else None
    return head.dsect if head else ""


def _fields(layout: Layout) -> Iterator[tuple[str, Field]]:
    """All named fields of a layout, with the section they stand in."""
    for field in layout.fields:
        if not field.reserved:
            yield "", field
    for section in layout.sections:
        for field, _ in section.rows:
            if not field.reserved:
                yield section.name, field


def _release(layout: Layout) -> str:
    pack = "" if layout.pack == layouts.BUILTIN else f" (pack {layout.pack})"
    return f"{layout.release}{pack}"


def _kind(field: Field) -> str:
    return field.kind if field.kind_status == "unknown" else f"{field.kind} ({field.kind_status})"


def _places(table: str, name: str) -> list[str]:
    """Where a field stands, release by release; a sentence where no layout has it."""
    record = _record_of(table)
    if record is None:
        return explain_smf.place_lines(table, name)
    found: dict[str, list[str]] = {}
    for layout in layouts.layouts(record):
        for section, field in _fields(layout):
            if field.name == name:
                place = f"{_spot(layout, section, field)}, {_kind(field)}"
                found.setdefault(place, []).append(_release(layout))
    if not found and name != "seconds":
        own = any(
            field.name == name for layout in layouts.sim_layouts(record) for _, field in _fields(layout)
        )
        but = f" but that of made files ({layouts.SIM})" if own else ""
        return [f"in no known layout{but}; the record page {_page_name(table)} of your release would give it"]
    return [f"z/VM {', '.join(dict.fromkeys(releases))}: {place}" for place, releases in found.items()]


def _spot(layout: Layout, section: str, field: Field) -> str:
    """Where in a record a field stands."""
    rows = next((each.rows for each in layout.sections if each.name == section), ())
    part = next((part for one, part in rows if one == field), "record")
    if part == "ordinal":
        return f"which entry of {section} it is"
    if part == "string":
        return f"a text of an entry of {section}, behind its length"
    if part in ("counter", "count"):
        return f"{section}, joined of the records that continue each other"
    of = f" of an entry of {section}" if section else ""
    behind = " behind the texts" if part == "tail" else ""
    length = f"{field.length} bytes" if field.length else "to the end"
    return f"byte {field.offset}{behind}{of}, {length}"


def record_pages(name: str) -> Iterator[str]:
    """A record by its id, raw table or page; a field by its name; a column of a raw table."""
    record = _record_of(name) or _with_page(name)
    if record is not None:
        yield _record(record)
        return
    of, _, bare = name.rpartition(".")
    if of and _record_of(of) is None:
        return
    if bare in RAW_LEADING:
        if of or bare not in {column.name for column in metrics.LEADING}:
            yield page(f"{name}: {RAW_LEADING[bare]}", [("Where", "the first columns of every raw table")])
        return
    wanted = bare.upper()
    if of or len(wanted) >= 3:
        searched = [_record_of(of)] if of else _mentioning(wanted) + _mentioning(wanted.removesuffix("_D"))
        for each in dict.fromkeys(searched):
            if each is not None:
                yield from _field(each, wanted)


def _with_page(name: str) -> str | None:
    """The record a page such as MRSYTPRP is of."""
    if not re.fullmatch(r"mr[a-z0-9]{3,6}", name):
        return None
    return next(iter(_containing(f'dsect = "{name.upper()}"')), None)


def _mentioning(field: str) -> list[str]:
    """Records with a field of that name; its record's prefix may stand before it."""
    return list(dict.fromkeys([*_containing(f'"{field}"'), *_containing(f'_{field}"')]))


def _containing(text: str) -> list[str]:
    """Records whose files have a text, in any case; parsing them all would be slow."""
    root = layouts.pack_root()
    return [
        record
        for record in layouts.records(root)
        if any(text.upper() in _text(path, path.stat().st_mtime_ns) for path in _files(record, root))
    ]


def _files(record: str, root: Path) -> list[Path]:
    """The files that describe a record, that of our own pack included."""
    own = layouts.sim_root() / layouts.file_name(record)
    return [*(path for _, path in layouts.files(record, root)), *([own] if own.is_file() else [])]


@cache
def _text(path: Path, changed: int) -> str:
    """A file as it was when it was last changed, in upper case."""
    return path.read_text(encoding="utf-8").upper()


def field_names() -> list[str]:
    """The names of all fields, taken from the text of the files."""
    named = re.compile(r'\bname = "(\w+)"')
    return [
        name
        for record in layouts.records()
        for _, path in layouts.files(record)
        for name in named.findall(path.read_text(encoding="utf-8"))
    ]


def _record(record: str) -> str:
    head = layouts.head(record)
    if head is None:
        raise CatalogError(f"nothing describes the record {record}")
    known = layouts.layouts(record)
    sections = dict.fromkeys(section.name.lower() for layout in known for section in layout.sections)
    tables = ", ".join([record.lower(), *(f"{record.lower()}_{name}" for name in sections)])
    lengths = ", ".join(f"{length} (z/VM {release})" for release, length in head.lengths.items())
    facts: Facts = [
        ("Table", tables),
        ("Class", head.kind),
        ("Page", f"{head.dsect} of IBM's monitor record pages"),
        ("Bytes", lengths),
        ("Layouts", [_layout(layout) for layout in known] or "none; import the page of your release"),
        ("Note", head.note or ""),
        ("Fault", caveats.lines(caveats.about(record=record))),
    ]
    lines = [page(f"{record} {head.dsect}: {head.title}", facts)]
    fields: dict[str, str] = {}
    for layout in known:
        for _, field in _fields(layout):
            fields[field.name] = field.text or fields.get(field.name, "")
    if fields:
        lines.append("Fields (explain FIELD tells more)\n")
        width = max(map(len, fields))
        lines += [hang(f"  {name:<{width}}  ", text) for name, text in fields.items()]
        lines.append("")
    lines.append(f"Example  SELECT * FROM {record.lower()}")
    return "\n".join(lines)


def _layout(layout: Layout) -> str:
    known = "complete" if layout.complete else "not complete"
    return f"z/VM {_release(layout)}: {layout.length} bytes, {known}, {layout.status}; {layout.source}"


def _field(record: str, wanted: str) -> Iterator[str]:
    """The fields of a record that a name means: with or without the record's prefix, or a difference."""
    found: dict[str, tuple[str, Field]] = {}
    # Ours first: what a real layout says of the same field goes before it.
    for layout in (*layouts.sim_layouts(record), *layouts.layouts(record)):
        for section, field in _fields(layout):
            names = {field.name.upper(), field.name.upper().partition("_")[2]}
            if field.differenced:
                names |= {f"{name}_D" for name in names}
            if wanted in names:
                found[field.name] = (section, field)
    for name, (section, field) in found.items():
        column = name.lower()
        table = "_".join(filter(None, (record.lower(), section.lower())))
        after = ""
        if field.differenced:
            after = f"; {column}_d is the difference from the sample before"
        elif field.kind == "unknown":
            after = "; not differenced, since it is not known what it counts"
        used = [
            f"{entity}.{role}"
            for entity in roles.entities()
            for origin in roles.entity(entity).origins
            for role, how in origin.roles.items()
            if _record_of(origin.table) == record and name in roles.fields(how)
        ]
        direction = {"down": ", counts down", "learn": ", direction learned from the data"}
        head = layouts.head(record)
        yield page(
            f"{record} {name}: {field.text or 'meaning not known'}",
            [
                ("Record", f"{record} {head.dsect}, {head.title}" if head else record),
                ("Column", f"{column} of table {table}{after}"),
                ("Kind", f"{_kind(field)}{direction.get(field.direction or '', '')}"),
                ("Unit", _unit(field.unit)),
                ("Places", _places(table, name)),
                ("Roles", ", ".join(dict.fromkeys(used)) or "none"),
                ("Note", field.note or ""),
            ],
        )


def _unit(name: str | None) -> str:
    path = FACTS / "units.toml"
    units = document.facts(path)
    return units[name]["text"] if name in units else name or ""


# Printed reports that readers take apart (RMF)


@cache
def printed_reports() -> tuple[rmf_reports.Report, ...]:
    """All reports whose printed form a reader takes apart."""
    folder = FACTS / "rmf"
    return tuple(rmf_reports.report(path.stem) for path in sorted(folder.glob("[!_]*.toml")))


def printed_pages(name: str) -> Iterator[str]:
    """A raw table of a printed report, or a column of one."""
    of, dot, bare = name.rpartition(".")
    for report in printed_reports():
        for table in report.tables:
            if name == table.name:
                facts: Facts = [
                    ("Report", report.title),
                    ("Columns", [f"{column.name}: {column.text}" for column in table.columns]),
                    ("Source", report.source),
                    ("Example", f"SELECT * FROM {table.name}"),
                ]
                yield page(f"{table.name}: {table.text}", facts)
            for column in table.columns if dot and of == table.name else ():
                if bare == column.name:
                    facts = [
                        ("Report", report.title),
                        ("Value", f"{column.stored}, {column.unit}" if column.unit else column.stored),
                        ("Printed", column.head),
                        ("Source", report.source),
                        ("Status", f"{column.status}: {_PRINTED[column.status]}"),
                    ]
                    yield page(f"{name}: {column.text}", facts)
