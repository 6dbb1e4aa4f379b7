"""Capacity adjustment factors that machines state for multiprocessor configurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from msgspec import Struct

from zlens.catalog import generations
from zlens.catalog.layouts import STATUS
from zlens.errors import CatalogError

#: Unit of a factor in STSI: 65,536 is 1. Derived: no available text states the denominator; with it, the
#: arrays of z196, z13 and z15 yield factors like the published ones.
WHOLE = 65_536
#: Number of processors and their capacity adjustment factor.
Point = tuple[int, float]


class CapacityCurve(Struct, frozen=True):
    """Curve of capacity adjustment factors of a machine.

    generation  the generation whose file contains it
    type        machine type
    capability  primary capability that the machine states: it distinguishes the curves of one type
    secondary   the same for processors that run at full speed (IFL, zIIP), if it differs
    """

    name: str
    generation: str
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
def capacity_curves() -> dict[str, CapacityCurve]:
    """Return the curves of all machines by name; CatalogError if a curve is not complete."""
    curves: dict[str, CapacityCurve] = {}
    for generation in generations.names():
        for name, facts in generations.facts(generation).get("curves", {}).items():
            if name in curves:
                raise CatalogError(
                    f"machines/{generation}.toml: the curve {name} is also in {curves[name].generation}.toml"
                )
            curves[name] = _curve(generation, name, facts)
    return dict(sorted(curves.items()))


def _curve(generation: str, name: str, facts: Mapping[str, Any]) -> CapacityCurve:
    stated = dict(facts)
    adjustments, factors = stated.pop("adjustments", None), stated.pop("factors", None)
    try:
        if (adjustments is None) == (factors is None):
            raise ValueError("write adjustments or factors")
        if adjustments is not None:
            curve = from_adjustments(adjustments)
        else:
            curve = sorted((int(n), float(value)) for n, value in factors.items())
        return CapacityCurve(name=name, generation=generation, curve=tuple(curve), **stated)
    except (TypeError, ValueError, AttributeError) as error:
        raise CatalogError(
            f"machines/{generation}.toml: the curve {name} is not complete: {error}",
            file=str(generations.root() / f"{generation}.toml"),
            cure="copy its neighbor",
        ) from None


@cache
def complete_curves() -> tuple[dict[int, float], ...]:
    """Return curves of full-speed processors that are known for every number of processors."""
    return tuple(
        dict(machine.curve)
        for machine in capacity_curves().values()
        if len(machine.curve) == machine.curve[-1][0] and machine.secondary is None
    )


def curve_of_type(type: str, capability: int | None) -> CapacityCurve | None:
    """Return the curve of a machine type with this capability, or the only one without a capability."""
    alike = [machine for machine in capacity_curves().values() if machine.type == type]
    if capability is not None:
        for machine in alike:
            if machine.capability == capability:
                return machine
    unnamed = [machine for machine in alike if machine.capability is None]
    return unnamed[0] if len(unnamed) == 1 else None


def check() -> Iterator[str]:
    """Yield catalog issues of the curves, one sentence each."""
    try:
        curves = capacity_curves()
    except CatalogError as error:
        yield error.message
        return
    for name, machine in curves.items():
        entry = f"machines/{machine.generation}.toml: curve {name}"
        if machine.type not in generations.facts(machine.generation)["types"]:
            yield f"{entry}: {machine.type} is not a machine type of the {machine.generation}"
        if machine.status not in STATUS:
            yield f"{entry}: status is {machine.status!r}"
        if not machine.source:
            yield f"{entry}: no source"
        if machine.curve[0] != (1, 1.0):
            yield f"{entry}: the factor of one processor must be 1"
        for (count, previous_factor), (larger, factor) in pairwise(machine.curve):
            if not 0 < factor <= previous_factor:
                yield f"{entry}: the factor of {larger} processors is not above 0, or above that of {count}"
            elif larger * factor < count * previous_factor:
                yield f"{entry}: {larger} processors have less capacity than {count}"


def from_adjustments(adjustments: Sequence[int]) -> list[Point]:
    """Return the curve from STSI's factors for 2, 3, ... processors (/proc/sysinfo: Adjustment 02-way)."""
    return [(1, 1.0), *((n, value / WHOLE) for n, value in enumerate(adjustments, 2))]
