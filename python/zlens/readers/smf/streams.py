"""Streams of SMF records, and the systems that they are of.

A stream is what one writer recorded of one system on one machine. Streams that differ and overlap in time are
different systems, whatever they are called; those that follow each other are one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from zlens import _native
from zlens.catalog import smf, smf_identity, smf_sections
from zlens.catalog.smf_identity import Identity, differ
from zlens.inputs.identity import KnownSystem
from zlens.inputs.source import machine_name

#: A stream as decoders know it: the number of its file, the type of its records, its name in them.
Id = tuple[int, int, bytes]
#: The number of the file of records that another input has.
_ELSEWHERE = -1
#: Intervals that overlap by less than this part of the shorter one only meet.
_MEETING = 0.1


class Stream(Struct, eq=False):
    """Records of one type and identity in one file. spans: beginnings and ends, in seconds UTC."""

    id: Id
    name: str
    identity: Identity
    spans: list[tuple[float, float]] = field(default_factory=list)

    def runs(self) -> list[tuple[float, float]]:
        """Its spans, those that meet or overlap as one."""
        runs: list[tuple[float, float]] = []
        for begin, end in sorted(self.spans):
            if runs and begin <= runs[-1][1] + _MEETING * (end - begin):
                runs[-1] = runs[-1][0], max(end, runs[-1][1])
            else:
                runs.append((begin, end))
        return runs

    @property
    def begin(self) -> float:
        return min((begin for begin, _ in self.spans), default=float("inf"))

    def overlaps(self, other: Stream) -> bool:
        """Whether any two intervals have more in common than an end."""
        ends = sorted([(*span, 0) for span in self.spans] + [(*span, 1) for span in other.spans])
        latest: dict[int, tuple[float, float]] = {}
        for begin, end, whose in ends:
            before = latest.get(1 - whose)
            if before is not None:
                common = min(before[1], end) - begin
                if common > _MEETING * min(before[1] - before[0], end - begin) and common > 0:
                    return True
            known = latest.get(whose)
            if known is None or end > known[1]:
                latest[whose] = begin, end
        return False


def find(
    files: Sequence[_native.SmfFile], leap: int, known: Iterable[KnownSystem] = ()
) -> dict[str, list[Stream]]:
    """The streams of each system of these files, by its name; spans where any streams of its name differ.

    known   systems of other inputs, which keep their names
    """
    by_name: dict[str, list[Stream]] = {}
    for number, file in enumerate(files):
        seen = set()
        for row in file.inventory():
            id = (number, row["record"], row["id"])
            if id in seen:
                continue
            seen.add(id)
            identity: Identity = {}
            if row["record"] in smf_identity.records() and row["subtype"] is not None:
                for _, data in file.records(row["record"], row["subtype"], row["id"], 1):
                    identity = smf_identity.read(row["record"], data)
            by_name.setdefault(row["system"], []).append(Stream(id, row["system"], identity))
    taken: dict[str, dict[str, list[Stream]]] = {}
    for system in known:
        if system.source == "smf" and system.recorded_name in by_name:
            own = taken.setdefault(system.recorded_name, {}).setdefault(system.name, [])
            own += _known_streams(system)
    found: dict[str, list[Stream]] = {}
    for name, streams in by_name.items():
        systems = taken.get(name, {})
        elsewhere = [stream for own in systems.values() for stream in own]
        if _differ([*streams, *elsewhere]):
            measure(files, streams, leap)
            _add_to_systems(name, streams, systems)
        else:
            systems.setdefault(next(iter(systems), name), []).extend(streams)
        for shown, own in systems.items():
            here = [stream for stream in own if stream.id[0] != _ELSEWHERE]
            if here:
                found[shown] = here
    return found


def _known_streams(system: KnownSystem) -> list[Stream]:
    """What other inputs have of a system."""
    streams: list[Stream] = []
    for begin, end, identity in system.ranges:
        stream = next((one for one in streams if one.identity == identity), None)
        if stream is None:
            stream = Stream((_ELSEWHERE, 0, b""), system.recorded_name, identity)
            streams.append(stream)
        stream.spans.append((begin / 1e6, end / 1e6))
    return streams


def machines(streams: Iterable[Stream]) -> list[tuple[int, str]]:
    """Since when, in microseconds UTC, a system ran on which machine, by each of its streams."""
    return [
        (round(stream.begin * 1e6), machine)
        for stream in streams
        if stream.spans
        and (machine := machine_name(stream.identity.get("machine_type"), stream.identity.get("serial")))
    ]


def _differ(streams: Sequence[Stream]) -> bool:
    """Whether any two of the streams contradict each other."""
    known: dict[str, str] = {}
    values = [item for stream in streams for item in stream.identity.items()]
    return any(known.setdefault(name, value) != value for name, value in values)


def measure(files: Sequence[_native.SmfFile], streams: Iterable[Stream], leap: int) -> None:
    """Find the intervals of streams that have none yet."""
    by_type: dict[int, list[Stream]] = {}
    for stream in (stream for stream in streams if not stream.spans):
        by_type.setdefault(stream.id[1], []).append(stream)
    for record, own in by_type.items():
        if record in smf.counter_record_types():
            by_id = {stream.id: stream for stream in own}
            for number, file in enumerate(files):
                for id, _, start, end, _ in file.intervals():
                    found = by_id.get((number, record, id))
                    if found is not None and start is not None:
                        begin_us, end_us = (_native.unix_us_from_tod(tod, leap) for tod in (start, end))
                        found.spans.append((begin_us / 1e6, end_us / 1e6))
        elif record in smf_sections.records():
            systems = [
                {"name": str(place), "ids": [stream.id], "zone_us": None} for place, stream in enumerate(own)
            ]
            plan = json.dumps(smf_sections.plan(record))
            decoder = _native.SectionsDecoder("smf", systems, list(files), [plan], leap)
            for name, end_us, seconds, _, _ in decoder.intervals(record):
                own[int(name)].spans.append((end_us / 1e6 - (seconds or 0), end_us / 1e6))


def _add_to_systems(name: str, streams: Sequence[Stream], systems: dict[str, list[Stream]]) -> None:
    """Add streams to the systems of their name; the first one that has none gives a new one this name.

    Further ones are named apart by what tells them from the first.
    """
    new: list[list[Stream]] = []
    # Those first whose type of record says most about whose it is.
    for stream in sorted(streams, key=lambda one: (-_components(one.id[1]), one.begin)):
        best: list[Stream] | None = None
        score = (-1, False)
        for system in (*systems.values(), *new):
            if any(differ(one.identity, stream.identity) and one.overlaps(stream) for one in system):
                continue
            alike = max(
                sum(one.identity.get(part) == value for part, value in stream.identity.items())
                for one in system
            )
            likeness = alike, any(one.id[0] == stream.id[0] for one in system)
            if likeness > score:
                best, score = system, likeness
        if best is None:
            new.append([stream])
        else:
            best.append(stream)
    for system in new:
        shown = name
        if name in systems:
            shown = f"{name}-{_suffix(_identity(systems[name]), _identity(system))}"
        while shown in systems:
            shown += "'"
        systems[shown] = system


def _components(record: int) -> int:
    """How many components of an identity a type of record has."""
    if record not in smf_identity.records():
        return 0
    return max(map(len, smf_identity.components(record).values()))


def _identity(system: Iterable[Stream]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for stream in system:
        for name, value in stream.identity.items():
            found.setdefault(name, value)
    return found


def _suffix(first: Identity, other: Identity) -> str:
    """What tells a system from the first of its name."""
    for name in ("serial", "machine_type", "partition", "sysplex", "product", "interval_s"):
        value = other.get(name)
        if value and first.get(name) != value:
            if name == "interval_s":
                return f"{int(value) // 60}m" if int(value) % 60 == 0 else f"{value}s"
            return f"LP{value}" if name == "partition" else value
    return "2"
