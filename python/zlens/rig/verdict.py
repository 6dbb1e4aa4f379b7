"""Comparison of observed with expected numbers: errors, their bands, and whether they are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from zlens.models.t_distribution import quantile
from zlens.rig.definition import ExpectedNumber, Observation

#: Confidence of the interval over seeds.
CONFIDENCE = 0.95


class ComparedNumber(Struct, frozen=True):
    """One number: its mean over seeds, half its confidence interval, and the differences.

    error    observed less expected, in the unit of the values; None without an expected value
    passed   None if it was expected nothing
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

    worst         largest difference, in percent or points as the observation says
    rms           root mean square of the differences, the same
    misallocated  half the sum of the differences, percent of what was expected; the largest of the cases
    failures      what is not as expected, in words
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


def mean(values: Sequence[float | None]) -> tuple[float | None, float | None]:
    """Mean over seeds and half of its confidence interval; None if one is unknown, or there is one alone."""
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

    expected, observed   by case and subject; of what was observed a value for each seed
    """
    compared: list[ComparedNumber] = []
    failures: list[str] = []
    errors: list[float] = []
    misallocated: list[float] = []
    for case, numbers in expected.items():
        whole = math.fsum(abs(number.value) for number in numbers.values() if number.value is not None)
        off = 0.0
        for subject, number in numbers.items():
            value, half = mean(observed.get(case, {}).get(subject, ()))
            row = _compare(one, case, subject, number, value, half, whole, failures)
            compared.append(row)
            if row.error is not None and number.value is not None:
                off += abs(row.error)
                errors.append(_relative(one, row.error, number.value, whole))
        if whole and len(numbers) > 1:
            misallocated.append(100 * off / 2 / whole)
    worst = max(errors, default=None)
    rms = math.sqrt(math.fsum(error * error for error in errors) / len(errors)) if errors else None
    unit = " points" if one.of == "points" else " %"
    if one.rms is not None and rms is not None and rms > one.rms:
        failures.append(f"root mean square {rms:.3g}{unit}, at most {one.rms:g}{unit}")
    lost = max(misallocated, default=None)
    if one.misallocated is not None and lost is not None and lost > one.misallocated:
        failures.append(f"{lost:.3g} % misallocated, at most {one.misallocated:g} %")
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
    whole: float,
    failures: list[str],
) -> ComparedNumber:
    error = None if value is None or number.value is None else value - number.value
    what = ": ".join(part for part in (case, subject) if part) or one.name
    said = len(failures)
    if value is None:
        failures.append(f"{what}: not observed")
    else:
        if number.low is not None and value < number.low:
            failures.append(f"{what}: {value:.5g}, at least {number.low:g}")
        if number.high is not None and value > number.high:
            failures.append(f"{what}: {value:.5g}, at most {number.high:g}")
        banded = number.low is not None or number.high is not None
        if one.largest is not None and error is not None and number.value is not None and not banded:
            off = _relative(one, error, number.value, whole)
            if not off <= one.largest:
                unit = "points" if one.of == "points" else "%"
                failures.append(f"{what}: {value:.5g} for {number.value:.5g}, off by {off:.3g} {unit}")
    return ComparedNumber(case, subject, number, value, half, error, len(failures) == said)


def _relative(one: Observation, error: float, expected: float, whole: float) -> float:
    """A difference in the unit of the observation's band."""
    if one.of == "points":
        return abs(error)
    of = whole if one.of == "sum" else abs(expected)
    return 100 * abs(error) / of if of else (0.0 if not error else math.inf)


def _disorder(compared: Sequence[ComparedNumber]) -> list[str]:
    """Pairs of cases whose observed values are not in the order of the expected ones.

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
        for (low, less, one, first), (high, more, other, second) in pairwise(rows):
            if low >= high:
                continue
            if less >= more:
                failures.append(f"{first} has {less:.5g}, not less than {second} with {more:.5g}")
            elif more - less <= math.hypot(one, other):
                failures.append(f"{first} and {second} do not differ: {less:.5g} and {more:.5g}")
    return failures
