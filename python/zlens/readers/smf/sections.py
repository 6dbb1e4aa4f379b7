"""SMF records that consist of sections. Each kind of section is a raw table.

Machine, time zone, release and partition of a system come from these records if it has no counter records.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from zlens._native import SectionsDecoder, unix_us_from_tod
from zlens.catalog import codes, processor_types, smf_record, smf_sections
from zlens.catalog.interval_flags import SHORT
from zlens.catalog.raw_columns import RawColumn
from zlens.catalog.raw_tables import load_tables
from zlens.inputs import record_intervals
from zlens.inputs.problems import Problem
from zlens.inputs.source import ArrowSource, Interval, IntervalRow, RawTable
from zlens.readers.files import decoding_problems
from zlens.readers.row_tables import DecodedTable
from zlens.readers.smf.systems import SmfDump, SmfSystem, first_record, offset_s, zos_release

NAME = "smf"

#: End in microseconds UTC, seconds, whether it is a stub, number of records.
_Interval = tuple[int, float | None, bool, int]


class SectionTables:
    """The section tables of all dumps in an input."""

    def __init__(self, dumps: Iterable[SmfDump], groups: Mapping[str, SmfSystem], leap: int) -> None:
        self._dumps = list(dumps)
        self._groups = groups
        self._leap = leap
        kinds = {(row["record"], row["subtype"]) for dump in self._dumps for row in dump.rows}
        found = [
            layout
            for record in sorted({record for record, _ in kinds})
            for layout in smf_sections.of_type(record)
            if any((record, subtype) in kinds for subtype in layout.subtypes)
        ]
        #: By table and system.
        self._found: dict[str, dict[str, list[_Interval]]] = {}
        #: Layouts of which there are records, in the order in which their intervals count.
        self.layouts = sorted(found, key=lambda layout: layout.interval.layer)
        self.tables: dict[str, list[RawTable]] = {
            kind.table: [
                DecodedTable(kind.table, partial(_columns, layout, kind), partial(self._stream, kind.table))
            ]
            for layout in found
            for kind in layout.sections
        }

    @cached_property
    def decoder(self) -> SectionsDecoder:
        """The decoder of all files."""
        systems = []
        for name, group in self._groups.items():
            zone = group.info.utc_offset_s
            zone_us = None if zone is None else zone * 1_000_000
            systems.append({"name": name, "ids": group.ids, "zone_us": zone_us})
        files = [dump.file for dump in self._dumps]
        plans = [json.dumps(smf_sections.plan(layout)) for layout in self.layouts]
        return SectionsDecoder(NAME, systems, files, plans, self._leap)

    def _stream(self, table: str, columns: list[str]) -> ArrowSource:
        return self.decoder.stream(table, columns)

    def intervals(self) -> None:
        """Add the intervals of these records to the system's intervals (inputs.record_intervals.union)."""
        listed = [layout for layout in self.layouts if layout.interval.of != "decision"]
        found: dict[str, dict[str, list[_Interval]]] = {layout.name: {} for layout in listed}
        rows = self.decoder.intervals([*found]) if listed else []
        for layout_name, system, end_us, seconds, short, count in rows:
            found[layout_name].setdefault(system, []).append((end_us, seconds, short, count))
        for layout in listed:
            self._found[layout.section(layout.interval.section).table] = found[layout.name]
            for system, of_system in found[layout.name].items():
                _add_intervals(self._groups[system], layout, of_system)

    def interval_rows(self, tables: Collection[str]) -> Iterator[IntervalRow]:
        """Yield the intervals of each of the raw tables that contain them."""
        for table in tables:
            for system, intervals in self._found.get(table, {}).items():
                for end_us, seconds, short, count in intervals:
                    yield system, NAME, end_us, seconds, "short" if short else None, count

    def problems(self, *, complete: bool = False) -> Iterator[Problem]:
        """Yield the problems of decoding; `complete` decodes all records first."""
        if not self.layouts:
            return
        if complete:
            for layout in self.layouts:
                self.decoder.drain(layout.name)
        yield from decoding_problems(self.decoder.problems(), NAME)


def _columns(layout: smf_sections.SmfLayout, facts: smf_sections.SmfSection) -> tuple[RawColumn, ...]:
    return (*load_tables("smf/section_tables").leading, *smf_sections.columns(layout, facts))


def _add_intervals(group: SmfSystem, layout: smf_sections.SmfLayout, intervals: list[_Interval]) -> None:
    info = group.info
    time = layout.interval
    of_jobs = time.of == "job"
    lengths = Counter(round(seconds) for _, seconds, _, _ in intervals if seconds)
    usual_s = float(max(lengths, key=lambda length: (lengths[length], length))) if lengths else None
    if info.nominal_s is None and not of_jobs:
        info.nominal_s = usual_s
    new_intervals = []
    for end_us, seconds, short, records in intervals:
        is_short = not of_jobs and seconds is not None and usual_s and seconds < SHORT * usual_s
        mark = "short" if short or is_short else None
        new_intervals.append(Interval(end_us, seconds, mark, records, time.layer))
    if info.intervals or not of_jobs:
        # A job may have started long before, so only the ends of its intervals are times of the system.
        first_us = min(each.end_us if of_jobs else each.start_us for each in new_intervals)
        last_us = max(interval.end_us for interval in new_intervals)
        # Counters may have times without an interval. Without counters and intervals, times come from
        # headers.
        counted = info.intervals != [] or group.ends != []
        known = counted and info.first_us is not None and info.last_us is not None
        info.first_us = min(first_us, info.first_us or first_us) if known else first_us
        info.last_us = max(last_us, info.last_us or last_us) if known else last_us
    info.intervals = record_intervals.union([*info.intervals, *new_intervals])


def identify(group: SmfSystem) -> None:
    """Set machine, release, partition and time zone of a system from its first records, unless known."""
    # Records with intervals of systems have the time zone; those of jobs only imply it.
    for layout in smf_sections.interval_layouts():
        data = first_record(group, layout.record, layout.subtypes)
        if data is not None:
            _identify(group, layout, data)


def _identify(group: SmfSystem, layout: smf_sections.SmfLayout, data: bytes) -> None:
    info, facts = group.info, layout.system

    def read(field_path: str) -> Any:
        return next(_values(layout, field_path, data), None)

    if info.utc_offset_s is None:
        zone = read(facts.utc_offset)
        is_zone = zone is not None and abs(zone) < 86_400
        info.utc_offset_s = round(zone) if is_zone else _zone_of_intervals(group, layout)
    info.release = info.release or zos_release(read(facts.release))
    info.sysplex = info.sysplex or read(facts.sysplex) or None
    info.machine_type = info.machine_type or read(facts.machine_type) or None
    info.model = info.model or next(filter(None, map(read, facts.model)), None)
    info.serial = info.serial or read(facts.serial) or None
    info.lpar_number = read(facts.lpar_number) if info.lpar_number is None else info.lpar_number
    if info.lpar is None and facts.lpar is not None:
        numbers, names = (_values(layout, path, data) for path in (facts.lpar.number, facts.lpar.name))
        own = (name for no, name in zip(numbers, names, strict=True) if no == info.lpar_number and name)
        info.lpar = next(own, None)
    for kind, count in _threads(layout, data).items():
        info.threads.setdefault(kind, count)


def _threads(layout: smf_sections.SmfLayout, data: bytes) -> dict[str, int]:
    """Return threads per core by type if z/OS runs in core mode: the maximum that is online on a core."""
    facts = layout.system.threads
    if facts is None:
        return {}
    types = list(_values(layout, facts.type, data))
    words = codes.words(facts.codes)
    owner = layout.section(facts.type.partition(".")[0]).owner
    assert owner is not None
    threads: dict[str, int] = {}
    for core in _sections(layout, owner.section, data):
        first, count = core.get(owner.first), core.get(owner.number)
        if first is None or not count or first >= len(types):
            continue
        kind = words.get(str(types[first]))
        if kind in processor_types.modeled_types():
            threads[kind.lower()] = max(count, threads.get(kind.lower(), 0))
    return threads


def _zone_of_intervals(group: SmfSystem, layout: smf_sections.SmfLayout) -> int | None:
    """Return the offset of local time from UTC in seconds, from an interval end recorded in both."""
    for subtype in layout.system.written_at_end:
        data = first_record(group, layout.record, [subtype])
        if data is not None:
            end_tod = next(_values(layout, f"{layout.interval.section}.{layout.interval.end}", data), None)
            written = smf_record.local_us(data)
            if end_tod and written is not None:
                return offset_s(written, unix_us_from_tod(end_tod, group.info.leap_s))
    return None


def _values(layout: smf_sections.SmfLayout, field_path: str, data: bytes) -> Iterator[Any]:
    """Yield the values of a field, section first, in the sections of a record; nothing for an empty path."""
    section, _, field = field_path.partition(".")
    if section:
        yield from (values.get(field) for values in _sections(layout, section, data))


def _sections(layout: smf_sections.SmfLayout, name: str, data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the sections of a kind in a record as field values by name."""
    facts = layout.section(name)
    for start, length in smf_sections.section_extents(layout, facts, data):
        entry = data[start : start + length]
        yield {
            field.name: _value(field, raw)
            for field in facts.fields
            if len(raw := entry[field.offset : field.offset + field.length]) == field.length
        }


def _value(field: smf_sections.SmfField, raw: bytes) -> Any:
    if field.kind == "text":
        return raw.decode("cp037").rstrip(" \0")
    if field.kind == "hex":
        return raw.hex()
    if field.kind == "offset":
        return int.from_bytes(raw, signed=True) / 4096e6
    return int.from_bytes(raw)
