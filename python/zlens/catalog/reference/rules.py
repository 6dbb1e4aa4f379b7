"""The reference page of the rules and of the known faults of the data, written from the catalog."""

from __future__ import annotations

from zlens.catalog import caveats, rules
from zlens.catalog.rules import CLASSES, KINDS, Rule

_INTRODUCTION = """\
# Rules

Made from `python/zlens/facts/rules` and `python/zlens/facts/caveats`; `zlens explain CPU-001` tells of a
rule with its query, `zlens findings INPUT` holds all of them against an input.
"""


def rules_page() -> str:
    """The page as Markdown."""
    every = list(rules.builtin().values())
    lines = [_INTRODUCTION, "**Class** says where a threshold is from:", ""]
    lines += [f"- {name}: {text}" for name, text in CLASSES.items()]
    lines += ["", "**Kind** says what a file of the catalog is:", ""]
    lines += [f"- {name}: {text}" for name, text in KINDS.items()]
    for area in dict.fromkeys(rule.area for rule in every):
        mine = [rule for rule in every if rule.area == area]
        lines += ["", f"## {area}", "", "| rule | class | severity | holds when | source |"]
        lines += ["|---|---|---|---|---|", *map(_row, mine)]
    lines += ["", "## Known faults of the data", ""]
    lines += ["A fault that an input's level has is a footnote of the report it touches.", ""]
    lines += ["| level | fault | APAR | touches | source |", "|---|---|---|---|---|"]
    for each in caveats.caveats():
        touched = ", ".join((*each.reports, *each.records, *each.measures))
        lines.append(f"| {each.levels} | {each.text} | {each.apar} | {touched} | {each.source} |")
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    if not rule.computable:
        return f"| {rule.id} | note | | {rule.title}: {rule.reason} | {rule.source} |"
    kind = rule.kind if rule.kind == "balance" else rule.threshold_class
    title = f"{rule.title}: {rule.condition}"
    return f"| {rule.id} | {kind} | {rule.severity} | {title} | {rule.source} |"
