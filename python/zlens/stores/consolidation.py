"""Measures by hour and day of many systems, gathered in one file for each measure and day.

A lake of a thousand systems has 50,000 small files for a day of measures. A question of all systems reads the
gathered ones in their place. A system whose measures are newer is read from its own files, until so many are
that `zlens lake rollup` gathers the day again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from functools import partial

from zlens.inputs.source import Progress
from zlens.lake import file_names, lake_folder
from zlens.lake.documents import ConsolidatedDocument, MeasuresDocument, MeasuresFile
from zlens.lake.lake_folder import LakeFolder, Staging
from zlens.lake.manifest import ConsolidatedDay, DayRollup, Manifest
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.parquet_streams import read_parquet_sql
from zlens.lake.rollup_reader import MIN_CONSOLIDATED_SYSTEMS

#: Days gathered before they become part of the lake.
_DAYS = 7
#: A day is consolidated again when one in this many of its systems has newer measures. So if systems arrive
#: one by
#: one, each is written about this many times, and not once for every other.
_SHARE = 8


def consolidate(into: LakeFolder, progress: Progress | None = None) -> None:
    """Gather the measures of days of many systems that are not gathered, or many of which have changed."""
    with into.reading():
        days = [*_stale(into, into.load())]
    for done in range(0, len(days), _DAYS):
        if progress is not None:
            progress(done, len(days), f"gathering {days[done]}")
        with lake_folder.translate_os_errors(into):
            into.retry_on_conflict(partial(_gather, into, days[done : done + _DAYS]))


def _stale(into: LakeFolder, manifest: Manifest) -> dict[str, list[DayRollup]]:
    """The measures of each day that is to be gathered, in order of their systems."""
    by_day: dict[str, list[DayRollup]] = {}
    for _, rollup in sorted(manifest.rollups.items()):
        by_day.setdefault(rollup.day, []).append(rollup)
    return {
        day: members
        for day, members in sorted(by_day.items())
        if len(members) >= MIN_CONSOLIDATED_SYSTEMS and _is_stale(into, manifest.gathered.get(day), members)
    }


def _is_stale(into: LakeFolder, entry: ConsolidatedDay | None, members: list[DayRollup]) -> bool:
    if entry is None:
        return True
    if entry.key == _key(members):
        return False
    known = set(into.gathered(entry).members)
    newer = sum((rollup.system, rollup.state) not in known for rollup in members)
    return newer * _SHARE >= len(members)


def _key(members: list[DayRollup]) -> str:
    states = [[rollup.system, rollup.state] for rollup in members]
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()[:16]


def _gather(into: LakeFolder, days: list[str]) -> None:
    with into.staging() as staged:
        moves: dict[str, str] = {}
        found: list[tuple[ConsolidatedDay, list[DayRollup]]] = []
        engine = ParquetEngine(os.fspath(staged.path / "spill"))
        try:
            # Closed before the manifest is replaced: the files that it retires can then be removed.
            with into.reading():
                stale = _stale(into, into.load())
                for day in days:
                    if day in stale:
                        entry = _write_day(into, engine, staged, day, stale[day], moves)
                        found.append((entry, stale[day]))
        finally:
            engine.close()
        if not found:
            return
        lake_folder.fsync_files(moves.values())
        with into.locked():
            current = into.load()
            into.remove_abandoned(current)
            old: set[str] = set()
            kept: set[str] = set()
            for entry, members in found:
                if any(current.rollups.get((one.system, one.day)) != one for one in members):
                    # Data that arrived meanwhile: the next call gathers this day.
                    continue
                if entry.day in current.gathered:
                    old |= into.listed_gathered(current.gathered[entry.day]).keys()
                current.gathered[entry.day] = entry
                kept |= into.listed_gathered(entry, moves).keys()
            moves = {name: path for name, path in moves.items() if name in kept}
            if old:
                current.retired += sorted(old - into.listed(current, moves).keys() - set(current.retired))
            into.commit(current, staged, moves)
            into.remove_retired(current)


def _write_day(
    into: LakeFolder,
    engine: ParquetEngine,
    staged: Staging,
    day: str,
    members: list[DayRollup],
    moves: dict[str, str],
) -> ConsolidatedDay:
    """Write the files of a day; `moves` gets their places."""
    key = _key(members)
    documents = [(rollup, into.measures(rollup)) for rollup in members]
    schemas = _usual(document for _, document in documents)
    # Measures by earlier rules may have other columns: they stay in files of their own.
    alike = [(rollup, one) for rollup, one in documents if one.schemas.items() <= schemas.items()]
    parts: dict[str, dict[str, MeasuresFile]] = {}
    for rollup, document in alike:
        for file in document.files:
            name = file_names.measure_file(file.table, rollup.system, rollup.day, rollup.state)
            parts.setdefault(file.table, {})[into.absolute(name)] = file
    area = staged.path / "gathered" / day
    area.mkdir(parents=True, exist_ok=True)
    files = []
    for table, of_systems in sorted(parts.items()):
        into.verify(of_systems)
        path = os.fspath(area / f"{table}.parquet")
        engine.copy(f"SELECT * FROM {read_parquet_sql([*of_systems])}", path)
        rows = sum(file.rows for file in of_systems.values())
        files.append(
            MeasuresFile(
                table, rows, os.path.getsize(path), lake_folder.digest(path), lake_folder.footer_digest(path)
            )
        )
        moves[file_names.gathered(table, day, key)] = path
    own = {file.table: schemas[file.table] for file in files}
    data = ConsolidatedDocument([(rollup.system, rollup.state) for rollup, _ in alike], own, files).dump()
    name = file_names.gathered_document(day, key)
    staged.write(name, data)
    moves[name] = os.fspath(staged.path / name)
    return ConsolidatedDay(day, key, hashlib.sha256(data).hexdigest())


def _usual(documents: Iterable[MeasuresDocument]) -> dict[str, str]:
    """The schema that most systems have of each table."""
    counts: dict[str, Counter[str]] = {}
    for document in documents:
        for table, key in document.schemas.items():
            counts.setdefault(table, Counter())[key] += 1
    return {table: keys.most_common(1)[0][0] for table, keys in counts.items()}
