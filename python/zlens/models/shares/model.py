"""CP shares: entitlement, allocation and limit of each z/VM user.

Source of the rules: IBM, z/VM CP Commands and Utilities Reference, SET SHARE and DEFINE CPUPOOL; "z/VM 6.4
Performance" (the scheduler's test cases). Amounts are percent of one logical processor.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from zlens.catalog import processor_types
from zlens.models.allocation import NEGLIGIBLE, CapGroup, group_fill
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries

SUMMARY = "CP shares, limits and CPU pools: entitlement, allocation and what limits each user"

TYPES = processor_types.modeled_types()


class ShareUser(Struct, frozen=True):
    """A user of one type of processor. demands: percent of one processor for each undedicated virtual CPU."""

    name: str
    demands: tuple[float, ...]
    relative: float | None = None
    absolute: float | None = None
    limit: str = "none"
    maximum_relative: float | None = None
    maximum_absolute: float | None = None
    pool: str | None = None


class Share(Struct, frozen=True):
    """Result for a user, percent of one processor; normalized: percent of everything scheduled."""

    normalized: float
    entitlement: float
    limit: float | None
    allocation: float
    bound_by: str


def allocate(
    processors: float,
    users: Sequence[ShareUser],
    pools: dict[str, float] | None = None,
    *,
    absolute_at_most: float,
) -> list[Share]:
    """Allocate the processors of one type to their users.

    processors       shared logical processors
    pools            limit of each CPU pool, percent of one processor
    absolute_at_most total to which absolute shares are scaled down if they sum to more, percent

    A user's share is split evenly over its virtual CPUs, each of which rises with its part and stops at
    one processor, at its demand, or when a limit of the user or of its pool is reached.
    """
    capacity = 100.0 * processors
    normal = normalized(users, absolute_at_most)
    maxima = _maxima(users, absolute_at_most)
    limits = [None if part is None else capacity * part for part in maxima]
    weights: list[float] = []
    caps: list[float] = []
    inside: list[slice] = []
    for user, part in zip(users, normal, strict=True):
        first = len(weights)
        weights += [part / len(user.demands)] * len(user.demands)
        caps += [min(demand, 100.0) for demand in user.demands]
        inside.append(slice(first, len(weights)))
    fill = partial(_fill, capacity, users, weights, caps, inside, limits, pools or {})
    allocated = fill(soft=True)
    if any(user.limit == "soft" for user in users) and sum(allocated) < capacity - NEGLIGIBLE:
        # Capacity that no other user can use goes to users with soft limits; the others are unchanged.
        allocated = fill(soft=False, floor=allocated)
    sums = [sum(allocated[virtual_cpus]) for virtual_cpus in inside]
    is_full = sum(sums) >= capacity - NEGLIGIBLE
    full_pools = _full_pools(users, sums, pools or {})
    shares = []
    for user, virtual_cpus, part, limit, amount in zip(users, inside, normal, limits, sums, strict=True):
        bound = "no processor"
        if processors:
            bound = _bound(user, amount, sum(caps[virtual_cpus]), limit, is_full, full_pools)
        shares.append(Share(100.0 * part, capacity * part, limit, amount, bound))
    return shares


def normalized(users: Sequence[ShareUser], absolute_at_most: float) -> list[float]:
    """Return shares as parts of 1: absolute ones as given or scaled down, relative ones of the remainder."""
    absolute = sum(user.absolute or 0.0 for user in users)
    relative = sum(user.relative or 0.0 for user in users)
    scale, rest = _scale(absolute, relative, absolute_at_most)
    return [
        user.absolute / 100 * scale if user.absolute is not None else rest * (user.relative or 0.0) / relative
        for user in users
    ]


def _scale(absolute: float, relative: float, absolute_at_most: float) -> tuple[float, float]:
    """Return the factor for absolute shares (sum in percent), and the part of 1 left for relative ones."""
    allowed = absolute_at_most / 100 if relative else 1.0
    scale = allowed / (absolute / 100) if absolute / 100 > allowed else 1.0
    return scale, 1.0 - absolute / 100 * scale


def _maxima(users: Sequence[ShareUser], absolute_at_most: float) -> list[float | None]:
    """Return maximum shares as parts of 1; a relative maximum counts as a share of that size would."""
    absolute = sum(user.absolute or 0.0 for user in users)
    relative = sum(user.relative or 0.0 for user in users)
    maxima: list[float | None] = []
    for user in users:
        if user.limit == "none":
            maxima.append(None)
        elif user.maximum_absolute is not None:
            maxima.append(user.maximum_absolute / 100)
        else:
            maximum = user.maximum_relative or 0.0
            others = relative - (user.relative or 0.0)
            _, rest = _scale(absolute - (user.absolute or 0.0), others + maximum, absolute_at_most)
            maxima.append(rest * maximum / (others + maximum))
    return maxima


def _fill(
    capacity: float,
    users: Sequence[ShareUser],
    weights: Sequence[float],
    caps: Sequence[float],
    inside: Sequence[slice],
    limits: Sequence[float | None],
    pools: dict[str, float],
    *,
    soft: bool,
    floor: Sequence[float] | None = None,
) -> list[float]:
    """Return the allocation of each virtual CPU. soft: enforce soft limits, too; floor: minimum amounts."""
    floors = floor or [0.0] * len(caps)
    groups: list[CapGroup] = []
    members: dict[str, list[int | CapGroup]] = {}
    used = dict.fromkeys(pools, 0.0)
    for user, virtual_cpus, limit in zip(users, inside, limits, strict=True):
        own: list[int | CapGroup] = [*range(virtual_cpus.start, virtual_cpus.stop)]
        floor_sum = sum(floors[virtual_cpus])
        if limit is not None and (soft or user.limit == "hard"):
            own = [CapGroup(tuple(own), max(0.0, limit - floor_sum))]
        if user.pool in pools:
            members.setdefault(user.pool or "", []).extend(own)
            used[user.pool or ""] += floor_sum
        else:
            groups += (group for group in own if isinstance(group, CapGroup))
    for name, of_pool in members.items():
        groups.append(CapGroup(tuple(of_pool), max(0.0, pools[name] - used[name])))
    if floor is None:
        return group_fill(capacity, weights, caps, groups)
    headroom = [max(0.0, cap - has) for cap, has in zip(caps, floors, strict=True)]
    extra = group_fill(max(0.0, capacity - sum(floors)), weights, headroom, groups)
    return [has + extra for has, extra in zip(floors, extra, strict=True)]


def _full_pools(users: Sequence[ShareUser], sums: Sequence[float], pools: dict[str, float]) -> set[str]:
    """Return the CPU pools whose members use the entire limit of the pool."""
    used = dict.fromkeys(pools, 0.0)
    for user, total in zip(users, sums, strict=True):
        if user.pool in used:
            used[user.pool or ""] += total
    return {name for name, limit in pools.items() if used[name] >= limit - NEGLIGIBLE}


def _bound(
    user: ShareUser,
    allocation: float,
    max_use: float,
    limit: float | None,
    is_full: bool,
    full_pools: set[str],
) -> str:
    """Return what limits a user: the first of demand, virtual CPUs, limit, pool that applies; else share."""
    if allocation >= max_use - NEGLIGIBLE:
        demand = sum(user.demands)
        return "virtual CPUs" if demand > max_use + NEGLIGIBLE else "demand"
    if limit is not None and user.limit == "hard" and allocation >= limit - NEGLIGIBLE:
        return "LIMITHARD"
    if user.pool in full_pools:
        return f"pool {user.pool}"
    if limit is not None and is_full and allocation <= limit + NEGLIGIBLE:
        return "LIMITSOFT" if allocation >= limit - NEGLIGIBLE else "share"
    return "share"


def solve(scenario: Scenario) -> Answer:
    """Solve each type of processor separately."""
    users, pools = scenario["user"], scenario["pool"]
    check_combinations(scenario)
    rows: list[tuple[Any, ...]] = []
    figures: list[AnswerFigure] = []
    notes: list[str] = []
    scaled = False
    for kind in TYPES:
        of_kind = [user for user in users if user["type"] == kind]
        if not of_kind:
            continue
        dedicated = sum(user["dedicated"] for user in of_kind)
        processors = scenario["processors"][kind] - dedicated
        limits = {pool["name"]: _pool_limit(pool, processors) for pool in pools if pool["type"] == kind}
        sharing = [user for user in of_kind if user["dedicated"] < user["virtual_cpus"]]
        sharing_users = [_user(user) for user in sharing]
        shares = allocate(
            processors, sharing_users, limits, absolute_at_most=scenario["absolute_shares_at_most"]
        )
        by_user = {
            user["name"]: (solved, share)
            for user, solved, share in zip(sharing, sharing_users, shares, strict=True)
        }
        rows += [_row(user, *by_user.get(user["name"], (None, None))) for user in of_kind]
        used = sum(share.allocation for share in shares)
        idle = 100.0 * processors - used
        for state, amount in (("used", used), ("idle", idle)):
            text = f"{kind}: {state} of the shared processors"
            figures.append(AnswerFigure(f"{state}_{kind.lower()}", amount, "% of 1", text, 1))
        if sum(user["absolute"] or 0.0 for user in of_kind) > scenario["absolute_shares_at_most"]:
            scaled = True
        blocked = [row[0] for row in rows if row[1] == kind and row[-1] == "virtual CPUs"]
        if blocked and used < 100.0 * processors - NEGLIGIBLE:
            notes.append(
                f"{kind}: {idle:.1f}% of one processor is idle while {', '.join(blocked[:5])} would use "
                "more: a virtual CPU never has more than one logical processor"
            )
    table = answer_table("shares", "users", "Users", rows)
    series = (
        ChartSeries("entitled", [row[5] for row in rows]),
        ChartSeries("gets", [row[8] for row in rows]),
    )
    chart = Chart("Entitled and used", "bars", table.labels(), series, "% of one processor")
    if not scaled:
        scenario.unused("absolute_shares_at_most")
    if any(user["limit"] == "soft" for user in users):
        scenario.assume("soft_limits")
    title = scenario.title or "CP shares"
    return Answer("shares", title, [table], figures, [chart], notes, follow=("users", "allocation"))


def check_combinations(scenario: Scenario) -> None:
    """Raise an error for valid keys that contradict each other."""
    error = scenario.error
    users, pools = scenario["user"], scenario["pool"]
    entries = Counter((user["name"], user["type"]) for user in users)
    for (name, kind), count in entries.items():
        if count > 1:
            raise error(f"user {name} is given twice with type {kind}", "use unique names")
    by_name = {pool["name"]: pool for pool in pools}
    if len(by_name) < len(pools):
        raise error("two pools have the same name", "use unique names")
    for user in users:
        path = f"user.{user['name']}"
        if (user["relative"] is None) == (user["absolute"] is None):
            raise error(f"{path} needs exactly one share", "write relative = 100, or absolute = 5")
        maxima = [key for key in ("maximum_relative", "maximum_absolute") if user[key] is not None]
        if (user["limit"] == "none") != (not maxima) or len(maxima) > 1:
            raise error(f"{path} has a limit of {user['limit']} and {len(maxima)} maximum shares",
                        'write limit = "hard" or "soft" with one maximum share, or neither')  # fmt: skip
        if user["demand"] is not None and user["demands"] is not None:
            raise error(f"{path} has demand and demands", "keep one of them")
        if user["demands"] is not None and len(user["demands"]) != user["virtual_cpus"] - user["dedicated"]:
            raise error(f"{path}.demands has {len(user['demands'])} values", "set one for each virtual "
                        "CPU that is not dedicated")  # fmt: skip
        if user["dedicated"] > user["virtual_cpus"]:
            raise error(f"{path}.dedicated exceeds its virtual CPUs", "reduce it")
        pool = by_name.get(user["pool"])
        if user["pool"] is not None and (pool is None or pool["type"] != user["type"]):
            raise error(f"{path}.pool is {user['pool']}, but no pool of {user['type']}s has that name",
                        "add [[pool]] with that name and type")  # fmt: skip
    for pool in pools:
        if (pool["limithard"] is None) == (pool["capacity"] is None):
            what = f"pool.{pool['name']} needs exactly one limit"
            raise error(what, "write limithard = 50, or capacity = 1.5")
    for kind, number in scenario["processors"].items():
        if kind not in TYPES:
            raise error(f"processors.{kind} is not a processor type", f"write one of {', '.join(TYPES)}")
        taken = sum(user["dedicated"] for user in users if user["type"] == kind)
        if taken > number:
            what = f"{taken} {kind} processors are dedicated, but only {number:g} exist"
            raise error(what, "dedicate fewer")
    for kind in {user["type"] for user in users} - set(scenario["processors"]):
        raise error(f"processors has no {kind}, but a user has virtual CPUs of that type",
                    f"add {kind} = 0 or more to [processors]")  # fmt: skip


def _pool_limit(pool: dict[str, Any], processors: float) -> float:
    """Return the limit of a CPU pool, percent of one processor."""
    if pool["capacity"] is not None:
        return 100.0 * float(pool["capacity"])
    return math.inf if pool["limithard"] == 100 else float(pool["limithard"]) * processors


def _user(user: dict[str, Any]) -> ShareUser:
    sharing = user["virtual_cpus"] - user["dedicated"]
    # Without a demand it wants all it can get, at most one processor for each virtual CPU.
    demand = 100.0 if user["demand"] is None else user["demand"] / sharing
    demands = tuple(user["demands"] or [demand] * sharing)
    return ShareUser(**{name: user[name] for name in ShareUser.__struct_fields__} | {"demands": demands})


def _row(user: dict[str, Any], solved: ShareUser | None, share: Share | None) -> tuple[Any, ...]:
    of_its_own = 100.0 * user["dedicated"]
    share_text = f"REL {user['relative']}" if user["relative"] is not None else f"ABS {user['absolute']:g}%"
    subject = (user["name"], user["type"], user["virtual_cpus"])
    if solved is None or share is None:
        return (*subject, "dedicated", None, of_its_own, None, None, of_its_own, 0.0, 0.0, "dedicated")
    wanted = sum(min(demand, 100.0) for demand in solved.demands)
    stated_demand = None
    if user["demand"] is not None or user["demands"] is not None:
        stated_demand = wanted = sum(solved.demands)
    entitled, used = share.entitlement, share.allocation
    amounts = (share.normalized, entitled + of_its_own, stated_demand, share.limit, used + of_its_own)
    differences = (max(0.0, used - entitled), max(0.0, wanted - used))
    return (*subject, share_text, *amounts, *differences, share.bound_by)
