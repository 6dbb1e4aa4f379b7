"""Tests of HMC exporter scrapes: synthetic ones, damaged ones, and a published one of a LinuxONE with
30 IFLs (zhmc-prometheus-exporter, Apache-2.0)."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zlens
from iterations import draws, iterations
from raw_rows import rows
from samples import needs, sample
from zlens.catalog.openmetrics import load_exporter
from zlens.errors import InputError
from zlens.inputs.options import Options
from zlens.inputs.problems import KINDS
from zlens.readers.openmetrics import hmc
from zlens.readers.openmetrics import source as scrapes
from zlens.readers.openmetrics import text as lines

SAMPLE = sample("hmc/prometheus.out.b8d710f")
STOPPED = sample("public/hmc-z16-stopped.prom")
DEFINITIONS = sample("hmc/metrics.yaml")

MADE = r"""# HELP zhmc_partition_processor_usage_ratio Usage ratio across all processors of the partition
# TYPE zhmc_partition_processor_usage_ratio gauge
zhmc_partition_processor_usage_ratio{cpc="BOX",partition="ONE"} 0.25
zhmc_partition_processor_usage_ratio{cpc="BOX",partition="TWO"} 0.5
zhmc_partition_cp_processor_count{cpc="BOX",partition="ONE"} 0
zhmc_partition_ifl_processor_count{cpc="BOX",partition="ONE"} 4.0
zhmc_partition_ifl_initial_processing_weight{cpc="BOX",partition="ONE"} 300
zhmc_partition_ifl_initial_processing_weight_is_capped{cpc="BOX",partition="ONE",valuetype="bool"} 1.0
zhmc_partition_processor_mode_int{cpc="BOX",partition="ONE"} 0.0
zhmc_partition_cp_processor_count{cpc="BOX",partition="TWO"} 2
zhmc_partition_iip_processor_count{cpc="BOX",partition="TWO"} 1
zhmc_partition_iip_processor_usage_ratio{cpc="BOX",partition="TWO"} 0.1
zhmc_partition_processor_mode_int{cpc="BOX",partition="TWO"} 1.0
zhmc_partition_description{cpc="BOX",partition="TWO",value="a \"quoted\", {odd}\\text\n"} 0
zhmc_processor_usage_ratio{cpc="BOX",processor="IFL000",type="ifl"} 0.5
zhmc_processor_smt_thread0_usage_ratio{cpc="BOX",processor="IFL000",type="ifl"} -1
zhmc_cpc_ifl_processor_count{cpc="BOX"} 10
zhmc_cpc_ifl_processor_usage_ratio{cpc="BOX"} 0.3
zhmc_cpc_power_watts{cpc="BOX"} NaN
python_info{version="3.12"} 1.0
"""


def source(tmp_path: Path, *texts: str | bytes) -> scrapes.ScrapeSource:
    paths = []
    for number, text in enumerate(texts):
        path = tmp_path / f"scrape{number}.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(path, (1_700_000_040 + 60 * number,) * 2)
        paths.append(str(path))
    return hmc.open_files(paths, Options())


def test_partitions_by_type(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE)
    columns = ("partition", "cpu_type", "processors", "weight", "capped", "dedicated", "usage_pct")
    assert sorted(tuple(row[c] for c in columns) for row in rows(opened, "hmc_partition")) == [
        ("ONE", "IFL", 4.0, 300.0, True, False, 25.0),
        ("TWO", "CP", 2.0, None, None, True, None),
        ("TWO", "ZIIP", 1.0, None, None, True, 10.0),
    ], "the usage of all types together is of none of two"
    assert opened.problems() == []


def test_processors_pools_and_all_metrics(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE)
    (processor,) = rows(opened, "hmc_processor")
    assert (processor["processor"], processor["cpu_type"]) == ("IFL000", "IFL")
    assert (processor["usage_pct"], processor["thread_0_pct"]) == (50.0, None)
    (pool,) = rows(opened, "hmc_pool")
    assert (pool["cpu_type"], pool["processors"], pool["usage_pct"]) == ("IFL", 10.0, 30.0)
    metrics = {row["metric"]: row for row in rows(opened, "hmc_metric")}
    assert metrics["zhmc_cpc_power_watts"]["value"] is None
    assert metrics["zhmc_partition_description"]["labels"] == 'value=a "quoted", {odd}\\text\n'
    first = metrics["zhmc_partition_processor_usage_ratio"]
    said = "Usage ratio across all processors of the partition"
    assert (first["kind"], first["text"]) == ("gauge", said)
    assert opened.info()[0]["others"] == "1 of python"
    assert {row.name for row in opened.inventory()} == metrics.keys()


def test_scrape_times_are_timestamps_or_file_dates(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE, 'zhmc_cpc_power_watts{cpc="BOX"} 1 1700000000500\n' + MADE)
    (info,) = opened.systems
    assert [interval.end_us for interval in info.intervals] == [
        1_700_000_000_500_000,
        1_700_000_040_000_000,
        1_700_000_100_000_000,
    ]
    assert len(rows(opened, "hmc_pool")) == 2


def test_measures_of_hmc(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE)
    with zlens.open(opened.systems[0].files) as session:
        question = (
            "SELECT observer, partition, cpu_type, logical_cpus, weight, capped, dedicated, total_pct,"
            " share_pct, interval_end FROM partition WHERE partition = 'ONE'"
        )
        moment = dt.datetime(2023, 11, 14, 22, 14, tzinfo=dt.UTC)
        assert session.sql(question).rows == [
            ("BOX", "ONE", "IFL", 4.0, 300.0, True, False, 25.0, None, moment)
        ], "the HMC need not show all partitions, so there is no share of a weight"
        (pool,) = session.sql(
            "SELECT physical, dedicated, logical_cpus, total_weight, phys_total_pct, total_pct FROM cec "
            "WHERE cpu_type = 'IFL'"
        ).rows
        assert pool == (10.0, None, None, None, 30.0, None)


def test_processors_without_pool_are_of_machine(tmp_path: Path) -> None:
    """They are of no type of partition: each type of cec has the counts of the machine."""
    counts = "".join(
        f'zhmc_cpc_{name}_processor_count{{cpc="BOX"}} {count}\n'
        for name, count in {"cp": 2, "sap": 3, "spare": 4, "defective": 0}.items()
    )
    opened = source(tmp_path, MADE + counts)
    with zlens.open(opened.systems[0].files) as session:
        query = "SELECT cpu_type, physical, saps, spare_cpus, defective_cpus FROM cec ORDER BY cpu_type"
        assert session.sql(query).rows == [
            ("CP", 2.0, 3.0, 4.0, 0.0),
            ("IFL", 10.0, 3.0, 4.0, 0.0),
            ("ZIIP", None, 3.0, 4.0, 0.0),
        ]


@needs(SAMPLE)
def test_published_scrape_has_saps() -> None:
    with zlens.open([str(SAMPLE)]) as session:
        query = "SELECT cpu_type, saps, spare_cpus, defective_cpus FROM cec"
        assert session.sql(query).rows == [("IFL", 2.0, 0.0, 0.0)]


#: The meaning of each number in the descriptions of both metrics (zhmc-prometheus-exporter, metrics.yaml).
STATUS = [
    ("status_int", 0, "Active"), ("status_int", 1, "Degraded"), ("status_int", 10, "Paused"),
    ("status_int", 11, "Stopped"), ("status_int", 12, "Starting"), ("status_int", 13, "Stopping"),
    ("status_int", 20, "Reservation error"), ("status_int", 21, "Terminated"),
    ("status_int", 22, "Communications not active"), ("status_int", 23, "Status check"),
    ("status_int", 99, None), ("status_int", 2, None), ("status_int", "NaN", None), ("status_int", 0.5, None),
    ("lpar_status_int", 0, "Operating"), ("lpar_status_int", 1, "Not operating"),
    ("lpar_status_int", 2, "Not activated"), ("lpar_status_int", 10, "Exceptions"),
    ("lpar_status_int", 99, None), ("lpar_status_int", 11, None),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "number", "text"), STATUS)
def test_status_follows_number(tmp_path: Path, metric: str, number: float, text: str | None) -> None:
    line = f'zhmc_partition_{metric}{{cpc="BOX",partition="TWO",value="x"}} {number}\n'
    opened = source(tmp_path, MADE + line)
    with zlens.open(opened.systems[0].files) as session:
        query = "SELECT cpu_type, status FROM partition ORDER BY partition, cpu_type"
        assert session.sql(query).rows == [("IFL", None), ("CP", text), ("ZIIP", text)]


CURRENT = """zhmc_partition_ifl_current_processing_weight{cpc="BOX",partition="ONE"} 250
zhmc_partition_ifl_current_processing_weight_is_capped{cpc="BOX",partition="ONE",valuetype="bool"} 0.0
zhmc_partition_ifl_processor_count_is_capped{cpc="BOX",partition="ONE",valuetype="bool"} 1.0
zhmc_partition_ifl_processor_count_cap{cpc="BOX",partition="ONE"} 2.5
zhmc_partition_cp_processor_count_is_capped{cpc="BOX",partition="TWO",valuetype="bool"} 0.0
zhmc_partition_cp_processor_count_cap{cpc="BOX",partition="TWO"} 0.0
zhmc_partition_iip_processor_count_cap{cpc="BOX",partition="TWO"} 1.0
"""


def test_current_weights_and_absolute_caps(tmp_path: Path) -> None:
    """No metric shows whether the zIIP cap is enabled."""
    opened = source(tmp_path, MADE + CURRENT)
    with zlens.open(opened.systems[0].files) as session:
        columns = "cpu_type, weight, capped, absolute_cap, any_cap"
        assert session.sql(f"SELECT {columns} FROM partition ORDER BY partition, cpu_type").rows == [
            ("IFL", 250.0, False, 2.5, True), ("CP", None, None, None, None), ("ZIIP", None, None, None, None)
        ]  # fmt: skip


@needs(STOPPED)
def test_stopped_partitions_of_z16() -> None:
    with zlens.open(STOPPED) as session:
        query = "SELECT partition, status, weight, capped, absolute_cap, any_cap FROM partition ORDER BY 1"
        assert session.sql(query).rows == [
            ("Boot-from-FICON", "Stopped", 1.0, False, None, False),
            ("tobiTest", "Stopped", 1.0, False, None, False),
        ]
        assert session.problems == []


def test_samples_with_other_labels_are_separate(tmp_path: Path) -> None:
    """Of two exporters of one machine, the first is shown and a difference in the second is reported."""
    first = 'zhmc_partition_ifl_processor_count{cpc="BOX",pod="A",partition="ONE"} 4.0\n'
    text = first + first.replace('"A"} 4', '"B"} 4').replace('"A"', '"B"')
    opened = source(tmp_path, text)
    assert [problem.kind for problem in opened.problems()] == ["duplicate"]
    opened = source(tmp_path, first + first.replace('"A"', '"B"').replace("4.0", "5.0"))
    assert [row["processors"] for row in rows(opened, "hmc_partition")] == [4.0]
    (problem,) = opened.problems()
    assert (problem.kind, problem.offset) == ("conflict", len(first))
    assert problem.detail == (
        "zhmc_partition_ifl_processor_count was already read for the same time, "
        "with pod=A and the value 4; this one is only in hmc_metric"
    )


BAD = [
    ("zhmc_cpc_power_watts 1.0", "header"),
    ('zhmc_cpc_power_watts{cpc=BOX"} 1.0', "header"),
    ('zhmc_cpc_power_watts{cpc="BOX",cpc="B"} 1.0', "header"),
    ('zhmc_cpc_power_watts{cpc="BOX"} many', "header"),
    ('zhmc_cpc_power_watts{cpc="BOX"}', "header"),
    ('zhmc_cpc_power_watts{cpc="BOX"} 1.0 -1', "header"),
    ('zhmc_cpc_power_watts{cpc="BOX"} 1.0 999999999999999', "header"),
    ('zhmc_cpc_ifl_processor_count{cpc="BOX"} 10.0', "duplicate"),
    ('zhmc_cpc_ifl_processor_count{cpc="BOX"} 11', "conflict"),
    ('zhmc_cpc_power_watts{cpc="' + "x" * 40_000 + '"} 1', "length"),
    ("\x00\x01\x02", "header"),
]


@pytest.mark.parametrize(("line", "kind"), BAD)
def test_hmc_reports_invalid_line_and_reads_rest(tmp_path: Path, line: str, kind: str) -> None:
    opened = source(tmp_path, MADE + line + '\nzhmc_cpc_humidity_percent{cpc="BOX"} 39\n')
    (problem,) = opened.problems()
    assert (problem.kind, problem.offset) == (kind, len(MADE))
    assert rows(opened, "hmc_metric")[-1]["value"] == 39.0
    assert rows(opened, "hmc_pool")[0]["processors"] == 10.0


@pytest.mark.parametrize("value", ["1e308", "-1e308", "1e400", "+Inf", "9" * 400])
def test_impossible_counter_value_is_null(tmp_path: Path, value: str) -> None:
    text = MADE.replace(
        'usage_ratio{cpc="BOX",partition="ONE"} 0.25', f'usage_ratio{{cpc="BOX",partition="ONE"}} {value}'
    )
    opened = source(tmp_path, text)
    (problem,) = opened.problems()
    assert (problem.kind, problem.bytes) == ("impossible", 0)
    assert value[:30] in problem.detail
    found = next(row for row in rows(opened, "hmc_partition") if row["partition"] == "ONE")
    assert found["usage_pct"] is None
    assert found["processors"] == 4.0


def test_machines_are_bounded(tmp_path: Path) -> None:
    lines = (
        f'zhmc_cpc_power_watts{{cpc="M{number}"}} {number}\n' for number in range(scrapes.MAX_SYSTEMS + 5)
    )
    opened = source(tmp_path, "".join(lines))
    (problem,) = opened.problems()
    assert (problem.kind, problem.detail) == (
        "length",
        "more than 1,000 machines; 5 samples of others are not read",
    )
    assert len(opened.systems) == len(rows(opened, "hmc_metric")) == scrapes.MAX_SYSTEMS


def test_problems_are_bounded(tmp_path: Path) -> None:
    opened = source(tmp_path, MADE + "junk\n" * 500)
    assert len(opened.problems()) == scrapes.MAX_NOTES + 1
    assert "400 more" in opened.problems()[-1].detail


def test_hmc_gives_up_foreign_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrapes, "MAX_STRANGE", 200)
    found = source(tmp_path, MADE + "rubbish\n" * 500 + 'zhmc_cpc_power_watts{cpc="LATE"} 1\n')
    assert [info.system for info in found.systems] == ["BOX"]
    assert any("more than 200 unreadable lines" in p.detail and p.kind == "length" for p in found.problems())


def test_file_without_sample(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sample of a machine"):
        source(tmp_path, "# HELP zhmc_cpc_power_watts Power\nzhmc_cpc_power_watts 1\n")


def test_hmc_detect() -> None:
    assert hmc.detect(MADE.encode(), len(MADE))
    assert hmc.detect(b'python_info{a="b"} 1\nzhmc_cpc_power_watts{cpc="BOX"} 1', 60)
    assert not hmc.detect(b"the zhmc_cpc_power_watts metric\n", 32)
    assert not hmc.detect(b"# HELP node_cpu_seconds_total x\n", 32)


@pytest.mark.parametrize("seed", range(iterations(20, 6)))
def test_hmc_survives_flipped_bytes(tmp_path: Path, seed: int) -> None:
    dice = draws(seed)
    data = bytearray(MADE.encode())
    for _ in range(dice.choice([1, 10, 100])):
        data[dice.randrange(len(data))] = dice.randrange(256)
    try:
        opened = source(tmp_path, bytes(data))
    except InputError:
        return
    for table in opened.tables:
        rows(opened, table)
    assert all(problem.kind in KINDS for problem in opened.problems())


@given(st.dictionaries(st.from_regex(r"[a-z_]\w{0,8}\Z", fullmatch=True), st.text(max_size=20), max_size=5))
def test_labels_are_unescaped(labels: dict[str, str]) -> None:
    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    text = "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items()) + "}"
    assert lines.labels(text) == labels


@needs(SAMPLE)
def test_published_scrape_is_read_completely() -> None:
    opened = hmc.open_files([str(SAMPLE)], Options())
    assert opened.problems() == []
    lines = [line for line in SAMPLE.read_text().splitlines() if not line.startswith("#")]
    assert len(rows(opened, "hmc_metric")) == len(lines)
    (pool,) = rows(opened, "hmc_pool")
    assert (pool["cpu_type"], pool["processors"], pool["usage_pct"]) == ("IFL", 30.0, 14.0)
    processors = rows(opened, "hmc_processor")
    kinds = [row["cpu_type"] for row in processors]
    assert (kinds.count("IFL"), kinds.count("SAP"), kinds.count("IFP")) == (30, 3, 1)
    partitions = {
        row["partition"]: (row["cpu_type"], row["processors"]) for row in rows(opened, "hmc_partition")
    }
    assert partitions == {"MIKETEST": ("IFL", 2.0), "WILLVLAN2": ("IFL", 2.0), "PENNY": ("IFL", 4.0)}


@needs(SAMPLE)
def test_type_usage_is_truncated_mean_of_processors() -> None:
    opened = hmc.open_files([str(SAMPLE)], Options())
    usage = [row["usage_pct"] for row in rows(opened, "hmc_processor") if row["cpu_type"] == "IFL"]
    mean = sum(usage) / len(usage)
    (pool,) = rows(opened, "hmc_pool")
    assert pool["usage_pct"] <= mean < pool["usage_pct"] + 1


@needs(SAMPLE)
def test_processor_usage_is_mean_of_threads() -> None:
    """All three are rounded to a percent; a processor with one thread has that thread's usage."""
    opened = hmc.open_files([str(SAMPLE)], Options())
    cores = [row for row in rows(opened, "hmc_processor") if row["thread_0_pct"] is not None]
    threaded = [row for row in cores if row["smt_mode"]]
    assert len(threaded) == 30
    for row in threaded:
        assert abs((row["thread_0_pct"] + row["thread_1_pct"]) / 2 - row["usage_pct"]) <= 1
    (single,) = (row for row in cores if not row["smt_mode"])
    assert (single["cpu_type"], single["thread_1_pct"]) == ("IFP", 0.0)
    assert single["usage_pct"] == single["thread_0_pct"]


@needs(SAMPLE)
def test_idle_partitions_do_not_account_for_machine() -> None:
    """A scrape has only what its user may see, so shares of weights are not computed."""
    with zlens.open([str(SAMPLE)]) as session:
        (row,) = session.sql(
            "SELECT sum(total_pct * logical_cpus), count(share_pct), count(weight) FROM partition"
        ).rows
        assert row == (2.0, 0, 3)
        assert session.sql("SELECT physical * phys_total_pct, total_weight FROM cec").rows == [(420.0, None)]


def test_truncated_last_number_of_scrape_is_problem(tmp_path: Path) -> None:
    """15504 truncated to 15 is a number, too."""
    opened = source(tmp_path, MADE + 'zhmc_cpc_power_watts{cpc="LATE"} 15')
    (problem,) = opened.problems()
    assert (problem.kind, problem.offset) == ("truncated", len(MADE))
    assert "the last line has no line end" in problem.detail
    assert [info.system for info in opened.systems] == ["BOX"]


# Power, climate, adapters -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["watt", "watts"])
def test_power_under_names_of_all_releases(tmp_path: Path, ending: str) -> None:
    """The exporter ends names in _watts up to release 1.3.0, in _watt from 1.4.0 on."""
    text = (
        f'zhmc_cpc_power_{ending}{{cpc="A"}} 6081.0\n'
        'zhmc_cpc_heat_load_total_btu_per_hour{cpc="A"} 20927\n'
        f'zhmc_cpc_power_cord1_phase_a_{ending}{{cpc="A",cord="1",cordid="1",phase="A"}} 1505\n'
        f'zhmc_cpc_power_cord2_phase_c_{ending}{{cpc="A",cord="2",cordid="2",phase="C"}} 0\n'
        'zhmc_partition_power_watt{cpc="A",partition="P1"} 812.5\n'
    )
    path = tmp_path / "scrape"
    path.write_text(text)
    with zlens.open(path) as session:
        assert session.sql("SELECT power_w, heat_w, partition_power_w FROM environment").rows == [
            (6081.0, pytest.approx(6133.1, abs=0.1), None)
        ]
        assert session.sql("SELECT partition, power_w FROM partition_use").rows == [("P1", 812.5)]
        assert session.sql("SELECT cord, phase, power_w FROM hmc_cord ORDER BY cord").rows == [
            (1, "A", 1505.0),
            (2, "C", None),
        ]


def test_nic_names_partition_and_port(tmp_path: Path) -> None:
    path = tmp_path / "scrape"
    path.write_text(
        'zhmc_nic_data_rate_sent_bytes_per_second{cpc="A",partition="P1",nic="N",adapter="OSD1",port="1"} 5\n'
        'zhmc_port_bandwidth_usage_ratio{cpc="A",adapter="OSD1",port="1"} 0.25\n'
        'zhmc_channel_usage_ratio{cpc="A",channel_css_chpid="0.5C",partition="P2",shared="false"} 0.5\n'
        'zhmc_channel_usage_ratio{cpc="A",channel_css_chpid="0.5D",partition="",shared="true"} 0.75\n'
    )
    with zlens.open(path) as session:
        columns = "kind, adapter, port, partition, nic, usage_pct, port_usage_pct, sent_rate"
        assert session.sql(f"SELECT {columns} FROM adapter ORDER BY kind, adapter").rows == [
            ("NIC", "OSD1", "1", "P1", "N", None, 25.0, 5.0),
            ("channel", "0.5C", None, "P2", None, 50.0, None, None),
            ("channel", "0.5D", None, None, None, 75.0, None, None),
            ("port", "OSD1", "1", None, None, 25.0, None, None),
        ]


@needs(DEFINITIONS)
def test_metrics_have_names_of_exporter() -> None:
    """Names of the exporter: the prefix of the group, and its name in the group."""
    groups, metrics = DEFINITIONS.read_text().split("\nmetrics:\n")
    prefixes = dict(re.findall(r"(?m)^  ([\w-]+):\n(?:    .*\n)*?    prefix: (\w+)", groups))
    names: set[str] = set()
    group = ""
    for line in metrics.splitlines():
        if heading := re.fullmatch(r"  ([\w-]+):\s*(?:#.*)?", line):
            group = prefixes.get(heading[1], "")
        elif name := re.match(r"[\s-]+exporter_name: (\w+)", line):
            names.add(f"zhmc_{group}_{name[1]}")
    exporter = load_exporter("hmc")
    for metric in exporter.listed:
        of_types = [metric.name.replace("{type}", word) for word in exporter.types]
        assert names.intersection(of_types), metric.name


@pytest.mark.parametrize("seed", range(iterations(50, 5)))
def test_random_adapter_values_are_read(tmp_path: Path, seed: int) -> None:
    random = draws(seed)
    kinds = {
        "adapter": "adapter",
        "crypto_adapter": "crypto",
        "roce_adapter": "RoCE",
        "flash_memory_adapter": "flash memory",
    }
    lines, expected = [], {}
    for prefix, kind in kinds.items():
        for number in random.sample(range(1000), random.randint(0, 5)):
            value = random.randrange(0, 1001)
            label = "adapter" if prefix == "adapter" else "adapter_pchid"
            lines.append(f'zhmc_{prefix}_usage_ratio{{cpc="A",{label}="X{number}"}} {value / 1000}')
            expected[kind, f"X{number}"] = value / 10
    random.shuffle(lines)
    path = tmp_path / "scrape"
    path.write_text("\n".join(['zhmc_cpc_power_watt{cpc="A"} 1', *lines]) + "\n")
    with zlens.open(path) as session:
        found = session.sql("SELECT kind, adapter, usage_pct FROM adapter").rows
    assert {(kind, name): value for kind, name, value in found} == pytest.approx(expected)
