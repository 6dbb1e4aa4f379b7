"""Selection of the layout for a record, and of the record pages that would add fields for a file.

A layout is selected by domain, record number and length; then by the CALLEVEL bits of the system
configuration record; then by release. Later releases append fields, so a layout also applies to
longer records up to its end, and a layout of a later release to the bytes after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from zlens.catalog import layouts as catalog
from zlens.catalog import user_roles
from zlens.catalog.layouts import BUILTIN, HEADER_LENGTH, SIM, MonitorField, RecordLayout, release_key


class LayoutProblem(Struct, frozen=True):
    """Reason why records of one length are not decoded completely; `kind` is one of `problems.KINDS`."""

    kind: str
    detail: str
    #: Bytes of each such record that are not decoded.
    bytes: int


class LayoutSelection(Struct, frozen=True):
    """Layout for records of one length (None if none is known), and the problems with it."""

    record: str
    length: int
    layout: RecordLayout | None
    problems: tuple[LayoutProblem, ...]


class MissingPage(Struct, frozen=True):
    """Record page that would add fields for the records of a file."""

    record: str
    title: str
    #: Name of the record page, such as MRSYTPRP; None for an unknown record.
    page: str | None
    url: str | None
    #: no layout, partial or longer
    reason: str
    #: Maximum number of bytes of one record that are not decoded.
    bytes: int
    lengths: tuple[int, ...]
    #: The current layout, such as `5.3`; None if there is none.
    decoded_with: str | None
    #: The note of a partial layout, which says what is not known.
    note: str | None


def select_layout(
    record: str,
    length: int,
    *,
    callevel: bytes | None = None,
    release: str | None = None,
    needed: Collection[str] | None = None,
    root: Path | None = None,
) -> LayoutSelection:
    """Return the layout for records of this length.

    `callevel` are the bits of the system configuration record and `release` its release, if known.
    `needed` are the fields that the caller requires; a field on which layouts disagree is always omitted, but
    only a needed one is reported (None: all are needed). The release `zlens-sim` means files written with
    zlens' own pack, which is used for no other files.
    """
    sim_layouts = catalog.sim_layouts(record) if release == SIM else []
    fitting = [
        layout for layout in sim_layouts or catalog.layouts(record, root) if _allowed(layout, callevel)
    ]
    if not fitting:
        problem = LayoutProblem(
            "no_layout", f"no layout is known for {record}", max(length - HEADER_LENGTH, 0)
        )
        return LayoutSelection(record, length, None, (problem,))
    group = _by_length(fitting, length)
    selected, rivals = _by_release(group, release)
    problems: list[LayoutProblem] = []
    layout = _agreed_layout(selected, rivals, needed, problems)
    if length > layout.length:
        layout = _for_longer_records(layout, fitting, length, problems)
    elif length < layout.length:
        detail = (
            f"records of {length} bytes are shorter than the layout of {_label(layout)} ({layout.length})"
        )
        problems.append(LayoutProblem("short", detail, 0))
    if not layout.complete:
        known_end = max((field.end for field in layout.fields), default=HEADER_LENGTH)
        if known_end < length:
            detail = f"of {_label(layout)} only the first {known_end} bytes are known"
            problems.append(LayoutProblem("long", detail, length - known_end))
    return LayoutSelection(record, length, user_roles.bind_layout(layout), tuple(problems))


def missing_pages(
    inventory: Mapping[str, Iterable[int]],
    *,
    release: str | None = None,
    callevel: bytes | None = None,
    root: Path | None = None,
) -> list[MissingPage]:
    """Return the record pages that would add fields, for record ids and the lengths that occur."""
    needed_pages = []
    for record in sorted(inventory, key=catalog.record_key):
        lengths = tuple(sorted(set(inventory[record])))
        choices = [
            select_layout(record, length, callevel=callevel, release=release, needed=(), root=root)
            for length in lengths
        ]
        undecoded = [sum(problem.bytes for problem in choice.problems) for choice in choices]
        if not any(undecoded):
            continue
        worst = choices[undecoded.index(max(undecoded))]
        layout = worst.layout
        info = catalog.record_info(record, root)
        page = info.dsect if info else None
        needed_pages.append(
            MissingPage(
                record=record,
                title=info.title if info else "not known to the catalog",
                page=page,
                url=page_url(page, release) if page else None,
                reason="no layout" if layout is None else "longer" if layout.complete else "partial",
                bytes=max(undecoded),
                lengths=lengths,
                decoded_with=None if layout is None else _label(layout),
                note=None if layout is None or layout.complete else layout.note,
            )
        )
    return needed_pages


#: Releases whose record pages are published, at the older and the newer address.
_OLD_PAGES = ("4.2", "4.3", "4.4", "5.1", "5.2", "5.3", "5.4", "6.1", "6.2", "6.3", "6.4", "7.1", "7.2")
_NEW_PAGES = ("7.3", "7.4", "7.5")


def page_url(page: str, release: str | None) -> str:
    """Return the address of IBM's record page; for an unknown release, of the newest one."""
    short = ".".join(str(part) for part in release_key(release)[:2])
    digits = short.replace(".", "")
    if short in _OLD_PAGES:
        return f"https://www.vm.ibm.com/pubs/mon{digits}0/{page.upper()}.HTML"
    if short not in _NEW_PAGES:
        digits = _NEW_PAGES[-1].replace(".", "")
    return f"https://www.ibm.com/support/pages/zvm/pubs/mon{digits}0/{page.lower()}.html"


def _allowed(layout: RecordLayout, callevel: bytes | None) -> bool:
    """Return whether the bits that a layout requires are on; bit 0 is the leftmost."""
    known = callevel or b""
    return all(bit // 8 < len(known) and known[bit // 8] & (0x80 >> bit % 8) for bit in layout.callevel)


def _by_length(fitting: list[RecordLayout], length: int) -> list[RecordLayout]:
    """Return the layouts of the best length: the greatest not above the record's, else the smallest above.

    A partial layout is selected only if its length is nearer and it covers more bytes of the record.
    """
    complete = _nearest([layout for layout in fitting if layout.complete], length)
    partial = _nearest([layout for layout in fitting if not layout.complete], length)
    if not complete or not partial:
        return complete or partial
    if _distance(complete[0], length) <= _distance(partial[0], length):
        return complete
    partial_knows_more = max(_known_bytes(layout, length) for layout in partial) > max(
        _known_bytes(layout, length) for layout in complete
    )
    return partial if partial_knows_more else complete


def _distance(layout: RecordLayout, length: int) -> tuple[bool, int]:
    return layout.length > length, abs(layout.length - length)


def _nearest(fitting: list[RecordLayout], length: int) -> list[RecordLayout]:
    if not fitting:
        return []
    within = [layout.length for layout in fitting if layout.length <= length]
    best = max(within) if within else min(layout.length for layout in fitting)
    group = [layout for layout in fitting if layout.length == best]
    # A layout that requires these bits is more specific than one that requires none.
    by_callevel = [layout for layout in group if layout.callevel]
    return by_callevel or group


def _by_release(group: list[RecordLayout], release: str | None) -> tuple[RecordLayout, list[RecordLayout]]:
    """Return the layout of the nearest release, preferably not a newer one, and the others that fit."""
    key = release_key(release)

    def order(layout: RecordLayout) -> tuple[bool, list[int], bool]:
        layout_key = release_key(layout.release)
        newer = layout_key > key
        # Nearest first: backwards among the older ones, forwards among the newer ones.
        return newer, [part if newer else -part for part in layout_key], layout.pack == BUILTIN

    if not key:
        ordered = sorted(
            group, key=lambda layout: (release_key(layout.release), layout.pack != BUILTIN), reverse=True
        )
        return ordered[0], ordered[1:]
    ordered = sorted(group, key=order)
    selected = ordered[0]
    if release_key(selected.release) == key:
        return selected, [layout for layout in ordered[1:] if release_key(layout.release) == key]
    return selected, ordered[1:]


def _agreed_layout(
    layout: RecordLayout,
    rivals: list[RecordLayout],
    needed: Collection[str] | None,
    problems: list[LayoutProblem],
) -> RecordLayout:
    """Return the layout without the fields that a rival has at another offset or as another kind."""
    dropped: dict[str, RecordLayout] = {}
    for rival in rivals:
        for field in layout.fields:
            if not field.reserved and field.name not in dropped and _differs(field, rival):
                dropped[field.name] = rival
    if not dropped:
        return layout
    for name, rival in dropped.items():
        if needed is None or name in needed:
            releases = f"{_label(layout)} and {_label(rival)}"
            detail = f"the layouts of {releases} both fit and differ in {name}, which is not decoded"
            problems.append(LayoutProblem("no_layout", detail, 0))
    return _with_fields(layout, [f for f in layout.fields if f.name not in dropped])


def _differs(field: MonitorField, rival: RecordLayout) -> bool:
    rival_field = rival.field(field.name)
    if rival_field is not None:
        moved = (rival_field.offset, rival_field.length, rival_field.count) != (
            field.offset,
            field.length,
            field.count,
        )
        kinds = {field.kind, rival_field.kind} - {"unknown"}
        return moved or len(kinds) > 1
    if field.overlay:
        return False
    return any(
        other.offset < field.end and field.offset < other.end
        for other in rival.fields
        if not other.reserved and not other.overlay and other.length
    )


def _for_longer_records(
    layout: RecordLayout, fitting: list[RecordLayout], length: int, problems: list[LayoutProblem]
) -> RecordLayout:
    """Return a layout for a record that is longer than the layout."""
    if layout.variable:
        return layout
    if layout.stable_to is not None:
        stable_fields = [field for field in layout.fields if field.end <= layout.stable_to]
        detail = (
            f"records of {length} bytes are longer than the layout of {_label(layout)} ({layout.length}) "
            f"and differ from byte {layout.stable_to} on"
        )
        problems.append(LayoutProblem("long", detail, length - layout.stable_to))
        return _with_fields(layout, stable_fields)
    tail, later = _tail(layout, fitting, length)
    if later is not None:
        return replace(
            layout,
            length=length,
            fields=(*layout.fields, *tail),
            note=f"from byte {layout.length} on as {_label(later)}",
        )
    if layout.complete:
        detail = f"records of {length} bytes are longer than the layout of {_label(layout)} ({layout.length})"
        problems.append(LayoutProblem("long", detail, length - layout.length))
    return layout


def _tail(
    layout: RecordLayout, fitting: list[RecordLayout], length: int
) -> tuple[list[MonitorField], RecordLayout | None]:
    """Return fields beyond a layout's end from the nearest longer layout that agrees with it up to there."""
    longer = sorted(
        (layout for layout in fitting if layout.complete and layout.length > length),
        key=lambda layout: layout.length,
    )
    for candidate in longer:
        if any(not field.reserved and _differs(field, candidate) for field in layout.fields):
            continue
        return [
            field for field in candidate.fields if field.offset >= layout.length and field.end <= length
        ], candidate
    return [], None


def _with_fields(layout: RecordLayout, fields: list[MonitorField]) -> RecordLayout:
    names = {field.name for field in fields}
    return replace(
        layout,
        fields=tuple(fields),
        subject=tuple(name for name in layout.subject if name in names),
        reset_on=tuple(name for name in layout.reset_on if name in names),
        sections=tuple(
            section
            for section in layout.sections
            if all(
                reference in names
                for reference in (section.offset, section.stride, section.count)
                if isinstance(reference, str)
            )
        ),
    )


def _known_bytes(layout: RecordLayout, length: int) -> int:
    """Return the number of bytes of a record that fields other than reserved ones cover."""
    covered: set[int] = set()
    for field in layout.fields:
        if not field.reserved:
            covered.update(range(field.offset, min(field.end, length)))
    return len(covered)


def _label(layout: RecordLayout) -> str:
    return layout.release if layout.pack in (BUILTIN, SIM) else f"pack {layout.pack}"
