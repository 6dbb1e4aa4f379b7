"""A scenario as text: what it is for, what is varied, expected, observed and allowed."""

from __future__ import annotations

from collections.abc import Iterator

from zlens.errors import ZlensError
from zlens.rig import expected_values
from zlens.rig.definition import ExpectedNumber, Observation, RigDefinition


def text(rig: RigDefinition) -> str:
    """All that a reader needs besides the scenario itself, which follows as TOML."""
    return "\n".join(_lines(rig)) + "\n"


def _lines(rig: RigDefinition) -> Iterator[str]:
    yield rig.title
    yield ""
    yield rig.text
    place = f", {rig.source.place}" if rig.source.place else ""
    yield f"Source: {rig.source.publication}{place} ({rig.source.status})"
    if rig.source.note:
        yield rig.source.note
    yield ""
    for one in rig.observations:
        yield f"Observed: {_observed(one)}"
        yield f"Allowed: {', '.join(_allowed(one))}"
        if one.band:
            yield f"Source of that: {one.band}"
    yield ""
    for case in rig.cases:
        settings = ", ".join(f"{key} = {value}" for key, value in case.set.items())
        if case.name:
            yield f"Case {case.name}{f' ({settings})' if settings and settings != case.name else ''}"
        try:
            found = expected_values.expected_values(rig, case)
        except ZlensError as error:
            yield f"  {error}"
            continue
        for name, numbers in found.items():
            shown = ", ".join(f"{subject} {_number(one)}".strip() for subject, one in numbers.items())
            yield f"  {name}: expected {shown or 'nothing'}"
    for policy in rig.policies:
        if policy.name:
            yield f"Policy {policy.name}{'' if policy.judged else ', not judged'}: {policy.set or 'as it is'}"
    for control in rig.controls:
        what = control.set or f"the solver is given {control.solver}"
        yield f"Control {control.name}, which must fail: {what}"
    if rig.not_reproduced:
        yield f"Known not to be reproduced: {rig.not_reproduced}"
    yield f"Seeds: {rig.seeds}"
    yield ""
    yield rig.toml.rstrip()


def _observed(one: Observation) -> str:
    if one.sql is not None:
        what = " ".join(one.sql.split())
    else:
        by = f" by {one.by}" if one.by else ""
        where = "".join(f", {name} = {value}" for name, value in one.where.items())
        what = f"{one.statistic} of {one.measure}.{one.column}{by}{where}"
    relative = f", relative to {one.relative_to}" if one.relative_to else ""
    return f"{one.name}: {what}{relative}{f' ({one.unit})' if one.unit else ''}"


def _allowed(one: Observation) -> Iterator[str]:
    unit = " points" if one.of == "points" else f" % of the {one.of}" if one.of == "sum" else " %"
    if one.largest is not None:
        yield f"a difference of {one.largest:g}{unit}"
    if one.rms is not None:
        yield f"a root mean square of {one.rms:g}{unit}"
    if one.misallocated is not None:
        yield f"{one.misallocated:g} % misallocated"
    if one.order:
        yield "no other order of the cases"
    if (one.largest, one.rms, one.misallocated, one.order) == (None, None, None, False):
        yield "the band of each number"


def _number(one: ExpectedNumber) -> str:
    band = f"{'' if one.low is None else f'{one.low:g}'} to {'' if one.high is None else f'{one.high:g}'}"
    if one.low is None and one.high is None:
        return f"{one.value:.6g}"
    return band if one.value is None else f"{one.value:.6g} ({band})"
