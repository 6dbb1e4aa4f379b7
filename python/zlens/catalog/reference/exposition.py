"""The reference page of the metrics, written from the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import exposition
from zlens.catalog.exposition import MetricFamily, MetricGroup

_INTRODUCTION = """\
# Metrics

Made from `python/zlens/facts/exposition`. [Metrics for Prometheus](../metrics.md) says how to use them.

A name is the prefix of the platform and a name of this page: `cpu_busy_ratio` of z/VM is
`zvm_cpu_busy_ratio`.
"""


def exposition_page() -> str:
    """The page as Markdown: prefixes, labels, what is left out, names of others, and every metric."""
    names = exposition.names()
    lines = [_INTRODUCTION, "| prefix | platform | sources |", "|---|---|---|"]
    for prefix, platform in names.prefixes.items():
        sources = (
            ", ".join(source for source, its in names.sources.items() if its == prefix) or "all of these"
        )
        lines.append(f"| `{prefix}` | {platform} | {sources} |")
    lines += ["", "Every metric has the label `system` and, as far as they are known:", ""]
    lines += [f"- `{label}`: `system.{column}`" for label, column in names.system_labels.items()]
    lines += ["", "## Names of others", "", *_others()]
    lines += ["", "## Not exported", "", "| measure | why |", "|---|---|"]
    lines += [f"| {measure} | {why} |" for measure, why in names.left_out.items()]
    for group in names.groups:
        if not group.of:
            lines += _measure(group, names.counters(group.measure))
    return "\n".join(lines) + "\n"


def _others() -> Iterator[str]:
    for program in exposition.other_conventions():
        yield f"### {program.name}"
        yield ""
        yield f"Source: {program.source}. {program.note}"
        yield ""
        yield "| zlens | there |"
        yield "|---|---|"
        for ours, theirs in program.names():
            yield f"| `{ours}` | `{theirs}` |"
        yield ""


def _measure(group: MetricGroup, counters: list[MetricGroup]) -> list[str]:
    lines = ["", f"## {group.measure}", "", f"Prefixes: {', '.join(f'`{one}`' for one in group.prefixes)}."]
    labels = ", ".join(f"`{label}`" for label in group.labels.values())
    lines[-1] += f" Labels: {labels}." if labels else ""
    info = ", ".join(f"`{label}`" for label in group.info.values())
    lines[-1] += f" Labels of the info metric alone: {info}." if info else ""
    lines += ["", "| metric | type | what it is |", "|---|---|---|"]
    for each in (*counters, group):
        only = "" if each.prefixes == group.prefixes else f" ({', '.join(each.prefixes)})"
        lines += [
            f"| `{family.sample}`{only} | {family.kind} | {_text(family)} |" for family in each.families
        ]
    return lines


def _text(family: MetricFamily) -> str:
    return family.text.replace("|", "\\|")
