"""Reference page of the CPU Measurement Facility, generated from the catalog."""

from __future__ import annotations

from collections.abc import Iterable

from reference_pages.markdown_format import format_table
from zlens.catalog import cpumf, cpumf_weights, generations
from zlens.catalog.cpumf import CpumfMetric

_INTRODUCTION = """\
# CPU Measurement Facility

Generated from `python/zlens/facts/machines`.

The meaning of a counter number depends on the machine, and so do the formulas of the tables `cpumf`,
`cpumf_type`, `core` and `core_type` ([measures](measures.md)). The machine type decides; a record without
one is assigned by its counter second version number. An unknown type has only what all machines have
in common, and the column `generation_by` says so. `zlens explain cpumf.rni` explains one metric,
`zlens explain E145` one counter.

Formulas name counters by the letter of their set and their number, metrics by the name of their column."""

_CHECKED = """\
The number of a counter within its set is inferred from the architecture, not stated by the record. So every
system is checked; if one of these relations does not hold, or a set does not have the size of the record's
version, its counters are withheld and `problem` says why."""

_WEIGHTS = """\
`--weights FILE` reads the user's own numbers, one line of TOML per generation; values computed from them are
marked `user` in `rni_status`, `finite_cpi_status` and `workload_hint_status`:"""

_MACHINES = """\
The nominal speed is only for plausibility: calculations use the speed in the record. The capability is that
of a processor at full speed, as STSI 1.2.2 states it; a lower one is faster, and the ratio of two is that
of the speeds of single processors. Partitions and logical processors are the most that a machine can have; an
empty cell is unknown."""


def cpumf_page() -> str:
    """Return the page as Markdown."""
    lines = [_INTRODUCTION, ""]
    lines += [f"- `{name}`: {entry.text}" for name, entry in cpumf.formula_names().items()]
    lines += ["", "## Machines", ""]
    lines += format_table(
        (
            "type",
            "machine",
            "generation",
            "nominal GHz",
            "its status",
            "capability",
            "its status",
            "partitions",
            "logical processors",
        ),
        (
            (
                machine.type,
                machine.name,
                machine.generation,
                f"{machine.ghz:g}" if machine.ghz else "",
                machine.ghz_status if machine.ghz else "",
                str(machine.capability or ""),
                machine.capability_status,
                str(machine.partitions or ""),
                str(machine.logical_processors or ""),
            )
            for machine in generations.types().values()
        ),
    )
    lines += ["", _MACHINES]
    lines += ["", "## Counter versions and sets", ""]
    sets = [f"{row_facts.letter}: {row_facts.name}" for row_facts in cpumf.sets().values()]
    lines += format_table(
        ("generation", "first", "second", *sets, "status"), map(_versions, generations.names())
    )
    lines += ["", "The numbers include reserved ones, which have no counters."]
    lines += ["", "## Checked on every file", "", _CHECKED, ""]
    lines += format_table(
        ("must hold", "tolerance", "else"),
        (
            (
                f"`{row_facts.left} <= {row_facts.right}`",
                f"{row_facts.tolerance:.1%} and {row_facts.slack:g}",
                row_facts.text,
            )
            for row_facts in cpumf.BalancesFile.load().balance
        ),
    )
    lines += ["", "`SOURCED` is the sum of all counters underlying the shares of a generation."]
    lines += ["", "## RNI, finite CPI and the workload hint", "", _WEIGHTS, "", "```toml"]
    lines += [*_example(), "```", ""]
    lines += _hints()
    lines += ["", "## Metrics of all machines", ""]
    lines += [f"- {name}: {source}" for name, source in cpumf.Architecture.load().sources.items()]
    lines += ["", *_metrics(cpumf.common_metrics().values())]
    lines += ["", "Where a generation has a better status or formula, it is listed below.", ""]
    lines += format_table(
        ("number", "name", "counts"),
        (
            (str(counter.number), f"`{counter.name}`", counter.text)
            for counter in cpumf.common_counters().values()
        ),
    )
    for name in generations.names():
        lines += _generation(name)
    return "\n".join(lines) + "\n"


def _versions(name: str) -> tuple[str, ...]:
    """Return a generation with its counter versions and the numbers of its sets."""
    generation = cpumf.generation(name)
    set_sizes = cpumf.sizes(generation.cfvn, generation.csvn)
    ranges = []
    for counter_set in cpumf.sets().values():
        size = set_sizes[counter_set.name]
        ranges.append(f"{counter_set.first}-{counter_set.first + size - 1}" if size else "")
    status = f"{generation.status}: {generation.source}"
    return (name, str(generation.cfvn), str(generation.csvn), *ranges, status)


def _example() -> list[str]:
    text = cpumf_weights.__doc__ or ""
    return [line.strip() for line in text.splitlines() if " = { " in line]


def _hints() -> list[str]:
    table, applies_to = cpumf.HintTable.load(), ", ".join(cpumf.hinted_generations())
    lines = [
        f"The workload hint ({table.status}: {table.source}) is given for {applies_to}, "
        f"if RNI is verified or verified-secondary or uses the user's own weights ({table.note}):",
        "",
    ]
    return [
        *lines,
        *format_table(("when", "category"), ((f"`{hint.when}`", hint.category) for hint in table.hints)),
    ]


def _generation(name: str) -> list[str]:
    generation = cpumf.generation(name)
    lines = ["", f"## {name}", "", f"{generation.text}. TLB counters: {generation.basis}."]
    if generation.note:
        lines[-1] += f" {generation.note}"
    common = cpumf.common_metrics()
    specific = [metric for metric in generation.metrics.values() if metric != common.get(metric.name)]
    differing = [
        metric
        for metric in specific
        if metric.name not in common or metric.formula != common[metric.name].formula
    ]
    better = [f"{metric.name} {metric.status}" for metric in specific if metric not in differing]
    lines += ["", *_metrics(differing)]
    if better:
        lines += ["", f"Status of common metrics: {', '.join(better)}."]
    extended = [counter for counter in generation.counters.values() if counter.set == "extended"]
    lines += ["", f"Extended counters: {len(extended)} are defined.", ""]
    rows = ((str(counter.number), f"`{counter.name}`", counter.text) for counter in extended)
    return [*lines, *format_table(("number", "name", "counts"), rows)]


def _metrics(metrics: Iterable[CpumfMetric]) -> list[str]:
    rows = []
    for metric in metrics:
        remarks = [metric.source, *([metric.note] if metric.note else [])]
        remarks += [
            f"perhaps `{variant.formula}` ({variant.status}: {variant.source})" for variant in metric.variants
        ]
        formula = f"`{metric.formula}`" if metric.formula else "none"
        source = _short("; ".join(part.rstrip(".") for part in remarks))
        rows.append((f"`{metric.name}`", formula, metric.status, source))
    return format_table(("metric", "formula", "status", "source"), rows)


def _short(text: str) -> str:
    """Replace sources that many metrics share by the short names listed on the page."""
    for name, source in cpumf.Architecture.load().sources.items():
        text = text.replace(source, name)
    return text
