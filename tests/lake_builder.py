"""A small z/VM system in one file or several, and its tables in a comparable form."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import record_encoder
import zlens
from zlens import _native
from zlens.api import Session
from zlens.catalog import layouts
from zlens.inputs.options import Options

#: 2026-03-02 10:00:00 UTC
START_US = 1_772_445_600_000_000
MINUTE_US = 60_000_000
TICK = 4096
CPUS = (0, 1, 2)
DEVICES = (0x100, 0x101, 0x102, 0x2FF)
#: Processor 2 is offline in these intervals.
VARIED = range(13, 15)

Group = tuple[bool, int, int, int, list[bytes]]


@cache
def _layout(record: str) -> layouts.RecordLayout:
    return next(one for one in layouts.layouts(record) if one.release == "5.3")


def record(name: str, us: int, values: dict[str, Any], entries: list[dict[str, Any]] | None = None) -> bytes:
    layout = _layout(name)
    prefix = layout.dsect.removeprefix("MR") + "_"
    full = {prefix + key: value for key, value in values.items()}
    sections = {}
    if entries is not None:
        sections[layout.sections[0].name] = [
            {prefix + key: value for key, value in entry.items()} for entry in entries
        ]
    return record_encoder.encode(layout, full, tod=_native.tod_from_unix_us(us), entries=sections)


def end_us(number: int) -> int:
    """Return the end of interval `number`."""
    return START_US + (number + 1) * MINUTE_US


def configuration(number: int, system: str = "LAKETEST", ipl_us: int = START_US - 10**12) -> Group:
    """Build the configuration of a file whose first interval is `number`."""
    us = end_us(number - 1) + 3_000
    values = {"SYSTMID": system, "HCPCPEID": "5.3.0", "SYSTODST": _native.tod_from_unix_us(ipl_us)}
    records = [
        record("D1R4", us, {**values, "SYSMTYPE": "2964", "SYSZONE": 3600}),
        record("D1R9", us + 1, {"INTERVAL": 60}),
        record("D1R11", us + 9, {}),
    ]
    return (True, 0x40, 0, 0, records)


def events(number: int) -> list[bytes]:
    """Build the event records of an interval: a transaction, and where due VARY ON or OFF of a processor."""
    us = end_us(number - 1) + 20_000_000
    found = [record("D4R9", us, {"VMDUSER": f"USER{number % 3}", "VMDTTIME": number * TICK})]
    if number == VARIED.start:
        found.append(record("D5R2", us + 1, {"PFXCPUAD": 2}))
    if number == VARIED.stop:
        found.append(record("D5R1", us + 1, {"PFXCPUAD": 2}))
    return found


def samples(
    number: int, devices: Sequence[int] = DEVICES, step_back: int = 0, partitions: bool = False
) -> list[bytes]:
    """Build the records of one interval, with its end record."""
    us = end_us(number) - 2_000
    found = []
    for cpu in CPUS:
        if cpu == 2 and number in VARIED:
            continue
        used = (number + 3) * 7_000_000 * (cpu + 1) + number * number * 1_000
        values = {
            "PFXCPUAD": cpu,
            "PFXCPUTY": 3,
            "PFXUTIME": used * TICK,
            "PFXTMSYS": number * 600_000 * TICK,
            "PFXPRBTM": 2**63 - 1 - used * TICK,
            "PFXTOTWT": number * 29_000_000 * TICK,
            "PFXRUNCI": (2**32 - 5_000 + number * 1_234 - step_back) % 2**32,
        }
        found.append(record("D0R2", us + cpu, values))
    parts = [
        {
            "LCUCPUID": cpu,
            "LCUCWGHT": 100,
            "LCUCACTM": number * 9_000_000 + cpu,
            "LCUCLPTM": number * 8_000_000,
        }
        for cpu in CPUS
    ]
    for at, name in enumerate(("LAKETEST", "OTHER") if partitions else ()):
        found.append(record("D0R16", us + 10 + at, {"LCUPNAME": name, "LCUPPNUM": at, "LCUPCPCT": 3}, parts))
    for at, device in enumerate(devices):
        starts = 60_000 + (number + device) * 997
        values = {"RDEVDEV": device, "SCMSSCH": starts % 2**16, "SCMCNTIM": number * 31_000 + device}
        found.append(record("D6R3", us + 20 + at, values))
    found.append(record("D1R11", end_us(number), {}))
    return found


def interval(number: int, **facts: Any) -> list[Group]:
    return [(False, 0x0E, 0, 0x0C38, events(number)), (True, 0x82, 0, 0x0400, samples(number, **facts))]


def recording(
    numbers: Iterable[int], *, system: str = "LAKETEST", ipl_us: int | None = None, **facts: Any
) -> list[Group]:
    """Build a file: configuration and intervals."""
    listed = list(numbers)
    groups = [configuration(listed[0], system, *([] if ipl_us is None else [ipl_us]))]
    for number in listed:
        groups += interval(number, **facts)
    return groups


def write(path: Path, groups: Iterable[Group]) -> str:
    writer = _native.MonwriteWriter(str(path))
    for group in groups:
        writer.write([group])
    writer.finish()
    return str(path)


# Tables -------------------------------------------------------------------------------------------

#: Tables about files differ between one file and several.
_OF_FILES = frozenset({"inventory", "problem", "d1r13"})
#: Measures that are compared in addition to all raw tables.
MEASURES = frozenset({"system", "interval", "event", "cpu"})
_PLACES = frozenset({"file", "offset", "files"})

Table = tuple[list[str], list[str], list[tuple[Any, ...]]]


def _comparable(value: Any) -> Any:
    # Sums of floats differ in their last digits with the order of rows.
    return float(f"{value:.11g}") if isinstance(value, float) else value


def _order(row: tuple[Any, ...]) -> list[tuple[bool, str]]:
    return [(value is not None, str(value)) for value in row]


def tables(
    inputs: str | os.PathLike[str] | Sequence[str], options: Options | None = None
) -> dict[str, Table]:
    """Return the raw tables of an input and some measures, without tables and columns about files."""
    with zlens.open(inputs, options=options) as session:
        return tables_of(session)


def tables_of(session: Session, names: Iterable[str] | None = None) -> dict[str, Table]:
    found: dict[str, Table] = {}
    if names is None:
        listed = session.sql("SHOW TABLES").rows
        names = [name for name, kind, _ in listed if kind == "raw" or name in MEASURES]
        names = [name for name in names if not name.startswith("_") and name not in _OF_FILES]
    for name in names:
        answer = session.sql(f"FROM {name}")
        kept = [at for at, column in enumerate(answer.columns) if column not in _PLACES]
        rows = [tuple(_comparable(row[at]) for at in kept) for row in answer.rows]
        found[name] = (answer.columns, answer.types, sorted(rows, key=_order))
    return found


def differences(found: dict[str, Table], expected: dict[str, Table]) -> list[str]:
    """Describe the tables that differ, with the first differing row of each."""
    messages = []
    for name in sorted(found.keys() | expected.keys()):
        if name not in found or name not in expected:
            messages.append(f"{name} is missing")
        elif found[name] != expected[name]:
            columns = [column for column in expected[name][0] if column not in _PLACES]
            pairs = zip(found[name][2], expected[name][2], strict=False)
            row = next(((mine, theirs) for mine, theirs in pairs if mine != theirs), ((), ()))
            cells = [
                f"{column}: {mine} for {theirs}"
                for column, mine, theirs in zip(columns, *row, strict=False)
                if mine != theirs
            ]
            messages.append(f"{name}: {len(found[name][2])} rows for {len(expected[name][2])}; {cells[:6]}")
    return messages
