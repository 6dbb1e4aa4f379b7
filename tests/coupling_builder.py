"""Records of SMF 74-4 of a coupling facility with hand-checkable counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from readers import section_builder

FACILITY = {
    "FNAM": "CF01", "FSYS": "SYSA", "FLVL": 25, "FPAM": 4, "FSCG": 28, "FSCU": 14, "FSCC": 180, "FPBC": 90,
    "FPSN": 1, "FPDN": 2,
}  # fmt: skip
STORAGE = {"GTSD": 1_000_000, "GTSF": 250_000}
PROCESSORS = [
    {"PNUM": 0, "PBSY": 300_000_000, "PWAI": 600_000_000},
    {"PNUM": 1, "PBSY": 150_000_000, "PWAI": 300_000_000},
]
LOCK = {
    "SNAM": "DSNDB0A_LOCK1", "SVER": "00d1d2d3d4d5d6d7", "STYP": 3, "SSIZ": 32_768, "STRC": 1_200_000,
    "SSRC": 900_000, "SSTM": 9_000_000, "SSSQ": 117_000_000,
    "SARC": 100_000, "SATM": 12_000_000, "SASQ": 1_600_000_000, "SSTA": 50_000,
    "SQRC": 20_000, "SQTM": 3_000_000, "SQSQ": 500_000_000, "SCN": 6_000, "SFCN": 2_400,
}  # fmt: skip
CACHE = {
    "SNAM": "DSNDB0A_GBP0", "SVER": "0011223344556677", "STYP": 4, "SSIZ": 1024, "STRC": 450,
    "SSRC": 450, "SSTM": 9_000, "SSSQ": 190_000,
}  # fmt: skip


def record(
    requests: Sequence[Mapping[str, Any]],
    processors: Sequence[Mapping[str, Any]] = PROCESSORS,
    **facility: Any,
) -> list[bytes]:
    """Return the record of an interval; fields of the facility that are not given are those above."""
    sections = {
        "local_facility": [FACILITY | facility],
        "storage": [STORAGE],
        "processor": processors,
        "request": requests,
    }
    return section_builder.rmf("74-4", 900, sections)
