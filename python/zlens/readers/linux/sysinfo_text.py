"""Parsers for the machine information of Linux on Z: sysinfo, cpuinfo and lscpu, CPU lists and masks."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from math import isfinite
from typing import Any

from msgspec import Struct, field

from zlens.catalog.raw_tables import TableColumn
from zlens.catalog.sysinfo import SysinfoFacts
from zlens.readers.files import compare_repeat
from zlens.readers.linux.sysinfo_tree import MAX_CPU

#: STSI 3.2.2 describes up to eight levels.
MAX_VMS = 100
MAX_NOTES = 100
_INT_LIMIT = 2**63

_ADJUSTMENT = re.compile(r"Adjustment (\d{2,4})-way")
_VM = re.compile(r"VM(\d{2}) (.+)")
_NUMBER = re.compile(r"[+-]?\d{1,20}")
_DECIMAL = re.compile(r"[+-]?\d{1,20}(?:\.\d{1,20})?")
_PROCESSOR = re.compile(r"processor (\d{1,4})\Z")
_FACT = re.compile(r"(\w+) = (\w+)")


class ParseProblem(Struct, frozen=True):
    """A part of a text that could not be read: kind of problem, offset, message, bytes."""

    kind: str
    offset: int
    detail: str
    lost: int


class Sysinfo(Struct):
    """Contents of a /proc/sysinfo, by column."""

    machine: dict[str, Any] = field(default_factory=dict)
    #: Multiprocessing adjustment by number of configured CPUs: primary and alternate.
    adjustments: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    #: Virtual machines by level; 0 is the innermost.
    vms: dict[int, dict[str, Any]] = field(default_factory=dict)
    notes: list[ParseProblem] = field(default_factory=list)

    def note(self, kind: str, offset: int, detail: str, lost: int) -> None:
        if len(self.notes) < MAX_NOTES:
            self.notes.append(ParseProblem(kind, offset, detail, lost))


def is_sysinfo(first_bytes: bytes) -> bool:
    """Return whether a file with these first bytes is a /proc/sysinfo."""
    text = first_bytes[:4096].lstrip(b"\x00 \t\r\n")
    return text.startswith(b"Manufacturer:") and b"\nType:" in text and b"\nSequence Code:" in text


def is_cpuinfo(first_bytes: bytes) -> bool:
    """Return whether a file with these first bytes is a /proc/cpuinfo of Linux on Z."""
    return re.match(rb"\s*vendor_id\s*: IBM/S390\s", first_bytes) is not None


def is_lscpu(first_bytes: bytes) -> bool:
    """Return whether a file with these first bytes is the output of lscpu on Linux on Z."""
    return (
        first_bytes.lstrip().startswith((b"Architecture:", b"CPU op-mode(s):"))
        and re.search(rb"(?m)^Vendor ID: +IBM/S390\s", first_bytes) is not None
    )


def is_read_values(first_bytes: bytes) -> bool:
    """Return whether a text is output of SUSE's read_values -s, which calls the configured CPUs IFL."""
    return re.search(rb"(?m)^Type: \d{4}\s*$", first_bytes) is not None and b"\nCPUs IFL: " in first_bytes


def lines(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield offset, length and text of every line that is not empty."""
    offset = 0
    for raw in data.split(b"\n"):
        # tar pads a kernel file that it could not read in full with zeros.
        text = raw.decode("utf-8", "replace").strip("\0 \t\r")
        if text:
            yield offset, len(raw), text
        offset += len(raw) + 1


def parse(data: bytes) -> Sysinfo:
    """Parse a /proc/sysinfo and report every line that is not understood."""
    layout = SysinfoFacts.load()
    sysinfo = Sysinfo()
    seen: dict[str, str] = {}
    for offset, length, text in lines(data):
        label, colon, value = text.partition(":")
        label, value = label.strip(), value.strip()
        if not colon:
            sysinfo.note("no_layout", offset, f"the line {_short(text)!r} is not understood", length)
            continue
        way = _ADJUSTMENT.fullmatch(label)
        vm = _VM.fullmatch(label)
        target = sysinfo.machine
        columns = layout.machine.get(label)
        if way:
            _add_adjustment(sysinfo, int(way[1]), value, offset, length)
            continue
        if vm:
            number = int(vm[1])
            if number >= MAX_VMS:
                sysinfo.note("no_layout", offset, f"virtual machine level {number} is out of range", length)
                continue
            target = sysinfo.vms.setdefault(number, {})
            columns = layout.vm.get(vm[2])
        if columns is None:
            sysinfo.note("no_layout", offset, f"the line {_short(label)!r} is unknown; not read", length)
        elif columns[0].name in target:
            kind, difference = compare_repeat(seen[label] == value)
            detail = f"the line {_short(label)!r} appears twice{difference}; the first is read"
            sysinfo.note(kind, offset, detail, length)
        else:
            seen[label] = value
            for detail in _add_values(target, columns, value):
                sysinfo.note("header", offset, f"{vm[2] if vm else label}: {detail}", length)
    return sysinfo


def _add_values(target: dict[str, Any], columns: tuple[TableColumn, ...], value: str) -> Iterator[str]:
    """Add the words of a value, and yield messages about invalid words."""
    words = value.split(maxsplit=len(columns) - 1) if len(columns) > 1 else [value]
    target[columns[0].name] = None
    for column, word in zip(columns, words, strict=False):
        parsed: Any = word or None
        if column.type == "int":
            parsed = number(word)
        elif column.type == "float":
            # Only capabilities can be other than integers.
            parsed = capability(word)
        if parsed is None and word:
            yield f"{_short(word)!r} is not a number"
        target[column.name] = parsed


def _add_adjustment(sysinfo: Sysinfo, cpus: int, value: str, offset: int, length: int) -> None:
    words = value.split()
    factors = [number(word) for word in words]
    if cpus in sysinfo.adjustments:
        sysinfo.note("header", offset, f"the adjustment of {cpus} CPUs appears twice", length)
    elif len(factors) not in (1, 2) or factors[0] is None or factors[-1] is None:
        detail = f"the adjustment of {cpus} CPUs is {_short(value)!r}, not a number"
        sysinfo.note("header", offset, detail, length)
    else:
        sysinfo.adjustments[cpus] = (factors[0], factors[1] if len(factors) == 2 else None)


def capability(text: str) -> float | None:
    """Parse a capability: an integer, which contains the bits of a short float from 2^23 on."""
    if "." in text:
        return float(text) if _DECIMAL.fullmatch(text) else None
    bits = number(text)
    if bits is None or not 0 <= bits < 2**32:
        return None
    value = struct.unpack(">f", struct.pack(">I", bits))[0] if bits >= 2**23 else float(bits)
    return value if isfinite(value) and value >= 0 else None


def number(text: str) -> int | None:
    """Parse a decimal number, None if it does not fit the range of a column."""
    text = text.strip("\0 \t\r\n")
    if not _NUMBER.fullmatch(text):
        return None
    value = int(text)
    return value if -_INT_LIMIT <= value < _INT_LIMIT else None


def cpu_list(text: str) -> frozenset[int] | None:
    """Parse a list of numbers such as 0-3,8; None if it is not a list."""
    cpus: set[int] = set()
    text = text.strip("\0 \t\r\n")
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        start, end = number(first), number(last or first)
        if start is None or end is None or not 0 <= start <= end < MAX_CPU:
            return None
        cpus.update(range(start, end + 1))
    return frozenset(cpus)


def cpu_mask(text: str) -> frozenset[int] | None:
    """Parse a CPU mask such as 00000000,0000000f; None if it is not a mask."""
    digits = text.strip("\0 \t\r\n").replace(",", "")
    if not digits or len(digits) > MAX_CPU // 4 or not re.fullmatch(r"[0-9a-fA-F]+", digits):
        return None
    value = int(digits, 16)
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)


class Cpuinfo(Struct):
    """Contents of a /proc/cpuinfo."""

    bogomips: float | None = None
    features: str | None = None
    #: level, type, scope, size, line_size, associativity of each cache
    caches: list[dict[str, str]] = field(default_factory=list)
    #: version, identification, machine, mhz_dynamic, mhz_static of each processor
    processors: dict[int, dict[str, Any]] = field(default_factory=dict)


def parse_cpuinfo(data: bytes) -> Cpuinfo:
    """Parse the parts of a /proc/cpuinfo that are used."""
    cpuinfo = Cpuinfo()
    cpu: int | None = None
    for _, _, text in lines(data):
        label, _, value = text.partition(":")
        label, value = label.strip(), value.strip()
        processor = _PROCESSOR.match(label)
        if label == "bogomips per cpu" and _DECIMAL.fullmatch(value):
            cpuinfo.bogomips = float(value)
        elif label == "features":
            cpuinfo.features = value
        elif label.startswith("cache") and len(cpuinfo.caches) < 64:
            cpuinfo.caches.append(dict(pair.split("=", 1) for pair in value.split() if "=" in pair))
        elif processor and int(processor[1]) < MAX_CPU:
            cpuinfo.processors.setdefault(int(processor[1]), {}).update(_FACT.findall(value))
        elif label == "cpu number":
            cpu = number(value)
        elif label in ("cpu MHz dynamic", "cpu MHz static") and cpu is not None and 0 <= cpu < MAX_CPU:
            column = "mhz_dynamic" if label.endswith("dynamic") else "mhz_static"
            cpuinfo.processors.setdefault(cpu, {})[column] = number(value)
    return cpuinfo


def parse_lscpu(data: bytes) -> dict[str, Any]:
    """Return the columns of the machine that lscpu states; values that are no numbers are NULL."""
    layout = SysinfoFacts.load()
    row: dict[str, Any] = {}
    for _, _, text in lines(data):
        label, _, value = text.partition(":")
        columns = layout.lscpu.get(label.strip())
        if columns is not None and columns[0].name not in row:
            # A value that cannot be read has no consequence but a NULL, as in /proc/cpuinfo.
            list(_add_values(row, columns, value.strip()))
    if online := cpu_list(row.get("online_list") or ""):
        row["online_cpus"] = len(online)
    return row


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."
