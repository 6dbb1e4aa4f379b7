"""Tables and notes of an answer about partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from zlens.models.answer import Column, Table, Value
from zlens.models.partitions import prsm, zvm_limits
from zlens.models.partitions.prsm import Claim, Polarity

#: Less than this of a core is nothing.
NOTHING = 1e-9
#: Weights nearer than this are as good as the same (PR/SM Planning Guide, use of processing weights).
_SAME_WEIGHT = 0.02
#: Names that a note lists.
_MOST_NAMES = 5

Row = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A partition's cores of one type, solved. claim: None where dedicated; polarity: where vertical."""

    facts: dict[str, Any]
    claim: Claim | None
    entitled: float
    polarity: Polarity | None
    amount: float
    bound_by: str

    @property
    def unparked(self) -> int:
        """Logical cores it uses."""
        count: int = self.facts["cores"] if self.facts["unparked"] is None else self.facts["unparked"]
        return count

    @property
    def high(self) -> int:
        """Vertical-high cores it uses: those are parked last."""
        return min(self.unparked, self.polarity.high) if self.polarity else 0


@dataclass(frozen=True)
class Pool:
    """Cores of one type. capacity: what partitions can have of the shared ones."""

    kind: str
    physical: int
    shared: int
    capacity: float
    members: list[Member]

    @cached_property
    def sharing(self) -> list[Member]:
        return [member for member in self.members if member.claim]

    @cached_property
    def used(self) -> float:
        return sum(one.amount for one in self.sharing)

    @cached_property
    def logical(self) -> int:
        """Logical cores that share, parked ones included."""
        return sum(one.facts["cores"] for one in self.sharing)

    @cached_property
    def weights(self) -> int:
        return sum(one.facts["weight"] for one in self.sharing)

    @cached_property
    def high(self) -> int:
        """Vertical-high cores in use: each has a physical core nearly for itself."""
        return sum(one.high for one in self.sharing)

    @cached_property
    def others(self) -> int:
        """Logical cores in use that are not vertical-high: they have the other physical cores."""
        return sum(one.unparked - one.high for one in self.sharing)

    @cached_property
    def crowding(self) -> float | None:
        """Of those on each physical core they can have; None where there is none."""
        left = self.shared - self.high
        return self.others / left if left > 0 else None


def called(one: Member, several: set[str]) -> str:
    """Its name, with its type where it has several."""
    name: str = one.facts["name"]
    return f"{name} {one.facts['type']}" if name in several else name


def partitions(rows: Sequence[Row]) -> Table:
    columns = (
        Column("name", "Partition"),
        Column("type", "Type"),
        Column("cores", "Logical", "cores", "logical cores"),
        Column("weight", "Weight", text="processing weight; none where dedicated"),
        Column("share_pct", "Share", "% of shared", "its weight of all weights of the type"),
        Column("entitlement", "Entitled", "cores", "what it can have at any time", 2),
        Column("demand", "Demand", "cores", "what it would use if nothing held it", 2),
        Column("limit", "At most", "cores", "the least of its own limits", 2),
        Column("limited_by", "by", text="which limit that is"),
        Column("allocation", "Gets", "cores", "what it uses in the end", 2),
        Column("excess", "Excess", "cores", "what it gets beyond its entitlement", 2),
        Column("unmet", "Unmet", "cores", "what it would have used beyond that", 2),
        Column("bound_by", "Limited by", text="what limits it"),
    )
    return Table("partitions", "Partitions", columns, rows)


def partition_row(name: str, pool: Pool, one: Member) -> Row:
    facts, claim = one.facts, one.claim
    wanted = facts["demand"] if facts["demand"] is not None else float(one.unparked)
    unmet = max(0.0, wanted - one.amount)
    begin = (name, facts["type"], facts["cores"], facts["weight"])
    if claim is None:
        own = float(facts["cores"])
        return (*begin, None, own, facts["demand"], own, "cores", one.amount, 0.0, unmet, one.bound_by)
    share = 100 * facts["weight"] / pool.weights
    by, limit = claim.least
    excess = max(0.0, one.amount - one.entitled)
    return (*begin, share, one.entitled, facts["demand"], limit, by, one.amount, excess, unmet, one.bound_by)


def polarization(rows: Sequence[Row]) -> Table:
    columns = (
        Column("name", "Partition"),
        Column("type", "Type"),
        Column("polarization", "Polarization"),
        Column("entitlement_pct", "Entitled", "% of 1 core", "what it can have at any time", 1),
        Column("high", "Vh", "cores", "vertical-high: each entitled to a whole core"),
        Column("medium", "Vm", "cores", "vertical-medium: each entitled to a part of a core"),
        Column("medium_pct", "each Vm", "% of 1 core", "what each vertical-medium core is entitled to", 1),
        Column("low", "Vl", "cores", "vertical-low: entitled to nothing"),
        Column(
            "each_pct", "each Hz", "% of 1 core", "what each core of a horizontal partition is entitled to", 1
        ),
        Column("parked", "Parked", "cores", "cores it does not use"),
    )
    return Table("polarization", "Polarity of logical cores", columns, rows)


def polarity_row(name: str, one: Member) -> Row:
    facts, cores = one.facts, one.facts["cores"]
    begin = (name, facts["type"])
    if one.claim is None:
        return (*begin, "dedicated", 100.0 * cores, None, None, None, None, 100.0, 0)
    entitled = 100 * one.entitled
    parked = cores - one.unparked
    polarity = one.polarity
    if polarity is None:
        return (*begin, "horizontal", entitled, None, None, None, None, entitled / cores, parked)
    medium = 100 * polarity.share if polarity.medium else None
    return (*begin, "vertical", entitled, polarity.high, polarity.medium, medium, polarity.low, None, parked)


def machine(rows: Sequence[Row]) -> Table:
    columns = (
        Column("type", "Type"),
        Column("physical", "Physical", "cores", "cores of the machine"),
        Column("dedicated", "Dedicated", "cores"),
        Column("shared", "Shared", "cores", "physical cores that are not dedicated"),
        Column("logical", "Logical", "cores", "logical cores that share them, parked ones included"),
        Column("over", "Logical", "per shared", "logical cores on each shared one", 2),
        Column("high", "Vh", "in use", "vertical-high cores that are not parked"),
        Column("not_high", "Not Vh", "in use", "all others that are not parked"),
        Column("left", "Left", "cores", "shared cores that no vertical-high one holds"),
        Column("crowding", "Not Vh", "per left", "logical cores on each of those", 1),
        Column(
            "run_time", "Run time", "ms", "longest run of a core that is not vertical-high, by default", 2
        ),
        Column("run_time_high", "of Vh", "ms", "longest run of a vertical-high core", 0),
    )
    return Table("machine", "Physical cores", columns, rows)


def machine_row(pool: Pool, longest: float) -> Row:
    over = pool.logical / pool.shared if pool.shared else None
    run = prsm.run_time(pool.shared, pool.logical, longest) if pool.logical else None
    return (
        pool.kind,
        pool.physical,
        pool.physical - pool.shared,
        pool.shared,
        pool.logical,
        over,
        pool.high,
        pool.others,
        pool.shared - pool.high,
        pool.crowding,
        run,
        prsm.OF_HIGH if pool.high else None,
    )


def bands(rows: Sequence[Row]) -> Table:
    columns = (
        Column("name", "Partition"),
        Column("type", "Type"),
        Column("weight_each", "Weight", "per core", "of its weakest core that is entitled to anything"),
        Column("core_pct", "That is", "% of 1 core"),
        Column("rule", "Kept within", text="what PR/SM's 3.6 % are of"),
        Column("low_weight", "Weight from", "per core"),
        Column("high_weight", "to", "per core"),
        Column("low_pct", "Use from", "% of shared"),
        Column("high_pct", "to", "% of shared"),
        Column("low_cores", "Use from", "cores", decimals=2),
        Column("high_cores", "to", "cores", decimals=2),
    )
    title = "How exactly PR/SM keeps to weights while all want their share (within 1 % as a rule)"
    return Table("bands", title, columns, rows)


def band_row(name: str, pool: Pool, one: Member) -> Row:
    facts, total = one.facts, pool.weights
    if one.polarity is None:
        each = one.entitled / facts["cores"]
        weight = facts["weight"] / facts["cores"]
    else:
        each = one.polarity.share if one.polarity.medium else min(1.0, one.entitled)
        weight = each * total / pool.shared if pool.shared else 0.0
    share = facts["weight"] / total
    low, high = prsm.band(share, each, capped=facts["capped"])
    near = high - share <= prsm.STRAYS * share + NOTHING
    per_core = (low * total / facts["cores"], high * total / facts["cores"])
    return (
        name,
        facts["type"],
        weight,
        100 * each,
        "3.6 % of its share" if near else "3.6 % of all",
        *(per_core if one.polarity is None else (None, None)),
        100 * low,
        100 * high,
        low * pool.shared,
        high * pool.shared,
    )


def capacities(rows: Sequence[Row]) -> Table:
    columns = (
        Column("group", "Group"),
        Column("name", "Partition"),
        Column("weight", "Weight"),
        Column("limit", "Group limit", "MSU"),
        Column("share", "Share", "MSU", "its part of the limit, by weight"),
        Column("gets", "Gets", "MSU", "what it uses in the end"),
    )
    return Table("capacity_groups", "Group capacity", columns, rows)


def capacity_rows(
    groups: Sequence[dict[str, Any]],
    pools: Sequence[Pool],
    msu_per_core: float | None,
    shown: Mapping[int, str],
) -> list[Row]:
    rows: list[Row] = []
    for group in groups:
        if group["capacity"] is None or msu_per_core is None:
            continue
        inside = [
            one for pool in pools for one in pool.sharing if one.facts["capacity_group"] == group["name"]
        ]
        weights = [one.facts["weight"] for one in inside]
        for one, share in zip(inside, prsm.entitlements(group["capacity"], weights), strict=True):
            gets = one.amount * msu_per_core
            rows.append((group["name"], shown[id(one)], one.facts["weight"], group["capacity"], share, gets))
    return rows


def zvm(rows: Sequence[Row]) -> Table:
    columns = (
        Column("name", "Partition"),
        Column("release", "z/VM"),
        Column("mode", "Mode"),
        Column("smt", "Threads"),
        Column("chosen", "Chosen"),
        Column("defined", "Defined", "cores", "logical cores of the partition"),
        Column("limit", "Limit", "cores", "logical cores that are supported"),
        Column("used", "Used", "cores", "logical cores that are used"),
        Column("processors", "Processors", "logical", "logical processors there are then"),
        Column("numbers", "Their numbers", text="in hexadecimal"),
    )
    return Table("zvm", "Limits of z/VM", columns, rows)


def zvm_rows(partitions: Sequence[dict[str, Any]]) -> list[Row]:
    """A line for each level of multithreading, since that is what one may choose."""
    cores: dict[str, dict[str, int]] = {}
    first: dict[str, dict[str, Any]] = {}
    for one in partitions:
        if one["zvm"] is not None:
            first.setdefault(one["name"], one)
            cores.setdefault(one["name"], {})[one["type"]] = one["cores"]
    rows: list[Row] = []
    for name, one in first.items():
        for smt in zvm_limits.SMT:
            fit = zvm_limits.fit(
                zvm_limits.release(one["zvm"]), zvm_limits.mode(one["mode"]), smt, cores[name]
            )
            found = (sum(cores[name].values()), fit.limit, fit.used, fit.processors, fit.numbers)
            rows.append((name, one["zvm"], one["mode"], smt, one["smt"] == smt, *found))
    return rows


def zvm_notes(rows: Sequence[Row]) -> list[str]:
    """What is wrong with the levels of multithreading that are chosen, and what a limit depends on."""
    found: list[str] = []
    for name, release, mode, smt, chosen, defined, limit, used, _, _ in rows:
        if not chosen:
            continue
        if limit is None:
            found.append(f"{name}: z/VM has no {smt} for these types of cores in mode {mode}")
        elif used is None:
            found.append(
                f"{name} has {defined} cores, and z/VM {release} supports {limit} of them with {smt}"
            )
        elif used != defined:
            found.append(f"{name} has {defined} cores, and z/VM {release} uses the first {used} with {smt}")
    known = dict.fromkeys(str(row[1]) for row in rows)
    found += [f"z/VM {name}: {note}" for name in known if (note := zvm_limits.release(name).note)]
    return found


def physlog(lines: Sequence[dict[str, Any]]) -> Table:
    columns = (
        Column("type", "Type"),
        Column("lgclc", "%LgclC", "% of 1 core", "used by partitions themselves"),
        Column("ovrhd", "%Ovrhd", "% of 1 core", "used by PR/SM for them", 2),
        Column("lcot_l", "LCoT/L", text="both to the first", decimals=3),
        Column("lpmgt", "%LPmgt", "% of 1 core", "used by PR/SM for itself"),
        Column("total", "%Total", "% of 1 core", "the sum"),
        Column("t_l", "TypeT/L", text="the sum to the first", decimals=3),
    )
    rows = []
    for line in lines:
        total, t_l, lcot_l = prsm.physical(line["lgclc"], line["ovrhd"], line["lpmgt"])
        rows.append((line["type"], line["lgclc"], line["ovrhd"], lcot_l, line["lpmgt"], total, t_l))
    return Table("physlog", "Physical cores as FCX302 PHYSLOG has them", columns, rows)


def notes(pools: Sequence[Pool], shown: Mapping[int, str], crowded_from: float) -> list[str]:
    """What an analyst should read beside the numbers."""
    found: list[str] = []
    for pool in pools:
        found += _crowded(pool, crowded_from)
        found += _of_partitions(pool, shown)
    if any(
        one.facts["defined_capacity"] or one.facts["capacity_group"] for pool in pools for one in pool.sharing
    ):
        found.append(
            "Defined and group capacity hold the four-hour rolling average: until that reaches them, "
            "a partition may use more"
        )
    return found


def _crowded(pool: Pool, crowded_from: float) -> list[str]:
    kind, left, others = pool.kind, pool.shared - pool.high, pool.others
    if not others or not pool.high:
        return []
    if not left:
        return [f"{kind}: vertical-high cores hold all physical ones; of the others in use ({others}), "
                "each waits until one of those does"]  # fmt: skip
    crowding = pool.crowding or 0.0
    if crowding <= crowded_from:
        return []
    return [f"{kind}: {others} logical cores that are not vertical-high compete for {left} physical cores "
            f"({crowding:.1f} on each), because {pool.high} vertical-high ones hold the others; "
            "remove or park vertical-lows nobody needs"]  # fmt: skip


def _of_partitions(pool: Pool, shown: Mapping[int, str]) -> list[str]:
    kind = pool.kind

    def names(members: Sequence[Member]) -> str:
        more = ", ..." if len(members) > _MOST_NAMES else ""
        return ", ".join(shown[id(member)] for member in members[:_MOST_NAMES]) + more

    found: list[str] = []
    idle = pool.capacity - pool.used
    held = [one for one in pool.sharing if one.bound_by not in ("demand", "weight", "no core")]
    if held and idle > NOTHING:
        found.append(f"{kind}: {idle:.2f} cores are idle while {names(held)} would use more: "
                     "cores or caps hold them")  # fmt: skip
    few = [one for one in pool.sharing if one.unparked < one.entitled - NOTHING]
    if few:
        found.append(f"{kind}: {names(few)} cannot use what the weight gives: "
                     "too few logical cores are online or unparked")  # fmt: skip
    below = [
        one
        for one in pool.sharing
        if one.facts["absolute_cap"] is not None and one.facts["absolute_cap"] < one.entitled - NOTHING
    ]
    if below:
        found.append(f"{kind}: the absolute cap of {names(below)} is below what the weight gives, "
                     "which IBM does not recommend")  # fmt: skip
    wide = [one for one in pool.sharing if one.facts["cores"] > pool.shared]
    if wide:
        found.append(f"{kind}: {names(wide)} has more logical cores than there are physical ones to share")
    weights = sorted({one.facts["weight"] for one in pool.sharing})
    near = next((pair for pair in pairwise(weights) if _same(*pair)), None)
    if near:
        found.append(f"{kind}: weights {near[0]} and {near[1]} are less than 2 % apart, "
                     "which PR/SM does not take as a difference")  # fmt: skip
    return found


def _same(lower: float, upper: float) -> bool:
    return upper - lower < _SAME_WEIGHT * upper
