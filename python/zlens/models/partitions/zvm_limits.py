"""Logical cores and processors that a release of z/VM supports in a partition, and their numbers."""

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar

from msgspec import Meta, Struct, field

from zlens.schema.structs import FactFile, SourcedTable

#: Levels of multithreading.
SMT = ("non-SMT", "SMT-1", "SMT-2")


class Release(SourcedTable, frozen=True):
    """Limits of a release."""

    name: Annotated[str, Meta(description="the release")]
    highest: Annotated[int, Meta(description="the highest processor number")]
    cores: Annotated[int, Meta(description="logical cores without multithreading")]
    smt_cores: Annotated[int, Meta(description="logical cores with multithreading")]
    note: Annotated[str, Meta(description="a remark")]
    ignores: Annotated[
        bool, Meta(description="whether it ignores cores beyond the limit with multithreading")
    ] = False


class Mode(SourcedTable, frozen=True):
    """Mode of a partition."""

    name: Annotated[str, Meta(description="the mode")]
    smt: Annotated[tuple[str, ...], Meta(description="types that support multithreading")]
    two_threads: Annotated[tuple[str, ...], Meta(description="types with two threads on a core at level 2")]
    mixed: Annotated[bool, Meta(description="whether it may have several types")]
    code: Annotated[int, Meta(description="its code in simulated records: processor_mode of codes.toml")]


class LimitFile(FactFile, frozen=True):
    """Limits of z/VM."""

    path: ClassVar = "models/zvm_limits.toml"
    releases: tuple[Release, ...] = field(name="release")
    modes: tuple[Mode, ...] = field(name="mode")


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


def releases() -> tuple[str, ...]:
    """Return releases with known limits."""
    return tuple(entry.name for entry in LimitFile.load().releases)


def modes() -> tuple[str, ...]:
    """Return the modes of partitions that z/VM runs in."""
    return tuple(entry.name for entry in LimitFile.load().modes)


def release(name: str) -> Release:
    return next(entry for entry in LimitFile.load().releases if entry.name == name)


def mode(name: str) -> Mode:
    return next(entry for entry in LimitFile.load().modes if entry.name == name)


def is_available(partition_mode: Mode, smt: str, kinds: Iterable[str]) -> bool:
    """Return whether a partition of these types of cores can have a level of multithreading."""
    return smt == "non-SMT" or all(kind in partition_mode.smt for kind in kinds)


def threads(partition_mode: Mode, smt: str, kind: str) -> int:
    """Return the threads of a core of a type."""
    return 2 if smt == "SMT-2" and kind in partition_mode.two_threads else 1


def numbers_per_core(smt: str) -> int:
    """Return the difference of the processor numbers of one core and the next.

    Source: IBM, Eighty Logical Processors, table 1: without multithreading core and processor are the same;
    with it core n has processor 2n, and 2n+1 if two threads are active.
    """
    return 1 if smt == "non-SMT" else 2


def fit(release_limits: Release, partition_mode: Mode, smt: str, cores: Mapping[str, int]) -> PartitionFit:
    """Return the fit of a partition with these logical cores of each type."""
    defined = sum(cores.values())
    if not is_available(partition_mode, smt, (kind for kind, count in cores.items() if count)):
        return PartitionFit(False, None, None, None, "not available")
    limit = release_limits.cores if smt == "non-SMT" else release_limits.smt_cores
    used = defined if defined <= limit else (limit if release_limits.ignores and smt != "non-SMT" else None)
    if used is None:
        return PartitionFit(True, limit, None, None, f"more than {limit} cores")
    twos = sum(count for kind, count in cores.items() if threads(partition_mode, smt, kind) == 2)
    if not twos:
        return PartitionFit(True, limit, used, used, _numbers(used, numbers_per_core(smt)))
    if twos == defined:
        return PartitionFit(True, limit, used, 2 * used, _numbers(2 * used, 1))
    processors = defined + twos if used == defined else None
    numbers = f"within 00 to {2 * used - 1:02X}, odd ones on IFL cores only"
    return PartitionFit(True, limit, used, processors, numbers)


def _numbers(count: int, step: int) -> str:
    """Return a text of processor numbers: 00 to 4F; 00, 02 to 4E; 00."""
    if not count:
        return ""
    last = f"{(count - 1) * step:02X}"
    start = "00" if step == 1 else "00, 02"
    return last if count == 1 else f"00, {last}" if count == 2 else f"{start} to {last}"
