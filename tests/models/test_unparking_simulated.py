"""Tests that the simulator's unparking equals the solver's rules.

crates/sim/tests/expected/unparking.json has random partitions with the decisions of the rules. The engine's
tests read it; `pytest --update` writes it. Values are quarters, so their sums are exact.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import expected
from zlens.models.unparking import policies

EXPECTED = Path(__file__).parents[2] / "crates/sim/tests/expected/unparking.json"
FACTORS = (1.0, 1.25, 1.18)


def _quarters(chance: random.Random, most: float) -> float:
    return chance.randrange(int(4 * most) + 1) / 4


def _case(chance: random.Random) -> dict[str, Any]:
    highs, mediums, lows = chance.randrange(24), chance.randrange(3), chance.randrange(12)
    others = []
    for _ in range(chance.randrange(5)):
        entitlement = _quarters(chance, 900)
        used = chance.choice((entitlement, _quarters(chance, 900)))
        demand = chance.choice((used, _quarters(chance, 1500)))
        others.append([float(chance.choice((0, 70, 100, 200, 333))), entitlement, used, demand])
    return {
        "highs": highs,
        "mediums": mediums,
        "lows": lows,
        "medium": _quarters(chance, 100),
        "weight": float(chance.choice((0, 100, 100, 250))),
        "used": chance.choice((0.0, _quarters(chance, 100 * (highs + mediums + lows)))),
        "cap": chance.choice((None, None, _quarters(chance, 3000))),
        "others": others,
        "factor": chance.choice(FACTORS),
        "base": chance.choice((0.0, 95.0)),
        "excess_pct": chance.choice((None, 40.0, 70.0, 100.0)),
        "pad": chance.choice((0.0, 100.0, _quarters(chance, 800))),
        "pad_beyond_entitlement": chance.random() < 0.5,
        "low_powered": chance.choice((0.0, 50.0, 100.0)),
        "lows_evenly": chance.random() < 0.5,
    }


def _hundredths(power: float) -> int:
    return int(100 * power + 0.5)


def _decided(case: dict[str, Any]) -> dict[str, Any]:
    """Return the decisions of the rules; a cap bounds use and power beyond the entitlement."""
    cores = policies.VerticalCores(case["highs"], case["mediums"], case["lows"], case["medium"])
    cap = float("inf") if case["cap"] is None else case["cap"]
    expected = policies.projected(case["used"], case["factor"], case["base"])
    others = [
        (weight, entitlement, used, max(used, demand)) for weight, entitlement, used, demand in case["others"]
    ]
    room = max(0.0, min(100.0 * cores.lows, cap - cores.entitlement))
    excess = policies.excess_power(case["weight"], room, others)[1] * (case["excess_pct"] or 0.0) / 100
    lows = policies.low_power(excess, cores.lows, evenly=case["lows_evenly"]) if cores.lows else []
    found = policies.zvm(cores, lows, min(expected, cap), case["low_powered"])
    padded = policies.add_pad(expected, case["pad"], cores.entitlement, beyond=case["pad_beyond_entitlement"])
    return {
        "unparked": [found.large, found.medium, found.small],
        "alone": policies.zvm_without_gpd(cores, min(padded, cap)),
        "entitlement": _hundredths(cores.entitlement),
        "projection": _hundredths(min(expected, cap)),
        "excess": _hundredths(excess),
    }


def test_simulator_uses_unparking_rules() -> None:
    chance = random.Random(30)
    cases = [_case(chance) for _ in range(300)]
    decided = [case | _decided(case) for case in cases]
    text = "[\n" + ",\n".join(json.dumps(case) for case in decided) + "\n]\n"
    expected.check(EXPECTED, text)
    # The cases are of all kinds.
    large, medium, small = zip(*(case["unparked"] for case in decided), strict=True)
    assert sum(one > other for one, other in zip(large, medium, strict=True)) > 25
    assert sum(one > other for one, other in zip(medium, small, strict=True)) > 25
    assert sum(bool(case["excess"]) for case in decided) > 25
