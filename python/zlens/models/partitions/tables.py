"""Tables and notes of an answer about partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from msgspec import Struct

from zlens.models.partitions import prsm, zvm_limits
from zlens.models.partitions.prsm import Claim, Polarity
from zlens.rendering.answer import AnswerTable, Value
from zlens.rendering.answer_columns import answer_table

#: Less than this much of a core is negligible.
NEGLIGIBLE = 1e-9
#: Weights closer than this count as equal (PR/SM Planning Guide, use of processing weights).
_SAME_WEIGHT = 0.02
#: Maximum number of names in a note.
_MOST_NAMES = 5

Row = tuple[Value, ...]


class PartitionMember(Struct, frozen=True):
    """A partition's cores of one type, solved. claim: None if dedicated; polarity: None unless vertical."""

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


def display_name(member: PartitionMember, several: set[str]) -> str:
    """Return the name of a partition, with its type if it has several."""
    name: str = member.entry["name"]
    return f"{name} {member.entry['type']}" if name in several else name


def partitions(rows: Sequence[Row]) -> AnswerTable:
    return answer_table("partitions", "partitions", "Partitions", rows)


def partition_row(name: str, pool: Pool, member: PartitionMember) -> Row:
    entry, claim = member.entry, member.claim
    demand = entry["demand"] if entry["demand"] is not None else float(member.unparked)
    unmet = max(0.0, demand - member.amount)
    subject = (name, entry["type"], entry["cores"], entry["weight"])
    if claim is None:
        cores = float(entry["cores"])
        return (
            *subject,
            None,
            cores,
            entry["demand"],
            cores,
            "cores",
            member.amount,
            0.0,
            unmet,
            member.bound_by,
        )
    share = 100 * entry["weight"] / pool.weights
    by, limit = claim.lowest_limit
    excess = max(0.0, member.amount - member.entitled)
    return (
        *subject,
        share,
        member.entitled,
        entry["demand"],
        limit,
        by,
        member.amount,
        excess,
        unmet,
        member.bound_by,
    )


def polarization(rows: Sequence[Row]) -> AnswerTable:
    return answer_table("partitions", "polarization", "Polarity of logical cores", rows)


def polarity_row(name: str, member: PartitionMember) -> Row:
    entry, cores = member.entry, member.entry["cores"]
    subject = (name, entry["type"])
    if member.claim is None:
        high = cores if entry["polarization"] == "vertical" else None
        others = None if high is None else 0
        return (*subject, "dedicated", 100.0 * cores, high, others, None, others, 100.0, 0)
    entitled = 100 * member.entitled
    parked = cores - member.unparked
    polarity = member.polarity
    if polarity is None:
        return (*subject, "horizontal", entitled, None, None, None, None, entitled / cores, parked)
    medium = 100 * polarity.share if polarity.medium else None
    return (
        *subject,
        "vertical",
        entitled,
        polarity.high,
        polarity.medium,
        medium,
        polarity.low,
        None,
        parked,
    )


def machine(rows: Sequence[Row]) -> AnswerTable:
    return answer_table("partitions", "machine", "Physical cores", rows)


def machine_row(pool: Pool, max_run_ms: float) -> Row:
    per_shared = pool.logical / pool.shared if pool.shared else None
    run = prsm.run_time(pool.shared, pool.logical, max_run_ms) if pool.logical else None
    return (
        pool.kind,
        pool.physical,
        pool.physical - pool.shared,
        pool.shared,
        pool.logical,
        per_shared,
        pool.high,
        pool.others,
        pool.shared - pool.high,
        pool.crowding,
        run,
        prsm.OF_HIGH if pool.high else None,
    )


def bands(rows: Sequence[Row]) -> AnswerTable:
    title = "How closely PR/SM follows weights while all want their share (usually within 1%)"
    return answer_table("partitions", "bands", title, rows)


def band_row(name: str, pool: Pool, member: PartitionMember) -> Row:
    entry, total = member.entry, pool.weights
    if member.polarity is None:
        weakest = member.entitled / entry["cores"]
        weight = entry["weight"] / entry["cores"]
    else:
        weakest = member.polarity.share if member.polarity.medium else min(1.0, member.entitled)
        weight = weakest * total / pool.shared if pool.shared else 0.0
    share = entry["weight"] / total
    low, high = prsm.accuracy_band(share, weakest, capped=entry["capped"])
    near = high - share <= prsm.STRAYS * share + NEGLIGIBLE
    per_core = (low * total / entry["cores"], high * total / entry["cores"])
    return (
        name,
        entry["type"],
        weight,
        100 * weakest,
        "3.6% of its share" if near else "3.6% of all",
        *(per_core if member.polarity is None else (None, None)),
        100 * low,
        100 * high,
        low * pool.shared,
        high * pool.shared,
    )


def capacities(rows: Sequence[Row]) -> AnswerTable:
    return answer_table("partitions", "capacity_groups", "Group capacity", rows)


def capacity_rows(
    groups: Sequence[dict[str, Any]],
    pools: Sequence[Pool],
    msu_per_core: float | None,
    display_names: Mapping[int, str],
) -> list[Row]:
    rows: list[Row] = []
    for group in groups:
        if group["capacity"] is None or msu_per_core is None:
            continue
        inside = [
            member
            for pool in pools
            for member in pool.sharing
            if member.entry["capacity_group"] == group["name"]
        ]
        weights = [member.entry["weight"] for member in inside]
        for member, share in zip(inside, prsm.entitlements(group["capacity"], weights), strict=True):
            gets = member.amount * msu_per_core
            rows.append(
                (
                    group["name"],
                    display_names[id(member)],
                    member.entry["weight"],
                    group["capacity"],
                    share,
                    gets,
                )
            )
    return rows


def zvm(rows: Sequence[Row]) -> AnswerTable:
    return answer_table("partitions", "zvm", "Limits of z/VM", rows)


def zvm_rows(partitions: Sequence[dict[str, Any]]) -> list[Row]:
    """Return one row for each level of multithreading."""
    cores: dict[str, dict[str, int]] = {}
    first: dict[str, dict[str, Any]] = {}
    for partition in partitions:
        if partition["zvm"] is not None:
            first.setdefault(partition["name"], partition)
            cores.setdefault(partition["name"], {})[partition["type"]] = partition["cores"]
    rows: list[Row] = []
    for name, partition in first.items():
        for smt in zvm_limits.SMT:
            fit = zvm_limits.fit(
                zvm_limits.release(partition["zvm"]), zvm_limits.mode(partition["mode"]), smt, cores[name]
            )
            counts = (sum(cores[name].values()), fit.limit, fit.used, fit.processors, fit.numbers)
            rows.append((name, partition["zvm"], partition["mode"], smt, partition["smt"] == smt, *counts))
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


def physlog(lines: Sequence[dict[str, Any]]) -> AnswerTable:
    rows = []
    for line in lines:
        total, t_l, lcot_l = prsm.physical(line["lgclc"], line["ovrhd"], line["lpmgt"])
        rows.append((line["type"], line["lgclc"], line["ovrhd"], lcot_l, line["lpmgt"], total, t_l))
    return answer_table("partitions", "physlog", "Physical cores as in FCX302 PHYSLOG", rows)


def notes(pools: Sequence[Pool], display_names: Mapping[int, str], crowded_from: float) -> list[str]:
    """Return the notes of an answer about partitions."""
    texts: list[str] = []
    for pool in pools:
        texts += _crowding_notes(pool, crowded_from)
        texts += _partition_notes(pool, display_names)
    if any(
        member.entry["defined_capacity"] or member.entry["capacity_group"]
        for pool in pools
        for member in pool.sharing
    ):
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


def _partition_notes(pool: Pool, display_names: Mapping[int, str]) -> list[str]:
    kind = pool.kind

    def names(members: Sequence[PartitionMember]) -> str:
        more = ", ..." if len(members) > _MOST_NAMES else ""
        return ", ".join(display_names[id(member)] for member in members[:_MOST_NAMES]) + more

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
    below = [
        member
        for member in pool.sharing
        if member.entry["absolute_cap"] is not None
        and member.entry["absolute_cap"] < member.entitled - NEGLIGIBLE
    ]
    if below:
        texts.append(f"{kind}: the absolute cap of {names(below)} is below the entitlement from the weight, "
                     "which IBM does not recommend")  # fmt: skip
    too_many = [member for member in pool.sharing if member.entry["cores"] > pool.shared]
    if too_many:
        texts.append(
            f"{kind}: {names(too_many)} has more logical cores than the machine has shared physical ones"
        )
    weights = sorted({member.entry["weight"] for member in pool.sharing})
    near = next((pair for pair in pairwise(weights) if _same(*pair)), None)
    if near:
        texts.append(f"{kind}: weights {near[0]} and {near[1]} are less than 2% apart, "
                     "which PR/SM does not distinguish")  # fmt: skip
    return texts


def _same(lower: float, upper: float) -> bool:
    return upper - lower < _SAME_WEIGHT * upper
