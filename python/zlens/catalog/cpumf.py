"""CPU Measurement Facility: counters of each machine by number, and the metrics computed from them.

The facts are in the files of the machine generations (`generations`) and, if they are the same for all
machines, in `facts/machines/common`. A metric is a formula over counters (letter of the set and number: B0,
P33, C65, E145, M448), a few other names, and metrics of the same generation. `cpumf_formulas` compiles SQL.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, ClassVar, Literal

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from zlens.catalog import expressions, generations
from zlens.catalog.generations import CounterName, CpumfMetricKeys
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.structs import FactFile, FactTable, SourcedTable, doc

#: Shares of L1 misses by the source of the lines.
SHARES = ("l15p", "l2lp", "l2rp", "l2p", "l3p", "l4lp", "l4rp", "memp")

_COUNTER = re.compile(r"([A-Z])(\d{1,3})")
_NUMBERED = "letter of its set and number, such as B0 or E145"


class CpumfWeights(Struct, frozen=True):
    """The user's numbers by generation; the catalog's numbers apply to other generations."""

    rni: Mapping[str, tuple[float, ...]] = {}
    finite: Mapping[str, tuple[float, ...]] = {}


class FormulaPolicy(Struct, frozen=True):
    """Formulas that the user allows, beyond those that the catalog verifies.

    unverified  whether to show metrics with an unverified formula
    weights     the user's own numbers for RNI and finite CPI
    """

    unverified: bool = False
    weights: CpumfWeights = CpumfWeights()


#: Default policy.
VERIFIED_ONLY = FormulaPolicy()
#: Generations of an input's counters, including None if one is unknown; None: any may occur.
Present = frozenset[str | None] | None


class Counter(Struct, frozen=True):
    number: int
    set: str
    name: str
    text: str


class Variant(SourcedTable, frozen=True):
    """Alternative formula, in addition to the one in use or where no formula is known well enough."""

    formula: str


class CpumfMetric(CpumfMetricKeys, frozen=True, kw_only=True):
    """Metric of one machine generation, with its source in full.

    variants  other formulas; if none is in use, the first one is for users who allow it
    """

    name: str
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

    name: Annotated[str, doc("its name")]
    left: Annotated[str, doc("a formula of counters")]
    right: Annotated[str, doc("a formula that is not less")]
    tolerance: Annotated[float, doc("the part of right by which left may exceed it")]
    slack: Annotated[float, doc("count by which left may exceed right in addition")]
    text: Annotated[str, doc("description of the error if it does")]


class BalancesFile(FactFile, frozen=True):
    """Relations between counters."""

    path: ClassVar = "machines/common/balances.toml"
    damage: Annotated[float, doc("part of a system's samples that may contradict themselves")]
    balance: tuple[Balance, ...]


class Hint(FactTable, frozen=True):
    """LSPR workload category for a condition on l1mp and rni."""

    when: Annotated[str, doc("the condition")]
    category: Annotated[str, doc("the category")]


class HintTable(FactFile, SourcedTable, frozen=True):
    """LSPR workload categories; the first condition that holds applies."""

    path: ClassVar = "machines/common/workload_hint.toml"
    note: str
    hints: tuple[Hint, ...] = field(name="hint")


class PerfEvent(FactTable, frozen=True):
    """The counters of an event of perf."""

    all: Annotated[int, doc("for all states")]
    user: Annotated[int, doc("for the problem state only")]


class LinuxNames(FactFile, SourcedTable, frozen=True):
    """Linux names of counters, in addition to the names of the generations."""

    path: ClassVar = "machines/common/linux.toml"
    generic: Annotated[dict[str, PerfEvent], doc("events of every machine")]
    renamed: Annotated[dict[str, str], doc("the name by that of earlier kernels")]


class SetSize(FactTable, frozen=True):
    """A number of counters."""

    first: Annotated[int, doc("the first version that has it")] = field(name="from")
    counters: Annotated[int, doc("counters, including reserved ones")]
    last: Annotated[int | None, doc("the last one, if any")] = field(name="to", default=None)


class CounterSetKeys(FactTable, frozen=True, kw_only=True):
    """A set of counters with consecutive numbers."""

    letter: Annotated[str, doc("the letter by which formulas name its counters")]
    first: Annotated[int, doc("the number of its first counter")]
    smf: Annotated[int, doc("its type in the records of SMF")]
    version: Annotated[Literal["cfvn", "csvn"], doc("the version that determines its size")]
    text: Annotated[str, doc("what it counts")]
    source: Annotated[str, doc("where it is described; names of sources are replaced")]
    sizes: Annotated[tuple[SetSize, ...], doc("its sizes; empty: generations state them")] = ()


class CounterSet(CounterSetKeys, frozen=True, kw_only=True):
    """A set with its name and the sizes on all machines."""

    name: str

    def size(self, version: int | None) -> int | None:
        """Return the number of counters in the set; None if that version has no such set or is unknown."""
        for size in self.sizes:
            if version is not None and size.first <= version and (size.last is None or version <= size.last):
                return size.counters
        return None

    @property
    def numbers(self) -> range:
        """The numbers of its counters on any machine."""
        return range(self.first, self.first + max(size.counters for size in self.sizes))


class FormulaName(FactTable, frozen=True):
    """A name in formulas."""

    role: Annotated[str, doc("its role")]
    text: Annotated[str, doc("what it is")]


class Architecture(FactFile, frozen=True):
    """What all machines have in common."""

    path: ClassVar = "machines/common/architecture.toml"
    sources: Annotated[dict[str, str], doc("sources that files abbreviate")]
    names: Annotated[dict[str, FormulaName], doc("names in formulas besides counters")]
    sets: Annotated[dict[str, CounterSetKeys], doc("counter sets")]
    counters: Annotated[dict[int, CounterName], doc("counters by number")]
    metrics: Annotated[dict[str, CpumfMetricKeys], doc("metrics")]


#: Separator of the generations that the counter names of a file leave open.
OR = " or "


def parse_generations(name: str | None) -> tuple[str, ...]:
    """Return the generations of a name such as `z14` or `z14 or z15`."""
    return tuple(name.split(OR)) if name else ()


def _source(text: str) -> str:
    """Return a source with its abbreviations expanded."""
    sources = Architecture.load().sources
    return "; ".join(sources.get(part, part) for part in text.split("; "))


@cache
def sets() -> dict[str, CounterSet]:
    """Return the counter sets by name, in the order of their numbers."""
    return {
        name: CounterSet(name=name, **asdict(keys) | {"sizes": keys.sizes or _extended_sizes()})
        for name, keys in Architecture.load().sets.items()
    }


def _extended_sizes() -> tuple[SetSize, ...]:
    """Return the sizes of the extended set, which each generation states for its version."""
    sizes: list[SetSize] = []
    for facts in map(generations.facts, generations.names()):
        first = facts.csvn
        if sizes and (sizes[-1].last, sizes[-1].counters) == (first - 1, facts.extended_counters):
            first = sizes.pop().first
        sizes.append(SetSize(first, facts.extended_counters, facts.csvn))
    return tuple(sizes)


def sizes(cfvn: int | None, csvn: int | None) -> dict[str, int | None]:
    """Return the number of counters in each set for these versions; None if unknown or without such a set."""
    versions = {"cfvn": cfvn, "csvn": csvn}
    return {name: counter_set.size(versions[counter_set.version]) for name, counter_set in sets().items()}


def formula_names() -> dict[str, FormulaName]:
    """Return names allowed in formulas in addition to counters and metrics."""
    return Architecture.load().names


def _set_of(number: int) -> str:
    for counter_set in sets().values():
        if number in counter_set.numbers:
            return counter_set.name
    raise CatalogError(f"counter {number} is in no set", expected=_NUMBERED)


def _counters(names: Mapping[int, CounterName]) -> dict[int, Counter]:
    return {
        number: Counter(number, _set_of(number), counter.name, counter.text)
        for number, counter in names.items()
    }


def common_counters() -> dict[int, Counter]:
    """Return the counters with the same meaning on all machines that have them."""
    return _counters(Architecture.load().counters)


def number_of(name: str) -> int | None:
    """Return the number of a counter by its name in formulas (E145); None if the name is not a counter's."""
    match = _COUNTER.fullmatch(name)
    if match is None:
        return None
    number = int(match[2])
    if not any(each.letter == match[1] and number in each.numbers for each in sets().values()):
        raise CatalogError(f"{name} is not a counter", expected=_NUMBERED)
    return number


def numbers_in(formulas: Iterable[str]) -> list[int]:
    """Return the numbers of the counters in formulas, in order."""
    numbers = {number_of(name) for formula in formulas for name in expressions.names(formula)}
    return sorted(number for number in numbers if number is not None)


def common_metrics() -> dict[str, CpumfMetric]:
    """Return the metrics that all machines share."""
    return {name: _metric(name, keys) for name, keys in Architecture.load().metrics.items()}


def _metric(name: str, keys: CpumfMetricKeys) -> CpumfMetric:
    return CpumfMetric(name=name, **asdict(keys) | {"source": _source(keys.source)})


@cache
def generation(name: str) -> Generation:
    """Return one machine generation with all its counters and metrics."""
    facts = generations.facts(name)
    set_sizes = sizes(facts.cfvn, facts.csvn)
    shared = {
        number: counter
        for number, counter in common_counters().items()
        if number - sets()[counter.set].first < (set_sizes[counter.set] or 0)
    }
    counters = {**shared, **_counters(facts.counters)}
    metrics = common_metrics()
    metrics |= {metric: replace(metrics[metric], status=status) for metric, status in facts.statuses.items()}
    metrics |= _weighed(name)
    metrics |= {metric: _metric(metric, keys) for metric, keys in facts.metrics.items()}
    complete = {
        metric.name: metric
        for metric in metrics.values()
        if _has_inputs(metric, metrics, counters, set_sizes)
    }
    return Generation(
        name=name,
        **structs.attributes(facts, "text", "cfvn", "csvn", "status", "note", "basis"),
        source=_source(facts.source),
        counters=dict(sorted(counters.items())),
        metrics=complete,
    )


def may_be_counter(name: str) -> bool:
    """Return whether a name has the form of a counter's (E145), or occurs in a file."""
    files = generations.FOLDER.rglob("*.toml")
    return _COUNTER.fullmatch(name) is not None or any(
        f'"{name}"' in path.read_text(encoding="utf-8") for path in files
    )


def _has_inputs(
    metric: CpumfMetric,
    metrics: Mapping[str, CpumfMetric],
    counters: Mapping[int, Counter],
    set_sizes: Mapping[str, int | None],
) -> bool:
    """Return whether a generation has all counters and metrics that a metric is computed from."""
    if metric.needs and not set_sizes[metric.needs]:
        return False
    formulas = filter(None, (metric.formula, *(variant.formula for variant in metric.variants)))
    for name in (name for formula in formulas for name in expressions.names(formula)):
        number = number_of(name)
        if number is not None and number not in counters:
            return False
        if number is None and name not in formula_names():
            referenced = metrics.get(name)
            if referenced is None or not _has_inputs(referenced, metrics, counters, set_sizes):
                return False
    return True


# RNI and finite CPI


def rni_formula(generation: str, numbers: Iterable[float]) -> str:
    """Return the formula of RNI from a factor and one weight per share."""
    factor, *weights = numbers
    terms = generations.facts(generation).rni.terms
    weighed = " + ".join(f"{_number(weight)} * {term}" for weight, term in zip(weights, terms, strict=True))
    return f"({weighed}) / 100" if factor == 1 else f"{_number(factor)} * ({weighed}) / 100"


def finite_formulas(numbers: Iterable[float]) -> dict[str, str]:
    """Return the formulas of estimated finite CPI and sourcing cycles per L1 miss, from a + b * rni."""
    a, b = numbers
    part = f"({_number(a)} + {_number(b)} * rni)" if b else _number(a)
    return {"est_finite_cpi": f"{part} * (B3 + B5) / B1", "est_scpl1m": f"{part} * (B3 + B5) / (B2 + B4)"}


def _number(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _weighed(name: str) -> dict[str, CpumfMetric]:
    """Return the metrics of a generation that are computed from weights."""
    metrics: dict[str, CpumfMetric] = {}
    facts = generations.facts(name)
    for kind, weights in (("rni", facts.rni), ("finite", facts.finite)):
        if weights is None:
            continue
        formulas = _by_numbers(kind, name, weights.numbers)
        variants = [(_by_numbers(kind, name, variant.numbers), variant) for variant in weights.variants]
        for metric in ("rni",) if kind == "rni" else ("est_finite_cpi", "est_scpl1m"):
            metrics[metric] = CpumfMetric(
                name=metric,
                formula=formulas.get(metric, ""),
                status=weights.status,
                source=_source(weights.source),
                note=weights.note,
                variants=tuple(
                    Variant(by_metric[metric], status=variant.status, source=_source(variant.source))
                    for by_metric, variant in variants
                ),
            )
    return metrics


def _by_numbers(kind: str, generation: str, numbers: Sequence[float] | None) -> dict[str, str]:
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
    by_version = {generations.facts(name).csvn: name for name in generations.names()}
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


def l1_source_counters(name: str) -> list[int]:
    """Return the counters of a generation that show the source of the lines of L1 misses."""
    metrics = generation(name).metrics
    return [
        number
        for number in numbers_in(metrics[share].formula for share in SHARES if share in metrics)
        if _set_of(number) == "extended"
    ]


def hinted_generations() -> tuple[str, ...]:
    """Return the generations to which the table of workload categories applies."""
    return tuple(name for name in generations.names() if generations.facts(name).workload_hint)
