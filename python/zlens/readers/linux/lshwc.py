"""Output of lshwc and lscpumf from s390-tools, and the facility information in /proc/service_levels.

lshwc prints values since the start of the run, or with -d since the previous reading, per CPU and in total,
as CSV, JSON or pairs (-f). JSON is one object or a stream in one of two unnamed formats: JSONL, or JSON-SEQ
with a record separator before each object. The first reading of -d also counts from the start of the run. The
last line of a reading, for all CPUs, is `Total` or `Delta` according to the kind of its values.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct, field

from zlens.catalog import cpumf, linux_events
from zlens.inputs.unix_time import LATEST_US
from zlens.readers.files import NO_END
from zlens.readers.linux.perf import MAX_COUNTS, Count, Lines, Note, PerfReading, skip_long_lines

_HEADER = re.compile(r'"?Date"?,"?Time"?,"?CPU"?,(.+)', re.IGNORECASE)
_CPU = re.compile(r"CPU(\d{1,6})")
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"\d{1,20}")
#: Header columns that are read; all counter sets have fewer than 300 in total.
_COLUMNS = 1_000

#: Messages of the tools if counters are unavailable, often printed instead of data.
NOTHING = (
    "No support for CPU Measurement Counter set facility",
    "No CPU-measurement facilities detected",
    "No CPU-measurement counter facility detected",
    "No counter sets are authorized",
)


#: Returns the events of headings, None if they are of another tool.
Events = Callable[[Sequence[str]], list[str] | None]
#: A measurement: its offset in the text, the index of its run, and its content.
Measured = tuple[int, int, Any]


class Facility(Struct):
    """Facts about the facility. sets: the authorized counter sets, by catalog name."""

    cfvn: int | None = None
    csvn: int | None = None
    sets: list[str] | None = None
    cpsp: float | None = None
    #: Numbers of the system's counters, by name.
    counters: dict[str, int] = field(default_factory=dict)
    host: str | None = None
    absent: str | None = None


#: Authorization bits as shown by the kernel.
_AUTHORIZED = {0x02: "basic", 0x04: "problem", 0x08: "crypto", 0x01: "extended", 0x20: "mt_diag"}
_SETS = {
    "basic": "basic",
    "problem-state": "problem",
    "crypto-activity": "crypto",
    "extended": "extended",
    "mt-diagnostic": "mt_diag",
}


def authorized(bits: int) -> list[str]:
    return [name for bit, name in _AUTHORIZED.items() if bits & bit]


def is_csv(text: str) -> bool:
    """Return whether a text starts with the header of lshwc's CSV."""
    return any(labels(line, _lshwc_labels) for line in text.splitlines()[:20])


def labels(line: str, events: Events) -> list[str] | None:
    """Return the events of the header of a CSV; None if the line is none, or of another tool."""
    header = _HEADER.match(line.strip())
    if header is None:
        return None
    return events([label.strip().strip('"') for label in header[1].split(",")[:_COLUMNS]])


def _lshwc_labels(labels: Sequence[str]) -> list[str] | None:
    return list(labels) if any(map(linux_events.is_label, labels)) else None


def is_json(text: str) -> bool:
    bare = text.lstrip("\x1e \r\n\t")
    return bare.startswith("{") and '"cpumcf info"' in bare and '"measurements"' in bare


def is_pairs(text: str) -> bool:
    return any(_PAIR.fullmatch(line) for line in text.splitlines()[:20])


def is_hexadecimal(text: str) -> bool:
    """Return whether values are hexadecimal without a prefix (-x): most long ones contain a letter."""
    cells = [cell.strip().strip('"') for line in text.splitlines()[1:] for cell in line.split(",")[3:]]
    return _mostly_hexadecimal(cell for cell in cells if _HEX.fullmatch(cell))


def _mostly_hexadecimal(numbers: Iterable[str]) -> bool:
    long = [number for number in numbers if len(number) >= 4]
    return sum(not number.isdecimal() for number in long) > 0.3 * len(long)


def csv_readings(
    lines: Lines, note: Note, *, hexadecimal: bool = False, events: Events = list
) -> Iterator[PerfReading]:
    """Yield the readings of CSV output. `events` returns what the counts of the columns are called."""
    names: list[str] = []
    run = -1
    reading: PerfReading | None = None
    for offset, line in lines:
        bare = line.strip()
        if not bare:
            continue
        if _HEADER.match(bare):
            if reading is not None:
                yield reading
                reading = None
            names = labels(bare, events) or []
            run += 1
            continue
        cells = [cell.strip().strip('"') for cell in bare.split(",")]
        time = _parse_time(cells[:2])
        if not names or time is None or len(cells) < 4:
            if not any(message in bare for message in NOTHING):
                note("header", f"{bare[:60]!r} is not a line of lshwc; not read", offset)
            continue
        cpu_name, values = cells[2].strip(), cells[3:]
        if len(values) != len(names):
            # The reading is incomplete; its values are used.
            kind = "truncated" if len(values) < len(names) else "length"
            note(kind, f"{len(values)} values under {len(names)} names; the excess is not read", offset)
            if kind == "truncated":
                values = values[:-1]
        if reading is not None and reading.local != time:
            yield reading
            reading = None
        if reading is None:
            reading = PerfReading(offset, run, local=time, absolute=True)
        match = _CPU.fullmatch(cpu_name.upper())
        cpu = int(match[1]) if match else None
        if cpu_name.lower() not in ("total", "delta") and cpu is None:
            note("header", f"{cpu_name[:20]!r} is not a CPU; not read", offset)
            continue
        invalid = None
        for label, cell in zip(names, values, strict=False):
            value = _value(cell, hexadecimal)
            invalid = invalid if value is not None else cell
            if len(reading.counts) < MAX_COUNTS:
                reading.counts.append(Count(label, value=value, cpu=cpu))
        if invalid is not None:
            note("header", f"{invalid[:30]!r} is not a counter value; it is NULL", offset)
        if cpu is None:
            reading.absolute = cpu_name.lower() == "total"
            yield reading
            reading = None
    if reading is not None:
        # Without the line for all CPUs, the kind of these values is unknown.
        note("truncated", "the last sample ends before the line of all CPUs; not read", reading.offset)


def _parse_time(cells: list[str]) -> dt.datetime | None:
    text = " ".join(cell.strip() for cell in cells)
    if len(text) > 20:
        return None
    try:
        time = dt.datetime.strptime(text, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    return time if 1971 <= time.year <= 2200 else None


def _value(text: str, hexadecimal: bool) -> int | None:
    bare = text.strip()
    if bare[:2].lower() == "0x" or hexadecimal:
        return int(bare, 16) if _HEX.fullmatch(bare) else None
    return int(bare) if _DECIMAL.fullmatch(bare) else None


_INFO = re.compile(r'"cpumcf info"\s*:\s*(\{[^{}]{0,500}\})')
_HOST = re.compile(r'"host"\s*:\s*"([^"\\]{1,64})"')
_BEGIN = re.compile(r'\{\s{0,40}"date_time"')
#: Number of unreadable measurements after which the file is abandoned.
_BROKEN = 500
#: Maximum characters of a measurement of one CPU; all its counters need some 40 KB.
_MEASUREMENT = 256 * 1024
_MEASUREMENTS = re.compile(r'"measurements"\s*:\s*\[')
#: A pair of a measurement: its number and subject, and a key, or number and key of a counter.
_PAIR = re.compile(
    r"lshwc\.measurements\[(\d{1,9})\]\.(cpu_\d{1,6}|total)\."
    r"(?:(date_time|time_epoch|cpu)|counters\[(\d{1,4})\]\.(name|id|value))=(.{0,200})"
)
_META = re.compile(r"meta\.[a-z_]{1,20}=.*")
_META_HOST = re.compile(r'(?m)^meta\.host="([^"\\]{1,64})"$')
#: Numbers, hexadecimal with -x and -X, which is valid JSON only if everything is quoted (-q).
_NUMBER = re.compile(r'("(id|value)"\s{0,4}:\s{0,4})("?)((?:0[xX])?[0-9a-fA-F]{1,16})\3(?=\s{0,40}[,}])')
#: Counter numbers from here on may be extended by newer machines.
_LATER = cpumf.sets()["extended"].first
_END = re.compile(r"\]\s{0,40}\}")
#: Anything other than the end of the JSON.
_AFTER_END = re.compile(r"[^\]}\s]")
#: Number of characters inspected to find the number base: more than all counters of one CPU.
_SHOWN = 1 << 20
_CUT = "the last sample ends before the values of all CPUs; not read"


def json_readings(text: str, note: Note) -> tuple[Facility, Iterator[PerfReading]]:
    """Return the facility and the readings in lshwc JSON; a truncated file yields the complete readings."""
    facility = Facility()
    start = _MEASUREMENTS.search(text)
    header = text[: start.start()] if start else text
    info = _INFO.search(header)
    values = None
    with suppress(ValueError, RecursionError):
        values = json.loads(info[1]) if info else None
    if isinstance(values, dict):
        facility.cfvn = _integer(values.get("counter first"), 255)
        facility.csvn = _integer(values.get("counter second"), 255)
        bits = _integer(values.get("authorization"), 0xFFFF)
        facility.sets = authorized(bits) if bits is not None else None
    host = _HOST.search(header)
    facility.host = host[1].strip() or None if host else None
    return facility, _readings(_objects(text, start.end() if start else len(text), note), note)


def pairs(text: str, note: Note) -> tuple[Facility, Iterator[PerfReading]]:
    """Return the facility and the readings in lshwc pairs."""
    host = _META_HOST.search(text)
    return Facility(host=host[1].strip() or None if host else None), _readings(_pairs(text, note), note)


def _pairs(text: str, note: Note) -> Iterator[Measured]:
    """Yield the measurements of pairs, which are consecutive; a new run starts again with number 0."""
    numbers = ((match[5], match[6].strip('"')) for match in _PAIR.finditer(text, 0, _SHOWN) if match[5])
    base = 16 if _in_hexadecimal(numbers) else 10
    run, start, offset = 0, 0, 0
    latest: tuple[int, str] | None = None
    values: dict[str, Any] = {}
    counters: dict[int, dict[str, Any]] = {}
    for line in text.splitlines(keepends=True):
        line_offset, offset = offset, offset + len(line)
        bare = line.strip()
        match = _PAIR.fullmatch(bare)
        if not line.endswith("\n"):
            note("truncated", NO_END, line_offset)
            break
        if match is None:
            if bare and not _META.fullmatch(bare):
                note("header", f"{bare[:60]!r} is not a pair of lshwc; not read", line_offset)
            continue
        number, key, value = int(match[1]), match[3] or match[5], match[6].strip('"')
        if (number, match[2]) != latest:
            if latest is not None:
                yield start, run, values
                run += number <= latest[0]
            latest, start, counters = (number, match[2]), line_offset, {}
            values = {"counters": []}
        if match[3]:
            values[key] = value
            continue
        if int(match[4]) not in counters:
            counters[int(match[4])] = {}
            values["counters"].append(counters[int(match[4])])
        digits = _HEX if base == 16 else _DECIMAL
        parsed = int(value, base) if digits.fullmatch(value) else None
        counters[int(match[4])][key] = value if key == "name" else parsed
    if latest is not None:
        yield start, run, values


def _in_hexadecimal(numbers: Iterable[tuple[str, str]]) -> bool:
    """Return whether numbers, with their keys, are hexadecimal: by counter numbers above 9 and by values."""
    numbers = list(numbers)
    ids = [number for key, number in numbers if key == "id" and len(number) > 1]
    # Decimal numbers below the range of new counters are those of counters.
    unexpected_count = sum(
        not number.isdecimal() or (int(number) < _LATER and not linux_events.is_counter_number(int(number)))
        for number in ids
    )
    values = (number for key, number in numbers if key == "value")
    return 2 * unexpected_count > len(ids) or _mostly_hexadecimal(values)


def _json_decoder(text: str) -> Callable[[str], tuple[Any, int]]:
    """Return a function that decodes the measurement at the start of a text, with its length."""
    if not _in_hexadecimal((match[2], match[4]) for match in _NUMBER.finditer(text, 0, _SHOWN)):
        return json.JSONDecoder().raw_decode

    def load(text: str) -> tuple[Any, int]:
        end = _END.search(text)
        measurement = text[: end.end()] if end else text
        decimal = _NUMBER.sub(lambda match: f"{match[1]}{int(match[4], 16)}", measurement)
        return json.loads(decimal), len(measurement)

    return load


def _objects(text: str, offset: int, note: Note) -> Iterator[Measured]:
    """Yield the measurements of JSON."""
    load = _json_decoder(text)
    closed = False
    broken_count = run = 0
    while offset < len(text):
        if text[offset] in ", \r\n\t":
            offset += 1
            continue
        if text[offset] == "]":
            next_start = _MEASUREMENTS.search(text, offset)
            if next_start is None:
                closed = True
                break
            # Another run, appended to the first.
            offset = next_start.end()
            run += 1
            continue
        try:
            values, length = load(text[offset : offset + _MEASUREMENT])
        except (ValueError, RecursionError):
            # Intact measurements may follow a broken one.
            broken_count += 1
            next_start = _BEGIN.search(text, offset + 1) if broken_count < _BROKEN else None
            until = next_start.start() if next_start else len(text)
            kind = "resync" if next_start else "truncated"
            note(kind, f"{until - offset:,} characters are not an lshwc measurement; not read", offset)
            offset = until
            continue
        yield offset, run, values
        offset += length
    if not closed:
        note("truncated", "the JSON ends inside its measurements", len(text))
    elif unexpected := _AFTER_END.search(text, offset):
        remaining = len(text) - unexpected.start()
        detail = f"{remaining:,} characters after the measurements are unexpected; not read"
        note("header", detail, unexpected.start())


def _readings(measurements: Iterator[Measured], note: Note) -> Iterator[PerfReading]:
    """Yield the readings that the measurements form; the last one of a reading is for all CPUs."""
    reading: PerfReading | None = None
    for offset, run, values in measurements:
        measurement = _measurement(values, offset, note)
        if measurement is None:
            continue
        epoch_s, offset_s, cpu_name, counts = measurement
        if reading is not None and reading.run != run:
            note("truncated", _CUT, reading.offset)
            reading = None
        if reading is not None and reading.epoch_s != epoch_s:
            yield reading
            reading = None
        if reading is None:
            reading = PerfReading(offset, run, epoch_s=epoch_s, absolute=True)
            if offset_s is not None:
                reading.local = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=epoch_s + offset_s)
        free_count = MAX_COUNTS - len(reading.counts)
        reading.counts += counts[:free_count]
        if cpu_name in ("total", "delta"):
            reading.absolute = cpu_name == "total"
            yield reading
            reading = None
    if reading is not None:
        note("truncated", _CUT, reading.offset)


def _measurement(values: Any, offset: int, note: Note) -> tuple[int, int | None, str, list[Count]] | None:
    values = values if isinstance(values, dict) else {}
    epoch_s, counters = _integer(values.get("time_epoch"), LATEST_US // 1_000_000), values.get("counters")
    if epoch_s is None or not isinstance(counters, list):
        note("header", "a measurement without time or counters; not read", offset)
        return None
    cpu_name = str(values.get("cpu", "")).lower()
    cpu = int(cpu_name) if re.fullmatch(r"\d{1,6}", cpu_name) else None
    if cpu is None and cpu_name not in ("total", "delta"):
        note("header", f"{cpu_name[:20]!r} is not a CPU; not read", offset)
        return None
    counts: list[Count] = []
    for counter in counters:
        counter = counter if isinstance(counter, dict) else {}
        number, value = _integer(counter.get("id"), 511), _integer(counter.get("value"), 2**64 - 1)
        if number is None or value is None:
            note("header", "a counter without number or value; not read", offset)
            continue
        counts.append(Count(str(counter.get("name", ""))[:80], value=value, cpu=cpu, number=number))
    zone = re.search(r"([+-])(\d\d)(\d\d)$", str(values.get("date_time", "")))
    offset_s = None
    if zone is not None:
        offset_s = (1 if zone[1] == "+" else -1) * (int(zone[2]) * 3600 + int(zone[3]) * 60)
    return epoch_s, offset_s, cpu_name, counts


def _integer(value: Any, max_value: int) -> int | None:
    """Parse a number from JSON, in quotes if everything is quoted (-q); None beyond `max_value`."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= max_value else None


# lscpumf and /proc/service_levels

_SERVICE = re.compile(
    r"CPU-MF: Counter facility: version=(\d{1,3})\.(\d{1,3}) authorization=([0-9a-fA-F]{1,8})"
)
_SPEED = re.compile(r"CPU-MF: Sampling facility: .*\bcpu_speed=(\d{1,6})\b")
_VERSION = re.compile(r"Version:\s+(\d{1,3})\.(\d{1,3})")
_ENTRY = re.compile(r"(?:r|\d{1,5}:)[0-9a-fA-F]{1,4}(?:\t\s*|/name=)([A-Za-z][A-Za-z0-9_]*)/?")
_OF_SET = re.compile(r"Counter (\d{1,3}) / (.+?) Counter Set\.?", re.IGNORECASE)
_ALLOWED = re.compile(r"\s+(\S+) counter Set", re.IGNORECASE)


def is_facility(content: str) -> bool:
    first_lines = "\n".join(content.splitlines()[:200])
    marks = ("CPU-measurement Counter Facility", "perf event counter list for", "CPU-MF: Counter facility")
    return any(mark.lower() in first_lines.lower() for mark in marks) or any(
        text in first_lines for text in NOTHING
    )


def facility(lines: Lines, note: Note) -> Facility:
    """Parse the output of lscpumf (-i, -c, -C) or /proc/service_levels."""
    facility = Facility()
    name: str | None = None
    for _, line in skip_long_lines(lines, note):
        bare = line.strip()
        if service := _SERVICE.search(bare):
            facility.cfvn, facility.csvn = int(service[1]), int(service[2])
            facility.sets = authorized(int(service[3], 16))
        elif speed := _SPEED.search(bare):
            facility.cpsp = float(speed[1]) or None
        elif facility.csvn is None and (version := _VERSION.fullmatch(bare)):
            facility.cfvn, facility.csvn = int(version[1]), int(version[2])
        elif entry := _ENTRY.fullmatch(bare):
            name = entry[1].upper()
        elif name is not None and len(facility.counters) < 1_000 and (match := _OF_SET.fullmatch(bare)):
            facility.counters[name] = int(match[1])
            name = None
        elif (match := _ALLOWED.fullmatch(line.rstrip())) and match[1].lower() in _SETS:
            facility.sets = [*(facility.sets or []), _SETS[match[1].lower()]]
        for message in NOTHING:
            if message in bare:
                facility.absent = message
    return facility
