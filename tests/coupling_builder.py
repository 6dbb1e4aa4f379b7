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

#: A cache with two storage classes, a list with storage-class memory, and links to another coupling facility.
LIST = {
    "SNAM": "IXCLIST", "SVER": "0000000000000001", "STYP": 2, "SSIZ": 512, "SSRC": 900, "SSTM": 9_000,
    "SLEL": 5_000, "SLEM": 1_000, "SMAE": 6_000, "SCUE": 1_500, "SLTL": 256, "SLTM": 16, "SETM": 4_500_000,
    "SISC": 1, "SNSC": 1,
}  # fmt: skip
GROUP_BUFFER = CACHE | {"SDEC": 8_000, "SDEL": 4_000, "SETM": 900_000, "CDSI": 1, "CDNE": 2}
CLASSES = [
    {"CRHC": 90_000, "CWH0": 900, "CWH1": 3_600, "CCOC": 1_800, "CDER": 450, "CXDR": 45, "CXFW": 360,
     "CXNI": 9, "CXCI": 36, "CXRL": 90, "CDEC": 3_000, "CDAC": 1_000, "CTCC": 70},
    {"CRHC": 9_000, "CDER": 9, "CXFW": 90, "CDEC": 500, "CDAC": 250, "CTCC": 5},
]  # fmt: skip
MEMORY = {
    "MSMA": 2_000_000, "MIUS": 500_000, "MEMA": 40_000, "MIUA": 4_000, "MENL": 700, "MENE": 900,
    "MRFC": 90, "MRPC": 270, "MSWC": 450, "MRST": 36_000, "MWST": 90_000, "MRBT": 1_800, "MWBT": 900,
}  # fmt: skip
REMOTE = {
    "RNAM": "CF02", "RPGS": 2, "RSGS": 1, "RSC": 7, "RRES": 4_000, "RRCS": 3_000, "RHES": 1_500, "RRSA": 500,
    "RSSE": 180_000, "RSSS": 3_780_000, "RDSC": 1_000, "RSDT": 30_000, "RSSD": 1_100_000, "RSRS": 9,
    "RAMC": 1_800, "RAMST": 45_000, "RAMPB": 18, "RAMNS": 27, "RCPI": 3, "RCPN": 2,
}  # fmt: skip
PATHS = [
    {"HCPI": "e0", "HTAP": "CS5", "HFL1": ["HHCA", "HMOV", "HLAV", "HDEV"], "HFL2": ["HPCV"], "HOPM": 0x40,
     "HCHF": ["HDEG"], "HLAT": 123, "HPCP": 0x140, "HAID": 0x1A, "HAPN": 1},
    {"HCPI": "e1", "HTAP": "ICP", "HOPM": 0x40, "HLAT": 5, "HPCP": 0xFFFF},
    {"HCPI": "e0", "HTAP": "CL5", "HFL1": ["HLAV"], "HLAT": 0},
    {"HCPI": "e0", "HTAP": "CL5", "HFL1": ["HLAV"], "HCHF": ["HSND"], "HLAT": 400},
]  # fmt: skip


def record(
    requests: Sequence[Mapping[str, Any]],
    processors: Sequence[Mapping[str, Any]] = PROCESSORS,
    further: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    **facility: Any,
) -> list[bytes]:
    """Return the record of an interval; fields of the facility that are not given are those above."""
    sections = {
        "local_facility": [FACILITY | facility],
        "storage": [STORAGE],
        "processor": processors,
        "request": requests,
        **(further or {}),
    }
    return section_builder.rmf("74-4", 900, sections)


def complete(requests: Sequence[Mapping[str, Any]] = (LOCK, GROUP_BUFFER, LIST)) -> list[bytes]:
    """Return a record with sections of all kinds."""
    further = {
        "cache": CLASSES,
        "storage_class_memory": [MEMORY],
        "remote_facility": [REMOTE],
        "channel_path": PATHS,
    }
    return record(requests, further=further)
