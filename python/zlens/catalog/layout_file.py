"""Files of records: their tables and consistency rules. `_skeleton.toml` shows every key."""

from __future__ import annotations

from typing import Annotated

from msgspec.structs import asdict

from zlens.catalog.fields import MonitorSection, Names, SectionKeys, Size
from zlens.catalog.layouts import HeadKeys, LayoutKeys, RecordFile, RecordInfo, RecordLayout, record_key
from zlens.schema import document, structs
from zlens.schema.structs import FactTable, attributes, doc
from zlens.schema.validators import DocumentErrors

_CURE = "correct the file or import the pages again"


class _Match(FactTable, frozen=True):
    field: Annotated[str, doc("a field of an entry")]
    hex: Annotated[str, doc("its value")]


class _Section(SectionKeys, frozen=True, kw_only=True):
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
    section: Annotated[tuple[_Section, ...], doc("its sections")] = ()


class RecordTable(HeadKeys, frozen=True, kw_only=True):
    """The file of a record."""

    subject: Annotated[Names, doc("fields that identify its subject")] = ()
    subject_kind: Annotated[str | None, doc("the kind of subject")] = None
    reset_on: Annotated[Names, doc("fields whose change resets its counters")] = ()
    layout: Annotated[tuple[_Layout, ...], doc("its layouts")] = ()


def parse_record_info(text: str, pack: str, path: str) -> RecordInfo:
    """Return the facts of a record without its layouts, from the lines of its file before them."""
    return _head(_table(text, path), pack)


def file(text: str, pack: str, path: str) -> RecordFile:
    """Return a record and its layouts from the text of its file; CatalogError if it is invalid."""
    problem = DocumentErrors(path, text=text)
    table = _table(text, path)
    info = _head(table, pack)
    layouts = [
        _layout(layout, info, table, f"layout[{number}]", problem)
        for number, layout in enumerate(table.layout, 1)
    ]
    return RecordFile(info, table.subject, table.subject_kind, table.reset_on, tuple(layouts))


def _table(text: str, path: str) -> RecordTable:
    values = document.parse_toml(text, path, cure=_CURE)
    return structs.convert(values, RecordTable, DocumentErrors(path, text=text))


def _head(table: RecordTable, pack: str) -> RecordInfo:
    domain, number = record_key(table.record)
    keys = attributes(table, *HeadKeys.__struct_fields__)
    return RecordInfo(**keys, domain=domain, number=number, pack=pack)


def _layout(
    layout: _Layout, info: RecordInfo, table: RecordTable, location: str, problem: DocumentErrors
) -> RecordLayout:
    names = {field.name for field in layout.fields}
    sections = [
        _section(section, layout, f"{location}.section[{number}]", problem)
        for number, section in enumerate(layout.section, 1)
    ]
    values = asdict(layout)
    del values["section"]
    return RecordLayout(
        **values,
        **info.identity(),
        # A partial layout may not have all fields that identify a subject or reset it.
        subject=tuple(name for name in table.subject if name in names),
        subject_kind=table.subject_kind,
        reset_on=tuple(name for name in table.reset_on if name in names),
        sections=tuple(sections),
    )


def _section(section: _Section, layout: _Layout, location: str, problem: DocumentErrors) -> MonitorSection:
    values = asdict(section)
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
