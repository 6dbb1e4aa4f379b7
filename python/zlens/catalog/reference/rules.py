"""The reference page of the rules and of the known faults of the data, written from the catalog."""

from __future__ import annotations

from zlens.catalog import caveats, rules
from zlens.catalog.rules import CLASSES, KINDS, Rule

_INTRODUCTION = """\
# Rules

Made from `python/zlens/facts/rules` and `python/zlens/facts/caveats`; `zlens explain CPU-001` shows a
rule with its query, `zlens findings INPUT` checks an input against all of them.
"""


def rules_page() -> str:
    """The page as Markdown."""
    all_rules = list(rules.builtin().values())
    lines = [_INTRODUCTION, "**Class** says where a threshold comes from:", ""]
    lines += [f"- {name}: {text}" for name, text in CLASSES.items()]
    lines += ["", "**Kind** says what a file of the catalog is:", ""]
    lines += [f"- {name}: {text}" for name, text in KINDS.items()]
    for area in dict.fromkeys(rule.area for rule in all_rules):
        area_rules = [rule for rule in all_rules if rule.area == area]
        lines += ["", f"## {area}", "", "| rule | class | severity | holds when | source |"]
        lines += ["|---|---|---|---|---|", *map(_row, area_rules)]
    lines += ["", "## Known faults of the data", ""]
    lines += ["A fault of an input's level becomes a footnote of the report that it affects.", ""]
    lines += ["| level | fault | APAR | affects | source |", "|---|---|---|---|---|"]
    for caveat in caveats.caveats():
        affected = ", ".join((*caveat.reports, *caveat.records, *caveat.measures))
        lines.append(f"| {caveat.levels} | {caveat.text} | {caveat.apar} | {affected} | {caveat.source} |")
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    if not rule.computable:
        return f"| {rule.id} | note | | {rule.title}: {rule.reason} | {rule.source} |"
    kind = rule.kind if rule.kind == "balance" else rule.threshold_class
    title = f"{rule.title}: {rule.condition}"
    return f"| {rule.id} | {kind} | {rule.severity} | {title} | {rule.source} |"
