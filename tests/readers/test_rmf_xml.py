"""Tests of every feature of the RMF XML reader, with small reports."""

from __future__ import annotations

import datetime as dt
import os
import random
from pathlib import Path

import pyarrow as pa
import pytest

import zlens
from raw_rows import rows
from rmf_builder import (
    ALPHA,
    CPU_HEADS,
    DECLARATION,
    HEADS,
    PARTITION_PART,
    Opened,
    document,
    half_hours,
    kinds,
    part,
    report,
    segment,
    table,
    utc,
    variables,
)
from zlens import lake
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.readers.rmf.postprocessor import detect, open_files

# -- tables of a report ---------------------------------------------------------------------------


def test_complete_rmf_report(opened: Opened) -> None:
    source = opened(document(report()))
    assert source.problems() == []
    (interval,) = rows(source, "rmf_interval")
    expected = {
        "system": "SYSA",
        "source": "rmf-xml",
        "interval_end": utc("2026-03-02 09:30"),
        "interval_start": utc("2026-03-02 09:00"),
        "seconds": 1800.0,
        "flag": None,
        "local": False,
        "report": "CPU",
        "report_title": "CPU Report",
        "report_type": "Interval",
        "cycle_ms": 1000,
        "smf_level": "z/OS V3R1",
        "rmf_level": "z/OS V3R2",
        "machine_type": "3931",
        "model": "704",
        "hw_model": None,
        "serial": "00000000000ABCDE",
        "cpc_capacity_msu": 100,
        "partition": "ALPHA",
        "image_capacity_msu": 100,
        "group_limit_msu": None,
        "initial_capping": False,
        "hardware_capping": None,
    }
    assert {name: interval[name] for name in expected} == expected
    partitions = rows(source, "rmf_partition")
    assert [(r["row_kind"], r["partition"], r["status"], r["cpu_type"]) for r in partitions] == [
        ("partition", "ALPHA", "Active", "CP"),
        ("physical", "*PHYSICAL*", None, "CP"),
        ("total", "TOTAL", None, "CP"),
        ("partition", "BETA", "Deactivated", None),
    ]
    alpha = partitions[0]
    assert (alpha["effective_s"], alpha["total_s"], alpha["logical_processors"]) == (360.0, 366.0, 2.0)
    assert (alpha["weight"], alpha["dedicated"], alpha["msu_actual"]) == (60, False, 10)
    assert (alpha["capping"], alpha["cap_initial"], alpha["cap_hardware"]) == ("N Y N", False, True)
    assert alpha["cap_wlm_pct"] == 1.5
    assert [alpha[c] for c in list(alpha)[-5:]] == [20.0, 20.33, 0.17, 10.0, 10.17]
    assert partitions[1]["effective_s"] is None
    assert partitions[1]["total_s"] == 36.0
    assert rows(source, "rmf_processor_count", "row_kind", "cpu_type", "processors") == [
        {"row_kind": "type", "cpu_type": "CP", "processors": 2},
        {"row_kind": "type", "cpu_type": "IIP", "processors": 1},
        {"row_kind": "total", "cpu_type": None, "processors": 3},
    ]
    cpus = rows(source, "rmf_cpu", "row_kind", "cpu_number", "share_pct", "priority", "mvs_busy_pct")
    assert [tuple(row.values()) for row in cpus] == [
        ("processor", "0", 120.0, "HIGH", None),
        ("total", "TOTAL/AVERAGE", 120.0, None, None),
    ]
    (system,) = source.systems
    assert (system.system, system.source, system.lpar) == ("SYSA", "rmf-xml", "ALPHA")
    assert system.machine == "3931-ABCDE"
    assert (system.release, system.nominal_s, system.utc_offset_s) == ("z/OS V3R1", 1800.0, 0)
    assert source.resets() == []
    (said,) = source.info()
    assert (said["intervals"], said["server"], said["encoding"]) == (1, "ZOSV3R2", "UTF-8")


def test_columns_are_typed_commented_and_narrowed(opened: Opened) -> None:
    source = opened(document(report()))
    arrow = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    arrow["time"] = pa.timestamp("us", tz="UTC")
    for (raw,) in source.tables.values():
        names = [c.name for c in raw.columns]
        assert names[:7] == ["system", "source", "file", "offset", "interval_end", "seconds", "flag"]
        assert all(c.text for c in raw.columns)
        stream = raw.stream(names)
        schema = pa.schema(stream)  # type: ignore[arg-type]
        assert schema.names == names
        assert [schema.field(c.name).type for c in raw.columns] == [arrow[c.type] for c in raw.columns]
        # A stream can be read again.
        assert pa.table(stream) == pa.table(stream)
        assert pa.table(raw.stream(names[-2:])).column_names == names[-2:]


def test_columns_are_located_by_heading(opened: Opened) -> None:
    order = list(range(len(HEADS)))
    random.Random(7).shuffle(order)
    heads = [HEADS[n].upper().replace(" ", "  ") for n in order]
    row = "|".join(ALPHA.split("|")[n] for n in order)
    body = segment("Partition Data Report", part(table(heads, [row]), "Partition Data"))
    usual = opened(document(report()))
    shuffled = opened(document(report(body=body)))
    assert shuffled.problems() == []
    wanted = rows(usual, "rmf_partition")[0]
    (found,) = rows(shuffled, "rmf_partition")
    wanted.pop("offset")
    found.pop("offset")
    assert found == wanted


def test_multithreading_and_marks(opened: Opened) -> None:
    heads = [*CPU_HEADS, "MT% PROD", "MT% UTIL", "Time% MVS Busy"]
    lines = [
        "0|IIP|100.00*|20.00|50.0|LOW|87.50|17.50|12.00",
        "1|IIP|100.00|0.00|0.0|LOW|------|------|-----",
    ]
    body = segment(
        "CPU Activity",
        part(table(heads, lines)),
        part(
            table(["CPU Type", "Mode", "MAX CF", "CF", "AVG TD"], ["IIP|2|1.481|1.283|1.576"]),
            "Multi-Threading Analysis",
        ),
    )
    source = opened(document(report(body=body)))
    assert source.problems() == []
    assert rows(source, "rmf_cpu", "online_pct", "mt_prod_pct", "mt_util_pct", "mvs_busy_pct") == [
        {"online_pct": 100.0, "mt_prod_pct": 87.5, "mt_util_pct": 17.5, "mvs_busy_pct": 12.0},
        {"online_pct": 100.0, "mt_prod_pct": None, "mt_util_pct": None, "mvs_busy_pct": None},
    ]
    assert rows(source, "rmf_multithreading", "cpu_type", "mode", "max_cf", "cf", "avg_td") == [
        {"cpu_type": "IIP", "mode": 2, "max_cf": 1.481, "cf": 1.283, "avg_td": 1.576}
    ]


def test_dedicated_partition_has_no_weight(opened: Opened) -> None:
    row = ALPHA.replace("|60|", "|DED|")
    body = segment("Partition Data Report", part(table(HEADS, [row]), "Partition Data"))
    (found,) = rows(opened(document(report(body=body))), "rmf_partition")
    assert (found["weight"], found["dedicated"]) == (None, True)


def test_rows_with_wrong_cell_count(opened: Opened) -> None:
    few = "|".join(ALPHA.split("|")[:14])
    many = ALPHA.replace("ALPHA", "GAMMA") + "|99"
    given = [few, many, few.replace("ALPHA", "DELTA")]
    body = segment("Partition Data Report", part(table(HEADS, given), "Partition Data"))
    source = opened(document(report(body=body)))
    first, second, _ = rows(source, "rmf_partition")
    assert first["logical_total_pct"] == 20.33
    assert first["physical_lpmgt_pct"] is None
    assert second["physical_total_pct"] == 10.17
    found = {p.kind: p for p in source.problems()}
    assert set(found) == {"short", "long"}
    assert "14 cells under 17 headings (2 times" in found["short"].detail
    assert "18 cells under 17 headings" in found["long"].detail
    (kept,) = rows(source, "rmf_other")
    assert (kept["row_no"], kept["name"], kept["value"]) == (1, None, "99")
    assert found["long"].record == "Partition Data Report: Partition Data"


def test_unknown_rmf_names_are_reported_once(opened: Opened) -> None:
    heads, row = [*HEADS, "Hair Color"], ALPHA + "|blue"
    body = (
        segment("CPU Activity", part(variables({"CPU": "3931", "Mood": "good"}) + "<mood>x</mood>"))
        + segment(
            "Partition Data Report",
            part(table(heads, [row]) + variables({"a": "b"}), "Partition Data"),
        )
        + segment("LPAR Cluster Report", part(table(["Cluster"], ["PLEX"])))
    )
    source = opened(document(*half_hours(3, body=body)))
    found = {p.detail: p for p in source.problems()}
    assert set(found) == {
        "'Mood' is not in the catalog; stored as text (3 times, the first here)",
        "element <mood> is not expected; not read (3 times, the first here)",
        "'Hair Color' is not in the catalog; stored as text (3 times, the first here)",
        "the section has unexpected variables; stored as text (3 times, the first here)",
        "section 'LPAR Cluster Report' is not in the catalog; stored as text (3 times, the first here)",
    }
    assert {p.kind for p in found.values()} == {"section"}
    unknown = next(p for d, p in found.items() if "LPAR Cluster" in d)
    assert unknown.bytes == 0
    assert unknown.offset
    kept = [
        (r["segment"], r["part"], r["row_no"], r["row_type"], r["name"], r["value"])
        for r in rows(source, "rmf_other")
    ]
    assert kept == 3 * [
        ("CPU Activity", None, None, None, "Mood", "good"),
        ("Partition Data Report", "Partition Data", 0, None, "Hair Color", "blue"),
        ("Partition Data Report", "Partition Data", None, None, "a", "b"),
        ("LPAR Cluster Report", None, 0, None, "Cluster", "PLEX"),
    ]
    assert len(rows(source, "rmf_partition")) == 3
    layouts = {row.name: (row.count, row.layout) for row in source.inventory()}
    assert layouts["LPAR Cluster Report"] == (3, None)
    assert layouts["CPU Activity"] == (3, "postprocessor_cpu")


def test_invalid_rmf_value_is_null_and_reported(opened: Opened) -> None:
    wrong = ALPHA.replace("|60|", "|heavy|").replace("00.06.06.000", "6 min").replace("20.33", "1_0.5")
    body = segment("Partition Data Report", part(table(HEADS, [wrong]), "Partition Data"))
    source = opened(document(*half_hours(2, body=body)))
    first, _ = rows(source, "rmf_partition")
    assert (first["weight"], first["total_s"], first["logical_total_pct"]) == (None, None, None)
    details = sorted(p.detail for p in source.problems())
    assert details == [
        "'1_0.5' under 'Avg Util%: LOG PROC Total' is not a number; not read (2 times, the first here)",
        "'6 min' under 'Total Dispatch Time' is not a duration such as 00.00.30.899; not read"
        " (2 times, the first here)",
        "'heavy' under 'Partition Weight' is not a number; not read (2 times, the first here)",
    ]


# -- names and times ------------------------------------------------------------------------------


def test_name_of_system(opened: Opened) -> None:
    no_partition = segment("Partition Data Report", PARTITION_PART)
    source = opened(document(report(system="")), document(report(system="", body=no_partition)))
    assert sorted(s.system for s in source.systems) == ["ALPHA", "unknown-report1"]


def test_local_times_are_marked(opened: Opened) -> None:
    source = opened(document(*half_hours(3)), tz=None)
    (system,) = source.systems
    assert (system.local_time, system.utc_offset_s) == (True, None)
    assert [i["local"] for i in rows(source, "rmf_interval")] == [True] * 3
    assert rows(source, "rmf_interval")[0]["interval_end"] == utc("2026-03-02 09:30")
    (problem,) = source.problems()
    assert problem.kind == "zone"
    assert "option tz" in problem.detail
    assert "times, the first" not in problem.detail


@pytest.mark.parametrize(("tz", "hour"), [("+05:30", 4), ("America/New_York", 14.5), ("Europe/Berlin", 8.5)])
def test_zone_option_converts_to_utc(opened: Opened, tz: str, hour: float) -> None:
    source = opened(document(report()), tz=tz)
    end = rows(source, "rmf_interval")[0]["interval_end"]
    assert end == utc("2026-03-02 00:00") + dt.timedelta(hours=hour)
    assert source.problems() == []


def test_repeated_local_hour(opened: Opened) -> None:
    """New York, 2026-11-01: 01:00 to 02:00 occurs twice."""
    ends = ["01.00", "01.30", "01.00", "01.30", "02.00"]
    starts = ["00.30", "01.00", "01.30", "01.00", "01.30"]
    reports = [
        report(end=f"11/01/2026-{end}.00", start=f"11/01/2026-{start}.00")
        for end, start in zip(ends, starts, strict=True)
    ]
    source = opened(document(*reports), tz="America/New_York")
    found = [i["interval_end"].strftime("%H:%M") for i in rows(source, "rmf_interval")]
    assert found == ["05:00", "05:30", "06:00", "06:30", "07:00"]
    assert {p.kind for p in source.problems()} == {"time"}
    # Without a zone the two hours cannot be distinguished, which is reported.
    local = opened(document(*reports), tz=None)
    assert len(rows(local, "rmf_interval")) == 3
    assert any(p.kind == "duplicate" and "option tz" in p.detail for p in local.problems())


def test_nonexistent_local_time(opened: Opened) -> None:
    text = document(report(end="03/08/2026-02.30.00", start="03/08/2026-02.00.00"))
    source = opened(text, tz="America/New_York")
    assert any("never showed 2026-03-08 02:30:00" in p.detail for p in source.problems())


def test_midnight_may_be_24(opened: Opened) -> None:
    source = opened(document(report(end="03/02/2026-24.00.00", start="03/02/2026-23.30.00")))
    (row,) = rows(source, "rmf_interval")
    assert row["interval_end"] == utc("2026-03-03 00:00")
    assert source.problems() == []


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"end": "13/32/2026-09.30.00"}, "time"),
        ({"end": "yesterday"}, "time"),
        ({"end": ""}, "time"),
        ({"locale": "de-de"}, "time"),
    ],
)
def test_interval_without_time_is_not_read(opened: Opened, options: dict[str, str], kind: str) -> None:
    good = report(end="03/02/2026-10.00.00", start="03/02/2026-09.30.00")
    source = opened(document(report(**options), good))
    assert len(rows(source, "rmf_interval")) == 1
    (problem,) = source.problems()
    assert problem.kind == kind
    assert problem.bytes
    with pytest.raises(InputError, match="not read"):
        opened(document(report(**options)))


@pytest.mark.parametrize(
    ("length", "seconds", "problem"),
    [
        ("29:59:997", 1799.997, None),
        ("00.30.00", 1800.0, None),
        ("00:29:59:999", 1799.999, None),
        ("15:00:000", 900.0, "apart"),
        ("00:00:000", None, "zero length"),
        ("soon", None, "not a duration"),
    ],
)
def test_length_of_interval(opened: Opened, length: str, seconds: float | None, problem: str | None) -> None:
    source = opened(document(report(length=length)))
    assert rows(source, "rmf_interval")[0]["seconds"] == seconds
    assert len(source.problems()) == bool(problem)
    assert all(problem in p.detail for p in source.problems() if problem)


def test_short_intervals_and_gaps(opened: Opened) -> None:
    stub = report(end="03/02/2026-11.35.00", start="03/02/2026-11.30.00", length="05:00:000")
    late = report(end="03/02/2026-13.00.00", start="03/02/2026-12.30.00")
    source = opened(document(late, *half_hours(5), stub))
    (system,) = source.systems
    assert [i.flag for i in system.intervals] == [None] * 5 + ["short", None]
    assert [i.seconds for i in system.intervals][-2:] == [300.0, 1800.0]
    (gap,) = source.problems()
    assert (gap.kind, gap.system) == ("gap", "SYSA")
    assert "55 minutes from 2026-03-02 11:35" in gap.detail


def test_systems_and_duplicates_over_files(opened: Opened) -> None:
    mine = half_hours(4)
    other = half_hours(4, system="SYSB")
    source = opened(document(*mine[:3], *other[:2]), document(*mine[1:], *other[2:]))
    assert {s.system: len(s.intervals) for s in source.systems} == {"SYSA": 4, "SYSB": 4}
    (problem,) = source.problems()
    assert (problem.kind, problem.system) == ("duplicate", "SYSA")
    assert "report0.xml" in problem.detail
    assert "(2 times" in problem.detail
    files = {r["file"].rpartition("/")[2] for r in rows(source, "rmf_interval")}
    assert files == {"report0.xml", "report1.xml"}


def test_differing_rmf_values_are_conflict(opened: Opened) -> None:
    one = report()
    other = one.replace(">30:00:000<", ">29:59:000<")
    assert other != one
    source = opened(document(one), document(other))
    (problem,) = source.problems()
    assert (problem.kind, problem.system) == ("conflict", "SYSA")
    assert "with other values" in problem.detail


def test_other_rmf_reports_are_reported(opened: Opened) -> None:
    other = report(metric="WLMGL", body="<segment><strange/></segment>")
    source = opened(document(other, report(), other))
    (problem,) = source.problems()
    assert problem.kind == "section"
    assert "report WLMGL (WLMGL Report)" in problem.detail
    assert "2 times" in problem.detail
    assert problem.bytes == 2 * (len(other) - len("</postprocessor>\n"))
    with pytest.raises(InputError, match=r"WLMGL.*reads CPU"):
        opened(document(other))


def test_rmf_messages_with_data(opened: Opened) -> None:
    message = '<message id="GPM0999W"><description>Some data is missing</description></message>'
    listing = '<mfpmsg id="ERB103I"> options</mfpmsg><mfpmsg id="ERB999E"> bad</mfpmsg>'
    body = document(
        f"<postprocessor>{message}</postprocessor>", report(), f"<rmf-mfpmsg>{listing}</rmf-mfpmsg>"
    )
    details = [p.detail for p in opened(body).problems()]
    assert details == ["RMF answered GPM0999W: Some data is missing", "RMF wrote ERB999E: bad"]


def test_progress_counts_all_files(opened: Opened, tmp_path: Path) -> None:
    opened(document(*half_hours(300)), document(*half_hours(3, system="SYSB")))
    paths = [str(tmp_path / "report0.xml"), str(tmp_path / "report1.xml")]
    total = sum(os.stat(p).st_size for p in paths)
    seen: list[tuple[int, int, str]] = []
    open_files(paths, Options(), lambda *done: seen.append(done))
    assert [s[0] for s in seen] == sorted(s[0] for s in seen)
    assert len(seen) > 3
    assert seen[-1] == (total, total, paths[1])


# -- encodings ------------------------------------------------------------------------------------

TEXT = document(*half_hours(2))


ENCODED = {
    "utf-8": TEXT.encode(),
    "mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "blanks": b" \r\n\n" + TEXT.encode(),
    "utf-16 little, mark": b"\xff\xfe" + TEXT.replace("UTF-8", "UTF-16").encode("utf-16-le"),
    "utf-16 big, mark": b"\xfe\xff" + TEXT.replace("UTF-8", "UTF-16").encode("utf-16-be"),
    "utf-16 little": TEXT.encode("utf-16-le"),
    "utf-16 big": TEXT.encode("utf-16-be"),
    "latin-1": TEXT.replace("ALPHA", "ALPH\xc4").replace("UTF-8", "ISO-8859-1").encode("iso-8859-1"),
    "cp1252": TEXT.replace("ALPHA", "ALPH\u20ac").replace("UTF-8", "windows-1252").encode("windows-1252"),
    "no declaration": TEXT.removeprefix(DECLARATION).encode(),
    "no outer element": report().encode(),
}


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_rmf_xml_encodings(opened: Opened, data: bytes) -> None:
    assert detect(data[:65536], len(data))
    source = opened(data)
    assert source.problems() == []
    found = rows(source, "rmf_partition", "partition", "offset")
    assert found[0]["partition"] in {"ALPHA", "ALPH\xc4", "ALPH\u20ac"}
    unit = 2 if b"\0" in data[:4] else 1
    tag = "<row".encode({1: "utf-8", 2: "utf-16-be" if data[0] in (0, 0xFE) else "utf-16-le"}[unit])
    assert all(data[row["offset"] :].startswith(tag) for row in found)


def test_outdated_encoding_declaration(opened: Opened) -> None:
    source = opened(TEXT.replace("UTF-8", "IBM-1047"))
    (problem,) = source.problems()
    assert problem.kind == "transfer"
    assert "IBM-1047" in problem.detail
    assert len(rows(source, "rmf_interval")) == 2


def test_ebcdic_xml_is_rejected_with_fix(opened: Opened) -> None:
    data = TEXT.encode("cp037")
    assert detect(data, len(data))
    with pytest.raises(InputError, match=r"EBCDIC.*transferred in binary.*iconv -f IBM-1047") as caught:
        opened(data)
    assert caught.value.offset == 0
    beside = opened(data, TEXT)
    assert kinds(beside) == ["transfer"]


def test_foreign_bytes_damage_only_their_interval(opened: Opened) -> None:
    reports = half_hours(3)
    data = document(reports[0], reports[1].replace("ALPHA", "ALPH\xc4"), reports[2]).encode("latin-1")
    source = opened(data)
    (problem,) = source.problems()
    assert problem.kind == "resync"
    assert problem.offset == data.index(b"\xc4")
    assert problem.bytes == data.rindex(b"<postprocessor>") - problem.offset
    assert [i["flag"] for i in rows(source, "rmf_interval")] == [None, "cut", None]


@pytest.mark.parametrize(
    "head",
    [
        *(b"", b"<", b"\0" * 64, b"\x4c" * 64, b"\xff\xfe", b"\xff\xfe<", bytes(range(256)) * 8),
        b"<html><body>ddsml</body></html>",
        b"<?xml version='1.0'?><feed/>",
        b"just text about <postprocessor> reports",
    ],
)
def test_rmf_detect_rejects_other_xml(head: bytes) -> None:
    assert not detect(head, len(head))


@pytest.mark.parametrize("in_lake", [False, True])
def test_simultaneous_machines_are_two_systems(in_lake: bool, tmp_path: Path) -> None:
    ours = half_hours(3)
    theirs = [each.replace("ABCDE", "54321") for each in half_hours(3)]
    paths = [tmp_path / "a.xml", tmp_path / "b.xml"]
    for path, reports in zip(paths, (ours, theirs), strict=True):
        path.write_text(document(*reports))
    options = Options(tz=dt.UTC)
    inputs: list[Path] | Path = paths
    if in_lake:
        inputs = tmp_path / "lake"
        for path in paths:
            lake.add([path], inputs, options=options)
    with zlens.open(inputs, options=options) as session:
        found = session.sql("SELECT system, count(*) FROM rmf_interval GROUP BY 1 ORDER BY 1").rows
        assert found == [("SYSA", 3), ("SYSA-54321", 3)]
        assert [info.machine for info in session.systems] == ["3931-ABCDE", "3931-54321"]
        assert not [problem for problem in session.problems if problem.kind in ("duplicate", "conflict")]


def test_consecutive_machines_are_one_system(opened: Opened) -> None:
    first, second, third = half_hours(3)
    source = opened(document(first, *(each.replace("ABCDE", "54321") for each in (second, third))))
    assert [info.system for info in source.systems] == ["SYSA"]
