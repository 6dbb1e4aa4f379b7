"""Tests that record pages of every style return the layouts they were rendered from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import page_render
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from iterations import iterations
from zlens.catalog import layout_selection, layouts
from zlens.catalog.layouts import BUILTIN, MonitorField, RecordLayout
from zlens.errors import CatalogError
from zlens.record_pages import field_kinds as page_kinds
from zlens.record_pages import importer as pages
from zlens.record_pages import packs, page_layout
from zlens.record_pages import table as page_table
from zlens.record_pages import text as page_text
from zlens.record_pages.page_layout import BuiltLayout, build


def complete_layouts() -> Iterator[RecordLayout]:
    nowhere = Path("/nonexistent")
    for record in layouts.records(nowhere):
        for layout in layouts.layouts(record, nowhere):
            if layout.complete and layout.pack == BUILTIN:
                yield layout


LAYOUTS = list(complete_layouts())


def layout_of(record: str) -> RecordLayout:
    return next(layout for layout in LAYOUTS if layout.record == record)


def parsed(text: str, file: str = "page") -> page_table.RecordPage:
    return page_table.parse(page_text.from_bytes(text.encode(), file))


def built(text: str, release: str = "7.3") -> BuiltLayout:
    return build(parsed(text), release)


def imported(text: str) -> RecordLayout:
    return built(text).file.layouts[0]


def placed(fields: tuple[MonitorField, ...]) -> list[tuple[object, ...]]:
    """Return the properties of fields that a page preserves; a reserved area has no type."""
    return [
        (f.name, f.offset, f.length, f.count, f.first, None if f.reserved else f.type, f.overlay)
        for f in fields
    ]


def known(fields: tuple[MonitorField, ...]) -> dict[str, tuple[object, ...]]:
    """Return the kinds that the catalog knows, by name."""
    return {f.name: (f.kind, f.kind_status, f.unit, f.direction) for f in fields if f.kind != "unknown"}


def agree(fields: tuple[MonitorField, ...], wanted: tuple[MonitorField, ...]) -> bool:
    """Return whether fields have the kinds of the catalog; the page's words may add others."""
    return known(wanted).items() <= known(fields).items()


# Every layout in every style ----------------------------------------------------------------------


@pytest.mark.parametrize("style", page_render.STYLES)
def test_complete_layouts_round_trip(style: str) -> None:
    assert len(LAYOUTS) >= 125
    for layout in LAYOUTS:
        result = built(page_render.page(layout, style))
        one = result.file.layouts[0]
        where = f"{layout.record} {layout.release} {style}"
        assert result.record == layout.record, where
        assert (one.length, one.kind, one.title) == (layout.length, layout.kind, layout.title), where
        assert placed(one.fields) == placed(layout.fields), where
        assert agree(one.fields, layout.fields), where
        assert (set(one.subject), one.subject_kind, one.reset_on) == (
            set(layout.subject),
            layout.subject_kind,
            layout.reset_on,
        ), where
        assert one.complete, where
        assert [f for f in result.findings if "truncated" not in f] == [], where
        assert result.new == [], where


@pytest.mark.parametrize("style", page_render.STYLES)
def test_sections_round_trip_with_locations(style: str) -> None:
    sections = 0
    for layout in LAYOUTS:
        wanted = [s for s in layout.sections if not s.derived]
        got = [s for s in imported(page_render.page(layout, style)).sections if not s.derived]
        assert [s.name for s in got] == [s.name for s in wanted]
        for one, other in zip(got, wanted, strict=True):
            sections += 1
            assert placed(one.fields) == placed(other.fields)
            assert agree(one.fields, other.fields)
            assert (one.offset, one.stride, one.count, one.length) == (
                other.offset,
                other.stride,
                other.count,
                other.length,
            )
            assert (one.subject, one.subject_kind) == (other.subject, other.subject_kind)
    assert sections >= 4


def test_entries_follow_fixed_part_of_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalog may define offset and stride of entries as numbers: those of its own release."""
    old = next(x for x in LAYOUTS if x.record == "D0R16")
    section = replace(old.sections[0], offset=old.length, stride=old.sections[0].length)
    numbered = replace(old, sections=(section,))
    knowledge = page_kinds.known_record("D0R16")
    assert knowledge.file is not None
    file = replace(knowledge.file, layouts=(numbered,))
    monkeypatch.setattr(page_layout, "known_record", lambda record: replace(knowledge, file=file))
    longer = replace(
        old,
        fields=(*old.fields, MonitorField("SYTCUP_NEW", old.length, 8, "unsigned")),
        length=old.length + 8,
        sections=(replace(section, length=section.length + 4),),
    )
    [imported_section] = imported(page_render.page(longer)).sections
    assert (imported_section.offset, imported_section.stride) == (longer.length, section.length + 4)


@pytest.mark.parametrize("style", page_render.STYLES)
def test_html_and_text_of_page_are_same(style: str) -> None:
    for layout in LAYOUTS[::7]:
        plain = imported(page_render.page(layout, style))
        assert imported(page_render.page(layout, style, markup=True)) == plain


def test_missing_page_lines_are_reported() -> None:
    layout = layout_of("D0R2")
    lines = page_render.page(layout, "6.2", cross=False).split("\n")
    kept = [line for line in lines if not line.startswith(("  48  30", "  56  38"))]
    assert len(lines) - len(kept) == 2
    result = built("\n".join(kept))
    assert "bytes 48 to 64 are in no row of the table" in result.findings
    assert not result.file.layouts[0].complete
    assert result.file.layouts[0].length == layout.length


def test_adjacent_columns_are_split() -> None:
    """Some copies preserve the lines but not the columns, so that nothing marks a continued description."""
    for layout in LAYOUTS:
        text = page_render.page(layout, "6.2")
        closed = "\n".join(" ".join(line.split()) for line in text.split("\n"))
        assert placed(imported(closed).fields) == placed(layout.fields)
        one_line = [" ".join(part.split()) for part in text.split("Offsets\n")]
        assert placed(imported(" Offsets ".join(one_line)).fields) == placed(layout.fields)


def test_table_of_html_cells_is_read() -> None:
    rows = [
        "<tr><td>0</td><td>0</td><td>Structure</td><td>24</td><td>MTRSUS</td><td>all of it</td></tr>",
        "<tr><td>20</td><td>14</td><td>Unsigned</td><td>4</td><td>MTRSUS_CALLOST</td>"
        "<td>lost &amp; gone</td></tr>",
    ]
    text = (
        "<html><h2>MRMTRSUS Prolog</h2><p>DESCRIPTIVE NAME - Monitor Event Record<br>"
        "Domain 1 - Monitor Domain<br>Record 3 - Suspension<p>DESCRIPTION - ours"
        "<h2>MRMTRSUS Control Block Contents</h2><table>"
        "<tr><th>Dec</th><th>Hex</th><th>Type</th><th>Len</th><th>Name (Dim)</th><th>Description</th></tr>"
        + "".join(rows)
        + "</table><p>This page is based on z/VM V7R3.0."
    )
    imported_layout = imported(text)
    assert placed(imported_layout.fields) == [("MTRSUS_CALLOST", 20, 4, 1, 1, "unsigned", False)]
    assert imported_layout.fields[0].text == "lost & gone"


# Other layouts -------------------------------------------------------------------------------------


@st.composite
def shuffled(draw: st.DrawFn) -> RecordLayout:
    """Draw a known record with relocated and additional fields, as a later release may have it."""
    layout = draw(st.sampled_from([x for x in LAYOUTS if not x.sections and not x.variable]))
    at, fields = 20, []
    plain = [f for f in layout.fields if not f.overlay and not f.reserved and f.length]
    for number, old in enumerate(draw(st.permutations(plain))):
        gap = draw(st.sampled_from((0, 0, 1, 3, 8)))
        if gap:
            fields.append(MonitorField("*", at, gap))
        at += gap
        if draw(st.booleans()):
            name = f"{layout.dsect[2:]}_NEW{number}"
            length = draw(st.sampled_from((1, 2, 4, 8)))
            fields.append(MonitorField(name, at, length, "unsigned", text="something that no rule knows"))
            at += length
        fields.append(replace(old, offset=at))
        at += old.total_length
    return replace(layout, fields=tuple(fields), length=at)


@settings(max_examples=iterations(60, 12), deadline=None, derandomize=True)
@given(shuffled(), st.sampled_from(page_render.STYLES))
def test_moved_fields_keep_known_kind(layout: RecordLayout, style: str) -> None:
    result = built(page_render.page(layout, style))
    one = result.file.layouts[0]
    assert placed(one.fields) == placed(layout.fields)
    assert agree(one.fields, layout.fields)
    assert result.new == [f.name for f in layout.fields if re.search(r"_NEW\d", f.name)]
    assert set(result.new) <= set(result.unknown)
    assert set(one.subject) == set(layout.subject)


def test_fields_are_recognized_without_prefix() -> None:
    old = layout_of("D0R2")
    renamed = [replace(f, name=f.name.replace("SYTPRP_", "SYTPRX_")) for f in old.fields]
    result = built(page_render.page(replace(old, fields=tuple(renamed))))
    one = result.file.layouts[0]
    assert result.new == []
    assert one.subject == ("SYTPRX_PFXCPUAD",)
    field = one.field("SYTPRX_PFXPRBTM")
    assert field is not None
    assert (field.kind, field.direction) == ("timer", "down")


def test_field_names_ignore_case() -> None:
    layout = next(x for x in LAYOUTS if x.record == "D0R2")
    mixed = {f.name: f.name[:8] + f.name[8:].lower() for f in layout.fields if not f.reserved}
    fields = tuple(replace(f, name=mixed.get(f.name, "*")) for f in layout.fields)
    imported_layout = imported(page_render.page(replace(layout, fields=fields)))
    assert [f.name for f in imported_layout.fields] == [f.name for f in fields]
    assert agree(imported_layout.fields, fields)
    assert known(imported_layout.fields)
    assert imported_layout.subject == (mixed["SYTPRP_PFXCPUAD"],)


def test_bits_are_listed_as_flags() -> None:
    layout = layout_of("D2R10")
    flags = next(f for f in layout.fields if f.type == "bitstring")
    bits = {flags.name: [(0x80, "*"), (0x40, "*"), (0x08, "SCLSQD_BITA"), (0x01, "SCLSQD_BITB")]}
    for style in page_render.STYLES:
        result = built(page_render.page(layout, style, bits=bits))
        assert result.findings == []
        field = result.file.layouts[0].field(flags.name)
        assert field is not None
        assert field.kind == "flags"
        assert "0:08 SCLSQD_BITA, 0:01 SCLSQD_BITB" in (field.note or "")
    new = replace(
        layout,
        fields=(
            *layout.fields[:-1],
            MonitorField("SCLSQD_NEWFLAGS", 29, 1, "bitstring"),
            MonitorField("*", 30, 2),
        ),
    )
    field = imported(page_render.page(new, bits={"SCLSQD_NEWFLAGS": [(0x80, "SCLSQD_ON")]})).field(
        "SCLSQD_NEWFLAGS"
    )
    assert field is not None
    assert (field.kind, field.kind_status) == ("flags", "stated")


def test_bits_of_several_bytes_go_to_their_byte() -> None:
    layout = replace(
        layout_of("D2R10"),
        fields=(MonitorField("SCLSQD_WIDE", 20, 2, "bitstring"), MonitorField("*", 22, 10)),
    )
    bits = {"SCLSQD_WIDE": [(0x80, "SCLSQD_A"), (0x01, "SCLSQD_B"), (0x80, "SCLSQD_C"), (0x40, "SCLSQD_D")]}
    page = parsed(page_render.page(layout, bits=bits))
    row = next(row for row in page.structures[0].rows if row.name == "SCLSQD_WIDE")
    assert [(bit.name, bit.byte) for bit in row.bits] == [
        ("SCLSQD_A", 0),
        ("SCLSQD_B", 0),
        ("SCLSQD_C", 1),
        ("SCLSQD_D", 1),
    ]


def test_full_width_name_is_split_from_description() -> None:
    name = "SYTPRP_AVERYLONGNAME"  # as wide as the column of the oldest pages
    longer = name + "XYZ"  # truncated there
    layout = replace(
        layout_of("D0R2"),
        fields=(
            MonitorField(name, 20, 4, "unsigned", text="Number of something"),
            MonitorField(longer, 24, 8, "unsigned", text="TOD of something"),
            MonitorField("SYTPRP_STEALS", 32, 2, "unsigned", text="Array of steals", count=31, first=0),
        ),
        length=94,
    )
    for style in ("4.x", "6.2"):
        for closed in (False, True):
            text = page_render.page(layout, style)
            if closed:
                text = " ".join(text.split())
            imported_layout = imported(text)
            assert placed(imported_layout.fields) == placed(layout.fields)
            assert [f.text for f in imported_layout.fields] == [f.text for f in layout.fields]


def test_truncated_array_bounds_are_inferred() -> None:
    layout = replace(
        layout_of("D5R3"),
        fields=(
            MonitorField("PRCPRP_PLSSTLNU", 20, 2, "unsigned", count=31, first=0),
            MonitorField("PRCPRP_PLSX", 82, 2, "unsigned"),
        ),
        length=84,
    )
    text = page_render.page(layout, "4.x")
    assert "PRCPRP_PLSSTLNU(0:30" in text
    assert "(0:30)" not in text
    for form in (text, " ".join(text.split())):
        assert placed(imported(form).fields) == placed(layout.fields)


# Kinds by words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "type_", "length", "kind"),
    [
        ("Number of times a page was taken away", "unsigned", 4, "counter"),
        ("Cumulative count of requests", "unsigned", 8, "counter"),
        ("Count of frames that are available", "unsigned", 4, None),
        ("Number of frames in the list", "unsigned", 4, None),
        ("Maximum number of times it was tried", "unsigned", 4, None),
        ("Current number of users", "unsigned", 4, "gauge"),
        ("Cardinal count of frames", "unsigned", 4, "gauge"),
        ("Time spent waiting, in CPU timer format", "character", 8, "timer"),
        ("Total time in CPU timer format", "unsigned", 4, None),
        ("TOD when the user logged on", "character", 8, "time"),
        ("Time-of-day the command was issued", "character", 8, "time"),
        ("Elapsed time since the time at which it began", "character", 8, None),
        ("Userid of the owner", "character", 8, "identifier"),
        ("Address of the processor", "unsigned", 2, "identifier"),
        ("Name of the group, EBCDIC", "character", 8, "text"),
        ("Number of times the current number of users was asked for", "unsigned", 4, None),
        ("Countdown", "unsigned", 4, None),
        ("", "unsigned", 4, None),
    ],
)
def test_ambiguous_words_determine_no_kind(text: str, type_: str, length: int, kind: str | None) -> None:
    rule = page_kinds.match_rule(text, type_, length)
    assert (rule.kind if rule else None) == kind


def test_kind_of_new_field_cites_rule() -> None:
    layout = layout_of("D0R2")
    new = MonitorField("SYTPRP_NEW", layout.length, 8, "unsigned", text="number of times something happened")
    other = MonitorField("SYTPRP_OTHER", layout.length + 8, 8, "unsigned", text="how much of something")
    page = page_render.page(replace(layout, fields=(*layout.fields, new, other), length=layout.length + 16))
    result = built(page)
    field = result.file.layouts[0].field("SYTPRP_NEW")
    assert field is not None
    assert (field.kind, field.kind_status, field.unit) == ("counter", "stated", "count")
    assert "`times`" in (field.note or "")
    assert result.new == ["SYTPRP_NEW", "SYTPRP_OTHER"]
    assert "SYTPRP_OTHER" in result.unknown


def test_description_determines_unknown_kind_of_field() -> None:
    layout = layout_of("D0R3")
    old = next(f for f in layout.fields if not f.reserved and f.kind == "unknown" and f.type == "unsigned")
    fields = tuple(replace(f, text="number of times it was so") if f is old else f for f in layout.fields)
    result = built(page_render.page(replace(layout, fields=fields)))
    field = result.file.layouts[0].field(old.name)
    assert field is not None
    assert (field.kind, field.kind_status) == ("counter", "stated")
    assert result.new == []


def test_counters_without_subject_have_no_differences() -> None:
    """Rows of two devices must not be differenced with each other."""
    old = layout_of("D0R2")
    new = replace(
        old,
        record="D6R99",
        domain=6,
        number=99,
        dsect="MRIODNEW",
        title="Something (Per Device)",
        fields=(MonitorField("IODNEW_COUNT", 20, 4, "unsigned", text="number of times it was used"),),
        length=24,
    )
    result = built(page_render.page(new))
    field = result.file.layouts[0].fields[0]
    assert (field.kind, field.has_difference) == ("counter", False)
    assert any("subject" in finding for finding in result.findings)
    assert imported(page_render.page(replace(new, title="Something (Global)"))).fields[0].has_difference


# Disagreements -------------------------------------------------------------------------------------


def findings(text: str) -> list[str]:
    return built(text).findings


def test_disagreeing_cross_reference_is_reported() -> None:
    layout = layout_of("D0R2")
    text = page_render.page(layout, cross_changes={"SYTPRP_PFXUTIME": (40, 4)})
    [finding] = findings(text)
    assert "SYTPRP_PFXUTIME" in finding
    assert "offset 32 length 8" in finding
    assert "offset 40 length 4" in finding
    assert imported(text).field("SYTPRP_PFXUTIME") == imported(page_render.page(layout)).field(
        "SYTPRP_PFXUTIME"
    )


def test_names_missing_in_table_or_reference_are_reported() -> None:
    layout = layout_of("D0R2")
    assert findings(page_render.page(layout, cross_changes={"SYTPRP_GHOST": (40, 4)})) == [
        "SYTPRP_GHOST is in the cross reference but not in the table"
    ]
    text = page_render.page(layout)
    lines = [line for line in text.split("\n") if not line.startswith("SYTPRP_PFXRUNCI ")]
    [finding] = findings("\n".join(lines))
    assert "SYTPRP_PFXRUNCI" in finding
    assert "not in the cross reference" in finding


def test_page_without_cross_reference_is_reported() -> None:
    layout = layout_of("D0R2")
    result = built(page_render.page(layout, cross=False))
    assert result.findings == ["the page has no cross reference; the table was not checked against it"]
    assert placed(result.file.layouts[0].fields) == placed(layout.fields)


def test_invalid_bit_value_is_reported() -> None:
    layout = layout_of("D2R10")
    flags = next(f for f in layout.fields if f.type == "bitstring")
    text = page_render.page(layout, bits={flags.name: [(0x08, "SCLSQD_BIT")]})
    assert findings(text) == []
    [finding] = findings(text.replace("            08", "            04"))
    assert "SCLSQD_BIT" in finding


def test_too_short_record_length_follows_cross_reference() -> None:
    layout = layout_of("D0R2")
    result = built(page_render.page(layout, length=100))
    assert any("the last field ends at 108, but its length is 100" in f for f in result.findings)
    assert result.file.layouts[0].length == 108
    result = built(page_render.page(layout, length=100, cross=False))
    assert result.file.layouts[0].length == 100
    assert not result.file.layouts[0].complete
    assert all(f.end <= 100 for f in result.file.layouts[0].fields)
    assert any("run past its 100 bytes" in f for f in result.findings)


def test_too_long_record_length_is_reported() -> None:
    result = built(page_render.page(layout_of("D0R2"), length=124))
    assert any("16 of its 124 bytes are not described" in f for f in result.findings)
    assert not result.file.layouts[0].complete


def test_prolog_with_wrong_number_is_reported() -> None:
    text = page_render.page(layout_of("D0R2")).replace("Domain 0  -", "Domain 5  -")
    result = built(text)
    assert result.record == "D0R2"
    assert any("domain 5 record 2" in f for f in result.findings)


def test_wrong_dsect_name_is_ignored() -> None:
    text = page_render.page(layout_of("D5R11")).replace("DSECT NAME - PRCINS", "DSECT NAME - PRCPRP")
    assert built(text).record == "D5R11"


def test_repeated_field_is_read_once() -> None:
    layout = layout_of("D0R2")
    twice = replace(layout, fields=(*layout.fields[:3], layout.fields[2], *layout.fields[3:]))
    result = built(page_render.page(twice))
    assert any("appears twice in the table" in f for f in result.findings)
    assert placed(result.file.layouts[0].fields) == placed(layout.fields)


# Importing -----------------------------------------------------------------------------------------


def write(
    folder: Path, layout: RecordLayout, style: str = "6.2", name: str | None = None, **options: object
) -> Path:
    path = folder / (name or f"{layout.dsect}.HTML")
    text = page_render.page(layout, style, markup=style != "flat", **options)  # type: ignore[arg-type]
    path.write_text(text, encoding="utf-8")
    return path


def test_imported_pack_is_selected(tmp_path: Path) -> None:
    folder, root = tmp_path / "mon730", tmp_path / "packs"
    folder.mkdir()
    old = layout_of("D0R2")
    longer = replace(
        old,
        fields=(*old.fields, MonitorField("SYTPRP_NEW", 108, 8, "unsigned", text="something new")),
        length=116,
    )
    write(folder, longer)
    write(folder, layout_of("D4R1"), "4.x")
    write(folder, layout_of("D0R16"), "flat", "MRSYTCUP.txt")
    (folder / "MRPRCVFN.HTML").write_text(page_render.null_page("MRPRCVFN", 5, 4), encoding="utf-8")
    (folder / "index.html").write_text("<html>a list of pages</html>", encoding="utf-8")
    (folder / "logo.png").write_bytes(b"\x89PNG")
    steps: list[tuple[int, int]] = []
    report = pages.import_pages(
        [folder], pack_root=root, progress=lambda done, total: steps.append((done, total))
    )
    assert report.release == "7.3"
    assert [r.record for r in report.imported] == ["D0R2", "D0R16", "D4R1", "D5R4"]
    assert report.new_fields == ("D0R2 SYTPRP_NEW",)
    assert "D0R2 SYTPRP_NEW" in report.unknown_kinds
    assert report.disagreements == ()
    assert {Path(skip.file).name for skip in report.skipped} == {"index.html", "1 other files"}
    assert steps[0] == (0, 5)
    assert steps[-1] == (5, 5)
    [pack] = packs.installed_packs(root)
    assert (pack.release, pack.records, pack.null_records) == ("7.3", ["D0R2", "D0R16", "D4R1"], ["D5R4"])
    assert [x.pack for x in layouts.layouts("D0R2", root)][-1] == "7.3"
    assert placed(layouts.layouts("D0R2", root)[-1].fields) == placed(longer.fields)
    chosen = layout_selection.select_layout("D0R2", 116, release="7.3", root=root)
    assert chosen.layout is not None
    assert (chosen.layout.pack, chosen.problems) == ("7.3", ())
    text = report.text()
    assert "imported 3 records of z/VM 7.3" in text
    assert "SYTPRP_NEW" in text
    assert str(root / "7.3") in text


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    page = write(tmp_path, layout_of("D0R2"))
    report = pages.import_pages([page], pack_root=tmp_path / "packs", dry_run=True)
    assert report.text().startswith("would import 1 record of z/VM 7.3")
    assert not (tmp_path / "packs").exists()


@pytest.mark.parametrize(
    "footer",
    [
        "This page is based on z/VM V6R4.0.",
        "This page is\nbased on z/VM V6R4.0.\nLast updated on 1 May",
        "This page is based on z/VM Version 6 Release 4.",
        "This page is based on z/VM 6.4",
    ],
)
def test_release_formats_are_read(tmp_path: Path, footer: str) -> None:
    page = tmp_path / "page.txt"
    page.write_text(page_render.page(layout_of("D0R2"), release=None) + "\n" + footer, encoding="utf-8")
    assert pages.import_pages([page], pack_root=tmp_path / "packs").release == "6.4"


def test_page_without_release_needs_option(tmp_path: Path) -> None:
    page = write(tmp_path, layout_of("D0R2"), release=None)
    with pytest.raises(CatalogError, match=r"release='7\.3'") as caught:
        pages.import_pages([page], pack_root=tmp_path / "packs")
    assert caught.value.file == str(page)
    report = pages.import_pages([page], release="V7R2.0", pack_root=tmp_path / "packs")
    assert report.release == "7.2"


def test_requested_release_overrides_page(tmp_path: Path) -> None:
    page = write(tmp_path, layout_of("D0R2"), release="7.2")
    report = pages.import_pages([page], release="7.3", pack_root=tmp_path / "packs")
    assert report.release == "7.3"
    assert report.disagreements == ("D0R2: the page is for z/VM 7.2; imported for 7.3 as requested",)


def test_pages_of_several_releases_go_to_their_packs(tmp_path: Path) -> None:
    write(tmp_path, layout_of("D0R2"), release="6.4", name="a.html")
    write(tmp_path, layout_of("D0R2"), release="7.2", name="b.html")
    report = pages.import_pages([tmp_path], pack_root=tmp_path / "packs")
    assert report.release == "6.4, 7.2"
    assert [pack.release for pack in packs.installed_packs(tmp_path / "packs")] == ["6.4", "7.2"]


def test_longer_of_two_pages_is_imported(tmp_path: Path) -> None:
    old = layout_of("D0R2")
    longer = replace(old, fields=(*old.fields, MonitorField("SYTPRP_NEW", 108, 8, "unsigned")), length=116)
    write(tmp_path, longer, name="a.html")
    write(tmp_path, old, name="b.html")
    (tmp_path / "c.html").write_bytes((tmp_path / "a.html").read_bytes())
    report = pages.import_pages([tmp_path], pack_root=tmp_path / "packs")
    assert [record.length for record in report.imported] == [116]
    reasons = {Path(skip.file).name: skip.reason for skip in report.skipped}
    assert "no less of it" in reasons["b.html"]
    assert "the same page as" in reasons["c.html"]


def test_description_text_stays_in_users_pack(tmp_path: Path) -> None:
    old = layout_of("D0R2")
    changed = replace(old, fields=tuple(replace(f, text="a word of the page") for f in old.fields))
    pages.import_pages([write(tmp_path, changed)], pack_root=tmp_path / "packs")
    assert {f.text for f in layouts.layouts("D0R2", tmp_path / "packs")[-1].fields} == {"a word of the page"}
