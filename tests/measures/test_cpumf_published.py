"""Tests of the metrics of CPU MF against numbers published by IBM.

Publications: J. Burg (IBM), SHARE session 8882, March 2011, tables of z196 and z10 partitions; IBM, z/VM
support for eighty logical processors, tables 8 and 9 (z14); IBM, z/VM and simultaneous multithreading; perf
on machines of IBM, Linux kernel mailing list, 13 March 2023. No publication has counters and metrics of one
interval: counters are computed from some of its columns, and the other columns must be as printed.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from samples import needs, sample
from smf113_rows import opened, row, values
from zlens.catalog import cpumf, generations
from zlens.inputs.options import Options

SAMPLE = sample("cpumf/linux-measured-counters.json")

Z196 = """
CPI  PRB  EIC  EFC  SCPL1M L1MP L2P  L3P  L4LP L4RP MEMP RNI  LPARCPU
3.65 2.3  2.70 0.95 26     3.7  77.8 20.5 0.9  0.2  0.7  0.24 0.8
3.68 2.3  2.73 0.95 26     3.6  77.4 20.8 0.9  0.2  0.7  0.24 0.8
3.67 2.3  2.72 0.95 26     3.7  78.0 20.3 0.9  0.2  0.7  0.24 0.8
3.64 2.3  2.71 0.93 26     3.6  77.8 20.5 0.9  0.2  0.7  0.24 0.8
3.66 2.3  2.72 0.94 26     3.6  77.9 20.4 0.8  0.2  0.7  0.24 0.8
3.65 2.3  2.72 0.94 26     3.6  77.0 21.1 0.9  0.2  0.7  0.24 0.8
3.66 2.3  2.72 0.94 26     3.6  77.4 20.8 0.9  0.2  0.7  0.24 0.8
3.64 2.3  2.70 0.94 26     3.6  77.1 21.0 0.9  0.2  0.7  0.24 0.8
2.78 49.2 2.06 0.72 34     2.1  76.7 18.3 1.8  1.4  1.9  0.42 1.5
3.65 3.2  2.71 0.94 26     3.6  77.0 21.1 1.0  0.2  0.7  0.25 0.8
5.00 0.8  3.46 1.53 27     5.7  86.1 11.9 0.3  0.1  1.7  0.28 9.7
3.72 3.2  2.76 0.96 27     3.6  76.8 21.0 1.1  0.2  0.8  0.26 0.9
3.82 3.7  2.76 1.06 28     3.7  77.4 19.8 1.2  0.6  1.1  0.30 0.9
7.0  31.8 2.8  4.2  50     8.5  69.3 19.0 7.6  3.4  0.7  0.46 1459.4
4.7  23.4 3.0  1.7  24     7.0  89.2 5.6  4.5  0.1  0.7  0.20 1546.2
"""
Z10 = """
CPI  PRB  EIC  EFC  SCPL1M L1MP L15P  L2LP L2RP MEMP RNI  LPARCPU
8.2  53.7 3.79 4.45 115    3.9  63.7  23.1 6.7  6.6  0.89 1745.1
7.5  52.8 3.74 3.71 97     3.8  70.3  19.8 3.7  6.3  0.76 1632.3
4.46 1.29 2.63 1.83 26     7.13 94.72 4.64 0.01 0.63 0.09 28.2
4.26 1.13 2.58 1.68 23     7.25 96.56 3.03 0.01 0.41 0.06 33.9
"""
#: One counter of each share, and zlens' names of the printed columns.
COUNTERS = {
    "z196": {"L2P": "E128", "L3P": "E153", "L4LP": "E152", "L4RP": "E134", "MEMP": "E141"},
    "z10": {"L15P": "E129", "L2LP": "E130", "L2RP": "E133", "MEMP": "E134"},
}
OURS = {
    "CPI": "cpi",
    "PRB": "problem_state_pct",
    "EIC": "est_instr_cmplx_cpi",
    "EFC": "est_finite_cpi",
    "SCPL1M": "est_scpl1m",
    "L1MP": "l1mp",
    "RNI": "rni",
    "LPARCPU": "lpar_cpu_pct",
}


def lines(table: str) -> list[dict[str, str]]:
    head, *rest = (line.split() for line in table.strip().splitlines())
    return [dict(zip(head, line, strict=True)) for line in rest]


def half(printed: str) -> float:
    """Return the precision of a printed number."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def sample(generation: str, printed: dict[str, str], cpu_id: int) -> tuple[Any, ...]:
    """Return counters for CPI, problem state, L1MP, finite CPI, LPARCPU and all shares but the first."""
    p = {name: float(text) for name, text in printed.items()}
    cpsp = {"z10": 4404, "z196": 5206}[generation]
    cycles = p["LPARCPU"] / 100 * cpsp * 1e6 * 60
    instructions = cycles / p["CPI"]
    misses = p["L1MP"] / 100 * instructions
    factor = 0.84 if generation == "z10" else 0.57 + 0.1 * p["RNI"]
    first, *others = COUNTERS[generation]
    shares = {share: p[share] for share in others}
    # The first share absorbs the rounding of the others, so that memory is as printed.
    shares[first] = 100 - sum(shares.values())
    penalty = p["EFC"] * instructions / factor
    counters = {
        "B0": cycles,
        "B1": instructions,
        "B2": 0.4 * misses,
        "B3": 0.3 * penalty,
        "B4": 0.6 * misses,
        "B5": 0.7 * penalty,
        "P33": p["PRB"] / 100 * instructions,
        **{f"E{number}": 0 for number in cpumf.l1_source_counters(generation)},
        **{COUNTERS[generation][share]: value / 100 * misses for share, value in shares.items()},
    }
    return row(counters, generation=generation, cpsp=cpsp, cpu_id=cpu_id)


PUBLISHED = [*(("z196", line) for line in lines(Z196)), *(("z10", line) for line in lines(Z10))]


@pytest.fixture(scope="module")
def burg() -> list[dict[str, Any]]:
    rows = [sample(generation, printed, cpu) for cpu, (generation, printed) in enumerate(PUBLISHED)]
    return values(opened(rows), "*")


@pytest.mark.parametrize("place", range(len(PUBLISHED)))
def test_tables_of_burg(burg: list[dict[str, Any]], place: int) -> None:
    (generation, printed), found = PUBLISHED[place], burg[place]
    p = {name: float(text) for name, text in printed.items()}
    h = {name: half(text) for name, text in printed.items()}
    for name in ("CPI", "PRB", "L1MP", "LPARCPU", "MEMP", *list(COUNTERS[generation])[1:]):
        assert found[OURS.get(name, name.lower())] == pytest.approx(p[name], rel=1e-6, abs=1e-4), name
    first = next(iter(COUNTERS[generation]))
    assert found[first.lower()] == pytest.approx(p[first], abs=5 * half(printed[first]) + 1e-9)
    # CPI = EIC + EFC
    rounding = h["CPI"] + h["EFC"] + h["EIC"]
    assert found["est_instr_cmplx_cpi"] == pytest.approx(p["EIC"], abs=rounding + 1e-4)
    assert found["est_finite_cpi"] == pytest.approx(p["EFC"], rel=0.003)
    # EFC = SCPL1M * L1MP / 100
    rounding = 100 * h["EFC"] / p["L1MP"] + h["L1MP"] / p["L1MP"] * p["SCPL1M"] + h["SCPL1M"]
    assert found["est_scpl1m"] == pytest.approx(p["SCPL1M"], abs=rounding * 1.05)
    # RNI from the shares, each of which is rounded as well.
    factor, *weights = {"z10": (1, 1, 2.4, 7.5), "z196": (1.6, 0.4, 1, 2.4, 7.5)}[generation]
    weighed = list(COUNTERS[generation])[1:]
    rounding = factor * sum(w * h[share] for w, share in zip(weights, weighed, strict=True)) / 100
    assert found["rni"] == pytest.approx(p["RNI"], abs=rounding + h["RNI"] + 1e-6)
    assert (found["generation"], found["rni_status"]) == (generation, "verified")
    assert found["ghz"] == {"z10": 4.404, "z196": 5.206}[generation]


def test_1_6_and_not_1_67() -> None:
    """Twelve of the fifteen rows of z196 match RNI to its last printed digit; with 1.67 only two do."""

    def hits(factor: float) -> int:
        found = 0
        for line in lines(Z196):
            p = {name: float(text) for name, text in line.items()}
            rni = factor * (0.4 * p["L3P"] + p["L4LP"] + 2.4 * p["L4RP"] + 7.5 * p["MEMP"]) / 100
            found += round(rni, 2) == p["RNI"]
        return found

    assert hits(1.6) == 12
    assert hits(1.67) == 2


def test_tlb_of_page_sizes() -> None:
    """TLB1 CPU miss %, cycles per TLB1 miss and PTE % of a z10, with pages of 4 KB and of 1 MB."""
    printed = [(16.0, 83.0, 19.2), (15.6, 65.0, 13.7)]
    rows = []
    for cpu, (share, per_miss, pte) in enumerate(printed):
        waited = share / 100 * 1e9
        misses = waited / per_miss
        counters = {"B0": 1e9, "E145": 0.3 * waited, "E146": 0.7 * waited}
        counters |= {"E138": 0.2 * misses, "E139": 0.8 * misses, "E140": pte / 100 * misses}
        rows.append(row(counters, generation="z10", cpu_id=cpu))
    found = values(opened(rows), "tlb_cpu_miss_pct, tlb_cycles_per_miss, tlb_pte_pct, basis")
    for each, expected in zip(found, printed, strict=True):
        assert list(each.values())[:3] == pytest.approx(expected, rel=1e-5)
        assert each["basis"] == "cycles with a TLB1 miss in progress"


def test_crypto_report() -> None:
    """Rates are as printed. Busy time is 2.515, not 2.55 as printed, whose denominator is not stated."""
    interval = 100.0
    per_cpu = {"C72": 6277.39 * interval / 3, "C73": 332273396.24 * interval / 3, "C74": 0, "C75": 0}
    others = {f"C{number}": 0 for number in (*range(64, 72), *range(76, 80))}
    rows = [
        row({**others, **per_cpu}, generation="z10", cpu_id=cpu, cpsp=4404, seconds=interval)
        for cpu in range(3)
    ]
    found = values(opened(rows), "*")
    assert sum(each["dea_fn_rate"] for each in found) == pytest.approx(6277.39, abs=0.02)
    assert sum(each["dea_cyc_rate"] for each in found) == pytest.approx(332273396.24, abs=0.02)
    for each in found:
        assert (each["dea_blocked_fn_rate"], each["sha_cyc_rate"], each["aes_busy_pct"]) == (0, 0, 0)
        assert each["dea_busy_pct"] == pytest.approx(2.515, abs=0.0005)
        assert each["crypto_busy_pct"] == pytest.approx(each["dea_busy_pct"])
        assert each["ecc_fn_rate"] is None


def test_power_save() -> None:
    """The listing of a z196 that ran slower for a while: its speed is from the records."""
    cycles = {"B0": 2e9, "B1": 1e9}
    rows = [
        row(cycles, generation="z196", minute=minute, cpsp=cpsp)
        for minute, cpsp in enumerate((5206, 4452, 5206))
    ]
    found = values(opened(rows), "ghz, lpar_cpu_pct, executed_mips")
    assert [each["ghz"] for each in found] == [5.206, 4.452, 5.206]
    assert found[1]["lpar_cpu_pct"] == pytest.approx(100 * 2e9 / (4.452e9 * 60))
    # In a bucket, the CPU time of each interval is at its own speed.
    [joined] = values(opened(rows, Options(every_s=3600)), "ghz, ghz_max, lpar_cpu_pct, executed_mips")
    used = 2 * 2e9 / 5.206e9 + 2e9 / 4.452e9
    assert joined["lpar_cpu_pct"] == pytest.approx(100 * used / 180)
    assert joined["executed_mips"] == pytest.approx(3e9 / used / 1e6)
    assert joined["ghz"] == pytest.approx((2 * 5.206 + 4.452) / 3)
    assert joined["ghz_max"] == 5.206


#: z14: ETR, partition busy, CPI, EICPI, EFCPI, instructions per transaction (tables 8 and 9)
EIGHTY = """
ETR     BUSY      CPI   EICPI EFCPI INST
3295.34 1047.8696 3.004 1.183 1.822 5528981.83
2589.74 945.1746  3.105 1.155 1.950 6138761.81
3239.92 1265.9082 3.226 1.129 2.096 6319576.41
4143.10 1673.2832 3.447 1.135 2.312 6113161.64
3745.58 1606.3763 3.429 1.146 2.283 6525397.94
3184.44 1035.1958 3.066 1.196 1.870 5535766.41
2547.23 878.8607  3.062 1.169 1.893 5876959.68
3133.38 1181.7532 3.306 1.133 2.173 5947287.59
2988.47 1211.4300 3.601 1.181 2.420 5868276.74
3417.83 1440.1016 3.510 1.135 2.375 6257968.36
"""


def test_cpumf_of_eighty_processors() -> None:
    # A busy second of a processor is 5.2e9 cycles, the nominal speed.
    ghz = generations.types()["3906"].ghz
    assert ghz == 5.2
    rows = []
    for cpu, printed in enumerate(lines(EIGHTY)):
        p = {name: float(text) for name, text in printed.items()}
        instructions = p["ETR"] * p["INST"] * 60
        by_busy = {"B0": p["BUSY"] / 100 * ghz * 1e9 * 60, "B1": instructions}
        by_cpi = {"B0": p["CPI"] * instructions, "B1": instructions, "E143": p["EFCPI"] * instructions}
        rows.append(row(by_busy, generation="z14", cpsp=5200, cpu_id=cpu))
        rows.append(row(by_cpi, generation="z14", cpsp=5200, cpu_id=cpu, minute=1))
    found = values(opened(rows), "*")
    for cpu, printed in enumerate(lines(EIGHTY)):
        p = {name: float(text) for name, text in printed.items()}
        busy, cpi = (each for each in found if each["cpu_id"] == cpu)
        assert busy["lpar_cpu_pct"] == pytest.approx(p["BUSY"], rel=1e-9)
        assert busy["cpi"] == pytest.approx(p["CPI"], rel=0.005)
        assert cpi["est_finite_cpi"] == pytest.approx(p["EFCPI"], abs=1e-6)
        assert cpi["est_instr_cmplx_cpi"] == pytest.approx(p["EICPI"], abs=0.0015 + 1e-6)
        assert (cpi["finite_cpi_status"], cpi["rni"], cpi["rni_status"]) == ("linux", None, "unverified")


def test_published_multithreading_example() -> None:
    """Core busy 80, thread density 1.25, maximum capacity factor 156: productivity 73, MT utilization 59.

    The slide truncates some of its numbers. The maximum is from counters of the z17, which is newer than the
    slide.
    """
    available = 5500 * 1e6 * 60
    busy = 0.8 * available
    counters = {"M448": 0.75 * busy, "M449": 0.25 * busy}
    threads = [{"E202": 1e9, "E204": 1e9, "E203": 5e8, "E205": 0.78 * 5e8}] * 2
    rows = [
        row({**each, **(counters if cpu == 0 else {})}, generation="z17", cpu_id=cpu, core_id=0, cpsp=5500)
        for cpu, each in enumerate(threads)
    ]
    [found] = values(opened(rows), "*", "core")
    assert found["core_busy_pct"] == pytest.approx(80)
    assert found["thread_density"] == pytest.approx(1.25)
    assert found["max_capacity_factor_pct"] == pytest.approx(156)
    assert found["capacity_factor_pct"] == pytest.approx(113, abs=1.01)
    assert found["productivity_pct"] == pytest.approx(73, abs=1)
    assert found["mt_utilization_pct"] == pytest.approx(59, abs=1)
    assert found["prorated_factor"] == pytest.approx(1 - 0.25 / 2)
    assert (found["one_thread_s"], found["two_thread_s"]) == pytest.approx((36, 12))


# Counters measured on IBM machines


def samples() -> list[dict[str, Any]]:
    return json.loads(SAMPLE.read_text(encoding="utf-8")) if SAMPLE.is_file() else []


@needs(SAMPLE)
@pytest.mark.parametrize("machine", ["z13", "z16"])
def test_perf_counts_as_published(machine: str) -> None:
    [measured] = [each for each in samples() if each["machine"] == machine]
    numbers = {counter.name: number for number, counter in cpumf.generation(machine).counters.items()}
    letters = {each.name: each.letter for each in cpumf.sets().values()}
    counters = {
        f"{letters[cpumf.generation(machine).counters[numbers[name]].set]}{numbers[name]}": value
        for name, value in measured["counters"].items()
    }
    [found] = values(opened([row(counters, generation=machine)]), "*")
    for name, printed in measured["metrics"].items():
        assert round(found[name], 2) == printed


@needs(SAMPLE)
def test_lshwc_counts_as_published() -> None:
    """Counters without a machine type but with the versions of a z17."""
    [measured] = [each for each in samples() if "rows" in each]
    assert measured["machine"] == "CFVN 3, CSVN 8"
    names = measured["columns"].split(",")
    rows = [
        row(
            dict(zip(names, map(int, numbers), strict=True)),
            minute=minute,
            version1=3,
            version2=8,
            basic_counters=6,
        )
        for minute, (_, *numbers) in enumerate(measured["rows"])
    ]
    found = values(opened(rows), "*")
    assert len(found) == len(rows)
    for (_, *numbers), each in zip(measured["rows"], found, strict=True):
        b = list(map(int, numbers))
        assert (each["generation"], each["generation_by"]) == ("z17", "counter version")
        assert (each["cycles"], each["instructions"]) == (b[0], b[1])
        assert each["cpi"] == pytest.approx(b[0] / b[1])
        assert each["l1mp"] == pytest.approx(100 * (b[2] + b[4]) / b[1])
        assert (each["l3p"], each["problem_state_pct"], each["ghz"]) == (None, None, None)
