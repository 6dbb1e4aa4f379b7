"""z/VM monitor data in MONWRITE files and in captures of the live stream (`/dev/monreader` of Linux).

The native index pass finds the records of a file. This module assigns them to systems, selects the layout of
each record type, collects reset evidence, and provides one raw table per record (`d0r2`) and per section of a
record (`d0r16_cpudata`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from zlens._native import MonwriteDecoder, MonwriteFile, sniff, unix_us_from_tod
from zlens.catalog import layout_selection, layouts, plans, roles
from zlens.catalog.raw_tables import load_tables
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import InventoryRow, Progress, RawTable, RecordRead, SystemInfo, machine_name
from zlens.readers.files import decoding_problems, index_problems, open_all, unknown_system
from zlens.readers.row_tables import DecodedTable
from zlens.readers.zvm import intervals as monwrite_times
from zlens.readers.zvm import lost_events as monwrite_lost
from zlens.readers.zvm import record_places
from zlens.readers.zvm import resets as monwrite_resets
from zlens.readers.zvm.intervals import NAME, MonitorSystem
from zlens.readers.zvm.resets import Reset


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether the bytes are monitor data. Raises InputError if a transfer has damaged them."""
    verdict, detail = sniff(first_bytes, size)
    if verdict == "damaged":
        cure = "transfer the file again in binary; from CMS, with record format F and length 4096"
        raise InputError(detail, offset=0, expected="z/VM monitor data as written", cure=cure)
    return verdict in ("monwrite", "monreader")


def open_files(paths: list[str], options: Options, progress: Progress | None) -> MonwriteSource:
    """Find the records of all files; progress counts the bytes of all of them."""
    files, problems = open_all(paths, NAME, MonwriteFile.open, progress)
    return MonwriteSource(files, options, problems)


class _Identity(NamedTuple):
    name: str | None
    values: dict[str, Any]
    call_level: bytes | None
    #: Whether the file uses the zlens-sim layouts.
    sim: bool

    @property
    def machine(self) -> str | None:
        return machine_name(*(self.values.get(role) or None for role in ("machine_type", "serial")))


def _is_elsewhere(
    recorded: Iterable[tuple[str | None, int, int]], machine: str | None, span: tuple[int, int]
) -> bool:
    """Return whether any recording, with its first and last time, overlaps a range on another machine."""
    return any(
        other is not None and machine is not None and other != machine and first < span[1] and span[0] < last
        for other, first, last in recorded
    )


class _MonwriteTables(Mapping[str, list[RawTable]]):
    """Raw tables by name; the layouts of a record are read when one of its tables is used."""

    def __init__(self, source: MonwriteSource) -> None:
        self._source = source
        self._tables: dict[str, list[RawTable]] = {}

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._parts(name))

    def __getitem__(self, name: str) -> list[RawTable]:
        parts = self._parts(name)
        if not parts:
            raise KeyError(name)
        return parts

    def __iter__(self) -> Iterator[str]:
        for record in self._source.records():
            yield from self._source.tables_of(record)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _parts(self, name: str) -> list[RawTable]:
        if name not in self._tables:
            record = layouts.record_of_table(name) or ""
            self._tables[name] = [
                self._source.raw_table(system, record, plan)
                for system in self._source.groups
                # The layouts of two systems may have different sections.
                if record in system.types
                for plan in self._source.plans(system, record)
                if plan["table"] == name
            ]
        return self._tables[name]


class MonwriteSource:
    """All MONWRITE files of an input."""

    name = NAME

    def __init__(self, files: list[MonwriteFile], options: Options, problems: list[Problem]) -> None:
        self._options = options
        self._leap = options.leap or 0
        self._problems = problems
        self._choices: dict[tuple[str, str], dict[int, layout_selection.LayoutSelection]] = {}
        self._plans: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._decoders: dict[tuple[str, str], MonwriteDecoder] = {}
        self._full: dict[str, MonwriteDecoder] = {}
        self._drained: set[str] = set()
        self._all_at_once = False
        self.groups = self._group(files)
        self.systems = [group.info for group in self.groups]
        self.tables: Mapping[str, list[RawTable]] = _MonwriteTables(self)

    # -- systems -------------------------------------------------------------------------------------

    def _group(self, files: list[MonwriteFile]) -> list[MonitorSystem]:
        groups: dict[str, MonitorSystem] = {}
        parts = [part for file in files for part in self._parts(file)]
        ordered = sorted(parts, key=lambda f: (f.first_tod or 0, f.last_tod or 0, f.path))
        identities = [self._identity(file) for file in ordered]
        real = {identity.name for identity in identities if not identity.sim}
        recorded: dict[str, list[tuple[str | None, int, int]]] = {}
        for known in (system for system in self._options.known if system.source == NAME):
            spans = [(identity.get("machine"), start, end) for start, end, identity in known.ranges]
            recorded.setdefault(known.name, []).extend(spans)
        for file, identity in zip(ordered, identities, strict=True):
            recorded_name = name = identity.name or unknown_system(file.path)
            machine = identity.machine
            span = self._us(file.first_tod) or 0, self._us(file.last_tod) or 0
            name_on_machine = f"{name}-{machine.partition('-')[2]}" if machine else name
            # A system recorded on two machines at the same time is two systems; otherwise it moved.
            if name_on_machine in recorded or _is_elsewhere(recorded.get(name, ()), machine, span):
                name = name_on_machine
            recorded.setdefault(name, []).append((machine, *span))
            if identity.sim and name in real:
                # Data in the zlens-sim layouts is never combined with recorded data.
                name = f"{name}-{layouts.SIM}"
            group = groups.get(name)
            if group is None:
                values = identity.values
                info = SystemInfo(
                    name,
                    NAME,
                    machine_type=values.get("machine_type") or None,
                    model=values.get("model") or None,
                    serial=values.get("serial") or None,
                    lpar=values.get("lpar") or None,
                    release=_release(values.get("release")),
                    lpar_number=values.get("lpar_number"),
                    threads={
                        role.removeprefix("threads_"): count
                        for role, count in values.items()
                        if role.startswith("threads_") and count
                    },
                    utc_offset_s=values.get("zone_s"),
                    leap_s=self._leap,
                    nominal_s=values.get("interval_s") or None,
                    recorded_name=recorded_name if recorded_name != name else None,
                )
                group = groups[name] = MonitorSystem(info, identity.call_level)
            elif machine and group.info.last_machine not in (None, machine):
                group.info.moves.append((span[0], machine))
            group.files.append(file)
            if file.path not in group.info.files:
                group.info.files.append(file.path)
        for group in groups.values():
            monwrite_times.set_intervals(group)
            group.remarks += monwrite_lost.lost_event_problems(group)
        return list(groups.values())

    def _parts(self, file: MonwriteFile) -> list[MonwriteFile]:
        """Return the file, or its parts if it contains consecutive recordings of several systems."""
        configurations = [] if file.capture else file.configurations()
        if len(configurations) < 2:
            return [file]
        records = dict(file.records(*layouts.record_key("D1R4"), len(configurations)))
        starts: list[int] = []
        previous: tuple[Any, ...] | None = None
        for control, offset in configurations:
            identity = self._identity_of(records[offset]) if offset in records else None
            if identity is None:
                continue
            if previous is None or any(
                old != new for old, new in zip(previous, identity, strict=True) if old and new
            ):
                starts.append(control)
                previous = identity
        if len(starts) < 2:
            return [file]
        starts[0] = 0
        parts = [file.slice(*span) for span in itertools.pairwise([*starts, file.size])]
        for part in parts[1:]:
            name = self._identity(part).name or "without a name"
            detail = f"the recording of another system begins here, {name}; it is read separately"
            start = starts[parts.index(part)]
            self._problems.append(Problem(None, NAME, file.path, start, "D1R4", "section", detail, None))
        return parts

    def _identity_of(self, data: bytes) -> tuple[Any, ...] | None:
        """Return name, machine type and serial number from a system configuration record."""
        layout = layout_selection.select_layout("D1R4", len(data)).layout
        if layout is None:
            return None
        values = plans.decode(layout, data)
        if roles.value_of("system_config", "release", values) == layouts.SIM_MARK:
            layout = layout_selection.select_layout("D1R4", len(data), release=layouts.SIM).layout
            values = plans.decode(layout, data) if layout is not None else values
        names = ("system_id", "machine_type", "serial")
        return tuple(roles.value_of("system_config", role, values) for role in names)

    def _identity(self, file: MonwriteFile) -> _Identity:
        """Return the identity of the system from the configuration records of a file."""
        config = self._first(file, "D1R4")
        pack = None
        if config is not None and roles.value_of("system_config", "release", config) == layouts.SIM_MARK:
            pack = layouts.SIM
            config = self._first(file, "D1R4", pack)
        profile = self._first(file, "D1R9", pack)
        own_partition = self._first(file, "D0R15", pack)
        values: dict[str, Any] = {}
        call_level: bytes | None = None
        if config is not None:
            for role in roles.entity("system_config").roles:
                values[role] = roles.value_of("system_config", role, config)
            raw = values.pop("call_level", None)
            call_level = bytes.fromhex(raw) if isinstance(raw, str) else None
        if profile is not None:
            interval_s = roles.value_of("sample_profile", "interval_s", profile)
            # That of a damaged record may be negative: the usual distance of interval ends is used instead.
            values["interval_s"] = interval_s if interval_s is not None and interval_s > 0 else None
        name = values.get("system_id") or values.get("lpar")
        if not name and own_partition is not None:
            name = roles.value_of("own_partition", "name", own_partition)
            values["lpar"] = name
        return _Identity(name or None, values, call_level, pack is not None)

    def _first(self, file: MonwriteFile, record: str, release: str | None = None) -> dict[str, Any] | None:
        """Decode the first record of a type; None if there is no record or no layout."""
        records = file.records(*layouts.record_key(record), 1)
        if not records:
            return None
        _, data = records[0]
        layout = layout_selection.select_layout(record, len(data), release=release).layout
        if layout is None:
            return None
        values = plans.decode(layout, data)
        # Bit strings of up to eight bytes are numbers; bits are numbered from the left.
        for bits in layout.fields:
            if bits.type == "bitstring" and isinstance(values.get(bits.name), int):
                values[bits.name] = values[bits.name].to_bytes(bits.length).hex()
        return values

    # -- layouts and plans ---------------------------------------------------------------------------

    def records(self) -> list[str]:
        """Return the records of the input that are in the catalog, by domain and number."""
        records = {record for group in self.groups for record in group.types}
        return sorted(records & set(layouts.records()), key=layouts.record_key)

    def tables_of(self, record: str) -> list[str]:
        """Return the names of the tables of a record and of its sections."""
        names: dict[str, None] = {}
        for group in self.groups:
            if record in group.types:
                names.update((plan["table"], None) for plan in self.plans(group, record))
        return list(names)

    def choices(self, group: MonitorSystem, record: str) -> dict[int, layout_selection.LayoutSelection]:
        """Return the layout of each length of a record of one system."""
        key = (group.info.system, record)
        if key not in self._choices:
            self._choices[key] = {
                length: layout_selection.select_layout(
                    record, length, callevel=group.call_level, release=group.info.release
                )
                for length in group.types[record]
            }
        return self._choices[key]

    def plans(self, group: MonitorSystem, record: str) -> list[dict[str, Any]]:
        """Return the decoder plans of a record of one system, first the record, then its sections."""
        key = (group.info.system, record)
        if key not in self._plans:
            layout_by_length = {
                length: choice.layout
                for length, choice in self.choices(group, record).items()
                if choice.layout is not None
            }
            if not layout_by_length and (empty_layout := layouts.layout_without_fields(record)) is not None:
                # The event is reported even if no field of the record is known.
                layout_by_length = {empty_layout.length: empty_layout}
            self._plans[key] = plans.record_plans(record, layout_by_length) if layout_by_length else []
        return self._plans[key]

    def raw_table(self, group: MonitorSystem, record: str, plan: dict[str, Any]) -> RawTable:
        """Return the raw table of a system for a record or one of its sections."""
        leading, name = load_tables("zvm/monitor_tables").leading, plan["table"]
        return DecodedTable(
            name,
            lambda: (*leading, *plans.plan_columns(plan)),
            lambda columns: self.decoder(group, record).stream(name, columns),
        )

    def read_record(self, system: str, table: str, file: str, offset: int) -> RecordRead | None:
        """Return a record that is read again, with the places of the columns of a raw table."""
        domain, number, section = record_places.split_table(table)
        data = record_places.read_bytes(file, offset, domain, number)
        group = next((group for group in self.groups if group.info.system == system), None)
        if data is None or group is None:
            return None
        choice = self.choices(group, layouts.record_id(domain, number)).get(len(data))
        return record_places.find_places(choice.layout if choice else None, section, data)

    # -- decoding ------------------------------------------------------------------------------------

    def decode_all(self) -> None:
        """Decode all tables in one pass, for callers that read every table completely."""
        self._all_at_once = True
        self._drained.update(group.info.system for group in self.groups)

    def decoder(self, group: MonitorSystem, record: str) -> MonwriteDecoder:
        """Return the decoder of a record's tables for one system."""
        if self._all_at_once:
            return self.full_decoder(group)
        key = (group.info.system, record)
        if key not in self._decoders:
            # Threads share the decoder of the first one, because it has the problems that they find.
            self._decoders.setdefault(key, self.decode(group, self.plans(group, record)))
        return self._decoders[key]

    def reset_evidence(self, group: MonitorSystem, planned: list[dict[str, Any]]) -> list[Reset]:
        """Return when counters of the planned tables were reset."""
        return monwrite_resets.resets(group.files, group.types, partial(self.choices, group), planned)

    def decode(
        self, group: MonitorSystem, planned: list[dict[str, Any]], resets: list[Reset] | None = None
    ) -> MonwriteDecoder:
        """Return a decoder; without `resets`, the system's own records are the evidence of resets."""
        if resets is None:
            resets = self.reset_evidence(group, planned)
        system = {
            "name": group.info.system,
            "source": NAME,
            "files": group.files,
            "interval_ends": group.ends,
            "lost_ends": group.lost_ends,
            "nominal_s": group.info.nominal_s,
            "resets": resets,
            "repeats": group.repeats,
        }
        return MonwriteDecoder([system], msgspec.json.encode(planned).decode(), self._leap)

    # -- the source interface ------------------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return the problems of framing, layouts and decoding; `complete` decodes all records first."""
        problems = list(self._problems)
        for group in self.groups:
            if complete:
                self._drain(group)
            for file in group.files:
                problems += index_problems(file, group.info.system, NAME)
            problems += group.remarks
            problems += self._layout_problems(group, quick=not complete)
            problems += self._decoding_problems(group)
        return problems

    def _layout_problems(self, group: MonitorSystem, *, quick: bool) -> Iterator[Problem]:
        """Yield problems of records without a layout, and of those longer or shorter than their layout.

        With `quick`, the latter only for layouts that were already needed.
        """
        catalog = set(layouts.records())
        first = self._first_seen(group)
        for record, counts in sorted(group.types.items(), key=lambda item: layouts.record_key(item[0])):
            file, offset = first[record]
            records = sum(counts.values())
            if record not in catalog:
                lost = sum((length - layouts.HEADER_LENGTH) * n for length, n in counts.items())
                detail = f"no layout is known; {records:,} records are counted but not decoded"
                yield group.problem(file, offset, record, "no_layout", detail, lost)
            elif not quick or (group.info.system, record) in self._choices:
                for length, choice in self.choices(group, record).items():
                    for problem in choice.problems:
                        detail = f"{problem.detail}; {counts[length]:,} records"
                        lost = problem.bytes * counts[length]
                        yield group.problem(file, offset, record, problem.kind, detail, lost)

    def _first_seen(self, group: MonitorSystem) -> dict[str, tuple[str, int]]:
        first: dict[str, tuple[str, int]] = {}
        for file in group.files:
            for row in file.inventory():
                record = layouts.record_id(row["domain"], row["record"])
                if record not in first or (
                    first[record][0] == file.path and row["first_offset"] < first[record][1]
                ):
                    first[record] = (file.path, row["first_offset"])
        return first

    def _decoding_problems(self, group: MonitorSystem) -> Iterator[Problem]:
        name = group.info.system
        full = self._full.get(name) if name in self._drained else None
        # A copy, because other threads add decoders meanwhile.
        decoders = [decoder for (system, _), decoder in [*self._decoders.items()] if system == name]
        decoders += [self._full[name]] if name in self._full else []
        seen: set[Problem] = set()
        for decoder in decoders:
            for problem in decoding_problems(decoder.problems(), NAME):
                # The full decoder has reported all problems of records. A file may change after that.
                if problem not in seen and (full is None or decoder is full or problem.record is None):
                    seen.add(problem)
                    yield problem

    def all_plans(self, group: MonitorSystem) -> list[dict[str, Any]]:
        """Return the decoder plans of all tables of a system."""
        catalog = set(layouts.records())
        return [
            plan
            for record in sorted(group.types, key=layouts.record_key)
            if record in catalog
            for plan in self.plans(group, record)
        ]

    def full_decoder(self, group: MonitorSystem) -> MonwriteDecoder:
        """Return the decoder of all tables of a system."""
        name = group.info.system
        if name not in self._full:
            self._full.setdefault(name, self.decode(group, self.all_plans(group)))
        return self._full[name]

    def _drain(self, group: MonitorSystem) -> None:
        """Decode every table of a system once, so that all its problems are known."""
        decoder = self.full_decoder(group)
        if group.info.system not in self._drained:
            for _ in decoder.batches():
                pass
            self._drained.add(group.info.system)

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        """Return counter resets of all tables: system, microseconds UTC, table, subject, evidence."""
        resets: dict[tuple[str, int, str, str, str], None] = {}
        for group in self.groups:
            self._drain(group)
            for system, tod, table, subject, evidence in self.full_decoder(group).resets():
                time = unix_us_from_tod(tod, self._leap)
                resets[(system, time, table, subject, evidence)] = None
        return list(resets)

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file, record and class."""
        catalog = set(layouts.records())
        return _merged(
            self._inventory_row(group, file, row, catalog, with_layouts)
            for group in self.groups
            for file in group.files
            for row in file.inventory()
        )

    def _inventory_row(
        self, group: MonitorSystem, file: MonwriteFile, row: dict[str, Any], catalog: set[str], named: bool
    ) -> InventoryRow:
        record = layouts.record_id(row["domain"], row["record"])
        head = layouts.record_info(record) if record in catalog else None
        return InventoryRow(
            group.info.system, NAME, file.path, row["domain"], row["record"], record,
            head.title if head else "not known to the catalog", "sample" if row["sample"] else "event",
            row["count"], row["bytes"], self._us(row["first_tod"]), self._us(row["last_tod"]),
            row["min_length"], row["max_length"],
            self._layout_name(group, record) if named and head is not None else None,
        )  # fmt: skip

    def _layout_name(self, group: MonitorSystem, record: str) -> str | None:
        names = {
            layout.pack if layout.pack == layouts.SIM else f"{layout.pack} {layout.release}"
            for choice in self.choices(group, record).values()
            if (layout := choice.layout) is not None
        }
        return ", ".join(sorted(names)) or None

    def _us(self, tod: int | None) -> int | None:
        return unix_us_from_tod(tod, self._leap) if tod is not None else None

    def info(self) -> list[dict[str, Any]]:
        """Return one object per file with the results of the index pass."""
        parts: dict[str, list[tuple[MonitorSystem, MonwriteFile]]] = {}
        for group in self.groups:
            for file in group.files:
                parts.setdefault(file.path, []).append((group, file))
        return [
            {
                "format": "z/VM monreader capture" if of_file[0][1].capture else "z/VM MONWRITE",
                "file": path,
                "bytes": of_file[0][1].size,
                "system": ", ".join(dict.fromkeys(group.info.system for group, _ in of_file)),
                "first_time": min(filter(None, (self._us(f.first_tod) for _, f in of_file)), default=None),
                "last_time": max(filter(None, (self._us(f.last_tod) for _, f in of_file)), default=None),
                "complete": all(file.complete for _, file in of_file),
            }
            for path, of_file in parts.items()
        ]


def _merged(rows: Iterable[InventoryRow]) -> list[InventoryRow]:
    """Return one row per system, file, record and class, merged over all parts of a file."""
    merged: dict[tuple[Any, ...], InventoryRow] = {}
    for row in rows:
        key = (row.system, row.file, row.name, row.kind)
        other = merged.setdefault(key, row)
        if other is not row:
            merged[key] = replace(
                other,
                count=other.count + row.count,
                bytes=(other.bytes or 0) + (row.bytes or 0),
                first_us=min(filter(None, (other.first_us, row.first_us)), default=None),
                last_us=max(filter(None, (other.last_us, row.last_us)), default=None),
                min_length=min(filter(None, (other.min_length, row.min_length)), default=None),
                max_length=max(filter(None, (other.max_length, row.max_length)), default=None),
            )
    return list(merged.values())


_RELEASE = (
    re.compile(r"V\s?(\d+)\s?R\s?(\d+)", re.IGNORECASE),
    re.compile(r"(\d+)\.(\d+)"),
    re.compile(r"\b0?(\d)(\d)\d\b"),
)


def _release(text: str | None) -> str | None:
    """Return the level of CP as 5.3, from 'V5R3M0', '5.3.0' or '530'; for a synthetic file, its pack."""
    if text == layouts.SIM_MARK:
        return layouts.SIM
    for pattern in _RELEASE:
        match = pattern.search(text or "")
        if match:
            return f"{match[1]}.{match[2]}"
    return None
