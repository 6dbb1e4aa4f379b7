"""Tests of the layouts of SMF records that are lists of sections, their checks and descriptions."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from zlens.catalog import smf_sections
from zlens.catalog.smf_sections import ThreadFields
from zlens.checks import sections as check_sections
from zlens.errors import CatalogError
from zlens.explain.names import explain

LAYOUT = smf_sections.layout("70")


def test_section_layouts_are_consistent() -> None:
    assert check_sections.check() == []


def test_section_fact_has_source() -> None:
    for layout in smf_sections.layouts():
        for section in layout.sections:
            assert all(len(source) > 10 for source in (section.source, *(f.source for f in section.fields)))
            assert section.title
            assert all(field.text for field in section.fields)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("WAT", {"offset": 89}, "ends at 97, its section at 92"),
        ("WAT", {"offset": 8}, "fields WAT and CID overlap"),
        ("WAT", {"length": 4}, "duration cannot have 4 bytes"),
        ("WAT", {"kind": "time"}, "kind is 'time'"),
        ("WAT", {"status": "sure"}, "status is 'sure'"),
        ("WAT", {"text": ""}, "column smf70wat has no text"),
        ("WAT", {"column": "smf70cid"}, "column smf70cid is defined twice"),
        ("WAT", {"column": "offset"}, "column offset is defined twice"),
        ("WAT", {"date": "CID"}, "a time of day needs"),
        ("CNF", {"bits": {"A": (8, "beyond")}}, "its bits do not name each bit"),
        ("CID", {"bits": {"A": (0, "no flags")}}, "only flags have bits"),
        ("WAT", {"when": {"WAT": 1}}, "its condition is not on a number"),
        ("WAT", {"when": {"CID": 1, "TYP": 2}}, "it has several conditions"),
    ],
)
def test_invalid_section_layouts_are_found(name: str, change: dict[str, Any], words: str) -> None:
    section = LAYOUT.section("cpu")
    fields = tuple(replace(f, **change) if f.name == name else f for f in section.fields)
    changed = replace(section, fields=fields)
    found = list(check_sections._section(LAYOUT, changed))
    assert any(words in one for one in found), found


def test_sections_with_own_lengths_are_checked() -> None:
    """A text without a length needs a section that has its own; nested or split sections cannot have one."""
    layout = smf_sections.layout("30")
    accounting = layout.section("accounting")
    assert list(check_sections._section(layout, accounting)) == []
    fixed = replace(accounting, length_byte=False)
    assert list(check_sections._section(layout, fixed)) == ["field ACT: text cannot have 0 bytes"]
    found = list(check_sections._section(LAYOUT, replace(LAYOUT.section("cpu"), length_byte=True)))
    assert found == ["sections with lengths of their own are nested or split"]
    assert "each with a length of its own, in its first byte" in " ".join(explain("smf30_accounting").split())


def test_ambiguous_sections_are_found() -> None:
    twice = replace(LAYOUT, sections=(*LAYOUT.sections, LAYOUT.sections[0]))
    found = list(check_sections._layout(twice))
    assert "section product is defined twice" in found
    assert "two sections have the same triplet" in found


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threads": ThreadFields("control.MOD", "smf70_cpu_type")}, "threads are sections without an owner"),
        ({"written_at_end": (9,)}, "written_at_end has a subtype"),
    ],
)
def test_invalid_facts_of_system_are_found(change: dict[str, Any], words: str) -> None:
    found = list(check_sections._layout(replace(LAYOUT, system=replace(LAYOUT.system, **change))))
    assert [words in one for one in found] == [True]


def test_unknown_field_of_system_is_error() -> None:
    changed = replace(LAYOUT, system=replace(LAYOUT.system, model=("control.HWM", "control.NO")))
    with pytest.raises(CatalogError, match="no field NO"):
        list(check_sections._layout(changed))


def test_unknown_section_and_field_are_errors() -> None:
    with pytest.raises(CatalogError, match="no section nowhere"):
        LAYOUT.section("nowhere")
    with pytest.raises(CatalogError, match="no field NO"):
        LAYOUT.section("cpu").field("NO")
    assert smf_sections.find("smf70_nothing") is None
    assert smf_sections.find("smf71_cpu") is None
    assert smf_sections.find("d0r2") is None


def test_section_record_titles() -> None:
    assert smf_sections.title(30, 4) == "address space work: end of a step"
    assert smf_sections.title(113, 1) == "CPU Measurement Facility: counts of the interval"
    assert smf_sections.title(70, 2) == "RMF processor activity"
    assert smf_sections.is_decoded(70, 1)
    assert smf_sections.is_decoded(113, 2)
    assert not smf_sections.is_decoded(70, 2)
    assert not smf_sections.is_decoded(2, None)


def test_lengths_are_those_of_level_described() -> None:
    """IBM z/OS Data Gatherer, SMF REST API 1.3.0 (z/OS 3.1): sections of 70-1 and 72-3. Power: M. Packer."""
    expected = {
        70: {28: 104, 36: 496, 44: 92, 52: 788, 60: 84, 68: 96, 76: 24, 84: 16, 92: 188},
        72: {28: 104, 36: 280, 44: 12, 52: 160, 60: 816, 68: 56, 76: 172, 84: 24},
    }
    for record, lengths in expected.items():
        sections = smf_sections.layout(str(record)).sections
        found = {s.triplet: s.length for s in sections}
        assert found == lengths


def test_raw_table_is_explained() -> None:
    text = explain("smf70_cpu")
    assert text.startswith("smf70_cpu: a logical processor (thread) of the system\n")
    assert "SMF70CPU, triplet at 44, 92 bytes" in text
    assert "0 8 duration smf70wat: Wait time [s]" in text
    assert "core_no: section_no of its core in smf70_core" in text
    assert "SELECT * FROM smf70_cpu" in text


def test_less_certain_fields_of_raw_tables_are_marked() -> None:
    text = " ".join(explain("smf70_control").split())
    assert (
        "smf70_numpowersamples: Power samples, the divisor of the sums; the length is assumed (inferred)"
        in text
    )
    assert "smf70wla: MSU/h capacity available to image [MSU/h] 36 4" in text
    assert "Status inferred" in " ".join(explain("smf70_powerpartitionname").split())


def test_record_type_is_explained() -> None:
    for name in ("SMF70", "smf 70", "SMF 70.1"):
        assert "smf70_logical: a logical processor, or core, of a partition" in explain(name)
    assert "cpsp: speed of the processor" in explain("smf113")


def test_field_and_bit_are_explained() -> None:
    text = explain("R723CCPU")
    assert "smf72_scs.r723ccpu" in text
    assert "hfp, 8 bytes at 32 of R723SCS" in text
    bit = explain("smf70cnf_sta")
    assert "smf70_cpu.smf70cnf_sta: Online at end of interval (bit 7)" in bit
    assert "processor.wait_time" in explain("smf70wat")


def test_sections_that_are_not_read_are_named() -> None:
    """A question for a number that no table has leads to its reason; complete records say nothing."""
    assert "SMF70WC" in explain("smf70")
    assert "Not read" not in explain("smf30")
