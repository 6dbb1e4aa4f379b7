"""Tests of aliases and waits for disks with published rows, an exact Markov chain and invariants."""

from __future__ import annotations

import itertools
import tomllib
from typing import Any

import numpy as np
import pytest

from iterations import draws
from zlens import models
from zlens.errors import ScenarioError
from zlens.models.aliases import dasd
from zlens.models.aliases import model as aliases
from zlens.models.scenario import example
from zlens.rendering.answer import Answer, by_name

#: FCX108 DEVICE as printed: rate, pend, disc, conn, serv, resp, queued, busy (None if not printed).
FCX108: dict[str, tuple[Any, ...]] = {
    "Eighty Logical Processors, AP1Z604G": (180, 0.147, 0.479, 0.229, 0.855, 1.50, 0.12, 15),
    "Eighty Logical Processors, AP2Z604G": (89.4, 0.156, 2.77, 0.271, 3.19, 6.46, 0.29, 29),
    "Eighty Logical Processors, AP3Z604G": (48.0, 0.208, 7.39, 0.418, 8.02, 18.0, 0.47, 38),
    "Eighty Logical Processors, AP4Z604D": (43.4, 0.240, 9.58, 0.483, 10.3, 25.2, 0.66, 45),
    "Eighty Logical Processors, AP5Z604G": (45.5, 0.241, 10.5, 0.480, 11.2, 30.8, 0.89, 51),
    "z/VM 6.4 Performance Update, BE0E": (2149, 0.229, 0.003, 0.193, 0.426, 6.57, 13.2, None),
    "z/VM 6.4 Performance Update, BE0F": (2142, 0.230, 0.003, 0.194, 0.427, 7.04, 14.2, None),
}
#: HPALIAS in "z/VM 6.4 Performance Update": aliases in use and requests queued, of minidisks (share 20),
#: then of paging (share 140).
HPALIAS = {
    "22:02:18": (2.37, 27.18, 13.63, 5.19),
    "22:03:18": (2.29, 27.26, 13.71, 6.18),
    "22:04:18": (2.32, 27.21, 13.68, 6.31),
    "22:05:18": (3.99, 25.30, 12.01, 3.78),
}


def solved(count: int, use: list[dict[str, Any]], device: Any = ()) -> Answer:
    return models.solve("aliases", {"aliases": count, "use": use, "device": list(device)})


def pool(count: int, *uses: tuple[int, float | None]) -> list[Any]:
    entries = [
        {"name": f"U{at}", "share": share, **({} if wants is None else {"wants": wants})}
        for at, (share, wants) in enumerate(uses)
    ]
    return solved(count, entries).table("uses").column("gets")


@pytest.mark.parametrize(
    ("count", "shares", "expected"),
    [(15, (100, 200), [5, 10]), (16, (20, 140), [2, 14])],
    ids=["z/VM 6.4 Performance Update, SET CU", "z/VM 6.4 Performance Update, HPALIAS"],
)
def test_entitlement(count: int, shares: tuple[int, int], expected: list[float]) -> None:
    answer = solved(count, [{"name": f"U{at}", "share": share} for at, share in enumerate(shares)])
    assert answer.table("uses").column("entitled") == pytest.approx(expected, abs=1e-9)
    assert answer.table("uses").column("gets") == pytest.approx(expected, abs=1e-9)


def test_alias_excess_is_given_on_demand() -> None:
    """z/VM 6.4 Performance Update: excess is distributed as with weights and relative shares."""
    assert pool(15, (100, 3), (200, None)) == pytest.approx([3, 12], abs=1e-9)


@pytest.mark.parametrize("time", HPALIAS)
def test_hpalias_samples(time: str) -> None:
    mdisk, mdisk_queued, paging, paging_queued = HPALIAS[time]
    assert mdisk + paging == pytest.approx(16, abs=1e-9)
    uses = [
        {"name": "MDISK", "share": 20, "in_use": mdisk, "queued": mdisk_queued},
        {"name": "PAGING", "share": 140, "in_use": paging, "queued": paging_queued},
    ]
    answer = solved(16, uses)
    rows = by_name(answer.table("uses"))
    assert [rows[name]["gets"] for name in ("MDISK", "PAGING")] == pytest.approx([2, 14])
    assert rows["MDISK"]["observed"] == mdisk
    # Both queued: use is within 0.4 of the entitlement, except in the last sample with less queued paging.
    assert (abs(rows["MDISK"]["error"]) <= 0.4) == (time != "22:05:18")  # type: ignore[arg-type]
    uses[1]["queued"] = 0.0
    assert solved(16, uses).table("uses").column("gets") == pytest.approx([mdisk, paging])


def test_allocation_against_brute_force() -> None:
    """The same allocation in small steps, each to the use with the least per share."""
    chance = draws(5)
    for _ in range(100):
        count = chance.randint(1, 16)
        shares = [float(chance.randint(1, 5)) for _ in range(3)]
        wants = [chance.choice((chance.uniform(0, 12), 99.0)) for _ in range(3)]
        found, step = [0.0] * 3, 0.01
        for _ in range(round(count / step)):
            open_to = [at for at in range(3) if found[at] + step <= min(wants[at], count) + 1e-9]
            if not open_to:
                break
            found[min(open_to, key=lambda at: found[at] / shares[at])] += step
        assert aliases.allocate(count, shares, wants) == pytest.approx(found, abs=0.06)


@pytest.mark.parametrize("row", FCX108)
def test_fcx108(row: str) -> None:
    """Serv is the sum of its parts, Queued follows by Little's law, Busy by the utilization law."""
    rate, pend, disc, conn, serv, resp, queued, busy = FCX108[row]
    assert dasd.service(pend, disc, conn) == pytest.approx(serv, rel=0.005)
    device = {"name": "D", "rate": rate, "pend": pend, "disc": disc, "conn": conn, "resp": resp}
    answer = solved(0, [], [device])
    found = by_name(answer.table("devices"))["D"]
    assert found["serv"] == pytest.approx(serv, rel=0.005)
    assert found["measured_queued"] == pytest.approx(queued, abs=0.03 if queued < 1 else 0.06)
    if busy is not None:
        assert found["busy"] == pytest.approx(busy, abs=0.9)
    # With the measured number of aliases the model returns the measured values.
    assert found["response"] == pytest.approx(resp)
    assert found["queued"] == pytest.approx(found["measured_queued"])
    # One alias would remove most of the wait.
    more = by_name(solved(1, [], [device]).table("devices"))["D"]
    assert serv * 0.99 < more["response"] < serv + 0.35 * (resp - serv)


@pytest.mark.parametrize(
    ("rate", "serv", "busy"),
    [(3605.1, 0.2326, 83.8508), (4914.6, 0.1855, 91.157), (359.4, 2.6454, 95.0844), (554.4, 1.766, 97.9029)],
    ids=["1 record, command", "1 record, transport", "64 records, command", "64 records, transport"],
)
def test_utilization_of_zhpf_volumes(rate: float, serv: float, busy: float) -> None:
    """z/VM Performance Update (6.2 and 6.3), tables of zHPF."""
    answer = solved(0, [], [{"name": "D", "rate": rate, "serv": serv}])
    assert answer.table("devices").column("busy") == pytest.approx([busy], abs=0.02)


def test_published_bursts() -> None:
    paging, minidisk = dasd.published()["paging"], dasd.published()["minidisk"]
    assert [row.factor for row in paging.rows] == pytest.approx([4.15, 2.57, 1.99, 1.79, 1.68], abs=0.01)
    assert [row.utilization for row in paging.rows] == pytest.approx(
        [0.154, 0.285, 0.385, 0.447, 0.51], abs=1e-3
    )
    assert sorted(row.factor for row in minidisk.rows) == pytest.approx([1.33, 1.45], abs=0.01)
    assert paging.factor_at(0) == paging.factor_at(0.15) == paging.rows[0].factor
    assert paging.factor_at(0.9) == paging.rows[-1].factor
    assert paging.factor_at((paging.rows[1].utilization + paging.rows[2].utilization) / 2) == pytest.approx(
        (paging.rows[1].factor + paging.rows[2].factor) / 2
    )


def test_bursts_by_kind_and_by_number() -> None:
    device = {"name": "D", "rate": 180, "serv": 0.855}
    by_kind = solved(0, [], [{**device, "bursts": "paging"}]).table("devices")
    assert by_kind.column("response") == pytest.approx([1.5], abs=0.005)
    table = solved(0, [], [{**device, "bursts": "paging"}]).table("bursts")
    assert table.column("resp") == [1.5, 6.46, 18.0, 25.2, 30.8]
    assert all("Eighty Logical Processors" in str(source) for source in table.column("source"))
    assert all(one.key != "bursts" for one in solved(0, [], [device]).tables)
    by_number = solved(0, [], [{**device, "burst": 2}]).table("devices").column("response")[0]
    plain = solved(0, [], [device])
    wait = plain.table("devices").column("response")[0] - 0.855  # type: ignore[operator]
    assert by_number == pytest.approx(0.855 + 2 * wait)
    assert any("random arrivals are optimistic" in note for note in plain.notes)
    far = solved(9, [], [{**device, "rate": 4000, "bursts": "paging"}])
    assert any("342% busy" in note and "15% to 51%" in note for note in far.notes)


def test_published_range_is_noted_only_outside() -> None:
    for rate, outside in ((170, True), (180, False), (590, False), (620, True)):
        answer = solved(0, [], [{"name": "D", "rate": rate, "serv": 0.855, "bursts": "paging"}])
        assert any("was measured from" in note for note in answer.notes) == outside


def test_alias_uses_state_limit() -> None:
    uses = [
        {"name": "A", "share": 100, "wants": 2, "in_use": 1.5},
        {"name": "B", "share": 100},
        {"name": "C", "share": 100, "wants": 7},
    ]
    rows = by_name(solved(15, uses).table("uses"))
    assert [rows[name]["bound_by"] for name in "ABC"] == ["demand", "share", "share"]
    assert [rows[name]["excess"] for name in "ABC"] == pytest.approx([0, 1.5, 1.5])
    assert [rows[name]["could_get"] for name in "ABC"] == pytest.approx([5, 6.5, 6.5])
    assert rows["A"]["error"] == pytest.approx(0.5)
    exactly = by_name(solved(15, [{"name": "A", "share": 1, "wants": 15}]).table("uses"))["A"]
    assert (exactly["bound_by"], exactly["gets"]) == ("demand", 15)


def test_measured_response_includes_its_aliases() -> None:
    device = {"name": "D", "rate": 1500, "serv": 1.0, "resp": 3.0, "aliases_then": 1}
    answer = solved(1, [], [device])
    assert answer.table("devices").column("response") == pytest.approx([3.0])
    # Two exposures, 0.75 busy: a wait of 1.2857 ms with random arrivals (Erlang), 2 ms measured.
    assert answer.table("devices").column("burst") == pytest.approx([2 / (9 / 7)])
    assert solved(2, [], [device]).table("devices").column("response")[0] < 1.5  # type: ignore[operator]
    assert {one.name for one in answer.assumptions} == {"burst_carried"}


def test_alias_steps_end_with_few_waits() -> None:
    steps = solved(20, [], [{"name": "D", "rate": 900, "serv": 1.0}]).table("by_aliases")
    waits: list[Any] = steps.column("waits")
    assert steps.column("aliases") == list(range(len(waits)))
    assert waits[0] == pytest.approx(90)
    assert waits[-1] < 0.5 <= waits[-2]
    assert len(solved(2, [], [{"name": "D", "rate": 900, "serv": 1.0}]).table("by_aliases").rows) == 3


def test_erlang_with_five_exposures() -> None:
    """Textbook: the wait of M/M/5 with four requests in service is 0.554113 of a service time."""
    found = dasd.alias_queue(4000, 1.0, 4, 1.0)
    assert found is not None
    assert found.wait == pytest.approx(0.554113, abs=1e-6)


def test_overloaded_aliases() -> None:
    device = {"name": "D", "rate": 4000, "serv": 1.0}
    assert dasd.fewest_aliases(4000, 1.0) == 4
    short = solved(3, [], [device])
    assert short.table("devices").column("response") == [None]
    assert short.figure("response") is None
    assert any("needs 4 at least" in note for note in short.notes)
    assert solved(4, [], [device]).figure("response") == pytest.approx(1.554113, abs=1e-6)
    steps = short.table("by_aliases")
    assert steps.column("aliases")[:2] == [3, 4]
    assert steps.column("response")[:2] == [None, pytest.approx(1.554113, abs=1e-6)]


def exact(loads: tuple[float, float], count: int, most: int = 40) -> list[float]:
    """Return the mean requests at two volumes with a base each and common aliases, service time 1.

    Solves a Markov chain as linear equations; aliases serve the volumes' queues in proportion.
    """
    size = most + 1
    flow = np.zeros((size * size, size * size))
    for one, other in itertools.product(range(size), repeat=2):
        here = one * size + other
        extra = (max(0, one - 1), max(0, other - 1))
        served = min(count, sum(extra))
        for at, held in enumerate((one, other)):
            step = size if at == 0 else 1
            if held < most:
                flow[here, here + step] += loads[at]
            if held:
                flow[here, here - step] += 1 + (served * extra[at] / sum(extra) if sum(extra) else 0)
    np.fill_diagonal(flow, -flow.sum(axis=1))
    flow[:, 0] = 1.0
    right = np.zeros(size * size)
    right[0] = 1.0
    parts = np.linalg.solve(flow.T, right).reshape(size, size)
    counts = np.arange(size)
    return [float((parts.sum(axis=1) * counts).sum()), float((parts.sum(axis=0) * counts).sum())]


@pytest.mark.parametrize(
    ("loads", "count"), [((0.8, 0.8), 2), ((0.7, 0.3), 1), ((1.4, 0.5), 2), ((1.5, 1.5), 4)]
)
def test_volumes_sharing_aliases(loads: tuple[float, float], count: int) -> None:
    """No volume is faster than alone with all aliases; in total they are not slower than with split ones."""
    inside = exact(loads, count, 26)
    devices = [{"name": f"D{at}", "rate": 1000 * load, "serv": 1.0} for at, load in enumerate(loads)]
    answer = solved(count, [], devices)
    alone, apart = (answer.table("devices").column(key) for key in ("alone", "response"))
    response = [held / load for held, load in zip(inside, loads, strict=True)]
    assert all(best <= found + 1e-6 for best, found in zip(alone, response, strict=True))  # type: ignore[operator]
    assert sum(inside) <= sum(load * one for load, one in zip(loads, apart, strict=True)) + 1e-6  # type: ignore
    mean = answer.figure("response")
    assert mean == pytest.approx(sum(load * one for load, one in zip(loads, apart, strict=True)) / sum(loads))  # type: ignore
    assert {one.name for one in answer.assumptions} == {"aliases_shared"}


def test_markov_chain_of_one_volume_is_erlang() -> None:
    found = dasd.alias_queue(800, 1.0, 1, 1.0)
    assert found is not None
    assert exact((0.8, 0.0), 1)[0] / 0.8 == pytest.approx(found.response, rel=1e-6)
    # With an alias for every request, the requests beyond the base are the aliases in use.
    base = sum(max(0.0, held) for held in exact((0.8, 0.0), 39)) - dasd.alias_use(800, 1.0)
    assert base == pytest.approx(0.8 / 1.8, rel=1e-6)


def test_aliases_are_split_by_need() -> None:
    assert aliases.split(4, [0.02, 3.3]) == [0, 4]
    assert aliases.split(5, [1, 1]) == [3, 2]
    assert aliases.split(3, [0, 0]) == [3, 3]
    assert aliases.split(0, [1, 2]) == [0, 0]
    chance = draws(8)
    for _ in range(500):
        needs = [chance.choice((0.0, chance.random())) for _ in range(chance.randint(1, 9))]
        count = chance.randint(0, 30)
        parts = aliases.split(count, needs)
        if sum(needs):
            assert sum(parts) == count
            assert all(
                abs(part - count * need / sum(needs)) < 1 for part, need in zip(parts, needs, strict=True)
            )


def test_volumes_use_aliases_of_their_use() -> None:
    uses = [{"name": "MDISK", "share": 20}, {"name": "PAGING", "share": 140}]
    devices = [
        {"name": "M", "use": "MDISK", "rate": 3000, "serv": 1.0},
        {"name": "P", "use": "PAGING", "rate": 20_000, "serv": 1.0},
    ]
    answer = solved(16, uses, devices)
    rows = by_name(answer.table("uses"))
    assert rows["MDISK"]["wants"] == pytest.approx(3 - 3 / 4)
    # Paging wants more aliases than exist: minidisks have their two, slightly too few.
    assert rows["MDISK"]["gets"] == pytest.approx(2)
    volumes = by_name(answer.table("devices"))
    assert volumes["M"]["aliases"] == 2
    assert volumes["M"]["response"] is None
    devices[1]["rate"] = 9000
    answer = solved(16, uses, devices)
    assert by_name(answer.table("uses"))["MDISK"]["could_get"] == pytest.approx(16 - (9 - 9 / 10))
    assert by_name(answer.table("devices"))["M"]["aliases"] == 7
    # Minidisks want more than their two: paging is sure of its own part only.
    assert by_name(answer.table("devices"))["P"]["aliases"] == 14


def test_use_demand_is_sum_of_volumes() -> None:
    devices = [{"name": f"D{at}", "use": "A", "rate": 1000 * at, "serv": 1.0} for at in (1, 2)]
    rows = by_name(solved(9, [{"name": "A", "share": 1}, {"name": "B", "share": 1}], devices).table("uses"))
    assert rows["A"]["wants"] == pytest.approx(1 / 2 + 4 / 3)
    assert rows["B"]["gets"] == pytest.approx(9 - 1 / 2 - 4 / 3)


def test_zero_aliases_or_demand() -> None:
    assert pool(0, (100, None), (200, 5)) == [0, 0]
    assert pool(8, (0, None), (0, None)) == pytest.approx([4, 4])
    assert pool(8, (0, None), (5, 2)) == pytest.approx([6, 2])
    assert pool(8, (0, None), (5, None)) == pytest.approx([0, 8])
    idle = solved(2, [], [{"name": "D", "rate": 0, "serv": 1}, {"name": "E", "rate": 5, "serv": 0}])
    assert idle.table("devices").column("response") == [1, 0]
    assert idle.figure("in_use") == 0


def test_more_aliases_never_increase_response() -> None:
    chance = draws(2)
    for _ in range(1000):
        rate, serv, burst = chance.uniform(1, 5000), chance.uniform(0.1, 5), chance.uniform(0.5, 5)
        fewest = dasd.fewest_aliases(rate, serv)
        assert dasd.alias_queue(rate, serv, fewest, burst) is not None
        assert not fewest or dasd.alias_queue(rate, serv, fewest - 1, burst) is None
        one, other = (dasd.alias_queue(rate, serv, fewest + more, burst) for more in (0, 1))
        assert one is not None
        assert other is not None
        assert serv <= other.response <= one.response
        # The result obeys Little's law and has the burst factor of the input.
        assert dasd.mean_queue_length(rate, one.response, serv) == pytest.approx(one.queued)
        assert dasd.burst_of(rate, serv, one.response, fewest) == pytest.approx(burst, rel=1e-6)


def test_aliases_example_is_valid() -> None:
    answer = models.solve("aliases", tomllib.loads(example("aliases")))
    assert answer.table("uses").column("entitled") == [2, 14]
    # The published volume without an alias.
    steps = [row for row in answer.table("by_aliases").rows if row[:2] == ("LNX001", 0)]
    assert steps[0][5] == pytest.approx(6.57, abs=0.01)


@pytest.mark.parametrize(
    ("scenario", "says"),
    [
        ({}, "the scenario has neither use nor device"),
        ({"use": [{"name": "A", "share": 1}] * 2}, "use A is given twice"),
        ({"device": [{"name": "A", "rate": 1, "serv": 1}] * 2}, "device A is given twice"),
        ({"use": [{"name": f"U{at}", "share": 1} for at in range(101)]}, "the pool has 101 uses"),
        ({"device": [{"name": "A", "rate": 1}]}, "device.A needs serv, or pend, disc and conn"),
        ({"device": [{"name": "A", "rate": 1, "pend": 1, "disc": 1}]}, "device.A needs serv"),
        ({"device": [{"name": "A", "rate": 1, "serv": 1, "conn": 1}]}, "device.A needs serv"),
        (
            {"device": [{"name": "A", "rate": 1, "serv": 1, "use": "B"}]},
            "device.A.use is B, which does not exist",
        ),
        (
            {
                "use": [{"name": "A", "share": 1}, {"name": "B", "share": 1}],
                "device": [{"name": "A", "rate": 1, "serv": 1}],
            },
            "device.A.use is missing, and the pool has 2 uses",
        ),
        (
            {"device": [{"name": "A", "rate": 1, "serv": 1, "burst": 2, "bursts": "paging"}]},
            "burst and bursts",
        ),
        (
            {"device": [{"name": "A", "rate": 1, "serv": 1, "resp": 0.5}]},
            "less than its service time of 1 ms",
        ),
        (
            {"device": [{"name": "A", "rate": 2000, "serv": 1, "resp": 5}]},
            "does not determine a burst factor",
        ),
        ({"device": [{"name": "A", "rate": 0, "serv": 1, "resp": 5}]}, "does not determine a burst factor"),
        ({"device": [{"name": "A", "rate": 1, "serv": -1}]}, "device[1].serv is -1"),
        ({"aliases": 1.5}, "aliases is 1.5; expected an integer from 0"),
    ],
)
def test_invalid_aliases_scenario_is_rejected_with_fix(scenario: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        models.solve("aliases", {"aliases": 4, **scenario})
    assert says in str(caught.value)
    assert caught.value.cure
