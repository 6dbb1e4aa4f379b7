"""Record layouts of z/VM monitor data, read from one TOML file per record.

The built-in catalog is in `facts/zvm/records`; layout packs that the user imported are in the pack root,
one folder per pack, with files of the same format. Parsing TOML is slow, so files are read only when
needed, and a record's title, class and known lengths are read without its fields.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct

from zlens.catalog.fields import DIFFERENCED as DIFFERENCED
from zlens.catalog.fields import LARGEST as LARGEST
from zlens.catalog.fields import JoinedCounterSet as JoinedCounterSet
from zlens.catalog.fields import MonitorField as MonitorField
from zlens.catalog.fields import MonitorSection as MonitorSection
from zlens.catalog.fields import RecordJoin as RecordJoin
from zlens.catalog.fields import Size
from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, attributes, doc

BUILTIN = "zlens"
#: Pack of zlens' own layouts, and the release that marks files written with it. Some fields are known to
#: exist, but not at which offset; synthetic files place them at offsets of zlens' own. No other file is ever
#: decoded with this pack.
SIM = "zlens-sim"
#: Release in the system configuration record of such a file.
SIM_MARK = "ZLENSSIM"
#: Folders of the built-in layouts, and of zlens' own, used only for files marked with SIM_MARK.
MONITOR_FOLDER, SIM_FOLDER = FACTS / "zvm" / "records", FACTS / "zvm" / "sim"
HEADER_LENGTH = 20

TYPES = ("unsigned", "signed", "character", "bitstring")
KINDS = ("counter", "timer", "sampled", "gauge", "identifier", "text", "flags", "time", "unknown")
KIND_STATUS = ("stated", "inferred", "unknown")
DIRECTIONS = ("up", "down", "learn")
#: Units of numbers. tod: 4096 are one microsecond; cs, cpercent: hundredths; 2048ths: load averages.
UNITS = (
    "tod", "128us", "us", "ms", "cs", "s", "count", "pages", "frames", "slots", "blocks", "bytes", "kib",
    "mib", "percent", "cpercent", "mW", "2048ths",
)  # fmt: skip
#: Encodings of a text or identifier: characters, packed decimal digits, or plain bytes.
ENCODINGS = ("ebcdic", "ascii", "packed", "hex")
#: Certainty of a layout; `inferred` is for several possible offsets, among which data decide.
Status = Literal[
    "verified", "linux", "carried", "verified-secondary", "constructed", "derived", "unverified", "inferred"
]
STATUS: tuple[str, ...] = get_args(Status)
CLASSES = ("sample", "event", "sample-config", "event-config", "event+sample", "event+sample-config")


RecordId = Annotated[str, Meta(pattern=r"^D\d{1,2}R\d{1,5}$", title="a monitor record: an id such as D0R2")]


class HeadKeys(FactTable, frozen=True, kw_only=True):
    """Keys that a record has in its file and without its fields."""

    record: Annotated[RecordId, doc("its id")]
    dsect: Annotated[str, doc("the name of its page")]
    title: Annotated[str, doc("title")]
    kind: Annotated[str, doc("sample or event")]
    lengths: Annotated[dict[str, Size], doc("its length by release, as published")] = {}
    variable: Annotated[bool, doc("whether these are the minimum")] = False
    note: Annotated[str | None, doc("a note")] = None
    changed_by: Annotated[
        dict[str, dict[str, str]],
        doc("APARs that changed it, by release, and their dates; none: changed in the release"),
    ] = {}


class RecordInfo(HeadKeys, frozen=True, kw_only=True):
    """A record without its fields."""

    domain: int
    number: int
    pack: str

    def identity(self) -> dict[str, Any]:
        """Return the attributes that its layouts have too."""
        return attributes(self, "record", "domain", "number", "dsect", "title", "kind", "pack")

    @property
    def changes(self) -> str:
        """Releases that changed it, with the APARs and their dates; empty if none is known."""
        releases = []
        for release, apars in self.changed_by.items():
            dated = ", ".join(f"{apar} ({day})" for apar, day in apars.items())
            releases.append(f"{release}: {dated}" if dated else release)
        return "; ".join(releases)


class LayoutKeys(FactTable, frozen=True, kw_only=True):
    """Keys that a layout has both in its file and in memory."""

    release: Annotated[str, doc("the release")]
    length: Annotated[Size, doc("the length of the record")]
    variable: Annotated[bool, doc("whether that is the minimum")] = False
    complete: Annotated[bool, doc("whether all its fields are known")] = False
    source: Annotated[str, doc("where it is described")]
    status: Annotated[str, doc("how well it is known")]
    note: Annotated[str | None, doc("a note")] = None
    fields: Annotated[tuple[MonitorField, ...], doc("its fields")] = ()
    callevel: Annotated[
        tuple[Size, ...], doc("bits of CALLEVEL in the system configuration that must be on")
    ] = ()
    stable_to: Annotated[Size | None, doc("bytes of it that longer records share; left out: all")] = None


class RecordLayout(LayoutKeys, frozen=True, kw_only=True):
    """The fields of one record in one release."""

    record: str
    domain: int
    number: int
    dsect: str
    title: str
    kind: str
    pack: str
    subject: tuple[str, ...]
    subject_kind: str | None
    reset_on: tuple[str, ...]
    sections: tuple[MonitorSection, ...]

    def field(self, name: str) -> MonitorField | None:
        return next((field for field in self.fields if field.name == name), None)

    def section(self, name: str) -> MonitorSection | None:
        return next((section for section in self.sections if section.name == name), None)


class RecordFile(Struct, frozen=True):
    """One TOML file: the record, the keys that its layouts share, and the layouts."""

    head: RecordInfo
    subject: tuple[str, ...]
    subject_kind: str | None
    reset_on: tuple[str, ...]
    layouts: tuple[RecordLayout, ...]


_NAME = re.compile(r"d(\d{2})r(\d{2,5})\.toml")
_RECORD = re.compile(r"D(\d{1,2})R(\d{1,5})")
_TABLE = re.compile(r"d(\d{1,2})r(\d{1,5})(?:_|$)")


def pack_root() -> Path:
    """Return the folder of the user's layout packs; it need not exist."""
    return _pack_root(*(os.environ.get(name) for name in ("ZLENS_DATA", "XDG_DATA_HOME", "HOME")))


@cache
def _pack_root(data: str | None, *_: str | None) -> Path:
    # Cached because it is called hundreds of times; it depends only on the environment.
    if data:
        return Path(data) / "packs"
    import platformdirs

    return Path(platformdirs.user_data_dir("zlens")) / "packs"


def record_id(domain: int, number: int) -> str:
    return f"D{domain}R{number}"


def record_key(record: str) -> tuple[int, int]:
    """Return domain and record number of an id such as D0R2."""
    match = _RECORD.fullmatch(record)
    if match is None:
        raise CatalogError(f"{record!r} is not a monitor record", expected="an id such as D0R2")
    return int(match[1]), int(match[2])


def record_of_table(table: str) -> str | None:
    """Return the record of a raw table such as d0r16_cpudata; None if it is not that of a record."""
    match = _TABLE.match(table)
    return record_id(int(match[1]), int(match[2])) if match else None


def file_name(record: str) -> str:
    domain, number = record_key(record)
    return f"d{domain:02}r{number:02}.toml"


def record_of_file(name: str) -> str:
    """Return the record that the name of a file states; CatalogError if there is none."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise CatalogError("record is missing", file=name, expected="a file name such as d00r02.toml")
    return record_id(int(match[1]), int(match[2]))


def release_key(release: str | None) -> tuple[int, ...]:
    """Return a release as numbers, so that 5.3 < 5.4 < 6.1; () if it is unknown, and for zlens' own pack."""
    return tuple(int(part) for part in re.findall(r"\d+", release or ""))


def packs(root: Path | None = None) -> list[str]:
    """Return names of the user's packs, oldest release first."""
    base = pack_root() if root is None else root
    if not base.is_dir():
        return []
    names = [path.name for path in base.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return sorted(names, key=lambda name: (release_key(name), name))


def records(root: Path | None = None) -> list[str]:
    """Return the ids of all known records in order, from file names only."""
    base = pack_root() if root is None else root
    keys = set()
    for directory in [MONITOR_FOLDER, *(base / name for name in packs(base))]:
        for path in directory.iterdir():
            match = _NAME.fullmatch(path.name)
            if match:
                keys.add((int(match[1]), int(match[2])))
    return [record_id(*key) for key in sorted(keys)]


def files(record: str, root: Path | None = None) -> list[tuple[str, Path]]:
    """Return pack name and path of every file that describes a record, the built-in one first."""
    base = pack_root() if root is None else root
    name = file_name(record)
    candidates = [(BUILTIN, MONITOR_FOLDER / name)]
    candidates += [(pack, base / pack / name) for pack in packs(base)]
    return [(pack, path) for pack, path in candidates if path.is_file()]


def record_infos(record: str, root: Path | None = None) -> list[RecordInfo]:
    """Return the facts of a record without fields, from every file that describes it."""
    return [_head(str(path), pack) for pack, path in files(record, root)]


def record_info(record: str, root: Path | None = None) -> RecordInfo | None:
    """Return the facts of a record without fields, preferably the built-in ones."""
    descriptions = record_infos(record, root)
    return descriptions[0] if descriptions else None


def layout_without_fields(record: str) -> RecordLayout | None:
    """Return an event record of which only the title is known, as a layout without fields."""
    info = record_info(record)
    if info is None or not info.kind.startswith("event"):
        return None
    return RecordLayout(
        **info.identity(),
        release="",
        length=HEADER_LENGTH,
        variable=True,
        source="",
        status="unverified",
        subject=(),
        subject_kind=None,
        reset_on=(),
        sections=(),
    )


def layouts(record: str, root: Path | None = None) -> list[RecordLayout]:
    """Return every known layout of a record: built-in ones, then those of the user's packs."""
    return [layout for pack, path in files(record, root) for layout in _file(str(path), pack).layouts]


def sim_records() -> list[str]:
    """Return the ids of the records that zlens' own pack describes, in order."""
    matches = [_NAME.fullmatch(path.name) for path in SIM_FOLDER.iterdir()]
    return [record_id(*key) for key in sorted((int(match[1]), int(match[2])) for match in matches if match)]


def sim_layouts(record: str) -> list[RecordLayout]:
    """Return the layouts of a record in zlens' own pack; if empty, its files use the ordinary ones."""
    path = SIM_FOLDER / file_name(record)
    return list(_file(str(path), SIM).layouts) if path.is_file() else []


def read(path: Path, pack: str = BUILTIN) -> RecordFile:
    """Read one record file; unknown keys and wrong types are errors."""
    return _file(str(path), pack)


def clear_cache() -> None:
    """Clear the cache, so that changed files are read again."""
    _head.cache_clear()
    _file.cache_clear()


@cache
def _head(path: str, pack: str) -> RecordInfo:
    from zlens.catalog import layout_file

    return layout_file.parse_record_info(document.text_of(Path(path)).split("\n[[", 1)[0], pack, path)


@cache
def _file(path: str, pack: str) -> RecordFile:
    return parse(document.text_of(Path(path)), pack, path)


def parse(text: str, pack: str = BUILTIN, path: str = "<text>") -> RecordFile:
    """Parse the text of a record file."""
    from zlens.catalog import layout_file

    return layout_file.file(text, pack, path)
