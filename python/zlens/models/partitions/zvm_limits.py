"""Logical cores and processors that a release of z/VM supports in a partition, and their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from msgspec import Struct

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "zvm_limits.toml"

#: Levels of multithreading.
SMT = ("non-SMT", "SMT-1", "SMT-2")


class Release(Struct, frozen=True):
    """Limits of a release.

    highest           highest processor number
    cores, smt_cores  logical cores without and with multithreading
    """

    name: str
    highest: int
    cores: int
    smt_cores: int
    note: str
    source: str
    status: str
    ignores: bool = False


class Mode(Struct, frozen=True):
    """Mode of a partition.

    smt          types that support multithreading
    two_threads  types with two threads on a core at level 2
    """

    name: str
    smt: tuple[str, ...]
    two_threads: tuple[str, ...]
    mixed: bool
    source: str
    status: str


class PartitionFit(Struct, frozen=True):
    """Fit of a partition at a level of multithreading.

    available   whether its mode and types support that level
    limit       supported logical cores
    used        logical cores used; None if more are defined than supported
    processors  logical processors; None if it depends on which cores are left out
    numbers     numbers of its processors, in hexadecimal
    """

    available: bool
    limit: int | None
    used: int | None
    processors: int | None
    numbers: str


@cache
def _facts() -> tuple[dict[str, Release], dict[str, Mode]]:
    facts = document.load_unchecked(_FILE)
    try:
        releases = [Release(**entry) for entry in facts["release"]]
        modes = [
            Mode(**{**entry, "smt": tuple(entry["smt"]), "two_threads": tuple(entry["two_threads"])})
            for entry in facts["mode"]
        ]
    except (KeyError, TypeError):
        raise CatalogError(
            "models/zvm_limits.toml is incomplete", file=str(_FILE), cure="copy a neighbor in it"
        ) from None
    return {entry.name: entry for entry in releases}, {entry.name: entry for entry in modes}


def releases() -> tuple[str, ...]:
    """Return releases with known limits."""
    return tuple(_facts()[0])


def modes() -> tuple[str, ...]:
    """Return the modes of partitions that z/VM runs in."""
    return tuple(_facts()[1])


def release(name: str) -> Release:
    return _facts()[0][name]


def mode(name: str) -> Mode:
    return _facts()[1][name]


def fit(release_limits: Release, partition_mode: Mode, smt: str, cores: Mapping[str, int]) -> PartitionFit:
    """Return the fit of a partition with these logical cores of each type.

    Source: IBM, Eighty Logical Processors, table 1: without multithreading core and processor are the same;
    with it core n has processor 2n, and 2n+1 if two threads are active.
    """
    defined = sum(cores.values())
    if smt != "non-SMT" and not all(kind in partition_mode.smt for kind, count in cores.items() if count):
        return PartitionFit(False, None, None, None, "not available")
    limit = release_limits.cores if smt == "non-SMT" else release_limits.smt_cores
    used = defined if defined <= limit else (limit if release_limits.ignores and smt != "non-SMT" else None)
    if used is None:
        return PartitionFit(True, limit, None, None, f"more than {limit} cores")
    twos = sum(count for kind, count in cores.items() if kind in partition_mode.two_threads)
    if smt != "SMT-2" or not twos:
        return PartitionFit(True, limit, used, used, _numbers(used, 1 if smt == "non-SMT" else 2))
    if twos == defined:
        return PartitionFit(True, limit, used, 2 * used, _numbers(2 * used, 1))
    processors = defined + twos if used == defined else None
    return PartitionFit(
        True, limit, used, processors, f"within 00 to {2 * used - 1:02X}, odd ones on IFL cores only"
    )


def _numbers(count: int, step: int) -> str:
    """Return a text of processor numbers: 00 to 4F; 00, 02 to 4E; 00."""
    if not count:
        return ""
    last = f"{(count - 1) * step:02X}"
    start = "00" if step == 1 else "00, 02"
    return last if count == 1 else f"00, {last}" if count == 2 else f"{start} to {last}"
