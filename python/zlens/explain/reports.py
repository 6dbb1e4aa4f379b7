"""`zlens explain` of reports: purpose, needs, and the origin of every column."""

from __future__ import annotations

from pathlib import Path

from zlens.catalog import caveats
from zlens.catalog.reports import titles
from zlens.catalog.reports.definition import FOLDER, ReportColumn, load_report
from zlens.rendering.text_lines import wrap_hanging
from zlens.reports import column_facts


def explain_report(wanted: str, folder: Path = FOLDER) -> str:
    """Return the description of a report and of each column: contents, origin, and why it may be dotted."""
    definition = load_report(wanted, folder)
    label = f"{definition.name.upper()} {definition.number}".strip()
    lines = [f"{label}: {definition.title}", ""]
    lines += wrap_hanging("", definition.text)
    lines += ["", f"Group   {definition.group}"]
    lines += wrap_hanging("Source  ", definition.source)
    lines += [f"Status  {definition.status}"]
    lines += wrap_hanging("Needs   ", definition.needs)
    if definition.untimed:
        lines += wrap_hanging("By time ", f"no rows of intervals: {definition.untimed}")
    described: set[tuple[str, ...]] = set()
    for table in definition.tables:
        if table.title:
            lines += ["", titles.with_value_names(table.title)]
        names: dict[str | None, str] = {column.key: column.name for column in table.columns}
        for rows in table.rows:
            plain = rows.kind == "mean" and any(column.mean == "plain" for column in table.columns)
            kind = "plain" if plain else rows.kind
            text = _ROWS[kind].format(of=_KINDS[rows.of], peak=names.get(table.peak))
            # Rows of intervals have their time at the left margin.
            label = rows.label or ("hh:mm:ss" if "interval" in (rows.kind, rows.of) else "")
            lines += wrap_hanging(f"Rows    {label:<8} ", text)
        if table.sort:
            lines += wrap_hanging("Sorted  ", f"by {names[table.sort]}")
        for column in table.columns:
            # Tables of a report share columns, so each is described once.
            description = _column(column)
            if tuple(description) in described:
                lines += ["", f"{description[0]}: as above"]
            else:
                lines += ["", *description]
            described.add(tuple(description))
    for absent in definition.absent:
        lines += ["", *wrap_hanging("Absent  ", ", ".join(absent.columns))]
        lines += wrap_hanging("        ", f"would come from {absent.role}; {absent.why}")
    for note in definition.notes:
        lines += ["", *wrap_hanging("Note    ", note.text)]
    for fault in caveats.explain_lines(caveats.find_caveats(report=definition.name)):
        lines += ["", *wrap_hanging("Fault   ", fault)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_KINDS = {"mean": "mean rows", "interval": "rows of each interval", "row": "rows"}
_ROWS = {
    "mean": "one per subject: each column averaged over its intervals by the weight of the column, except "
    "intervals flagged gap or short and those without a value",
    "plain": "one per subject: the plain mean of its recorded intervals, except those flagged gap or short "
    "and those without a value",
    "total": "totals of the {of}, each by its own rule; sums count each row for its own seconds, over all "
    "intervals in which no addend is missing",
    "peak": "one per subject: the interval in which {peak} was highest, with its time, except intervals "
    "flagged gap or short",
    "interval": "one per interval and subject",
    "row": "one per subject",
    "query": "computed from the measures, not from the other rows",
}
_TOTALS = {
    "sum": "sum",
    "mean": "plain mean",
    "min": "smallest",
    "max": "largest",
    "mix": "the common value, or MIX",
    "count": "number of rows",
}


def _column(column: ReportColumn) -> list[str]:
    unit = column_facts.unit(column)
    lines = [f"{column.name} [{column.key}]{f', {unit}' if unit else ''}"]
    lines += wrap_hanging("    ", column_facts.text(column))
    for measure, fact in column_facts.facts(column):
        formula = fact.formula or fact.definition
        lines += wrap_hanging("    measure  ", f"{measure} = {formula}" if formula else measure)
        lines += wrap_hanging("    source   ", f"{fact.source} ({fact.status})")
    if column.source_note:
        lines += wrap_hanging("    source   ", column.source_note)
    lines.append(f"    status   {column_facts.status(column)}")
    if column.total in _TOTALS:
        lines.append(f"    total    {_TOTALS[column.total]}")
    needs = dict.fromkeys(fact.needs for _, fact in column_facts.facts(column) if fact.needs)
    reason = "; ".join(
        [*([column.missing] if column.missing else []), *(f"it needs {need}" for need in needs)]
    )
    if reason:
        lines += wrap_hanging("    n/a      ", reason)
    return lines
