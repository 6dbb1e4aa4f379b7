"""Counters that the simulator increments on a machine generation, compiled from the catalog.

The metrics of the catalog define which counters are L1 misses sourced from a cache level or from memory; the
name of a counter identifies the L1 cache, and whether the line came by intervention. Counters that no rule
here names stay 0.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from zlens.catalog import cpumf
from zlens.errors import CatalogError
from zlens.schema.structs import NamedFacts, SourcedTable

Role = Any

#: Counters with the same meaning on every machine, by number.
_COMMON: dict[int, Role] = {
    0: "cycles",
    1: "instructions",
    2: {"misses": "instruction"},
    3: {"penalty": "instruction"},
    4: {"misses": "data"},
    5: {"penalty": "data"},
    32: "problem_cycles",
    33: "problem_instructions",
    # All functions of a workload are assumed to be AES.
    76: "crypto_functions",
    77: "crypto_cycles",
    78: "crypto_blocked_functions",
    79: "crypto_blocked_cycles",
    448: "one_thread",
    449: "two_threads",
}
#: Counters of the extended set other than sources of misses, by name.
_NAMED: dict[str, Role] = {
    "L1C_TLB2_MISSES": "outstanding",
    "DTLB2_WRITES": {"translations": "data"},
    "ITLB2_WRITES": {"translations": "instruction"},
    "DTLB2_MISSES": {"translation_cycles": "data"},
    "ITLB2_MISSES": {"translation_cycles": "instruction"},
    # All pages are assumed to have 4 KB.
    "TLB2_PTE_WRITES": "page_entries",
    "TLB2_ENGINES_BUSY": {"translation_cycles": "both"},
}
#: Levels that lines are sourced from, by metric.
_LEVELS = {"l2p": "core", "l3p": "chip", "l4lp": "drawer", "l4rp": "machine", "memp": "memory"}
#: All sources.
_SOURCES = (
    "core",
    *(f"{place}{how}" for place in ("chip", "drawer", "machine") for how in ("", "_changed")),
    *(f"{place}_memory" for place in ("chip", "drawer", "machine")),
)
#: Location of memory, by a part of a counter's name. Memory of a cluster or module belongs to another chip.
_MEMORY = {"ONCHIP": "chip", "ON_CHIP": "chip", "OFFDRAWER": "machine", "OFF_DRAWER": "machine"}
_SIDES = {"L1D": "data", "DCW": "data", "L1I": "instruction", "ICW": "instruction", "IDCW": "both"}


def counter_table(generation: str) -> dict[str, Any]:
    """Return the table for the engine: versions, counter sets, and the role of every simulated counter.

    CatalogError if the generation has no counter for a source or name, like those before z14.
    """
    facts = cpumf.generation(generation)
    named = {counter.name: number for number, counter in facts.counters.items()}
    _check_sources(generation, _NAMED, named)
    roles = {number: role for number, role in _COMMON.items() if number in facts.counters}
    roles |= {named[name]: role for name, role in _NAMED.items()}
    roles |= {number: {"sourced": [side, source]} for number, side, source in _line_sources(facts)}
    sizes = cpumf.sizes(facts.cfvn, facts.csvn)
    return {
        "cfvn": facts.cfvn,
        "csvn": facts.csvn,
        "sets": [
            {"name": name, "first": counter_set.first, "count": sizes[name]}
            for name, counter_set in cpumf.sets().items()
            if sizes[name]
        ],
        "counters": [{"number": number, "role": role} for number, role in sorted(roles.items())],
    }


def simulated_generations() -> tuple[str, ...]:
    """Return the generations whose counters can be simulated."""
    return tuple(CacheSizes.by_name())


def caches(generation: str) -> dict[str, float]:
    """Return the cache sizes of a generation in MiB, instructions and data in total."""
    sizes = CacheSizes.by_name()[generation]
    return {f"{level}_mib": getattr(sizes, level) for level in ("l1", "core", "chip", "drawer")}


class CacheSizes(NamedFacts, SourcedTable, frozen=True):
    """Caches of a machine generation in MiB, instructions and data in total."""

    path: ClassVar = "models/caches.toml"
    l1: Annotated[float, Meta(gt=0, description="L1 of a core")]
    core: Annotated[float, Meta(gt=0, description="L2 of a core")]
    chip: Annotated[float, Meta(gt=0, description="the cache that the cores of a chip share")]
    drawer: Annotated[float, Meta(gt=0, description="the cache of a drawer")]


def _check_sources(generation: str, needed: Iterable[str], present: Collection[str]) -> None:
    missing = [name for name in needed if name not in present]
    if missing:
        raise CatalogError(
            f"counters of {generation} cannot be simulated: it has no counters for {', '.join(missing)}",
            expected="z14 or later",
        )


def _line_sources(facts: cpumf.Generation) -> Iterator[tuple[int, str, str]]:
    """Yield number, side and source of counters that in total count every line exactly once."""
    numbers_by_source: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    _check_sources(facts.name, _LEVELS, facts.metrics)
    for metric, level in _LEVELS.items():
        for number in cpumf.numbers_in([facts.metrics[metric].formula]):
            counter = facts.counters[number]
            if counter.set == "extended":
                side = _SIDES[counter.name.partition("_")[0]]
                numbers_by_source[_source(counter.name, level)][side].append(number)
    _check_sources(facts.name, _SOURCES, numbers_by_source)
    for source in _SOURCES:
        sides = numbers_by_source[source]
        if "data" in sides and "instruction" in sides:
            yield from ((number, side, source) for side in ("data", "instruction") for number in sides[side])
        else:
            # One side has no counters of its own, so both share the existing ones.
            yield from ((number, "both", source) for numbers in sides.values() for number in numbers)


def _source(name: str, level: str) -> str:
    if level == "memory":
        return next((location for part, location in _MEMORY.items() if part in name), "drawer") + "_memory"
    # RO: read-only copies elsewhere had to be removed first.
    return f"{level}_changed" if name.endswith(("_IV", "_RO")) else level
