"""Fields that the catalog knows only under a zlens name, because no public page names them.

The user names the field on the record page. The field is then available under both names, together with what
depends on it: entries that it locates, records that it joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec.structs import replace

from zlens.catalog.layouts import MonitorField, RecordLayout
from zlens.record_pages.field_kinds import known_record, short
from zlens.record_pages.page_layout import carried_sections


def add_zlens_names(
    layout: RecordLayout, names: Mapping[str, str], refuse: Callable[[str], None]
) -> RecordLayout:
    """Return the layout with fields of the page under zlens names, too; calls `refuse` with each problem."""
    knowledge = known_record(layout.record)
    page_fields = {field.name: field for field in layout.fields if not field.reserved}
    added = []
    for zlens_name, page_name in names.items():
        known_field, field = knowledge.by_name.get(zlens_name), page_fields.get(page_name)
        if known_field is None:
            refuse(f"names: {zlens_name} is not a field of the catalog")
        elif zlens_name in page_fields:
            refuse(f"names: the page itself has a field {zlens_name}")
        elif field is None:
            refuse(f"names: there is no field {page_name}")
        elif field.length != known_field.length or field.count != known_field.count:
            refuse(f"names: {page_name} does not have the {known_field.length} bytes of {zlens_name}")
        else:
            message = f"{page_name} of the page, set by the user"
            added.append(replace(known_field, offset=field.offset, overlay=True, note=message))
    fields = tuple(sorted((*layout.fields, *added), key=lambda field: field.offset))
    lookup = {name: name for name in _names(fields)}
    lookup |= {short(name): name for name in reversed(list(lookup))}
    section_names = {section.name for section in layout.sections}
    derived = tuple(
        section
        for section in carried_sections(lookup, knowledge, fields)
        if section.name not in section_names
    )
    subject = layout.subject
    if not subject:
        subject = next((names for names in knowledge.subjects if set(names) <= set(_names(fields))), ())
    return replace(layout, fields=fields, sections=(*layout.sections, *derived), subject=subject)


def _names(fields: Iterable[MonitorField]) -> list[str]:
    return [field.name for field in fields if not field.reserved]
