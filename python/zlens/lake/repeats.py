"""Records that stand in two inputs, of kinds that are read once: the first input with one has it.

A record is known by all that is decoded of it, in every table of its kind, but not by where it stands. Only
inputs that tell of the same times are compared, and of these only the times that they share.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zlens.catalog import expressions
from zlens.inputs.problems import Problem
from zlens.lake.document import File, PartDocument, SeamDocument
from zlens.lake.manifest import Part
from zlens.lake.seam_evidence import Ground, Pair
from zlens.readers.joints import copied

if TYPE_CHECKING:
    from zlens.lake.seams import Seams

#: First and last interval end, both within.
Span = tuple[int, int]

#: What tells of the place of a record, and of nothing in it.
_PLACES = frozenset({"system", "source", "file", "offset"})


def span(source: str, files: Iterable[File]) -> Span | None:
    """The first and the last interval end of records that are compared with those of other inputs."""
    tables = {table for some in copied(source).values() for table in some}
    ends = [
        (file.first_us, file.last_us)
        for file in files
        if file.table in tables and file.first_us is not None and file.last_us is not None
    ]
    return (min(first for first, _ in ends), max(last for _, last in ends)) if ends else None


def before(parts: list[Pair], at: int) -> list[int]:
    """Earlier parts that tell of the same times as a part."""
    if parts[at][1].records_us is None:
        return []
    return [place for place in range(at) if _shared(parts[place][1], parts[at][1]) is not None]


def _shared(one: Part, other: Part) -> Span | None:
    if one.records_us is None or other.records_us is None:
        return None
    first = max(one.records_us[0], other.records_us[0])
    last = min(one.records_us[1], other.records_us[1])
    # Two inputs that meet in one moment may share the records of the interval that ended then.
    return (first, last) if first <= last else None


def leave_out(seams: Seams, parts: list[Pair], at: int, ground: Ground, key: str, told: SeamDocument) -> None:
    """Let a seam leave out the records of a part that an earlier one has."""
    pair = parts[at]
    own = seams.document(pair)
    spans = {place: _shared(parts[place][1], pair[1]) for place in ground.repeated}
    others = {place: (span, seams.document(parts[place])) for place, span in spans.items() if span}
    if not others:
        return
    whole = (min(first for (first, _), _ in others.values()), max(last for (_, last), _ in others.values()))
    for name, tables in copied(pair[0].source).items():
        columns = {
            table: _columns(seams, table, [own, *(told for _, told in others.values())]) for table in tables
        }
        columns = {table: some for table, some in columns.items() if some}
        if not _known(seams, "records", pair, own, columns, whole):
            continue
        seams.shop.rows("CREATE OR REPLACE TABLE again (again_offset BIGINT)")
        for place, (shared, document) in others.items():
            if not _known(seams, "earlier", parts[place], document, columns, shared):
                continue
            # The second of two that are alike within one input is known of another that has two as well.
            found = seams.shop.rows(
                'INSERT INTO again SELECT "offset" FROM records '
                "SEMI JOIN earlier USING (sections, total, mixed, nth) "
                'WHERE "offset" NOT IN (SELECT again_offset FROM again) RETURNING again_offset'
            )
            if found:
                detail = f"{len(found):,} records are known of {parts[place][0].path}; they are read once"
                first = min(offset for (offset,) in found)
                one, part = pair
                told.problems.append(
                    Problem(part.system, one.source, one.path, first, name, "duplicate", detail, None)
                )
        _write(seams, pair, own, tables, whole, key, told)


def _columns(seams: Seams, table: str, documents: list[PartDocument]) -> list[str]:
    """What all inputs that have a table have in it: layouts may have grown between imports."""
    schemas = [seams.schema(document.schemas[table]) for document in documents if table in document.schemas]
    if not schemas:
        return []
    same = set.intersection(*({column.name for column in schema} for schema in schemas)) - _PLACES
    return [column.name for column in schemas[0] if column.name in same]


def _within(own: PartDocument, table: str, span: Span) -> list[File]:
    """Files of a table in which something may be of a time; also those with rows of no interval."""
    return [
        file
        for file in own.files
        if file.table == table
        and (
            file.open
            or file.first_us is None
            or file.last_us is None
            or (file.first_us <= span[1] and file.last_us >= span[0])
        )
    ]


def _known(
    seams: Seams, name: str, pair: Pair, own: PartDocument, columns: dict[str, list[str]], span: Span
) -> bool:
    """Make a table of what the records of a part are known by; whether there may be any."""
    first, last = span
    some = []
    for table, listed in columns.items():
        files = _within(own, table, span)
        if files:
            values = ", ".join(f"b.{expressions.quote(column)}" for column in listed)
            some.append(
                f'SELECT b."offset", hash({expressions.literal(table)}, {values}) AS value '
                f"FROM {seams.read(pair, files)} AS b "
                f"WHERE b.interval_end IS NULL OR epoch_us(b.interval_end) BETWEEN {first} AND {last}"
            )
    if not some:
        return False
    seams.shop.rows(
        f"CREATE OR REPLACE TABLE {name} AS SELECT *, "
        'row_number() OVER (PARTITION BY sections, total, mixed ORDER BY "offset") AS nth FROM ('
        'SELECT "offset", count(*) AS sections, sum(value) AS total, bit_xor(value) AS mixed '
        f'FROM ({" UNION ALL ".join(some)}) GROUP BY "offset")'
    )
    return True


def _write(
    seams: Seams, pair: Pair, own: PartDocument, tables: list[str], span: Span, key: str, told: SeamDocument
) -> None:
    """Write what is left of the tables of a kind of record."""
    [(count,)] = seams.shop.rows("SELECT count(*) FROM again")
    if not count:
        return
    for table in tables:
        files = _within(own, table, span)
        if files:
            columns = ", ".join(
                f"b.{expressions.quote(column.name)}" for column in seams.schema(own.schemas[table])
            )
            query = (
                f"SELECT {columns}, {seams.day(pair, files)} AS _day FROM {seams.read(pair, files)} AS b "
                'ANTI JOIN again ON b."offset" = again.again_offset ORDER BY b."offset", b.file_row_number'
            )
            told.files += seams.write(pair, query, table, "main", key, files)
