"""What processors of one machine are on another one, by the capability that the machines state.

Capability (STSI 1.2.2) is the time for a fixed amount of work: the ratio of two is the ratio of the speeds of
single processors at full speed. Several processors need the curves of both machines.
"""

from __future__ import annotations

from collections.abc import Sequence

from zlens.catalog import capacity_curves, generations
from zlens.catalog.capacity_curves import Point
from zlens.catalog.generations import MachineType
from zlens.models.capacity import scaling
from zlens.models.scenario import Scenario
from zlens.rendering.answer import Answer, AnswerFigure
from zlens.rendering.answer_columns import answer_table

OLD, NEW = "from_machine", "to_machine"


def requested(scenario: Scenario) -> bool:
    """Return whether the scenario names two machines; ScenarioError if it names only one."""
    given = [key for key in (OLD, NEW) if scenario[key] is not None]
    if len(given) == 1:
        (missing,) = {OLD, NEW} - {*given}
        raise scenario.error(
            f"{given[0]} is given without {missing}", f"write {missing} = ..., too", ", ".join(_known())
        )
    return bool(given)


def add(scenario: Scenario, answer: Answer) -> None:
    """Add the machines, their speeds, and how many processors are equivalent."""
    old, new = _machine(scenario, OLD), _machine(scenario, NEW)
    speed = _capability(old) / _capability(new)
    rows = [
        (one.type, one.name, _capability(one), ratio, one.capability_status, one.capability_source)
        for one, ratio in ((old, 1.0), (new, speed))
    ]
    answer.tables.append(answer_table("capacity", "machines", f"{old.name} to {new.name}", rows))
    answer.figures.append(
        AnswerFigure("speed", speed, "", f"Processors of {old.name} that one of {new.name} replaces", 3)
    )
    answer.notes.append(
        "Capability is that of a single processor at full speed (full-capacity CP, IFL, zIIP, ICF) with "
        "IBM's reference workloads; other workloads change differently between machines"
    )
    count = scenario["processors"] or 1
    if count > 1:
        needed = _needed(_curve(scenario, old), _curve(scenario, new), count, speed)
        text = f"Processors of {new.name} for {count:,} of {old.name}"
        answer.figures.append(AnswerFigure("needed", needed, "processors", text, 0))
        if needed is None:
            answer.notes.append(f"No number of processors on the curve of {new.name} is enough")


def _known() -> list[str]:
    """Return machine types with a known capability, with their names."""
    return [f"{one.type} ({one.name})" for one in generations.types().values() if one.capability is not None]


def _machine(scenario: Scenario, key: str) -> MachineType:
    name = str(scenario[key])
    types = generations.types()
    # The first type of a generation is its largest machine.
    found = types.get(name) or next((one for one in types.values() if one.generation == name), None)
    if found is None:
        raise scenario.problem.value(key, name, f"one of {', '.join(_known())}")
    if found.capability is None:
        raise scenario.error(
            f"the capability of a processor of {found.type} ({found.name}) is not public",
            f"name another machine in {key}",
            ", ".join(_known()),
        )
    return found


def _capability(machine: MachineType) -> int:
    assert machine.capability is not None
    return machine.capability


def _curve(scenario: Scenario, machine: MachineType) -> Sequence[Point]:
    found = capacity_curves.curve_of_type(machine.type, machine.capability)
    if found is None:
        curves = capacity_curves.capacity_curves().values()
        with_curve = {curve.type for curve in curves if not curve.secondary}
        raise scenario.error(
            f"the capability of several processors of {machine.type} ({machine.name}) is not public",
            "leave out processors: the answer is for one of each",
            f"machines with a curve: {', '.join(sorted(with_curve))}",
        )
    return found.curve


def _needed(old: Sequence[Point], new: Sequence[Point], count: int, speed: float) -> int | None:
    """Return the fewest processors of the new curve with the capability of `count` on the old one."""
    wanted = scaling.capability(old, count)
    if wanted is None:
        return None
    numbers = range(1, new[-1][0] + 1)
    return next((n for n in numbers if (scaling.capability(new, n) or 0.0) * speed >= wanted), None)
