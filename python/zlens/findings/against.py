"""A session against a baseline: which subjects belong together, and what counts as a change."""

from __future__ import annotations

from collections.abc import Sequence

from zlens.catalog.rules import Rule
from zlens.findings.finding import Tested, amount

#: Of two runs of the same work, what IBM takes for noise in its regression tests (rule CMP-001).
NOISE = 0.05


def pairs(tested: Sequence[Tested], earlier: Sequence[Tested]) -> dict[int, Tested]:
    """For each subject by its place the one of the baseline that it is held against.

    The same system is meant, or, where both have just one, that one: a run may have been given another name.
    """
    known = {(each.system, each.data, each.subject): each for each in earlier}
    one = {(each.system, each.data) for each in tested}
    other = {(each.system, each.data) for each in earlier}
    alone = next(iter(other)) if len(one) == len(other) == 1 else None
    found = {}
    for index, each in enumerate(tested):
        before = known.get((each.system, each.data, each.subject))
        if before is None and alone is not None:
            before = known.get((*alone, each.subject))
        if before is not None:
            found[index] = before
    return found


def changed(rule: Rule, each: Tested, before: Tested) -> tuple[float | None, str] | None:
    """The value from which on it is a change, and that in words; None where there is none."""
    if rule.baseline is None:
        return None
    how, least = rule.baseline
    if how == "differs":
        if each.any_detail == before.any_detail:
            return None
        return None, f"{before.any_detail or 'nothing'} in the baseline"
    if each.mean is None or before.mean is None:
        return None
    was = amount(before.mean, rule.unit)
    if how == "points":
        if abs(each.mean - before.mean) <= least:
            return None
        return None, f"more than {amount(least, rule.unit)} from the baseline's {was}"
    if before.mean <= 0:
        return None
    threshold = before.mean * (1 + least if how == "rise" else 1 - least)
    beyond = each.mean > threshold if how == "rise" else each.mean < threshold
    if not beyond:
        return None
    word = "above" if how == "rise" else "below"
    return threshold, f"more than {amount(100 * least, '%')} {word} the baseline's {was}"


def worse(rule: Rule, each: Tested, before: Tested) -> bool:
    """Whether the baseline was better by more than noise."""
    if each.mean is None or before.mean is None:
        return False
    if rule.compare in ("<", "<="):
        return each.mean < before.mean * (1 - NOISE)
    return each.mean > before.mean * (1 + NOISE)
