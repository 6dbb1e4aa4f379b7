"""Boundaries of parts that are decoded again completely, with records of other parts.

This is for sources whose rows depend on more than the previous row: records of one interval may be in two
inputs, and another input may decide which of two records is shown. Such a part stores all its records. They
are decoded again with the last records of earlier parts and all records of parts that cover the same times.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.inputs.problems import Problem
from zlens.lake.boundary_inputs import BoundaryInputs, Pair, sql_list
from zlens.lake.documents import BoundaryDocument, LakeFile, PartDocument
from zlens.lake.file_names import UNKNOWN
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.readers.boundaries import StitchedRecords, stitch

if TYPE_CHECKING:
    from zlens.lake.boundaries import BoundaryUpdater


def redecode_part(
    updater: BoundaryUpdater, parts: list[Pair], index: int, inputs: BoundaryInputs, key: str
) -> BoundaryDocument:
    """Return the boundary document of a part, with all its rows as other parts affect them."""
    pair = parts[index]
    part_document = updater.document(pair)
    folder = updater.work_folder(key) / "pieces"
    folder.mkdir()
    indexes = sorted({*inputs.before, *inputs.beside, index})
    paths = [
        updater.unpack(
            parts[other_index],
            "whole.gz" if other_index == index or other_index in inputs.beside else "last.gz",
            folder / f"{number:06}.piece",
        )
        for number, other_index in enumerate(indexes)
    ]
    offsets = updater.engine.rows(
        f"SELECT * FROM {read_parquet_sql([updater.side_file(pair, 'offsets.parquet')])} ORDER BY 1"
    )
    imported, _ = pair
    stitched = stitch(
        imported.source,
        paths,
        indexes.index(index),
        [offset for (offset,) in offsets],
        leap=imported.leap,
        nominal_s=part_document.info.nominal_s,
        evidence=(),
    )
    moved = ArrowTable(
        [("piece_offset", "int"), ("whole_offset", "int")], list(stitched.original_offsets.items())
    )
    updater.engine.register("moved", moved)
    boundary = BoundaryDocument([], intervals=stitched.intervals())
    for table in part_document.schemas:
        files = [file for file in part_document.files if file.table == table]
        if table in stitched.tables:
            query = _query(updater, pair, part_document, table, stitched, files)
            boundary.files += updater.write(pair, query, table, "main", key, files)
    _add_problems(updater, pair, index, stitched, boundary)
    shutil.rmtree(folder, ignore_errors=True)
    return boundary


def _query(
    updater: BoundaryUpdater,
    pair: Pair,
    part_document: PartDocument,
    table: str,
    stitched: StitchedRecords,
    files: list[LakeFile],
) -> str:
    columns = [column.name for column in updater.schema(part_document.schemas[table])]
    updater.engine.register("pieces", stitched.stream(table, columns))
    selected = []
    for name in columns:
        quoted = expressions.quote(name)
        if name == "file":
            path = expressions.literal(pair[0].path)
            selected.append(f"CAST({path} AS ENUM ({path})) AS file")
        elif name == "system":
            # The lake may have renamed the system, because of another with the same name.
            system = expressions.literal(pair[1].system)
            selected.append(f"CAST({system} AS ENUM ({system})) AS system")
        elif name == "offset":
            selected.append('m.whole_offset AS "offset"')
        else:
            selected.append(f"p.{quoted}")
    # A day missing from the import belongs to an interval that ends slightly later than first computed.
    days = sorted({file.day for file in part_document.files})
    day = "strftime(coalesce(p.interval_end, p.tod) AT TIME ZONE 'UTC', '%Y-%m-%d')"
    return (
        f"SELECT {', '.join(selected)}, CASE WHEN {day} IN (SELECT unnest({sql_list(days)})) THEN {day} "
        f"ELSE '{UNKNOWN}' END AS _day FROM (SELECT *, row_number() OVER () AS _row FROM pieces) AS p "
        'JOIN moved AS m ON p."offset" = m.piece_offset '
        f"WHERE p.file = {expressions.literal(stitched.file)} ORDER BY p._row"
    )


def _add_problems(
    updater: BoundaryUpdater, pair: Pair, index: int, stitched: StitchedRecords, boundary: BoundaryDocument
) -> None:
    """Add the resets and problems of a part that stitching found."""
    imported, part = pair
    [(before,)] = updater.engine.rows(f"SELECT min(before_us) FROM pairs WHERE part = {index}")
    for us, table, subject, evidence in stitched.resets():
        if before is None or us > before:
            boundary.resets.append((part.system, us, table, subject, evidence))
    for problem in stitched.problems():
        boundary.problems.append(
            Problem(
                part.system, imported.source, imported.path, problem.offset, problem.record,
                problem.kind, problem.detail, problem.bytes,
            )
        )  # fmt: skip
