"""From a scenario of a whole machine to what the native simulator takes: plain data, complete, with indices.

`crates/sim/src/scenario.rs` describes the result.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from zlens import _native
from zlens.catalog import codes, generations, writer_plans
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import parse_instant
from zlens.models.constants import constant
from zlens.models.partitions import prsm, zvm_limits
from zlens.models.relocation import link as relocation_link
from zlens.models.scenario import Scenario
from zlens.models.scenario_errors import ScenarioErrors, SimulationSpec
from zlens.models.simulation_spec import CHANNELS, COUNTERS, CP, INSTRUCTIONS, MACHINE, SIMULATION
from zlens.models.system.partitions import Entry, SystemPartition, system_partitions, users_of
from zlens.models.system.spec import LOAD, MEMORY
from zlens.simulation import counters

_DAY_S = 86_400
#: Device number of the first volume that has none.
_FIRST_DEVICE = 0x1000
#: A part that no pass leaves: no relocation is stopped for it.
_NEVER = 1e9


class LoweredScenario(Struct, frozen=True):
    """What the simulator takes, and the systems that write monitor records, in order.

    recorded    by name: the release in whose records, None: zlens' own
    """

    scenario: dict[str, Any]
    recorded: dict[str, str | None]


def table(scenario: Scenario, spec: SimulationSpec, values: Entry | None, where: str) -> Entry:
    """A table with its defaults, if the scenario leaves it out."""
    found: Entry = spec.check({}, where, scenario.problem) if values is None else values
    return found


def lower_scenario(scenario: Scenario) -> LoweredScenario:
    """What the simulator takes; ScenarioError for what cannot be simulated."""
    found = system_partitions(scenario)
    simulation = table(scenario, SIMULATION, scenario["simulation"], "simulation")
    start_s = _time(scenario, simulation["start"], simulation["zone"], "simulation.start")
    kinds = [kind for kind, count in scenario["processors"].items() if count]
    _check_cores(scenario, found)
    systems = [part for part in found if part.zvm] or found[:1]
    lowered = _MachineLowering(scenario, found, kinds, start_s)
    return LoweredScenario(
        {
            "seed": simulation["seed"],
            "start_tod": _native.tod_from_unix_us(round(start_s * 1e6)),
            "warmup_s": simulation["warmup"],
            "seconds": simulation["seconds"],
            "interval_s": simulation["interval"],
            "high_frequency_s": simulation["high_frequency"],
            "zone_s": round(3600 * simulation["zone"]),
            "machine": lowered.machine(),
            "partitions": [lowered.partition(part, number) for number, part in enumerate(found, 1)],
            "partition_groups": lowered.groups(),
            "systems": [
                lowered.system(part, number, recorded=part in systems) for number, part in enumerate(found)
            ],
            "checked": simulation["checked"],
        },
        {part.system: part.common_entry("records") for part in systems},
    )


def _time(scenario: Scenario, value: float | str, zone: float, where: str) -> float:
    """Seconds since 1970 of a time; one without a zone is in that of the scenario."""
    try:
        return parse_instant(value, dt.timezone(dt.timedelta(hours=zone))).timestamp()
    except QueryError as error:
        raise scenario.problem.value(where, value, error.expected or "") from None


def _check_cores(scenario: Scenario, found: Sequence[SystemPartition]) -> None:
    wrong = scenario.problem.general_error
    for part in found:
        for entry in part.cores:
            if not scenario["processors"][entry["type"]]:
                raise wrong(
                    f"partition {part.name} has cores of type {entry['type']}, of which the machine has none",
                    f"increase processors.{entry['type']}",
                )
        polarizations = {entry["polarization"] for entry in part.cores if not entry["dedicated"]}
        if len(polarizations) > 1:
            raise wrong(
                f"partition.{part.name}.polarization differs between its types", "use the same for each"
            )
    for kind, count in scenario["processors"].items():
        own = [entry for part in found for entry in part.cores if entry["type"] == kind]
        dedicated = sum(entry["cores"] for entry in own if entry["dedicated"])
        if count and dedicated == count and len(own) > sum(entry["dedicated"] for entry in own):
            raise wrong(f"all {count} {kind} cores are dedicated, and a partition has shared ones",
                        f"increase processors.{kind}")  # fmt: skip
    if scenario["physlog"]:
        raise wrong("physlog is a measurement, which a simulation makes by itself", "leave [[physlog]] out")


class _MachineLowering:
    """Lowers the tables of one scenario, whose types and partitions it knows."""

    def __init__(
        self, scenario: Scenario, found: Sequence[SystemPartition], kinds: list[str], start_s: float
    ) -> None:
        self.scenario, self.parts, self.kinds, self.start_s = scenario, found, kinds, start_s
        self.kind = {name: at for at, name in enumerate(kinds)}
        self.group = {(one["name"], one["type"]): at for at, one in enumerate(scenario["group"])}
        self.entitled: dict[tuple[str, str], float] = {}
        for kind in kinds:
            own = [entry for part in found for entry in part.cores if entry["type"] == kind]
            sharing = [entry for entry in own if not entry["dedicated"]]
            shared = scenario["processors"][kind] - sum(one["cores"] for one in own if one["dedicated"])
            amounts = prsm.entitlements(shared, [entry["weight"] for entry in sharing])
            for entry, amount in zip(sharing, amounts, strict=True):
                self.entitled[entry["name"], kind] = amount

    def table(self, spec: SimulationSpec, values: Entry | None, where: str) -> Entry:
        return table(self.scenario, spec, values, where)

    def assumed(self, name: str) -> Any:
        """The value of a constant that is no key of its own."""
        self.scenario.problem.moving.setdefault(name, constant(name).assumed())
        return constant(name).default

    # The machine -------------------------------------------------------------------------------

    def machine(self) -> dict[str, Any]:
        given = self.table(MACHINE, self.scenario["machine"], "machine")
        types = generations.types()
        known = types.get(given["type"])
        if known is None or known.ghz is None:
            speeds = [name for name, one in types.items() if one.ghz is not None]
            raise self.scenario.problem.value("machine.type", given["type"], f"one of {', '.join(speeds)}")
        return {
            "machine_type": given["type"],
            "model": given["model"],
            "serial": given["serial"].rjust(16, "0"),
            "name": given["name"],
            "megahertz": round(1000 * known.ghz),
            "types": self.kinds,
            "type_codes": [int(codes.code("cpu_type", name)) for name in self.kinds],
            "cores": [
                {"kind": at, "count": self.scenario["processors"][name]} for at, name in enumerate(self.kinds)
            ],
            "cores_per_chip": given["cores_per_chip"],
            "chips_per_drawer": given["chips_per_drawer"],
            "move_us": [given["move_chip"], given["move_drawer"], given["move_beyond"]],
            "run_time_ms": {
                "longest": self.scenario["run_time_longest"],
                "shortest": min(prsm.SHORTEST, self.scenario["run_time_longest"]),
                "high": prsm.OF_HIGH,
            },
            "dispatch_overhead_us": given["dispatch_overhead"],
            "dispatch_management_us": given["dispatch_management"],
            "high_preempts": given["high_preempts"],
            "caps": given["caps"],
            "cap_burst_ms": given["cap_burst"],
            "lag_ms": given["lag"],
            "counters": self._counters(given, known.generation),
            "capability": given["capability"],
            "channels": self._channels(given),
        }

    def _counters(self, given: Entry, generation: str) -> dict[str, Any] | None:
        """The hardware counters of the machine; None if they are not wanted or cannot be simulated."""
        if not given["hardware_counters"] or generation not in counters.simulated_generations():
            return None
        costs = self.table(COUNTERS, given["counters"], "machine.counters")
        levels = ("core", "chip", "drawer", "beyond", "memory")
        return {
            "table": counters.counter_table(generation),
            "caches": counters.caches(generation),
            "costs": {
                "miss_cycles": [costs[f"miss_{level}"] for level in levels],
                "kept_pct": costs["kept"],
                "misses_at_once": costs["misses_at_once"],
                "instruction_misses_pct": costs["instruction_misses"],
                "tlb_mib": costs["tlb_reach"],
                "tlb_misses_pct": costs["tlb_misses"],
                "tlb_cycles": costs["tlb_cycles"],
                "crypto_cycles": costs["crypto_cycles"],
            },
        }

    def _channels(self, given: Entry) -> dict[str, Any]:
        limits = self.table(CHANNELS, given["channels"], "machine.channels")
        return {
            "bus_cycles": limits["bus_cycles"],
            "work_units": limits["work_units"],
            "data_units": limits["data_units"],
            "unit_bytes": limits["unit"],
            "cycles_per_unit": limits["cycles_per_unit"],
        }

    def groups(self) -> list[dict[str, Any]]:
        return [
            {"name": one["name"], "kind": self.kind[one["type"]], "cap": self._cores(one)}
            for one in self.scenario["group"]
            if one["type"] in self.kind
        ]

    def _cores(self, group: Entry) -> float:
        if group["absolute_cap"] is not None:
            return float(group["absolute_cap"])
        return float(group["capacity"] / self.scenario["msu_per_core"])

    def partition(self, part: SystemPartition, number: int) -> dict[str, Any]:
        return {
            "name": part.name,
            "number": part.common_entry("number") or number,
            "shares": [self._share(part, entry) for entry in part.cores],
            "vertical": any(
                entry["polarization"] == "vertical" and not entry["dedicated"] for entry in part.cores
            ),
        }

    def _share(self, part: SystemPartition, entry: Entry) -> dict[str, Any]:
        cores, kind = entry["cores"], entry["type"]
        dedicated = entry["dedicated"]
        entitled = float(cores) if dedicated else self.entitled[part.name, kind]
        highs = mediums = 0
        if entry["polarization"] == "vertical" and not dedicated:
            rule = self.scenario["integer_entitlement"]
            if prsm.is_integer(entitled):
                self.scenario.problem.moving["integer_entitlement"] = constant(
                    "integer_entitlement"
                ).assumed()
            polarity = prsm.vertical(entitled, cores, rule)
            highs, mediums = polarity.high, polarity.medium
        online = cores if entry["unparked"] is None else entry["unparked"]
        caps = [entry["absolute_cap"]]
        if entry["defined_capacity"] is not None:
            caps.append(entry["defined_capacity"] / self.scenario["msu_per_core"])
        given = [cap for cap in caps if cap is not None]
        names = [entry[key] for key in ("group", "capacity_group") if entry[key] is not None]
        if len(names) > 1:
            raise self.scenario.problem.general_error(
                f"partition.{part.name} is in group {names[0]} and in capacity_group {names[1]}",
                "leave one out: simulated partitions are in one group",
            )
        return {
            "kind": self.kind[kind],
            "cores": online,
            "highs": min(highs, online),
            "mediums": max(0, min(mediums, online - highs)),
            "weight": 0 if dedicated else entry["weight"],
            "entitlement": entitled,
            "dedicated": dedicated,
            "capped": entry["capped"],
            "cap": min(given) if given else None,
            "group": self.group[names[0], kind] if names else None,
        }

    # Systems -----------------------------------------------------------------------------------

    def system(self, part: SystemPartition, number: int, *, recorded: bool) -> dict[str, Any]:
        given = part.common_entry("cp") or self.scenario["cp"]
        cp = self.table(CP, given, "cp") if part.zvm else {**CP.check({}, "cp", ScenarioErrors()), **_NO_COST}
        storage = part.common_entry("storage") or self.assumed("sim_partition_storage")
        ipl = part.common_entry("ipl")
        ipl_s = (
            self.start_s - _DAY_S
            if ipl is None
            else _time(self.scenario, ipl, 0.0, f"partition.{part.name}.ipl")
        )
        users = part.users or _loads(part)
        names = {
            "user": _places(users),
            "pool": _places(part.pools),
            "volume": _places(part.volumes),
            "control_unit": _places(part.control_units),
        }
        locks = list(
            dict.fromkeys(
                step["lock"] for one in part.transactions for step in one["step"] if step["lock"] is not None
            )
        )
        names["lock"] = {name: at for at, name in enumerate(locks)}
        working = {name for one in part.transactions for step in one["step"] for name in users_of(step)}
        return {
            "name": part.system,
            "partition": number,
            "recorded": recorded,
            "release": writer_plans.release_mark(part.common_entry("records")),
            "transaction_ends": bool(part.common_entry("transaction_ends")),
            "ipl_tod": _native.tod_from_unix_us(round(ipl_s * 1e6)),
            "threads": self._threads(part),
            "storage_mib": storage,
            "cp": self._cp(part, cp),
            "users": [self._user(user, cp, names, working) for user in users],
            "pools": [self._pool(pool) for pool in part.pools],
            "locks": locks,
            "transactions": [_transaction(one, names) for one in part.transactions],
            "control_units": [_control_unit(one, at) for at, one in enumerate(part.control_units)],
            "volumes": self._volumes(part, names),
            "switches": [_switch(one, names) for one in part.switches],
            "functions": [_function(one, names) for one in part.functions],
            "relocations": [self._relocation(part, one, names) for one in part.relocations],
            "link": self._link(part),
            "commands": self._commands(part, names),
        }

    def _threads(self, part: SystemPartition) -> list[int]:
        """Threads per core by type: types that have two are the mode's."""
        two: tuple[str, ...] = ()
        if part.cores[0]["smt"] == "SMT-2":
            two = zvm_limits.mode(part.cores[0]["mode"]).two_threads
        return [2 if kind in two else 1 for kind in self.kinds]

    def _cp(self, part: SystemPartition, given: Entry) -> dict[str, Any]:
        excess = None if given["excessuse"] == "NONE" else given[f"excessuse_{given['excessuse'].lower()}"]
        vertical = any(entry["polarization"] == "vertical" and not entry["dedicated"] for entry in part.cores)
        held = any(entry["unparked"] is not None for entry in part.cores)
        parts = self.table(INSTRUCTIONS, given["instructions"], "cp.instructions")
        return {
            "scheduler": given["scheduler"],
            "dispatch": given["dispatch"],
            "slice_ms": given["slice"],
            "slice_smt_ms": given["slice_smt"],
            "lag_ms": given["lag"],
            "steal_lag_ms": given["steal_lag"],
            "reshuffle_s": given["reshuffle"],
            "rebalance": given["dspwdmethod"] == "REBALANCE",
            "dispatch_user_us": given["dispatch_user"],
            "dispatch_system_us": given["dispatch_system"],
            "preempts": given["preempts"],
            "lock_hold_us": given["lock_hold"],
            "lock_shared_pct": given["lock_shared"],
            "limit_burst_ms": given["limit_burst"],
            "limits": given["limits"],
            "smt_speedup": given["smt_speedup"] / 100,
            "idle_cores_first": given["idle_cores_first"],
            "unparking": {
                "active": given["parking"] and vertical and part.zvm and not held,
                "model": given["unparking"].lower(),
                "excess_pct": excess,
                "global_performance_data": given["global_performance_data"],
                "pad_pct": given["cpupad"],
                "projection_factor": given["projection_factor"],
                "projection_base_pct": given["projection_base"],
                "low_powered_pct": given["low_powered"],
                "pad_beyond_entitlement": self.assumed("unpark_pad_beyond_entitlement"),
                "lows_evenly": self.assumed("unpark_lows_filled") != "one after another",
            },
            "block_pages": given["block_pages"],
            "storbuf_pct": given["storbuf"],
            "eligible_slice_s": given["eligible_slice"],
            "test_idle_ms": given["test_idle"],
            "settings": {
                "storbuf": [given["storbuf_1"], given["storbuf_2"]],
                "ldubuf": [self.assumed(f"sim_ldubuf_{number}") for number in (1, 2, 3)],
                "dspbuf": [self.assumed("sim_dspbuf")] * 3,
                "iabias": [self.assumed("sim_iabias_intensity"), self.assumed("sim_iabias_slices")],
            },
            "instructions": {
                "diagnose_pct": parts["diagnose"],
                "diagnose_44_pct": parts["diagnose_44"],
                "diagnose_9c_pct": parts["diagnose_9c"],
                "diagnose_io_pct": parts["diagnose_io"],
                "dispatched_pct": parts["dispatched"],
                "sigp_pct": parts["sigp"],
                "lpswe_pct": parts["lpswe"],
                "fast_pct": parts["fast"],
            },
            "nonpageable_pct": given["nonpageable"],
            "available_pct": [given["available_low"], given["available_high"]],
            "steal_s": given["steal"],
            "absolute_shares_at_most": self.scenario["absolute_shares_at_most"],
        }

    def _user(
        self, user: Entry, cp: Entry, names: dict[str, dict[str, int]], working: set[str]
    ) -> dict[str, Any]:
        load = self.table(LOAD, user["load"], "load")
        memory = self.table(MEMORY, user["memory"], "memory")
        storage = user["storage"] or self.assumed("sim_user_storage")
        working_set = user["working_set"]
        if working_set is None:
            working_set = storage * self.assumed("sim_working_set") / 100
        maximum = None
        if user["limit"] != "none":
            maximum = _share(user["maximum_relative"], user["maximum_absolute"])
        speedup = cp["smt_speedup"] if load["smt_speedup"] is None else load["smt_speedup"]
        return {
            "name": user["name"],
            "account": user["account"] or user["name"],
            "kind": self.kind[user["type"]],
            "virtual_cpus": user["virtual_cpus"],
            "dedicated": user["dedicated"],
            "share": _share(user["relative"], user["absolute"]),
            "maximum": maximum,
            "hard": user["limit"] == "hard",
            "quick_dispatch": user["quick_dispatch"],
            "pool": None if user["pool"] is None else names["pool"][user["pool"]],
            "storage_mib": storage,
            "working_set_mib": working_set,
            "logged_on": user["logged_on"],
            "loads": [
                {
                    "demand_pct": demand,
                    "burst_ms": load["burst"],
                    "variation": load["variation"],
                    "backlog_s": load["backlog"],
                    "profile": [list(point) for point in load["profile"]],
                    "io_rate": load["io_rate"],
                    "volumes": [names["volume"][name] for name in load["volumes"]],
                    "page_rate": load["page_rate"],
                    "simulation_rate": load["simulation_rate"],
                    "simulation_us": load["simulation_cost"],
                    "cached_pct": load["cached"],
                }
                for demand in _demands(user, transactions=user["name"] in working)
            ],
            "quantum_ms": load["quantum"],
            "application_data": user["application_data"],
            "smt_speedup": speedup / 100,
            "memory": {
                "instructions_per_cycle": memory["instructions_per_cycle"],
                "footprint_mib": memory["footprint"],
                "shared_pct": memory["shared"],
                "l1_misses": memory["l1_misses"],
                "crypto_rate": memory["crypto_rate"],
                "problem_pct": memory["problem_state"],
            },
        }

    def _pool(self, pool: Entry) -> dict[str, Any]:
        return {
            "name": pool["name"],
            "kind": self.kind[pool["type"]],
            # 100 % is NOLIMIT.
            "limithard_pct": None if pool["limithard"] == 100 else pool["limithard"],
            "capacity": pool["capacity"],
        }

    def _volumes(self, part: SystemPartition, names: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
        taken = {volume["device"] for volume in part.volumes}
        numbers = (number for number in range(_FIRST_DEVICE, 0x10000) if number not in taken)
        return [
            {
                "name": volume["name"],
                "device": _free_device_numbers(numbers) if volume["device"] is None else volume["device"],
                "control_unit": names["control_unit"][volume["control_unit"]],
                "paging": volume["paging"],
                "slots": volume["slots"],
                "pending_us": 1000 * volume["pending"],
                "connect_us": 1000 * volume["connect"],
                "miss_us": 1000 * volume["miss"],
                "read_hit_pct": volume["read_hit"],
                "read_pct": volume["read"],
                "variation": volume["variation"],
                "transport_pct": volume["transport"],
                "operation_kib": volume["operation"],
                "spool_slots": volume["spool_slots"],
                "spool_used_pct": volume["spool_used"],
                "seek_cylinders": volume["seek_cylinders"],
                "links": volume["links"],
                "offline_s": [list(span) for span in volume["offline"]],
            }
            for volume in part.volumes
        ]

    def _relocation(
        self, part: SystemPartition, entry: Entry, names: dict[str, dict[str, int]]
    ) -> dict[str, Any]:
        user = part.users[names["user"][entry["user"]]]
        storage = user["storage"] or self.assumed("sim_user_storage")
        touched = storage if entry["touched"] is None else entry["touched"]
        quiesce = entry["maxquiesce"]
        if quiesce is None:
            quiesce = "NOLIMIT" if entry["immediate"] else self.assumed("relocation_maxquiesce")
        return {
            "user": names["user"][entry["user"]],
            "to": entry["to"],
            "at_s": entry["at"],
            "immediate": entry["immediate"],
            "maxquiesce_s": None if isinstance(quiesce, str) else quiesce,
            "maxtotal_s": None if isinstance(entry["maxtotal"], str) else entry["maxtotal"],
            "touched_mib": touched,
            "writes": [list(kind) for kind in entry["writes"]]
            or [[touched if entry["changing"] is None else entry["changing"], entry["change_rate"]]],
            "setup_s": entry["setup"],
            "fixed_quiesce_s": entry["fixed_quiesce"],
            "live_passes": entry["live_passes"],
            "passes_most": entry["passes_most"],
            "quiesce_passes": entry["quiesce_passes"],
            "stop_below_mib": entry["stop_below"],
            "no_progress": _NEVER if entry["no_progress"] is None else entry["no_progress"] / 100,
        }

    def _link(self, part: SystemPartition) -> dict[str, Any] | None:
        link = self.scenario["link"]
        if link is None or not part.relocations:
            return None
        rate, _, _, _ = relocation_link.link(self.scenario)
        if link["throttle_at"] is None:
            self.scenario.unused("sim_relocation_throttle")
        return {
            "rate_mib": rate,
            "most_per_guest_mib": link["most_per_guest"],
            "at_once": link["at_once"],
            "cpu_us_per_mib": 1000 * link["cpu"],
            "throttle_at": link["throttle_at"],
            "throttle_to": link["throttle_to"] / 100,
            "cluster": link["cluster"],
            "devices": relocation_link.numbers(self.scenario),
        }

    def _commands(self, part: SystemPartition, names: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
        commands = sorted(part.commands, key=lambda command: float(command["at"]))
        return [{"at_s": one["at"], "action": self._action(one, names)} for one in commands]

    def _action(self, command: Entry, names: dict[str, dict[str, int]]) -> dict[str, Any]:
        do = command["do"]
        if do in ("logon", "logoff"):
            return {do: {"user": names["user"][command["user"]]}}
        if do in ("vary on", "vary off"):
            return {do.replace(" ", "_"): {"core": command["core"]}}
        if do == "set pool":
            return {"join": {"user": names["user"][command["user"]], "pool": names["pool"][command["pool"]]}}
        if do == "set pool limit":
            return {"limit": {"pool": names["pool"][command["pool"]], "limit": command["limit"]}}
        if do == "set share":
            share = _share(command["relative"], command["absolute"])
            return {"share": {"user": names["user"][command["user"]], "share": share}}
        return {"threads": {"kind": self.kind[command["type"]], "threads": command["threads"]}}


#: Codes of what measurement blocks of PCI functions count.
_FORMS = ("DMA", "packets", "work units", "bytes sent")
#: Its virtual CPUs have a processor each, so that ends of slices would change nothing.
_NO_COST = {"dispatch_user": 0.0, "dispatch_system": 0.0, "lock_hold": 0.0, "parking": False, "slice": 1e4}


def _places(entries: Sequence[Entry]) -> dict[str, int]:
    return {entry["name"]: at for at, entry in enumerate(entries)}


def _free_device_numbers(numbers: Iterator[int]) -> int:
    number = next(numbers, None)
    if number is None:
        raise ScenarioError(
            "there are more volumes than device numbers",
            expected=f"at most {0x10000 - _FIRST_DEVICE:,} volumes",
        )
    return number


def _share(relative: int | None, absolute: float | None) -> dict[str, Any]:
    return {"relative": relative} if relative is not None else {"absolute": absolute}


def _demands(user: Entry, *, transactions: bool) -> list[float | None]:
    """Demand of each virtual processor, percent; None is all it can get."""
    dedicated, sharing = user["dedicated"], user["virtual_cpus"] - user["dedicated"]
    free = 0.0 if transactions else None
    if user["demands"] is not None:
        own: list[float | None] = [_cap_demand(demand) for demand in user["demands"]]
    elif user["demand"] is not None and sharing:
        own = [_cap_demand(user["demand"] / sharing)] * sharing
    else:
        own = [free] * sharing
    own = [free] * dedicated + own
    # One entry stands for all.
    return own[:1] if len(set(own)) == 1 else own


def _cap_demand(demand: float) -> float | None:
    return None if demand >= 100 else demand


def _loads(part: SystemPartition) -> list[Entry]:
    """A user of each type that uses what a partition without users demands."""
    users = []
    for entry in part.cores:
        wanted = math.inf if entry["demand"] is None else entry["demand"] / entry["cores"]
        users.append(
            {
                "name": f"USE{entry['type']}",
                "type": entry["type"],
                "virtual_cpus": entry["cores"] if entry["unparked"] is None else entry["unparked"],
                "demands": None,
                "demand": None if wanted >= 1 else 100 * entry["demand"],
                "relative": 100,
                "limit": "none",
                "logged_on": True,
                "quick_dispatch": False,
                "application_data": False,
                **dict.fromkeys(("absolute", "pool", "account", "storage", "working_set", "memory")),
                "load": part.common_entry("load"),
                "dedicated": 0,
            }
        )
    return users


def _transaction(entry: Entry, names: dict[str, dict[str, int]]) -> dict[str, Any]:
    return {
        "name": entry["name"],
        "customers": entry["customers"],
        "rate": entry["rate"],
        "rate_variation": entry["rate_variation"],
        "most": entry["most"],
        "think_s": entry["think"],
        "think_variation": entry["think_variation"],
        "steps": [_step(step, names) for step in entry["step"]],
        "profile": [list(point) for point in entry["profile"]],
    }


def _step(step: Entry, names: dict[str, dict[str, int]]) -> dict[str, Any]:
    users = [names["user"][name] for name in users_of(step)]
    if step["cpu"] is not None:
        lock = None if step["lock"] is None else names["lock"][step["lock"]]
        cpu = {"users": users, "cpu_us": 1000 * step["cpu"], "variation": step["variation"], "lock": lock}
        return {"cpu": cpu}
    if step["io"] is not None:
        volumes = [names["volume"][name] for name in step["volumes"]]
        return {"io": {"users": users, "volumes": volumes, "count": step["io"]}}
    return {"delay": {"delay_us": 1000 * step["delay"], "variation": step["variation"]}}


def _control_unit(entry: Entry, at: int) -> dict[str, Any]:
    shares = None
    if entry["minidisk_share"] is not None:
        shares = [entry["minidisk_share"], entry["paging_share"]]
    return {
        "ssid": at + 1 if entry["ssid"] is None else entry["ssid"],
        "aliases": entry["aliases"],
        "shares": shares,
        "chpids": entry["chpids"],
        "others_pct": entry["others"],
    }


def _switch(entry: Entry, names: dict[str, dict[str, int]]) -> dict[str, Any]:
    return {
        "name": f"{entry['owner']:8}{entry['name']:8}",
        "global": entry["global"],
        "controller": entry["controller"],
        "device": entry["device"],
        "packet_bytes": entry["packet"],
        "discarded_ppm": entry["discarded"],
        "ports": [
            {
                "user": names["user"][port["user"]],
                "device": port["device"],
                "out_mib": port["out"],
                "in_mib": port["in"],
                "next_mib": port["next"],
            }
            for port in entry["port"]
        ],
    }


def _function(entry: Entry, names: dict[str, dict[str, int]]) -> dict[str, Any]:
    return {
        "id": entry["id"],
        "kind": entry["type"],
        "form": _FORMS.index(entry["format"]),
        "user": names["user"][entry["user"]],
        "attached_s": entry["attach"],
        "loads": entry["loads"],
        "stores": entry["stores"],
        "refreshes": entry["refreshes"],
        "in_mib": entry["in"],
        "out_mib": entry["out"],
        "packet_bytes": entry["packet"],
    }
