"""Power meters of one z17, with known powers: simulated D0R25, SMF 70-1, scrapes of an HMC exporter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import smf70_builder as smf70
import zlens
from zlens import _native

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
SECONDS = 600
POWER = {
    "core_idle": 20.0,
    "core_busy": 0.0,
    "storage": 0.25,
    "channel": 8.0,
    "unassigned": 700.0,
    "infrastructure": 4000.0,
}
#: Ten IFLs, four of which ZVM1 has with 32 GiB.
PARTITION_W = 4 * 20.0 + 0.25 * 32
MACHINE_W = 10 * 20.0 + 0.25 * 32 + 700 + 4000


def scenario(**changed: Any) -> dict[str, Any]:
    user = {"type": "IFL", "relative": 100, "virtual_cpus": 1, "storage": 1024}
    return {
        "model": "system",
        "processors": {"IFL": 10},
        "simulation": {"seconds": SECONDS, "start": "2026-03-02T08:00:00Z"},
        "machine": {"type": "9175", "serial": "12F17", "power": {**POWER, **changed}},
        "partition": [
            {"name": "ZVM1", "type": "IFL", "cores": 4, "dedicated": True, "zvm": "7.4", "storage": 32768}
        ],
        "user": [
            {"name": "HALF", "demand": 50, **user},
            {"name": "TENTH", "demand": 10, **user},
        ],
    }


def monitor(folder: Path, **changed: Any) -> Path:
    """Write monitor data of ten minutes."""
    path = folder / "zvm.data"
    zlens.simulate(scenario(**changed), str(path))
    return path


def smf(folder: Path, machine_w: float, *, seconds: int = SECONDS, wait_s: float = 300.0) -> Path:
    """Write an interval of a z/OS system in the partition ZOS1 of the same machine: a CP, and 73 W."""
    microwatts = 60 * 1_000_000
    control = {
        "MOD": "9175", "CSC": "12F17", "INB": ["SON"], "NUMPOWERSAMPLES": 60, "POWERPARTITIONNAME": "ZOS1",
        "CPUPOWER": 70 * microwatts, "STORAGEPOWER": 1 * microwatts, "IOPOWER": 2 * microwatts,
        "CPCTOTALPOWER": round(machine_w * microwatts), "CPCUNASSRESPOWER": 700 * microwatts,
        "CPCINFRAPOWER": 4000 * microwatts,
    }  # fmt: skip
    busy_s = seconds - wait_s
    lpars = [smf70.Lpar("ZOS1", 2, [smf70.Logical("CP", 0, busy_s, busy_s)])]
    record = smf70.record(
        seconds, lpars, [smf70.Cpu(0, 0, wait_s)], own=2, physical={"CP": 2}, control=control
    )
    path = folder / "zos.smf"
    writer = _native.SmfWriter(str(path))
    end_us = round(START.timestamp() * 1e6) + seconds * 1_000_000
    writer.write(smf70.encoded("SYSA", record, end_us, seconds))
    writer.finish()
    return path


def scrapes(
    folder: Path,
    watts: Mapping[int, tuple[float, Mapping[str, float]]],
    cpc: str = "BOX",
    usage: Mapping[int, Mapping[str, float]] | None = None,
) -> Path:
    """Write scrapes: by the second, the power of the machine and of its partitions.

    usage  by the second, use of the ten processors of each type as a ratio
    """
    lines: list[str] = []
    for second, (machine, partitions) in watts.items():
        time = round((START.timestamp() + second) * 1000)
        lines.append(f'zhmc_cpc_power_watt{{cpc="{cpc}"}} {machine} {time}')
        lines += [
            f'zhmc_partition_power_watt{{cpc="{cpc}",partition="{name}"}} {value} {time}'
            for name, value in partitions.items()
        ]
        for type, ratio in (usage or {}).get(second, {}).items():
            lines += [
                f'zhmc_cpc_{type}_processor_count{{cpc="{cpc}"}} 10 {time}',
                f'zhmc_cpc_{type}_processor_usage_ratio{{cpc="{cpc}"}} {ratio} {time}',
            ]
    path = folder / f"{cpc}.prom"
    path.write_text("\n".join(lines) + "\n")
    return path


def rows(inputs: Sequence[Path], query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query of inputs without problems."""
    with zlens.open([str(path) for path in inputs]) as session:
        assert not session.problems
        return [tuple(row) for row in session.sql(query).rows]
