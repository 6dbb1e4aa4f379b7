"""Drops records that occur in two inputs; the first input keeps them.

All decoded values in all tables of its kind identify a record, but not its offset. Only inputs that cover the
same times are compared, and only for the times that they share.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zlens.catalog import expressions
from zlens.inputs.problems import Problem
from zlens.lake.boundary_inputs import BoundaryInputs, Pair
from zlens.lake.documents import BoundaryDocument, LakeFile, PartDocument
from zlens.lake.manifest import InputPart
from zlens.readers.boundaries import deduplicated_tables

if TYPE_CHECKING:
    from zlens.lake.boundaries import BoundaryUpdater

#: First and last interval end, both inclusive.
Span = tuple[int, int]

#: Columns with the location of a record.
_PLACES = frozenset({"system", "source", "file", "offset"})


def comparable_time_range(source: str, files: Iterable[LakeFile]) -> Span | None:
    """Return the first and last interval end of all rows; None if the source's records are not compared."""
    if not deduplicated_tables(source):
        return None
    ends = [
        (file.first_us, file.last_us)
        for file in files
        if file.first_us is not None and file.last_us is not None
    ]
    return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else None


def overlapping_parts(parts: list[Pair], index: int) -> list[int]:
    """Return the earlier parts that overlap a part in time."""
    if parts[index][1].records_us is None:
        return []
    return [other for other in range(index) if _shared_span(parts[other][1], parts[index][1]) is not None]


def _shared_span(part: InputPart, earlier: InputPart) -> Span | None:
    if part.records_us is None or earlier.records_us is None:
        return None
    first = max(part.records_us[0], earlier.records_us[0])
    last = min(part.records_us[1], earlier.records_us[1])
    # Inputs that only meet may share the records of the interval that ended at that time.
    return (first, last) if first <= last else None


def drop_duplicate_records(
    updater: BoundaryUpdater,
    parts: list[Pair],
    index: int,
    inputs: BoundaryInputs,
    key: str,
    boundary: BoundaryDocument,
) -> None:
    """Drop the records of a part that an earlier part has, by files of its boundary."""
    pair = parts[index]
    part_document = updater.document(pair)
    spans = {other: _shared_span(parts[other][1], pair[1]) for other in inputs.repeated}
    others = {other: (span, updater.document(parts[other])) for other, span in spans.items() if span}
    if not others:
        return
    full_span = (
        min(first for (first, _), _ in others.values()),
        max(last for (_, last), _ in others.values()),
    )
    for name, tables in deduplicated_tables(pair[0].source).items():
        columns = {
            table: _columns(updater, table, [part_document, *(boundary for _, boundary in others.values())])
            for table in tables
        }
        columns = {table: names for table, names in columns.items() if names}
        if not _fingerprints(updater, "records", pair, part_document, columns, full_span):
            continue
        updater.engine.rows("CREATE OR REPLACE TABLE again (again_offset BIGINT)")
        for other, (shared, document) in others.items():
            if not _fingerprints(updater, "earlier", parts[other], document, columns, shared):
                continue
            # The second of two equal records is a duplicate only if the other input has two.
            repeated = updater.engine.rows(
                'INSERT INTO again SELECT "offset" FROM records '
                "SEMI JOIN earlier USING (sections, total, mixed, nth) "
                'WHERE "offset" NOT IN (SELECT again_offset FROM again) RETURNING again_offset'
            )
            if repeated:
                detail = f"{len(repeated):,} records are also in {parts[other][0].path}; read once"
                first = min(offset for (offset,) in repeated)
                imported, part = pair
                boundary.problems.append(
                    Problem(
                        part.system, imported.source, imported.path, first, name, "duplicate", detail, None
                    )
                )
        _write(updater, pair, part_document, tables, full_span, key, boundary)


def _columns(updater: BoundaryUpdater, table: str, documents: list[PartDocument]) -> list[str]:
    """Return the columns of a table in all inputs that have it: later layouts may have more columns."""
    schemas = [updater.schema(document.schemas[table]) for document in documents if table in document.schemas]
    if not schemas:
        return []
    common_names = set.intersection(*({column.name for column in schema} for schema in schemas)) - _PLACES
    return [column.name for column in schemas[0] if column.name in common_names]


def _within(part_document: PartDocument, table: str, span: Span) -> list[LakeFile]:
    """Return the files of a table that may contain rows of a time range, or rows without an interval."""
    return [
        file
        for file in part_document.files
        if file.table == table
        and (
            file.open
            or file.first_us is None
            or file.last_us is None
            or (file.first_us <= span[1] and file.last_us >= span[0])
        )
    ]


def _fingerprints(
    updater: BoundaryUpdater,
    name: str,
    pair: Pair,
    part_document: PartDocument,
    columns: dict[str, list[str]],
    span: Span,
) -> bool:
    """Create a table of fingerprints of a part's records; returns False if there can be none."""
    first, last = span
    selects = []
    for table, names in columns.items():
        files = _within(part_document, table, span)
        if files:
            values = ", ".join(f"b.{expressions.quote(column)}" for column in names)
            selects.append(
                f'SELECT b."offset", hash({expressions.literal(table)}, {values}) AS value '
                f"FROM {updater.read(pair, files)} AS b "
                f"WHERE b.interval_end IS NULL OR epoch_us(b.interval_end) BETWEEN {first} AND {last}"
            )
    if not selects:
        return False
    updater.engine.rows(
        f"CREATE OR REPLACE TABLE {name} AS SELECT *, "
        'row_number() OVER (PARTITION BY sections, total, mixed ORDER BY "offset") AS nth FROM ('
        'SELECT "offset", count(*) AS sections, sum(value) AS total, bit_xor(value) AS mixed '
        f'FROM ({" UNION ALL ".join(selects)}) GROUP BY "offset")'
    )
    return True


def _write(
    updater: BoundaryUpdater,
    pair: Pair,
    part_document: PartDocument,
    tables: list[str],
    span: Span,
    key: str,
    boundary: BoundaryDocument,
) -> None:
    """Write the remaining rows of the tables of a kind of record."""
    [(count,)] = updater.engine.rows("SELECT count(*) FROM again")
    if not count:
        return
    for table in tables:
        files = _within(part_document, table, span)
        if files:
            columns = ", ".join(
                f"b.{expressions.quote(column.name)}"
                for column in updater.schema(part_document.schemas[table])
            )
            query = (
                f"SELECT {columns}, {updater.day(pair, files)} AS _day FROM {updater.read(pair, files)} AS b "
                'ANTI JOIN again ON b."offset" = again.again_offset ORDER BY b."offset", b.file_row_number'
            )
            boundary.files += updater.write(pair, query, table, "main", key, files)
