"""Column store for Linux counters, and its two raw tables.

`linux_counter` has a row per event as printed. `linux_cpumf` has a row per interval and CPU (or for all CPUs
if the tool did not list them) with a column per counter number. The number of a counter name depends on the
machine, which may be known only after all inputs are open, so numbers are looked up when rows are read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from math import isnan, nan
from typing import Any

from msgspec import Struct, field

from zlens.catalog.raw_tables import load_tables
from zlens.inputs.source import SystemInfo
from zlens.readers.linux import perf
from zlens.readers.row_tables import RecomputedTable

NAME = "linux-counters"

_NONE = -(2**63)
#: Percentage that perf prints for an event counted all the time, less rounding.
_ALL = 99.9


class ToolRun(Struct):
    """Facts shared by all readings of one file. numbers: counter number by event code, or None."""

    path: str
    #: The system; its control groups are systems of their own.
    info: SystemInfo
    told: str | None = None
    cfvn: int | None = None
    csvn: int | None = None
    cpsp: float | None = None
    generation: str | None = None
    numbers: dict[int, int | None] = field(default_factory=dict)


class CounterSample(Struct):
    """What one reading of one file says of a system, and its range of value rows."""

    run: ToolRun
    info: SystemInfo
    offset: int
    end_us: int
    seconds: float | None
    first: int
    last: int
    #: Number of the tool run within the file.
    nth: int = 0
    flag: str | None = None


class CounterStore:
    """All values of an input."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._codes: dict[str, int] = {}
        self.parts: list[str] = []
        self._part_codes: dict[str, int] = {}
        self.moments: list[CounterSample] = []
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
        """Append a value. state: 0, 1 for not supported, 2 for not counted."""
        self._event.append(event)
        self._cpu.append(-1 if cpu is None else cpu)
        self._part.append(-1 if part is None else _code(part, self.parts, self._part_codes))
        self._value.append(_NONE if value is None else value)
        self._total.append(_NONE if total is None else total)
        self._state.append(state)
        self._running.append(nan if running is None else running)
        self._amount.append(nan if amount is None else amount)
        self._unit.append(-1 if unit is None else _code(unit, self.parts, self._part_codes))

    def event_states(self, events: set[int], first: int, last: int) -> Iterator[int]:
        """Yield the states of some events in a range of rows."""
        return (self._state[at] for at in range(first, last) if self._event[at] in events)

    # -- rows ----------------------------------------------------------------------------------------

    def counter_rows(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """Yield rows of `linux_counter`."""
        states = (None, "not supported", "not counted")
        get: dict[str, Callable[[CounterSample, int], Any]] = {
            **_COMMON,
            "cpu": lambda m, i: None if self._cpu[i] < 0 else self._cpu[i],
            "part": lambda m, i: _text(self.parts, self._part[i]),
            "counter": lambda m, i: self.events[self._event[i]],
            "number": lambda m, i: m.run.numbers.get(self._event[i]),
            "value": lambda m, i: _integer_or_none(self._value[i]),
            "total": lambda m, i: _integer_or_none(self._total[i]),
            "state": lambda m, i: states[self._state[i]],
            "running_pct": lambda m, i: _finite_or_none(self._running[i]),
            "amount": lambda m, i: _finite_or_none(self._amount[i]),
            "unit": lambda m, i: _text(self.parts, self._unit[i]),
            "generation": lambda m, i: m.run.generation,
        }
        getters = [get[name] for name in columns]
        for moment in self.moments:
            for at in range(moment.first, moment.last):
                yield tuple(getter(moment, at) for getter in getters)

    def cpumf_rows(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """Yield rows of `linux_cpumf`."""
        numbers = {int(name[1:]) for name in columns if name[0] == "c" and name[1:].isdecimal()}
        for moment in self.moments:
            scaled = self._scaled(moment) if "scaled" in columns else set()
            for cpu, counted in self._samples(moment, numbers):
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

    def _scaled(self, moment: CounterSample) -> set[int | None]:
        """Return CPUs (None: not a single CPU) with counters that ran only part of the time."""
        cpus: set[int | None] = set()
        for at in range(moment.first, moment.last):
            number = moment.run.numbers.get(self._event[at])
            if number is not None and self._value[at] != _NONE and self._running[at] < _ALL:
                cpus.add(self._cpu[at] if self._cpu[at] >= 0 else None)
        return cpus

    def _samples(
        self, moment: CounterSample, numbers: set[int]
    ) -> Iterator[tuple[int | None, dict[int, int | None]]]:
        """Yield counters per CPU, for all CPUs if none is listed, or summed over parts if only those are.

        A CPU without any value, as in the first reading of a run or inside a guest, is not a sample. Parts of
        one kind have no CPU in common, but a socket contains its cores; threads are no part of the machine.
        """
        cpus: dict[int | None, dict[int, int | None]] = {}
        parts: dict[str, dict[str, dict[int, int | None]]] = {}
        for at in range(moment.first, moment.last):
            number = moment.run.numbers.get(self._event[at])
            if number is None:
                continue
            value = _integer_or_none(self._value[at])
            cpu = self._cpu[at] if self._cpu[at] >= 0 else None
            if self._part[at] < 0:
                counters = cpus.setdefault(cpu, {})
            else:
                part = self.parts[self._part[at]]
                kind = perf.level(part)
                if kind is None or cpu is not None:
                    continue
                counters = parts.setdefault(kind, {}).setdefault(part, {})
            # A counter listed under two names counts once.
            if counters.get(number) is None:
                counters[number] = value
        counted = {
            cpu: {number: counters.get(number) for number in numbers}
            for cpu, counters in cpus.items()
            if any(value is not None for value in counters.values())
        }
        single = sorted(cpu for cpu in counted if cpu is not None)
        if single:
            yield from ((cpu, counted[cpu]) for cpu in single)
        elif counted:
            yield None, counted[None]
        else:
            for alike in parts.values():
                if any(value is not None for counters in alike.values() for value in counters.values()):
                    yield None, {number: _sum(alike.values(), number) for number in numbers}
                    break


def _sum(parts: Iterable[dict[int, int | None]], number: int) -> int | None:
    """Return the sum of a counter over parts; with an unknown part it is unknown."""
    values = [counters.get(number) for counters in parts]
    known = [value for value in values if value is not None]
    total = sum(known)
    return total if len(known) == len(values) and total < 2**63 else None


def _code(text: str, texts: list[str], codes: dict[str, int]) -> int:
    code = codes.get(text)
    if code is None:
        code = codes[text] = len(texts)
        texts.append(text)
    return code


def _integer_or_none(value: int) -> int | None:
    return None if value == _NONE else value


def _finite_or_none(value: float) -> float | None:
    return None if isnan(value) else value


def _text(texts: list[str], code: int) -> str | None:
    return None if code < 0 else texts[code]


_COMMON: dict[str, Callable[[CounterSample, int], Any]] = {
    "system": lambda m, i: m.info.system,
    "source": lambda m, i: NAME,
    "file": lambda m, i: m.run.path,
    "offset": lambda m, i: m.offset,
    "tod": lambda m, i: m.end_us,
    "interval_end": lambda m, i: m.end_us,
    "seconds": lambda m, i: m.seconds,
    "flag": lambda m, i: m.flag,
}


def tables(store: CounterStore) -> list[RecomputedTable]:
    rows = {"linux_counter": store.counter_rows, "linux_cpumf": store.cpumf_rows}
    columns = load_tables("linux/counter_tables").columns
    return [RecomputedTable(name, columns(name), make) for name, make in rows.items()]
