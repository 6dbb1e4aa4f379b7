"""Tests of lowering scenarios to input of the native simulator."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from zlens import models, simulation
from zlens.errors import QueryError, ScenarioError
from zlens.models.constants import constants
from zlens.models.scenario import ScenarioValues
from zlens.simulation import run


def example(name: str) -> dict[str, Any]:
    return tomllib.loads(models.find(name).example)


def lowered(values: dict[str, Any]) -> dict[str, Any]:
    return run.prepare(values).lowered.scenario


@pytest.mark.parametrize("name", simulation.SIMULATED)
def test_solver_scenarios_are_lowered(name: str) -> None:
    values = example(name) | {"simulation": {"seconds": 30, "interval": 10, "seed": 3}}
    ready = run.prepare(values).lowered
    found = ready.scenario
    assert (found["seed"], found["seconds"], found["interval_s"]) == (3, 30.0, 10.0)
    assert ready.recorded
    # The solver ignores keys of the simulation.
    assert models.solve(name, values).assumptions == models.solve(name, example(name)).assumptions


def test_static_models_cannot_be_simulated() -> None:
    with pytest.raises(QueryError, match="paging scenarios cannot be simulated"):
        run.prepare(example("paging"))


SHARES: dict[str, Any] = {
    "model": "shares",
    "processors": {"CP": 3, "IFL": 2},
    "user": [
        {"name": "A", "relative": 100, "virtual_cpus": 3, "dedicated": 1, "demand": 120},
        {"name": "B", "absolute": 10, "limit": "hard", "maximum_absolute": 20, "virtual_cpus": 2},
        {"name": "C", "relative": 50, "type": "IFL", "demands": [30, 400], "virtual_cpus": 2, "pool": "P"},
        {"name": "D", "relative": 50, "type": "IFL", "limit": "soft", "maximum_relative": 60},
    ],
    "pool": [{"name": "P", "type": "IFL", "capacity": 0.5}],
    "absolute_shares_at_most": 95,
}


def test_shares_are_machine_of_dedicated_cores() -> None:
    found = lowered(SHARES)
    assert found["machine"]["types"] == ["CP", "IFL"]
    assert found["machine"]["type_codes"] == [0, 3]
    [partition] = found["partitions"]
    assert [(one["cores"], one["dedicated"], one["entitlement"]) for one in partition["shares"]] == [
        (3, True, 3.0),
        (2, True, 2.0),
    ]
    assert partition["vertical"] is True
    [system] = found["systems"]
    assert system["cp"]["absolute_shares_at_most"] == 95
    assert not system["cp"]["unparking"]["active"]
    a, b, c, d = system["users"]
    # A dedicated virtual CPU uses its entire processor; the others have the demand.
    assert [load["demand_pct"] for load in a["loads"]] == [None, 60.0, 60.0]
    assert (b["share"], b["maximum"], b["hard"]) == ({"absolute": 10.0}, {"absolute": 20.0}, True)
    # A virtual CPU uses at most a processor: a demand of 100% is unlimited.
    assert [load["demand_pct"] for load in b["loads"]] == [None]
    assert [load["demand_pct"] for load in c["loads"]] == [30.0, None]
    assert (c["kind"], c["pool"]) == (1, 0)
    assert (d["maximum"], d["hard"]) == ({"relative": 60}, False)
    assert system["pools"] == [{"name": "P", "kind": 1, "limithard_pct": None, "capacity": 0.5}]


def test_limithard_100_sets_no_limit() -> None:
    pool = {"name": "P", "type": "IFL", "limithard": 100}
    [found] = lowered(SHARES | {"pool": [pool]})["systems"][0]["pools"]
    assert found["limithard_pct"] is None


PARTITIONS: dict[str, Any] = {
    "model": "partitions",
    "processors": {"IFL": 10},
    "msu_per_core": 100,
    "partition": [
        {"name": "P1", "type": "IFL", "cores": 12, "weight": 688, "absolute_cap": 7.5},
        {"name": "P2", "type": "IFL", "cores": 4, "weight": 312, "capped": True, "group": "G", "demand": 1.0},
    ],
    "group": [{"name": "G", "type": "IFL", "absolute_cap": 2.0}],
}


def test_vertical_cores_are_those_of_solver() -> None:
    found = lowered(PARTITIONS)
    p1, p2 = (one["shares"][0] for one in found["partitions"])
    # 6.88 cores on 12: IBM, z/VM 6.4 Performance, 6 Vh, 1 Vm, 5 Vl.
    assert (p1["entitlement"], p1["highs"], p1["mediums"]) == (pytest.approx(6.88), 6, 1)
    assert (p1["cap"], p1["capped"], p1["group"]) == (7.5, False, None)
    assert (p2["cap"], p2["capped"], p2["group"]) == (None, True, 0)
    assert found["partition_groups"] == [{"name": "G", "kind": 0, "cap": 2.0}]
    answer = models.solve("partitions", PARTITIONS).table("polarization")
    assert answer.column("high") == [p1["highs"], p2["highs"]]


def test_partitions_without_zvm_only_use_processors() -> None:
    values = PARTITIONS | {
        "partition": [
            *PARTITIONS["partition"],
            {"name": "Z", "type": "IFL", "cores": 2, "weight": 9, "zvm": "7.4"},
        ]
    }
    ready = run.prepare(values).lowered
    p1, p2, z = ready.scenario["systems"]
    assert ready.recorded.keys() == {z["name"]}
    assert [load["demand_pct"] for load in p2["users"][0]["loads"]] == [25.0]
    assert p1["cp"]["dispatch_user_us"] == 0
    assert z["cp"]["dispatch_user_us"] > 0
    assert z["cp"]["unparking"]["active"]
    # Without z/VM partitions the first one records all.
    assert list(run.prepare(PARTITIONS).lowered.recorded) == [lowered(PARTITIONS)["systems"][0]["name"]]


def test_limits_in_msu_are_cores() -> None:
    values: dict[str, Any] = {
        "model": "partitions",
        "processors": {"CP": 4},
        "msu_per_core": 100,
        "partition": [
            {"name": "A", "cores": 4, "weight": 1, "defined_capacity": 150, "absolute_cap": 3},
            {"name": "B", "cores": 4, "weight": 1, "capacity_group": "G"},
        ],
        "group": [{"name": "G", "capacity": 250}],
    }
    found = lowered(values)
    assert found["partitions"][0]["shares"][0]["cap"] == 1.5
    assert found["partition_groups"][0]["cap"] == 2.5
    values["partition"][1] |= {"group": "H"}
    values["group"].append({"name": "H", "absolute_cap": 1.0})
    with pytest.raises(ScenarioError, match="simulated partitions are in one group"):
        lowered(values)


def test_threads_follow_smt_mode() -> None:
    values = example("system")
    values["processors"]["CP"] = 1
    values["partition"][0]["smt"] = "SMT-2"
    values["partition"].append(
        {"name": "ZVM1", "type": "CP", "cores": 1, "weight": 5, "zvm": "7.4", "smt": "SMT-2"}
    )
    found = lowered(values)
    assert dict(zip(found["machine"]["types"], found["systems"][0]["threads"], strict=True)) == {
        "IFL": 2,
        "CP": 1,
    }


def test_stations_are_users_without_cost() -> None:
    values: dict[str, Any] = {
        "model": "queueing",
        "station": [
            {"name": "CPU", "servers": 2, "arrival_variation": 4.0, "service_variation": 0.5},
            {"name": "NET", "kind": "delay"},
        ],
        "class": [{"name": "work", "rate": 5.0, "demand": {"CPU": 0.1, "NET": 0.2}}],
    }
    found = lowered(values)
    [system] = found["systems"]
    assert found["machine"]["cores"] == [{"kind": 0, "count": 2}]
    assert [(user["name"], user["virtual_cpus"]) for user in system["users"]] == [("CPU", 2)]
    assert [load["demand_pct"] for load in system["users"][0]["loads"]] == [0.0]
    [work] = system["transactions"]
    assert (work["rate"], work["rate_variation"], work["customers"]) == (5.0, 4.0, None)
    assert work["steps"] == [
        {"cpu": {"users": [0], "cpu_ms": pytest.approx(100), "variation": 0.5, "lock": None}},
        {"delay": {"delay_ms": pytest.approx(200), "variation": 1.0}},
    ]
    assert system["cp"]["dispatch_user_us"] == system["cp"]["lock_hold_us"] == 0


def test_bursts_of_requests_are_those_of_solver() -> None:
    values = example("aliases")
    values["device"][0] |= {"bursts": "chance", "burst": 1.5}
    [system] = lowered(values)["systems"]
    # (Ca2 + 1) / 2 = 1.5
    assert system["transactions"][0]["rate_variation"] == pytest.approx(2.0)
    [unit] = system["control_units"]
    assert (unit["aliases"], unit["shares"]) == (16, [20, 140])
    assert [volume["paging"] for volume in system["volumes"]] == [False, True]
    assert [volume["miss_ms"] for volume in system["volumes"]] == [0.0, 10.5]
    assert system["volumes"][0]["device"] != system["volumes"][1]["device"]


def test_relocations_follow_their_rules() -> None:
    [system] = lowered(example("relocation"))["systems"]
    assert system["name"] == "ATLANTA"
    solved = models.solve("relocation", example("relocation"))
    assert system["link"]["rate_mib"] == pytest.approx(solved.figure("link"))
    assert system["link"]["at_once"] == 1
    first, second = system["relocations"]
    assert (first["user"], first["to"], first["touched_mib"]) == (0, "BOSTON", 6000)
    # A hot set: 20% of the pages get 80% of the writes.
    (hot, often), (cold, seldom) = first["writes"]
    assert (hot + cold, hot) == pytest.approx((2500, 500))
    assert often == pytest.approx(4 * seldom)
    given = example("relocation")
    given["guest"][0]["pattern"] = "sweep"
    with pytest.raises(ScenarioError, match='pattern is "sweep"'):
        run.prepare(given)
    assert (second["touched_mib"], second["maxquiesce_s"], second["maxtotal_s"]) == (4096, 10.0, None)
    assert all(user["loads"][0]["demand_pct"] is None for user in system["users"])


def test_paging_throttles_relocations() -> None:
    values = example("system") | {"relocation": [{"user": "BATCH", "to": "ZVM2"}]}
    plain, *_ = lowered(values | {"link": {"rate": 600.0}})["systems"]
    assert plain["link"]["throttle_at"] == 1000
    throttled, *_ = lowered(values | {"link": {"rate": 600.0, "throttle_at": 100, "throttle_to": 20}})[
        "systems"
    ]
    assert (throttled["link"]["throttle_at"], throttled["link"]["throttle_to_pct"]) == (100, 20)
    listed = {one.name for one in run.prepare(values | {"link": {"rate": 600.0}}).constants}
    assert {"sim_relocation_throttle", "sim_relocation_throttle_at"} <= listed


def test_history_scales_demand() -> None:
    values = example("unparking")
    del values["used"]
    values["history"] = [400, 800]
    found = lowered(values)
    [user] = found["systems"][0]["users"]
    [load] = user["loads"]
    assert load["demand_pct"] == pytest.approx(800 / 28)
    assert load["profile"] == [[0, 0.5], [1.999, 0.5], [2, 1.0], [3.999, 1.0]]
    own = found["partitions"][0]["shares"][0]
    assert (own["cores"], own["highs"], own["mediums"]) == (28, 19, 1)


@pytest.mark.parametrize(("excess", "physical", "demand"), [(0, 20, 22), (100, 21, 22), (250, 23, 72)])
def test_other_partitions_leave_excess(excess: int, physical: int, demand: float) -> None:
    """The partition has 19.78 cores; others have the rest of integer cores and use it less the excess."""
    values = example("unparking") | {"excess": excess}
    del values["partition"], values["weight"]
    found = lowered(values)
    assert found["machine"]["cores"] == [{"kind": 0, "count": physical}]
    [load] = found["systems"][1]["users"][0]["loads"]
    # The demand is per virtual CPU.
    assert load["demand_pct"] * found["partitions"][1]["shares"][0]["cores"] == pytest.approx(demand)


def test_references_are_lowered_to_indexes() -> None:
    values = example("system")
    values["partition"][0]["smt"] = "SMT-2"
    values["transaction"][0]["step"][1] |= {"lock": "LATCH", "user": ["DB1", "WEB1"]}
    values["command"] += [
        {"at": 60, "do": "logon", "user": "BATCH"},
        {"at": 30, "do": "vary off", "core": 5},
        {"at": 40, "do": "set multithread", "type": "IFL", "threads": 1},
    ]
    values["user"][2]["logged_on"] = False
    [system, _] = lowered(values)["systems"]
    assert [user["name"] for user in system["users"]] == ["WEB1", "DB1", "BATCH"]
    web, db, io = system["transactions"][0]["steps"]
    assert web["cpu"]["users"] == [0]
    assert (db["cpu"]["users"], db["cpu"]["lock"], system["locks"]) == ([1, 0], 0, ["LATCH"])
    assert io == {"io": {"users": [1], "volumes": [0, 1], "count": 3}}
    # Ordered by time.
    assert system["commands"] == [
        {"at_s": 30.0, "action": {"vary_off": {"core": 5}}},
        {"at_s": 40.0, "action": {"set_multithread": {"kind": 0, "threads": 1}}},
        {"at_s": 60.0, "action": {"logon": {"user": 2}}},
        {"at_s": 900.0, "action": {"set_share": {"user": 2, "share": {"relative": 50}}}},
    ]
    assert [volume["device"] for volume in system["volumes"]] == [0x200, 0x201, 0x300]


def test_time_without_zone_uses_scenario_zone() -> None:
    def start(**given: Any) -> int:
        return int(lowered(SHARES | {"simulation": given})["start_tod"])

    assert start(start="2026-03-02T08:00:00", zone=1) == start(start="2026-03-02T07:00:00Z")
    assert start(start=1_772_434_800) == start(start="2026-03-02T07:00:00Z")
    with pytest.raises(
        ScenarioError, match=r'simulation.start is "noon"; expected something like 2026-03-02'
    ):
        start(start="noon")


# Constants ----------------------------------------------------------------------------------------


def test_used_constants_are_listed_once() -> None:
    ready = run.prepare(SHARES | {"cp": {"slice": 3.0}})
    listed = {one.name: one for one in ready.constants}
    assert len(listed) == len(ready.constants)
    assert (listed["sim_slice"].value, listed["sim_slice"].status) == (3.0, "given")
    assert (listed["absolute_shares_at_most"].value, listed["absolute_shares_at_most"].status) == (
        95,
        "given",
    )
    assert listed["sim_lag"].value == constants()["sim_lag"].default
    # Constants of answers only, or of parts that the scenario does not have.
    assert not {"crowded_from", "soft_limits", "sim_miss", "sim_relocation_cpu"} & listed.keys()


def test_every_constant_of_simulator_is_used() -> None:
    used: set[str] = set()
    for name in simulation.SIMULATED:
        used |= {one.name for one in run.prepare(example(name)).constants}
    values = example("system")
    values |= {"link": {"rate": 600.0, "throttle_at": 100}, "relocation": [{"user": "BATCH", "to": "ZVM2"}]}
    values |= {"switch": [{"name": "VSW1", "device": 0x0F00, "port": [{"user": "WEB1", "out": 1.0}]}]}
    values["cp"] = {"costs": {}}
    values["machine"] = {"type": "9175", "power": {}}
    used |= {one.name for one in run.prepare(values).constants}
    # A release without zones of storage, and CPI as time.
    del values["partition"][0]["zvm"]
    values["partition"][0]["records"] = "5.3"
    values["machine"]["cpi_time"] = True
    used |= {one.name for one in run.prepare(values).constants}
    assert {name for name in constants() if name.startswith("sim_")} <= used


def test_constants_change_lowered_scenario() -> None:
    found = lowered(SHARES | {"cp": {"slice": 3.0}, "machine": {"caps": False, "type": "3906"}})
    assert found["systems"][0]["cp"]["slice_ms"] == 3.0
    assert found["machine"]["caps"] is False
    assert found["machine"]["megahertz"] == 5200


# Rejected scenarios -------------------------------------------------------------------------------


def broken(change: str) -> dict[str, Any]:
    """Return the example of a machine with one change, Python code on its values `v`."""
    v = example("system")
    exec(change)
    return v


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("v['processors']['IFL'] = 0", "cores of type IFL, but the machine has none"),
        ("v['partition'][0]['cores'] = 0", r"partition\[1\].cores is 0"),
        ("[u.update(logged_on=False) for u in v['user']]", "no user of partition ZVM1 is ever logged on"),
        (
            "v['user'][0].update(limit='hard', maximum_relative=100)",
            "maximum_relative is 100, below its share",
        ),
        ("v['user'][0].update(name='TOOLONGANAME')", "as monitor records have"),
        ("v['user'][1].update(name='WEB1')", "user WEB1 is given 2 times"),
        ("v['user'][0].update(partition='NONE')", r"user\[1\].partition is NONE, which does not exist"),
        ("v['user'][0].update(type='CP')", "partition ZVM1 has no core of that type"),
        ("del v['partition'][0]['zvm']", "partition is missing: 0 of 2 partitions have zvm"),
        ("v['volume'][1]['device'] = 0x200", "device 0200 is given 2 times"),
        ("v['volume'][1]['control_unit'] = 'CU9'", "control_unit is CU9, which does not exist"),
        ("v['volume'][1]['name'] = 'DATA01'", "volume DATA01 is given 2 times"),
        ("del v['control_unit'][0]['paging_share']", "one of minidisk_share and paging_share"),
        ("del v['transaction'][0]['customers']", "needs exactly one of customers and rate"),
        ("v['transaction'][0]['customers'] = 0", r"customers is 0; expected an integer from 1"),
        ("v['transaction'][0]['step'] = [{'delay': 0}]; v['transaction'][0]['think'] = 0", "no duration"),
        ("v['transaction'][0]['step'][0]['user'] = 'NOBODY'", "user is NOBODY, which does not exist"),
        ("v['transaction'][0]['step'][0]['io'] = 1", "has 2 of cpu, io and delay"),
        ("v['transaction'][0]['step'][2]['volumes'] = ['NONE']", "has NONE, which does not exist"),
        ("v['volume'].pop()", "partition ZVM1 must page, but no volume is for paging"),
        ("v['user'][2]['load']['io_rate'] = 5", "io_rate is 5, but it has no volumes"),
        ("v['user'][2]['load']['profile'] = [[5, 1], [5, 2]]", "profile do not increase"),
        ("v['relocation'] = [{'user': 'DB1', 'to': 'ZVM2'}]", "there are relocations, but no link"),
        (
            "v['link'] = {'rate': 1.0}; v['relocation'] = [{'user': 'DB1', 'to': to} for to in 'BC']",
            "DB1 is relocated 2 times",
        ),
        (
            "v['link'] = {'rate': 1.0}; v['relocation'] = [{'user': 'DB1', 'to': 'ZVM1'}]",
            "where DB1 is already",
        ),
        ("v['command'][0]['user'] = 'NOBODY'; v['command'][0]['partition'] = 'ZVM1'", "for NOBODY"),
        ("v['command'][0]['core'] = 1", "set share, has no operand core"),
        ("v['command'] = [{'at': 1, 'do': 'vary off', 'core': 6}]", "for core 6; expected 0 to 5"),
        (
            "v['command'] = [{'at': 1, 'do': 'set multithread', 'type': 'CP', 'threads': 2}]",
            "ZVM1 has no CPs",
        ),
        ("v['machine'] = {'type': '9999'}", 'machine.type is "9999"'),
        ("v['physlog'] = [{'type': 'IFL', 'lgclc': 1, 'ovrhd': 1, 'lpmgt': 1}]", "physlog is a measurement"),
        ("v['simulation']['seconds'] = 0", "simulation.seconds is 0"),
        ("v['cp'] = {'slise': 1}", "cp.slise is not known here"),
        ("v['partition'].append(dict(v['partition'][1], name='D', dedicated=True, cores=9))", "has a weight"),
    ],
)
def test_inconsistent_scenario_is_rejected(change: str, says: str) -> None:
    with pytest.raises(ScenarioError, match=says) as raised:
        run.prepare(broken(change))
    assert raised.value.cure or raised.value.expected


def test_shares_of_parts_of_processor() -> None:
    values = SHARES | {"processors": {"CP": 2.5, "IFL": 2}}
    with pytest.raises(
        ScenarioError, match=r"processors.CP is 2.5; expected an integer number of processors"
    ):
        run.prepare(values)


def test_closed_class_without_customers() -> None:
    values = example("queueing")
    values["class"][0]["customers"] = 0
    assert models.solve("queueing", values)
    with pytest.raises(ScenarioError, match=r"class\.users has no customers"):
        run.prepare(values)


def test_scenario_error_has_line() -> None:
    text = models.find("system").example.replace("cores = 6", "cores = 0")
    line = text.splitlines().index("cores = 0") + 1
    with pytest.raises(ScenarioError) as raised:
        run.prepare(ScenarioValues(tomllib.loads(text), text), file="machine.toml", seed=5)
    assert raised.value.file == f"machine.toml:{line}"


# Pools, switches and functions -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("added", "message"),
    [
        (
            {"command": [{"at": 1, "do": "set pool", "user": "BATCH", "pool": "P1"}]},
            "P1, which does not exist",
        ),
        (
            {
                "pool": [{"name": "P1", "type": "IFL", "limithard": 100}],
                "command": [{"at": 1, "do": "set pool limit", "pool": "P1", "limit": 50.0}],
            },
            "P1, whose limit is 100%",
        ),
        (
            {"switch": [{"name": "VSW1", "device": 0x0F00, "port": [{"user": "NOBODY"}]}]},
            "NOBODY, which does not exist",
        ),
        (
            {"function": [{"id": 1, "user": "NOBODY", "type": 2, "format": "DMA"}]},
            "NOBODY, which does not exist",
        ),
    ],
)
def test_unknown_references_are_rejected(added: dict[str, object], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        run.prepare(example("system") | added)


# CPI as time -----------------------------------------------------------------------------------


def assumed(machine: dict[str, Any]) -> set[str]:
    """Return the constants that a simulation of the example assumes."""
    ready = run.prepare(example("system") | {"machine": machine})
    return {one.name for one in ready.constants}


def test_cpi_time_replaces_assumed_costs() -> None:
    moves = {"sim_move_chip", "sim_move_drawer", "sim_move_beyond", "smt_speedup"}
    assert not moves & assumed({"cpi_time": True})
    assert "sim_pipeline" in assumed({"cpi_time": True})
    assert "sim_pipeline" not in assumed({})
    assert moves - {"smt_speedup"} <= assumed({})


@pytest.mark.parametrize("without", [{"hardware_counters": False}, {"type": "2817"}])
def test_cpi_time_needs_hardware_counters(without: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match=r"machine.cpi_time needs the hardware counters") as raised:
        run.prepare(example("system") | {"machine": {"cpi_time": True, **without}})
    assert "3906" in raised.value.cure
