"""Plans for the record writer of the simulator, compiled from layouts.

A simulated file uses zlens' own layouts where the real offsets of fields are not public, and those of
z/VM 5.3 otherwise; a system of a given release uses only the layouts of that release.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zlens.catalog import layouts
from zlens.catalog.layouts import MonitorField, MonitorSection, RecordJoin, RecordLayout
from zlens.catalog.raw_columns import column_type
from zlens.schema.structs import attributes

#: Release whose layouts are used where zlens has none of its own.
RELEASE = "5.3"
#: Releases with enough public layouts to record a system with these only.
RELEASES = (RELEASE,)
#: A record that D5R17 replaced in later releases.
_REPLACED = "D5R3"
#: A known field that this layout does not have.
_ABSENT_FIELD = {"at": 0, "length": 0, "count": 0, "form": "number", "absent": True}
#: Encoding of a value by the type of its column.
_FORMS = {"text": "ebcdic", "ascii": "ascii", "hex": "bytes"}


def writing_layout(record: str) -> RecordLayout | None:
    """Return the layout with which a simulated file writes a record, if there is one."""
    return next(iter(layouts.sim_layouts(record)), None) or _layout_of_release(record, RELEASE)


def _layout_of_release(record: str, release: str) -> RecordLayout | None:
    known = (one for one in layouts.layouts(record) if (one.pack, one.release) == (layouts.BUILTIN, release))
    return next(known, None)


def release_mark(release: str | None) -> str:
    """Return the release name in the records of such a system."""
    return layouts.SIM_MARK if release is None else f"{release}.0"


def writer_plan(release: str | None = None) -> list[dict[str, Any]]:
    """Return the layouts of all records for the simulator: fields by name, without their record's prefix.

    With a release, they are those of that release; records, sections and fields missing in it are marked
    absent.
    """
    return [
        _of_release(layout, release) if release else {**_record(layout), "absent": layout.record == _REPLACED}
        for record in layouts.records()
        if (layout := writing_layout(record))
    ]


def _of_release(own: RecordLayout, release: str) -> dict[str, Any]:
    layout = _layout_of_release(own.record, release)
    return _with_absent(_record(layout), _record(own)) if layout else {**_record(own), "absent": True}


def _with_absent(plan: dict[str, Any], reference: dict[str, Any]) -> dict[str, Any]:
    """Return a layout with fields and sections marked absent that only another layout has."""
    for part in ("fields", "sections"):
        for name in reference[part].keys() - plan[part].keys():
            plan[part][name] = (
                _ABSENT_FIELD if part == "fields" else {**reference[part][name], "absent": True}
            )
    for name, section in plan["sections"].items():
        fields = reference["sections"].get(name, section)["fields"]
        section["fields"] |= dict.fromkeys(fields.keys() - section["fields"].keys(), _ABSENT_FIELD)
    return plan


def _record(layout: RecordLayout) -> dict[str, Any]:
    prefix = layout.dsect.removeprefix("MR") + "_"
    return {
        "record": layout.record,
        "domain": layout.domain,
        "number": layout.number,
        "length": layout.length,
        "fields": _fields(layout.fields, prefix),
        "sections": {section.name: _section(section, prefix) for section in layout.sections},
    }


def _fields(fields: Sequence[MonitorField], prefix: str) -> dict[str, dict[str, Any]]:
    return {
        field.name.removeprefix(prefix): {
            "at": field.offset,
            "length": field.length,
            "count": field.count,
            "form": _FORMS.get(column_type(field), "number"),
        }
        for field in fields
    }


def _section(section: MonitorSection, prefix: str) -> dict[str, Any]:
    def without_prefix(value: str | int | None) -> str | int | None:
        return value.removeprefix(prefix) if isinstance(value, str) else value

    join = section.join
    return {
        "length": section.length,
        "stride": without_prefix(section.stride),
        "offset": without_prefix(section.offset),
        "count": without_prefix(section.count),
        "match": None if section.match is None else (without_prefix(section.match[0]), section.match[1]),
        "bound": without_prefix(section.bound),
        "within": section.within,
        "join": join and {name: without_prefix(value) for name, value in _join(join).items()},
        "fields": _fields(section.fields, prefix),
    }


def _join(join: RecordJoin) -> dict[str, Any]:
    return {
        **attributes(join, "more", "more_bit", "active", "cfvn", "csvn"),
        "length": join.length or join.sets[0].length,
        "sets": [{"name": counters.name, "bit": counters.bit} for counters in join.sets],
    }
