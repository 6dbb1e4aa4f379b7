"""The reference page of the CPU Measurement Facility, written from the catalog."""

from __future__ import annotations

from collections.abc import Iterable

from zlens.catalog import cpumf, cpumf_weights, generations
from zlens.catalog.cpumf import Metric

_INTRODUCTION = """\
# CPU Measurement Facility

Made from `python/zlens/facts/machines`.

What a counter number means depends on the machine, and so do the formulas of the tables `cpumf`,
`cpumf_type`, `core` and `core_type` ([measures](measures.md)). The machine type decides; a record without
one is told by its counter second version number. A type that nobody knows gives only what all machines have
in common, and the column `generation_by` says so. `zlens explain cpumf.rni` tells one metric,
`zlens explain E145` one counter.

Formulas name counters by the letter of their set and their number, metrics by the name of their column."""

_CHECKED = """\
Which number a counter has within its set is inferred from the architecture, not told by the record. So every
system is checked; where one of these does not hold, or a set has not the size that the version of the record
says, its counters are withheld and `problem` says why."""

_WEIGHTS = """\
`--weights FILE` takes the user's own numbers, one line of TOML per generation; what is computed from them is
marked `user` in `rni_status`, `finite_cpi_status` and `workload_hint_status`:"""


def cpumf_page() -> str:
    """The page as Markdown."""
    lines = [_INTRODUCTION, ""]
    lines += [f"- `{name}`: {text}" for name, (_, text) in cpumf.names().items()]
    lines += ["", "## Machines", ""]
    lines += _table(
        ("type", "machine", "generation", "nominal GHz", "its status"),
        (
            (m.type, m.name, m.generation, f"{m.ghz:g}" if m.ghz else "", m.ghz_status if m.ghz else "")
            for m in generations.types().values()
        ),
    )
    lines += ["", "The nominal speed is for plausibility only: the speed in the record is computed with."]
    lines += ["", "## Counter versions and sets", ""]
    sets = [f"{each.letter}: {each.name}" for each in cpumf.sets().values()]
    lines += _table(("generation", "first", "second", *sets, "status"), map(_versions, generations.names()))
    lines += ["", "The numbers include reserved ones, which nobody counts with."]
    lines += ["", "## Checked on every file", "", _CHECKED, ""]
    lines += _table(
        ("must hold", "tolerance", "else"),
        (
            (f"`{each.left} <= {each.right}`", f"{each.tolerance:.1%} and {each.slack:g}", each.text)
            for each in cpumf.balances()
        ),
    )
    lines += ["", "`SOURCED` is the sum of all counters of which the shares of a generation are made."]
    lines += ["", "## RNI, finite CPI and the workload hint", "", _WEIGHTS, "", "```toml"]
    lines += [*_example(), "```", ""]
    lines += _hints()
    lines += ["", "## Metrics of all machines", ""]
    lines += [f"- {name}: {source}" for name, source in cpumf.sources().items()]
    lines += ["", *_metrics(cpumf.common_metrics().values())]
    lines += ["", "What a generation knows better of these, stands with it below.", ""]
    lines += _table(
        ("number", "name", "counts"),
        ((str(c.number), f"`{c.name}`", c.text) for c in cpumf.common_counters().values()),
    )
    for name in generations.names():
        lines += _generation(name)
    return "\n".join(lines) + "\n"


def _versions(name: str) -> tuple[str, ...]:
    """A generation with its counter versions and the numbers of its sets."""
    generation = cpumf.generation(name)
    sized = cpumf.sizes(generation.cfvn, generation.csvn)
    ranges = []
    for each in cpumf.sets().values():
        size = sized[each.name]
        ranges.append(f"{each.first}-{each.first + size - 1}" if size else "")
    status = f"{generation.status}: {generation.source}"
    return (name, str(generation.cfvn), str(generation.csvn), *ranges, status)


def _example() -> list[str]:
    text = cpumf_weights.__doc__ or ""
    return [line.strip() for line in text.splitlines() if " = { " in line]


def _hints() -> list[str]:
    table = cpumf.hint_table()
    lines = [
        f"The workload hint ({table.status}: {table.source}) is given for {', '.join(table.generations)}, "
        f"where RNI is verified or verified-secondary or of the user's own weights ({table.note}):",
        "",
    ]
    return [*lines, *_table(("when", "category"), ((f"`{h.when}`", h.category) for h in table.hints))]


def _generation(name: str) -> list[str]:
    each = cpumf.generation(name)
    lines = ["", f"## {name}", "", f"{each.text}. TLB counters: {each.basis}."]
    if each.note:
        lines[-1] += f" {each.note}"
    common = cpumf.common_metrics()
    own = [metric for metric in each.metrics.values() if metric != common.get(metric.name)]
    differing = [m for m in own if m.name not in common or m.formula != common[m.name].formula]
    better = [f"{m.name} {m.status}" for m in own if m not in differing]
    lines += ["", *_metrics(differing)]
    if better:
        lines += ["", f"Of the metrics of all machines: {', '.join(better)}."]
    extended = [counter for counter in each.counters.values() if counter.set == "extended"]
    lines += ["", f"Extended counters: {len(extended)} are defined.", ""]
    rows = ((str(c.number), f"`{c.name}`", c.text) for c in extended)
    return [*lines, *_table(("number", "name", "counts"), rows)]


def _metrics(listed: Iterable[Metric]) -> list[str]:
    rows = []
    for metric in listed:
        said = [metric.source, *([metric.note] if metric.note else [])]
        said += [f"perhaps `{v.formula}` ({v.status}: {v.source})" for v in metric.variants]
        formula = f"`{metric.formula}`" if metric.formula else "none"
        told = _short("; ".join(part.rstrip(".") for part in said))
        rows.append((f"`{metric.name}`", formula, metric.status, told))
    return _table(("metric", "formula", "status", "source"), rows)


def _short(text: str) -> str:
    """Sources that many metrics share by the short names that the page tells."""
    for name, source in cpumf.sources().items():
        text = text.replace(source, name)
    return text


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return [*lines, *(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows)]
