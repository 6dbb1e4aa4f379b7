"""Interface of a source, independent of its reader: systems, intervals and raw tables."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeGuard, runtime_checkable

from msgspec import Struct, field

from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.identity import IdentityRange
from zlens.inputs.problems import Problem
from zlens.schema.structs import Count, Int64, Real, Text

#: (bytes done, total bytes, what is being read)
Progress = Callable[[int, int, str], None]


class ArrowSource(Protocol):
    """An object that exports an Arrow stream; every call starts a new one."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class RawTable(Protocol):
    """A table of one source as decoded, before any measure."""

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> tuple[RawColumn, ...]: ...
    def stream(self, columns: list[str]) -> ArrowSource:
        """Return the named columns, in that order."""
        ...


@runtime_checkable
class PrecomputedTable(RawTable, Protocol):
    """Precomputed rows of a measure; only required columns are read."""

    def since(self, us: int) -> RawTable:
        """Return the table without rows long before a time in microseconds since 1970."""
        ...


class ParquetTable(RawTable, Protocol):
    """A raw table in Parquet files that the engine reads directly."""

    @property
    def paths(self) -> Sequence[str]: ...
    def sql(self, columns: Sequence[str]) -> str:
        """Return a SELECT of the named columns from the files."""
        ...


def is_in_files(table: RawTable) -> TypeGuard[ParquetTable]:
    """Return whether a raw table is in Parquet files; testing the protocol takes twenty times as long."""
    return hasattr(table, "paths")


#: Upper limit of the times of sources without a date, in microseconds since 1970; no real data is older than
#: 1971.
UNDATED_US = 365 * 86_400_000_000


class Interval(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """An interval of a system; times in microseconds since 1970, UTC."""

    end_us: Int64
    seconds: Real | None
    flag: Text | None = None
    samples: Int64 | None = None
    #: Layer of the record type: intervals of higher layers count where lower ones leave time uncovered
    #: (inputs.record_intervals.union).
    layer: Count = 0

    @property
    def start_us(self) -> int:
        """Start of the interval; its end if the length is unknown."""
        return self.end_us - round((self.seconds or 0) * 1e6)


def machine_name(machine_type: str | None, serial: str | None) -> str | None:
    """Return the name of a machine, equal in all sources: type and serial without leading zeros."""
    if not machine_type or not serial:
        return None
    return f"{machine_type}-{serial.lstrip('0')}"


def moves(machines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the changes of the machine that a system ran on, each with its time."""
    ordered = sorted(machines)
    return [current for previous, current in pairwise(ordered) if current[1] != previous[1]]


class SystemInfo(Struct):
    """A system as one source describes it; a row of the table `system`. Times in microseconds UTC."""

    system: str
    source: str
    machine_type: str | None = None
    model: str | None = None
    serial: str | None = None
    release: str | None = None
    #: Machines that the system moved to: time and name.
    moves: list[tuple[int, str]] = field(default_factory=list)
    lpar: str | None = None
    lpar_number: int | None = None
    sysplex: str | None = None
    #: Threads activated per core, by core type in lower case; a type is missing if unknown.
    threads: dict[str, int] = field(default_factory=dict)
    utc_offset_s: int | None = None
    leap_s: int = 0
    #: Times are local and could not be converted; such a source is not joined with other sources.
    local_time: bool = False
    nominal_s: float | None = None
    first_us: int | None = None
    last_us: int | None = None
    files: list[str] = field(default_factory=list)
    synthetic: bool = False
    #: Name in the records, if they contradict those of the system that has this name.
    recorded_name: str | None = None
    #: First and last interval end, if known without reading the intervals.
    ends_us: tuple[int, int] | None = None
    #: Reads the intervals when they are first needed.
    find: Callable[[], list[Interval]] | None = None
    known: list[Interval] | None = None

    @property
    def intervals(self) -> list[Interval]:
        if self.known is None:
            self.known = self.find() if self.find else []
        return self.known

    @intervals.setter
    def intervals(self, value: list[Interval]) -> None:
        self.known = value or None

    @property
    def machine(self) -> str | None:
        """The first machine that the system ran on."""
        return machine_name(self.machine_type, self.serial)

    @property
    def last_machine(self) -> str | None:
        """The last machine that the system ran on."""
        return self.moves[-1][1] if self.moves else self.machine

    def identity_ranges(self) -> list[IdentityRange]:
        """Return the machines that the system ran on, in sequence; for sources without a better identity."""
        if self.machine is None or self.first_us is None or self.last_us is None:
            return []
        moved = [(since, name) for since, name in self.moves if since > self.first_us]
        since = [self.first_us, *(us for us, _ in moved), self.last_us]
        names = [self.machine, *(name for _, name in moved)]
        return [(*ends, {"machine": name}) for ends, name in zip(pairwise(since), names, strict=True)]

    @property
    def dated(self) -> bool:
        """Whether the times have a date; those of a source without dates count from 1970."""
        last_us = self.ends_us[1] if self.ends_us is not None else self.last_us
        return last_us is None or last_us >= UNDATED_US

    def zone(self) -> dt.tzinfo:
        """Return the system's local zone if known, otherwise UTC."""
        if self.utc_offset_s is None or abs(self.utc_offset_s) >= 86400:
            return dt.UTC
        return dt.timezone(dt.timedelta(seconds=self.utc_offset_s))


def identity_ranges(source: Source, info: SystemInfo) -> list[IdentityRange]:
    """Return the identity of a system's records over time, as its source records it."""
    if isinstance(source, IdentitySource):
        return source.identity_ranges(info.system)
    return info.identity_ranges()


def shared_us(info: SystemInfo, other: SystemInfo) -> int:
    """Return the time that two recordings share, in microseconds.

    An overlap of at most one interval counts as none: one recording ends in it and the other starts.
    """
    spans = [system.ends_us or (system.first_us, system.last_us) for system in (info, other)]
    (first, last), (other_first, other_last) = spans
    if first is None or last is None or other_first is None or other_last is None:
        return 0
    step = round(max(info.nominal_s or 0.0, other.nominal_s or 0.0) * 1e6)
    common = min(last, other_last) - max(first, other_first)
    return common if common > step else 0


def without_raw_tables(sources: Iterable[Source]) -> set[str]:
    """Return the systems whose raw tables were partly or fully removed from a lake; their rollups remain."""
    return {system for source in sources for system in getattr(source, "forgotten", ())}


def kept_days(sources: Iterable[Source]) -> dict[str, tuple[int, ...]]:
    """Return the days of a lake that have measures by day, but not all raw tables, by system.

    They are local days, counted from 1970.
    """
    return {system: days for source in sources for system, days in getattr(source, "kept_days", {}).items()}


class InventoryRow(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The number of records of one kind in a file; a row of the table `inventory`."""

    system: Text | None
    source: Text
    file: Text
    domain: Int64 | None
    record: Int64 | None
    name: Text
    title: Text
    kind: Text
    count: Int64
    bytes: Int64 | None
    first_us: Int64 | None = None
    last_us: Int64 | None = None
    min_length: Int64 | None = None
    max_length: Int64 | None = None
    #: Pack and release of the layout; None if the catalog has none.
    layout: Text | None = None
    #: If the reader checks them: records that repeat the bytes of an earlier one, runs of records earlier
    #: than the record before them, and steps that skip a sample of a kind recorded every interval_s.
    duplicates: Int64 | None = None
    out_of_order: Int64 | None = None
    gaps: Int64 | None = None
    interval_s: Real | None = None

    @property
    def mean_length(self) -> float | None:
        return self.bytes / self.count if self.bytes is not None and self.count else None


def table_prefix(record: str) -> str:
    """Return the prefix of the names of a record's raw tables: d0r2, smf70."""
    return record.partition(".")[0].replace(" ", "").lower()


class Source(Protocol):
    """All files of one format, opened."""

    name: str
    systems: list[SystemInfo]

    @property
    def tables(self) -> Mapping[str, list[RawTable]]:
        """Raw tables by name, one for each system that has it."""
        ...

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return the problems of the data. `complete` decodes everything first to find all of them."""
        ...

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Return counter resets: system, microseconds UTC, table, subject, evidence."""
        ...

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return the contents of the files, optionally with the layout of each kind of record (slower)."""
        ...

    def info(self) -> list[dict[str, Any]]:
        """Return one object per file: format, path, bytes and facts that the format records."""
        ...


class CounterlessSource:
    """Defaults of a Source without counters, whose problems are known once it is open."""

    _problems: Sequence[Problem] = ()

    def problems(self, *, complete: bool = False) -> list[Problem]:
        return list(self._problems)

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        return []


class FilelessSource(CounterlessSource):
    """Defaults of a Source for tables computed from other data."""

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        return []

    def info(self) -> list[dict[str, Any]]:
        return []


@runtime_checkable
class SizedSource(Protocol):
    """A source that knows the size of its files without computing `info`."""

    @property
    def size(self) -> int: ...


@runtime_checkable
class StoredSource(Protocol):
    """A source whose contents are known by a digest."""

    @property
    def contents_digest(self) -> str: ...


@runtime_checkable
class IdentitySource(Protocol):
    """A source that knows the identity of its records over time."""

    def identity_ranges(self, system: str) -> list[IdentityRange]: ...


#: System, source, end in microseconds UTC, seconds, flag and number of records of an interval.
IntervalRow = tuple[str, str, int, float | None, str | None, int]


@runtime_checkable
class IntervalSource(Protocol):
    """A source that found the intervals of each raw table when it was opened."""

    def interval_rows(self, tables: Collection[str]) -> Iterator[IntervalRow]:
        """Yield the intervals of the rows of raw tables, those of each record type separately."""
        ...


class RecordRead(Struct, frozen=True):
    """A record that was read again.

    rows  for each row that it gives a raw table: offset in the record and length of the bytes of columns, and
          their values as far as they tell rows apart; empty if the places are not known
    """

    data: bytes
    rows: list[tuple[dict[str, tuple[int, int]], dict[str, Any]]]


@runtime_checkable
class RecordSource(Protocol):
    """A source whose records can be read again by their offset."""

    def read_record(self, system: str, table: str, file: str, offset: int) -> RecordRead | None:
        """Return a record with the places of the columns of a raw table; None if the file has changed form.

        A file that was decompressed or taken apart has no record at the offset.
        """
        ...


@runtime_checkable
class CompanionSource(Protocol):
    """A source whose systems have name and machine from the source named in `beside`."""

    beside: str

    def take_identity_from(self, others: Sequence[SystemInfo]) -> None: ...
