"""Tests of the list of tests that take long."""

from __future__ import annotations

import re
from pathlib import Path

import long_tests

TESTS = Path(__file__).parent


def test_shortest_test_of_a_module_is_never_long() -> None:
    times = {"a.py::quick": 0.1, "a.py::slow": 3.0, "b.py::slow": 2.0, "b.py::slower": 2.5, "c.py::only": 9.0}
    assert long_tests.long_ones(times) == {"a.py::slow", "b.py::slower"}


def test_rules_about_the_source_are_never_long() -> None:
    times = {f"{module}::{test}": 9.0 for module in long_tests.RULES for test in ("first", "second")}
    assert long_tests.long_ones(times) == set()
    assert not any(map(long_tests.is_rule, long_tests.LIST.read_text("utf-8").splitlines()))


def test_list_keeps_tests_that_did_not_run() -> None:
    times = {"a.py::quick": 0.1, "a.py::now_quick": 0.1, "a.py::now_slow": 3.0}
    listed = ["a.py::now_quick", "a.py::other"]
    assert long_tests.renewed(listed, times) == ["a.py::now_slow", "a.py::other"]


def test_listed_long_tests_exist() -> None:
    lines = long_tests.LIST.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    for line in lines:
        module, *_, function = line.split("[")[0].split("::")
        assert re.search(
            rf"^ *(async )?def {function}\(", (TESTS / module).read_text("utf-8"), re.MULTILINE
        ), line
