"""Queueing arithmetic shared by the models: servers with a queue, and exact closed networks.

Times are in one unit throughout, rates in its inverse. Sources: Kleinrock, Queueing Systems 1 (Erlang's
formula); Allen, Probability, Statistics and Queueing Theory (Allen-Cunneen); Reiser and Lavenberg,
"Mean-value analysis of closed multichain queueing networks", 1980; Buzen, "Computational algorithms for
closed queueing networks with exponential servers", 1973 (convolution).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from operator import mul

from msgspec import Struct

#: Maximum number of states of several classes; solving more would last minutes.
MOST_STATES = 2_000_000


class Queue(Struct, frozen=True):
    """One station: utilization of each server, probability of waiting, wait, response, number waiting."""

    utilization: float
    waits: float
    wait: float
    response: float
    queued: float


def erlang_c(servers: int, offered: float) -> float:
    """Return the probability that an arrival waits; offered: arrivals per service time. 1 if overloaded."""
    if offered >= servers:
        return 1.0
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1.0 - offered / servers * (1.0 - blocked))


def multi_server_queue(
    rate: float, service: float, servers: int = 1, *, arrivals: float = 1.0, services: float = 1.0
) -> Queue | None:
    """Solve M/M/c, or G/G/c by Allen-Cunneen; return None if more arrives than can be served.

    rate      arrivals per unit of time
    service   mean service time
    arrivals  squared coefficient of variation of interarrival times (1 is random, more is bursty)
    services  the same for service times
    """
    offered = rate * service
    if not offered < servers:
        return None
    waits = erlang_c(servers, offered)
    wait = waits * service / (servers - offered) * (arrivals + services) / 2
    return Queue(offered / servers, waits, wait, wait + service, rate * wait)


class ClosedNetwork(Struct, frozen=True):
    """A closed network: throughput and response of each class, queue and residence by class and station.

    utilization[k]: mean number of busy servers at station k.
    """

    throughput: tuple[float, ...]
    response: tuple[float, ...]
    residence: tuple[tuple[float, ...], ...]
    queue: tuple[tuple[float, ...], ...]
    utilization: tuple[float, ...]


def one_class(
    demands: Sequence[float],
    customers: int,
    think: float = 0.0,
    rates: Sequence[Sequence[float] | None] = (),
) -> ClosedNetwork:
    """Solve one class of customers exactly.

    demands   service of one customer at each station per cycle
    think     time a customer spends outside
    rates     for each station None (one server), an empty sequence (no queue), or its speed with 1, 2, ...
              customers present; the last speed applies to more
    """
    station_rates = list(rates) or [None] * len(demands)
    if any(station_rates):
        return _convolved(demands, customers, think, station_rates)
    stations = range(len(demands))
    queue = [0.0] * len(demands)
    residence, rate = [0.0] * len(demands), 0.0
    for population in range(1, customers + 1):
        residence = [
            demands[index] * (1.0 + queue[index]) if station_rates[index] is None else demands[index]
            for index in stations
        ]
        cycle = think + sum(residence)
        rate = population / cycle if cycle else math.inf
        queue = [rate * residence[index] if residence[index] else 0.0 for index in stations]
    busy = tuple(rate * demand if demand else 0.0 for demand in demands)
    return ClosedNetwork((rate,), (sum(residence),), (tuple(residence),), (tuple(queue),), busy)


def _convolved(
    demands: Sequence[float], customers: int, think: float, kinds: Sequence[Sequence[float] | None]
) -> ClosedNetwork:
    """Solve one class by convolution: with load-dependent speeds, mean value analysis loses all precision.

    Every term is positive. Each station's terms are tilted by an estimate of the throughput and scaled to a
    largest of 1, which changes no ratio and avoids overflow and underflow.
    """
    if not customers:
        zeros = tuple(0.0 for _ in demands)
        return ClosedNetwork((0.0,), (0.0,), (zeros,), (zeros,), zeros)
    estimate = _estimate(demands, customers, think, kinds)
    terms = [_terms(demand, kind, customers, estimate) for demand, kind in zip(demands, kinds, strict=True)]
    outside = _terms(think, (), customers, estimate)
    prefixes = [outside]
    for term in terms[:-1]:
        prefixes.append(_convolve(prefixes[-1], term))
    combined = _convolve(prefixes[-1], terms[-1])
    rate = estimate * combined[customers - 1] / combined[customers]
    suffix = [1.0] + [0.0] * customers
    queue, busy = [0.0] * len(terms), [0.0] * len(terms)
    for index in reversed(range(len(terms))):
        others = _convolve(prefixes[index], suffix)
        queue[index] = math.fsum(
            count * (term * others[customers - count] / combined[customers])
            for count, term in enumerate(terms[index])
        )
        busy[index] = rate * demands[index]
        suffix = _convolve(suffix, terms[index])
    residence = tuple(length / rate for length in queue)
    return ClosedNetwork((rate,), (sum(residence),), (residence,), (tuple(queue),), tuple(busy))


def _estimate(
    demands: Sequence[float], customers: int, think: float, kinds: Sequence[Sequence[float] | None]
) -> float:
    """Return a bound on throughput: the slowest station, or all customers without waiting, if less."""
    bounds = [
        (max(kind) if kind else 1.0) / demand
        for demand, kind in zip(demands, kinds, strict=True)
        if demand and (kind is None or kind)
    ]
    return min([*bounds, customers / (think + sum(demands))])


def _terms(demand: float, kind: Sequence[float] | None, customers: int, estimate: float) -> list[float]:
    """Return the weights of 0, 1, ... customers at a station, the largest of them 1."""
    if not demand:
        return [1.0] + [0.0] * customers
    logs, total = [0.0], 0.0
    for count in range(1, customers + 1):
        speed = 1.0 if kind is None else kind[min(count, len(kind)) - 1] if kind else float(count)
        total += math.log(demand * estimate / speed)
        logs.append(total)
    top = max(logs)
    return [math.exp(log - top) for log in logs]


def _convolve(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return the convolution of two sequences of equal length, truncated to that length."""
    count = len(first)
    reverse = second[::-1]
    return [sum(map(mul, first[: index + 1], reverse[count - 1 - index :])) for index in range(count)]


def multi_class_network(
    demands: Sequence[Sequence[float]],
    customers: Sequence[int],
    thinks: Sequence[float],
    delays: Sequence[bool] = (),
) -> ClosedNetwork:
    """Solve several classes at single-server stations or delays by exact mean value analysis.

    demands[c][k]: service of a class c customer at station k per cycle. Raise ValueError for more than
    MOST_STATES states.
    """
    states = math.prod(count + 1 for count in customers)
    if states > MOST_STATES:
        raise ValueError(f"{states:,} combinations of customers")
    stations = range(len(demands[0]))
    waits = list(delays) or [False] * len(demands[0])
    strides = [math.prod(count + 1 for count in customers[index + 1 :]) for index in range(len(customers))]
    # Queue of each station for each population in one list: a dictionary of tuples is slow.
    queues: list[list[float]] = []
    rates = [0.0] * len(customers)
    residence = [[0.0] * len(demands[0]) for _ in customers]
    for state, population in enumerate(product(*(range(count + 1) for count in customers))):
        total = [0.0] * len(demands[0])
        for kind, count in enumerate(population):
            if not count:
                rates[kind] = 0.0
                continue
            previous = queues[state - strides[kind]]
            of_class = residence[kind]
            for index in stations:
                of_class[index] = demands[kind][index] * (1.0 if waits[index] else 1.0 + previous[index])
            cycle = thinks[kind] + sum(of_class)
            rates[kind] = count / cycle if cycle else math.inf
            for index in stations:
                total[index] += rates[kind] * of_class[index] if of_class[index] else 0.0
        queues.append(total)
    response = [sum(times) if count else 0.0 for times, count in zip(residence, customers, strict=True)]
    queue, busy = (
        [
            tuple(rate * part if part else 0.0 for part in parts)
            for rate, parts in zip(rates, each, strict=True)
        ]
        for each in (residence, demands)
    )
    return ClosedNetwork(
        tuple(rates),
        tuple(response),
        tuple(map(tuple, residence)),
        tuple(queue),
        tuple(sum(of_station) for of_station in zip(*busy, strict=True)),
    )
