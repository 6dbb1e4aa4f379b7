"""Consolidated measures of many systems: one file for each measure and day.

A lake of a thousand systems has 50,000 small files for a day of measures. A query of all systems reads the
consolidated files instead. A system with newer measures is read from its own files until `zlens lake rollup`
consolidates the day again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from functools import partial

from zlens.inputs.source import Progress
from zlens.lake import documents, file_names, lake_folder
from zlens.lake.documents import ConsolidatedDocument, MeasuresDocument, MeasuresFile
from zlens.lake.lake_folder import LakeFolder, Staging
from zlens.lake.manifest import ConsolidatedDay, DayRollup, Manifest
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.lake.rollup_reader import MIN_CONSOLIDATED_SYSTEMS

#: Days consolidated in one commit.
_DAYS = 7
#: A day is consolidated again when one in this many of its systems has newer measures. If systems arrive
#: singly, each is then written about this many times instead of once per system.
_SHARE = 8


def consolidate(folder: LakeFolder, progress: Progress | None = None) -> None:
    """Consolidate days of many systems that are not consolidated or whose measures changed often enough."""
    with folder.reading():
        days = [*_stale(folder, folder.load())]
    for done in range(0, len(days), _DAYS):
        if progress is not None:
            progress(done, len(days), f"gathering {days[done]}")
        with lake_folder.translate_os_errors(folder):
            folder.retry_on_conflict(partial(_gather, folder, days[done : done + _DAYS]))


def _stale(folder: LakeFolder, manifest: Manifest) -> dict[str, list[DayRollup]]:
    """Return the rollups of each day to consolidate, in order of their systems."""
    by_day: dict[str, list[DayRollup]] = {}
    for _, rollup in sorted(manifest.rollups.items()):
        by_day.setdefault(rollup.day, []).append(rollup)
    return {
        day: members
        for day, members in sorted(by_day.items())
        if len(members) >= MIN_CONSOLIDATED_SYSTEMS and _is_stale(folder, manifest.gathered.get(day), members)
    }


def _is_stale(folder: LakeFolder, entry: ConsolidatedDay | None, members: list[DayRollup]) -> bool:
    if entry is None:
        return True
    if entry.key == _key(members):
        return False
    known = set(folder.gathered(entry).members)
    newer = sum((rollup.system, rollup.state) not in known for rollup in members)
    return newer * _SHARE >= len(members)


def _key(members: list[DayRollup]) -> str:
    states = [[rollup.system, rollup.state] for rollup in members]
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()[:16]


def _gather(folder: LakeFolder, days: list[str]) -> None:
    with folder.staging() as staged:
        staged_paths: dict[str, str] = {}
        written: list[tuple[ConsolidatedDay, list[DayRollup]]] = []
        # Stop reading before the commit, so that the files it retires can be removed.
        with ParquetEngine(staged.path / "spill") as engine, folder.reading():
            stale = _stale(folder, folder.load())
            for day in days:
                if day in stale:
                    entry = _write_day(folder, engine, staged, day, stale[day], staged_paths)
                    written.append((entry, stale[day]))
        if not written:
            return
        lake_folder.fsync_files(staged_paths.values())
        with folder.locked():
            current = folder.load()
            folder.remove_abandoned(current)
            old: set[str] = set()
            committed: set[str] = set()
            for entry, members in written:
                if any(current.rollups.get((rollup.system, rollup.day)) != rollup for rollup in members):
                    # Another writer committed newer data; the next call consolidates this day.
                    continue
                if entry.day in current.gathered:
                    old |= folder.listed_measures(current.gathered[entry.day]).keys()
                current.gathered[entry.day] = entry
                committed |= folder.with_moves(staged_paths).listed_measures(entry).keys()
            staged_paths = {name: path for name, path in staged_paths.items() if name in committed}
            folder.publish(current, staged, staged_paths, old)


def _write_day(
    folder: LakeFolder,
    engine: ParquetEngine,
    staged: Staging,
    day: str,
    members: list[DayRollup],
    staged_paths: dict[str, str],
) -> ConsolidatedDay:
    """Write the files of a day; adds their staged paths to `staged_paths`."""
    key = _key(members)
    stored = [(rollup, folder.measures(rollup)) for rollup in members]
    schemas = _usual(document for _, document in stored)
    # Measures of earlier rules may have other columns; they stay in their own files.
    matching = [pair for pair in stored if pair[1].schemas.items() <= schemas.items()]
    parts: dict[str, dict[str, MeasuresFile]] = {}
    for rollup, document in matching:
        for file in document.files:
            parts.setdefault(file.table, {})[folder.absolute(rollup.file(file.table))] = file
    area = staged.path / "gathered" / day
    area.mkdir(parents=True, exist_ok=True)
    files = []
    for table, of_systems in sorted(parts.items()):
        folder.verify(of_systems)
        path = os.fspath(area / f"{table}.parquet")
        engine.copy(f"SELECT * FROM {read_parquet_sql([*of_systems])}", path)
        rows = sum(file.rows for file in of_systems.values())
        files.append(measures_file(table, rows, os.path.getsize(path), path))
        staged_paths[file_names.gathered(table, day, key)] = path
    table_schemas = {file.table: schemas[file.table] for file in files}
    states = [(rollup.system, rollup.state) for rollup, _ in matching]
    data = documents.dump(ConsolidatedDocument(states, table_schemas, files))
    name = file_names.gathered_document(day, key)
    _, sha256 = staged.write(name, data)
    staged_paths[name] = os.fspath(staged.path / name)
    return ConsolidatedDay(day, key, sha256)


def measures_file(table: str, rows: int, size: int, path: str) -> MeasuresFile:
    """Return the entry of a staged file of a measure."""
    return MeasuresFile(table, rows, size, lake_folder.digest(path), lake_folder.footer_digest(path))


def _usual(stored: Iterable[MeasuresDocument]) -> dict[str, str]:
    """Return the most common schema of each table."""
    counts: dict[str, Counter[str]] = {}
    for document in stored:
        for table, key in document.schemas.items():
            counts.setdefault(table, Counter())[key] += 1
    return {table: keys.most_common(1)[0][0] for table, keys in counts.items()}
