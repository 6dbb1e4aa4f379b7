"""Facts about verdicts: the events that may be causes of findings, and the texts (facts/verdict.toml)."""

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, ClassVar

from msgspec import Meta

from zlens.catalog import measures, peaks
from zlens.catalog.events import EventFile
from zlens.catalog.peaks import placeholders
from zlens.catalog.rules import Rule
from zlens.errors import CatalogError
from zlens.schema.facts import FACTS
from zlens.schema.structs import FactFile, FactTable, Prose, doc

_IN_FINDING = {"subject", "name", "value", "detail"}
_IN_EVENT = {"subject", "name", "time", "period"}
_IN_WHAT_IF = {"system", "value"}


class Cause(FactTable, frozen=True):
    """A kind of event that may be the cause of findings."""

    event: Annotated[Prose, doc("the kind of event")]
    explains: Annotated[tuple[str, ...], Meta(min_length=1, description="the rules that it may explain")]
    clause: Annotated[Prose, doc("the text, with {subject}, {name}, {time} or {period}")]
    until: Annotated[str, doc("the kind of event of the same subject that ends it")] = ""
    lasts: Annotated[bool, doc("whether it explains what begins long after it")] = False
    rule: Annotated[str, doc("the rule that judges it")] = ""
    what_if: Annotated[str, doc("the setting of zlens plan that takes it back")] = ""
    what_if_clause: Annotated[str, doc("the text, with {system} and {value}")] = ""


class VerdictTexts(FactTable, frozen=True):
    """The texts between clauses."""

    added: Prose
    added_alone: Prose
    also: Prose
    meanwhile: Prose
    so: Prose
    unexplained: Prose
    grew: Prose
    later: Prose
    no_effect: Prose
    nothing: Prose
    checked: Prose
    between: Prose
    since: Prose


class VerdictFacts(FactFile, frozen=True):
    """What verdicts consist of."""

    path: ClassVar = "verdict.toml"
    minutes: Annotated[float, Meta(gt=0, description="a cause is at most this long before a finding begins")]
    most: Annotated[int, Meta(ge=1, description="most causes, findings or subjects of a sentence")]
    share: Annotated[float, Meta(ge=0, le=100, description="percent of the growth that a subject must have")]
    texts: VerdictTexts
    cause: tuple[Cause, ...]


def explained_rules(rules: Mapping[str, Rule]) -> dict[str, tuple[str, ...]]:
    """Return the rules that each rule explains; CatalogError if a rule explains itself through others."""
    graph = {name: tuple(other for other in rule.explains if other in rules) for name, rule in rules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        names = error.args[1]
        raise CatalogError(
            f"rules explain each other: {' -> '.join(reversed(names))}",
            file=rules[names[0]].where("explains"),
            cure="remove one of them from explains",
        ) from None
    return graph


def check(rules: Mapping[str, Rule]) -> list[str]:
    """Return catalog issues of the file and of the explanations of rules, one sentence each."""
    try:
        facts = VerdictFacts.load()
        explained_rules(rules)
    except CatalogError as error:
        return [str(error)]
    return [
        str(CatalogError(problem, file=str(FACTS / VerdictFacts.path), cure=cure))
        for cause in facts.cause
        for problem, cure in _problems(cause, rules)
    ]


def _problems(cause: Cause, rules: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    kinds = {event.kind for event in EventFile.load().events}
    for kind in filter(None, (cause.event, cause.until)):
        if kind not in kinds:
            yield f"there is no event {kind!r}", "name a kind of facts/zvm/events.toml"
    for name in filter(None, (*cause.explains, cause.rule)):
        if name not in rules:
            yield f"{cause.event}: there is no rule {name}", "name one"
        elif name != cause.rule and not rules[name].clause:
            yield f"{cause.event}: {name} has no clause", "add one to the rule"
    for text, allowed in ((cause.clause, _IN_EVENT), (cause.what_if_clause, _IN_WHAT_IF)):
        for name in set(placeholders(text)) - allowed:
            yield f"{cause.event}: there is no {{{name}}}", f"one of {', '.join(sorted(allowed))}"
    if bool(cause.what_if) != bool(cause.what_if_clause):
        yield f"{cause.event}: what_if and what_if_clause belong together", "give both"


def rule_problems(rule: Rule, rules: Mapping[str, Rule]) -> Iterator[tuple[str, str, str]]:
    """Yield the key of each error in the keys of a rule for verdicts, the problem and its fix."""
    for name in rule.explains:
        if name not in rules:
            yield "explains", f"there is no rule {name}", "name one"
        elif not rules[name].clause:
            yield "explains", f"{name} has no clause", "add one to it"
    if rule.explains and not rule.clause:
        yield "explains", "it has no clause", "add one"
    for name in set(placeholders(rule.clause)) - _IN_FINDING:
        if not _is_number(name):
            yield "clause", f"there is no {{{name}}}", f"{', '.join(sorted(_IN_FINDING))} or TABLE.COLUMN"
    groups = {group.key for group in peaks.load_peak_facts().group if group.statistic == "total"}
    for name in rule.growth:
        if name not in groups:
            yield "growth", f"{name} is not a total of peaks.toml", f"one of {', '.join(sorted(groups))}"
    shown = rule.meanwhile
    if shown is None:
        return
    for name in shown.columns:
        if not _is_number(f"{shown.table}.{name}"):
            yield "meanwhile", f"{shown.table} has no number {name}", "name one of its columns"
    for table in (shown.table, shown.of):
        if table not in measures.measure_names() or measures.load_measure(table).column(shown.by) is None:
            yield "meanwhile", f"{table} has no column {shown.by}", "name a column that both have"
    for name in set(placeholders(shown.clause)) - {shown.by, *shown.columns}:
        yield "meanwhile", f"there is no {{{name}}}", f"one of {', '.join([shown.by, *shown.columns])}"


def _is_number(name: str) -> bool:
    """Return whether a name is that of a column of a measure with numbers."""
    table, _, column = name.rpartition(".")
    found = measures.load_measure(table).column(column) if table in measures.measure_names() else None
    return found is not None and found.type in ("int", "float")
