"""Tests of multithreading metrics, times and remaining capacity with published examples and identities.

Publications: "SMT": IBM, "z/VM and simultaneous multithreading", 2015 and 2020; hyptop: "SMT: What
utilization in real?", linux.mainframe.blog; Linux arch/s390/kernel/vtime.c.
"""

from __future__ import annotations

import random
import tomllib
from typing import Any

import pytest

from iterations import draws
from zlens import models
from zlens.errors import ScenarioError
from zlens.models.scenario import example
from zlens.models.smt import metrics as smt_metrics
from zlens.models.smt.metrics import CoreMetrics, StateTimes
from zlens.rendering.answer import Answer, by_name

IDLE = 0


def answer(**tables: Any) -> Answer:
    return models.solve("smt", tables)


def core(**says: Any) -> dict[str, Any]:
    """Return the row of one core."""
    return by_name(answer(core=[{"name": "0", **says}]).table("cores"))["0"]


SHOWN = (
    "core_busy_pct",
    "thread_density",
    "productivity_pct",
    "mt_utilization_pct",
    "capacity_factor_pct",
    "max_capacity_factor_pct",
)


@pytest.mark.parametrize(
    ("case", "samples", "expected", "exact"),
    [
        (
            "SMT: two threads on a core",
            [[IDLE, IDLE, 7, 9, IDLE], [9, 9, 7, IDLE, IDLE]],
            (80, 1.25, 73, 59, 113, 156),
            (80, 1.25, 100 * 41 / 56, 100 * 41 / 70, 100 * 10.25 / 9, 100 * 14 / 9),
        ),
        (
            "SMT: increased thread density",
            [[IDLE, IDLE, 7, 7, IDLE], [9, 9, 7, 7, IDLE]],
            (80, 1.5, 82, 66, 127, 156),
            (80, 1.5, 100 * 46 / 56, 100 * 46 / 70, 100 * 11.5 / 9, 100 * 14 / 9),
        ),
        (
            "SMT: more efficient threading",
            [[IDLE, IDLE, 8, 9, IDLE], [9, 9, 8, IDLE, IDLE]],
            (80, 1.25, 67, 54, 119, 178),
            (80, 1.25, 100 * 43 / 64, 100 * 43 / 80, 100 * 10.75 / 9, 100 * 16 / 9),
        ),
    ],
)
def test_samples_of_threads(
    case: str, samples: list[list[float]], expected: tuple[float, ...], exact: tuple[float, ...]
) -> None:
    """The slides print integer percent, some truncated instead of rounded."""
    row = core(samples=samples)
    assert [row[key] for key in SHOWN] == pytest.approx(exact)
    assert [row[key] for key in SHOWN] == pytest.approx(expected, abs=1.0)
    assert row["thread_density"] == pytest.approx(expected[1])
    assert row["available_pct"] == pytest.approx(100 - exact[3])


#: SMTMET, per core type, of a busy system: interval, productivity, capacity factor, its maximum, density.
BUSY = [
    ("mean", 93.6, 156.4, 167.1, 1.83),
    ("21:32:02", 93.6, 159.2, 170.1, 1.84),
    ("21:32:32", 93.6, 158.7, 169.6, 1.84),
    ("21:33:02", 93.2, 157.7, 169.2, 1.83),
    ("21:33:32", 93.4, 158.9, 170.1, 1.84),
    ("21:34:02", 93.3, 159.2, 170.5, 1.84),
    ("21:34:32", 93.5, 158.9, 169.9, 1.84),
    ("21:35:02", 94.1, 161.1, 171.1, 1.86),
    ("21:35:32", 93.4, 159.0, 170.1, 1.84),
    ("21:36:02", 93.8, 159.5, 170.0, 1.85),
    ("21:36:32", 93.0, 158.5, 170.4, 1.83),
    ("21:37:02", 93.4, 159.1, 170.3, 1.84),
    ("21:37:32", 93.7, 159.4, 170.1, 1.85),
    ("21:38:02", 93.8, 159.0, 169.6, 1.85),
]


@pytest.mark.parametrize(("interval", "productivity", "factor", "maximum", "density"), BUSY)
def test_smtmet_rows_of_busy_system(
    interval: str, productivity: float, factor: float, maximum: float, density: float
) -> None:
    """SMT: SMTMET of AMPDGLD1. Density is printed to 0.01, equal to 0.35 of capacity factor."""
    row = core(thread_density=density, max_capacity_factor=maximum)
    # Columns of the mean row are means, which agree less well.
    allowed = 0.75 if interval == "mean" else 0.75 if interval in ("21:34:02", "21:37:02") else 0.5
    assert row["capacity_factor_pct"] == pytest.approx(factor, abs=allowed)
    assert row["productivity_pct"] == pytest.approx(productivity, abs=allowed)
    # Printed productivity is factor / maximum to a tenth.
    assert 100 * factor / maximum == pytest.approx(productivity, abs=0.1)


#: SMTMET, per core: interval, core, productivity, MT utilization, density, core busy.
PER_CORE = [
    ("mean", 0, 93.6, 86.0, 1.83, 92.06),
    ("mean", 1, 93.5, 86.0, 1.83, 91.92),
    ("mean", 2, 93.7, 86.3, 1.83, 92.20),
    ("mean", 3, 93.6, 85.9, 1.84, 91.86),
    ("21:32:02", 0, 93.4, 74.0, 1.84, 79.26),
    ("21:32:02", 1, 93.1, 74.4, 1.83, 79.91),
    ("21:32:02", 2, 93.8, 74.2, 1.85, 79.11),
    ("21:32:02", 3, 93.8, 75.4, 1.85, 80.39),
    ("21:32:32", 0, 94.1, 91.2, 1.86, 96.86),
    ("21:32:32", 1, 93.3, 88.8, 1.84, 95.16),
    ("21:32:32", 2, 92.7, 88.3, 1.82, 95.28),
    ("21:32:32", 3, 94.0, 90.7, 1.86, 96.42),
]
MAXIMA = {"mean": 167.1, "21:32:02": 170.1, "21:32:32": 169.6}


@pytest.mark.parametrize(("interval", "number", "productivity", "used", "density", "busy"), PER_CORE)
def test_smtmet_rows_of_cores(
    interval: str, number: int, productivity: float, used: float, density: float, busy: float
) -> None:
    """SMT: per-core rows with the maximum capacity factor of their type. Density is printed to 0.01."""
    row = core(thread_density=density, max_capacity_factor=MAXIMA[interval], core_busy=busy)
    # Columns of the mean row are means, which agree less well.
    allowed = 0.75 if interval == "mean" else 0.5
    assert row["productivity_pct"] == pytest.approx(productivity, abs=allowed)
    assert row["mt_utilization_pct"] == pytest.approx(used, abs=allowed)
    printed = core(productivity=productivity, max_capacity_factor=MAXIMA[interval], core_busy=busy)
    assert printed["mt_utilization_pct"] == pytest.approx(used, abs=0.3 if interval == "mean" else 0.1)
    assert printed["thread_density"] == pytest.approx(density, abs=0.02)


def test_smt_mitigation_with_more_virtual_processors() -> None:
    row = core(thread_density=1.95, max_capacity_factor=151)
    assert row["capacity_factor_pct"] == pytest.approx(149, abs=0.8)


def test_smt_serialization() -> None:
    row = core(thread_density=1.28, max_capacity_factor=115)
    assert row["capacity_factor_pct"] == pytest.approx(104, abs=0.5)


def test_capacity_factor_of_nearly_idle_core_is_noted() -> None:
    """SMT: SMTMET of IDLESYS at 13:55:12 prints a capacity factor of 103.2; the two states give 112."""
    found = answer(core=[{"name": "0", "thread_density": 1.12, "max_capacity_factor": 200, "core_busy": 0.2}])
    factor = by_name(found.table("cores"))["0"]["capacity_factor_pct"]
    assert factor == pytest.approx(112)
    assert abs(factor - 103.2) > 5
    assert any("nearly idle" in note for note in found.notes)
    busy = answer(core=[{"name": "0", "thread_density": 1.12, "max_capacity_factor": 200, "core_busy": 20}])
    assert not any("nearly idle" in note for note in busy.notes)


@pytest.mark.parametrize(
    ("case", "threads", "busy", "density"),
    [
        ("SMT: serialization", 61.1, 95.5, 1.28),
        ("SMT: two virtual processors for each client", 92.6, 95.1, 1.95),
        ("SMT: ideal application, core busy of SMTMET", 84.6, 92.06, 1.83),
    ],
)
def test_density_from_busy(case: str, threads: float, busy: float, density: float) -> None:
    row = core(core_busy=busy, threads_busy=[threads, threads])
    # Busy is printed to 0.1%, density to 0.01.
    assert row["thread_density"] == pytest.approx(density, abs=0.012)
    assert row["capacity_factor_pct"] is None
    assert row["mt_utilization_pct"] is None


def test_rounded_density_stays_within_two_threads() -> None:
    assert core(core_busy=50.0, threads_busy=[50.3, 50.3])["thread_density"] == 2
    assert core(core_busy=50.0, threads_busy=[49.6, 0])["thread_density"] == 1


#: RMF CPU Activity, MT=2: processor, LPAR busy, MVS busy of both threads, productivity, utilization.
RMF = [
    ("4", 78.23, (67.24, 58.40), 87.30, 68.29),
    ("5", 59.46, (50.57, 41.88), 85.64, 50.92),
    ("6", 80.77, (70.34, 62.20), 88.38, 71.38),
    ("7", 63.67, (55.08, 45.52), 86.43, 55.03),
]


def rmf_cores() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "type": "ZIIP",
            "core_busy": busy,
            "threads_busy": list(threads),
            "max_capacity_factor": 147.3,
        }
        for name, busy, threads, *_ in RMF
    ]


@pytest.mark.parametrize(("name", "busy", "threads", "productivity", "used"), RMF)
def test_rmf_cpu_activity(
    name: str, busy: float, threads: tuple[float, float], productivity: float, used: float
) -> None:
    """SMT: RMF CPU Activity of four zIIPs, maximum capacity factor 1.473."""
    row = by_name(answer(core=rmf_cores()).table("cores"))[name]
    assert row["thread_density"] == pytest.approx(sum(threads) / busy)
    assert row["productivity_pct"] == pytest.approx(productivity, abs=0.12)
    assert row["mt_utilization_pct"] == pytest.approx(used, abs=0.12)
    # Printed utilization is busy x productivity.
    assert busy * productivity / 100 == pytest.approx(used, abs=0.01)


def test_rmf_used_and_available() -> None:
    """SMT: 245.62% used of four zIIPs, 154.38% left; capacity factor 1.283 at a density of 1.600."""
    found = answer(core=rmf_cores())
    row = by_name(found.table("types"))["ZIIP"]
    # Four productivities from busy times, each within 0.12 of the printed one.
    assert row["used_pct"] == pytest.approx(245.62, abs=0.25)
    assert row["available_pct"] == pytest.approx(154.38, abs=0.25)
    assert row["thread_density"] == pytest.approx(1.600, abs=0.001)
    assert row["capacity_factor_pct"] == pytest.approx(128.3, abs=0.1)
    assert row["core_busy_pct"] == pytest.approx(70.53, abs=0.01)
    assert found.figure("used_ziip") == row["used_pct"]
    assert found.figure("left_ziip") == row["available_pct"]


def test_rmf_used_and_available_from_printed_productivities() -> None:
    cores = [
        {"name": name, "type": "ZIIP", "core_busy": busy, "productivity": productivity}
        for name, busy, _, productivity, _ in RMF
    ]
    row = by_name(answer(core=cores).table("types"))["ZIIP"]
    assert row["used_pct"] == pytest.approx(245.62, abs=0.015)
    assert row["available_pct"] == pytest.approx(154.38, abs=0.015)
    assert row["productivity_pct"] == pytest.approx(100 * 245.62 / (78.23 + 59.46 + 80.77 + 63.67), abs=0.01)
    assert row["thread_density"] is None


def test_rmf_used_and_available_from_printed_utilizations() -> None:
    """The sums of printed utilizations are exact to 0.01."""
    whole, used, left = smt_metrics.combined_metrics(
        [(CoreMetrics(busy=busy / 100, utilization=each / 100), 1.0) for _, busy, _, _, each in RMF]
    )
    assert used == pytest.approx(2.4562)
    assert left == pytest.approx(1.5438)
    assert whole.utilization == pytest.approx(0.6141, abs=1e-4)


def time_of(**says: Any) -> dict[str, Any]:
    return by_name(answer(time=[{"name": "T", **says}]).table("times"))["T"]


@pytest.mark.parametrize(
    ("case", "seconds", "interval", "maximum", "expected", "allowed"),
    [
        ("SMT: IIP APPL %; 220.65 exactly", 1995.64, 614, 147.3, 220.69, 0.1),
        ("SMT: CP APPL %, of 614.053 s", 3545.743 - 1995.640, 614.053, 100, 252.44, 0.02),
    ],
)
def test_rmf_appl(
    case: str, seconds: float, interval: float, maximum: float, expected: float, allowed: float
) -> None:
    row = time_of(mt1=seconds, interval=interval, max_capacity_factor=maximum)
    assert row["appl_pct"] == pytest.approx(expected, abs=allowed)
    assert (row["mt1"], row["raw"]) == (seconds, None)


def test_three_times() -> None:
    """SMT: prorated is all time alone, half of the time with another thread; MT-1 uses the maximum factor."""
    row = time_of(alone=100, beside=300, max_capacity_factor=150, interval=650)
    assert (row["raw"], row["mt1"], row["prorated"]) == pytest.approx((400, 325, 250))
    assert row["appl_pct"] == pytest.approx(100 * 325 / (650 * 1.5))
    assert time_of(alone=100, beside=300)["mt1"] is None
    assert time_of(alone=100)["mt1"] == 100


def test_linux_scaled_time() -> None:
    """Linux update_mt_scaling: with equal cycles alone and with another thread, 3/4 of raw time count."""
    assert time_of(alone=1, beside=1)["scale"] == pytest.approx(0.75)
    assert smt_metrics.cpu_times(0, 0, 1.5).scale is None
    chance = draws(5)
    for _ in range(1000):
        one, two = chance.random(), chance.random()
        linux = (one * 2 + two) / ((one + two) * 2)
        assert smt_metrics.cpu_times(one, two, None).scale == pytest.approx(linux)


def hyptop(**says: Any) -> dict[str, Any]:
    return by_name(answer(hyptop=[{"name": "T35LP76", **says}]).table("partitions"))["T35LP76"]


def test_hyptop() -> None:
    """hyptop: 799.2% core, 1198.9% thread, 0.02% management, speedup 1.3: 707.03% of eight cores."""
    row = hyptop(core=799.2, thread=1198.9, management=0.02, max_capacity_factor=130, cores=8)
    assert row["used_pct"] == pytest.approx(707.03, abs=0.005)
    assert row["available_pct"] == pytest.approx(92.97, abs=0.005)
    assert row["thread_density"] == pytest.approx(1198.9 / 799.2)
    assert hyptop(core=0, thread=0)["used_pct"] == 0


def test_hyptop_speedup_is_assumed() -> None:
    found = answer(hyptop=[{"name": "L", "core": 100, "thread": 150}])
    assert [(one.name, one.value, one.status) for one in found.assumptions] == [
        ("smt_speedup", 130.0, "unverified")
    ]
    given = answer(hyptop=[{"name": "L", "core": 100, "thread": 150, "max_capacity_factor": 130}])
    assert given.assumptions == []
    assert given.table("partitions").rows == found.table("partitions").rows


def test_hyptop_is_busy_times_productivity() -> None:
    chance = draws(6)
    for _ in range(1000):
        busy, maximum = chance.uniform(0.01, 4), chance.uniform(1, 2)
        density = chance.uniform(1, 2)
        row = smt_metrics.by_density(density, maximum, busy)
        assert smt_metrics.real_use(busy, busy * density, 0.0, maximum) == pytest.approx(row.utilization)


def random_samples(chance: random.Random) -> tuple[list[list[float]], float, float]:
    """Return samples of two threads whose work depends only on the state; rate of one and each of two."""
    one, each = chance.uniform(1, 10), chance.uniform(1, 10)
    states = [(chance.random() < 0.6, chance.random() < 0.5) for _ in range(chance.randint(1, 40))]
    rates = [each if first and second else one for first, second in states]
    return (
        [[rate if state[at] else 0.0 for state, rate in zip(states, rates, strict=True)] for at in (0, 1)],
        one,
        each,
    )


def test_identities_on_random_samples() -> None:
    """Samples obey the two-state identity; times summed over threads agree with core metrics."""
    chance = draws(7)
    seen = 0
    for _ in range(1500):
        samples, one, each = random_samples(chance)
        counted = smt_metrics.state_times(samples)
        maximum = 2 * each / one
        found = smt_metrics.measured(counted, maximum)
        if found.density is None:
            assert counted.one == counted.two == found.utilization == found.busy == 0
            continue
        assert found.busy is not None
        expected = smt_metrics.by_density(found.density, maximum, found.busy)
        for name in ("factor", "maximum", "productivity", "utilization"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name)), name
        times = smt_metrics.thread_cpu_times(samples, maximum)
        wall = counted.wall or 0.0
        assert sum(time.prorated for time in times) == pytest.approx(found.busy * wall)
        assert sum(time.raw for time in times) == pytest.approx(found.busy * wall * found.density)
        assert found.factor is not None
        assert sum(time.mt1 or 0.0 for time in times) == pytest.approx(found.busy * wall * found.factor)
        seen += counted.one > 0 < counted.two
    assert seen > 1000


def test_smt_counters_agree_with_samples() -> None:
    """Cycles and instructions by thread density: the same core at 1 GHz, one second per sample."""
    samples = [[IDLE, IDLE, 7, 9, IDLE], [9, 9, 7, IDLE, IDLE]]
    counters = {
        "cycles_one": 3e9,
        "instructions_one": 27e9,
        "cycles_two": 1e9,
        "instructions_two": 14e9,
    }
    row, sampled = core(**counters, seconds=5, ghz=1), core(samples=samples)
    assert [row[key] for key in SHOWN] == pytest.approx([sampled[key] for key in SHOWN])
    without = core(**counters)
    assert without["capacity_factor_pct"] == pytest.approx(sampled["capacity_factor_pct"])
    assert (without["core_busy_pct"], without["mt_utilization_pct"], without["available_pct"]) == (None,) * 3


def test_unobserved_thread_state() -> None:
    alone = core(samples=[[5, 0], [0, 0]])
    assert (alone["thread_density"], alone["capacity_factor_pct"]) == (1, 100)
    assert (alone["max_capacity_factor_pct"], alone["productivity_pct"]) == (None, None)
    both = core(samples=[[5, 0], [5, 0]])
    assert (both["thread_density"], both["productivity_pct"], both["mt_utilization_pct"]) == (2, 100, 50)
    assert both["capacity_factor_pct"] is None
    given = core(samples=[[5, 0], [0, 0]], max_capacity_factor=160)
    assert given["productivity_pct"] == pytest.approx(100 / 1.6)
    assert given["mt_utilization_pct"] == pytest.approx(50 / 1.6)
    found = answer(core=[{"name": "C9", "samples": [[5, 0]]}])
    assert any("C9" in note and "max_capacity_factor" in note for note in found.notes)


def test_idle_core() -> None:
    for says in (
        {"samples": [[0, 0], [0, 0]]},
        {"core_busy": 0, "threads_busy": [0, 0], "max_capacity_factor": 150},
        {
            "cycles_one": 0,
            "instructions_one": 0,
            "cycles_two": 0,
            "instructions_two": 0,
            "seconds": 1,
            "ghz": 5,
        },
    ):
        row = core(**says)
        assert (row["core_busy_pct"], row["mt_utilization_pct"], row["available_pct"]) == (0, 0, 100)
        assert row["thread_density"] is None


def test_shares_and_types() -> None:
    """Capacity left is the entitlement of a partition minus its use, for each type."""
    cores = [
        {"name": "0", "share": 40, "core_busy": 90, "threads_busy": [80, 70], "max_capacity_factor": 140},
        {"name": "1", "type": "ZIIP", "core_busy": 50, "threads_busy": [50, 0], "max_capacity_factor": 125},
        {"name": "2", "type": "ZIIP", "thread_density": 1.5},
    ]
    found = answer(core=cores)
    rows = by_name(found.table("types"))
    density = 150 / 90
    used = 90 * (1 + (density - 1) * 0.4) / 1.4
    assert rows["IFL"]["used_pct"] == pytest.approx(used)
    assert rows["IFL"]["available_pct"] == pytest.approx(40 - used)
    assert rows["IFL"]["available_pct"] < 0
    # One core with unknown use makes the use of its type unknown.
    assert (rows["ZIIP"]["cores"], rows["ZIIP"]["used_pct"], rows["ZIIP"]["share_pct"]) == (2, None, 200)
    assert found.figure("left_ziip") is None


def test_capacity_of_idle_threads_is_noted() -> None:
    full = {"name": "0", "core_busy": 100, "max_capacity_factor": 150}
    one, two = ({**full, "threads_busy": threads} for threads in ([60, 60], [100, 100]))
    (note,) = answer(core=[one]).notes
    assert note.startswith("IFL: 27% of one core is left of 1 although they were 100% busy")
    assert answer(core=[two]).notes == []
    # Most of the capacity left by a half idle core needs no note.
    assert answer(core=[{**one, "core_busy": 50, "threads_busy": [50, 45]}]).notes == []


def test_mt1_time_assumption_is_listed() -> None:
    assert [one.name for one in answer(time=[{"name": "T", "alone": 1}]).assumptions] == []
    (one,) = answer(time=[{"name": "T", "beside": 1, "max_capacity_factor": 150}]).assumptions
    assert (one.name, one.status) == ("smt_mt1_rule", "derived")


def test_rates_of_counters() -> None:
    """Rates by hand: 10 per second alone, 16 with two threads, busy 4 of 8 seconds."""
    found = smt_metrics.measured(StateTimes(one=3.0, two=1.0, work_one=30.0, work_two=16.0, wall=8.0))
    assert found == CoreMetrics(
        0.5, 1.25, pytest.approx(1.15), 1.6, pytest.approx(46 / 64), pytest.approx(46 / 128)
    )


def test_smt_example_is_valid() -> None:
    found = models.solve("smt", tomllib.loads(example("smt")))
    rows = by_name(found.table("cores"))
    assert rows["0"]["mt_utilization_pct"] == pytest.approx(100 * 41 / 70)
    assert rows["1"]["mt_utilization_pct"] == pytest.approx(68.29, abs=0.1)
    assert by_name(found.table("times"))["LINUX1"]["mt1"] == pytest.approx(325)
    assert {table.key for table in found.tables} >= {
        "types",
        "runs",
        "bounds",
        "against",
        "demands",
        "published",
    }
    assert len(found.charts) == 2


TOO_MANY = {"cycles_one": 6e9, "instructions_one": 1, "cycles_two": 0, "instructions_two": 0}


@pytest.mark.parametrize(
    ("says", "tells"),
    [
        ({}, "the scenario has no core, time, hyptop or run"),
        ({"core": [{"name": "0"}]}, "core.0 has 0 kinds of data"),
        ({"core": [{"name": "0", "samples": [[1]], "thread_density": 1}]}, "core.0 has 2 kinds of data"),
        ({"core": [{"name": "0", "samples": [[1, 2], [1]]}]}, "core.0.samples has 2 threads of 2, 1 samples"),
        ({"core": [{"name": "0", "samples": [[1], [1], [1]]}]}, "core.0.samples has 3 threads"),
        ({"core": [{"name": "0", "samples": []}]}, "core[1].samples is a list of 0"),
        ({"core": [{"name": "0", "cycles_one": 1}]}, "core.0 has no instructions_one"),
        (
            {"core": [{"name": "0", **TOO_MANY, "seconds": 1, "ghz": 5}]},
            "more core cycles than 1 s at 5 GHz",
        ),
        ({"core": [{"name": "0", "productivity": 50}]}, "core.0.productivity needs core_busy"),
        ({"core": [{"name": "0", "threads_busy": [50, 50]}]}, "core.0.threads_busy needs core_busy"),
        ({"core": [{"name": "0", "core_busy": 90, "threads_busy": [40, 40]}]}, "its threads sum to 0.89"),
        ({"core": [{"name": "0", "core_busy": 40, "threads_busy": [50, 50]}]}, "its threads sum to 2.50"),
        (
            {"core": [{"name": "0", "thread_density": 2.5}]},
            "core[1].thread_density is 2.5; expected a number from 1 to 2",
        ),
        (
            {"core": [{"name": "0", "thread_density": 1.5, "max_capacity_factor": 1.473}]},
            "core[1].max_capacity_factor is 1.473; expected a number from 50 to 400",
        ),
        ({"time": [{"name": "T"}]}, "time.T has no time"),
        ({"time": [{"name": "T", "alone": 1, "mt1": 1}]}, "time.T has both raw and MT-1 equivalent time"),
        ({"time": [{"name": "T", "mt1": 1, "interval": 10}]}, "interval without max_capacity_factor"),
        ({"hyptop": [{"name": "L", "core": 100, "thread": 250}]}, "thread time is not between"),
        ({"hyptop": [{"name": "L", "core": 100, "thread": 50}]}, "thread time is not between"),
        ({"cores": []}, "cores is not known here"),
    ],
)
def test_invalid_smt_scenario_is_rejected_with_fix(says: dict[str, Any], tells: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        models.solve("smt", says, file="s.toml")
    assert tells in str(caught.value)
    assert str(caught.value).startswith("s.toml: ")
    assert caught.value.cure
