"""The second demo file: an hour of a z/VM system with multithreading, written with zlens' own pack.

For many fields it is public that z/VM records them but not where, so the story of a current system can be
told only in records of zlens' own form; the configuration record says so. Every module `sim_<topic>` next to
this one tells a part of the story: `records(moment)` gives its records of one moment, each with whether it is
a sample. They all take the state of a moment from here, so that the parts agree.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from zlens import _native
from zlens.catalog import layouts, plans

SECOND = 1_000_000
MINUTE = 60 * SECOND
MINUTES = 60
#: 2024-05-14 07:30:00 UTC, in the morning of a system two hours east of Greenwich.
START_US = 1_715_671_800 * SECOND
ZONE_S = 7200
IPL_US = START_US - 12 * 86_400 * SECOND - 5 * 3600 * SECOND - 7_654_321
#: A TOD clock and a CPU timer advance by this much per microsecond.
TICK = 4096

SYSTEM = "ZLSIM"
MACHINE_TYPE = "8561"
MODEL = "T01"
SERIAL = "00000000000D3E01"

#: Configuration records are written this long before the first sample.
_CONFIGURED_US = 2 * SECOND


@dataclass(frozen=True)
class Moment:
    """The end of one minute; minute 0 has only the initial counters and the configuration.

    load       height of the load in this minute, 0 to 1
    work_s     seconds of load since the start: the basis of everything that grows with the load
    """

    number: int
    seed: int
    load: float
    work_s: float

    @property
    def end_us(self) -> int:
        return START_US + self.number * MINUTE

    @property
    def first(self) -> bool:
        """Whether this is the beginning, when the configuration is written."""
        return self.number == 0

    @property
    def seconds(self) -> int:
        """Seconds since the start."""
        return 60 * self.number

    def total(self, name: str, rate: float, before: int = 0) -> int:
        """A counter that grew with the load: `rate` per second at its height, slightly uneven."""
        return before + round(rate * 60 * _uneven(self.seed, name, self.number))

    def wiggle(self, name: str, least: float = 0.95, most: float = 1.05) -> float:
        """A factor that differs from minute to minute, and is the same each time."""
        return random.Random(f"{self.seed} {name} {self.number}").uniform(least, most)

    def record(
        self,
        name: str,
        values: Mapping[str, Any] | None = None,
        entries: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        *,
        before_us: int = 1_000,
    ) -> bytes:
        """A record with these values by field name, `before_us` before the moment."""
        tod = _native.tod_from_unix_us(self.end_us - before_us)
        return plans.encode(_layout(name), dict(values or {}), tod=tod, entries=entries or {})

    def configuration(
        self,
        name: str,
        values: Mapping[str, Any] | None = None,
        entries: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> bytes:
        """A configuration record, which is written before the first sample."""
        return self.record(name, values, entries, before_us=_CONFIGURED_US + SECOND // 2)


@cache
def _layout(name: str) -> layouts.Layout:
    sim_layouts = layouts.sim_layouts(name)
    if sim_layouts:
        return sim_layouts[0]
    builtin = [layout for layout in layouts.layouts(name) if layout.pack == layouts.BUILTIN]
    return next(candidate for candidate in builtin if candidate.release == "5.3")


def height(number: int) -> float:
    """Load of a minute, 0 to 1: a rise toward the full hour, a dip, and a second wave."""
    rise = 1 / (1 + math.exp(-(number - 14) / 4))
    dip = 0.45 * math.exp(-(((number - 36) / 6) ** 2))
    return 0.12 + 0.84 * rise - dip


def moments(seed: int) -> Iterator[Moment]:
    """All moments of the hour, in order."""
    work = 0.0
    for number in range(MINUTES + 1):
        load = height(number)
        work += 60 * load if number else 0
        yield Moment(number, seed, load, work)


@cache
def _uneven(seed: int, name: str, number: int) -> float:
    """Minutes of load up to this one, each slightly more or less."""
    if number == 0:
        return 0.0
    factor = random.Random(f"{seed} {name} {number}").uniform(0.95, 1.05)
    return _uneven(seed, name, number - 1) + height(number) * factor


def topics() -> list[str]:
    """The modules that tell the story."""
    modules = pkgutil.iter_modules([str(Path(__file__).parent)])
    return sorted(module.name for module in modules if module.name.startswith("sim_"))


def write(path: str, seed: int) -> None:
    """Write the file."""
    modules = [importlib.import_module(f"zlens.demo.{name}") for name in topics()]
    writer = _native.MonwriteWriter(path)
    for moment in moments(seed):
        records = [record for module in modules for record in module.records(moment)]
        samples = [record for sample, record in records if sample]
        events = [record for sample, record in records if not sample]
        if moment.first:
            configured = [record for record in samples if _domain(record) == 1]
            samples = [record for record in samples if _domain(record) != 1]
            configured = [*sorted(configured, key=_tod), moment.record("D1R11", before_us=_CONFIGURED_US)]
            writer.write([(True, 0x40, 0, 0x0400, configured)])
        if events:
            writer.write([(False, 0x7E, 0, 0x0C38, sorted(events, key=_tod))])
        # In the order in which they were taken, as are the records between them that end a frame.
        samples = [*sorted(samples, key=_tod), moment.record("D1R11", before_us=0)]
        writer.write([(True, 0xFE, 0, 0x0400, samples)])
    writer.finish()


def _domain(record: bytes) -> int:
    return record[4]


def _tod(record: bytes) -> bytes:
    return record[8:16]
