"""The boundary of one part while it is computed: the files of all parts, and the rows that it replaces."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.inputs.problems import Problem
from zlens.lake import documents, file_names, lake_folder
from zlens.lake.boundary_inputs import BoundaryInputs, Pair, sql_list
from zlens.lake.documents import BoundaryDocument, LakeFile, PartDocument, PartIntervals
from zlens.lake.lake_folder import LakeFolder, Staging
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.readers.boundaries import Fragments, ResetEvidence, StitchedRecords, stitch

#: Digests of an empty file.
_EMPTY_SHA256, _EMPTY_FOOT = hashlib.sha256(b"").hexdigest(), hashlib.blake2b(b"", digest_size=8).hexdigest()


class BoundaryFiles:
    """The files of a lake, and those about to enter it (`moves`), to which boundaries are added."""

    def __init__(
        self, lake: LakeFolder, staged: Staging, engine: ParquetEngine, moves: dict[str, str]
    ) -> None:
        self.lake = lake.with_moves(moves)
        self.staged = staged
        self.engine = engine
        self.moves = moves
        self._verified: set[str] = set()

    def path(self, name: str) -> str:
        """Return the current path of a file of the lake."""
        self.lake.fetch([name])
        return self.lake.absolute(name)

    def side_file(self, pair: Pair, name: str) -> str:
        """Return the current path of a file next to a part's document."""
        return self.path(_document_file(pair, f"{pair[1].place}.{name}"))

    def columns(self, document: PartDocument, table: str) -> list[str]:
        return [column.name for column in self.lake.schema(document.schemas[table])]

    def intervals(self, pair: Pair) -> PartIntervals:
        name = _document_file(pair, documents.intervals_file_name(pair[1].place))
        return documents.load_intervals(self.lake.read(name, None), self.lake.absolute(name))

    def read(self, pair: Pair, files: list[LakeFile]) -> str:
        """Return the FROM item of some files as imported."""
        return read_parquet_sql(
            self._imported_paths(pair, files), "filename = '_file'", "file_row_number = true"
        )

    def day(self, pair: Pair, files: list[LakeFile]) -> str:
        """Return the SQL of the day of a row b, which is the day of its file."""
        days = sql_list([file.day for file in files])
        return f"{days}[list_position({sql_list(self._imported_paths(pair, files))}, b._file)]"

    def _imported_paths(self, pair: Pair, files: list[LakeFile]) -> list[str]:
        boundary = self.lake.seam(*pair)
        paths = [self.path(lake_folder.import_file_name(*pair, file, boundary)) for file in files]
        for path, file in zip(paths, files, strict=True):
            if path not in self._verified:
                lake_folder.verify(path, file, self.lake.name)
                self._verified.add(path)
        return paths


def _document_file(pair: Pair, name: str) -> str:
    imported, part = pair
    return f"{file_names.document_folder(imported.sha256, part.document)}/{name}"


class PartBoundary:
    """A part, the other parts that its boundary depends on, and the boundary's document."""

    def __init__(
        self, files: BoundaryFiles, parts: list[Pair], index: int, inputs: BoundaryInputs, key: str
    ) -> None:
        self.files = files
        self.engine = files.engine
        self.parts = parts
        self.index = index
        self.pair = parts[index]
        self.source = self.pair[0].source
        self.inputs = inputs
        self.key = key
        self.part = files.lake.part_document(*self.pair)
        self.document = BoundaryDocument([])
        self._folder = files.staged.path / "seams" / key
        self._folder.mkdir(parents=True, exist_ok=True)

    def columns(self, table: str) -> list[str]:
        return self.files.columns(self.part, table)

    def ends(self, indexes: Iterable[int]) -> set[int]:
        """Return the interval ends of some parts."""
        return {end for index in indexes for end in self.files.intervals(self.parts[index]).ends()}

    # -- stitching -----------------------------------------------------------------------------------

    def stitch(self, fragments: Mapping[int, str], offsets_sql: str) -> StitchedRecords:
        """Decode fragments, by part and in order of time, for the rows of this part.

        offsets_sql   selects the offsets of the records of this part's fragment
        """
        folder = self._folder / "pieces"
        folder.mkdir()
        paths = []
        for number, (index, name) in enumerate(fragments.items()):
            path = folder / f"{number:06}.piece"
            packed = self.files.side_file(self.parts[index], f"{name}.gz")
            with gzip.open(packed) as data, open(path, "wb") as file:
                shutil.copyfileobj(data, file, 1 << 20)
            paths.append(os.fspath(path))
        evidence = self.engine.rows(
            f'SELECT moment, us, "table", subject, kind FROM held WHERE part = {self.index}'
        )
        stitched = stitch(
            self.source,
            Fragments(
                paths,
                [*fragments].index(self.index),
                [offset for (offset,) in self.engine.rows(offsets_sql)],
                leap=self.pair[0].leap,
                nominal_s=self.part.info.nominal_s,
                evidence=[ResetEvidence(int(moment), *others) for moment, *others in evidence],
            ),
        )
        original_offsets = [*stitched.original_offsets.items()]
        columns = [("piece_offset", "int"), ("whole_offset", "int")]
        self.engine.register("moved", ArrowTable(columns, original_offsets))
        return stitched

    def stitched_rows_sql(self, stitched: StitchedRecords, table: str, columns: list[str]) -> str:
        """Return the FROM clause of this part's rows p of a table, with their original offsets m."""
        self.engine.register("pieces", stitched.stream(table, columns))
        return (
            "FROM (SELECT *, row_number() OVER () AS _row FROM pieces) AS p "
            'JOIN moved AS m ON p."offset" = m.piece_offset '
            f"WHERE p.file = {expressions.literal(stitched.file)}"
        )

    def remove_fragments(self) -> None:
        shutil.rmtree(self._folder / "pieces", ignore_errors=True)

    # -- the document --------------------------------------------------------------------------------

    def add_problem(
        self,
        kind: str,
        detail: str,
        *,
        offset: int | None = None,
        record: str | None = None,
        size: int | None = None,
    ) -> None:
        imported, part = self.pair
        self.document.problems.append(
            Problem(part.system, imported.source, imported.path, offset, record, kind, detail, size)
        )

    def add_findings(self, resets: Iterable[tuple[int, str, str, str]], problems: Iterable[Problem]) -> None:
        """Add resets and problems that stitching found in this part."""
        self.document.resets += [(self.pair[1].system, *reset) for reset in resets]
        for problem in problems:
            self.add_problem(
                problem.kind, problem.detail, offset=problem.offset, record=problem.record, size=problem.bytes
            )

    def replace(
        self,
        table: str,
        files: list[LakeFile],
        rest: str,
        *,
        values: Mapping[str, str] | None = None,
        helpers: str = "",
    ) -> None:
        """Replace files of one table and kind by some of their rows b.

        rest      the query after `FROM ... AS b`
        values    SQL of the columns that change, by name
        helpers   SQL of further columns of b
        """
        selected = [
            f"{(values or {}).get(name, f'b.{expressions.quote(name)}')} AS {expressions.quote(name)}"
            for name in self.columns(table)
        ]
        rows = self.files.read(self.pair, files)
        if helpers:
            rows = f"(SELECT *, {helpers} FROM {rows})"
        day = self.files.day(self.pair, files)
        self.write(f"SELECT {', '.join(selected)}, {day} AS _day FROM {rows} AS b {rest}", table, files)

    def write(self, query: str, table: str, files: list[LakeFile], kind: str | None = None) -> None:
        """Write rows that replace some files of one table and kind; `kind` is theirs by default."""
        kind = kind or files[0].kind
        days = {file.day for file in files}
        for written in self.engine.write(
            query, os.fspath(self._folder / f"{kind}.{table}"), "_day", "interval_end"
        ):
            file = lake_folder.describe_file(written, table, written.key, kind, self.key)
            self.files.moves[file.name(self.pair[0].sha256, self.pair[1].system)] = written.path
            self.document.files.append(file)
            days.discard(file.day)
        # Days without rows get an empty entry, so that the replaced file is not read.
        self.document.files += [
            LakeFile(table, day, kind, 0, 0, _EMPTY_SHA256, None, None, 0, _EMPTY_FOOT, self.key)
            for day in sorted(days)
        ]
