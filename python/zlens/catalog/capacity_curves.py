"""Capacity adjustment factors that machines state for multiprocessor configurations."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

from msgspec.structs import asdict

from zlens.catalog import generations
from zlens.catalog.generations import CurveKeys
from zlens.catalog.layouts import STATUS
from zlens.errors import CatalogError

#: Unit of a factor in STSI: 65,536 is 1. Derived: no available text states the denominator; with it, the
#: arrays of z196, z13 and z15 yield factors like the published ones.
WHOLE = 65_536
#: Number of processors and their capacity adjustment factor.
Point = tuple[int, float]


class CapacityCurve(CurveKeys, frozen=True, kw_only=True):
    """A curve with its name and the generation whose file contains it."""

    name: str
    generation: str

    @property
    def curve(self) -> tuple[Point, ...]:
        """The factors in the order of processors."""
        if self.factors is not None:
            return tuple(sorted(self.factors.items()))
        return tuple(from_adjustments(self.adjustments or ()))


@cache
def capacity_curves() -> dict[str, CapacityCurve]:
    """Return the curves of all machines by name; CatalogError if a curve is not complete."""
    curves: dict[str, CapacityCurve] = {}
    for generation in generations.names():
        for name, keys in generations.facts(generation).curves.items():
            if name in curves:
                raise CatalogError(
                    f"machines/{generation}.toml: the curve {name} is also in {curves[name].generation}.toml"
                )
            curves[name] = CapacityCurve(name=name, generation=generation, **asdict(keys))
    return dict(sorted(curves.items()))


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
        if machine.type not in generations.facts(machine.generation).types:
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
