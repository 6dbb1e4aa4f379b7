"""Tests of scenarios in many worlds: what is sampled, what holds, and what it depends on."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import zlens
from rig_samples import EQUAL, write
from zlens.errors import QueryError, ScenarioError
from zlens.models import constants
from zlens.rig import definition, runners, tables, uncertainty
from zlens.rig.uncertainty import UncertainResult, World
from zlens.simulation import run as simulation

ONE = """
title = "Cost of dispatches"
text = "The virtual CPU time of a user that always runs."
area = "shares"
source = { publication = "our own", status = "ours" }
seeds = 1

[scenario]
model = "system"
processors = { IFL = 1 }
partition = [{ name = "Z", type = "IFL", cores = 1, dedicated = true, zvm = "7.4" }]
user = [
    { name = "A", type = "IFL", relative = 100, virtual_cpus = 1 },
    { name = "B", type = "IFL", relative = 100, virtual_cpus = 1 },
]
simulation = { seconds = 10, interval = 10, warmup = 1 }
cp = { slice = 1, dispatch_system = 0.0, lock_hold = 0.0 }

[[case]]
name = "both"
expected = { overhead = 0.2 }

[[observe]]
name = "overhead"
sql = "SELECT '', sum(cpu_s - virtual_s) / sum(cpu_s) * 100 FROM guest WHERE basis = 'sample'"
expected = "published"
largest = 100

[[control]]
name = "none"
set = { "cp.dispatch_user" = 40 }
"""


def worlds_of(file: str, folder: Path, count: int) -> UncertainResult:
    [found] = uncertainty.run(
        [definition.load(file)], runners.find("simulate"), str(folder), count, workers=1
    )
    return found


def test_worlds_share_every_range_evenly(tmp_path: Path) -> None:
    rig = definition.load(write(tmp_path, ONE))
    worlds = uncertainty.worlds(rig, 20)
    assert worlds == uncertainty.worlds(rig, 20)
    sampled = worlds[0].constants
    # What the scenario sets is not uncertain.
    assert not {"sim_slice", "sim_dispatch_system", "sim_lock_hold"} & set(sampled)
    # From 0.4 to 10 µs by order of magnitude: each of 20 worlds has its own twentieth.
    values = sorted(world.constants["sim_dispatch_user"] for world in worlds)
    for at, value in enumerate(values):
        assert 0.4 * 25 ** (at / 20) <= value <= 0.4 * 25 ** ((at + 1) / 20)
    evenly = [world.constants["unpark_lows_filled"] == "evenly" for world in worlds]
    assert sum(evenly) == 10
    assert all(isinstance(world.constants["sim_block_pages"], int) for world in worlds)


def test_ranges_contain_defaults() -> None:
    ranged = [one for one in constants.constants().values() if one.range is not None]
    assert len(ranged) > 90
    for one in ranged:
        assert one.range is not None
        if isinstance(one.default, bool | str):
            assert one.default in one.range, one.name
        else:
            low, high = one.range
            assert low < high, one.name
            assert low <= one.default <= high, one.name
        assert one.status in constants.ASSUMED, one.name


def test_replaced_constants_are_simulated() -> None:
    values = {"model": "shares", "processors": {"CP": 1}, "user": [{"name": "A", "relative": 100}]}

    def slice_ms() -> float:
        [system] = simulation.prepare(values).lowered.scenario["systems"]
        return float(system["cp"]["slice_ms"])

    assert slice_ms() == 5
    with constants.replaced({"sim_slice": 7.5}):
        assert slice_ms() == 7.5
    assert slice_ms() == 5


def test_conclusion_names_constant_it_depends_on(tmp_path: Path) -> None:
    # A dispatch each millisecond with 0.4 to 10 µs for the user: 0.04% to 1% of its CPU time.
    text = ONE.replace("largest = 100", "largest = 40").replace("overhead = 0.2", "overhead = 1.0")
    result = worlds_of(write(tmp_path, text), tmp_path / "out", 30)
    assert not result.errors
    conclusion, control = result.conclusions
    assert conclusion.depends_on == "sim_dispatch_user"
    # The larger the cost, the nearer to 1%.
    assert conclusion.correlation == pytest.approx(-1, abs=0.01)
    # At least 0.6% is as expected: 6 µs and more.
    costs = [world.constants["sim_dispatch_user"] for world in result.worlds]
    assert abs(conclusion.holds - sum(cost >= 6 for cost in costs)) <= 1
    assert 0 < conclusion.holds < conclusion.worlds == 30
    # 40 µs of 1 ms are 4%, not 1%: the control fails in every world.
    assert (control.policy, control.observation) == ("control: none", "")
    assert (control.holds, conclusion.undetected) == (30, 0)
    [band] = result.bands
    assert band.lowest == pytest.approx(min(costs) / 10, rel=0.02)
    assert band.highest == pytest.approx(max(costs) / 10, rel=0.02)
    rows = tables.uncertain_answer([result]).tables[0].rows
    assert rows[0][:7] == (result.rig.name, "", "overhead", conclusion.holds, 0, 30, "sim_dispatch_user")


def test_undetected_conclusion_does_not_hold(tmp_path: Path) -> None:
    """Where the control passes as well, as expected says nothing: 2 µs of 1 ms are 0.2%, like the default."""
    text = ONE.replace('"cp.dispatch_user" = 40', '"cp.dispatch_user" = 2.0')
    result = worlds_of(write(tmp_path, text), tmp_path / "out", 8)
    assert not result.errors
    conclusion, control = result.conclusions
    assert control.holds == conclusion.holds == 0
    costs = [world.constants["sim_dispatch_user"] for world in result.worlds]
    # At most twice the expected 0.2%.
    assert abs(conclusion.undetected - sum(cost <= 4 for cost in costs)) <= 1
    assert conclusion.undetected > 0


def test_worlds_from_python(tmp_path: Path) -> None:
    [result] = zlens.run_rig_worlds(write(tmp_path, ONE), tmp_path / "out", 5, jobs=1)
    assert [(one.policy, one.worlds) for one in result.conclusions] == [("", 5), ("control: none", 5)]
    assert len(result.worlds) == 5
    with pytest.raises(QueryError, match="2 worlds are too few"):
        zlens.run_rig_worlds("four-equal", tmp_path / "out", 2)


def test_correlation_by_chance_names_nothing() -> None:
    random = Random(1)
    worlds = [World(n, {f"c{k}": random.random() for k in range(40)}, {}) for n in range(20)]
    assert uncertainty.strongest([(world, random.random()) for world in worlds]) == (None, None)
    effects = [(world, -world.constants["c7"]) for world in worlds]
    assert uncertainty.strongest(effects) == ("c7", pytest.approx(-1))


def test_alternatives_of_constant_are_compared() -> None:
    worlds = [World(n, {"word": ("left", "middle", "right")[n % 3]}, {}) for n in range(18)]
    name, correlation = uncertainty.strongest(
        [(world, 5.0 if world.constants["word"] == "middle" else 1.0) for world in worlds]
    )
    assert (name, correlation) == ("word", pytest.approx(1))


def test_constant_with_one_alternative_explains_nothing() -> None:
    worlds = [World(n, {"word": "left"}, {}) for n in range(18)]
    assert uncertainty.strongest([(world, float(world.number)) for world in worlds]) == (None, None)


def test_factors_change_cases_or_else_scenario(tmp_path: Path) -> None:
    uncertain = '\n[[uncertain]]\nkey = "{}"\nfactor = [0.5, 2]\ntext = "ours"\n'
    text = ONE.replace('name = "both"\n', 'name = "both"\nset = { "cp.dispatch_user" = 4.0 }\n')
    text += uncertain.format("cp.dispatch_user") + uncertain.format("simulation.seconds")
    rig = definition.load(write(tmp_path, text))
    world = uncertainty.worlds(rig, 10)[0]
    assert 0.5 <= world.factors["cp.dispatch_user"] <= 2
    changed = uncertainty.world_rig(rig, world)
    assert changed.cases[0].set["cp.dispatch_user"] == 4.0 * world.factors["cp.dispatch_user"]
    assert changed.scenario["simulation"]["seconds"] == 10 * world.factors["simulation.seconds"]
    with pytest.raises(ScenarioError, match=r"uncertain\.key cp\.nothing has no numbers to multiply"):
        definition.load(write(tmp_path, ONE + uncertain.format("cp.nothing")))


def test_worlds_need_simulator_and_number(tmp_path: Path) -> None:
    rig = definition.load(write(tmp_path, EQUAL))
    with pytest.raises(QueryError, match="4 worlds are too few"):
        uncertainty.run([rig], runners.find("simulate"), str(tmp_path), 4)
    with pytest.raises(QueryError, match="constants are those of the simulator"):
        uncertainty.run([rig], runners.find("files:x"), str(tmp_path), 20)


#: Constants whose values are recorded, or shown as power, and change nothing that a scenario judges.
RECORDED_ONLY = ("sim_channel_", "sim_storbuf_", "sim_power_", "sim_partition_storage")


def test_simulator_constants_that_are_ours_have_ranges() -> None:
    """A constant without a range would be the same in all worlds."""
    ours = {
        name: one
        for name, one in constants.constants().items()
        if name.startswith("sim_") and one.status == "ours"
    }
    without = {name for name, one in ours.items() if not one.range and not name.startswith(RECORDED_ONLY)}
    assert len(ours) > 50
    assert without == set()
