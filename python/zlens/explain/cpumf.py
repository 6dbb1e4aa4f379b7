"""What `zlens explain` says of CPU MF: formulas by machine generation, counters by number or name."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import cpumf, cpumf_formulas, generations
from zlens.catalog.metrics import Column
from zlens.explain.records import Facts, page


def formula_lines(column: Column) -> list[str]:
    """How each machine generation gives a column: formula in its counters, and how well it is known."""
    groups: dict[tuple[str, str], list[str]] = {}
    for generation in generations.names():
        metric = cpumf.generation(generation).metrics.get(column.name)
        if metric is not None:
            groups.setdefault((metric.formula or "none", metric.status), []).append(generation)
            for variant in metric.variants:
                said = (f"perhaps {variant.formula}", f"{variant.status}: {variant.source}")
                groups.setdefault(said, []).append(generation)
    return [f"{', '.join(names)}: {formula}  [{status}]" for (formula, status), names in groups.items()]


def name_lines(column: Column) -> list[str]:
    """What the formulas of a column name besides counters: letter of the set and number."""
    formulas = " ".join(formula_lines(column))
    lines = [f"{name}: {text}" for name, (_, text) in cpumf.names().items() if name in formulas]
    return [*lines, "letter and number: a counter; explain E145 tells what it counts"] if formulas else []


def counter_pages(name: str) -> Iterator[str]:
    """A counter by the name formulas give it (E145) or by the name it has on a machine (DCW_REQ)."""
    wanted = name.strip().upper()
    if not cpumf.may_be_counter(wanted):
        return
    for number in sorted({number for each in _generations() for number in each.counters}):
        label = label_of(number)
        on = {each.name: each.counters[number] for each in _generations() if number in each.counters}
        if wanted != label and wanted not in {counter.name for counter in on.values()}:
            continue
        groups: dict[tuple[str, str], list[str]] = {}
        for generation, counter in on.items():
            groups.setdefault((counter.name, counter.text), []).append(generation)
        told = [f"{', '.join(where)}: {called}: {text}" for (called, text), where in groups.items()]
        set_name = next(iter(on.values())).set
        facts: Facts = [
            ("Counts", told),
            ("Set", f"{set_name}: {cpumf.sets()[set_name].text}"),
            ("Used in", ", ".join(_used_in(number)) or "no metric"),
            ("Example", f"SELECT system, interval_end, cpu_id, c{number} FROM role.counter"),
        ]
        yield page(f"{label}: counter {number} of CPU MF", facts)


def counter_names() -> list[str]:
    """Everything a counter may be called."""
    found: dict[str, None] = {}
    for each in _generations():
        for number, counter in each.counters.items():
            found[label_of(number)] = found[counter.name] = None
    return list(found)


def label_of(number: int) -> str:
    """The name formulas give to a counter."""
    last = [each for each in cpumf.sets().values() if each.first <= number][-1]
    return f"{last.letter}{number}"


def _generations() -> list[cpumf.Generation]:
    return [cpumf.generation(name) for name in generations.names()]


def _used_in(number: int) -> list[str]:
    found: dict[str, None] = {}
    for each in _generations():
        for metric in each.metrics.values():
            told = cpumf_formulas.told(each.name, metric.name, cpumf_formulas.Trust(unverified=True))
            if told and number in cpumf.numbers_in([told.formula]):
                found[metric.name] = None
    return list(found)
