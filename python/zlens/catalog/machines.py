"""What machines state of the capability of many processors: the files of `machines/`, one per curve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from zlens.catalog import cpumf
from zlens.catalog.layouts import STATUS
from zlens.errors import CatalogError
from zlens.schema import toml
from zlens.schema.facts import FACTS

ROOT = FACTS / "machines"
#: What STSI states a factor in: 65,536 of them are 1. Derived: no text at hand states the denominator; with
#: it the arrays of z196, z13 and z15 give factors of the size that is published of such machines.
WHOLE = 65_536
#: Processors and their capacity adjustment factor.
Point = tuple[int, float]


@dataclass(frozen=True, slots=True)
class Machine:
    """A curve of capacity adjustment factors and whose it is.

    type        machine type
    capability  primary capability the machine states: it tells the curves of one type apart
    secondary   the same of processors that run at full speed (IFL, zIIP), where it is another
    """

    name: str
    text: str
    type: str
    model: str
    curve: tuple[Point, ...]
    source: str
    status: str
    note: str
    capacity_model: str | None = None
    capability: int | None = None
    secondary: int | None = None


@cache
def machines(root: Path = ROOT) -> dict[str, Machine]:
    """All of them by name; CatalogError where a file is not whole."""
    return {path.stem: _read(path) for path in sorted(root.glob("*.toml"))}


def _read(path: Path) -> Machine:
    facts: dict[str, Any] = toml.load(path)
    adjustments, factors = facts.pop("adjustments", None), facts.pop("factors", None)
    try:
        if (adjustments is None) == (factors is None):
            raise ValueError("write adjustments or factors")
        if adjustments is not None:
            curve = from_adjustments(adjustments)
        else:
            curve = sorted((int(n), float(value)) for n, value in factors.items())
        return Machine(name=path.stem, curve=tuple(curve), **facts)
    except (TypeError, ValueError, AttributeError) as error:
        raise CatalogError(
            f"{path.name} of the machines is not whole: {error}", file=str(path), cure="copy its neighbour"
        ) from None


@cache
def complete() -> tuple[dict[int, float], ...]:
    """Curves of full-speed processors that are known for every number of them."""
    return tuple(
        dict(one.curve)
        for one in machines().values()
        if len(one.curve) == one.curve[-1][0] and one.secondary is None
    )


def of_type(type: str, capability: int | None) -> Machine | None:
    """The curve of a machine type at a capability: of equal capability, or the only one that names none."""
    alike = [one for one in machines().values() if one.type == type]
    if capability is not None:
        for one in alike:
            if one.capability == capability:
                return one
    unnamed = [one for one in alike if one.capability is None]
    return unnamed[0] if len(unnamed) == 1 else None


def check(root: Path = ROOT) -> Iterator[str]:
    """What is wrong with the files, a sentence each."""
    try:
        found = machines(root)
    except CatalogError as error:
        yield error.message
        return
    for name, one in found.items():
        here = f"machines/{name}.toml"
        if one.type not in cpumf.machines():
            yield f"{here}: {one.type} is no machine type"
        if one.status not in STATUS:
            yield f"{here}: status is {one.status!r}"
        if not one.source:
            yield f"{here}: no source"
        if one.curve[0] != (1, 1.0):
            yield f"{here}: the factor of one processor is 1"
        for (n, before), (more, after) in pairwise(one.curve):
            if not 0 < after <= before:
                yield f"{here}: the factor of {more} processors is above that of {n}, or not above 0"
            elif more * after < n * before:
                yield f"{here}: {more} processors are less than {n}"


def from_adjustments(adjustments: Sequence[int]) -> list[Point]:
    """The curve of what STSI states for 2, 3, ... processors (/proc/sysinfo, Adjustment 02-way and on)."""
    return [(1, 1.0), *((n, value / WHOLE) for n, value in enumerate(adjustments, 2))]
