"""Tests of queues with closed forms, other algorithms and textbook numbers."""

from __future__ import annotations

import itertools
import math
import tomllib
from typing import Any

import pytest

from iterations import draws
from zlens import models
from zlens.errors import ScenarioError
from zlens.models.queueing import queues
from zlens.models.scenario import example
from zlens.rendering.answer import by_name


def test_erlang_c_by_its_sum() -> None:
    for servers, part in itertools.product((1, 2, 5, 40), (0.1, 0.5, 0.9, 0.99)):
        offered = servers * part
        last = offered**servers / math.factorial(servers) / (1 - part)
        whole = math.fsum(offered**n / math.factorial(n) for n in range(servers)) + last
        assert queues.erlang_c(servers, offered) == pytest.approx(last / whole)


@pytest.mark.parametrize(
    ("case", "rate", "servers", "wait"),
    [("textbook: M/M/5 at 80%", 4.0, 5, 0.55411255), ("textbook: M/M/1 at 50%", 0.5, 1, 1.0)],
)
def test_many_servers(case: str, rate: float, servers: int, wait: float) -> None:
    found = queues.multi_server_queue(rate, 1.0, servers)
    assert found is not None
    assert found.wait == pytest.approx(wait, abs=1e-6)
    assert found.queued == pytest.approx(rate * wait, abs=1e-5)


def test_bursts_change_only_wait() -> None:
    plain, bursts = (
        queues.multi_server_queue(4.0, 1.0, 5),
        queues.multi_server_queue(4.0, 1.0, 5, arrivals=4.0, services=0.0),
    )
    assert plain is not None
    assert bursts is not None
    assert bursts.wait == pytest.approx(2 * plain.wait)
    assert bursts.response - bursts.wait == pytest.approx(1.0)


def test_overloaded_queue_has_no_result() -> None:
    assert queues.multi_server_queue(5.0, 1.0, 5) is None
    assert queues.multi_server_queue(0.0, 1.0, 5) is not None


@pytest.mark.parametrize(
    ("case", "demands", "customers", "think", "rates", "expected"),
    [
        ("textbook: three stations", [0.2, 0.3, 0.1], 10, 1.0, (), 3.1937062),
        ("textbook: balanced", [1.0, 1.0], 2, 0.0, (), 2 / 3),
        ("textbook: machine repairmen", [0.5], 20, 4.0, ([1.0, 2.0, 3.0],), 4.2799655),
    ],
)
def test_one_class(
    case: str, demands: list[float], customers: int, think: float, rates: Any, expected: float
) -> None:
    assert queues.one_class(demands, customers, think, rates).throughput[0] == pytest.approx(
        expected, abs=1e-6
    )


def buzen(demands: list[float], customers: int, think: float) -> float:
    """Return the throughput by Buzen's convolution."""
    terms = [think**n / math.factorial(n) for n in range(customers + 1)]
    for demand in demands:
        for n in range(1, customers + 1):
            terms[n] += demand * terms[n - 1]
    return terms[customers - 1] / terms[customers]


def test_mean_values_agree_with_buzen() -> None:
    chance = draws(1)
    for _ in range(300):
        demands = [chance.choice([0.0, chance.uniform(0.01, 2)]) for _ in range(chance.randint(1, 5))]
        customers, think = chance.randint(1, 30), chance.choice([0.0, chance.uniform(0, 10)])
        if not think + sum(demands):
            continue
        expected = buzen(demands, customers, think)
        plain = queues.one_class(demands, customers, think)
        assert plain.throughput[0] == pytest.approx(expected)
        # One server given as a speed of one uses the other algorithm.
        other = queues.one_class(demands, customers, think, [[1.0]] + [None] * (len(demands) - 1))
        assert other.throughput[0] == pytest.approx(expected)
        assert other.queue[0] == pytest.approx(plain.queue[0])
        assert other.residence[0] == pytest.approx(plain.residence[0])
        assert sum(plain.queue[0]) + think * plain.throughput[0] == pytest.approx(customers)


def birth_death(demand: float, customers: int, think: float, speeds: list[float]) -> float:
    """Return the throughput of one station whose speed depends on its number of customers."""
    weights = [1.0]
    for n in range(1, customers + 1):
        weights.append(weights[-1] * (customers - n + 1) / think * demand / speeds[min(n, len(speeds)) - 1])
    busy = (weights[n] * speeds[min(n, len(speeds)) - 1] for n in range(1, customers + 1))
    return math.fsum(busy) / demand / math.fsum(weights)


def test_speeds_agree_with_birth_and_death() -> None:
    chance = draws(2)
    for _ in range(300):
        servers, customers = chance.randint(1, 20), chance.randint(1, 60)
        speeds = chance.choice([[float(n) for n in range(1, servers + 1)], [1.0, 1.3], [2.0, 1.0, 1.5]])
        demand, think = chance.uniform(0.01, 1), chance.uniform(0.01, 10)
        found = queues.one_class([demand], customers, think, [speeds])
        expected = birth_death(demand, customers, think, speeds)
        assert found.throughput[0] == pytest.approx(expected, rel=1e-9)
        assert found.queue[0][0] == pytest.approx(customers - think * expected, rel=1e-6, abs=1e-9)


def test_several_classes_agree_with_all_states() -> None:
    """Two classes at two stations agree with the product form summed over all states."""
    demands, customers, thinks = [[0.4, 0.2], [0.1, 0.5]], [3, 2], [1.0, 0.5]

    def weight(population: tuple[int, int]) -> float:
        total = 0.0
        for a in itertools.product(range(population[0] + 1), repeat=2):
            for b in itertools.product(range(population[1] + 1), repeat=2):
                away = (population[0] - sum(a), population[1] - sum(b))
                if min(away) < 0:
                    continue
                one = 1.0
                for k in range(2):
                    one *= math.comb(a[k] + b[k], a[k]) * demands[0][k] ** a[k] * demands[1][k] ** b[k]
                for c in range(2):
                    one *= thinks[c] ** away[c] / math.factorial(away[c])
                total += one
        return total

    whole = weight((3, 2))
    found = queues.multi_class_network(demands, customers, thinks)
    assert found.throughput[0] == pytest.approx(weight((2, 2)) / whole)
    assert found.throughput[1] == pytest.approx(weight((3, 1)) / whole)


def test_single_class_equals_multi_class() -> None:
    alone = queues.one_class([0.2, 0.3, 0.1], 10, 1.0, [None, None, []])
    among = queues.multi_class_network(
        [[0.2, 0.3, 0.1], [1.0, 1.0, 1.0]], [10, 0], [1.0, 1.0], [False, False, True]
    )
    assert among.throughput == pytest.approx((alone.throughput[0], 0.0))
    assert among.utilization == pytest.approx(alone.utilization)


def test_thousands_of_customers_do_not_overflow() -> None:
    found = queues.one_class([0.5, 0.01], 2000, 40.0, [[1.0, 1.5], None])
    assert found.throughput[0] == pytest.approx(3.0)
    assert found.queue[0][0] + found.queue[0][1] + 40.0 * found.throughput[0] == pytest.approx(2000)


def solved(**scenario: Any) -> models.Answer:
    return models.solve("queueing", scenario)


def test_queueing_example() -> None:
    answer = models.solve("queueing", tomllib.loads(example("queueing")))
    # N = X (R + Z), and busy = X D.
    throughput, response = answer.figure("throughput") or 0.0, answer.figure("response") or 0.0
    assert throughput * (response + 10) == pytest.approx(40)
    assert answer.table("stations").column("utilization") == pytest.approx(
        [100 * throughput * 0.30 / 2, 100 * throughput * 0.12]
    )


def test_open_queueing_system() -> None:
    answer = solved(
        station=[{"name": "CPU", "servers": 5}, {"name": "LAN", "kind": "delay"}],
        **{"class": [{"name": "a", "rate": 4.0, "demand": {"CPU": 1.0, "LAN": 0.5}}]},
    )
    assert answer.figure("response") == pytest.approx(0.55411255 + 1.0 + 0.5)
    assert answer.table("stations").column("utilization") == [pytest.approx(80.0), None]


def test_overloaded_open_system_has_note() -> None:
    answer = solved(
        station=[{"name": "CPU"}], **{"class": [{"name": "a", "rate": 2.0, "demand": {"CPU": 1.0}}]}
    )
    assert answer.figure("response") is None
    assert answer.figure("busiest") == pytest.approx(100)
    assert answer.figure("throughput") == pytest.approx(1), "what one server can do"
    assert "more arrives than can be served (work for 2 servers, and it has 1)" in answer.notes[0]


def test_saturated_station_has_note() -> None:
    answer = solved(
        station=[{"name": "CPU"}], **{"class": [{"name": "a", "rate": 5.0, "demand": {"CPU": 0.2}}]}
    )
    assert answer.figure("response") is None
    assert answer.figure("throughput") == pytest.approx(5)
    assert "as much arrives as can be served" in answer.notes[0]


def test_saturated_station_limits_next_station() -> None:
    """10 per second arrive at a station that serves 5: the next one receives 5 and is half busy."""
    answer = solved(
        station=[{"name": "CPU"}, {"name": "DASD"}],
        **{"class": [{"name": "a", "rate": 10.0, "demand": {"CPU": 0.2, "DASD": 0.1}}]},
    )
    assert answer.figure("throughput") == pytest.approx(5)
    assert answer.table("stations").column("utilization") == [pytest.approx(100), pytest.approx(50)]
    assert answer.table("stations").column("residence") == [None, pytest.approx(0.2)]


def test_open_and_closed_classes_at_one_station() -> None:
    """Open work uses 45% of the server, closed customers the rest: 0.55 / 0.2 = 2.75 per second."""
    answer = solved(
        station=[{"name": "CPU"}],
        **{
            "class": [
                {"name": "open", "rate": 0.9, "demand": {"CPU": 0.5}},
                {"name": "closed", "customers": 500, "think": 1.0, "demand": {"CPU": 0.2}},
            ]
        },
    )
    rows = by_name(answer.table("classes"))
    assert rows["closed"]["throughput"] == pytest.approx(2.75)
    assert rows["open"]["throughput"] == pytest.approx(0.9)
    assert answer.table("stations").column("utilization") == [pytest.approx(100)]


def test_mixed_classes_agree_with_all_states() -> None:
    """The oracle is a Markov chain of the open and closed customers of a server, solved by iteration."""
    arrivals, open_demand, customers, think, demand, most = 0.6, 0.5, 3, 2.0, 0.8, 60
    share = dict.fromkeys(itertools.product(range(most + 1), range(customers + 1)), 1.0)
    flows: dict[tuple[int, int], list[tuple[tuple[int, int], float]]] = {state: [] for state in share}
    leaving = dict.fromkeys(share, 0.0)
    for opened, closed in share:
        there = opened + closed
        steps = {
            (opened + 1, closed): arrivals if opened < most else 0.0,
            (opened, closed + 1): (customers - closed) / think,
        }
        if there:
            steps[(opened - 1, closed)] = opened / there / open_demand
            steps[(opened, closed - 1)] = closed / there / demand
        for state, rate in steps.items():
            if rate:
                flows[state].append(((opened, closed), rate))
                leaving[(opened, closed)] += rate
    for _ in range(3000):
        for state, sources in flows.items():
            share[state] = math.fsum(share[source] * rate for source, rate in sources) / leaving[state]
    total = math.fsum(share.values())
    inside = math.fsum(p * opened for (opened, _), p in share.items()) / total
    back = math.fsum(p * (customers - closed) / think for (_, closed), p in share.items()) / total
    answer = solved(
        station=[{"name": "CPU"}],
        **{
            "class": [
                {"name": "open", "rate": arrivals, "demand": {"CPU": open_demand}},
                {"name": "closed", "customers": customers, "think": think, "demand": {"CPU": demand}},
            ]
        },
    )
    rows = by_name(answer.table("classes"))
    assert rows["closed"]["throughput"] == pytest.approx(back, rel=1e-6)
    assert rows["open"]["in_system"] == pytest.approx(inside, rel=1e-6)


def test_mixed_classes_with_delay() -> None:
    """Customers of a delay do not wait for each other."""
    classes = [
        {"name": "open", "rate": 2.0, "demand": {"LAN": 3.0}},
        {"name": "closed", "customers": 4, "think": 1.0, "demand": {"LAN": 1.0}},
    ]
    answer = solved(station=[{"name": "LAN", "kind": "delay"}], **{"class": classes})
    rows = by_name(answer.table("classes"))
    assert (rows["open"]["response"], rows["closed"]["response"]) == (pytest.approx(3), pytest.approx(1))
    assert answer.table("stations").column("queue") == [pytest.approx(2 * 3 + 2 * 1)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"class": [{"name": "a", "demand": {"CPU": 1}}]}, "needs exactly one of rate and customers"),
        ({"class": [{"name": "a", "customers": 1, "demand": {"X": 1}}]}, "class.a.demand.X is not a station"),
        ({"class": [{"name": "a", "customers": 1, "demand": {"CPU": 0}}]}, "has no demand"),
        ({"class": [{"name": "a", "rate": 1, "think": 1, "demand": {"CPU": 1}}]}, "has both rate and think"),
        (
            {
                "class": [
                    {"name": n, key: 1, "demand": {"CPU": 1}}
                    for n, key in (("a", "rate"), ("b", "customers"))
                ]
            },
            "the open classes use all of CPU (100%)",
        ),
        (
            {
                "station": [{"name": "CPU", "servers": 2}],
                "class": [
                    {"name": n, key: 1, "demand": {"CPU": 0.5}}
                    for n, key in (("a", "rate"), ("b", "customers"))
                ],
            },
            "has several servers or speeds, and some classes are open and some closed",
        ),
        ({"station": [{"name": "CPU", "kind": "delay", "servers": 2}]}, "is a delay and has servers"),
        ({"station": [{"name": "CPU", "arrival_variation": 2}]}, "the system is closed"),
        (
            {
                "station": [{"name": "CPU", "servers": 2}],
                "class": [{"name": n, "customers": 1, "demand": {"CPU": 1}} for n in "ab"],
            },
            "several closed classes",
        ),
        (
            {"class": [{"name": n, "customers": 9999, "demand": {"CPU": 1}} for n in "ab"]},
            "100,000,000 combinations of customers are too many",
        ),
    ],
)
def test_invalid_queueing_scenario_is_rejected_with_fix(change: dict[str, Any], says: str) -> None:
    scenario = {
        "station": [{"name": "CPU"}],
        "class": [{"name": "a", "customers": 1, "demand": {"CPU": 1}}],
        **change,
    }
    with pytest.raises(ScenarioError) as caught:
        models.solve("queueing", scenario)
    assert says in str(caught.value)
