"""Checks rules against an input: one query for each rule whose measures have values."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import expressions, measures
from zlens.catalog.rules import CLASSES, OTHER_TABLES, Rule, load, missing_columns, wrong_columns
from zlens.engine.cancellation import report_progress
from zlens.errors import CatalogError, QueryError
from zlens.findings import baseline
from zlens.findings.finding import Finding, RuleTest, format_amount
from zlens.findings.statements import (
    BELOW,
    is_large,
    large_summaries_sql,
    rule_rows_sql,
    rule_sql,
    summaries_sql,
)
from zlens.schema.plain_text import format_count
from zlens.schema.wording import phrase

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Classes checked by default: all but heuristics.
USUAL = tuple(name for name in CLASSES if name != "heuristic")


def _is_sparse(table: str) -> bool:
    """Return whether a table without rows or values is a result: nothing occurred."""
    return table in OTHER_TABLES or (
        table in measures.measure_names() and measures.load_measure(table).sparse
    )


class FindingsResult(Struct):
    """The result of checking rules.

    rows     the findings, worst first
    asked    rules that were checked
    systems  systems with values for each checked rule; None: every system
    missing  rules that could not be checked, with the columns that have no value in this input
    off      rules of classes that were not requested
    baseline the session compared with
    """

    session: CoreSession
    rows: list[Finding] = field(default_factory=list)
    asked: list[Rule] = field(default_factory=list)
    systems: dict[str, frozenset[str] | None] = field(default_factory=dict)
    missing: list[tuple[Rule, tuple[str, ...]]] = field(default_factory=list)
    off: list[Rule] = field(default_factory=list)
    baseline: CoreSession | None = None

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return (
            f"<FindingsResult: {format_count(len(self.rows), 'finding')} of "
            f"{format_count(len(self.asked), 'rule')}; "
            f"{format_count(len(self.missing), 'rule')} without data>"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        from zlens.rendering import notebook

        columns = ("severity", "rule", "title", "system", "subject", "value", "threshold")
        return notebook.table(columns, [name == "value" for name in columns], map(_cells, self.rows))

    def add(self, part: FindingsResult) -> None:
        """Add the findings of further rules of the same session."""
        self.rows = sorted([*self.rows, *part.rows], key=lambda finding: finding.order)
        self.asked += part.asked
        self.systems |= part.systems
        self.missing += part.missing
        self.off += part.off


def _cells(finding: Finding) -> tuple[str, ...]:
    rule = finding.rule
    amount = format_amount(finding.value, rule.unit)
    return (
        finding.severity,
        rule.id,
        rule.title,
        finding.system or "",
        finding.subject,
        amount,
        finding.limit,
    )


def find(
    session: CoreSession,
    *,
    classes: Iterable[str] | None = None,
    only: Iterable[str] | None = None,
    folders: Iterable[str | os.PathLike[str]] = (),
    baseline: CoreSession | None = None,
    later: Sequence[str] = (),
) -> FindingsResult:
    """Return the findings of a session by the rules of the catalog, the user and more folders.

    later: SELECTs that follow, such as those of verdicts, with which the rules share tables
    """
    rules, requested = _wanted(load(*folders), classes, only)
    return evaluate(session, rules, classes=requested, baseline=baseline, later=later)


def find_in_stages(session: CoreSession, *, classes: Iterable[str] | None = None) -> Iterator[FindingsResult]:
    """Yield the findings of a session by the rules of the catalog and the user, stage by stage."""
    rules, requested = _wanted(load(), classes, None)
    return evaluate_in_stages(session, rules, classes=requested)


def _wanted(
    rules: Mapping[str, Rule], classes: Iterable[str] | None, only: Iterable[str] | None
) -> tuple[Mapping[str, Rule], frozenset[str]]:
    """Return the rules to check and their classes."""
    requested = frozenset(USUAL if classes is None else classes)
    if requested - set(CLASSES):
        unknown = ", ".join(sorted(requested - set(CLASSES)))
        raise QueryError(f"there is no class {unknown}", expected=", ".join(CLASSES))
    if only is None:
        return rules, requested
    named = [name.upper() for name in only]
    for name in named:
        if name not in rules:
            near = difflib.get_close_matches(name, rules, 3)
            suggestion = f"did you mean {' or '.join(near)}?" if near else phrase("rules")
            raise QueryError(f"there is no rule {name}", cure=suggestion)
        if not rules[name].computable:
            raise QueryError(f"{name} is a note without a condition", cure=phrase("explain_rule", name=name))
    return {name: rules[name] for name in named}, frozenset(CLASSES)


def evaluate(
    session: CoreSession,
    rules: Mapping[str, Rule],
    *,
    classes: Collection[str] = USUAL,
    baseline: CoreSession | None = None,
    later: Sequence[str] = (),
) -> FindingsResult:
    """Return the findings of a session.

    Rules of classes not requested are omitted; balances are always checked. With a baseline, rules that
    compare with one are checked too, and heuristics count if the baseline was clearly better.
    """
    findings = FindingsResult(session, baseline=baseline)
    for part in _evaluate(session, rules, classes, baseline, at_once=True, later=later):
        findings.add(part)
    order = {name: index for index, name in enumerate(rules)}
    findings.asked.sort(key=lambda rule: order[rule.id])
    findings.missing.sort(key=lambda entry: order[entry[0].id])
    return findings


def evaluate_in_stages(
    session: CoreSession, rules: Mapping[str, Rule], *, classes: Collection[str] = USUAL
) -> Iterator[FindingsResult]:
    """Yield the findings of a session stage by stage, first of the rules whose measures cost least."""
    return _evaluate(session, rules, classes, None, at_once=False)


def _evaluate(
    session: CoreSession,
    rules: Mapping[str, Rule],
    classes: Collection[str],
    baseline: CoreSession | None,
    *,
    at_once: bool,
    later: Sequence[str] = (),
) -> Iterator[FindingsResult]:
    selected: list[Rule] = []
    off: list[Rule] = []
    for rule in rules.values():
        if not rule.computable:
            continue
        if rule.kind == "balance" or rule.threshold_class in classes or (baseline and _may_relate(rule)):
            selected.append(rule)
        else:
            off.append(rule)
    checker = RuleChecker(session, selected)
    baseline_checker = RuleChecker(baseline, selected) if baseline is not None else None
    if baseline_checker is not None:
        for stage in baseline_checker.stages(at_once=True):
            baseline_checker.count(stage)
    missing: dict[str, tuple[str, ...]] = {}
    tested: dict[str, list[RuleTest]] = {}
    yield FindingsResult(session, off=off, baseline=baseline)
    for stage in checker.stages(at_once=at_once, later=later):
        checker.run_rules(stage)
        findings = FindingsResult(session, baseline=baseline)
        for rule in stage:
            report_progress(len(missing) + len(tested), len(selected), f"rule {rule.id}")
            absent = checker.missing_columns(rule)
            if rule.baseline and not rule.compare:
                if baseline_checker is None:
                    absent.append("a baseline")
                else:
                    absent += [f"{name} in the baseline" for name in baseline_checker.missing_columns(rule)]
            if absent:
                missing[rule.id] = tuple(absent)
                findings.missing.append((rule, tuple(absent)))
                continue
            findings.asked.append(rule)
            findings.systems[rule.id] = checker.systems(rule)
            tested[rule.id] = checker.test_rule(rule)
            earlier = baseline_checker.test_rule(rule, baseline=True) if baseline_checker else []
            findings.rows += _rule_findings(rule, tested[rule.id], earlier, baseline is not None, classes)
        findings.rows = sorted(
            (
                replace(finding, others=_disagreeing_results(finding, rules, tested, missing))
                for finding in findings.rows
            ),
            key=lambda finding: finding.order,
        )
        yield findings


def check(session: CoreSession, rules: Mapping[str, Rule]) -> list[str]:
    """Return the errors of rules whose query fails, one sentence each; a session without inputs suffices."""
    errors = []
    checker = RuleChecker(session, ())
    for rule in rules.values():
        queries = [False] * rule.computable + [True] * bool(rule.baseline_query)
        for against_baseline in queries:
            try:
                checker.check_columns(rule, baseline=against_baseline)
                checker.test_rule(rule, baseline=against_baseline)
            except CatalogError as error:
                errors.append(str(error))
    return errors


def _may_relate(rule: Rule) -> bool:
    return rule.threshold_class == "heuristic" or rule.baseline is not None


# Queries


class RuleChecker:
    """Checks rules against a session; data that rules share is computed once."""

    def __init__(self, session: CoreSession, rules: Collection[Rule]) -> None:
        self._session = session
        self._rules = {rule.id: rule for rule in rules}
        #: Required columns of each table.
        self._needed: dict[str, list[str]] = {}
        for rule in rules:
            unknown = missing_columns(rule)
            if unknown:
                raise CatalogError(
                    f"{unknown[0]} is neither a column of a measure nor a role",
                    file=rule.where("needs"),
                    cure=phrase("columns_of"),
                )
            for name in self._counted_needs(rule):
                table, _, column = name.rpartition(".")
                columns = self._needed.setdefault(table, [])
                if column not in columns:
                    columns.append(column)
        #: Systems with values, for each required column.
        self._with_values: dict[str, frozenset[str]] = {}
        #: Results of queries of rules that ran in one statement.
        self._answers: dict[str, list[tuple[Any, ...]]] = {}

    def _has_values(self, column: str) -> bool:
        table = column.rpartition(".")[0]
        return _is_sparse(table) or self._session.has_data(table)

    def _counted_needs(self, rule: Rule) -> list[str]:
        """Return the columns that may have no values although their tables have rows.

        None of a rule without an entire table, because the others could not help it.
        """
        if not all(map(self._has_values, rule.needs)):
            return []
        return [name for name in rule.needs if not _is_sparse(name.rpartition(".")[0])]

    def stages(self, *, at_once: bool, later: Sequence[str] = ()) -> Iterator[list[Rule]]:
        """Yield the rules whose data is computed, the cheapest first; or all at once.

        A rule comes no earlier than the data of the rules that disagree with it.
        """
        questions = {name: self._questions(rule) for name, rule in self._rules.items()}
        waiting = {
            name: set().union(*(questions[other] for other in self._with_disagreeing_rules(name)))
            for name in self._rules
        }
        computed = self._session.queries.stages(chain.from_iterable(questions.values()), later)
        if at_once:
            for _ in computed:
                pass
            yield [*self._rules.values()]
            return
        for ready in chain([[]], computed):
            stage = []
            for name in [*waiting]:
                waiting[name].difference_update(ready)
                if not waiting[name]:
                    del waiting[name]
                    stage.append(self._rules[name])
            if stage:
                yield stage

    def _questions(self, rule: Rule) -> list[str]:
        """Return the queries of a rule."""
        tables = dict.fromkeys(name.rpartition(".")[0] for name in self._counted_needs(rule))
        questions = [_count(table, self._needed[table]) for table in tables]
        if rule.query and all(map(self._has_values, rule.needs)):
            questions.append(rule_rows_sql(rule))
            if rule.baseline_query:
                questions.append(rule_sql(rule, baseline=True))
        return questions

    def _with_disagreeing_rules(self, name: str) -> set[str]:
        """Return a rule and, transitively, the rules that disagree with it."""
        names: set[str] = set()
        pending = {name}
        while pending:
            names |= pending
            others = {other for known in pending for other in self._rules[known].disagrees}
            pending = (others & self._rules.keys()) - names
        return names

    def missing_columns(self, rule: Rule) -> list[str]:
        """Return the required columns without any value; if entire tables are missing, only theirs."""
        unfilled = [name for name in rule.needs if not self._has_values(name)]
        return unfilled or [name for name in self._counted_needs(rule) if not self._systems_of(name)]

    def run_rules(self, rules: Iterable[Rule]) -> None:
        """Run the queries of the rules in as few statements as possible."""
        rules = list(rules)
        self.count(rules)
        # The user's rules run separately, so that an error belongs to one rule.
        testable = [rule for rule in rules if not rule.own and not self.missing_columns(rule)]
        small = [rule for rule in testable if not is_large(rule)]
        large = [rule for rule in testable if is_large(rule)]
        rows = self._session.queries.select_together(
            [rule_rows_sql(rule) for rule in small], over=summaries_sql
        )
        rows += self._session.queries.select_together(
            [rule_rows_sql(rule) for rule in large], over=large_summaries_sql
        )
        self._answers |= {
            rule_sql(rule): sorted(rule_rows, key=_in_order)
            for rule, rule_rows in zip([*small, *large], rows, strict=True)
        }

    def count(self, rules: Iterable[Rule]) -> None:
        """Count the values of all columns that rules need."""
        needed = [name for rule in rules for name in self._counted_needs(rule)]
        tables = dict.fromkeys(name.rpartition(".")[0] for name in needed if name not in self._with_values)
        queries = [_count(table, self._needed[table]) for table in tables]
        for table, rows in zip(tables, self._session.queries.select_together(queries), strict=True):
            counted = [(system, json.loads(counts)) for system, counts in rows]
            for index, name in enumerate(self._needed[table]):
                self._with_values[f"{table}.{name}"] = frozenset(
                    str(system) for system, counts in counted if counts[index]
                )

    def _systems_of(self, column: str) -> frozenset[str]:
        """Return the systems with values in a column."""
        return self._with_values[column]

    def systems(self, rule: Rule) -> frozenset[str] | None:
        """Return the systems with values in all columns that a rule needs; None if it needs no column."""
        needed = [self._systems_of(name) for name in self._counted_needs(rule)]
        return frozenset.intersection(*needed) if needed else None

    def test_rule(self, rule: Rule, *, baseline: bool = False) -> list[RuleTest]:
        """Return the result of a rule for every subject."""
        if rule.own:
            self.check_columns(rule, baseline=baseline)
        text = rule_sql(rule, baseline=baseline)
        if text in self._answers:
            return [RuleTest(*row) for row in self._answers[text]]
        try:
            rows = self._session.sql(text).rows
        except QueryError as error:
            raise _wrong_query(rule, baseline, error.message, error.cure) from None
        return [RuleTest(*row) for row in rows]

    def check_columns(self, rule: Rule, *, baseline: bool = False) -> None:
        """Raise CatalogError if the columns of a rule's query differ from those that the rule declares."""
        try:
            columns = self._session.sql(f"SELECT * FROM ({rule.sql(baseline=baseline)}) LIMIT 0").columns
        except QueryError as error:
            raise _wrong_query(rule, baseline, error.message, error.cure) from None
        wrong = wrong_columns(rule, columns)
        if wrong is not None:
            raise _wrong_query(rule, baseline, *wrong)


def _wrong_query(rule: Rule, baseline: bool, message: str, cure: str | None) -> CatalogError:
    key = "baseline_query" if baseline and rule.baseline_query else "query"
    return CatalogError(f"the query of {rule.id} is wrong: {message}", file=rule.where(key), cure=cure)


def _count(table: str, columns: Iterable[str]) -> str:
    counts = ", ".join(f"count({expressions.quote(column)})" for column in columns)
    return f"SELECT system, CAST([{counts}] AS VARCHAR) FROM {table} GROUP BY system"


def _in_order(row: tuple[Any, ...]) -> list[tuple[bool, str]]:
    """Return the sort key of rows by system, source and subject."""
    return [(value is None, str(value)) for value in row[:3]]


def _rule_findings(
    rule: Rule, tested: list[RuleTest], earlier: list[RuleTest], with_baseline: bool, classes: Collection[str]
) -> list[Finding]:
    """Return the findings of one rule: beyond its threshold, or changed from the baseline."""
    findings: list[Finding] = []
    pairs = baseline.match_subjects(tested, earlier) if with_baseline else {}
    for index, test in enumerate(tested):
        before = pairs.get(index)
        if with_baseline and rule.baseline and before is not None:
            change = baseline.describe_change(rule, test, before)
            if change is not None:
                findings.append(_related(rule, test, before, *change))
                continue
        if not test.held or not rule.compare:
            continue
        requested = rule.kind == "balance" or rule.threshold_class in classes
        if not requested and (before is None or not baseline.is_worse(rule, test, before)):
            continue
        findings.append(_absolute(rule, test, before.mean if before else None))
    return findings


def _absolute(rule: Rule, test: RuleTest, baseline: float | None) -> Finding:
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


def _related(
    rule: Rule, test: RuleTest, before: RuleTest, threshold: float | None, limit_text: str
) -> Finding:
    return Finding(
        rule=rule,
        severity=rule.severity,
        system=test.system,
        data=test.data,
        subject=test.subject,
        value=None if rule.baseline and rule.baseline.how == "differs" else test.mean,
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
    beyond = value <= rule.critical if rule.compare in BELOW else value >= rule.critical
    return "crit" if beyond else rule.severity


def _limit_of(rule: Rule, value: float | None, threshold: float | None) -> str:
    """Return the threshold in words, with the critical one if the value is beyond it."""
    text = describe_threshold(rule, threshold)
    if rule.critical is None or _severity(rule, value) == rule.severity:
        return text
    side = "to" if rule.compare in BELOW else "from"
    return f"{text}; critical {side} {format_amount(rule.critical, rule.unit)}"


def describe_threshold(rule: Rule, threshold: float | None) -> str:
    """Return the threshold in words: the rule's own text, or its comparison."""
    if rule.limit:
        text = rule.limit
        for name, number in rule.threshold.items():
            text = text.replace(f"{{{name}}}", format_amount(number))
        return text
    if rule.compare in ("exists", "holds", "") or threshold is None:
        return ""
    return f"{rule.compare} {format_amount(threshold, rule.unit)}"


# Rules that disagree


def _disagreeing_results(
    finding: Finding,
    rules: Mapping[str, Rule],
    tested: Mapping[str, list[RuleTest]],
    absent: Mapping[str, tuple[str, ...]],
) -> tuple[str, ...]:
    """Return the results of rules that disagree with the rule of a finding, whether they hold or not."""
    texts = []
    for name in finding.rule.disagrees:
        other = rules.get(name)
        if other is None:
            continue
        label = f"{other.id} ({other.threshold_class}): {other.title}"
        own_tests = [
            test
            for test in tested.get(name, ())
            if (test.system, test.data) == (finding.system, finding.data)
        ]
        if name in absent:
            texts.append(f"{label}: not computable here, without {', '.join(absent[name])}; {other.meaning}")
        elif not own_tests:
            texts.append(f"{label}: not checked; {other.meaning}")
        for test in own_tests:
            threshold = test.threshold if test.threshold is not None else other.threshold.get("T")
            value = test.value if test.held else test.mean
            state = "holds too" if test.held else "does not hold"
            number = f", {format_amount(value, other.unit)}" + ("" if test.held else " on average")
            threshold_text = describe_threshold(other, threshold)
            texts.append(f"{label}: {state}{number} (threshold {threshold_text}); {other.meaning}")
    return tuple(texts)
