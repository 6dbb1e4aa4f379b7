"""Partitions of a machine: entitlement by PR/SM, allocation, limits and polarity of cores.

The arithmetic and its sources are in prsm.py, the limits of z/VM in zvm_limits.py, rows of tables in
tables.py. Amounts are in cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from zlens.catalog import processor_types
from zlens.models.allocation import NEGLIGIBLE
from zlens.models.partitions import prsm, tables, zvm_limits
from zlens.models.partitions.prsm import Claim
from zlens.models.partitions.tables import PartitionMember, Pool
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.charts import Chart, ChartSeries

SUMMARY = (
    "PR/SM partitions: weights, caps, entitlement, excess, polarity of cores, vertical-lows, z/VM's limits"
)

TYPES = processor_types.modeled_types()


def solve(scenario: Scenario) -> Answer:
    """Solve each type of core separately."""
    check_combinations(scenario)
    partitions = scenario["partition"]
    of_types = {kind: [one for one in partitions if one["type"] == kind] for kind in TYPES}
    pools = [_pool(scenario, kind, entries) for kind, entries in of_types.items() if entries]
    result_tables = tables.answer_tables(scenario, pools)
    members = [member for pool in pools for member in pool.members]
    series = (
        ChartSeries("entitled", [float(member.entitled) for member in members]),
        ChartSeries("gets", [float(member.amount) for member in members]),
    )
    chart = Chart("Entitled and used", "bars", [member.shown for member in members], series, "cores")
    _assumptions(scenario, pools)
    limits = [row for table in result_tables if table.key == "zvm" for row in table.rows]
    return Answer(
        "partitions",
        scenario.title or "PR/SM partitions",
        result_tables,
        [figure for pool in pools for figure in _figures(pool)],
        [chart],
        [*tables.notes(pools, scenario["crowded_from"]), *tables.zvm_notes(limits)],
        follow=("partitions", "allocation"),
    )


def _pool(scenario: Scenario, kind: str, type_partitions: Sequence[dict[str, Any]]) -> Pool:
    """Solve one type of core."""
    physical = scenario["processors"][kind]
    shared = physical - sum(partition["cores"] for partition in type_partitions if partition["dedicated"])
    sharing = [partition for partition in type_partitions if not partition["dedicated"]]
    entitled = prsm.entitlements(shared, [partition["weight"] for partition in sharing])
    claims = [_claim(scenario, partition, part) for partition, part in zip(sharing, entitled, strict=True)]
    groups = []
    for group in scenario["group"]:
        if group["type"] == kind:
            name = group["name"]
            of_group = [n for n, one in enumerate(sharing) if name in (one["group"], one["capacity_group"])]
            groups.append((name, of_group, group_limit(scenario, group)))
    management = sum(line["lpmgt"] for line in scenario["physlog"] if line["type"] == kind) / 100
    capacity = max(0.0, shared - management)
    amounts = prsm.allocate(capacity, claims, [(inside, limit) for _, inside, limit in groups])
    group_bounds = _group_bounds(amounts, claims, groups)
    times = Counter(partition["name"] for partition in scenario["partition"])
    at_shared = iter(range(len(sharing)))
    members = []
    for partition in type_partitions:
        name, cores = partition["name"], partition["cores"]
        shown = f"{name} {kind}" if times[name] > 1 else name
        if partition["dedicated"]:
            amount = float(min(cores if partition["demand"] is None else partition["demand"], cores))
            members.append(PartitionMember(shown, partition, None, float(cores), None, amount, "dedicated"))
            continue
        index = next(at_shared)
        claim, part, amount = claims[index], entitled[index], amounts[index]
        polarity = None
        if partition["polarization"] == "vertical":
            polarity = prsm.vertical(part, cores, scenario["integer_entitlement"])
        bound = _bound(claim, amount, group_bounds.get(index), shared=bool(capacity))
        members.append(PartitionMember(shown, partition, claim, part, polarity, amount, bound))
    return Pool(kind, physical, shared, capacity, members)


def _claim(scenario: Scenario, partition: dict[str, Any], entitled: float) -> Claim:
    used = partition["cores"] if partition["unparked"] is None else partition["unparked"]
    demand = float("inf") if partition["demand"] is None else partition["demand"]
    limits = prsm.own_limits(partition, entitled, scenario["msu_per_core"])
    return Claim(float(partition["weight"]), float(used), demand, limits)


def group_limit(scenario: Scenario, group: dict[str, Any]) -> float:
    """Return the limit of a group, in cores."""
    if group["absolute_cap"] is not None:
        return float(group["absolute_cap"])
    return float(group["capacity"] / scenario["msu_per_core"])


def _group_bounds(
    amounts: Sequence[float], claims: Sequence[Claim], groups: Sequence[tuple[str, Sequence[int], float]]
) -> dict[int, str]:
    """Return the partitions limited by a group: its members at the highest level when it is full."""
    bounds: dict[int, str] = {}
    for name, members, limit in groups:
        if not members or sum(amounts[index] for index in members) < limit - NEGLIGIBLE:
            continue
        levels = {index: amounts[index] / claims[index].weight for index in members}
        highest = max(levels.values())
        for index, level in levels.items():
            if level >= highest - NEGLIGIBLE:
                bounds.setdefault(index, f"group {name}")
    return bounds


def _bound(claim: Claim, amount: float, by_group: str | None, *, shared: bool) -> str:
    """Return what limits a partition: its own lowest limit, then its groups, else its weight."""
    if not shared:
        return "no core"
    if amount >= claim.demand - NEGLIGIBLE:
        return "demand"
    name, lowest = claim.lowest_limit
    if amount >= lowest - NEGLIGIBLE:
        return name
    return by_group or "weight"


def _figures(pool: Pool) -> list[AnswerFigure]:
    """Return the figures of a type of core."""
    key, kind = pool.kind.lower(), pool.kind
    used = pool.used
    figures = [
        AnswerFigure(f"used_{key}", used, "cores", f"{kind} used of the shared cores"),
        AnswerFigure(f"idle_{key}", pool.capacity - used, "cores", f"{kind} idle of the shared cores"),
    ]
    if pool.high or pool.others:
        left = pool.shared - pool.high
        figures += [
            AnswerFigure(f"high_{key}", float(pool.high), "cores", f"{kind} Vh in use", 0),
            AnswerFigure(f"not_high_{key}", float(pool.others), "cores", f"{kind} not Vh in use", 0),
            AnswerFigure(f"left_{key}", float(left), "cores", f"{kind} cores not used by Vh", 0),
            AnswerFigure(f"crowding_{key}", pool.crowding, "", f"{kind} not Vh per such core", 1),
        ]
    return figures


def _assumptions(scenario: Scenario, pools: Sequence[Pool]) -> None:
    """Report only the assumptions that affect the answer."""
    members = [member for pool in pools for member in pool.members if member.claim]
    if not any(member.polarity and prsm.is_integer(member.entitled) for member in members):
        scenario.unused("integer_entitlement")
    if not members:
        scenario.unused("run_time_longest")
    if not any(pool.others for pool in pools):
        scenario.unused("crowded_from")
    if any(member.polarity for member in members):
        scenario.assume("vertical_bands")


def check_combinations(scenario: Scenario) -> None:
    """Raise an error for valid keys that contradict each other."""
    error = scenario.error
    partitions, groups, processors = scenario["partition"], scenario["group"], scenario["processors"]
    for entry_kind, entries in (("partition", partitions), ("group", groups)):
        for (name, kind), count in Counter((entry["name"], entry["type"]) for entry in entries).items():
            if count > 1:
                raise error(f"{entry_kind} {name} is given twice with type {kind}", "use unique names")
    group_by_key = {(group["name"], group["type"]): group for group in groups}
    by_name: dict[str, list[dict[str, Any]]] = {}
    for entry in partitions:
        by_name.setdefault(entry["name"], []).append(entry)
    for entry in partitions:
        _check_partition(scenario, entry, group_by_key, by_name[entry["name"]])
    for group in groups:
        path = f"group.{group['name']}"
        if (group["absolute_cap"] is None) == (group["capacity"] is None):
            raise error(f"{path} needs exactly one limit", "write absolute_cap = 2.5, or capacity = 100")
        if group["capacity"] is not None and group["type"] != "CP":
            what = f"{path} has a group capacity, which z/OS supports for CPs only"
            raise error(what, "write absolute_cap")
    keys = ("defined_capacity", "capacity")
    entries = (*partitions, *groups)
    in_msu = [entry for entry in entries if any(entry.get(key) is not None for key in keys)]
    if in_msu and scenario["msu_per_core"] is None:
        raise error(
            f"{in_msu[0]['name']} has a limit in MSU, but the rating of a core is missing",
            "add msu_per_core = 150, the rating of the machine divided by its CPs",
        )
    for kind, number in processors.items():
        if kind not in TYPES:
            raise error(f"processors.{kind} is not a processor type", f"write one of {', '.join(TYPES)}")
        taken = sum(one["cores"] for one in partitions if one["type"] == kind and one["dedicated"])
        if taken > number:
            raise error(f"{taken} {kind} cores are dedicated, but only {number} exist", "dedicate fewer")
    for kind in {partition["type"] for partition in partitions} - set(processors):
        raise error(f"processors has no {kind}, but a partition has cores of that type",
                    f"add {kind} = 0 or more to [processors]")  # fmt: skip
    kinds = [line["type"] for line in scenario["physlog"]]
    for kind in {kind for kind in kinds if kinds.count(kind) > 1}:
        raise error(f"physlog has two lines for {kind}", "keep one of them")


def _check_partition(
    scenario: Scenario,
    partition: dict[str, Any],
    groups: dict[tuple[str, str], dict[str, Any]],
    same: list[dict[str, Any]],
) -> None:
    error = scenario.error
    path = f"partition.{partition['name']}"
    if partition["dedicated"] == (partition["weight"] is not None):
        state = "dedicated but has a weight" if partition["dedicated"] else "shared but has no weight"
        raise error(f"{path} is {state}",
                    "write weight = 100, or dedicated = true")  # fmt: skip
    only_shared = ("unparked", "absolute_cap", "group", "defined_capacity", "capacity_group")
    for key in only_shared:
        if partition["dedicated"] and partition[key] is not None:
            raise error(f"{path}.{key} is given, but its cores are dedicated", f"leave {key} out")
    if partition["dedicated"] and partition["capped"]:
        raise error(f"{path}.capped is true, but its cores are dedicated", "leave capped out")
    if partition["unparked"] is not None and partition["unparked"] > partition["cores"]:
        raise error(f"{path}.unparked exceeds its cores", "reduce it")
    if partition["unparked"] is not None and partition["polarization"] == "horizontal":
        what = f"{path}.unparked is given, but the partition is horizontal"
        raise error(what, 'write polarization = "vertical"')
    for key, limit in (("group", "absolute_cap"), ("capacity_group", "capacity")):
        group = groups.get((partition[key], partition["type"]))
        if partition[key] is not None and (group is None or group[limit] is None):
            raise error(
                f"{path}.{key} is {partition[key]}, but there is no such group of type {partition['type']}",
                f"add [[group]] with that name and type, and {limit}",
            )
    if partition["type"] != "CP" and partition["defined_capacity"] is not None:
        what = f"{path}.defined_capacity is given, but z/OS supports it for CPs only"
        raise error(what, "write absolute_cap")
    if partition["smt"] != "non-SMT" and partition["polarization"] == "horizontal":
        raise error(f"{path}.smt is {partition['smt']}, but the partition is horizontal",
                    "write polarization = \"vertical\": z/VM requires it for multithreading")  # fmt: skip
    if partition["smt"] != "non-SMT" and partition["zvm"] is None:
        raise error(f"{path}.smt needs a release of z/VM", 'add zvm = "7.4"')
    others = [peer for peer in same if peer["zvm"] is not None] if partition["zvm"] is not None else []
    for key in ("zvm", "mode", "smt"):
        if any(peer[key] != partition[key] for peer in others):
            raise error(f"{path}.{key} differs between its types", "use the same value for each")
    if len(others) > 1 and not zvm_limits.mode(partition["mode"]).mixed:
        what = f"{path}.mode is {partition['mode']}, but the partition has cores of several types"
        raise error(what, 'write mode = "z/VM"')
