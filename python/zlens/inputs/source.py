"""What a source provides: its systems, intervals and raw tables, whatever its reader."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct, field

from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.identity import IdentityRange
from zlens.inputs.problems import Problem

#: (bytes done, total bytes, what is being read)
Progress = Callable[[int, int, str], None]


class ArrowSource(Protocol):
    """Anything that exports an Arrow stream; every call starts a new one."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class RawTable(Protocol):
    """A table of one source as decoded, before any measure."""

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> tuple[RawColumn, ...]: ...
    def stream(self, columns: list[str]) -> ArrowSource:
        """The named columns, in that order."""
        ...


@runtime_checkable
class PrecomputedTable(RawTable, Protocol):
    """Rows of a measure that were computed before; only the columns that are needed are read."""

    def since(self, us: int) -> RawTable:
        """The same without rows of long before a time, in microseconds since 1970."""
        ...


@runtime_checkable
class ParquetTable(RawTable, Protocol):
    """A raw table in Parquet files, which the engine reads itself."""

    @property
    def paths(self) -> Sequence[str]: ...
    def sql(self, columns: Sequence[str]) -> str:
        """A SELECT of the named columns from the files."""
        ...


#: Times before 1971, in microseconds since 1970: of sources that have no date. No system measured then.
UNDATED_US = 365 * 86_400_000_000


class Interval(Struct, frozen=True):
    """One interval of a system; times in microseconds since 1970, UTC."""

    end_us: int
    seconds: float | None
    flag: str | None = None
    samples: int | None = None
    #: Of intervals of different record types, those of a higher layer count where lower ones leave time
    #: uncovered (inputs.record_intervals.union).
    layer: int = 0

    @property
    def start_us(self) -> int:
        """When it began; its end if its length is unknown."""
        return self.end_us - round((self.seconds or 0) * 1e6)


def machine_name(machine_type: str | None, serial: str | None) -> str | None:
    """The name of a machine, the same in all sources: type and serial without leading zeros."""
    if not machine_type or not serial:
        return None
    return f"{machine_type}-{serial.lstrip('0')}"


def moves(machines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The changes among the machines that a system ran on, each with the time since when."""
    listed = sorted(machines)
    return [after for before, after in pairwise(listed) if after[1] != before[1]]


class SystemInfo(Struct):
    """A system as one source shows it; the row of the table `system`. Times in microseconds UTC."""

    system: str
    source: str
    machine_type: str | None = None
    model: str | None = None
    serial: str | None = None
    release: str | None = None
    #: Machines that it moved to: since when, and their names.
    moves: list[tuple[int, str]] = field(default_factory=list)
    lpar: str | None = None
    lpar_number: int | None = None
    sysplex: str | None = None
    #: Threads activated per core, by core type in lower case; a type is missing if that is unknown.
    threads: dict[str, int] = field(default_factory=dict)
    utc_offset_s: int | None = None
    leap_s: int = 0
    #: Times are local and could not be converted; such a source is not joined with others.
    local_time: bool = False
    nominal_s: float | None = None
    first_us: int | None = None
    last_us: int | None = None
    files: list[str] = field(default_factory=list)
    synthetic: bool = False
    #: Its name in the records, if they contradict those of the system that has this name.
    recorded_name: str | None = None
    #: The first and the last interval end, if they are known without reading the intervals.
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
        """The machine that it ran on first."""
        return machine_name(self.machine_type, self.serial)

    @property
    def last_machine(self) -> str | None:
        """The machine that it ran on at the end."""
        return self.moves[-1][1] if self.moves else self.machine

    def identity_ranges(self) -> list[IdentityRange]:
        """The machines that it ran on, one after another; for sources that know no more of their records."""
        if self.machine is None or self.first_us is None or self.last_us is None:
            return []
        moved = [(since, name) for since, name in self.moves if since > self.first_us]
        since = [self.first_us, *(us for us, _ in moved), self.last_us]
        names = [self.machine, *(name for _, name in moved)]
        return [
            (begin, end, {"machine": name}) for (begin, end), name in zip(pairwise(since), names, strict=True)
        ]

    @property
    def dated(self) -> bool:
        """Whether its times have a date; those of a source without one count from 1970."""
        last_us = self.ends_us[1] if self.ends_us is not None else self.last_us
        return last_us is None or last_us >= UNDATED_US

    def zone(self) -> dt.tzinfo:
        """The system's local zone if known, otherwise UTC."""
        if self.utc_offset_s is None or abs(self.utc_offset_s) >= 86400:
            return dt.UTC
        return dt.timezone(dt.timedelta(seconds=self.utc_offset_s))


def identity_ranges(source: Source, info: SystemInfo) -> list[IdentityRange]:
    """Whose the records of a system are over which times, as its source knows it."""
    if isinstance(source, IdentitySource):
        return source.identity_ranges(info.system)
    return info.identity_ranges()


def shared_us(info: SystemInfo, other: SystemInfo) -> int:
    """The time between the first and the last interval of two recordings that they have in common.

    Up to an interval is none: one of them ends in it, and the other begins.
    """
    spans = [one.ends_us or (one.first_us, one.last_us) for one in (info, other)]
    (first, last), (begin, end) = spans
    if first is None or last is None or begin is None or end is None:
        return 0
    step = round(max(info.nominal_s or 0.0, other.nominal_s or 0.0) * 1e6)
    common = min(last, end) - max(first, begin)
    return common if common > step else 0


def without_raw_tables(sources: Iterable[Source]) -> set[str]:
    """Systems of which a lake keeps measures by hour and day where their raw tables are forgotten."""
    return {system for source in sources for system in getattr(source, "forgotten", ())}


class InventoryRow(Struct, frozen=True):
    """The amount of one kind of record in a file; the row of the table `inventory`."""

    system: str | None
    source: str
    file: str
    domain: int | None
    record: int | None
    name: str
    title: str
    kind: str
    count: int
    bytes: int | None
    first_us: int | None = None
    last_us: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    #: Pack and release of the layout it is decoded with; None: the catalog has none.
    layout: str | None = None
    #: If a reader checks them: records that repeat the bytes of an earlier one, runs of records that are
    #: earlier than the one before them, and steps that skip a moment of a kind that comes every interval_s.
    duplicates: int | None = None
    out_of_order: int | None = None
    gaps: int | None = None
    interval_s: float | None = None

    @property
    def mean_length(self) -> float | None:
        return self.bytes / self.count if self.bytes is not None and self.count else None


def table_prefix(record: str) -> str:
    """What the names of a record's raw tables begin with: d0r2, smf70."""
    return record.partition(".")[0].replace(" ", "").lower()


class Source(Protocol):
    """All files of one format, opened."""

    name: str
    systems: list[SystemInfo]

    @property
    def tables(self) -> Mapping[str, list[RawTable]]:
        """Raw tables by name, a part for each system that has it."""
        ...

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """What could not be read as is. `complete` decodes everything first to find all of it."""
        ...

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Counter resets: system, microseconds UTC, table, subject, evidence."""
        ...

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """The contents of the files, optionally with the layout of each kind of record (slower)."""
        ...

    def info(self) -> list[dict[str, Any]]:
        """One object per file: format, path, bytes, and what the format says about itself."""
        ...


class FilelessSource:
    """The part of a Source that tables computed from other data do not have."""

    def problems(self, *, complete: bool = False) -> list[Problem]:
        return []

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        return []

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        return []

    def info(self) -> list[dict[str, Any]]:
        return []


@runtime_checkable
class SizedSource(Protocol):
    """A source that knows the bytes of its files without reading what `info` says of each."""

    @property
    def size(self) -> int: ...


@runtime_checkable
class IdentitySource(Protocol):
    """A source that knows of each record whose it is."""

    def identity_ranges(self, system: str) -> list[IdentityRange]: ...


@runtime_checkable
class CompanionSource(Protocol):
    """A source that takes name and machine of its systems from another one, `beside`."""

    beside: str

    def take_identity_from(self, others: Sequence[SystemInfo]) -> None: ...
