"""`zlens explain` of rules: one by its id, or all under the name findings."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import measures, roles, rules
from zlens.catalog.rules import BASELINES, CLASSES, COMPARES, KINDS, STATUSES, Rule
from zlens.explain.description import Description, format_text
from zlens.findings.evaluate import describe_threshold
from zlens.findings.finding import format_amount
from zlens.rendering.text_lines import wrap_hanging

_INTRO = """Rules that `zlens findings` checks against an input. Every finding shows the value, the \
threshold and the class of the threshold, because a published measurement and a rule of thumb are not the \
same."""


def rule_pages(name: str) -> Iterator[Description | str]:
    """Yield the description of a rule, or the list of all rules."""
    if name.lower() == "findings":
        yield _overview(rules.load())
    elif rules.is_id(name.upper()):
        # A user's file need not be named after its rule.
        loaded = rules.load()
        if name.upper() in loaded:
            yield describe_rule(loaded[name.upper()])


def describe_rule(rule: Rule) -> Description:
    """Return the description of a rule."""
    kind = f"{rule.kind}: {KINDS[rule.kind]}"
    limit_text = describe_threshold(rule, rule.threshold.get("T")) if rule.compare else ""
    numbers = ", ".join(f"{name} = {number:g}" for name, number in rule.threshold.items())
    critical = (
        f"; critical from {format_amount(rule.critical, rule.unit)}" if rule.critical is not None else ""
    )
    compared = f"{limit_text or COMPARES.get(rule.compare, '')}{critical}" if rule.compare else ""
    return Description(
        f"{rule.id}: {rule.title}",
        [
            ("Kind", kind),
            ("Area", f"{rule.area}; severity {rule.severity}"),
            ("Holds", rule.condition),
            ("Against", compared),
            ("Numbers", numbers),
            ("Class", f"{rule.threshold_class}: {CLASSES[rule.threshold_class]}"),
            ("Baseline", _baseline(rule)),
            ("Not", rule.reason),
            ("Needs", [_need(name) for name in rule.needs]),
            ("Query", [line for line in rule.query.splitlines() if line.strip()]),
            ("Means", rule.meaning),
            ("Action", rule.action),
            ("Caution", rule.guard),
            ("Differs", ", ".join(rule.disagrees)),
            ("Explains", ", ".join(rule.explains)),
            ("Source", rule.source),
            ("Status", f"{rule.status}: {STATUSES[rule.status]}"),
            ("File", str(rule.file) if rule.own else f"facts/rules/{rule.area}/{rule.file.name}"),
        ],
    )


def _baseline(rule: Rule) -> str:
    if rule.baseline is None:
        return ""
    how, min_change = rule.baseline.how, rule.baseline.least
    only = "" if rule.compare else "; applies with a baseline only"
    number = f", more than {format_amount(100 * min_change, '%')}" if how in ("rise", "fall") else ""
    number = f", more than {format_amount(min_change, rule.unit)}" if how == "points" else number
    return f"{BASELINES[how]}{number}{only}"


def _need(name: str) -> str:
    table, _, column = name.rpartition(".")
    if table.startswith("role."):
        return f"{name}: {roles.entity(table.removeprefix('role.')).roles[column].text}"
    fact = measures.load_measure(table).column(column) if table in measures.measure_names() else None
    return f"{name}: {fact.text}" if fact else name


def _overview(all_rules: dict[str, Rule]) -> str:
    computed = [rule for rule in all_rules.values() if rule.computable]
    notes = [rule for rule in all_rules.values() if not rule.computable]
    lines = [
        format_text(
            Description(
                f"findings: {len(computed)} rules, and {len(notes)} notes that the data cannot decide",
                [
                    ("What", _INTRO),
                    ("Classes", [f"{name}: {text}" for name, text in CLASSES.items()]),
                    ("Kinds", [f"{name}: {text}" for name, text in KINDS.items()]),
                    (
                        "Your own",
                        f"one file each in {rules.user_root()}, or in a folder given with the option rules; "
                        "a rule with the id of another replaces it; "
                        "facts/rules/_skeleton.toml is a template",
                    ),
                ],
            )
        )
    ]
    for area in dict.fromkeys(rule.area for rule in all_rules.values()):
        lines.append(area)
        for rule in all_rules.values():
            if rule.area == area:
                label = rule.threshold_class if rule.kind == "rule" else rule.kind
                lines += wrap_hanging(f"  {rule.id:<9} {label:<10} ", rule.title)
        lines.append("")
    lines.append("Example  zlens explain CPU-001")
    return "\n".join(lines)
