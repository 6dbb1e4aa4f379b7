"""HyperPAV aliases: allocation of a pool to its uses, and waiting for a base and its aliases.

Source of the sharing rule: IBM, "z/VM 6.4 Performance Update": SET CU shares work like weights of
partitions, with entitlement and distribution of excess. Times are in milliseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from zlens.models.aliases import dasd
from zlens.models.allocation import proportional, water_fill
from zlens.models.optional_numbers import difference, product, ratio, total
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure, AnswerTable
from zlens.rendering.answer_columns import answer_table
from zlens.rendering.charts import Chart, ChartSeries

SUMMARY = "HyperPAV aliases: shares of a pool, and response of volumes with a base and aliases"

#: Maximum number of rows for one volume, and of volumes tabulated.
_MOST_STEPS, _MOST_VOLUMES = 32, 8
#: Minidisk and paging I/O are two; this is far more than needed.
_MOST_USES = 100
#: Probability of waiting below which one more alias makes no difference.
_RARELY = 0.005


def allocate(aliases: float, shares: Sequence[float], wants: Sequence[float]) -> list[float]:
    """Return the aliases that each use has in use, by share; unused ones go to the others by share."""
    return water_fill(aliases, shares, [min(want, aliases) for want in wants])


def split(aliases: int, needs: Sequence[float]) -> list[int]:
    """Return integer aliases by need; the remainder goes to the largest rounding losses, in order."""
    total = sum(needs)
    if not total:
        return [aliases] * len(needs)
    parts = [aliases * need / total for need in needs]
    counts = [math.floor(part + 1e-9) for part in parts]
    by_loss = sorted(range(len(needs)), key=lambda index: counts[index] - parts[index])
    for index in by_loss[: aliases - sum(counts)]:
        counts[index] += 1
    return counts


def solve(scenario: Scenario) -> Answer:
    """Solve shares first, then waits of the volumes with the aliases their use can count on."""
    uses, devices, aliases = scenario["use"], scenario["device"], scenario["aliases"]
    check_combinations(scenario)
    all_uses = uses or [{"name": "all", "share": 1, "wants": None, "in_use": None, "queued": None}]
    notes: list[str] = []
    volumes = [volume(scenario, device, all_uses, notes) for device in devices]
    shares = [float(use["share"]) for use in all_uses]
    wants = [_wants(use, volumes) for use in all_uses]
    gets = allocate(aliases, shares, wants)
    could = _gets_if_unlimited(aliases, shares, wants)
    entitled = proportional(aliases, shares)
    rows = [_use(use, *amounts) for use, *amounts in zip(all_uses, entitled, wants, gets, could, strict=True)]
    figures = [
        AnswerFigure("in_use", math.fsum(gets), "aliases", "in use on average", 2),
        AnswerFigure("free", aliases - math.fsum(gets), "aliases", "free on average", 2),
    ]
    tables = [_without_empty_measurements("uses", "Uses of the aliases", rows)] if uses else []
    charts = [_shares_chart(rows)] if uses else []
    if volumes:
        counts = {use["name"]: math.floor(can + 1e-9) for use, can in zip(all_uses, could, strict=True)}
        device_rows = _responses(scenario, volumes, counts, notes)
        steps, curves = _steps(volumes, aliases)
        tables += [_without_empty_measurements("devices", "Volumes", device_rows)]
        tables += [answer_table("aliases", "by_aliases", "By number of aliases of its own", steps)]
        tables += _published({device["bursts"] for device in devices} - {"chance"})
        charts += curves
        figures.append(_mean_response(volumes, device_rows))
    follow = ("uses", "gets") if uses else ("devices", "response")
    title = scenario.title or "HyperPAV aliases"
    return Answer("aliases", title, tables, figures, charts, notes, follow=follow)


def _without_empty_measurements(key: str, title: str, rows: Sequence[tuple[Any, ...]]) -> AnswerTable:
    """Return a table without its last two columns (measurements) if they are empty."""
    table = answer_table("aliases", key, title, rows)
    if any(row[-2] is not None for row in rows):
        return table
    return AnswerTable(key, title, table.columns[:-2], [row[:-2] for row in rows])


def _gets_if_unlimited(aliases: float, shares: Sequence[float], wants: Sequence[float]) -> list[float]:
    """Return the aliases that each would get if it wanted all."""
    return [
        allocate(aliases, shares, [*wants[:index], math.inf, *wants[index + 1 :]])[index]
        for index in range(len(shares))
    ]


def check_combinations(scenario: Scenario) -> None:
    """Raise an error for valid keys that contradict each other."""
    error = scenario.error
    uses, devices = scenario["use"], scenario["device"]
    if not uses and not devices:
        raise error("the scenario has neither use nor device", "add [[use]] or [[device]]")
    for kind, entries in (("use", uses), ("device", devices)):
        for name, times in Counter(entry["name"] for entry in entries).items():
            if times > 1:
                raise error(f"{kind} {name} is given twice", "use unique names")
    if len(uses) > _MOST_USES:
        raise error(f"the pool has {len(uses):,} uses", f"use {_MOST_USES} at most")
    use_names = {use["name"] for use in uses}
    for device in devices:
        path = f"device.{device['name']}"
        if device["use"] is None and len(uses) > 1:
            what = f"{path}.use is missing, and the pool has {len(uses)} uses"
            raise error(what, f'add use = "{uses[0]["name"]}"')
        if device["use"] is not None and device["use"] not in use_names:
            raise error(f"{path}.use is {device['use']}, which does not exist", "add [[use]] with that name")
        parts = [device[key] is not None for key in ("pend", "disc", "conn")]
        if (device["serv"] is None) != all(parts) or (device["serv"] is not None and any(parts)):
            raise error(f"{path} needs serv, or pend, disc and conn", "write serv = 0.5, or all three parts")
        if device["burst"] is not None and device["bursts"] != "chance":
            raise error(f"{path} has burst and bursts", "keep one of them")


class Volume(Struct, frozen=True):
    """A device of the scenario with its derived values."""

    name: str
    use: str
    rate: float
    serv: float
    resp: float | None
    burst: float

    @property
    def wants(self) -> float:
        return dasd.alias_use(self.rate, self.serv)


def volume(
    scenario: Scenario, device: dict[str, Any], uses: Sequence[dict[str, Any]], notes: list[str]
) -> Volume:
    serv = device["serv"]
    if serv is None:
        serv = dasd.service(device["pend"], device["disc"], device["conn"])
    burst = device["burst"]
    if device["bursts"] != "chance":
        measured, offered = dasd.published()[device["bursts"]], device["rate"] * serv / 1000
        burst = measured.factor_at(offered)
        low, high = measured.rows[0].utilization, measured.rows[-1].utilization
        if not 0.99 * low <= offered <= 1.01 * high:
            notes.append(
                f"{device['name']}: its base alone would be {100 * offered:.0f}% busy, and "
                f"{device['bursts']} was measured from {100 * low:.0f}% to {100 * high:.0f}%: the factor "
                "of the nearer end is used"
            )
    if device["resp"] is not None:
        error, path = scenario.error, f"device.{device['name']}"
        if device["resp"] < serv:
            what = f"{path}.resp is {device['resp']:g} ms, less than its service time of {serv:g} ms"
            raise error(what, "correct one of them")
        if burst is None:
            burst = dasd.burst_of(device["rate"], serv, device["resp"], device["aliases_then"])
            if burst is None:
                raise error(
                    f"{path}.resp does not determine a burst factor: with {device['aliases_then']} aliases "
                    f"and {device['rate'] * serv / 1000:.2f} requests in service no request waits, or all do",
                    "set aliases_then to the aliases it had, or set burst",
                )
    use = device["use"] or uses[0]["name"]
    return Volume(device["name"], use, device["rate"], serv, device["resp"], 1.0 if burst is None else burst)


def _wants(use: dict[str, Any], volumes: Sequence[Volume]) -> float:
    """Return the aliases that a use wants: given, measured, needed by its volumes, or all."""
    if use["wants"] is not None:
        return float(use["wants"])
    if use["in_use"] is not None and use["queued"] is not None:
        return math.inf if use["queued"] > 0 else float(use["in_use"])
    needs = [volume.wants for volume in volumes if volume.use == use["name"]]
    return sum(needs) if needs else math.inf


def _use(use: dict[str, Any], entitled: float, wants: float, gets: float, could: float) -> tuple[Any, ...]:
    observed, wanted = use["in_use"], None if wants == math.inf else wants
    bound_by = "demand" if gets >= wants - 1e-9 else "share"
    solved = (entitled, wanted, gets, max(0.0, gets - entitled), could, bound_by)
    return (use["name"], use["share"], *solved, observed, difference(gets, observed))


def _shares_chart(rows: Sequence[tuple[Any, ...]]) -> Chart:
    shown = {"entitled": 2, "gets": 4} | ({"observed": 8} if any(row[8] is not None for row in rows) else {})
    series = tuple(ChartSeries(name, [row[index] for row in rows]) for name, index in shown.items())
    return Chart("Aliases", "bars", [str(row[0]) for row in rows], series, "aliases")


def _responses(
    scenario: Scenario, volumes: Sequence[Volume], counts: dict[str, int], notes: list[str]
) -> list[tuple[Any, ...]]:
    """Return rows of volumes with all aliases of their use, and with their part of them."""
    sharing = {use: [volume for volume in volumes if volume.use == use] for use in counts}
    if any(len(of_use) > 1 and counts[use] for use, of_use in sharing.items()):
        scenario.assume("aliases_shared")
    if any(volume.burst != 1.0 for volume in volumes):
        scenario.assume("burst_carried")
    rows = []
    parts = {
        volume.name: part
        for use, of_use in sharing.items()
        for volume, part in zip(of_use, split(counts[use], [volume.wants for volume in of_use]), strict=True)
    }
    for volume in volumes:
        count, part = counts[volume.use], parts[volume.name]
        with_all = dasd.alias_queue(volume.rate, volume.serv, count, volume.burst)
        with_part = dasd.alias_queue(volume.rate, volume.serv, part, volume.burst)
        if with_all is None:
            notes.append(
                f"{volume.name}: more arrives than a base and {count} aliases can serve; "
                f"it needs {dasd.fewest_aliases(volume.rate, volume.serv)} at least"
            )
        elif with_part is None:
            notes.append(f"{volume.name}: its part, {part} of {count} aliases, is not enough; it needs more")
        queued_then = None
        if volume.resp is not None:
            queued_then = dasd.mean_queue_length(volume.rate, volume.resp, volume.serv)
        subject = (volume.name, volume.use, volume.rate, volume.serv, dasd.busy(volume.rate, volume.serv))
        response, queued = (with_part.response, with_part.queued) if with_part else (None, None)
        waits = (count, with_all.response if with_all else None, part, response, queued)
        rows.append((*subject, *waits, volume.burst, volume.resp, queued_then))
    some_wait = any(row[6] is None or row[9] is None or row[9] > 0.01 for row in rows)
    if some_wait and all(volume.burst == 1.0 for volume in volumes):
        factors = [row.factor for row in dasd.published()["paging"].rows]
        notes.append(
            "random arrivals are optimistic if requests come in bursts: published paging volumes waited "
            f"{min(factors):.1f} to {max(factors):.1f} times as long; set bursts, burst or a measured resp"
        )
    return rows


def _steps(volumes: Sequence[Volume], aliases: int) -> tuple[list[tuple[Any, ...]], list[Chart]]:
    """Return rows and a chart of each volume with 0, 1, 2, ... aliases of its own, until waiting is rare."""
    rows: list[tuple[Any, ...]] = []
    max_length = 0
    curves: list[tuple[str, list[float | None]]] = []
    for volume in volumes[:_MOST_VOLUMES]:
        first = max(0, dasd.fewest_aliases(volume.rate, volume.serv) - 1)
        responses: list[float | None] = [None] * first
        for count in range(first, first + min(max(aliases, 1), _MOST_STEPS) + 1):
            queue = dasd.alias_queue(volume.rate, volume.serv, count, volume.burst)
            if queue is None:
                rows.append((volume.name, count, None, 100.0, None, None, None))
                responses.append(None)
                continue
            times = (queue.wait, queue.response, queue.queued)
            rows.append((volume.name, count, 100 * queue.utilization, 100 * queue.waits, *times))
            responses.append(queue.response)
            if queue.waits < _RARELY:
                break
        max_length = max(max_length, len(responses))
        curves.append((volume.name, responses))
    # Once waiting is rare, the response is constant.
    series = tuple(
        ChartSeries(name, [*of_it, *[of_it[-1]] * (max_length - len(of_it))]) for name, of_it in curves
    )
    alias_counts = [float(number) for number in range(max_length)]
    return rows, [Chart("Response by number of aliases", "lines", alias_counts, series, "ms", "aliases")]


def _published(kinds: set[str]) -> list[AnswerTable]:
    """Return the published measurements of the burst factors used."""
    rows = [
        (kind, row.rate, row.serv, row.resp, 100 * row.utilization, row.factor, measured.source)
        for kind, measured in dasd.published().items()
        for row in (measured.rows if kind in kinds else ())
    ]
    return [answer_table("aliases", "bursts", "Bursts as published", rows)] if rows else []


def _mean_response(volumes: Sequence[Volume], rows: Sequence[tuple[Any, ...]]) -> AnswerFigure:
    """Return the mean response over all requests with aliases split; None if a volume's wait is unbounded."""
    weighted = total(product(volume.rate, row[8]) for volume, row in zip(volumes, rows, strict=True))
    mean = ratio(weighted, sum(volume.rate for volume in volumes))
    return AnswerFigure("response", mean, "ms", "response over all volumes, aliases split", 3)
