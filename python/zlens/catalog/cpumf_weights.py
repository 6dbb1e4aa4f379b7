"""The user's own numbers for RNI and finite CPI: a TOML file with one line per machine generation.

    z196 = { rni = [1.6, 0.4, 1.0, 2.4, 7.5], finite = [0.57, 0.1] }
    z10 = { rni = [1.0, 1.0, 2.4, 7.5] }

`rni` is a factor and one weight for each share that the generation weighs (z10: L2LP, L2RP, MEMP; later L3P,
L4LP, L4RP, MEMP): rni = factor * (weight * share + ...) / 100. `finite` is a and b of est_finite_cpi =
(a + b * rni) * (B3 + B5) / B1. Values computed from them have the status `user`.
"""

from __future__ import annotations

from typing import Any

from zlens.catalog import generations
from zlens.catalog.cpumf import CpumfWeights
from zlens.errors import InputError
from zlens.schema import document, user_files
from zlens.schema.validators import DocumentErrors

#: Status of values computed from the user's numbers.
USER = "user"

_CURE = "write a line like: z196 = { rni = [1.6, 0.4, 1.0, 2.4, 7.5], finite = [0.57, 0.1] }"


def read(path: str) -> CpumfWeights:
    """Return the weights in a file; InputError if it cannot be read or is invalid."""
    return parse(user_files.read_text(path, user_files.HAND_WRITTEN, "file of weights", _CURE), path)


def parse(text: str, path: str) -> CpumfWeights:
    """Return the weights in the text of a file."""
    data = document.parse_toml(text, path, InputError, _CURE)
    problem = DocumentErrors(path, InputError, cure=_CURE)
    rni: dict[str, tuple[float, ...]] = {}
    finite: dict[str, tuple[float, ...]] = {}
    for generation, line in data.items():
        if generation not in generations.names():
            known = ", ".join(generations.names())
            raise problem.general_error(f"there is no machine generation {generation!r}", expected=known)
        if not isinstance(line, dict) or not line or set(line) - {"rni", "finite"}:
            message = f"{generation} has neither rni nor finite, or has unknown keys"
            expected = "{ rni = [numbers], finite = [a, b] } or one of the two"
            raise problem.general_error(message, expected=expected)
        if "rni" in line:
            terms = generations.facts(generation).rni.terms
            count = 1 + len(terms)
            shares = ", ".join(terms).upper()
            expected = f"{count} numbers: the factor, and the weights of {shares}"
            rni[generation] = _numbers(line["rni"], count, f"{generation}: rni", expected, problem)
        if "finite" in line:
            expected = "2 numbers: a and b of (a + b * rni) * (B3 + B5) / B1"
            finite[generation] = _numbers(line["finite"], 2, f"{generation}: finite", expected, problem)
    return CpumfWeights(rni, finite)


def _numbers(
    value: Any, count: int, subject: str, expected: str, problem: DocumentErrors
) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != count:
        what = f"has {len(value)} values" if isinstance(value, list) else "is not a list"
        raise problem.general_error(f"{subject} {what}", expected=expected)
    for number in value:
        # bool is a subclass of int.
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1000:
            message = f"{subject} has {number!r} among its values"
            raise problem.general_error(message, expected="numbers from 0 to 1000")
    return tuple(float(number) for number in value)
