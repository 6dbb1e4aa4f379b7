"""The seams between inputs of one system: rows that depend on other inputs, and their replacements.

For every part (one system of one input) this determines the parts with the sample before the first one
of each of its subjects, the evidence of resets in between, and the ends of the intervals it leaves open. As
long as these stay the same, the part's seam stays. Otherwise pieces are decoded again, and the affected rows
are written to files that replace those of the import, which are kept aside: so the order of imports has
no effect, and forgotten data leave no trace.
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

#: The source of rows, their interval end in microseconds UTC, and what tells them from others that end then.
_End = tuple[str, int, int]
#: Columns that depend on a row's location or on the row before it, not on its own values.
_PROVENANCE_COLUMNS = frozenset(
    {"system", "source", "file", "offset", "line_number", "seconds", "flag", "interval_end", "tod"}
)
#: The digests of no bytes.
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
        """Renew what has changed in these systems (with their source)."""
        for system, source in sorted(set(systems)):
            parts = [
                (imported, part)
                for imported, part in self.manifest.parts()
                if part.system == system and imported.source == source
            ]
            if source in COMPLETE_IN_ONE_FILE | COMPLETE_BY_TABLE:
                grounds = [
                    BoundaryInputs(beside=boundary_inputs.concurrent_parts(parts, index))
                    for index in range(len(parts))
                ]
                make = self._drop_duplicates
            else:
                grounds = [BoundaryInputs() for _ in parts]
                if any(part.joined for _, part in parts):
                    grounds = boundary_inputs.boundary_inputs(self.engine, parts, self.side_file)
                    if source in END_TOLERANCE_US:
                        _add_last(grounds, parts)
                for index, ground in enumerate(grounds):
                    ground.repeated = duplicates.overlapping_parts(parts, index)
                make = self._redecode if source in END_TOLERANCE_US else self._join
            for index, (pair, ground) in enumerate(zip(parts, grounds, strict=True)):
                key = ground.key(pair, parts)
                if pair[1].raw and key != (pair[1].seam.key if pair[1].seam else None):
                    _ignore_removed_parts(ground, parts, source)
                    self._set_seam(pair, key, None if key is None else make(parts, index, ground, key))

    def _join(self, parts: list[Pair], index: int, ground: BoundaryInputs, key: str) -> BoundaryDocument:
        return edge_stitching.stitch_edges(self, parts, index, ground, key)

    def _redecode(self, parts: list[Pair], index: int, ground: BoundaryInputs, key: str) -> BoundaryDocument:
        seam = (
            redecoding.redecode_part(self, parts, index, ground, key)
            if ground.has_neighbors
            else BoundaryDocument([])
        )
        duplicates.drop_duplicate_records(self, parts, index, ground, key, seam)
        return seam

    def _drop_duplicates(
        self, parts: list[Pair], index: int, ground: BoundaryInputs, key: str
    ) -> BoundaryDocument:
        """For sources whose intervals are complete in one input: the first input with one keeps it."""
        imported, part = parts[index]
        part_document = self.document(parts[index])
        seam = BoundaryDocument([])
        tables = set(part_document.schemas)
        repeated: dict[str, set[_End]] = {table: set() for table in tables}
        for place in ground.beside:
            newly: set[tuple[str, int]] = set()
            unlike: set[tuple[str, int]] = set()
            for table, common in self._common(parts, index, place, tables).items():
                own = {end: same for end, same in common.items() if end not in repeated[table]}
                newly |= {end[:2] for end in own}
                unlike |= {end[:2] for end, same in own.items() if not same}
                repeated[table] |= own.keys()
            other = parts[place][0].path
            for kind, count, what in (
                ("duplicate", len(newly - unlike), f"repeat those of {other}; not shown"),
                ("conflict", len(unlike), f"have other values in {other}; not shown"),
            ):
                if count:
                    detail = f"{count:,} intervals {what}"
                    seam.problems.append(
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
                seam.files += self.write(parts[index], query, table, "main", key, files)
        return seam

    def _common(
        self, parts: list[Pair], index: int, place: int, tables: Iterable[str]
    ) -> dict[str, dict[_End, bool]]:
        """What two parts have in common, by table, and whether its values are the same."""
        source = parts[index][0].source
        if source not in COMPLETE_BY_TABLE:
            ends = self.ends(parts, [index]) & self.ends(parts, [place])
            common = {(source, end, 0) for end in ends}
            known, own = self._digests(parts[place], parts[index], None) if ends else ({}, {})
            alike = {end: end in own and known.get(end) == own[end] for end in common}
            return dict.fromkeys(tables, alike)
        found = {}
        for table in tables:
            known, own = self._digests(parts[place], parts[index], table)
            found[table] = {end: known[end] == digest for end, digest in own.items() if end in known}
        return found

    def _digests(self, one: Pair, other: Pair, table: str | None) -> tuple[dict[_End, str], dict[_End, str]]:
        """Digests of the values of two parts, in the columns that both have; None: of all their tables."""
        documents = [self.document(one), self.document(other)]
        digests: list[dict[_End, str]] = []
        for pair, own in zip((one, other), documents, strict=True):
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
                    columns = [f"b.{expressions.quote(each)}" for each in sorted(set.intersection(*names))]
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
        """The current place of a file of the lake."""
        if name not in self.moves:
            self.lake.fetch([name])
        return self.moves.get(name) or self.lake.absolute(name)

    def side_file(self, pair: Pair, name: str) -> str:
        """The current place of a file next to a part's document."""
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

    def ends(self, parts: list[Pair], places: Iterable[int]) -> set[int]:
        """The interval ends of some parts."""
        return {end for place in places for end in self.intervals(parts[place]).ends()}

    def schema(self, key: str) -> tuple[RawColumn, ...]:
        path = self.path(file_names.schema(key))
        with open(path, "rb") as file:
            return documents.load_schema(file.read(), path)

    def unpack(self, pair: Pair, name: str, plain: Path) -> str:
        """Unpack a piece of a part into the file that its reader expects."""
        with gzip.open(self.side_file(pair, name)) as data, open(plain, "wb") as file:
            shutil.copyfileobj(data, file, 1 << 20)
        return os.fspath(plain)

    def read(self, pair: Pair, files: list[LakeFile]) -> str:
        """FROM of some files as they were imported."""
        return read_parquet_sql(self._bases(pair, files), "filename = '_file'", "file_row_number = true")

    def day(self, pair: Pair, files: list[LakeFile]) -> str:
        """SQL of the day of a row b: that of its file."""
        days = sql_list([file.day for file in files])
        return f"{days}[list_position({sql_list(self._bases(pair, files))}, b._file)]"

    def _bases(self, pair: Pair, files: list[LakeFile]) -> list[str]:
        # The seam of an earlier part may have just been created.
        seam = self.lake.seam(*pair, self.moves)
        paths = [self.path(lake_folder.import_file_name(*pair, file, seam)) for file in files]
        for path, file in zip(paths, files, strict=True):
            if path not in self._verified:
                lake_folder.verify(path, file, self.lake.name)
                self._verified.add(path)
        return paths

    # -- writing -------------------------------------------------------------------------------------

    def work_folder(self, key: str) -> Path:
        """A folder for the material of a seam."""
        area = self.staged.path / "seams" / key
        area.mkdir(parents=True, exist_ok=True)
        return area

    def write(
        self, pair: Pair, query: str, table: str, kind: str, key: str, files: list[LakeFile]
    ) -> list[LakeFile]:
        """Write the rows that replace those of some files, all of one table and kind."""
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
        # Without rows there is no file, but the one it replaces must not be read.
        return replacements + [
            LakeFile(table, day, kind, 0, 0, _EMPTY_SHA256, None, None, 0, _EMPTY_FOOT, key)
            for day in sorted(missing)
        ]

    def _set_seam(self, pair: Pair, key: str | None, seam: BoundaryDocument | None) -> None:
        """Set the seam of a part; the files of the previous one are no longer needed."""
        imported, part = pair
        before = self.lake.seam(imported, part)
        self._move_replaced(pair, before, seam)
        if before is not None:
            self.retired.append(self.lake.seam_name(imported, part))
            self.retired += [file.name(imported.sha256, part.system) for file in before.files if file.rows]
        if key is None or seam is None:
            part.seam = None
            return
        data = seam.dump()
        part.seam = BoundaryRef(key, hashlib.sha256(data).hexdigest())
        name = self.lake.seam_name(imported, part)
        staged = f"seams/{key}.json"
        self.staged.write(staged, data)
        self.moves[name] = os.fspath(self.staged.path / staged)

    def _move_replaced(
        self, pair: Pair, before: BoundaryDocument | None, after: BoundaryDocument | None
    ) -> None:
        """Move files that are now replaced aside, and back when they no longer are."""
        for number, file in enumerate(self.document(pair).files):
            old, new = (lake_folder.import_file_name(*pair, file, seam) for seam in (before, after))
            if old == new:
                continue
            if old in self.moves:
                self.moves[new] = self.moves.pop(old)
                continue
            # By a link, or else a copy: readers of the previous manifest still need the old name.
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
    """SQL of what tells a row b from others of its interval; 0 where an interval of a table stands whole."""
    if source not in listings.SOURCES:
        return "0"
    own = [column.name for column in schema if column.name not in listings.leading()]
    names = ["row_kind", *(name for name in listings.subject(table, own) if name in own)]
    # A column of a report that the catalog lacks may have numbers in one file, and texts in another.
    columns = ", ".join(f"CAST(b.{expressions.quote(name)} AS VARCHAR)" for name in names)
    return f"CAST(hash({columns}) >> 1 AS BIGINT)"


def _add_last(grounds: list[BoundaryInputs], parts: list[Pair]) -> None:
    """Add the last part before each: an interval without its own predecessor has a length after any other."""
    last: int | None = None
    for index, (_, part) in enumerate(parts):
        if part.joined:
            if not grounds[index].before and last is not None:
                grounds[index].before = [last]
            last = index


def _ignore_removed_parts(ground: BoundaryInputs, parts: list[Pair], source: str) -> None:
    """Parts without raw tables still have their pieces, but no rows to compare with."""
    ground.repeated = [place for place in ground.repeated if parts[place][1].raw]
    if source in COMPLETE_IN_ONE_FILE | COMPLETE_BY_TABLE:
        ground.beside = [place for place in ground.beside if parts[place][1].raw]
