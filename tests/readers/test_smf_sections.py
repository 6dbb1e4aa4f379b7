"""Tests of the tables of SMF sections."""

from __future__ import annotations

import datetime as dt
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from section_builder import SECOND, START_US, Sections, job, rmf
from smf113_builder import START_US as COUNTERS_US
from smf113_builder import dump, opened, record, rows

import zlens
from samples import needs, sample
from zlens.catalog import smf_sections, smf_writer
from zlens.engine.engine import Engine
from zlens.inputs import record_intervals
from zlens.inputs.options import parse_zone
from zlens.inputs.source import IntervalSource
from zlens.session.session import CoreSession

SAMPLE = sample("smf/synth_rdw.smf")
START = dt.datetime.fromtimestamp(START_US / SECOND, dt.UTC)

MACHINE = {"MOD": "3931", "HWM": "A01", "MDL": "704", "CSC": "00000000000ABCDE", "HHF": ["HHS", "HHA"]}


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def value(field: smf_sections.SmfField) -> Any:
    """Return a value that is probably unique in the section of a field."""
    number = sum(map(ord, field.name)) % (100 if field.length == 1 else 7000) + field.length
    if field.kind == "text":
        return field.name[: field.length or None]
    if field.kind == "hex":
        return f"{number:0{2 * field.length}x}"[: 2 * field.length]
    if field.kind in ("hfp", "duration", "offset"):
        return number + 0.5
    if field.kind == "packed_duration":
        return number % 99 * 60 + 12.345
    if field.kind in ("tod", "tod_local"):
        return START_US + number * SECOND
    if field.kind in ("date", "packed_time", "hundredths"):
        return START_US + number * SECOND
    if field.kind == "packed":
        return number % 10 ** (2 * field.length - 1)
    return number % 2 ** (8 * field.length - 1)


def conditions() -> list[tuple[str, dict[str, int]]]:
    """Return the layouts with each value that fields of theirs need, and without one."""
    found: list[tuple[str, dict[str, int]]] = []
    for layout in smf_sections.layouts():
        fields = (field for section in layout.sections for field in section.fields)
        needed = {tuple(field.when.items()) for field in fields}
        found += [(layout.name, dict(items)) for items in sorted(needed)]
    return found


@pytest.mark.parametrize(("name", "when"), conditions())
def test_every_field_of_every_section_is_read(name: str, when: dict[str, int], tmp_path: Path) -> None:
    layout = smf_sections.layout(name)
    subtype = max(layout.subtypes)
    # The writer fills in where sections are.
    triplets = {
        (section.within, at)
        for section in layout.sections
        if section.within and section.triplet is not None
        for at in range(section.triplet, section.triplet + 8)
    }
    values = {
        section.name: {
            field.name: when.get(field.name, value(field))
            for field in section.fields
            if field.when in ({}, when) and (section.name, field.offset) not in triplets
        }
        for section in layout.sections
        if section.triplet is not None
    }
    # A complete record with a known interval and zone.
    for name in ("RAO", "RAL", "RAN"):
        values.get("product", {}).pop(name, None)
    if layout.base:
        values["product"] |= smf_writer.interval(START_US + 900 * SECOND, 900, 3600)
    sections = {name: [own] for name, own in values.items()}
    data = smf_writer.encode_record(layout, subtype, system="SYSA", local_us=START_US, sections=sections)
    source = opened(dump(tmp_path / "all.smf", [data]), tz=parse_zone("+01:00"))
    for section in layout.sections:
        if section.triplet is None:
            continue
        (row,) = rows(source, table=section.table)
        for field in section.fields:
            given = values[section.name].get(field.name)
            found = row[field.column]
            if field.when not in ({}, when):
                assert found is None, field.name
            if given is None:
                continue
            if section.length_byte and not field.offset:
                given = len(values[section.name]["ACT"])
            if field.kind == "date":
                assert found == at(0 if field.name != "DAT" else 3600).strftime("%Y-%m-%d"), field.name
            elif field.kind in ("tod_local", "packed_time", "hundredths"):
                zone = 3600
                day = dt.timedelta(days=1)
                assert (found - at((given - START_US) // SECOND - zone)) % day == dt.timedelta(0), field.name
            elif field.kind == "tod":
                assert found == START + dt.timedelta(microseconds=given - START_US), field.name
            else:
                assert found == given, field.name
            for name, (bit, _) in field.bits.items():
                expected = bool(given >> (8 * field.length - 1 - bit) & 1)
                assert row[f"{field.column}_{name.lower()}"] == expected, name
    assert source.problems(complete=True) == []


def test_system_is_known_by_its_records(tmp_path: Path) -> None:
    sections: Sections = {
        "control": [MACHINE],
        "partition": [{"LPM": "LPAR1", "LPN": 1}, {"LPM": "LPAR7", "LPN": 7}],
    }
    records = [
        one
        for end in (900, 1800, 2000)
        for one in rmf(
            70,
            end,
            sections,
            seconds=200 if end == 2000 else 900,
            zone_s=-18_000,
            product={"PTN": 7, "OIL": 900, "XNM": "PLEX1"},
        )
    ]
    source = opened(dump(tmp_path / "one.smf", records))
    (info,) = source.systems
    assert (info.machine_type, info.model, info.serial) == ("3931", "A01", "00000000000ABCDE")
    assert (info.release, info.lpar, info.lpar_number, info.sysplex) == ("3.1", "LPAR7", 7, "PLEX1")
    assert info.utc_offset_s == -18_000
    assert not info.local_time
    assert info.nominal_s == 900
    assert [(one.end_us - START_US, one.seconds, one.flag) for one in info.intervals] == [
        (900 * SECOND, 900, None),
        (1800 * SECOND, 900, None),
        (2000 * SECOND, 200, "short"),
    ]
    assert info.first_us == START_US
    assert info.last_us == START_US + 2000 * SECOND
    assert [row["flag"] for row in rows(source, table="smf70_control")] == [None, None, "short"]
    assert source.resets() == []


def test_counters_divide_rmf_intervals(tmp_path: Path) -> None:
    """Counters cover two thirds of the first RMF interval, and nothing of the second."""
    before = (COUNTERS_US - START_US) / SECOND
    path = dump(
        tmp_path / "both.smf",
        [
            *(record(1, 0, 300), record(1, 0, 600)),
            *(one for end in (900, 1800) for one in rmf(70, before + end, {"control": [{}]})),
        ],
    )
    source = opened(path)
    (info,) = source.systems
    assert info.nominal_s == 300
    assert [((one.end_us - COUNTERS_US) / SECOND, one.seconds) for one in info.intervals] == [
        (300, 300), (600, 300), (900, 900), (1800, 900),
    ]  # fmt: skip
    assert len(rows(source)) == 2
    assert len(rows(source, table="smf70_control")) == 2
    with zlens.open(path) as session:
        # No second is in two intervals.
        found = session.sql("SELECT seconds, epoch(interval_end - interval_start) FROM interval").rows
        assert found == [(seconds, seconds) for seconds in (300, 300, 300, 900)]


def test_partitions_join_counters_of_later_interval_end(tmp_path: Path) -> None:
    sections: Sections = {
        "control": [MACHINE],
        "partition": [{"LPM": "A", "LPN": 1, "BDN": 2}],
        "logical": [{"PDT": 10**8, "EDT": 10**8, "ONT": 9 * 10**8, "CIX": 1}] * 2,
        "name": [{"CIN": "CP", "CTN": 2, "CAN": 1800}],
    }
    # At the time of the counter records, which end 0.37 seconds after RMF's.
    before = (COUNTERS_US - START_US) / SECOND
    records = [
        one
        for end in (900, 1800)
        for one in (record(1, 0, end + 0.37), *rmf(70, before + end, sections, product={"PTN": 1}))
    ]
    with zlens.open(dump(tmp_path / "both.smf", records)) as session:
        found = session.sql("select interval_end, partition, logical_cpus, total_s from partition").rows
        ends = session.sql("select interval_end from cpumf order by 1").rows
    start = dt.datetime.fromtimestamp(COUNTERS_US / SECOND, dt.UTC)
    assert sorted(found) == [
        (start + dt.timedelta(seconds=end), "A", 2, pytest.approx(200)) for end in (900, 1800)
    ]
    assert ends == [(start + dt.timedelta(seconds=end + 0.37),) for end in (900, 1800)]


def test_split_record_equals_complete_one(tmp_path: Path) -> None:
    """The logical processors do not fit into a record of 32,756 bytes."""
    partitions = [{"LPM": f"LP{n}", "LPN": n, "BDS": n * 20, "BDN": 20} for n in range(30)]
    sections: Sections = {
        "control": [MACHINE],
        "cpu": [{"CID": n, "WAT": n / 2} for n in range(40)],
        "partition": partitions,
        "logical": [{"VPA": n % 20, "PDT": n * 1000} for n in range(600)],
        "name": [{"CIN": "CP"}, {"CIN": "IIP"}],
        "core": [{"CORE_ID": n, "CPU_SKIP": 2 * n, "CPU_NUM": 2} for n in range(20)],
    }
    pieces = rmf(70, 900, sections, most=32_756)
    assert len(pieces) == 2
    assert max(map(len, pieces)) <= 32_756
    (whole,) = rmf(70, 900, sections)
    assert len(whole) > 60_000
    parts = opened(dump(tmp_path / "pieces.smf", [record(1, 0, 300), *pieces]))
    one = opened(dump(tmp_path / "whole.smf", [record(1, 0, 300), whole]))
    for table in (name for name in parts.tables if name.startswith("smf70_") and name != "smf70_product"):
        columns = [column.name for column in parts.tables[table][0].columns if column.name != "file"]
        assert rows(parts, columns, table) == rows(one, columns, table), table
    found = rows(parts, ["section_no", "partition_no", "smf70pdt"], "smf70_logical")
    assert [row["partition_no"] for row in found] == [n // 20 for n in range(600)]
    cores = [row["core_no"] for row in rows(parts, ["core_no"], "smf70_cpu")]
    assert cores == [n // 2 for n in range(40)]
    assert parts.problems(complete=True) == []


def test_paths_of_split_record_belong_to_their_units(tmp_path: Path) -> None:
    """Each part has configuration sections, and their paths: numbers count over the whole record."""
    layout = smf_sections.layout("78")
    parts = []
    for sequence, units in enumerate(([0x42, 0x43], [0x44]), 1):
        product = {**smf_writer.interval(START_US + 900 * SECOND, 900), "SNM": "SYSA"}
        sections: dict[str, list[dict[str, Any]]] = {
            "product": [product],
            "configuration_control": [{"ID1": unit} for unit in units],
            "path": [
                {"CPID": f"{unit:02x}", "CPST": ["CPI"], "configuration_no": number}
                for number, unit in enumerate(units)
            ],
        }
        given: dict[str, Any] = {"system": "SYSA", "local_us": START_US + 902 * SECOND}
        whole = smf_writer.encode_record(layout, 3, sections=sections, **given)
        # The reassembly area follows: of two parts, this one, with a block for each kind of section.
        ((start, _),) = smf_sections.section_extents(layout, layout.section("product"), whole)
        area = len(whole) - start
        product |= {"RAO": area, "RAL": 16, "RAN": 1}
        blocks = [(1, 1), (3, 1 if sequence == 1 else 3), (0, 0), (0, 0), (0, 0)]
        header = struct.pack(">HHIHH4x", 2, sequence, area + 16, 4, len(blocks))
        data = smf_writer.encode_record(layout, 3, sections=sections, **given)
        parts.append(data + header + b"".join(struct.pack(">HH", *block) for block in blocks))
    source = opened(dump(tmp_path / "split.smf", parts))
    paths = rows(source, ["section_no", "configuration_no", "r783cpid"], "smf78_path")
    assert [tuple(row.values())[-3:] for row in paths] == [(0, 0, "42"), (1, 1, "43"), (2, 2, "44")]
    assert source.problems(complete=True) == []


def test_missing_segments_of_split_record_are_reported(tmp_path: Path) -> None:
    sections: Sections = {"control": [MACHINE], "logical": [{"PDT": n} for n in range(600)]}
    pieces = rmf(70, 900, sections, most=32_756)
    source = opened(dump(tmp_path / "half.smf", pieces[1:]))
    found = rows(source, ["section_no", "smf70pdt"], "smf70_logical")
    assert found
    assert all(row["section_no"] == row["smf70pdt"] for row in found)
    problems = [(problem.kind, problem.detail) for problem in source.problems(complete=True)]
    assert problems[0][0] == "truncated"
    assert "incomplete: 1 of 2 parts found (2)" in problems[0][1]
    assert f"{len(found)} of 600 found" in problems[-1][1]


def test_older_and_newer_levels_are_read(tmp_path: Path) -> None:
    """Sections of z/OS 2.x are shorter (F. Wong, smf70h.h: control 344, logical 88), newer ones longer."""
    sections: Sections = {
        "control": [{**MACHINE, "MCF": 1200, "CPE_HI": 5}],
        "logical": [{"PDT": 7, "MTIT": 8, "MAXNL": 3}],
    }
    lengths = {"control": 344, "logical": 88}
    old = rmf(70, 900, sections, lengths=lengths)
    new = rmf(70, 1800, sections, lengths={"control": 512, "logical": 120})
    source = opened(dump(tmp_path / "levels.smf", [*old, *new]))
    control = rows(source, ["smf70mcf", "smf70cpe_hi"], "smf70_control")
    assert [tuple(row.values()) for row in control] == [(1200, None), (1200, 5)]
    logical = rows(source, ["smf70pdt", "smf70mtit", "smf70maxnl"], "smf70_logical")
    assert [tuple(row.values()) for row in logical] == [(7, 8, None), (7, 8, 3)]
    assert source.problems(complete=True) == []


@pytest.mark.parametrize("length", [344, 512])
def test_system_is_known_for_any_section_length(length: int, tmp_path: Path) -> None:
    """A triplet has the length in two bytes; the second byte of 512 is 0."""
    records = rmf(70, 900, {"control": [MACHINE]}, lengths={"control": length})
    (info,) = opened(dump(tmp_path / "one.smf", records)).systems
    assert (info.machine_type, info.model, info.serial) == ("3931", "A01", "00000000000ABCDE")


def test_level_with_fewer_kinds_of_section(tmp_path: Path) -> None:
    """Older records have the product section at the offset of newer ones' core and tenant triplets."""
    (data,) = rmf(70, 900, {"control": [MACHINE]})
    old = bytearray(data[:84] + data[100:])
    for triplet in (28, 36):
        offset = int.from_bytes(old[triplet : triplet + 4])
        old[triplet : triplet + 4] = (offset - 16).to_bytes(4)
    source = opened(dump(tmp_path / "old.smf", [bytes(old)]))
    assert rows(source, ["smf70csc"], "smf70_control") == [{"smf70csc": "00000000000ABCDE"}]
    assert rows(source, table="smf70_core") == []
    assert rows(source, table="smf70_tenant") == []
    assert source.problems(complete=True) == []


def test_periods_have_states_and_distributions(tmp_path: Path) -> None:
    sections: Sections = {
        "wms": [{"MCNM": "ONLINE", "MSCF": ["MRCL"]}],
        "scs": [
            {"CPER": 1, "CRTX": 1, "CWMX": 1, "CWMN": 2, "CCPU": 1_793_920.0},
            {"CPER": 2, "CRTX": 0, "CWMX": 0, "CWMN": 0},
            {"CPER": 3, "CRTX": 2, "CWMX": 3, "CWMN": 1},
        ],
        "rts": [{"TRDB_1": 50, "TRDB_14": 2**32 - 1}, {"TRDB_1": 7}, {"TRDB_1": 9}],
        "wrs": [{"RTYP": "CICS"}, {"RTYP": "DB2"}, {"RTYP": "IMS", "RDNX": 1, "RDNN": 2}],
        "dns": [{"DNNU": 4}, {"DNNU": 5}],
    }
    source = opened(dump(tmp_path / "wlm.smf", rmf(72, 900, sections)))
    (wms,) = rows(source, ["r723mcnm", "r723mscf_mrcl"], "smf72_wms")
    assert wms == {"r723mcnm": "ONLINE", "r723mscf_mrcl": True}
    periods = rows(source, ["section_no", "period", "r723ccpu"], "smf72_scs")
    assert [(row["section_no"], row["period"]) for row in periods] == [(0, 1), (1, 2), (2, 3)]
    assert periods[0]["r723ccpu"] == 1_793_920
    assert [row["scs_no"] for row in rows(source, ["scs_no"], "smf72_rts")] == [None, 0, 2]
    assert [row["scs_no"] for row in rows(source, ["scs_no"], "smf72_wrs")] == [0, 0, 2]
    assert [row["wrs_no"] for row in rows(source, ["wrs_no"], "smf72_dns")] == [2, 2]
    assert source.problems(complete=True) == []


def test_work_of_job(tmp_path: Path) -> None:
    """The subtype distinguishes instruction counts of an interval and of the entire step."""
    end = 5400
    own: dict[str, Any] = {
        "JBN": "PAYROLL", "PGM": "IEFBR14", "STN": 2,
        "ISS": START_US + 3600 * SECOND, "IET": START_US + end * SECOND,
        # Read in before local midnight; the step starts after it.
        "RSD": START_US - 60 * SECOND, "RST": START_US - 60 * SECOND,
        "STD": START_US + 10 * SECOND, "SIT": START_US + 10 * SECOND, "PPS": START_US + 12 * SECOND,
    }  # fmt: skip
    step: dict[str, Any] = {name: value for name, value in own.items() if name not in ("ISS", "IET")}
    work: Sections = {"cas": [{"CPT": 150, "TIME_ON_ZIIP": 25}], "counter": [{"INST_CP_TASK": 10**12}]}
    records = [
        job(2, end, {"id": [own], **work}, zone_s=-3600),
        job(4, end + 5, {"id": [step], **work}, zone_s=-3600),
    ]
    path = dump(tmp_path / "jobs.smf", records)
    source = opened(path, tz=parse_zone("-01:00"))
    header = rows(source, ["subtype", "smf30wid", "smf30tme", "interval_end", "seconds"], "smf30_header")
    assert [tuple(row.values()) for row in header] == [
        (2, "JES2", at(end), at(end), 1800.0),
        (4, "JES2", at(end + 5), at(end + 5), None),
    ]
    identity = rows(source, ["smf30jbn", "smf30rst", "smf30rsd", "smf30sit", "smf30pps"], "smf30_id")[0]
    assert identity == {
        "smf30jbn": "PAYROLL",
        "smf30rst": at(3600 - 60),
        "smf30rsd": "2025-12-31",
        "smf30sit": at(3610),
        "smf30pps": at(3612),
    }
    (cas, _) = rows(source, ["subtype", "smf30cpt", "smf30_time_on_ziip"], "smf30_cas")
    assert cas == {"subtype": 2, "smf30cpt": 150, "smf30_time_on_ziip": 25}
    assert rows(source, ["smf30_inst_cp_task"], "smf30_counter") == [{"smf30_inst_cp_task": 10**12}] * 2
    assert source.systems[0].release == "3.1"


def test_io_activity_of_bytes_placed_by_hand(tmp_path: Path) -> None:
    """z/OS Data Gatherer's mapping of SMF 30: SMF30TCN at 18, SMF30AIC to AIS from 32 on, SMF30TEX at 64."""
    record = bytearray(job(2, 60, {"id": [{"JBN": "A", "ISS": START_US, "IET": START_US + 60 * SECOND}]}))
    section = bytearray(76)
    section[18:22] = struct.pack(">I", 7)
    section[22] = 0x80
    section[32:48] = struct.pack(">4I", 1, 2, 3, 4)
    section[64:72] = struct.pack(">Q", 5)
    # The triplet of the section is at 40.
    record[40:48] = struct.pack(">IHH", len(record), len(section), 1)
    columns = ["smf30tcn", "smf30dcf_mfl", "smf30dcf_iin", "smf30aic", "smf30aid", "smf30aiw", "smf30ais"]
    source = opened(dump(tmp_path / "jobs.smf", [bytes(record) + bytes(section)]))
    (row,) = rows(source, [*columns, "smf30tex"], "smf30_io_activity")
    assert list(row.values()) == [7, True, False, 1, 2, 3, 4, 5]


def test_local_times_need_zone(tmp_path: Path) -> None:
    path = dump(tmp_path / "jobs.smf", [job(4, 60, {"id": [{"JBN": "A"}]})])
    (row,) = rows(opened(path), ["tod", "smf30jbn"], "smf30_id")
    assert row == {"tod": None, "smf30jbn": "A"}
    (problem,) = opened(path).problems(complete=True)
    assert (problem.kind, problem.record) == ("time", "SMF 30.4")
    assert "option tz" in problem.detail
    (row,) = rows(opened(path, tz=parse_zone("+00:00")), ["tod"], "smf30_id")
    assert row["tod"] == at(60)


def test_duplicate_section_records_are_read_once(tmp_path: Path) -> None:
    one, two = rmf(70, 900, {"control": [MACHINE]})[0], rmf(70, 1800, {"control": [MACHINE]})[0]
    start = job(1, 60, {"id": [{"JBN": "A"}]})
    first = dump(tmp_path / "a.smf", [one, two, start])
    second = dump(tmp_path / "b.smf", [two, start, *rmf(70, 2700, {"control": [MACHINE]})])
    source = opened(first, second)
    assert len(rows(source, ["offset"], "smf70_control")) == 3
    assert len(rows(source, ["offset"], "smf30_id")) == 1
    details = {
        p.detail for p in source.problems(complete=True) if p.kind == "duplicate" and p.file == str(second)
    }
    assert details == {f"1 duplicate records of type {record}; each is decoded once" for record in (30, 70)}


def test_queries_join_sections(tmp_path: Path) -> None:
    sections: Sections = {
        "partition": [{"LPM": "LPAR1", "BDS": 0, "BDN": 2}, {"LPM": "*PHYSCAL", "BDS": 2, "BDN": 1}],
        "logical": [{"PDT": 10}, {"PDT": 20}, {"PDT": 5}],
    }
    path = dump(tmp_path / "join.smf", rmf(70, 900, sections))
    with zlens.open(path) as session:
        found = session.sql(
            "select smf70lpm, sum(smf70pdt) from smf70_partition p join smf70_logical l on "
            "(l.system, l.file, l.offset, l.partition_no) = (p.system, p.file, p.offset, p.section_no) "
            "group by 1 order by 2"
        ).rows
    assert found == [("*PHYSCAL", 5), ("LPAR1", 30)]


@needs(SAMPLE)
def test_dump_of_other_vendor() -> None:
    """The expected values use the offsets of z/OS Data Gatherer's SMF REST API."""
    data = SAMPLE.read_bytes()
    waits: list[float] = []
    dispatched: list[int] = []
    service: list[bytes] = []
    place = 0
    while place < len(data):
        length = int.from_bytes(data[place : place + 2])
        one = data[place : place + length]
        if one[5] == 70:
            offset, size, count = struct.unpack_from(">IHH", one, 44)
            waits += [int.from_bytes(one[offset + n * size :][:8]) / 4096e6 for n in range(count)]
            offset, size, count = struct.unpack_from(">IHH", one, 68)
            dispatched += [int.from_bytes(one[offset + n * size :][:8]) for n in range(count)]
        if one[5] == 72:
            offset, size, count = struct.unpack_from(">IHH", one, 60)
            service += [one[offset + n * size + 24 :][:8] for n in range(count)]
        place += length
    source = opened(SAMPLE)
    assert [row["smf70wat"] for row in rows(source, ["smf70wat"], "smf70_cpu")] == waits
    assert [row["smf70pdt"] for row in rows(source, ["smf70pdt"], "smf70_logical")] == dispatched
    found = [row["r723csrv"] for row in rows(source, ["r723csrv"], "smf72_scs")]
    slow = [int.from_bytes(raw[1:]) / 2**56 * 16.0 ** ((raw[0] & 0x7F) - 64) for raw in service]
    assert found == pytest.approx(slow)
    assert len(found) == 76
    assert source.problems(complete=True) == []


def test_plans_are_those_of_catalog() -> None:
    for layout in smf_sections.layouts():
        plan = smf_sections.plan(layout)
        assert json.loads(json.dumps(plan)) == plan
        columns = {table["table"]: [c["name"] for c in table["columns"]] for table in plan["tables"]}
        for section in layout.sections:
            declared = [c.name for c in smf_sections.columns(layout, section)]
            assert columns[section.table] == declared[1:]


def test_interval_rows_are_those_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last job began within the interval: the interval has the length of the longest."""

    def work(name: str, end: float, seconds: float) -> bytes:
        times = {"ISS": START_US + round((end - seconds) * SECOND), "IET": START_US + round(end * SECOND)}
        return job(2, end + 1, {"id": [{"JBN": name, **times}]})

    jobs = [work("LATE", 900, 300), work("ALL", 900, 900), work("MORE", 1200, 300)]
    path = dump(tmp_path / "a.smf", [*jobs, *rmf(70, 900, {}), *rmf(71, 900, {}), *rmf(71, 1800, {})])
    with CoreSession([str(path)]) as session:
        tables = smf_sections.interval_tables(smf_sections.layouts())
        [source] = session.sources
        assert isinstance(source, IntervalSource)
        found = record_intervals.merge(source.interval_rows(tables))
        ends = [(row[2] - START_US) / SECOND for row in found]
        assert [(*row[:2], end, *row[3:]) for row, end in zip(found, ends, strict=True)] == [
            ("SYSA", "smf", 900, 900, None, 4),
            ("SYSA", "smf", 1200, 300, None, 1),
            ("SYSA", "smf", 1800, 900, None, 1),
        ]
        known = [table for table in tables if table in source.tables]
        read = session.engine.query_all_records(known, record_intervals.COLUMNS, record_intervals.QUERY)
        assert read == found
    # They are not read again.
    monkeypatch.setattr(Engine, "query_all_records", None)
    with CoreSession([str(path)]) as session:
        assert session.sql("SELECT count(*) FROM smf30_id").rows == [(3,)]
        assert [interval.seconds for _, interval in session._other_intervals] == [900, 300, 900]
