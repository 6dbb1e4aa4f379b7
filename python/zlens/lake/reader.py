"""Reads a lake as an input: only the Parquet files that the options and the query need."""

from __future__ import annotations

import hashlib
import itertools
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import expressions
from zlens.catalog.interval_flags import flag
from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.roles import state_tables
from zlens.errors import InputError
from zlens.inputs import record_intervals
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem, printable
from zlens.inputs.source import ArrowSource, Interval, InventoryRow, RawTable, SystemInfo, moves
from zlens.lake import documents, file_names
from zlens.lake.documents import (
    BoundaryDocument,
    InputDocument,
    LakeFile,
    PartDocument,
    PartIntervals,
    SourceTimeRange,
)
from zlens.lake.lake_folder import LakeFolder, ReadLock, find_part_document
from zlens.lake.location import open_folder
from zlens.lake.manifest import RULES, InputPart, LakeInput
from zlens.lake.parquet_streams import ParquetStream, raise_file_limit, read_parquet_sql
from zlens.lake.rollup_reader import MeasuresSource
from zlens.readers.boundaries import END_TOLERANCE_US
from zlens.schema.wording import phrase


def open_lake(path: str, options: Options) -> list[LakeSource | MeasuresSource]:
    """Open the sources of a lake, one for each kind of input. Raises InputError if it is empty or damaged."""
    if printable(path) != path:
        raise InputError("the name of the lake is not UTF-8 text", file=path, cure="rename it, or move it")
    lake = open_folder(path)
    # The lock precedes the manifest, so that its files stay while the sources are open.
    lock = lake.reading()
    manifest = lake.load()
    parts = manifest.parts()
    if not parts:
        raise InputError("the lake is empty", file=path, cure=phrase("lake_fill", lake=path))
    shown = _display_names(imported for imported, _ in parts)
    sources: dict[str, list[_ReaderPart]] = {}
    read = cache(lambda sha256, key: lake.document(manifest.inputs[sha256], key))
    for imported, part in parts:
        stored = _ReaderPart(lake, imported, part, shown[imported.sha256], read)
        sources.setdefault(imported.source, []).append(stored)
    opened = [LakeSource(name, lake, stored, options, lock) for name, stored in sources.items()]
    if not manifest.rollups:
        return [*opened]
    bounds = {
        info.system: options.bounds_us(info.zone(), info.last_us)
        for source in opened
        for info in source.systems
    }
    selected = [
        rollup
        for _, rollup in sorted(manifest.rollups.items())
        if not options.systems or rollup.system in options.systems
    ]
    return [*opened, MeasuresSource(lake, selected, manifest, bounds, lock)]


def _first_known(infos: Iterable[SystemInfo], name: str) -> Any:
    """Return the first known value of a fact of a system's inputs."""
    return next((value for info in infos if (value := getattr(info, name)) is not None), None)


def _display_names(inputs: Iterable[LakeInput]) -> dict[str, str]:
    """Return display names of inputs: their paths, with a digest if several have the same one."""
    paths = {imported.sha256: imported.path for imported in inputs}
    counts = Counter(paths.values())
    return {sha256: path if counts[path] == 1 else f"{path} ({sha256[:8]})" for sha256, path in paths.items()}


#: Facts of a system that not every record states.
_FACTS = (*("machine_type", "model", "serial", "release", "lpar", "lpar_number", "sysplex"), "utc_offset_s")


class _ReaderPart(Struct, dict=True):
    """A part of the lake; its documents are read on first use.

    read   returns the document of an input by its digest and key, read once: an input of many systems has a
           part of each
    """

    lake: LakeFolder
    input: LakeInput
    part: InputPart
    shown: str
    read: Callable[[str, str], InputDocument]

    @property
    def full_document(self) -> InputDocument:
        return self.read(self.input.sha256, self.part.document)

    @cached_property
    def document(self) -> PartDocument:
        return find_part_document(self.full_document, self.part, self.lake)

    @cached_property
    def seam(self) -> BoundaryDocument | None:
        return self.lake.seam(self.input, self.part)

    def files(self) -> list[LakeFile]:
        """Return the current files; none if raw tables were removed."""
        return documents.current_files(self.document, self.seam) if self.part.raw else []

    def side(self, name: str) -> tuple[bytes, str] | None:
        """Return a file next to the document and its path; None if it does not exist."""
        entry = self.full_document.side.get(name)
        if entry is None:
            return None
        path = f"{file_names.document_folder(self.input.sha256, self.part.document)}/{name}"
        return self.lake.read(path, entry[1]), self.lake.absolute(path)

    def rows(self, name: str) -> list[Any]:
        side_file = self.side(name)
        return [] if side_file is None else documents.load_rows(*side_file, name)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Sources of the rows."""
        return tuple(self.part.row_sources(self.input))

    def span(self, source: str) -> SourceTimeRange:
        """Return the time range of one of the sources."""
        info = self.document.info
        whole = SourceTimeRange(source, info.nominal_s, self.part.first_us, self.part.last_us)
        return next((span for span in self.document.spans if span.source == source), whole)

    def intervals(self, source: str) -> PartIntervals:
        """Return the intervals of one of the sources."""
        side_file = self.side(documents.intervals_file_name(self.part.place, self.sources.index(source)))
        return PartIntervals() if side_file is None else documents.load_intervals(*side_file)


class LakeTable(Struct, dict=True):
    """A raw table of all systems, in files of one schema, which are located when rows are read.

    One scan reads all files, because each scan costs memory for every column. With `named`, the paths of the
    files have the system's name, so that a query of some systems opens only their files.
    """

    name: str
    named: bool
    schema: str
    source: LakeSource
    #: Its parts by system, grouped by equal tables; all tables of a group share the list.
    groups: dict[str, list[list[_ReaderPart]]] = field(default_factory=dict)
    is_verified: bool = False

    @property
    def paths(self) -> list[str]:
        return list(self.files)

    @cached_property
    def files(self) -> dict[str, LakeFile]:
        """Files by path, by system and in order of time."""
        return {
            stored.lake.absolute(file.name(stored.input.sha256, stored.part.system)): file
            for groups in self.groups.values()
            for stored in (groups[0] if len(groups) == 1 else sorted(chain(*groups), key=_order))
            for file in self.source.files(stored).get(self.name, ())
        }

    @cached_property
    def columns(self) -> tuple[RawColumn, ...]:
        return self.source.schema(self.schema)

    def stream(self, columns: list[str]) -> ArrowSource:
        self._verify()
        return ParquetStream(self, columns)

    def sql(self, columns: Sequence[str]) -> str:
        """Return a SELECT of the named columns."""
        self._verify()
        select_list = ", ".join(map(expressions.quote, columns)) or "1"
        # The engine takes the columns of a path before those of the file.
        named = self.named and not any(column.name == "day" for column in self.columns)
        return f"SELECT {select_list} FROM {read_parquet_sql(self.paths, named=named)}"

    def _verify(self) -> None:
        """Verify the files once in a session. Raises InputError if one differs from the manifest."""
        if not self.is_verified:
            self.source.lake.verify(self.files)
            self.is_verified = True


def _order(stored: _ReaderPart) -> tuple[int, str]:
    """Return the sort key of parts as in a manifest."""
    return stored.part.first_us or 0, stored.input.sha256


class _LakeTables(Mapping[str, list[RawTable]]):
    """Raw tables by name. On first use, one document for each group of equal parts is read."""

    def __init__(self, source: LakeSource) -> None:
        self._source = source

    @cached_property
    def _found(self) -> dict[str, list[LakeTable]]:
        # Grouped by equal tables, because a year of a system may have hundreds of parts.
        groups: dict[tuple[str, str], list[_ReaderPart]] = {}
        for stored in self._source.chosen:
            groups.setdefault((stored.part.system, stored.part.tables), []).append(stored)
        # Outside the lake a folder may have a name with an equals sign, which would be a column.
        in_paths = "=" not in self._source.lake.absolute("")
        tables: dict[tuple[str, str, bool], LakeTable] = {}
        for (system, _), parts in groups.items():
            named = in_paths and file_names.is_in_path(system)
            for table, schema in self._source.schemas(parts[0]).items():
                key = table, schema, named
                if key not in tables:
                    tables[key] = LakeTable(table, named, schema, self._source)
                tables[key].groups.setdefault(system, []).append(parts)
        by_name: dict[str, list[LakeTable]] = {}
        for lake_table in tables.values():
            by_name.setdefault(lake_table.name, []).append(lake_table)
        return by_name

    def __getitem__(self, name: str) -> list[RawTable]:
        return list(self._found[name])

    @cached_property
    def _names(self) -> dict[str, None]:
        # One document per distinct set of tables; the first part's document is needed anyway.
        distinct = {stored.part.tables: stored for stored in reversed(self._source.chosen)}
        schemas = map(self._source.schemas, distinct.values())
        return dict.fromkeys(sorted({name for each in schemas for name in each}))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class LakeSource:
    """All inputs of one kind in a lake, as a source."""

    def __init__(
        self, name: str, lake: LakeFolder, parts: list[_ReaderPart], options: Options, reading: ReadLock
    ) -> None:
        self.name = name
        self.lake = lake
        self._reading = reading
        self._options = options
        self._parts = parts
        self._by_system: dict[str, list[_ReaderPart]] = {}
        for stored in parts:
            self._by_system.setdefault(stored.part.system, []).append(stored)
        self._check()
        self.systems: list[SystemInfo] = [
            self._info(system, source)
            for system in self._wanted()
            for source in dict.fromkeys(
                source for stored in self._by_system[system] for source in stored.sources
            )
        ]
        self._bounds = {info.system: options.bounds_us(info.zone(), info.last_us) for info in self.systems}
        #: Parts within the options. `chosen` are those with raw tables.
        self._selected = [stored for stored in parts if self._is_selected(stored)]
        self.chosen = [stored for stored in self._selected if stored.part.raw]
        #: Systems with removed raw tables within the options.
        self.forgotten = {stored.part.system for stored in self._selected if not stored.part.raw}
        #: Returns the columns of a schema.
        self.schema = cache(lake.schema)
        self._schemas_by_tables: dict[str, Mapping[str, str]] = {}
        self._files: dict[tuple[str, str], dict[str, list[LakeFile]]] = {}
        self.tables: Mapping[str, list[RawTable]] = _LakeTables(self)

    def _wanted(self) -> list[str]:
        """Return the systems that the options name; if there are none, all, for an error that lists them."""
        named_systems = [system for system in self._by_system if system in self._options.systems]
        return named_systems or [*self._by_system]

    def _check(self) -> None:
        """Raise InputError for time options other than those of the import, which computed all times."""
        for stored in self._parts:
            leap_s = self._options.leap
            if leap_s is not None and leap_s != stored.input.leap:
                raise InputError(
                    f"{stored.part.system} was imported with {stored.input.leap} leap seconds, not {leap_s}",
                    file=self.lake.name,
                    cure=phrase("leap_as_imported", leap=stored.input.leap),
                )
            if self._options.tz is not None and stored.part.local_time:
                raise InputError(
                    f"{stored.part.system} was imported without a time zone",
                    file=self.lake.name,
                    cure=phrase("tz_not_of_lake"),
                )

    # -- systems -------------------------------------------------------------------------------------

    def _info(self, system: str, source: str) -> SystemInfo:
        parts = self._parts_of(system, source)
        # Counters, if any input has them, determine the nominal interval.
        counted = [stored for stored in parts if stored.part.joined] if self.name in END_TOLERANCE_US else []
        # Inputs whose records state the same of the system's identity know the same facts of it.
        distinct: dict[frozenset[str], _ReaderPart] = {}
        for stored in (*counted, *parts):
            distinct.setdefault(stored.part.identity_keys, stored)
        infos = [stored.document.info for stored in distinct.values()]
        first = infos[0]
        spans = [stored.span(source) for stored in parts] if parts[0].part.sources else []
        times = [(stored.part.first_us, stored.part.last_us) for stored in parts]
        times = [(span.first_us, span.last_us) for span in spans] or times
        info = SystemInfo(
            system,
            source,
            # An input may lack the records that have a fact; readers take the first that does.
            **{name: _first_known(infos, name) for name in _FACTS},
            threads=first.threads,
            leap_s=first.leap_s,
            local_time=first.local_time,
            synthetic=first.synthetic,
            moves=moves(machine for stored in parts for machine in stored.part.machines),
            nominal_s=spans[0].nominal_s if spans else first.nominal_s,
            first_us=min((time for time, _ in times if time is not None), default=None),
            last_us=max((time for _, time in times if time is not None), default=None),
            files=[stored.shown for stored in self._by_system[system] if source in stored.sources],
            ends_us=self._ends(parts),
        )
        info.find = lambda: self._intervals(info)
        return info

    def _ends(self, parts: list[_ReaderPart]) -> tuple[int, int] | None:
        """Return the first and last interval end of all parts; None if options or documents decide."""
        if self._options.start is not None or self._options.end is not None:
            return None
        ends = [stored.part.ends_us() for stored in parts if not stored.part.sources]
        known = [end for span in ends if span is not None for end in span]
        return (min(known), max(known)) if len(known) == 2 * len(parts) else None

    def _parts_of(self, system: str, source: str) -> list[_ReaderPart]:
        return [stored for stored in self._by_system[system] if source in stored.sources]

    def _is_selected(self, stored: _ReaderPart) -> bool:
        part = stored.part
        if self._options.systems and part.system not in self._options.systems:
            return False
        low, high = self._bounds[part.system]
        span = part.ends_us()
        if span is None:
            return True
        first, last = span
        # A later input may close the rows after the last end.
        ends_before = low is not None and last <= low and part.open_us is None
        return not ends_before and (high is None or first <= high)

    def schemas(self, stored: _ReaderPart) -> Mapping[str, str]:
        """Return the tables of a part with their schemas, from the document of a part with equal tables."""
        key = stored.part.tables
        if key not in self._schemas_by_tables:
            self._schemas_by_tables[key] = stored.document.schemas
        return self._schemas_by_tables[key]

    def files(self, stored: _ReaderPart) -> dict[str, list[LakeFile]]:
        """Return the files of a part that may contain rows of the options, by table."""
        key = stored.input.sha256, stored.part.system
        if key not in self._files:
            by_table: dict[str, list[LakeFile]] = {}
            for file in self._within(stored):
                by_table.setdefault(file.table, []).append(file)
            self._files[key] = by_table
        return self._files[key]

    def _within(self, stored: _ReaderPart) -> Iterator[LakeFile]:
        low, high = self._bounds[stored.part.system]
        # A lasting state may have been recorded long before the window.
        lasting = frozenset() if low is None else state_tables()
        for file in stored.files():
            if file.first_us is None or file.last_us is None:
                if (low is None and high is None) or not file.open:
                    yield file
            elif (low is None or file.last_us > low or file.table in lasting) and (
                high is None or file.first_us <= high
            ):
                yield file

    def _intervals(self, info: SystemInfo) -> list[Interval]:
        """Return the distinct intervals of a system; only those of the selected times, if there are any."""
        parts = self._parts_of(info.system, info.source)
        with_rows = [stored for stored in parts if stored.part.raw]
        selected = [stored for stored in with_rows if self._is_selected(stored)]
        return self._intervals_of(info, selected, parts) or self._intervals_of(info, with_rows, parts)

    def _intervals_of(
        self, info: SystemInfo, selected: list[_ReaderPart], parts: list[_ReaderPart]
    ) -> list[Interval]:
        intervals: list[Interval] = []
        marks = False
        for stored in selected:
            stored_intervals = stored.intervals(info.source)
            if stored.seam is not None and stored.seam.intervals is not None:
                intervals += stored.seam.intervals
                intervals += [interval for interval in stored_intervals.intervals if interval.layer]
                continue
            marks = marks or bool(stored_intervals.marks)
            intervals += stored_intervals.intervals
            intervals += [
                Interval(mark.end_us, None, None, mark.samples)
                for mark in stored_intervals.marks
                if mark.samples
            ]
        ordered = record_intervals.union(intervals)
        if not marks or not ordered:
            return ordered
        # The previous end is in a part that was not selected, or does not exist.
        before = [
            stored.part.last_end_us
            for stored in parts
            if stored not in selected and stored.part.last_end_us is not None
            if stored.part.last_end_us < ordered[0].end_us
        ]
        ends = [max(before, default=None), *(interval.end_us for interval in ordered)]
        if not info.nominal_s:
            lengths = [
                (end - start) / 1e6
                for start, end in itertools.pairwise(ends)
                if start is not None and end is not None
            ]
            info.nominal_s = float(round(statistics.median(lengths))) if lengths else None
        timed = []
        for previous, interval in zip(ends, ordered, strict=False):
            if previous is not None:
                seconds = (interval.end_us - previous) / 1e6
                timed.append(replace(interval, seconds=seconds, flag=flag(seconds, info.nominal_s)))
        return timed

    # -- what a session needs ------------------------------------------------------------------------

    @property
    def folders(self) -> list[str]:
        """Folders of all tables; statements name the files in them that the manifest lists."""
        raise_file_limit()
        return [self.lake.absolute(table) for table in self.tables]

    def close(self) -> None:
        """Release the files, so that retired files can be removed."""
        self._reading.close()

    def holds(self, size: int) -> list[tuple[str, str]]:
        """Return SHA-256 and name of inputs with this number of bytes."""
        return [(stored.input.sha256, stored.shown) for stored in self._parts if stored.input.bytes == size]

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return the problems found at import and at the boundaries between inputs."""
        return list(self._problems)

    @cached_property
    def _problems(self) -> dict[Problem, None]:
        # Cached, because every response of the web UI contains their number.
        unique: dict[Problem, None] = {}
        for stored in self.chosen:
            for problem in stored.rows(documents.PROBLEMS):
                if problem.system in (None, stored.part.system):
                    unique[replace(problem, file=stored.shown)] = None
            if stored.seam is not None:
                unique.update({replace(problem, file=stored.shown): None for problem in stored.seam.problems})
        return unique

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Return counter resets within inputs and between them."""
        unique: dict[documents.Reset, None] = {}
        for stored in self.chosen:
            resets = stored.rows(documents.RESETS)
            unique.update({reset: None for reset in resets if reset[0] == stored.part.system})
            if stored.seam is not None:
                unique.update(dict.fromkeys(stored.seam.resets))
        return list(unique)

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return the inventory of the inputs, with the layouts that decoded them."""
        unique: dict[InventoryRow, None] = {}
        for stored in self.chosen:
            for row in stored.rows(documents.INVENTORY):
                if row.system in (None, stored.part.system):
                    unique[replace(row, file=stored.shown)] = None
        return list(unique)

    @property
    def contents_digest(self) -> str:
        """Digest of the contents of all its parts, selected or not, in their order."""
        parts = [
            [stored.input.sha256, stored.input.leap, stored.input.documents, msgspec.to_builtins(stored.part)]
            for stored in self._parts
        ]
        return hashlib.sha256(msgspec.json.encode([RULES, self.name, parts], order="sorted")).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of the inputs within the options."""
        return sum({stored.input.sha256: stored.input.bytes for stored in self._selected}.values())

    def info(self) -> list[dict[str, Any]]:
        """Return one object per input, from its reader, with a note if its raw tables were removed."""
        by_input: dict[str, dict[str, Any]] = {}
        for stored in self._selected:
            for of_input in stored.full_document.info:
                facts = {"format": self.name, "bytes": stored.input.bytes, **of_input}
                facts |= {"path": stored.shown, "file": stored.shown}
                facts = by_input.setdefault(stored.shown, facts)
                facts["lake"] = self.lake.name
                if not stored.part.raw:
                    facts["raw_tables"] = "removed; measures by hour and day remain"
        return list(by_input.values())


def find_duplicate_input(
    sources: Sequence[LakeSource | MeasuresSource], path: str, digest: Callable[[str], str]
) -> str | None:
    """Return the name under which a lake already has a file's bytes; hashed only if the sizes agree."""
    size = os.path.getsize(path)
    lakes = [source for source in sources if isinstance(source, LakeSource)]
    name_by_digest = {sha256: shown for source in lakes for sha256, shown in source.holds(size)}
    return name_by_digest.get(digest(path)) if name_by_digest else None
