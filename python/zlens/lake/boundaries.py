"""Boundaries between inputs of one system: rows that depend on other inputs, and their replacements.

Every part (one system of one input) depends on the parts with the sample before the first one of each
subject, on evidence of resets in between, and on the ends of the intervals it leaves open. While these stay
the same, the boundary stays. Otherwise fragments are decoded again, and new files replace those of the import
with affected rows. The replaced files are retained, so the order of imports has no effect and removed data
leave no trace.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from zlens._native import ArrowTable
from zlens.catalog import expressions, listings
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.problems import Problem
from zlens.lake import (
    boundary_inputs,
    documents,
    duplicates,
    edge_stitching,
    file_names,
    lake_folder,
    redecoding,
)
from zlens.lake.boundary_inputs import BoundaryInputs, Pair, sql_list
from zlens.lake.documents import BoundaryDocument, LakeFile, PartDocument, PartIntervals
from zlens.lake.lake_folder import LakeFolder, Staging
from zlens.lake.manifest import BoundaryRef, Manifest
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.readers.boundaries import COMPLETE_BY_TABLE, COMPLETE_IN_ONE_FILE, END_TOLERANCE_US

#: Source, interval end in microseconds UTC, and a hash that distinguishes rows with the same end.
_End = tuple[str, int, int]
#: Columns that depend on a row's location or on the row before it, not on its own values.
_PROVENANCE_COLUMNS = frozenset(
    {"system", "source", "file", "offset", "line_number", "seconds", "flag", "interval_end", "tod"}
)
#: Digests of an empty file.
_EMPTY_SHA256, _EMPTY_FOOT = hashlib.sha256(b"").hexdigest(), hashlib.blake2b(b"", digest_size=8).hexdigest()


class BoundaryUpdater:
    """Updates the boundaries of a manifest. `moves` are the files about to enter the lake."""

    def __init__(
        self,
        lake: LakeFolder,
        manifest: Manifest,
        staged: Staging,
        engine: ParquetEngine,
        moves: dict[str, str],
    ) -> None:
        self.lake = lake
        self.manifest = manifest
        self.staged = staged
        self.engine = engine
        self.moves = moves
        self.retired: list[str] = []
        self._verified: set[str] = set()

    def update(self, systems: Iterable[tuple[str, str]]) -> None:
        """Update the changed boundaries of these systems, each given with its source."""
        for system, source in sorted(set(systems)):
            parts = [
                (imported, part)
                for imported, part in self.manifest.parts()
                if part.system == system and imported.source == source
            ]
            if source in COMPLETE_IN_ONE_FILE | COMPLETE_BY_TABLE:
                inputs_by_part = [
                    BoundaryInputs(beside=boundary_inputs.concurrent_parts(parts, index))
                    for index in range(len(parts))
                ]
                make = self._drop_duplicates
            else:
                inputs_by_part = [BoundaryInputs() for _ in parts]
                if any(part.joined for _, part in parts):
                    inputs_by_part = boundary_inputs.boundary_inputs(self.engine, parts, self.side_file)
                    if source in END_TOLERANCE_US:
                        _add_last(inputs_by_part, parts)
                for index, inputs in enumerate(inputs_by_part):
                    inputs.repeated = duplicates.overlapping_parts(parts, index)
                make = self._redecode if source in END_TOLERANCE_US else self._join
            for index, (pair, inputs) in enumerate(zip(parts, inputs_by_part, strict=True)):
                key = inputs.key(pair, parts)
                if pair[1].raw and key != (pair[1].seam.key if pair[1].seam else None):
                    _ignore_removed_parts(inputs, parts, source)
                    self._set_seam(pair, key, None if key is None else make(parts, index, inputs, key))

    def _join(self, parts: list[Pair], index: int, inputs: BoundaryInputs, key: str) -> BoundaryDocument:
        return edge_stitching.stitch_edges(self, parts, index, inputs, key)

    def _redecode(self, parts: list[Pair], index: int, inputs: BoundaryInputs, key: str) -> BoundaryDocument:
        boundary = (
            redecoding.redecode_part(self, parts, index, inputs, key)
            if inputs.has_neighbors
            else BoundaryDocument([])
        )
        duplicates.drop_duplicate_records(self, parts, index, inputs, key, boundary)
        return boundary

    def _drop_duplicates(
        self, parts: list[Pair], index: int, inputs: BoundaryInputs, key: str
    ) -> BoundaryDocument:
        """Drop intervals that an earlier part has, for sources whose intervals are complete in one input."""
        imported, part = parts[index]
        part_document = self.document(parts[index])
        boundary = BoundaryDocument([])
        tables = set(part_document.schemas)
        repeated: dict[str, set[_End]] = {table: set() for table in tables}
        for other_index in inputs.beside:
            new_ends: set[tuple[str, int]] = set()
            conflicts: set[tuple[str, int]] = set()
            for table, common in self._common(parts, index, other_index, tables).items():
                new_common = {end: same for end, same in common.items() if end not in repeated[table]}
                new_ends |= {end[:2] for end in new_common}
                conflicts |= {end[:2] for end, same in new_common.items() if not same}
                repeated[table] |= new_common.keys()
            other = parts[other_index][0].path
            for kind, count, what in (
                ("duplicate", len(new_ends - conflicts), f"are duplicates of {other}; not shown"),
                ("conflict", len(conflicts), f"have other values in {other}; not shown"),
            ):
                if count:
                    detail = f"{count:,} intervals {what}"
                    boundary.problems.append(
                        Problem(part.system, imported.source, imported.path, None, None, kind, detail, None)
                    )
        for table, ends in sorted(repeated.items()):
            files = [file for file in part_document.files if file.table == table]
            if files and any(repeated.values()):
                known = ArrowTable([("origin", "text"), ("mark", "time"), ("rows", "int")], sorted(ends))
                self.engine.register("known", known)
                schema = self.schema(part_document.schemas[table])
                columns = ", ".join(f'b."{column.name}"' for column in schema)
                query = (
                    f"SELECT {columns}, {self.day(parts[index], files)} AS _day "
                    f"FROM {self.read(parts[index], files)} AS b "
                    "ANTI JOIN known ON b.interval_end = known.mark AND b.source = known.origin "
                    f"AND {_subject(imported.source, table, schema)} = known.rows"
                )
                boundary.files += self.write(parts[index], query, table, "main", key, files)
        return boundary

    def _common(
        self, parts: list[Pair], index: int, other_index: int, tables: Iterable[str]
    ) -> dict[str, dict[_End, bool]]:
        """Return the ends that two parts share, by table, and whether their values are equal."""
        source = parts[index][0].source
        if source not in COMPLETE_BY_TABLE:
            ends = self.ends(parts, [index]) & self.ends(parts, [other_index])
            common = {(source, end, 0) for end in ends}
            known, own = self._digests(parts[other_index], parts[index], None) if ends else ({}, {})
            is_equal = {end: end in own and known.get(end) == own[end] for end in common}
            return dict.fromkeys(tables, is_equal)
        common_by_table = {}
        for table in tables:
            known, own = self._digests(parts[other_index], parts[index], table)
            common_by_table[table] = {
                end: known[end] == digest for end, digest in own.items() if end in known
            }
        return common_by_table

    def _digests(self, left: Pair, right: Pair, table: str | None) -> tuple[dict[_End, str], dict[_End, str]]:
        """Return digests of the values of two parts in their common columns; None: of all their tables."""
        documents = [self.document(left), self.document(right)]
        digests: list[dict[_End, str]] = []
        for pair, own in zip((left, right), documents, strict=True):
            selects = []
            for name in own.schemas if table is None else {table} & own.schemas.keys():
                files = [file for file in own.files if file.table == name]
                schema = self.schema(own.schemas[name])
                names = [
                    {column.name for column in self.schema(document.schemas[name])} - _PROVENANCE_COLUMNS
                    for document in documents
                    if name in document.schemas
                ]
                if files:
                    columns = [
                        f"b.{expressions.quote(column_name)}"
                        for column_name in sorted(set.intersection(*names))
                    ]
                    hashed = ", ".join([expressions.literal(name), *columns])
                    selects.append(
                        f"SELECT CAST(b.source AS VARCHAR) AS origin, epoch_us(b.interval_end) AS mark, "
                        f"{_subject(pair[0].source, name, schema)} AS rows, hash({hashed}) AS value "
                        f"FROM {self.read(pair, files)} AS b "
                        "WHERE b.interval_end IS NOT NULL AND b.flag IS DISTINCT FROM 'repeated'"
                    )
            query = (
                f"SELECT origin, mark, rows, sum(value)::VARCHAR FROM ({' UNION ALL '.join(selects)}) "
                "GROUP BY ALL"
            )
            rows = self.engine.rows(query) if selects else []
            digests.append({(origin, mark, subject): value for origin, mark, subject, value in rows})
        return digests[0], digests[1]

    # -- reading -------------------------------------------------------------------------------------

    def path(self, name: str) -> str:
        """Return the current path of a file of the lake."""
        if name not in self.moves:
            self.lake.fetch([name])
        return self.moves.get(name) or self.lake.absolute(name)

    def side_file(self, pair: Pair, name: str) -> str:
        """Return the current path of a file next to a part's document."""
        imported, part = pair
        return self.path(f"{file_names.document_folder(imported.sha256, part.document)}/{part.place}.{name}")

    def document(self, pair: Pair) -> PartDocument:
        imported, part = pair
        path = self.path(f"{file_names.document_folder(imported.sha256, part.document)}/{documents.NAME}")
        with open(path, "rb") as file:
            stored = documents.load(file.read(), path)
        return lake_folder.find_part_document(stored, part, self.lake)

    def intervals(self, pair: Pair) -> PartIntervals:
        path = self.side_file(pair, "intervals.json")
        with open(path, "rb") as file:
            return documents.load_intervals(file.read(), path)

    def ends(self, parts: list[Pair], indexes: Iterable[int]) -> set[int]:
        """Return the interval ends of some parts."""
        return {end for index in indexes for end in self.intervals(parts[index]).ends()}

    def schema(self, key: str) -> tuple[RawColumn, ...]:
        path = self.path(file_names.schema(key))
        with open(path, "rb") as file:
            return documents.load_schema(file.read(), path)

    def unpack(self, pair: Pair, name: str, plain: Path) -> str:
        """Unpack a fragment of a part for its reader; returns the path."""
        with gzip.open(self.side_file(pair, name)) as data, open(plain, "wb") as file:
            shutil.copyfileobj(data, file, 1 << 20)
        return os.fspath(plain)

    def read(self, pair: Pair, files: list[LakeFile]) -> str:
        """Return the FROM item of some files as imported."""
        return read_parquet_sql(self._bases(pair, files), "filename = '_file'", "file_row_number = true")

    def day(self, pair: Pair, files: list[LakeFile]) -> str:
        """Return the SQL of the day of a row b, which is the day of its file."""
        days = sql_list([file.day for file in files])
        return f"{days}[list_position({sql_list(self._bases(pair, files))}, b._file)]"

    def _bases(self, pair: Pair, files: list[LakeFile]) -> list[str]:
        # `moves`: the boundary of an earlier part may not be in the lake yet.
        boundary = self.lake.seam(*pair, self.moves)
        paths = [self.path(lake_folder.import_file_name(*pair, file, boundary)) for file in files]
        for path, file in zip(paths, files, strict=True):
            if path not in self._verified:
                lake_folder.verify(path, file, self.lake.name)
                self._verified.add(path)
        return paths

    # -- writing -------------------------------------------------------------------------------------

    def work_folder(self, key: str) -> Path:
        """Return the work folder of a boundary, created if needed."""
        area = self.staged.path / "seams" / key
        area.mkdir(parents=True, exist_ok=True)
        return area

    def write(
        self, pair: Pair, query: str, table: str, kind: str, key: str, files: list[LakeFile]
    ) -> list[LakeFile]:
        """Write rows that replace some files of one table and kind; returns the new files."""
        target = os.fspath(self.work_folder(key) / f"{kind}.{table}")
        replacements = []
        for written in self.engine.write(query, target, "_day", "interval_end"):
            sha256 = lake_folder.digest(written.path)
            file = LakeFile(
                table,
                written.key,
                kind,
                written.rows,
                written.bytes,
                sha256,
                written.first_us,
                written.last_us,
                written.nulls,
                lake_folder.footer_digest(written.path),
                key,
            )
            self.moves[file.name(pair[0].sha256, pair[1].system)] = written.path
            replacements.append(file)
        missing = {file.day for file in files} - {file.day for file in replacements}
        # Days without rows get an empty entry, so that the replaced file is not read.
        return replacements + [
            LakeFile(table, day, kind, 0, 0, _EMPTY_SHA256, None, None, 0, _EMPTY_FOOT, key)
            for day in sorted(missing)
        ]

    def _set_seam(self, pair: Pair, key: str | None, boundary: BoundaryDocument | None) -> None:
        """Set the boundary of a part and retire the files of the previous one."""
        imported, part = pair
        previous = self.lake.seam(imported, part)
        self._move_replaced(pair, previous, boundary)
        if previous is not None:
            self.retired.append(self.lake.seam_name(imported, part))
            self.retired += [file.name(imported.sha256, part.system) for file in previous.files if file.rows]
        if key is None or boundary is None:
            part.seam = None
            return
        data = boundary.dump()
        part.seam = BoundaryRef(key, hashlib.sha256(data).hexdigest())
        name = self.lake.seam_name(imported, part)
        staged = f"seams/{key}.json"
        self.staged.write(staged, data)
        self.moves[name] = os.fspath(self.staged.path / staged)

    def _move_replaced(
        self, pair: Pair, previous: BoundaryDocument | None, current: BoundaryDocument | None
    ) -> None:
        """Move replaced files out of their table's folder, and back when they are no longer replaced."""
        for number, file in enumerate(self.document(pair).files):
            old, new = (
                lake_folder.import_file_name(*pair, file, boundary) for boundary in (previous, current)
            )
            if old == new:
                continue
            if old in self.moves:
                self.moves[new] = self.moves.pop(old)
                continue
            # A link or a copy, because readers of the previous manifest still need the old name.
            area = self.staged.path / "aside"
            area.mkdir(exist_ok=True)
            path = area / f"{pair[0].sha256[:16]}.{pair[1].place}.{number}"
            try:
                os.link(self.path(old), path)
            except OSError:
                shutil.copyfile(self.path(old), path)
            self.moves[new] = os.fspath(path)
            self.retired.append(old)


def _subject(source: str, table: str, schema: Iterable[RawColumn]) -> str:
    """Return the SQL that identifies a row b in its interval; 0 if an interval is complete in one input."""
    if source not in listings.SOURCES:
        return "0"
    table_columns = [column.name for column in schema if column.name not in listings.leading()]
    names = ["row_kind", *(name for name in listings.subject(table, table_columns) if name in table_columns)]
    # A report column that is not in the catalog may have numbers in one file and texts in another.
    columns = ", ".join(f"CAST(b.{expressions.quote(name)} AS VARCHAR)" for name in names)
    return f"CAST(hash({columns}) >> 1 AS BIGINT)"


def _add_last(inputs_by_part: list[BoundaryInputs], parts: list[Pair]) -> None:
    """Add the previous part where there is none: any earlier interval determines an interval's length."""
    last: int | None = None
    for index, (_, part) in enumerate(parts):
        if part.joined:
            if not inputs_by_part[index].before and last is not None:
                inputs_by_part[index].before = [last]
            last = index


def _ignore_removed_parts(inputs: BoundaryInputs, parts: list[Pair], source: str) -> None:
    """Ignore parts without raw tables: they have fragments, but no rows to compare with."""
    inputs.repeated = [other_index for other_index in inputs.repeated if parts[other_index][1].raw]
    if source in COMPLETE_IN_ONE_FILE | COMPLETE_BY_TABLE:
        inputs.beside = [other_index for other_index in inputs.beside if parts[other_index][1].raw]
