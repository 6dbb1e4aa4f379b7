"""Removal of systems and times from a lake, or only of their raw tables.

The unit is a part: one system of one input. The differences of its neighbors depend on its first and last
samples, and only a completely removed part can be imported again. Parts that lie only partly in the range
stay and are reported.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import partial

from msgspec import Struct, field

from zlens.engine import kept_tables
from zlens.errors import LakeError, QueryError
from zlens.inputs.options import Options
from zlens.inputs.source import Progress, SystemInfo
from zlens.lake import lake_folder, retention, rollups
from zlens.lake.boundaries import update_boundaries
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.location import open_lake
from zlens.lake.manifest import InputPart, LakeInput, Manifest
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.part_boundary import BoundaryFiles
from zlens.schema.wording import phrase


class RemovalResult(Struct):
    """Removed parts (system and name of the input), and parts that lie only partly in the range."""

    gone: list[tuple[str, str]] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    #: Parts without measures: other raw data of their days were removed before their import.
    unmeasured: list[tuple[str, str]] = field(default_factory=list)
    #: Rows and intervals of each removed raw table that measures retain.
    proof: list[retention.Proof] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    #: Files that readers still hold; the next import or removal removes them.
    waiting: int = 0


def forget(lake: str | os.PathLike[str], options: Options, *, dry_run: bool = False) -> RemovalResult:
    """Remove data within the systems and times of the options. Raises QueryError if these are not set."""
    folder = open_lake(lake)
    if not options.systems and options.start is None and options.end is None:
        raise QueryError("nothing to remove was named", cure=phrase("lake_forget_what"))
    for bound in (options.start, options.end):
        if bound is not None and bound.date is None:
            raise QueryError(
                "a time of day is not a range", expected="a date: 2026-03-02 or '2026-03-02 12:00'"
            )
    full_disk_fix = "free space on the disk for a new manifest and what replaces the neighbors' rows"
    with lake_folder.translate_os_errors(folder, full_disk_fix):
        removed = folder.retry_on_conflict(lambda: _forget(folder, options, dry_run))
    if removed.gone and not dry_run:
        kept_tables.remove_all()
    return removed


def _forget(lake: LakeFolder, options: Options, dry_run: bool) -> RemovalResult:
    with lake.staging() as staged, lake.locked():
        manifest = lake.load()
        lake.remove_abandoned(manifest)
        manifest.check_systems(set(options.systems))
        forgotten = RemovalResult()
        removed = _select_parts(lake, manifest, options, forgotten)
        if dry_run or not removed:
            return forgotten
        listed = lake.listed(manifest)
        _drop_measures(lake, manifest, [part for _, part in removed])
        for imported, part in removed:
            _remove_part(manifest, imported, part)
        staged_paths: dict[str, str] = {}
        with ParquetEngine(staged.path / "spill") as engine:
            files = BoundaryFiles(lake, staged, engine, staged_paths)
            systems = ((part.system, imported.source) for imported, part in removed)
            update_boundaries(manifest, files, systems)
        lake_folder.fsync_files(staged_paths.values())
        forgotten.waiting = lake.publish(manifest, staged, staged_paths, listed)
        return forgotten


def forget_raw(
    lake: str | os.PathLike[str],
    older_than_s: int,
    *,
    systems: Iterable[str] = (),
    even_if_lost: Iterable[str] = (),
    dry_run: bool = False,
    now_us: int | None = None,
    progress: Progress | None = None,
) -> RemovalResult:
    """Remove raw tables older than `older_than_s` seconds; measures by hour and day stay.

    A part is removed when all its local days are that old. Data that its neighbors and later imports need
    stay, so their differences do not change, and the same bytes are not imported again.

    even_if_lost   raw tables whose rows may be lost; UNMEASURED: all that no measure reads

    Raises LakeError if the measures of one of its days are out of date, or if an interval of a raw table is
    in no measure (`RemovalResult.proof`), unless `even_if_lost` names the table. With `dry_run` nothing is
    removed, and the proof shows what would be lost.
    """
    folder = open_lake(lake)
    before_us = (time.time_ns() // 1000 if now_us is None else now_us) - older_than_s * 1_000_000
    system_names, accepted = set(systems), frozenset(even_if_lost)
    with lake_folder.translate_os_errors(folder, "free space on the disk for a new manifest"):
        while True:
            with folder.reading():
                selection = _choose_raw(folder, folder.load(), before_us, system_names)
                forgotten = selection.forgotten
                forgotten.proof = retention.proof(folder, selection.removed, progress)
            lost = [entry for entry in forgotten.proof if not entry.is_accepted(accepted)]
            if dry_run or not selection.removed:
                return forgotten
            if lost:
                raise retention.refusal(os.fspath(lake), lost)
            removed = folder.retry_on_conflict(
                partial(_remove_raw, folder, before_us, system_names, selection)
            )
            if removed is not None:
                kept_tables.remove_all()
                return removed
            # Another process changed the lake after the check.


class _Chosen(Struct):
    """Parts whose raw tables are to be removed, each with the measures of its days."""

    forgotten: RemovalResult
    removed: list[retention.Removed] = field(default_factory=list)

    def facts(self) -> list[object]:
        """Return the facts that the proof depends on."""
        return [
            (item.imported.sha256, item.part.system, item.part.document, item.part.seam, item.rollups)
            for item in self.removed
        ]


def _choose_raw(lake: LakeFolder, manifest: Manifest, before_us: int, systems: set[str]) -> _Chosen:
    manifest.check_systems(systems)
    forgotten = RemovalResult()
    selection = _Chosen(forgotten)
    for machine in rollups.machines(lake, manifest):
        has = _measured_days(lake, manifest, machine)
        for imported, part, days in machine.parts:
            if not part.raw or not days or (systems and part.system not in systems):
                continue
            offset_us = machine.offsets[part.system, part.row_sources(imported)[0]] * 1_000_000
            first_new = (before_us + offset_us) // rollups.DAY_US
            if days[-1] >= first_new:
                if days[0] < first_new:
                    forgotten.kept.append((part.system, imported.path))
                continue
            in_measures = [has(imported, part, day) for day in days]
            if not all(in_measures):
                forgotten.unmeasured.append((part.system, imported.path))
                continue
            files = lake.part_document(imported, part).files
            forgotten.gone.append((part.system, imported.path))
            forgotten.rows += sum(file.rows for file in files)
            forgotten.bytes += sum(file.bytes for file in files)
            # A row may belong to the previous or next day, because of its own length.
            possible_days = {day + step for day in days for step in (-1, 0, 1)}
            keys = [(part.system, rollups.day_name(day)) for day in sorted(possible_days)]
            day_rollups = [manifest.rollups[key] for key in keys if key in manifest.rollups]
            selection.removed.append(retention.Removed(imported, part, day_rollups))
    return selection


def _remove_raw(lake: LakeFolder, before_us: int, systems: set[str], proven: _Chosen) -> RemovalResult | None:
    """Remove the parts of a proof; None if the lake has changed since."""
    with lake.staging() as staged, lake.locked():
        manifest = lake.load()
        lake.remove_abandoned(manifest)
        selection = _choose_raw(lake, manifest, before_us, systems)
        if selection.facts() != proven.facts():
            return None
        listed = lake.listed(manifest)
        for item in selection.removed:
            item.part.raw, item.part.seam = False, None
        selection.forgotten.waiting = lake.publish(manifest, staged, {}, listed)
        selection.forgotten.proof = proven.forgotten.proof
        return selection.forgotten


def _measured_days(
    lake: LakeFolder, manifest: Manifest, machine: rollups.LakeMachine
) -> Callable[[LakeInput, InputPart, int], bool]:
    """Return a function that returns whether a day's measures contain an input.

    It raises LakeError if they are out of date.
    """
    states, sealed = machine.states(), machine.frozen_days()

    def has(imported: LakeInput, part: InputPart, day: int) -> bool:
        name = rollups.day_name(day)
        rollup = manifest.rollups.get((part.system, name))
        if day in sealed:
            return rollup is not None and imported.sha256 in lake.measures(rollup).inputs
        if rollup is None or rollup.state != states[day]:
            message = f"the measures of {part.system}, {name}, are not in the lake, or older than its data"
            raise LakeError(message, file=lake.name, cure=phrase("lake_rollup", lake=lake.name))
        return True

    return has


def _drop_measures(lake: LakeFolder, manifest: Manifest, parts: list[InputPart]) -> None:
    """Drop the measures of removed parts, except of days with removed raw tables."""
    removed_ids = {id(part) for part in parts}
    for machine in rollups.machines(lake, manifest):
        dropped: set[tuple[str, int]] = set()
        retained: set[tuple[str, int]] = set()
        for _, part, days in machine.parts:
            if id(part) in removed_ids:
                dropped |= {(part.system, day) for day in days}
            elif not part.raw:
                retained |= {(part.system, day) for day in days}
        for system, day in dropped - retained:
            manifest.rollups.pop((system, rollups.day_name(day)), None)
            # Consolidated files contain their rows; the next rollup consolidates the day again.
            manifest.gathered.pop(rollups.day_name(day), None)


def _select_parts(
    lake: LakeFolder, manifest: Manifest, options: Options, forgotten: RemovalResult
) -> list[tuple[LakeInput, InputPart]]:
    selected = []
    for imported, part in manifest.parts():
        if options.systems and part.system not in options.systems:
            continue
        part_document = lake.part_document(imported, part)
        inside, overlaps = _coverage(part, part_document.info, options)
        if inside:
            selected.append((imported, part))
            forgotten.gone.append((part.system, imported.path))
            if part.raw:
                forgotten.rows += sum(file.rows for file in part_document.files)
                forgotten.bytes += sum(file.bytes for file in part_document.files)
        elif overlaps:
            forgotten.kept.append((part.system, imported.path))
    return selected


def _coverage(part: InputPart, info: SystemInfo, options: Options) -> tuple[bool, bool]:
    """Return whether a part lies completely, and whether at least partly, within the times of the options."""
    low, high = options.bounds_us(info.zone(), info.last_us)
    first, last = part.ends_us() or (part.first_us, part.last_us)
    if first is None or last is None:
        return options.start is None and options.end is None, True
    half = rollups.half_us(info)
    first, last = first - half, last - half
    low, high = -(2**63) if low is None else low, 2**63 if high is None else high
    return low <= first and last <= high, first <= high and last >= low


def _remove_part(manifest: Manifest, imported: LakeInput, part: InputPart) -> None:
    del imported.parts[part.system]
    imported.forgotten = [*imported.forgotten, part.system]
    if not imported.parts:
        del manifest.inputs[imported.sha256]
        return
    used = {remaining.document for remaining in imported.parts.values()}
    imported.documents = {key: sha256 for key, sha256 in imported.documents.items() if key in used}
