"""The reference page of the measures, written from the catalog."""

from __future__ import annotations

from zlens.catalog import measures

_INTRODUCTION = """\
# Measures

Made from `python/zlens/facts/measures`.

Every report, statement, comparison and finding reads these tables. `zlens explain TABLE.COLUMN` shows for one
column what follows here, plus the field and record that each input takes it from. A value that cannot
be computed is NULL, never 0 and never a guess.
"""


def measures_page() -> str:
    """The page as Markdown: every measure, and what is known about each of its columns."""
    names = measures.measure_names()
    lines = [_INTRODUCTION]
    lines += ["**Status** says how well a formula is known:", ""]
    lines += [f"- {status}: {words}" for status, words in measures.STATUSES.items()]
    lines += ["", "**Over time** says how `--every` aggregates a column when it joins intervals:", ""]
    lines += [f"- {aggregate}: {words}" for aggregate, words in measures.AGGREGATES.items()]
    plain = ", ".join(name for name in names if measures.load_measure(name).plain)
    lines += [
        "",
        f"**Every table** begins with these columns, except {plain}, which list all of theirs:",
        "",
    ]
    lines += _columns(measures.LEADING)
    lines += ["", "| table | one row per | state |", "|---|---|---|"]
    for name in names:
        table = measures.load_measure(name)
        filled = "no reader fills it yet" if table.empty else "filled"
        lines.append(f"| [{name}](#{name}) | {table.grain} | {filled} |")
    for name in names:
        lines += _table(measures.load_measure(name))
    lines += _aliases()
    return "\n".join(lines) + "\n"


def _table(table: measures.Measure) -> list[str]:
    own = table.columns if table.plain else table.columns[len(measures.LEADING) :]
    key = [] if table.plain else ["system", "source", "interval_end"]
    lines = ["", f"## {table.name}", "", table.text]
    lines += ["", f"One row per {table.grain}." + (f" Key: {', '.join([*key, *table.key])}." if key else "")]
    if table.empty:
        lines += ["", "No reader fills this table yet: it is empty, and its columns may still change."]
    return [*lines, "", *_columns(own)]


def _columns(columns: tuple[measures.MeasureColumn, ...]) -> list[str]:
    lines = [
        "| column | type | what it is | formula | over time | status | source |",
        "|---|---|---|---|---|---|---|",
    ]
    for column in columns:
        unit = f", {column.unit}" if column.unit else ""
        formula = f"`{column.formula}`" if column.formula else column.definition
        if column.by:
            formula = f"{formula}{'; ' if formula else ''}[by machine](cpumf.md)"
        if column.given:
            formula = f"`{column.given}` if known; {formula}"
        remarks = [column.text]
        remarks += [f"Needs {column.needs}"] if column.needs else []
        remarks += [f"Note: {column.note}"] if column.note else []
        cells = [
            f"`{column.name}`",
            f"{column.type}{unit}",
            ". ".join(part.rstrip(".") for part in remarks),
            formula,
            f"{column.aggregate}, by `{column.weight}`" if column.weight else column.aggregate,
            column.status,
            column.source,
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _aliases() -> list[str]:
    lines = ["", "## Names of other sources", "", "`zlens explain` accepts these names too.", ""]
    lines += ["| name | is | in |", "|---|---|---|"]
    lines += [
        f"| {name} | `{ours}` | {source} |" for name, (ours, source) in sorted(measures.aliases().items())
    ]
    return lines
