"""Formulas over the role `counter` from CPU MF metrics, and their SQL.

A metric that all machines compute alike is one formula; where generations differ, it is a case over
`counter.generation`, with the underlying metrics inlined separately for each generation.
The helper `_valid_counters` adds that column to the role. It omits the samples in
`_contradicting_samples` and the systems in `_contradicting_systems`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Sequence
from functools import cache

from msgspec import Struct

from zlens.catalog import cpumf, expressions, generations, roles
from zlens.catalog.cpumf import VERIFIED_ONLY, CpumfMetric, FormulaPolicy, Present
from zlens.catalog.cpumf_weights import USER
from zlens.catalog.expressions import literal
from zlens.errors import CatalogError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = frozenset({"and", "or", "not", "is", "null", "coalesce"})

#: Statuses of RNI, including the user's weights, with which the hint has the status of the table of hints.
_KNOWN_WELL = ("verified", "verified-secondary", USER)


class StatedFormula(Struct, frozen=True):
    """Formula over counters, with the weakest status of its parts."""

    formula: str
    status: str


def counter_formula(
    generation: str | None, name: str, trust: FormulaPolicy = VERIFIED_ONLY, keep: Container[str] = ()
) -> StatedFormula | None:
    """Return a metric of a generation (None: of any machine) over counters only; None if it has no formula.

    Names in `keep` are not replaced: metrics that are other columns of the same row.
    """
    metrics = cpumf.generation(generation).metrics if generation else cpumf.common_metrics()
    metric = metrics.get(name)
    stated = _metric_formula(generation, metric, trust) if metric else None
    if stated is None:
        return None
    statuses = [stated.status]

    def replace_name(match: re.Match[str]) -> str:
        word = match[0]
        if word in _WORDS or word in cpumf.formula_names() or cpumf.number_of(word) is not None:
            return word
        part = counter_formula(generation, word, trust, keep)
        if part is None:
            raise _MissingMetricError
        statuses.append(part.status)
        return word if word in keep else f"({part.formula})"

    try:
        formula = _NAME.sub(replace_name, stated.formula)
    except _MissingMetricError:
        return None
    # A formula is no more certain than its least certain part.
    doubtful = next((status for status in ("unverified", USER) if status in statuses), stated.status)
    return StatedFormula(formula, doubtful)


class _MissingMetricError(Exception):
    """A formula names a metric that the generation does not have."""


def _metric_formula(
    generation: str | None, metric: CpumfMetric, trust: FormulaPolicy
) -> StatedFormula | None:
    """Return a metric's formula, with the names of other metrics in it."""
    if generation and generation in trust.weights.rni and metric.name == "rni":
        return StatedFormula(cpumf.rni_formula(generation, trust.weights.rni[generation]), USER)
    if generation and generation in trust.weights.finite:
        formulas = cpumf.finite_formulas(trust.weights.finite[generation])
        if metric.name in formulas:
            return StatedFormula(formulas[metric.name], USER)
    if metric.formula and (metric.status != "unverified" or trust.unverified):
        return StatedFormula(metric.formula, metric.status)
    if trust.unverified and metric.variants:
        return StatedFormula(metric.variants[0].formula, metric.variants[0].status)
    return None


# Formulas of columns


def columns() -> list[str]:
    """Return the columns that can differ by generation."""
    names = dict.fromkeys(cpumf.common_metrics())
    for generation in generations.names():
        names.update(dict.fromkeys(cpumf.generation(generation).metrics))
    return [*names, *_SPECIAL]


def column_formula(
    name: str, trust: FormulaPolicy = VERIFIED_ONLY, keep: Container[str] = (), present: Present = None
) -> str:
    """Return the formula of a column over roles of `counter` and columns in `keep`; '' if no machine has one.

    `present` are the generations that may occur in the rows: formulas of others are omitted.
    """
    if name in _SPECIAL:
        return _SPECIAL[name](trust, present)

    def formula(generation: str | None) -> str:
        stated = counter_formula(generation, name, trust, keep)
        return to_roles(stated.formula, keep) if stated else ""

    return _by_generation(formula, present)


def to_roles(formula: str, keep: Container[str] = ()) -> str:
    """Return a formula with counters and other names replaced by their roles."""

    def replace_name(match: re.Match[str]) -> str:
        word = match[0]
        number = cpumf.number_of(word) if word not in _WORDS else None
        if number is not None:
            return f"counter.c{number}"
        if word in cpumf.formula_names():
            role = cpumf.formula_names()[word].role
            # The length of the row's interval is a column of every table, not a role.
            return role if role == "seconds" else f"counter.{role}"
        if word in _WORDS or word in keep:
            return word
        raise CatalogError(
            f"`{formula}`: {word} is neither a counter nor one of {', '.join(cpumf.formula_names())}"
        )

    return _NAME.sub(replace_name, formula)


def _by_generation(formula: Callable[[str | None], str], present: Present = None) -> str:
    """Return one case over the generation; the formula for any machine (None) is the default."""
    common = formula(None)
    groups: dict[str, list[str]] = {}
    for generation in generations.names() if present is None else _among(present):
        groups.setdefault(formula(generation), []).append(generation)
    branches = {}
    for formula_text, members in groups.items():
        # If counter names leave several generations open, only a formula that all of them share applies.
        names = [*members, *_ranges(members)] if present is None else filter(None, present)
        branches[formula_text] = [
            name for name in sorted(names) if set(cpumf.parse_generations(name)) <= set(members)
        ]
    needed = {
        formula_text: members_present
        for formula_text, members_present in branches.items()
        if members_present and formula_text != common
    }
    if not needed:
        return common
    if present is not None and len(needed) == 1:
        ((formula_text, members_present),) = needed.items()
        if present <= set(members_present):
            return formula_text
    cases = []
    for formula_text, members_present in needed.items():
        cases.append(" or ".join(f"counter.generation = '{name}'" for name in members_present))
        cases.append(formula_text or "null")
    return f"case({', '.join([*cases, common] if common else cases)})"


def _among(present: frozenset[str | None]) -> list[str]:
    """Return the generations that the rows may have, including all those left open."""
    possible = {generation for name in present for generation in cpumf.parse_generations(name)}
    return [generation for generation in generations.names() if generation in possible]


def _ranges(members: Sequence[str]) -> list[str]:
    """Return the joint names of adjacent generations, which counter names may leave open."""
    names = generations.names()
    ranges = [names[start:end] for start in range(len(names)) for end in range(start + 2, len(names) + 1)]
    return [cpumf.OR.join(joint) for joint in ranges if set(joint) <= set(members)]


def _of_status(name: str) -> Callable[[FormulaPolicy, Present], str]:
    """Return the status of a metric's formula as used, or of the formula that the user could allow."""

    def formula(trust: FormulaPolicy, present: Present) -> str:
        def status(generation: str | None) -> str:
            if generation is None or name not in cpumf.generation(generation).metrics:
                return ""
            metric = cpumf.generation(generation).metrics[name]
            stated = (
                counter_formula(generation, name, trust)
                or _metric_formula(generation, metric, trust)
                or metric
            )
            return literal(stated.status)

        return _by_generation(status, present)

    return formula


def _hint(trust: FormulaPolicy, present: Present) -> str:
    """Return the workload category, from the columns l1mp and rni."""
    cases = ", ".join(f"{hint.when}, {literal(hint.category)}" for hint in cpumf.HintTable.load().hints)
    return _by_generation(lambda name: f"case({cases})" if _hint_rni(name, trust) else "", present)


def _hint_status(trust: FormulaPolicy, present: Present) -> str:
    def status(generation: str | None) -> str:
        rni = _hint_rni(generation, trust)
        if rni is None:
            return ""
        if rni.status in _KNOWN_WELL:
            return literal(USER if rni.status == USER else cpumf.HintTable.load().status)
        return literal(rni.status)

    return _by_generation(status, present)


def _hint_rni(generation: str | None, trust: FormulaPolicy) -> StatedFormula | None:
    """Return RNI of a generation that the table of hints covers, if the policy allows it."""
    if generation is None or generation not in cpumf.hinted_generations():
        return None
    return counter_formula(generation, "rni", trust)


_SPECIAL: dict[str, Callable[[FormulaPolicy, Present], str]] = {
    "generation": lambda *_: "counter.generation",
    "generation_by": lambda *_: "counter.generation_by",
    "basis": lambda _, present: _by_generation(
        lambda name: literal(generations.facts(name).basis) if name else "", present
    ),
    "rni_status": _of_status("rni"),
    "finite_cpi_status": _of_status("est_finite_cpi"),
    "workload_hint": _hint,
    "workload_hint_status": _hint_status,
}


# SQL of the helpers


def generation_sql() -> str:
    """Return SQL of the machine generation of a row of the role `counter`: see cpumf.choose_generation."""
    versions = " ".join(f"WHEN {generations.facts(name).csvn} THEN '{name}'" for name in generations.names())
    types = " ".join(
        f"WHEN {_type_in(name)} AND coalesce(counter.csvn, {generations.facts(name).csvn}) "
        f"= {generations.facts(name).csvn} THEN '{name}'"
        for name in generations.names()
    )
    by_version = f"coalesce(CASE counter.csvn {versions} END, {_GENERATION_FROM_NAMES})"
    return f"CASE WHEN {_NO_TYPE} THEN {by_version} ELSE CASE {types} END END"


_NO_TYPE = "coalesce(trim(counter.machine_type), '') = ''"
#: Generation by counter names, if the record has no version.
_GENERATION_FROM_NAMES = "CASE WHEN counter.csvn IS NULL THEN counter.generation_from_names END"


def _type_in(generation: str) -> str:
    types = [type for type, machine in generations.types().items() if machine.generation == generation]
    return f"trim(counter.machine_type) IN ({', '.join(map(literal, types))})"


def generation_by_sql() -> str:
    """Return SQL of the basis of a row's generation: what selected it, or why it is unknown."""
    versions = ", ".join(str(generations.facts(name).csvn) for name in generations.names())
    types = ", ".join(map(literal, generations.types()))
    only = literal(f": {cpumf.COMMON_ONLY}")
    return (
        f"CASE WHEN {_NO_TYPE} THEN CASE WHEN counter.csvn IN ({versions}) THEN {literal(cpumf.BY_VERSION)} "
        f"WHEN {_GENERATION_FROM_NAMES} LIKE '%{cpumf.OR}%' "
        f"THEN {literal(cpumf.BY_NAMES + cpumf.SETTLED_BY)} "
        f"WHEN {_GENERATION_FROM_NAMES} IS NOT NULL THEN {literal(cpumf.BY_NAMES)} "
        "ELSE 'no machine type' || coalesce(' and counter version ' || counter.csvn || ' is not known', '') "
        f"|| {only} END "
        f"WHEN {generation_sql()} IS NOT NULL THEN {literal(cpumf.BY_TYPE)} "
        f"WHEN trim(counter.machine_type) IN ({types}) THEN 'counter version ' || counter.csvn || "
        f"' does not belong to machine type ' || trim(counter.machine_type) || {only} "
        f"ELSE 'machine type ' || trim(counter.machine_type) || ' is not known' || {only} END"
    )


@cache
def contradictions_sql(present: Present = None) -> str:
    """Return SQL of the contradictions in a row of counters: a list with NULL for each check that passes."""
    tests = []
    for balance in cpumf.BalancesFile.load().balance:
        left, right = (_resolve_side(side, present) for side in (balance.left, balance.right))
        actual, allowed = (_compile(side) for side in (left, right))
        limit = _compile(f"({right}) * {1 + balance.tolerance!r} + {balance.slack!r}")
        tests.append(_contradiction_sql(f"{actual} > {limit}", balance.name, balance.text, actual, allowed))
    for counter_set in cpumf.sets().values():
        actual_size = f"counter.{counter_set.name}_counters"
        right = f"CASE {_sizes_by_version(counter_set)} END"
        tests.append(
            _contradiction_sql(
                f"{actual_size} <> {right}",
                f"size of the {counter_set.name} set",
                f"the {counter_set.name} counter set does not have the size of its version",
                actual_size,
                right,
            )
        )
    return f"[{', '.join(tests)}]"


def _contradiction_sql(condition: str, name: str, text: str, actual: str, allowed: str) -> str:
    return (
        f"CASE WHEN NOT coalesce(counter.lost, false) AND {condition} THEN "
        f"{{'balance': {literal(name)}, 'text': {literal(text)}, "
        f"'found': CAST({actual} AS DOUBLE), 'allowed': CAST({allowed} AS DOUBLE)}} END"
    )


def _sizes_by_version(counter_set: cpumf.CounterSet) -> str:
    branches = []
    for size in counter_set.sizes:
        upper = "" if size.last is None else f" AND counter.{counter_set.version} <= {size.last}"
        branches.append(f"WHEN counter.{counter_set.version} >= {size.first}{upper} THEN {size.counters}")
    return " ".join(branches)


def _resolve_side(side: str, present: Present) -> str:
    """Return a side of a balance over roles; SOURCED is the sum of the generation's share counters."""
    if side != "SOURCED":
        return to_roles(side)
    # If no generation has such counters, there is nothing to compare.
    return (
        _by_generation(
            lambda name: (
                " + ".join(f"counter.c{number}" for number in cpumf.l1_source_counters(name)) if name else ""
            ),
            present,
        )
        or "null"
    )


def _compile(formula: str) -> str:
    return expressions.compile_sql(formula, lambda name: name)


#: A ratio that is not printed for a processor that ran leaves that of all unknown.
_PRINTED_IS_KNOWN = (
    "count(*) = 1 OR count(c1) = count(*) AND count(*) FILTER (WHERE c1 > 0 AND {0} IS NULL) = 0"
)


def summed_names() -> list[str]:
    """Return the names that helpers add over processors: counters, times in formulas, printed ratios."""
    sets = cpumf.sets().values()
    numbers = (number for each in sets for number in each.numbers)
    return ["used", "available", *(f"c{number}" for number in numbers), *_printed_names()]


def _printed_names() -> list[str]:
    """Return the roles with the weighted ratios of a listing."""
    return [name for name in roles.catalog_entity("counter").roles if name.startswith("printed_")]


def counter_sums_sql(requested: Collection[str] | None) -> str:
    """Return sums over processors of requested `summed_names`, weighted by `part`, each processor's share.

    A ratio is not printed for a processor that did not run; the instructions of the others are its weight.
    """
    printed = _printed_names()
    return "".join(
        f",\n    CASE WHEN {_PRINTED_IS_KNOWN if name in printed else 'count({0}) = count(*)'} "
        "THEN sum({0} * part) END AS {0}".format(name)
        for name in summed_names()
        if requested is not None and name in requested
    )


#: Placeholders in the SQL files of helpers and the SQL that replaces them.
PLACES: dict[str, Callable[[Present, Collection[str] | None], str]] = {
    "generation": lambda *_: generation_sql(),
    "generation_by": lambda *_: generation_by_sql(),
    "breaches": lambda present, _: contradictions_sql(present),
    "damage": lambda *_: repr(cpumf.BalancesFile.load().damage),
    "counter_sums": lambda _, wanted: counter_sums_sql(wanted),
}
