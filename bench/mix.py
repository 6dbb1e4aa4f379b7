"""The file that `make bench` measures: a stated mix of records, written by the catalog's layouts.

One interval is written with the catalog's encoder. Each following one is the same bytes as one large number,
plus a step that advances every timestamp and counter: an addition per interval instead of a million small
ones. Field values have headroom, so that no carry leaves a field.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zlens import _native
from zlens.catalog import layouts

sys.path.append(str(Path(__file__).parents[1] / "tests"))
import record_encoder

#: Records of an interval: their number, and entries of their section. A system with 16 processors in one of
#: ten partitions, 200 guests of which 60 end a transaction, 250 devices and 20 paging volumes.
Mix = tuple[tuple[str, int, int], ...]
SAMPLES: Mix = (
    ("D0R1", 16, 0),
    ("D0R2", 16, 0),
    ("D0R3", 1, 0),
    ("D0R4", 16, 0),
    ("D0R8", 1, 0),
    ("D0R10", 1, 0),
    ("D0R11", 16, 0),
    ("D0R12", 1, 0),
    ("D0R13", 16, 0),
    ("D0R15", 1, 0),
    ("D0R16", 10, 16),
    ("D0R17", 1, 40),
    ("D0R19", 1, 0),
    ("D3R1", 1, 0),
    ("D3R2", 16, 0),
    ("D3R4", 20, 0),
    ("D4R3", 200, 0),
    ("D5R3", 16, 0),
    ("D6R3", 250, 0),
)
EVENTS: Mix = (("D4R9", 60, 0),)

START_US = 1_767_225_600_000_000
INTERVAL_US = 60_000_000
TICK = 4096


@dataclass
class Interval:
    """The first interval's records as one number, and the step to each following interval."""

    base: int
    step: int
    length: int
    ends: list[int]

    def records(self, number: int) -> list[bytes]:
        data = (self.base + number * self.step).to_bytes(self.length, "big")
        view = memoryview(data)
        first = 0
        cut = []
        for end in self.ends:
            cut.append(bytes(view[first:end]))
            first = end
        return cut


class Maker:
    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)

    def interval(self, mix: Mix, offset_us: int, closed: bool) -> Interval:
        base = bytearray()
        step = bytearray()
        ends = []
        for record, count, entries in mix:
            layout = _layout(record)
            for subject in range(count):
                base += self._record(layout, subject, entries, START_US + offset_us)
                step += self._step(layout, entries, len(base) - len(step))
                ends.append(len(base))
        if closed:
            layout = _layout("D1R11")
            base += record_encoder.encode(
                layout, {}, tod=_native.tod_from_unix_us(START_US + offset_us + 1_000)
            )
            step += self._step(layout, 0, len(base) - len(step))
            ends.append(len(base))
        return Interval(int.from_bytes(base, "big"), int.from_bytes(step, "big"), len(base), ends)

    def _record(self, layout: layouts.RecordLayout, subject: int, entries: int, time_us: int) -> bytes:
        values = {f.name: self._value(f, subject) for f in layout.fields if _plain(f)}
        rows = {}
        for section in layout.sections[:1] if entries else ():
            for place in (section.offset, section.stride, section.count):
                values.pop(str(place), None)
            rows[section.name] = [
                {f.name: self._value(f, entry) for f in section.fields if _plain(f)}
                for entry in range(entries)
            ]
        return record_encoder.encode(layout, values, tod=_native.tod_from_unix_us(time_us), entries=rows)

    def _value(self, field: layouts.MonitorField, subject: int) -> object:
        number = field.type in ("unsigned", "signed") or field.kind in ("counter", "timer", "time")
        if field.kind == "identifier" and number:
            return subject if field.length > 1 else subject % 256
        if field.kind == "text":
            return f"S{subject:05}"[: field.length]
        if not number:
            return None
        # Headroom: the steps of a long file never reach a quarter of the field's range.
        return self.random.randrange(1, 1 << min(8 * field.length - 2, 48))

    def _step(self, layout: layouts.RecordLayout, entries: int, length: int) -> bytearray:
        step = bytearray(length)
        step[8:16] = (INTERVAL_US * TICK).to_bytes(8, "big")
        for field in layout.fields:
            self._advance(step, field, 0)
        for section in layout.sections[:1] if entries else ():
            for entry in range(entries):
                for field in section.fields:
                    self._advance(step, field, layout.length + entry * section.length)
        return step

    def _advance(self, step: bytearray, field: layouts.MonitorField, at: int) -> None:
        if field.kind not in ("counter", "timer", "sampled") or field.overlay or field.count > 1:
            return
        if field.length == 8:
            amount = self.random.randrange(1, INTERVAL_US * 4)
        elif field.length == 4:
            amount = self.random.randrange(1, 20_000)
        else:
            return
        step[at + field.offset : at + field.end] = amount.to_bytes(field.length, "big")


def _plain(field: layouts.MonitorField) -> bool:
    return not field.reserved and not field.overlay and field.count == 1 and field.length > 0


def _layout(record: str) -> layouts.RecordLayout:
    # Part of D4R3 is public, in release 5.2.
    return next(one for one in layouts.layouts(record) if one.release in ("5.2", "5.3"))


def write(
    path: Path, size: int = 0, *, intervals: int = 0, samples: Mix = SAMPLES, events: Mix = EVENTS
) -> None:
    """Write a MONWRITE file of about `size` bytes, or of this many intervals."""
    maker = Maker()
    sampled = maker.interval(samples, 0, closed=True)
    between = maker.interval(events, 30_000_000, closed=False)
    writer = _native.MonwriteWriter(str(path))
    writer.write([(True, 0x40, 0, 0, _configuration())])
    for number in range(intervals or max(1, size // (sampled.length + between.length))):
        if events:
            writer.write([(False, 0x08, 0, 0x0C38, between.records(number))])
        writer.write([(True, 0xB6, 0, 0x0400, sampled.records(number))])
    writer.finish()


def _configuration() -> list[bytes]:
    """Build records with the system's name and release, which select layouts as in a real file."""
    tod = _native.tod_from_unix_us(START_US - INTERVAL_US)
    system = {"MTRSYS_SYSTMID": "BENCH", "MTRSYS_HCPCPEID": "5.3.0"}
    profile = {"MTRSPR_INTERVAL": INTERVAL_US // 1_000_000}
    return [
        record_encoder.encode(_layout("D1R4"), system, tod=tod),
        record_encoder.encode(_layout("D1R9"), profile, tod=tod),
        record_encoder.encode(_layout("D1R11"), {}, tod=tod),
    ]


def described() -> Iterator[str]:
    """Yield the mix in words."""
    for mix, kind in ((SAMPLES, "sample"), (EVENTS, "event")):
        parts = [
            f"{count} {record}" + (f" of {entries} entries" if entries else "")
            for record, count, entries in mix
        ]
        yield f"{kind}: {', '.join(parts)}"


if __name__ == "__main__":
    begin = time.monotonic()
    write(Path(sys.argv[1]), int(sys.argv[2]))
    print(f"{time.monotonic() - begin:.1f} s")
