"""z/OS SMF dumps: streams of records with record descriptor words.

The native index pass finds the records of a file and counts them by system, type and subtype. Records of
counters are decoded into one raw table, those of sections into one for each kind (`sections`); the others are
listed in the inventory. A dump may contain several systems, and the records of a system may be spread over
several dumps.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from zlens._native import CountersDecoder, SmfFile, sniff_smf, unix_us_from_tod
from zlens.catalog import smf, smf_identity, smf_sections
from zlens.catalog.raw_tables import load_tables
from zlens.errors import InputError
from zlens.inputs.identity import IdentityRange
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import InventoryRow, Progress, RawTable, RecordRead, SystemInfo, moves
from zlens.inputs.unix_time import from_unix_us, time_range
from zlens.readers.files import decoding_problems, index_problems, open_all, unknown_system
from zlens.readers.row_tables import DecodedTable, RowTable, leading
from zlens.readers.smf import record_places, streams
from zlens.readers.smf import sections as section_tables
from zlens.readers.smf import systems as smf_systems
from zlens.readers.smf.systems import RecordedInterval, SmfDump, SmfSystem

NAME = "smf"

#: The record type that is decoded into the table of counters.
RECORD = smf.counter_record_type()
_TABLES = "smf/counter_tables"


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether the bytes are an SMF dump. Raises InputError if it cannot be read as is."""
    verdict, detail = sniff_smf(first_bytes, size)
    if verdict == "damaged":
        message, _, cure = detail.partition("; ")
        expected = "SMF records, each preceded by its record descriptor word"
        raise InputError(message, offset=0, expected=expected, cure=cure)
    return verdict == "smf"


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> SmfSource:
    """Index the records of all files; progress counts bytes across all of them."""
    plan = json.dumps(smf.plan(RECORD))
    identities = smf_identity.plan()
    limit = _unpack_limit()
    files, problems = open_all(
        paths, NAME, lambda path, step: SmfFile.open(path, plan, identities, step, limit), progress
    )
    return SmfSource(files, plan, options, problems)


def _unpack_limit() -> int | None:
    """Return the limit for the unpacked size of a file in bytes, if the user set one."""
    limit = os.environ.get("ZLENS_UNPACK_LIMIT")
    if not limit:
        return None
    if not limit.isdecimal() or int(limit) > sys.maxsize:
        cure = "ZLENS_UNPACK_LIMIT=20000000000, for example; without it, a hundred times the packed size"
        raise InputError(f"ZLENS_UNPACK_LIMIT is {limit!r}", expected="a number of bytes", cure=cure)
    return int(limit)


class SmfSource:
    """All SMF dumps of an input."""

    name = NAME

    def __init__(self, files: list[SmfFile], plan: str, options: Options, problems: list[Problem]) -> None:
        self._options = options
        self._leap = options.leap or 0
        self._plan = plan
        self._problems = problems
        self._followed = self._drained = False
        self.dumps = sorted(map(SmfDump.of, files), key=SmfDump.order)
        self._streams: dict[str, list[streams.Stream]] = {}
        self.groups = self._group()
        self.systems = [group.info for group in self.groups.values()]
        self.tables: Mapping[str, list[RawTable]] = {}
        self._counted = any(group.ends for group in self.groups.values())
        if self._counted:
            self.tables = {table.name: [table] for table in self._counter_tables()}
        self.sections = section_tables.SectionTables(self.dumps, self.groups, self._leap)
        self.sections.intervals()
        self.interval_rows = self.sections.interval_rows
        self.tables = {**self.tables, **self.sections.tables}

    def _counter_tables(self) -> Iterator[RawTable]:
        """Yield the table of counters, and that of changes of a processor's speed or counter versions."""
        facts, name = load_tables(_TABLES), smf.layout(RECORD).table
        yield DecodedTable(
            name, lambda: (*facts.leading, *smf.columns(RECORD)), lambda names: self.decoder.stream(names)
        )
        changes = partial(facts.columns, f"{name}_change")
        yield DecodedTable(
            f"{name}_change",
            changes,
            lambda names: RowTable(f"{name}_change", changes(), self.changes()).stream(names),
        )

    # -- systems -------------------------------------------------------------------------------------

    def read_record(self, system: str, table: str, file: str, offset: int) -> RecordRead | None:
        """Return a record that is read again, with the places of the columns of a raw table."""
        return record_places.read_record(table, file, offset)

    def _group(self) -> dict[str, SmfSystem]:
        groups: dict[str, SmfSystem] = {}
        by_id: dict[streams.Id, SmfSystem] = {}
        known = [system for system in self._options.known if system.source == NAME]
        streams_by_name = streams.find([dump.file for dump in self.dumps], self._leap, known)
        for name, streams_of_system in streams_by_name.items():
            ids = [stream.id for stream in sorted(streams_of_system, key=lambda stream: stream.begin)]
            name = name or unknown_system(self.dumps[ids[0][0]].file.path)
            while name in groups:
                name += "'"
            group = groups[name] = SmfSystem(SystemInfo(name, NAME), ids, self.dumps)
            self._streams[name] = streams_of_system
            recorded = streams_of_system[0].name
            group.info.recorded_name = recorded if recorded and recorded != name else None
            group.info.leap_s = self._leap
            group.info.moves = moves(streams.machines(streams_of_system))
            by_id.update(dict.fromkeys(ids, group))
        for number, dump in enumerate(self.dumps):
            for row in dump.rows:
                group = by_id[number, row["record"], row["id"]]
                if dump not in group.dumps:
                    group.dumps.append(dump)
                    group.info.files.append(dump.file.path)
                group.first_local = min(group.first_local, row["first_local"])
                group.last_local = max(group.last_local, row["last_local"])
            for id, subtype, start, end, records in dump.intervals:
                # Data that is not SMF has more systems than are counted; a problem of the file reports it.
                if (number, RECORD, id) in by_id:
                    by_id[number, RECORD, id].seen.append(RecordedInterval(subtype, start, end, records))
        for group in groups.values():
            smf_systems.set_identity(group, self._leap)
            section_tables.identify(group)
            smf_systems.set_intervals(group, self._leap)
            self._zone(group)
        return dict(sorted(groups.items()))

    def _zone(self, group: SmfSystem) -> None:
        """Set the time zone if no record contains it: from the options, otherwise times stay local."""
        info = group.info
        if info.utc_offset_s is None and self._options.tz is not None:
            offset = from_unix_us(group.first_local).replace(tzinfo=self._options.tz).utcoffset()
            info.utc_offset_s = round(offset.total_seconds()) if offset is not None else None
        info.local_time = info.utc_offset_s is None and not info.intervals
        if info.first_us is None:
            info.first_us = self._utc(group.first_local, info)
            info.last_us = self._utc(group.last_local, info)

    @staticmethod
    def _utc(local_us: int, info: SystemInfo) -> int | None:
        """Convert a header time; None if other times of the system are UTC and its zone is unknown."""
        if info.utc_offset_s is None:
            return local_us if info.local_time else None
        return local_us - info.utc_offset_s * 1_000_000

    def identity_ranges(self, system: str) -> list[IdentityRange]:
        """Return the runs of intervals of each stream of a system, with its identity."""
        identified = [stream for stream in self._streams[system] if stream.identity]
        streams.measure([dump.file for dump in self.dumps], identified, self._leap)
        return [
            (round(start * 1e6), round(end * 1e6), stream.identity)
            for stream in identified
            for start, end in stream.runs()
        ]

    # -- decoding ------------------------------------------------------------------------------------

    @cached_property
    def decoder(self) -> CountersDecoder:
        """The decoder of all files."""
        systems = [
            {
                "name": name,
                "ids": group.ids,
                "interval_ends": group.ends,
                "covered": group.covered,
                "nominal_s": group.info.nominal_s,
            }
            for name, group in self.groups.items()
        ]
        files = [dump.file for dump in self.dumps]
        return CountersDecoder(NAME, systems, files, self._plan, self._leap)

    def _follow(self) -> None:
        """Decode every processor once through all files, to find changes and resets."""
        if not self._followed and self._counted:
            self._followed = True
            self.decoder.drain(["cpu_id"])

    def changes(self) -> list[dict[str, Any]]:
        """Return the changes; processors of a system that changed at the same time share a row."""
        self._follow()
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        processors: dict[tuple[Any, ...], set[int]] = {}
        for system, file, offset, cpu, column, since, tod, end, old, new in self.decoder.changes():
            time = end if end is not None else tod
            key = (system, column, time, old, new)
            processors.setdefault(key, set()).add(cpu)
            row = rows.setdefault(
                key,
                leading(system, NAME, file, offset, self._us(tod))
                | {"interval_end": self._us(end) if end is not None else None}
                | {"what": column, "since": self._us(since), "before": old, "after": new},
            )
            row["tod"] = min(row["tod"], self._us(tod))
            row["since"] = max(row["since"], self._us(since))
        for key, row in rows.items():
            row["processors"] = _ranges(processors[key])
        return list(rows.values())

    def _us(self, tod: int) -> int:
        return unix_us_from_tod(tod, self._leap)

    # -- the source interface ------------------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return the problems of framing and decoding; `complete` decodes all records first."""
        if complete and not self._drained and self._counted:
            # Decode all records once, and compare subtypes that report the same data.
            self._followed = self._drained = True
            self.decoder.drain(None, True)
        problems = [*self._problems, *self._file_problems()]
        problems += decoding_problems(self.decoder.problems(), NAME) if self._counted else []
        return problems + list(self.sections.problems(complete=complete))

    def _file_problems(self) -> Iterator[Problem]:
        for dump in self.dumps:
            file = dump.file
            owners = [name for name, group in self.groups.items() if dump in group.dumps]
            # In a file with one system, unreadable data belongs to that system.
            owner = owners[0] if len(owners) == 1 else None
            yield from index_problems(file, owner, NAME)

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Return counter resets: system, microseconds UTC, table, processor, evidence."""
        self._follow()
        if not self._counted:
            return []
        return [
            (system, self._us(tod), table, f"CPU {subject}", evidence)
            for system, tod, table, subject, evidence in self.decoder.resets()
        ]

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file, system, type and subtype."""
        by_id = {id: group.info for group in self.groups.values() for id in group.ids}
        return [
            self._inventory_row(dump, info, row)
            for number, dump in enumerate(self.dumps)
            for info, row in _added((by_id[number, row["record"], row["id"]], row) for row in dump.rows)
        ]

    def _inventory_row(self, dump: SmfDump, info: SystemInfo, row: dict[str, Any]) -> InventoryRow:
        record, subtype, step = row["record"], row["subtype"], row["step"]
        return InventoryRow(
            info.system, NAME, dump.file.path, record, subtype,
            f"SMF {record}" if subtype is None else f"SMF {record}.{subtype}",
            smf_sections.title(record, subtype), "record", row["count"], row["bytes"],
            self._utc(row["first_local"], info), self._utc(row["last_local"], info),
            row["min_length"], row["max_length"],
            "zlens" if smf_sections.is_decoded(record, subtype) else None,
            row["duplicates"], row["out_of_order"], row["gaps"], None if step is None else step / 1e6,
        )  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        """Return one object per file with the results of the index pass."""
        rows = []
        for dump in self.dumps:
            groups = [group for group in self.groups.values() if dump in group.dumps]
            infos = [group.info for group in groups]
            first_us, last_us = time_range(time for info in infos for time in (info.first_us, info.last_us))
            row: dict[str, Any] = {
                "format": f"z/OS SMF dump ({_form(dump.file)})",
                "file": dump.file.path,
                "bytes": dump.file.size,
                "system": ", ".join(info.system for info in infos),
                "first_time": first_us,
                "last_time": last_us,
            }
            if dump.file.compression is not None:
                name, unpacked, members = dump.file.compression
                several = f" of {members} members" if members > 1 else ""
                row["packed"] = f"with {name}{several}: {unpacked:,} bytes, in which offsets count"
            superseded = sum(group.superseded for group in groups)
            if superseded:
                # Counted over all files of these systems, because an interval may be in several.
                row["subtype_2"] = f"not shown in {superseded:,} intervals that have subtype 1"
            rows.append(row)
        return rows


def _added(rows: Iterable[tuple[SystemInfo, dict[str, Any]]]) -> list[tuple[SystemInfo, dict[str, Any]]]:
    """Return one row per system, type and subtype, merged over its streams."""
    merged: dict[tuple[str, int, int], tuple[SystemInfo, dict[str, Any]]] = {}
    for info, row in rows:
        key = (info.system, row["record"], row["subtype"] or 0)
        if key not in merged:
            merged[key] = info, row
            continue
        known = merged[key][1]
        sums = {name: known[name] + row[name] for name in ("count", "bytes", "duplicates", "out_of_order")}
        least = {name: min(known[name], row[name]) for name in ("first_local", "min_length")}
        most = {name: max(known[name], row[name]) for name in ("last_local", "max_length")}
        # The interval of one stream does not apply to both.
        merged[key] = info, known | sums | least | most | {"step": None, "gaps": None}
    return [merged[key] for key in sorted(merged)]


def _form(file: SmfFile) -> str:
    """Return the physical format of a dump."""
    blocks, extended, spanned, segments = file.block_stats
    parts = ["records with RDW"]
    if blocks:
        words = "BDW" if not extended else "extended BDW" if extended == blocks else "BDW, some extended"
        parts.append(f"{blocks:,} blocks with {words}")
    if spanned:
        parts.append(f"{spanned:,} record{'s' if spanned > 1 else ''} spanned in {segments:,} segments")
    return ", ".join(parts)


def _ranges(numbers: Iterable[int]) -> str:
    """Return numbers as ranges, such as 0-3, 7."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("-".join(map(str, part)) for part in parts)
