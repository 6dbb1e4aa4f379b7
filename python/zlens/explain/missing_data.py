"""Why report columns have no values: records missing from the input, and roles without a known field.

A column without a value is traced from the report to its measures, from their formulas to the roles they
need, and from each role to the raw tables and fields that provide it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from zlens.catalog import layouts, roles
from zlens.catalog.layouts import record_of_table as _record
from zlens.catalog.reports.definition import FOLDER, ReportColumn, load_report, names
from zlens.explain.lineage import column_lineage
from zlens.rendering.text_lines import wrap_hanging
from zlens.reports.report_list import ReportEntry, entry, report_values, value_counts

if TYPE_CHECKING:
    from zlens.session.session import CoreSession

#: Names of fields in the synthetic layouts without a known public name.
_OURS = re.compile(r"_ZL[A-Z0-9]+$")


class AvailableData(Struct, frozen=True):
    """Contents of an input: raw tables with their columns, and records, decoded or not."""

    tables: Mapping[str, frozenset[str]]
    records: frozenset[str]


class MissingRole(Struct, frozen=True):
    """A role that columns need but that has no values, with the reasons."""

    role: str
    #: Records that contain it but are missing from the input.
    records: tuple[str, ...]
    #: Reason why records of the input do not provide it; '' if none should.
    why: str


class MissingReportData(Struct):
    """A report for an input: the number of columns with values, and missing data of the others."""

    entry: ReportEntry
    columns: list[str] = field(default_factory=list)
    missing: dict[str, MissingRole] = field(default_factory=dict)

    @property
    def records(self) -> list[str]:
        """Records that are missing from the input and would provide values."""
        return sorted(
            {record for missing in self.missing.values() for record in missing.records},
            key=layouts.record_key,
        )

    @property
    def roles(self) -> list[str]:
        """Roles that records of the input should provide but do not."""
        return sorted(name for name, missing in self.missing.items() if missing.why)


def missing_by_report(
    session: CoreSession, available: AvailableData, folder: Path | None = None
) -> list[MissingReportData]:
    """Return all reports (of a folder) by group and name, with their missing data for an input."""
    reports = []
    # Cached, because many columns depend on the same roles.
    role_cache: dict[tuple[str, str], MissingRole | None] = {}
    report_folder = folder or FOLDER
    definitions = [load_report(name, report_folder) for name in names(report_folder)]
    counts = value_counts(definitions, session)
    for definition in definitions:
        values = report_values(definition, session, counts)
        report = MissingReportData(entry(definition, values.count))
        for table in definition.tables:
            for column in table.columns:
                if (table.key, column.key) not in values.columns:
                    report.columns.append(column.name)
                    report.missing.update(_missing(column, available, role_cache))
            if not report.missing and not values.columns:
                # No column names a measure, so use the entities that its query reads.
                for entity in column_lineage().entities(table.query):
                    report.missing.update(_entity(entity, available))
        reports.append(report)
    return sorted(reports, key=lambda report: (report.entry.group, report.entry.name))


def _entity(entity: str, available: AvailableData) -> dict[str, MissingRole]:
    """Return the entity as missing, if the input has none of its records."""
    if any(origin.table in available.tables for origin in roles.entity(entity).origins):
        return {}
    missing = _role(entity, "", available)
    return {entity: replace(missing, role=entity)} if missing else {}


def _missing(
    column: ReportColumn, available: AvailableData, known: dict[tuple[str, str], MissingRole | None]
) -> dict[str, MissingRole]:
    by_role = {}
    for measure in column.measures:
        table, _, name = measure.partition(".")
        for entity, role in column_lineage().roles(table, name):
            if (entity, role) not in known:
                known[entity, role] = _role(entity, role, available)
            missing = known[entity, role]
            if missing is not None:
                by_role[missing.role] = missing
    return by_role


def _role(entity: str, role: str, available: AvailableData) -> MissingRole | None:
    """Return why a role has no values; None if no reason is known."""
    # Only z/VM monitor records can be reported as not recorded.
    origins = [origin for origin in roles.entity(entity).origins if _record(origin.table)]
    bound = [origin for origin in origins if role in origin.roles] or origins
    reasons = []
    for origin in roles.entity(entity).origins:
        if origin.table not in available.tables:
            record = _record(origin.table)
            if record in available.records and origin in bound:
                reasons.append(f"no layout of {record} is known{_page(origin.table)}")
            continue
        rule = origin.roles.get(role)
        if rule is None:
            reasons.append(f"no field of {_label(origin.table)} is known to contain it{_page(origin.table)}")
            continue
        missing_fields = _fields(rule, available.tables[origin.table])
        if not missing_fields:
            return None
        reasons.append(_missing_reason(origin.table, missing_fields))
    missing_records = [
        record for origin in bound if (record := _record(origin.table)) and record not in available.records
    ]
    if not reasons and not missing_records:
        return None
    return MissingRole(
        f"{entity}.{role}", tuple(dict.fromkeys(missing_records)), "; ".join(dict.fromkeys(reasons))
    )


def _missing_reason(table: str, fields: list[str]) -> str:
    label, page = _label(table), _page(table)
    public = [name for name in fields if not _OURS.search(name)]
    if public:
        return f"the layout used for {label} has no {' or '.join(public)}{page}"
    # Synthetic names: the field exists, but its public name is not known.
    return f"the field of {label} has no public name{page}"


def _page(table: str) -> str:
    record = _record(table)
    head = layouts.record_info(record) if record else None
    return f" (page {head.dsect})" if head else ""


def _fields(rule: roles.RoleValue, columns: frozenset[str]) -> list[str]:
    """Return the fields that a role needs if the table has none of them; [] if it has one."""
    names = list(rule.fields)
    if not names or any(name.lower() + rule.suffix in columns or name == "seconds" for name in names):
        return []
    if rule.fallback and not _fields(rule.fallback, columns):
        return []
    undifferenced = [name for name in names if name.lower() in columns]
    return [f"difference of {name}" for name in undifferenced] or names


def _label(table: str) -> str:
    return _record(table) or table


def format_missing(reports: list[MissingReportData]) -> str:
    """Return the reports as text with their missing data; the reasons follow once for all."""
    lines = ["Reports of this input"]
    width = max((len(report.entry.name) for report in reports), default=0)
    for report in reports:
        state = {"none": "no data", "partial": "partial"}.get(report.entry.state)
        counted = f"{report.entry.available} of {report.entry.known} columns"
        absent = report.entry.known - report.entry.columns
        remarks = [part for part in (state, f"{absent} have no public source" if absent else "") if part]
        remark = f" ({', '.join(remarks)})" if remarks else ""
        lines.append(f"  {report.entry.name:<{width}}  {counted}{remark}")
        missing_parts = [", ".join(part) for part in (report.records, report.roles) if part]
        if missing_parts:
            lines += wrap_hanging(" " * (width + 4), f"missing: {'; '.join(missing_parts)}")
        elif report.columns:
            lines += wrap_hanging(
                " " * (width + 4), f"zlens explain {report.entry.name} shows what its columns need"
            )
    records = sorted({record for report in reports for record in report.records}, key=layouts.record_key)
    if records:
        lines += ["", "Records that are not in the input"]
    for record in records:
        head = layouts.record_info(record)
        lines.append(f"  {record:<7} {head.title if head else 'not in the catalog'}")
    missing = {name: report.missing[name] for report in reports for name in report.roles}
    if missing:
        lines += ["", "Roles without a field"]
    for name, role in sorted(missing.items()):
        lines.append(f"  {name}")
        lines += wrap_hanging("      ", role.why)
    if missing:
        lines += ["Imported record pages may contain their fields; roles.toml binds fields with other names."]
    return "\n".join(lines) + "\n"
