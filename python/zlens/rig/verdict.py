"""Comparison of observed with expected numbers: errors, and whether they are within their bands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from zlens.models.t_distribution import quantile
from zlens.rig.definition import ExpectedNumber, Observation

#: Confidence of the interval over seeds.
CONFIDENCE = 0.95


class ComparedNumber(Struct, frozen=True):
    """One number: its mean over seeds, half its confidence interval, and the differences.

    error    observed less expected, in the unit of the values; None without an expected value, and if only an
             order is judged: expected values are then ranks, or on another scale
    passed   whether the number is as expected
    """

    case: str
    subject: str
    expected: ExpectedNumber
    observed: float | None
    half: float | None
    error: float | None
    passed: bool | None


class ObservationVerdict(Struct, frozen=True):
    """All numbers of one observation.

    worst         largest difference, in percent or points as the observation defines; None if only an order
                  is judged
    rms           root mean square of the differences, in the same unit
    misallocated  half the sum of the differences, percent of the expected values; the largest of the cases
    failures      deviations from the expected, in words
    """

    observation: Observation
    compared: tuple[ComparedNumber, ...]
    worst: float | None
    rms: float | None
    misallocated: float | None
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def broken(self) -> bool:
        """Whether an observed number fails; one that was not observed says nothing."""
        unobserved = sum(row.observed is None for row in self.compared)
        return bool(self.compared) and len(self.failures) > unobserved


def mean(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Return the mean over seeds and half its confidence interval; None if a value is unknown or single."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None, None
    average = math.fsum(known) / len(known)
    if len(known) < 2:
        return average, None
    variance = math.fsum((value - average) ** 2 for value in known) / (len(known) - 1)
    spread = quantile((1 + CONFIDENCE) / 2, len(known) - 1)
    return average, spread * math.sqrt(variance / len(known))


def judge(
    one: Observation,
    expected: Mapping[str, Mapping[str, ExpectedNumber]],
    observed: Mapping[str, Mapping[str, Sequence[float | None]]],
) -> ObservationVerdict:
    """Compare an observation.

    expected, observed   by case and subject; observed has one value for each seed
    """
    in_bands = any(number.banded for numbers in expected.values() for number in numbers.values())
    only_order = one.order and not in_bands and not one.limited
    compared: list[ComparedNumber] = []
    failures: list[str] = []
    errors: list[float] = []
    misallocated: list[float] = []
    for case, numbers in expected.items():
        expected_sum = math.fsum(abs(number.value) for number in numbers.values() if number.value is not None)
        off = 0.0
        for subject, number in numbers.items():
            value, half = mean(observed.get(case, {}).get(subject, ()))
            row = _compare(one, case, subject, number, value, half, expected_sum, failures)
            row = replace(row, error=None) if only_order else row
            compared.append(row)
            if row.error is not None and number.value is not None:
                off += abs(row.error)
                errors.append(_relative(one, row.error, number.value, expected_sum))
        if expected_sum and len(numbers) > 1 and not only_order:
            misallocated.append(100 * off / 2 / expected_sum)
    if not compared:
        failures.append("no number is expected")
    worst = max(errors, default=None)
    rms = math.sqrt(math.fsum(error * error for error in errors) / len(errors)) if errors else None
    if one.rms is not None and rms is not None and rms > one.rms:
        failures.append(f"root mean square {rms:.3g}{one.of_unit}, at most {one.rms:g}{one.of_unit}")
    lost = max(misallocated, default=None)
    if one.misallocated is not None and lost is not None and lost > one.misallocated:
        failures.append(f"{lost:.3g}% misallocated, at most {one.misallocated:g}%")
    if one.order:
        failures += _disorder(compared)
    return ObservationVerdict(one, tuple(compared), worst, rms, lost, tuple(failures))


def _compare(
    one: Observation,
    case: str,
    subject: str,
    number: ExpectedNumber,
    value: float | None,
    half: float | None,
    expected_sum: float,
    failures: list[str],
) -> ComparedNumber:
    error = None if value is None or number.value is None else value - number.value
    what = ": ".join(part for part in (case, subject) if part) or one.name
    failures_before = len(failures)
    if value is None:
        failures.append(f"{what}: not observed")
    else:
        if number.low is not None and value < number.low:
            failures.append(f"{what}: {value:.5g}, at least {number.low:g}")
        if number.high is not None and value > number.high:
            failures.append(f"{what}: {value:.5g}, at most {number.high:g}")
        if one.largest is not None and error is not None and number.value is not None and not number.banded:
            off = _relative(one, error, number.value, expected_sum)
            if not off <= one.largest:
                off_by = f"{off:.3g}{one.of_unit}"
                failures.append(f"{what}: {value:.5g} for {number.value:.5g}, off by {off_by}")
    return ComparedNumber(case, subject, number, value, half, error, len(failures) == failures_before)


def _relative(one: Observation, error: float, expected: float, expected_sum: float) -> float:
    """Return a difference in the unit of the observation's band."""
    if one.of == "points":
        return abs(error)
    base = expected_sum if one.of == "sum" else abs(expected)
    return 100 * abs(error) / base if base else (0.0 if not error else math.inf)


def _disorder(compared: Sequence[ComparedNumber]) -> list[str]:
    """Return pairs of cases whose observed values are not in the order of the expected ones.

    Two values that differ by no more than the uncertainty of their difference have no order.
    """
    failures = []
    for subject in dict.fromkeys(row.subject for row in compared):
        rows = [
            (row.expected.value, row.observed, row.half or 0.0, row.case)
            for row in compared
            if row.subject == subject and row.expected.value is not None and row.observed is not None
        ]
        rows.sort(key=lambda row: row[0])
        for (low, less, low_error, first), (high, more, high_error, second) in pairwise(rows):
            if low >= high:
                continue
            if less >= more:
                failures.append(f"{first} has {less:.5g}, not less than {second} with {more:.5g}")
            elif more - less <= math.hypot(low_error, high_error):
                failures.append(f"{first} and {second} do not differ: {less:.5g} and {more:.5g}")
    return failures
