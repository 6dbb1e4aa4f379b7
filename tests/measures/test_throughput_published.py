"""Tests of ITR and CPU time per transaction against numbers published by IBM.

Publications: IBM, z/VM support for eighty logical processors, tables 4 to 9; IBM, z/VM and simultaneous
multithreading (2015, 2020), the tables of the ideal application, of serialization and of added clients. No
publication has records: they are computed from each run's ETR, busy and parts of busy, and the rest must be
as printed.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import fakes
import smf113_rows
from zlens.api import Session
from zlens.catalog.raw_columns import RawColumn
from zlens.inputs.options import Options

#: Runs of tables 4 to 7: logical processors, ETR, ITR and average busy as printed.
RICH = """
LPS ETR       ITR      BUSY
19  82817.32  86810.6  95.4
38  155433.48 162587.3 95.6
57  221439.86 226885.1 97.6
76  265372.72 269962.1 98.3
95  271351.24 271622.9 99.9
19  84330.31  87570.4  96.3
38  162532.18 166358.4 97.7
57  228187.21 231427.2 98.6
76  294185.16 298059.9 98.7
19  86930.42  89804.1  96.8
38  169233.84 173217.9 97.7
57  241547.85 245725.2 98.3
76  314145.88 314145.9 100.0
19  66448.79  87088.8  76.3
38  127483.36 156613.5 81.4
57  176862.63 208564.4 84.8
76  228846.15 260348.3 87.9
95  292037.90 311009.5 93.9
"""
#: Runs of tables 8 and 9. GTX, CTX, NTX: busy/tx of guests, chargeable and non-chargeable CP.
PAGING = """
LPS ETR     ITR     GUEST    CHARGED  NOT      GTX    CTX    NTX    CP     CPI   EICPI EFCPI INST
16  3295.34 5031.1  658.6387 296.5102 92.7207  0.1999 0.0900 0.0281 0.1181 3.004 1.183 1.822 5528981.83
32  2589.74 8778.8  544.3393 322.3837 78.4516  0.2102 0.1245 0.0303 0.1548 3.105 1.155 1.950 6138761.81
48  3239.92 12272.4 703.7159 476.6080 85.5843  0.2172 0.1471 0.0264 0.1735 3.226 1.129 2.096 6319576.41
64  4143.10 15873.9 939.4967 635.6118 98.1747  0.2268 0.1534 0.0237 0.1771 3.447 1.135 2.312 6113161.64
80  3745.58 18634.7 858.4882 630.1159 117.7722 0.2292 0.1682 0.0314 0.1997 3.429 1.146 2.283 6525397.94
16  3184.44 4921.9  651.4086 288.0558 95.7314  0.2046 0.0905 0.0301 0.1205 3.066 1.196 1.870 5535766.41
32  2547.23 9262.7  563.3618 252.9631 62.5358  0.2212 0.0993 0.0246 0.1239 3.062 1.169 1.893 5876959.68
48  3133.38 12737.3 779.8798 342.3203 59.5531  0.2489 0.1092 0.0190 0.1283 3.306 1.133 2.173 5947287.59
64  2988.47 15812.0 806.4922 338.2278 66.7100  0.2699 0.1132 0.0223 0.1355 3.601 1.181 2.420 5868276.74
80  3417.83 18987.9 961.4873 409.1662 69.4481  0.2813 0.1197 0.0203 0.1400 3.510 1.135 2.375 6257968.36
"""

_FIELDS = ("pfxcpuad", "pfxcputy", "pfxutime", "pfxutime_d", "pfxprbtm_d", "pfxtmsys_d", "pfxtotwt_d")
D0R2 = (*fakes.HEADER, *(RawColumn(f"sytprp_{field}", "int") for field in _FIELDS))


def runs(table: str) -> list[dict[str, float]]:
    head, *rest = (line.split() for line in table.strip().splitlines())
    return [dict(zip(head, map(float, line), strict=True)) for line in rest]


def measured(
    path: Path,
    loads: list[dict[str, float]],
    options: dict[str, Any] | None = None,
    counters: list[tuple[Any, ...]] | None = None,
) -> Session:
    """Open a system for each run, with one minute of its processors, and a file with the rates of all."""
    rows, systems, written = [], [], ["start,end,system,rate,response"]
    end = fakes.START_US
    for number, run in enumerate(loads):
        name = f"RUN{number:02}"
        systems.append(fakes.system(name, known=fakes.intervals(1)))
        written.append(f"{end // 10**6 - 60},{end // 10**6},{name},{run['ETR']},0.5")
        guest, charged, other = (run.get(part, 0.0) for part in ("GUEST", "CHARGED", "NOT"))
        if "BUSY" in run:
            guest = run["BUSY"] * run["LPS"]
        ticks = 60 * fakes.TOD_PER_S / 100 / run["LPS"]
        for cpu in range(int(run["LPS"])):
            taken = (round((guest + charged) * ticks), round(guest * ticks), round(other * ticks), 0)
            rows.append((name, "zvm-monitor", "x", 0, end, end, 60.0, None, cpu, 3, 1, *taken))
    path.write_text("\n".join(written))
    sources = [fakes.FakeSource(systems, [fakes.FakeTable("d0r2", D0R2, rows)])]
    if counters:
        counted = [fakes.system(f"RUN{n:02}", known=fakes.intervals(1)) for n in range(len(loads))]
        for info in counted:
            info.source = "smf"
        sources.append(fakes.FakeSource(counted, [fakes.FakeTable("smf113", smf113_rows.COLUMNS, counters)]))
    return fakes.session(sources, Options(throughput=str(path), **(options or {})))


def test_itr_of_all_runs_as_published(tmp_path: Path) -> None:
    loads = runs(RICH) + runs(PAGING)
    with measured(tmp_path / "runs.csv", loads, {"as_published": True}) as session:
        found = session.sql("SELECT etr, itr FROM load ORDER BY system").rows
    assert len(found) == len(loads)
    for run, (etr, itr) in zip(loads, found, strict=True):
        assert etr == pytest.approx(run["ETR"], rel=1e-12)
        # Both are printed rounded: ETR to 0.01, ITR to 0.1.
        assert itr == pytest.approx(run["ITR"], abs=0.05 + 0.005 * itr / etr + 1e-9)


def test_itr_of_itself_is_not_rounded(tmp_path: Path) -> None:
    loads = runs(PAGING)
    with measured(tmp_path / "runs.csv", loads) as session:
        found = session.sql("SELECT itr FROM load ORDER BY system").rows
    differing = 0
    for run, (itr,) in zip(loads, found, strict=True):
        busy = (run["GUEST"] + run["CHARGED"] + run["NOT"]) / run["LPS"]
        assert itr == pytest.approx(100 * run["ETR"] / busy, rel=1e-9)
        differing += abs(itr - run["ITR"]) > 0.2
    assert differing >= 5


def test_time_per_transaction_and_its_parts(tmp_path: Path) -> None:
    loads = runs(PAGING)
    counters = []
    for number, run in enumerate(loads):
        instructions = run["ETR"] * run["INST"] * 60
        counts = {"B0": run["CPI"] * instructions, "B1": instructions, "E143": run["EFCPI"] * instructions}
        counters.append(smf113_rows.row(counts, generation="z14", cpsp=5200, system=f"RUN{number:02}"))
    with measured(tmp_path / "runs.csv", loads, counters=counters) as session:
        found = smf113_rows.values(session, "*", "(FROM per_transaction ORDER BY system)")
    assert [each["source"] for each in found] == ["zvm-monitor"] * len(loads)
    for run, each in zip(loads, found, strict=True):
        printed = {
            "guest_s": run["GTX"],
            "chargeable_cp_s": run["CTX"],
            "nonchargeable_cp_s": run["NTX"],
            "cp_s": run["CP"],
        }
        for name, value in printed.items():
            # IBM prints percent of a processor.
            assert 100 * each[name] == pytest.approx(value, abs=0.000051), name
        assert each["cpu_s"] == pytest.approx(each["guest_s"] + each["cp_s"])
        assert each["instructions"] == pytest.approx(run["INST"], rel=1e-9)
        assert each["cpi"] == pytest.approx(run["CPI"], rel=1e-9)
        assert each["est_finite_cpi"] == pytest.approx(run["EFCPI"], rel=1e-9)
        assert each["est_instr_cmplx_cpi"] == pytest.approx(run["EICPI"], abs=0.0015)
        assert each["ghz"] == pytest.approx(5.2)
        # Timers and counters of the publication agree: instructions x CPI / GHz is the time used.
        assert each["counted_cpu_s"] == pytest.approx(each["cpu_s"], rel=0.012)
        assert each["complexity_s"] + each["finite_cache_s"] == pytest.approx(each["counted_cpu_s"])
        assert each["response_s"] == 0.5


@pytest.mark.parametrize(
    ("processors", "busy", "etrr", "itrr"),
    [
        ((4, 8), (95.6, 84.6), 1.362, 1.539),  # ideal application
        ((3, 6), (95.8, 61.1), 0.649, 1.018),  # serialization
        ((3, 6), (95.8, 92.6), 1.065, 1.101),  # serialization, twice the virtual processors
        ((3, 6), (95.8, 95.6), 1.303, 1.306),  # serialization, twice the clients
    ],
)
def test_itr_under_multithreading_is_of_threads(
    tmp_path: Path, processors: tuple[int, int], busy: tuple[float, float], etrr: float, itrr: float
) -> None:
    loads = [
        {"LPS": count, "ETR": 1000 * ratio, "BUSY": percent}
        for count, ratio, percent in zip(processors, (1.0, etrr), busy, strict=True)
    ]
    with measured(tmp_path / "runs.csv", loads) as session:
        [(base,), (compared,)] = session.sql("SELECT itr FROM load ORDER BY system").rows
    assert compared / base == pytest.approx(itrr, abs=0.0015)


def test_throughput_report_equals_table(tmp_path: Path) -> None:
    loads = runs(PAGING)
    with measured(tmp_path / "runs.csv", loads, {"as_published": True}) as session:
        rows = list(csv.DictReader(io.StringIO(session.report("throughput", "csv"))))
        text = session.report("throughput")
    printed = {row["system"]: row for row in rows if row["row"] == "interval"}
    for number, run in enumerate(loads):
        assert f" {run['ITR']:.1f} " in text
        # Tables 8 and 9 have percent of a processor, the report milliseconds: ten times as much.
        row = printed[f"RUN{number:02}"]
        assert float(row["guest_ms"]) == pytest.approx(10 * run["GTX"], abs=0.00051)
        assert float(row["nonchargeable_cp_ms"]) == pytest.approx(10 * run["NTX"], abs=0.00051)
