"""Tests of the summary of `make test-all` and of the list of `make samples`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import outcomes
import runners
import samples
import tools
from runners import Run

TESTS = Path(__file__).parent
CARGO = """
test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

test result: ok. 30 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.00s
"""
VITEST = (
    "\x1b[2m Test Files \x1b[22m 3 passed (3)\n\x1b[2m      Tests \x1b[22m 310 passed | 2 skipped (312)\n"
)


def test_table_has_runners_tools_and_reasons() -> None:
    pytest_run = {
        "passed": 5123,
        "failed": 0,
        "deselected": 0,
        "skipped": {"no samples in rmf: make samples": 41, tools.reason("trino"): 1},
        "tools": ["chromium"],
    }
    found = runners.table(
        [
            Run("cargo", 0, CARGO),
            Run("s390x", 2, "zlens-forward for s390x needs Debian 12\n", optional=True),
            Run("vitest", 0, VITEST),
            Run("pytest", 1, "5123 passed", [pytest_run]),
        ]
    )
    assert found == [
        "cargo     ran      42 passed, 0 failed, 3 ignored",
        "s390x     not run  zlens-forward for s390x needs Debian 12",
        "vitest    ran      310 passed | 2 skipped (312)",
        "pytest    FAILED   5123 passed, 42 skipped",
        "chromium  ran      in pytest",
        "trino     not run  1 tests skipped: make trino",
        "",
        "41  skipped  no samples in rmf: make samples",
        "1   skipped  no trino: make trino",
    ]


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("first: true", 0),
        ("first?: exit 2", 0),
        ("first?: exit 3", 1),
        ("first: exit 2", 1),
        ("first: false", 1),
    ],
)
def test_failing_command_sets_exit_status(command: str, status: int) -> None:
    words = [sys.executable, TESTS / "runners.py", command, "second: echo last line"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert "last line" in done.stdout.splitlines()[-1]


def test_skipped_tests_are_counted_by_reason() -> None:
    reports = [SimpleNamespace(longrepr=("a.py", at, f"Skipped: {why}")) for at, why in enumerate("bab")]
    assert outcomes.by_reason(reports) == {"b": 2, "a": 1}


def test_sample_folders_are_described_with_users() -> None:
    done = subprocess.run(
        [sys.executable, TESTS / "samples.py"],
        capture_output=True,
        text=True,
        check=True,
        env={"ZLENS_SAMPLES": "/x"},
    )
    assert done.stdout.startswith("samples are read from /x;")
    assert all(f"\n{name}: missing\n" in done.stdout for name in samples.CONTENTS)
    assert "tests/readers/test_rmf_sample.py" in samples.users("rmf")
    with pytest.raises(ValueError, match="samples has no folder 'nowhere'; expected one of cpumf, "):
        samples.sample("nowhere/x")


@pytest.mark.long
def test_tests_of_workers_are_counted_once() -> None:
    command = f"cd {TESTS.parent}; {sys.executable} -m pytest --quiet --numprocesses 2 tests/test_words.py"
    (outcome,) = runners.run("pytest", command).outcomes
    assert outcome["passed"] > 1
