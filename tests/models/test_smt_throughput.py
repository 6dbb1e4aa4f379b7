"""Tests of throughput with and without multithreading: bounds, path factors and cases without prediction.

Publication: IBM, "z/VM and simultaneous multithreading", 2015 and 2020, "SMT" below.
smt_published_runs.py has its runs.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from iterations import draws
from smt_published_runs import BASE, CLIENTS, RUNS, SERIAL, VCPUS, calibrated, unmeasured, with_paths
from zlens import models
from zlens.errors import ScenarioError
from zlens.models.queueing import queues
from zlens.models.smt import bounds as smt_bounds
from zlens.models.smt import publications
from zlens.models.smt.bounds import DemandPart
from zlens.rendering.answer import Answer, by_name


def answer(*runs: dict[str, Any], **more: Any) -> Answer:
    return models.solve("smt", {"run": list(runs), **more})


def of(found: Answer, name: str, table: str = "runs") -> dict[str, Any]:
    return by_name(found.table(table))[name]


def bounds(found: Answer, run: str) -> dict[Any, Any]:
    return {row[1]: row[4] for row in found.table("bounds").rows if row[0] == run}


@pytest.mark.parametrize(
    ("case", "client", "server", "threads", "guests", "processors", "clients", "held_by"),
    [
        ("SMT: without", 2.115, 0.759, 1, 3, 1.044, 1.418, "processors"),
        ("SMT: serialization", 4.41, 1.239, 2, 3, 1.062, 0.680, "virtual CPUs of clients"),
        ("SMT: twice the clients", 3.394, 1.008, 2, 6, 1.363, 1.768, "processors"),
    ],
)
def test_bounds_from_demands(
    case: str,
    client: float,
    server: float,
    threads: int,
    guests: int,
    processors: float,
    clients: float,
    held_by: str,
) -> None:
    parts = [
        {"name": "clients", "guests": guests, "demand": client},
        {"name": "servers", "guests": 12, "demand": server},
    ]
    found = answer({"name": "R", "cores": 3, "threads": threads, "part": parts})
    assert bounds(found, "R")["processors"] == pytest.approx(processors, abs=0.006)
    assert bounds(found, "R")["virtual CPUs of clients"] == pytest.approx(clients, abs=0.006)
    assert of(found, "R")["held_by"] == held_by
    assert of(found, "R")["bound"] == pytest.approx(min(processors, clients), abs=0.006)
    assert [row[5] for row in found.table("bounds").rows].count("binds") == 1


@pytest.mark.parametrize(
    ("case", "name", "client", "server", "held_by"),
    [
        ("SMT: without", "SMT-0", 2.115, 0.759, "processors"),
        ("SMT: serialization", "SMT-2", 4.410, 1.239, "virtual CPUs of clients"),
        ("SMT: two virtual processors for each client", "2 vCPUs", 4.051, 1.166, "processors"),
        ("SMT: twice the clients", "6 clients", 3.394, 1.008, "processors"),
    ],
)
def test_demands_by_utilization_law(case: str, name: str, client: float, server: float, held_by: str) -> None:
    found = answer(*RUNS)
    demands = [row[4] for row in found.table("demands").rows if row[0] == name]
    assert demands == pytest.approx([client, server], abs=0.003)
    row = of(found, name)
    assert row["held_by"] == held_by
    # Each of the four measured runs reaches 93% to 96% of the bound that binds.
    assert 92.5 < row["reached_pct"] < 96
    assert row["predicted"] is None


@pytest.mark.parametrize(
    ("case", "name", "etrr", "itrr", "time"),
    [
        ("SMT: serialization", "SMT-2", 0.649, 1.018, 1.965),
        ("SMT: two virtual processors for each client", "2 vCPUs", 1.065, 1.101, 1.815),
        ("SMT: twice the clients", "6 clients", 1.303, 1.306, 1.532),
    ],
)
def test_ratios(case: str, name: str, etrr: float, itrr: float, time: float) -> None:
    row = of(answer(*RUNS), name, "against")
    assert row["etr_ratio"] == pytest.approx(etrr)
    assert row["itr_ratio"] == pytest.approx(itrr, abs=0.0015)
    assert row["time_ratio"] == pytest.approx(time, abs=0.003)


WHOLE = [{"name": "pairs", "guests": 32, "virtual_cpus": 4}]
IDEAL = [
    {"name": "SMT-0", "cores": 4, "etr": 1.0, "processor_busy": 95.6, "part": WHOLE},
    {
        "name": "SMT-2",
        "cores": 4,
        "threads": 2,
        "etr": 1.362,
        "processor_busy": 84.6,
        "thread_density": 1.83,
        "capacity_factor": 156.4,
        "part": WHOLE,
    },
]


def test_smt_ideal_application() -> None:
    """SMT: ETRR 1.362, ITRR 1.539; a transaction used 1.3 times the CPU time; threads explain 1.17."""
    row = of(answer(*IDEAL), "SMT-2", "against")
    assert row["itr_ratio"] == pytest.approx(1.539, abs=0.0015)
    assert row["time_ratio"] == pytest.approx(1.300, abs=0.001)
    assert row["slowing"] == pytest.approx(1.170, abs=0.001)
    assert row["path"] == pytest.approx(1.11, abs=0.002)
    # The maximum capacity factor follows from the two printed ones; SMT prints 167.1.
    assert row["max_capacity_factor_pct"] == pytest.approx(167.1, abs=1)


def test_path_factors_of_published_runs() -> None:
    """SMT: slower threads explain 1.23 of the 1.965 times CPU time; 1.60 remains."""
    found = answer(*RUNS)
    row = of(found, "SMT-2", "against")
    assert row["slowing"] == pytest.approx(1.28 / 1.04)
    assert row["path"] == pytest.approx(1.60, abs=0.005)
    assert row["path"] * row["slowing"] == pytest.approx(row["time_ratio"])
    assert of(found, "2 vCPUs", "against")["path"] == pytest.approx(1.39, abs=0.005)
    assert of(found, "6 clients", "against")["path"] is None
    paths = {(row[0], row[1]): row[6] for row in found.table("demands").rows}
    assert paths["SMT-2", "clients"] == pytest.approx(2.085 / (1.28 / 1.04), abs=0.002)
    assert paths["SMT-2", "servers"] == pytest.approx(1.632 / (1.28 / 1.04), abs=0.002)


def test_density_and_factor_are_derived() -> None:
    """SMT: serialization, only from thread busy, core busy and the maximum factor: 1.28 and 104%."""
    run = {key: value for key, value in SERIAL.items() if key not in ("thread_density", "capacity_factor")}
    row = of(answer(BASE, run), "SMT-2", "against")
    assert row["thread_density"] == pytest.approx(2 * 61.1 / 95.5)
    assert row["capacity_factor_pct"] == pytest.approx(100 + 15 * (2 * 61.1 / 95.5 - 1))
    assert row["path"] == pytest.approx(1.60, abs=0.005)


def test_base_is_measured_run_without_smt_in_any_order() -> None:
    known = {
        "name": "known",
        "cores": 3,
        "part": [{**part, "demand": 1.0} for part in unmeasured(BASE)["part"]],
    }
    found = answer(known, SERIAL, BASE)
    assert found.table("against").title == "Measured, relative to SMT-0"
    assert of(found, "SMT-0", "against")["etr_ratio"] == 1


def test_busy_of_each_guest() -> None:
    """Given busy times are preserved; the twelve servers share the rest."""
    busy = {(row[0], row[1]): row[3] for row in answer(*RUNS).table("demands").rows}
    assert busy["SMT-0", "clients"] == pytest.approx(70.5)
    assert busy["SMT-0", "servers"] == pytest.approx((3 * 95.8 - 3 * 70.5) / 12)
    assert busy["2 vCPUs", "clients"] == pytest.approx(143.8)


def test_littles_law_of_service_class() -> None:
    """SMT: RMF Workload Activity: 12.69 in the system, 8960.87 per second: 1.416 ms."""
    run = {
        "name": "WASTRANS",
        "cores": 8,
        "etr": 8960.87,
        "processor_busy": 50,
        "in_system": 12.69,
        "part": [{"name": "P"}],
    }
    assert of(answer(run), "WASTRANS", "against")["response"] == pytest.approx(1.416e-3, abs=2e-6)


#: Run, maximum capacity factor (not published for the last run: taken from the one before), measured ratio.
CONTROLS = [(SERIAL, 115, 0.649, 0.3), (VCPUS, 151, 1.065, 0.3), (CLIENTS, 151, 1.303, 0.15)]


@pytest.mark.parametrize(("run", "maximum", "measured", "beyond"), CONTROLS)
def test_neutral_path_factors_miss_measurements(
    run: dict[str, Any], maximum: float, measured: float, beyond: float
) -> None:
    """Negative control: a capacity factor alone does not predict any published run."""
    found = answer(BASE, with_paths(run, 1.0, max_capacity_factor=maximum))
    row = of(found, run["name"])
    assert row["predicted"] > measured * (1 + beyond)
    assert row["error_pct"] == pytest.approx(100 * (row["predicted"] / measured - 1))
    assert any("Capacity factors do not predict throughput" in note for note in found.notes)


def test_capacity_factor_alone_overestimates_serial_run() -> None:
    found = answer(BASE, with_paths(SERIAL, 1.0))
    assert of(found, "SMT-2")["predicted"] == pytest.approx(1.05, abs=0.01)
    # The note on a run without path factors.
    (note,) = answer(BASE, unmeasured(SERIAL)).notes
    assert "they give 1.05 times the run without SMT, but 0.649 was measured" in note


def test_no_point_value_without_path_factors() -> None:
    """An unmeasured run with SMT-2 has only bounds and the published range."""
    parts = [{"name": "clients", "guests": 3}, {"name": "servers", "guests": 12}]
    unmeasured_run = {"name": "on", "cores": 3, "threads": 2, "max_capacity_factor": 150, "part": parts}
    found = answer(BASE, unmeasured_run)
    row = of(found, "on")
    assert row["predicted"] is None
    assert [figure.key for figure in found.figures] == ["bound_SMT-0", "bound_on"]
    assert row["demands"] == "of SMT-0"
    assert any(note.startswith("on: no point value, only bounds") for note in found.notes)
    rows = found.table("published").rows
    assert ("z14", 1.10, 1.40, 1.25) in [tuple(row[1:5]) for row in rows]
    # A calibrated run has a point value.
    pointed = answer(BASE, SERIAL, calibrated(unmeasured_run, "SMT-2"))
    assert of(pointed, "on")["predicted"] is not None
    assert [one.name for one in pointed.assumptions] == ["smt_idle_cores_first", "smt_bound_reached"]


def test_calibrating_run_is_reproduced() -> None:
    """The thread density follows from the virtual CPUs: 1.28, as measured."""
    for run, density in ((SERIAL, 1.28), (VCPUS, 2.0)):
        row = of(answer(BASE, calibrated(run, run["name"])), run["name"])
        assert row["predicted"] == pytest.approx(run["etr"])
        assert row["error_pct"] == pytest.approx(0, abs=1e-9)
        assert row["density"] == pytest.approx(density, abs=0.005)


@pytest.mark.parametrize(
    ("run", "by", "maximum", "error"),
    [
        (VCPUS, SERIAL, 151, -11.7),
        (CLIENTS, SERIAL, 151, -27.8),
        (SERIAL, VCPUS, 115, 13.4),
        (CLIENTS, VCPUS, 151, -18.3),
    ],
)
def test_path_factors_of_another_configuration(
    run: dict[str, Any], by: dict[str, Any], maximum: float, error: float
) -> None:
    """The error is 12% to 28%, as the note reports."""
    found = answer(BASE, by, calibrated(run, by["name"], max_capacity_factor=maximum))
    assert of(found, run["name"])["error_pct"] == pytest.approx(error, abs=0.1)
    assert any("off by 12% to 28%" in note for note in found.notes)


def test_more_cores_in_same_mode() -> None:
    """A run in the mode of the base uses the path factors of the base."""
    parts = [{"name": "clients", "guests": 6}, {"name": "servers", "guests": 12}]
    four = {"name": "four", "cores": 4, "part": parts}
    without = answer(BASE, four)
    assert of(without, "four")["predicted"] is None
    assert any("calibrated_by" in note for note in without.notes)
    row = of(answer(BASE, calibrated(four, "SMT-0")), "four")
    assert row["predicted"] == pytest.approx(4 / 3)
    assert row["held_by"] == "processors"


def test_smt_off_from_run_with_smt() -> None:
    """The base is measured with SMT-2, and the other run is predicted without SMT."""
    off = {**BASE, "name": "off"}
    found = answer(SERIAL, off, calibrated(BASE, "off"), base="SMT-2")
    assert of(found, "SMT-0")["predicted"] == pytest.approx(1.0)
    assert of(found, "SMT-0")["demands"] == "its own"
    assert of(answer(SERIAL, unmeasured(off)), "off")["bound"] == pytest.approx(
        min(3 / (5.649 / (1.28 / 1.04)), 3 / (4.41 / (1.28 / 1.04))), abs=0.001
    )


def test_serialization_binds() -> None:
    """A fifth of a part's work runs on only one virtual CPU at a time."""
    parts = [
        {"name": "work", "guests": 1, "virtual_cpus": 16, "demand": 0.5, "serial": 20},
        {"name": "rest", "guests": 8, "demand": 0.1},
    ]
    found = answer({"name": "R", "cores": 16, "part": parts})
    assert of(found, "R")["held_by"] == "serialization of work"
    assert of(found, "R")["bound"] == pytest.approx(1 / 0.1)
    parts[0]["serial_at_once"] = 8
    assert of(answer({"name": "R", "cores": 16, "part": parts}), "R")["held_by"] == "processors"


def test_serialization_with_slower_threads() -> None:
    """Serialized work runs at the speed of a thread that shares its core."""
    base = {
        "name": "off",
        "cores": 4,
        "etr": 8.0,
        "processor_busy": 60,
        "part": [{"name": "work", "guests": 8, "serial": 25}],
    }
    on = {
        "name": "on",
        "cores": 2,
        "threads": 2,
        "max_capacity_factor": 120,
        "part": [{"name": "work", "guests": 8, "serial": 25}],
    }
    found = answer(base, on)
    demand = 4 * 0.6 / 8
    assert bounds(found, "off")["serialization of work"] == pytest.approx(1 / (demand * 0.25))
    # One of four running virtual CPUs is in the serialized part: four run, two on each core.
    assert bounds(found, "on")["serialization of work"] == pytest.approx(2 * 1.2 / demand)
    assert bounds(found, "on")["processors"] == pytest.approx(2 * 1.2 / demand)
    assert of(found, "on")["held_by"] == "processors"


def test_without_capacity_factor_bound_is_twice() -> None:
    parts = [{"name": "clients", "guests": 99}, {"name": "servers", "guests": 99}]
    on = {"name": "on", "cores": 3, "threads": 2, "part": parts}
    found = answer(BASE, on)
    assert bounds(found, "on")["processors"] == pytest.approx(6 / 2.874)
    assert any("200%" in note for note in found.notes)
    taken = answer(BASE, SERIAL, calibrated(on, "SMT-2"))
    assert bounds(taken, "on")["processors"] < 6 / 2.874
    assert any("max_capacity_factor is from SMT-2, 115%" in note for note in taken.notes)


def test_work_done_by_running_virtual_processors() -> None:
    """Idle cores run first, then second threads; the rate never falls and is concave."""
    assert [smt_bounds.rate(running, 3, 2, 1.5) for running in range(8)] == [0, 1, 2, 3, 3.5, 4, 4.5, 5.25]
    assert smt_bounds.rate(5, 3, 1, 1.5) == 5
    chance = draws(8)
    for _ in range(1000):
        cores, maximum = chance.randint(1, 40), chance.uniform(1, 2)
        less, more = sorted((chance.uniform(0, 2 * cores), chance.uniform(0, 2 * cores)))
        low, high = (smt_bounds.rate(running, cores, 2, maximum) for running in (less, more))
        assert low <= high + 1e-9
        middle = smt_bounds.rate((less + more) / 2, cores, 2, maximum)
        assert middle >= (low + high) / 2 - 1e-9


def random_parts(chance: random.Random, cores: int) -> list[DemandPart]:
    return [
        DemandPart(
            f"P{at}",
            chance.choice((0.0, chance.uniform(0.01, 5))),
            chance.randint(1, 3 * cores),
            chance.choice((0.0, chance.uniform(0.01, 1))),
            chance.randint(1, 3),
        )
        for at in range(chance.randint(1, 4))
    ]


def test_lowest_bound_by_search() -> None:
    """A bisection of the running virtual CPUs within the limits of all parts finds the same bound."""
    chance = draws(9)
    for _ in range(1000):
        cores, maximum = chance.randint(1, 12), chance.uniform(1, 2)
        parts = random_parts(chance, cores)
        whole = sum(part.demand for part in parts)
        held = smt_bounds.lowest_bound(smt_bounds.work_bounds(parts, cores, 2, maximum))
        if not whole:
            assert held is None
            continue
        low, high = 0.0, 2.0 * cores
        for _ in range(60):
            middle = (low + high) / 2
            fits = all(
                middle * part.demand / whole <= part.virtual_cpus
                and middle * part.demand * part.serial / whole <= part.serial_at_once
                for part in parts
            )
            low, high = (middle, high) if fits else (low, middle)
        assert held is not None
        most = low * (1 if low <= cores else (cores + (low - cores) * (maximum - 1)) / low) / whole
        assert held.most == pytest.approx(most, rel=1e-9)
        found = smt_bounds.density_at(parts, cores, 2, maximum)
        # With a factor of 1 second threads add nothing, and the density is not determined.
        if maximum > 1.001:
            assert found == pytest.approx(max(1.0, low / cores), rel=1e-6)


def test_closed_network_approaches_bound() -> None:
    """A network, solved by convolution, reaches the bound without think time and stays below with it."""
    chance = draws(10)
    for _ in range(100):
        cores, maximum, demand = chance.randint(1, 8), chance.uniform(1, 2), chance.uniform(0.01, 3)
        guests = chance.randint(1, 4 * cores)
        speeds = [smt_bounds.rate(running, cores, 2, maximum) for running in range(1, 2 * cores + 1)]
        held = smt_bounds.lowest_bound(
            smt_bounds.work_bounds([DemandPart("P", demand, guests)], cores, 2, maximum)
        )
        assert held is not None
        assert held.most is not None
        busy, waiting = (
            queues.one_class([demand], guests, think, [speeds]).throughput[0] for think in (0.0, demand)
        )
        assert busy == pytest.approx(held.most)
        assert waiting < held.most


def test_ranges_as_published() -> None:
    """SMT: nine ratios of the chart, relocation of 25 guests; z/VM 6.4 Performance: z14 statement."""
    shown = {one.what: one for one in publications.ThreadFile.load().ranges}
    chart = [1.36, 1.12, 1.21, 1.26, 1.38, 0.65, 1.07, 1.30, 1.28]
    nine = shown["external throughput of nine measured workloads"]
    assert (nine.low, nine.high) == (min(chart), max(chart))
    assert nine.mean == pytest.approx(sum(chart) / 9, abs=0.005)
    relocation = {name.split(": ")[1]: one.low for name, one in shown.items() if "relocation" in name}
    assert relocation == {
        "relocation time": 1.10,
        "quiesce time": 1.26,
        "pages moved while quiesced": 1.51,
        "PFAULT completions": 1.71,
        "BLAST completions": 1.34,
    }
    z14 = shown["throughput of a core (capacity statement)"]
    assert (z14.low, z14.high, z14.mean) == (1.10, 1.40, 1.25)


def test_runs_without_smt_have_no_smt_notes() -> None:
    found = answer(BASE)
    assert [table.key for table in found.tables] == ["runs", "bounds", "against", "demands"]
    assert (found.notes, found.assumptions) == ([], [])


def test_run_above_bound() -> None:
    """Clients are busier than their virtual CPUs allow: the numbers are inconsistent."""
    odd = {
        **BASE,
        "part": [{"name": "clients", "guests": 1, "busy": 211.5}, {"name": "servers", "guests": 12}],
    }
    found = answer(odd)
    assert of(found, "SMT-0")["reached_pct"] == pytest.approx(211.5)
    assert any("above the bound of virtual CPUs of clients" in note for note in found.notes)


def test_idle_run_has_no_bound() -> None:
    idle = {"name": "idle", "cores": 1, "etr": 5, "processor_busy": 0, "part": [{"name": "P"}]}
    row = of(answer(idle), "idle")
    assert (row["bound"], row["held_by"], row["reached_pct"]) == (None, None, None)
    later = {"name": "later", "cores": 2, "calibrated_by": "idle", "part": [{"name": "P"}]}
    assert of(answer(idle, later), "later")["predicted"] is None


@pytest.mark.parametrize("runs", [1, 30])
def test_sweeps_follow_runs(runs: int) -> None:
    from zlens.models import sweeps

    unmeasured_runs = [unmeasured(VCPUS, name=f"R{at}", calibrated_by="SMT-2") for at in range(runs)]
    scenario = {"run": [BASE, SERIAL, *unmeasured_runs]}
    found = sweeps.solve("smt", scenario, "run.R0.part.clients.guests=1:3")
    columns = [column.key for column in found.tables[0].columns]
    most = found.tables[0].column("bound_R0")
    assert most == sorted(most)
    assert ("predicted_R0" in columns) == (runs == 1)


ALONE = {"name": "A", "cores": 1, "part": [{"name": "P"}]}


@pytest.mark.parametrize(
    ("runs", "tells"),
    [
        ([{**BASE, "processor_busy": 0, "etr": 0}], "run[1].etr is 0"),
        ([{"name": "A", "cores": 1, "part": []}], "run[1].part is a list of 0"),
        ([ALONE], "run.A has no demands, and no run was measured"),
        ([{**ALONE, "etr": 1}], "run.A has etr without processor_busy"),
        (
            [BASE, {**ALONE, "part": [{"name": "P", "busy": 5}]}],
            "run.A.part.P.busy is given, but the run was not measured",
        ),
        ([BASE, BASE], "two runs have the same name"),
        ([{**BASE, "part": [{"name": "P"}, {"name": "P", "busy": 1}]}], "two parts of run.SMT-0"),
        ([{**BASE, "part": [{"name": "P"}, {"name": "Q"}]}], "run.SMT-0 has more than one part without busy"),
        ([{**BASE, "part": [{"name": "P", "busy": 400}, {"name": "Q"}]}], "its parts were busier than its 3"),
        ([{**BASE, "part": [{"name": "P", "demand": 1}, {"name": "Q"}]}], "demands of some parts only"),
        ([{**BASE, "thread_density": 1.5}], "run.SMT-0.thread_density is given, but the run has one thread"),
        (
            [{**ALONE, "threads": 2, "etr": 1, "processor_busy": 61, "core_busy": 50}],
            "its threads sum to 2.44 of core_busy",
        ),
        (
            [BASE, calibrated(SERIAL, "SMT-0")],
            "run.SMT-2.calibrated_by is SMT-0, which was measured with threads = 1, not 2",
        ),
        (
            [BASE, with_paths({**unmeasured(CLIENTS), "name": "SMT-2"}, 1.6)],
            "run.SMT-2 is predicted, but has no max_capacity_factor",
        ),
        ([BASE, calibrated(SERIAL, "none")], "calibrated_by is none, but no measured run has that name"),
        (
            [BASE, {**ALONE, "part": [{"name": "clients", "path": 1}, {"name": "servers"}]}],
            "run.A has paths of some parts only",
        ),
        ([BASE, {"name": "A", "cores": 1, "part": [{"name": "clients"}]}], "run.A has no part servers"),
        ([BASE, ALONE], "run.A.part.P is not a part of run.SMT-0"),
        (
            [BASE, CLIENTS, calibrated(SERIAL, "6 clients")],
            "run.6 clients has no slowdown of its threads",
        ),
        (
            [
                {"name": "D", "cores": 1, "part": [{"name": "P", "demand": 1}]},
                {**ALONE, "calibrated_by": "D"},
            ],
            "run.A is predicted from run.D, which was not measured",
        ),
    ],
)
def test_invalid_smt_throughput_scenario_is_rejected_with_fix(runs: list[dict[str, Any]], tells: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        models.solve("smt", {"run": runs}, file="s.toml")
    assert tells in str(caught.value)
    assert caught.value.cure


def test_unknown_base_run_is_error() -> None:
    with pytest.raises(ScenarioError, match="base is X, but no measured run has that name"):
        answer(BASE, base="X")
