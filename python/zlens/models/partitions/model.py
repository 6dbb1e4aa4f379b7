"""Partitions of a machine: what PR/SM entitles each to, what it gets, what holds it, and how its cores stand.

The arithmetic and its sources are in prsm.py, the limits of z/VM in zvm_limits.py, rows of tables in
partition_tables.py. Amounts are in cores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from zlens.catalog import processor_types
from zlens.models.answer import Answer, Figure
from zlens.models.partitions import prsm, tables, zvm_limits
from zlens.models.partitions.prsm import Claim
from zlens.models.partitions.tables import NOTHING, Member, Pool
from zlens.models.scenario import Scenario
from zlens.present.charts import Chart, Series
from zlens.schema.kinds import Choice, Flag, Integer, Key, Line, Many, Named, Number, Spec

SUMMARY = (
    "PR/SM partitions: weights, caps, entitlement, excess, polarity of cores, vertical-lows, z/VM's limits"
)

TYPES = processor_types.modeled()
_CORES = Number(0, 1000)

_PARTITION = Spec(
    (
        Key("name", Line(), "name of the partition; once for each of its types"),
        Key("type", Choice(TYPES), "type of its cores", default="CP"),
        Key("cores", Integer(1, 1000), "logical cores that are online"),
        Key("weight", Integer(1, 999), "processing weight; none where dedicated", default=None),
        Key("dedicated", Flag(), "its cores are its own", default=False),
        Key(
            "polarization",
            Choice(("vertical", "horizontal")),
            "how its weight is spread over its logical cores",
            default="vertical",
        ),
        Key(
            "demand",
            _CORES,
            "what it would use if nothing held it; left out: all it can get",
            "cores",
            default=None,
        ),
        Key("unparked", Integer(1, 1000), "cores it uses, high ones first; left out: all", default=None),
        Key("capped", Flag(), "initial capping: never more than its weight gives", default=False),
        Key("absolute_cap", Number(0, 1000, above=True), "absolute capping", "cores", default=None),
        Key("group", Line(), "its group of absolute group capping", default=None),
        Key("defined_capacity", Number(0, above=True), "defined capacity of z/OS", "MSU", default=None),
        Key("capacity_group", Line(), "its group of z/OS group capacity", default=None),
        Key("zvm", Choice(zvm_limits.releases()), "release of z/VM that runs in it", default=None),
        Key("mode", Choice(zvm_limits.modes()), "mode of the partition, for z/VM", default="z/VM"),
        Key("smt", Choice(zvm_limits.SMT), "multithreading, for z/VM", default="non-SMT"),
    )
)

_GROUP = Spec(
    (
        Key("name", Line(), "name of the group"),
        Key("type", Choice(TYPES), "type of cores it limits", default="CP"),
        Key("absolute_cap", _CORES, "absolute group capping", "cores", default=None),
        Key("capacity", Number(0), "group capacity of z/OS", "MSU", default=None),
    )
)

_PHYSLOG = Spec(
    (
        Key("type", Choice(TYPES), "type of cores", default="CP"),
        Key("lgclc", Number(0), "%LgclC: what partitions used themselves", "% of one core"),
        Key("ovrhd", Number(0), "%Ovrhd: what PR/SM used for them", "% of one core"),
        Key("lpmgt", Number(0), "%LPmgt: what PR/SM used for itself", "% of one core"),
    )
)

SPEC = Spec(
    (
        Key("processors", Named(Integer(0, 1000)), "physical cores of each type, dedicated ones included"),
        Key("partition", Many(_PARTITION, least=1), "a partition's cores of one type"),
        Key("group", Many(_GROUP), "a group of partitions", default=[]),
        Key(
            "physlog",
            Many(_PHYSLOG),
            "a line of FCX302 PHYSLOG; its %LPmgt is taken from what partitions can have",
            default=[],
        ),
        Key("msu_per_core", Number(0, above=True), "MSU that one core of type CP is rated at", default=None),
        Key(
            "integer_entitlement",
            Choice(prsm.INTEGER_RULES),
            "polarity of a partition entitled to whole cores",
            constant="integer_entitlement",
        ),
        Key(
            "run_time_longest",
            Number(1, 1000),
            "run time where there are no more logical than physical cores",
            "ms",
            constant="run_time_longest",
        ),
        Key(
            "crowded_from",
            Number(0, 1000),
            "too many cores that are not vertical-high: for each physical one they can have",
            constant="crowded_from",
        ),
    )
)

EXAMPLE = """\
# A machine with two pools of cores: what is each partition entitled to, and what does it get?
model = "partitions"
title = "Six CPs and 86 IFLs"

[processors]                 # physical cores by type: CP, IFL, ZIIP, ICF
CP = 6
IFL = 86

[[partition]]
name = "PROD"
cores = 5
weight = 600
absolute_cap = 4.5           # cores

[[partition]]
name = "TEST"
cores = 3
weight = 300
capped = true                # initial capping: never more than its weight gives
group = "NONPROD"

[[partition]]
name = "DEVEL"
cores = 2
weight = 100
polarization = "horizontal"
demand = 0.3                 # cores; left out: whatever it can get
group = "NONPROD"

[[group]]
name = "NONPROD"
absolute_cap = 2.0           # absolute group capping, cores

[[partition]]
name = "ZVM1"
type = "IFL"
cores = 12
weight = 344
zvm = "7.4"                  # prints how it stands to the limits of z/VM
smt = "SMT-2"

[[partition]]
name = "ZVM2"
type = "IFL"
cores = 24
weight = 989
demand = 14

[[partition]]
name = "ZVM3"
type = "IFL"
cores = 24
weight = 989
demand = 21

[[partition]]
name = "ZVM4"
type = "IFL"
cores = 28
weight = 989

[[partition]]
name = "ZVM5"
type = "IFL"
cores = 28
weight = 989
unparked = 20                # cores it uses: vertical-lows parked
"""


def solve(scenario: Scenario) -> Answer:
    """Solves each type of core for itself."""
    _together(scenario)
    pools = [
        _pool(scenario, kind, own)
        for kind in TYPES
        if (own := [one for one in scenario["partition"] if one["type"] == kind])
    ]
    several = {
        name for name, count in Counter(one["name"] for one in scenario["partition"]).items() if count > 1
    }
    members = [(pool, member) for pool in pools for member in pool.members]
    shown = {id(one): tables.called(one, several) for _, one in members}
    rows = [tables.partition_row(shown[id(one)], pool, one) for pool, one in members]
    found = [
        tables.partitions(rows),
        tables.polarization(
            [tables.polarity_row(shown[id(one)], one) for _, one in members],
        ),
        tables.machine(
            [tables.machine_row(pool, scenario["run_time_longest"]) for pool in pools],
        ),
    ]
    bands = [tables.band_row(shown[id(one)], pool, one) for pool, one in members if one.claim]
    if bands:
        found.append(tables.bands(bands))
    capacities = tables.capacity_rows(scenario["group"], pools, scenario["msu_per_core"], shown)
    if capacities:
        found.append(tables.capacities(capacities))
    limits = tables.zvm_rows(scenario["partition"])
    if limits:
        found.append(tables.zvm(limits))
    if scenario["physlog"]:
        found.append(tables.physlog(scenario["physlog"]))
    chart = Chart(
        "Entitled and used",
        "bars",
        [str(row[0]) for row in rows],
        (
            Series("entitled", [_number(row[5]) for row in rows]),
            Series("gets", [_number(row[9]) for row in rows]),
        ),
        "cores",
    )
    _assumptions(scenario, pools)
    return Answer(
        "partitions",
        scenario.title or "PR/SM partitions",
        found,
        [figure for pool in pools for figure in _figures(pool)],
        [chart],
        [*tables.notes(pools, shown, scenario["crowded_from"]), *tables.zvm_notes(limits)],
        follow=("partitions", "allocation"),
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _pool(scenario: Scenario, kind: str, own: Sequence[dict[str, Any]]) -> Pool:
    """Solves one type."""
    physical = scenario["processors"][kind]
    shared = physical - sum(one["cores"] for one in own if one["dedicated"])
    sharing = [one for one in own if not one["dedicated"]]
    entitled = prsm.entitlements(shared, [one["weight"] for one in sharing])
    of_group = {one["name"]: _limit(scenario, one) for one in scenario["group"] if one["type"] == kind}
    claims = [_claim(scenario, one, part) for one, part in zip(sharing, entitled, strict=True)]
    groups = {
        name: [at for at, one in enumerate(sharing) if name in (one["group"], one["capacity_group"])]
        for name in of_group
    }
    management = sum(one["lpmgt"] for one in scenario["physlog"] if one["type"] == kind) / 100
    capacity = max(0.0, shared - management)
    amounts = prsm.allocate(capacity, claims, [(groups[name], of_group[name]) for name in groups])
    held = _held(amounts, claims, [(name, groups[name], of_group[name]) for name in groups])
    at_shared = iter(range(len(sharing)))
    members = []
    for one in own:
        if one["dedicated"]:
            amount = min(one["demand"] if one["demand"] is not None else one["cores"], one["cores"])
            members.append(Member(one, None, float(one["cores"]), None, float(amount), "dedicated"))
            continue
        at = next(at_shared)
        claim, part, amount = claims[at], entitled[at], amounts[at]
        polarity = None
        if one["polarization"] == "vertical":
            polarity = prsm.vertical(part, one["cores"], scenario["integer_entitlement"])
        bound = _bound(claim, amount, held.get(at), shared=bool(capacity))
        members.append(Member(one, claim, part, polarity, amount, bound))
    return Pool(kind, physical, shared, capacity, members)


def _claim(scenario: Scenario, one: dict[str, Any], entitled: float) -> Claim:
    limits = []
    if one["capped"]:
        limits.append(("initial cap", entitled))
    if one["absolute_cap"] is not None:
        limits.append(("absolute cap", one["absolute_cap"]))
    if one["defined_capacity"] is not None:
        limits.append(("defined capacity", one["defined_capacity"] / scenario["msu_per_core"]))
    used = one["cores"] if one["unparked"] is None else one["unparked"]
    demand = float("inf") if one["demand"] is None else one["demand"]
    return Claim(float(one["weight"]), float(used), demand, tuple(limits))


def _limit(scenario: Scenario, group: dict[str, Any]) -> float:
    """Cores."""
    if group["absolute_cap"] is not None:
        return float(group["absolute_cap"])
    return float(group["capacity"] / scenario["msu_per_core"])


def _held(
    amounts: Sequence[float], claims: Sequence[Claim], groups: Sequence[tuple[str, Sequence[int], float]]
) -> dict[int, str]:
    """Who is held by a group: those that had risen highest of all in it when it was full."""
    found: dict[int, str] = {}
    for name, members, limit in groups:
        if not members or sum(amounts[at] for at in members) < limit - NOTHING:
            continue
        levels = {at: amounts[at] / claims[at].weight for at in members}
        highest = max(levels.values())
        for at, level in levels.items():
            if level >= highest - NOTHING:
                found.setdefault(at, f"group {name}")
    return found


def _bound(claim: Claim, amount: float, held: str | None, *, shared: bool) -> str:
    """What holds a partition: its own limits, the least first, then its groups; else its weight."""
    if not shared:
        return "no core"
    if amount >= claim.demand - NOTHING:
        return "demand"
    name, least = claim.least
    if amount >= least - NOTHING:
        return name
    return held or "weight"


def _figures(pool: Pool) -> list[Figure]:
    """What answers for a type as a whole."""
    key, kind = pool.kind.lower(), pool.kind
    used = pool.used
    figures = [
        Figure(f"used_{key}", used, "cores", f"{kind} used of what is shared"),
        Figure(f"idle_{key}", pool.capacity - used, "cores", f"{kind} idle of what is shared"),
    ]
    if pool.high or pool.others:
        left = pool.shared - pool.high
        figures += [
            Figure(f"high_{key}", float(pool.high), "cores", f"{kind} Vh in use", 0),
            Figure(f"not_high_{key}", float(pool.others), "cores", f"{kind} not Vh in use", 0),
            Figure(f"left_{key}", float(left), "cores", f"{kind} cores no Vh holds", 0),
            Figure(f"crowding_{key}", pool.crowding, "", f"{kind} not Vh per such core", 1),
        ]
    return figures


def _assumptions(scenario: Scenario, pools: Sequence[Pool]) -> None:
    """Only what made a difference is said."""
    members = [member for pool in pools for member in pool.members if member.claim]
    if not any(member.polarity and prsm.is_whole(member.entitled) for member in members):
        scenario.unused("integer_entitlement")
    if not members:
        scenario.unused("run_time_longest")
    if not any(pool.others for pool in pools):
        scenario.unused("crowded_from")
    if any(member.polarity for member in members):
        scenario.assume("vertical_bands")


def _together(scenario: Scenario) -> None:
    """Keys that are each right, but not together."""
    wrong = scenario.problem.wrong
    partitions, groups, processors = scenario["partition"], scenario["group"], scenario["processors"]
    for what, entries in (("partition", partitions), ("group", groups)):
        seen: set[tuple[str, str]] = set()
        for one in entries:
            pair = (one["name"], one["type"])
            if pair in seen:
                raise wrong(
                    f"{what} {pair[0]} is there twice with type {pair[1]}", "give each a name of its own"
                )
            seen.add(pair)
    known = {(group["name"], group["type"]): group for group in groups}
    by_name: dict[str, list[dict[str, Any]]] = {}
    for one in partitions:
        by_name.setdefault(one["name"], []).append(one)
    for one in partitions:
        _partition(scenario, one, known, by_name[one["name"]])
    for group in groups:
        here = f"group.{group['name']}"
        if (group["absolute_cap"] is None) == (group["capacity"] is None):
            raise wrong(f"{here} has no limit or two", "write absolute_cap = 2.5, or capacity = 100")
        if group["capacity"] is not None and group["type"] != "CP":
            raise wrong(f"{here} has a group capacity, which z/OS has for CPs only", "write absolute_cap")
    in_msu = [one for one in (*partitions, *groups) if _in_msu(one)]
    if in_msu and scenario["msu_per_core"] is None:
        raise wrong(
            f"{in_msu[0]['name']} has a limit in MSU, and nothing says what a core is worth",
            "add msu_per_core = 150, the rating of the machine divided by its CPs",
        )
    for kind, number in processors.items():
        if kind not in TYPES:
            raise wrong(f"processors.{kind} is no type of processor", f"write one of {', '.join(TYPES)}")
        taken = sum(
            partition["cores"]
            for partition in partitions
            if partition["type"] == kind and partition["dedicated"]
        )
        if taken > number:
            raise wrong(
                f"{taken} cores of type {kind} are dedicated, and there are {number}", "dedicate fewer"
            )
    for kind in {partition["type"] for partition in partitions} - set(processors):
        raise wrong(f"processors has no {kind}, and a partition has cores of that type",
                    f"add {kind} = 0 or more to [processors]")  # fmt: skip
    kinds = [one["type"] for one in scenario["physlog"]]
    for kind in {kind for kind in kinds if kinds.count(kind) > 1}:
        raise wrong(f"physlog has two lines for {kind}", "keep one of them")


def _in_msu(one: dict[str, Any]) -> bool:
    return any(one.get(key) is not None for key in ("defined_capacity", "capacity"))


def _partition(
    scenario: Scenario,
    one: dict[str, Any],
    known: dict[tuple[str, str], dict[str, Any]],
    same: list[dict[str, Any]],
) -> None:
    wrong = scenario.problem.wrong
    here = f"partition.{one['name']}"
    if one["dedicated"] == (one["weight"] is not None):
        what = "dedicated and has a weight" if one["dedicated"] else "shared and has no weight"
        raise wrong(f"{here} is {what}",
                    "write weight = 100, or dedicated = true")  # fmt: skip
    only_shared = ("unparked", "absolute_cap", "group", "defined_capacity", "capacity_group")
    for key in only_shared:
        if one["dedicated"] and one[key] is not None:
            raise wrong(f"{here}.{key} is there, and its cores are dedicated", f"leave {key} out")
    if one["dedicated"] and one["capped"]:
        raise wrong(f"{here}.capped is true, and its cores are dedicated", "leave capped out")
    if one["unparked"] is not None and one["unparked"] > one["cores"]:
        raise wrong(f"{here}.unparked is more than its cores", "make it less")
    if one["unparked"] is not None and one["polarization"] == "horizontal":
        raise wrong(f"{here}.unparked is there, and it is horizontal", 'write polarization = "vertical"')
    for key, limit in (("group", "absolute_cap"), ("capacity_group", "capacity")):
        group = known.get((one[key], one["type"]))
        if one[key] is not None and (group is None or group[limit] is None):
            raise wrong(f"{here}.{key} is {one[key]}, and there is no such group of type {one['type']}",
                        f"add [[group]] with that name and type, and {limit}")  # fmt: skip
    if one["type"] != "CP" and one["defined_capacity"] is not None:
        raise wrong(f"{here}.defined_capacity is there, and z/OS has it for CPs only", "write absolute_cap")
    if one["smt"] != "non-SMT" and one["polarization"] == "horizontal":
        raise wrong(f"{here}.smt is {one['smt']}, and it is horizontal",
                    "write polarization = \"vertical\": z/VM has multithreading only with that")  # fmt: skip
    if one["smt"] != "non-SMT" and one["zvm"] is None:
        raise wrong(f"{here}.smt is there without a release of z/VM", 'add zvm = "7.4"')
    others = [other for other in same if other["zvm"] is not None] if one["zvm"] is not None else []
    for key in ("zvm", "mode", "smt"):
        if any(other[key] != one[key] for other in others):
            raise wrong(f"{here}.{key} is not the same for each of its types", "make it so")
    if len(others) > 1 and not zvm_limits.mode(one["mode"]).mixed:
        raise wrong(f"{here}.mode is {one['mode']}, and it has cores of several types", 'write mode = "z/VM"')
