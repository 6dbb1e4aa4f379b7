"""Measures by hour and day, as `zlens lake rollup` keeps them: tables `cpu_hour`, `cpu_day` of a lake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from zlens.catalog import expressions
from zlens.catalog.columns import Column
from zlens.inputs.source import ArrowSource, RawTable, SystemInfo, WithoutFiles
from zlens.lake import document, names
from zlens.lake.document import MeasuresFile
from zlens.lake.folder import Folder, Reading
from zlens.lake.manifest import Rollup
from zlens.lake.rollups import DAY_US, day_number
from zlens.lake.streams import Stream, allow

#: The column with the end of the hour or day. Its name is not `interval_end`: no interval ends there.
TIME = "bucket_end"

#: Buckets end after the first and not after the second, in microseconds UTC; None: no bound.
Bounds = tuple[int | None, int | None]


class MeasuresTable:
    """One measure by hour or by day, of all systems, in files of one schema."""

    def __init__(
        self, name: str, columns: tuple[Column, ...], lake: Folder, bounds: Mapping[str, Bounds]
    ) -> None:
        self.name = name
        self.columns = columns
        self.files: dict[str, MeasuresFile] = {}
        self._lake = lake
        self._bounds = bounds
        self._is_verified = False

    @property
    def paths(self) -> list[str]:
        return list(self.files)

    def sql(self, columns: Sequence[str]) -> str:
        """A SELECT of the named columns, of the selected times."""
        if not self._is_verified:
            self._lake.verify(self.files)
            self._is_verified = True
        chosen = ", ".join(map(expressions.quote, columns)) or "1"
        listed = ", ".join(map(expressions.literal, self.paths))
        return (
            f"SELECT {chosen} FROM read_parquet([{listed}], hive_partitioning = false) WHERE {self._times()}"
        )

    def stream(self, columns: list[str]) -> ArrowSource:
        return Stream(self, columns)

    def _times(self) -> str:
        by_bounds: dict[Bounds, list[str]] = {}
        for system, bounds in self._bounds.items():
            by_bounds.setdefault(bounds, []).append(system)
        if set(by_bounds) <= {(None, None)}:
            return "true"
        conditions = []
        for (low, high), systems in by_bounds.items():
            parts = [f"system IN ({', '.join(map(expressions.literal, systems))})"]
            parts += [f"epoch_us({TIME}) > {low}"] if low is not None else []
            parts += [f"epoch_us({TIME}) <= {high}"] if high is not None else []
            conditions.append(" AND ".join(parts))
        return " OR ".join(f"({condition})" for condition in conditions)


class _Tables(Mapping[str, list[RawTable]]):
    """The tables by name. Documents are read when a name is first asked for."""

    def __init__(self, lake: Folder, rollups: Sequence[Rollup], bounds: Mapping[str, Bounds]) -> None:
        self._lake = lake
        self._rollups = rollups
        self._bounds = bounds

    @cached_property
    def found(self) -> dict[str, list[RawTable]]:
        tables: dict[tuple[str, str], MeasuresTable] = {}
        schemas: dict[str, tuple[Column, ...]] = {}
        for rollup in self._rollups:
            if not self._overlaps(rollup):
                continue
            stored = self._lake.measures(rollup)
            for table, key in stored.schemas.items():
                if key not in schemas:
                    name = names.schema(key)
                    schemas[key] = document.load_schema(
                        self._lake.read(name, None), self._lake.absolute(name)
                    )
                if (table, key) not in tables:
                    tables[table, key] = MeasuresTable(table, schemas[key], self._lake, self._bounds)
            for file in stored.files:
                path = names.measure(file.table, rollup.system, rollup.day, rollup.state)
                tables[file.table, stored.schemas[file.table]].files[self._lake.absolute(path)] = file
        by_name: dict[str, list[RawTable]] = {}
        for one in tables.values():
            by_name.setdefault(one.name, []).append(one)
        return by_name

    def _overlaps(self, rollup: Rollup) -> bool:
        low, high = self._bounds.get(rollup.system, (None, None))
        day_us = day_number(rollup.day) * DAY_US
        # Days are local: clocks differ by less than a day.
        return (low is None or day_us + 2 * DAY_US > low) and (high is None or day_us - DAY_US < high)

    def __getitem__(self, name: str) -> list[RawTable]:
        return list(self.found[name])

    def __contains__(self, name: object) -> bool:
        # Every table that a query names is looked up here: most are not of this kind.
        return str(name).endswith(("_hour", "_day")) and name in self.found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.found))

    def __len__(self) -> int:
        return len(self.found)


class MeasuresSource(WithoutFiles):
    """The measures of a lake by hour and day, which are of systems that its other sources describe."""

    name = "zlens-measures"

    def __init__(
        self, lake: Folder, rollups: Sequence[Rollup], bounds: Mapping[str, Bounds], reading: Reading
    ) -> None:
        self.lake = lake
        self.systems: list[SystemInfo] = []
        self._reading = reading
        self._tables = _Tables(lake, rollups, bounds)
        self.tables: Mapping[str, list[RawTable]] = self._tables

    @property
    def paths(self) -> list[str]:
        """All Parquet files that the options leave."""
        paths = [
            path
            for parts in self._tables.found.values()
            for part in parts
            if isinstance(part, MeasuresTable)
            for path in part.paths
        ]
        allow(len(paths))
        return paths
