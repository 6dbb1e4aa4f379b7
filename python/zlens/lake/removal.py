"""Forgetting: systems and times leave a lake, or only their raw tables while measures stay.

The unit is a part: one whole system of one input. The differences of its neighbors depend on its first
and last samples, and only a part that was removed as a whole can be imported again. Parts that lie only
partly in the range stay, and are reported.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Iterable
from functools import partial

from msgspec import Struct, field

from zlens.errors import InputError, LakeError, QueryError
from zlens.inputs.options import Options, TimeSpec
from zlens.inputs.source import Progress, SystemInfo
from zlens.inputs.unix_time import to_unix_us
from zlens.lake import file_names, lake_folder, retention, rollups
from zlens.lake.boundaries import BoundaryUpdater
from zlens.lake.lake_folder import LakeFolder, find_part_document
from zlens.lake.manifest import InputPart, LakeInput, Manifest
from zlens.lake.parquet_engine import ParquetEngine
from zlens.schema.wording import phrase


class RemovalResult(Struct):
    """Removed parts (system and name of the input), and parts that lie only partly in the range."""

    gone: list[tuple[str, str]] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    #: Parts whose measures are not kept: others of their days were forgotten before they were imported.
    unmeasured: list[tuple[str, str]] = field(default_factory=list)
    #: What the measures retain of each raw table that is removed.
    proof: list[retention.Proof] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    #: Files still there because somebody reads; the next import or removal removes them.
    waiting: int = 0


def forget(lake: str | os.PathLike[str], options: Options, *, dry_run: bool = False) -> RemovalResult:
    """Remove what lies within the systems and times of the options. QueryError if they select nothing."""
    path = os.fspath(lake)
    if not file_names.is_lake(path):
        raise InputError("this is not a lake", file=path, cure=phrase("lake_make"))
    if not options.systems and options.start is None and options.end is None:
        raise QueryError("nothing to forget was named", cure=phrase("lake_forget_what"))
    for moment in (options.start, options.end):
        if moment is not None and moment.date is None:
            raise QueryError(
                "a time of day is not a range", expected="a date: 2026-03-02 or '2026-03-02 12:00'"
            )
    into = lake_folder.open_folder(path)
    room = "make room on the disk for a new manifest and what replaces the neighbors' rows"
    with lake_folder.translate_os_errors(into, room):
        return into.retry_on_conflict(lambda: _forget(into, options, dry_run))


def _forget(into: LakeFolder, options: Options, dry_run: bool) -> RemovalResult:
    with into.staging() as staged, into.locked():
        manifest = into.load()
        into.remove_abandoned(manifest)
        _check_systems(manifest, set(options.systems))
        forgotten = RemovalResult()
        going = _select_parts(into, manifest, options, forgotten)
        if dry_run or not going:
            return forgotten
        before = into.listed(manifest)
        _drop_measures(into, manifest, [part for _, part in going])
        for imported, part in going:
            _remove_part(manifest, imported, part)
        moves: dict[str, str] = {}
        engine = ParquetEngine(os.fspath(staged.path / "spill"))
        try:
            seams = BoundaryUpdater(into, manifest, staged, engine, moves)
            seams.update((part.system, imported.source) for imported, part in going)
        finally:
            engine.close()
        lake_folder.fsync_files(moves.values())
        gone = before.keys() - into.listed(manifest, moves).keys()
        manifest.retired += sorted(gone - set(manifest.retired))
        into.commit(manifest, staged, moves)
        forgotten.waiting = into.remove_retired(manifest)
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
    """Remove the raw tables of what is older than so many seconds; measures by hour and day stay.

    A part goes when all its local days are that old. What its neighbors and later imports need of it stays,
    so their differences do not change, and the same bytes are not imported again.

    even_if_lost   raw tables whose rows may be lost; UNMEASURED: all that no measure reads

    Raises LakeError if the measures of one of its days are not up to date, or if an interval of a raw table
    is in no measure (`Forgotten.proof`), unless `even_if_lost` names the table. With `dry_run` nothing is
    removed, and the proof says what would be lost.
    """
    path = os.fspath(lake)
    if not file_names.is_lake(path):
        raise InputError("this is not a lake", file=path, cure=phrase("lake_make"))
    into = lake_folder.open_folder(path)
    before_us = (time.time_ns() // 1000 if now_us is None else now_us) - older_than_s * 1_000_000
    wanted, accepted = set(systems), frozenset(even_if_lost)
    with lake_folder.translate_os_errors(into, "make room on the disk for a new manifest"):
        while True:
            with into.reading():
                chosen = _choose_raw(into, into.load(), before_us, wanted)
                forgotten = chosen.forgotten
                forgotten.proof = retention.proof(into, chosen.removed, progress)
            lost = [entry for entry in forgotten.proof if not entry.is_accepted(accepted)]
            if dry_run or not chosen.removed:
                return forgotten
            if lost:
                raise retention.refusal(path, lost)
            removed = into.retry_on_conflict(partial(_remove_raw, into, before_us, wanted, chosen))
            if removed is not None:
                return removed
            # Another process changed what was checked.


class _Chosen(Struct):
    """The parts whose raw tables are to be removed, each with the measures of its days."""

    forgotten: RemovalResult
    removed: list[retention.Removed] = field(default_factory=list)

    def facts(self) -> list[object]:
        """What the proof depends on."""
        return [
            (each.imported.sha256, each.part.system, each.part.document, each.part.seam, each.rollups)
            for each in self.removed
        ]


def _choose_raw(into: LakeFolder, manifest: Manifest, before_us: int, systems: set[str]) -> _Chosen:
    _check_systems(manifest, systems)
    forgotten = RemovalResult()
    chosen = _Chosen(forgotten)
    for machine in rollups.machines(into, manifest):
        measured = _RollupCoverage(into, manifest, machine)
        for imported, part, days in machine.parts:
            if not part.raw or not days or (systems and part.system not in systems):
                continue
            offset_us = machine.offsets[part.system, part.row_sources(imported)[0]] * 1_000_000
            first_new = (before_us + offset_us) // rollups.DAY_US
            if days[-1] >= first_new:
                if days[0] < first_new:
                    forgotten.kept.append((part.system, imported.path))
                continue
            in_measures = [measured.has(imported, part, day) for day in days]
            if not all(in_measures):
                forgotten.unmeasured.append((part.system, imported.path))
                continue
            files = find_part_document(into.document(imported, part.document), part, into).files
            forgotten.gone.append((part.system, imported.path))
            forgotten.rows += sum(file.rows for file in files)
            forgotten.bytes += sum(file.bytes for file in files)
            # A row may count to the day before or after, as its own length says.
            around = {day + step for day in days for step in (-1, 0, 1)}
            named = [(part.system, rollups.day_name(day)) for day in sorted(around)]
            found = [manifest.rollups[key] for key in named if key in manifest.rollups]
            chosen.removed.append(retention.Removed(imported, part, found))
    return chosen


def _remove_raw(into: LakeFolder, before_us: int, systems: set[str], proven: _Chosen) -> RemovalResult | None:
    """Remove what was proven to be retained; None if the lake has changed since then."""
    with into.staging() as staged, into.locked():
        manifest = into.load()
        into.remove_abandoned(manifest)
        chosen = _choose_raw(into, manifest, before_us, systems)
        if chosen.facts() != proven.facts():
            return None
        before = into.listed(manifest)
        for each in chosen.removed:
            each.part.raw, each.part.seam = False, None
        manifest.retired += sorted(before.keys() - into.listed(manifest).keys() - set(manifest.retired))
        into.commit(manifest, staged, {})
        chosen.forgotten.waiting = into.remove_retired(manifest)
        chosen.forgotten.proof = proven.forgotten.proof
        return chosen.forgotten


class _RollupCoverage:
    """Which data of a machine are in its measures by hour and day."""

    def __init__(self, into: LakeFolder, manifest: Manifest, machine: rollups.LakeMachine) -> None:
        self._into = into
        self._manifest = manifest
        self._states = machine.states()
        self._sealed = machine.frozen_days()

    def has(self, imported: LakeInput, part: InputPart, day: int) -> bool:
        """Whether a day's measures contain an input. LakeError if they could, but are not up to date."""
        name = rollups.day_name(day)
        rollup = self._manifest.rollups.get((part.system, name))
        if day in self._sealed:
            return rollup is not None and imported.sha256 in self._into.measures(rollup).inputs
        if rollup is None or rollup.state != self._states[day]:
            path = self._into.name
            raise LakeError(
                f"the measures of {part.system}, {name}, are not in the lake, or older than its data",
                file=path,
                cure=phrase("lake_rollup", lake=path),
            )
        return True


def _drop_measures(into: LakeFolder, manifest: Manifest, going: list[InputPart]) -> None:
    """Measures go with the data that they were computed from, unless only they are left of a day."""
    leaving = {id(part) for part in going}
    for machine in rollups.machines(into, manifest):
        dropped: set[tuple[str, int]] = set()
        alone: set[tuple[str, int]] = set()
        for _, part, days in machine.parts:
            if id(part) in leaving:
                dropped |= {(part.system, day) for day in days}
            elif not part.raw:
                alone |= {(part.system, day) for day in days}
        for system, day in dropped - alone:
            manifest.rollups.pop((system, rollups.day_name(day)), None)
            # What is gathered has rows of them; the next roll-up gathers the others again.
            manifest.gathered.pop(rollups.day_name(day), None)


def _check_systems(manifest: Manifest, systems: set[str]) -> None:
    """QueryError if one of these systems is not in the lake."""
    there = {part.system for _, part in manifest.parts()}
    if unknown := systems - there:
        raise QueryError(
            f"there is no system {', '.join(sorted(unknown))} in the lake",
            expected=f"one of {', '.join(sorted(there)[:20])}",
        )


def _select_parts(
    into: LakeFolder, manifest: Manifest, options: Options, forgotten: RemovalResult
) -> list[tuple[LakeInput, InputPart]]:
    going = []
    for imported, part in manifest.parts():
        if options.systems and part.system not in options.systems:
            continue
        part_document = find_part_document(into.document(imported, part.document), part, into)
        inside, overlaps = _coverage(part, part_document.info, options)
        if inside:
            going.append((imported, part))
            forgotten.gone.append((part.system, imported.path))
            if part.raw:
                forgotten.rows += sum(file.rows for file in part_document.files)
                forgotten.bytes += sum(file.bytes for file in part_document.files)
        elif overlaps:
            forgotten.kept.append((part.system, imported.path))
    return going


def _coverage(part: InputPart, info: SystemInfo, options: Options) -> tuple[bool, bool]:
    """Whether a part lies wholly, and whether it lies at least partly, within the times of the options."""
    zone = dt.UTC if options.utc else info.zone()

    def to_us(moment: TimeSpec | None, otherwise: int) -> int:
        if moment is None or moment.date is None:
            return otherwise
        return to_unix_us(moment.utc(zone, moment.date))

    low, high = to_us(options.start, -(2**63)), to_us(options.end, 2**63)
    first, last = part.ends_us() or (part.first_us, part.last_us)
    if first is None or last is None:
        return options.start is None and options.end is None, True
    half = rollups.half_us(info)
    first, last = first - half, last - half
    return low <= first and last <= high, first <= high and last >= low


def _remove_part(manifest: Manifest, imported: LakeInput, part: InputPart) -> None:
    del imported.parts[part.system]
    imported.forgotten = [*imported.forgotten, part.system]
    if not imported.parts:
        del manifest.inputs[imported.sha256]
        return
    used = {remaining.document for remaining in imported.parts.values()}
    imported.documents = {key: sha256 for key, sha256 in imported.documents.items() if key in used}


def paths(parts: Iterable[tuple[str, str]]) -> list[str]:
    """Names of inputs, each once."""
    return list(dict.fromkeys(path for _, path in parts))
