"""Holds rules against an input: one question for each rule whose measures have values, else none."""

from __future__ import annotations

import difflib
import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from zlens.catalog import expressions
from zlens.catalog.check.rules import missing_columns
from zlens.catalog.rules import CLASSES, COMPARES, Rule, load
from zlens.engine.cancelling import tell
from zlens.errors import CatalogError, QueryError
from zlens.findings import against
from zlens.findings.finding import Finding, Tested, amount
from zlens.schema.wording import say

#: Asked for without being named: a rule of thumb of our own is not.
USUAL = tuple(name for name in CLASSES if name != "ours")
#: Tables whose emptiness is an answer: nothing happened.
_ANSWER = frozenset({"event", "inventory", "interval", "problem"})

_SMALL = ("<", "<=")


class _Answer(Protocol):
    @property
    def rows(self) -> list[tuple[Any, ...]]: ...


class Session(Protocol):
    """What findings ask of a session."""

    def sql(self, query: str) -> _Answer: ...

    def fills(self, name: str) -> bool: ...

    def expect(self, queries: Iterable[str]) -> None: ...

    def display(self, time: datetime, system: str) -> datetime: ...


@dataclass
class Findings:
    """What came of it.

    rows     the findings, worst first
    asked    rules that were checked against the input
    systems  of each of these the systems that have values for it; None: every system
    missing  rules that could not be, with the columns that have no value in this input
    off      rules that were not asked for, by class
    baseline what the session was held against
    """

    session: Session
    rows: list[Finding] = field(default_factory=list)
    asked: list[Rule] = field(default_factory=list)
    systems: dict[str, frozenset[str] | None] = field(default_factory=dict)
    missing: list[tuple[Rule, tuple[str, ...]]] = field(default_factory=list)
    off: list[Rule] = field(default_factory=list)
    baseline: Session | None = None

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def find(
    session: Session,
    *,
    classes: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
    baseline: Session | None = None,
) -> Findings:
    """The findings of a session by the rules of the catalog, the user's and those of more folders."""
    known = load(*folders)
    wanted = frozenset(USUAL if classes is None else classes)
    if wanted - set(CLASSES):
        strange = ", ".join(sorted(wanted - set(CLASSES)))
        raise QueryError(f"there is no class {strange}", expected=", ".join(CLASSES))
    if only is not None:
        named = [name.upper() for name in only]
        for name in named:
            if name not in known:
                near = difflib.get_close_matches(name, known, 3)
                meant = f"did you mean {' or '.join(near)}?" if near else say("rules")
                raise QueryError(f"there is no rule {name}", cure=meant)
            if not known[name].computable:
                raise QueryError(f"{name} is a note and no condition", cure=say("explain_rule", name=name))
        known = {name: known[name] for name in named}
        wanted = frozenset(CLASSES)
    return evaluate(session, known, classes=wanted, baseline=baseline)


def evaluate(
    session: Session,
    rules: Mapping[str, Rule],
    *,
    classes: Collection[str] = USUAL,
    baseline: Session | None = None,
) -> Findings:
    """The findings of a session.

    Rules of classes not asked for are left out; balances are always held. With a baseline, rules that compare
    with one are held too, and those of class `ours` where they hold and the baseline was clearly better.
    """
    found = Findings(session, baseline=baseline)
    chosen: list[Rule] = []
    for rule in rules.values():
        if not rule.computable:
            continue
        if rule.kind == "balance" or rule.threshold_class in classes or (baseline and _may_relate(rule)):
            chosen.append(rule)
        else:
            found.off.append(rule)
    asked = Asked(session, chosen)
    related = Asked(baseline, chosen) if baseline is not None else None
    empty = asked.empty(chosen)
    before = related.empty([rule for rule in chosen if rule.baseline]) if related else {}
    tested: dict[str, list[Tested]] = {}
    for done, rule in enumerate(chosen):
        tell(done, len(chosen), f"rule {rule.id}")
        absent = [name for name in rule.needs if empty.get(name, False)]
        if rule.baseline and not rule.compare:
            if baseline is None:
                absent.append("a baseline")
            else:
                absent += [f"{name} in the baseline" for name in rule.needs if before.get(name, False)]
        if absent:
            found.missing.append((rule, tuple(absent)))
            continue
        found.asked.append(rule)
        found.systems[rule.id] = asked.systems(rule)
        tested[rule.id] = asked.test(rule)
        earlier = related.test(rule, baseline=True) if related else []
        found.rows += _holding(rule, tested[rule.id], earlier, baseline is not None, classes)
    found.rows = sorted(
        (replace(each, others=_others(each, rules, tested, found)) for each in found.rows),
        key=lambda each: each.order,
    )
    return found


def check(session: Session, rules: Mapping[str, Rule]) -> list[str]:
    """Rules whose query cannot be asked, a sentence each; a session over nothing will do."""
    found = []
    asked = Asked(session, ())
    for rule in rules.values():
        queries = [False] * rule.computable + [True] * bool(rule.baseline_query)
        for baseline in queries:
            try:
                asked.test(rule, baseline=baseline)
            except CatalogError as error:
                found.append(str(error))
    return found


def _may_relate(rule: Rule) -> bool:
    return rule.threshold_class == "ours" or rule.baseline is not None


# Asking


class Asked:
    """A session that rules are held against; what they read is worked out once for all of them."""

    def __init__(self, session: Session, rules: Iterable[Rule]) -> None:
        self._session = session
        #: The systems with values in a column that rules need.
        self._systems: dict[str, frozenset[str]] = {}
        questions = [*self._counts(rules).values()]
        for rule in rules:
            if rule.query and all(self._filled(name) for name in rule.needs):
                questions.append(question(rule))
                if rule.baseline_query:
                    questions.append(question(rule, baseline=True))
        # A rule of the user may be wrong: that is said when it is asked.
        with suppress(QueryError):
            session.expect(questions)

    def _filled(self, column: str) -> bool:
        table = column.rpartition(".")[0]
        return table in _ANSWER or self._session.fills(table)

    def _counts(self, rules: Iterable[Rule]) -> dict[tuple[str, ...], str]:
        """For the columns of each table that rules need, the question how many values they have."""
        by_table: dict[str, dict[str, None]] = {}
        for rule in rules:
            unknown = missing_columns(rule)
            if unknown:
                raise CatalogError(
                    f"{unknown[0]} is neither a column of a measure nor a role",
                    file=rule.where("needs"),
                    cure=say("columns_of"),
                )
            for name in rule.needs:
                table, _, column = name.rpartition(".")
                if table not in _ANSWER and self._session.fills(table):
                    by_table.setdefault(table, {})[column] = None
        return {
            tuple(f"{table}.{column}" for column in columns): _count(table, columns)
            for table, columns in by_table.items()
        }

    def empty(self, rules: Iterable[Rule]) -> dict[str, bool]:
        """Of the columns that rules need, whether they have no value at all."""
        rules = list(rules)
        found = {name: True for rule in rules for name in rule.needs if not self._filled(name)}
        for names, query in self._counts(rules).items():
            rows = self._session.sql(query).rows
            for place, name in enumerate(names, 1):
                self._systems[name] = frozenset(str(row[0]) for row in rows if row[place])
                found[name] = not self._systems[name]
        return found

    def systems(self, rule: Rule) -> frozenset[str] | None:
        """The systems with values in all columns that a rule needs; None where it needs none."""
        needed = [self._systems[name] for name in rule.needs if name in self._systems]
        return frozenset.intersection(*needed) if needed else None

    def test(self, rule: Rule, *, baseline: bool = False) -> list[Tested]:
        """What a rule says of every subject."""
        try:
            rows = self._session.sql(question(rule, baseline=baseline)).rows
        except QueryError as error:
            key = "baseline_query" if baseline and rule.baseline_query else "query"
            raise CatalogError(
                f"the query of {rule.id} is wrong: {error.message}", file=rule.where(key), cure=error.cure
            ) from None
        return [Tested(*row) for row in rows]


def _count(table: str, columns: Iterable[str]) -> str:
    counts = ", ".join(f"count({expressions.quote(column)})" for column in columns)
    return f"SELECT system, {counts} FROM {table} GROUP BY system"


def threshold(rule: Rule, *, baseline: bool = False) -> str:
    """SQL of what the value is held against; NULL where the rule compares no number."""
    if rule.gives("threshold", baseline=baseline):
        return "CAST(threshold AS DOUBLE)"
    if "T" not in rule.threshold or rule.compare in ("exists", "holds", ""):
        return "CAST(NULL AS DOUBLE)"
    return repr(float(rule.threshold["T"]))


def holding(rule: Rule, *, baseline: bool = False) -> str:
    """SQL of whether the rule holds in a row of its query."""
    conditions = []
    if rule.compare in COMPARES and rule.compare not in ("holds", "exists"):
        conditions.append(f"CAST(value AS DOUBLE) {rule.compare} {threshold(rule, baseline=baseline)}")
    if rule.gives("holds", baseline=baseline):
        conditions.append("holds")
    return " AND ".join(conditions) or ("true" if rule.compare == "exists" else "false")


def question(rule: Rule, *, baseline: bool = False) -> str:
    """The SQL of a rule: one row per system and subject of what its query tests."""

    def gives(column: str) -> bool:
        return rule.gives(column, baseline=baseline)

    held = holding(rule, baseline=baseline)
    detail = "detail" if gives("detail") else "NULL"
    # A text made of every row that is tested costs more than the test: only a baseline asks for it.
    every = f"coalesce(min(CAST({detail} AS VARCHAR)), '')" if rule.baseline else "''"
    shown = "threshold" if gives("threshold") else "NULL"
    columns = ", ".join(
        ["system, source, subject, interval_end, value", *filter(gives, ("detail", "threshold"))]
    )
    best = "arg_min" if rule.compare in _SMALL else "arg_max"
    worst = "min" if rule.compare in _SMALL else "max"
    tested = "" if rule.compare == "exists" else "WHERE value IS NOT NULL"
    # What merely happened, such as an event, is shown as it was the first time.
    place = "coalesce(-epoch(interval_end), 0)" if rule.compare == "exists" else "CAST(value AS DOUBLE)"
    return f"""
SELECT system, source, coalesce(subject, ''), count(*), count(*) FILTER (WHERE held),
    {worst}(CAST(value AS DOUBLE)) FILTER (WHERE held),
    {best}(CAST({shown} AS DOUBLE), {place}) FILTER (WHERE held),
    coalesce({best}(CAST({detail} AS VARCHAR), {place}) FILTER (WHERE held), ''),
    min(began) FILTER (WHERE held), max(interval_end) FILTER (WHERE held),
    {best}(interval_end, {place}) FILTER (WHERE held),
    avg(CAST(value AS DOUBLE)), min(began), max(interval_end),
    {every}
FROM (
    SELECT {columns}, coalesce({held}, false) AS held,
        interval_end - to_seconds(coalesce(CAST(seconds AS DOUBLE), 0)) AS began
    FROM (
{rule.sql(baseline=baseline)}
    ) AS asked
    {tested}
) AS tested
GROUP BY system, source, subject
ORDER BY system, source, subject
"""


def _holding(
    rule: Rule, tested: list[Tested], earlier: list[Tested], related: bool, classes: Collection[str]
) -> list[Finding]:
    """The findings of one rule: beyond its threshold, or against the baseline."""
    found: list[Finding] = []
    pairs = against.pairs(tested, earlier) if related else {}
    for index, each in enumerate(tested):
        before = pairs.get(index)
        if related and rule.baseline and before is not None:
            change = against.changed(rule, each, before)
            if change is not None:
                found.append(_related(rule, each, before, *change))
                continue
        if not each.held or not rule.compare:
            continue
        usual = rule.kind == "balance" or rule.threshold_class in classes
        if not usual and (before is None or not against.worse(rule, each, before)):
            continue
        found.append(_absolute(rule, each, before.mean if before else None))
    return found


def _absolute(rule: Rule, each: Tested, baseline: float | None) -> Finding:
    threshold = each.threshold if each.threshold is not None else rule.threshold.get("T")
    if rule.compare == "exists":
        threshold = None
    return Finding(
        rule=rule,
        severity=_severity(rule, each.value),
        system=each.system,
        data=each.data,
        subject=each.subject,
        value=each.value,
        threshold=threshold,
        limit=_limit_of(rule, each.value, threshold),
        detail=each.detail,
        first=each.first,
        last=each.last,
        worst=each.worst,
        held=each.held,
        tested=each.tested,
        mean=each.mean,
        baseline=baseline,
    )


def _related(rule: Rule, each: Tested, before: Tested, threshold: float | None, words: str) -> Finding:
    return Finding(
        rule=rule,
        severity=rule.severity,
        system=each.system,
        data=each.data,
        subject=each.subject,
        value=None if rule.baseline and rule.baseline[0] == "differs" else each.mean,
        threshold=threshold,
        limit=words,
        detail=each.any_detail,
        first=each.all_first,
        last=each.all_last,
        worst=None,
        held=each.tested,
        tested=each.tested,
        mean=each.mean,
        baseline=before.mean,
    )


def _severity(rule: Rule, value: float | None) -> str:
    if rule.critical is None or value is None:
        return rule.severity
    beyond = value <= rule.critical if rule.compare in _SMALL else value >= rule.critical
    return "crit" if beyond else rule.severity


def _limit_of(rule: Rule, value: float | None, threshold: float | None) -> str:
    """The threshold in words, with that of the severity where a value is beyond it."""
    text = limit(rule, threshold)
    if rule.critical is None or _severity(rule, value) == rule.severity:
        return text
    side = "to" if rule.compare in _SMALL else "from"
    return f"{text}; critical {side} {amount(rule.critical, rule.unit)}"


def limit(rule: Rule, threshold: float | None) -> str:
    """The threshold in words: what the rule says itself, or its comparison."""
    if rule.limit:
        text = rule.limit
        for name, number in rule.threshold.items():
            text = text.replace(f"{{{name}}}", amount(number))
        return text
    if rule.compare in ("exists", "holds", "") or threshold is None:
        return ""
    return f"{rule.compare} {amount(threshold, rule.unit)}"


# Rules that disagree


def _others(
    each: Finding, rules: Mapping[str, Rule], tested: Mapping[str, list[Tested]], found: Findings
) -> tuple[str, ...]:
    """What each rule says that sees the matter of a finding otherwise, whether or not it holds."""
    said = []
    absent = {rule.id: names for rule, names in found.missing}
    for name in each.rule.disagrees:
        other = rules.get(name)
        if other is None:
            continue
        head = f"{other.id} ({other.threshold_class}): {other.title}"
        mine = [one for one in tested.get(name, ()) if (one.system, one.data) == (each.system, each.data)]
        if name in absent:
            said.append(f"{head}: not computable here, without {', '.join(absent[name])}; {other.meaning}")
        elif not mine:
            said.append(f"{head}: not checked; {other.meaning}")
        for one in mine:
            threshold = one.threshold if one.threshold is not None else other.threshold.get("T")
            value = one.value if one.held else one.mean
            state = "holds too" if one.held else "does not hold"
            number = f", {amount(value, other.unit)}" + ("" if one.held else " on average")
            words = limit(other, threshold)
            said.append(f"{head}: {state}{number} against {words}; {other.meaning}")
    return tuple(said)
