"""Machines and local days of a lake, and digests that show whether measures are up to date.

The measures of a day depend on all inputs of a machine, because some tables select one of its systems as
observer. So the rollup covers all systems of a machine, and a change in one updates the day of all.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator

from msgspec import Struct, field

from zlens.catalog import local_days
from zlens.inputs.source import SystemInfo
from zlens.lake.lake_folder import LakeFolder
from zlens.lake.manifest import RULES, InputPart, LakeInput, Manifest

DAY_US = local_days.DAY_US
_EPOCH = dt.date(1970, 1, 1)


def day_name(number: int) -> str:
    """Return the name of a day, counted from 1970, as in file names and SQL."""
    return (_EPOCH + dt.timedelta(days=number)).isoformat()


def day_number(name: str) -> int:
    return (dt.date.fromisoformat(name) - _EPOCH).days


class LakeMachine(Struct):
    """The systems of a machine, or one system whose machine is unknown.

    offsets   seconds between local time and UTC, by system and source
    parts     parts in order, with the local days of their rows
    gaps      days that contain the middle of a gap between two parts and so its row, with the end of the gap
    """

    systems: list[str] = field(default_factory=list)
    offsets: dict[tuple[str, str], int] = field(default_factory=dict)
    parts: list[tuple[LakeInput, InputPart, tuple[int, ...]]] = field(default_factory=list)
    gaps: dict[int, int] = field(default_factory=dict)

    def days(self) -> set[tuple[str, int]]:
        """Return system and day of all raw data."""
        return {(part.system, day) for _, part, days in self.parts if part.raw for day in days}

    def states(self) -> dict[int, str]:
        """Return a digest of the inputs of each day's measures."""
        names: dict[int, list[str]] = {}
        for imported, part, days in self.parts:
            seam = part.seam.key if part.seam else ""
            for day in days:
                names.setdefault(day, []).append(f"{imported.sha256}/{part.document}/{part.system}/{seam}")
        offsets = [[*key, offset] for key, offset in sorted(self.offsets.items())]
        return {
            day: hashlib.sha256(json.dumps([RULES, offsets, sorted(listed)]).encode()).hexdigest()[:16]
            for day, listed in names.items()
        }

    def frozen_days(self) -> set[int]:
        """Return the days that cannot be computed again because some raw data were removed."""
        return {day for _, part, days in self.parts if not part.raw for day in days}


def machines(lake: LakeFolder, manifest: Manifest) -> list[LakeMachine]:
    """Return the machines of a lake with the days of each part, in order of their first system."""
    infos: dict[tuple[str, str], SystemInfo] = {}
    for imported, part in manifest.parts():
        for source in part.row_sources(imported):
            if (part.system, source) not in infos:
                infos[part.system, source] = lake.part_document(imported, part).info
    of_system: dict[str, str] = {}
    for (system, _), info in infos.items():
        if info.machine:
            of_system.setdefault(system, info.machine)
    # Machines that share a system are one group.
    groups: dict[str, str] = {}
    for _, part in manifest.parts():
        for _, name in part.machines:
            first = _group(groups, of_system.setdefault(part.system, name))
            groups[_group(groups, name)] = first
    of_system = {system: _group(groups, name) for system, name in of_system.items()}
    machine_by_key: dict[tuple[bool, str], LakeMachine] = {}
    for (system, source), info in sorted(infos.items()):
        known = of_system.get(system)
        machine = machine_by_key.setdefault((known is not None, known or system), LakeMachine())
        if system not in machine.systems:
            machine.systems.append(system)
        machine.offsets[system, source] = info.utc_offset_s or 0
    by_system = {system: machine for machine in machine_by_key.values() for system in machine.systems}
    ends: dict[tuple[str, str], int] = {}
    for imported, part in manifest.parts():
        key = part.system, part.row_sources(imported)[0]
        info, machine = infos[key], by_system[part.system]
        days = _days(part, info)
        if (gap := _gap(ends.get(key), part, info)) is not None:
            day, end_us = gap
            machine.gaps[day] = max(machine.gaps.get(day, end_us), end_us)
            days = days if day in days else (day, *days)
        machine.parts.append((imported, part, days))
        if part.last_end_us is not None:
            ends[key] = max(ends.get(key, part.last_end_us), part.last_end_us)
    return sorted(machine_by_key.values(), key=lambda machine: machine.systems)


def _group(groups: dict[str, str], machine: str) -> str:
    """Return the machine that represents all machines that share systems with one."""
    while (other := groups.setdefault(machine, machine)) != machine:
        machine = other
    return machine


def merge_machines(machines: list[LakeMachine]) -> LakeMachine:
    """Merge independent machines, to compute their measures in one pass."""
    merged = LakeMachine()
    for machine in machines:
        merged.systems += machine.systems
        merged.offsets |= machine.offsets
        merged.parts += machine.parts
        for day, end_us in machine.gaps.items():
            merged.gaps[day] = max(merged.gaps.get(day, end_us), end_us)
    return merged


def half_us(info: SystemInfo) -> int:
    """Return half a nominal interval, in microseconds. An interval belongs to the day of its middle."""
    return round((info.nominal_s or 0) * 500_000)


def _gap(last_end_us: int | None, part: InputPart, info: SystemInfo) -> tuple[int, int] | None:
    """Return the local day of the gap before a part, and the end of the gap; None if there is no gap."""
    first_us = part.first_end_us
    # A delay of up to half an interval is not a gap.
    if last_end_us is None or first_us is None or first_us - last_end_us <= 3 * half_us(info):
        return None
    middle = (last_end_us + first_us) // 2 + (info.utc_offset_s or 0) * 1_000_000
    return (middle - 1) // DAY_US, first_us


def _days(part: InputPart, info: SystemInfo) -> tuple[int, ...]:
    """Return the local days that the rows of a part may be in; the middle of an interval decides."""
    offset = (info.utc_offset_s or 0) * 1_000_000
    times = [*_times(part)]
    if not times:
        return ()
    first, last = min(times) - half_us(info) + offset, max(times) + offset
    # A bucket contains its end, not its start.
    return tuple(range((first - 1) // DAY_US, (last - 1) // DAY_US + 1))


def _times(part: InputPart) -> Iterator[int]:
    # Records before the first interval end, such as a configuration, have no bucket.
    yield from part.ends_us() or (time for time in (part.first_us, part.last_us) if time is not None)
    yield from part.open_us or ()
