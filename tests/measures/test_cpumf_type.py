"""Tests of CPU MF of all processors of a type, computed from sums of counters instead of from ratios."""

from __future__ import annotations

import pytest

from smf113_rows import opened, row, values
from zlens.catalog import measures
from zlens.inputs.options import Options

BUSY = {"B0": 9e9, "B1": 3e9, "B2": 1e7, "B3": 4e7, "B4": 2e7, "B5": 6e7, "P32": 1e9, "P33": 3e8}
IDLE = {"B0": 1e9, "B1": 1e9, "B2": 6e6, "B3": 1e7, "B4": 9e6, "B5": 2e7, "P32": 1e8, "P33": 1e8}
#: Counters of the sources of L1 misses of z196.
SOURCES = {f"E{n}": 0.0 for n in (128, 129, 134, 135, 136, 138, 139, 141, 142, 143, 150, 152, 153, 155)}


def test_ratios_are_of_sums() -> None:
    rows = [
        row({**BUSY, **SOURCES, "E150": 1.5e7}, generation="z196", cpu_id=0, cpsp=5000),
        row({**IDLE, **SOURCES, "E150": 3e6}, generation="z196", cpu_id=1, cpsp=5000),
        row(IDLE, generation="z196", cpu_id=2, cpsp=5000, cpu_type="ZIIP"),
    ]
    cp, ziip = values(opened(rows), "*", "cpumf_type")
    assert (cp["cpu_type"], cp["processors"], cp["cycles"]) == ("CP", 2, 10**10)
    # The mean of the two CPI is 2.
    assert cp["cpi"] == 2.5
    assert cp["problem_state_pct"] == pytest.approx(10)
    assert cp["l1mp"] == pytest.approx(100 * 4.5e7 / 4e9)
    shares = [cp[name] for name in ("l2p", "l3p", "l4lp", "l4rp", "memp")]
    assert sum(shares) == pytest.approx(100)
    assert cp["rni"] == pytest.approx(
        1.6 * (0.4 * shares[1] + shares[2] + 2.4 * shares[3] + 7.5 * shares[4]) / 100
    )
    assert cp["est_finite_cpi"] + cp["est_instr_cmplx_cpi"] == pytest.approx(cp["cpi"])
    assert cp["est_finite_cpi"] == pytest.approx((0.57 + 0.1 * cp["rni"]) * 1.3e8 / 4e9)
    assert cp["lpar_cpu_pct"] == pytest.approx(100 * 2 / 60)
    assert (cp["workload_hint"], cp["workload_hint_status"]) != (None, None)
    assert cp["ghz"] == 5
    # The type has no sum of counters that a processor does not have.
    assert (ziip["cpi"], ziip["processors"], ziip["l2p"]) == (1, 1, None)


def test_one_processor_is_its_type() -> None:
    """Every metric of the only processor of a type equals the metric of the type."""
    counters = {**BUSY, **SOURCES, "E150": 1e7, **{f"C{number}": 1e6 for number in range(64, 80)}}
    session = opened([row(counters, generation="z196", cpsp=5206)])
    [cpu] = values(session, "*")
    [type] = values(session, "*", "cpumf_type")
    common = [column.name for column in measures.load_measure("cpumf_type").columns if column.varies_by]
    assert len(common) > 50
    assert [type[name] for name in common] == [cpu[name] for name in common]


def test_crypto_of_three_processors() -> None:
    """Burg's example: rates are added; busy is relative to the cycles of all three."""
    dea = {f"C{number}": 0.0 for number in range(64, 80)} | {"C72": 627739 / 3, "C73": 33227339624 / 3}
    rows = [row(dea, generation="z10", cpu_id=cpu, cpsp=4404, seconds=100.0) for cpu in range(3)]
    [found] = values(opened(rows), "*", "cpumf_type")
    assert found["dea_fn_rate"] == pytest.approx(6277.39, abs=0.02)
    assert found["dea_cyc_rate"] == pytest.approx(332273396.24, abs=0.02)
    assert found["dea_busy_pct"] == pytest.approx(2.515, abs=0.0005)


def test_processors_with_different_intervals() -> None:
    """A processor that was offline counts with a share of its longer interval."""
    rows = [
        row({"B0": 3e11, "B1": 1e11}, generation="z13", cpu_id=0, cpsp=5000),
        row({"B0": 3e11, "B1": 3e11}, generation="z13", cpu_id=1, cpsp=5000, seconds=120.0, flag="gap"),
        row({}, generation="z13", cpu_id=2, cpsp=5000, minute=1, seconds=None),
    ]
    long, first = values(opened(rows), "*", "cpumf_type")
    assert (long["seconds"], long["flag"]) == (60, None)
    assert long["lpar_cpu_pct"] == pytest.approx(150)
    assert long["cpi"] == pytest.approx((3e11 + 1.5e11) / (1e11 + 1.5e11))
    assert first["cpi"] is None


def test_every_adds_counters() -> None:
    rows = [
        row({"B0": 6e9, "B1": 1e9}, generation="z15", cpsp=5000, minute=1),
        row({"B0": 4e9, "B1": 3e9}, generation="z15", cpsp=5000, minute=2),
        row({"B0": 2e9, "B1": 2e9}, generation="z15", cpsp=5000, minute=2, cpu_id=1),
    ]
    columns = "cpi, processors, ghz_max, lpar_cpu_pct"
    [found] = values(opened(rows, Options(every_s=3600)), columns, "cpumf_type")
    assert found["cpi"] == 2
    assert found["processors"] == 2
    assert found["ghz_max"] == 5
    # The second processor was online for one of the two minutes.
    assert found["lpar_cpu_pct"] == pytest.approx(100 * 12e9 / 5e9 / 120)


def test_type_time_is_sum_of_processors() -> None:
    """core_type and cpumf_type have the same LPARCPU for any interval lengths."""
    rows = [
        row({"B0": 6e9, "B1": 1e9}, generation="z15", cpsp=5000, minute=1),
        row({"B0": 4e9, "B1": 3e9}, generation="z15", cpsp=5000, minute=2),
        row({"B0": 2e9, "B1": 2e9}, generation="z15", cpsp=5000, minute=2, cpu_id=1),
        row(
            {"B0": 3e11, "B1": 3e11},
            generation="z15",
            cpu_id=2,
            cpsp=5000,
            minute=2,
            seconds=120.0,
            flag="gap",
        ),
    ]
    for options in (None, Options(every_s=3600)):
        session = opened(rows, options) if options else opened(rows)
        of_type = values(session, "lpar_cpu_pct", "cpumf_type")
        of_cores = values(session, "lpar_cpu_pct", "core_type")
        assert len(of_type) == len(of_cores) > 0
        for mine, theirs in zip(of_cores, of_type, strict=True):
            assert mine["lpar_cpu_pct"] == pytest.approx(theirs["lpar_cpu_pct"])
