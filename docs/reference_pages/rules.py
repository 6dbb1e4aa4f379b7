"""Reference page of the rules and of the known recording errors, generated from the catalog."""

from __future__ import annotations

from reference_pages.markdown_format import format_markdown, format_table
from zlens.catalog import caveats, rules
from zlens.catalog.rules import CLASSES, KINDS
from zlens.explain.rules import describe_rule

_INTRODUCTION = """\
# Rules

Made from `python/zlens/facts/rules` and `python/zlens/facts/caveats`; `zlens explain CPU-001` shows one
rule, `zlens findings INPUT` checks an input against all of them.
"""


def rules_page() -> str:
    """Return the page as Markdown."""
    all_rules = list(rules.builtin().values())
    lines = [_INTRODUCTION, "**Class** says where a threshold comes from:", ""]
    lines += [f"- {name}: {text}" for name, text in CLASSES.items()]
    lines += ["", "**Kind** says what a file of the catalog is:", ""]
    lines += [f"- {name}: {text}" for name, text in KINDS.items()]
    for area in dict.fromkeys(rule.area for rule in all_rules):
        lines += ["", f"## {area}"]
        for rule in all_rules:
            if rule.area == area:
                lines += format_markdown(describe_rule(rule), level=3)
    lines += ["", "## Known recording errors", ""]
    lines += [
        "A known recording error of an input's level becomes a footnote of the report that it affects.",
        "",
    ]
    faults = (
        (
            caveat.levels,
            caveat.text,
            caveat.apar,
            ", ".join((*caveat.reports, *caveat.records, *caveat.measures)),
            caveat.source,
        )
        for caveat in caveats.caveats()
    )
    lines += format_table(("level", "fault", "APAR", "affects", "source"), faults)
    return "\n".join(lines) + "\n"
