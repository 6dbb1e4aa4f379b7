"""Proof that measures retain removed data of a lake, for each raw table, day and interval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct, field

from zlens.catalog.expressions import literal
from zlens.errors import LakeError
from zlens.inputs.source import Progress
from zlens.lake import file_names, rollups
from zlens.lake.documents import LakeFile, current_files
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.manifest import DayRollup, InputPart, LakeInput
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.schema.plain_text import format_count
from zlens.schema.temporary_folder import TemporaryFolder
from zlens.schema.wording import phrase

#: Represents all raw tables that no measure reads.
UNMEASURED = "unmeasured"
#: Maximum number of entries in an error.
_MOST = 8


class Removed(Struct):
    """A part whose raw tables are to be removed, and the measures with its rows."""

    imported: LakeInput
    part: InputPart
    rollups: list[DayRollup]


class Proof(Struct):
    """Rows and intervals of a raw table on some local days, and their retention in measures.

    measures    measures that contain its rows; empty: no measure reads it
    intervals   number of intervals; rows before the first difference and of lasting states have none
    lost        number of intervals without rows in any measure
    """

    system: str
    table: str
    days: list[str]
    rows: int
    intervals: int
    lost: int
    measures: list[str] = field(default_factory=list)

    @property
    def is_retained(self) -> bool:
        return bool(self.measures) and not self.lost

    def is_accepted(self, tables: Collection[str]) -> bool:
        """Return whether it may be removed: it is retained, or its loss is accepted."""
        return self.is_retained or self.table in tables or (not self.measures and UNMEASURED in tables)

    def __str__(self) -> str:
        days = self.days[0] if len(self.days) == 1 else f"{self.days[0]} to {self.days[-1]}"
        what = f"{self.system}, {days}: {self.table}, {format_count(self.rows, 'row')}"
        if not self.measures:
            return f"{what}: read by no measure"
        where = f"in {', '.join(self.measures)}"
        if self.lost:
            return f"{what}: {self.lost:,} of {format_count(self.intervals, 'interval')} not {where}"
        intervals = format_count(self.intervals, "interval") if self.intervals else "of no interval"
        return f"{what}: {intervals}, {where}"


def proof(lake: LakeFolder, removed: Iterable[Removed], progress: Progress | None = None) -> list[Proof]:
    """Compare the intervals of the raw tables of some parts with the intervals that measures retain."""
    parts = list(removed)
    if not parts:
        return []
    entries: dict[tuple[str, str, str], Proof] = {}
    with TemporaryFolder() as spill, ParquetEngine(spill) as engine:
        for number, item in enumerate(parts):
            if progress is not None:
                progress(number, len(parts), item.imported.path)
            for entry in _proof_of(lake, item, engine):
                known = entries.setdefault((entry.system, entry.table, entry.days[0]), entry)
                if known is not entry:
                    known.rows += entry.rows
                    known.intervals += entry.intervals
                    known.lost += entry.lost
                    known.measures = sorted({*known.measures, *entry.measures})
    return _by_table(entry for _, entry in sorted(entries.items()))


def _by_table(entries: Iterable[Proof]) -> list[Proof]:
    """Merge consecutive days of a table without lost intervals into one entry."""
    merged: list[Proof] = []
    for entry in entries:
        last = merged[-1] if merged else None
        if (
            last is not None
            and (last.system, last.table, last.measures) == (entry.system, entry.table, entry.measures)
            and last.lost == entry.lost == 0
        ):
            last.days += entry.days
            last.rows += entry.rows
            last.intervals += entry.intervals
        else:
            merged.append(entry)
    return merged


def _proof_of(lake: LakeFolder, removed: Removed, engine: ParquetEngine) -> Iterator[Proof]:
    imported, part = removed.imported, removed.part
    days = [lake.measures(rollup).retained for rollup in removed.rollups]
    stored = lake.part_document(imported, part)
    by_table: dict[str, list[LakeFile]] = {}
    for file in current_files(stored, lake.seam(imported, part)):
        by_table.setdefault(file.table, []).append(file)
    lake.fetch(file.name(imported.sha256, part.system) for files in by_table.values() for file in files)

    sources = part.row_sources(imported)
    offset_us = (stored.info.utc_offset_s or 0) * 1_000_000
    selects = []
    for table, files in sorted(by_table.items()):
        paths = [lake.absolute(file.name(imported.sha256, part.system)) for file in files]
        present = {column.name for column in lake.schema(stored.schemas[table])}
        end = "epoch_us(interval_end)" if "interval_end" in present else "NULL"
        known = "seconds IS NOT NULL" if "seconds" in present else "false"
        source = "source" if len(sources) > 1 else literal(sources[0])
        record_time = "epoch_us(tod)" if "tod" in present else "NULL"
        # A day contains its end, not its start.
        day = f"(coalesce({end}, {record_time}) + {offset_us - 1}) // {rollups.DAY_US}"
        selects.append(
            f"SELECT {literal(table)}, {source}, {end}, {day}, coalesce({known}, false), count(*) "
            f"FROM {read_parquet_sql(paths, 'union_by_name = true')} GROUP BY ALL"
        )
    entries: dict[tuple[str, int | None], Proof] = {}
    if not selects:
        return
    for table, source, end_us, day, has_length, rows in engine.rows(" UNION ALL ".join(selects)):
        entry = entries.get((table, day))
        if entry is None:
            name = file_names.UNKNOWN if day is None else rollups.day_name(day)
            entry = entries[table, day] = Proof(part.system, table, [name], 0, 0, 0)
            entry.measures = sorted(
                {name for day_retained in days for name in day_retained.measures_by_table.get(table, ())}
            )
        entry.rows += rows
        if end_us is not None and has_length and entry.measures:
            entry.intervals += 1
            entry.lost += not any(day_retained.measures(table, source, end_us) for day_retained in days)
    yield from entries.values()


def refusal(lake: str, lost: list[Proof]) -> LakeError:
    """Return the error that lists data without measures."""
    unmeasured = any(not entry.measures for entry in lost)
    tables = sorted({entry.table for entry in lost if entry.measures})
    listed = [str(entry) for entry in sorted(lost, key=lambda entry: (not entry.measures, entry.days))]
    more = f"; and {len(listed) - _MOST:,} more" if len(listed) > _MOST else ""
    return LakeError(
        f"data in no measure would be lost: {'; '.join(listed[:_MOST])}{more}",
        file=lake,
        cure=phrase("lake_lost", tables=",".join([*([UNMEASURED] if unmeasured else []), *tables])),
    )
