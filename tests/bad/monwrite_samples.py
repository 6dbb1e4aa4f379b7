"""Small MONWRITE files to damage: a system, some samples of its processors, one event."""

from __future__ import annotations

from pathlib import Path

import record_encoder
from zlens import _native
from zlens.catalog import layouts

START_US = 1_772_442_000_000_000
CPUS = 4
INTERVALS = 8
PAGE = 4096


def record(name: str, time_us: int, values: dict[str, object], length: int | None = None) -> bytes:
    layout = next(one for one in layouts.layouts(name) if one.release == "5.3")
    return record_encoder.encode(layout, values, tod=_native.tod_from_unix_us(time_us), length=length)


def processor(time_us: int, number: int, cpu: int, length: int | None = None) -> bytes:
    values: dict[str, object] = {
        "SYTPRP_PFXCPUAD": cpu,
        "SYTPRP_PFXCPUTY": 3,
        "SYTPRP_PFXUTIME": number * 30_000_000 * 4096,
        "SYTPRP_PFXTMSYS": number * 600_000 * 4096,
        "SYTPRP_PFXPRBTM": 2**63 - 1 - number * 25_000_000 * 4096,
        "SYTPRP_PFXTOTWT": number * 29_000_000 * 4096,
    }
    return record("D0R2", time_us, values, length)


def sample(
    number: int, lengths: dict[int, int] | None = None, more: list[bytes] | None = None
) -> list[bytes]:
    """Build the records of one interval, with the `lengths` of some processors' and `more` records."""
    end = START_US + number * 60_000_000
    records = [processor(end - 100, number, cpu, (lengths or {}).get(cpu)) for cpu in range(CPUS)]
    return [*records, *(more or []), record("D1R11", end, {})]


def write(
    path: Path,
    intervals: list[list[bytes]] | None = None,
    *,
    finish: bool = True,
    system: str = "BADTEST",
) -> Path:
    """Write a complete file: configuration, an event, a control record for each interval."""
    writer = _native.MonwriteWriter(str(path))
    config = [
        record("D1R4", START_US - 2_000, {"MTRSYS_SYSTMID": system, "MTRSYS_HCPCPEID": "5.3.0"}),
        record("D1R9", START_US - 1_500, {"MTRSPR_INTERVAL": 60}),
        record("D1R11", START_US - 1_000, {}),
    ]
    writer.write([(True, 0x40, 0, 0, config)])
    for number, records in enumerate(intervals or [sample(number) for number in range(INTERVALS)]):
        if number == 1:
            event = record("D5R2", START_US + 30_000_000, {"PRCVOF_PFXCPUAD": 9})
            writer.write([(False, 0x04, 0, 0x0100, [event])])
        writer.write([(True, 0x80, 0, 0x0200, records)])
    if finish:
        writer.finish()
    return path


def places(path: Path, domain: int, number: int) -> list[int]:
    """Return the offsets of the records of a type in a file."""
    found = _native.MonwriteFile.open(str(path)).records(domain, number, 1000)
    return [offset for offset, _ in found]


def patch(path: Path, offset: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)
