"""Reads the measures by hour and day of a lake, such as the tables `cpu_hour` and `cpu_day`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import chain

from msgspec import Struct, field

from zlens.catalog import expressions
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, FilelessSource, RawTable, SystemInfo
from zlens.lake import file_names
from zlens.lake.documents import MeasuresFile
from zlens.lake.lake_folder import LakeFolder, ReadLock
from zlens.lake.manifest import RULES, DayRollup, Manifest
from zlens.lake.parquet_streams import ParquetStream, raise_file_limit, read_parquet_sql
from zlens.lake.rollups import DAY_US, day_number, machines

#: Column with the end of the hour or day; not `interval_end`, because no interval ends then.
BUCKET_END = "bucket_end"

#: Minimum number of systems for which the measures of a day are consolidated.
MIN_CONSOLIDATED_SYSTEMS = 8

#: Exclusive lower and inclusive upper bound of bucket ends, in microseconds UTC; None: no bound.
Bounds = tuple[int | None, int | None]


class MeasuresTable(Struct, eq=False):
    """One measure by hour or by day, of all systems, in files of one schema.

    only   systems to read from a file that also has rows of other systems
    """

    name: str
    columns: tuple[RawColumn, ...]
    source: MeasuresSource
    files: dict[str, MeasuresFile] = field(default_factory=dict)
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)
    is_verified: bool = False

    @property
    def paths(self) -> list[str]:
        return list(self.files)

    def sql(self, columns: Sequence[str]) -> str:
        """Return a SELECT of the named columns within the selected times."""
        if not self.is_verified:
            self.source.lake.verify(self.files)
            self.is_verified = True
        select_list = ", ".join(map(expressions.quote, columns)) or "1"
        by_systems: dict[tuple[str, ...] | None, list[str]] = {}
        for path in self.files:
            by_systems.setdefault(self.only.get(path), []).append(path)
        times = self._times()
        return " UNION ALL ".join(
            f"SELECT {select_list} FROM {read_parquet_sql(paths)} WHERE {_systems_sql(systems)} AND ({times})"
            for systems, paths in by_systems.items()
        )

    def add(self, path: str, file: MeasuresFile, only: tuple[str, ...] | None = None) -> None:
        """Add a file; `only`: the systems with current rows if not all rows are current."""
        self.files[path] = file
        if only is not None:
            self.only[path] = only

    def stream(self, columns: list[str]) -> ArrowSource:
        return ParquetStream(self, columns)

    def _times(self) -> str:
        by_bounds: dict[Bounds, list[str]] = {}
        for system, bounds in self.source.bounds.items():
            by_bounds.setdefault(bounds, []).append(system)
        if set(by_bounds) <= {(None, None)}:
            return "true"
        conditions = []
        for (low, high), systems in by_bounds.items():
            parts = [_systems_sql(systems)]
            parts += [f"epoch_us({BUCKET_END}) > {low}"] if low is not None else []
            parts += [f"epoch_us({BUCKET_END}) <= {high}"] if high is not None else []
            conditions.append(" AND ".join(parts))
        return " OR ".join(f"({condition})" for condition in conditions)


def _systems_sql(systems: Sequence[str] | None) -> str:
    return "true" if systems is None else f"system IN ({', '.join(map(expressions.literal, systems))})"


class _RollupTables(Mapping[str, list[RawTable]]):
    """Tables by name. Documents are read on first use."""

    def __init__(self, source: MeasuresSource) -> None:
        self._source = source
        self._schema = cache(source.lake.schema)

    @cached_property
    def found(self) -> dict[str, list[RawTable]]:
        lake = self._source.lake
        tables: dict[tuple[str, str], MeasuresTable] = {}

        def table(name: str, key: str) -> MeasuresTable:
            if (name, key) not in tables:
                tables[name, key] = MeasuresTable(name, self._schema(key), self._source)
            return tables[name, key]

        by_day: dict[str, dict[str, DayRollup]] = {}
        for rollup in self._source.rollups:
            if self._overlaps(rollup):
                by_day.setdefault(rollup.day, {})[rollup.system] = rollup
        for entry in self._source.manifest.gathered.values():
            rollup_by_system = by_day.get(entry.day, {})
            if len(rollup_by_system) < MIN_CONSOLIDATED_SYSTEMS:
                continue
            gathered = lake.gathered(entry)
            current = [
                system
                for system, state in gathered.members
                if system in rollup_by_system and rollup_by_system[system].state == state
            ]
            only = None if len(current) == len(gathered.members) else (*current,)
            for file in gathered.files if current else ():
                path = lake.absolute(entry.file(file.table))
                table(file.table, gathered.schemas[file.table]).add(path, file, only)
            for system in current:
                del rollup_by_system[system]
        for rollup in chain.from_iterable(of_day.values() for of_day in by_day.values()):
            stored = lake.measures(rollup)
            for file in stored.files:
                path = lake.absolute(rollup.file(file.table))
                table(file.table, stored.schemas[file.table]).add(path, file)
        by_name: dict[str, list[RawTable]] = {}
        for lake_table in tables.values():
            by_name.setdefault(lake_table.name, []).append(lake_table)
        return by_name

    def _overlaps(self, rollup: DayRollup) -> bool:
        low, high = self._source.bounds.get(rollup.system, (None, None))
        day_us = day_number(rollup.day) * DAY_US
        # Days are local; offsets from UTC are less than a day.
        return (low is None or day_us + 2 * DAY_US > low) and (high is None or day_us - DAY_US < high)

    def __getitem__(self, name: str) -> list[RawTable]:
        return list(self.found[name])

    def __contains__(self, name: object) -> bool:
        # The suffix avoids reading documents for other tables that a query names.
        return str(name).endswith(("_hour", "_day")) and name in self.found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.found))

    def __len__(self) -> int:
        return len(self.found)


class MeasuresSource(FilelessSource):
    """Measures of a lake by hour and day, as a source; other sources of the lake describe its systems."""

    name = "zlens-measures"

    def __init__(
        self,
        lake: LakeFolder,
        rollups: Sequence[DayRollup],
        manifest: Manifest,
        bounds: Mapping[str, Bounds],
        reading: ReadLock,
    ) -> None:
        self.lake = lake
        self.systems: list[SystemInfo] = []
        self.manifest = manifest
        self.rollups = rollups
        self.bounds = bounds
        self._reading = reading
        self.tables: Mapping[str, list[RawTable]] = _RollupTables(self)

    @cached_property
    def kept_days(self) -> dict[str, tuple[int, ...]]:
        """Days with measures, but without raw tables of some system of their machine, by system."""
        if all(part.raw for _, part in self.manifest.parts()):
            return {}
        stored = {(rollup.system, day_number(rollup.day)) for rollup in self.rollups}
        kept: dict[str, tuple[int, ...]] = {}
        for machine in machines(self.lake, self.manifest):
            frozen = sorted(machine.frozen_days())
            for system in machine.systems:
                if days := tuple(day for day in frozen if (system, day) in stored):
                    kept[system] = days
        return kept

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return a problem for each system with measures of earlier rules."""
        earlier: dict[str, list[str]] = {}
        for rollup in self.rollups:
            if rollup.rules != RULES:
                earlier.setdefault(rollup.system, []).append(rollup.day)
        problems = []
        for system, days in earlier.items():
            detail = (
                f"measures by hour and day of {len(days)} day{'s' * (len(days) > 1)} from {min(days)} to "
                f"{max(days)} are by earlier rules; zlens lake rollup computes them again where raw tables "
                "remain"
            )
            problems.append(Problem(system, self.name, self.lake.name, None, None, "outdated", detail))
        return problems

    @property
    def contents_digest(self) -> str:
        """Nothing: no measure reads its tables."""
        return ""

    @property
    def folders(self) -> list[str]:
        """Folder of all measures; statements name the files in it that the manifest lists."""
        raise_file_limit()
        return [self.lake.absolute(file_names.MEASURES)]
