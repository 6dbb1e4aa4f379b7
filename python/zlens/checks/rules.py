"""Checks of the rules of the catalog and of the user, and of the caveats."""

from __future__ import annotations

import os
from collections.abc import Iterator

from zlens.catalog import causes, caveats, measures, rules
from zlens.catalog.rules import Rule, missing_columns
from zlens.checks.records import CatalogIssue
from zlens.errors import CatalogError

#: Key, problem, fix.
_Problems = Iterator[tuple[str, str, str]]


def check(*folders: str | os.PathLike[str]) -> list[str]:
    """Return catalog issues of rules and caveats, one sentence each."""
    try:
        loaded = rules.load(*folders)
    except CatalogError as error:
        return [str(error)]
    problems = [
        str(CatalogIssue(str(rule.file), rule.line(key), problem, cure))
        for rule in loaded.values()
        for key, problem, cure in _rule(rule, loaded)
    ]
    return problems + causes.check(loaded) + caveats.check()


def _rule(rule: Rule, rules_by_id: dict[str, Rule]) -> _Problems:
    if not rule.own and (rule.id.lower(), rule.area) != (rule.file.stem, rule.file.parent.name):
        yield "id", f"contains the rule {rule.id} of {rule.area}", "leave out id and area"
    for name in missing_columns(rule):
        yield "needs", f"{name} is neither a column of a measure nor a role", "see zlens explain TABLE"
    for name in rule.disagrees:
        if name not in rules_by_id:
            yield "disagrees", f"there is no rule {name}", "name one"
    yield from causes.rule_problems(rule, rules_by_id)
    if rule.threshold_class == "heuristic" and rule.status.startswith("verified"):
        yield "status", "a heuristic rule cannot be verified in a document", "set it to derived"
    if rule.kind == "note":
        return
    for table in sorted({name.rpartition(".")[0] for name in rule.needs} & set(measures.measure_names())):
        measure = measures.load_measure(table)
        flagged = measure.column("flag") is not None and not measure.plain
        if flagged and "flag IS NULL" not in rule.query:
            yield "query", f"{table} is read with flagged intervals", "add WHERE flag IS NULL"
            break
    if rule.unit not in measures.UNITS | {"ms"}:
        yield "unit", f"unit is {rule.unit!r}", "use one of the measures' units"
