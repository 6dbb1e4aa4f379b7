"""`zlens explain` of reports: purpose, needs, and the origin of every column."""

from __future__ import annotations

from pathlib import Path

from zlens.catalog import caveats
from zlens.catalog.reports import titles
from zlens.catalog.reports.definition import FOLDER, ReportColumn, RowKind, load_report
from zlens.explain.text_format import wrap_hanging
from zlens.reports import column_facts


def explain_report(wanted: str, folder: Path = FOLDER) -> str:
    """The description of a report and, for each column, contents, origin, and why it may be dotted."""
    definition = load_report(wanted, folder)
    label = f"{definition.name.upper()} {definition.number}".strip()
    lines = [f"{label}: {definition.title}", ""]
    lines += _wrapped(definition.text, "")
    lines += ["", f"Group   {definition.group}"]
    lines += _wrapped(definition.source, "Source  ")
    lines += [f"Status  {definition.status}"]
    lines += _wrapped(definition.needs, "Needs   ")
    described: set[tuple[str, ...]] = set()
    for table in definition.tables:
        if table.title:
            lines += ["", titles.with_value_names(table.title)]
        for rows in table.rows:
            plain = rows.kind == "mean" and any(column.mean == "plain" for column in table.columns)
            kind = "plain" if plain else rows.kind
            lines += _wrapped(
                _ROWS[kind].format(of=_KINDS[rows.of]), f"Rows    {rows.label or _label(rows):<8} "
            )
        for column in table.columns:
            # Tables of a report share columns: each is described once.
            description = _column(column)
            if tuple(description) in described:
                lines += ["", f"{description[0]}: as above"]
            else:
                lines += ["", *description]
            described.add(tuple(description))
    for absent in definition.absent:
        lines += ["", *_wrapped(", ".join(absent.columns), "Absent  ")]
        lines += _wrapped(f"would come from {absent.role}; {absent.why}", "        ")
    for note in definition.notes:
        lines += ["", *_wrapped(note.text, "Note    ")]
    for fault in caveats.explain_lines(caveats.find_caveats(report=definition.name)):
        lines += ["", *_wrapped(fault, "Fault   ")]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_KINDS = {"mean": "mean rows", "interval": "rows of each interval", "row": "rows"}
_ROWS = {
    "mean": "one per subject: each column averaged over its intervals by the weight of the column, except "
    "intervals flagged gap or short and those without a value",
    "plain": "one per subject: the plain mean of its recorded intervals, except those flagged gap or short "
    "and those without a value",
    "total": "totals of the {of}, each by its own rule; sums count each row for its own seconds, over all "
    "intervals in which no addend is missing",
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


def _label(rows: RowKind) -> str:
    """The left margin of rows without a label."""
    return "hh:mm:ss" if rows.kind == "interval" or rows.of == "interval" else ""


def _column(column: ReportColumn) -> list[str]:
    unit = column_facts.unit(column)
    lines = [f"{column.name} [{column.key}]{f', {unit}' if unit else ''}"]
    lines += _wrapped(column_facts.text(column), "    ")
    for measure, fact in column_facts.facts(column):
        formula = fact.formula or fact.definition
        lines += _wrapped(f"{measure} = {formula}" if formula else measure, "    measure  ")
        lines += _wrapped(f"{fact.source} ({fact.status})", "    source   ")
    if column.source_note:
        lines += _wrapped(column.source_note, "    source   ")
    lines.append(f"    status   {column_facts.status(column)}")
    if column.total in _TOTALS:
        lines.append(f"    total    {_TOTALS[column.total]}")
    needs = dict.fromkeys(fact.needs for _, fact in column_facts.facts(column) if fact.needs)
    reason = "; ".join(
        [*([column.missing] if column.missing else []), *(f"it needs {need}" for need in needs)]
    )
    if reason:
        lines += _wrapped(reason, "    n/a      ")
    return lines


def _wrapped(text: str, head: str) -> list[str]:
    return wrap_hanging(head, text) if text else []
