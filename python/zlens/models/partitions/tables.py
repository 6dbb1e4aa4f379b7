"""Tables and notes of an answer about partitions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from msgspec import Struct

from zlens.models.allocation import NEGLIGIBLE
from zlens.models.optional_numbers import ratio
from zlens.models.partitions import prsm, zvm_limits
from zlens.models.partitions.prsm import Claim, Polarity
from zlens.models.scenario import Scenario
from zlens.rendering.answer import AnswerTable, Value
from zlens.rendering.answer_columns import answer_table

#: Weights closer than this count as equal (PR/SM Planning Guide, use of processing weights).
_SAME_WEIGHT = 0.02
#: Maximum number of names in a note.
_MOST_NAMES = 5

Row = tuple[Value, ...]


class PartitionMember(Struct, frozen=True):
    """A partition's cores of one type, solved. claim: None if dedicated; polarity: None unless vertical.

    shown: name of the partition, with the type if it has several
    """

    shown: str
    entry: dict[str, Any]
    claim: Claim | None
    entitled: float
    polarity: Polarity | None
    amount: float
    bound_by: str

    @property
    def unparked(self) -> int:
        """Logical cores it uses."""
        count: int = self.entry["cores"] if self.entry["unparked"] is None else self.entry["unparked"]
        return count

    @property
    def high(self) -> int:
        """Vertical-high cores it uses; they are parked last."""
        return min(self.unparked, self.polarity.high) if self.polarity else 0


class Pool(Struct, frozen=True, dict=True):
    """Cores of one type. capacity: shared cores available to partitions."""

    kind: str
    physical: int
    shared: int
    capacity: float
    members: list[PartitionMember]

    @cached_property
    def sharing(self) -> list[PartitionMember]:
        return [member for member in self.members if member.claim]

    @cached_property
    def used(self) -> float:
        return sum(member.amount for member in self.sharing)

    @cached_property
    def logical(self) -> int:
        """Logical cores that share physical ones, parked ones included."""
        return sum(member.entry["cores"] for member in self.sharing)

    @cached_property
    def weights(self) -> int:
        return sum(member.entry["weight"] for member in self.sharing)

    @cached_property
    def high(self) -> int:
        """Vertical-high cores in use: each has nearly a physical core of its own."""
        return sum(member.high for member in self.sharing)

    @cached_property
    def others(self) -> int:
        """Logical cores in use that are not vertical-high; they share the other physical cores."""
        return sum(member.unparked - member.high for member in self.sharing)

    @cached_property
    def crowding(self) -> float | None:
        """`others` per physical core left for them; None if no core is left."""
        left = self.shared - self.high
        return self.others / left if left > 0 else None


def answer_tables(scenario: Scenario, pools: Sequence[Pool]) -> list[AnswerTable]:
    """Return the tables of the solved types of cores; those about weights, groups and z/VM only if needed."""
    members = [(pool, member) for pool in pools for member in pool.members]
    bands = "How closely PR/SM follows weights while all want their share (usually within 1%)"
    machine = [_machine_row(pool, scenario["run_time_longest"]) for pool in pools]
    found = {
        "partitions": ("Partitions", [_partition_row(*each) for each in members]),
        "polarization": ("Polarity of logical cores", [_polarity_row(member) for _, member in members]),
        "machine": ("Physical cores", machine),
        "bands": (bands, [_band_row(*each) for each in members if each[1].claim]),
        "capacity_groups": ("Group capacity", _capacity_rows(scenario, pools)),
        "zvm": ("Limits of z/VM", _zvm_rows(scenario["partition"])),
        "physlog": ("Physical cores as in FCX302 PHYSLOG", list(map(_physlog_row, scenario["physlog"]))),
    }
    always = ("partitions", "polarization", "machine")
    return [
        answer_table("partitions", key, title, rows)
        for key, (title, rows) in found.items()
        if rows or key in always
    ]


def _partition_row(pool: Pool, member: PartitionMember) -> Row:
    entry, claim, cores = member.entry, member.claim, float(member.entry["cores"])
    demand = entry["demand"] if entry["demand"] is not None else float(member.unparked)
    unmet = max(0.0, demand - member.amount)
    share, entitled, (by, limit), excess = None, cores, ("cores", cores), 0.0
    if claim is not None:
        share, entitled = 100 * entry["weight"] / pool.weights, member.entitled
        by, limit = claim.lowest_limit
        excess = max(0.0, member.amount - entitled)
    subject = (member.shown, entry["type"], entry["cores"], entry["weight"], share, entitled)
    return (*subject, entry["demand"], limit, by, member.amount, excess, unmet, member.bound_by)


def _polarity_row(member: PartitionMember) -> Row:
    entry, cores, polarity = member.entry, member.entry["cores"], member.polarity
    subject = (member.shown, entry["type"])
    if member.claim is None:
        high = cores if entry["polarization"] == "vertical" else None
        others = None if high is None else 0
        return (*subject, "dedicated", 100.0 * cores, high, others, None, others, 100.0, 0)
    entitled, parked = 100 * member.entitled, cores - member.unparked
    if polarity is None:
        return (*subject, "horizontal", entitled, None, None, None, None, entitled / cores, parked)
    medium = 100 * polarity.share if polarity.medium else None
    counts = (polarity.high, polarity.medium, medium, polarity.low)
    return (*subject, "vertical", entitled, *counts, None, parked)


def _machine_row(pool: Pool, max_run_ms: float) -> Row:
    run = prsm.run_time(pool.shared, pool.logical, max_run_ms) if pool.logical else None
    cores = (pool.kind, pool.physical, pool.physical - pool.shared, pool.shared, pool.logical)
    in_use = (pool.high, pool.others, pool.shared - pool.high, pool.crowding)
    return (*cores, ratio(pool.logical, pool.shared), *in_use, run, prsm.OF_HIGH if pool.high else None)


def _band_row(pool: Pool, member: PartitionMember) -> Row:
    entry, total, polarity = member.entry, pool.weights, member.polarity
    cores = entry["cores"]
    if polarity is None:
        weakest, weight = member.entitled / cores, entry["weight"] / cores
    else:
        weakest = polarity.share if polarity.medium else min(1.0, member.entitled)
        weight = weakest * total / pool.shared if pool.shared else 0.0
    share = entry["weight"] / total
    band = prsm.accuracy_band(share, weakest, capped=entry["capped"])
    near = band[1] - share <= prsm.STRAYS * share + NEGLIGIBLE
    rule = "3.6% of its share" if near else "3.6% of all"
    per_core = (end * total / cores if polarity is None else None for end in band)
    ends = (*per_core, *(100 * end for end in band), *(end * pool.shared for end in band))
    return (member.shown, entry["type"], weight, 100 * weakest, rule, *ends)


def _capacity_rows(scenario: Scenario, pools: Sequence[Pool]) -> list[Row]:
    rows: list[Row] = []
    for group in scenario["group"]:
        name, limit = group["name"], group["capacity"]
        if limit is None or scenario["msu_per_core"] is None:
            continue
        sharing = (member for pool in pools for member in pool.sharing)
        inside = [member for member in sharing if member.entry["capacity_group"] == name]
        weights = [member.entry["weight"] for member in inside]
        for member, weight, share in zip(inside, weights, prsm.entitlements(limit, weights), strict=True):
            gets = member.amount * scenario["msu_per_core"]
            rows.append((name, member.shown, weight, limit, share, gets))
    return rows


def _physlog_row(line: dict[str, Any]) -> Row:
    total, t_l, lcot_l = prsm.physical(line["lgclc"], line["ovrhd"], line["lpmgt"])
    return (line["type"], line["lgclc"], line["ovrhd"], lcot_l, line["lpmgt"], total, t_l)


def _zvm_rows(partitions: Sequence[dict[str, Any]]) -> list[Row]:
    """Return one row for each level of multithreading."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for partition in partitions:
        if partition["zvm"] is not None:
            by_name.setdefault(partition["name"], []).append(partition)
    rows: list[Row] = []
    for name, (first, *others) in by_name.items():
        cores = {one["type"]: one["cores"] for one in (first, *others)}
        release, mode = first["zvm"], first["mode"]
        for smt in zvm_limits.SMT:
            fit = zvm_limits.fit(zvm_limits.release(release), zvm_limits.mode(mode), smt, cores)
            counts = (sum(cores.values()), fit.limit, fit.used, fit.processors, fit.numbers)
            rows.append((name, release, mode, smt, first["smt"] == smt, *counts))
    return rows


def zvm_notes(rows: Sequence[Row]) -> list[str]:
    """Return notes on problems with the selected levels of multithreading and on limits."""
    texts: list[str] = []
    for name, release, mode, smt, is_selected, defined, limit, used, _, _ in rows:
        if not is_selected:
            continue
        if limit is None:
            texts.append(f"{name}: z/VM does not support {smt} for these types of cores in mode {mode}")
        elif used is None:
            texts.append(f"{name} has {defined} cores, but z/VM {release} supports only {limit} with {smt}")
        elif used != defined:
            texts.append(
                f"{name} has {defined} cores, but z/VM {release} uses only the first {used} with {smt}"
            )
    releases = dict.fromkeys(str(row[1]) for row in rows)
    texts += [f"z/VM {name}: {note}" for name in releases if (note := zvm_limits.release(name).note)]
    return texts


def notes(pools: Sequence[Pool], crowded_from: float) -> list[str]:
    """Return the notes of an answer about partitions."""
    texts: list[str] = []
    for pool in pools:
        texts += _crowding_notes(pool, crowded_from)
        texts += _partition_notes(pool)
    entries = [member.entry for pool in pools for member in pool.sharing]
    if any(entry["defined_capacity"] or entry["capacity_group"] for entry in entries):
        texts.append(
            "Defined and group capacity limit the four-hour rolling average: until that reaches the "
            "limit, a partition may use more"
        )
    return texts


def _crowding_notes(pool: Pool, crowded_from: float) -> list[str]:
    kind, left, others = pool.kind, pool.shared - pool.high, pool.others
    if not others or not pool.high:
        return []
    if not left:
        return [f"{kind}: vertical-high cores use all physical ones; each of the others in use "
                f"({others}) runs only while one of those waits"]  # fmt: skip
    crowding = pool.crowding or 0.0
    if crowding <= crowded_from:
        return []
    return [f"{kind}: {others} logical cores that are not vertical-high compete for {left} physical cores "
            f"({crowding:.1f} on each), because {pool.high} vertical-high ones use the others; "
            "remove or park vertical-lows that are not needed"]  # fmt: skip


def _partition_notes(pool: Pool) -> list[str]:
    kind = pool.kind

    def names(members: Sequence[PartitionMember]) -> str:
        more = ", ..." if len(members) > _MOST_NAMES else ""
        return ", ".join(member.shown for member in members[:_MOST_NAMES]) + more

    texts: list[str] = []
    idle = pool.capacity - pool.used
    limited = [member for member in pool.sharing if member.bound_by not in ("demand", "weight", "no core")]
    if limited and idle > NEGLIGIBLE:
        texts.append(f"{kind}: {idle:.2f} cores are idle while {names(limited)} would use more: "
                     "cores or caps limit them")  # fmt: skip
    too_few = [member for member in pool.sharing if member.unparked < member.entitled - NEGLIGIBLE]
    if too_few:
        texts.append(f"{kind}: {names(too_few)} cannot use the entitlement from the weight: "
                     "too few logical cores are online or unparked")  # fmt: skip
    capped = [(member, member.entry["absolute_cap"]) for member in pool.sharing]
    below = [one for one, cap in capped if cap is not None and cap < one.entitled - NEGLIGIBLE]
    if below:
        texts.append(f"{kind}: the absolute cap of {names(below)} is below the entitlement from the weight, "
                     "which IBM does not recommend")  # fmt: skip
    too_many = [member for member in pool.sharing if member.entry["cores"] > pool.shared]
    if too_many:
        texts.append(
            f"{kind}: {names(too_many)} has more logical cores than the machine has shared physical ones"
        )
    weights = sorted({member.entry["weight"] for member in pool.sharing})
    near = next((pair for pair in pairwise(weights) if pair[1] - pair[0] < _SAME_WEIGHT * pair[1]), None)
    if near:
        texts.append(f"{kind}: weights {near[0]} and {near[1]} are less than 2% apart, "
                     "which PR/SM does not distinguish")  # fmt: skip
    return texts
