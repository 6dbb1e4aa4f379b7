"""Files of the rig: facts/rig has those that zlens ships, and a user may write others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from zlens import models
from zlens.catalog import aggregation, measures
from zlens.errors import QueryError, ScenarioError
from zlens.models.scenario import ScenarioValues, apply_setting, read, set_value, value_at
from zlens.models.scenario_keys import key_table
from zlens.schema.facts import FACTS
from zlens.schema.validators import Choice, DocumentErrors

FOLDER = FACTS / "rig"
#: Areas of files, in the order of the summary.
AREAS = cast(Choice, key_table("rig.scenario").by_name["area"].kind).of
#: Value of `expected` of an observation whose numbers are in the cases.
PUBLISHED = "published"
_SOLVER = "solver:"


class Citation(Struct, frozen=True):
    """The source of the expected numbers."""

    publication: str
    place: str
    status: str
    note: str | None

    @property
    def cited(self) -> str:
        return f"{self.publication}{f', {self.place}' if self.place else ''} ({self.status})"


class ExpectedNumber(Struct, frozen=True):
    """A number, the ends of its band, or both."""

    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def banded(self) -> bool:
        """Whether it has an end of a band."""
        return self.low is not None or self.high is not None


class RigCase(Struct, frozen=True):
    """Settings of the scenario, and numbers by observation and subject; "" if there is only one."""

    name: str
    set: dict[str, Any]
    expected: dict[str, dict[str, ExpectedNumber]]
    at: float | None = None


class Policy(Struct, frozen=True):
    """Settings for all cases; a policy that is not judged is only drawn."""

    name: str
    set: dict[str, Any]
    judged: bool


class Control(Struct, frozen=True):
    """Settings with which a verdict must fail; `solver` changes the scenario of the solver only."""

    name: str
    set: dict[str, Any]
    solver: dict[str, Any]


class Observation(Struct, frozen=True):
    """An observation, and the allowed differences.

    measure, column, statistic, by, where   the column of a measure, averaged as the catalog declares
    sql           or a query of subject and value
    relative_to   values are divided by those of this case
    expected      "published", or table and column, or figure, of the solver's answer
    largest       largest difference; of: in percent of the expected value or of the sum of all, or points
    rms           root mean square of the differences, in the same unit
    misallocated  half the sum of the differences, in percent of the sum of the expected values
    order         whether the cases must be in the order of their expected values
    band          source of the allowed differences
    """

    name: str
    unit: str
    measure: str | None
    column: str | None
    statistic: str
    by: str | None
    where: dict[str, Any]
    sql: str | None
    relative_to: str | None
    scale: float
    expected: str
    largest: float | None
    rms: float | None
    misallocated: float | None
    of: str
    order: bool
    band: str | None

    @property
    def limited(self) -> bool:
        """Whether differences are limited, beside the bands of single numbers."""
        return (self.largest, self.rms, self.misallocated) != (None, None, None)

    @property
    def of_unit(self) -> str:
        """Unit of its differences, as after a number."""
        return " points" if self.of == "points" else "%"


class Uncertain(Struct, frozen=True):
    """A key of the scenario that may be larger or smaller by a factor, between two numbers."""

    key: str
    factor: tuple[float, float]
    text: str


class RigDefinition(Struct, frozen=True):
    """A checked file."""

    name: str
    file: str
    title: str
    text: str
    area: str
    source: Citation
    scenario: dict[str, Any]
    cases: tuple[RigCase, ...]
    policies: tuple[Policy, ...]
    controls: tuple[Control, ...]
    observations: tuple[Observation, ...]
    seeds: int
    chart: str
    along: str
    not_reproduced: str | None
    uncertain: tuple[Uncertain, ...] = ()
    toml: str = ""

    def values(self, case: RigCase, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scenario of a case with the settings of a policy or control."""
        values = self.scenario
        for key, value in {**case.set, **settings}.items():
            values = set_value(values, key, value)
        return values


def shipped() -> dict[str, Path]:
    """Return the files that zlens ships, by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml")) if not path.stem.startswith("_")}


def find(name: str) -> RigDefinition:
    """Return a shipped file by name, or the user's by path."""
    path = shipped().get(name)
    if path is None and not Path(name).suffix:
        expected = f"a file, or one of {', '.join(shipped())}"
        raise QueryError(f"there is no scenario {name!r}", expected=expected)
    return load(str(path or name))


def changed(rig: RigDefinition, settings: Sequence[str]) -> RigDefinition:
    """Return a file with settings (`cp.slice=2`) for all its runs; ScenarioError for those its cases set."""
    scenario = rig.scenario
    problem = DocumentErrors(rig.file, ScenarioError)
    for setting in settings:
        scenario = apply_setting(scenario, setting)
        key, _, _ = setting.partition("=")
        _check_contradictions(rig, f"the setting {setting}", {key.strip(): None}, problem)
        for policy in rig.policies:
            if key.strip() in policy.set:
                what = f"the setting {setting} is one of policy {policy.name!r}"
                raise problem.general_error(what, "leave it out")
    found = replace(rig, scenario=scenario)
    check_runs(found, problem)
    return found


def load(file: str) -> RigDefinition:
    """Return a file of the rig; ScenarioError with key, value and cure if it cannot be used."""
    return parsed(read(file), file)


def parsed(values: ScenarioValues, file: str) -> RigDefinition:
    """Return a file of the rig from parsed TOML."""
    problem = DocumentErrors(file, ScenarioError, text=values.text)
    checked = key_table("rig.scenario").check(dict(values), "", problem)
    scenario = checked["scenario"]
    if not isinstance(scenario, dict) or scenario.get("model") not in models.MODELS:
        known = ", ".join(models.MODELS)
        raise problem.general_error("[scenario] needs a model", 'write model = "shares"', known)
    observations = tuple(_observation(one, problem) for one in checked["observe"])
    if len({one.name for one in observations}) < len(observations):
        raise problem.general_error("two observations have the same name", "use unique names")
    if checked["vary"] and checked["case"]:
        raise problem.general_error("case and vary exclude each other", "keep one of them")
    cases = _varied(checked["vary"]) if checked["vary"] else [_case(one) for one in checked["case"]]
    rig = RigDefinition(
        name=Path(file).stem,
        file=file,
        source=Citation(**checked["source"]),
        scenario=ScenarioValues(scenario, ""),
        cases=tuple(cases) or (RigCase("", {}, {}),),
        policies=tuple(Policy(**one) for one in checked["policy"]) or (Policy("", {}, True),),
        controls=tuple(Control(**one) for one in checked["control"]),
        observations=observations,
        along=checked["along"] or (checked["vary"] or {}).get("key", ""),
        uncertain=tuple(Uncertain(**one) for one in checked["uncertain"]),
        toml=values.text,
        **{key: checked[key] for key in ("title", "text", "area", "seeds", "chart", "not_reproduced")},
    )
    _check(rig, problem)
    return rig


def _varied(vary: dict[str, Any]) -> list[RigCase]:
    key = vary["key"]
    return [
        RigCase(
            f"{key} = {value}", {key: value}, {}, float(value) if isinstance(value, int | float) else None
        )
        for value in vary["values"]
    ]


def _case(entry: dict[str, Any]) -> RigCase:
    expected = {}
    for name, numbers in entry["expected"].items():
        single = not isinstance(numbers, dict) or (numbers and numbers.keys() <= {"value", "low", "high"})
        expected[name] = {
            subject: ExpectedNumber(**one) if isinstance(one, dict) else ExpectedNumber(one)
            for subject, one in ({"": numbers} if single else numbers).items()
        }
    return RigCase(entry["name"], entry["set"], expected, entry["at"])


def _observation(entry: dict[str, Any], problem: DocumentErrors) -> Observation:
    where = f"observe.{entry['name']}"
    statistic = entry.pop("statistic")
    if (entry["sql"] is None) == (entry["measure"] is None or entry["column"] is None):
        raise problem.general_error(f"{where} needs measure and column, or sql", "write one of them")
    if entry["expected"] != PUBLISHED and not entry["expected"].startswith(_SOLVER):
        raise problem.value(f"{where}.expected", entry["expected"], f'"{PUBLISHED}" or "{_SOLVER}..."')
    if entry["measure"] is not None:
        if entry["measure"] not in measures.measure_names():
            raise problem.unknown(f"{where}.measure", entry["measure"], measures.measure_names())
        table = measures.load_measure(entry["measure"])
        names = [column.name for column in table.columns]
        for name in (entry["column"], entry["by"], *entry["where"]):
            if name is not None and name not in names:
                raise problem.unknown(f"{where}, a column of {table.name}", name, names)
        column = table.column(entry["column"])
        assert column is not None
        statistic = statistic or aggregation.default_statistic(column)
        if statistic not in aggregation.available_statistics(column):
            expected = ", ".join(aggregation.available_statistics(column))
            raise problem.value(f"{where}.statistic", statistic, f"one of {expected}")
        try:
            pinned = aggregation.pinned_columns(table, entry["where"])
            aggregation.merges_subjects(table, [entry["by"]] if entry["by"] else [], pinned)
        except QueryError as error:
            message = f"{where}: {error.message}"
            raise problem.general_error(message, "add where or by", error.expected) from None
        # A ratio has no unit.
        entry["unit"] = entry["unit"] or ("" if entry["relative_to"] else column.unit)
    return Observation(**entry, statistic=statistic or "")


def check_runs(rig: RigDefinition, problem: DocumentErrors) -> None:
    """Check that no two cases, policies or controls are the same, and what each run has."""
    for group in (rig.cases, rig.policies, rig.controls):
        if len({one.name for one in group}) < len(group):
            what = "two cases, policies or controls have the same name"
            raise problem.general_error(what, "use unique names")
    for policy in rig.policies:
        _check_contradictions(rig, f"policy {policy.name!r}", policy.set, problem)
    variants = [*(policy.set for policy in rig.policies), *(control.set for control in rig.controls)]
    for case in rig.cases:
        for settings in variants:
            _check_length(rig.values(case, settings), problem)


def _check_contradictions(
    rig: RigDefinition, what: str, settings: Mapping[str, Any], problem: DocumentErrors
) -> None:
    """Check that settings for all cases leave alone what the cases set."""
    for key, value in settings.items():
        for case in rig.cases:
            for own, given in case.set.items():
                nested = f"{own}.".startswith(f"{key}.") or f"{key}.".startswith(f"{own}.")
                if nested and (own != key or given != value):
                    message = f"{what} sets {key}, which the case {case.name!r} sets, too"
                    raise problem.general_error(message, "leave it out of one")


def _check_length(values: Mapping[str, Any], problem: DocumentErrors) -> None:
    """Check that a run has an interval: without one nothing is observed."""
    times = {**key_table("simulation.simulation").defaults, **(values.get("simulation") or {})}
    seconds, interval = times["seconds"], times["interval"]
    if isinstance(seconds, int | float) and isinstance(interval, int | float) and seconds < interval:
        raise problem.general_error(
            f"simulation.seconds is {seconds:g}, less than an interval of {interval:g}: nothing is observed",
            "increase seconds, or reduce simulation.interval",
        )


def _check(rig: RigDefinition, problem: DocumentErrors) -> None:
    """Check combinations of keys that are valid separately."""
    check_runs(rig, problem)
    names = [case.name for case in rig.cases]
    for uncertain in rig.uncertain:
        stated = [value_at(rig.scenario, uncertain.key), *(case.set.get(uncertain.key) for case in rig.cases)]
        values = [value for value in stated if value is not None]
        if not values or any(type(value) not in (int, float) for value in values):
            what = f"uncertain.key {uncertain.key} has no numbers to multiply"
            raise problem.general_error(what, "name a key that the file sets")
    if not rig.controls and rig.not_reproduced is None:
        raise problem.general_error("no [[control]] shows that an error is detected",
                                    "add one with settings for which the verdict must fail")  # fmt: skip
    if not any(policy.judged for policy in rig.policies):
        raise problem.general_error("no policy is judged", "leave judged = false out for one")
    known = [one.name for one in rig.observations]
    for case in rig.cases:
        for name in case.expected:
            if name not in known:
                what = f"case {case.name!r} expects {name!r}, which no [[observe]] has"
                raise problem.general_error(what, "use its name", ", ".join(known))
    for one in rig.observations:
        if one.relative_to is not None and one.relative_to not in names:
            expected = f"one of {', '.join(names)}"
            raise problem.value(f"observe.{one.name}.relative_to", one.relative_to, expected)
        if one.expected == PUBLISHED and not any(one.name in case.expected for case in rig.cases):
            raise problem.general_error(f"no case has an expected number of {one.name!r}",
                                f'write expected = {{ "{one.name}" = 1.0 }} in [[case]]')  # fmt: skip
        numbers = [number for case in rig.cases for number in case.expected.get(one.name, {}).values()]
        if not one.limited and not one.order and not any(number.banded for number in numbers):
            raise problem.general_error(f"observe.{one.name} allows any difference", "write largest = 1.0")
