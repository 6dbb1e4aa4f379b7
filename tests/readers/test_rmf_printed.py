"""Tests of printed RMF Postprocessor reports: published ones, a real one, and printed XML reports."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

import rmf_builder
import zlens
from samples import needs, sample
from zlens.errors import InputError

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
SAMPLE = sample("smf/rmf_cpu_activity_S0W1_2021-07-27.txt")
HEADER = """\
                        z/OS V2R5   SYSTEM ID {system}   DATE {date}   INTERVAL {interval}
                                    RPT VERSION V2R5 RMF   TIME {time}   CYCLE 1.000 SECONDS
"""
CPU = """\
1                                          C P U   A C T I V I T Y
                                                                                           PAGE    1
"""


def ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    with zlens.open(str(path)) as session:
        return [tuple(row) for row in session.sql(query).rows]


def problem_details(path: Path) -> list[str]:
    with zlens.open(str(path)) as session:
        return [problem.detail for problem in session.problems if problem.kind != "zone"]


def test_printed_smt2_processors_as_published() -> None:
    """IBM, z/VM SMT performance presentation: z/OS RMF CPU Activity Report (MT=2).

    Values in the line of a core's first thread apply to the core, so to both threads.
    """
    path = FOLDER / "rmf-cpu-mt.txt"
    columns = "core_id, thread_id, cpu_type, lpar_busy_pct, mvs_busy_pct, mt_prod_pct, mt_util_pct, share_pct"
    assert ask(path, f"SELECT {columns} FROM rmf_cpu WHERE row_kind = 'processor' ORDER BY ALL") == [
        (4, 0, "IIP", 78.23, 67.24, 87.30, 68.29, 100.0),
        (4, 1, "IIP", 78.23, 58.40, 87.30, 68.29, 100.0),
        (5, 0, "IIP", 59.46, 50.57, 85.64, 50.92, 100.0),
        (5, 1, "IIP", 59.46, 41.88, 85.64, 50.92, 100.0),
        (6, 0, "IIP", 80.77, 70.34, 88.38, 71.38, 100.0),
        (6, 1, "IIP", 80.77, 62.20, 88.38, 71.38, 100.0),
        (7, 0, "IIP", 63.67, 55.08, 86.43, 55.03, 100.0),
        (7, 1, "IIP", 63.67, 45.52, 86.43, 55.03, 100.0),
    ]
    assert ask(path, f"SELECT {columns} FROM rmf_cpu WHERE row_kind = 'total'") == [
        (None, 0, "IIP", 70.53, 56.41, 86.94, 61.41, 400.0)
    ]
    assert ask(path, "SELECT cpu_type, mode, max_cf, cf, avg_td FROM rmf_multithreading ORDER BY 1") == [
        ("CP", 1, 1.0, 1.0, 1.0),
        ("IIP", 2, 1.473, 1.283, 1.6),
    ]
    assert ask(
        path, "SELECT DISTINCT system, seconds, strftime(interval_end, '%Y-%m-%d %H:%M:%S') FROM rmf_cpu"
    ) == [("PATPLX29", 614.053, "2015-01-21 21:57:09")]
    assert problem_details(path) == []


def test_printed_appl_percent_as_published() -> None:
    """IBM, z/VM SMT performance presentation: z/OS RMF Workload Activity Report (MT=2)."""
    path = FOLDER / "rmf-workload-mt.txt"
    columns = "policy, workload, class, ended, ended_rate, cpu_s, iip_s, aap_s, appl_cp_pct, appl_iip_pct"
    assert ask(path, f"SELECT {columns} FROM rmf_workload") == [
        ("PATPLEX", "WASWKLD", "WASTRANS", 5502452, 8960.87, 3545.743, 1995.64, None, 252.44, 220.69)
    ]
    (row,) = ask(path, "SELECT appl_cp_pct, appl_ziip_pct, appl_ziip_on_cp_pct FROM workload")
    assert row == pytest.approx((252.44, 220.69, 0.43))
    assert problem_details(path) == []


def test_printed_paging_counts_as_published() -> None:
    path = FOLDER / "rmf-paging.txt"
    query = "SELECT minimum, maximum, average FROM rmf_paging WHERE area = '{}' AND name = '{}'"
    assert ask(path, query.format("CENTRAL STORAGE", "AVAILABLE")) == [(158574, 161884, 159692)]
    assert ask(path, query.format("FIXED FRAMES", "BETWEEN 16M-2G")) == [(13456, 13498, 13467)]
    assert ask(path, "SELECT area, count(*) FROM rmf_paging GROUP BY 1 ORDER BY 1") == [
        ("CENTRAL STORAGE", 7),
        ("FIXED FRAMES", 9),
        ("LOCAL PAGE DATA SET SLOT COUNTS", 5),
        ("MEMORY OBJECTS AND FRAMES", 7),
        ("SHARED FRAMES AND SLOTS", 5),
        ("UIC", 1),
    ]
    assert ask(path, query.format("UIC", "HIGH UIC")) == [(65535, 65535, 65535)]
    assert ask(path, query.format("SHARED FRAMES AND SLOTS", "TOTAL")) == [(8389, 8518, 8450)]
    objects = "SELECT kind, average FROM storage_use WHERE area = 'MEMORY OBJECTS AND FRAMES' ORDER BY place"
    assert ask(path, objects) == [
        ("OBJECTS COMMON", 3),
        ("OBJECTS SHARED", 6),
        ("OBJECTS 1 MB", 40),
        ("FRAMES COMMON", 3801),
        ("FRAMES COMMON FIXED", 0),
        ("FRAMES SHARED", 7590),
    ]
    megabytes = "SELECT least, most, average FROM storage_use WHERE area = '1 MB FRAMES' AND kind = 'FIXED'"
    assert ask(path, megabytes) == [(40, 40, 40)]
    assert problem_details(path) == []


def test_number_of_samples_names_no_area(tmp_path: Path) -> None:
    """RMF prints it beside the names of the areas, and the slide of Burg between heads and counts."""
    text = (FOLDER / "rmf-paging.txt").read_text()
    heads = "CENTRAL STORAGE                MIN        MAX        AVG\n"
    assert heads in text
    path = tmp_path / "paging.txt"
    path.write_text(text.replace(heads, f"(15 SAMPLES)     {heads}"))
    query = "SELECT area, name, minimum, maximum, average FROM rmf_paging ORDER BY ALL"
    assert ask(path, query) == ask(FOLDER / "rmf-paging.txt", query)
    path.write_text(text.replace(heads, f"{heads}(15 SAMPLES)\n"))
    assert ask(path, query) == ask(FOLDER / "rmf-paging.txt", query)


@needs(SAMPLE)
def test_real_printed_report_is_read() -> None:
    columns = "cpu_number, cpu_type, lpar_busy_pct, mvs_busy_pct, io_rate, io_tpi_pct"
    assert ask(SAMPLE, f'SELECT {columns} FROM rmf_cpu ORDER BY "offset"') == [
        ("0", "CP", 4.24, 3.49, 5.71, 0.25),
        ("1", "CP", 2.55, 1.87, 2.11, 0.18),
        ("2", "CP", 5.91, 4.70, 1.28, 0.39),
        ("TOTAL/AVERAGE", "CP", 4.23, 3.35, 9.1, 0.83),
        ("3", "IIP", 6.85, 5.70, None, None),
        ("4", "IIP", 1.36, 0.69, None, None),
        ("5", "IIP", 0.89, 0.21, None, None),
        ("TOTAL/AVERAGE", "IIP", 3.03, 2.20, None, None),
    ]
    columns = (
        "partition, cpu_type, weight, capping, effective_s, total_s, physical_lpmgt_pct, physical_total_pct"
    )
    assert ask(SAMPLE, f'SELECT {columns} FROM rmf_partition ORDER BY "offset"') == [
        ("SYSPLEX", "CP", 950, "Y N N", 217.095, 228.521, 0.11, 2.12),
        ("*PHYSICAL*", "CP", None, None, None, 7.843, 0.07, 0.07),
        ("TOTAL", "CP", 950, None, 217.095, 236.364, 0.18, 2.19),
        ("SYSPLEX", "IIP", 950, "Y N N", 155.461, 163.643, 0.0, 0.0),
        ("TOTAL", "IIP", 950, None, 155.461, 163.643, 0.0, 0.0),
    ]
    assert ask(SAMPLE, "SELECT cpu_type, processors FROM rmf_processor_count") == [("CP", 6)]
    assert ask(SAMPLE, "SELECT partition, image_capacity_msu, hiperdispatch FROM rmf_interval") == [
        ("SYSPLEX", 18, True)
    ]
    kinds = "SELECT kind, minimum, maximum, average FROM rmf_address_space"
    assert ask(SAMPLE, kinds)[1:3] == [("IN READY Queue", 0, 3, 0.2), ("OUT READY Queue", 0, 0, 0.0)]
    assert ask(SAMPLE, kinds)[4] == ("LOGICAL OUT READY Queue", 0, 0, 0.0)
    assert ask(SAMPLE, f"{kinds} WHERE kind = 'STC Address Spaces'") == [("STC Address Spaces", 68, 68, 68.0)]
    buckets = ask(SAMPLE, "SELECT bucket, samples_pct FROM rmf_inready")
    assert (buckets[0], buckets[1][0], buckets[-1]) == (("<=N", 100.0), "=N+1", (">N+150", 0.0))
    assert len(buckets) == 16
    assert ask(SAMPLE, "SELECT cpu_type, maximum, average FROM rmf_work_unit") == [
        ("CP", 5, 0.1),
        ("IIP", 3, 0.1),
    ]
    assert ask(SAMPLE, "SELECT blwltrpct_pct, blwlinthd_s, promote_rate, waiters_peak FROM rmf_blocked") == [
        (0.5, 20, 1.0, 0)
    ]
    assert ask(SAMPLE, "SELECT unparked_avg FROM rmf_interval") == [(6.0,)]
    assert problem_details(SAMPLE) == []


# -- printed XML reports -------------------------------------------------------------------------------

CELLS = {
    "rmf_cpu": [
        *(("cpu_number", 5, "s"), ("cpu_type", 6, "s"), ("online_pct", 9, ".2f"), ("lpar_busy_pct", 11, ".2f")),
        *(("mvs_busy_pct", 11, ".2f"), ("parked_pct", 9, ".2f"), ("share_pct", 9, ".1f"), ("priority", 5, "s")),
        *(("io_rate", 10, ".2f"), ("io_tpi_pct", 11, ".2f")),
    ],
    "rmf_partition": [
        *(("partition", -10, "s"), ("status", 3, "s"), ("boost", 3, "s"), ("weight", 6, "d")),
        *(("msu_defined", 6, "d"), ("msu_actual", 6, "d"), ("capping", 7, "s"), ("cap_wlm_pct", 7, ".1f")),
        *(("logical_processors", 6, ".1f"), ("cpu_type", 6, "s"), ("effective_s", 15, "time")),
        ("total_s", 15, "time"),
        *(("logical_effective_pct", 12, ".2f"), ("logical_total_pct", 9, ".2f"), ("physical_lpmgt_pct", 12, ".2f")),
        *(("physical_effective_pct", 13, ".2f"), ("physical_total_pct", 9, ".2f")),
    ],
}  # fmt: skip
HEADS = {
    "rmf_cpu": [
        "NUM",
        "TYPE",
        "ONLINE",
        "LPAR BUSY",
        "MVS BUSY",
        "PARKED",
        "SHARE %",
        "",
        "RATE",
        "% VIA TPI",
    ],
    "rmf_partition": [
        *("NAME", "S", "BT", "WGT", "DEF", "ACT", "DEF", "WLM%", "NUM", "TYPE", "EFFECTIVE", "TOTAL"),
        *("EFFECTIVE", "TOTAL", "LPAR MGMT", "EFFECTIVE", "TOTAL"),
    ],
}


def cell(value: Any, width: int, form: str, key: str = "") -> str:
    if value is None:
        text = ""
    elif key in {"status", "boost"}:
        text = value[:1]
    elif form == "time":
        minutes, seconds = divmod(round(value * 1000), 60_000)
        hours, minutes = divmod(minutes, 60)
        text = f"{hours:02}.{minutes:02}.{seconds // 1000:02}.{seconds % 1000:03}"
    else:
        text = format(value, form)
    return text.ljust(-width) if width < 0 else text.rjust(width)


def table(name: str, rows: list[dict[str, Any]]) -> str:
    widths = [width for _, width, _ in CELLS[name]]
    lines = ["".join(cell(head, width, "s") for head, width in zip(HEADS[name], widths, strict=True))]
    lines += ["".join(cell(row[key], width, form, key) for key, width, form in CELLS[name]) for row in rows]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def test_printed_report_equals_xml(tmp_path: Path) -> None:
    xml = tmp_path / "rmf.xml"
    xml.write_text(rmf_builder.document(*rmf_builder.half_hours(3)))
    text = ""
    expected: dict[str, list[dict[str, Any]]] = {}
    with zlens.open(str(xml)) as session:
        for name in CELLS:
            answer = session.sql(
                f"SELECT * FROM {name} WHERE row_kind <> 'total' ORDER BY interval_end, \"offset\""
            )
            expected[name] = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    ends = sorted({row["interval_end"] for row in expected["rmf_cpu"]})
    assert len(ends) == 3
    for end in ends:
        own = {name: [row for row in rows if row["interval_end"] == end] for name, rows in expected.items()}
        seconds = own["rmf_cpu"][0]["seconds"]
        begin = end.timestamp() - round(seconds)
        start = dt.datetime.fromtimestamp(begin, dt.UTC)
        header = HEADER.format(
            system=own["rmf_cpu"][0]["system"],
            date=start.strftime("%m/%d/%Y"),
            time=start.strftime("%H.%M.%S"),
            interval=f"{int(seconds) // 60:02}.{int(seconds) % 60:02}.{round(seconds * 1000) % 1000:03}",
        )
        text += CPU + header + table("rmf_cpu", own["rmf_cpu"])
        text += (
            "1        P A R T I T I O N   D A T A   R E P O R T\n"
            + header
            + table("rmf_partition", own["rmf_partition"])
        )
    printed = tmp_path / "rmf.txt"
    printed.write_text(text)
    with zlens.open(str(printed)) as session:
        for name, rows in expected.items():
            keys = [key for key, _, _ in CELLS[name]]
            answer = session.sql(f'SELECT {", ".join(keys)} FROM {name} ORDER BY interval_end, "offset"')
            assert [dict(zip(answer.columns, row, strict=True)) for row in answer.rows] == [
                {key: row[key] for key in keys} for row in rows
            ]
        assert [problem.detail for problem in session.problems if problem.kind not in {"zone", "gap"}] == []


# ruff: noqa: E501
DEVICE = """\
                   D I R E C T   A C C E S S   D E V I C E   A C T I V I T Y
{header}
                                                  DEVICE   AVG   AVG   AVG   AVG   AVG   AVG   AVG   AVG    %     %     %    AVG     %     %
STORAGE   DEV  DEVICE   NUMBER  VOLUME  PAV  LCU  ACTIVITY RESP  IOSQ  CMR   DB    INT   PEND  DISC  CONN   DEV   DEV   DEV  NUMBER  ANY   MT
GROUP     NUM  TYPE     OF CYL  SERIAL            RATE     TIME  TIME  DLY   DLY   DLY   TIME  TIME  TIME   CONN  UTIL  RESV ALLOC   ALLOC PEND
SGDB2     1500 33909      10017 DB2001  4H   0046  120.500 0.900 0.010 0.020 0.000 0.030 0.200 0.100 0.590   7.11  8.31  0.0  12.5   100.0   0.0
          1501 33903       3339 SYSRES  1    0046    0.250 0.300 0.000 0.010 0.000 0.000 0.120 0.000 0.180   0.00  0.01  0.0   3.0   100.0   0.0
"""


def test_printed_devices_are_read(tmp_path: Path) -> None:
    path = tmp_path / "device.txt"
    header = HEADER.format(system="SYSA", date="04/12/2022", time="08.00.00", interval="14.59.999")
    path.write_text(DEVICE.format(header=header))
    columns = (
        "storage_group, device, device_type, cylinders, volume, pav, lcu, rate, resp_ms, iosq_ms, cmr_ms"
    )
    columns += ", pend_ms, disc_ms, conn_ms, connected_pct, busy_pct, allocations, mount_pending_pct"
    assert ask(path, f"SELECT {columns} FROM rmf_device ORDER BY device") == [
        (*("SGDB2", "1500", "33909", "10017", "DB2001", "4H", "0046", 120.5, 0.9, 0.01, 0.02),
         *(0.2, 0.1, 0.59, 7.11, 8.31, 12.5, 0.0)),
        (*(None, "1501", "33903", "3339", "SYSRES", "1", "0046", 0.25, 0.3, 0.0, 0.01),
         *(0.12, 0.0, 0.18, 0.0, 0.01, 3.0, 0.0)),
    ]  # fmt: skip


def test_marks_and_offline_devices_are_read(tmp_path: Path) -> None:
    """HyperPAV (H), a changed number of exposures (*), a device that is offline, and the sum of an LCU."""
    path = tmp_path / "device.txt"
    header = HEADER.format(system="SYSA", date="04/12/2022", time="08.00.00", interval="14.59.999")
    sums = " 10.000 0.900 0.010 0.020 0.000 0.030 0.200 0.100 0.590   7.11  8.31  0.0  12.5   100.0   0.0"
    page = DEVICE.replace("4H  ", "1.5H").replace("SYSRES  1 ", "SYSRES  4*")
    page = page.replace("{header}", "{header}\nTOTAL SAMPLES =  900   IODF = 59   CR-DATE: 02/03/2022\n")
    page += "          1502 33909                     1    0046  OFFLINE\n"
    page += f"                   LCU                        0046 {sums}\n"
    path.write_text(page.format(header=header))
    columns = "device, volume, exposures, online, rate IS NULL, utilization_pct"
    assert ask(path, f"SELECT {columns} FROM device ORDER BY device") == [
        ("1500", "DB2001", 1.5, True, False, 8.31),
        ("1501", "SYSRES", 4.0, True, False, 0.01),
        ("1502", None, 1.0, False, True, None),
    ]
    assert [
        detail for detail in problem_details(path) if "not recognized" in detail or "RATE" in detail
    ] == []


def test_printed_devices_are_devices(tmp_path: Path) -> None:
    """The measure has the printed numbers: of times, the sum is the printed response time."""
    path = tmp_path / "device.txt"
    header = HEADER.format(system="SYSA", date="04/12/2022", time="08.00.00", interval="14.59.999")
    path.write_text(DEVICE.format(header=header))
    columns = "device, volume, lcu, storage_group, cylinders, round(rate, 6)"
    for name in (
        "resp_s",
        "queue_s",
        "initial_response_s",
        "interrupt_delay_s",
        "pend_s",
        "disc_s",
        "conn_s",
    ):
        columns += f", round(1000 * {name}, 6)"
    columns += ", round(connected_pct, 2), utilization_pct, allocations, allocated_pct"
    assert ask(path, f"SELECT {columns} FROM device ORDER BY device") == [
        (*("1500", "DB2001", "0046", "SGDB2", 10017, 120.5, 0.9, 0.01, 0.02, 0.03, 0.2, 0.1, 0.59),
         *(7.11, 8.31, 12.5, 100.0)),
        (*("1501", "SYSRES", "0046", None, 3339, 0.25, 0.3, 0.0, 0.01, 0.0, 0.12, 0.0, 0.18),
         *(0.0, 0.01, 3.0, 100.0)),
    ]  # fmt: skip


def test_unplaced_printed_line_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    header = HEADER.format(system="SYSA", date="04/12/2022", time="08.00.00", interval="14.59.999")
    rows = "NUM TYPE ONLINE LPAR BUSY MVS BUSY PARKED\n 0   CP  100.00  12.50   11.00     0.00\n"
    other = "         C H A N N E L   P A T H   A C T I V I T Y\n" + header + "45 FC_S 1.5 2.5\n"
    path.write_text(CPU + header + rows + "this line has no place 12\n" + other)
    assert ask(path, 'SELECT segment, value FROM rmf_other ORDER BY "offset"') == [
        ("CPU Activity", "this line has no place 12"),
        ("channelpathactivity", "45 FC_S 1.5 2.5"),
    ]
    assert any(detail.startswith("line 7: not recognized") for detail in problem_details(path))
    assert any(
        "the report channelpathactivity is not in the catalog" in detail for detail in problem_details(path)
    )


def test_page_without_time_is_reported_or_rejected(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    rows = "NUM TYPE ONLINE LPAR BUSY MVS BUSY PARKED\n 0   CP  100.00  12.50   11.00     0.00\n"
    path.write_text(CPU + "   z/OS V2R5   SYSTEM ID SYSA\n" + rows)
    with pytest.raises(InputError, match="without the time and length of its interval"):
        zlens.open(str(path))


def test_printed_and_xml_interval_are_one_system(tmp_path: Path) -> None:
    """Measures of a printed report equal its XML report."""
    path = FOLDER / "rmf-cpu-mt.txt"
    (row,) = ask(path, "SELECT count(*), round(avg(mt_utilization_pct), 2), max(cpu_type) FROM core")
    assert row == (4, 61.41, "ZIIP")
