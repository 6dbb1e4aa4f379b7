"""Computes measures by hour and day from a lake and commits them for one or a few machines at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from msgspec import Struct, field

from zlens.catalog import measures
from zlens.inputs.options import ALL, Options, TimeSpec
from zlens.inputs.source import Progress
from zlens.inputs.unix_time import from_unix_us
from zlens.lake import documents, file_names, lake_folder, rollups
from zlens.lake.documents import MeasuresDocument, MeasuresFile
from zlens.lake.importer import ImportResult
from zlens.lake.lake_folder import LakeFolder, Staging
from zlens.lake.location import open_lake
from zlens.lake.manifest import RULES, DayRollup, Manifest
from zlens.lake.parquet_engine import ParquetEngine, WrittenFile
from zlens.lake.reader import LakeSource
from zlens.lake.retained import Retained
from zlens.lake.rollup_reader import BUCKET_END
from zlens.lake.rollups import LakeMachine
from zlens.session.session import CoreSession
from zlens.stores import bucket_sql, consolidation
from zlens.stores.coverage import Lost, coverage, lost_error

#: System-days computed in one pass. More need more memory; fewer read edges again and plan the statements of
#: all measures more often.
_DAYS = 7
#: How much later than the day records with their own intervals may end.
_LATE_US = 2 * 3_600_000_000


class RollupResult(Struct):
    """The systems of a machine, the days computed, and the sealed days for which data arrived later.

    lost   intervals of raw tables on these days without rows in any measure
    """

    systems: list[str]
    days: list[str] = field(default_factory=list)
    sealed: list[str] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0


def rollup(
    lake: str | os.PathLike[str],
    *,
    systems: Iterable[str] = (),
    progress: Progress | None = None,
    report: Callable[[RollupResult], None] | None = None,
) -> list[RollupResult]:
    """Update the measures of a lake by hour and day.

    Only days whose inputs have changed are computed. `report` is called for every machine after its measures
    are committed. Days with removed raw data stay unchanged.

    Raises LakeError at the end if intervals of raw tables are in no measure; the next call computes such days
    again.
    """
    into, selected = open_lake(lake), set(systems)
    with into.reading():
        manifest = into.load()
        manifest.check_systems(selected)
        known = rollups.machines(into, manifest)
        machines = [machine for machine in known if not selected or selected & {*machine.systems}]
    results: list[RollupResult] = []
    with lake_folder.translate_os_errors(into):
        groups = [*_groups(_stale(into, manifest, machine) for machine in machines)]
    for group in groups:
        if progress is not None:
            progress(len(results), len(machines), ", ".join(group[0].machine.systems[:3]))
        with lake_folder.translate_os_errors(into):
            rolled = into.retry_on_conflict(partial(_compute, into, group))
        results += rolled
        if report is not None:
            for one in rolled:
                report(one)
    consolidation.consolidate(into, progress)
    if lost := [item for rolled in results for item in rolled.lost]:
        raise lost_error(os.fspath(lake), lost)
    return results


class _StaleDays(Struct, frozen=True):
    """Days of a machine to compute.

    states  digest of the inputs of each day
    sealed  names of days for which data arrived after raw data of the day were removed
    """

    machine: LakeMachine
    days: list[int]
    states: dict[int, str]
    sealed: list[str]


def _stale(into: LakeFolder, manifest: Manifest, machine: LakeMachine) -> _StaleDays:
    """Return the days of a machine whose measures are out of date."""
    states, sealed = machine.states(), machine.frozen_days()
    stale = {
        (system, day)
        for system, day in machine.days()
        if (known := manifest.rollups.get((system, rollups.day_name(day)))) is None
        or known.state != states[day]
        or known.lost
    }
    late = {day for system, day in stale if day in sealed and _is_late(into, manifest, machine, system, day)}
    days = sorted({day for _, day in stale} - sealed)
    late_names = [rollups.day_name(day) for day in sorted(late)]
    return _StaleDays(machine, days, {day: states[day] for day in days}, late_names)


def _groups(machines: Iterable[_StaleDays]) -> Iterator[list[_StaleDays]]:
    """Group neighboring machines with the same few days, to compute each group in one pass."""
    group: list[_StaleDays] = []
    for one in machines:
        systems = sum(len(other.machine.systems) for other in (*group, one))
        if group and (one.days != group[0].days or systems * len(one.days) > _DAYS):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _compute(into: LakeFolder, group: list[_StaleDays]) -> list[RollupResult]:
    """Compute the stale days of a group of machines and commit them to the lake."""
    results = [RollupResult(one.machine.systems, sealed=one.sealed) for one in group]
    days = group[0].days
    if not days:
        return results
    with into.staging() as staged:
        machine = rollups.merge_machines([one.machine for one in group])
        with ParquetEngine(staged.path / "spill") as engine:
            work = _RollupWriter(into, machine, staged, engine)
            for span in day_ranges(days):
                work.compute(span)
        documents_of_group = [work.documents(one.machine, one.states) for one in group]
        staged_paths = {name: path for _, placed in documents_of_group for name, path in placed.items()}
        lake_folder.fsync_files(staged_paths.values())
        with into.locked():
            current = into.load()
            into.remove_abandoned(current)
            machines = rollups.machines(into, current)
            replaced, committed = [], set()
            for one, rolled, (entries, _) in zip(group, results, documents_of_group, strict=True):
                now = _states(machines, one.machine)
                for entry in entries:
                    # Another writer committed newer data; the next call computes the day.
                    if now.get(rollups.day_number(entry.day)) != entry.state:
                        continue
                    previous = current.rollups.get((entry.system, entry.day))
                    if previous is not None and previous.state == entry.state and not previous.lost:
                        continue
                    replaced += [previous] if previous is not None else []
                    current.rollups[entry.system, entry.day] = entry
                    rolled.days.append(entry.day)
                committed |= {
                    name for entry in entries if current.rollups.get((entry.system, entry.day)) == entry
                    for name in into.with_moves(staged_paths).listed_measures(entry)
                }  # fmt: skip
            staged_paths = {name: path for name, path in staged_paths.items() if name in committed}
            old = {name for entry in replaced for name in into.listed_measures(entry)}
            into.publish(current, staged, staged_paths, old)
        for one, rolled in zip(group, results, strict=True):
            rolled.days = sorted(set(rolled.days))
            rolled.lost = [item for item in work.lost if item.system in rolled.systems]
            rolled.rows, rolled.bytes = work.written(one.machine)
    return results


def _is_late(into: LakeFolder, manifest: Manifest, machine: LakeMachine, system: str, day: int) -> bool:
    """Return whether raw data of a day are in no measure because they arrived after others were removed."""
    stored = manifest.rollups.get((system, rollups.day_name(day)))
    inputs = set(into.measures(stored).inputs) if stored else set()
    return any(
        imported.sha256 not in inputs
        for imported, part, days in machine.parts
        if part.raw and day in days and part.system == system
    )


def _states(machines: list[LakeMachine], machine: LakeMachine) -> dict[int, str]:
    """Return the states of the unsealed days of a machine, looked up in `machines`."""
    for one in machines:
        if one.systems == machine.systems:
            sealed = one.frozen_days()
            return {day: state for day, state in one.states().items() if day not in sealed}
    return {}


def day_ranges(days: list[int]) -> Iterator[list[int]]:
    """Split days into runs of consecutive days, each at most a week."""
    span: list[int] = []
    for day in days:
        if span and (day != span[-1] + 1 or len(span) == _DAYS):
            yield span
            span = []
        span.append(day)
    if span:
        yield span


class _RollupWriter(Struct):
    """Writes the measures of some machines to staging; `machine` merges all of them."""

    into: LakeFolder
    machine: LakeMachine
    staged: Staging
    engine: ParquetEngine
    lost: list[Lost] = field(default_factory=list)
    _files: dict[tuple[str, int], list[tuple[MeasuresFile, str]]] = field(default_factory=dict)
    _schemas: dict[str, str] = field(default_factory=dict)
    _retained: dict[tuple[str, int], Retained] = field(default_factory=dict)

    def compute(self, days: list[int]) -> None:
        """Write the buckets of some consecutive days of all systems of the machine."""
        # The session closes before the commit, so that the files it retires can be removed.
        with open_days(self.into, self.machine, days) as session:
            for name in measures_of(session):
                self._write(session, name, days)
            covered = coverage(session, bucket_sql.measures())
        self.lost += covered.lost(self.machine.offsets, days)
        for system in self.machine.systems:
            for day in days:
                self._retained[system, day] = covered.retained_on(system, day, self.machine.offsets)

    def _write(self, session: CoreSession, name: str, days: list[int]) -> None:
        area = self.staged.path / "measures" / str(days[0])
        area.mkdir(parents=True, exist_ok=True)
        query = bucket_sql.buckets_sql(name, self.machine.systems, self.machine.offsets, (days[0], days[-1]))
        unit = "concat(_level, ' ', _unit)"
        select = f"SELECT * EXCLUDE (_level) REPLACE ({unit} AS _unit) FROM buckets"

        def write(stream: object) -> list[WrittenFile]:
            self.engine.register("buckets", stream)
            return self.engine.write(select, os.fspath(area / name), "_unit", BUCKET_END)

        # Not a user query: user queries of a lake run in a separate database, which copies the rows.
        reads = {name: [column.name for column in measures.load_measure(name).columns]}
        for written in session.queries.select(query, reads).read(write):
            level, number, day = written.key.split(" ")
            table = f"{name}_{level}"
            file = consolidation.measures_file(table, written.rows, written.bytes, written.path)
            key = self.machine.systems[int(number) - 1], int(day)
            self._files.setdefault(key, []).append((file, written.path))
            if table not in self._schemas:
                items = bucket_sql.bucket_columns(measures.load_measure(name), level)
                self._schemas[table] = self.staged.write_schema(tuple(item.column for item in items))

    def written(self, machine: LakeMachine) -> tuple[int, int]:
        """Return the rows and bytes written for one of the machines."""
        of_systems = [files for (system, _), files in self._files.items() if system in machine.systems]
        files = [file for system_files in of_systems for file, _ in system_files]
        return sum(file.rows for file in files), sum(file.bytes for file in files)

    def documents(
        self, machine: LakeMachine, states: dict[int, str]
    ) -> tuple[list[DayRollup], dict[str, str]]:
        """Return the manifest entries of a machine's computed days, and the staged path of each file."""
        entries: list[DayRollup] = []
        staged_paths: dict[str, str] = {}
        inputs: dict[int, set[str]] = {}
        for imported, _, days in machine.parts:
            for day in days:
                inputs.setdefault(day, set()).add(imported.sha256)
        for system, day in sorted(machine.days()):
            if day not in states:
                continue
            # Days without rows, as between two intervals, also get an entry.
            entry_key = system, rollups.day_name(day), states[day]
            files = self._files.get((system, day), [])
            schemas = {file.table: self._schemas[file.table] for file, _ in files}
            stored = [file for file, _ in files]
            document = MeasuresDocument(sorted(inputs[day]), schemas, stored, self._retained[system, day])
            data = documents.dump(document)
            name = file_names.measures_document(*entry_key)
            _, sha256 = self.staged.write(name, data)
            staged_paths[name] = os.fspath(self.staged.path / name)
            for file, path in files:
                staged_paths[file_names.measure_file(file.table, *entry_key)] = path
            for key in schemas.values():
                staged_paths[file_names.schema(key)] = os.fspath(self.staged.path / file_names.schema(key))
            lost = sum(item.intervals for item in self.lost if (item.system, item.day) == entry_key[:2])
            entries.append(DayRollup(*entry_key, sha256, lost, RULES))
        return entries, staged_paths


def lost_of(lake: str, added: ImportResult) -> list[Lost]:
    """Return the intervals in the time of an imported file that are in raw tables but in no measure."""
    if added.first_us is None or added.last_us is None:
        return []
    # The range excludes its start, and the first record may be an interval end.
    with of_times(lake, added.systems, added.first_us - 1, added.last_us) as session:
        offsets = {(info.system, info.source): info.utc_offset_s or 0 for info in session.systems}
        covered = coverage(session, bucket_sql.measures())
    covered.limit(added.first_us, added.last_us)
    return covered.lost(offsets)


def measures_of(session: CoreSession) -> list[str]:
    """Return the measures for which a session has data."""
    return [name for name in bucket_sql.measures() if session.has_data(name)] if session.has_intervals else []


@contextmanager
def open_days(into: LakeFolder, machine: LakeMachine, days: list[int]) -> Iterator[CoreSession]:
    """Open the part of a lake that some consecutive days of a machine need."""
    offsets_us = [offset * 1_000_000 for offset in machine.offsets.values()]
    first_us = days[0] * rollups.DAY_US - max(offsets_us)
    last_us = (days[-1] + 1) * rollups.DAY_US - min(offsets_us) + _LATE_US
    last_us = max([last_us, *(machine.gaps.get(day, 0) for day in days)])
    with of_times(into.name, machine.systems, first_us, last_us) as session:
        yield session


@contextmanager
def of_times(lake: str, systems: Iterable[str], first_us: int, last_us: int) -> Iterator[CoreSession]:
    """Open a session over intervals of some systems of a lake that end after a time and up to another.

    Times are in microseconds since 1970, UTC.
    """
    start, end = (TimeSpec.from_utc(from_unix_us(us)) for us in (first_us, last_us))
    options = Options(systems=tuple(systems), source=ALL, start=start, end=end, utc=True)
    with CoreSession([lake], options) as session:
        try:
            yield session
        finally:
            for source in session.sources:
                if isinstance(source, LakeSource):
                    source.close()
