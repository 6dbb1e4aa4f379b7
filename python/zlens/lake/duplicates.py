"""Drops intervals and records that occur in two inputs; the first input keeps them.

For some sources, an interval of an input is complete, and its end identifies it. For others, all decoded
values in all tables of its kind identify a record, but not its offset; only inputs that cover the same times
are compared, and only for the times that they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from zlens._native import ArrowTable
from zlens.catalog import expressions, listings
from zlens.lake.boundary_inputs import Pair, Span, shared_span
from zlens.lake.documents import LakeFile, PartDocument
from zlens.lake.part_boundary import BoundaryFiles, PartBoundary
from zlens.readers.boundaries import COMPLETE_BY_TABLE, deduplicated_tables

#: Source, interval end in microseconds UTC, and a hash that distinguishes rows with the same end.
_End = tuple[str, int, int]

#: Columns with the location of a record.
_PLACES = frozenset({"system", "source", "file", "offset"})
#: Columns that depend on a row's location or on the row before it, not on its own values.
_PROVENANCE_COLUMNS = _PLACES | {"line_number", "seconds", "flag", "interval_end", "tod"}


# -- intervals ---------------------------------------------------------------------------------------


def drop_intervals(boundary: PartBoundary) -> None:
    """Drop intervals that an earlier part has, for sources whose intervals are complete in one input."""
    repeated: dict[str, set[_End]] = {table: set() for table in boundary.part.schemas}
    for other_index in boundary.inputs.beside:
        new_ends: set[tuple[str, int]] = set()
        conflicts: set[tuple[str, int]] = set()
        for table, common in _common_ends(boundary, other_index).items():
            new_common = {end: same for end, same in common.items() if end not in repeated[table]}
            new_ends |= {end[:2] for end in new_common}
            conflicts |= {end[:2] for end, same in new_common.items() if not same}
            repeated[table] |= new_common.keys()
        other = boundary.parts[other_index][0].path
        for kind, count, what in (
            ("duplicate", len(new_ends - conflicts), f"are duplicates of {other}; not shown"),
            ("conflict", len(conflicts), f"have other values in {other}; not shown"),
        ):
            if count:
                boundary.add_problem(kind, f"{count:,} intervals {what}")
    for table, ends in sorted(repeated.items()):
        files = [file for file in boundary.part.files if file.table == table]
        if files and any(repeated.values()):
            known = ArrowTable([("origin", "text"), ("mark", "time"), ("rows", "int")], sorted(ends))
            boundary.engine.register("known", known)
            boundary.replace(
                table,
                files,
                "ANTI JOIN known ON b.interval_end = known.mark AND b.source = known.origin "
                f"AND {_subject_sql(boundary.source, table, boundary.columns(table))} = known.rows",
            )


def _common_ends(boundary: PartBoundary, other_index: int) -> dict[str, dict[_End, bool]]:
    """Return the ends that a part shares with another, by table, and whether their values are equal."""
    tables = boundary.part.schemas
    if boundary.source not in COMPLETE_BY_TABLE:
        ends = boundary.ends([boundary.index]) & boundary.ends([other_index])
        known, own = _interval_digests(boundary, other_index, None) if ends else ({}, {})
        common = [(boundary.source, end, 0) for end in ends]
        is_equal = {end: end in own and known.get(end) == own[end] for end in common}
        return dict.fromkeys(tables, is_equal)
    common_by_table = {}
    for table in tables:
        known, own = _interval_digests(boundary, other_index, table)
        common_by_table[table] = {end: known[end] == digest for end, digest in own.items() if end in known}
    return common_by_table


def _interval_digests(
    boundary: PartBoundary, other_index: int, table: str | None
) -> tuple[dict[_End, str], dict[_End, str]]:
    """Return digests of the values of another part and of this one in common columns; None: of all tables."""
    files = boundary.files
    pairs = [boundary.parts[other_index], boundary.pair]
    documents = [files.lake.part_document(*pair) for pair in pairs]
    digests: list[dict[_End, str]] = []
    for pair, own in zip(pairs, documents, strict=True):
        selects = []
        for name in own.schemas if table is None else {table} & own.schemas.keys():
            own_files = [file for file in own.files if file.table == name]
            if own_files:
                columns = files.columns(own, name)
                key = (
                    "CAST(b.source AS VARCHAR) AS origin, epoch_us(b.interval_end) AS mark, "
                    f"{_subject_sql(boundary.source, name, columns)} AS rows"
                )
                common_columns = _common_columns(files, name, documents, _PROVENANCE_COLUMNS)
                selects.append(
                    f"{_hash_sql(files, pair, own_files, name, common_columns, key)} "
                    "WHERE b.interval_end IS NOT NULL AND b.flag IS DISTINCT FROM 'repeated'"
                )
        query = (
            f"SELECT origin, mark, rows, sum(value)::VARCHAR FROM ({' UNION ALL '.join(selects)}) "
            "GROUP BY ALL"
        )
        rows = boundary.engine.rows(query) if selects else []
        digests.append({(origin, mark, subject): value for origin, mark, subject, value in rows})
    return digests[0], digests[1]


def _subject_sql(source: str, table: str, columns: list[str]) -> str:
    """Return the SQL that identifies a row b in its interval; 0 if an interval is complete in one input."""
    if source not in listings.SOURCES:
        return "0"
    table_columns = [name for name in columns if name not in listings.leading()]
    names = ["row_kind", *(name for name in listings.subject(table, table_columns) if name in table_columns)]
    # A report column that is not in the catalog may have numbers in one file and texts in another.
    texts = ", ".join(f"CAST(b.{expressions.quote(name)} AS VARCHAR)" for name in names)
    return f"CAST(hash({texts}) >> 1 AS BIGINT)"


# -- records -----------------------------------------------------------------------------------------


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


def drop_records(boundary: PartBoundary) -> None:
    """Drop the records of a part that an earlier part has."""
    spans = {
        other: shared_span(boundary.parts[other][1], boundary.pair[1]) for other in boundary.inputs.repeated
    }
    others = {
        other: (span, boundary.files.lake.part_document(*boundary.parts[other]))
        for other, span in spans.items()
        if span
    }
    if not others:
        return
    full_span = (
        min(first for (first, _), _ in others.values()),
        max(last for (_, last), _ in others.values()),
    )
    documents = [boundary.part, *(document for _, document in others.values())]
    for name, tables in deduplicated_tables(boundary.source).items():
        columns = {
            table: _common_columns(boundary.files, table, documents, _PLACES)
            for table in tables
            if any(table in document.schemas for document in documents)
        }
        if not _fingerprint("records", boundary.files, boundary.pair, boundary.part, columns, full_span):
            continue
        boundary.engine.rows("CREATE OR REPLACE TABLE again (again_offset BIGINT)")
        count = 0
        for other, (shared, document) in others.items():
            pair = boundary.parts[other]
            if not _fingerprint("earlier", boundary.files, pair, document, columns, shared):
                continue
            # The second of two equal records is a duplicate only if the other input has two.
            repeated = boundary.engine.rows(
                'INSERT INTO again SELECT "offset" FROM records '
                "SEMI JOIN earlier USING (sections, total, mixed, nth) "
                'WHERE "offset" NOT IN (SELECT again_offset FROM again) RETURNING again_offset'
            )
            count += len(repeated)
            if repeated:
                detail = f"{len(repeated):,} records are also in {pair[0].path}; read once"
                first = min(offset for (offset,) in repeated)
                boundary.add_problem("duplicate", detail, offset=first, record=name)
        for table in tables if count else ():
            files = _within(boundary.part, table, full_span)
            if files:
                boundary.replace(
                    table,
                    files,
                    'ANTI JOIN again ON b."offset" = again.again_offset '
                    'ORDER BY b."offset", b.file_row_number',
                )


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


def _fingerprint(
    name: str,
    boundary_files: BoundaryFiles,
    pair: Pair,
    part_document: PartDocument,
    columns: Mapping[str, list[str]],
    span: Span,
) -> bool:
    """Create a table of fingerprints of a part's records; returns False if there can be none."""
    first, last = span
    selects = [
        f"""{_hash_sql(boundary_files, pair, files, table, names, 'b."offset"')} """
        f"WHERE b.interval_end IS NULL OR epoch_us(b.interval_end) BETWEEN {first} AND {last}"
        for table, names in columns.items()
        if (files := _within(part_document, table, span))
    ]
    if selects:
        boundary_files.engine.rows(
            f"CREATE OR REPLACE TABLE {name} AS SELECT *, "
            'row_number() OVER (PARTITION BY sections, total, mixed ORDER BY "offset") AS nth FROM ('
            'SELECT "offset", count(*) AS sections, sum(value) AS total, bit_xor(value) AS mixed '
            f'FROM ({" UNION ALL ".join(selects)}) GROUP BY "offset")'
        )
    return bool(selects)


# -- values ------------------------------------------------------------------------------------------


def _common_columns(
    files: BoundaryFiles, table: str, documents: Iterable[PartDocument], ignored: frozenset[str]
) -> list[str]:
    """Return the columns of a table in all inputs that have it: later layouts may have more columns."""
    names = [files.columns(document, table) for document in documents if table in document.schemas]
    common_names = set.intersection(*map(set, names)) - ignored
    return [name for name in names[0] if name in common_names]


def _hash_sql(
    files: BoundaryFiles, pair: Pair, lake_files: list[LakeFile], table: str, columns: list[str], key: str
) -> str:
    """Return the SQL of the rows b of a table with a key and a hash of their values."""
    values = [expressions.literal(table), *(f"b.{expressions.quote(column)}" for column in columns)]
    return f"SELECT {key}, hash({', '.join(values)}) AS value FROM {files.read(pair, lake_files)} AS b"
