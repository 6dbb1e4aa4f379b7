"""Reference page of the record layouts, generated from the catalog."""

from __future__ import annotations

from collections import Counter

from reference_pages.markdown_format import format_table
from zlens.catalog import layouts as catalog
from zlens.catalog.layouts import KIND_STATUS, RecordLayout


def records_page() -> str:
    """Return the page as Markdown: every record of the built-in catalog, one line each."""
    lines = [
        "# Records of z/VM monitor data",
        "",
        "Made from `python/zlens/facts/zvm/records`; `zlens catalog show D0R2` prints a record's fields.",
        "Lengths are from published record pages, and APARs from IBM's lists of changes, by release.",
        "Fields are from the built-in layouts, by what is known about their kind: stated by the record page",
        "or an equal source, inferred from a description, or unknown. A field of unknown kind is decoded but",
        "never differenced.",
        "",
    ]
    rows = []
    totals: Counter[str] = Counter()
    records = catalog.records(catalog.MONITOR_FOLDER / "no packs")
    described = 0
    for record in records:
        file = catalog.read(catalog.MONITOR_FOLDER / catalog.file_name(record))
        head = file.head
        counts = _kinds(file.layouts)
        totals += counts
        described += bool(file.layouts)
        lengths = " ".join(f"{release}:{length}" for release, length in head.lengths.items()) + (
            "+" if head.variable else ""
        )
        layouts = " ".join(
            f"{layout.release}:{layout.length}{'' if layout.complete else ' partial'}"
            for layout in file.layouts
        )
        cells = [head.record, head.dsect, head.title, head.kind, lengths, head.changes, layouts]
        cells += [str(counts[status]) if file.layouts else "" for status in KIND_STATUS]
        rows.append(cells)
    headings = ("record", "page", "title", "class", "lengths", "changed by", "layouts", *KIND_STATUS)
    lines += [
        *format_table(headings, rows, right=len(KIND_STATUS)),
        "",
        f"{len(records)} records, {described} with a layout; {sum(totals.values())} fields.",
        ", ".join(f"{totals[status]} kinds are {status}" for status in KIND_STATUS) + ".",
    ]
    return "\n".join(lines) + "\n"


def _kinds(layouts: tuple[RecordLayout, ...]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for layout in layouts:
        for fields in (layout.fields, *(section.fields for section in layout.sections)):
            counts.update(field.kind_status for field in fields if not field.reserved)
    return counts
