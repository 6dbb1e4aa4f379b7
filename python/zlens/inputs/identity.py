"""Identity of the records of a system, which distinguishes systems of the same name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

#: A time range of records of one writer: start and end in microseconds UTC, and the identity by component.
#: Ranges of one name that overlap and differ in a component that both have are different systems.
IdentityRange = tuple[int, int, Mapping[str, str]]


class KnownSystem(Struct, frozen=True):
    """A system of other inputs of a source: its name, its name in records, and the identity of its records.

    The reader of this source assigns its records to this system, or to one of another name if they contradict
    it.
    """

    source: str
    name: str
    recorded_name: str
    ranges: tuple[IdentityRange, ...]


def merge_ranges(ranges: Iterable[IdentityRange]) -> list[IdentityRange]:
    """Return the ranges in order of time; ranges of one identity that touch or overlap are merged."""
    merged: list[IdentityRange] = []
    latest: dict[frozenset[tuple[str, str]], int] = {}
    for start, end, identity in sorted(ranges, key=lambda item: item[:2]):
        key = frozenset(identity.items())
        index = latest.get(key)
        if index is not None and start <= merged[index][1]:
            merged[index] = merged[index][0], max(end, merged[index][1]), identity
        else:
            latest[key] = len(merged)
            merged.append((start, end, identity))
    return merged
