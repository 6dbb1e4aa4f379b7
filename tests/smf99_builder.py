"""Records of HiperDispatch, SMF 99 subtypes 6, 12 and 14, and dumps with the intervals of a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fakes import START_US
from smf70_builder import US, Cpu, Logical, Lpar, Record, encoded, record
from zlens import _native
from zlens.catalog import smf_sections, smf_writer

SYSTEM = "SYSA"
INCREASE, DECREASE = "VCM_DIAGINCR", "VCM_DIAGDECR"
#: A vertical-high, a vertical-medium and three vertical-lows of which two are parked, 75% busy.
CAPACITY: Mapping[str, Any] = {
    "HD_INT_CAP_PROCTYPE": 0,
    "VCM_MVSBUSYTHRUNPARK": 95 * 16,
    "VCM_MVSBUSYTHRPARK": 50 * 16,
    "VCM_MVSBUSY": 75 * 16,
    "VCM_MVSBUSYPROJECTED": 80 * 16,
    "VCM_LPARCAPUSEDADJ": 4_500_000,
    "VCM_LPARCAPGUARAN": 3_000_000,
    "VCM_CPUHI": 1,
    "VCM_CPUMED": 1,
    "VCM_CPULO": 3,
    "VCM_CPULOUNPARKED": 1,
    "VCM_CPULOPARKED": 2,
    "VCM_CECCAPFREE": 5_000_000,
    "VCM_CECUTIL": 60 * 256,
}


def _encode(subtype: int, at_s: float, sections: Mapping[str, Sequence[Mapping[str, Any]]]) -> bytes:
    product = {"PNM": "SRM", "SLV": "SP7.3.1", "SNM": SYSTEM}
    return smf_writer.encode_record(
        smf_sections.layout(f"99-{subtype}"),
        subtype,
        system=SYSTEM,
        local_us=START_US + round(at_s * US),
        sections={"product": [product], "locations": [{}], **sections},
    )


def decision(at_s: float, *capacities: Mapping[str, Any], **header: Any) -> bytes:
    """Return the decision at a time; each processor type has CAPACITY, but for the fields given."""
    hd_header = {
        "VCM_INTERVAL_TOD": START_US + round(at_s * US),
        "VCM_INTERVAL_LEN": 2_000_000,
        "VCM_FLAG2": ["VCM_CECCAPVALID", "VCM_LPARCAPVALID"],
        **header,
    }
    types = [{**CAPACITY, **each} for each in capacities or ({},)]
    return _encode(12, at_s, {"hd_header": [hd_header], "hd_capacity": types})


def topology(at_s: float, processors: Sequence[Mapping[str, Any]], nodes: Mapping[int, int]) -> bytes:
    """Return the topology at a time; nodes: affinity node by processor."""
    sections = {
        "topology": [{"VCM_CURRTOPO_TOD": START_US + round(at_s * US)}],
        "topology_processor": processors,
        "mpwq_cpu": [
            {"HD_TOPOCHG_MPWQ_CPU_INDEX": cpu, "MPWQ_AFFINITY_NODE": node} for cpu, node in nodes.items()
        ],
    }
    return _encode(14, at_s, sections)


def goals(at_s: float, periods: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the service class periods at the end of a policy interval."""
    return _encode(6, at_s, {"period": periods})


def interval(**fields: Any) -> Record:
    """Return an interval of SMF 70-1 of a system with one processor."""
    lpar = Lpar("LP1", 1, [Logical("CP", 0, 30, 29, fields=fields)])
    return record(60, [lpar], [Cpu(0, 0, 30)], own=1, physical={"CP": 4})


def written(folder: Path, records: Sequence[bytes], intervals: int = 2) -> Path:
    """Write a dump with so many minutes of SMF 70-1 and these records."""
    path = folder / "made.smf"
    minutes = [
        piece
        for number in range(1, intervals + 1)
        for piece in encoded(SYSTEM, interval(), START_US + number * 60 * US, 60.0)
    ]
    writer = _native.SmfWriter(str(path))
    writer.write([*minutes, *records])
    writer.finish()
    return path
