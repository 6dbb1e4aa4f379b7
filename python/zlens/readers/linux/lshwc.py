"""What lshwc and lscpumf of the s390-tools print, and what /proc/service_levels says of the facility.

lshwc: values since the beginning of the run, or what came to them since the reading before (-d), per CPU and
in all, as CSV or JSON. The first reading of -d counts from the beginning, too. Which of the two the CPUs'
values are, the line for all CPUs tells, which comes last of a reading: `Total` or `Delta`.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from zlens.catalog import cpumf, linux_events
from zlens.readers.linux.perf import MAX_COUNTS, Count, Lines, Note, Reading, short

_HEADER = re.compile(r'"?Date"?,"?Time"?,"?CPU"?,(.+)', re.IGNORECASE)
_CPU = re.compile(r"CPU(\d{1,6})")
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_DECIMAL = re.compile(r"\d{1,20}")
#: Columns of a header that are looked at; all counter sets together have fewer than 300.
_COLUMNS = 1_000

#: What the tools say where there is nothing to count with, often instead of data.
NOTHING = (
    "No support for CPU Measurement Counter set facility",
    "No CPU-measurement facilities detected",
    "No CPU-measurement counter facility detected",
    "No counter sets are authorized",
)


@dataclass(slots=True)
class Facility:
    """What a text says of the facility. sets: the counter sets that may be used, by the catalog's names."""

    cfvn: int | None = None
    csvn: int | None = None
    sets: list[str] | None = None
    cpsp: float | None = None
    machine: str | None = None
    #: Names of counters that the system has, with their numbers.
    counters: dict[str, int] = field(default_factory=dict)
    host: str | None = None
    absent: str | None = None


#: Bits of the authorization, as the kernel shows them.
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


def is_csv(head: str) -> bool:
    for line in head.splitlines()[:20]:
        if line.strip():
            match = _HEADER.match(line.strip())
            if match is None:
                continue
            labels = match[1].replace('"', "").split(",")
            return any(linux_events.is_label(each) for each in labels[:_COLUMNS])
    return False


def is_json(head: str) -> bool:
    bare = head.lstrip("\x1e \r\n\t")
    return bare.startswith("{") and '"lshwc"' in bare and '"measurements"' in bare


def is_hexadecimal(head: str) -> bool:
    """Whether values are hexadecimal without saying so (-x): most long ones have a letter then."""
    cells = [cell.strip().strip('"') for line in head.splitlines()[1:] for cell in line.split(",")[3:]]
    return _mostly_hexadecimal(cell for cell in cells if _HEX.fullmatch(cell))


def _mostly_hexadecimal(numbers: Iterable[str]) -> bool:
    long = [number for number in numbers if len(number) >= 4]
    return sum(not number.isdigit() for number in long) > 0.3 * len(long)


def rows(lines: Lines, note: Note, *, hexadecimal: bool = False) -> Iterator[Reading]:
    """Readings of lshwc's CSV."""
    labels: list[str] = []
    run = -1
    reading: Reading | None = None
    for offset, line in lines:
        bare = line.strip()
        if not bare:
            continue
        header = _HEADER.match(bare)
        if header is not None:
            if reading is not None:
                yield reading
                reading = None
            labels = [each.strip().strip('"') for each in header[1].split(",")[:_COLUMNS]]
            run += 1
            continue
        cells = [each.strip().strip('"') for each in bare.split(",")]
        moment = _moment(cells[:2])
        if not labels or moment is None or len(cells) < 4:
            if not any(each in bare for each in NOTHING):
                note("header", f"{bare[:60]!r} is no line of lshwc; not read", offset)
            continue
        who, shown = cells[2].strip(), cells[3:]
        if len(shown) != len(labels):
            # The reading it stands in is not told whole; what is there is kept.
            kind = "truncated" if len(shown) < len(labels) else "length"
            note(kind, f"{len(shown)} values under {len(labels)} names; those beyond are not read", offset)
            if kind == "truncated":
                shown = shown[:-1]
        if reading is not None and reading.local != moment:
            yield reading
            reading = None
        if reading is None:
            reading = Reading(offset, run, local=moment, absolute=True)
        cpu = _cpu(who)
        if who.lower() not in ("total", "delta") and cpu is None:
            note("header", f"{who[:20]!r} is no CPU; not read", offset)
            continue
        bad = None
        for label, each in zip(labels, shown, strict=False):
            value = _value(each, hexadecimal)
            bad = bad if value is not None else each
            if len(reading.counts) < MAX_COUNTS:
                reading.counts.append(Count(label, value=value, cpu=cpu))
        if bad is not None:
            note("header", f"{bad[:30]!r} is no value of a counter; it is NULL", offset)
        if cpu is None:
            reading.absolute = who.lower() == "total"
            yield reading
            reading = None
    if reading is not None:
        # Without the line for all CPUs nobody says what these values are.
        note("truncated", "the last reading ends before the line of all CPUs; not read", reading.offset)


def _moment(cells: list[str]) -> dt.datetime | None:
    shown = " ".join(each.strip() for each in cells)
    if len(shown) > 20:
        return None
    try:
        found = dt.datetime.strptime(shown, "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    return found if 1971 <= found.year <= 2200 else None


def _cpu(who: str) -> int | None:
    match = _CPU.fullmatch(who.upper())
    return int(match[1]) if match else None


def _value(text: str, hexadecimal: bool) -> int | None:
    bare = text.strip()
    if bare[:2].lower() == "0x" or hexadecimal:
        return int(bare, 16) if _HEX.fullmatch(bare) else None
    return int(bare) if _DECIMAL.fullmatch(bare) else None


_INFO = re.compile(r'"cpumcf info"\s*:\s*(\{[^{}]{0,500}\})')
_HOST = re.compile(r'"host"\s*:\s*"([^"\\]{1,64})"')
_BEGIN = re.compile(r'\{\s{0,40}"date_time"')
#: Measurements that cannot be read before a file is given up.
_BROKEN = 500
#: Longest measurement of one CPU: all counters of it need some 40 KB.
_MEASUREMENT = 256 * 1024
_MEASUREMENTS = re.compile(r'"measurements"\s*:\s*\[')
#: Numbers, which -x and -X write in hexadecimal. That is no JSON unless everything is quoted (-q).
_NUMBER = re.compile(r'("(id|value)"\s{0,4}:\s{0,4})("?)((?:0[xX])?[0-9a-fA-F]{1,16})\3(?=\s{0,40}[,}])')
#: From here on counters are numbered that machines have more of with time.
_LATER = cpumf.sets()["extended"].first
_END = re.compile(r"\]\s{0,40}\}")
#: Something else than what closes the JSON.
_BEHIND = re.compile(r"[^\]}\s]")
#: How far into a file its numbers tell how they are written: all counters of one CPU, and more.
_SHOWN = 1 << 20


def objects(text: str, note: Note) -> tuple[Facility, Iterator[Reading]]:
    """What lshwc's JSON says of the facility, and its readings. A file cut off gives those that are whole."""
    facility = Facility()
    begin = _MEASUREMENTS.search(text)
    head = text[: begin.start()] if begin else text
    info = _INFO.search(head)
    facts = _loaded(info[1]) if info else None
    if isinstance(facts, dict):
        facility.cfvn = _integer(facts.get("counter first"), 255)
        facility.csvn = _integer(facts.get("counter second"), 255)
        bits = _integer(facts.get("authorization"), 0xFFFF)
        facility.sets = authorized(bits) if bits is not None else None
    host = _HOST.search(head)
    facility.host = host[1].strip() or None if host else None
    return facility, _objects(text, begin.end() if begin else len(text), note)


def _in_hexadecimal(text: str) -> bool:
    """Whether numbers are hexadecimal: those of counters tell, unless they are below ten; else the values."""
    found = [(each[2], each[4]) for each in _NUMBER.finditer(text, 0, _SHOWN)]
    ids = [number for key, number in found if key == "id" and len(number) > 1]
    strange = sum(not number.isdigit() or _between_sets(int(number)) for number in ids)
    return 2 * strange > len(ids) or _mostly_hexadecimal(number for key, number in found if key == "value")


def _between_sets(number: int) -> bool:
    """Whether it numbers no counter, nor one that a later machine may have: those come last."""
    return number < _LATER and not linux_events.known(number)


def _loader(text: str) -> Callable[[str], tuple[Any, int]]:
    """Reads a measurement at the beginning of a text: what it says, and its length."""
    if not _in_hexadecimal(text):
        return json.JSONDecoder().raw_decode

    def load(piece: str) -> tuple[Any, int]:
        end = _END.search(piece)
        whole = piece[: end.end()] if end else piece
        return json.loads(_NUMBER.sub(lambda found: f"{found[1]}{int(found[4], 16)}", whole)), len(whole)

    return load


def _objects(text: str, at: int, note: Note) -> Iterator[Reading]:
    load = _loader(text)
    reading: Reading | None = None
    closed = False
    broken = run = 0
    while at < len(text):
        if text[at] in ", \r\n\t":
            at += 1
            continue
        if text[at] == "]":
            if reading is not None:
                note("truncated", "the last reading ends before that of all CPUs; not read", reading.offset)
                reading = None
            further = _MEASUREMENTS.search(text, at)
            if further is None:
                closed = True
                break
            # Another run, written behind the first.
            at = further.end()
            run += 1
            continue
        try:
            facts, length = load(text[at : at + _MEASUREMENT])
        except (ValueError, RecursionError):
            # What is broken may be followed by what is whole.
            broken += 1
            further = _BEGIN.search(text, at + 1) if broken < _BROKEN else None
            until = further.start() if further else len(text)
            kind = "resync" if further else "truncated"
            note(kind, f"{until - at:,} characters are no measurement of lshwc; not read", at)
            at = until
            continue
        found = _measurement(facts, at, note)
        at += length
        if found is None:
            continue
        moment, offset_s, who, counts = found
        if reading is not None and reading.epoch_s != moment:
            yield reading
            reading = None
        if reading is None:
            reading = Reading(at, run, epoch_s=moment, absolute=True)
            if offset_s is not None:
                reading.local = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=moment + offset_s)
        room = MAX_COUNTS - len(reading.counts)
        reading.counts += counts[:room]
        if who in ("total", "delta"):
            reading.absolute = who == "total"
            yield reading
            reading = None
    if not closed:
        note("truncated", "the JSON ends inside its measurements", len(text))
    elif behind := _BEHIND.search(text, at):
        left = len(text) - behind.start()
        note("header", f"{left:,} characters behind the measurements are none; not read", behind.start())


def _measurement(facts: Any, at: int, note: Note) -> tuple[int, int | None, str, list[Count]] | None:
    moment = _integer(facts.get("time_epoch"), 7_258_118_400) if isinstance(facts, dict) else None
    counters = facts.get("counters") if isinstance(facts, dict) else None
    if moment is None or not isinstance(counters, list):
        note("header", "a measurement without time or counters; not read", at)
        return None
    who = str(facts.get("cpu", "")).lower()
    cpu = int(who) if re.fullmatch(r"\d{1,6}", who) else None
    if cpu is None and who not in ("total", "delta"):
        note("header", f"{who[:20]!r} is no CPU; not read", at)
        return None
    counts: list[Count] = []
    for each in counters:
        number = _integer(each.get("id"), 511) if isinstance(each, dict) else None
        value = _integer(each.get("value"), 2**64 - 1) if isinstance(each, dict) else None
        if number is None or value is None:
            note("header", "a counter without number or value; not read", at)
            continue
        counts.append(Count(str(each.get("name", ""))[:80], value=value, cpu=cpu, number=number))
    zone = re.search(r"([+-])(\d\d)(\d\d)$", str(facts.get("date_time", "")))
    offset_s = None
    if zone is not None:
        offset_s = (1 if zone[1] == "+" else -1) * (int(zone[2]) * 3600 + int(zone[3]) * 60)
    return moment, offset_s, who, counts


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _integer(value: Any, most: int) -> int | None:
    """A number of a JSON file, which stands in quotes where everything is quoted (-q)."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= most else None


# lscpumf and /proc/service_levels

_SERVICE = re.compile(
    r"CPU-MF: Counter facility: version=(\d{1,3})\.(\d{1,3}) authorization=([0-9a-fA-F]{1,8})"
)
_SPEED = re.compile(r"CPU-MF: Sampling facility: .*\bcpu_speed=(\d{1,6})\b")
_VERSION = re.compile(r"Version:\s+(\d{1,3})\.(\d{1,3})")
_LIST = re.compile(r"perf event counter list for\s+(.+)", re.IGNORECASE)
_ENTRY = re.compile(r"(?:r|\d{1,5}:)[0-9a-fA-F]{1,4}(?:\t\s*|/name=)([A-Za-z][A-Za-z0-9_]*)/?")
_OF_SET = re.compile(r"Counter (\d{1,3}) / (.+?) Counter Set\.?", re.IGNORECASE)
_ALLOWED = re.compile(r"\s+(\S+) counter Set", re.IGNORECASE)


def is_facility(head: str) -> bool:
    begin = "\n".join(head.splitlines()[:200])
    told = ("CPU-measurement Counter Facility", "perf event counter list for", "CPU-MF: Counter facility")
    return any(each.lower() in begin.lower() for each in told) or any(each in begin for each in NOTHING)


def facility(lines: Lines, note: Note) -> Facility:
    """What lscpumf (-i, -c, -C) or /proc/service_levels says."""
    found = Facility()
    name: str | None = None
    for _, line in short(lines, note):
        bare = line.strip()
        service = _SERVICE.search(bare)
        speed = _SPEED.search(bare)
        version = _VERSION.fullmatch(bare)
        of_machine = _LIST.match(bare)
        entry = _ENTRY.fullmatch(bare)
        numbered = _OF_SET.fullmatch(bare)
        allowed = _ALLOWED.fullmatch(line.rstrip())
        if service is not None:
            found.cfvn, found.csvn = int(service[1]), int(service[2])
            found.sets = authorized(int(service[3], 16))
        elif speed is not None:
            found.cpsp = float(speed[1]) or None
        elif version is not None and found.csvn is None:
            found.cfvn, found.csvn = int(version[1]), int(version[2])
        elif of_machine is not None:
            found.machine = of_machine[1].strip()[:60]
        elif entry is not None:
            name = entry[1].upper()
        elif numbered is not None and name is not None and len(found.counters) < 1_000:
            found.counters[name] = int(numbered[1])
            name = None
        elif allowed is not None and allowed[1].lower() in _SETS:
            found.sets = [*(found.sets or []), _SETS[allowed[1].lower()]]
        for each in NOTHING:
            if each in bare:
                found.absent = each
    return found
