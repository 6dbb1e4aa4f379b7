"""Decoder plans, compiled from layouts for the native decoder.

A record provides one raw table (`d0r2`) and one for each of its sections (`d0r16_cpudata`), whose rows
are the entries, preceded by the columns of their record. A plan has the columns of all layouts in
use; a column is NULL for layouts without its field.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from zlens.catalog import section_locations
from zlens.catalog.layouts import ENCODINGS, MonitorField, MonitorSection, RecordLayout
from zlens.catalog.raw_columns import FieldElement, RawColumn, field_parts
from zlens.catalog.record_bytes import decode as decode
from zlens.errors import CatalogError
from zlens.schema.structs import FactFile, FactTable, doc

#: Classes of records that are samples of the same subject; only these have differences.
SAMPLED_CLASSES = ("sample",)


def table_names(layouts: Iterable[RecordLayout]) -> list[str]:
    """Return the raw tables of a record: its own, then those of its sections."""
    names: dict[str, None] = {}
    for layout in layouts:
        names.setdefault(layout.record.lower())
    for layout in layouts:
        for section in layout.sections:
            names.setdefault(section_table(layout, section))
    return list(names)


def section_table(layout: RecordLayout, section: MonitorSection) -> str:
    return f"{layout.record}_{section.name}".lower()


def record_plans(record: str, choices: Mapping[int, RecordLayout]) -> list[dict[str, Any]]:
    """Return the plans of all tables of a record, its own first; `choices` is the layout by record length."""
    return [*_plans(record, tuple(sorted(choices.items())))]


@lru_cache(1024)
def _plans(record: str, choices: tuple[tuple[int, RecordLayout], ...]) -> tuple[dict[str, Any], ...]:
    """Return the plans of a record; cached, since all files and fragments of a system have the same."""
    layouts_by_length = dict(choices)
    return tuple(
        table_plan(table, record, layouts_by_length) for table in table_names(layouts_by_length.values())
    )


def table_plan(table: str, record: str, choices: Mapping[int, RecordLayout]) -> dict[str, Any]:
    """Return the plan of one table, which the native decoder reads as JSON."""
    grouped: dict[RecordLayout, list[int]] = {}
    for length, layout in sorted(choices.items()):
        grouped.setdefault(layout, []).append(length)
    if not grouped:
        raise CatalogError(f"no layout of {record} is in use", expected="at least one")
    sections = {layout: _section_of(table, layout) for layout in grouped}
    if table == record.lower():
        used = list(grouped)
    else:
        # The entries of a table are located in one way; a layout that locates them otherwise provides no
        # rows.
        used = [layout for layout in grouped if sections[layout] is not None]
        if not used:
            raise CatalogError(f"{record} has no table {table}", expected=", ".join(table_names(grouped)))
        first = _locate_entries(used[0], sections[used[0]])
        used = [layout for layout in used if _locate_entries(layout, sections[layout]) == first]
    # The most detailed layout determines the order of the columns.
    ordered = sorted(used, key=lambda layout: (-len(layout.fields), layout.length))
    builder = _Builder()
    for layout in ordered:
        builder.add(layout, sections[layout])
    main, section = ordered[0], sections[ordered[0]]
    joined = section is not None and section.join is not None
    subject = [*main.subject, *(section.subject if section else ())]
    return {
        "table": table,
        "domain": main.domain,
        "record": main.number,
        "subject_kind": (section.subject_kind if section else None) or main.subject_kind,
        "columns": builder.columns,
        "subject": [name.lower() for name in subject],
        "reset_on": sorted({name.lower() for layout in ordered for name in layout.reset_on}),
        "section": _locate_entries(main, section) if section and not joined else None,
        "join": _locate_entries(main, section) if section and joined else None,
        "layouts": [
            {"lengths": grouped[layout], "fields": builder.fields(layout, sections[layout])}
            for layout in used
        ],
    }


def plan_columns(plan: Mapping[str, Any]) -> list[RawColumn]:
    """Return the columns of a planned table as the decoder returns it, without the leading columns."""
    columns = []
    for column in plan["columns"]:
        kind = "text" if column["type"] in ("hex", "ascii") else column["type"]
        columns.append(RawColumn(column["name"], kind, column["unit"], column["text"]))
        if column["difference"]:
            text = f"difference of {column['name']} to the sample before"
            columns.append(RawColumn(f"{column['name']}_d", "int", column["unit"], text))
    return columns


class _Builder:
    """Collects the columns of several layouts under the names of their fields."""

    def __init__(self) -> None:
        self.columns: list[dict[str, Any]] = []
        self._index: dict[str, int] = {}
        self._known: list[bool] = []

    def add(self, layout: RecordLayout, section: MonitorSection | None) -> None:
        for part, _ in _parts(layout, section):
            name = part.name.lower()
            index = self._index.get(name)
            if index is None:
                self._index[name] = len(self.columns)
                self.columns.append(_column(name, part, layout))
                self._known.append(part.field.kind != "unknown")
            elif not self._known[index] and part.type == self.columns[index]["type"]:
                # Another release may state the kind.
                self.columns[index] = _column(name, part, layout)
                self._known[index] = part.field.kind != "unknown"

    def fields(self, layout: RecordLayout, section: MonitorSection | None) -> list[dict[str, Any]]:
        located = []
        texts = iter(range(len(section.texts) if section else 0))
        for part, part_name in _parts(layout, section):
            index = self._index[part.name.lower()]
            column = self.columns[index]
            if column["type"] != part.type:
                # Two releases disagree on the type; the more detailed one applies.
                continue
            field = part.field
            located.append(
                {
                    "column": index,
                    "offset": field.offset,
                    "length": field.total_length if part.element is None else field.length,
                    "signed": field.type == "signed",
                    "part": part_name,
                    "element": next(texts) if part_name == "string" else part.element,
                }
            )
        return located


def _parts(layout: RecordLayout, section: MonitorSection | None) -> list[tuple[FieldElement, str]]:
    """Return the columns of a row in order, each with the part of the row that contains it."""
    parts = [
        (part, "record")
        for field in layout.fields
        # A field that extends to the record's end consists of the entries themselves.
        if section is None or field.length
        for part in field_parts(field)
    ]
    if section:
        parts += [(part, part_name) for field, part_name in section.rows for part in field_parts(field)]
    return parts


def _column(name: str, part: FieldElement, layout: RecordLayout) -> dict[str, Any]:
    field = part.field
    text = field.text or ""
    if field.note:
        text = f"{text} ({field.note})" if text else field.note
    return {
        "name": name,
        "type": part.type,
        "unit": "" if field.unit in ENCODINGS else field.unit or "",
        "text": text,
        "difference": _difference(field, part, layout),
    }


def _difference(field: MonitorField, part: FieldElement, layout: RecordLayout) -> dict[str, Any] | None:
    if layout.kind not in SAMPLED_CLASSES or not field.has_difference or part.type != "int":
        return None
    rule = _rule(field)
    return {
        "width": field.length,
        "signed": field.type == "signed",
        "direction": (field.direction or "learn") if field.kind == "timer" else (field.direction or "up"),
        "half_range": rule.half_range,
        "max_rate": rule.max_rate,
    }


class DifferenceRule(FactTable, frozen=True):
    """When a step back of counters is a wrap. Without width, unit and kind, it is for all of them."""

    half_range: Annotated[float, Meta(ge=0, le=1, description="the largest difference, as part of the range")]
    max_rate: Annotated[float, Meta(ge=0, description="the largest difference in a second")]
    source: Annotated[str, doc("where that is from")]
    note: Annotated[str, doc("the reason")]
    width: Annotated[Literal[4, 8] | None, doc("the counter's bytes")] = None
    unit: Annotated[str | None, doc("its unit")] = None
    kind: Annotated[str | None, doc("its kind")] = None


class DifferenceFile(FactFile, frozen=True):
    """Rules, of which the first that fits applies."""

    path: ClassVar = "zvm/differences.toml"
    rule: tuple[DifferenceRule, ...]


def _rule(field: MonitorField) -> DifferenceRule:
    for rule in DifferenceFile.load().rule:
        if (
            rule.width in (None, field.length)
            and rule.unit in (None, field.unit)
            and rule.kind in (None, field.kind)
        ):
            return rule
    raise CatalogError(
        f"no rule of differences.toml applies to {field.name}", expected="a rule for all fields"
    )


def _section_of(table: str, layout: RecordLayout) -> MonitorSection | None:
    return next((section for section in layout.sections if section_table(layout, section) == table), None)


def _locate_entries(layout: RecordLayout, section: MonitorSection | None) -> dict[str, Any]:
    """Return the locations of the entries, or the rules for joining records, for the decoder."""
    if section is None:
        return {}
    return (
        section_locations.join_location(layout, section)
        if section.join
        else section_locations.entry_location(layout, section)
    )
