"""A lake as an input: what was imported, read from Parquet as far as the options and the question need it."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import resource
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from zlens.catalog import expressions
from zlens.catalog.columns import Column
from zlens.catalog.interval_flags import flag
from zlens.catalog.roles import lasting_tables
from zlens.errors import InputError
from zlens.inputs.options import Moment, Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, Interval, InventoryRow, RawTable, SystemInfo
from zlens.lake import document, names
from zlens.lake.document import Document, File, Intervals, PartDocument, SeamDocument
from zlens.lake.folder import Folder, Reading, part_of
from zlens.lake.manifest import Input, Part
from zlens.readers.joints import NEAR_US
from zlens.schema.kinds import Either, Row
from zlens.schema.wording import say

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def open_lake(path: str, options: Options) -> list[LakeSource]:
    """The sources in a lake: one for each kind of input. InputError when it is empty or damaged."""
    lake = Folder(path)
    # Before the manifest is read: what it lists then stays as long as the sources do.
    reading = lake.reading()
    parts = lake.load().parts()
    if not parts:
        raise InputError("the lake is empty", file=path, cure=say("lake_fill", lake=path))
    shown = _shown(one for one, _ in parts)
    sources: dict[str, list[_StoredPart]] = {}
    for one, part in parts:
        held = _StoredPart(lake, one, part, shown[one.sha256])
        sources.setdefault(one.source, []).append(held)
    return [LakeSource(name, lake, held, options, reading) for name, held in sources.items()]


def _shown(inputs: Iterable[Input]) -> dict[str, str]:
    """What inputs are called: as they were named, with a digest where several were named alike."""
    named = {one.sha256: one.path for one in inputs}
    counts = Counter(named.values())
    return {sha256: path if counts[path] == 1 else f"{path} ({sha256[:8]})" for sha256, path in named.items()}


@dataclass
class _StoredPart:
    """A part of the lake; its documents are read when something of them is asked for."""

    lake: Folder
    input: Input
    part: Part
    shown: str

    @cached_property
    def whole(self) -> Document:
        return self.lake.document(self.input, self.part.document)

    @cached_property
    def document(self) -> PartDocument:
        return part_of(self.whole, self.part, self.lake)

    @cached_property
    def seam(self) -> SeamDocument | None:
        return self.lake.seam(self.input, self.part)

    def files(self) -> list[File]:
        """The files that count: those of the seam in the place of those they stand in for."""
        found = {file.place: file for file in self.document.files}
        if self.seam is not None:
            found.update({file.place: file for file in self.seam.files})
        return [file for file in found.values() if file.rows]

    def side(self, name: str) -> tuple[bytes, str] | None:
        """A file beside the document, with its path; None where there is none."""
        facts = self.whole.side.get(name)
        if facts is None:
            return None
        path = f"{names.document(self.input.sha256, self.part.document)}/{name}"
        return self.lake.read(path, facts[1]), self.lake.absolute(path)

    def rows(self, name: str, row: Row | Either) -> list[Any]:
        found = self.side(name)
        return [] if found is None else document.load_rows(*found, row)

    def intervals(self) -> Intervals:
        found = self.side(document.intervals_name(self.part.place))
        return Intervals() if found is None else document.load_intervals(*found)


class LakeSystem(SystemInfo):
    """A system in a lake. Its intervals are read when they are asked for."""

    find: Callable[[], list[Interval]] | None = None
    known: list[Interval] | None = None

    @property
    def intervals(self) -> list[Interval]:
        if self.known is None:
            self.known = self.find() if self.find else []
        return self.known

    @intervals.setter
    def intervals(self, value: list[Interval]) -> None:
        self.known = value or None


@dataclass(slots=True)
class LakeTable:
    """A raw table of one system, in files of one schema."""

    name: str
    constants: Mapping[str, str]
    find: Callable[[], tuple[Column, ...]]
    paths: list[str] = field(default_factory=list)
    known: tuple[Column, ...] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        if self.known is None:
            self.known = self.find()
        return self.known

    def stream(self, columns: list[str]) -> ArrowSource:
        return _Stream(self, columns)

    def sql(self, columns: Sequence[str]) -> str:
        """A SELECT of the named columns; what is the same in all rows is not read."""
        quote, literal = expressions.quote, expressions.literal
        chosen = ", ".join(
            f"{literal(self.constants[name])} AS {quote(name)}" if name in self.constants else quote(name)
            for name in columns
        )
        listed = ", ".join(map(literal, self.paths))
        return f"SELECT {chosen or '1'} FROM read_parquet([{listed}], hive_partitioning = false)"


class _Stream:
    """Some columns of a table as an Arrow stream; each reading is a fresh one."""

    def __init__(self, table: LakeTable, columns: list[str]) -> None:
        types = {column.name: column.type for column in table.columns}
        self._table = table
        self._schema = [(name, types[name]) for name in columns]

    def __arrow_c_schema__(self) -> object:
        from zlens._native import ArrowTable

        return ArrowTable(self._schema, []).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        from zlens.engine import connection as engine

        return engine.stream(self._table.sql([name for name, _ in self._schema]), self._table.paths)


class _Tables(Mapping[str, list[RawTable]]):
    """Raw tables by name. Documents are read when a name is first asked for."""

    def __init__(self, source: LakeSource) -> None:
        self._source = source

    @cached_property
    def _found(self) -> dict[str, list[LakeTable]]:
        tables: dict[tuple[str, str, str], LakeTable] = {}
        for held in self._source.chosen:
            system, schemas = held.part.system, held.document.schemas
            for table, schema in schemas.items():
                if (table, system, schema) not in tables:
                    constants = {"system": system, "source": held.input.source}
                    tables[table, system, schema] = LakeTable(table, constants, self._source.schema(schema))
            for file in self._source.files(held):
                path = held.lake.absolute(file.name(held.input.sha256, system))
                tables[file.table, system, schemas[file.table]].paths.append(path)
        found: dict[str, list[LakeTable]] = {}
        for one in tables.values():
            found.setdefault(one.name, []).append(one)
        return found

    def __getitem__(self, name: str) -> list[RawTable]:
        return list(self._found[name])

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._found))

    def __len__(self) -> int:
        return len(self._found)

    def paths(self) -> list[str]:
        return [path for some in self._found.values() for one in some for path in one.paths]


class LakeSource:
    """All inputs of one kind in a lake."""

    def __init__(
        self, name: str, lake: Folder, parts: list[_StoredPart], options: Options, reading: Reading
    ) -> None:
        self.name = name
        self.lake = lake
        self._reading = reading
        self._options = options
        self._parts = parts
        self._by_system: dict[str, list[_StoredPart]] = {}
        for held in parts:
            self._by_system.setdefault(held.part.system, []).append(held)
        self._check()
        self.systems: list[SystemInfo] = [self._info(name) for name in self._by_system]
        self._bounds = {info.system: _bounds(options, info) for info in self.systems}
        #: Parts in which something may be that the options ask for.
        self.chosen = [held for held in parts if self._is_chosen(held)]
        self._schemas: dict[str, tuple[Column, ...]] = {}
        self.tables: Mapping[str, list[RawTable]] = _Tables(self)

    def _check(self) -> None:
        """Times were made when the data was imported; another wish cannot be met."""
        for held in self._parts:
            given = self._options.leap
            if given is not None and given != held.input.leap:
                raise InputError(
                    f"{held.part.system} was imported with {held.input.leap} leap seconds, not {given}",
                    file=os.fspath(self.lake.path),
                    cure=say("leap_as_imported", leap=held.input.leap),
                )
            if self._options.tz is not None and held.part.local_time:
                raise InputError(
                    f"{held.part.system} was imported without a zone",
                    file=os.fspath(self.lake.path),
                    cure=say("tz_not_of_lake"),
                )

    # -- systems -------------------------------------------------------------------------------------

    def _info(self, system: str) -> SystemInfo:
        parts = self._telling(system)
        first = parts[0].document.info
        info = LakeSystem(
            system,
            self.name,
            machine_type=first.machine_type,
            model=first.model,
            serial=first.serial,
            release=first.release,
            lpar=first.lpar,
            lpar_number=first.lpar_number,
            threads=first.threads,
            utc_offset_s=first.utc_offset_s,
            leap_s=first.leap_s,
            local_time=first.local_time,
            nominal_s=first.nominal_s,
            first_us=min((h.part.first_us for h in parts if h.part.first_us is not None), default=None),
            last_us=max((h.part.last_us for h in parts if h.part.last_us is not None), default=None),
            files=[held.shown for held in self._by_system[system]],
        )
        info.find = lambda: self._intervals(info)
        return info

    def _telling(self, system: str) -> list[_StoredPart]:
        """The parts that tell of a system's intervals: of dumps those with counters, where there are any."""
        parts = self._by_system[system]
        counted = [held for held in parts if held.part.joined] if self.name in NEAR_US else []
        return counted or parts

    def _is_chosen(self, held: _StoredPart) -> bool:
        part = held.part
        if self._options.systems and part.system not in self._options.systems:
            return False
        low, high = self._bounds[part.system]
        if part.first_end_us is None or part.last_end_us is None:
            return True
        # Records with intervals of their own may begin earlier and end later than counters do.
        first = min((part.first_end_us, *(part.records_us or ())))
        last = max((part.last_end_us, *(part.records_us or ())))
        # Rows behind the last end are closed by a later input.
        ends_before = low is not None and last <= low and part.open_us is None
        return not ends_before and (high is None or first <= high)

    def files(self, held: _StoredPart) -> Iterator[File]:
        """The files of a part in which something may be that the options ask for."""
        low, high = self._bounds[held.part.system]
        # What holds may have been told long before.
        lasting = frozenset() if low is None else lasting_tables()
        for file in held.files():
            if file.first_us is None or file.last_us is None:
                if (low is None and high is None) or not file.open:
                    yield file
            elif (low is None or file.last_us > low or file.table in lasting) and (
                high is None or file.first_us <= high
            ):
                yield file

    def schema(self, key: str) -> Callable[[], tuple[Column, ...]]:
        def find() -> tuple[Column, ...]:
            if key not in self._schemas:
                name = names.schema(key)
                data = self.lake.read(name, None)
                self._schemas[key] = document.load_schema(data, self.lake.absolute(name))
            return self._schemas[key]

        return find

    def _intervals(self, info: SystemInfo) -> list[Interval]:
        """Intervals of a system, each once; only of the times asked for, if there are any."""
        parts = self._telling(info.system)
        chosen = [held for held in parts if self._is_chosen(held)]
        found = self._intervals_of(info, chosen, parts) if chosen else []
        return found or self._intervals_of(info, parts, parts)

    def _intervals_of(
        self, info: SystemInfo, chosen: list[_StoredPart], parts: list[_StoredPart]
    ) -> list[Interval]:
        known: dict[int, Interval] = {}
        marks = False
        for held in chosen:
            told = held.intervals()
            if held.seam is not None and held.seam.intervals is not None:
                told = Intervals(held.seam.intervals)
            marks = marks or bool(told.marks)
            for one in told.intervals:
                known.setdefault(one.end_us, one)
            for mark in told.marks:
                if mark.samples:
                    known.setdefault(mark.end_us, Interval(mark.end_us, None, None, mark.samples))
        found = [known[end] for end in sorted(known)]
        if not marks or not found:
            return found
        # The end before the first one here stands in a part that was not chosen, or there is none.
        before = [
            held.part.last_end_us
            for held in parts
            if held not in chosen and held.part.last_end_us is not None
            if held.part.last_end_us < found[0].end_us
        ]
        ends = [max(before, default=None), *(one.end_us for one in found)]
        if not info.nominal_s:
            lengths = [(b - a) / 1e6 for a, b in itertools.pairwise(ends) if a is not None and b is not None]
            info.nominal_s = float(round(statistics.median(lengths))) if lengths else None
        timed = []
        for previous, one in zip(ends, found, strict=False):
            if previous is not None:
                seconds = (one.end_us - previous) / 1e6
                timed.append(replace(one, seconds=seconds, flag=flag(seconds, info.nominal_s)))
        return timed

    # -- what a session asks -------------------------------------------------------------------------

    @property
    def paths(self) -> list[str]:
        """All Parquet files that the options leave; no others are opened."""
        found = self.tables.paths() if isinstance(self.tables, _Tables) else []
        _allow(len(found))
        return found

    def holds(self, size: int) -> list[tuple[str, str]]:
        """SHA-256 and name of inputs of so many bytes."""
        return [(h.input.sha256, h.shown) for h in self._parts if h.input.bytes == size]

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """What was met at the import, and at the seams between inputs."""
        found: dict[Problem, None] = {}
        for held in self.chosen:
            for problem in held.rows(document.PROBLEMS, document.PROBLEM):
                if problem.system in (None, held.part.system):
                    found[replace(problem, file=held.shown)] = None
            if held.seam is not None:
                found.update({replace(problem, file=held.shown): None for problem in held.seam.problems})
        return list(found)

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Counters that were reset, within inputs and between them."""
        found: dict[document.Reset, None] = {}
        for held in self.chosen:
            some = held.rows(document.RESETS, document.RESET)
            found.update({reset: None for reset in some if reset[0] == held.part.system})
            if held.seam is not None:
                found.update(dict.fromkeys(held.seam.resets))
        return list(found)

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """What the inputs held, with the layouts they were decoded with."""
        found: dict[InventoryRow, None] = {}
        for held in self.chosen:
            for row in held.rows(document.INVENTORY, document.INVENTORY_ROW):
                if row.system in (None, held.part.system):
                    found[replace(row, file=held.shown)] = None
        return list(found)

    def info(self) -> list[dict[str, Any]]:
        """One object per input, as its reader told of it."""
        told: dict[str, dict[str, Any]] = {}
        for held in self.chosen:
            for one in held.whole.info:
                told.setdefault(
                    held.shown,
                    {
                        "format": self.name,
                        "bytes": held.input.bytes,
                        **one,
                        "path": held.shown,
                        "file": held.shown,
                    },
                )
                told[held.shown]["lake"] = os.fspath(self.lake.path)
        return list(told.values())


def _allow(files: int) -> None:
    """Let this process have so many files open, as far as the system does: the engine opens a whole table."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files + 256
    if resource.RLIM_INFINITY not in (soft, hard):
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _bounds(options: Options, info: SystemInfo) -> tuple[int | None, int | None]:
    """Interval ends lie after the first and not after the second, in microseconds UTC; None: no bound."""
    zone = dt.UTC if options.utc else info.zone()

    def moment(given: Moment | None) -> int | None:
        if given is None or given.date is None:
            return None
        return (given.utc(zone, given.date) - _EPOCH) // dt.timedelta(microseconds=1)

    return moment(options.start), moment(options.end)


def already_there(sources: Sequence[LakeSource], path: str, digest: Callable[[str], str]) -> str | None:
    """Under which name a lake has a file's bytes already; a digest is made only where sizes agree."""
    size = os.path.getsize(path)
    alike = {sha256: shown for source in sources for sha256, shown in source.holds(size)}
    return alike.get(digest(path)) if alike else None
