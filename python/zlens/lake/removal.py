"""Forgetting: systems and times leave a lake.

What goes is a part: one system of one input, as a whole. Its first and last samples are what the differences
of its neighbors rest on, and only what has gone as a whole can be imported again. Parts that lie in the
range only partly stay, and are named.
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
    """Parts that went (system and name of the input) and parts that lie in the range only partly."""

    gone: list[tuple[str, str]] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    #: Files that are still there because somebody reads; the next import or removal takes them away.
    waiting: int = 0


def forget(lake: str | os.PathLike[str], options: Options, *, dry_run: bool = False) -> Forgotten:
    """Remove what lies within the systems and times of the options. QueryError when they name nothing."""
    path = os.fspath(lake)
    if not names.is_lake(path):
        raise InputError("this is no lake", file=path, cure=say("lake_make"))
    if not options.systems and options.start is None and options.end is None:
        raise QueryError("what is to be forgotten?", cure=say("lake_forget_what"))
    for moment in (options.start, options.end):
        if moment is not None and moment.date is None:
            raise QueryError("a time of day is no range", expected="a date: 2026-03-02 or '2026-03-02 12:00'")
    into = Folder(path)
    with folder.typed(into), into.staging() as staged, into.locked():
        now = into.load()
        into.clean(now)
        unknown = set(options.systems) - {part.system for _, part in now.parts()}
        if unknown:
            raise QueryError(
                f"there is no system {', '.join(sorted(unknown))} in the lake",
                expected=f"one of {', '.join(sorted({part.system for _, part in now.parts()})[:20])}",
            )
        told = Forgotten()
        going = _going(into, now, options, told)
        if dry_run or not going:
            return told
        before = into.listed(now)
        for one, part in going:
            _drop(now, one, part)
        moves: dict[str, str] = {}
        shop = ParquetEngine(os.fspath(staged.path / "spill"))
        try:
            seams = Seams(into, now, staged, shop, moves)
            seams.renew((part.system, one.source) for one, part in going)
        finally:
            shop.close()
        folder.sync(moves.values())
        gone = before.keys() - into.listed(now, moves).keys()
        now.retired += sorted(gone - set(now.retired))
        into.commit(now, staged, moves)
        told.waiting = into.sweep(now)
        return told


def _going(into: Folder, now: Manifest, options: Options, told: Forgotten) -> list[tuple[Input, Part]]:
    going = []
    for one, part in now.parts():
        if options.systems and part.system not in options.systems:
            continue
        own = part_of(into.document(one, part.document), part, into)
        inside, touched = _lies(part, own.info, options)
        if inside:
            going.append((one, part))
            told.gone.append((part.system, one.path))
            told.rows += sum(file.rows for file in own.files)
            told.bytes += sum(file.bytes for file in own.files)
        elif touched:
            told.kept.append((part.system, one.path))
    return going


def _lies(part: Part, info: SystemInfo, options: Options) -> tuple[bool, bool]:
    """Whether a part lies wholly, and whether it lies at all within the times of the options."""
    zone = dt.UTC if options.utc else info.zone()

    def us(moment: Moment | None, otherwise: int) -> int:
        if moment is None or moment.date is None:
            return otherwise
        return (moment.utc(zone, moment.date) - _EPOCH) // dt.timedelta(microseconds=1)

    low, high = us(options.start, -(2**63)), us(options.end, 2**63)
    first = part.first_end_us if part.first_end_us is not None else part.first_us
    last = part.last_end_us if part.last_end_us is not None else part.last_us
    if first is None or last is None:
        return options.start is None and options.end is None, True
    # An interval is where its middle is: it ends some milliseconds after the minute it is named by.
    half = round((info.nominal_s or 0) * 500_000)
    first, last = first - half, last - half
    return low <= first and last <= high, first <= high and last >= low


def _drop(now: Manifest, one: Input, part: Part) -> None:
    del one.parts[part.system]
    one.forgotten = [*one.forgotten, part.system]
    if not one.parts:
        del now.inputs[one.sha256]
        return
    used = {other.document for other in one.parts.values()}
    one.documents = {key: sha256 for key, sha256 in one.documents.items() if key in used}


def paths(told: Iterable[tuple[str, str]]) -> list[str]:
    """Names of inputs, each once."""
    return list(dict.fromkeys(path for _, path in told))
