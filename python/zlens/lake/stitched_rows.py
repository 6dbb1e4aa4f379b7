"""Rows that depend on records of other parts, decoded together with these records.

Of most sources, only edge rows change: the first row of every subject gets its differences, and a later part
closes rows after the last interval end. If parts overlap, rows that an earlier part has are dropped.

Of some sources, rows depend on more than the previous row: records of one interval may be in two inputs, and
another input may decide which of two records is shown. Their parts store all their records, which are decoded
again with the last records of earlier parts and all records of parts that cover the same times.
"""

from __future__ import annotations

from zlens._native import ArrowTable
from zlens.catalog import expressions
from zlens.lake.boundary_inputs import sql_list
from zlens.lake.documents import LakeFile
from zlens.lake.file_names import UNKNOWN
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.lake.part_boundary import PartBoundary
from zlens.readers.boundaries import IntervalMark, RepeatedRange, StitchedRecords, find_repeats, subject_sql

#: A time before any record, in microseconds since 1970.
_BEFORE_ALL_US = -(10**16)


def stitch_edges(boundary: PartBoundary) -> None:
    """Replace the edge rows of a part, and its rows that earlier parts have."""
    inputs, index = boundary.inputs, boundary.index
    stitched = None
    if inputs.before:
        offsets_sql = f"SELECT DISTINCT first_offset FROM seen WHERE part = {index} ORDER BY 1"
        stitched = boundary.stitch({**dict.fromkeys(inputs.before, "last"), index: "first"}, offsets_sql)
    repeats = _find_repeats(boundary)
    marks = sorted(boundary.ends(inputs.after))
    boundary.engine.register("marks", ArrowTable([("mark", "time")], [(end,) for end in marks]))
    before_us = {
        (table, subject): (before, is_overlapping)
        for table, subject, before, is_overlapping in boundary.engine.rows(
            'SELECT "table", subject, before_us, before_us >= first_us FROM pairs '
            f"WHERE part = {index} AND before IS NOT NULL"
        )
    }
    compared = {table for table, _ in before_us}
    overlapping = {table for (table, _), (_, is_overlapping) in before_us.items() if is_overlapping}
    rest = " AND ".join(f'NOT (b."offset" >= {r.begin} AND b."offset" < {r.end})' for r in repeats) or "true"
    rest = f'WHERE {rest} ORDER BY b."offset", b.file_row_number'
    for table in boundary.part.schemas:
        files = [file for file in boundary.part.files if file.table == table]
        edges = [file for file in files if file.kind == "edge"]
        fragments = stitched if table in compared else None
        if edges and (fragments or repeats or (marks and any(file.open for file in edges))):
            _replace_edges(boundary, table, edges, fragments, rest)
        mains = [file for file in files if file.kind == "main"]
        if mains and (repeats or table in overlapping):
            _replace_mains(boundary, table, mains, rest)
    if stitched is not None:
        # Without the findings of earlier parts.
        boundary.add_findings(
            [
                (us, table, subject, evidence)
                for us, table, subject, evidence in stitched.resets()
                if us > before_us.get((table, subject), (us, False))[0]
            ],
            [
                problem
                for problem in stitched.problems()
                if not any(repeat.begin <= (problem.offset or 0) < repeat.end for repeat in repeats)
            ],
        )


def _find_repeats(boundary: PartBoundary) -> list[RepeatedRange]:
    """Report the byte ranges of a part with intervals of an earlier part, whose records are read once."""
    known: dict[int, IntervalMark] = {}
    for other_index in boundary.inputs.beside:
        for mark in boundary.files.intervals(boundary.parts[other_index]).marks:
            if mark.samples:
                known.setdefault(mark.end_us, mark)

    def compare(mark: IntervalMark, first: bool) -> bool | None:
        earlier = known.get(mark.end_us)
        return None if earlier is None else mark.digest.repeats(earlier.digest, first=first)

    marks = boundary.files.intervals(boundary.pair).marks if known else []
    repeats = find_repeats(marks, compare)
    for repeat in repeats:
        lost = repeat.end - repeat.begin
        boundary.add_problem(repeat.kind, repeat.detail, offset=repeat.begin, size=lost)
    return repeats


def _replace_edges(
    boundary: PartBoundary, table: str, files: list[LakeFile], stitched: StitchedRecords | None, rest: str
) -> None:
    """Replace a table's edge rows by rows with differences and interval ends from other parts."""
    subject = boundary.part.subjects.get(table, [])
    subject_value = subject_sql(subject)
    # Only rows after the last end of the part; rows of lost intervals within it keep NULL.
    after_end = f"epoch_us(b.tod) > {boundary.pair[1].last_end_us or _BEFORE_ALL_US}"
    values = {
        "interval_end": f"CASE WHEN b.interval_end IS NULL AND {after_end} THEN marks.mark "
        "ELSE b.interval_end END"
    }
    join = ""
    if stitched is not None:
        compared = [name for name in boundary.columns(table) if _is_compared(name)]
        column_names = list(dict.fromkeys(["offset", "file", *subject, *compared]))
        first_rows = (
            f"SELECT p.*, {subject_value} AS _subject, m.whole_offset AS _offset, "
            f'row_number() OVER (PARTITION BY {subject_value} ORDER BY p."offset", p._row) AS _nth '
            f"{boundary.stitched_rows_sql(stitched, table, column_names)}"
        )
        join = (
            f"LEFT JOIN ({first_rows}) AS h ON b._nth = 1 AND h._nth = 1 AND b._subject = h._subject "
            'AND b."offset" = h._offset'
        )
        for name in compared:
            quoted = expressions.quote(name)
            values[name] = f"CASE WHEN h._nth = 1 THEN h.{quoted} ELSE b.{quoted} END"
    nth = f'row_number() OVER (PARTITION BY {subject_value} ORDER BY "offset", file_row_number)'
    boundary.replace(
        table,
        files,
        f"{join} ASOF LEFT JOIN marks ON b.tod <= marks.mark {rest}",
        values=values,
        helpers=f"{subject_value} AS _subject, {nth} AS _nth",
    )


def _replace_mains(boundary: PartBoundary, table: str, files: list[LakeFile], rest: str) -> None:
    """Replace a table's rows; those before the last one of an earlier part have no differences."""
    limits = (
        "SELECT subject, before_us FROM pairs "
        f'WHERE part = {boundary.index} AND "table" = {expressions.literal(table)}'
    )
    boundary.replace(
        table,
        files,
        f"LEFT JOIN ({limits}) AS l ON b._subject = l.subject {rest}",
        values={
            name: f"CASE WHEN epoch_us(b.tod) <= l.before_us THEN NULL ELSE b.{expressions.quote(name)} END"
            for name in boundary.columns(table)
            if _is_compared(name)
        },
        helpers=f"{subject_sql(boundary.part.subjects.get(table, []))} AS _subject",
    )


def _is_compared(column: str) -> bool:
    """Return whether a column depends on a row and the previous one."""
    return column in ("seconds", "flag") or column.endswith("_d")


def redecode_part(boundary: PartBoundary) -> None:
    """Replace all rows of a part, as other parts affect them."""
    inputs, index = boundary.inputs, boundary.index
    whole = {*inputs.beside, index}
    paths = [boundary.files.side_file(boundary.pair, "offsets.parquet")]
    stitched = boundary.stitch(
        {number: "whole" if number in whole else "last" for number in sorted({*inputs.before, *whole})},
        f"SELECT * FROM {read_parquet_sql(paths)} ORDER BY 1",
    )
    boundary.document.intervals = stitched.intervals()
    imported, part = boundary.pair
    # The lake may have renamed the system, because of another with the same name.
    values = {"offset": "m.whole_offset"} | {
        name: f"CAST({expressions.literal(value)} AS ENUM ({expressions.literal(value)}))"
        for name, value in (("file", imported.path), ("system", part.system))
    }
    # A day missing from the import belongs to an interval that ends slightly later than first computed.
    days = sql_list(sorted({file.day for file in boundary.part.files}))
    day = "strftime(coalesce(p.interval_end, p.tod) AT TIME ZONE 'UTC', '%Y-%m-%d')"
    for table in boundary.part.schemas:
        if table in stitched.tables:
            columns = boundary.columns(table)
            selected = [
                f"{values.get(name, f'p.{expressions.quote(name)}')} AS {expressions.quote(name)}"
                for name in columns
            ]
            query = (
                f"SELECT {', '.join(selected)}, CASE WHEN {day} IN (SELECT unnest({days})) THEN {day} "
                f"ELSE '{UNKNOWN}' END AS _day {boundary.stitched_rows_sql(stitched, table, columns)} "
                "ORDER BY p._row"
            )
            files = [file for file in boundary.part.files if file.table == table]
            boundary.write(query, table, files, "main")
    [(before_us,)] = boundary.engine.rows(f"SELECT min(before_us) FROM pairs WHERE part = {index}")
    boundary.add_findings(
        [reset for reset in stitched.resets() if before_us is None or reset[0] > before_us],
        stitched.problems(),
    )
