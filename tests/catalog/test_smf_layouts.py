"""Tests of the SMF layouts of the catalog, their checks, and records written and read by them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from zlens.catalog import cpumf, smf, smf_record, smf_sections
from zlens.catalog.smf_record import CounterSetValues
from zlens.checks import smf as check_smf
from zlens.errors import CatalogError

LAYOUT = smf.layout(113)


def test_smf_layouts_are_consistent() -> None:
    assert check_smf.check() == []


def test_smf_fact_has_source() -> None:
    for known in (*LAYOUT.sections.values(), *LAYOUT.subtypes.values(), *LAYOUT.fields):
        assert len(known.source) > 10
        assert known.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"offset": 77}, "ends at"),
        ({"offset": 10}, "overlap"),
        ({"section": "nowhere"}, "no section"),
        ({"type": "packed"}, "type is"),
        ({"type": "tod"}, "cannot have"),
        ({"status": "sure"}, "status is"),
        ({"name": "CTM"}, "defined twice"),
    ],
)
def test_invalid_smf_layouts_are_found(change: dict[str, object], words: str) -> None:
    changed = [
        replace(field, **change) if (field.name, field.subtype) == ("CPUID", 1) else field
        for field in LAYOUT.fields
    ]
    try:
        found = list(check_smf._layout(replace(LAYOUT, fields=tuple(changed))))
    except KeyError as error:
        found = [f"there is no section {error}"]
    assert any(words in one for one in found), found


def test_unknown_smf_field_is_error() -> None:
    with pytest.raises(CatalogError, match="has no field COREID"):
        LAYOUT.field("COREID", 2)
    assert LAYOUT.field("COREID", 1).offset == 76


def test_smf_columns_are_unique_and_cover_cpumf() -> None:
    names = [column.name for column in smf.columns(113)]
    assert len(names) == len(set(names))
    numbers = {int(m[1]) for name in names if (m := re.fullmatch(r"c(\d+)_d", name))}
    expected = {n for each in cpumf.sets().values() for n in each.numbers}
    assert numbers == expected


def test_smf_record_titles() -> None:
    assert smf_sections.title(30, 9) == "address space work"
    assert smf_sections.title(2) == "dump header"
    assert smf_sections.title(250, 1) == ""
    assert smf_sections.title(113, 9) == "CPU Measurement Facility"


@given(st.data())
def test_smf_record_round_trips(data: st.DataObject) -> None:
    subtype = data.draw(st.sampled_from(LAYOUT.order))
    values: dict[str, object] = {}
    for field in LAYOUT.fields:
        if field.section == "header" or field.subtype not in (None, subtype):
            continue
        if field.type == "bit" or field.name in ("FLAGS", "CF"):
            # Flags and their field are two views of the same bytes.
            continue
        if field.type == "character":
            text = st.text(st.sampled_from("ABCXYZ0189 $-"), max_size=field.length)
            values[field.name] = data.draw(text).rstrip()
        else:
            values[field.name] = data.draw(st.integers(0, 256**field.length - 1))
    local_us = data.draw(st.integers(0, 4_000_000_000_000_000 // 10_000)) * 10_000
    record = smf_record.encode(
        LAYOUT,
        subtype,
        system="SYSX",
        local_us=local_us,
        values=values,
        sets=[CounterSetValues("basic", [1, 2, 3])],
    )
    found = smf_record.decode(LAYOUT, record)
    assert {name: found[name] for name in values} == values
    assert found["STY"] == subtype
    assert smf_record.local_us(record) == local_us


@given(st.binary(max_size=300))
def test_smf_decode_accepts_any_bytes(record: bytes) -> None:
    smf_record.decode(LAYOUT, record)
    smf_record.local_us(record)
