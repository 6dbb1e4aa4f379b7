"""The texts that Linux on Z shows of its machine: /proc/sysinfo, /proc/cpuinfo, lists and masks of CPUs."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from zlens.catalog.sysinfo import Line, facts
from zlens.readers.linux.sysinfo_tree import MAX_CPU

#: STSI 3.2.2 tells of eight levels; adjustments are listed up to the CPUs of the machine.
MAX_VMS = 100
MAX_NOTES = 100
_INT_LIMIT = 2**63

_ADJUSTMENT = re.compile(r"Adjustment (\d{2,4})-way")
_VM = re.compile(r"VM(\d{2}) (.+)")
_NUMBER = re.compile(r"[+-]?\d{1,20}")
_DECIMAL = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,20})?")
_PROCESSOR = re.compile(r"processor (\d{1,4})\Z")
_FACT = re.compile(r"(\w+) = (\w+)")


@dataclass(frozen=True, slots=True)
class Note:
    """What could not be read of a text: kind of problem, offset, sentence, bytes."""

    kind: str
    offset: int
    detail: str
    lost: int


@dataclass(slots=True)
class Sysinfo:
    """What a /proc/sysinfo says, by column."""

    machine: dict[str, Any] = field(default_factory=dict)
    #: CPUs of a configuration, and what the machine says of each with so many: primary and alternate.
    adjustments: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    #: By number; 0 is the innermost.
    vms: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def note(self, kind: str, offset: int, detail: str, lost: int) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(Note(kind, offset, detail, lost))


def looks_like(head: bytes) -> bool:
    """Whether a file that begins so is a /proc/sysinfo."""
    text = head[:4096].lstrip(b"\x00 \t\r\n")
    return text.startswith(b"Manufacturer:") and b"\nType:" in text and b"\nSequence Code:" in text


def lines(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Offset, length and text of every line that says something."""
    offset = 0
    for raw in data.split(b"\n"):
        # tar fills up with zeros what it could not read of a file of the kernel.
        text = raw.decode("utf-8", "replace").strip("\0 \t\r")
        if text:
            yield offset, len(raw), text
        offset += len(raw) + 1


def parse(data: bytes) -> Sysinfo:
    """All that a /proc/sysinfo says; what is not understood is noted."""
    known = facts()
    found = Sysinfo()
    for offset, length, text in lines(data):
        label, colon, value = text.partition(":")
        label, value = label.strip(), value.strip()
        if not colon:
            found.note("no_layout", offset, f"the line {_short(text)!r} is not understood", length)
            continue
        way = _ADJUSTMENT.fullmatch(label)
        vm = _VM.fullmatch(label)
        target = found.machine
        line = known.machine.get(label)
        if way:
            _adjustment(found, int(way[1]), value, offset, length)
            continue
        if vm:
            number = int(vm[1])
            if number >= MAX_VMS:
                found.note("no_layout", offset, f"level {number} of virtual machines is none", length)
                continue
            target = found.vms.setdefault(number, {})
            line = known.vm.get(vm[2])
        if line is None:
            found.note("no_layout", offset, f"the line {_short(label)!r} is not known; not read", length)
        elif line.columns[0].name in target:
            found.note("duplicate", offset, f"the line {_short(label)!r} stands twice; first read", length)
        else:
            _take(found, target, line, value, offset, length)
    return found


def _take(found: Sysinfo, target: dict[str, Any], line: Line, value: str, offset: int, length: int) -> None:
    words = value.split(maxsplit=len(line.columns) - 1) if len(line.columns) > 1 else [value]
    for column, word in zip(line.columns, words, strict=False):
        made: Any = word or None
        if column.type == "int":
            made = number(word)
        elif column.type == "float":
            # Nothing of the text but capabilities is more than an integer.
            made = capability(word)
        if made is None and word:
            detail = f"{line.label}: {_short(word)!r} is no number"
            found.note("header", offset, detail, length)
        target[column.name] = made
    if not words:
        target[line.columns[0].name] = None


def _adjustment(found: Sysinfo, cpus: int, value: str, offset: int, length: int) -> None:
    words = value.split()
    factors = [number(word) for word in words]
    if cpus in found.adjustments:
        found.note("header", offset, f"the adjustment of {cpus} CPUs stands twice", length)
    elif len(factors) not in (1, 2) or factors[0] is None or factors[-1] is None:
        detail = f"the adjustment of {cpus} CPUs is {_short(value)!r}, no number"
        found.note("header", offset, detail, length)
    else:
        found.adjustments[cpus] = (factors[0], factors[1] if len(factors) == 2 else None)


def capability(text: str) -> float | None:
    """A capability, which the kernel prints as an integer: from 2^23 on it is the bits of a short float."""
    if "." in text:
        return float(text) if _DECIMAL.fullmatch(text) else None
    bits = number(text)
    if bits is None or not 0 <= bits < 2**32:
        return None
    value = struct.unpack(">f", struct.pack(">I", bits))[0] if bits >= 2**23 else float(bits)
    return value if isfinite(value) and value >= 0 else None


def number(text: str) -> int | None:
    """A decimal number of a column's range."""
    text = text.strip("\0 \t\r\n")
    if not _NUMBER.fullmatch(text):
        return None
    value = int(text)
    return value if -_INT_LIMIT <= value < _INT_LIMIT else None


def cpu_list(text: str) -> frozenset[int] | None:
    """The numbers of a list such as 0-3,8; None where it is none."""
    found: set[int] = set()
    text = text.strip("\0 \t\r\n")
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        begin, end = number(first), number(last or first)
        if begin is None or end is None or not 0 <= begin <= end < MAX_CPU:
            return None
        found.update(range(begin, end + 1))
    return frozenset(found)


def cpu_mask(text: str) -> frozenset[int] | None:
    """The numbers of a mask such as 00000000,0000000f."""
    digits = text.strip("\0 \t\r\n").replace(",", "")
    if not digits or len(digits) > MAX_CPU // 4 or not re.fullmatch(r"[0-9a-fA-F]+", digits):
        return None
    value = int(digits, 16)
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)


@dataclass(slots=True)
class Cpuinfo:
    """What a /proc/cpuinfo says."""

    bogomips: float | None = None
    features: str | None = None
    #: level, type, scope, size, line_size, associativity of each cache
    caches: list[dict[str, str]] = field(default_factory=list)
    #: version, identification, machine, mhz_dynamic, mhz_static of each processor
    processors: dict[int, dict[str, Any]] = field(default_factory=dict)


def parse_cpuinfo(data: bytes) -> Cpuinfo:
    """What is wanted of a /proc/cpuinfo."""
    found = Cpuinfo()
    cpu: int | None = None
    for _, _, text in lines(data):
        label, _, value = text.partition(":")
        label, value = label.strip(), value.strip()
        processor = _PROCESSOR.match(label)
        if label == "bogomips per cpu" and _DECIMAL.fullmatch(value):
            found.bogomips = float(value)
        elif label == "features":
            found.features = value
        elif label.startswith("cache") and len(found.caches) < 64:
            found.caches.append(dict(pair.split("=", 1) for pair in value.split() if "=" in pair))
        elif processor and int(processor[1]) < MAX_CPU:
            found.processors.setdefault(int(processor[1]), {}).update(_FACT.findall(value))
        elif label == "cpu number":
            cpu = number(value)
        elif label in ("cpu MHz dynamic", "cpu MHz static") and cpu is not None and 0 <= cpu < MAX_CPU:
            column = "mhz_dynamic" if label.endswith("dynamic") else "mhz_static"
            found.processors.setdefault(cpu, {})[column] = number(value)
    return found


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."
