"""Tests of the Monitor III reader against RMF: a CPC response of a z15 T02 (8562 Z02), z/OS 2.5 RMF, of
12 April 2022, and the Postprocessor report of the half-hour around it, published with the Zowe project
zebra (EPL-2.0).

RMF writes percentages to 0.1: the sum or ratio of two may be off by as much.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest

from raw_rows import rows
from samples import needs, sample
from zlens.errors import InputError
from zlens.inputs.options import Options, parse_zone
from zlens.readers.rmf import monitor3 as rmf_monitor3
from zlens.readers.rmf import postprocessor as rmf_xml

CPC = sample("rmf/rmf-monitor3-cpc.xml")
ERROR = sample("rmf/rmf-monitor3-cpc-error.xml")
HALF_HOUR = sample("rmf/rmf-postprocessor-cpu-small.xml")

pytestmark = needs(CPC)

#: Two rounded values, each off by 0.05 at most.
TWO = 0.1 + 1e-9
Row = dict[str, Any]


@pytest.fixture(scope="module")
def source() -> rmf_monitor3.RmfMonitor3Source:
    return rmf_monitor3.open_files([str(CPC)], Options())


@pytest.fixture(scope="module")
def lines(source: rmf_monitor3.RmfMonitor3Source) -> list[Row]:
    return rows(source, "rmf3_partition")


def test_monitor3_sample_contents(source: rmf_monitor3.RmfMonitor3Source, lines: list[Row]) -> None:
    (system,) = source.systems
    assert (system.system, system.lpar, system.machine) == ("RPRT", "VIRPT", "8562-5ED28")
    assert (system.utc_offset_s, system.local_time, system.nominal_s) == (-4 * 3600, False, 100.0)
    assert (system.threads, source.problems()) == ({}, [])
    kept = {row["name"]: row["value"] for row in rows(source, "rmf3_other")}
    assert kept == {
        **{"CPCHMDLX": "A00", "CPCHCBPN": "N/A", "CPCHDEDO": "N/A"},
        **{"CPCHSHRO": "N/A", "CPCHOUTL": "N/A"},
    }
    kinds = [row["row_kind"] for row in lines]
    assert (kinds.count("total"), kinds.count("partition"), kinds.count("physical")) == (3, 9, 3)
    # Exactly the columns that the response fills have values.
    filled = {name for row in lines for name, value in row.items() if value is not None}
    blank = {name for name in lines[0] if name not in filled}
    assert blank == {
        *("flag", "hardware_group", "cap_hardware_group_cpus", "weight_min", "weight_max"),
        *("group_name", "group_limit_msu", "group_min_msu", "group_max_msu", "ziip_boost"),
    }


def test_block_type_equals_line_type(lines: list[Row]) -> None:
    assert {(row["cpu_type"], row["line_type"][0]) for row in lines} == {
        ("CP", "C"),
        ("IFL", "L"),
        ("ICF", "F"),
    }


def test_monitor3_type_rows_add_up(source: rmf_monitor3.RmfMonitor3Source, lines: list[Row]) -> None:
    (caption,) = rows(source, "rmf3_cpc")
    for kind, block in groupby(lines, lambda row: row["cpu_type"]):
        total, *others = block
        partitions = [row for row in others if row["row_kind"] == "partition"]
        (physical,) = [row for row in others if row["row_kind"] == "physical"]
        assert total["weight"] == sum(row["weight"] for row in partitions)
        assert total["logical_processors"] == sum(row["logical_processors"] for row in partitions)
        effective = sum(row["physical_effective_pct"] for row in partitions)
        assert abs(total["physical_effective_pct"] - effective) <= 0.05 * (len(partitions) + 1)
        whole = total["physical_effective_pct"] + total["physical_lpmgt_pct"]
        assert abs(total["physical_total_pct"] - whole) <= TWO
        # The caption has the use of the shared processors without PHYSICAL.
        shared = total["physical_total_pct"] - physical["physical_total_pct"]
        assert abs(caption[f"shared_total_{kind.lower()}_pct"] - shared) <= TWO
        count = caption[f"processors_{kind.lower()}"]
        for row in partitions:
            assert row["logical_shared"] + row["logical_dedicated"] == row["logical_processors"]
            # The same time is divided by the logical and by the physical processors.
            over = row["logical_effective_pct"] * row["logical_processors"] / count
            assert (
                abs(row["physical_effective_pct"] - over)
                <= 0.05 * (1 + row["logical_processors"] / count) + 1e-9
            )


def test_shares_are_of_weights(source: rmf_monitor3.RmfMonitor3Source, lines: list[Row]) -> None:
    """The share of a logical processor is an equal part, or the medium one's part if vertical."""
    (caption,) = rows(source, "rmf3_cpc")
    weights = {row["cpu_type"]: row["weight"] for row in lines if row["row_kind"] == "total"}
    vertical = 0
    for row in lines:
        if row["row_kind"] != "partition":
            continue
        kind = row["cpu_type"]
        entitled = 100 * row["weight"] / weights[kind] * caption[f"processors_{kind.lower()}"]
        if row["vertical_medium"] or row["partition"] == "ZVMPROD":
            # z/VM's processors are vertical, too, but RMF does not show their counts.
            vertical += 1
            high = entitled // 100 if row["vertical_high"] is None else row["vertical_high"]
            medium = row["vertical_medium"] or 1
            # 1.6 processors are a high one and a medium one of 60%.
            expected = (entitled - 100 * high) / medium
        else:
            expected = entitled / row["logical_processors"]
        assert abs(row["share_pct"] - expected) < 0.1, row["partition"]
    assert vertical == 5


def test_half_hour_of_sample_has_same_machine(lines: list[Row]) -> None:
    around = rmf_xml.open_files([str(HALF_HOUR)], Options(tz=parse_zone("-04:00")))
    same = ("weight", "msu_defined", "capping", "logical_processors")
    theirs = {
        (r["partition"], r["cpu_type"]): r
        for r in rows(around, "rmf_partition")
        if r["row_kind"] == "partition" and r["cpu_type"]
    }
    ours = {(r["partition"], r["cpu_type"]): r for r in lines if r["row_kind"] == "partition"}
    assert ours.keys() == theirs.keys()
    for place, row in ours.items():
        assert [row[name] for name in same] == [theirs[place][name] for name in same]
        assert abs(row["physical_total_pct"] - theirs[place]["physical_total_pct"]) < 0.5
    (inner,), (outer,) = (
        source.systems for source in (rmf_monitor3.open_files([str(CPC)], Options()), around)
    )
    assert (inner.system, inner.lpar, inner.machine, inner.model) == (
        *(outer.system, outer.lpar),
        *(outer.machine, outer.model),
    )
    assert outer.first_us <= inner.first_us < inner.last_us <= outer.last_us


def test_monitor3_error_response_has_rmf_message() -> None:
    with pytest.raises(InputError) as caught:
        rmf_monitor3.open_files([str(ERROR)], Options())
    assert (caught.value.file, caught.value.offset) == (str(ERROR), 1122)
    for word in ("GPM0731I", "'DVLP' is not a member of the sysplex", "correct the request"):
        assert word in str(caught.value)
    # With a readable response it is a problem.
    source = rmf_monitor3.open_files([str(ERROR), str(CPC)], Options())
    assert len(source.systems) == 1
    assert ["GPM0731I" in problem.detail for problem in source.problems()] == [True]
