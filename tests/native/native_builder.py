"""Small MONWRITE files and decoder plans for the tests of the native module, without the catalog."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

from zlens import _native

#: 2026-03-02 09:00:00 UTC
START_US = 1_772_442_000_000_000
MINUTE_US = 60_000_000

#: The layout of D0R2 in these tests: processor, pad, a counter, a name.
PLAN: dict[str, Any] = {
    "table": "d0r2",
    "domain": 0,
    "record": 2,
    "columns": [
        {"name": "cpu", "type": "int", "difference": None},
        {"name": "busy", "type": "int", "difference": {"width": 4, "direction": "up", "max_rate": 1e7}},
        {"name": "name", "type": "text", "difference": None},
    ],
    "subject": ["cpu"],
    "reset_on": [],
    "section": None,
    "layouts": [
        {
            "lengths": [],
            "fields": [
                {"column": 0, "offset": 20, "length": 2},
                {"column": 1, "offset": 24, "length": 4},
                {"column": 2, "offset": 28, "length": 8},
            ],
        }
    ],
}


def tod(time_us: int) -> int:
    return _native.tod_from_unix_us(time_us)


def record(domain: int, number: int, time_us: int, body: bytes) -> bytes:
    return struct.pack(">HHBBHQI", 20 + len(body), 0, domain, 0, number, tod(time_us), 0) + body


def processor(cpu: int, time_us: int, busy: int, name: str = "ABLE") -> bytes:
    body = struct.pack(">HHI", cpu, 0, busy & 0xFFFFFFFF) + _native.encode_text(name, 8)
    return record(0, 2, time_us, body)


def interval(minute: int, processors: int) -> tuple[bool, int, int, int, list[bytes]]:
    """Return the samples of one minute; each minute adds n + 1 to the busy counter of processor n."""
    time_us = START_US + minute * MINUTE_US
    samples = [processor(n, time_us - 100 + n, minute * (n + 1)) for n in range(processors)]
    return True, 0x80, 0, 0x1000, [*samples, record(1, 11, time_us, b"")]


def write(path: Path, minutes: range, processors: int = 3) -> _native.MonwriteFile:
    writer = _native.MonwriteWriter(str(path))
    for minute in minutes:
        writer.write([interval(minute, processors)])
    writer.finish()
    return _native.MonwriteFile.open(str(path))


def system(*files: _native.MonwriteFile, **more: Any) -> dict[str, Any]:
    return {
        "name": "SYS",
        "source": "made",
        "files": list(files),
        "interval_ends": [end for file in files for end, _, _ in file.interval_ends()],
        "nominal_s": 60.0,
        "resets": [],
        **more,
    }


def decoder(
    *files: _native.MonwriteFile, plan: dict[str, Any] = PLAN, **more: Any
) -> _native.MonwriteDecoder:
    return _native.MonwriteDecoder([system(*files, **more)], json.dumps([plan]))
