"""Streams of SMF records, and their systems.

A stream contains the records of one writer about one system on one machine. Streams that overlap in time with
different identities are different systems, even with the same name; consecutive streams are one system.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from zlens._native import SectionsDecoder, SmfFile, unix_us_from_tod
from zlens.catalog import smf, smf_identity, smf_sections
from zlens.catalog.smf_identity import Identity, differ
from zlens.inputs.identity import KnownSystem
from zlens.inputs.source import machine_name

#: Identifies a stream for decoders: file number, record type, and the system identifier in its records.
Id = tuple[int, int, bytes]
#: File number for records of another input.
_ELSEWHERE = -1
#: Intervals that overlap by less than this part of the shorter one count as adjacent.
_MEETING = 0.1


class Stream(Struct, eq=False):
    """Records of one type and identity in one file. spans: starts and ends, in seconds UTC."""

    id: Id
    name: str
    identity: Identity
    spans: list[tuple[float, float]] = field(default_factory=list)

    def runs(self) -> list[tuple[float, float]]:
        """Return its spans, with adjacent and overlapping ones merged."""
        runs: list[tuple[float, float]] = []
        for start, end in sorted(self.spans):
            if runs and start <= runs[-1][1] + _MEETING * (end - start):
                runs[-1] = runs[-1][0], max(end, runs[-1][1])
            else:
                runs.append((start, end))
        return runs

    @property
    def begin(self) -> float:
        return min((begin for begin, _ in self.spans), default=float("inf"))

    def overlaps(self, other: Stream) -> bool:
        """Return whether any two intervals overlap by more than adjacent ones may."""
        ends = sorted([(*span, 0) for span in self.spans] + [(*span, 1) for span in other.spans])
        latest: dict[int, tuple[float, float]] = {}
        for start, end, whose in ends:
            other_span = latest.get(1 - whose)
            if other_span is not None:
                overlap_s = min(other_span[1], end) - start
                if overlap_s > _MEETING * min(other_span[1] - other_span[0], end - start) and overlap_s > 0:
                    return True
            own_span = latest.get(whose)
            if own_span is None or end > own_span[1]:
                latest[whose] = start, end
        return False


def find(files: Sequence[SmfFile], leap: int, known: Iterable[KnownSystem] = ()) -> dict[str, list[Stream]]:
    """Return the streams of each system in these files, by name; spans are set if streams of a name differ.

    known   SMF systems of other inputs, whose names do not change
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
    known_streams: dict[str, dict[str, list[Stream]]] = {}
    for system in known:
        if system.recorded_name in by_name:
            system_streams = known_streams.setdefault(system.recorded_name, {}).setdefault(system.name, [])
            system_streams += _known_streams(system)
    result: dict[str, list[Stream]] = {}
    for name, streams in by_name.items():
        systems = known_streams.get(name, {})
        elsewhere = [stream for system_streams in systems.values() for stream in system_streams]
        if _differ([*streams, *elsewhere]):
            measure(files, streams, leap)
            _add_to_systems(name, streams, systems)
        else:
            systems.setdefault(next(iter(systems), name), []).extend(streams)
        for shown, system_streams in systems.items():
            local = [stream for stream in system_streams if stream.id[0] != _ELSEWHERE]
            if local:
                result[shown] = local
    return result


def _known_streams(system: KnownSystem) -> list[Stream]:
    """Return the streams of a system in other inputs."""
    streams: list[Stream] = []
    for start, end, identity in system.ranges:
        stream = next((candidate for candidate in streams if candidate.identity == identity), None)
        if stream is None:
            stream = Stream((_ELSEWHERE, 0, b""), system.recorded_name, identity)
            streams.append(stream)
        stream.spans.append((start / 1e6, end / 1e6))
    return streams


def machines(streams: Iterable[Stream]) -> list[tuple[int, str]]:
    """Return machine changes of a system by stream: start in microseconds UTC, and the machine."""
    return [
        (round(stream.begin * 1e6), machine)
        for stream in streams
        if stream.spans
        and (machine := machine_name(stream.identity.get("machine_type"), stream.identity.get("serial")))
    ]


def _differ(streams: Sequence[Stream]) -> bool:
    """Return whether any two of the streams contradict each other."""
    known: dict[str, str] = {}
    values = [item for stream in streams for item in stream.identity.items()]
    return any(known.setdefault(name, value) != value for name, value in values)


def measure(files: Sequence[SmfFile], streams: Iterable[Stream], leap: int) -> None:
    """Determine the intervals of streams that have none yet."""
    by_type: dict[int, list[Stream]] = {}
    for stream in (stream for stream in streams if not stream.spans):
        by_type.setdefault(stream.id[1], []).append(stream)
    for record, type_streams in by_type.items():
        if record in smf.counter_record_types():
            by_id = {stream.id: stream for stream in type_streams}
            for number, file in enumerate(files):
                for id, _, start, end, _ in file.intervals():
                    stream_of_id = by_id.get((number, record, id))
                    if stream_of_id is not None and start is not None:
                        begin_us, end_us = (unix_us_from_tod(tod, leap) for tod in (start, end))
                        stream_of_id.spans.append((begin_us / 1e6, end_us / 1e6))
        elif listed := smf_sections.of_type(record):
            systems = [
                {"name": str(index), "ids": [stream.id], "zone_us": None}
                for index, stream in enumerate(type_streams)
            ]
            plans = [json.dumps(smf_sections.plan(layout)) for layout in listed]
            decoder = SectionsDecoder("smf", systems, list(files), plans, leap)
            for _, name, end_us, seconds, _, _ in decoder.intervals(
                [layout.name for layout in listed if layout.interval.of != "decision"]
            ):
                type_streams[int(name)].spans.append((end_us / 1e6 - (seconds or 0), end_us / 1e6))


def _add_to_systems(name: str, streams: Sequence[Stream], systems: dict[str, list[Stream]]) -> None:
    """Add streams to the systems of their name; the first stream without a system gets the name itself.

    Further systems get a suffix that distinguishes them from the first.
    """
    new: list[list[Stream]] = []
    # Start with the record types that identify the system most precisely.
    for stream in sorted(streams, key=lambda member: (-_components(member.id[1]), member.begin)):
        best: list[Stream] | None = None
        score = (-1, False)
        for system in (*systems.values(), *new):
            if any(differ(member.identity, stream.identity) and member.overlaps(stream) for member in system):
                continue
            matches = max(
                sum(member.identity.get(part) == value for part, value in stream.identity.items())
                for member in system
            )
            similarity = matches, any(member.id[0] == stream.id[0] for member in system)
            if similarity > score:
                best, score = system, similarity
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
    """Return the number of identity components that a record type has."""
    return max(map(len, smf_identity.components(record).values())) if record in smf_identity.records() else 0


def _identity(system: Iterable[Stream]) -> Mapping[str, str]:
    identity: dict[str, str] = {}
    for stream in system:
        for name, value in stream.identity.items():
            identity.setdefault(name, value)
    return identity


def _suffix(first: Identity, other: Identity) -> str:
    """Return what distinguishes a system from the first of its name."""
    for name in ("serial", "machine_type", "partition", "sysplex", "product", "interval_s"):
        value = other.get(name)
        if value and first.get(name) != value:
            if name == "interval_s":
                return f"{int(value) // 60}m" if int(value) % 60 == 0 else f"{value}s"
            return f"LP{value}" if name == "partition" else value
    return "2"
