"""Stitches edge rows: decodes the first record of each subject with its last one in earlier parts.

Only edge rows change: the first row of every subject gets its differences, and a later part closes rows after
the last interval end. If parts overlap, rows of an earlier part are dropped.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.inputs.problems import Problem
from zlens.inputs.unix_time import from_unix_us
from zlens.lake.boundary_inputs import BoundaryInputs, Pair
from zlens.lake.documents import BoundaryDocument, LakeFile, PartDocument
from zlens.lake.table_writer import subject_sql
from zlens.readers.boundaries import (
    IntervalMark,
    RepeatedRange,
    ResetEvidence,
    StitchedRecords,
    append_repeat,
    stitch,
)

if TYPE_CHECKING:
    from zlens.lake.boundaries import BoundaryUpdater


#: A time before any record, in microseconds since 1970.
_BEFORE_ALL_US = -(10**16)

#: First byte, and the byte after the last.
Range = tuple[int, int]


def stitch_edges(
    updater: BoundaryUpdater, parts: list[Pair], index: int, inputs: BoundaryInputs, key: str
) -> BoundaryDocument:
    """Return the boundary document of a part."""
    return _EdgeStitcher(updater, parts, index, inputs, key).make()


class _EdgeStitcher:
    def __init__(
        self, updater: BoundaryUpdater, parts: list[Pair], index: int, inputs: BoundaryInputs, key: str
    ) -> None:
        self.seams = updater
        self.engine = updater.engine
        self.parts = parts
        self.index = index
        self.pair = parts[index]
        self.ground = inputs
        self.key = key
        self.document: PartDocument = updater.document(self.pair)
        self.seam = BoundaryDocument([])
        self.repeats: list[Range] = []

    def make(self) -> BoundaryDocument:
        stitched = self._pieces() if self.ground.before else None
        if self.ground.beside:
            self._find_repeats()
        marks = sorted(self.seams.ends(self.parts, self.ground.after))
        self.engine.register("marks", ArrowTable([("mark", "time")], [(end,) for end in marks]))
        compared = self._tables("before IS NOT NULL")
        overlapping = self._tables("before_us >= first_us")
        for table in self.document.schemas:
            files = [file for file in self.document.files if file.table == table]
            edges = [file for file in files if file.kind == "edge"]
            fragments = stitched if table in compared else None
            closed = marks and any(file.open for file in edges)
            if edges and (fragments or self.repeats or closed):
                query = self._edge_query(table, edges, fragments)
                self.seam.files += self.seams.write(self.pair, query, table, "edge", self.key, edges)
            mains = [file for file in files if file.kind == "main"]
            if mains and (self.repeats or table in overlapping):
                query = self._main_query(table, mains)
                self.seam.files += self.seams.write(self.pair, query, table, "main", self.key, mains)
        if stitched is not None:
            self._add_problems(stitched)
        shutil.rmtree(self.seams.work_folder(self.key) / "pieces", ignore_errors=True)
        return self.seam

    def _tables(self, condition: str) -> set[str]:
        rows = self.engine.rows(
            f'SELECT DISTINCT "table" FROM pairs WHERE part = {self.index} AND {condition}'
        )
        return {table for (table,) in rows}

    def _find_repeats(self) -> None:
        """Find the byte ranges of a part with intervals of an earlier part, whose records are read once."""
        known: dict[int, IntervalMark] = {}
        for other_index in self.ground.beside:
            for mark in self.seams.intervals(self.parts[other_index]).marks:
                if mark.samples:
                    known.setdefault(mark.end_us, mark)
        next_offset, first = 0, True
        repeats: list[RepeatedRange] = []
        for mark in self.seams.intervals(self.pair).marks:
            first = first or mark.begin > next_offset
            if mark.samples and mark.end_us in known:
                agrees = mark.digest.repeats(known[mark.end_us].digest, first=first)
                append_repeat(
                    repeats, RepeatedRange(mark.begin, mark.offset + 1, mark.end_us, mark.end_us, agrees)
                )
            next_offset, first = mark.offset + 1, first and not mark.samples
        self.repeats = [(repeat.begin, repeat.end) for repeat in repeats]
        imported, part = self.pair
        for repeat in repeats:
            self.seam.problems.append(
                Problem(
                    part.system,
                    imported.source,
                    imported.path,
                    repeat.begin,
                    None,
                    repeat.kind,
                    repeat.detail(_clock),
                    repeat.end - repeat.begin,
                )
            )

    def _pieces(self) -> StitchedRecords:
        folder = self.seams.work_folder(self.key) / "pieces"
        folder.mkdir()
        paths = [
            self.seams.unpack(
                self.parts[other_index],
                "first.gz" if other_index == self.index else "last.gz",
                folder / f"{number}.piece",
            )
            for number, other_index in enumerate([*self.ground.before, self.index])
        ]
        offsets = self.engine.rows(
            f"SELECT DISTINCT first_offset FROM seen WHERE part = {self.index} ORDER BY 1"
        )
        evidence = [
            ResetEvidence(int(moment), us, table, subject, kind)
            for moment, us, table, subject, kind in self.engine.rows(
                f'SELECT moment, us, "table", subject, kind FROM held WHERE part = {self.index}'
            )
        ]
        imported, _ = self.pair
        stitched = stitch(
            imported.source,
            paths,
            len(paths) - 1,
            [offset for (offset,) in offsets],
            leap=imported.leap,
            nominal_s=self.document.info.nominal_s,
            evidence=evidence,
        )
        moved = ArrowTable(
            [("piece_offset", "int"), ("whole_offset", "int")], list(stitched.original_offsets.items())
        )
        self.engine.register("moved", moved)
        return stitched

    def _edge_query(self, table: str, files: list[LakeFile], stitched: StitchedRecords | None) -> str:
        """Return the query of a table's edge rows with differences and interval ends from other parts."""
        subject = self.document.subjects.get(table, [])
        subject_value = subject_sql(subject)
        columns = [column.name for column in self.seams.schema(self.document.schemas[table])]
        compared: list[str] = []
        join = ""
        if stitched is not None:
            compared = [name for name in columns if _is_compared(name)]
            column_names = list(dict.fromkeys(["offset", "file", *subject, *compared]))
            self.engine.register("pieces", stitched.stream(table, column_names))
            first_rows = (
                f"SELECT p.*, {subject_value} AS _subject, m.whole_offset AS _offset, "
                f'row_number() OVER (PARTITION BY {subject_value} ORDER BY p."offset", p._row) AS _nth '
                "FROM (SELECT *, row_number() OVER () AS _row FROM pieces) AS p "
                'JOIN moved AS m ON p."offset" = m.piece_offset '
                f"WHERE p.file = {expressions.literal(stitched.file)}"
            )
            join = (
                f"LEFT JOIN ({first_rows}) AS h ON b._nth = 1 AND h._nth = 1 AND b._subject = h._subject "
                'AND b."offset" = h._offset'
            )
        selected = []
        for name in columns:
            quoted = expressions.quote(name)
            if name == "interval_end":
                # Only rows after the last end of the part; rows of lost intervals within it keep NULL.
                after_end = f"epoch_us(b.tod) > {self.pair[1].last_end_us or _BEFORE_ALL_US}"
                selected.append(
                    f"CASE WHEN b.interval_end IS NULL AND {after_end} THEN marks.mark "
                    "ELSE b.interval_end END AS interval_end"
                )
            elif name in compared:
                selected.append(f"CASE WHEN h._nth = 1 THEN h.{quoted} ELSE b.{quoted} END AS {quoted}")
            else:
                selected.append(f"b.{quoted}")
        base = (
            f"SELECT *, {subject_value} AS _subject, row_number() OVER (PARTITION BY {subject_value} "
            f'ORDER BY "offset", file_row_number) AS _nth FROM {self.seams.read(self.pair, files)}'
        )
        return (
            f"SELECT {', '.join(selected)}, {self.seams.day(self.pair, files)} AS _day "
            f"FROM ({base}) AS b {join} ASOF LEFT JOIN marks ON b.tod <= marks.mark "
            f'WHERE {self._not_repeated_sql()} ORDER BY b."offset", b.file_row_number'
        )

    def _main_query(self, table: str, files: list[LakeFile]) -> str:
        """Return the query of rows that no earlier part has; rows before its last have no differences."""
        selected = []
        for column in self.seams.schema(self.document.schemas[table]):
            quoted = expressions.quote(column.name)
            if _is_compared(column.name):
                older = f"epoch_us(b.tod) <= l.before_us THEN NULL ELSE b.{quoted}"
                selected.append(f"CASE WHEN {older} END AS {quoted}")
            else:
                selected.append(f"b.{quoted}")
        limits = (
            "SELECT subject, before_us FROM pairs "
            f'WHERE part = {self.index} AND "table" = {expressions.literal(table)}'
        )
        subject_value = subject_sql(self.document.subjects.get(table, []))
        base = f"SELECT *, {subject_value} AS _subject FROM {self.seams.read(self.pair, files)}"
        return (
            f"SELECT {', '.join(selected)}, {self.seams.day(self.pair, files)} AS _day FROM ({base}) AS b "
            f"LEFT JOIN ({limits}) AS l ON b._subject = l.subject WHERE {self._not_repeated_sql()} "
            'ORDER BY b."offset", b.file_row_number'
        )

    def _not_repeated_sql(self) -> str:
        """Return the condition of rows outside the byte ranges that repeat another part."""
        ranges = [f'NOT (b."offset" >= {first} AND b."offset" < {last})' for first, last in self.repeats]
        return " AND ".join(ranges) or "true"

    def _add_problems(self, stitched: StitchedRecords) -> None:
        """Add resets and problems from comparing this part with earlier parts, without theirs."""
        imported, part = self.pair
        limits = {
            (table, subject): before
            for table, subject, before in self.engine.rows(
                f'SELECT "table", subject, before_us FROM pairs WHERE part = {self.index} '
                "AND before IS NOT NULL"
            )
        }
        for us, table, subject, evidence in stitched.resets():
            if us > limits.get((table, subject), us):
                self.seam.resets.append((part.system, us, table, subject, evidence))
        for problem in stitched.problems():
            if any(first <= (problem.offset or 0) < last for first, last in self.repeats):
                continue
            self.seam.problems.append(
                Problem(
                    part.system, imported.source, imported.path, problem.offset, problem.record,
                    problem.kind, problem.detail, problem.bytes,
                )
            )  # fmt: skip


def _clock(us: int) -> str:
    return f"{from_unix_us(us):%Y-%m-%d %H:%M:%S}"


def _is_compared(column: str) -> bool:
    """Return whether a column depends on a row and the previous one."""
    return column in ("seconds", "flag") or column.endswith("_d")
