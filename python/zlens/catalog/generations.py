"""Machine generations: one file of `facts/machines` for each, with all facts about it.

The files define which generations exist. `cpumf` reads counters and metrics from them, `capacity_curves`
reads capacity curves. Facts common to all generations are in the folder `common`.
"""

from functools import cache
from typing import Annotated

from msgspec.structs import asdict

from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactTable, SourcedTable, doc

FOLDER = FACTS / "machines"


class MachineTypeKeys(FactTable, frozen=True):
    """A machine type."""

    name: Annotated[str, doc("the name of the machine")]
    ghz: Annotated[float | None, doc("nominal speed; calculations use the record's")] = None
    ghz_status: Annotated[str, doc("how well its speed is known")] = ""
    ghz_source: Annotated[str, doc("where its speed is from")] = ""
    capability: Annotated[
        int | None, doc("capability of a processor at full speed (STSI 1.2.2); lower is faster")
    ] = None
    capability_status: Annotated[str, doc("how well its capability is known")] = ""
    capability_source: Annotated[str, doc("where its capability is from")] = ""
    partitions: Annotated[int | None, doc("maximum number of logical partitions")] = None
    logical_processors: Annotated[
        int | None, doc("maximum number of logical processors of all partitions")
    ] = None
    limits_source: Annotated[str, doc("where its limits are from")] = ""


class MachineType(MachineTypeKeys, frozen=True, kw_only=True):
    """A machine type with its generation."""

    type: str
    generation: str


class CounterName(FactTable, frozen=True):
    """A counter."""

    name: Annotated[str, doc("its name in Linux")]
    text: Annotated[str, doc("what it counts")]


class CpumfMetricKeys(SourcedTable, frozen=True):
    """A metric."""

    formula: Annotated[str, doc("its formula; empty if counters do not suffice")] = ""
    note: Annotated[str, doc("a remark")] = ""
    needs: Annotated[str, doc("the set that machines need, if no formula names its counters")] = ""


class WeightVariant(SourcedTable, frozen=True):
    """Other weights."""

    numbers: tuple[float, ...]


class Weights(SourcedTable, frozen=True):
    """A metric that is computed from weights."""

    numbers: Annotated[tuple[float, ...] | None, doc("the weights, if known")] = None
    terms: Annotated[tuple[str, ...], doc("shares that are weighed, in their order")] = ()
    note: Annotated[str, doc("a remark")] = ""
    variants: Annotated[tuple[WeightVariant, ...], doc("other weights")] = ()


class CurveKeys(SourcedTable, frozen=True, kw_only=True):
    """Capacity adjustment factors of a machine."""

    text: Annotated[str, doc("what machine it is")]
    type: Annotated[str, doc("its machine type")]
    model: Annotated[str, doc("its model")]
    note: Annotated[str, doc("a remark")]
    adjustments: Annotated[tuple[int, ...] | None, doc("those of 2, 3, ... processors in STSI")] = None
    factors: Annotated[dict[int, float] | None, doc("factors by number of processors")] = None
    capability: Annotated[int | None, doc("primary capability; it distinguishes curves")] = None
    secondary: Annotated[int | None, doc("that of processors at full speed, if other")] = None

    def __post_init__(self) -> None:
        if (self.adjustments is None) == (self.factors is None):
            raise ValueError("write adjustments or factors")


class GenerationFile(SourcedTable, frozen=True):
    """A machine generation."""

    text: Annotated[str, doc("what it is")]
    cfvn: Annotated[int, doc("its counter first version number")]
    csvn: Annotated[int, doc("its counter second version number")]
    extended_counters: Annotated[int, doc("counters of the extended set, including reserved")]
    basis: Annotated[str, doc("the unit that its TLB counters count")]
    workload_hint: Annotated[bool, doc("whether the table of workload categories applies")]
    types: Annotated[dict[str, MachineTypeKeys], doc("machine types")]
    counters: Annotated[dict[int, CounterName], doc("its own counters by number")]
    rni: Weights
    note: Annotated[str, doc("a remark")] = ""
    metrics: Annotated[dict[str, CpumfMetricKeys], doc("its own metrics")] = {}
    statuses: Annotated[dict[str, str], doc("statuses of common metrics")] = {}
    finite: Weights | None = None
    curves: Annotated[dict[str, CurveKeys], doc("capacity curves")] = {}


def facts(name: str) -> GenerationFile:
    """Return the facts in the file of a generation."""
    if name not in names():
        raise CatalogError(f"there is no machine generation {name!r}", expected=", ".join(names()))
    return _files()[name]


@cache
def names() -> tuple[str, ...]:
    """Return the generations, oldest first, by their counter second version numbers."""
    return tuple(sorted(_files(), key=lambda name: _files()[name].csvn))


@cache
def types() -> dict[str, MachineType]:
    """Return the known machine types."""
    return {
        type: MachineType(type=type, generation=name, **asdict(keys))
        for name in names()
        for type, keys in facts(name).types.items()
    }


@cache
def _files() -> dict[str, GenerationFile]:
    return {path.stem: structs.load(path, GenerationFile) for path in sorted(FOLDER.glob("*.toml"))}
