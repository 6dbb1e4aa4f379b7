"""Writes the raw tables of one input into a lake's staging: a Parquet file per system, day and table."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct, field

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.source import RawTable, Source, SystemInfo, identity_ranges
from zlens.inputs.unix_time import time_range
from zlens.lake import documents, duplicates, file_names, lake_folder
from zlens.lake.documents import InputDocument, LakeFile, PartDocument, PartIntervals, SourceTimeRange
from zlens.lake.lake_folder import Staging
from zlens.lake.manifest import InputPart, LakeInput
from zlens.lake.parquet_engine import ParquetEngine, WrittenFile
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.lake.rollups import DAY_US, day_name
from zlens.readers.boundaries import BoundaryReader, boundary_reader, subject_records_sql

#: Maximum number of days of one input with a separate folder; damaged clocks may produce more.
MAX_DAYS = 1_000

#: Columns of the evidence of counter resets. `moment` is text, because it is an unsigned 64-bit number.
EVIDENCE = (("moment", "text"), ("us", "int"), ("tables", "text"), ("subject", "text"), ("kind", "text"))


class InputDraft(Struct):
    """An input in staging: its manifest entry, and its staged files by name in the lake."""

    input: LakeInput
    moves: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    bytes: int = 0
    tables: set[str] = field(default_factory=set)


class InputWriter:
    """Writes one source, opened from one file, and all facts that the lake stores about it."""

    def __init__(
        self,
        source: Source,
        draft: InputDraft,
        staged: Staging,
        engine: ParquetEngine,
        progress: Callable[[int, int, str], None],
        systems: list[str],
    ) -> None:
        self.source = source
        self.draft = draft
        self.staged = staged
        self.engine = engine
        self.progress = progress
        #: All systems of the source; rows of systems that are not requested are dropped.
        self.infos = source.systems
        self.wanted = systems
        self.boundary_readers: dict[str, BoundaryReader | None] = {
            name: boundary_reader(source, name) for name in systems
        }
        #: Facts of each requested system, one for each of its sources.
        self.sources: dict[str, list[SystemInfo]] = {}
        for info in self.infos:
            if info.system in systems:
                self.sources.setdefault(info.system, []).append(info)
        self.parts = {system: PartDocument(infos[0]) for system, infos in self.sources.items()}
        for system, infos in self.sources.items():
            if len(infos) > 1:
                self.parts[system].spans = [
                    SourceTimeRange(info.source, info.nominal_s, info.first_us, info.last_us)
                    for info in infos
                ]
        self.subjects: dict[str, str] = {}
        self.inventory = [row for row in source.inventory() if row.system is None or row.system in systems]

    def write(self) -> None:
        """Write all files and describe them in the draft."""
        total = self.draft.input.bytes
        done = 0
        for name, share in self._shares(total):
            self.progress(done, total, f"{self.draft.input.path}: {name}")
            self._table(name, list(self.source.tables[name]))
            done += share
        self.progress(total, total, f"{self.draft.input.path}: summary")
        self._document()

    def _shares(self, total: int) -> Iterator[tuple[str, int]]:
        """Yield the tables, each with its share of the input's bytes."""
        tables = list(self.source.tables)
        sizes: Counter[str] = Counter()
        for row in self.inventory:
            sizes[row.name.lower()] += row.bytes or 0
        table_bytes = {name: sizes.get(name.split("_")[0], 0) for name in tables}
        total_bytes = sum(table_bytes.values())
        for name in tables:
            yield name, total * table_bytes[name] // total_bytes if total_bytes else total // len(tables)

    # -- rows ----------------------------------------------------------------------------------------

    def _table(self, name: str, parts: list[RawTable]) -> None:
        columns = _merge_columns(parts)
        column_names = {column.name for column in columns}
        constants = self._constants(column_names)
        sources = []
        for number, table in enumerate(parts):
            streamed = [column.name for column in table.columns if column.name not in constants]
            self.engine.register(f"part{number}", table.stream(streamed))
            sources.append(f"SELECT * FROM part{number}")
        column_list = ", ".join(
            _constant(constants[column.name], column.name)
            if column.name in constants
            else expressions.quote(column.name)
            for column in columns
        )
        time = "interval_end" if "interval_end" in column_names else None
        query = (
            f"SELECT {column_list}, concat({self._place(constants)}, ' ', {self._day(column_names)}, ' ', "
            f"{self._kind(column_names)}) AS _key FROM ({' UNION ALL BY NAME '.join(sources)})"
        )
        requested = [number for number, info in enumerate(self.infos, 1) if info.system in self.wanted]
        if len(requested) < len(self.infos):
            numbers = ", ".join(f"'{number}'" for number in requested)
            query = f"SELECT * FROM ({query}) WHERE split_part(_key, ' ', 1) IN ({numbers})"
        target = self.staged.path / "rows" / name
        target.parent.mkdir(exist_ok=True)
        written_files = self.engine.write(query, os.fspath(target), "_key", time)
        schema = self._schema(columns)
        # Tables without rows get a schema too, so that they can be queried.
        for part in self.parts.values():
            part.schemas[name] = schema
        by_system: dict[str, list[WrittenFile]] = {}
        for written in written_files:
            info_number, day, kind = written.key.split(" ")
            system = self.infos[int(info_number) - 1].system
            file = lake_folder.describe_file(written, name, day, kind)
            self._file(self.parts[system], file, written.path)
            by_system.setdefault(system, []).append(written)
        for system, files in by_system.items():
            self._subjects(system, name, files)

    def _constants(self, column_names: set[str]) -> dict[str, str]:
        """Return constant columns, which are not decoded: file, source, and system if there is only one."""
        constants = {"file": self.draft.input.path}
        sources = {info.source for info in self.infos}
        if len(sources) == 1:
            constants["source"] = sources.pop()
        if len(self.infos) == 1:
            constants["system"] = self.infos[0].system
        return {name: value for name, value in constants.items() if name in column_names}

    def _place(self, constants: dict[str, str]) -> str:
        if "system" in constants:
            return "1"
        listed = ", ".join(expressions.literal(info.system) for info in self.infos)
        return f"list_position([{listed}], system)"

    def _day(self, column_names: set[str]) -> str:
        times = [name for name in ("interval_end", "tod") if name in column_names]
        days = self._days()
        if not times or not days:
            return f"'{file_names.UNKNOWN}'"
        day = f"strftime(coalesce({', '.join(times)}) AT TIME ZONE 'UTC', '%Y-%m-%d')"
        listed = ", ".join(map(expressions.literal, days))
        return f"CASE WHEN {day} IN ({listed}) THEN {day} ELSE '{file_names.UNKNOWN}' END"

    def _days(self) -> list[str]:
        """Return the days of the input's intervals, most frequent first, and its first and last day."""
        counts: Counter[int] = Counter()
        for info in self.infos:
            counts.update(interval.end_us // DAY_US for interval in info.intervals)
            for time in (info.first_us, info.last_us):
                if time is not None:
                    counts[time // DAY_US] += 1
        return [day_name(day) for day, _ in counts.most_common(MAX_DAYS) if -700_000 < day < 2_900_000]

    def _kind(self, column_names: set[str]) -> str:
        """Return the SQL of a row's kind: `edge` without a previous row or an interval end in this input."""
        joined = any(
            reader is not None and not reader.needs_all_records for reader in self.boundary_readers.values()
        )
        if not joined or not {"offset", "tod", "seconds", "interval_end"} <= column_names:
            return "'main'"
        return "if(seconds IS NULL OR interval_end IS NULL, 'edge', 'main')"

    def _file(self, part: PartDocument, file: LakeFile, path: str) -> None:
        part.files.append(file)
        self.draft.moves[file.name(self.draft.input.sha256, part.info.system)] = path
        self.draft.rows += file.rows
        self.draft.bytes += file.bytes
        self.draft.tables.add(file.table)

    def _schema(self, columns: tuple[RawColumn, ...]) -> str:
        key = self.staged.write_schema(columns)
        name = file_names.schema(key)
        self.draft.moves[name] = os.fspath(self.staged.path / name)
        return key

    def _subjects(self, system: str, table: str, files: list[WrittenFile]) -> None:
        """Record the first and the last record of every subject of a table."""
        reader = self.boundary_readers[system]
        columns = reader.subject(table) if reader else None
        if reader is None or columns is None:
            return
        if not reader.needs_all_records and not any(file.key.endswith("edge") for file in files):
            return
        records = subject_records_sql(columns, read_parquet_sql([file.path for file in files]))
        target = self._subject_table(system)
        self.parts[system].subjects[table] = columns
        self.engine.rows(f"INSERT INTO {target} SELECT {expressions.literal(table)}, * FROM ({records})")

    def _subject_table(self, system: str) -> str:
        if system not in self.subjects:
            self.subjects[system] = f"subjects{len(self.subjects)}"
            self.engine.rows(
                f'CREATE TABLE {self.subjects[system]} ("table" VARCHAR, subject VARCHAR, '
                "first_offset BIGINT, last_offset BIGINT, first_us BIGINT, last_us BIGINT)"
            )
        return self.subjects[system]

    # -- documents -----------------------------------------------------------------------------------

    def _document(self) -> None:
        side: dict[str, tuple[int, str]] = {}
        folder = self.staged.path / "side"

        def add(name: str, data: bytes) -> None:
            side[name] = self.staged.write(f"side/{name}", data)

        systems = list(self.parts)
        for place, system in enumerate(systems):
            reader = self.boundary_readers[system]
            info = self.parts[system].info
            marks = reader.marks() if reader else []
            stored = [PartIntervals(list(facts.intervals)) for facts in self.sources[system]]
            if marks:
                stored = [PartIntervals([], marks)]
            for number, intervals in enumerate(stored):
                add(documents.intervals_file_name(place, number), intervals.dump())
            self._part(place, info, stored)
            if reader is not None and system in self.subjects:
                for name in self._pieces(place, system, reader):
                    side[name] = ((folder / name).stat().st_size, lake_folder.digest(folder / name))
        add(documents.INVENTORY, documents.dump({"rows": self.inventory}))
        problems = [
            problem for problem in self.source.problems(complete=True) if problem.system in (None, *systems)
        ]
        if problems:
            add(documents.PROBLEMS, documents.dump({"rows": problems}))
        resets = [reset for reset in self.source.resets() if reset[0] in systems]
        if resets:
            add(documents.RESETS, documents.dump({"rows": resets}))
        contents = InputDocument(_plain_values(self.source.info()), list(self.parts.values()), side)
        data = contents.dump()
        digest = hashlib.sha256(data).hexdigest()
        key = digest[:16]
        add(documents.NAME, data)
        imported = self.draft.input
        imported.documents[key] = digest
        for part in imported.parts.values():
            if not part.document:
                part.document, part.tables = key, self.parts[part.system].tables_key
        for name in side:
            target = f"{file_names.document_folder(imported.sha256, key)}/{name}"
            self.draft.moves[target] = os.fspath(folder / name)

    def _part(self, place: int, info: SystemInfo, stored: list[PartIntervals]) -> None:
        of_system = self.sources[info.system]
        first_us, last_us = time_range(
            time for facts in of_system for time in (facts.first_us, facts.last_us)
        )
        part = InputPart(info.system, "", place, first_us, last_us, local_time=info.local_time)
        if info.machine is not None and first_us is not None:
            part.machines = [(first_us, info.machine), *info.moves]
        part.recorded_name = info.recorded_name
        part.identity_ranges = identity_ranges(self.source, info)
        sources = [facts.source for facts in of_system]
        part.sources = sources if sources != [self.source.name] else []
        part.joined = info.system in self.subjects
        reader = self.boundary_readers[info.system]
        ends = [end for intervals in stored for end in intervals.ends()]
        span = reader.span() if reader else (min(ends), max(ends)) if ends else None
        if span is not None:
            part.first_end_us, part.last_end_us = span
        part.first_samples = reader.first_samples() if reader else 0
        part.open_us = self._open(info.system, part.last_end_us)
        part.records_us = duplicates.comparable_time_range(self.source.name, self.parts[info.system].files)
        self.draft.input.parts[info.system] = part

    def _open(self, system: str, last_end_us: int | None) -> tuple[int, int] | None:
        """Return the first and last time of rows after the last interval end of this input."""
        reader = self.boundary_readers[system]
        if reader is None or reader.needs_all_records:
            return None
        files = [file for file in self.parts[system].files if file.kind == "edge" and file.open]
        paths = [self.draft.moves[file.name(self.draft.input.sha256, system)] for file in files]
        if not paths:
            return None
        after_end = "" if last_end_us is None else f" AND epoch_us(tod) > {last_end_us}"
        ((first, last),) = self.engine.rows(
            "SELECT epoch_us(min(tod)), epoch_us(max(tod)) "
            f"FROM {read_parquet_sql(paths, 'union_by_name = true')} WHERE interval_end IS NULL{after_end}"
        )
        return None if first is None else (first, last)

    def _pieces(self, place: int, system: str, reader: BoundaryReader) -> Iterator[str]:
        """Write subjects, evidence, and the fragments for boundaries; yields their names."""
        folder = self.staged.path / "side"
        table = self.subjects[system]
        for fragment in ("last", "whole") if reader.needs_all_records else ("last", "first"):
            if fragment == "whole":
                offsets = reader.offsets()
                self.engine.register(
                    "offsets", ArrowTable([("whole_offset", "int")], [(offset,) for offset in offsets])
                )
                self.engine.copy("SELECT * FROM offsets", os.fspath(folder / f"{place}.offsets.parquet"))
                yield f"{place}.offsets.parquet"
            else:
                rows = self.engine.rows(f"SELECT DISTINCT {fragment}_offset FROM {table} ORDER BY 1")
                offsets = [offset for (offset,) in rows]
            plain_path = folder / f"{place}.{fragment}"
            reader.extract_records(offsets, os.fspath(plain_path))
            name = f"{place}.{fragment}.gz"
            _pack(plain_path, folder / name)
            yield name
        subjects = folder / f"{place}.subjects.parquet"
        self.engine.copy(f'SELECT * FROM {table} ORDER BY "table", subject', os.fspath(subjects))
        yield subjects.name
        self.engine.register("evidence", ArrowTable(EVIDENCE, _group_evidence(reader)))
        evidence = folder / f"{place}.evidence.parquet"
        self.engine.copy("SELECT * FROM evidence", os.fspath(evidence))
        yield evidence.name


def _constant(text: str, name: str) -> str:
    """Return the SQL of a constant text as an enumeration, which gets a dictionary in Parquet."""
    literal = expressions.literal(text)
    return f"CAST({literal} AS ENUM ({literal})) AS {expressions.quote(name)}"


def _group_evidence(reader: BoundaryReader) -> list[tuple[str, int, str, str | None, str]]:
    """Return the evidence with all its tables in one row."""
    tables: dict[tuple[int, int, str | None, str], list[str]] = {}
    for evidence in reader.evidence():
        tables.setdefault((evidence.moment, evidence.us, evidence.subject, evidence.kind), []).append(
            evidence.table
        )
    return [
        (str(moment), us, " ".join(names), subject, kind)
        for (moment, us, subject, kind), names in sorted(tables.items(), key=lambda item: item[0][:2])
    ]


def _merge_columns(parts: list[RawTable]) -> tuple[RawColumn, ...]:
    columns: dict[str, RawColumn] = {}
    for part in parts:
        for column in part.columns:
            columns.setdefault(column.name, column)
    return tuple(columns.values())


def _pack(plain: Path, packed: Path) -> None:
    # Without time and name, so that the same input produces the same bytes.
    with (
        open(plain, "rb") as data,
        open(packed, "wb") as out,
        gzip.GzipFile("", "wb", 3, out, mtime=0) as file,
    ):
        shutil.copyfileobj(data, file, 1 << 20)
    plain.unlink()


def _plain_values(info: list[dict[str, object]]) -> list[dict[str, object]]:
    allowed = (str, int, float, bool, type(None))
    return [{name: value for name, value in facts.items() if isinstance(value, allowed)} for facts in info]
