"""Reference page of the exported metrics, generated from the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from reference_pages.markdown_format import format_table
from zlens.catalog import exposition
from zlens.catalog.exposition import MetricGroup

_INTRODUCTION = """\
# Metrics

Made from `python/zlens/facts/exposition`. [Metrics for Prometheus](../metrics.md) says how to use them.

A name is the prefix of the platform and a name of this page: `cpu_busy_ratio` of z/VM is
`zvm_cpu_busy_ratio`.
"""


def exposition_page() -> str:
    """Return the page as Markdown: prefixes, labels, omitted measures, names of others, and every metric."""
    names = exposition.names()
    prefixes = (
        (
            f"`{prefix}`",
            platform,
            ", ".join(source for source, its in names.sources.items() if its == prefix) or "all of these",
        )
        for prefix, platform in names.prefixes.items()
    )
    lines = [_INTRODUCTION, *format_table(("prefix", "platform", "sources"), prefixes)]
    lines += ["", "Every metric has the label `system` and, where known:", ""]
    lines += [f"- `{label}`: `system.{column}`" for label, column in names.system_labels.items()]
    lines += ["", "## Names of others", "", *_others()]
    lines += ["", "## Not exported", "", *format_table(("measure", "why"), names.left_out.items())]
    for group in names.groups:
        if not group.of:
            lines += _measure(group, names.counters(group.measure))
    return "\n".join(lines) + "\n"


def _others() -> Iterator[str]:
    for program in exposition.other_conventions():
        yield from (f"### {program.name}", "", f"Source: {program.source}. {program.note}", "")
        yield from format_table(
            ("zlens", "there"), ((f"`{ours}`", f"`{theirs}`") for ours, theirs in program.names())
        )
        yield ""


def _measure(group: MetricGroup, counters: list[MetricGroup]) -> list[str]:
    lines = [
        "",
        f"## {group.measure}",
        "",
        f"Prefixes: {', '.join(f'`{prefix}`' for prefix in group.prefixes)}.",
    ]
    labels = ", ".join(f"`{label}`" for label in group.labels.values())
    lines[-1] += f" Labels: {labels}." if labels else ""
    info = ", ".join(f"`{label}`" for label in group.info.values())
    lines[-1] += f" Labels of the info metric only: {info}." if info else ""
    rows = []
    for member in (*counters, group):
        only = "" if member.prefixes == group.prefixes else f" ({', '.join(member.prefixes)})"
        rows += [(f"`{family.sample}`{only}", family.kind, family.text) for family in member.families]
    return [*lines, "", *format_table(("metric", "type", "what it is"), rows)]
