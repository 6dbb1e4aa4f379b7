"""Tests of scrapes of RMF's Distributed Data Server: synthetic ones with the metrics and labels of IBM's
published dashboards (github.com/IBM/RMF, grafana/dashboards/prometheus), and damaged ones."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

import zlens
from damage import mutated, survives
from iterations import draws, iterations
from raw_rows import rows
from zlens.catalog.openmetrics import load_exporter
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.readers.openmetrics import dds, hmc
from zlens.readers.openmetrics.source import ScrapeSource

MADE = """# HELP mvs_rmf_m3_mintime Length of an interval
# TYPE mvs_rmf_m3_mintime gauge
mvs_rmf_m3_mintime{sysplex="PLEX1"} 100
mvs_cpc_capacity_msu_h{sysplex="PLEX1",cpc_id="CPC1"} 1000
mvs_lpar_actual_msu_h{sysplex="PLEX1",cpc_id="CPC1",lpar_name="PROD1",line_type="CP"} 400
mvs_lpar_actual_msu_h{sysplex="PLEX1",cpc_id="CPC1",lpar_name="PROD2",line_type="CP"} 100
mvs_lpar_actual_msu_h{sysplex="PLEX1",cpc_id="CPC1",lpar_name="PROD2",line_type="IIP"} 30
mvs_lpar_actual_msu_h{sysplex="PLEX1",cpc_id="CPC1",lpar_name="PHYSICAL",line_type="CP"} 5
mvs_system_storage_real_storage_frames{sysplex="PLEX1",sysname="SYS1"} 4194304
mvs_system_storage_frames_available_total{sysplex="PLEX1",sysname="SYS1"} 1048576
mvs_system_storage_csa_average_percent{sysplex="PLEX1",sysname="SYS1"} 40
mvs_system_storage_ecsa_average_percent{sysplex="PLEX1",sysname="SYS1"} 20
mvs_system_storage_sqa_average_percent{sysplex="PLEX1",sysname="SYS1"} 30
mvs_system_storage_esqa_average_percent{sysplex="PLEX1",sysname="SYS1"} 10
mvs_job_total_eappl_percent{sysplex="PLEX1",sysname="SYS1",job_name="DB2A",asid_dec="80"} 150.5
mvs_job_cp_eappl_percent{sysplex="PLEX1",sysname="SYS1",job_name="DB2A",asid_dec="80"} 100.5
mvs_job_iip_eappl_percent{sysplex="PLEX1",sysname="SYS1",job_name="DB2A",asid_dec="80"} 50
mvs_job_working_set_frames_total{sysplex="PLEX1",sysname="SYS1",job_name="DB2A",asid_dec="80"} 250000
mvs_job_total_eappl_percent{sysplex="PLEX1",sysname="SYS1",job_name="CICSA",asid_dec="81"} 20
mvs_job_storage_csa_percent{sysplex="PLEX1",sysname="SYS1",job_name="CICSA",asid_dec="81"} 2.5
mvs_job_storage_sqa_percent{sysplex="PLEX1",sysname="SYS1",job_name="CICSA",asid_dec="81"} 0.5
mvs_wlm_group_delay_percent{sysplex="PLEX1",sysname="SYS1",group_type="W",group_name="ONLINE"} 12
mvs_wlm_group_delay_proc_percent{sysplex="PLEX1",sysname="SYS1",group_type="W",group_name="ONLINE"} 8
mvs_cf_processor_utilization_percent{sysplex="PLEX1",name="CF1"} 14.5
mvs_cf_request_rate{sysplex="PLEX1",name="CF1"} 12345.6
mvs_cf_storage_size_bytes{sysplex="PLEX1",name="CF1"} 17179869184
mvs_cf_storage_available_bytes{sysplex="PLEX1",name="CF1"} 8589934592
mvs_cf_storage_utilized_percent{sysplex="PLEX1",name="CF1"} 50
mvs_not_in_the_catalog_percent{sysplex="PLEX1",sysname="SYS1",what="ever"} 1
"""
FIRST_S = 1_700_000_000


def source(tmp_path: Path, *texts: str | bytes) -> ScrapeSource:
    paths = []
    for number, text in enumerate(texts):
        path = tmp_path / f"scrape{number}.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(path, (FIRST_S + 100 * number,) * 2)
        paths.append(str(path))
    return dds.open_files(paths, Options())


def test_dds_tables_have_every_sample(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE)
    assert opened.problems() == []
    assert len(rows(opened, "dds_metric")) == MADE.count("\n") - 2
    other = next(row for row in rows(opened, "dds_metric") if row["metric"].startswith("mvs_not"))
    assert (other["system"], other["sysplex"], other["labels"], other["value"]) == (
        "SYS1",
        "PLEX1",
        "what=ever",
        1,
    )
    (job, _) = rows(opened, "dds_job")
    assert (job["job"], job["asid"], job["total_pct"], job["working_set"]) == ("DB2A", 80, 150.5, 250000)
    (facility,) = rows(opened, "dds_facility")
    assert (facility["system"], facility["facility"], facility["storage"]) == ("PLEX1", "CF1", 17179869184)
    (group,) = rows(opened, "dds_group")
    assert (group["group_name"], group["group_type"], group["delay_pct"], group["xcf_pct"]) == (
        "ONLINE",
        "W",
        12,
        None,
    )
    assert {info.system: info.sysplex for info in opened.systems} == dict.fromkeys(
        ("CPC1", "PLEX1", "SYS1"), "PLEX1"
    )


def test_dds_interval_length_is_from_server(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE, MADE)
    for info in opened.systems:
        assert [(each.end_us, each.seconds) for each in info.intervals] == [
            (FIRST_S * 1_000_000, 100.0),
            ((FIRST_S + 100) * 1_000_000, 100.0),
        ]
    assert {row["seconds"] for row in rows(opened, "dds_metric")} == {100.0}


def test_dds_interval_without_length_metric(tmp_path: Path) -> None:
    opened = source(tmp_path, 'mvs_cpc_capacity_msu_h{cpc_id="CPC1"} 1000\n')
    assert [(each.end_us, each.seconds) for each in opened.systems[0].intervals] == [
        (FIRST_S * 1_000_000, None)
    ]


@pytest.mark.parametrize("length", ["0", "-5", "1e9", "NaN"])
def test_invalid_dds_interval_length(tmp_path: Path, length: str) -> None:
    opened = source(tmp_path, MADE.replace("} 100\n", f"}} {length}\n", 1))
    (problem,) = opened.problems()
    assert problem.kind == "impossible"
    assert {row["seconds"] for row in rows(opened, "dds_metric")} == {None}


def test_sysplexes_in_one_text_have_own_lengths(tmp_path: Path) -> None:
    other = 'mvs_rmf_m3_mintime{sysplex="PLEX2"} 60\nmvs_cf_request_rate{sysplex="PLEX2",name="CF1"} 3\n'
    opened = source(tmp_path, MADE + other)
    assert {row["system"]: row["seconds"] for row in rows(opened, "dds_facility")} == {
        "PLEX1": 100.0,
        "PLEX2": 60.0,
    }


def test_timestamps_in_seconds_and_milliseconds(tmp_path: Path) -> None:
    """OpenMetrics uses seconds with decimals, the older Prometheus text format milliseconds."""
    opened = source(
        tmp_path,
        'mvs_cf_request_rate{sysplex="A",name="C"} 1 1700000000\n'
        'mvs_cf_request_rate{sysplex="A",name="C"} 1 1700000100.25\n'
        'mvs_cf_request_rate{sysplex="A",name="C"} 1 1700000200500\n# EOF\n',
    )
    assert [interval.end_us for interval in opened.systems[0].intervals] == [
        1_700_000_000_000_000,
        1_700_000_100_250_000,
        1_700_000_200_500_000,
    ]


def test_measures_of_dds(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE)
    with zlens.open(opened.systems[0].files) as session:
        moment = dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
        assert session.sql(
            "SELECT observer, partition, cpu_type, msu_actual, share_pct, seconds, interval_end "
            "FROM partition ORDER BY partition"
        ).rows == [
            ("CPC1", "PROD1", "CP", 400.0, None, 100.0, moment),
            ("CPC1", "PROD2", "CP", 100.0, None, 100.0, moment),
        ], "PHYSICAL is no partition, and of other types no public text says what they are"
        assert session.sql("SELECT cpu_type, msu_capacity FROM cec").rows == [("CP", 1000.0)]
        assert session.sql("SELECT frames, frames_available, csa, esqa FROM role.image_storage").rows == [
            (4194304.0, 1048576.0, 40.0, 10.0)
        ]
        assert session.sql("SELECT job, number, cp, ziip FROM role.address_space ORDER BY job").rows == [
            ("CICSA", 81, None, None),
            ("DB2A", 80, 100.5, 50.0),
        ]
        assert session.sql("SELECT group_name, delay, processor, device FROM role.workload_delay").rows == [
            ("ONLINE", 12.0, 8.0, None)
        ]
        assert session.sql("SELECT name, busy, storage_used FROM role.coupling_facility").rows == [
            ("CF1", 14.5, 50.0)
        ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("mvs_cf_request_rate 1.0", "header"),
        ('mvs_cf_request_rate{sysplex="PLEX1",name="CF1"} many', "header"),
        ('mvs_cf_request_rate{sysplex="PLEX1",name="CF1"} 7', "conflict"),
        ('mvs_cf_request_rate{sysplex="PLEX1",name="CF2"} 1e300', "impossible"),
        ('mvs_cf_request_rate{sysplex="PLEX1",name="CF2"} 1 99999999999.5', "header"),
    ],
)
def test_dds_reports_invalid_line_and_reads_rest(tmp_path: Path, line: str, kind: str) -> None:
    opened = source(tmp_path, MADE + line + '\nmvs_cf_request_rate{sysplex="PLEX1",name="CF9"} 9\n')
    (problem,) = opened.problems()
    assert (problem.kind, problem.offset) == (kind, len(MADE))
    assert rows(opened, "dds_facility")[-1]["request_rate"] == 9


def test_invalid_asid_is_null(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE.replace('asid_dec="81"', 'asid_dec="x"'))
    assert [row["asid"] for row in rows(opened, "dds_job")] == [80, None]


def test_exporters_recognize_their_text() -> None:
    assert dds.detect(MADE.encode(), len(MADE))
    assert not hmc.detect(MADE.encode(), len(MADE))
    assert not dds.detect(b'zhmc_cpc_power_watts{cpc="A"} 1\n', 30)


def test_dds_text_without_samples_names_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sample of a system") as error:
        source(tmp_path, "# HELP mvs_rmf_m3_mintime Length\n")
    assert load_exporter("dds").example in str(error.value)


def test_damaged_dds_text_is_read_or_rejected(tmp_path: Path) -> None:
    chance = draws(11)

    def damaged() -> bytes:
        return mutated(MADE.encode(), chance)

    survives(lambda path: dds.open_files([path], Options()), tmp_path, damaged, iterations(400, 60))
