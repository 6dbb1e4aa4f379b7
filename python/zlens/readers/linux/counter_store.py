"""What was counted on Linux, kept column by column, and the two raw tables over it.

`linux_counter` has a row for every event as it was printed; `linux_cpumf` has a row for every interval and
CPU (or for all CPUs, where the tool told no single ones) with a column for every number of a counter. Which
number a name has depends on the machine, which may be known only when all inputs are open: numbers are put in
when rows are asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

from zlens.catalog import cpumf
from zlens.catalog.columns import Column
from zlens.inputs.source import SystemInfo
from zlens.readers.rows import ComputedTable

NAME = "linux-counters"

_NONE = -(2**63)
#: What perf prints of an event that was counted all the time, less what it rounds.
_ALL = 99.9
_NUMBERS = tuple(n for each in cpumf.sets().values() for n in range(each.first, each.first + each.most))

HEADER = (
    Column("system", "text", "", "system"),
    Column("source", "text", "", "where it comes from"),
    Column("file", "text", "", "file"),
    Column("offset", "int", "bytes", "where the reading begins in its file"),
    Column("tod", "time", "", "when it was read, UTC; local, or from 1970 on, where the file tells no more"),
    Column("interval_end", "time", "", "the same: end of the interval it tells of"),
    Column("seconds", "float", "s", "length of the interval; NULL where it is not known"),
    Column("flag", "text", "", "gap or short where that time is not the usual one"),
)

_COUNTER = (
    *HEADER,
    Column("cpu", "int", "", "CPU; NULL: not of one CPU"),
    Column("part", "text", "", "socket, core, node or thread that it was counted for; NULL: of all"),
    Column("counter", "text", "", "event as it was printed"),
    Column("number", "int", "", "number of the counter; NULL: none of CPU MF, or not known on this machine"),
    Column("value", "int", "count", "counted in the interval; NULL: not counted, or nothing to compare with"),
    Column("total", "int", "count", "counted since the run began, where the tool prints that"),
    Column("state", "text", "", "not supported or not counted, where the system says so"),
    Column("running_pct", "float", "%", "part of the time it was counted in; the value is scaled up to all"),
    Column("amount", "float", "", "what an event tells that counts nothing, such as a time"),
    Column("unit", "text", "", "unit of the amount"),
    Column("generation", "text", "", "machine generation that gives the number its meaning"),
)

_CPUMF = (
    *HEADER,
    Column("cpu_id", "int", "", "CPU; NULL: the sum over all of them"),
    Column("processors", "int", "count", "how many processors it is of; NULL: not known"),
    Column("machine_type", "text", "", "machine type, where something that belongs to the file tells it"),
    Column("told_generation", "text", "", "machine generation that the names of the counters tell"),
    Column("version1", "int", "", "counter first version number, where the tool tells it"),
    Column("version2", "int", "", "counter second version number, where the tool tells it"),
    Column("cpsp", "float", "", "speed in cycles per microsecond, where the kernel tells it"),
    Column(
        "scaled", "bool", "", "some counters were counted for a part of the time only, and scaled up to all"
    ),
    *(Column(f"c{number}", "int", "count", f"counter {number} in the interval") for number in _NUMBERS),
)


@dataclass(slots=True)
class Run:
    """What holds for all readings of one file. numbers: of each event code, None where there is none."""

    path: str
    info: SystemInfo
    told: str | None = None
    cfvn: int | None = None
    csvn: int | None = None
    cpsp: float | None = None
    generation: str | None = None
    numbers: dict[int, int | None] = field(default_factory=dict)


@dataclass(slots=True)
class Moment:
    """One reading of one file, and the rows of values that belong to it."""

    run: Run
    offset: int
    end_us: int
    seconds: float | None
    first: int
    last: int
    #: Which run of the tool within the file.
    nth: int = 0
    flag: str | None = None


class Store:
    """All values of an input."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._codes: dict[str, int] = {}
        self.parts: list[str] = []
        self._part_codes: dict[str, int] = {}
        self.moments: list[Moment] = []
        self._event = array("i")
        self._cpu = array("i")
        self._part = array("i")
        self._value = array("q")
        self._total = array("q")
        self._state = array("b")
        self._running = array("d")
        self._amount = array("d")
        self._unit = array("i")

    def __len__(self) -> int:
        return len(self._event)

    def code(self, event: str) -> int:
        return _code(event, self.events, self._codes)

    def append(
        self,
        event: int,
        cpu: int | None,
        part: str | None,
        value: int | None,
        total: int | None,
        state: int,
        running: float | None,
        amount: float | None,
        unit: str | None,
    ) -> None:
        """A value; state is 0, 1 for not supported, 2 for not counted."""
        self._event.append(event)
        self._cpu.append(-1 if cpu is None else cpu)
        self._part.append(-1 if part is None else _code(part, self.parts, self._part_codes))
        self._value.append(_NONE if value is None else value)
        self._total.append(_NONE if total is None else total)
        self._state.append(state)
        self._running.append(nan if running is None else running)
        self._amount.append(nan if amount is None else amount)
        self._unit.append(-1 if unit is None else _code(unit, self.parts, self._part_codes))

    def states_of(self, events: set[int], first: int, last: int) -> Iterator[int]:
        """The states of some events among these rows."""
        return (self._state[at] for at in range(first, last) if self._event[at] in events)

    # -- rows ----------------------------------------------------------------------------------------

    def counter_rows(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of `linux_counter`."""
        states = (None, "not supported", "not counted")
        get: dict[str, Callable[[Moment, int], Any]] = {
            **_COMMON,
            "cpu": lambda m, i: None if self._cpu[i] < 0 else self._cpu[i],
            "part": lambda m, i: _text(self.parts, self._part[i]),
            "counter": lambda m, i: self.events[self._event[i]],
            "number": lambda m, i: m.run.numbers.get(self._event[i]),
            "value": lambda m, i: _whole(self._value[i]),
            "total": lambda m, i: _whole(self._total[i]),
            "state": lambda m, i: states[self._state[i]],
            "running_pct": lambda m, i: _real(self._running[i]),
            "amount": lambda m, i: _real(self._amount[i]),
            "unit": lambda m, i: _text(self.parts, self._unit[i]),
            "generation": lambda m, i: m.run.generation,
        }
        chosen = [get[name] for name in columns]
        for moment in self.moments:
            for at in range(moment.first, moment.last):
                yield tuple(each(moment, at) for each in chosen)

    def cpumf_rows(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """Rows of `linux_cpumf`."""
        asked = {int(name[1:]) for name in columns if name[0] == "c" and name[1:].isdigit()}
        for moment in self.moments:
            scaled = self._scaled(moment) if "scaled" in columns else set()
            for cpu, counted in self._samples(moment, asked):
                values: dict[str, Any] = {
                    "cpu_id": cpu,
                    "processors": None if cpu is None else 1,
                    "machine_type": moment.run.info.machine_type,
                    "told_generation": moment.run.told,
                    "version1": moment.run.cfvn,
                    "version2": moment.run.csvn,
                    "cpsp": moment.run.cpsp,
                    "scaled": cpu in scaled,
                    **{f"c{number}": value for number, value in counted.items()},
                }
                yield tuple(
                    _COMMON[name](moment, moment.first) if name in _COMMON else values.get(name)
                    for name in columns
                )

    def _scaled(self, moment: Moment) -> set[int | None]:
        """The CPUs (None: not of one CPU) of which some counters stood still for a part of the time."""
        found: set[int | None] = set()
        for at in range(moment.first, moment.last):
            number = moment.run.numbers.get(self._event[at])
            if number is not None and self._value[at] != _NONE and self._running[at] < _ALL:
                found.add(self._cpu[at] if self._cpu[at] >= 0 else None)
        return found

    def _samples(self, moment: Moment, asked: set[int]) -> Iterator[tuple[int | None, dict[int, int | None]]]:
        """The counters of each CPU; of all, where no CPU is told; the sum of parts, where only parts are.

        What has no value at all, as in the first reading of a run or inside a guest, is no sample.
        """
        cpus: dict[int | None, dict[int, int | None]] = {}
        parts: dict[int, int | None] = {}
        counted: set[int | None] = set()
        in_parts = False
        for at in range(moment.first, moment.last):
            number = moment.run.numbers.get(self._event[at])
            if number is None:
                continue
            value = _whole(self._value[at])
            if self._part[at] >= 0:
                in_parts = in_parts or value is not None
                if number in asked:
                    # A sum of which one part is not known is not known.
                    before = parts.get(number, 0)
                    parts[number] = None if before is None or value is None else before + value
                continue
            cpu = self._cpu[at] if self._cpu[at] >= 0 else None
            if value is not None:
                counted.add(cpu)
                if number in asked:
                    # The same counter under two names is the same counter.
                    cpus.setdefault(cpu, {}).setdefault(number, value)
        single = sorted(cpu for cpu in counted if cpu is not None)
        if single:
            yield from ((cpu, cpus.get(cpu, {})) for cpu in single)
        elif counted:
            yield None, cpus.get(None, {})
        elif in_parts:
            yield None, {n: v if v is not None and v < 2**63 else None for n, v in parts.items()}


def _code(text: str, texts: list[str], codes: dict[str, int]) -> int:
    code = codes.get(text)
    if code is None:
        code = codes[text] = len(texts)
        texts.append(text)
    return code


def _whole(value: int) -> int | None:
    return None if value == _NONE else value


def _real(value: float) -> float | None:
    return None if isnan(value) else value


def _text(texts: list[str], code: int) -> str | None:
    return None if code < 0 else texts[code]


_COMMON: dict[str, Callable[[Moment, int], Any]] = {
    "system": lambda m, i: m.run.info.system,
    "source": lambda m, i: NAME,
    "file": lambda m, i: m.run.path,
    "offset": lambda m, i: m.offset,
    "tod": lambda m, i: m.end_us,
    "interval_end": lambda m, i: m.end_us,
    "seconds": lambda m, i: m.seconds,
    "flag": lambda m, i: m.flag,
}


def tables(store: Store) -> list[ComputedTable]:
    return [
        ComputedTable("linux_counter", _COUNTER, store.counter_rows),
        ComputedTable("linux_cpumf", _CPUMF, store.cpumf_rows),
    ]
