"""File boundaries of MONWRITE data: the first and last record of every subject, decoded together."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any

from zlens._native import MonwriteFile, MonwriteWriter
from zlens.catalog import layouts
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, Source
from zlens.readers.boundaries import BoundaryReader, Fragments, IntervalMark, ResetEvidence, StitchedRecords
from zlens.readers.files import decoding_problems
from zlens.readers.zvm.intervals import NAME, MonitorSystem, interval_begins
from zlens.readers.zvm.monwrite import MonwriteSource
from zlens.readers.zvm.resets import Reset

_LENGTH, _DOMAIN, _RECORD, _TOD = slice(0, 2), 4, slice(6, 8), slice(8, 16)
#: Problems of comparing samples; all others were reported when the file was decoded.
_COMPARING = frozenset({"changed", "time"})
_END_OF_FRAME, _FRAMING = "d1r13", (1, 13)
#: More than the number of records of one type in any fragment.
_ALL = 2**31


def open_boundary(source: Source, system: str) -> MonwriteBoundaryReader:
    """Return the boundary reader of the one system of a source; the caller reads all of its tables."""
    if not isinstance(source, MonwriteSource):
        raise TypeError(type(source).__name__)
    (group,) = [group for group in source.groups if group.info.system == system]
    source.decode_all()
    return MonwriteBoundaryReader(source, group)


class MonwriteBoundaryReader(BoundaryReader):
    """One system of a source with one file."""

    def __init__(self, source: MonwriteSource, group: MonitorSystem) -> None:
        self._source = source
        self._group = group
        self._plans = {plan["table"]: plan for plan in source.all_plans(group)}
        self._joined = {(plan["domain"], plan["record"]) for plan in self._plans.values() if plan["join"]}

    def subject(self, table: str) -> list[str] | None:
        # Frame ends belong to their file, because a fragment has its own frames. Continuation records are
        # compared as part of the record that they continue.
        plan = self._plans[table]
        is_continuation = not plan["join"] and (plan["domain"], plan["record"]) in self._joined
        return None if is_continuation or table == _END_OF_FRAME else list(plan["subject"])

    def span(self) -> tuple[int, int] | None:
        ends = [mark.end_us for mark in self.marks() if mark.samples]
        return (min(ends), max(ends)) if ends else None

    def marks(self) -> list[IntervalMark]:
        return [
            IntervalMark(self._group.us(tod), samples, offset, begin, self._group.digests(file)[offset])
            for file in self._group.files
            for (tod, samples, offset), begin in zip(file.interval_ends(), interval_begins(file), strict=True)
        ]

    def evidence(self) -> Iterable[ResetEvidence]:
        for tod, table, subject, kind in self._source.reset_evidence(self._group, [*self._plans.values()]):
            yield ResetEvidence(tod, self._group.us(tod), table, subject, kind)

    def extract_records(self, offsets: Sequence[int], path: str, stamp: int | None = None) -> None:
        """Write records into a file; `stamp` replaces their timestamps (TOD)."""
        # A system has several files only as parts of one file with other systems between them.
        files, selected = self._group.files, set(offsets)
        (name,) = {file.path for file in files}
        for file in files:
            for first, others in _continuations(file, self._plans.values()).items():
                selected.update(others if first in selected else ())
        rows = (row for file in files for row in file.inventory() if row["sample"])
        samples = {(row["domain"], row["record"]) for row in rows}
        writer = MonwriteWriter(path)
        with open(name, "rb", buffering=0) as data:
            records = (_record(data.fileno(), offset, name) for offset in sorted(selected))
            # A control record describes only one class; grouping preserves the order of the records.
            for sample, group in itertools.groupby(records, lambda record: _type(record) in samples):
                batch = [*group]
                if stamp is not None:
                    tod = stamp.to_bytes(8)
                    batch = [record[: _TOD.start] + tod + record[_TOD.stop :] for record in batch]
                # Domains as the bits of a control record; domain 0 is the leftmost bit.
                bits = sum(0x8000 >> domain for domain in {_type(record)[0] for record in batch})
                writer.write([(sample, bits >> 8, bits & 0xFF, 0, batch)])
        writer.finish()


def _continuations(file: MonwriteFile, plans: Iterable[dict[str, Any]]) -> dict[int, list[int]]:
    """Map the offset of the first of several joined records to the offsets of its continuations."""
    continuations: dict[int, list[int]] = {}
    for plan, join in ((plan, plan["join"]) for plan in plans if plan["join"]):
        flag_offset, length = join["more"]["at"], join["more"]["len"]
        first: int | None = None
        for offset, data in sorted(file.records(plan["domain"], plan["record"], _ALL)):
            if first is None:
                first = offset
                continuations[first] = []
            else:
                continuations[first].append(offset)
            if not int.from_bytes(data[flag_offset : flag_offset + length]) & join["more_bit"]:
                first = None
    return continuations


def _record(handle: int, offset: int, path: str) -> bytes:
    header = os.pread(handle, 20, offset)
    data = os.pread(handle, int.from_bytes(header[_LENGTH]), offset) if len(header) == 20 else b""
    if len(data) < 20 or len(data) != int.from_bytes(header[_LENGTH]):
        raise InputError("the file changed while it was read", file=path, offset=offset, cure="try again")
    return data


def _type(record: bytes) -> tuple[int, int]:
    return record[_DOMAIN], int.from_bytes(record[_RECORD])


class StitchedMonitorRecords(StitchedRecords):
    """Fragments of files of one system, decoded in sequence."""

    def __init__(self, fragments: Fragments) -> None:
        files = [MonwriteFile.open(path) for path in fragments.paths]
        file = files[fragments.index]
        # It determines the layouts; the others are only compared with it.
        self._source = MonwriteSource([file], Options(leap=fragments.leap), [])
        (self._group,) = self._source.groups
        self._group.files = files
        self._group.ends = []
        self._group.repeats = [[] for _ in files]
        self._group.info.nominal_s = fragments.nominal_s
        catalog = set(layouts.records())
        types = {layouts.record_id(row["domain"], row["record"]): None for row in file.inventory()}
        self._plans = {
            plan["table"]: plan
            for record in types
            if record in catalog
            for plan in self._source.plans(self._group, record)
        }
        resets: list[Reset] = [(e.moment, e.table, e.subject, e.kind) for e in fragments.evidence]
        self._decoder = self._source.decode(self._group, list(self._plans.values()), resets)
        super().__init__(fragments, _compared_offsets(file, self._plans.values()))

    @property
    def tables(self) -> list[str]:
        return list(self._plans)

    def stream(self, table: str, columns: list[str]) -> ArrowSource:
        return self._decoder.stream(table, columns)

    def resets(self) -> list[tuple[int, str, str, str]]:
        return [
            (self._group.us(tod), table, subject, evidence)
            for _, tod, table, subject, evidence in self._decoder.resets()
        ]

    def problems(self) -> list[Problem]:
        return [
            self.with_original_offset(problem)
            for problem in decoding_problems(self._decoder.problems(), NAME)
            if problem.file == self.file and problem.kind in _COMPARING
        ]


def _compared_offsets(file: MonwriteFile, selected_plans: Iterable[dict[str, Any]]) -> list[int]:
    """Return the offsets of the records of a fragment, without frame ends and continuations."""
    joined = {offset for others in _continuations(file, selected_plans).values() for offset in others}
    # A type may occur both as samples and as events, which are read together.
    types = {(row["domain"], row["record"]) for row in file.inventory()} - {_FRAMING}
    return sorted(offset for key in types for offset, _ in file.records(*key, _ALL) if offset not in joined)


STITCHED = StitchedMonitorRecords
