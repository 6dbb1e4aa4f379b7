"""Forgetting: systems and times leave a lake.

The unit is a part: one whole system of one input. The differences of its neighbors depend on its first
and last samples, and only a part that was removed as a whole can be imported again. Parts that lie only
partly in the range stay, and are reported.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from zlens.errors import InputError, QueryError
from zlens.inputs.options import Moment, Options
from zlens.inputs.source import SystemInfo
from zlens.lake import folder, names
from zlens.lake.folder import Folder, part_of
from zlens.lake.manifest import Input, Manifest, Part
from zlens.lake.parquet_engine import ParquetEngine
from zlens.lake.seams import Seams
from zlens.schema.wording import say

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(slots=True)
class Forgotten:
    """Removed parts (system and name of the input), and parts that lie only partly in the range."""

    gone: list[tuple[str, str]] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    #: Files still there because somebody reads; the next import or removal removes them.
    waiting: int = 0


def forget(lake: str | os.PathLike[str], options: Options, *, dry_run: bool = False) -> Forgotten:
    """Remove what lies within the systems and times of the options. QueryError if they select nothing."""
    path = os.fspath(lake)
    if not names.is_lake(path):
        raise InputError("this is not a lake", file=path, cure=say("lake_make"))
    if not options.systems and options.start is None and options.end is None:
        raise QueryError("nothing to forget was named", cure=say("lake_forget_what"))
    for moment in (options.start, options.end):
        if moment is not None and moment.date is None:
            raise QueryError(
                "a time of day is not a range", expected="a date: 2026-03-02 or '2026-03-02 12:00'"
            )
    into = Folder(path)
    room = "make room on the disk for a new manifest and what replaces the neighbors' rows"
    with folder.typed(into, room), into.staging() as staged, into.locked():
        manifest = into.load()
        into.clean(manifest)
        unknown = set(options.systems) - {part.system for _, part in manifest.parts()}
        if unknown:
            raise QueryError(
                f"there is no system {', '.join(sorted(unknown))} in the lake",
                expected=f"one of {', '.join(sorted({part.system for _, part in manifest.parts()})[:20])}",
            )
        forgotten = Forgotten()
        going = _select_parts(into, manifest, options, forgotten)
        if dry_run or not going:
            return forgotten
        before = into.listed(manifest)
        for imported, part in going:
            _drop(manifest, imported, part)
        moves: dict[str, str] = {}
        engine = ParquetEngine(os.fspath(staged.path / "spill"))
        try:
            seams = Seams(into, manifest, staged, engine, moves)
            seams.renew((part.system, imported.source) for imported, part in going)
        finally:
            engine.close()
        folder.sync(moves.values())
        gone = before.keys() - into.listed(manifest, moves).keys()
        manifest.retired += sorted(gone - set(manifest.retired))
        into.commit(manifest, staged, moves)
        forgotten.waiting = into.sweep(manifest)
        return forgotten


def _select_parts(
    into: Folder, manifest: Manifest, options: Options, forgotten: Forgotten
) -> list[tuple[Input, Part]]:
    going = []
    for imported, part in manifest.parts():
        if options.systems and part.system not in options.systems:
            continue
        part_document = part_of(into.document(imported, part.document), part, into)
        inside, overlaps = _coverage(part, part_document.info, options)
        if inside:
            going.append((imported, part))
            forgotten.gone.append((part.system, imported.path))
            forgotten.rows += sum(file.rows for file in part_document.files)
            forgotten.bytes += sum(file.bytes for file in part_document.files)
        elif overlaps:
            forgotten.kept.append((part.system, imported.path))
    return going


def _coverage(part: Part, info: SystemInfo, options: Options) -> tuple[bool, bool]:
    """Whether a part lies wholly, and whether it lies at least partly, within the times of the options."""
    zone = dt.UTC if options.utc else info.zone()

    def to_us(moment: Moment | None, otherwise: int) -> int:
        if moment is None or moment.date is None:
            return otherwise
        return (moment.utc(zone, moment.date) - _EPOCH) // dt.timedelta(microseconds=1)

    low, high = to_us(options.start, -(2**63)), to_us(options.end, 2**63)
    first = part.first_end_us if part.first_end_us is not None else part.first_us
    last = part.last_end_us if part.last_end_us is not None else part.last_us
    if first is None or last is None:
        return options.start is None and options.end is None, True
    # An interval counts by its middle: it ends some milliseconds after the minute it is named by.
    half = round((info.nominal_s or 0) * 500_000)
    first, last = first - half, last - half
    return low <= first and last <= high, first <= high and last >= low


def _drop(manifest: Manifest, imported: Input, part: Part) -> None:
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
