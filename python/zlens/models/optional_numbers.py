"""Arithmetic of numbers that may be unknown (None): a result that needs an unknown one is unknown."""

from __future__ import annotations

from collections.abc import Iterable


def ratio(value: float | None, base: float | None) -> float | None:
    """Return one value divided by another; None if either is unknown or the base is 0."""
    return value / base if value is not None and base else None


def product(value: float | None, factor: float | None) -> float | None:
    return None if value is None or factor is None else value * factor


def difference(value: float | None, less: float | None) -> float | None:
    return None if value is None or less is None else value - less


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum of values; None if any is unknown."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None
