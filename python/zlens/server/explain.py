"""Explanations of names as text and as facts for the web UI, and values with the bytes of their records."""

from __future__ import annotations

from typing import Any

from zlens.explain import names
from zlens.explain.description import Description
from zlens.explain.value_origin import RecordBytes, find_origin
from zlens.inputs.options import parse_time_spec
from zlens.server import buckets, json_values
from zlens.server.json_values import attributes
from zlens.server.workspace import Workspace

#: Labels that name an option of the command line.
_LABELS = {"--every": "Combined"}


def answer(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    name = request["name"]
    sections = [_section(section) for section in names.describe_name(name)]
    return {"name": name, "text": names.explain(name), "sections": sections}


def _section(section: Description | str) -> dict[str, Any]:
    """Return the title, facts and members of a description; a text has no facts."""
    if isinstance(section, str):
        title, _, text = section.partition("\n")
        return {"title": title, "text": text.strip("\n"), "facts": [], "members": {}, "example": ""}
    facts = {label: [fact] if isinstance(fact, str) else fact for label, fact in section.facts if fact}
    example = facts.pop("Example", [section.example])
    return {
        "title": section.title,
        "text": "",
        "facts": [
            {"label": _LABELS.get(label, label), "lines": lines} for label, lines in facts.items() if lines
        ],
        "members": section.members,
        "example": "\n".join(example),
    }


def origin(workspace: Workspace, request: dict[str, Any]) -> dict[str, Any]:
    """Return a value of a column with the records it is computed from, and their bytes."""
    if request["system"] is not None:
        workspace.system_names(request["system"])
    at = None if request["at"] is None else parse_time_spec(request["at"])
    found = find_origin(
        workspace.session,
        request["column"],
        request["system"],
        at,
        request["of"],
        request["source"],
        buckets.span(request),
    )
    return {
        **attributes(found, "column", "system", "source"),
        "end": json_values.epoch_seconds(found.end),
        **attributes(found, "subject", "value", "unit", "formula", "inputs"),
        "records": [_record(record) for record in found.records],
        "more": found.more,
    }


def _record(record: RecordBytes) -> dict[str, Any]:
    field_keys = ("column", "value", "difference", "offset", "length")
    return {
        **attributes(record, "table", "file", "offset"),
        "time": json_values.epoch_seconds(record.time),
        **attributes(record, "before", "roles"),
        "fields": [attributes(field, *field_keys) for field in record.fields],
        "hex": None if record.data is None else record.data.hex(),
        "note": record.note,
    }
