"""Checks of the machine generations: formulas against the counters of their machine, and cross-references."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zlens.catalog import cpumf, cpumf_formulas, expressions, generations, measures
from zlens.catalog.cpumf import CpumfMetric, Generation
from zlens.catalog.generations import MachineType
from zlens.errors import CatalogError


def check() -> list[str]:
    """Yield catalog issues of the files of `machines/`, one sentence each."""
    try:
        names = generations.names()
        return [*_unique(names), *(problem for name in names for problem in _generation(name)), *_rest()]
    except (CatalogError, ValueError) as error:
        return [f"machines: {error}"]


def _unique(names: Iterable[str]) -> Iterator[str]:
    """Check that each counter version and machine type belongs to one generation only."""
    owners: dict[str, str] = {}
    for name in names:
        facts = generations.facts(name)
        for identifier in (f"csvn {facts.csvn}", *(f"type {type}" for type in facts.types)):
            owner = owners.setdefault(identifier, name)
            if owner != name:
                yield f"machines/{name}.toml: {identifier} belongs to {owner}"


def _generation(name: str) -> Iterator[str]:
    where = f"machines/{name}.toml"
    facts = generations.facts(name)
    for machine in generations.types().values():
        if machine.generation == name:
            yield from (f"{where}: {machine.type}: {problem}" for problem in _type(machine))
    for stated in facts.statuses.keys() & facts.metrics.keys():
        yield f"{where}: the status of {stated} belongs with its formula"
    generation = cpumf.generation(name)
    if generation.status not in measures.STATUSES:
        yield f"{where}: status is {generation.status!r}"
    names = [counter.name for counter in generation.counters.values()]
    for twice in sorted({counter_name for counter_name in names if names.count(counter_name) > 1}):
        yield f"{where}: two counters are named {twice}"
    sized = cpumf.sizes(generation.cfvn, generation.csvn)
    for counter in generation.counters.values():
        size = sized[counter.set]
        if size is None or counter.number >= cpumf.sets()[counter.set].first + size:
            yield f"{where}: counter {counter.number} is not in the {counter.set} set of its version"
    for metric in generation.metrics.values():
        yield from (f"{where}: {metric.name}: {problem}" for problem in _metric(generation, metric))
    missing = facts.metrics.keys() - generation.metrics.keys()
    if missing:
        yield f"{where}: {', '.join(sorted(missing))}: names a counter or metric the machine does not have"


def _type(machine: MachineType) -> Iterator[str]:
    if not machine.type.isdecimal() or len(machine.type) != 4:
        yield "is not a machine type"
    if machine.ghz and machine.ghz_status not in measures.STATUSES:
        yield f"ghz_status is {machine.ghz_status!r}"
    if machine.capability and machine.capability_status not in measures.STATUSES:
        yield f"capability_status is {machine.capability_status!r}"
    if machine.capability and not machine.capability_source:
        yield "its capability has no source"
    if (machine.partitions or machine.logical_processors) and not machine.limits_source:
        yield "its limits have no source"


def _metric(generation: Generation, metric: CpumfMetric) -> Iterator[str]:
    for status in (metric.status, *(variant.status for variant in metric.variants)):
        if status not in measures.STATUSES:
            yield f"status is {status!r}"
    if metric.status == "unverified" and metric.formula:
        yield "an unverified formula is a variant"
    if not metric.source:
        yield "has no source"
    for formula in (metric.formula, *(variant.formula for variant in metric.variants)):
        for name in expressions.names(formula) if formula else []:
            if cpumf.number_of(name) is None and name not in (*cpumf.formula_names(), *generation.metrics):
                yield f"{name} is neither a counter nor a metric"
    if not any(column.varies_by and column.name == metric.name for _, column in measures.all_columns()):
        yield "is not a column of any table"


def _rest() -> Iterator[str]:
    computed = set(cpumf_formulas.columns())
    for table, column in measures.all_columns():
        if column.varies_by and column.name not in computed:
            yield f"metrics/{table.name}.toml: {column.name} depends on the machine, but no machine has it"
    hint_table = cpumf.HintTable.load()
    for hint in hint_table.hints:
        if set(expressions.names(hint.when)) - {"l1mp", "rni"}:
            yield f"machines/common/workload_hint.toml: `{hint.when}` may only use l1mp and rni"
    for balance in cpumf.BalancesFile.load().balance:
        for side in (balance.left, balance.right):
            if side != "SOURCED":
                cpumf.numbers_in([side])
