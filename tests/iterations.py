"""How often a property is tried: a few times by `make test`, many times by `make test-all`.

`make test` tries the same random numbers in each run, `make test-all` new ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

_all = False
#: The seed of the run; without one, random numbers are the same in each run.
_seed: int | None = None
T = TypeVar("T")


def run_all() -> None:
    """Make `iterations` the larger number; files of tests ask for it as they are imported."""
    global _all
    _all = True


def set_seed(seed: int) -> None:
    """Make the numbers of `draws` depend on the run; before files of tests are imported."""
    global _seed
    _seed = seed


def draws(name: int | str) -> random.Random:
    """Return the random numbers of a test whose property is true for any of them.

    Data with values that a test expects, and statistics with a tolerance, come from `random.Random` instead.
    """
    return random.Random(name if _seed is None else f"{_seed} {name}")


def iterations(many: T, few: T) -> T:
    return many if _all else few


def quick_subset(count: int, cases: Iterable[Any], several: bool = False) -> list[Any]:
    """Cases of a test with one parameter, or with several: all but so many are long."""
    return [
        case if at < count else pytest.param(*(case if several else (case,)), marks=pytest.mark.long)
        for at, case in enumerate(cases)
    ]
