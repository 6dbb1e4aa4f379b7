"""Checks the facts of CPU MF: every formula against the counters of its machine, and what refers to what."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import cpumf, cpumf_formulas, expressions, metrics
from zlens.catalog.cpumf import Generation, Metric
from zlens.errors import CatalogError

#: Tables whose columns the metrics are.
TABLES = ("cpumf", "cpumf_type", "core", "core_type")

_KEYS = frozenset(
    {"generation", "text", "cfvn", "csvn", "status", "source", "note", "basis", "counters", "metrics"}
)


def check() -> list[str]:
    """What is wrong in the files of `cpumf/`, a sentence each."""
    try:
        return [*_machines(), *(each for name in cpumf.GENERATIONS for each in _generation(name)), *_rest()]
    except (CatalogError, KeyError, TypeError, ValueError) as error:
        return [f"cpumf: {error}"]


def _machines() -> Iterator[str]:
    for type, machine in cpumf.machines().items():
        if machine.generation not in cpumf.GENERATIONS:
            yield f"cpumf/machines.toml: {type} is of {machine.generation}, which is no generation"
        if not type.isdigit() or len(type) != 4:
            yield f"cpumf/machines.toml: {type} is no machine type"
        if machine.ghz and machine.ghz_status not in metrics.STATUSES:
            yield f"cpumf/machines.toml: {type}: ghz_status is {machine.ghz_status!r}"


def _generation(name: str) -> Iterator[str]:
    where = f"cpumf/{name}.toml"
    unknown = cpumf.keys(name) - _KEYS
    if unknown:
        yield f"{where}: nobody reads {', '.join(sorted(unknown))}"
    generation = cpumf.generation(name)
    if generation.status not in metrics.STATUSES:
        yield f"{where}: status is {generation.status!r}"
    names = [counter.name for counter in generation.counters.values()]
    for twice in sorted({each for each in names if names.count(each) > 1}):
        yield f"{where}: two counters are called {twice}"
    sized = cpumf.sizes(generation.cfvn, generation.csvn)
    for counter in generation.counters.values():
        size = sized[counter.set]
        if size is None or counter.number >= cpumf.sets()[counter.set].first + size:
            yield f"{where}: counter {counter.number} is not in the {counter.set} set of its version"
    for metric in generation.metrics.values():
        yield from (f"{where}: {metric.name}: {what}" for what in _metric(generation, metric))
    missing = cpumf.own_metrics(name) - set(generation.metrics)
    if missing:
        yield f"{where}: {', '.join(sorted(missing))}: names a counter or metric that the machine has not"


def _metric(generation: Generation, metric: Metric) -> Iterator[str]:
    for status in (metric.status, *(variant.status for variant in metric.variants)):
        if status not in metrics.STATUSES:
            yield f"status is {status!r}"
    if metric.status == "unverified" and metric.formula:
        yield "an unverified formula is a variant"
    if not metric.source:
        yield "has no source"
    for formula in (metric.formula, *(variant.formula for variant in metric.variants)):
        for name in expressions.names(formula) if formula else []:
            if cpumf.number_of(name) is None and name not in (*cpumf.names(), *generation.metrics):
                yield f"{name} is neither counter nor metric"
    if not any(metrics.table(table).column(metric.name) for table in TABLES):
        yield "is a column of no table"


def _rest() -> Iterator[str]:
    known = set(cpumf_formulas.columns())
    for table in TABLES:
        for column in metrics.table(table).columns:
            if column.by and column.name not in known:
                yield f"metrics/{table}.toml: {column.name} is told by machine, but no machine has it"
    hinted = cpumf.hint_table()
    for hint in hinted.hints:
        if set(expressions.names(hint.when)) - {"l1mp", "rni"}:
            yield f"cpumf/workload_hint.toml: `{hint.when}` is not of l1mp and rni"
    for name in hinted.generations:
        if name not in cpumf.GENERATIONS:
            yield f"cpumf/workload_hint.toml: {name} is no generation"
    for balance in cpumf.balances():
        for side in (balance.left, balance.right):
            if side != "SOURCED":
                cpumf.numbers_in([side])
