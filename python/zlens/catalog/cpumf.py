"""CPU Measurement Facility: counters of each machine by number, and the metrics computed from them.

The facts are in the files of the machine generations (`generations`) and, if they are the same for all
machines, in `facts/machines/common`. A metric is a formula over counters (letter of the set and number: B0,
P33, C65, E145, M448), a few other names, and metrics of the same generation. `cpumf_formulas` compiles SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from zlens.catalog import expressions, generations
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.structs import FactTable

#: Shares of L1 misses by the source of the lines.
SHARES = ("l15p", "l2lp", "l2rp", "l2p", "l3p", "l4lp", "l4rp", "memp")

_COUNTER = re.compile(r"([A-Z])(\d{1,3})")
_NUMBERED = "letter of its set and number, such as B0 or E145"


class Counter(Struct, frozen=True):
    number: int
    set: str
    name: str
    text: str


class CounterSet(Struct, frozen=True):
    """A set of counters with consecutive numbers.

    letter   the letter by which formulas name its counters
    smf      type of the set in SMF 113
    version  cfvn or csvn: the counter version that determines its size
    sizes    (from, to, counters): its number of counters by version, including reserved numbers
    """

    name: str
    letter: str
    first: int
    smf: int
    version: str
    sizes: tuple[tuple[int, int | None, int], ...]
    text: str

    def size(self, version: int | None) -> int | None:
        """Return the number of counters in the set; None if that version has no such set or is unknown."""
        for first, last, counters in self.sizes:
            if version is not None and first <= version and (last is None or version <= last):
                return counters
        return None

    @property
    def max_size(self) -> int:
        """The largest number of counters it has on any machine."""
        return max(counters for _, _, counters in self.sizes)


class Variant(Struct, frozen=True):
    """Alternative formula, in addition to the one in use or where no formula is known well enough."""

    formula: str
    status: str
    source: str


class CpumfMetric(Struct, frozen=True):
    """Metric of one machine generation. Its formula is empty if counters do not suffice.

    needs     the set that a machine must have, if no formula names its counters
    variants  other formulas; if none is in use, the first one is for users who allow it
    """

    name: str
    formula: str
    status: str
    source: str
    note: str = ""
    needs: str = ""
    variants: tuple[Variant, ...] = ()


class Generation(Struct, frozen=True):
    """Machine generation. basis: the unit that its TLB counters count."""

    name: str
    text: str
    cfvn: int
    csvn: int
    status: str
    source: str
    note: str
    basis: str
    counters: Mapping[int, Counter]
    metrics: Mapping[str, CpumfMetric]


class Balance(FactTable, frozen=True):
    """Relation left <= right that holds if the counters have their assumed meaning."""

    name: Annotated[str, Meta(description="its name")]
    left: Annotated[str, Meta(description="a formula of counters")]
    right: Annotated[str, Meta(description="a formula that is not less")]
    tolerance: Annotated[float, Meta(description="the part of right by which left may exceed it")]
    slack: Annotated[float, Meta(description="count by which left may exceed right in addition")]
    text: Annotated[str, Meta(description="description of the error if it does")]


class BalancesFile(FactTable, frozen=True):
    """Relations between counters."""

    damage: Annotated[
        float, Meta(description="the part of a system's samples that may contradict themselves")
    ]
    balance: tuple[Balance, ...]


class Hint(FactTable, frozen=True):
    """LSPR workload category for a condition on l1mp and rni."""

    when: Annotated[str, Meta(description="the condition")]
    category: Annotated[str, Meta(description="the category")]


class HintTable(FactTable, frozen=True):
    """LSPR workload categories; the first condition that holds applies."""

    status: str
    source: str
    note: str
    hints: tuple[Hint, ...] = field(name="hint")


def linux_facts() -> Mapping[str, Any]:
    """Return Linux names of counters, in addition to the names of the generations."""
    return generations.common("linux")


#: Separator of the generations that the counter names of a file leave open.
OR = " or "


def parse_generations(name: str | None) -> tuple[str, ...]:
    """Return the generations of a name such as `z14` or `z14 or z15`."""
    return tuple(name.split(OR)) if name else ()


def sources() -> dict[str, str]:
    """Return the cited sources that the files abbreviate."""
    return dict(generations.common("architecture")["sources"])


def _source(text: str) -> str:
    """Return a source with its abbreviations expanded."""
    return "; ".join(sources().get(part, part) for part in text.split("; "))


@cache
def sets() -> dict[str, CounterSet]:
    """Return the counter sets by name, in the order of their numbers."""
    return {
        name: CounterSet(
            name,
            facts["letter"],
            facts["first"],
            facts["smf"],
            facts["version"],
            _sizes(facts),
            facts["text"],
        )
        for name, facts in generations.common("architecture")["sets"].items()
    }


def _sizes(facts: Mapping[str, Any]) -> tuple[tuple[int, int | None, int], ...]:
    """Return the sizes in a set's facts; without them, each generation states the size for its version."""
    if "sizes" in facts:
        return tuple((size["from"], size.get("to"), size["counters"]) for size in facts["sizes"])
    sizes: list[tuple[int, int, int]] = []
    for generation_facts in map(generations.facts, generations.names()):
        version, counters = generation_facts[facts["version"]], generation_facts["extended_counters"]
        if sizes and sizes[-1][1:] == (version - 1, counters):
            sizes[-1] = (sizes[-1][0], version, counters)
        else:
            sizes.append((version, version, counters))
    return tuple(sizes)


def sizes(cfvn: int | None, csvn: int | None) -> dict[str, int | None]:
    """Return the number of counters in each set for these versions; None if unknown or without such a set."""
    versions = {"cfvn": cfvn, "csvn": csvn}
    return {name: counter_set.size(versions[counter_set.version]) for name, counter_set in sets().items()}


def formula_names() -> dict[str, tuple[str, str]]:
    """Return names allowed in formulas in addition to counters and metrics, each with its role and text."""
    return {
        name: (facts["role"], facts["text"])
        for name, facts in generations.common("architecture")["names"].items()
    }


def _set_of(number: int) -> str:
    for counter_set in sets().values():
        if counter_set.first <= number < counter_set.first + counter_set.max_size:
            return counter_set.name
    raise CatalogError(f"counter {number} is in no set", expected=_NUMBERED)


def _counters(facts: Mapping[str, Any]) -> dict[int, Counter]:
    return {
        int(number): Counter(int(number), _set_of(int(number)), counter["name"], counter["text"])
        for number, counter in facts.items()
    }


def common_counters() -> dict[int, Counter]:
    """Return the counters with the same meaning on all machines that have them."""
    return _counters(generations.common("architecture")["counters"])


def number_of(name: str) -> int | None:
    """Return the number of a counter by its name in formulas (E145); None if the name is not a counter's."""
    match = _COUNTER.fullmatch(name)
    if match is None:
        return None
    number = int(match[2])
    counter_set = next(
        (counter_set for counter_set in sets().values() if counter_set.letter == match[1]), None
    )
    if counter_set is None or not counter_set.first <= number < counter_set.first + counter_set.max_size:
        raise CatalogError(f"{name} is not a counter", expected=_NUMBERED)
    return number


def numbers_in(formulas: Iterable[str]) -> list[int]:
    """Return the numbers of the counters in formulas, in order."""
    numbers = {number_of(name) for formula in formulas for name in expressions.names(formula)}
    return sorted(number for number in numbers if number is not None)


def common_metrics() -> dict[str, CpumfMetric]:
    """Return the metrics that all machines share."""
    metrics = generations.common("architecture")["metrics"]
    return {name: _metric(name, facts) for name, facts in metrics.items()}


def _common_on(generation: str) -> dict[str, CpumfMetric]:
    """Return the common metrics with their status on one generation."""
    metrics = common_metrics()
    statuses = generations.facts(generation).get("statuses", {})
    return metrics | {name: replace(metrics[name], status=status) for name, status in statuses.items()}


def _metric(name: str, facts: Mapping[str, Any]) -> CpumfMetric:
    return CpumfMetric(
        name,
        facts.get("formula", ""),
        facts["status"],
        _source(facts["source"]),
        facts.get("note", ""),
        facts.get("needs", ""),
    )


@cache
def generation(name: str) -> Generation:
    """Return one machine generation with all its counters and metrics."""
    facts = generations.facts(name)
    set_sizes = sizes(facts["cfvn"], facts["csvn"])
    shared = {
        number: counter
        for number, counter in common_counters().items()
        if number - sets()[counter.set].first < (set_sizes[counter.set] or 0)
    }
    counters = {**shared, **_counters(facts["counters"])}
    metrics = {**_common_on(name), **_weighed(name)}
    metrics |= {
        metric: _metric(metric, metric_facts) for metric, metric_facts in facts.get("metrics", {}).items()
    }
    return Generation(
        name,
        facts["text"],
        facts["cfvn"],
        facts["csvn"],
        facts["status"],
        _source(facts["source"]),
        facts.get("note", ""),
        facts["basis"],
        dict(sorted(counters.items())),
        {
            metric.name: metric
            for metric in metrics.values()
            if _has_inputs(metric, metrics, counters, set_sizes)
        },
    )


def may_be_counter(name: str) -> bool:
    """Return whether a name has the form of a counter's (E145), or occurs in a file."""
    files = generations.root().rglob("*.toml")
    return _COUNTER.fullmatch(name) is not None or any(
        f'"{name}"' in path.read_text(encoding="utf-8") for path in files
    )


def own_metrics(name: str) -> set[str]:
    """Return the metrics that the file of a generation defines."""
    return set(generations.facts(name).get("metrics", {}))


def _has_inputs(
    metric: CpumfMetric,
    metrics: Mapping[str, CpumfMetric],
    counters: Mapping[int, Counter],
    set_sizes: Mapping[str, int | None],
) -> bool:
    """Return whether a generation has all counters and metrics that a metric is computed from."""
    if metric.needs and not set_sizes[metric.needs]:
        return False
    for name in (name for formula in _formulas(metric) for name in expressions.names(formula)):
        number = number_of(name)
        if number is not None and number not in counters:
            return False
        if number is None and name not in formula_names():
            referenced = metrics.get(name)
            if referenced is None or not _has_inputs(referenced, metrics, counters, set_sizes):
                return False
    return True


def _formulas(metric: CpumfMetric) -> list[str]:
    return [
        formula for formula in (metric.formula, *(variant.formula for variant in metric.variants)) if formula
    ]


# RNI and finite CPI


def rni_terms(generation: str) -> tuple[str, ...]:
    """Return the shares that RNI weighs, in the order of the weights."""
    return tuple(generations.facts(generation)["rni"]["terms"])


def rni_formula(generation: str, numbers: Iterable[float]) -> str:
    """Return the formula of RNI from a factor and one weight per share."""
    factor, *weights = numbers
    terms = rni_terms(generation)
    weighed = " + ".join(f"{_number(weight)} * {term}" for weight, term in zip(weights, terms, strict=True))
    return f"({weighed}) / 100" if factor == 1 else f"{_number(factor)} * ({weighed}) / 100"


def finite_formulas(numbers: Iterable[float]) -> dict[str, str]:
    """Return the formulas of estimated finite CPI and sourcing cycles per L1 miss, from a + b * rni."""
    a, b = numbers
    part = f"({_number(a)} + {_number(b)} * rni)" if b else _number(a)
    return {
        "est_finite_cpi": f"{part} * (B3 + B5) / B1",
        "est_scpl1m": f"{part} * (B3 + B5) / (B2 + B4)",
    }


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _weighed(name: str) -> dict[str, CpumfMetric]:
    """Return the metrics of a generation that are computed from weights."""
    metrics: dict[str, CpumfMetric] = {}
    for kind in ("rni", "finite"):
        facts = generations.facts(name).get(kind)
        if facts is None:
            continue
        formulas = _by_numbers(kind, name, facts.get("numbers"))
        variants = [
            (_by_numbers(kind, name, variant["numbers"]), variant["status"], _source(variant["source"]))
            for variant in facts.get("variants", [])
        ]
        for metric in ("rni",) if kind == "rni" else ("est_finite_cpi", "est_scpl1m"):
            metrics[metric] = replace(
                _metric(metric, {**facts, "formula": formulas.get(metric, "")}),
                variants=tuple(
                    Variant(variant[metric], status, source) for variant, status, source in variants
                ),
            )
    return metrics


def _by_numbers(kind: str, generation: str, numbers: list[float] | None) -> dict[str, str]:
    if numbers is None:
        return {}
    return {"rni": rni_formula(generation, numbers)} if kind == "rni" else finite_formulas(numbers)


# The generation of a record


def choose_generation(
    machine_type: str | None, csvn: int | None, named_generation: str | None = None
) -> tuple[str | None, str]:
    """Return the generation whose formulas apply, and why: by machine type, else by counter version.

    `named_generation` is the generation by counter names, for records with neither type nor version. An
    unknown type has no generation, whatever its version: its extended counters may have other meanings. A
    type has no generation either if the record states a version of another one.
    """
    type = (machine_type or "").strip()
    by_version = {generations.facts(name)["csvn"]: name for name in generations.names()}
    if not type:
        if csvn in by_version:
            return by_version[csvn], BY_VERSION
        if csvn is None and named_generation is not None:
            return named_generation, BY_NAMES + (SETTLED_BY if OR in named_generation else "")
        version = "" if csvn is None else f" and counter version {csvn} is not known"
        return None, f"no machine type{version}: {COMMON_ONLY}"
    machine = generations.types().get(type)
    if machine is None:
        return None, f"machine type {type} is not known: {COMMON_ONLY}"
    if csvn is not None and by_version.get(csvn) != machine.generation:
        return None, f"counter version {csvn} does not belong to machine type {type}: {COMMON_ONLY}"
    return machine.generation, BY_TYPE


BY_TYPE = "machine type"
BY_VERSION = "counter version"
BY_NAMES = "names of counters"
SETTLED_BY = "; /proc/sysinfo or /proc/service_levels next to the file determines which"
COMMON_ONLY = "only metrics that all machines have in common"


# Relations between counters


@cache
def _balances() -> BalancesFile:
    return structs.load(generations.common_path("balances"), BalancesFile)


def balances() -> tuple[Balance, ...]:
    """Return the relations that hold if counters have their assumed meaning."""
    return _balances().balance


def max_contradicting_share() -> float:
    """Return the share of a system's samples that may contradict themselves before all are suspect."""
    return _balances().damage


def l1_source_counters(name: str) -> list[int]:
    """Return the counters of a generation that show the source of the lines of L1 misses."""
    metrics = generation(name).metrics
    return [
        number
        for number in numbers_in(metrics[share].formula for share in SHARES if share in metrics)
        if _set_of(number) == "extended"
    ]


@cache
def hint_table() -> HintTable:
    """Return the table of LSPR workload categories."""
    return structs.load(generations.common_path("workload_hint"), HintTable)


def hinted_generations() -> tuple[str, ...]:
    """Return the generations to which the table of workload categories applies."""
    return tuple(name for name in generations.names() if generations.facts(name)["workload_hint"])
