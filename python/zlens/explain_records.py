"""The lower half of `zlens explain`: roles, records, fields and the raw tables of readers."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from zlens import explain_smf
from zlens.catalog import caveats, cpumf_formulas, expressions, layouts, metrics, rmf_reports, roles, toml
from zlens.catalog.compile import nodes
from zlens.catalog.layouts import Field, Layout
from zlens.errors import CatalogError

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
            used = ", ".join(_used_by(entity, role))
            facts: Facts = [("From", [line[2:] for line in rest]), ("Used by", used or "no measure")]
            yield page(f"role.{first}", facts)


def roles_behind(table: str, column: str) -> list[tuple[str, str]]:
    """The roles that a measure's value is computed from, by way of earlier columns and helpers."""
    found: dict[tuple[str, str], None] = {}
    wanted, met = [column], set()
    while wanted:
        name = wanted.pop()
        if name in met:
            continue
        met.add(name)
        entity, dot, role = name.partition(".")
        if dot and entity in roles.entities():
            found[entity, role] = None
        elif dot:
            text = _helper(entity)
            found |= dict.fromkeys(_helper_roles(text, role) if text else [])
        else:
            told = metrics.table(table).column(name)
            wanted += _named(told) if told is not None else []
    return list(found)


def entities_of(query: str) -> list[str]:
    """The entities of roles that a question reads, by way of measures and their helpers."""
    found: dict[str, None] = {}
    texts, met = [query], set()
    while texts:
        text = texts.pop()
        found |= dict.fromkeys(name for name in _entities(text) if name in roles.entities())
        for name in re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", text, re.IGNORECASE):
            if name not in met and nodes.fed(name):
                met.add(name)
                texts.append(nodes.text(name))
    return list(found)


def input_lines(name: str) -> list[str]:
    """What a formula refers to: a leading column, a role, or what a helper of the measures computes."""
    entity, dot, role = name.partition(".")
    if not dot:
        leading = next((column.text for column in metrics.LEADING if column.name == name), "")
        return [f"{name}: {leading}" if leading else name]
    if entity in roles.entities() and role in roles.entity(entity).roles:
        return role_lines(entity, role)
    text = _helper(entity)
    if text is None:
        raise CatalogError(f"{name} is neither a role nor of a helper of measures")
    computed = _computed(text, role)
    entities = ", ".join(f"role.{each}" for each in _entities(text))
    lines = [f"{name}: {computed or 'taken over'}"]
    lines.append(f"  catalog/helpers/{entity}.sql" + (f", from {entities}" if entities else ""))
    for each, used in _helper_roles(text, role):
        lines += [f"  {line}" for line in role_lines(each, used)]
    return lines


def _used_by(entity: str, role: str) -> list[str]:
    return list(dict.fromkeys(_uses().get((entity, role), ())))


@cache
def _uses() -> dict[tuple[str, str], list[str]]:
    """The columns that each role goes into, by itself or by way of a helper."""
    found: dict[tuple[str, str], list[str]] = {}
    entities = set(roles.entities())
    for table, column in metrics.all_columns():
        for name in _named(column):
            of, _, what = name.partition(".")
            text = None if of in entities else _helper(of)
            for role in ((of, what), *(_helper_roles(text, what) if text else ())):
                found.setdefault(role, []).append(f"{table.name}.{column.name}")
    return found


@cache
def _named(column: metrics.Column) -> list[str]:
    """The roles and columns that a column's formula names, on any machine."""
    if column.by:
        told = cpumf_formulas.column_formula(column.name, cpumf_formulas.Trust(unverified=True))
        formulas = [formula for formula in (column.given, told) if formula]
        return list(dict.fromkeys(name for formula in formulas for name in expressions.names(formula)))
    return expressions.names(column.formula) if column.formula else []


@cache
def _helper(name: str) -> str | None:
    """The SQL of a private helper of the measures, if there is one of that name."""
    return nodes.text(f"_{name}") if nodes.is_helper(f"_{name}") else None


def _computed(text: str, name: str) -> str:
    """What a helper's SQL names so; '' where it only passes it on."""
    made = re.search(rf"^(?:SELECT )?\s*(.*?)\s+AS\s+{re.escape(name)}\b", text, re.MULTILINE)
    return made[1].removeprefix("SELECT ").rpartition("* , ")[2] if made else ""


def _entities(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\brole\.(\w+)", text)))


@cache
def _helper_roles(text: str, name: str) -> list[tuple[str, str]]:
    """The roles whose names stand in what a helper computes under a name."""
    words = set(re.findall(r"\w+", _computed(text, name) or name))
    found = [
        (entity, role) for entity in _entities(text) for role in roles.entity(entity).roles if role in words
    ]
    # A helper may stand on another.
    for other in re.findall(r"\b(?:FROM|JOIN)\s+_(\w+)", text):
        below = _helper(other)
        found += [each for word in sorted(words) for each in (_helper_roles(below, word) if below else [])]
    # Or on a measure.
    for table in re.findall(r"\b(?:FROM|JOIN)\s+([a-z]\w*)", text):
        if table in metrics.tables():
            found += [
                each
                for word in sorted(words)
                if metrics.table(table).column(word) is not None
                for each in roles_behind(table, word)
                # The generation is worked out, no role of the counters.
                if each[1] in roles.entity(each[0]).roles
            ]
    return list(dict.fromkeys(found))


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
    return next(iter(_containing(rf'dsect = "{name.upper()}"')), None)


def _mentioning(field: str) -> list[str]:
    return _containing(rf'"(?:\w+_)?{re.escape(field)}"')


def _containing(pattern: str) -> list[str]:
    """Records whose files have the text; parsing them all would be slow."""
    found = re.compile(pattern, re.IGNORECASE)
    root = layouts.pack_root()
    return [
        record
        for record in layouts.records(root)
        if any(found.search(_text(path, path.stat().st_mtime_ns)) for path in _files(record, root))
    ]


def _files(record: str, root: Path) -> list[Path]:
    """The files that describe a record, that of our own pack included."""
    own = layouts.sim_root() / layouts.file_name(record)
    return [*(path for _, path in layouts.files(record, root)), *([own] if own.is_file() else [])]


@cache
def _text(path: Path, changed: int) -> str:
    """A file as it was when it was last changed."""
    return path.read_text(encoding="utf-8")


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
    path = Path(layouts.__file__).parent / "units.toml"
    units = toml.load(path)
    return units[name]["text"] if name in units else name or ""


# Printed reports that readers take apart (RMF)


@cache
def printed_reports() -> tuple[rmf_reports.Report, ...]:
    """All reports whose printed form a reader takes apart."""
    folder = Path(rmf_reports.__file__).parent / "rmf"
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
