"""Tests of record descriptions and of pages from the catalog."""

from __future__ import annotations

from pathlib import Path

import page_render
import pytest
from msgspec.structs import replace

from zlens.catalog import layouts, resets
from zlens.catalog.layouts import MonitorField
from zlens.errors import CatalogError
from zlens.explain.layouts import describe, summary
from zlens.record_pages import importer as pages
from zlens.record_pages import packs

NOWHERE = Path(__file__).parent / "no packs here"
ROOT = Path(__file__).parents[2]


def test_describe_complete_record() -> None:
    text = describe("d0r16", root=NOWHERE)
    assert text.startswith("D0R16  MRSYTCUP  CPU Utilization Data in a Logical Partition\n")
    assert "subject   SYTCUP_LCUPNAME (partition)" in text
    assert "Section CPUDATA: one logical processor of the partition (table d0r16_cpudata)" in text
    assert "found   at SYTCUP_CALCPUOF, every SYTCUP_CALCPULN, count SYTCUP_LCUPCPCT" in text
    assert " 32   20    2  signed     gauge                bytes   SYTCUP_CALCPUOF" in text
    assert "kinds: 2 stated, 7 inferred" in text


def test_describe_shows_layout_of_release() -> None:
    text = describe("D0R2", "6.4", NOWHERE)
    assert "For release 6.4 (records of 352 bytes):" in text
    assert "records of 352 bytes are longer than the layout of 5.3 (108)" in text
    assert "244 of 352 bytes of the records of 6.4 are not described" in text
    assert "https://www.vm.ibm.com/pubs/mon640/MRSYTPRP.HTML" in text
    assert "timer down" in text


def test_describe_lists_reset_evidence() -> None:
    text = describe("D0R2", root=NOWHERE)
    assert "IPL (D1R4), vary on (D5R1), vary off (D5R2), SMT change (D5R21)" in text
    assert "resets" not in describe("D5R1", root=NOWHERE)


def test_describe_record_without_layout() -> None:
    text = describe("D5R13", "7.3", NOWHERE)
    assert "No field is known." in text
    assert "https://www.ibm.com/support/pages/zvm/pubs/mon730/mrprcmfc.html" in text


def test_describe_changes_and_inferred_places() -> None:
    """The APARs are those of IBM's lists of changes of 7.3 and 7.4; 7.5 itself changed D6R54."""
    text = " ".join(describe("D6R54", root=NOWHERE).split())
    assert "changed 7.3: VM66823 (2025-06-11); 7.4: VM66824 (2025-06-18); 7.5 " in text
    assert "control queue: bytes sent; inferred: the page has 48, where it would overlap" in text
    text = describe("D0R25", root=NOWHERE)
    assert "of the machine that belong to no partition; inferred: the order of control block POWBK" in text
    assert "8 of 92 bytes of the records of 7.5 are not described." in text


def test_payloads_and_arrays() -> None:
    text = describe("D10R2", root=NOWHERE)
    assert "only    where APLSDT_MDGPROD begins with d3c9d5e4e7d2d9d5d301" in text
    assert "within  linux_os" in text
    assert "STOBPG_PGDBR(1:20)" in describe("D3R8", root=NOWHERE)


def test_every_record_can_be_described() -> None:
    lines = summary(NOWHERE).splitlines()
    assert len(lines) == len(layouts.records(NOWHERE)) + 1 >= 194
    for line in lines[1:]:
        for release in (None, "7.5"):
            text = describe(line.split()[0], release, NOWHERE)
            assert text.startswith(line.split()[0])
            assert not any(row != row.rstrip() for row in text.splitlines())


def test_unknown_record_is_error() -> None:
    with pytest.raises(CatalogError, match="does not contain D31R9"):
        describe("D31R9", root=NOWHERE)


def test_evidence_of_resets() -> None:
    known = {item.record: item for item in resets.ResetFile.load().evidence}
    assert (known["D1R4"].subject_kind, known["D1R4"].time) == (resets.ALL, "MTRSYS_SYSTODST")
    assert (known["D5R1"].subject_kind, known["D5R1"].fields) == ("processor", ("PRCVON_PFXCPUAD",))
    assert {"D4R1", "D4R2", "D5R21", "D6R1", "D6R2"} <= set(known)
    of_devices = {item.record for item in resets.reset_rules_for("device")}
    assert {"D1R4", "D6R1"} <= of_devices
    assert "D5R1" not in of_devices
    assert all(item.source for item in known.values())


def test_pack_layout_shows_source_and_missing_fields(tmp_path: Path) -> None:
    layout = next(one for one in layouts.layouts("D0R2", NOWHERE) if one.complete)
    new = MonitorField("SYTPRP_NEW", layout.length, 8, "unsigned", text="how much of it")
    longer = replace(layout, fields=(*layout.fields, new), length=layout.length + 8)
    page = page_render.page(longer, cross_changes={"SYTPRP_NEW": (4, 4)})
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "odd\x1b[2Jname.txt").write_text(page, encoding="utf-8")
    (folder / "gone.txt").write_text(page_render.null_page("MRPRCVON", 5, 1), encoding="utf-8")
    pages.import_pages([folder], pack_root=tmp_path / "packs")
    text = describe("D0R2", "7.3", tmp_path / "packs")
    assert "Layout of release 7.3 (pack 7.3): 116 bytes, complete" in text
    assert "  source  record page MRSYTPRP of z/VM 7.3, imported\n" in text
    assert "\n  page    odd?[2Jname.txt, imported 20" in text
    assert "  but     SYTPRP_NEW (line " in text
    assert "the cross reference offset 4" in text
    assert "  raw     SYTPRP_NEW: set their kinds in user.toml of the pack\n" in text
    assert "are not described" not in text
    assert packs.load("7.3", tmp_path / "packs").null_records == ["D5R1"]
    assert "According to the page of 7.3, the record is no longer written." in describe(
        "D5R1", "7.3", tmp_path / "packs"
    )
    # The next release has no page: the fields used of the others are described.
    assert "\n  page    " in describe("D0R2", "7.4", tmp_path / "packs")
