"""Tests of rig files and of the errors of invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rig_samples import EQUAL, write
from zlens import errors
from zlens.rig import definition, description, expected_values, jobs, runners

PUBLISHED = EQUAL.replace('"solver:users.allocation"', '"published"')


@pytest.mark.parametrize("name", definition.shipped())
def test_shipped_rig_files_are_valid(name: str) -> None:
    """Each has a source and expected numbers."""
    rig = definition.find(name)
    numbers = [expected_values.expected_values(rig, case) for case in rig.cases]
    for one in rig.observations:
        assert any(found[one.name] for found in numbers), one.name
        assert one.band or one.largest in (0.0, 1.0) or one.order or rig.not_reproduced, one.name
    assert rig.source.publication
    assert rig.title in description.text(rig)


def test_rig_skeleton_is_valid() -> None:
    rig = definition.load(str(definition.FOLDER / "_skeleton.toml"))
    assert expected_values.expected_values(rig, rig.cases[0])["CPU"]["LINUX1"].value == 50


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (EQUAL.replace('model = "shares"', 'model = "share"'), r"\[scenario\] needs a model"),
        (EQUAL.replace('"guest"', '"gest"'), "observe.CPU.measure is not known here.*did you mean guest"),
        (EQUAL.replace('"cpu_pct"', '"cpu_pc"'), "a column of guest is not known.*did you mean cpu_pct"),
        (EQUAL.replace("largest = 1.0", ""), "observe.CPU allows any difference"),
        (EQUAL.replace('"solver:users.allocation"', '"users"'), 'observe.CPU.expected is "users"'),
        (EQUAL.replace('by = "userid"', 'relative_to = "base"'), 'relative_to is "base"'),
        (EQUAL.replace("measure =", 'sql = "SELECT 1"\nmeasure ='), "needs measure and column"),
        (EQUAL.replace('measure = "guest"', 'measure = "core_type"').replace("cpu_pct", "thread_density")
         .replace('by = "userid"', ""), "different cpu_type are never merged"),
        (PUBLISHED, "no case has an expected number of 'CPU'"),
        (PUBLISHED + '[[case]]\nname = "x"\nexpected.GPU = 1.0\n', "expects 'GPU', which no"),
        (EQUAL + '[[case]]\nname = "x"\n[vary]\nkey = "processors.CP"\nvalues = [1]\n', "exclude each other"),
        (EQUAL + '[[policy]]\nname = "x"\njudged = false\n', "no policy is judged"),
        (EQUAL + '[[case]]\nname = "x"\n[[case]]\nname = "x"\n', "the same name"),
        (EQUAL.replace('area = "shares"', 'area = "share"'), 'area is "share"'),
        (EQUAL.replace("seeds = 2", "seeds = 0"), "seeds is 0"),
        (EQUAL.partition("[[control]]")[0], r"no \[\[control\]\] shows that an error is detected"),
        (EQUAL.replace("seconds = 20", "seconds = 9"), "seconds is 9, less than an interval of 10"),
        (EQUAL + '[vary]\nkey = "processors.CP"\nvalues = [1, 2]\n'
         '[[policy]]\nname = "P"\nset = { "processors.CP" = 2 }\n',
         "policy 'P' sets processors.CP, which the case 'processors.CP = 1' sets, too"),
        ("title = ", "is not valid TOML"),
    ],
)  # fmt: skip
def test_invalid_rig_file_is_rejected(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(errors.ScenarioError, match=says) as raised:
        definition.load(write(tmp_path, text))
    assert raised.value.cure or raised.value.expected


def test_solver_without_requested_number(tmp_path: Path) -> None:
    rig = definition.load(write(tmp_path, EQUAL.replace("users.allocation", "users.alocation")))
    with pytest.raises(
        errors.ScenarioError, match=r"users.alocation is not in the solver's answer.*users.allocation"
    ):
        expected_values.expected_values(rig, rig.cases[0])
    rig = definition.load(write(tmp_path, EQUAL.replace("users.allocation", "used")))
    with pytest.raises(errors.ScenarioError, match=r"one of its values: used_cp"):
        expected_values.expected_values(rig, rig.cases[0])


def test_control_may_change_solver_input(tmp_path: Path) -> None:
    rig = definition.load(write(tmp_path, EQUAL))
    [control] = rig.controls
    values = expected_values.expected_values(rig, rig.cases[0], control)["CPU"]
    assert [values[name].value for name in "AB"] == pytest.approx([200 / 3, 100 / 3])


def test_runs_of_cases_policies_and_controls(tmp_path: Path) -> None:
    vary = '[vary]\nkey = "processors.CP"\nvalues = [1, 2]\n[[policy]]\nname = "New"\n'
    rig = definition.load(write(tmp_path, EQUAL + vary))
    names = [job.name for job in jobs.rig_jobs(rig)]
    assert names == [
        "processors.cp_1-new-1", "processors.cp_1-new-2", "processors.cp_2-new-1", "processors.cp_2-new-2",
        "processors.cp_1-control_wrong_share-1", "processors.cp_2-control_wrong_share-1",
    ]  # fmt: skip
    first = jobs.rig_jobs(rig)[0]
    assert (first.values["processors"], first.values["simulation"]["seed"]) == ({"CP": 1}, 1)


def test_setting_of_case_is_rejected(tmp_path: Path) -> None:
    vary = '[vary]\nkey = "processors.CP"\nvalues = [1, 2]\n'
    rig = definition.load(write(tmp_path, EQUAL + vary))
    with pytest.raises(errors.ScenarioError, match=r"the setting processors.CP=3 sets processors.CP"):
        definition.changed(rig, ["processors.CP=3"])
    with pytest.raises(errors.ScenarioError, match=r"seconds is 5, less than an interval of 10"):
        definition.changed(rig, ["simulation.seconds=5"])


def test_unknown_rig_name() -> None:
    with pytest.raises(errors.QueryError, match=r"no scenario 'unequal'.*unequal-shares"):
        definition.find("unequal")


@pytest.mark.long
@pytest.mark.parametrize("name", ["smt-interference", "unparking-caches"])
def test_published_numbers_do_not_affect_runs(name: str) -> None:
    """A calibration is in the keys of the runs, not in the numbers that they are compared with."""

    def digests(rig: definition.RigDefinition) -> list[str]:
        runner = runners.find("simulate")
        return [runner.digest(one) for one in jobs.rig_jobs(replace(rig, controls=()), 1)]

    rig = definition.find(name)
    cases = tuple(replace(case, expected={}) for case in rig.cases)
    assert len(set(digests(rig))) == len(rig.cases)
    assert digests(replace(rig, cases=cases)) == digests(rig)
