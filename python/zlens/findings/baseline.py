"""Comparison with a baseline: matching subjects and changes."""

from __future__ import annotations

from collections.abc import Sequence

from zlens.catalog.comparison_metrics import REGRESSION_CRITERION
from zlens.catalog.rules import Rule
from zlens.findings.finding import RuleTest, format_amount


def match_subjects(tested: Sequence[RuleTest], earlier: Sequence[RuleTest]) -> dict[int, RuleTest]:
    """Return the matching subject of the baseline for each subject, by index.

    Systems match by name; if both inputs have a single system, these match under any name.
    """
    by_key = {(test.system, test.data, test.subject): test for test in earlier}
    systems = {(test.system, test.data) for test in tested}
    earlier_systems = {(test.system, test.data) for test in earlier}
    only_system = next(iter(earlier_systems)) if len(systems) == len(earlier_systems) == 1 else None
    matches = {}
    for index, test in enumerate(tested):
        match = by_key.get((test.system, test.data, test.subject))
        if match is None and only_system is not None:
            match = by_key.get((*only_system, test.subject))
        if match is not None:
            matches[index] = match
    return matches


def describe_change(rule: Rule, test: RuleTest, before: RuleTest) -> tuple[float | None, str] | None:
    """Return the threshold of the change and its text; None if nothing changed."""
    if rule.baseline is None:
        return None
    how, min_change = rule.baseline.how, rule.baseline.least
    if how == "differs":
        if test.any_detail == before.any_detail:
            return None
        return None, f"{before.any_detail or 'nothing'} in the baseline"
    if test.mean is None or before.mean is None:
        return None
    baseline = format_amount(before.mean, rule.unit)
    if how == "points":
        if abs(test.mean - before.mean) <= min_change:
            return None
        return None, f"more than {format_amount(min_change, rule.unit)} from the baseline's {baseline}"
    if before.mean <= 0:
        return None
    threshold = before.mean * (1 + min_change if how == "rise" else 1 - min_change)
    beyond = test.mean > threshold if how == "rise" else test.mean < threshold
    if not beyond:
        return None
    word = "above" if how == "rise" else "below"
    return threshold, f"more than {format_amount(100 * min_change, '%')} {word} the baseline's {baseline}"


def is_worse(rule: Rule, test: RuleTest, before: RuleTest) -> bool:
    """Return whether the value is worse than in the baseline by more than noise."""
    if test.mean is None or before.mean is None:
        return False
    if rule.compare in ("<", "<="):
        return test.mean < before.mean * (1 - REGRESSION_CRITERION)
    return test.mean > before.mean * (1 + REGRESSION_CRITERION)
