"""Converts a scenario of an entire machine to the input of the native simulator.

The input is complete plain data with indices. The keys of a scenario define the field of
`crates/sim/src/scenario` that each sets; this module computes the others.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from zlens._native import tod_from_unix_us
from zlens.catalog import codes, generations, writer_plans
from zlens.errors import QueryError, ScenarioError
from zlens.inputs.options import parse_instant
from zlens.models.constants import constant
from zlens.models.partitions import prsm, zvm_limits
from zlens.models.relocation import isfc
from zlens.models.relocation import link as relocation_link
from zlens.models.scenario import Scenario
from zlens.models.scenario_errors import ScenarioErrors
from zlens.models.scenario_keys import key_table
from zlens.models.system.partitions import Entry, SystemPartition, system_partitions, users_of
from zlens.schema.validators import Spec
from zlens.simulation import counters, page_faults
from zlens.simulation.key_fields import Indices, lower_table
from zlens.simulation.partition_shares import PartitionShares

_DAY_S = 86_400
SIMULATION, MACHINE, COUNTERS, CHANNELS, POWER, CP, INSTRUCTIONS, COSTS = (
    key_table(f"simulation.{name}")
    for name in ("simulation", "machine", "counters", "channels", "power", "cp", "instructions", "costs")
)
USER, LOAD, MEMORY, REFERENCES, SPACE, POOL, TRANSACTION, STEP = (
    key_table(f"system.{name}")
    for name in ("user", "load", "memory", "references", "space", "pool", "transaction", "step")
)
CONTROL_UNIT, VOLUME, SWITCH, FUNCTION, RELOCATION, LINK, COMMAND = (
    key_table(f"system.{name}")
    for name in ("control_unit", "volume", "switch", "function", "relocation", "link", "command")
)
#: Device number of the first volume without one.
_FIRST_DEVICE = 0x1000
#: Constants that do not affect a run where CPI is time.
_WITHOUT_CPI_TIME = ("sim_move_chip", "sim_move_drawer", "sim_move_beyond", "sim_kept", "smt_speedup")


class LoweredScenario(Struct, frozen=True):
    """The input of the simulator, and the systems that write monitor records, in order.

    recorded    by name: the release of the records, None: synthetic layouts
    """

    scenario: dict[str, Any]
    recorded: dict[str, str | None]


def table(scenario: Scenario, spec: Spec, values: Entry | None, where: str) -> Entry:
    """Return a table, with its defaults if the scenario omits it."""
    found: Entry = spec.check({}, where, scenario.problem) if values is None else values
    return found


def lower_scenario(scenario: Scenario) -> LoweredScenario:
    """Return the input of the simulator; ScenarioError if the scenario cannot be simulated."""
    parts = system_partitions(scenario)
    simulation = table(scenario, SIMULATION, scenario["simulation"], "simulation")
    start_s = _time(scenario, simulation["start"], simulation["zone"], "simulation.start")
    kinds = [kind for kind, count in scenario["processors"].items() if count]
    _check_cores(scenario, parts)
    systems = [part for part in parts if part.zvm] or parts[:1]
    lowered = _MachineLowering(scenario, parts, kinds, start_s)
    complete = lower_table(
        SIMULATION,
        simulation,
        {
            "start_tod": tod_from_unix_us(round(start_s * 1e6)),
            "zone_s": round(3600 * simulation["zone"]),
            "machine": lowered.machine(),
            "partitions": [lowered.partition(part, number) for number, part in enumerate(parts, 1)],
            "partition_groups": lowered.shares.groups(),
            "systems": [lowered.system(part, number) for number, part in enumerate(parts)],
        },
    )
    queued = all(one["cp"]["queued_returns"] for one in complete["systems"])
    without = _WITHOUT_CPI_TIME if complete["machine"]["cpi_time"] else ("sim_pipeline",)
    for name in (*page_faults.unused_constants(lowered.paging, queued), *without):
        scenario.unused(name)
    return LoweredScenario(complete, {part.system: part.common_entry("records") for part in systems})


def _time(scenario: Scenario, value: float | str, zone: float, where: str) -> float:
    """Return seconds since 1970 of a time; a time without a zone is in the scenario's zone."""
    try:
        return parse_instant(value, dt.timezone(dt.timedelta(hours=zone))).timestamp()
    except QueryError as error:
        raise scenario.problem.value(where, value, error.expected or "") from None


def _check_cores(scenario: Scenario, found: Sequence[SystemPartition]) -> None:
    error = scenario.error
    for part in found:
        for entry in part.cores:
            if not scenario["processors"][entry["type"]]:
                what = f"partition {part.name} has cores of type {entry['type']}, but the machine has none"
                raise error(what, f"increase processors.{entry['type']}")
        if len({entry["polarization"] for entry in part.cores if not entry["dedicated"]}) > 1:
            what = f"partition.{part.name}.polarization differs between its types"
            raise error(what, "use the same for each")
    for kind, count in scenario["processors"].items():
        own = [entry for part in found for entry in part.cores if entry["type"] == kind]
        dedicated = sum(entry["cores"] for entry in own if entry["dedicated"])
        if count and dedicated == count and len(own) > sum(entry["dedicated"] for entry in own):
            raise error(f"all {count} {kind} cores are dedicated, and a partition has shared ones",
                        f"increase processors.{kind}")  # fmt: skip
    if scenario["physlog"]:
        raise error("physlog is a measurement, which a simulation replaces", "leave [[physlog]] out")


def _types_with_counters() -> str:
    """Return the machine types whose counters are simulated."""
    simulated = counters.simulated_generations()
    return ", ".join(name for name, one in generations.types().items() if one.generation in simulated)


class _MachineLowering:
    """Lowers the tables of one scenario with known types and partitions."""

    def __init__(
        self, scenario: Scenario, found: Sequence[SystemPartition], kinds: list[str], start_s: float
    ) -> None:
        self.scenario, self.parts, self.kinds, self.start_s = scenario, found, kinds, start_s
        self.kind = {name: at for at, name in enumerate(kinds)}
        #: Tables that the scenario omits, with their defaults.
        self.omitted: dict[Spec, Entry] = {}
        self.shares = PartitionShares(scenario, found, self.kind)
        #: Partitions whose page faults follow from references to memory.
        self.paging: list[SystemPartition] = []
        #: Volumes that several systems share, by storage server and name.
        self.shared_volumes = _shared_volumes(found)

    def table(self, spec: Spec, values: Entry | None, where: str) -> Entry:
        if values is not None:
            return values
        if spec not in self.omitted:
            self.omitted[spec] = table(self.scenario, spec, None, where)
        return self.omitted[spec]

    def assumed(self, name: str) -> Any:
        """Return the value of a constant without a key of its own."""
        self.scenario.problem.moving.setdefault(name, constant(name).assumed())
        return constant(name).default

    # The machine -------------------------------------------------------------------------------

    def machine(self) -> dict[str, Any]:
        given = self.table(MACHINE, self.scenario["machine"], "machine")
        types = generations.types()
        machine_type = types.get(given["type"])
        if machine_type is None or machine_type.ghz is None:
            speeds = [name for name, one in types.items() if one.ghz is not None]
            raise self.scenario.problem.value("machine.type", given["type"], f"one of {', '.join(speeds)}")
        longest, processors = self.scenario["run_time_longest"], self.scenario["processors"]
        hardware_counters = self._counters(given, machine_type.generation)
        if given["cpi_time"] and hardware_counters is None:
            raise self.scenario.error(
                "machine.cpi_time needs the hardware counters of the machine",
                f"leave hardware_counters out, and set machine.type to one of {_types_with_counters()}",
            )
        channels = self.table(CHANNELS, given["channels"], "machine.channels")
        return lower_table(
            MACHINE,
            given,
            {
                "serial": given["serial"].rjust(16, "0"),
                "megahertz": round(1000 * machine_type.ghz),
                "types": self.kinds,
                "type_codes": [int(codes.code("cpu_type", name)) for name in self.kinds],
                "cores": [{"kind": at, "count": processors[name]} for name, at in self.kind.items()],
                "run_time_ms": {
                    "longest": longest,
                    "shortest": min(prsm.SHORTEST, longest),
                    "high": prsm.OF_HIGH,
                },
                "counters": hardware_counters,
                "channels": lower_table(CHANNELS, channels, {}),
                "power": None if given["power"] is None else lower_table(POWER, given["power"], {}),
            },
        )

    def _counters(self, given: Entry, generation: str) -> dict[str, Any] | None:
        """Return the hardware counters of the machine; None if not requested or not simulated."""
        if not given["hardware_counters"] or generation not in counters.simulated_generations():
            return None
        costs = self.table(COUNTERS, given["counters"], "machine.counters")
        return {
            "table": counters.counter_table(generation),
            "caches": counters.caches(generation),
            "costs": lower_table(COUNTERS, costs, {}),
        }

    def partition(self, part: SystemPartition, number: int) -> dict[str, Any]:
        return {
            "name": part.name,
            "number": part.common_entry("number") or number,
            "shares": [self.shares.share(part, entry) for entry in part.cores],
            "vertical": any(entry["polarization"] == "vertical" for entry in part.cores),
        }

    # Systems -----------------------------------------------------------------------------------

    def system(self, part: SystemPartition, number: int) -> dict[str, Any]:
        given = part.common_entry("cp") or self.scenario["cp"]
        cp = self.table(CP, given, "cp") if part.zvm else {**CP.check({}, "cp", ScenarioErrors()), **_NO_COST}
        storage = part.common_entry("storage") or self.assumed("sim_partition_storage")
        ipl, ipl_s = part.common_entry("ipl"), self.start_s - _DAY_S
        if ipl is not None:
            ipl_s = _time(self.scenario, ipl, 0.0, f"partition.{part.name}.ipl")
        users = part.users or _loads(part)
        indices = {
            "user": _places(users),
            "pool": _places(part.pools),
            "volume": _places(part.volumes),
            "control_unit": _places(part.control_units),
        }
        steps = [step for one in part.transactions for step in one["step"]]
        locks = list(dict.fromkeys(step["lock"] for step in steps if step["lock"] is not None))
        indices["lock"] = {name: at for at, name in enumerate(locks)}
        working = {name for step in steps for name in users_of(step)}
        smt, mode = part.cores[0]["smt"], zvm_limits.mode(part.cores[0]["mode"])
        lowered_users = [self._user(user, cp, indices, working) for user in users]
        return {
            "name": part.system,
            "partition": number,
            "release": writer_plans.release_mark(part.common_entry("records")),
            "transaction_ends": bool(part.common_entry("transaction_ends")),
            "ipl_tod": tod_from_unix_us(round(ipl_s * 1e6)),
            "mode": mode.code,
            "multithreading": zvm_limits.numbers_per_core(smt) > 1,
            "threads": [zvm_limits.threads(mode, smt, kind) for kind in self.kinds],
            "storage_mib": storage,
            "faults": self._faults(part, cp, storage, lowered_users),
            "cp": self._cp(part, cp),
            "users": lowered_users,
            "pools": [self._pool(pool) for pool in part.pools],
            "locks": locks,
            "transactions": [_transaction(one, indices) for one in part.transactions],
            "control_units": [self._control_unit(one, at) for at, one in enumerate(part.control_units)],
            "volumes": self._volumes(part, indices),
            "spaces": [
                lower_table(SPACE, one, {"references": self._references(one)}, indices) for one in part.spaces
            ],
            "switches": [lower_table(SWITCH, one, {}, indices) for one in part.switches],
            "functions": [lower_table(FUNCTION, one, {}, indices) for one in part.functions],
            "relocations": [self._relocation(part, one, indices) for one in part.relocations],
            "link": self._link(part),
            "commands": self._commands(part, indices),
        }

    def _cp(self, part: SystemPartition, given: Entry) -> dict[str, Any]:
        vertical = any(entry["polarization"] == "vertical" and not entry["dedicated"] for entry in part.cores)
        held = any(entry["unparked"] is not None for entry in part.cores)
        parts = self.table(INSTRUCTIONS, given["instructions"], "cp.instructions")
        return lower_table(
            CP,
            given,
            {
                "rebalance": given["dspwdmethod"] == "REBALANCE",
                "unparking.active": given["parking"] and vertical and part.zvm and not held,
                "unparking.excess_pct": _excess(given, given["excessuse"]),
                "unparking.pad_beyond_entitlement": self.assumed("unpark_pad_beyond_entitlement"),
                "unparking.lows_evenly": self.assumed("unpark_lows_filled") != "one after another",
                "settings": {
                    "ldubuf": [self.assumed(f"sim_ldubuf_{number}") for number in (1, 2, 3)],
                    "dspbuf": [self.assumed("sim_dspbuf")] * 3,
                    "iabias": [self.assumed("sim_iabias_intensity"), self.assumed("sim_iabias_slices")],
                },
                "instructions": lower_table(INSTRUCTIONS, parts, {}),
                "costs": _costs(given),
                "selection": given["selection"] or page_faults.selection(part),
                "zone_mib": given["zone"] if page_faults.has_zones(part) else None,
                "queued_returns": page_faults.queues_returns(part, given),
                "absolute_shares_at_most": self.scenario["absolute_shares_at_most"],
            },
        )

    def _faults(self, part: SystemPartition, cp: Entry, storage: float, users: list[Entry]) -> bool:
        """Return whether page faults follow from references to memory."""
        pages = [user["working_set_mib"] for user in users] + [space["storage"] for space in part.spaces]
        frames = storage * (100 - cp["nonpageable"]) * (100 - cp["available_high"]) / 1e4
        kind = cp["page_faults"]
        computed = part.zvm and page_faults.computed(self.scenario, part, kind, sum(pages), frames)
        if computed:
            self.paging.append(part)
        return computed

    def _references(self, entry: Entry) -> Entry:
        return lower_table(REFERENCES, self.table(REFERENCES, entry["references"], "references"), {})

    def _user(self, user: Entry, cp: Entry, indices: Indices, working: set[str]) -> Entry:
        load = self.table(LOAD, user["load"], "load")
        memory = self.table(MEMORY, user["memory"], "memory")
        storage = user["storage"] or self.assumed("sim_user_storage")
        working_set = user["working_set"]
        if working_set is None:
            working_set = storage * self.assumed("sim_working_set") / 100
        maximum = None
        if user["limit"] != "none":
            maximum = _share(user["maximum_relative"], user["maximum_absolute"])
        cost = self._simulation_cost(load, cp)
        return lower_table(
            USER,
            user,
            {
                "account": user["account"] or user["name"],
                "kind": self.kind[user["type"]],
                "share": _share(user["relative"], user["absolute"]),
                "maximum": maximum,
                "hard": user["limit"] == "hard",
                "storage_mib": storage,
                "working_set_mib": working_set,
                "loads": [
                    lower_table(LOAD, load, {"demand_pct": demand, "simulation_cost_us": cost}, indices)
                    for demand in _demands(user, transactions=user["name"] in working)
                ],
                "quantum_ms": load["quantum"],
                "smt_speedup_pct": cp["smt_speedup"] if load["smt_speedup"] is None else load["smt_speedup"],
                "memory": lower_table(MEMORY, memory, {}),
                "references": self._references(user),
            },
            indices,
        )

    def _simulation_cost(self, load: Entry, cp: Entry) -> float:
        """Return the mean CP time of the instructions that CP simulates."""
        cost = float(load["simulation_cost"])
        if cp["costs"] is None:
            return cost
        part = self.table(INSTRUCTIONS, cp["instructions"], "cp.instructions")["diagnose"] / 100
        return float((1 - part) * cost + part * cp["costs"]["diagnose"])

    def _pool(self, pool: Entry) -> Entry:
        # 100% is NOLIMIT.
        limithard = None if pool["limithard"] == 100 else pool["limithard"]
        return lower_table(POOL, pool, {"kind": self.kind[pool["type"]], "limithard_pct": limithard})

    def _relocation(self, part: SystemPartition, entry: Entry, indices: Indices) -> Entry:
        user = part.users[indices["user"][entry["user"]]]
        storage = user["storage"] or self.assumed("sim_user_storage")
        touched = storage if entry["touched"] is None else entry["touched"]
        quiesce = entry["maxquiesce"]
        if quiesce is None:
            quiesce = "NOLIMIT" if entry["immediate"] else self.assumed("relocation_maxquiesce")
        writes = [[touched if entry["changing"] is None else entry["changing"], entry["change_rate"]]]
        targets = (
            [at, index]
            for at, other in enumerate(self.parts)
            if other.zvm and other.system == entry["to"]
            for index, one in enumerate(other.users)
            if one["name"] == entry["user"]
        )
        return lower_table(
            RELOCATION,
            entry,
            {
                "maxquiesce_s": None if isinstance(quiesce, str) else quiesce,
                "touched_mib": touched,
                "walk_s": entry["walk"] / 1000 * touched / 1024,
                "target": next(targets, None),
                "writes": [list(kind) for kind in entry["writes"]] or writes,
            },
            indices,
        )

    def _link(self, part: SystemPartition) -> Entry | None:
        link = self.scenario["link"]
        if link is None or not (part.relocations or part.arrivals or part.system in link["members"]):
            return None
        systems = [other.system for other in self.parts if other.zvm]
        for name in link["members"]:
            if name not in systems:
                raise self.scenario.problem.unknown("link.members", name, systems)
        others = {one["to"] for one in part.relocations} | {
            other.system
            for other in self.parts
            if other.system in link["members"] or any(one["to"] == part.system for one in other.relocations)
        }
        others.discard(part.system)
        rate, _, _, _ = relocation_link.link(self.scenario)
        # A message carries what one start of a CTC device does.
        by_mib = link["message"] / 1000 * relocation_link.MB_IN_MIB / isfc.mb_per_ssch()
        return lower_table(
            LINK,
            link,
            {
                "rate_mib": rate,
                "devices": relocation_link.numbers(self.scenario),
                "cpu_ms": link["cpu"] + by_mib,
                "receive_ms": link["receive"] + by_mib,
                # Each is sent by one member, and received by another.
                "cluster_us": 2 * link["messages"] * link["message"] * len(others),
                "members": [name for name in link["members"] if name != part.system],
            },
        )

    def _control_unit(self, entry: Entry, index: int) -> Entry:
        shares = None
        if entry["minidisk_share"] is not None:
            shares = [entry["minidisk_share"], entry["paging_share"]]
        units, server = self.scenario["control_unit"], entry["server"]
        same = [entry] if server is None else [one for one in units if one["server"] == server]
        if len({one["ranks"] for one in same}) > 1:
            what = f"control_unit.{entry['name']}.ranks differs from that of others of {server}"
            raise self.scenario.error(what, "use the same for each")
        # Control units of one storage server have the number of the first.
        first = units.index(same[0])
        ssid = index + 1 if entry["ssid"] is None else entry["ssid"]
        return lower_table(CONTROL_UNIT, entry, {"ssid": ssid, "shares": shares, "server": first})

    def _volumes(self, part: SystemPartition, indices: Indices) -> list[Entry]:
        used = {volume["device"] for volume in part.volumes}
        numbers = (number for number in range(_FIRST_DEVICE, 0x10000) if number not in used)
        lowered = []
        for volume in part.volumes:
            device = _free_device_number(numbers) if volume["device"] is None else volume["device"]
            shared = self.shared_volumes.get(_shared_name(part, volume))
            lowered.append(lower_table(VOLUME, volume, {"device": device, "shared": shared}, indices))
        return lowered

    def _commands(self, part: SystemPartition, indices: Indices) -> list[Entry]:
        commands = sorted(part.commands, key=lambda command: float(command["at"]))
        return [lower_table(COMMAND, one, {"action": self._action(part, one, indices)}) for one in commands]

    def _action(self, part: SystemPartition, command: Entry, indices: Indices) -> Entry:
        action = command["do"].replace(" ", "_")
        computed: Entry = {}
        if action == "set_share":
            computed["share"] = _share(command["relative"], command["absolute"])
        elif action == "set_srm_excessuse":
            cp = self.table(CP, self.scenario["cp"], "cp")
            computed["excess_pct"] = _excess(cp, command["excessuse"])
        elif action == "set_cu":
            computed["shares"] = [command["minidisk_share"], command["paging_share"]]
        elif action == "set_weight":
            computed["weights"] = self.shares.after(command)
        elif action == "set_cap":
            computed["partition"] = self.parts.index(part)
        if command["type"] is not None:
            computed["kind"] = self.kind[command["type"]]
        return {action: lower_table(COMMAND, command, computed, indices, f"action.{action}.")}


def _costs(cp: Entry) -> Entry:
    """Return the costs of what CP does for users: all 0 if the scenario has none."""
    costs = cp["costs"] or dict.fromkeys((key.name for key in COSTS.keys), 0.0)
    cipher = None if cp["encryption"] == "OFF" else cp["encryption"].lower()
    return lower_table(
        COSTS,
        costs,
        {f"{do}_us": 0.0 if cipher is None else costs[f"{do}_{cipher}"] for do in ("encrypt", "decrypt")},
    )


#: Its virtual CPUs have a processor each, so the ends of slices would change nothing.
_NO_COST = {"dispatch_user": 0.0, "dispatch_system": 0.0, "lock_hold": 0.0, "parking": False, "slice": 1e4}


def _places(entries: Sequence[Entry]) -> dict[str, int]:
    return {entry["name"]: index for index, entry in enumerate(entries)}


def _shared_volumes(parts: Sequence[SystemPartition]) -> dict[tuple[str, str] | None, int]:
    """Return the numbers of volumes of storage servers that several systems have."""
    names = Counter(_shared_name(part, volume) for part in parts for volume in part.volumes)
    shared = [name for name, count in names.items() if name is not None and count > 1]
    return {name: number for number, name in enumerate(shared)}


def _shared_name(part: SystemPartition, volume: Entry) -> tuple[str, str] | None:
    """Return storage server and name of a volume; None for volumes of one system."""
    servers = {one["name"]: one["server"] for one in part.control_units}
    server = servers[volume["control_unit"]]
    return None if server is None else (server, volume["name"])


def _free_device_number(numbers: Iterator[int]) -> int:
    number = next(numbers, None)
    if number is None:
        expected = f"at most {0x10000 - _FIRST_DEVICE:,} volumes"
        raise ScenarioError("there are more volumes than device numbers", expected=expected)
    return number


def _excess(cp: Entry, setting: str) -> float | None:
    """Return the part of the excess that a setting of EXCESSUSE takes, in percent; None for NONE."""
    return None if setting == "NONE" else float(cp[f"excessuse_{setting.lower()}"])


def _share(relative: int | None, absolute: float | None) -> dict[str, Any]:
    return {"relative": relative} if relative is not None else {"absolute": absolute}


def _demands(user: Entry, *, transactions: bool) -> list[float | None]:
    """Return the demand of each virtual CPU in percent; None is unlimited."""
    dedicated, sharing = user["dedicated"], user["virtual_cpus"] - user["dedicated"]
    free = 0.0 if transactions else None
    if user["demands"] is not None:
        own: list[float | None] = [_cap_demand(demand) for demand in user["demands"]]
    elif user["demand"] is not None and sharing:
        own = [_cap_demand(user["demand"] / sharing)] * sharing
    else:
        own = [free] * sharing
    own = [free] * dedicated + own
    # One entry represents all.
    return own[:1] if len(set(own)) == 1 else own


def _cap_demand(demand: float) -> float | None:
    return None if demand >= 100 else demand


def _loads(part: SystemPartition) -> list[Entry]:
    """Return a user of each type that uses the demand of a partition without users."""
    users = []
    for entry in part.cores:
        demand = math.inf if entry["demand"] is None else entry["demand"] / entry["cores"]
        users.append(
            {
                **USER.defaults,
                "name": f"USE{entry['type']}",
                "type": entry["type"],
                "virtual_cpus": entry["cores"] if entry["unparked"] is None else entry["unparked"],
                "demand": None if demand >= 1 else 100 * entry["demand"],
                "relative": 100,
                "load": part.common_entry("load"),
            }
        )
    return users


def _transaction(entry: Entry, indices: Indices) -> Entry:
    steps = [_step(step, indices) for step in entry["step"]]
    return lower_table(TRANSACTION, entry, {"steps": steps}, indices)


def _step(step: Entry, indices: Indices) -> Entry:
    action = next((name for name in ("cpu", "io") if step[name] is not None), "delay")
    computed = {} if action == "delay" else {"users": [indices["user"][name] for name in users_of(step)]}
    return {action: lower_table(STEP, step, computed, indices, f"{action}.")}
