"""Tests of record pages with any content: the importer ends quickly, with a message."""

from __future__ import annotations

import os
import random
import re
import time
from pathlib import Path

import page_render
import pytest
from msgspec.structs import replace

from iterations import draws, iterations
from zlens.catalog import layouts
from zlens.catalog.layouts import MonitorField, RecordLayout
from zlens.errors import CatalogError
from zlens.record_pages import importer as pages
from zlens.record_pages import packs, record_file_writer
from zlens.record_pages import table as page_table
from zlens.record_pages import text as page_text
from zlens.record_pages.page_layout import build

NOWHERE = Path("/nonexistent")
GOOD = next(x for x in layouts.layouts("D0R2", NOWHERE) if x.complete)
PAGE = page_render.page(GOOD)


def imported_layouts(data: bytes | str) -> list[RecordLayout]:
    """Return the layout of a page; empty if its record is no longer produced."""
    raw = data.encode() if isinstance(data, str) else data
    built = build(page_table.parse(page_text.from_bytes(raw, "page")), "7.3")
    assert re.fullmatch(r"D\d{1,2}R\d{1,3}", built.record)
    for layout in built.file.layouts:
        sound(layout)
    return list(built.file.layouts)


def layout_of(data: bytes | str) -> RecordLayout:
    [layout] = imported_layouts(data)
    return layout


def sentence(data: bytes | str) -> str | None:
    """Return the message that rejects a page, or None."""
    try:
        imported_layouts(data)
    except CatalogError as error:
        return error.message
    return None


def sound(layout: RecordLayout) -> None:
    """Check the properties of every layout, whatever its page."""
    assert 0 <= layout.length <= 4096
    sections = [section.name.lower() for section in layout.sections]
    assert len(sections) == len(set(sections))
    for fields, length in ((layout.fields, layout.length), *((s.fields, s.length) for s in layout.sections)):
        names = [f.name for f in fields if not f.reserved]
        assert len(names) == len(set(names))
        covered: set[int] = set()
        for f in fields:
            assert f.offset >= 0
            assert f.count >= 1
            assert f.end <= max(length, f.offset) or layout.variable
            assert f.end <= 4096
            assert re.fullmatch(r"\*|[A-Z$#@][A-Za-z0-9_$#@]{0,63}", f.name)
            if not f.overlay:
                assert not covered & set(range(f.offset, f.end))
                covered |= set(range(f.offset, f.end))


def findings_of(text: str) -> list[str]:
    return build(page_table.parse(page_text.from_bytes(text.encode(), "page")), "7.3").findings


def row(line: str) -> str:
    """Return the valid page with one more row before the end label of its table."""
    return PAGE.replace(" 108  6C  Character", f"{line}\n 108  6C  Character", 1)


# Files that are not pages


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "the page is empty"),
        (b" \n\t ", "the page is empty"),
        (b"\x00\x01\x02MRSYTPRP Prolog", "has zero bytes"),
        (PAGE.encode().replace(b"20  14", b"20\x0014"), "has zero bytes"),
        (b"%PDF-1.4 something", "not a monitor record page"),
        (b"<html>Not found</html>", "not a monitor record page"),
        (b"A" * 5_000_000, "too much text"),
        (b"A" * 9_000_000, "too large"),
        (b"A" * 100_000, "a word of more than"),
        (b"MRSYTPRP Prolog\n" + b"x" * 3_000, "line 2 has a word"),
        (b"MRSYTPRP Prolog\nProlog Control Block Contents", "no readable row of a field table"),
        (
            b"MRSYTPRP Control Block Contents\nDec Hex Type Len Name (Dim) Description\nnothing",
            "no readable row of a field table",
        ),
        (PAGE.encode("utf-16")[:300], "no readable row of a field table"),
        (PAGE.replace("MRSYTPRP", "MR").encode(), "not a monitor record page"),
        (PAGE.replace("MRSYTPRP", "MRABCDEFGHIJKLM").encode(), "not a monitor record page"),
        (PAGE.replace("MRSYTPRP", "MR../../x").encode(), "not a monitor record page"),
    ],
)
def test_invalid_page_error_has_location(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(data)
    with pytest.raises(CatalogError, match=re.escape(what)) as caught:
        pages.import_pages([path], pack_root=tmp_path / "packs")
    assert caught.value.file == str(path)
    assert caught.value.expected or caught.value.cure
    assert not (tmp_path / "packs").exists()


def test_unknown_record_without_prolog_is_refused() -> None:
    text = PAGE.replace("MRSYTPRP", "MRSYTNEW").replace("DESCRIPTIVE NAME", "NOTHING")
    with pytest.raises(CatalogError, match="does not state its domain and record number"):
        layout_of(text)


@pytest.mark.parametrize(("domain", "number"), [("99", "2"), ("0", "0"), ("0", "99999"), ("999", "1")])
def test_invalid_domain_or_number_is_rejected(domain: str, number: str) -> None:
    text = (
        PAGE.replace("MRSYTPRP", "MRSYTNEW")
        .replace("Domain 0 ", f"Domain {domain} ")
        .replace("Record 2 ", f"Record {number} ")
    )
    with pytest.raises(CatalogError, match="does not state its domain and record number"):
        layout_of(text)


def test_page_with_number_of_other_record_is_rejected() -> None:
    with pytest.raises(CatalogError, match="which is MRSYTPRP"):
        layout_of(PAGE.replace("MRSYTPRP", "MRSYTNEW"))


# Invalid rows


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("9223372036854775808 8000000000000000 Unsigned 8 SYTPRP_BIG far", "exceeds 4,096 bytes"),
        (" 108  6C  Unsigned  9223372036854775808  SYTPRP_LONG much", "exceeds 4,096 bytes"),
        ("99999999999999999999 FFFF Unsigned 8 SYTPRP_HUGE far", "is not hexadecimal"),
        (" 104  FF  Unsigned      4  SYTPRP_WRONG          other", "is not hexadecimal FF"),
        (" 104  68  Unsigned    400  SYTPRP_OVER           more", "run past its 108 bytes"),
        ("4096 1000  Unsigned      4  SYTPRP_EDGE", "exceeds 4,096 bytes"),
        ("4092  FFC  Unsigned      4  SYTPRP_EDGE", "run past its 108 bytes"),
        (" 104  68  Unsigned      4  SYTPRP_ARR(9:1)       backwards", "bounds (9:1) are not valid"),
        (" 104  68  Unsigned      4  SYTPRP_ARR(1:99999)   many", "bounds (1:99999) are not valid"),
        (" 104  68  Quaternion    1  SYTPRP_ODD            odd", "type Quaternion is unknown"),
    ],
)
def test_invalid_page_row_is_skipped_and_reported(line: str, what: str) -> None:
    text = row(line)
    assert text != PAGE
    layout = layout_of(text)
    assert any(what in finding for finding in findings_of(text))
    kept = {f.name for f in layout.fields}
    assert {f.name for f in GOOD.fields} <= kept
    assert not kept & {
        "SYTPRP_BIG",
        "SYTPRP_LONG",
        "SYTPRP_HUGE",
        "SYTPRP_WRONG",
        "SYTPRP_OVER",
        "SYTPRP_ARR",
        "SYTPRP_EDGE",
    }


def test_numbers_of_thousands_of_digits_are_not_rows() -> None:
    digits = "9" * 1_900
    layout = layout_of(row(f"{digits} {digits} Unsigned {digits} SYTPRP_X far"))
    assert [f.name for f in layout.fields] == [f.name for f in GOOD.fields]


def test_row_before_structure_is_skipped() -> None:
    text = PAGE.replace("Description\n \n", "Description\n \n  20  14  Unsigned      4  SYTPRP_EARLY\n", 1)
    assert any("before the row of its structure" in finding for finding in findings_of(text))
    assert layout_of(text).field("SYTPRP_EARLY") is None


def test_name_with_path_is_dropped() -> None:
    layout = layout_of(row(" 104  68  Unsigned      4  ../../etc/passwd       trick"))
    assert all("/" not in f.name for f in layout.fields)


def test_thousands_of_rows_of_one_name_are_one_field() -> None:
    many = "\n".join(" 104  68  Unsigned      1  SYTPRP_AGAIN" for _ in range(3_000))
    layout = layout_of(row(many))
    assert [f.name for f in layout.fields].count("SYTPRP_AGAIN") == 1
    assert len(findings_of(row(many))) <= 42


def test_too_many_page_rows_are_rejected() -> None:
    many = "\n".join(f" 104  68  Unsigned      1  SYTPRP_N{number}" for number in range(5_000))
    with pytest.raises(CatalogError, match="more than 4,000 rows"):
        layout_of(row(many))


def test_thousands_of_overlaid_rows_are_read_quickly() -> None:
    wide = replace(GOOD, length=4096)
    text = page_render.page(wide)
    many = "\n".join(f" 108  6C  Character  3988  SYTPRP_N{number}" for number in range(3_500))
    text = text.replace("4096 1000  Character", f"{many}\n4096 1000  Character", 1)
    began = time.process_time()
    layout_of(text)
    assert time.process_time() - began < 5


# Text that careless parsers read slowly


@pytest.mark.parametrize(
    "unit",
    [
        "<a ",
        "<!--",
        "<pre>",
        "</pre>",
        "<script>",
        "&#99999999999999999999;",
        "&amp",
        "<![CDATA[",
        "MRSYTPRP Prolog ",
        "DESCRIPTIVE NAME - Monitor Sample Record Domain 0 - ",
        "DESCRIPTIVE NAME - Monitor ",
        "Dec Hex Type Len Name (Dim) ",
        "Dec                    ",
        "0 0 Structure ",
        "20 14 Unsigned 4 ",
        "20 14 Unsigned 4 * ",
        "1... .... ",
        "Name Offset Length Value ",
        "AAAAAAAA 14 4 ",
        "A B ",
        "This page is based on z/VM ",
        "is                   based ",
        "SYTPRP_X(1:20",
        "((((((((((((((((( ",
        "\t",
        "\r",
        " \n",
        "\u2028 ",
        "é ",
    ],
)
def test_repetitive_page_is_read_quickly(unit: str) -> None:
    began = time.process_time()
    size, times = iterations(500_000, 100_000), iterations(10_000, 2_000)
    for text in (unit * (size // len(unit)), PAGE + unit * times, unit * times + PAGE):
        for data in (text, "<html>" + text):
            assert sentence(data) != ""
    assert time.process_time() - began < 10


# Folders


def test_invalid_pages_do_not_block_valid_ones(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "deep" / "MRSYTPRP.HTML").write_text(PAGE, encoding="utf-8")
    (folder / ".hidden" / "page.html").write_text(PAGE, encoding="utf-8")
    (folder / "empty.html").write_bytes(b"")
    (folder / "zero.txt").write_bytes(b"\0" * 1000)
    (folder / "noise.html").write_bytes(random.Random(1).randbytes(100_000))
    (folder / b"odd\xff\n\x1bname.html".decode("utf-8", "surrogateescape")).write_text("x", encoding="utf-8")
    (folder / "loop").symlink_to(folder)
    (folder / "gone.html").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.html")
    report = pages.import_pages([folder, tmp_path / "missing"], pack_root=tmp_path / "packs")
    assert [record.record for record in report.imported] == ["D0R2"]
    assert len(report.skipped) == 5
    text = report.text(full=True)
    assert "zero bytes" in text
    assert "no such file" in text
    assert "odd??" in text
    assert all(line.isprintable() for line in text.splitlines())
    assert packs.installed_packs(tmp_path / "packs")[0].records == ["D0R2"]


def test_pipe_as_page_is_rejected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CatalogError, match="neither a file nor a folder"):
        pages.import_pages([tmp_path / "pipe"], pack_root=tmp_path / "packs")


def test_empty_folder_and_missing_path_are_errors(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="contains no file"):
        pages.import_pages([tmp_path], pack_root=tmp_path / "packs")
    with pytest.raises(CatalogError, match="no pages are named"):
        pages.import_pages([], pack_root=tmp_path / "packs")
    with pytest.raises(CatalogError, match="there is no pack"):
        pages.import_pages([], release="7.3", pack_root=tmp_path / "packs")


def test_control_characters_of_page_are_removed(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    trick = "bell \x07 escape \x1b[31m del \x7f quote \" ''' backslash \\ \u202e turn"
    changed = replace(
        GOOD, fields=(replace(GOOD.fields[0], text=trick), *GOOD.fields[1:]), title='a "title" \\'
    )
    page.write_text(page_render.page(changed), encoding="utf-8")
    report = pages.import_pages([page], pack_root=tmp_path / "packs")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", report.text())
    stored = (tmp_path / "packs" / "7.3" / "d00r02.toml").read_text(encoding="utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", stored)
    field = layouts.layouts("D0R2", tmp_path / "packs")[-1].fields[0]
    assert "quote \" ''' backslash \\" in (field.text or "")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le"])
def test_record_page_encodings(encoding: str) -> None:
    changed = replace(GOOD, fields=(replace(GOOD.fields[0], text="Prüf-Adresse"), *GOOD.fields[1:]))
    data = page_render.page(changed).encode(encoding)
    if encoding == "utf-16-le":
        with pytest.raises(CatalogError, match="zero bytes"):
            layout_of(data)
        return
    assert layout_of(data).fields[0].text == "Prüf-Adresse"


def test_line_end_styles() -> None:
    for end in ("\r\n", "\r", "\n", "\n\n"):
        parsed_layout = layout_of(PAGE.replace("\n", end))
        assert [(f.name, f.offset) for f in parsed_layout.fields] == [(f.name, f.offset) for f in GOOD.fields]


def test_tags_within_text_are_removed() -> None:
    text = page_render.page(GOOD, markup=True)
    text = re.sub(r"(SYTPRP_\w+)", r'<a href="#\1"><b>\1</b></a>', text).replace(
        "Unsigned", "<i>Unsigned</i>"
    )
    parsed_layout = layout_of(
        text.replace("<pre>", "<PRE class='x'><script>if (a < b) { '20 14 Unsigned 4 X' }</script>")
    )
    assert [(f.name, f.offset) for f in parsed_layout.fields] == [(f.name, f.offset) for f in GOOD.fields]


# Seeded mutations

SEEDS = [
    page_render.page(next(x for x in layouts.layouts(record, NOWHERE) if x.complete), style, markup=markup)
    for record, style, markup in (
        ("D0R2", "6.2", True),
        ("D2R10", "4.x", False),
        ("D0R17", "flat", False),
        ("D5R1", "6.2", False),
        ("D1R2", "4.x", True),
        ("D3R8", "flat", False),
    )
]
PIECES = (
    "<",
    ">",
    "&#x",
    "\0",
    "MR",
    "0 0 Structure 9",
    "9" * 25,
    "(1:",
    ")",
    "*",
    "1... ....",
    "\n",
    "\udcff",
    "+",
    "Hex",
    " ",
)


def mutated(text: str, chance: random.Random) -> bytes:
    data = bytearray(text.encode())
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        at = chance.randrange(len(data) + 1)
        size = chance.choice((1, 1, 3, 30, 300))
        match chance.randrange(6):
            case 0:
                data[at : at + size] = b""
            case 1:
                data[at:at] = chance.choice(PIECES).encode("utf-8", "surrogateescape")
            case 2:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 3:
                other = chance.randrange(len(data) + 1)
                data[at:at] = data[other : other + size]
            case 4:
                data = data[:at] or data
            case _:
                data[at : at + 1] = chance.choice((b"0", b"9", b"F", b" "))
    return bytes(data)


def test_overlapping_arrays_give_no_section() -> None:
    page = next((seed for seed in SEEDS if "STOBPG_PGDBM(1:20)" in seed), "")
    [section] = layout_of(page).sections
    assert section.offset == 20
    overlapping = re.sub(r"100( +)64( +Unsigned +4 +STOBPG_PGDBM)", r"180\1B4\2", page)
    assert overlapping != page
    assert layout_of(overlapping).sections == ()


def test_mutated_pages_give_valid_layout_or_error() -> None:
    chance = draws(20261121)
    refused, tried = 0, iterations(3_000, 300)
    for round_ in range(tried):
        refused += sentence(mutated(SEEDS[round_ % len(SEEDS)], chance)) is not None
    # Most damaged pages are still readable.
    assert tried / 30 < refused < tried * 2 / 3


def test_layouts_of_mutated_pages_round_trip() -> None:
    chance = draws(73)
    read, tried = 0, iterations(300, 60)
    for round_ in range(tried):
        data = mutated(SEEDS[round_ % len(SEEDS)], chance)
        if sentence(data) is None:
            record_file = build(page_table.parse(page_text.from_bytes(data, "page")), "7.3").file
            assert (
                layouts.parse(record_file_writer.text(record_file), pack="7.3").layouts == record_file.layouts
            )
            read += 1
    assert read > tried / 3


def test_zero_length_field_is_skipped() -> None:
    fields = (
        *GOOD.fields[:2],
        MonitorField("SYTPRP_LABEL", GOOD.fields[2].offset, 0, "character"),
        *GOOD.fields[2:],
    )
    assert layout_of(page_render.page(replace(GOOD, fields=fields))).field("SYTPRP_LABEL") is None
