"""Tests of scenario checks: errors name the key, its value and the expected values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zlens import models, studies
from zlens.errors import ScenarioError
from zlens.models import constants, published_numbers, scenario, sweeps
from zlens.schema.validators import Boolean, Choice, Integer, Key, ListOf, MapOf, Number, SingleLine, Spec

SPEC = Spec(
    (
        Key("count", Integer(1, 8), "how many", "processors"),
        Key("part", Number(0, 1, above=True), "how much", default=0.5),
        Key("fast", Boolean(), "whether", default=False),
        Key("kind", Choice(("a", "b")), "which", default="a"),
        Key("names", MapOf(Number()), "by name", default=None),
        Key(
            "row",
            ListOf(Spec((Key("name", SingleLine(), "its name"), Key("n", Integer(0, 9), "n", default=0)))),
            "rows",
        ),
    )
)
GOOD: dict[str, Any] = {"count": 2, "row": [{"name": "x"}, {"name": "y", "n": 3}]}


def test_missing_keys_have_defaults() -> None:
    found = scenario.check_scenario(SPEC, GOOD)
    assert found["part"] == 0.5
    assert found["fast"] is False
    assert found["names"] is None
    assert found["row"] == [{"name": "x", "n": 0}, {"name": "y", "n": 3}]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": 9}, "count is 9; expected an integer from 1 to 8"),
        ({"count": 2.0}, "count is 2.0; expected an integer"),
        ({"count": True}, "count is true; expected an integer"),
        ({"count": "2"}, 'count is "2"; expected an integer'),
        ({"part": 0}, "part is 0; expected a number above 0, to 1"),
        ({"part": float("nan")}, "part is nan; expected a number"),
        ({"part": float("inf")}, "part is inf; expected a number"),
        ({"fast": 1}, "fast is 1; expected true or false"),
        ({"kind": "c"}, 'kind is "c"; expected one of "a", "b"'),
        ({"names": {"u": "v"}}, 'names.u is "v"; expected a number'),
        ({"names": {}}, "names is a table"),
        ({"row": {"name": "x"}}, "row is a table"),
        ({"row": [{"n": 1}]}, "row[1].name is missing: its name"),
        ({"row": [{"name": ""}]}, 'row[1].name is ""'),
        ({"row": [{"name": "x", "m": 1}]}, "row[1].m is not known here; expected one of n, name"),
        ({"coumt": 1}, "did you mean count?"),
        ({"title": 5}, "title is 5"),
    ],
)
def test_invalid_scenario_values_are_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario.check_scenario(SPEC, {**GOOD, **change}, file="f.toml")
    assert says in str(caught.value)
    assert str(caught.value).startswith("f.toml: ")


def test_required_keys_must_exist() -> None:
    with pytest.raises(ScenarioError, match="count is missing: how many"):
        scenario.check_scenario(SPEC, {"row": []})


#: Whether each key accepts a value. A number other than 0 is at least 1e-12.
ALLOWED: dict[str, Callable[[Any], bool]] = {
    "count": lambda value: type(value) is int and 1 <= value <= 8,
    "part": lambda value: type(value) in (int, float) and 1e-12 <= value <= 1,
    "fast": lambda value: type(value) is bool,
    "kind": lambda value: value in ("a", "b"),
    "names": lambda value: False,
    "row": lambda value: value == [],
}


@given(
    st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()), st.lists)
    | st.integers(0, 9)
    | st.floats(0, 1)
    | st.sampled_from(("a", "b"))
)
def test_value_is_accepted_or_error_names_key(value: Any) -> None:
    for key in SPEC.keys:
        given = {**GOOD, key.name: value}
        if ALLOWED[key.name](value):
            assert scenario.check_scenario(SPEC, given)[key.name] == value
        else:
            with pytest.raises(ScenarioError, match=rf"^{key.name}\b"):
                scenario.check_scenario(SPEC, given)


@pytest.mark.parametrize(
    ("setting", "path", "expected"),
    [
        ("count=4", ("count",), 4),
        ("kind=b", ("kind",), "b"),
        ('kind="b"', ("kind",), "b"),
        ("row.y.n=5", ("row", 1, "n"), 5),
        ("row.1.n=5", ("row", 0, "n"), 5),
        ("names.u=1.5", ("names", "u"), 1.5),
    ],
)
def test_setting_changes_one_value(setting: str, path: tuple[Any, ...], expected: Any) -> None:
    changed: Any = scenario.apply_setting(GOOD, setting)
    for step in path:
        changed = changed[step]
    assert changed == expected
    assert GOOD["count"] == 2
    assert "n" not in GOOD["row"][0]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("count", "count is not a setting; expected KEY=VALUE"),
        ("=3", "=3 is not a setting; expected KEY=VALUE"),
        ("row.z.n=1", "z of row.z.n does not exist; expected x, y, or 1 to 2"),
        ("row.3.n=1", "3 of row.3.n does not exist; expected x, y, or 1 to 2"),
        ("count.x=1", "count of count.x is not a table"),
    ],
)
def test_setting_without_target_is_rejected(setting: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{said}"):
        scenario.apply_setting(GOOD, setting)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1:3", [1, 2, 3]),
        ("0:1:0.5", [0.0, 0.5, 1.0]),
        ("10:1:-3", [10, 7, 4, 1]),
        ("0:0.3:0.1", [0, 0.1, 0.2, 0.3]),
    ],
)
def test_ranges(text: str, values: list[float]) -> None:
    assert list(scenario.sweep_values(text)) == pytest.approx(values)
    assert all(isinstance(value, int) for value in scenario.sweep_values(text)) == ("." not in text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        *((text, "not a range") for text in ("", "1", "a:b")),
        *(
            (text, "not a finite range")
            for text in ("1:2:0", "1:5:-1", "0:1e9:0.001", "1:2:3:4", "nan:1", "1:inf")
        ),
    ],
)
def test_invalid_ranges_are_rejected(text: str, wrong: str) -> None:
    with pytest.raises(ScenarioError, match=f"^{text} is {wrong}; expected START:STOP or START:STOP:STEP"):
        list(scenario.sweep_values(text))


def test_files(tmp_path: Path) -> None:
    good, bad, binary = tmp_path / "a.toml", tmp_path / "b.toml", tmp_path / "c.toml"
    good.write_text("count = 2\n", encoding="utf-8")
    bad.write_text("count = = 2\n", encoding="utf-8")
    binary.write_bytes(b"count = \xff\n")
    assert scenario.read(str(good)) == {"count": 2}
    with pytest.raises(ScenarioError, match="is not valid TOML") as caught:
        scenario.read(str(bad))
    assert caught.value.file == f"{bad}:1"
    for path, said in (
        (binary, "at byte 8: is not text in UTF-8"),
        (tmp_path / "none.toml", "cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
    ):
        with pytest.raises(ScenarioError, match=said) as caught:
            scenario.read(str(path))
        assert caught.value.file == str(path)


def test_keys_are_described() -> None:
    text = "".join(scenario.describe_keys(SPEC))
    assert "count: how many; an integer from 1 to 8, processors; required\n" in text
    assert "    name: its name; a text in quotes; required\n" in text


USERS = {"processors": {"CP": 1}, "user": [{"name": "A", "relative": 100}, {"name": "B", "relative": 100}]}


def test_sweep_has_row_per_value() -> None:
    answer = sweeps.solve("shares", USERS, "user.A.relative=100:300:100")
    (table,) = answer.tables
    assert table.column("value") == [100, 200, 300]
    assert table.column("allocation_A") == pytest.approx([50, 66.667, 75], abs=1e-3)
    assert table.column("used_cp") == pytest.approx([100, 100, 100])
    assert {one.name for chart in answer.charts for one in chart.series} >= {"A gets", "B gets"}


@pytest.mark.parametrize(
    ("sweep", "said"),
    [
        ("user.A.relative", "user.A.relative is not a key with a range; expected KEY=START:STOP"),
        ("user.Z.relative=1:2", "Z of user.Z.relative does not exist; expected A, B, or 1 to 2"),
        ("user.A.relative=0:3", r"user\[1\].relative is 0; expected an integer from 1 to 10,000"),
    ],
)
def test_invalid_sweeps_are_rejected(sweep: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        sweeps.solve("shares", USERS, sweep)


def test_constants_are_complete_and_known() -> None:
    assert constants.constants()
    for one in constants.constants().values():
        assert one.model in (*models.MODELS, *studies.STUDIES), one.name
        assert one.status in constants.STATUSES, one.name
        assert one.text, one.name
        assert one.source, one.name
        # No document settles heuristics of zlens and rules of thumb of others.
        assert one.closes or one.status in ("ours", "carried"), one.name


def test_every_published_number_has_its_source() -> None:
    for name, one in published_numbers.PublishedNumber.by_name().items():
        assert one.model in models.MODELS, name
        assert one.status in ("verified", "verified-secondary", "linux"), name
        assert one.text, name
        assert one.source, name


@pytest.mark.parametrize("name", models.MODELS)
def test_every_model_example_is_valid(name: str) -> None:
    import tomllib

    model = models.find(name)
    values = tomllib.loads(model.example)
    assert values["model"] == name
    answer = models.solve(name, values)
    assert answer.model == name
    assert answer.tables
    for table in answer.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)


def test_scenario_of_another_model() -> None:
    from zlens import models

    with pytest.raises(ScenarioError, match="is for the model shares, not queueing; "):
        models.solve("queueing", {"model": "shares", "processors": {"CP": 1}})


def test_missing_entry_error_lists_existing_entries() -> None:
    with pytest.raises(ScenarioError, match=r"expected users, or 1$"):
        scenario.apply_setting({"class": [{"name": "users"}]}, "class.TX.rate=1")
    with pytest.raises(ScenarioError, match=r"expected A, B, or 1 to 2$"):
        scenario.apply_setting({"user": [{"name": "A"}, {"name": "B"}]}, "user.C.relative=1")
    with pytest.raises(ScenarioError, match="which has no entries here"):
        scenario.apply_setting({"user": []}, "user.C.relative=1")
