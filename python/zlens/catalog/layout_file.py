"""Files of records: their tables and consistency rules. `_skeleton.toml` shows every key."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from msgspec.structs import asdict, replace

from zlens.catalog import layouts
from zlens.catalog.fields import MonitorField, MonitorSection, Names, SectionKeys, Size
from zlens.catalog.layouts import (
    SIM,
    HeadKeys,
    LayoutKeys,
    RecordFile,
    RecordId,
    RecordInfo,
    RecordLayout,
    record_key,
)
from zlens.errors import CatalogError
from zlens.schema import document, structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable, attributes, doc
from zlens.schema.validators import DocumentErrors

_CURE = "correct the file or import the pages again"


#: Keys that a source can state for all its layouts.
_Status = Annotated[str | None, doc("how well it is known, if its source does not say that")]
_Complete = Annotated[bool | None, doc("whether all its fields are known, if its source does not say that")]


class _Match(FactTable, frozen=True):
    field: Annotated[str, doc("a field of an entry")]
    hex: Annotated[str, doc("its value")]


class LayoutSource(SourcedTable, frozen=True, kw_only=True):
    """What describes many layouts, which name it as their source."""

    complete: Annotated[bool, doc("whether it has all their fields")] = False


class _Section(SectionKeys, frozen=True, kw_only=True):
    status: _Status = None  # type: ignore[assignment]
    length: Annotated[Size | None, doc("the length of an entry")] = None
    offset: Annotated[Size | str | None, doc("where it begins: a number, or its field")] = None
    stride: Annotated[Size | str | None, doc("from entry to entry: a number, or its field")] = None
    match: Annotated[_Match | None, doc("which entries belong to it")] = None
    arrays: Annotated[dict[str, str], doc("arrays of the record that are its columns")] = {}

    def __post_init__(self) -> None:
        for key in ("length", "offset", "stride"):
            if getattr(self, key) is None and not self.arrays:
                raise ValueError(f"{key} is missing")


class _Layout(LayoutKeys, frozen=True, kw_only=True):
    complete: _Complete = None  # type: ignore[assignment]
    status: _Status = None  # type: ignore[assignment]
    section: Annotated[tuple[_Section, ...], doc("its sections")] = ()


class SyntheticTable(FactTable, frozen=True, kw_only=True):
    """The file of zlens' own layout of a record."""

    extends: Annotated[
        str, doc("release of the record's layout whose other fields and sections it has, too")
    ] = ""
    length: Annotated[Size, doc("the length of the record")]
    variable: Annotated[bool, doc("whether that is the minimum")] = False
    source: Annotated[str, doc("where its fields are described")]
    note: Annotated[str | None, doc("a note")] = None
    subject: Annotated[Names, doc("fields that identify its subject, if others")] = ()
    subject_kind: Annotated[str | None, doc("the kind of subject, if another")] = None
    reset_on: Annotated[Names, doc("fields whose change resets its counters")] = ()
    fields: Annotated[tuple[MonitorField, ...], doc("its fields")] = ()
    section: Annotated[tuple[_Section, ...], doc("its sections")] = ()


class RecordTable(HeadKeys, frozen=True, kw_only=True):
    """The file of a record."""

    record: Annotated[RecordId, doc("its id, if the file is not named after it")] = ""
    subject: Annotated[Names, doc("fields that identify its subject")] = ()
    subject_kind: Annotated[str | None, doc("the kind of subject")] = None
    reset_on: Annotated[Names, doc("fields whose change resets its counters")] = ()
    layout: Annotated[tuple[_Layout, ...], doc("its layouts")] = ()


@cache
def _sources() -> dict[str, LayoutSource]:
    return structs.load(FACTS / "zvm" / "layout_sources.toml", dict[str, LayoutSource])


def parse_record_info(text: str, pack: str, path: str) -> RecordInfo:
    """Return the facts of a record without its layouts, from the lines of its file before them."""
    return _head(_table(text, path), pack, path)


def file(text: str, pack: str, path: str) -> RecordFile:
    """Return a record and its layouts from the text of its file; CatalogError if it is invalid."""
    problem = DocumentErrors(path, text=text)
    if pack == SIM:
        values = document.parse_toml(text, path, cure=_CURE)
        return _synthetic(structs.convert(values, SyntheticTable, problem), path, problem)
    table = _table(text, path)
    info = _head(table, pack, path)
    subject = (table.subject, table.subject_kind, table.reset_on)
    own = [
        _layout(layout, info, subject, f"layout[{number}].", problem)
        for number, layout in enumerate(table.layout, 1)
    ]
    return RecordFile(info, *subject, tuple(own))


def _table(text: str, path: str) -> RecordTable:
    values = document.parse_toml(text, path, cure=_CURE)
    return structs.convert(values, RecordTable, DocumentErrors(path, text=text))


def _head(table: RecordTable, pack: str, path: str) -> RecordInfo:
    keys = attributes(table, *HeadKeys.__struct_fields__)
    keys["record"] = table.record or layouts.record_of_file(Path(path).name)
    domain, number = record_key(keys["record"])
    return RecordInfo(**keys, domain=domain, number=number, pack=pack)


def _synthetic(table: SyntheticTable, path: str, problem: DocumentErrors) -> RecordFile:
    """Return a record with zlens' own layout, completed by what the record's file says."""
    beside = layouts.MONITOR_FOLDER / Path(path).name
    if not beside.is_file():
        record = layouts.record_of_file(beside.name)
        cure = "describe the record in records/ first"
        raise CatalogError(f"no real layout file describes {record}", file=path, cure=cure)
    real = layouts.read(beside)
    bases = {layout.release: layout for layout in real.layouts}
    if table.extends and table.extends not in bases:
        raise problem.value("extends", table.extends, f"a release with a layout: {', '.join(bases)}")
    keys = attributes(table, "length", "variable", "source", "note", "fields", "section")
    layout = _Layout(release=SIM, complete=True, status="constructed", **keys)
    sections: dict[str, MonitorSection] = {}
    if base := bases.get(table.extends):
        layout = replace(layout, fields=_extended(base.fields, table.fields))
        sections = {section.name: section for section in base.sections}
    info = RecordInfo(**real.head.identity() | {"pack": SIM})
    subject = (
        table.subject or real.subject,
        table.subject_kind or real.subject_kind,
        table.reset_on or real.reset_on,
    )
    own = _layout(layout, info, subject, "", problem)
    sections |= {section.name: section for section in own.sections}
    return RecordFile(info, *subject, (replace(own, sections=tuple(sections.values())),))


def _extended(base: Iterable[MonitorField], own: tuple[MonitorField, ...]) -> tuple[MonitorField, ...]:
    """Return fields by offset: own ones, and those of a base whose bytes they do not take."""
    taken = {byte for field in own for byte in range(field.offset, field.end)}
    kept = (field for field in base if taken.isdisjoint(range(field.offset, field.end)))
    return tuple(sorted((*kept, *own), key=lambda field: field.offset))


def _layout(
    layout: _Layout,
    info: RecordInfo,
    subject: tuple[Names, str | None, Names],
    location: str,
    problem: DocumentErrors,
) -> RecordLayout:
    names = {field.name for field in layout.fields}
    sections = [
        _section(section, layout, f"{location}section[{number}]", problem)
        for number, section in enumerate(layout.section, 1)
    ]
    values = _described(asdict(layout), location, problem)
    values["complete"] = bool(values["complete"])
    del values["section"]
    identifying, kind, reset_on = subject
    return RecordLayout(
        **values,
        **info.identity(),
        # A partial layout may not have all fields that identify a subject or reset it.
        subject=tuple(name for name in identifying if name in names),
        subject_kind=kind,
        reset_on=tuple(name for name in reset_on if name in names),
        sections=tuple(sections),
    )


def _described(values: dict[str, Any], location: str, problem: DocumentErrors) -> dict[str, Any]:
    """Return keys of a layout or section; a shared source adds what they do not state."""
    shared = _sources().get(values["source"])
    if shared is not None:
        values["source"] = shared.source
        keys = attributes(shared, "status", "complete")
        values |= {key: known for key, known in keys.items() if values.get(key, known) is None}
    if values["status"] is None:
        what = "how well it is known"
        where = f"{location}status"
        raise problem.general_error(f"{where} is missing: {what}", "add status", "a text", where)
    return values


def _section(section: _Section, layout: _Layout, location: str, problem: DocumentErrors) -> MonitorSection:
    values = _described(asdict(section), f"{location}.", problem)
    if section.arrays:
        # Their offsets follow from the arrays.
        values |= {"length": 0, "offset": 0, "stride": 1, "count": 0}
    match = None if section.match is None else (section.match.field, section.match.hex)
    values |= {"arrays": tuple(section.arrays.items()), "match": match}
    placed = MonitorSection(**values).placed(layout.fields)
    if placed is None:
        raise problem.general_error(
            f"{location}.arrays names no field of the record", where=f"{location}.arrays"
        )
    return placed
