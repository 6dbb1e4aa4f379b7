"""Fields that the catalog knows under a name of ours, because no public page tells theirs.

The user says which field of the page it is. The field is then there under both names, and with it what
follows from it: entries that are found by it, records that are joined by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from zlens.catalog.layouts import Field, Layout
from zlens.pages.kinds import known, short
from zlens.pages.layout import carried


def called(layout: Layout, names: Mapping[str, str], refuse: Callable[[str], None]) -> Layout:
    """The layout with fields of the page under names of ours, too; `refuse` is told what cannot be."""
    knowledge = known(layout.record)
    there = {field.name: field for field in layout.fields if not field.reserved}
    added = []
    for ours, theirs in names.items():
        about, field = knowledge.by_name.get(ours), there.get(theirs)
        if about is None:
            refuse(f"names: {ours} is no field that the catalog knows")
        elif ours in there:
            refuse(f"names: the page itself has a field {ours}")
        elif field is None:
            refuse(f"names: there is no field {theirs}")
        elif field.length != about.length or field.count != about.count:
            refuse(f"names: {theirs} has not the {about.length} bytes of {ours}")
        else:
            added.append(
                replace(
                    about, offset=field.offset, overlay=True, note=f"{theirs} of the page, as the user says"
                )
            )
    fields = tuple(sorted((*layout.fields, *added), key=lambda field: field.offset))
    lookup = {name: name for name in _names(fields)}
    lookup |= {short(name): name for name in reversed(list(lookup))}
    own = {section.name for section in layout.sections}
    more = tuple(section for section in carried(lookup, knowledge, fields) if section.name not in own)
    subject = layout.subject
    if not subject and knowledge.file and set(knowledge.file.subject) <= set(_names(fields)):
        subject = knowledge.file.subject
    return replace(layout, fields=fields, sections=(*layout.sections, *more), subject=subject)


def _names(fields: Iterable[Field]) -> list[str]:
    return [field.name for field in fields if not field.reserved]
