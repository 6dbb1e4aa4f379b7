"""How many logical cores and processors a release of z/VM supports in a partition, and their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from zlens.errors import CatalogError
from zlens.schema import document
from zlens.schema.facts import FACTS

_FILE = FACTS / "models" / "zvm_limits.toml"

#: Levels of multithreading.
SMT = ("non-SMT", "SMT-1", "SMT-2")


@dataclass(frozen=True, slots=True)
class Release:
    """highest: number of a processor. cores and smt_cores: logical cores without and with multithreading."""

    name: str
    highest: int
    cores: int
    smt_cores: int
    note: str
    source: str
    status: str
    ignores: bool = False


@dataclass(frozen=True, slots=True)
class Mode:
    """smt: types that multithreading is there for. two_threads: types that have two on a core at level 2."""

    name: str
    smt: tuple[str, ...]
    two_threads: tuple[str, ...]
    mixed: bool
    source: str
    status: str


@dataclass(frozen=True, slots=True)
class Fit:
    """What becomes of a partition at a level of multithreading.

    available   whether there is that level for its mode and types
    limit       logical cores that are supported
    used        logical cores that are used; None where more are defined than are supported
    processors  logical processors; None where it depends on which cores are left out
    numbers     those of its processors, in hexadecimal
    """

    available: bool
    limit: int | None
    used: int | None
    processors: int | None
    numbers: str


@cache
def _facts() -> tuple[dict[str, Release], dict[str, Mode]]:
    facts = document.facts(_FILE)
    try:
        releases = [Release(**one) for one in facts["release"]]
        modes = [
            Mode(**{**one, "smt": tuple(one["smt"]), "two_threads": tuple(one["two_threads"])})
            for one in facts["mode"]
        ]
    except (KeyError, TypeError):
        raise CatalogError(
            "models/zvm_limits.toml is not complete", file=str(_FILE), cure="copy a neighbor in it"
        ) from None
    return {one.name: one for one in releases}, {one.name: one for one in modes}


def releases() -> tuple[str, ...]:
    """Releases whose limits are known."""
    return tuple(_facts()[0])


def modes() -> tuple[str, ...]:
    """Modes of a partition that z/VM runs in."""
    return tuple(_facts()[1])


def release(name: str) -> Release:
    return _facts()[0][name]


def mode(name: str) -> Mode:
    return _facts()[1][name]


def fit(of: Release, where: Mode, smt: str, cores: Mapping[str, int]) -> Fit:
    """How a partition with so many logical cores of each type fits.

    Source: IBM, Eighty Logical Processors, table 1: without multithreading core and processor are one; with
    it core n has processor 2n, and 2n+1 where two threads are active.
    """
    defined = sum(cores.values())
    if smt != "non-SMT" and not all(kind in where.smt for kind, count in cores.items() if count):
        return Fit(False, None, None, None, "not available")
    limit = of.cores if smt == "non-SMT" else of.smt_cores
    used = defined if defined <= limit else (limit if of.ignores and smt != "non-SMT" else None)
    if used is None:
        return Fit(True, limit, None, None, f"more than {limit} cores")
    twos = sum(count for kind, count in cores.items() if kind in where.two_threads)
    if smt != "SMT-2" or not twos:
        return Fit(True, limit, used, used, _numbers(used, 1 if smt == "non-SMT" else 2))
    if twos == defined:
        return Fit(True, limit, used, 2 * used, _numbers(2 * used, 1))
    processors = defined + twos if used == defined else None
    return Fit(True, limit, used, processors, f"within 00 to {2 * used - 1:02X}, odd ones on IFL cores only")


def _numbers(count: int, step: int) -> str:
    """00 to 4F; 00, 02 to 4E; 00."""
    if not count:
        return ""
    last = f"{(count - 1) * step:02X}"
    begin = "00" if step == 1 else "00, 02"
    return last if count == 1 else f"00, {last}" if count == 2 else f"{begin} to {last}"
