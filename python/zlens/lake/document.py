"""What there is to say of an input: facts and files. Of a seam: the files that stand in for others."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass, field
from typing import Any

from zlens.catalog.columns import Column
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, SystemInfo
from zlens.lake import names
from zlens.lake.facts import Facts
from zlens.readers.joints import Mark

NAME = "document.json"
INVENTORY, PROBLEMS, RESETS = "inventory.json", "problems.json", "resets.json"

#: system, microseconds UTC, table, subject, evidence
Reset = tuple[str, int, str, str, str]

_TYPES = re.compile("int|float|text|bool|time")
_KINDS = ("main", "edge")
_MOST = 2**63
#: Facts of a system that are kept; the others follow from the parts.
_SYSTEM = (
    "machine_type", "model", "serial", "release", "lpar", "lpar_number", "utc_offset_s", "leap_s",
    "local_time", "nominal_s", "threads",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class File:
    """One Parquet file. `first_us` and `last_us` are the interval ends in it, `open` rows that have none.

    kind is `main`, or `edge` for rows that depend on what other inputs hold: the first of every subject,
    and those behind the last interval end. With a key the file stands in for the one without.
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
    key: str | None = None

    def name(self, sha256: str, system: str) -> str:
        """Where it is in the lake, as part of an input and system."""
        return names.data(self.table, system, self.day, sha256, self.kind, self.key)

    @property
    def place(self) -> tuple[str, str, str]:
        """What a file with a key and the one that it stands in for have in common."""
        return self.table, self.day, self.kind


@dataclass(slots=True)
class PartDocument:
    """One system of an input: its facts, the schema of each table, the files."""

    info: SystemInfo
    schemas: dict[str, str] = field(default_factory=dict)
    #: Columns that name the subject of a row, of tables whose rows depend on other inputs.
    subjects: dict[str, list[str]] = field(default_factory=dict)
    files: list[File] = field(default_factory=list)


@dataclass(slots=True)
class Document:
    """An input as it was imported. `side`: bytes and SHA-256 of the files beside this one."""

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
                        "files": [_file_row(one) for one in part.files],
                    }
                    for part in self.parts
                ],
            }
        )


@dataclass(slots=True)
class SeamDocument:
    """What became of a part's rows because of the parts around it."""

    files: list[File]
    resets: list[Reset] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    #: In place of those that the import found.
    intervals: list[Interval] | None = None

    def dump(self) -> bytes:
        return dump(
            {
                "files": [_file_row(one) for one in self.files],
                "resets": self.resets,
                "problems": [dataclasses.astuple(one) for one in self.problems],
                "intervals": None if self.intervals is None else _interval_rows(self.intervals),
            }
        )


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def load(data: bytes, file: str) -> Document:
    facts = Facts.parse(data, file)
    side: dict[str, tuple[int, str]] = {}
    listed = facts.object("side")
    for name in listed.names():
        row = listed.listed(name)
        if not names.SIDE.fullmatch(name) or len(row) != 2 or not _is_count(row[0]) or not _is_digest(row[1]):
            facts.wrong("names, sizes and digests of files", "side")
        side[name] = (row[0], row[1])
    info = [one for one in facts.listed("info") if isinstance(one, dict)]
    return Document(info, [_part(one, file) for one in facts.objects("parts")], side)


def load_seam(data: bytes, file: str, key: str) -> SeamDocument:
    facts = Facts.parse(data, file)
    files = [_file(row, facts, key) for row in facts.listed("files")]
    return SeamDocument(
        files,
        resets_of(facts.listed("resets"), facts),
        problems_of(facts.listed("problems"), facts),
        _intervals_of(facts) if facts.has("intervals") else None,
    )


def _part(facts: Facts, file: str) -> PartDocument:
    threads = facts.object("threads") if facts.has("threads") else Facts({}, file)
    info = SystemInfo(
        facts.text("system"),
        facts.text("source"),
        machine_type=facts.maybe_text("machine_type"),
        model=facts.maybe_text("model"),
        serial=facts.maybe_text("serial"),
        release=facts.maybe_text("release"),
        lpar=facts.maybe_text("lpar"),
        lpar_number=facts.maybe_integer("lpar_number"),
        utc_offset_s=facts.maybe_integer("utc_offset_s"),
        leap_s=facts.integer("leap_s"),
        local_time=facts.truth("local_time"),
        nominal_s=facts.maybe_number("nominal_s"),
        threads={kind: threads.integer(kind, 0) for kind in threads.names()},
    )
    schemas, subjects = facts.object("schemas"), facts.object("subjects")
    part = PartDocument(info, {table: schemas.text(table, names.KEY) for table in schemas.names()})
    for table in subjects.names():
        part.subjects[table] = subjects.listed(table)
        if not all(isinstance(name, str) for name in part.subjects[table]):
            facts.wrong("names of columns", "subjects")
    part.files = [_file(row, facts) for row in facts.listed("files")]
    for one in part.files:
        if one.table not in part.schemas:
            facts.wrong("a schema for every table", "schemas")
    return part


def _file_row(one: File) -> list[Any]:
    return [
        one.table, one.day, one.kind, one.rows, one.bytes, one.sha256, one.first_us, one.last_us, one.open,
    ]  # fmt: skip


def _file(row: Any, facts: Facts, key: str | None = None) -> File:
    # A lake has thousands of these, and most questions need all: each check is a plain one.
    try:
        table, day, kind, rows, size, sha256, first, last, waiting = row
        right = (
            names.TABLE.fullmatch(table)
            and names.DAY.fullmatch(day)
            and kind in _KINDS
            and names.SHA256.fullmatch(sha256)
            and type(rows) is type(size) is type(waiting) is int
            and 0 <= rows < _MOST
            and 0 <= size < _MOST
            and 0 <= waiting < _MOST
            and (first is None or (type(first) is int and -_MOST < first < _MOST))
            and (last is None or (type(last) is int and -_MOST < last < _MOST))
        )
    except (TypeError, ValueError):
        right = False
    if not right:
        facts.wrong("rows of table, day, kind, rows, bytes, digest, first and last interval", "files")
    return File(table, day, kind, rows, size, sha256, first, last, waiting, key)


# Files beside a document -------------------------------------------------------------------------


def intervals_name(place: int) -> str:
    return f"{place}.intervals.json"


@dataclass(slots=True)
class Intervals:
    """Intervals of a part, or marks: then lengths are from one to the next of the whole system."""

    intervals: list[Interval] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def ends(self) -> list[int]:
        """When intervals end that hold something, in order."""
        if self.marks:
            return sorted({mark.end_us for mark in self.marks if mark.samples})
        return [one.end_us for one in self.intervals]

    def dump(self) -> bytes:
        rows = _interval_rows(self.intervals)
        marks = [[one.end_us, one.samples, one.offset] for one in self.marks]
        return dump({"intervals": rows, "marks": marks})


def _interval_rows(intervals: list[Interval]) -> list[list[Any]]:
    return [[one.end_us, one.seconds, one.flag, one.samples] for one in intervals]


def _intervals_of(facts: Facts) -> list[Interval]:
    found = []
    for row in facts.listed("intervals"):
        if not (
            isinstance(row, list)
            and len(row) == 4
            and _is_whole(row[0])
            and (row[1] is None or isinstance(row[1], (int, float)))
            and (row[2] is None or isinstance(row[2], str))
            and (row[3] is None or _is_whole(row[3]))
        ):
            facts.wrong("rows of end, seconds, flag and samples", "intervals")
        found.append(Interval(*row))
    return found


def load_intervals(data: bytes, file: str) -> Intervals:
    facts = Facts.parse(data, file)
    marks = []
    for row in facts.listed("marks"):
        if not (isinstance(row, list) and len(row) == 3 and all(map(_is_whole, row))):
            facts.wrong("rows of end, samples and offset", "marks")
        marks.append(Mark(*row))
    return Intervals(_intervals_of(facts), marks)


def problems_of(rows: list[Any], facts: Facts) -> list[Problem]:
    found = []
    for row in rows:
        if not (
            isinstance(row, list)
            and len(row) == 8
            and all(isinstance(row[at], str) for at in (1, 2, 5, 6))
            and all(row[at] is None or isinstance(row[at], str) for at in (0, 4))
            and all(row[at] is None or _is_whole(row[at]) for at in (3, 7))
        ):
            facts.wrong("rows of the table problem")
        found.append(Problem(*row))
    return found


def resets_of(rows: list[Any], facts: Facts) -> list[Reset]:
    found: list[Reset] = []
    for row in rows:
        if not (
            isinstance(row, list)
            and len(row) == 5
            and _is_whole(row[1])
            and all(isinstance(row[at], str) for at in (0, 2, 3, 4))
        ):
            facts.wrong("rows of system, time, table, subject and evidence")
        found.append((row[0], row[1], row[2], row[3], row[4]))
    return found


def inventory_of(rows: list[Any], facts: Facts) -> list[InventoryRow]:
    found = []
    for row in rows:
        if not (
            isinstance(row, list)
            and len(row) in (15, 19)
            and all(isinstance(row[at], str) for at in (1, 2, 5, 6, 7))
            and _is_whole(row[8])
            and all(row[at] is None or isinstance(row[at], str) for at in (0, 14))
            and all(row[at] is None or _is_whole(row[at]) for at in (3, 4, 9, 10, 11, 12, 13))
            and all(row[at] is None or _is_whole(row[at]) for at in range(15, len(row) - 1))
            and (len(row) == 15 or row[18] is None or isinstance(row[18], float))
        ):
            facts.wrong("rows of the table inventory")
        found.append(InventoryRow(*row))
    return found


def rows_of(data: bytes, file: str) -> tuple[list[Any], Facts]:
    facts = Facts.parse(data, file)
    return facts.listed("rows"), facts


def dump_schema(columns: tuple[Column, ...]) -> bytes:
    return dump({"columns": [[c.name, c.type, c.unit, c.text] for c in columns]})


def load_schema(data: bytes, file: str) -> tuple[Column, ...]:
    facts = Facts.parse(data, file)
    found = []
    for row in facts.listed("columns"):
        if not (isinstance(row, list) and len(row) == 4 and all(isinstance(one, str) for one in row)):
            facts.wrong("rows of name, type, unit and text", "columns")
        if not _TYPES.fullmatch(row[1]):
            facts.wrong("one of the types int, float, text, bool and time", "columns")
        found.append(Column(*row))
    if not found:
        facts.wrong("columns", "columns")
    return tuple(found)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_count(value: Any) -> bool:
    return _is_whole(value) and value >= 0


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and names.SHA256.fullmatch(value) is not None
