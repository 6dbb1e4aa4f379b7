"""How often a property is tried: a few times by `make test`, many times by `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

_all = False
T = TypeVar("T")


def try_all() -> None:
    """Make `rounds` the larger number; files of tests ask for it as they are imported."""
    global _all
    _all = True


def rounds(many: T, few: T) -> T:
    return many if _all else few


def first(count: int, cases: Iterable[Any]) -> list[Any]:
    """Cases of a test with one parameter: all but so many are long."""
    return [
        case if at < count else pytest.param(case, marks=pytest.mark.long) for at, case in enumerate(cases)
    ]
