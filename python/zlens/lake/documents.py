"""Documents of inputs (facts and files), boundaries (replacing files) and measures in a lake."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property, lru_cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct, field, to_builtins
from msgspec.structs import astuple, fields, replace

from zlens.catalog.raw_columns import TYPES, RawColumn
from zlens.inputs.problems import Problem, printable
from zlens.inputs.source import Interval, InventoryRow, SystemInfo
from zlens.lake import file_names, json_files
from zlens.lake.json_files import Key, Sha256, Table
from zlens.lake.retained import Retained
from zlens.readers.boundaries import IntervalDigest, IntervalMark
from zlens.schema.structs import Count, Int64, Real, Text, attributes, one_of
from zlens.schema.validators import DocumentErrors as Errors

NAME = "document.json"
INVENTORY, PROBLEMS, RESETS = "inventory.json", "problems.json", "resets.json"

#: system, microseconds UTC, table, subject, evidence
Reset = tuple[Text, Int64, Text, Text, Text]


class LakeFile(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A Parquet file. `first_us` and `last_us` are interval ends, `open` counts the rows without one.

    `kind` is `main`, or `edge` for rows that depend on other inputs: the first row of every subject, and rows
    after the last interval end. A file with a key replaces the file without.
    """

    table: Table
    day: Annotated[str, Meta(pattern=rf"^(?:{file_names.DAY.pattern})\Z", title="a day")]
    kind: Annotated[str, one_of(("main", "edge"))]
    rows: Count
    bytes: Count
    sha256: Sha256
    first_us: Int64 | None
    last_us: Int64 | None
    open: Count
    #: Digest of the footer, by which a query verifies the file.
    foot: Key
    #: Not stored: the documents of boundaries have it in their names.
    key: Key | None = None

    def name(self, sha256: str, system: str) -> str:
        """Return its path in the lake, as a file of an input and system."""
        return file_names.data_file(self.table, system, self.day, sha256, self.kind, self.key)

    @property
    def place(self) -> tuple[str, str, str]:
        """Identity that a file with a key shares with the file it replaces."""
        return self.table, self.day, self.kind


class SourceTimeRange(Struct, forbid_unknown_fields=True):
    """Intervals of one source of a part: nominal length and time range."""

    source: Text
    nominal_s: Real | None = None
    first_us: Int64 | None = None
    last_us: Int64 | None = None


class _StoredSystem(Struct, kw_only=True, forbid_unknown_fields=True):
    """Stored facts of a system; other facts follow from its parts."""

    system: Text
    source: Text
    machine_type: Text | None = None
    model: Text | None = None
    serial: Text | None = None
    release: Text | None = None
    lpar: Text | None = None
    lpar_number: Int64 | None = None
    sysplex: Text | None = None
    utc_offset_s: Int64 | None = None
    leap_s: Int64
    local_time: bool
    nominal_s: Real | None = None
    synthetic: bool
    threads: dict[Text, Count]


_SYSTEM = tuple(one.name for one in fields(_StoredSystem))


class PartDocument(Struct, dict=True):
    """One system of an input: its facts, the schema of each table, and its files.

    `stored` has the files as written. They are checked on first use, because most queries of a lake of many
    systems need only a few. `spans` has the time ranges of parts with several sources, such as a listing with
    reports by interval and of the entire time; its first source is that of `info`.
    """

    info: SystemInfo
    schemas: dict[str, str] = field(default_factory=dict)
    #: Columns that name the subject of a row, for tables whose rows depend on other inputs.
    subjects: dict[str, list[str]] = field(default_factory=dict)
    spans: list[SourceTimeRange] = field(default_factory=list)
    stored: tuple[msgspec.Raw, Errors] | None = None

    @cached_property
    def tables_key(self) -> str:
        """Digest of the tables and their schemas."""
        return hashlib.sha256(dump(sorted(self.schemas.items()))).hexdigest()[:16]

    @cached_property
    def files(self) -> list[LakeFile]:
        """Files of the part. Raises InputError if zlens cannot have written them."""
        if self.stored is None:
            return []
        (data, problem), self.stored = self.stored, None
        files = json_files.decode(_FILES, bytes(data), problem, "parts.files")
        if unknown := {file.table for file in files} - self.schemas.keys():
            message = f"parts.schemas lacks {min(unknown)}"
            raise problem.general_error(message, expected="a schema for every table")
        return files


class InputDocument(Struct):
    """Document of an imported input. `side`: bytes and SHA-256 of the files next to it."""

    info: list[dict[str, Any]]
    parts: list[PartDocument]
    side: dict[str, tuple[int, str]]

    def dump(self) -> bytes:
        parts = [
            attributes(part.info, *_SYSTEM)
            | attributes(part, "schemas", "subjects")
            | {"files": [_file_row(file) for file in part.files], "spans": part.spans}
            for part in self.parts
        ]
        return dump({"info": self.info, "side": self.side, "parts": parts})


class BoundaryDocument(Struct, forbid_unknown_fields=True):
    """Document of a boundary: changes to the rows of a part because of other parts."""

    files: list[LakeFile]
    resets: list[Reset] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    #: They replace the intervals of the import.
    intervals: list[Interval] | None = None

    def dump(self) -> bytes:
        return dump(to_builtins(self) | {"files": [_file_row(file) for file in self.files]})


def current_files(part: PartDocument, boundary: BoundaryDocument | None) -> list[LakeFile]:
    """Return the files with rows; files of the boundary replace files of the same `place`."""
    files = [*part.files, *(boundary.files if boundary is not None else ())]
    return [file for file in {file.place: file for file in files}.values() if file.rows]


def dump(value: Any) -> bytes:
    value = to_builtins(value)
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if printable(text) != text:
        # File names that are not valid text.
        value = json.loads(printable(text))
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class _StoredPart(_StoredSystem):
    """A part of a document, of which `load` decodes tables that are equal for most systems once."""

    schemas: msgspec.Raw
    subjects: msgspec.Raw
    files: msgspec.Raw
    spans: list[SourceTimeRange]


class _CheckedPart(_StoredSystem):
    """The same, with the types of all values."""

    schemas: dict[Text, Key]
    subjects: dict[Text, list[Text]]
    files: list[LakeFile]
    spans: list[SourceTimeRange]


_SideName = Annotated[
    str, Meta(pattern=rf"^{file_names.SIDE.pattern}\Z", title="a text of up to 1,000 characters")
]
_SIDE = dict[_SideName, Annotated[tuple[Count, Sha256], Meta(title="size and digest of a file")]]


class _StoredDocument(Struct, forbid_unknown_fields=True):
    info: list[dict[str, Any]]
    side: _SIDE
    parts: list[_StoredPart]


class _CheckedDocument(Struct, forbid_unknown_fields=True):
    info: list[dict[str, Any]]
    side: _SIDE
    parts: list[_CheckedPart]


_DOCUMENT = msgspec.json.Decoder(_StoredDocument)
_SCHEMAS = msgspec.json.Decoder(dict[Text, Key])
_SUBJECTS = msgspec.json.Decoder(dict[Text, list[Text]])
_FILES = msgspec.json.Decoder(list[LakeFile])
_BOUNDARY = msgspec.json.Decoder(BoundaryDocument)


@lru_cache(128)
def _table(decoder: msgspec.json.Decoder[Any], data: bytes) -> dict[str, Any]:
    table: dict[str, Any] = decoder.decode(data)
    return table


def load(data: bytes, file: str) -> InputDocument:
    """Parse the document of an input. Raises InputError if zlens cannot have written it."""
    problem = json_files.errors(file)
    stored = json_files.load(_DOCUMENT, data, file, _CheckedDocument)
    try:
        parts = [
            PartDocument(
                SystemInfo(**attributes(part, *_SYSTEM)),
                _table(_SCHEMAS, bytes(part.schemas)),
                _table(_SUBJECTS, bytes(part.subjects)),
                part.spans,
                (part.files, problem),
            )
            for part in stored.parts
        ]
    except (ValueError, RecursionError):
        raise json_files.error(data, _CheckedDocument, problem) from None
    return InputDocument(stored.info, parts, stored.side)


def load_seam(data: bytes, file: str, key: str) -> BoundaryDocument:
    """Parse the document of a boundary, whose files have this key; raises as `load`."""
    seam = json_files.load(_BOUNDARY, data, file)
    seam.files = [replace(stored, key=key) for stored in seam.files]
    return seam


def _file_row(file: LakeFile) -> list[Any]:
    *row, _key = astuple(file)
    return row


# Measures ---------------------------------------------------------------------------------------


class MeasuresFile(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Parquet file with a measure of one system and day, by hour or by day."""

    table: Table
    rows: Count
    bytes: Count
    sha256: Sha256
    foot: Key


class MeasuresDocument(Struct, forbid_unknown_fields=True):
    """Measures of one day of a system: the inputs of its machine, the schema of each table, and the files.

    retained   the intervals that have rows in measures
    """

    inputs: list[Sha256]
    schemas: dict[Text, Key]
    files: list[MeasuresFile]
    retained: Retained


class ConsolidatedDocument(Struct, forbid_unknown_fields=True):
    """Measures of one day of many systems: each system with the state of its measures, and the files."""

    members: list[tuple[Text, Key]]
    schemas: dict[Text, Key]
    files: list[MeasuresFile]


_MEASURES = msgspec.json.Decoder(MeasuresDocument)
_GATHERED = msgspec.json.Decoder(ConsolidatedDocument)


def load_measures(data: bytes, file: str) -> MeasuresDocument:
    """Parse the document of a day of measures. Raises InputError if zlens cannot have written it."""
    return _with_schemas(json_files.load(_MEASURES, data, file), file)


def load_gathered(data: bytes, file: str) -> ConsolidatedDocument:
    """Parse the document of a day of measures of many systems; raises as `load_measures`."""
    return _with_schemas(json_files.load(_GATHERED, data, file), file)


_Measures = TypeVar("_Measures", MeasuresDocument, ConsolidatedDocument)


def _with_schemas(loaded: _Measures, file: str) -> _Measures:
    if {file_of_table.table for file_of_table in loaded.files} - loaded.schemas.keys():
        raise json_files.errors(file).general_error("schemas is wrong", expected="a schema for every table")
    return loaded


# Files next to a document -----------------------------------------------------------------------


def intervals_file_name(place: int, source: int = 0) -> str:
    """Return the name of the file with the intervals of a part, or of another of its sources."""
    return f"{place}.intervals{source or ''}.json"


class PartIntervals(Struct):
    """Intervals of a part, or marks; the lengths of marks extend to the next mark of the entire system."""

    intervals: list[Interval] = field(default_factory=list)
    marks: list[IntervalMark] = field(default_factory=list)

    def ends(self) -> list[int]:
        """Return the ends of the intervals that contain samples, in order."""
        if self.marks:
            return sorted({mark.end_us for mark in self.marks if mark.samples})
        return [interval.end_us for interval in self.intervals]

    def dump(self) -> bytes:
        return dump({"intervals": self.intervals, "marks": [_mark_row(mark) for mark in self.marks]})


def _mark_row(mark: IntervalMark) -> list[int]:
    return [mark.end_us, mark.samples, mark.offset, mark.begin, *astuple(mark.digest)]


class _StoredIntervals(Struct, forbid_unknown_fields=True):
    """Intervals, and of marks end, samples, offset, begin, and digests of samples and events."""

    intervals: list[Interval]
    marks: list[tuple[Int64, Int64, Int64, Int64, Int64, Int64, Int64]]


_INTERVALS = msgspec.json.Decoder(_StoredIntervals)
#: Rows of files next to a document.
_ROWS = {
    name: msgspec.json.Decoder(
        msgspec.defstruct("Rows", [("rows", list[row])], forbid_unknown_fields=True)  # type: ignore[valid-type]
    )
    for name, row in ((PROBLEMS, Problem), (RESETS, Reset), (INVENTORY, InventoryRow))
}


def load_intervals(data: bytes, file: str) -> PartIntervals:
    """Parse the intervals or marks of a part. Raises InputError if zlens cannot have written them."""
    stored = json_files.load(_INTERVALS, data, file)
    marks = [IntervalMark(*mark[:4], IntervalDigest(*mark[4:])) for mark in stored.marks]
    return PartIntervals(stored.intervals, marks)


def load_rows(data: bytes, file: str, name: str) -> list[Any]:
    """Parse the rows of PROBLEMS, RESETS or INVENTORY; raises as `load_intervals`."""
    rows: list[Any] = json_files.load(_ROWS[name], data, file).rows  # type: ignore[attr-defined]
    return rows


def dump_schema(columns: tuple[RawColumn, ...]) -> bytes:
    return dump({"columns": [[column.name, column.type, column.unit, column.text] for column in columns]})


class _StoredSchema(Struct, forbid_unknown_fields=True):
    columns: Annotated[
        list[tuple[Text, Annotated[str, one_of(TYPES)], Text, Text]],
        Meta(min_length=1, max_length=100_000),
    ]


_SCHEMA = msgspec.json.Decoder(_StoredSchema)


def load_schema(data: bytes, file: str) -> tuple[RawColumn, ...]:
    """Parse the columns of a table. Raises InputError if zlens cannot have written them."""
    return tuple(RawColumn(*column) for column in json_files.load(_SCHEMA, data, file).columns)
