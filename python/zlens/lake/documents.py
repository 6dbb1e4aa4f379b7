"""Documents of inputs (facts and files), boundaries (replacing files) and measures in a lake."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import asdict, astuple

from zlens.catalog.raw_columns import TYPES, RawColumn
from zlens.inputs.problems import Problem, printable
from zlens.inputs.source import Interval, InventoryRow, SystemInfo
from zlens.lake import file_names, validators
from zlens.lake.retained import RETAINED, Retained
from zlens.lake.row_lists import RowLists
from zlens.lake.validators import COUNT, KEY, MAYBE_TEXT, MAYBE_WHOLE, SHA256, TEXT, WHOLE, list_of
from zlens.readers.boundaries import IntervalDigest, IntervalMark
from zlens.schema.validators import (
    Boolean,
    Choice,
    FixedTuple,
    Key,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Spec,
    Text,
    Unchecked,
    Validator,
)
from zlens.schema.validators import DocumentErrors as Errors

NAME = "document.json"
INVENTORY, PROBLEMS, RESETS = "inventory.json", "problems.json", "resets.json"

#: system, microseconds UTC, table, subject, evidence
Reset = tuple[str, int, str, str, str]

_KINDS = ("main", "edge")
_MOST = 2**63
#: Stored facts of a system; other facts follow from its parts.
_SYSTEM = (
    "machine_type", "model", "serial", "release", "lpar", "lpar_number", "sysplex", "utc_offset_s",
    "leap_s", "local_time", "nominal_s", "synthetic", "threads",
)  # fmt: skip


class LakeFile(Struct, frozen=True):
    """A Parquet file. `first_us` and `last_us` are interval ends, `open` counts the rows without one.

    `kind` is `main`, or `edge` for rows that depend on other inputs: the first row of every subject, and rows
    after the last interval end. A file with a key replaces the file without.
    """

    table: str
    day: str
    kind: str
    rows: int
    bytes: int
    sha256: str
    first_us: int | None
    last_us: int | None
    open: int
    #: Digest of the footer, by which a query verifies the file.
    foot: str
    key: str | None = None

    def name(self, sha256: str, system: str) -> str:
        """Return its path in the lake, as a file of an input and system."""
        return file_names.data_file(self.table, system, self.day, sha256, self.kind, self.key)

    @property
    def place(self) -> tuple[str, str, str]:
        """Identity that a file with a key shares with the file it replaces."""
        return self.table, self.day, self.kind


class SourceTimeRange(Struct):
    """Intervals of one source of a part: nominal length and time range."""

    source: str
    nominal_s: float | None = None
    first_us: int | None = None
    last_us: int | None = None


class PartDocument(Struct, dict=True):
    """One system of an input: its facts, the schema of each table, and its files.

    `listed` has the files as written. They are checked on first use, because most queries of a lake of many
    systems need only a few. `spans` has the time ranges of parts with several sources, such as a listing with
    reports by interval and of the entire time; its first source is that of `info`.
    """

    info: SystemInfo
    schemas: dict[str, str] = field(default_factory=dict)
    #: Columns that name the subject of a row, for tables whose rows depend on other inputs.
    subjects: dict[str, list[str]] = field(default_factory=dict)
    listed: _FileRows | None = None
    spans: list[SourceTimeRange] = field(default_factory=list)

    @cached_property
    def tables_key(self) -> str:
        """Digest of the tables and their schemas."""
        return hashlib.sha256(dump(sorted(self.schemas.items()))).hexdigest()[:16]

    @cached_property
    def files(self) -> list[LakeFile]:
        """Files of the part. Raises InputError if zlens cannot have written them."""
        files = [] if self.listed is None else self.listed.files(self.schemas)
        self.listed = None
        return files


class InputDocument(Struct):
    """Document of an imported input. `side`: bytes and SHA-256 of the files next to it."""

    info: list[dict[str, Any]]
    parts: list[PartDocument]
    side: dict[str, tuple[int, str]]

    def dump(self) -> bytes:
        return dump(
            {
                "info": self.info,
                "side": {name: list(facts) for name, facts in self.side.items()},
                "parts": [
                    {
                        "system": part.info.system,
                        "source": part.info.source,
                        **{name: getattr(part.info, name) for name in _SYSTEM},
                        "schemas": part.schemas,
                        "subjects": part.subjects,
                        "files": [_file_row(file) for file in part.files],
                        "spans": [asdict(span) for span in part.spans],
                    }
                    for part in self.parts
                ],
            }
        )


class BoundaryDocument(Struct):
    """Document of a boundary: changes to the rows of a part because of other parts."""

    files: list[LakeFile]
    resets: list[Reset] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    #: They replace the intervals of the import.
    intervals: list[Interval] | None = None

    def dump(self) -> bytes:
        return dump(
            {
                "files": [_file_row(file) for file in self.files],
                "resets": self.resets,
                "problems": [astuple(problem) for problem in self.problems],
                "intervals": self.intervals and [astuple(interval) for interval in self.intervals],
            }
        )


def dump(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if printable(text) != text:
        # File names that are not valid text.
        value = json.loads(printable(text))
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


class _FileRow(Struct, frozen=True):
    """Row of a file. Checks are plain code for speed: most queries need all the thousands of rows."""

    key: str | None = None

    def describe(self) -> str:
        return (
            "table, day, kind, rows, bytes, digest, first and last interval, open rows, digest of the footer"
        )

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 10, "maxItems": 10}

    def parse(self, text: str) -> Any:
        return text

    def check(self, value: Any, where: str, problem: Errors) -> LakeFile:
        try:
            table, day, kind, rows, size, sha256, first, last, open_rows, foot = value
            valid = (
                file_names.TABLE.fullmatch(table)
                and file_names.DAY.fullmatch(day)
                and kind in _KINDS
                and file_names.SHA256.fullmatch(sha256)
                and type(rows) is type(size) is type(open_rows) is int
                and 0 <= rows < _MOST
                and 0 <= size < _MOST
                and 0 <= open_rows < _MOST
                and (first is None or (type(first) is int and -_MOST < first < _MOST))
                and (last is None or (type(last) is int and -_MOST < last < _MOST))
                and file_names.KEY.fullmatch(foot)
            )
        except (TypeError, ValueError):
            valid = False
        if not valid:
            raise problem.value(where, value, self.describe())
        return LakeFile(table, day, kind, rows, size, sha256, first, last, open_rows, foot, self.key)


class _FileRows(Struct, frozen=True):
    """Rows of files that are not checked yet and may not be parsed, with their location."""

    rows: Any
    where: str
    problem: Errors

    def files(self, schemas: dict[str, str]) -> list[LakeFile]:
        files: list[LakeFile] = _FILES.check(_parsed(self.rows, self.problem), self.where, self.problem)
        if unknown := {file.table for file in files} - schemas.keys():
            where = f"{self.where.removesuffix('files')}schemas"
            raise self.problem.general_error(
                f"{where} lacks {min(unknown)}", expected="a schema for every table"
            )
        return files


class _Wrapped(Struct, frozen=True):
    """Validator that checks values as another one does, but not at once."""

    of: Validator

    def describe(self) -> str:
        return self.of.describe()

    def schema(self) -> dict[str, Any]:
        return self.of.schema()

    def parse(self, text: str) -> Any:
        return text


class _DeferredFiles(_Wrapped, frozen=True):
    """Rows of files, to be checked later."""

    def check(self, value: Any, where: str, problem: Errors) -> _FileRows:
        return _FileRows(value, where, problem)


class _SharedTable(_Wrapped, frozen=True):
    """Table that is equal for most systems; equal tables are checked once."""

    known: dict[bytes, dict[str, Any]] = field(default_factory=dict)

    def check(self, value: Any, where: str, problem: Errors) -> dict[str, Any]:
        data = bytes(value) if isinstance(value, msgspec.Raw) else b""
        if data in self.known:
            return self.known[data]
        checked: dict[str, Any] = self.of.check(_parsed(value, problem), where, problem)
        if 0 < len(data) <= _LONGEST_ALIKE:
            if len(self.known) >= _MOST_ALIKE:
                self.known.clear()
            self.known[data] = checked
        return checked


def _parsed(value: Any, problem: Errors) -> Any:
    """Return a value, parsed if it is raw JSON."""
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        return msgspec.json.decode(value)
    except (ValueError, RecursionError):
        raise problem.general_error("is not JSON", "write it again") from None


class _DeferredParts(Struct, forbid_unknown_fields=True):
    """Document whose parts are not parsed yet."""

    info: Any
    side: Any
    parts: list[dict[str, msgspec.Raw]]


_DEFERRED = msgspec.json.Decoder(_DeferredParts)
#: Maximum number of cached tables of schemas, and maximum bytes of one.
_MOST_ALIKE, _LONGEST_ALIKE = 64, 64 * 1024


def _part(
    schemas: dict[str, str],
    subjects: dict[str, list[str]],
    files: _FileRows,
    spans: list[SourceTimeRange],
    **info: Any,
) -> PartDocument:
    return PartDocument(SystemInfo(**info), schemas, subjects, files, spans)


_FILES = list_of(_FileRow())
_SYSTEM_KEYS = (
    Key("system", TEXT),
    Key("source", TEXT),
    *(Key(name, TEXT, default=None) for name in ("machine_type", "model", "serial", "release", "lpar")),
    Key("lpar_number", WHOLE, default=None),
    Key("sysplex", TEXT, default=None),
    Key("utc_offset_s", WHOLE, default=None),
    Key("leap_s", WHOLE),
    Key("local_time", Boolean()),
    Key("synthetic", Boolean()),
    Key("nominal_s", Number(), default=None),
    Key("threads", MapOf(COUNT, 0)),
)
_SPAN = Spec(
    (
        Key("source", TEXT),
        Key("nominal_s", Number(), default=None),
        Key("first_us", WHOLE, default=None),
        Key("last_us", WHOLE, default=None),
    ),
    SourceTimeRange,
)
_PART = Spec(
    (
        *_SYSTEM_KEYS,
        Key("schemas", _SharedTable(MapOf(KEY, 0))),
        Key("subjects", _SharedTable(MapOf(ListOf(TEXT), 0))),
        Key("files", _DeferredFiles(_FILES)),
        Key("spans", ListOf(_SPAN)),
    ),
    _part,
)
_SIDE = MapOf(FixedTuple((COUNT, SHA256), "size and digest of a file"), 0, names=file_names.SIDE)
_DOCUMENT = Spec(
    (Key("info", ListOf(MapOf(Unchecked(), 0))), Key("parts", list_of(_PART)), Key("side", _SIDE)),
    InputDocument,
)


def load(data: bytes, file: str) -> InputDocument:
    """Parse the document of an input. Raises InputError if zlens cannot have written it."""
    loaded: InputDocument
    errors = validators.problem(file)
    try:
        parsed = _DEFERRED.decode(data)
    except (ValueError, RecursionError):
        # For the error message.
        loaded = validators.load_checked(data, file, _DOCUMENT)
        return loaded
    deferred = ("files", "schemas", "subjects")
    parts = [
        {name: raw if name in deferred else _parsed(raw, errors) for name, raw in part.items()}
        for part in parsed.parts
    ]
    loaded = _DOCUMENT.check({"info": parsed.info, "parts": parts, "side": parsed.side}, "", errors)
    return loaded


def load_seam(data: bytes, file: str, key: str) -> BoundaryDocument:
    """Parse the document of a boundary, whose files have this key; raises as `load`."""
    keys = (
        Key("files", list_of(_FileRow(key))),
        Key("resets", list_of(_ROWS[RESETS])),
        Key("problems", list_of(_ROWS[PROBLEMS])),
        Key("intervals", list_of(_INTERVAL), default=None),
    )
    seam: BoundaryDocument = validators.load_checked(data, file, Spec(keys, BoundaryDocument))
    return seam


def _file_row(file: LakeFile) -> list[Any]:
    *row, _key = astuple(file)
    return row


# Measures ---------------------------------------------------------------------------------------


class MeasuresFile(Struct, frozen=True):
    """Parquet file with a measure of one system and day, by hour or by day."""

    table: str
    rows: int
    bytes: int
    sha256: str
    foot: str


class MeasuresDocument(Struct):
    """Measures of one day of a system: the inputs of its machine, the schema of each table, and the files.

    retained   the intervals that have rows in measures
    """

    inputs: list[str] = field(default_factory=list)
    schemas: dict[str, str] = field(default_factory=dict)
    files: list[MeasuresFile] = field(default_factory=list)
    retained: Retained = field(default_factory=Retained)

    def dump(self) -> bytes:
        files = [astuple(file) for file in self.files]
        value = {"inputs": self.inputs, "schemas": self.schemas, "files": files}
        return dump(value | {"retained": self.retained.facts()})


class ConsolidatedDocument(Struct):
    """Measures of one day of many systems: each system with the state of its measures, and the files."""

    members: list[tuple[str, str]] = field(default_factory=list)
    schemas: dict[str, str] = field(default_factory=dict)
    files: list[MeasuresFile] = field(default_factory=list)

    def dump(self) -> bytes:
        files = [astuple(file) for file in self.files]
        return dump({"members": self.members, "schemas": self.schemas, "files": files})


_MEASURES_FILE = FixedTuple(
    (Text(80, 1, file_names.TABLE, "a table"), COUNT, COUNT, SHA256, KEY),
    "table, rows, bytes, digest, digest of the footer",
    MeasuresFile,
)
_MEASURES = Spec(
    (
        Key("inputs", list_of(SHA256)),
        Key("schemas", MapOf(KEY, 0)),
        Key("files", list_of(_MEASURES_FILE)),
        Key("retained", RETAINED),
    ),
    MeasuresDocument,
)
_GATHERED = Spec(
    (
        Key("members", list_of(FixedTuple((TEXT, KEY), "a system and the state of its measures"))),
        Key("schemas", MapOf(KEY, 0)),
        Key("files", list_of(_MEASURES_FILE)),
    ),
    ConsolidatedDocument,
)


def load_measures(data: bytes, file: str) -> MeasuresDocument:
    """Parse the document of a day of measures. Raises InputError if zlens cannot have written it."""
    loaded: MeasuresDocument = validators.load_checked(data, file, _MEASURES)
    _check_schemas(loaded, file)
    return loaded


def load_gathered(data: bytes, file: str) -> ConsolidatedDocument:
    """Parse the document of a day of measures of many systems; raises as `load_measures`."""
    loaded: ConsolidatedDocument = validators.load_checked(data, file, _GATHERED)
    _check_schemas(loaded, file)
    return loaded


def _check_schemas(loaded: MeasuresDocument | ConsolidatedDocument, file: str) -> None:
    if {file_of_table.table for file_of_table in loaded.files} - loaded.schemas.keys():
        raise validators.problem(file).general_error("schemas is wrong", expected="a schema for every table")


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
        rows = [astuple(interval) for interval in self.intervals]
        marks = [_mark_row(mark) for mark in self.marks]
        return dump({"intervals": rows, "marks": marks})


def _mark_row(mark: IntervalMark) -> list[int]:
    return [mark.end_us, mark.samples, mark.offset, mark.begin, *astuple(mark.digest)]


def _marked(end_us: int, samples: int, offset: int, begin: int, *digest: int) -> IntervalMark:
    return IntervalMark(end_us, samples, offset, begin, IntervalDigest(*digest))


_INTERVAL = FixedTuple(
    (WHOLE, Nullable(Number()), MAYBE_TEXT, MAYBE_WHOLE, COUNT),
    "end, seconds, flag, samples and layer",
    Interval,
)
_MARK = FixedTuple((WHOLE,) * 7, "end, samples, offset, begin, and digests of samples and events", _marked)
_INTERVALS = RowLists({"intervals": _INTERVAL, "marks": _MARK}, PartIntervals)
_OF_FILE = (MAYBE_TEXT, TEXT, TEXT, MAYBE_WHOLE)
_RESET = (TEXT, WHOLE, TEXT, TEXT, TEXT)
_INVENTORY = (
    *(MAYBE_TEXT, TEXT, TEXT, MAYBE_WHOLE, MAYBE_WHOLE, TEXT, TEXT, TEXT, WHOLE),
    *(MAYBE_WHOLE,) * 5,
    MAYBE_TEXT,
    *(MAYBE_WHOLE,) * 3,
    Nullable(Number()),
)
#: Rows of files next to a document.
_ROWS = {
    PROBLEMS: FixedTuple((*_OF_FILE, *_OF_FILE), "a row of the table problem", Problem),
    RESETS: FixedTuple(_RESET, "system, time, table, subject and evidence"),
    INVENTORY: FixedTuple(_INVENTORY, "a row of the table inventory", InventoryRow),
}
_LISTS = {name: RowLists({"rows": row}) for name, row in _ROWS.items()}


def load_intervals(data: bytes, file: str) -> PartIntervals:
    """Parse the intervals or marks of a part. Raises InputError if zlens cannot have written them."""
    intervals: PartIntervals = _INTERVALS.load(data, file)
    return intervals


def load_rows(data: bytes, file: str, name: str) -> list[Any]:
    """Parse the rows of PROBLEMS, RESETS or INVENTORY; raises as `load_intervals`."""
    rows: list[Any] = _LISTS[name].load(data, file)["rows"]
    return rows


def dump_schema(columns: tuple[RawColumn, ...]) -> bytes:
    return dump({"columns": [[column.name, column.type, column.unit, column.text] for column in columns]})


_TYPE = Choice(TYPES)
_COLUMN = FixedTuple((TEXT, _TYPE, TEXT, TEXT), "name, type, unit and text", RawColumn)
_SCHEMA = Spec((Key("columns", ListOf(_COLUMN, 1, into=tuple)),))


def load_schema(data: bytes, file: str) -> tuple[RawColumn, ...]:
    """Parse the columns of a table. Raises InputError if zlens cannot have written them."""
    loaded: dict[str, tuple[RawColumn, ...]] = validators.load_checked(data, file, _SCHEMA)
    return loaded["columns"]
