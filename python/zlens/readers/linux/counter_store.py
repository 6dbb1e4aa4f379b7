"""The raw tables of Linux counters.

`linux_counter` has a row per event as printed. `linux_cpumf` has a row per interval and CPU (or for all CPUs
if the tool did not list them) with a column per counter number, and `linux_pai` one for each PAI counter. The
number of a CPU MF counter's name depends on the machine, which may be known only after all inputs are open,
so numbers are looked up when rows are read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from msgspec import Struct, field
from msgspec.structs import asdict

from zlens.catalog import pai
from zlens.catalog.raw_tables import load_tables
from zlens.inputs.source import RawTable, SystemInfo
from zlens.readers.column_store import StoredTable, Texts
from zlens.readers.linux import perf
from zlens.readers.row_tables import DecodedTable, RowStream

NAME = "linux-counters"

_Key = TypeVar("_Key")
#: Counter, CPU, part and value; without a counter, a row is of another event.
_CounterRow = tuple[_Key | None, int | None, str | None, int | None]

#: Percentage that perf prints for an event counted all the time, less the rounding error.
_ALL = 99.9


class ToolRun(Struct):
    """Facts shared by all readings of one file. numbers: counter number by event, or None."""

    path: str
    #: The system; its control groups are separate systems.
    info: SystemInfo
    generation_names: str | None = None
    cfvn: int | None = None
    csvn: int | None = None
    cpsp: float | None = None
    generation: str | None = None
    numbers: dict[str, int | None] = field(default_factory=dict)


class CounterSample(Struct):
    """One reading of a system in a file, and its range of value rows."""

    run: ToolRun
    info: SystemInfo
    offset: int
    end_us: int
    seconds: float | None
    first: int = 0
    last: int = 0
    #: Index of the tool run in the file.
    nth: int = 0
    flag: str | None = None


class CounterTable(StoredTable):
    """The table linux_counter: the numbers of a reading's events depend on its machine."""

    def values(self, column: str, first: int = 0, last: int | None = None) -> Iterator[Any]:
        values = super().values(column, first, last)
        if column != "number":
            return values
        return map(dict.get, values, super().values("counter", first, last))


class CounterStore:
    """All values of an input."""

    def __init__(self) -> None:
        self.moments: list[CounterSample] = []
        # No text is dropped, because the reader limits their number.
        self.texts = Texts(sys.maxsize)
        columns = load_tables("linux/counter_tables").columns
        common = {name: partial(self._common, get) for name, get in {**_COMMON, **_OF_RUN}.items()}
        self.counters = CounterTable("linux_counter", columns("linux_counter"), common, self.texts)
        self.tables: tuple[RawTable, ...] = (
            self.counters,
            *(
                DecodedTable(name, partial(columns, name), partial(RowStream, columns(name), rows))
                for name, rows in (("linux_cpumf", self.cpumf_rows), ("linux_pai", self.pai_rows))
            ),
        )

    def _common(self, get: Callable[[CounterSample], Any], index: int) -> Any:
        return get(self.moments[index])

    def append(self, sample: CounterSample, rows: list[tuple[Any, ...]]) -> None:
        """Append a reading, with the values of its events in column order."""
        sample.first = len(self.counters)
        sample.last = sample.first + len(rows)
        self.counters.extend(len(self.moments), (), rows)
        self.moments.append(sample)

    def values(self, sample: CounterSample, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield some columns of the rows of a reading."""
        return zip(*(self.counters.values(name, sample.first, sample.last) for name in columns), strict=True)

    # -- rows of linux_cpumf -------------------------------------------------------------------------

    def cpumf_rows(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """Yield rows of `linux_cpumf`."""
        numbers = {int(name[1:]) for name in columns if name[0] == "c" and name[1:].isdecimal()}
        for sample in self.moments:
            scaled = self._scaled(sample) if "scaled" in columns else set()
            rows: Iterator[_CounterRow[int]] = self.values(sample, "number", "cpu", "part", "value")
            for cpu, counters in _by_cpu(rows):
                values: dict[str, Any] = {
                    "cpu_id": cpu,
                    "processors": None if cpu is None else 1,
                    "machine_type": sample.run.info.machine_type,
                    "generation_from_names": sample.run.generation_names,
                    "version1": sample.run.cfvn,
                    "version2": sample.run.csvn,
                    "cpsp": sample.run.cpsp,
                    "scaled": cpu in scaled,
                    **{f"c{number}": counters.get(number) for number in numbers},
                }
                yield _row(sample, values, columns)

    def _scaled(self, sample: CounterSample) -> set[int | None]:
        """Return CPUs (None: not a single CPU) with counters that ran only part of the time."""
        return {
            cpu
            for number, cpu, value, running in self.values(sample, "number", "cpu", "value", "running_pct")
            if number is not None and value is not None and running is not None and running < _ALL
        }

    # -- rows of linux_pai ---------------------------------------------------------------------------

    def pai_rows(self, columns: list[str]) -> Iterator[tuple[Any, ...]]:
        """Yield rows of `linux_pai`."""
        for sample in self.moments:
            rows: Iterator[_CounterRow[pai.PaiEvent]] = (
                (pai.parse_perf_event(counter), cpu, part, value)
                for counter, cpu, part, value in self.values(sample, "counter", "cpu", "part", "value")
            )
            for cpu, counters in _by_cpu(rows):
                for event, value in counters.items():
                    yield _row(sample, {**asdict(event), "cpu_id": cpu, "value": value}, columns)


def _row(sample: CounterSample, values: dict[str, Any], columns: list[str]) -> tuple[Any, ...]:
    return tuple(_COMMON[name](sample) if name in _COMMON else values.get(name) for name in columns)


def _by_cpu(rows: Iterable[_CounterRow[_Key]]) -> Iterator[tuple[int | None, dict[_Key, int | None]]]:
    """Yield the counters of a reading per CPU, else for all CPUs, else summed over parts of the machine.

    A CPU without any value, as in the first reading of a run or inside a guest, is omitted. Parts of one kind
    have no CPU in common, but a socket contains its cores; a thread is not a part of the machine.
    """
    cpus: dict[int | None, dict[_Key, int | None]] = {}
    parts: dict[str, dict[str, dict[_Key, int | None]]] = {}
    for counter, cpu, part, value in rows:
        if counter is None:
            continue
        if part is None:
            counters = cpus.setdefault(cpu, {})
        else:
            kind = perf.level(part)
            if kind is None or cpu is not None:
                continue
            counters = parts.setdefault(kind, {}).setdefault(part, {})
        # A counter listed under two names counts once.
        if counters.get(counter) is None:
            counters[counter] = value
    counters_by_cpu = {
        cpu: counters
        for cpu, counters in cpus.items()
        if any(value is not None for value in counters.values())
    }
    cpu_numbers = sorted(cpu for cpu in counters_by_cpu if cpu is not None)
    if cpu_numbers:
        yield from ((cpu, counters_by_cpu[cpu]) for cpu in cpu_numbers)
    elif counters_by_cpu:
        yield None, counters_by_cpu[None]
    else:
        for parts_of_kind in parts.values():
            values = [counters.values() for counters in parts_of_kind.values()]
            if any(value is not None for part_values in values for value in part_values):
                found = dict.fromkeys(counter for counters in parts_of_kind.values() for counter in counters)
                yield None, {counter: _sum(parts_of_kind.values(), counter) for counter in found}
                break


def _sum(parts: Iterable[dict[_Key, int | None]], counter: _Key) -> int | None:
    """Return the sum of a counter over parts; None if a part has no value."""
    values = [counters.get(counter) for counters in parts]
    present_values = [value for value in values if value is not None]
    total = sum(present_values)
    return total if len(present_values) == len(values) and total < 2**63 else None


#: The leading columns.
_COMMON: dict[str, Callable[[CounterSample], Any]] = {
    "system": lambda m: m.info.system,
    "source": lambda m: NAME,
    "file": lambda m: m.run.path,
    "offset": lambda m: m.offset,
    "tod": lambda m: m.end_us,
    "interval_end": lambda m: m.end_us,
    "seconds": lambda m: m.seconds,
    "flag": lambda m: m.flag,
}
#: Other columns of linux_counter that depend on the file; numbers include all its events.
_OF_RUN: dict[str, Callable[[CounterSample], Any]] = {
    "number": lambda m: m.run.numbers,
    "generation": lambda m: m.run.generation,
}
