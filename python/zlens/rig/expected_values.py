"""Expected numbers of a case: those of the exact solver, or published ones."""

from __future__ import annotations

from zlens import models
from zlens.errors import ScenarioError
from zlens.rendering.answer import Answer
from zlens.rig.definition import PUBLISHED, Control, ExpectedNumber, Observation, RigCase, RigDefinition


def expected_values(
    rig: RigDefinition, case: RigCase, control: Control | None = None
) -> dict[str, dict[str, ExpectedNumber]]:
    """Return expected numbers by observation and subject. A control may change the scenario of the solver."""
    answer: Answer | None = None
    numbers: dict[str, dict[str, ExpectedNumber]] = {}
    for observation in rig.observations:
        if observation.expected == PUBLISHED:
            numbers[observation.name] = case.expected.get(observation.name, {})
            continue
        if answer is None:
            values = rig.values(case, control.solver if control else {})
            answer = models.solve(values["model"], values, file=rig.file)
        numbers[observation.name] = {
            subject: ExpectedNumber(value) for subject, value in _values(rig, answer, observation).items()
        }
    return numbers


def _values(rig: RigDefinition, answer: Answer, observation: Observation) -> dict[str, float]:
    table_key, dot, column_key = observation.expected.partition(":")[2].partition(".")
    if not dot:
        figures = {figure.key: figure.value for figure in answer.figures}
        if table_key not in figures:
            raise _missing(rig, observation, f"one of its values: {', '.join(figures)}")
        value = figures[table_key]
        return {} if value is None else {"": value}
    known = [f"{table.key}.{column.key}" for table in answer.tables for column in table.columns]
    if f"{table_key}.{column_key}" not in known:
        raise _missing(rig, observation, ", ".join(known))
    table = answer.table(table_key)
    values = zip(table.labels(), table.column(column_key), strict=True)
    return {
        label: float(value) for label, value in values if isinstance(value, int | float) and value is not True
    }


def _missing(rig: RigDefinition, observation: Observation, expected: str) -> ScenarioError:
    return ScenarioError(
        f"{observation.expected} is not in the solver's answer", file=rig.file, expected=expected,
        cure=f"correct expected of the observation {observation.name}",
    )  # fmt: skip
