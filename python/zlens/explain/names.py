"""`zlens explain`: the origin of a number, and why it may be missing.

Explains a measure or one of its columns, another source's name of a column, a report or one of its columns, a
role, a record, a field of a record, a raw table or column of a reader, and a counter of CPU MF.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache

from zlens.catalog import aggregation, caveats, cp_commands, expressions, layouts, measures, roles, rules
from zlens.errors import QueryError
from zlens.explain.cpumf import counter_names, counter_pages, formula_lines, name_lines
from zlens.explain.description import Description, Facts, format_text
from zlens.explain.lineage import column_lineage, raw_lines
from zlens.explain.listings import listing_names, listing_pages
from zlens.explain.records import (
    field_names,
    input_lines,
    printed_pages,
    printed_reports,
    record_pages,
    role_pages,
)
from zlens.explain.smf import smf_names, smf_pages
from zlens.rendering.text_lines import WIDTH
from zlens.schema.wording import phrase

#: Suffixes of columns that --every adds to a gauge.
_SPREAD = {"_p50": "median", "_p95": "95th percentile", "_max": "maximum"}
#: Columns whose names are SQL keywords.
_RESERVED = frozenset({"offset"})


def explain(name: str) -> str:
    """Return the explanation of a name; QueryError with near matches if it is unknown."""
    texts = [section if isinstance(section, str) else format_text(section) for section in describe_name(name)]
    return ("\n" + "-" * WIDTH + "\n").join(text.rstrip("\n") + "\n" for text in texts)


def describe_name(name: str) -> list[Description | str]:
    """Return the descriptions of a name; those of reports are text. QueryError if the name is unknown."""
    requested = name.strip()
    sections = list(_sections(requested))
    if not sections:
        raise _unknown(requested)
    return sections


def _sections(requested: str) -> Iterator[Description | str]:
    lower = requested.lower()
    if lower.startswith("role."):
        yield from role_pages(lower.removeprefix("role."))
        return
    if _is_report(requested):
        from zlens.explain.reports import explain_report

        yield explain_report(requested)
    if lower in measures.measure_names():
        yield describe_measure(measures.load_measure(lower))
    columns = measures.find_columns(requested) or _spread(lower)
    if lower in measures.LEADING_NAMES:
        yield _leading(lower)
        columns = [(table, column) for table, column in columns if table.plain]
    for table, column in columns:
        yield _column(table, column, requested)
    yield from _report_column(lower, {f"{table.name}.{column.name}" for table, column in columns})
    yield from role_pages(lower)
    yield from record_pages(lower)
    yield from printed_pages(lower)
    yield from listing_pages(lower)
    yield from counter_pages(requested)
    yield from smf_pages(lower)
    if lower == "findings" or rules.is_id(requested.upper()):
        from zlens.explain.rules import rule_pages

        yield from rule_pages(requested)
    yield from _command(requested)
    if lower == "caveats":
        faults = caveats.explain_lines(caveats.caveats())
        yield Description("caveats: known recording errors, by level", [("Faults", faults)])


def _command(requested: str) -> Iterator[Description]:
    """Yield the description of a CP command whose response may be saved as text."""
    command = cp_commands.find_command(requested)
    if command is None:
        return
    if command.labels:
        read = "read as text: the table cp_capability; changes between responses are events"
    elif command.is_supported:
        read = "read as text: the table cp_response"
    else:
        read = f"{command.unsupported_reason}; it is stored as text in the table cp_response"
    facts: Facts = [("Response", [read]), ("Instead", [command.instead]), ("Source", [command.source])]
    yield Description(command.name, facts)


def _unknown(requested: str) -> QueryError:
    names = {name.lower(): name for name in (*known_names(), *field_names())}
    near = difflib.get_close_matches(requested.lower(), names, n=3, cutoff=0.6)
    cure = f"did you mean {' or '.join(names[name] for name in near)}?" if near else phrase("names")
    return QueryError(
        f"{requested!r} is not a known name",
        expected="a measure, TABLE.COLUMN, a report, a rule, a role, a record, its table or a field of one",
        cure=cure,
    )


@cache
def known_names() -> tuple[str, ...]:
    """Return all names that can be explained, except fields of records."""
    names: list[str] = []
    for table, column in measures.all_columns():
        names += [table.name, column.name, f"{table.name}.{column.name}"]
    names += measures.aliases()
    for entity in roles.entities():
        names += [f"{entity}.{role}" for role in roles.entity(entity).roles]
    names += layouts.records()
    names += counter_names()
    names += smf_names()
    for report in printed_reports():
        names += [table.name for table in report.tables]
    names += listing_names()
    names += _report_names()
    names += rules.names()
    names += [command.name for command in cp_commands.commands()]
    return tuple(dict.fromkeys(names))


def _leading(name: str) -> Description:
    column = next(column for column in measures.LEADING if column.name == name)
    return Description(
        f"{name}: {column.text}",
        [
            ("Where", "the first columns of every measure"),
            ("Source", column.source),
            ("Type", column.type_and_unit),
        ],
    )


def describe_measure(table: measures.Measure) -> Description:
    """Return the description of a measure."""
    facts: Facts = [
        ("Rows", f"one per {table.grain}"),
        ("Key", ", ".join(table.row_key) or "the row itself"),
        ("NULL", "no reader provides this table yet; it is empty" if table.no_reader else ""),
        ("Fault", _faults(table.name)),
    ]
    units = {column.name: f" [{column.unit}]" if column.unit else "" for column in table.columns}
    order = f" ORDER BY {', '.join(table.row_key)}" if table.row_key else ""
    return Description(
        f"{table.name}: {table.text}",
        facts,
        {column.name: column.text + units[column.name] for column in table.columns},
        "Columns (details: explain TABLE.COLUMN)",
        f"SELECT * FROM {table.name}{order}",
    )


def _faults(measure: str) -> list[str]:
    """Return known recording errors that affect a measure or one of its columns, by level."""
    return caveats.explain_lines(caveats.find_caveats(measure=measure))


def _spread(name: str) -> list[tuple[measures.Measure, measures.MeasureColumn]]:
    """Return the gauges underlying a name that exists only with --every."""
    for ending in _SPREAD:
        if name.endswith(ending):
            columns = measures.find_columns(name.removesuffix(ending))
            return [(table, column) for table, column in columns if column.aggregate == "gauge"]
    return []


def _also(column: measures.MeasureColumn, wanted: str) -> str:
    """Return how the requested name refers to the column, if it is another name."""
    plain = wanted.lower().rpartition(".")[2]
    if plain == column.name:
        return ""
    for ending, statistic in _SPREAD.items():
        if plain == column.name + ending:
            return f"{plain} is its {statistic} over the intervals that --every combines"
    return f"{wanted} is its name in {measures.alias_source(wanted)}"


def _column(table: measures.Measure, column: measures.MeasureColumn, wanted: str) -> Description:
    raw, rows = raw_lines(table, column)
    return Description(
        f"{table.name}.{column.name}: {column.text}",
        [
            ("Also", _also(column, wanted)),
            ("Table", f"{table.name}, one row per {table.grain}"),
            ("Value", f"{column.type_and_unit}; of {measures.SCOPES[column.scope]}"),
            (
                "Reported",
                f"{column.preferred_formula}, if known; else by the formula"
                if column.preferred_formula
                else "",
            ),
            ("Formula", formula_lines(column) if column.varies_by else column.formula),
            ("Rounded", f"{column.published}, with --as-published" if column.published else ""),
            ("Names", name_lines(column) if column.varies_by else []),
            ("Defined", column.definition),
            ("Inputs", input_lines(table, column_lineage().sources(table, column))),
            ("Raw", raw),
            ("Rows by", rows),
            ("--every", measures.AGGREGATES[column.aggregate]),
            ("Mean", _mean(column)),
            ("Differs", f"with --every: {column.every_note}" if column.every_note else ""),
            ("Source", column.source),
            ("Status", _status(column.status)),
            ("Needs", column.needs),
            ("NULL", _null(table, column)),
            ("Note", column.note),
            ("Fault", _faults(f"{table.name}.{column.name}")),
            ("Example", example(table, column)),
        ],
    )


def _mean(column: measures.MeasureColumn) -> str:
    """Return how rows are averaged over time and over the subjects of an interval."""
    if column.aggregate not in ("ratio", "gauge"):
        return ""
    over = aggregation.subject_rule(column)
    subjects = "alike" if over == "mean" else measures.ACROSS.get(over, f"mean {over}")
    if column.unweighted:
        return f"NULL over time: {column.unweighted}; of several subjects: {subjects}"
    if column.mean:
        return f"of rows over time {column.mean} of their means; of several subjects: {subjects}"
    return f"of rows over time by {column.weight or 'seconds'}; of several subjects: {subjects}"


def _status(status: str) -> str:
    return f"{status}: {measures.STATUSES[status]}"


def example(table: measures.Measure, column: measures.MeasureColumn) -> str:
    """Return a query that shows a column with the keys of its rows."""
    keys = [key for key in table.row_key if key not in ("source", column.name)]
    order = f" ORDER BY {', '.join(keys)}" if keys else ""
    shown = expressions.quote(column.name) if column.name in _RESERVED else column.name
    return f"SELECT {', '.join([*keys, shown])} FROM {table.name}{order}"


def _null(table: measures.Measure, column: measures.MeasureColumn) -> str:
    if table.no_reader:
        return "always: no reader provides this table yet"
    if column.varies_by:
        return "if the machine does not have it, its counters were not recorded, or its divisor is 0"
    if column.formula:
        divided = ", or the divisor is 0" if "/" in column.formula else ""
        return f"if an input is not in the data{divided}"
    if table.plain or column.name in measures.LEADING_NAMES:
        return "if the source does not provide it"
    return "always, so far: no known record field contains it"


@cache
def _report_names() -> tuple[str, ...]:
    """Return names and numbers of all reports."""
    from zlens.catalog.reports import definition

    return (*definition.names(), *definition.numbers())


def _is_report(name: str) -> bool:
    return name.lower() in map(str.lower, _report_names())


def _report_column(name: str, explained: set[str]) -> Iterator[Description]:
    """Yield descriptions of `report.column` and of the measures it shows that are not yet explained."""
    report_name, dot, bare = name.rpartition(".")
    if not dot or not _is_report(report_name):
        return
    from zlens.catalog.reports import definition
    from zlens.reports import column_facts

    report = definition.load_report(report_name)
    for table in report.tables:
        for column in table.columns:
            if bare not in (column.key, column.name.lower()):
                continue
            yield Description(
                f"{report.name}.{column.key}: {column_facts.text(column)}",
                [
                    ("Report", f"{report.name.upper()} {report.number}: {report.title}"),
                    ("Heading", column.name),
                    ("Unit", column_facts.unit(column)),
                    ("Shows", ", ".join(column.measures)),
                    ("Source", column.source_note),
                    ("Status", _status(column_facts.status(column))),
                    ("Not available", column.missing),
                ],
            )
            for measure in column.measures:
                if measure not in explained:
                    explained.add(measure)
                    yield from (
                        _column(table, shown, measure) for table, shown in measures.find_columns(measure)
                    )
