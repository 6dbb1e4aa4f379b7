"""Checks rules against an input: one query for each rule whose measures have values."""

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

#: Classes checked by default: all but our own rules of thumb.
USUAL = tuple(name for name in CLASSES if name != "ours")
#: Tables that may be empty: nothing happened.
_ANSWER = frozenset({"event", "inventory", "interval", "problem"})

_SMALL = ("<", "<=")


class _Answer(Protocol):
    @property
    def rows(self) -> list[tuple[Any, ...]]: ...


class Session(Protocol):
    """The interface of a session that findings need."""

    def sql(self, query: str) -> _Answer: ...

    def fills(self, name: str) -> bool: ...

    def expect(self, queries: Iterable[str]) -> None: ...

    def display(self, time: datetime, system: str) -> datetime: ...


@dataclass
class Findings:
    """The result of checking rules.

    rows     the findings, worst first
    asked    rules that were checked
    systems  systems with values for each checked rule; None: every system
    missing  rules that could not be checked, with the columns that have no value in this input
    off      rules of classes that were not requested
    baseline the session compared with
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
    """The findings of a session by the rules of the catalog, the user and more folders."""
    rules = load(*folders)
    wanted = frozenset(USUAL if classes is None else classes)
    if wanted - set(CLASSES):
        unknown = ", ".join(sorted(wanted - set(CLASSES)))
        raise QueryError(f"there is no class {unknown}", expected=", ".join(CLASSES))
    if only is not None:
        named = [name.upper() for name in only]
        for name in named:
            if name not in rules:
                near = difflib.get_close_matches(name, rules, 3)
                suggestion = f"did you mean {' or '.join(near)}?" if near else say("rules")
                raise QueryError(f"there is no rule {name}", cure=suggestion)
            if not rules[name].computable:
                raise QueryError(f"{name} is a note without a condition", cure=say("explain_rule", name=name))
        rules = {name: rules[name] for name in named}
        wanted = frozenset(CLASSES)
    return evaluate(session, rules, classes=wanted, baseline=baseline)


def evaluate(
    session: Session,
    rules: Mapping[str, Rule],
    *,
    classes: Collection[str] = USUAL,
    baseline: Session | None = None,
) -> Findings:
    """The findings of a session.

    Rules of classes not requested are left out; balances are always checked. With a baseline, rules that
    compare with one are checked too, and those of class `ours` count if the baseline was clearly better.
    """
    findings = Findings(session, baseline=baseline)
    chosen: list[Rule] = []
    for rule in rules.values():
        if not rule.computable:
            continue
        if rule.kind == "balance" or rule.threshold_class in classes or (baseline and _may_relate(rule)):
            chosen.append(rule)
        else:
            findings.off.append(rule)
    checker = Checker(session, chosen)
    baseline_checker = Checker(baseline, chosen) if baseline is not None else None
    empty = checker.empty(chosen)
    baseline_empty = (
        baseline_checker.empty([rule for rule in chosen if rule.baseline]) if baseline_checker else {}
    )
    tested: dict[str, list[Tested]] = {}
    for done, rule in enumerate(chosen):
        tell(done, len(chosen), f"rule {rule.id}")
        absent = [name for name in rule.needs if empty.get(name, False)]
        if rule.baseline and not rule.compare:
            if baseline is None:
                absent.append("a baseline")
            else:
                absent += [
                    f"{name} in the baseline" for name in rule.needs if baseline_empty.get(name, False)
                ]
        if absent:
            findings.missing.append((rule, tuple(absent)))
            continue
        findings.asked.append(rule)
        findings.systems[rule.id] = checker.systems(rule)
        tested[rule.id] = checker.test(rule)
        earlier = baseline_checker.test(rule, baseline=True) if baseline_checker else []
        findings.rows += _holding(rule, tested[rule.id], earlier, baseline is not None, classes)
    findings.rows = sorted(
        (replace(finding, others=_others(finding, rules, tested, findings)) for finding in findings.rows),
        key=lambda finding: finding.order,
    )
    return findings


def check(session: Session, rules: Mapping[str, Rule]) -> list[str]:
    """Errors of rules whose query fails, one sentence each; a session without inputs suffices."""
    errors = []
    checker = Checker(session, ())
    for rule in rules.values():
        queries = [False] * rule.computable + [True] * bool(rule.baseline_query)
        for baseline in queries:
            try:
                checker.test(rule, baseline=baseline)
            except CatalogError as error:
                errors.append(str(error))
    return errors


def _may_relate(rule: Rule) -> bool:
    return rule.threshold_class == "ours" or rule.baseline is not None


# Queries


class Checker:
    """A session that rules are checked against; the data they share are computed once."""

    def __init__(self, session: Session, rules: Iterable[Rule]) -> None:
        self._session = session
        #: Systems with values, for each column that rules need.
        self._systems: dict[str, frozenset[str]] = {}
        questions = [*self._counts(rules).values()]
        for rule in rules:
            if rule.query and all(self._filled(name) for name in rule.needs):
                questions.append(question(rule))
                if rule.baseline_query:
                    questions.append(question(rule, baseline=True))
        # A user's rule may be wrong; its check reports that.
        with suppress(QueryError):
            session.expect(questions)

    def _filled(self, column: str) -> bool:
        table = column.rpartition(".")[0]
        return table in _ANSWER or self._session.fills(table)

    def _counts(self, rules: Iterable[Rule]) -> dict[tuple[str, ...], str]:
        """Queries that count the values of the columns that rules need, one for each table."""
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
        """Whether a column has no value, for each column that the rules need."""
        rules = list(rules)
        empty = {name: True for rule in rules for name in rule.needs if not self._filled(name)}
        for names, query in self._counts(rules).items():
            rows = self._session.sql(query).rows
            for index, name in enumerate(names, 1):
                self._systems[name] = frozenset(str(row[0]) for row in rows if row[index])
                empty[name] = not self._systems[name]
        return empty

    def systems(self, rule: Rule) -> frozenset[str] | None:
        """The systems with values in all columns that a rule needs; None if it needs no column."""
        needed = [self._systems[name] for name in rule.needs if name in self._systems]
        return frozenset.intersection(*needed) if needed else None

    def test(self, rule: Rule, *, baseline: bool = False) -> list[Tested]:
        """The result of a rule for every subject."""
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
    """SQL of the threshold of a rule; NULL if it compares no number."""
    if rule.gives("threshold", baseline=baseline):
        return "CAST(threshold AS DOUBLE)"
    if "T" not in rule.threshold or rule.compare in ("exists", "holds", ""):
        return "CAST(NULL AS DOUBLE)"
    return repr(float(rule.threshold["T"]))


def holding(rule: Rule, *, baseline: bool = False) -> str:
    """SQL of the condition of a rule on a row of its query."""
    conditions = []
    if rule.compare in COMPARES and rule.compare not in ("holds", "exists"):
        conditions.append(f"CAST(value AS DOUBLE) {rule.compare} {threshold(rule, baseline=baseline)}")
    if rule.gives("holds", baseline=baseline):
        conditions.append("holds")
    return " AND ".join(conditions) or ("true" if rule.compare == "exists" else "false")


def question(rule: Rule, *, baseline: bool = False) -> str:
    """The SQL of a rule: one row per system and subject that its query tests."""

    def gives(column: str) -> bool:
        return rule.gives(column, baseline=baseline)

    condition = holding(rule, baseline=baseline)
    detail = "detail" if gives("detail") else "NULL"
    # Building the text of every tested row costs more than the test; only a baseline needs it.
    any_detail = f"coalesce(min(CAST({detail} AS VARCHAR)), '')" if rule.baseline else "''"
    threshold_column = "threshold" if gives("threshold") else "NULL"
    columns = ", ".join(
        ["system, source, subject, interval_end, value", *filter(gives, ("detail", "threshold"))]
    )
    best = "arg_min" if rule.compare in _SMALL else "arg_max"
    worst = "min" if rule.compare in _SMALL else "max"
    tested = "" if rule.compare == "exists" else "WHERE value IS NOT NULL"
    # Of occurrences without a value, such as events, the first is shown.
    rank = "coalesce(-epoch(interval_end), 0)" if rule.compare == "exists" else "CAST(value AS DOUBLE)"
    return f"""
SELECT system, source, coalesce(subject, ''), count(*), count(*) FILTER (WHERE held),
    {worst}(CAST(value AS DOUBLE)) FILTER (WHERE held),
    {best}(CAST({threshold_column} AS DOUBLE), {rank}) FILTER (WHERE held),
    coalesce({best}(CAST({detail} AS VARCHAR), {rank}) FILTER (WHERE held), ''),
    min(began) FILTER (WHERE held), max(interval_end) FILTER (WHERE held),
    {best}(interval_end, {rank}) FILTER (WHERE held),
    avg(CAST(value AS DOUBLE)), min(began), max(interval_end),
    {any_detail}
FROM (
    SELECT {columns}, coalesce({condition}, false) AS held,
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
    rule: Rule, tested: list[Tested], earlier: list[Tested], with_baseline: bool, classes: Collection[str]
) -> list[Finding]:
    """The findings of one rule: beyond its threshold, or changed from the baseline."""
    findings: list[Finding] = []
    pairs = against.pairs(tested, earlier) if with_baseline else {}
    for index, test in enumerate(tested):
        before = pairs.get(index)
        if with_baseline and rule.baseline and before is not None:
            change = against.changed(rule, test, before)
            if change is not None:
                findings.append(_related(rule, test, before, *change))
                continue
        if not test.held or not rule.compare:
            continue
        requested = rule.kind == "balance" or rule.threshold_class in classes
        if not requested and (before is None or not against.worse(rule, test, before)):
            continue
        findings.append(_absolute(rule, test, before.mean if before else None))
    return findings


def _absolute(rule: Rule, test: Tested, baseline: float | None) -> Finding:
    threshold = test.threshold if test.threshold is not None else rule.threshold.get("T")
    if rule.compare == "exists":
        threshold = None
    return Finding(
        rule=rule,
        severity=_severity(rule, test.value),
        system=test.system,
        data=test.data,
        subject=test.subject,
        value=test.value,
        threshold=threshold,
        limit=_limit_of(rule, test.value, threshold),
        detail=test.detail,
        first=test.first,
        last=test.last,
        worst=test.worst,
        held=test.held,
        tested=test.tested,
        mean=test.mean,
        baseline=baseline,
    )


def _related(rule: Rule, test: Tested, before: Tested, threshold: float | None, limit_text: str) -> Finding:
    return Finding(
        rule=rule,
        severity=rule.severity,
        system=test.system,
        data=test.data,
        subject=test.subject,
        value=None if rule.baseline and rule.baseline[0] == "differs" else test.mean,
        threshold=threshold,
        limit=limit_text,
        detail=test.any_detail,
        first=test.all_first,
        last=test.all_last,
        worst=None,
        held=test.tested,
        tested=test.tested,
        mean=test.mean,
        baseline=before.mean,
    )


def _severity(rule: Rule, value: float | None) -> str:
    if rule.critical is None or value is None:
        return rule.severity
    beyond = value <= rule.critical if rule.compare in _SMALL else value >= rule.critical
    return "crit" if beyond else rule.severity


def _limit_of(rule: Rule, value: float | None, threshold: float | None) -> str:
    """The threshold in words, with the critical one if the value is beyond it."""
    text = limit(rule, threshold)
    if rule.critical is None or _severity(rule, value) == rule.severity:
        return text
    side = "to" if rule.compare in _SMALL else "from"
    return f"{text}; critical {side} {amount(rule.critical, rule.unit)}"


def limit(rule: Rule, threshold: float | None) -> str:
    """The threshold in words: the rule's own text, or its comparison."""
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
    finding: Finding, rules: Mapping[str, Rule], tested: Mapping[str, list[Tested]], findings: Findings
) -> tuple[str, ...]:
    """The results of rules that disagree with the rule of a finding, whether they hold or not."""
    texts = []
    absent = {rule.id: names for rule, names in findings.missing}
    for name in finding.rule.disagrees:
        other = rules.get(name)
        if other is None:
            continue
        head = f"{other.id} ({other.threshold_class}): {other.title}"
        own_tests = [
            test
            for test in tested.get(name, ())
            if (test.system, test.data) == (finding.system, finding.data)
        ]
        if name in absent:
            texts.append(f"{head}: not computable here, without {', '.join(absent[name])}; {other.meaning}")
        elif not own_tests:
            texts.append(f"{head}: not checked; {other.meaning}")
        for test in own_tests:
            threshold = test.threshold if test.threshold is not None else other.threshold.get("T")
            value = test.value if test.held else test.mean
            state = "holds too" if test.held else "does not hold"
            number = f", {amount(value, other.unit)}" + ("" if test.held else " on average")
            threshold_text = limit(other, threshold)
            texts.append(f"{head}: {state}{number} against {threshold_text}; {other.meaning}")
    return tuple(texts)
