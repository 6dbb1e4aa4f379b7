"""Whose records are: what tells systems of one name apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

#: A stretch of records of one writer: from and to, in microseconds UTC, and whose they are by component.
#: Those of one name that differ in a component that both have, and overlap, are different systems.
IdentityRange = tuple[int, int, Mapping[str, str]]


class KnownSystem(Struct, frozen=True):
    """A system that other inputs of a source have: its name, that in records, and whose these are.

    The reader of this source gives its records to the same system, or to one of another name if they
    contradict it.
    """

    source: str
    name: str
    recorded_name: str
    ranges: tuple[IdentityRange, ...]


def merge_ranges(ranges: Iterable[IdentityRange]) -> list[IdentityRange]:
    """Ranges in order of time; those of one identity that meet or overlap are one."""
    merged: list[IdentityRange] = []
    latest: dict[frozenset[tuple[str, str]], int] = {}
    for begin, end, identity in sorted(ranges, key=lambda one: one[:2]):
        key = frozenset(identity.items())
        at = latest.get(key)
        if at is not None and begin <= merged[at][1]:
            merged[at] = merged[at][0], max(end, merged[at][1]), identity
        else:
            latest[key] = len(merged)
            merged.append((begin, end, identity))
    return merged
