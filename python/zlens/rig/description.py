"""A scenario as text: its purpose, and what is varied, expected, observed and allowed."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.errors import ZlensError
from zlens.rig import expected_values
from zlens.rig.definition import ExpectedNumber, Observation, RigDefinition


def text(rig: RigDefinition) -> str:
    """Return all that a reader needs besides the scenario itself, which follows as TOML."""
    return "\n".join(_lines(rig)) + "\n"


def _lines(rig: RigDefinition) -> Iterator[str]:
    yield from (rig.title, "", rig.text, f"Source: {rig.source.cited}")
    if rig.source.note:
        yield rig.source.note
    yield ""
    for observation in rig.observations:
        yield f"Observed: {_observed(observation)}"
        yield f"Allowed: {', '.join(_allowed(observation))}"
        if observation.band:
            yield f"Source of that: {observation.band}"
    yield ""
    for case in rig.cases:
        settings = ", ".join(f"{key} = {value}" for key, value in case.set.items())
        if case.name:
            yield f"Case {case.name}{f' ({settings})' if settings and settings != case.name else ''}"
        try:
            expected = expected_values.expected_values(rig, case)
        except ZlensError as error:
            yield f"  {error}"
            continue
        for name, numbers in expected.items():
            shown = ", ".join(f"{subject} {_number(one)}".strip() for subject, one in numbers.items())
            yield f"  {name}: expected {shown or 'nothing'}"
    for policy in rig.policies:
        if policy.name:
            yield f"Policy {policy.name}{'' if policy.judged else ', not judged'}: {policy.set or 'default'}"
    for control in rig.controls:
        what = control.set or f"the solver runs with {control.solver}"
        yield f"Control {control.name}, which must fail: {what}"
    if rig.not_reproduced:
        yield f"Known not to be reproduced: {rig.not_reproduced}"
    yield from (f"Seeds: {rig.seeds}", "", rig.toml.rstrip())


def _observed(observation: Observation) -> str:
    if observation.sql is not None:
        what = " ".join(observation.sql.split())
    else:
        by = f" by {observation.by}" if observation.by else ""
        where = "".join(f", {name} = {value}" for name, value in observation.where.items())
        what = f"{observation.statistic} of {observation.measure}.{observation.column}{by}{where}"
    relative = f", relative to {observation.relative_to}" if observation.relative_to else ""
    return f"{observation.name}: {what}{relative}{f' ({observation.unit})' if observation.unit else ''}"


def _allowed(observation: Observation) -> Iterator[str]:
    unit = observation.of_unit + " of the sum" * (observation.of == "sum")
    if observation.largest is not None:
        yield f"a difference of {observation.largest:g}{unit}"
    if observation.rms is not None:
        yield f"a root mean square of {observation.rms:g}{unit}"
    if observation.misallocated is not None:
        yield f"{observation.misallocated:g}% misallocated"
    if observation.order:
        yield "no other order of the cases"
    if not observation.limited and not observation.order:
        yield "the band of each number"


def _number(number: ExpectedNumber) -> str:
    band = " to ".join("" if end is None else f"{end:g}" for end in (number.low, number.high))
    if not number.banded:
        return f"{number.value:.6g}"
    return band if number.value is None else f"{number.value:.6g} ({band})"
