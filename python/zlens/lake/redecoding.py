"""Seams by decoding a part again, whole, with what the parts around it know.

This is for sources whose rows depend on others in more ways than by the one before: records of one interval
may stand in two inputs, and which of two records is shown depends on what another input has. Such a part
keeps all its decoded records, and these are decoded again beside the last ones of the parts before, and all
those of parts that tell of the same times.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.inputs.problems import Problem
from zlens.lake.document import File, PartDocument, SeamDocument
from zlens.lake.names import UNKNOWN
from zlens.lake.parquet_engine import parquet
from zlens.lake.seam_evidence import Ground, Pair, sql_list
from zlens.readers.joints import Rejoined, rejoin

if TYPE_CHECKING:
    from zlens.lake.seams import Seams


def remade(seams: Seams, parts: list[Pair], at: int, ground: Ground, key: str) -> SeamDocument:
    """The seam of a part: all its rows as they are among those of the parts around it."""
    pair = parts[at]
    own = seams.document(pair)
    area = seams.area(key) / "pieces"
    area.mkdir()
    places = sorted({*ground.before, *ground.beside, at})
    paths = [
        seams.unpack(
            parts[place],
            "whole.gz" if place == at or place in ground.beside else "last.gz",
            area / f"{number:06}.piece",
        )
        for number, place in enumerate(places)
    ]
    offsets = seams.shop.rows(f"SELECT * FROM {parquet([seams.side(pair, 'offsets.parquet')])} ORDER BY 1")
    one, _ = pair
    rejoined = rejoin(
        one.source,
        paths,
        places.index(at),
        [offset for (offset,) in offsets],
        leap=one.leap,
        nominal_s=own.info.nominal_s,
        evidence=(),
    )
    moved = ArrowTable([("piece_offset", "int"), ("whole_offset", "int")], list(rejoined.moved.items()))
    seams.shop.bring("moved", moved)
    told = SeamDocument([], intervals=rejoined.intervals())
    for table in own.schemas:
        files = [file for file in own.files if file.table == table]
        if table in rejoined.tables:
            query = _query(seams, pair, own, table, rejoined, files)
            told.files += seams.write(pair, query, table, "main", key, files)
    _tell(seams, pair, at, rejoined, told)
    shutil.rmtree(area, ignore_errors=True)
    return told


def _query(
    seams: Seams, pair: Pair, own: PartDocument, table: str, rejoined: Rejoined, files: list[File]
) -> str:
    columns = [column.name for column in seams.schema(own.schemas[table])]
    seams.shop.bring("pieces", rejoined.stream(table, columns))
    chosen = []
    for name in columns:
        quoted = expressions.quote(name)
        if name == "file":
            path = expressions.literal(pair[0].path)
            chosen.append(f"CAST({path} AS ENUM ({path})) AS file")
        elif name == "offset":
            chosen.append('m.whole_offset AS "offset"')
        else:
            chosen.append(f"p.{quoted}")
    # A day that the import did not have is one of an interval that ends a moment later than it seemed.
    days = sorted({file.day for file in own.files})
    day = "strftime(coalesce(p.interval_end, p.tod) AT TIME ZONE 'UTC', '%Y-%m-%d')"
    return (
        f"SELECT {', '.join(chosen)}, CASE WHEN {day} IN (SELECT unnest({sql_list(days)})) THEN {day} "
        f"ELSE '{UNKNOWN}' END AS _day FROM (SELECT *, row_number() OVER () AS _row FROM pieces) AS p "
        'JOIN moved AS m ON p."offset" = m.piece_offset '
        f"WHERE p.file = {expressions.literal(rejoined.file)} ORDER BY p._row"
    )


def _tell(seams: Seams, pair: Pair, at: int, rejoined: Rejoined, told: SeamDocument) -> None:
    """What there is to say of the part among those around it; what the import said already is left out."""
    one, part = pair
    [(before,)] = seams.shop.rows(f"SELECT min(before_us) FROM pairs WHERE part = {at}")
    for us, table, subject, evidence in rejoined.resets():
        if before is None or us > before:
            told.resets.append((part.system, us, table, subject, evidence))
    for found in rejoined.problems():
        told.problems.append(
            Problem(
                part.system, one.source, one.path, found.offset, found.record, found.kind, found.detail,
                found.bytes,
            )
        )  # fmt: skip
