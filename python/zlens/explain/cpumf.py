"""`zlens explain` of CPU MF: formulas by machine generation, counters by number or name."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import cpumf, cpumf_formulas, generations
from zlens.catalog.cpumf import FormulaPolicy
from zlens.catalog.measures import MeasureColumn
from zlens.explain.description import Description, Facts


def formula_lines(column: MeasureColumn) -> list[str]:
    """Return the formula of a column and its status, for each machine generation."""
    groups: dict[tuple[str, str], list[str]] = {}
    for generation in generations.names():
        metric = cpumf.generation(generation).metrics.get(column.name)
        if metric is not None:
            groups.setdefault((metric.formula or "none", metric.status), []).append(generation)
            for variant in metric.variants:
                key = (f"perhaps {variant.formula}", f"{variant.status}: {variant.source}")
                groups.setdefault(key, []).append(generation)
    return [f"{', '.join(names)}: {formula}  [{status}]" for (formula, status), names in groups.items()]


def name_lines(column: MeasureColumn) -> list[str]:
    """Return the names other than counters in the formulas of a column."""
    formulas = " ".join(formula_lines(column))
    lines = [f"{name}: {entry.text}" for name, entry in cpumf.formula_names().items() if name in formulas]
    return [*lines, "letter and number: a counter; explain E145 describes it"] if formulas else []


def counter_pages(name: str) -> Iterator[Description]:
    """Yield descriptions of a counter, by its name in formulas (E145) or on a machine (DCW_REQ)."""
    requested = name.strip().upper()
    if not cpumf.may_be_counter(requested):
        return
    for number in sorted({number for generation in _generations() for number in generation.counters}):
        label = label_of(number)
        counters = {
            generation.name: generation.counters[number]
            for generation in _generations()
            if number in generation.counters
        }
        if requested != label and requested not in {counter.name for counter in counters.values()}:
            continue
        groups: dict[tuple[str, str], list[str]] = {}
        for generation, counter in counters.items():
            groups.setdefault((counter.name, counter.text), []).append(generation)
        meanings = [
            f"{', '.join(machines)}: {counter_name}: {text}"
            for (counter_name, text), machines in groups.items()
        ]
        set_name = next(iter(counters.values())).set
        facts: Facts = [
            ("Counts", meanings),
            ("Set", f"{set_name}: {cpumf.sets()[set_name].text}"),
            ("Used in", ", ".join(_used_in(number)) or "no metric"),
            ("Example", f"SELECT system, interval_end, cpu_id, c{number} FROM role.counter"),
        ]
        yield Description(f"{label}: counter {number} of CPU MF", facts)


def counter_names() -> list[str]:
    """Return all names of counters."""
    names: dict[str, None] = {}
    for generation in _generations():
        for number, counter in generation.counters.items():
            names[label_of(number)] = names[counter.name] = None
    return list(names)


def label_of(number: int) -> str:
    """Return the name of a counter in formulas."""
    last_set = [counter_set for counter_set in cpumf.sets().values() if counter_set.first <= number][-1]
    return f"{last_set.letter}{number}"


def _generations() -> list[cpumf.Generation]:
    return [cpumf.generation(name) for name in generations.names()]


def _used_in(number: int) -> list[str]:
    metrics: dict[str, None] = {}
    for generation in _generations():
        for metric in generation.metrics.values():
            formula = cpumf_formulas.counter_formula(
                generation.name, metric.name, FormulaPolicy(unverified=True)
            )
            if formula and number in cpumf.numbers_in([formula.formula]):
                metrics[metric.name] = None
    return list(metrics)
