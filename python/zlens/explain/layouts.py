"""Text for `zlens catalog show`: the layouts of a record."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path

from zlens.catalog import layouts as catalog
from zlens.catalog import resets
from zlens.catalog.layout_selection import missing_pages, page_url, select_layout
from zlens.catalog.layouts import (
    BUILTIN,
    HEADER_LENGTH,
    KIND_STATUS,
    SIM,
    MonitorField,
    MonitorSection,
    RecordInfo,
    RecordLayout,
    release_key,
)
from zlens.catalog.plans import section_table
from zlens.errors import CatalogError
from zlens.record_pages import packs
from zlens.rendering.text_lines import align_columns, wrap_hanging
from zlens.schema.plain_text import replace_controls
from zlens.schema.wording import phrase

_COLUMNS = ("Dec", "Hex", "Len", "Type", "Kind", "Unit", "Name", "Description")
#: Dec, Hex and Len are right-aligned.
_RIGHT = 3


def describe(record: str, release: str | None = None, root: Path | None = None) -> str:
    """Return the description of a record: its layouts, or the one used for a release."""
    name = record.upper()
    infos = catalog.record_infos(name, root)
    if not infos:
        raise CatalogError(
            f"the catalog does not contain {name}",
            expected="a monitor record such as D0R2",
            cure=phrase("catalog"),
        )
    info = infos[0]
    layouts = catalog.layouts(name, root)
    if release == SIM:
        layouts = catalog.sim_layouts(name)
        if not layouts:
            ordinary = f"zlens' own pack does not describe {name}; its files contain the ordinary record."
            return "\n".join([*_head(info, infos, layouts), "", ordinary]) + "\n"
    lines = _head(info, infos, layouts)
    if release is None or release == SIM:
        shown = layouts
    else:
        length = _length_of(infos, layouts, release)
        selection = select_layout(name, length, release=release, root=root)
        shown = [selection.layout] if selection.layout is not None else []
        lines += ["", f"For release {release} (records of {length} bytes):"] if length else []
        lines += [f"  {problem.detail}" for problem in selection.problems]
    if not layouts:
        lines += ["", "No field is known.", _page(info, release)]
    for layout in shown:
        lines += ["", *_layout(layout, _entry(layout, root))]
    if release is not None:
        lines += _null(name, release, root)
    if release == SIM:
        return "\n".join(lines) + "\n"
    lengths = {version: size for entry in infos for version, size in entry.lengths.items()}
    missing = _missing(info, lengths, release, root)
    if missing:
        lines += ["", *missing]
    return "\n".join(lines) + "\n"


def summary(root: Path | None = None) -> str:
    """Return a table of all records of the catalog: id, class, page and title."""
    infos = (catalog.record_info(record, root) for record in catalog.records(root))
    rows = [(info.record, info.kind, info.dsect, info.title) for info in infos if info is not None]
    return "\n".join(align_columns([("Record", "Class", "Page", "Title"), *rows], [True] * 4)) + "\n"


def _head(head: RecordInfo, infos: list[RecordInfo], layouts: list[RecordLayout]) -> list[str]:
    lines = [f"{head.record}  {head.dsect}  {head.title}", f"class     {head.kind}"]
    lengths = {release: size for entry in infos for release, size in entry.lengths.items()}
    if lengths:
        or_more = " or more" if head.variable else ""
        shown = ", ".join(f"{r} {lengths[r]}" for r in sorted(lengths, key=release_key))
        lines.append(f"lengths   {shown} bytes{or_more}, by release as published")
    subject = layouts[0] if layouts else None
    if subject is not None and (subject.subject or subject.subject_kind):
        columns = ", ".join(subject.subject) or "the entire system"
        lines.append(f"subject   {columns}" + (f" ({subject.subject_kind})" if subject.subject else ""))
    if head.kind == "sample" and subject is not None:
        resetting = [f"{item.kind} ({item.record})" for item in resets.reset_rules_for(subject.subject_kind)]
        resetting += [f"a new {name}" for name in subject.reset_on]
        lines.append(f"resets    {', '.join(resetting)}")
    if head.note:
        lines += wrap_hanging("note      ", head.note)
    if head.changed_by:
        lines += wrap_hanging("changed   ", head.changes)
    return lines


def _entry(layout: RecordLayout, root: Path | None) -> packs.PageEntry | None:
    """Return the entry of a layout's page in its pack; None if the pack was not imported from pages."""
    with contextlib.suppress(CatalogError):
        pages = () if layout.pack in (BUILTIN, SIM) else packs.load(layout.pack, root).pages
        return next((page for page in pages if page.record == layout.record), None)
    return None


def _null(record: str, release: str, root: Path | None) -> list[str]:
    with contextlib.suppress(CatalogError):
        if record in packs.load(release, root).null_records:
            return ["", f"According to the page of {release}, the record is no longer written."]
    return []


def _layout(layout: RecordLayout, entry: packs.PageEntry | None) -> list[str]:
    origin = {BUILTIN: "built in", SIM: "zlens' own, for synthetic files"}.get(
        layout.pack, f"pack {layout.pack}"
    )
    size = f"{layout.length} bytes" + (" or more" if layout.variable else "")
    extent = "complete" if layout.complete else "only some fields are known"
    lines = [f"Layout of release {layout.release} ({origin}): {size}, {extent}"]
    lines += wrap_hanging("  source  ", layout.source)
    if entry is not None:
        # A file name may contain control characters that act on the terminal.
        file = replace_controls(entry.file, "?")
        lines += wrap_hanging("  page    ", f"{file}, imported {entry.when}")
    lines.append(f"  status  {layout.status}")
    if layout.note:
        lines += wrap_hanging("  note    ", layout.note)
    for finding in entry.findings if entry is not None else ():
        lines += wrap_hanging("  but     ", finding)
    lines += _raw(layout) if entry is not None else []
    if layout.callevel:
        lines.append(f"  needs CALLEVEL bits {', '.join(map(str, layout.callevel))}")
    if layout.stable_to is not None:
        lines.append(f"  longer records differ from byte {layout.stable_to} on")
    lines += _fields(layout.fields)
    for section in layout.sections:
        lines += ["", *_section(layout, section)]
    return lines


def _raw(layout: RecordLayout) -> list[str]:
    """Return a line that lists fields whose kind the record page does not state."""
    fields = [f for part in (layout.fields, *(s.fields for s in layout.sections)) for f in part]
    names = [f.name for f in fields if f.kind == "unknown" and not f.reserved]
    if not names:
        return []
    return wrap_hanging("  raw     ", f"{', '.join(names)}: set their kinds in user.toml of the pack")


def _section(layout: RecordLayout, section: MonitorSection) -> list[str]:
    table = f"table {section_table(layout, section)}"
    lines = [f"Section {section.name}: {section.title} ({table}), entries of {section.length} bytes"]
    count = "to the end of the record" if section.count is None else f"count {section.count}"
    if section.join:
        lines.append(f"  joined  from records with the same {', '.join(section.join.same)}")
        sets = ", ".join(counter_set.name for counter_set in section.join.sets)
        lines.append(f"  sets    {sets}: columns c0, c1 ...")
    elif section.arrays:
        lines.append(
            f"  found   one row for each element of {', '.join(array for _, array in section.arrays)}"
        )
    else:
        lines.append(f"  found   at {section.offset}, every {section.stride}, {count}")
    facts = {
        "bytes": section.bound,
        "torn": section.equal and f"where {' and '.join(section.equal)} differ",
        "within": section.within,
        "only": section.match and f"where {section.match[0]} begins with {section.match[1]}",
        "subject": ", ".join(section.subject),
    }
    lines += [f"  {label:<7} {text}" for label, text in facts.items() if text]
    lines += wrap_hanging("  source  ", section.source)
    lines.append(f"  status  {section.status}")
    if section.note:
        lines += wrap_hanging("  note    ", section.note)
    if section.texts:
        lines.append(f"  texts   {', '.join(section.texts)}, each after its two-byte length")
    lines += _fields(section.fields)
    return [*lines, "  after the texts", *_fields(section.tail)] if section.tail else lines


def _fields(fields: tuple[MonitorField, ...]) -> list[str]:
    rows = []
    for field in fields:
        kind = "" if field.reserved else field.kind
        if field.kind_status == "inferred":
            kind += " inferred"
        if field.direction == "down":
            kind += " down"
        name = ("  " if field.overlay else "") + field.name
        if field.count > 1:
            name += f"({field.first}:{field.first + field.count - 1})"
        text = "; ".join(part for part in (field.text, field.remark) if part)
        length = str(field.length) if field.length else "rest"
        rows.append(
            (str(field.offset), f"{field.offset:X}", length, field.type, kind, field.unit or "", name, text)
        )
    if not rows:
        return ["  no fields after the header"]
    counts = Counter(f.kind_status for f in fields if not f.reserved)
    kinds = ", ".join(f"{counts[status]} {status}" for status in KIND_STATUS if counts[status])
    return [
        *align_columns([_COLUMNS, *rows], [index >= _RIGHT for index in range(len(_COLUMNS))]),
        *([f"  kinds: {kinds}"] if kinds else []),
    ]


def _length_of(infos: list[RecordInfo], layouts: list[RecordLayout], release: str) -> int:
    """Return the length of a release's records: as published, of the layout, or of an earlier release."""
    key = release_key(release)
    lengths = {release_key(r): n for head in infos for r, n in head.lengths.items()}
    for layout in layouts:
        lengths.setdefault(release_key(layout.release), layout.length)
    older = [r for r in lengths if r <= key]
    if older:
        return lengths[max(older)]
    return lengths[min(lengths)] if lengths else HEADER_LENGTH


def _missing(head: RecordInfo, lengths: dict[str, int], release: str | None, root: Path | None) -> list[str]:
    """Return what a record page would add, for the requested or the newest published release."""
    if release is not None:
        lengths = {r: n for r, n in lengths.items() if release_key(r) <= release_key(release)}
    if not lengths:
        return []
    newest = max(lengths, key=release_key)
    for need in missing_pages({head.record: [lengths[newest]]}, release=newest, root=root):
        if need.decoded_with is not None:
            message = f"{need.bytes} of {lengths[newest]} bytes of the records of {newest} are not described."
            return [message, _page(head, release or newest)]
    return []


def _page(head: RecordInfo, release: str | None) -> str:
    url = page_url(head.dsect, release)
    return f"The page {head.dsect} describes them: {url} (import it with `zlens catalog import`)."
