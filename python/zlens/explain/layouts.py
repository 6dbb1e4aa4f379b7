"""What the catalog knows of a record, as text for `zlens catalog show`."""

from __future__ import annotations

import contextlib
import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from zlens.catalog import layouts as catalog
from zlens.catalog import resets
from zlens.catalog.layout_choice import choose, needs, page_url
from zlens.catalog.layouts import (
    BUILTIN,
    HEADER_LENGTH,
    KIND_STATUS,
    SIM,
    Field,
    Head,
    Layout,
    Section,
    release_key,
)
from zlens.catalog.plans import section_table
from zlens.errors import CatalogError
from zlens.pages import packs
from zlens.present.aligned import aligned
from zlens.schema.wording import say

_WIDTH = 100
_COLUMNS = ("Dec", "Hex", "Len", "Type", "Kind", "Unit", "Name", "Description")
#: Dec, Hex and Len stand to the right.
_RIGHT = 3


def describe(record: str, release: str | None = None, root: Path | None = None) -> str:
    """Everything known of a record: its layouts, or with a release the one used for that release."""
    name = record.upper()
    heads = catalog.heads(name, root)
    if not heads:
        raise CatalogError(
            f"the catalog does not know {name}",
            expected="a monitor record such as D0R2",
            cure=say("catalog"),
        )
    head = heads[0]
    known = catalog.layouts(name, root)
    if release == SIM:
        known = catalog.sim_layouts(name)
        if not known:
            ordinary = f"zlens' own pack does not describe {name}; its files have the ordinary records of it."
            return "\n".join([*_head(head, heads, known), "", ordinary]) + "\n"
    lines = _head(head, heads, known)
    if release is None or release == SIM:
        shown = known
    else:
        length = _length_of(heads, known, release)
        chosen = choose(name, length, release=release, root=root)
        shown = [chosen.layout] if chosen.layout is not None else []
        lines += ["", f"For release {release} (records of {length} bytes):"] if length else []
        lines += [f"  {problem.detail}" for problem in chosen.problems]
    if not known:
        lines += ["", "No field is known.", _page(head, release)]
    for layout in shown:
        lines += ["", *_layout(layout, _entry(layout, root))]
    if release is not None:
        lines += _null(name, release, root)
    if release == SIM:
        return "\n".join(lines) + "\n"
    lengths = {r: n for each in heads for r, n in each.lengths.items()}
    missing = _missing(head, lengths, release, root)
    if missing:
        lines += ["", *missing]
    return "\n".join(lines) + "\n"


def summary(root: Path | None = None) -> str:
    """One line for each record of the catalog: id, class, page and title."""
    rows = [(head.record, head.kind, head.dsect, head.title) for head in _first_heads(root)]
    return "\n".join(aligned([("Record", "Class", "Page", "Title"), *rows], [True] * 4)) + "\n"


def _first_heads(root: Path | None) -> Iterable[Head]:
    for record in catalog.records(root):
        head = catalog.head(record, root)
        if head is not None:
            yield head


def _head(head: Head, heads: list[Head], known: list[Layout]) -> list[str]:
    lines = [f"{head.record}  {head.dsect}  {head.title}", f"class     {head.kind}"]
    lengths = {release: n for each in heads for release, n in each.lengths.items()}
    if lengths:
        more = " or more" if head.variable else ""
        shown = ", ".join(f"{r} {lengths[r]}" for r in sorted(lengths, key=release_key))
        lines.append(f"lengths   {shown} bytes{more}, by release as published")
    subject = known[0] if known else None
    if subject is not None and (subject.subject or subject.subject_kind):
        of = ", ".join(subject.subject) or "the whole system"
        lines.append(f"subject   {of}" + (f" ({subject.subject_kind})" if subject.subject else ""))
    if head.kind == "sample" and subject is not None:
        told = [f"{item.kind} ({item.record})" for item in resets.concerning(subject.subject_kind)]
        told += [f"a new {name}" for name in subject.reset_on]
        lines.append(f"resets    {', '.join(told)}")
    if head.note:
        lines += _wrapped("note      ", head.note)
    return lines


def _entry(layout: Layout, root: Path | None) -> packs.PageEntry | None:
    """What the layout's pack says of the page it was made of; packs of other making say nothing."""
    with contextlib.suppress(CatalogError):
        pages = () if layout.pack in (BUILTIN, SIM) else packs.load(layout.pack, root).pages
        return next((page for page in pages if page.record == layout.record), None)
    return None


def _null(record: str, release: str, root: Path | None) -> list[str]:
    with contextlib.suppress(CatalogError):
        if record in packs.load(release, root).null_records:
            return ["", f"The page of {release} says that the record is no longer produced."]
    return []


def _layout(layout: Layout, entry: packs.PageEntry | None) -> list[str]:
    of = {BUILTIN: "built in", SIM: "zlens' own, for files made with it"}.get(
        layout.pack, f"pack {layout.pack}"
    )
    size = f"{layout.length} bytes" + (" or more" if layout.variable else "")
    extent = "complete" if layout.complete else "only some fields are known"
    lines = [f"Layout of release {layout.release} ({of}): {size}, {extent}"]
    lines += _wrapped("  source  ", layout.source)
    if entry is not None:
        # A file's name may hold what a terminal takes for a command.
        file = "".join(c if c.isprintable() else "?" for c in entry.file)
        lines += _wrapped("  page    ", f"{file}, read in {entry.when}")
    lines.append(f"  status  {layout.status}")
    if layout.note:
        lines += _wrapped("  note    ", layout.note)
    for finding in entry.findings if entry is not None else ():
        lines += _wrapped("  but     ", finding)
    lines += _raw(layout) if entry is not None else []
    if layout.callevel:
        lines.append(f"  needs CALLEVEL bits {', '.join(map(str, layout.callevel))}")
    if layout.stable_to is not None:
        lines.append(f"  longer records differ from byte {layout.stable_to} on")
    lines += _fields(layout.fields)
    for section in layout.sections:
        lines += ["", *_section(layout, section)]
    return lines


def _raw(layout: Layout) -> list[str]:
    """Fields of which the page does not say what they are."""
    fields = [f for part in (layout.fields, *(s.fields for s in layout.sections)) for f in part]
    names = [f.name for f in fields if f.kind == "unknown" and not f.reserved]
    if not names:
        return []
    return _wrapped("  raw     ", f"{', '.join(names)}: user.toml of the pack can say what they are")


def _section(layout: Layout, section: Section) -> list[str]:
    table = f"table {section_table(layout, section)}"
    lines = [f"Section {section.name}: {section.title} ({table}), entries of {section.length} bytes"]
    count = "to the end of the record" if section.count is None else f"count {section.count}"
    if section.join:
        lines.append(f"  joined  of records with the same {', '.join(section.join.same)}")
        lines.append(f"  sets    {', '.join(each.name for each in section.join.sets)}: columns c0, c1 ...")
    elif section.arrays:
        lines.append(
            f"  found   one row for each element of {', '.join(array for _, array in section.arrays)}"
        )
    else:
        lines.append(f"  found   at {section.offset}, every {section.stride}, {count}")
    if section.bound:
        lines.append(f"  bytes   {section.bound}")
    if section.equal:
        lines.append(f"  torn    where {' and '.join(section.equal)} differ")
    if section.within:
        lines.append(f"  within  {section.within}")
    if section.match:
        lines.append(f"  only    where {section.match[0]} begins with {section.match[1]}")
    if section.subject:
        lines.append(f"  subject {', '.join(section.subject)}")
    lines += _wrapped("  source  ", section.source)
    lines.append(f"  status  {section.status}")
    if section.note:
        lines += _wrapped("  note    ", section.note)
    if section.texts:
        lines.append(f"  texts   {', '.join(section.texts)}, each behind its length of two bytes")
    lines += _fields(section.fields)
    return [*lines, "  behind the texts", *_fields(section.tail)] if section.tail else lines


def _fields(fields: tuple[Field, ...]) -> list[str]:
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
        text = "; ".join(part for part in (field.text, field.note) if part)
        length = str(field.length) if field.length else "rest"
        rows.append(
            (str(field.offset), f"{field.offset:X}", length, field.type, kind, field.unit or "", name, text)
        )
    if not rows:
        return ["  no fields behind the header"]
    counts = Counter(f.kind_status for f in fields if not f.reserved)
    said = ", ".join(f"{counts[status]} {status}" for status in KIND_STATUS if counts[status])
    return [
        *aligned([_COLUMNS, *rows], [at >= _RIGHT for at in range(len(_COLUMNS))]),
        *([f"  kinds: {said}"] if said else []),
    ]


def _length_of(heads: list[Head], known: list[Layout], release: str) -> int:
    """How long records of a release are: as published, else as the layouts say, else as before."""
    key = release_key(release)
    lengths = {release_key(r): n for head in heads for r, n in head.lengths.items()}
    for layout in known:
        lengths.setdefault(release_key(layout.release), layout.length)
    older = [r for r in lengths if r <= key]
    if older:
        return lengths[max(older)]
    return lengths[min(lengths)] if lengths else HEADER_LENGTH


def _missing(head: Head, lengths: dict[str, int], release: str | None, root: Path | None) -> list[str]:
    """What a page would add, for the release asked for or the newest published one."""
    if release is not None:
        lengths = {r: n for r, n in lengths.items() if release_key(r) <= release_key(release)}
    if not lengths:
        return []
    newest = max(lengths, key=release_key)
    for need in needs({head.record: [lengths[newest]]}, release=newest, root=root):
        if need.decoded_with is not None:
            what = f"Of records of {newest} ({lengths[newest]} bytes) {need.bytes} bytes are not described."
            return [what, _page(head, release or newest)]
    return []


def _page(head: Head, release: str | None) -> str:
    url = page_url(head.dsect, release)
    return f"The page {head.dsect} has them: {url} (read it in with `zlens catalog import`)."


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=label, subsequent_indent=" " * len(label), break_long_words=False
    )
