"""The files of records: their keys and how these must fit together. `_skeleton.toml` shows every key."""

from __future__ import annotations

import re
from typing import Any

from zlens.catalog.fields import JoinedCounterSet, MonitorField, MonitorSection, RecordJoin
from zlens.catalog.layouts import LARGEST, RecordFile, RecordInfo, RecordLayout, record_key
from zlens.schema import document
from zlens.schema.validators import Boolean, DocumentErrors, Integer, Key, ListOf, MapOf, OneOf, Spec, Text

_CURE = "correct the file or import the pages again"
_TEXT = Text()
_RECORD = Text(12, 1, re.compile(r"D\d{1,2}R\d{1,5}"), "a monitor record: an id such as D0R2")
_NAMES = ListOf(_TEXT, into=tuple)
_PAIR = ListOf(_TEXT, 2, 2, into=tuple)
_SIZE = Integer(0, LARGEST)
_COUNT = Integer(1, LARGEST)
_PLACE = OneOf(_SIZE, _TEXT)


def _field(at: int, len: int, type: Any, **values: Any) -> MonitorField:
    # The content of a reserved area is unknown: it is bytes. _typed rejects any other field without a type.
    kind = "character" if type is None and values["name"] == "*" else type
    return MonitorField(offset=at, length=len, type=kind, **values)


_FIELDS = ListOf(
    Spec(
        (
            Key("name", _TEXT, "the name on its page"),
            Key("at", _SIZE, "its offset"),
            Key("len", _SIZE, "its length in bytes"),
            Key("type", _TEXT, "how to read its bytes", default=None),
            Key("kind", _TEXT, "what it is", default="unknown"),
            Key("kind_status", _TEXT, "how well that is known", default="unknown"),
            Key("unit", _TEXT, "what it counts", default=None),
            Key("text", _TEXT, "what the page says of it", default=None),
            Key("direction", _TEXT, "whether it counts up", default=None),
            Key("overlay", Boolean(), "whether it overlays another", default=False),
            Key("count", _COUNT, "how many elements it has", default=1),
            Key("first", _SIZE, "the number of its first element", default=1),
            Key("note", _TEXT, "a remark", default=None),
        ),
        _field,
    ),
    into=tuple,
)
_JOIN = Spec(
    (
        Key("more", _TEXT, "the field that shows whether more follows"),
        Key("more_bit", _COUNT, "its bit"),
        Key("same", _NAMES, "fields that are the same in all parts", default=()),
        Key("within_us", Integer(), "how far apart parts may be, in microseconds"),
        Key("length", _TEXT, "the field with the length", default=None),
        Key("active", _TEXT, "the field with the active sets"),
        Key("cfvn", _TEXT, "the field with the first version number"),
        Key("csvn", _TEXT, "the field with the second version number"),
        Key(
            "sets",
            ListOf(
                Spec(
                    (
                        Key("name", _TEXT, "its letter"),
                        Key("bit", _COUNT, "its bit in the active sets"),
                        Key("offset", _TEXT, "the field with its offset", default=None),
                        Key("length", _TEXT, "the field with its length", default=None),
                    ),
                    JoinedCounterSet,
                ),
                into=tuple,
            ),
            "the counter sets",
        ),
    ),
    RecordJoin,
)
_MATCH = Spec(
    (Key("field", _TEXT, "a field of an entry"), Key("hex", _TEXT, "its value")),
    lambda field, hex: (field, hex),
)
_SECTION = Spec(
    (
        Key("name", _TEXT, "its name"),
        Key("title", _TEXT, "what it is"),
        Key("length", _SIZE, "the length of an entry", default=None),
        Key("offset", _PLACE, "where it begins: a number, or the field that gives it", default=None),
        Key("stride", _PLACE, "from entry to entry: a number, or the field that gives it", default=None),
        Key("count", _PLACE, "how many entries: a number, or the field that gives it", default=None),
        Key("fields", _FIELDS, "the fields of an entry", default=()),
        Key("subject", _NAMES, "fields that identify entries", default=()),
        Key("subject_kind", _TEXT, "the subject of an entry", default=None),
        Key("match", _MATCH, "which entries belong to it", default=None),
        Key("within", _TEXT, "the section it is in", default=None),
        Key("source", _TEXT, "where it is described"),
        Key("status", _TEXT, "how well it is known"),
        Key("note", _TEXT, "a remark", default=None),
        Key("bound", _TEXT, "the field with its end", default=None),
        Key("inner", _PAIR, "fields with place and number of what is in an entry", default=None),
        Key("equal", _PAIR, "fields that are equal", default=None),
        Key("ordinal", _TEXT, "the name of an entry's number", default=None),
        Key("texts_at", _SIZE, "where texts begin", default=0),
        Key("texts", _NAMES, "the names of texts", default=()),
        Key("tail", _FIELDS, "fields after the texts", default=()),
        Key("arrays", MapOf(_TEXT), "arrays of the record that are its columns", default={}),
        Key("join", _JOIN, "how to combine parts in several records", default=None),
    ),
)
_LAYOUT = Spec(
    (
        Key("release", _TEXT, "the release"),
        Key("length", _SIZE, "the length of the record"),
        Key("variable", Boolean(), "whether that is the minimum", default=False),
        Key("complete", Boolean(), "whether all its fields are known", default=False),
        Key("source", _TEXT, "where it is described"),
        Key("status", _TEXT, "how well it is known"),
        Key("note", _TEXT, "a remark", default=None),
        Key("fields", _FIELDS, "its fields", default=()),
        Key("section", ListOf(_SECTION), "its sections", default=()),
        Key("callevel", ListOf(Integer(0, LARGEST), into=tuple), "bits that must be on", default=()),
        Key("stable_to", Integer(0, LARGEST), "how far longer records share it", default=None),
    ),
)
_HEAD = (
    Key(
        "record",
        Text(12, 1, re.compile(r"D\d{1,2}R\d{1,5}"), "a monitor record: an id such as D0R2"),
        "its id",
    ),
    Key("dsect", _TEXT, "the name of its page"),
    Key("title", _TEXT, "its title"),
    Key("kind", _TEXT, "sample or event"),
    Key("lengths", MapOf(_SIZE, 0), "its length by release", default={}),
    Key("variable", Boolean(), "whether these are the minimum", default=False),
    Key("note", _TEXT, "a remark", default=None),
)
_SHARED = (
    Key("subject", _NAMES, "fields that identify its subject", default=()),
    Key("subject_kind", _TEXT, "the kind of subject", default=None),
    Key("reset_on", _NAMES, "fields whose change resets its counters", default=()),
    Key("layout", ListOf(_LAYOUT), "its layouts", default=()),
)
_ONLY_HEAD = Spec((*_HEAD, *_SHARED[:-1]))
_FILE = Spec((*_HEAD, *_SHARED))


def parse_record_info(text: str, pack: str, path: str) -> RecordInfo:
    """The head of a record, from the lines of its file before its layouts."""
    values = _ONLY_HEAD.check(
        document.parse_toml(text, path, cure=_CURE), "", DocumentErrors(path, text=text)
    )
    return _head(values, pack)


def file(text: str, pack: str, path: str) -> RecordFile:
    """A record and its layouts from the text of its file; CatalogError if something is wrong in it."""
    problem = DocumentErrors(path, text=text)
    values = _FILE.check(document.parse_toml(text, path, cure=_CURE), "", problem)
    head_values = _head(values, pack)
    layouts = [
        _layout(entry, head_values, values, f"layout[{number}]", problem)
        for number, entry in enumerate(values["layout"], 1)
    ]
    return RecordFile(
        head_values, values["subject"], values["subject_kind"], values["reset_on"], tuple(layouts)
    )


def _head(values: dict[str, Any], pack: str) -> RecordInfo:
    domain, number = record_key(values["record"])
    return RecordInfo(
        **{key.name: values[key.name] for key in _HEAD}, domain=domain, number=number, pack=pack
    )


def _layout(
    entry: dict[str, Any],
    head_values: RecordInfo,
    shared: dict[str, Any],
    where: str,
    problem: DocumentErrors,
) -> RecordLayout:
    fields: tuple[MonitorField, ...] = entry["fields"]
    _typed(fields, f"{where}.fields", problem)
    names = {field.name for field in fields}
    sections = [
        _section(section, fields, f"{where}.section[{number}]", problem)
        for number, section in enumerate(entry.pop("section"), 1)
    ]
    return RecordLayout(
        **entry,
        record=head_values.record,
        domain=head_values.domain,
        number=head_values.number,
        dsect=head_values.dsect,
        title=head_values.title,
        kind=head_values.kind,
        pack=head_values.pack,
        # A partial layout may lack some of what identifies a subject or resets it.
        subject=tuple(name for name in shared["subject"] if name in names),
        subject_kind=shared["subject_kind"],
        reset_on=tuple(name for name in shared["reset_on"] if name in names),
        sections=tuple(sections),
    )


def _section(
    entry: dict[str, Any], fields: tuple[MonitorField, ...], where: str, problem: DocumentErrors
) -> MonitorSection:
    _typed(entry["fields"], f"{where}.fields", problem)
    _typed(entry["tail"], f"{where}.tail", problem)
    if entry["arrays"]:
        # Their places follow from the arrays.
        entry |= {"length": 0, "offset": 0, "stride": 1, "count": 0}
    for key in ("length", "offset", "stride"):
        if entry[key] is None:
            raise problem.general_error(f"{where}.{key} is missing", f"add {key}", where=where)
    placed = MonitorSection(**entry | {"arrays": tuple(entry["arrays"].items())}).placed(fields)
    if placed is None:
        raise problem.general_error(f"{where}.arrays names no field of the record", where=f"{where}.arrays")
    return placed


def _typed(fields: tuple[MonitorField, ...], where: str, problem: DocumentErrors) -> None:
    for number, field in enumerate(fields, 1):
        if not field.type:
            here = f"{where}[{number}]"
            raise problem.general_error(f"{here}.type is missing ({field.name})", "add type", where=here)
