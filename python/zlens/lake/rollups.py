"""The local days of each system in a lake, and whether their measures are up to date.

The measures of a day depend on all inputs of a machine: some tables choose one of its systems as observer. So
all systems of a machine are rolled up together, and a change in one of them renews the day of all.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Iterator

from msgspec import Struct, field

from zlens.inputs.source import SystemInfo
from zlens.lake.lake_folder import LakeFolder, find_part_document
from zlens.lake.manifest import RULES, InputPart, LakeInput, Manifest

DAY_US = 86_400_000_000
_EPOCH = dt.date(1970, 1, 1)


def day_name(number: int) -> str:
    """A day, counted from 1970, as names of files and SQL have it."""
    return (_EPOCH + dt.timedelta(days=number)).isoformat()


def day_number(name: str) -> int:
    return (dt.date.fromisoformat(name) - _EPOCH).days


class LakeMachine(Struct):
    """The systems of a machine, or one system whose machine is unknown.

    offsets   seconds between local time and UTC, by system and source
    parts     with the local days of their rows, in order
    gaps      days with the middle of a gap between two parts, and when the gap ends: its row is of that day
    """

    systems: list[str] = field(default_factory=list)
    offsets: dict[tuple[str, str], int] = field(default_factory=dict)
    parts: list[tuple[LakeInput, InputPart, tuple[int, ...]]] = field(default_factory=list)
    gaps: dict[int, int] = field(default_factory=dict)

    def days(self) -> set[tuple[str, int]]:
        """System and day of all raw data."""
        return {(part.system, day) for _, part, days in self.parts if part.raw for day in days}

    def states(self) -> dict[int, str]:
        """What the measures of each day are computed from, as a digest."""
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
        """Days that cannot be computed again: some of their raw data were forgotten."""
        return {day for _, part, days in self.parts if not part.raw for day in days}


def machines(into: LakeFolder, manifest: Manifest) -> list[LakeMachine]:
    """The machines of a lake with the days that each part has data of, in order of their first system."""
    infos: dict[tuple[str, str], SystemInfo] = {}
    for imported, part in manifest.parts():
        for source in part.row_sources(imported):
            if (part.system, source) not in infos:
                stored = find_part_document(into.document(imported, part.document), part, into)
                infos[part.system, source] = stored.info
    of_system: dict[str, str] = {}
    for (system, _), info in infos.items():
        if info.machine:
            of_system.setdefault(system, info.machine)
    # Systems of all machines that one of them ran on are together.
    groups: dict[str, str] = {}
    for _, part in manifest.parts():
        for _, name in part.machines:
            first = _group(groups, of_system.setdefault(part.system, name))
            groups[_group(groups, name)] = first
    of_system = {system: _group(groups, name) for system, name in of_system.items()}
    found: dict[tuple[bool, str], LakeMachine] = {}
    for (system, source), info in sorted(infos.items()):
        known = of_system.get(system)
        machine = found.setdefault((known is not None, known or system), LakeMachine())
        if system not in machine.systems:
            machine.systems.append(system)
        machine.offsets[system, source] = info.utc_offset_s or 0
    by_system = {system: machine for machine in found.values() for system in machine.systems}
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
    return sorted(found.values(), key=lambda machine: machine.systems)


def _group(groups: dict[str, str], machine: str) -> str:
    """The machine that stands for all that share systems with one."""
    while (other := groups.setdefault(machine, machine)) != machine:
        machine = other
    return machine


def merge_machines(machines: list[LakeMachine]) -> LakeMachine:
    """Machines as one, whose measures are computed together; they do not depend on each other."""
    joined = LakeMachine()
    for machine in machines:
        joined.systems += machine.systems
        joined.offsets |= machine.offsets
        joined.parts += machine.parts
        for day, end_us in machine.gaps.items():
            joined.gaps[day] = max(joined.gaps.get(day, end_us), end_us)
    return joined


def half_us(info: SystemInfo) -> int:
    """Half a usual interval. Intervals count by their middle: they end a little after their minute."""
    return round((info.nominal_s or 0) * 500_000)


def _gap(last_end_us: int | None, part: InputPart, info: SystemInfo) -> tuple[int, int] | None:
    """The local day of the row of the gap before a part, and when the gap ends; None if there is none."""
    first_us = part.first_end_us
    # A delay of up to half an interval is not a gap.
    if last_end_us is None or first_us is None or first_us - last_end_us <= 3 * half_us(info):
        return None
    middle = (last_end_us + first_us) // 2 + (info.utc_offset_s or 0) * 1_000_000
    return (middle - 1) // DAY_US, first_us


def _days(part: InputPart, info: SystemInfo) -> tuple[int, ...]:
    """The local days that the rows of a part may be in; the middle of an interval decides."""
    offset = (info.utc_offset_s or 0) * 1_000_000
    times = [*_times(part)]
    if not times:
        return ()
    first, last = min(times) - half_us(info) + offset, max(times) + offset
    # A bucket contains its end, not its begin.
    return tuple(range((first - 1) // DAY_US, (last - 1) // DAY_US + 1))


def _times(part: InputPart) -> Iterator[int]:
    # Records before the first interval end, as a configuration is, are in no bucket of their own.
    yield from part.ends_us() or (time for time in (part.first_us, part.last_us) if time is not None)
    yield from part.open_us or ()
