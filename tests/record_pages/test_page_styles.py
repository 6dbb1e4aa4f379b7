"""Tests of text around and between the parts of a record page, and of styles of single rows."""

from __future__ import annotations

from pathlib import Path

import page_render
import pytest
from msgspec.structs import replace

from zlens.catalog import layouts
from zlens.catalog.layouts import MonitorField, MonitorSection, RecordLayout
from zlens.record_pages import table as page_table
from zlens.record_pages import text as page_text
from zlens.record_pages.page_layout import BuiltLayout, build

NOWHERE = Path("/nonexistent")
D0R2 = next(x for x in layouts.layouts("D0R2", NOWHERE) if x.complete)

BOXES = """\
MRSYTPRP Storage Layout

                   0                   1                   2
   +-------------------+-------------------+-------------------+
 0 |                      SYTPRP (Character 20)                |
   +-------------------+-------------------+
14 |      :CPUAD       |      :CUHAF       | 18
   +-------------------+-------------------+
   0 0 Structure 9 is no row here
"""

BOILERPLATE = """\
Programming Interface Information:
These records are an interface
that programs may use.

"""


def built(text: str) -> BuiltLayout:
    return build(page_table.parse(page_text.from_bytes(text.encode(), "page")), "7.3")


def placed(layout: RecordLayout) -> list[tuple[str, int, int, int]]:
    return [(f.name, f.offset, f.length, f.count) for f in layout.fields]


def same(result: BuiltLayout, layout: RecordLayout = D0R2) -> bool:
    return placed(result.file.layouts[0]) == placed(layout) and not result.findings


@pytest.mark.parametrize("style", page_render.STYLES)
def test_storage_map_before_cross_reference_is_skipped(style: str) -> None:
    text = page_render.page(D0R2, style)
    drawn = text.replace("MRSYTPRP Cross Reference", f"{BOXES}\nMRSYTPRP Cross Reference", 2)
    first = drawn.index("MRSYTPRP Storage Layout")
    assert same(built(drawn[:first] + " ".join(drawn[first:].split()) if style == "flat" else drawn))


@pytest.mark.parametrize("markup", [False, True])
def test_text_around_page_is_ignored(markup: bool) -> None:
    text = page_render.page(D0R2, markup=markup)
    if markup:
        text = text.replace("<body>", f"<body><nav>Home 20 14 Unsigned</nav><p>{BOILERPLATE}</p>")
        text = text.replace("</body>", "<footer>Last updated on 1 May<br>Copyright IBM</footer></body>")
    else:
        text = f"|\n{BOILERPLATE} |\n{text}\nLast updated on 1 May, 10:00\nCopyright IBM Corporation\n"
    assert same(built(text))


@pytest.mark.parametrize("style", page_render.STYLES)
def test_length_with_plus_is_minimum(style: str) -> None:
    open_ended = replace(D0R2, variable=True)
    text = page_render.page(open_ended, style)
    assert "108+" in text
    result = built(text)
    assert same(result)
    assert result.file.layouts[0].variable
    assert result.file.head.variable


@pytest.mark.parametrize("style", page_render.STYLES)
def test_group_labels_are_not_fields(style: str) -> None:
    """A row of zero length marks the offset at which several fields start."""
    at = D0R2.fields[3].offset
    label = MonitorField("SYTPRP_TIMES", at, 0, "character", text="times begin here")
    group = MonitorField("SYTPRP_BOTH", at, 16, "character", text="two of them")
    fields = (*D0R2.fields[:3], label, group, *D0R2.fields[3:])
    layout = built(page_render.page(replace(D0R2, fields=fields), style)).file.layouts[0]
    assert layout.field("SYTPRP_TIMES") is None
    both = layout.field("SYTPRP_BOTH")
    assert both is not None
    assert (both.overlay, both.length) == (False, 16)
    # The first row at an offset has it; the fields of the group overlay it and are read from it.
    assert [f.name for f in layout.fields if f.overlay] == [D0R2.fields[3].name, D0R2.fields[4].name]


@pytest.mark.parametrize("style", page_render.STYLES)
@pytest.mark.parametrize(("first", "count"), [(0, 31), (1, 20), (5, 2)])
def test_bounds_of_arrays_are_those_of_page(style: str, first: int, count: int) -> None:
    """Len is the length of one element: `*(0:30)` of 2 bytes has 62."""
    named = MonitorField("SYTPRP_NEW", D0R2.length, 4, "unsigned", count=count, first=first)
    reserved = MonitorField("*", named.end, 2, "unsigned", count=count, first=first)
    longer = replace(D0R2, fields=(*D0R2.fields, named, reserved), length=reserved.end)
    layout = built(page_render.page(longer, style)).file.layouts[0]
    assert placed(layout) == placed(longer)
    assert layout.length == D0R2.length + 6 * count
    assert [f.first for f in layout.fields[-2:]] == [first, first]


def test_marks_of_changes_in_descriptions_stay_words() -> None:
    text = page_render.page(D0R2).replace("NOTES:", "processor.@SQ534PQ\n IMPLICATIONS OF CHANGES.\n NOTES:")
    assert same(built(text))
    assert built(text).file.head.title == D0R2.title


def test_unlocated_section_lists_candidate_offset_fields() -> None:
    end = D0R2.length
    telling = (
        MonitorField("SYTPRP_NEWOFF", end, 2, "unsigned", text="offset to the first entry"),
        MonitorField("SYTPRP_NEWLEN", end + 2, 2, "unsigned", text="length of one entry"),
        MonitorField("SYTPRP_NEWNUM", end + 4, 2, "unsigned", text="number of entries"),
        MonitorField("SYTPRP_OTHER", end + 6, 2, "unsigned", text="what it is"),
    )
    entry = (MonitorField("SYTPRP_WHO", 0, 2, "unsigned"),)
    section = MonitorSection(
        name="STANZA",
        title="one of them",
        length=2,
        offset="SYTPRP_NEWOFF",
        stride=2,
        fields=entry,
        source="",
        status="unverified",
    )
    result = built(
        page_render.page(replace(D0R2, fields=(*D0R2.fields, *telling), length=end + 8, sections=(section,)))
    )
    [said] = [finding for finding in result.findings if "entries is unknown" in finding]
    assert "(perhaps offset SYTPRP_NEWOFF, stride SYTPRP_NEWLEN, count " in said
    assert said.endswith("SYTPRP_NEWNUM)")
    assert "SYTPRP_OTHER" not in said
