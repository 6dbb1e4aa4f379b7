"""CPU MF and PAI counters on Linux: output of perf stat, lshwc, lspai, lscpumf, and /proc/service_levels.

A file identifies its machine only by its counter names; lshwc JSON adds the counter versions and the host.
Other files of the same system provide the rest: lscpumf output or /proc/service_levels for counter versions
and speed, /proc/sysinfo for machine type and name. Without a time of day, which perf prints only to files
written with -o, times count from 1970.
"""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import field
from msgspec.structs import astuple

from zlens.catalog import cpumf, generations, linux_events, pai
from zlens.catalog.interval_flags import GAP, SHORT
from zlens.catalog.linux_events import LinuxEvent, PossibleGenerations
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import Problem
from zlens.inputs.source import Interval, InventoryRow, Progress, RawTable, SystemInfo
from zlens.inputs.unix_time import LATEST_US
from zlens.readers.files import NO_END, NotedFile, compare_repeat, read_each, unknown_system
from zlens.readers.linux import counter_forms, perf
from zlens.readers.linux.clock import ReadingClock
from zlens.readers.linux.counter_forms import TITLES, form_of
from zlens.readers.linux.counter_store import NAME, CounterSample, CounterStore, ToolRun
from zlens.readers.linux.lshwc import Facility
from zlens.readers.linux.perf import Count, PerfReading
from zlens.readers.recognition import FOLDER_SOURCE

__all__ = ["NAME", "LinuxCounterSource", "detect", "open_files"]

#: Limits on values, readings and names stored from one input, in case a file has another format.
MAX_VALUES = 3_000_000
MAX_READINGS = 200_000
MAX_NAMES = 20_000
#: Number of unrecognized lines after which a file is abandoned.
MAX_STRANGE = 100_000
#: Maximum bytes of an lscpumf list, with the descriptions of all counters.
MAX_FACILITY = 1 << 20
#: Maximum bytes of a line; the names of all counters in lshwc need 10 KB.
MAX_LINE = 1 << 20
#: Maximum number of bytes searched for the end of a line.
MAX_SKIPPED = 64 << 20
#: Maximum bytes of lshwc JSON or pairs, which are read at once, because JSON is one object.
MAX_JSON = 64 << 20

#: A system has some hundred control groups; the user selects the groups to count.
MAX_CGROUPS = 1_000

_SECOND = 1_000_000
#: Facts that a control group inherits from its system.
_OF_MACHINE = ("machine_type", "model", "serial", "lpar")
_EXPECTED = (
    "the output of perf stat (text, -x or -j), lshwc (CSV, JSON or pairs), lspai (CSV or JSON) or lscpumf "
    "on a Linux on Z"
)
_INT_MAX = 2**63 - 1
_LOSING = frozenset({"truncated", "resync", "length"})


def detect(first_bytes: bytes, size: int) -> bool:
    """Return whether a file is the output of one of these tools."""
    return form_of(first_bytes) is not None


def open_files(paths: list[str], options: Options, progress: Progress | None = None) -> LinuxCounterSource:
    """Read the counters of all files. Raises InputError if none can be read."""
    source = LinuxCounterSource(options.tz)
    error = read_each(paths, source.read, source.refuse, progress)
    source.finish(error)
    return source


class _CounterFile(NotedFile, kw_only=True):
    """One file and the results of reading it."""

    info: SystemInfo
    run: ToolRun
    form: str = ""
    facility: Facility = field(default_factory=Facility)
    events: dict[str, LinuxEvent] = field(default_factory=dict)
    #: Number of readings of the system (None), and of each of its control groups.
    readings: Tally[str | None] = field(default_factory=Tally)
    parts: set[str] = field(default_factory=set)
    cpus: set[int] = field(default_factory=set)
    machine: PossibleGenerations | None = None


class LinuxCounterSource:
    """All files of an input with Linux counters."""

    name = NAME
    beside = FOLDER_SOURCE

    def __init__(self, zone: dt.tzinfo | None) -> None:
        self.zone = zone
        self.systems: list[SystemInfo] = []
        self.store = CounterStore()
        self.tables: dict[str, list[RawTable]] = {table.name: [table] for table in self.store.tables}
        self._files: list[_CounterFile] = []
        self._resets: list[tuple[SystemInfo, int, int | None, str]] = []
        self._ends: dict[int, dict[int, tuple[str, int]]] = {}
        #: Control groups of the system of a file, by its id.
        self._cgroups: dict[int, dict[str, SystemInfo]] = {}

    # -- reading -------------------------------------------------------------------------------------

    def refuse(self, path: str, error: InputError) -> None:
        self._files[-1].note("changed", error.message, 0)

    def _name(self, path: str) -> str:
        names = {file.info.system for file in self._files}
        name = unknown_system(path)
        if name in names:
            name = f"unknown-{Path(path).parent.name}-{Path(path).stem}"
        while name in names:
            name += "'"
        return name

    def read(self, path: str, step: Callable[[int], None]) -> None:
        """Read a file. Raises OSError."""
        info = SystemInfo(self._name(path), NAME)
        file = _CounterFile(path, info=info, run=ToolRun(path, info))
        self._files.append(file)
        with open(file.path, "rb") as raw:
            file.size = os.fstat(raw.fileno()).st_size
            first_bytes = raw.read(64 * 1024)
            file.form = form_of(first_bytes) or ""
            raw.seek(0)
            if not file.form:
                file.note("changed", "this is no longer the output of a counter tool; not read", 0)
                return
            if file.form in counter_forms.TEXTS:
                if file.size > MAX_JSON:
                    title = TITLES[file.form]
                    detail = f"only the first {MAX_JSON:,} bytes of {title} are read; write CSV instead"
                    file.note("length", detail, MAX_JSON)
                text = raw.read(MAX_JSON).decode("utf-8", "replace")
                step(len(text))
                file.facility, readings = counter_forms.text_readings(file.form, text, file.note)
            else:
                lines = _lines(raw, file, step)
                file.facility, readings = counter_forms.line_readings(
                    file.form, first_bytes, lines, file.note
                )
            comments = first_bytes.decode("utf-8", "replace") if file.form.startswith("perf") else ""
            if host := file.facility.host or perf.host(comments):
                known = (other.info for other in self._files if other.info.system == host)
                file.info = file.run.info = next(known, file.info)
                file.info.system = host
            self._add_readings(file, readings)
            if os.fstat(raw.fileno()).st_size != file.size:
                file.note("changed", "the file changed while it was read", file.size)

    def _add_readings(self, file: _CounterFile, readings: Iterator[PerfReading]) -> None:
        clock = ReadingClock(file.info, file.note, self.zone)
        previous: dict[tuple[Any, ...], int] = {}
        run = -1
        for reading in readings:
            values = len(self.store.counters) + len(reading.counts)
            if (
                values > MAX_VALUES
                or len(self.store.moments) >= MAX_READINGS
                or len(self.store.texts.texts) > MAX_NAMES
            ):
                detail = "more values than zlens stores of one input; not read from here on"
                file.note("length", detail, reading.offset)
                return
            if reading.run != run:
                run = reading.run
                previous.clear()
            end, seconds = clock.end_and_length(reading)
            if not 0 <= end <= LATEST_US:
                file.note("time", "a sample with an invalid timestamp; not read", reading.offset)
                continue
            counts: dict[str | None, list[Count]] = {}
            for count in self._once(file, reading):
                counts.setdefault(count.cgroup, []).append(count)
            for cgroup, group_counts in counts.items():
                info = file.info if cgroup is None else self._cgroup(file, cgroup)
                if info is None or not self._is_new(file, info, end, group_counts, reading.offset):
                    continue
                sample = CounterSample(file.run, info, reading.offset, end, seconds, nth=reading.run)
                rows = [self._value(file, reading, count, previous, end) for count in group_counts]
                self.store.append(sample, rows)
                file.readings[cgroup] += 1

    def _once(self, file: _CounterFile, reading: PerfReading) -> Iterator[Count]:
        """Yield the counts of a reading without duplicates."""
        counts_by_key: dict[tuple[Any, ...], Count] = {}
        for count in reading.counts:
            first = counts_by_key.setdefault(count.key, count)
            if first is count:
                yield count
            elif first.shown == count.shown:
                detail = f"{count.event[:60]} appears twice at one timestamp; read once"
                file.note("duplicate", detail, reading.offset)
            else:
                detail = (
                    f"{count.event[:60]} appears again at one timestamp with another value, {count.shown}; "
                    f"the first, {first.shown}, is shown"
                )
                file.note("conflict", detail, reading.offset)

    def _is_new(self, file: _CounterFile, info: SystemInfo, end: int, counts: list[Count], at: int) -> bool:
        """Return whether the time of a reading is new for a system; report a duplicate otherwise."""
        digest = hash(tuple(map(astuple, counts)))
        ends = self._ends.setdefault(id(info), {})
        if end not in ends:
            ends[end] = file.path, digest
            return True
        path, known_digest = ends[end]
        kind, difference = compare_repeat(digest == known_digest)
        file.note(kind, f"a sample with this timestamp was read in {path}{difference}; not read", at)
        return False

    def _cgroup(self, file: _CounterFile, name: str) -> SystemInfo | None:
        """Return the system of a control group; None if there are too many."""
        cgroups = self._cgroups.setdefault(id(file.info), {})
        if name not in cgroups and len(cgroups) >= MAX_CGROUPS:
            file.note("length", f"more than {MAX_CGROUPS:,} control groups; {name[:60]} is not read", None)
            return None
        return cgroups.setdefault(name, SystemInfo("", NAME))

    def _value(
        self,
        file: _CounterFile,
        reading: PerfReading,
        count: Count,
        previous: dict[tuple[Any, ...], int],
        end: int,
    ) -> tuple[Any, ...]:
        """Return the columns of an event's value that do not depend on the machine."""
        event = count.event[:120]
        if count.number is not None:
            event = f"{event}({count.number})"
        if event not in file.events:
            if file.form.startswith("lshwc"):
                label = count.event if count.number is not None else event
                file.events[event] = linux_events.parse_lshwc_label(label, count.number)
            else:
                file.events[event] = linux_events.parse_perf_event(event)
        value, total = count.value, None
        if value is not None and value > _INT_MAX:
            detail = f"{event}: {value:,} exceeds the range of a counter; it is NULL"
            file.note("length", detail, reading.offset)
            value = None
        if reading.absolute:
            total, previous_total = value, previous.get(count.key)
            value = total - previous_total if total is not None and previous_total is not None else None
            if value is not None and value < 0:
                self._resets.append((file.info, end, count.cpu, f"{event} stepped back"))
                value = None
            if total is not None:
                previous[count.key] = total
        if count.cpu is not None:
            file.cpus.add(count.cpu)
        if count.group is not None:
            file.parts.add(count.group)
        return (
            count.cpu, count.group, event, value, total, count.state, count.running_pct, count.amount,
            count.unit,
        )  # fmt: skip

    # -- matching files to systems -------------------------------------------------------------------

    def finish(self, error: InputError | None) -> None:
        """Determine machines, intervals and systems. Raises InputError, `error` if given, without a file."""
        if not any(file.form for file in self._files):
            message = "this is no longer the output of a counter tool"
            raise error or InputError(message, file=self._files[0].path, expected=_EXPECTED)
        for file, run in ((file, file.run) for file in self._files):
            for facts in self._facilities(file):
                run.csvn = facts.csvn if run.csvn is None else run.csvn
                run.cfvn = facts.cfvn if run.cfvn is None else run.cfvn
                run.cpsp = facts.cpsp if run.cpsp is None else run.cpsp
        samples_by_run: dict[int, list[CounterSample]] = {}
        for sample in self.store.moments:
            samples_by_run.setdefault(id(sample.run), []).append(sample)
        for file in self._files:
            counters = [event for event in file.events.values() if event.counter]
            listed = {name: n for facts in self._facilities(file) for name, n in facts.counters.items()}
            listed_events = [LinuxEvent(*item) for item in listed.items() if item[0] in linux_events.names()]
            file.machine = linux_events.possible_generations([*counters, *listed_events])
            if counters and not file.machine.generations:
                detail = "no machine has all these counters; only those common to all machines are shown"
                file.note("section", detail, 0)
            file.run.generation_names = file.machine.generation_names
            self._report_missing(file, counters, samples_by_run.get(id(file.run), []))
        self.resolve()
        self._collect_systems()

    def _facilities(self, file: _CounterFile) -> list[Facility]:
        """Return facts about the facility from the file and from one next to it."""
        neighbors = [
            other.facility
            for other in self._files
            if other.form == "facility" and _in_same_folder(other.path, file.path)
        ]
        versions = [facts for facts in neighbors if facts.csvn is not None or facts.cpsp is not None]
        lists = [facts for facts in neighbors if facts.counters]
        # If there are two, either may be from another system.
        return [file.facility, *(facts for group in (versions, lists) if len(group) == 1 for facts in group)]

    def _report_missing(
        self, file: _CounterFile, counter_events: Sequence[LinuxEvent], samples: list[CounterSample]
    ) -> None:
        """Report missing counters."""
        if file.facility.absent:
            detail = f"the system has no counters: {file.facility.absent!r}; they are not available to guests"
            file.note("section", detail, None)
        if file.form == "facility" or not file.form:
            return
        if not file.readings:
            file.note("section", "it contains no event counts", None)
            return
        kinds = {perf.level(part) for part in file.parts}
        if None in kinds:
            file.note("section", "counts of threads are in no metric: they do not belong to a CPU", None)
        if len(kinds - {None}) > 1:
            detail = "counts of several kinds of parts of the machine; metrics are of those printed first"
            file.note("section", detail, None)
        if not counter_events:
            if not any(map(pai.parse_perf_event, file.events)):
                file.note("section", "none of these events is a CPU MF or PAI counter", None)
            return
        counters = {name for name, event in file.events.items() if event.counter}
        states: Tally[str | None] = Tally()
        for sample in samples:
            counter_states = self.store.values(sample, "counter", "state")
            states.update(state for counter, state in counter_states if counter in counters)
        unsupported, uncounted = states[perf.NOT_SUPPORTED], states[perf.NOT_COUNTED]
        without = unsupported + uncounted
        if without:
            extent = f"not all of its counters, {without:,} values are missing"
            if without == sum(states.values()):
                extent = "none of its counters"
            detail = (
                f"the system counted {extent} ({unsupported:,} not supported, {uncounted:,} not counted): "
                "counters are absent inside a guest, or not authorized for the partition; they are NULL"
            )
            file.note("section", detail, None)

    def resolve(self) -> None:
        """Map counter names to numbers for the machine."""
        for file in self._files:
            machine = file.machine or PossibleGenerations(())
            type, version = file.info.machine_type, file.run.csvn
            generation, _ = cpumf.choose_generation(type, version, file.run.generation_names)
            if generation in generations.names() and (type or version is not None):
                machine = PossibleGenerations((str(generation),))
            elif not machine.generations:
                machine = PossibleGenerations(generations.names())
            file.run.generation = generation
            unknown_events = []
            for name, event in file.events.items():
                number = machine.number(event) if event.counter else None
                if number is not None and event.name is not None:
                    by_generation = linux_events.names()[event.name]
                    if not any(by_generation.get(name) == number for name in machine.generations):
                        number = None
                if event.counter and number is None:
                    unknown_events.append(name)
                file.run.numbers[name] = number
            self._note_unknown(file, machine, unknown_events)

    def _note_unknown(self, file: _CounterFile, machine: PossibleGenerations, events: list[str]) -> None:
        file.notes = [note for note in file.notes if note[0] != "no_layout"]
        if events:
            more = f" and {len(events) - 5} more" if len(events) > 5 else ""
            any_machine = machine.generations == generations.names()
            machines = "no known machine" if any_machine else " or ".join(machine.generations)
            detail = f"{', '.join(events[:5])}{more}: no known number on {machines}; not used in any metric"
            file.notes.append(("no_layout", detail, None))

    def take_identity_from(self, others: Sequence[SystemInfo]) -> None:
        """Take machine type and name from other sources of the same system.

        Systems match if their files are in one folder, or if the input has only one system of each source.
        """
        files = list({id(file.info): file for file in self._files}.values())
        for file in files:
            same_folder = [i for i in others if any(_in_same_folder(path, file.path) for path in i.files)]
            same_name = [info for info in others if info.system == file.info.system]
            candidates = same_name or same_folder or (list(others) if len(files) == 1 else [])
            if len({info.system for info in candidates}) != 1:
                continue
            other = candidates[0]
            info = file.info
            for name in _OF_MACHINE:
                if getattr(info, name) is None:
                    setattr(info, name, getattr(other, name))
            if info.system.startswith("unknown-") and other.system not in {i.system for i in self.systems}:
                info.system = other.system
            self._name_cgroups(info)
        self.systems.sort(key=lambda info: info.system)
        self.resolve()

    def _collect_systems(self) -> None:
        """Collect the systems with their intervals."""
        by_system: dict[int, list[CounterSample]] = {}
        for sample in self.store.moments:
            by_system.setdefault(id(sample.info), []).append(sample)
        for info in {id(file.info): file.info for file in self._files}.values():
            files = [file for file in self._files if file.info is info]
            cgroups = self._cgroups.get(id(info), {}).values()
            self._name_cgroups(info)
            for system in (info, *cgroups):
                system.files = [file.path for file in files]
                self._set_intervals(system, by_system.get(id(system), []))
            self.systems += cgroups
            if all(file.form == "facility" for file in files) and len(self._files) > len(files):
                # The file describes a system whose counters are in another file.
                continue
            if info.intervals or not cgroups:
                self.systems.append(info)
        self.systems.sort(key=lambda info: info.system)

    def _set_intervals(self, info: SystemInfo, samples: list[CounterSample]) -> None:
        samples.sort(key=lambda sample: sample.end_us)
        lengths = _flag(samples)
        if lengths:
            info.nominal_s = float(max(lengths, key=lambda s: (lengths[s], s)))
        intervals = {m.end_us: Interval(m.end_us, m.seconds, m.flag) for m in samples}
        info.intervals = list(intervals.values())
        if samples:
            info.first_us = samples[0].end_us - round((samples[0].seconds or 0) * _SECOND)
            info.last_us = samples[-1].end_us

    def _name_cgroups(self, info: SystemInfo) -> None:
        """Copy facts about the machine and the times of a system to its control groups."""
        for cgroup, cgroup_info in self._cgroups.get(id(info), {}).items():
            cgroup_info.system = f"{info.system}-{cgroup}"
            for name in (*_OF_MACHINE, "local_time", "utc_offset_s"):
                setattr(cgroup_info, name, getattr(info, name))

    # -- the source interface ------------------------------------------------------------------------

    def problems(self, *, complete: bool = False) -> list[Problem]:
        """Return the problems of reading, which are complete once the files are read."""
        return [
            problem
            for file in self._files
            for problem in file.problems(file.info.system, NAME, TITLES.get(file.form), _LOSING)
        ]

    def resets(self) -> list[tuple[str, int, str, str, str]]:
        return [
            (info.system, end, "linux_counter", "all CPUs" if cpu is None else f"CPU {cpu}", evidence)
            for info, end, cpu, evidence in self._resets
        ]

    def inventory(self, *, with_layouts: bool = True) -> list[InventoryRow]:
        """Return one row per file."""
        return [
            InventoryRow(
                info.system, NAME, file.path, None, None, file.form, TITLES.get(file.form, ""), "reading",
                file.readings[cgroup], file.size if len(file.readings) < 2 else None,
                info.first_us, info.last_us, layout="zlens",
            )
            for file in self._files
            if file.form
            for cgroup in file.readings or (None,)
            for info in [file.info if cgroup is None else self._cgroups[id(file.info)][cgroup]]
        ]  # fmt: skip

    def info(self) -> list[dict[str, Any]]:
        return [
            {
                "format": TITLES.get(file.form, "unknown"),
                "path": file.path,
                "bytes": file.size,
                "system": file.info.system,
                "readings": max(file.readings.values(), default=0),
                "cgroups": ", ".join(sorted(filter(None, file.readings))) or None,
                "cpus": len(file.cpus) or None,
                "counters": sum(event.counter for event in file.events.values())
                or len(file.facility.counters),
                "generation": file.run.generation,
                "counter_versions": f"{file.run.cfvn}.{file.run.csvn}" if file.run.csvn is not None else None,
                "authorized": ", ".join(file.facility.sets) if file.facility.sets is not None else None,
                "times": "local" if file.info.local_time else "UTC",
            }
            for file in self._files
        ]


def _flag(samples: Sequence[CounterSample]) -> Tally[float]:
    """Flag intervals of unusual length for their run; return the frequency of each length."""
    runs: dict[tuple[int, int], list[CounterSample]] = {}
    for sample in samples:
        if sample.seconds is not None:
            runs.setdefault((id(sample.run), sample.nth), []).append(sample)
    all_lengths: Tally[float] = Tally()
    for run_samples in runs.values():
        if len(run_samples) < 3:
            # Runs with few readings have no usual length.
            continue
        lengths = Tally(round(sample.seconds or 0, 1) for sample in run_samples)
        nominal = max(lengths, key=lambda s: (lengths[s], s))
        for sample in run_samples:
            seconds = sample.seconds or 0
            sample.flag = "short" if seconds < SHORT * nominal else "gap" if seconds > GAP * nominal else None
        all_lengths += lengths
    return all_lengths


def _in_same_folder(first: str, second: str) -> bool:
    """Return whether two files share a folder, or `second` is in a folder at the path `first`."""
    folder, other_folder = (Path(os.path.abspath(path)).parent for path in (first, second))
    first_as_folder = Path(os.path.abspath(first))
    return folder == other_folder or (
        first_as_folder != Path("/") and first_as_folder in (other_folder, *other_folder.parents)
    )


def _lines(raw: Any, file: _CounterFile, step: Callable[[int], None]) -> Iterator[tuple[int, str]]:
    offset, reported = 0, 0
    while line := raw.readline(MAX_LINE):
        start, offset = offset, offset + len(line)
        if file.tally["header"] > MAX_STRANGE:
            lines = f"more than {MAX_STRANGE:,} lines are not from {TITLES[file.form]}"
            file.note("length", f"{lines}; not read from here on", start)
            return
        if file.form == "facility" and offset > MAX_FACILITY:
            file.note("length", f"only the first {MAX_FACILITY:,} bytes of such a text are read", start)
            return
        if offset - reported > 1 << 20:
            reported = offset
            step(offset)
        if len(line) >= MAX_LINE and not line.endswith(b"\n"):
            file.note("length", f"a line of more than {MAX_LINE:,} bytes; not read", start)
            while rest := raw.readline(MAX_LINE):
                offset += len(rest)
                if rest.endswith(b"\n"):
                    break
                if offset - start > MAX_SKIPPED:
                    detail = f"no line ends within {MAX_SKIPPED:,} bytes; not read from here on"
                    file.note("length", detail, start)
                    return
            continue
        if file.form in counter_forms.ROWS and not line.endswith(b"\n"):
            file.note("truncated", NO_END, start)
            return
        yield start, line.decode("utf-8", "replace").rstrip("\r\n").lstrip("\ufeff")
