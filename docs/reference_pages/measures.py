"""Reference page of the measures, generated from the catalog."""

from __future__ import annotations

from reference_pages.markdown_format import format_markdown, format_table
from zlens.catalog import measures
from zlens.explain.names import describe_measure

_INTRODUCTION = """\
# Measures

Generated from `python/zlens/facts/measures`.

Every report, statement, comparison and finding reads these tables. `zlens explain TABLE.COLUMN` shows for one
column the entries below, plus the field and record that each input reads it from. A value that cannot
be computed is NULL, never 0 and never a guess.
"""


def measures_page() -> str:
    """Return the page as Markdown: every measure and its columns."""
    names = measures.measure_names()
    lines = [_INTRODUCTION]
    lines += ["**Status** says how well a formula is known:", ""]
    lines += [f"- {status}: {words}" for status, words in measures.STATUSES.items()]
    lines += ["", "**Over time** says how `--every` aggregates a column when it joins intervals:", ""]
    lines += [f"- {aggregate}: {words}" for aggregate, words in measures.AGGREGATES.items()]
    plain = ", ".join(name for name in names if measures.load_measure(name).plain)
    lines += ["", f"**Every table** begins with these columns, except {plain}, which list all of theirs:", ""]
    lines += _columns(measures.LEADING)
    states = {True: "no reader provides it yet", False: "filled"}
    tables = map(measures.load_measure, names)
    rows = ((f"[{table.name}](#{table.name})", table.grain, states[table.no_reader]) for table in tables)
    lines += ["", *format_table(("table", "one row per", "state"), rows)]
    for name in names:
        lines += _table(measures.load_measure(name))
    lines += _aliases()
    return "\n".join(lines) + "\n"


def _table(table: measures.Measure) -> list[str]:
    own = table.columns if table.plain else table.columns[len(measures.LEADING) :]
    return [*format_markdown(describe_measure(table)), "", *_columns(own)]


def _columns(columns: tuple[measures.MeasureColumn, ...]) -> list[str]:
    rows = []
    for column in columns:
        formula = f"`{column.formula}`" if column.formula else column.definition
        if column.varies_by:
            formula = f"{formula}{'; ' if formula else ''}[by machine](cpumf.md)"
        if column.preferred_formula:
            formula = f"`{column.preferred_formula}` if known; {formula}"
        remarks = [column.text]
        remarks += [f"Needs {column.needs}"] if column.needs else []
        remarks += [f"Note: {column.note}"] if column.note else []
        rows.append(
            [
                f"`{column.name}`",
                column.type_and_unit,
                ". ".join(part.rstrip(".") for part in remarks),
                formula,
                _over_time(column),
                column.status,
                column.source,
            ]
        )
    return format_table(("column", "type", "what it is", "formula", "over time", "status", "source"), rows)


def _over_time(column: measures.MeasureColumn) -> str:
    if column.mean:
        return f"{column.aggregate}, `{column.mean}` of means"
    return f"{column.aggregate}, by `{column.weight}`" if column.weight else column.aggregate


def _aliases() -> list[str]:
    lines = ["", "## Names of other sources", "", "`zlens explain` accepts these names too.", ""]
    rows = ((name, f"`{ours}`", source) for name, (ours, source) in sorted(measures.aliases().items()))
    return [*lines, *format_table(("name", "is", "in"), rows)]
