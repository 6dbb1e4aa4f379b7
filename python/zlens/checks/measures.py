"""Checks of the measures of the catalog: their columns, formulas and aliases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from zlens.catalog import aggregation, cpumf_formulas, expressions, measures, roles
from zlens.catalog.measures import Measure, MeasureColumn
from zlens.checks.records import CatalogIssue
from zlens.compiler import nodes
from zlens.errors import CatalogError

_NAME = re.compile(r"[a-z][a-z0-9_]*")
#: Units that the suffix of a name implies.
_PROMISES = {
    "_pct": ("%",),
    "_rate": ("/s", "bytes/s"),
    "_s": ("s",),
    "_bytes": ("bytes",),
    "_pages": ("pages",),
}

#: Column, problem, fix.
_Problems = Iterator[tuple[str | None, str, str]]


def check() -> list[CatalogIssue]:
    """Return catalog issues of the files of the measures."""
    findings: list[CatalogIssue] = []
    for path in measures.measure_files():
        findings += check_text(path.read_text(encoding="utf-8"), path)
    path = measures.FOLDER / "aliases.toml"
    try:
        for alias, (ours, _) in measures.aliases().items():
            if not measures.columns_named(ours):
                message = "name a column of a measure"
                findings.append(CatalogIssue(str(path), None, f"{alias} leads to {ours}", message))
    except (CatalogError, KeyError) as error:
        findings.append(CatalogIssue(str(path), None, str(error), "write it like the other names"))
    return findings


def check_text(text: str, path: Path) -> list[CatalogIssue]:
    """Return catalog issues of the file of one or more measures."""
    try:
        tables = measures.parse(text, str(path))
    except CatalogError as error:
        cure = f"expected {error.expected or 'another format'}"
        return [CatalogIssue(error.file or str(path), None, error.message, cure)]
    findings = []
    if [table.name for table in tables] != path.stem.split("+"):
        names = ", ".join(table.name for table in tables)
        message = "name the file after its measures"
        findings.append(CatalogIssue(str(path), None, f"the file contains {names}", message))
    for table in tables:
        for column, problem, cure in _table(table):
            heading = re.search(rf'^(name = "{column}"|{column}( = {{|\.))', text, re.MULTILINE)
            line = text.count("\n", 0, heading.start()) + 1 if heading else None
            what = f"{column}: {problem}" if column else problem
            findings.append(CatalogIssue(str(path), line, what, cure))
    return findings


def _table(table: Measure) -> _Problems:
    if not table.text or not table.grain:
        yield None, "text or grain is empty", "describe one row"
    names = [column.name for column in table.columns]
    for twice in sorted({column_name for column_name in names if names.count(column_name) > 1}):
        yield twice, "is defined twice", "rename one"
    for key in table.key:
        column = table.column(key)
        if column is None:
            yield None, f"the key {key} is not a column", "name columns of the table"
        elif column.aggregate != "key":
            yield key, f"a key of the table has the aggregate {column.aggregate}", "set its aggregate to key"
    seen = {*measures.LEADING_NAMES}
    for column in table.columns:
        yield from _column(table, column, seen)
        seen.add(column.name)
    for column in table.columns:
        yield from _aggregation(table, column)
    for name in set(table.never_merged) - set(table.key):
        yield name, "is in never_merged, but not in the key", "name columns of the key"


def _aggregation(table: Measure, column: MeasureColumn) -> _Problems:
    """Check that a column states everything needed to aggregate its rows, and nothing else."""
    name, ratio = column.name, column.aggregate == "ratio"
    if ratio and bool(column.weight) == bool(column.unweighted):
        yield name, "a ratio has a weight or a reason why it is unweighted", "set weight or unweighted"
    if column.weight and column.aggregate not in ("ratio", "gauge"):
        yield name, f"{column.aggregate} has a weight", "leave it out"
    if column.unweighted and not ratio:
        yield name, f"{column.aggregate} has the key unweighted", "leave it out"
    across = column.over_subjects
    if across and across not in measures.ACROSS and not across.startswith("by "):
        problem = f"over_subjects is {across!r}"
        yield name, problem, f"use one of {', '.join(measures.ACROSS)}, by FORMULA"
    if column.share_of:
        whole = aggregation.whole_of(column)[1]
        if {column.aggregate, whole.aggregate} - {"counter", "time"} or column.unit != whole.unit:
            yield name, f"share_of is {column.share_of}", "name a counter or time of the same unit"
    for formula in (column.weight, column.mean, column.subject_filter, across.partition("by ")[2]):
        if "." in formula:
            yield name, f"`{formula}` names a role", "name columns of the row: roles are not available here"
        elif formula:
            yield from _formula(name, formula, {other.name for other in table.columns})


def _column(table: Measure, column: MeasureColumn, seen: set[str]) -> _Problems:
    name = column.name
    if not _NAME.fullmatch(name):
        yield name, "a name may contain lower-case letters, digits and _", "rename it"
    for key, value, allowed in (
        ("type", column.type, measures.TYPES),
        ("aggregate", column.aggregate, tuple(measures.AGGREGATES)),
        ("status", column.status, tuple(measures.STATUSES)),
        ("scope", column.scope, measures.SCOPES),
        ("unit", column.unit, tuple(sorted(measures.UNITS))),
    ):
        if value not in allowed:
            yield name, f"{key} is {value!r}", f"use one of {', '.join(filter(None, allowed))}"
    if not column.text or not column.source:
        yield name, "text or source is empty", "describe it and add its source"
    for ending, units in _PROMISES.items():
        if name.endswith(ending) and column.unit not in units:
            yield name, f"a name ending in {ending} has the unit {column.unit!r}", f"use {' or '.join(units)}"
    if column.type not in ("int", "float"):
        if column.unit:
            yield name, f"{column.type} has a unit", "leave it empty"
        if column.aggregate in ("counter", "time", "ratio", "gauge"):
            yield name, f"{column.type} has the aggregate {column.aggregate}", "use key or state"
    if column.varies_by:
        if column.formula or table.no_reader:
            yield name, "depends on the machine, but has a formula or an empty table", "leave one out"
        if name not in cpumf_formulas.columns():
            yield name, "depends on the machine, but no machine has it", "see facts/machines"
    if column.preferred_formula:
        if not column.varies_by:
            yield name, "has a given, but does not depend on the machine", "use it as the formula"
        yield from _formula(name, column.preferred_formula, seen)
    if column.formula:
        if table.no_reader:
            yield name, "has a formula, but the table is empty", "use it as the definition"
        yield from _formula(name, column.counts or column.formula, seen)
    if column.published:
        if not column.formula:
            yield name, "has a published form, but no formula", "add the formula"
        yield from _formula(name, column.published, seen)


def _formula(name: str, formula: str, seen: set[str]) -> _Problems:
    try:
        referred = expressions.names(formula)
    except CatalogError as error:
        yield name, error.message, "correct the formula"
        return
    for reference in referred:
        entity, dot, role = reference.partition(".")
        if not dot:
            if reference not in seen:
                yield name, f"{reference} is not an earlier column", "move it up, or name a role"
        elif entity in roles.entities():
            if role not in roles.entity(entity).roles:
                yield name, f"{reference} is not a role", f"see roles/{entity}.toml"
        elif not nodes.is_helper(f"_{entity}"):
            yield name, f"{entity} is neither an entity of roles nor a helper of measures", "see roles/"
