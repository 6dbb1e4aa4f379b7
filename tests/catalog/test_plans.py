"""Tests of decoder plans, and of records written and read back by every layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import section_decoder
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from random_records import TOD, some_record

import record_encoder
from iterations import draws, iterations
from zlens.catalog import layouts, plans
from zlens.catalog.layouts import MonitorField, MonitorSection, RecordLayout
from zlens.catalog.raw_columns import FIXED, column_type, field_parts
from zlens.errors import CatalogError

NOWHERE = Path(__file__).parent / "no packs here"
ALL = [
    *(x for record in layouts.records(NOWHERE) for x in layouts.layouts(record, NOWHERE)),
    *(x for record in layouts.sim_records() for x in layouts.sim_layouts(record)),
]


def of(record: str, release: str = "5.3") -> RecordLayout:
    return next(x for x in layouts.layouts(record, NOWHERE) if x.release == release)


def column(plan: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (c for c in plan["columns"] if c["name"] == name)
    return found


def places(plan: dict[str, Any], length: int) -> dict[str, dict[str, Any]]:
    (layout,) = (x for x in plan["layouts"] if length in x["lengths"])
    return {plan["columns"][f["column"]]["name"]: f for f in layout["fields"]}


def test_plans_are_cached() -> None:
    """Other files of the system and fragments of a followed file reuse the plans."""
    layout = of("D0R2")
    one, other = (plans.record_plans("D0R2", {layout.length: layout}) for _ in range(2))
    assert one == [
        plans.table_plan(name, "D0R2", {layout.length: layout}) for name in plans.table_names([layout])
    ]
    assert all(mine is again for mine, again in zip(one, other, strict=True))
    assert one is not other


# Decoder plans


def test_plan_of_record() -> None:
    plan = plans.table_plan("d0r2", "D0R2", {108: of("D0R2"), 124: of("D0R2")})
    assert (plan["table"], plan["domain"], plan["record"]) == ("d0r2", 0, 2)
    assert (plan["subject"], plan["subject_kind"], plan["section"]) == (
        ["sytprp_pfxcpuad"],
        "processor",
        None,
    )
    assert [x["lengths"] for x in plan["layouts"]] == [[108, 124]]
    utime = column(plan, "sytprp_pfxutime")
    assert utime["type"] == "int"
    assert utime["unit"] == "tod"
    assert utime["difference"]["width"] == 8
    assert utime["difference"]["direction"] == "learn"
    assert column(plan, "sytprp_pfxprbtm")["difference"]["direction"] == "down"
    assert column(plan, "sytprp_pfxspinc")["difference"]["direction"] == "up"
    assert column(plan, "sytprp_pfxcpuad")["difference"] is None
    place = places(plan, 124)["sytprp_pfxutime"]
    assert (place["offset"], place["length"], place["part"], place["element"]) == (32, 8, "record", None)
    assert not any("*" in c["name"] for c in plan["columns"])


def test_plan_of_section() -> None:
    own, entries = plans.record_plans("D0R16", {64 + 40 * n: of("D0R16") for n in (1, 2)})
    assert own["table"] == "d0r16"
    assert entries["table"] == "d0r16_cpudata"
    assert entries["section"] == {
        **{"offset_at": 32, "offset_len": 2, "stride_at": 34, "stride_len": 2, "count_at": 30, "count_len": 1}
    }
    assert entries["subject"] == ["sytcup_lcupname", "sytcup_lcucpuid"]
    assert entries["subject_kind"] == "partition-processor"
    assert column(entries, "sytcup_lcucactm")["difference"]["direction"] == "learn"
    names = [c["name"] for c in entries["columns"]]
    assert names.index("sytcup_lcupname") < names.index("sytcup_lcucpuid")
    found = places(entries, 104)
    assert (found["sytcup_lcucactm"]["offset"], found["sytcup_lcucactm"]["part"]) == (8, "entry")
    assert found["sytcup_lcupname"]["part"] == "record"


def test_payloads_are_distinguished_by_bytes() -> None:
    plan_by_table = {plan["table"]: plan for plan in plans.record_plans("D10R2", {196: of("D10R2")})}
    assert set(plan_by_table) == {
        *("d10r2", "d10r2_linux_mem", "d10r2_linux_os", "d10r2_linux_net"),
        *("d10r2_linux_os_cpu", "d10r2_mon_fsstatd", "d10r2_mon_procd", "d10r2_mon_procd_task"),
    }
    section = plan_by_table["d10r2_linux_mem"]["section"]
    assert section["match"] == {"at": 32, "hex": "d3c9d5e4e7d2d9d5d301"}
    assert (section["offset_at"], section["stride"], section["count"]) == (20, 144, 1)
    assert section["bound"] == {"at": 22, "len": 2}
    assert section["equal"] == {"at": 8, "other": 12, "len": 4}
    inner = plan_by_table["d10r2_linux_os_cpu"]["section"]
    assert (inner["offset_at"], inner["stride_at"], inner["count_at"]) == (24, 20, 16)
    assert inner["within"] == plan_by_table["d10r2_linux_os"]["section"]


def test_arrays_in_any_section_are_rows() -> None:
    plan = plans.table_plan("d3r8_blocks", "D3R8", {260: of("D3R8")})
    assert plan["section"] == {"offset": 20, "stride": 4, "count": 20, "span": 164}
    columns = [c["name"] for c in plan["columns"]]
    placed = {columns[f["column"]]: f for f in plan["layouts"][0]["fields"]}
    assert (placed["stobpg_blocks_m"]["offset"], placed["stobpg_blocks_m"]["part"]) == (80, "entry")
    assert (placed["stobpg_block_size"]["offset"], placed["stobpg_block_size"]["part"]) == (1, "ordinal")


def test_variable_texts_shift_following_fields() -> None:
    plan = plans.table_plan("d10r2_mon_fsstatd", "D10R2", {196: of("D10R2")})
    assert plan["section"]["strings"] == {"at": 12, "count": 3, "tail": 72}
    assert plan["section"]["inner"] == {"offset": {"at": 10, "len": 2}, "length": {"at": 8, "len": 2}}
    columns = [c["name"] for c in plan["columns"]]
    placed = {columns[f["column"]]: f for f in plan["layouts"][0]["fields"]}
    assert [placed[name]["element"] for name in ("fs_name", "fs_dir", "fs_type")] == [0, 1, 2]
    assert (placed["fs_flag"]["offset"], placed["fs_flag"]["part"]) == (64, "tail")


def test_events_and_configuration_have_no_differences() -> None:
    for record in ("D4R2", "D1R19", "D6R27"):
        plan = plans.table_plan(record.lower(), record, {of(record).length: of(record)})
        assert all(c["difference"] is None for c in plan["columns"])


def test_unknown_kind_is_never_differenced() -> None:
    for layout in ALL:
        for plan in plans.record_plans(layout.record, {layout.length: layout}):
            for c in plan["columns"]:
                if c["difference"] is not None:
                    name = c["name"].upper()
                    every = (*layout.fields, *(f for s in layout.sections for f, _ in s.rows))
                    field = next(f for f in every if name.startswith(f.name.upper()))
                    assert field.kind in ("counter", "timer", "sampled")


def test_columns_of_several_layouts_are_joined() -> None:
    old, new = of("D5R2"), of("D5R2", "6.3")
    plan = plans.table_plan("d5r2", "D5R2", {24: old, 28: new})
    assert [c["name"] for c in plan["columns"]] == ["prcvof_pfxcpuad", "prcvof_voffrson", "prcvof_corid"]
    assert set(places(plan, 24)) == {"prcvof_pfxcpuad"}
    assert set(places(plan, 28)) == {"prcvof_pfxcpuad", "prcvof_voffrson", "prcvof_corid"}


def _layout(
    *fields: MonitorField, release: str = "7.3", sections: tuple[MonitorSection, ...] = ()
) -> RecordLayout:
    return RecordLayout(
        **{"record": "D0R99", "domain": 0, "number": 99, "dsect": "MRX", "title": "t", "kind": "sample"},
        **{"release": release, "length": 60, "source": "s", "status": "verified", "pack": "p"},
        **{"fields": fields, "subject": (), "subject_kind": None, "reset_on": (), "sections": sections},
    )


def test_conflicting_types_do_not_share_column() -> None:
    one = _layout(
        MonitorField("A", 20, 8, "unsigned", "counter", "stated"), MonitorField("B", 28, 4, "unsigned")
    )
    two = _layout(MonitorField("A", 20, 8, "character", "text", "stated", "ebcdic"), release="7.2")
    plan = plans.table_plan("d0r99", "D0R99", {60: one, 64: two})
    assert column(plan, "a")["type"] == "int"
    assert "a" in places(plan, 60)
    assert places(plan, 64) == {}


def test_plan_merges_kinds_of_releases() -> None:
    one = _layout(MonitorField("A", 20, 4, "unsigned"), MonitorField("B", 28, 4, "unsigned"))
    two = _layout(MonitorField("A", 20, 4, "unsigned", "counter", "stated"), release="7.2")
    plan = plans.table_plan("d0r99", "D0R99", {60: one, 64: two})
    assert column(plan, "a")["difference"] is not None


def test_sections_with_two_locations_share_table() -> None:
    section = MonitorSection(
        name="S",
        title="t",
        length=4,
        offset=24,
        stride=4,
        fields=(MonitorField("E", 0, 4, "unsigned"),),
        source="",
        status="unverified",
    )
    field = MonitorField("A", 20, 4, "unsigned")
    one = _layout(field, sections=(section,))
    two = _layout(field, sections=(replace(section, offset=32),), release="7.2")
    plan = plans.table_plan("d0r99_s", "D0R99", {60: one, 64: two})
    assert [x["lengths"] for x in plan["layouts"]] == [[60]]
    assert plan["section"] == {"offset": 24, "stride": 4}


def test_no_plan_without_layout() -> None:
    with pytest.raises(CatalogError, match="no layout"):
        plans.table_plan("d0r2", "D0R2", {})
    with pytest.raises(CatalogError, match="no table d0r2_x"):
        plans.table_plan("d0r2_x", "D0R2", {108: of("D0R2")})


def test_plans_are_json_with_unique_names() -> None:
    for layout in ALL:
        record_plans = plans.record_plans(layout.record, {layout.length: layout})
        assert json.loads(json.dumps(record_plans, allow_nan=False)) == record_plans
        for plan in record_plans:
            leaving = [c.name for c in plans.plan_columns(plan)]
            assert len({*leaving, *FIXED}) == len(leaving) + len(FIXED)
            assert set(plan["subject"]) <= {c["name"] for c in plan["columns"]}
            assert plan["layouts"][0]["lengths"] == [layout.length]


def test_plan_columns_include_differences() -> None:
    plan = plans.table_plan("d0r2", "D0R2", {108: of("D0R2")})
    leaving = {c.name: c for c in plans.plan_columns(plan)}
    assert list(leaving)[:3] == ["sytprp_pfxcpuad", "sytprp_plscuhaf", "sytprp_pfxprbtm"]
    assert leaving["sytprp_pfxutime_d"].unit == "tod"
    assert leaving["sytprp_pfxutime"].text.startswith("raw CPU time")
    d0r16 = plans.table_plan("d0r16_cpudata", "D0R16", {104: of("D0R16")})
    texts = {c.name: c for c in plans.plan_columns(d0r16)}
    assert (texts["sytcup_lcupname"].type, texts["sytcup_lcupname"].unit) == ("text", "")
    assert "unit guessed" in texts["sytcup_lcucactm"].text
    assert texts["sytcup_lcutctod"].type == "time"


@pytest.mark.parametrize(
    ("field", "type_"),
    [
        (MonitorField("A", 0, 8, "character", "timer", "stated"), "int"),
        (MonitorField("A", 0, 8, "character", "time", "stated"), "time"),
        (MonitorField("A", 0, 4, "unsigned", "time", "stated"), "int"),
        (MonitorField("A", 0, 8, "character", "identifier", "stated", "ebcdic"), "text"),
        (MonitorField("A", 0, 2, "character", "identifier", "stated", "packed"), "hex"),
        (MonitorField("A", 0, 2, "unsigned", "identifier", "stated", "packed"), "hex"),
        (MonitorField("A", 0, 2, "unsigned", "identifier", "stated"), "int"),
        (MonitorField("A", 0, 6, "character", "text", "stated", "ascii"), "ascii"),
        (MonitorField("A", 0, 8, "character"), "hex"),
        (MonitorField("A", 0, 8, "unsigned"), "int"),
        (MonitorField("A", 0, 16, "unsigned"), "hex"),
        (MonitorField("A", 0, 4, "bitstring", "flags", "stated"), "int"),
        (MonitorField("A", 0, 9, "bitstring", "flags", "stated"), "hex"),
        (MonitorField("A", 0, 1, "character", "flags", "stated"), "int"),
        (MonitorField("A", 0, 0, "character", "text", "stated", "ebcdic"), "text"),
        (MonitorField("A", 0, 0, "character"), "hex"),
    ],
)
def test_types_follow_kind(field: MonitorField, type_: str) -> None:
    assert column_type(field) == type_


def test_array_has_column_per_element() -> None:
    parts = field_parts(MonitorField("A", 20, 4, "unsigned", count=3, first=0))
    assert [(p.name, p.element) for p in parts] == [("A_0", 0), ("A_1", 1), ("A_2", 2)]
    (whole,) = field_parts(MonitorField("A", 20, 4, "character", count=3))
    assert (whole.name, whole.type, whole.element) == ("A", "hex", None)
    plan = plans.table_plan("d3r8", "D3R8", {260: of("D3R8")})
    place = places(plan, 260)["stobpg_pgdbr_20"]
    assert (place["offset"], place["length"], place["element"]) == (20, 4, 19)
    assert places(plan, 260)["stobpg_pgdbr_tbl"]["length"] == 80


def test_difference_rules_of_plan() -> None:
    d6r3 = plans.table_plan("d6r3", "D6R3", {260: of("D6R3")})
    assert column(d6r3, "ioddev_scmssch")["difference"] is None
    assert column(d6r3, "ioddev_scgssch")["difference"] == {
        **{"width": 4, "signed": False, "direction": "up", "half_range": 0.5, "max_rate": 1e7}
    }
    connect = column(d6r3, "ioddev_scmcntim")["difference"]
    assert (connect["width"], connect["max_rate"]) == (4, 15625.0)
    assert column(d6r3, "ioddev_hfctio")["difference"]["max_rate"] == 1e6
    d0r2 = plans.table_plan("d0r2", "D0R2", {108: of("D0R2")})
    assert column(d0r2, "sytprp_pfxutime")["difference"]["half_range"] == 0.0
    assert column(d0r2, "sytprp_pfxspinc")["difference"]["max_rate"] == 1e7


# Records written and read back


def check_round_trip(layout: RecordLayout, seed: int) -> None:
    data, expected, wanted = some_record(layout, draws(seed))
    assert int.from_bytes(data[:2], "big") == len(data)
    assert (data[2:4], data[4], data[5]) == (b"\0\0", layout.domain, 0)
    assert int.from_bytes(data[6:8], "big") == layout.number
    assert int.from_bytes(data[8:16], "big") == TOD
    if not layout.variable:
        assert len(data) == layout.length
    values = plans.decode(layout, data)
    tails = {f.name for f in layout.fields if f.length == 0}
    for name, value in expected.items():
        if name in tails and wanted:
            continue
        assert values[name] == value, name
    for name, rows in wanted.items():
        section = layout.section(name)
        assert section is not None
        read = section_decoder.decode_entries(layout, section, data)
        assert len(read) == len(rows)
        for one, row in zip(read, rows, strict=True):
            assert {key: one[key] for key in row} == row


@pytest.mark.parametrize("layout", ALL, ids=lambda x: f"{x.record}-{x.release}")
def test_every_layout_round_trips(layout: RecordLayout) -> None:
    for seed in range(3):
        check_round_trip(layout, seed)


@settings(max_examples=iterations(100, 25), deadline=None)
@given(st.sampled_from(ALL), st.integers(0, 2**32))
def test_any_layout_round_trips(layout: RecordLayout, seed: int) -> None:
    check_round_trip(layout, seed)


@settings(max_examples=iterations(50, 15), deadline=None)
@given(st.sampled_from(ALL), st.integers(0, 2**32), st.integers(20, 400))
def test_fields_past_end_are_null(layout: RecordLayout, seed: int, cut: int) -> None:
    data, expected, _ = some_record(layout, draws(seed))
    short = data[:cut]
    values = plans.decode(layout, short)
    for field in layout.fields:
        for part in field_parts(field):
            end = field.end if part.element is None else field.offset + (part.element + 1) * field.length
            if end > len(short) and field.length:
                assert values[part.name] is None
            elif part.name in expected and field.length:
                assert values[part.name] == expected[part.name]


def test_overlays_read_underlying_bytes() -> None:
    layout = of("D4R2")
    data = record_encoder.encode(layout, {"USELOF_ASCDEFSZ": (7 << 32) + 9}, tod=TOD)
    values = plans.decode(layout, data)
    assert values["USELOF_CALDEFHI"] == 7
    assert values["USELOF_CALDEFLO"] == 9
    again = record_encoder.encode(layout, {"USELOF_ASCDEFSZ": 5, "USELOF_CALDEFHI": 1}, tod=TOD)
    assert plans.decode(layout, again)["USELOF_ASCDEFSZ"] == (1 << 32) + 5


def test_records_of_another_length() -> None:
    long = record_encoder.encode(of("D0R2"), {"SYTPRP_PFXUTIME": 4096}, tod=TOD, length=352)
    assert len(long) == 352
    assert plans.decode(of("D0R2"), long)["SYTPRP_PFXUTIME"] == 4096
    short = record_encoder.encode(of("D0R2"), {"SYTPRP_PFXUTIME": 4096}, tod=TOD, length=36)
    assert plans.decode(of("D0R2"), short)["SYTPRP_PFXUTIME"] is None


def test_entries_past_record_end_are_not_read() -> None:
    layout = of("D0R16")
    data = record_encoder.encode(
        layout, {}, tod=TOD, entries={"CPUDATA": [{"SYTCUP_LCUCPUID": n} for n in range(3)]}
    )
    section = layout.sections[0]
    assert len(section_decoder.decode_entries(layout, section, data)) == 3
    assert len(section_decoder.decode_entries(layout, section, data[:-1])) == 2
    for values in ({"SYTCUP_CALCPUOF": 4}, {"SYTCUP_CALCPULN": 0}, {"SYTCUP_CALCPULN": -40}):
        bad = record_encoder.encode(layout, values, tod=TOD)
        assert section_decoder.decode_entries(layout, section, bad) == []


@pytest.mark.parametrize(
    ("values", "entries", "words"),
    [
        ({"SYTCUP_X": 1}, {}, "no field SYTCUP_X"),
        ({}, {"X": []}, "no section X"),
        ({}, {"CPUDATA": [{"SYTCUP_X": 1}]}, "no field SYTCUP_X"),
        ({"SYTCUP_LCUPPNUM": 256}, {}, "does not fit"),
        ({"SYTCUP_LCUPPNUM": -1}, {}, "does not fit"),
        ({"SYTCUP_LCUPNAME": "NINECHARS"}, {}, "longer than the 8 bytes"),
    ],
)
def test_unwritable_values_are_rejected(
    values: dict[str, Any], entries: dict[str, list[dict[str, Any]]], words: str
) -> None:
    with pytest.raises(CatalogError, match=words):
        record_encoder.encode(of("D0R16"), values, tod=TOD, entries=entries)
