"""The day for measuring the web UI: 200 guests, 2,000 devices and 8 processors in 1,440 intervals."""

from __future__ import annotations

from pathlib import Path

import day

from zlens.catalog import layouts
from zlens.lake import documents, manifest

SYSTEM = "PAGEDAY"
GUESTS, DEVICES, PROCESSORS, POOLS = 200, 2_000, 8, 20
FIRST_DEVICE = 0x1000
#: Processors and devices are busy for less than half of the time.
MOST: dict[str | int, int] = {"sampled": 30, 4: 2_000, 8: day.INTERVAL_US * day.TICK * 4 // 10}


def write(path: Path) -> None:
    recording = day.Day(SYSTEM, MOST)
    for cpu in range(PROCESSORS):
        recording.add_processor(cpu)
        recording.add("D0R1", {"SYTSYP_PFXCPUAD": cpu})
        recording.add("D3R2", {"STORSP_PFXCPUAD": cpu})
    for single in ("D0R3", "D0R8", "D0R12", "D3R1"):
        recording.add(single, {})
    for guest in range(GUESTS):
        recording.add_guest(guest)
    configuration: list[day.Told] = []
    for number in range(DEVICES):
        device = FIRST_DEVICE + number
        volume = f"V{device:04X}"
        named = {"IODDEV_RDEVDEV": device, "IODDEV_RDEVSID": number, "IODDEV_RDEVSER": volume}
        recording.add("D6R3", named)
        recording.add("D6R4", {"IODCAD_RDEVSID": number})
        facts = {"MTRDEV_RDEVDEV": device, "MTRDEV_RDEVSID": number, "MTRDEV_RDEVSER": volume}
        configuration.append(("D1R6", facts | {"MTRDEV_RDEVTYPE": 0x90, "MTRDEV_RDEVCLAS": 4}))
    for pool in range(POOLS):
        recording.add("D6R28", {"IODHPP_HPPOOLNM": pool, "IODHPP_HPPNBASE": 100, "IODHPP_HPPNALIS": 32})
    recording.add("D1R11", {})
    recording.write(path, configuration)


def lake_of_the_day() -> Path:
    """Return the lake of the day, built once."""
    sources = [Path(__file__), Path(documents.__file__), Path(manifest.__file__)]
    return day.kept("page", [*sources, *sorted(layouts.SIM_FOLDER.glob("*.toml"))], write)
