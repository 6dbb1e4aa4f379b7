"""Reference page of SMF records, generated from the catalog."""

from __future__ import annotations

from reference_pages.markdown_format import format_markdown
from zlens.catalog import smf, smf_sections
from zlens.explain.smf import describe_record, describe_table

_INTRODUCTION = """\
# SMF records

Generated from `python/zlens/facts/smf`; `zlens explain smf70_cpu` shows the fields of a table, `zlens explain
smf70wat` one field. Other types are counted in the inventory and not decoded.

Every section of a record is a row. A field is read if the length in the section's triplet covers it, and
is NULL otherwise, so records of older and newer levels read alike. Sections of one record have `system`,
`file` and `offset` in common; `section_no` counts them from 0. RMF breaks records that would be too long
into several: these are reassembled first, by system, interval and the identification in the pieces. If
pieces are missing, the rest of the record is shown, with the section numbers of the complete record, and the
table `problem` says so."""

_STATUS = """\
Status: verified means that two sources agree on offsets and lengths; verified-secondary, that one good source
has them; unverified, that they follow from a description; inferred, that their place is concluded from the
order of others."""


def smf_page() -> str:
    """Return the page as Markdown."""
    lines = [_INTRODUCTION, "", _STATUS]
    for record in sorted((*smf.counter_record_types(), *smf_sections.by_type())):
        lines += format_markdown(describe_record(record))
        for layout in smf_sections.of_type(record):
            for section in layout.sections:
                lines += format_markdown(describe_table(layout, section), level=3)
    return "\n".join(lines) + "\n"
