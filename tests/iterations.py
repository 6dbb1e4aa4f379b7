"""Number of iterations of a property test: few in `make test`, many in `make test-all`.

`make test` uses the same random numbers in each run, `make test-all` new ones.
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
    """Make `iterations` return the larger number; test modules call it at import."""
    global _all
    _all = True


def set_seed(seed: int) -> None:
    """Make the numbers of `draws` depend on the run; call it before test modules are imported."""
    global _seed
    _seed = seed


def draws(name: int | str) -> random.Random:
    """Return the random numbers of a test whose property holds for any of them.

    Data with values that a test expects, and statistics with a tolerance, come from `random.Random` instead.
    """
    return random.Random(name if _seed is None else f"{_seed} {name}")


def iterations(many: T, few: T) -> T:
    return many if _all else few


def quick_subset(count: int, cases: Iterable[Any], several: bool = False) -> list[Any]:
    """Mark all but the first `count` cases of a test as long; `several`: a case has several parameters."""
    return [
        case if at < count else pytest.param(*(case if several else (case,)), marks=pytest.mark.long)
        for at, case in enumerate(cases)
    ]
