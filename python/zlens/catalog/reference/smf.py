"""The reference page of SMF records, written from the catalog."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.catalog import smf, smf_sections
from zlens.catalog.smf_sections import SmfLayout

_INTRODUCTION = """\
# SMF records

Made from `python/zlens/facts/smf`; `zlens explain smf70_cpu` shows the fields of a table, `zlens explain
smf70wat` one field. Other types are counted in the inventory and not decoded.

Every section of a record is a row. A field is read if the length in the section's triplet covers it, and
is NULL otherwise, so records of older and newer levels read alike. Sections of one record have `system`,
`file` and `offset` in common; `section_no` counts them from 0. RMF breaks records that would be too long
into several: these are put together first, by system, interval and the identification in the pieces. If
pieces are missing, the rest of the record is shown, with the section numbers of the complete record, and the
table `problem` says so."""

_STATUS = """\
Status: verified means that two sources agree on offsets and lengths; verified-secondary, that one good source
gives them; unverified, that they follow from a description."""


def smf_page() -> str:
    """The page as Markdown."""
    lines = [_INTRODUCTION, "", _STATUS, ""]
    for record in sorted((*smf.counter_record_types(), *smf_sections.records())):
        lines += (
            _counters(record)
            if record in smf.counter_record_types()
            else _sections(smf_sections.layout(record))
        )
    return "\n".join(lines).rstrip("\n") + "\n"


def _counters(record: int) -> Iterator[str]:
    layout = smf.layout(record)
    yield f"## {record}: {layout.title}"
    yield ""
    yield f"Table `{layout.table}`: {layout.text}. What the numbers mean: [cpumf](cpumf.md)."
    yield ""
    for number, subtype in layout.subtypes.items():
        yield f"- subtype {number}: {subtype.text}; {subtype.status}"
    yield ""


def _sections(layout: SmfLayout) -> Iterator[str]:
    yield f"## {layout.record}: {layout.title}"
    yield ""
    for number, text in layout.subtypes.items():
        yield f"- subtype {number}: {text}"
    yield ""
    yield "| table | a row is | section | triplet at | bytes | fields | belongs to | status |"
    yield "|---|---|---|---:|---:|---:|---|---|"
    for section in layout.sections:
        owner = section.owner
        cells = (
            f"`{section.table}`",
            section.title,
            section.structure,
            "" if section.triplet is None else str(section.triplet),
            str(section.length),
            str(len(section.fields)),
            "" if owner is None else f"`{owner.column}`: {owner.text} ({owner.status})",
            section.status + (f"; {section.note}" if section.note else ""),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
