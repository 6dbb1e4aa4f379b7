"""Export of the measures of a lake for other programs.

A day of a machine is exported again when its data change, like its rollup. The state file is written after
the tables, so an export that was killed repeats its last step, which is idempotent. A lock limits a folder to
one export at a time.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field, to_builtins

from zlens.errors import LakeError, QueryError
from zlens.inputs.source import Progress
from zlens.lake import lake_folder, rollups
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.location import open_lake
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.rollups import LakeMachine
from zlens.stores import bucket_sql
from zlens.stores.coverage import Lost, coverage, lost_error
from zlens.stores.export_targets import TARGETS, ExportTarget
from zlens.stores.rollup_builder import day_ranges, measures_of, open_days

_STATE, _LOCK, _STAGING = "zlens-export.json", ".zlens-export.lock", ".zlens-export"
_VERSION = 1


class ExportResult(Struct):
    """The systems of a machine and the days that were written.

    lost   intervals of raw tables on these days without rows in an exported measure that reads the table
    rows   number of rows in all tables
    """

    systems: list[str]
    days: list[str] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    rows: int = 0
    tables: int = 0


def export(
    lake: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    form: str,
    *,
    systems: Iterable[str] = (),
    tables: Iterable[str] = (),
    progress: Progress | None = None,
    report: Callable[[ExportResult], None] | None = None,
) -> list[ExportResult]:
    """Update the export of a lake's measures in another format.

    form      parquet, delta or iceberg
    tables    the measures; default: all that have intervals
    report    called for every machine once its days are written

    Only days whose inputs have changed since the last export are written; days removed from the lake stay.
    Raises InputError if `lake` is not a lake, QueryError for unknown names, and LakeError for an unusable
    destination. It also raises LakeError at the end if intervals of raw tables are in no measure; the next
    call writes such days again.
    """
    folder, base = open_lake(lake), Path(destination)
    with folder.reading():
        manifest = folder.load()
        machines = rollups.machines(folder, manifest)
        system_names = {system for machine in machines for system in machine.systems}
        selected = _known({*systems}, system_names, "system") or system_names
        measure_names = _known({*tables}, {*bucket_sql.measures()}, "measure") or {*bucket_sql.measures()}
        results = []
        with _opened(base, form, sorted(measure_names)) as (state, target, engine):
            for number, machine in enumerate(machines):
                if not selected & {*machine.systems}:
                    continue
                if progress is not None:
                    progress(number, len(machines), ", ".join(machine.systems[:3]))
                with lake_folder.translate_os_errors(folder):
                    exported = _machine(folder, machine, sorted(measure_names), state, target, engine, base)
                results.append(exported)
                if report is not None:
                    report(results[-1])
    if lost := [item for result in results for item in result.lost]:
        raise lost_error(os.fspath(lake), lost)
    return results


def _known(names: set[str], known_names: set[str], what: str) -> set[str]:
    if unknown := names - known_names:
        message = f"there is no {what} {', '.join(sorted(unknown))}"
        raise QueryError(message, expected=f"one of {', '.join(sorted(known_names)[:50])}")
    return names


def _machine(
    folder: LakeFolder,
    machine: LakeMachine,
    tables: list[str],
    state: _ExportState,
    target: ExportTarget,
    engine: ParquetEngine,
    base: Path,
) -> ExportResult:
    states, sealed = machine.states(), machine.frozen_days()
    stale = {
        day
        for system, day in machine.days()
        if day not in sealed and state.days.get(_place(system, day)) != states[day]
    }
    exported = ExportResult(machine.systems)
    written: set[str] = set()
    for span in day_ranges(sorted(stale)):
        days, ends = [rollups.day_name(day) for day in span], (span[0], span[-1])
        with open_days(folder, machine, span) as session:
            present = measures_of(session)
            for name in tables:
                columns, query = bucket_sql.intervals(name, machine.systems, machine.offsets, ends)
                staged = os.fspath(base / _STAGING / f"{name}.parquet")
                if name in present:
                    session.queries.write_parquet(query, staged)
                elif target.has(name):
                    # The measure no longer has rows on these days.
                    engine.copy(bucket_sql.empty_select(columns), staged)
                else:
                    continue
                rows = target.replace(name, columns, staged, machine.systems, days)
                exported.rows += rows
                written |= {name} if rows else set()
                os.unlink(staged)
            lost = coverage(session, tables).lost(machine.offsets, span)
        exported.lost += lost
        lost_days = {item.day for item in lost}
        state.days |= {
            _place(system, day): states[day]
            for system, day in machine.days()
            if day in span and rollups.day_name(day) not in lost_days
        }
        state.save(base)
        exported.days += days
    exported.tables = len(written)
    return exported


def _place(system: str, day: int) -> str:
    return f"{rollups.day_name(day)} {system}"


class _ExportState(Struct, rename={"form": "format", "version": "zlens_export"}):
    """State of an export: format, measures, and the exported state of each day and system."""

    form: str
    tables: list[str]
    days: dict[str, str] = field(default_factory=dict)
    version: Annotated[int, Meta(ge=_VERSION, le=_VERSION)] = _VERSION

    def save(self, base: Path) -> None:
        staged = base / _STAGING / _STATE
        saved = json.dumps(to_builtins(self), indent=0, sort_keys=True)
        staged.write_text(saved + "\n", encoding="ascii")
        lake_folder.fsync_files([os.fspath(staged)])
        os.replace(staged, base / _STATE)

    @classmethod
    def load(cls, base: Path, form: str, tables: list[str]) -> _ExportState:
        path = base / _STATE
        try:
            state = msgspec.json.decode(path.read_bytes(), type=cls)
        except FileNotFoundError:
            return cls(form, tables)
        except ValueError:
            message = "this is not the state file of an export"
            raise LakeError(message, file=str(path), cure="export into a new folder") from None
        if state.form != form or state.tables != tables:
            raise LakeError(
                f"the folder has {len(state.tables)} measures as {state.form}",
                file=str(base),
                cure="export the same measures in the same format, or into another folder",
            )
        return state


@contextmanager
def _opened(
    base: Path, form: str, tables: list[str]
) -> Iterator[tuple[_ExportState, ExportTarget, ParquetEngine]]:
    """Lock a destination folder; yields its state, target and engine."""
    if form not in TARGETS:
        raise QueryError(f"measures are not exported to {form}", expected=f"one of {', '.join(TARGETS)}")
    try:
        base.mkdir(parents=True, exist_ok=True)
        # The lock is the first file of an export.
        if not (base / _LOCK).exists() and any(base.iterdir()):
            message = "the folder contains other files"
            raise LakeError(message, file=str(base), cure="name a new or an empty folder")
        handle = os.open(base / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        message = f"cannot be written: {error.strerror or error}"
        raise LakeError(message, file=str(base), cure="name a folder") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            message = "another export writes to this folder"
            raise LakeError(message, file=str(base), cure="wait until it has ended") from None
        state = _ExportState.load(base, form, tables)
        (base / _STAGING).mkdir(exist_ok=True)
        with ParquetEngine(base / _STAGING / "spill") as engine:
            yield state, TARGETS[form](base, engine), engine
    finally:
        os.close(handle)
