"""Tests that a scenario has the same history on every machine, in debug and release builds.

`crates/sim/tests/everywhere.rs` simulates the scenario in the build of the tests and compares it with the
same file; `pytest --update` writes both files.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import expected
from zlens import _native
from zlens.models.scenario import example
from zlens.simulation import run

EXPECTED = Path(__file__).parents[2] / "crates/sim/tests/expected"
SECONDS = {"seconds": 60, "interval": 20, "warmup": 5, "checked": True}


def test_example_history_is_platform_independent() -> None:
    scenario, summary = EXPECTED / "example.json", EXPECTED / "example_summary.json"
    ready = run.prepare(tomllib.loads(example("system")) | {"simulation": SECONDS})
    text = json.dumps(ready.lowered.scenario, indent=1) + "\n"
    history = json.loads(_native.simulate(text, {}, None))
    if expected.is_updated():
        scenario.write_text(text, encoding="utf-8")
        summary.write_text(json.dumps(history, indent=1) + "\n", encoding="utf-8")
    assert json.loads(scenario.read_text("utf-8")) == json.loads(text)
    assert json.loads(summary.read_text("utf-8")) == history
