"""HyperPAV aliases: how uses share a pool, and how long requests wait for a base and its aliases.

Source of the sharing: IBM, "z/VM 6.4 Performance Update": shares of SET CU work just like weights of
partitions, with entitlement and distribution of excess. Times are in milliseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zlens.models.aliases import dasd
from zlens.models.answer import Answer, Column, Figure, Table
from zlens.models.fill import water_fill
from zlens.models.scenario import Scenario
from zlens.present.charts import Chart, Series
from zlens.schema.kinds import Choice, Integer, Key, Line, Many, Number, Spec

SUMMARY = "HyperPAV aliases: shares of a pool, and response of volumes with a base and aliases"

_ALIASES = Number(0, 1_000_000)
_MS = Number(0, 1_000_000)

_USE = Spec(
    (
        Key("name", Line(), "MDISK, PAGING or a name of your own"),
        Key("share", Integer(0, 1_000_000), "its share (SET CU)"),
        Key("wants", _ALIASES, "aliases it would have in use if nothing held it", "aliases", default=None),
        Key("in_use", _ALIASES, "aliases it had in use, as measured (HPALIAS)", "aliases", default=None),
        Key("queued", _ALIASES, "requests that waited, as measured: if any, it wants all", default=None),
    )
)

_DEVICE = Spec(
    (
        Key("name", Line(), "name of the volume"),
        Key("use", Line(), "whose aliases it takes; needed where there is more than one use", default=None),
        Key("rate", Number(0, 1e9), "operations of the volume, over base and aliases", "per second"),
        Key("serv", _MS, "service time; or pend, disc and conn", "ms", default=None),
        Key("pend", _MS, "pending", "ms", default=None),
        Key("disc", _MS, "disconnected", "ms", default=None),
        Key("conn", _MS, "connected", "ms", default=None),
        Key("resp", _MS, "response time as measured: says how bursty requests come", "ms", default=None),
        Key("aliases_then", Integer(0, 10_000), "aliases it had when that was measured", default=0),
        Key(
            "burst",
            Number(0, 1_000_000),
            "how much longer requests wait than by chance, (Ca2 + Cs2) / 2 of Allen-Cunneen",
            default=None,
        ),
        Key(
            "bursts",
            Choice(("chance", "paging", "minidisk")),
            "or take it from published measurements of such work, by utilization of the base alone",
            default="chance",
        ),
    )
)  # fmt: skip

SPEC = Spec(
    (
        Key("aliases", Integer(0, 10_000), "aliases of the pool"),
        Key("use", Many(_USE), "a use of them", default=[]),
        Key("device", Many(_DEVICE), "a volume", default=[]),
    )
)

EXAMPLE = """\
# Minidisk and paging I/O share sixteen aliases: who gets how many, and how long do requests wait?
model = "aliases"
title = "One control unit with 16 aliases"

aliases = 16

[[use]]
name = "MDISK"
share = 20                   # SET CU
# wants = 3.5                # aliases; left out: what its volumes need, or all it can get

[[use]]
name = "PAGING"
share = 140

[[device]]
name = "LNX001"
use = "MDISK"
rate = 2149                  # operations per second
serv = 0.426                 # milliseconds; or pend, disc and conn
bursts = "minidisk"          # as bursty as published measurements; or burst = 1.4, or resp = 6.57 as measured

[[device]]
name = "PAGE01"
use = "PAGING"
rate = 180
pend = 0.241
disc = 10.5
conn = 0.480
bursts = "paging"
"""

#: More aliases than this no table goes through for one volume; more volumes than that get no such rows.
_MOST_STEPS, _MOST_VOLUMES = 32, 8
#: Minidisk and paging I/O are two; more than this nobody has.
_MOST_USES = 100
#: So rarely does anybody wait that one more alias makes no difference.
_RARELY = 0.005

_USES = (
    Column("name", "Use"),
    Column("share", "Share", text="SET CU"),
    Column("entitled", "Entitled", "aliases", "share of the pool", 2),
    Column("wants", "Wants", "aliases", "dots: all that it can get", 2),
    Column("gets", "Gets", "aliases", "in use on average", 2),
    Column("excess", "Excess", "aliases", "beyond its entitlement", 2),
    Column("could_get", "Could get", "aliases", "if it wanted all, as the others are", 2),
    Column("bound_by", "Limited by"),
    Column("observed", "Observed", "aliases", "in use, as measured", 2),
    Column("error", "Error", "aliases", "what it gets less what was observed", 2),
)
_DEVICES = (
    Column("name", "Volume"),
    Column("use", "Use"),
    Column("rate", "Rate", "1/s"),
    Column("serv", "Serv", "ms", decimals=3),
    Column("busy", "Busy", "% of 1", "of one exposure"),
    Column("aliases", "Aliases", "", "whole aliases that its use can count on"),
    Column("alone", "Resp alone", "ms", "if no other volume took any of them", 3),
    Column("part", "Its part", "", "aliases, if they are split by need"),
    Column("response", "Resp split", "ms", "with its part of them", 3),
    Column("queued", "Queued", "", "requests that wait, with its part", 2),
    Column("burst", "Burst", "x", "how much longer than by chance requests wait", 2),
    Column("measured", "Measured", "ms", "response time as it was", 3),
    Column("measured_queued", "Queued then", "", "by Little's law", 2),
)
_STEPS = (
    Column("name", "Volume"),
    Column("aliases", "Aliases"),
    Column("utilization", "Busy", "%", "of each exposure, base and aliases"),
    Column("waits", "Waits", "%", "requests that find all busy"),
    Column("wait", "Wait", "ms", "on average over all requests", 3),
    Column("response", "Resp", "ms", "", 3),
    Column("queued", "Queued", "", "requests that wait", 2),
)


_PUBLISHED = (
    Column("name", "Kind"),
    Column("rate", "Rate", "1/s"),
    Column("serv", "Serv", "ms", decimals=3),
    Column("resp", "Resp", "ms", decimals=2),
    Column("busy", "Busy", "%", "of the one exposure"),
    Column("burst", "Burst", "x", "measured wait over that of M/M/1", 2),
    Column("source", "Source"),
)


def allocate(aliases: float, shares: Sequence[float], wants: Sequence[float]) -> list[float]:
    """Aliases in use of each, by share; what one does not want goes to the others by share."""
    return water_fill(aliases, shares, [min(want, aliases) for want in wants])


def entitlements(aliases: float, shares: Sequence[float]) -> list[float]:
    """Parts of the pool by share; none where nobody has one."""
    total = sum(shares)
    return [aliases * share / total if total else 0.0 for share in shares]


def split(aliases: int, needs: Sequence[float]) -> list[int]:
    """Whole aliases for each by need: what is cut off goes to those who lose most by it, first ones first."""
    total = sum(needs)
    if not total:
        return [aliases] * len(needs)
    parts = [aliases * need / total for need in needs]
    found = [math.floor(part + 1e-9) for part in parts]
    by_loss = sorted(range(len(needs)), key=lambda at: found[at] - parts[at])
    for at in by_loss[: aliases - sum(found)]:
        found[at] += 1
    return found


def solve(scenario: Scenario) -> Answer:
    """Shares first, then waits of the volumes with what their use can count on."""
    uses, devices, aliases = scenario["use"], scenario["device"], scenario["aliases"]
    _together(scenario, uses, devices)
    named = uses or [{"name": "all", "share": 1, "wants": None, "in_use": None, "queued": None}]
    notes: list[str] = []
    volumes = [_volume(scenario, device, named, notes) for device in devices]
    shares = [float(one["share"]) for one in named]
    wants = [_wants(one, volumes) for one in named]
    found = allocate(aliases, shares, wants)
    could = _could(aliases, shares, wants)
    entitled = entitlements(aliases, shares)
    rows = [_use(one, *amounts) for one, *amounts in zip(named, entitled, wants, found, could, strict=True)]
    figures = [
        Figure("in_use", math.fsum(found), "aliases", "in use on average", 2),
        Figure("free", aliases - math.fsum(found), "aliases", "free on average", 2),
    ]
    tables = [_shown("uses", "Uses of the aliases", _USES, rows)] if uses else []
    charts = [_shares_chart(rows)] if uses else []
    if volumes:
        counts = {one["name"]: math.floor(can + 1e-9) for one, can in zip(named, could, strict=True)}
        lines = _responses(scenario, volumes, counts, notes)
        steps, curves = _steps(volumes, aliases)
        tables += [_shown("devices", "Volumes", _DEVICES, lines)]
        tables += [Table("by_aliases", "By number of aliases of its own", _STEPS, steps)]
        tables += _published({device["bursts"] for device in devices} - {"chance"})
        charts += curves
        figures.append(_mean_response(volumes, lines))
    follow = ("uses", "gets") if uses else ("devices", "response")
    return Answer(
        "aliases", scenario.title or "HyperPAV aliases", tables, figures, charts, notes, follow=follow
    )


def _shown(key: str, title: str, columns: tuple[Column, ...], rows: Sequence[tuple[Any, ...]]) -> Table:
    """A table without the two last columns, which are of measurements, where there are none."""
    if all(row[-2] is None for row in rows):
        columns, rows = columns[:-2], [row[:-2] for row in rows]
    return Table(key, title, columns, rows)


def _could(aliases: float, shares: Sequence[float], wants: Sequence[float]) -> list[float]:
    """What each would get if it wanted all."""
    return [
        allocate(aliases, shares, [*wants[:at], math.inf, *wants[at + 1 :]])[at] for at in range(len(shares))
    ]


def _together(scenario: Scenario, uses: Sequence[dict[str, Any]], devices: Sequence[dict[str, Any]]) -> None:
    """Keys that are each right, but not together."""
    wrong = scenario.problem.wrong
    if not uses and not devices:
        raise wrong("there is neither use nor device", "add [[use]] or [[device]]")
    for kind, entries in (("use", uses), ("device", devices)):
        for name, times in Counter(entry["name"] for entry in entries).items():
            if times > 1:
                raise wrong(f"{kind} {name} is there twice", "give each a name of its own")
    if len(uses) > _MOST_USES:
        raise wrong(f"there are {len(uses):,} uses of one pool", f"have {_MOST_USES} at most")
    known = {use["name"] for use in uses}
    for device in devices:
        here = f"device.{device['name']}"
        if device["use"] is None and len(uses) > 1:
            raise wrong(
                f"{here}.use is missing, and there are {len(uses)} uses", f'add use = "{uses[0]["name"]}"'
            )
        if device["use"] is not None and device["use"] not in known:
            raise wrong(
                f"{here}.use is {device['use']}, and there is no such use", "add [[use]] with that name"
            )
        parts = [device[key] is not None for key in ("pend", "disc", "conn")]
        if (device["serv"] is None) != all(parts) or (device["serv"] is not None and any(parts)):
            raise wrong(f"{here} needs serv, or pend, disc and conn", "write serv = 0.5, or all three parts")
        if device["burst"] is not None and device["bursts"] != "chance":
            raise wrong(f"{here} has burst and bursts", "keep one of them")


@dataclass(frozen=True, slots=True)
class _Volume:
    """A device of the scenario with what follows from it."""

    name: str
    use: str
    rate: float
    serv: float
    resp: float | None
    burst: float

    @property
    def wants(self) -> float:
        return dasd.alias_use(self.rate, self.serv)


def _volume(
    scenario: Scenario, one: dict[str, Any], uses: Sequence[dict[str, Any]], notes: list[str]
) -> _Volume:
    serv = one["serv"]
    if serv is None:
        serv = dasd.service(one["pend"], one["disc"], one["conn"])
    burst = one["burst"]
    if one["bursts"] != "chance":
        measured, offered = dasd.published()[one["bursts"]], one["rate"] * serv / 1000
        burst = measured.at(offered)
        low, high = measured.rows[0].utilization, measured.rows[-1].utilization
        if not 0.99 * low <= offered <= 1.01 * high:
            notes.append(
                f"{one['name']}: its base alone would be {100 * offered:.0f}% busy, and {one['bursts']} was "
                f"measured from {100 * low:.0f}% to {100 * high:.0f}%: its factor is that of the nearer end"
            )
    if one["resp"] is not None:
        wrong, here = scenario.problem.wrong, f"device.{one['name']}"
        if one["resp"] < serv:
            raise wrong(
                f"{here}.resp is {one['resp']:g} ms, less than its service of {serv:g} ms", "correct one"
            )
        if burst is None:
            burst = dasd.burst_of(one["rate"], serv, one["resp"], one["aliases_then"])
            if burst is None:
                raise wrong(
                    f"{here}.resp says nothing about its bursts: with {one['aliases_then']} aliases and "
                    f"{one['rate'] * serv / 1000:.2f} requests in service nobody waits, or all do",
                    "set aliases_then to what it had, or burst",
                )
    return _Volume(
        one["name"],
        one["use"] or uses[0]["name"],
        one["rate"],
        serv,
        one["resp"],
        1.0 if burst is None else burst,
    )


def _wants(use: dict[str, Any], volumes: Sequence[_Volume]) -> float:
    """Aliases it would have in use: as given, as measured, as its volumes need, or all."""
    if use["wants"] is not None:
        return float(use["wants"])
    if use["in_use"] is not None and use["queued"] is not None:
        return math.inf if use["queued"] > 0 else float(use["in_use"])
    needs = [volume.wants for volume in volumes if volume.use == use["name"]]
    return sum(needs) if needs else math.inf


def _use(use: dict[str, Any], entitled: float, wants: float, gets: float, could: float) -> tuple[Any, ...]:
    observed = use["in_use"]
    return (
        use["name"],
        use["share"],
        entitled,
        None if wants == math.inf else wants,
        gets,
        max(0.0, gets - entitled),
        could,
        "demand" if gets >= wants - 1e-9 else "share",
        observed,
        None if observed is None else gets - observed,
    )


def _shares_chart(rows: Sequence[tuple[Any, ...]]) -> Chart:
    series = [Series("entitled", [row[2] for row in rows]), Series("gets", [row[4] for row in rows])]
    if any(row[8] is not None for row in rows):
        series.append(Series("observed", [row[8] for row in rows]))
    return Chart("Aliases", "bars", [str(row[0]) for row in rows], tuple(series), "aliases")


def _responses(
    scenario: Scenario, volumes: Sequence[_Volume], counts: dict[str, int], notes: list[str]
) -> list[tuple[Any, ...]]:
    """Each volume with all aliases of its use, and with its part of them."""
    sharing = {use: [volume for volume in volumes if volume.use == use] for use in counts}
    if any(len(of_use) > 1 and counts[use] for use, of_use in sharing.items()):
        scenario.assume("aliases_shared")
    if any(volume.burst != 1.0 for volume in volumes):
        scenario.assume("burst_carried")
    rows = []
    parts = {
        one.name: part
        for use, of_use in sharing.items()
        for one, part in zip(of_use, split(counts[use], [one.wants for one in of_use]), strict=True)
    }
    for one in volumes:
        count, part = counts[one.use], parts[one.name]
        alone = dasd.waiting(one.rate, one.serv, count, one.burst)
        apart = dasd.waiting(one.rate, one.serv, part, one.burst)
        if alone is None:
            notes.append(
                f"{one.name}: more comes than a base and {count} aliases can serve; "
                f"it needs {dasd.fewest_aliases(one.rate, one.serv)} at least"
            )
        elif apart is None:
            notes.append(
                f"{one.name}: its part, {part} of {count} aliases, is not enough; it has to take more of them"
            )
        rows.append(
            (
                one.name,
                one.use,
                one.rate,
                one.serv,
                dasd.busy(one.rate, one.serv),
                count,
                None if alone is None else alone.response,
                part,
                None if apart is None else apart.response,
                None if apart is None else apart.queued,
                one.burst,
                one.resp,
                None if one.resp is None else dasd.queued(one.rate, one.resp, one.serv),
            )
        )
    if all(volume.burst == 1.0 for volume in volumes) and any(
        row[6] is None or row[9] is None or row[9] > 0.01 for row in rows
    ):
        factors = [row.factor for row in dasd.published()["paging"].rows]
        notes.append(
            "by chance is optimistic where requests come in bursts: published paging volumes waited "
            f"{min(factors):.1f} to {max(factors):.1f} times as long; set bursts, burst or a measured resp"
        )
    return rows


def _steps(volumes: Sequence[_Volume], aliases: int) -> tuple[list[tuple[Any, ...]], list[Chart]]:
    """Each volume by itself with none, one, two, ... aliases, until hardly anybody waits."""
    rows: list[tuple[Any, ...]] = []
    longest = 0
    curves: list[tuple[str, list[float | None]]] = []
    for volume in volumes[:_MOST_VOLUMES]:
        first = max(0, dasd.fewest_aliases(volume.rate, volume.serv) - 1)
        responses: list[float | None] = [None] * first
        for count in range(first, first + min(max(aliases, 1), _MOST_STEPS) + 1):
            found = dasd.waiting(volume.rate, volume.serv, count, volume.burst)
            if found is None:
                rows.append((volume.name, count, None, 100.0, None, None, None))
                responses.append(None)
                continue
            rows.append(
                (
                    volume.name,
                    count,
                    100 * found.utilization,
                    100 * found.waits,
                    found.wait,
                    found.response,
                    found.queued,
                )
            )
            responses.append(found.response)
            if found.waits < _RARELY:
                break
        longest = max(longest, len(responses))
        curves.append((volume.name, responses))
    # Where hardly anybody waits the response stays what it is.
    series = tuple(Series(name, [*of_it, *[of_it[-1]] * (longest - len(of_it))]) for name, of_it in curves)
    places = [float(at) for at in range(longest)]
    return rows, [Chart("Response by number of aliases", "lines", places, series, "ms", "aliases")]


def _published(kinds: set[str]) -> list[Table]:
    """The measurements that bursts were taken from."""
    rows = [
        (kind, one.rate, one.serv, one.resp, 100 * one.utilization, one.factor, measured.source)
        for kind, measured in dasd.published().items()
        for one in (measured.rows if kind in kinds else ())
    ]
    return [Table("bursts", "Bursts as published", _PUBLISHED, rows)] if rows else []


def _mean_response(volumes: Sequence[_Volume], rows: Sequence[tuple[Any, ...]]) -> Figure:
    """Over all requests, with aliases split; none where a volume has no end of waiting."""
    known = [row[8] for row in rows]
    total = sum(volume.rate for volume in volumes)
    mean = None
    if total and None not in known:
        mean = sum(one.rate * response for one, response in zip(volumes, known, strict=True)) / total
    return Figure("response", mean, "ms", "response over all volumes, aliases split", 3)
