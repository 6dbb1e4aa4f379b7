"""Record layouts of z/VM monitor data, read from one TOML file per record.

The built-in catalog stands beside this file in `monitor/`; layout packs that the user imported
stand in the pack root, one directory per pack, and hold files of the same form. Parsing TOML is
slow, so nothing is read before it is asked for, and a record's head (title, class, known
lengths) is read without its fields.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zlens.catalog.fields import DIFFERENCED, CounterSet, Field, Join, Section
from zlens.errors import CatalogError
from zlens.schema import toml
from zlens.schema.facts import FACTS

__all__ = [
    "BUILTIN",
    "CLASSES",
    "DIFFERENCED",
    "DIRECTIONS",
    "ENCODINGS",
    "HEADER_LENGTH",
    "KINDS",
    "KIND_STATUS",
    "LARGEST",
    "SIM",
    "SIM_MARK",
    "STATUS",
    "TYPES",
    "UNITS",
    "CounterSet",
    "Field",
    "Head",
    "Join",
    "Layout",
    "RecordFile",
    "Section",
    "bare",
    "file_name",
    "files",
    "forget",
    "head",
    "heads",
    "layouts",
    "monitor_root",
    "pack_root",
    "packs",
    "parse",
    "read",
    "record_id",
    "record_key",
    "records",
    "release_key",
    "sim_layouts",
    "sim_records",
    "sim_root",
]

BUILTIN = "zlens"
#: The pack of our own layouts, and the release that says a file is written with it. Of some fields it is
#: known that there are, not where: what is shown of them needs files of which we say where they stand.
#: No other file is ever decoded with it.
SIM = "zlens-sim"
#: What the system configuration record of such a file gives as its release.
SIM_MARK = "ZLENSSIM"
HEADER_LENGTH = 20
#: No place, length or number of elements in a record can be larger.
LARGEST = 0xFFFF

TYPES = ("unsigned", "signed", "character", "bitstring")
KINDS = ("counter", "timer", "sampled", "gauge", "identifier", "text", "flags", "time", "unknown")
KIND_STATUS = ("stated", "inferred", "unknown")
DIRECTIONS = ("up", "down", "learn")
#: Units of numbers. tod: 4096 are one microsecond; cs, cpercent: hundredths; 2048ths: load averages.
UNITS = (
    "tod",
    "128us",
    "us",
    "ms",
    "cs",
    "s",
    "count",
    "pages",
    "frames",
    "slots",
    "blocks",
    "bytes",
    "kib",
    "mib",
    "percent",
    "cpercent",
    "2048ths",
)
#: How the bytes of a text or identifier are to be read: characters, packed decimal digits, or just bytes.
ENCODINGS = ("ebcdic", "ascii", "packed", "hex")
#: What is known about a layout; the last one is used where several placings fit and data must decide.
STATUS = (
    "verified",
    "linux",
    "carried",
    "verified-secondary",
    "constructed",
    "derived",
    "unverified",
    "inferred",
)
CLASSES = ("sample", "event", "sample-config", "event-config", "event+sample", "event+sample-config")


@dataclass(frozen=True, slots=True)
class Head:
    """What a record is, without its fields."""

    record: str
    domain: int
    number: int
    dsect: str
    title: str
    kind: str
    #: Record length by release as published; `variable` when a page gives it as a minimum.
    lengths: dict[str, int]
    variable: bool
    note: str | None
    pack: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of one record in one release."""

    record: str
    domain: int
    number: int
    dsect: str
    title: str
    kind: str
    release: str
    length: int
    variable: bool
    complete: bool
    source: str
    status: str
    note: str | None
    pack: str
    fields: tuple[Field, ...]
    subject: tuple[str, ...]
    subject_kind: str | None
    reset_on: tuple[str, ...]
    sections: tuple[Section, ...]
    #: CALLEVEL bits of the system configuration record that must be on for this layout.
    callevel: tuple[int, ...] = ()
    #: A longer record shares this layout only up to here (None: all of it).
    stable_to: int | None = None

    def field(self, name: str) -> Field | None:
        for field in self.fields:
            if field.name == name:
                return field
        return None

    def section(self, name: str) -> Section | None:
        for section in self.sections:
            if section.name == name:
                return section
        return None


@dataclass(frozen=True, slots=True)
class RecordFile:
    """One TOML file: a head, what its layouts share, and the layouts."""

    head: Head
    subject: tuple[str, ...]
    subject_kind: str | None
    reset_on: tuple[str, ...]
    layouts: tuple[Layout, ...]


_NAME = re.compile(r"d(\d{2})r(\d{2,5})\.toml")
_RECORD = re.compile(r"D(\d{1,2})R(\d{1,5})")


@cache
def monitor_root() -> Path:
    """The directory of the built-in layouts."""
    return FACTS / "zvm" / "records"


@cache
def sim_root() -> Path:
    """The directory of our own layouts, used for files that say so and no other."""
    return FACTS / "zvm" / "sim"


def pack_root() -> Path:
    """The directory of the user's layout packs; it need not exist."""
    return _pack_root(*(os.environ.get(name) for name in ("ZLENS_DATA", "XDG_DATA_HOME", "HOME")))


@cache
def _pack_root(data: str | None, *_: str | None) -> Path:
    # Asked for by the hundred; all that it depends on is in the environment.
    if data:
        return Path(data) / "packs"
    import platformdirs

    return Path(platformdirs.user_data_dir("zlens")) / "packs"


def record_id(domain: int, number: int) -> str:
    return f"D{domain}R{number}"


def record_key(record: str) -> tuple[int, int]:
    """Domain and record number of an id such as D0R2."""
    match = _RECORD.fullmatch(record)
    if match is None:
        raise CatalogError(f"{record!r} is not a monitor record", expected="an id such as D0R2")
    return int(match[1]), int(match[2])


def file_name(record: str) -> str:
    domain, number = record_key(record)
    return f"d{domain:02}r{number:02}.toml"


def release_key(release: str | None) -> tuple[int, ...]:
    """A release as numbers, so that 5.3 < 5.4 < 6.1; () when it is not known, and for our own pack."""
    return tuple(int(part) for part in re.findall(r"\d+", release or ""))


def packs(root: Path | None = None) -> list[str]:
    """Names of the user's packs, oldest release first."""
    base = pack_root() if root is None else root
    if not base.is_dir():
        return []
    names = [p.name for p in base.iterdir() if p.is_dir() and not p.name.startswith(".")]
    return sorted(names, key=lambda n: (release_key(n), n))


def records(root: Path | None = None) -> list[str]:
    """Ids of all known records in order, from the names of the files alone."""
    base = pack_root() if root is None else root
    found = set()
    for directory in [monitor_root(), *(base / name for name in packs(base))]:
        for path in directory.iterdir():
            match = _NAME.fullmatch(path.name)
            if match:
                found.add((int(match[1]), int(match[2])))
    return [record_id(*key) for key in sorted(found)]


def files(record: str, root: Path | None = None) -> list[tuple[str, Path]]:
    """Pack name and file of every description of a record, the built-in one first."""
    base = pack_root() if root is None else root
    name = file_name(record)
    places = [(BUILTIN, monitor_root() / name)]
    places += [(pack, base / pack / name) for pack in packs(base)]
    return [(pack, path) for pack, path in places if path.is_file()]


def heads(record: str, root: Path | None = None) -> list[Head]:
    """What a record is, from every file that describes it; no field is parsed."""
    return [_head(str(path), pack) for pack, path in files(record, root)]


def head(record: str, root: Path | None = None) -> Head | None:
    """What a record is, the built-in description first."""
    found = heads(record, root)
    return found[0] if found else None


def bare(record: str) -> Layout | None:
    """An event record of which nothing is known but its title, as a layout without fields."""
    known = head(record)
    if known is None or not known.kind.startswith("event"):
        return None
    return Layout(
        record=known.record,
        domain=known.domain,
        number=known.number,
        dsect=known.dsect,
        title=known.title,
        kind=known.kind,
        release="",
        length=HEADER_LENGTH,
        variable=True,
        complete=False,
        source="",
        status="unverified",
        note=None,
        pack=BUILTIN,
        fields=(),
        subject=(),
        subject_kind=None,
        reset_on=(),
        sections=(),
    )


def layouts(record: str, root: Path | None = None) -> list[Layout]:
    """Every layout known for a record: built in, then the user's packs."""
    return [layout for pack, path in files(record, root) for layout in _file(str(path), pack).layouts]


def sim_records() -> list[str]:
    """Ids of the records that our own pack describes, in order."""
    found = [_NAME.fullmatch(path.name) for path in sim_root().iterdir()]
    return [record_id(*key) for key in sorted((int(m[1]), int(m[2])) for m in found if m)]


def sim_layouts(record: str) -> list[Layout]:
    """The layouts of a record in our own pack; mostly none, and then files of it have the ordinary ones."""
    path = sim_root() / file_name(record)
    return list(_file(str(path), SIM).layouts) if path.is_file() else []


def read(path: Path, pack: str = BUILTIN) -> RecordFile:
    """Reads one record file, unknown keys and wrong types being errors."""
    return _file(str(path), pack)


def forget() -> None:
    """Drops what was read, so that changed files are read again."""
    _head.cache_clear()
    _file.cache_clear()


@cache
def _head(path: str, pack: str) -> Head:
    text = _text(path).split("\n[[", 1)[0]
    return _Reader(path, pack).head(_parse(path, text))


@cache
def _file(path: str, pack: str) -> RecordFile:
    return _Reader(path, pack).file(_parse(path, _text(path)))


def parse(text: str, pack: str = BUILTIN, path: str = "<text>") -> RecordFile:
    """Reads the text of a record file."""
    return _Reader(path, pack).file(_parse(path, text))


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"cannot be read: {error}", file=path) from error


def _parse(path: str, text: str) -> dict[str, Any]:
    try:
        return toml.loads(text)
    except (ValueError, RecursionError) as error:
        raise CatalogError(
            f"is not TOML: {error}", file=path, cure="correct the file or import the pages again"
        ) from error


_MISSING: Any = object()


class _Reader:
    """Turns parsed TOML into layouts; says where it stands when something does not fit."""

    def __init__(self, path: str, pack: str) -> None:
        self.path = path
        self.pack = pack

    def error(self, what: str, where: str, expected: str | None = None) -> CatalogError:
        return CatalogError(f"{where}: {what}", file=self.path, expected=expected)

    def take(self, table: dict[str, Any], key: str, kind: type, where: str, default: Any = _MISSING) -> Any:
        if key not in table:
            if default is _MISSING:
                raise self.error(f"{key} is missing", where)
            return default
        value = table.pop(key)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(f"{key} is {value!r}", where, expected=kind.__name__)
        return value

    def number(self, table: dict[str, Any], key: str, where: str, least: int, default: Any = _MISSING) -> int:
        value: int = self.take(table, key, int, where, default)
        if not least <= value <= LARGEST:
            raise self.error(f"{key} is {value}", where, expected=f"{least} to {LARGEST}")
        return value

    def strings(
        self, table: dict[str, Any], key: str, where: str, default: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        value = self.take(table, key, list, where, None)
        if value is None:
            return default
        if not all(isinstance(item, str) for item in value):
            raise self.error(f"{key} holds what is not a string", where, expected="a list of strings")
        return tuple(value)

    def nothing_left(self, table: dict[str, Any], where: str) -> None:
        if table:
            raise self.error(f"unknown key {sorted(table)[0]}", where)

    def head(self, data: dict[str, Any]) -> Head:
        record = self.take(data, "record", str, "head")
        domain, number = record_key(record)
        lengths = self.take(data, "lengths", dict, record, {})
        for release, length in lengths.items():
            if not isinstance(length, int) or isinstance(length, bool):
                raise self.error(f"length of release {release} is {length!r}", record, expected="an integer")
        return Head(
            record=record,
            domain=domain,
            number=number,
            dsect=self.take(data, "dsect", str, record),
            title=self.take(data, "title", str, record),
            kind=self.take(data, "kind", str, record),
            lengths=dict(lengths),
            variable=self.take(data, "variable", bool, record, False),
            note=self.take(data, "note", str, record, None),
            pack=self.pack,
        )

    def file(self, data: dict[str, Any]) -> RecordFile:
        head = self.head(data)
        subject = self.strings(data, "subject", head.record)
        subject_kind = self.take(data, "subject_kind", str, head.record, None)
        reset_on = self.strings(data, "reset_on", head.record)
        tables = self.take(data, "layout", list, head.record, [])
        self.nothing_left(data, head.record)
        found = [self.layout(table, head, subject, subject_kind, reset_on) for table in tables]
        return RecordFile(head, subject, subject_kind, reset_on, tuple(found))

    def layout(
        self,
        table: dict[str, Any],
        head: Head,
        subject: tuple[str, ...],
        subject_kind: str | None,
        reset_on: tuple[str, ...],
    ) -> Layout:
        release = self.take(table, "release", str, head.record)
        where = f"{head.record} {release}"
        fields = self.fields(table, where)
        names = {field.name for field in fields}
        sections = [self.section(s, where, fields) for s in self.take(table, "section", list, where, [])]
        bits = self.take(table, "callevel", list, where, [])
        if not all(isinstance(bit, int) for bit in bits):
            raise self.error("callevel holds what is not a bit number", where)
        layout = Layout(
            record=head.record,
            domain=head.domain,
            number=head.number,
            dsect=head.dsect,
            title=head.title,
            kind=head.kind,
            release=release,
            length=self.number(table, "length", where, 0),
            variable=self.take(table, "variable", bool, where, False),
            complete=self.take(table, "complete", bool, where, False),
            source=self.take(table, "source", str, where),
            status=self.take(table, "status", str, where),
            note=self.take(table, "note", str, where, None),
            pack=self.pack,
            fields=fields,
            # A partial layout may lack some of what identifies a subject or resets it.
            subject=tuple(name for name in subject if name in names),
            subject_kind=subject_kind,
            reset_on=tuple(name for name in reset_on if name in names),
            sections=tuple(sections),
            callevel=tuple(bits),
            stable_to=self.take(table, "stable_to", int, where, None),
        )
        self.nothing_left(table, where)
        return layout

    def section(self, table: dict[str, Any], where: str, fields: tuple[Field, ...]) -> Section:
        name = self.take(table, "name", str, where)
        here = f"{where} section {name}"
        match = self.take(table, "match", dict, here, None)
        arrays = self.take(table, "arrays", dict, here, {})
        if arrays:
            # Where they stand follows from the arrays.
            table |= {"length": 0, "offset": 0, "stride": 1, "count": 0}
        section = Section(
            name=name,
            title=self.take(table, "title", str, here),
            length=self.number(table, "length", here, 0),
            offset=self.place(table, "offset", here),
            stride=self.place(table, "stride", here),
            count=self.place(table, "count", here) if "count" in table else None,
            fields=self.fields(table, here),
            subject=self.strings(table, "subject", here),
            subject_kind=self.take(table, "subject_kind", str, here, None),
            match=None
            if match is None
            else (self.take(match, "field", str, here), self.take(match, "hex", str, here)),
            within=self.take(table, "within", str, here, None),
            source=self.take(table, "source", str, here),
            status=self.take(table, "status", str, here),
            note=self.take(table, "note", str, here, None),
            bound=self.take(table, "bound", str, here, None),
            inner=self.pair(table, "inner", here),
            equal=self.pair(table, "equal", here),
            ordinal=self.take(table, "ordinal", str, here, None),
            texts_at=self.number(table, "texts_at", here, 0, 0),
            texts=self.strings(table, "texts", here),
            tail=self.fields(table, here, "tail"),
            arrays=tuple((column, self.take(arrays, column, str, here)) for column in list(arrays)),
            join=self.join(table, here),
        )
        self.nothing_left(match or {}, here)
        self.nothing_left(table, here)
        placed = section.placed(fields)
        if placed is None:
            raise self.error("one of its arrays is no field of the record", here)
        return placed

    def pair(self, table: dict[str, Any], key: str, where: str) -> tuple[str, str] | None:
        names = self.strings(table, key, where)
        if names and len(names) != 2:
            raise self.error(f"{key} holds {len(names)} names", where, expected="two")
        return (names[0], names[1]) if names else None

    def join(self, table: dict[str, Any], where: str) -> Join | None:
        given = self.take(table, "join", dict, where, None)
        if given is None:
            return None
        here = f"{where} join"
        sets = self.take(given, "sets", list, here)
        join = Join(
            more=self.take(given, "more", str, here),
            more_bit=self.number(given, "more_bit", here, 1),
            same=self.strings(given, "same", here),
            within_us=self.take(given, "within_us", int, here),
            length=self.take(given, "length", str, here, None),
            active=self.take(given, "active", str, here),
            cfvn=self.take(given, "cfvn", str, here),
            csvn=self.take(given, "csvn", str, here),
            sets=tuple(self.counter_set(each, here) for each in sets if isinstance(each, dict)),
        )
        self.nothing_left(given, here)
        return join

    def counter_set(self, table: dict[str, Any], where: str) -> CounterSet:
        found = CounterSet(
            name=self.take(table, "name", str, where),
            bit=self.number(table, "bit", where, 1),
            offset=self.take(table, "offset", str, where, None),
            length=self.take(table, "length", str, where, None),
        )
        self.nothing_left(table, where)
        return found

    def place(self, table: dict[str, Any], key: str, where: str) -> str | int:
        kind = str if isinstance(table.get(key), str) else int
        value: str | int = self.take(table, key, kind, where)
        return value

    def fields(self, table: dict[str, Any], where: str, key: str = "fields") -> tuple[Field, ...]:
        items = self.take(table, key, list, where, [])
        if not all(isinstance(item, dict) for item in items):
            raise self.error(f"{key} holds what is not a table", where, expected="a list of inline tables")
        return tuple(self.field(item, where) for item in items)

    def field(self, table: dict[str, Any], where: str) -> Field:
        name = self.take(table, "name", str, where)
        here = f"{where} {name}"
        field = Field(
            name=name,
            offset=self.number(table, "at", here, 0),
            length=self.number(table, "len", here, 0),
            # What a reserved area holds is not known: it is bytes.
            type=self.take(table, "type", str, here, "character" if name == "*" else _MISSING),
            kind=self.take(table, "kind", str, here, "unknown"),
            kind_status=self.take(table, "kind_status", str, here, "unknown"),
            unit=self.take(table, "unit", str, here, None),
            text=self.take(table, "text", str, here, None),
            direction=self.take(table, "direction", str, here, None),
            overlay=self.take(table, "overlay", bool, here, False),
            count=self.number(table, "count", here, 1, 1),
            first=self.number(table, "first", here, 0, 1),
            note=self.take(table, "note", str, here, None),
        )
        self.nothing_left(table, here)
        return field
