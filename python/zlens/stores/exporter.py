"""Measures of a lake, written where other programs query them.

A day of a machine is exported again when its data change, like its roll-up. What was exported is noted
beside the tables after they are written, so that an export that was killed repeats its last step: replacing
rows by the same rows changes nothing. One export writes to a folder at a time.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from zlens.catalog import measures
from zlens.errors import InputError, LakeError, QueryError
from zlens.inputs.source import Progress
from zlens.lake import lake_folder, rollups
from zlens.lake.file_names import is_lake
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.rollups import LakeMachine
from zlens.schema.wording import phrase
from zlens.stores import bucket_sql
from zlens.stores.coverage import Lost, coverage, lost_error
from zlens.stores.export_targets import TARGETS, ExportTarget
from zlens.stores.rollup_builder import day_ranges, measures_of, open_days

_STATE, _LOCK, _STAGING = "zlens-export.json", ".zlens-export.lock", ".zlens-export"
_VERSION = 1


class ExportResult(Struct):
    """The systems of a machine and the days that were written; rows over all tables.

    lost   intervals of raw tables on these days that no exported measure which reads the table has rows of
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
    """Bring the measures of a lake in another format up to date.

    form      parquet, delta or iceberg
    tables    the measures; none named: all that have intervals
    report    called for every machine once its days are written

    Only days whose inputs have changed since the last export are written. Days that the lake has forgotten
    stay. Raises InputError for a lake that is none, QueryError for names that are not there, and LakeError
    for a destination that cannot be used and, after everything else is done, if intervals of raw tables are
    in no measure: such days are written again by the next call.
    """
    path = os.fspath(lake)
    if not is_lake(path):
        raise InputError("this is not a lake", file=path, cure=phrase("lake_make"))
    into, base = lake_folder.open_folder(path), Path(destination)
    with into.reading():
        manifest = into.load()
        machines = rollups.machines(into, manifest)
        there = {system for machine in machines for system in machine.systems}
        chosen = _known({*systems}, there, "system") or there
        wanted = _known({*tables}, {*bucket_sql.measures()}, "measure") or {*bucket_sql.measures()}
        results = []
        with _opened(base, form, sorted(wanted)) as (state, target, engine):
            for number, machine in enumerate(machines):
                if not chosen & {*machine.systems}:
                    continue
                if progress is not None:
                    progress(number, len(machines), ", ".join(machine.systems[:3]))
                with lake_folder.translate_os_errors(into):
                    results.append(_machine(into, machine, sorted(wanted), state, target, engine, base))
                if report is not None:
                    report(results[-1])
    if lost := [each for exported in results for each in exported.lost]:
        raise lost_error(path, lost)
    return results


def _known(names: set[str], there: set[str], what: str) -> set[str]:
    if unknown := names - there:
        raise QueryError(
            f"there is no {what} {', '.join(sorted(unknown))}",
            expected=f"one of {', '.join(sorted(there)[:50])}",
        )
    return names


def _machine(
    into: LakeFolder,
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
        days = [rollups.day_name(day) for day in span]
        with open_days(into, machine, span) as session:
            present = measures_of(session)
            for name in tables:
                columns, query = bucket_sql.intervals(
                    name, machine.systems, machine.offsets, (span[0], span[-1])
                )
                staged = os.fspath(base / _STAGING / f"{name}.parquet")
                if name in present:
                    session.announce(name, [column.name for column in measures.load_measure(name).columns])
                    session.engine.write_parquet(query, staged)
                elif target.has(name):
                    # Nothing is left of what these days had.
                    engine.copy(bucket_sql.empty_select(columns), staged)
                else:
                    continue
                rows = target.replace(name, columns, staged, machine.systems, days)
                exported.rows += rows
                written |= {name} if rows else set()
                os.unlink(staged)
            lost = coverage(session, tables).lost(machine.offsets, span)
        exported.lost += lost
        again = {each.day for each in lost}
        state.days |= {
            _place(system, day): states[day]
            for system, day in machine.days()
            if day in span and rollups.day_name(day) not in again
        }
        state.save(base)
        exported.days += days
    exported.tables = len(written)
    return exported


def _place(system: str, day: int) -> str:
    return f"{rollups.day_name(day)} {system}"


class _ExportState(Struct):
    """What is exported: the format, the measures, and the state of each day and system."""

    form: str
    tables: list[str]
    days: dict[str, str] = field(default_factory=dict)

    def save(self, base: Path) -> None:
        staged = base / _STAGING / _STATE
        facts = {"zlens_export": _VERSION, "format": self.form, "tables": self.tables, "days": self.days}
        staged.write_text(json.dumps(facts, indent=0, sort_keys=True) + "\n", encoding="ascii")
        lake_folder.fsync_files([os.fspath(staged)])
        os.replace(staged, base / _STATE)

    @classmethod
    def load(cls, base: Path, form: str, tables: list[str]) -> _ExportState:
        path = base / _STATE
        try:
            facts = json.loads(path.read_bytes())
            if facts["zlens_export"] != _VERSION:
                raise ValueError
            state = cls(str(facts["format"]), [*map(str, facts["tables"])], {**facts["days"]})
        except FileNotFoundError:
            return cls(form, tables)
        except (ValueError, TypeError, KeyError):
            raise LakeError(
                "this is not the state file of an export", file=str(path), cure="export into a new folder"
            ) from None
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
    """The state and the target of a folder that this process alone writes to."""
    if form not in TARGETS:
        raise QueryError(f"measures are not exported to {form}", expected=f"one of {', '.join(TARGETS)}")
    try:
        base.mkdir(parents=True, exist_ok=True)
        # The lock is the first file of an export.
        if not (base / _LOCK).exists() and any(base.iterdir()):
            raise LakeError(
                "the folder contains other files", file=str(base), cure="name a new or an empty folder"
            )
        handle = os.open(base / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise LakeError(
            f"cannot be written: {error.strerror or error}", file=str(base), cure="name a folder"
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LakeError(
                "another export writes to this folder", file=str(base), cure="wait until it has ended"
            ) from None
        state = _ExportState.load(base, form, tables)
        (base / _STAGING).mkdir(exist_ok=True)
        engine = ParquetEngine(os.fspath(base / _STAGING / "spill"))
        try:
            yield state, TARGETS[form](base, engine), engine
        finally:
            engine.close()
    finally:
        os.close(handle)
