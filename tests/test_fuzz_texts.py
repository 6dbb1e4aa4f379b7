"""Tests of the fuzzing of Python readers: some damaged inputs of each target are handled correctly."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz" / "texts.py"
TARGETS = (
    "linux_counters",
    "sysinfo",
    "hmc",
    "linux_power",
    "linux_hypervisor",
    "linux_memory",
    "dds",
    "rmf_xml",
    "rmf_monitor3",
    "rmf_printed",
    "zos_text",
    "zvm_console",
    "listing",
    "throughput",
)


@pytest.fixture(scope="module")
def harness() -> dict[str, Any]:
    return runpy.run_path(str(FUZZ))


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_inputs(harness: dict[str, Any], capsys: pytest.CaptureFixture[str], target: str) -> None:
    assert harness["main"]([target, "--inputs", "25", "--seed", "1", "--seconds", "600"]) == 0
    assert f"{target}: 25 inputs" in capsys.readouterr().out


@pytest.mark.parametrize("target", TARGETS)
def test_complete_inputs_of_targets_are_read(harness: dict[str, Any], target: str, tmp_path: Path) -> None:
    read, complete = harness["seeds"]()[target]
    for data in complete:
        (tmp_path / "input").write_bytes(data)
        read(str(tmp_path / "input"))


def test_every_fuzz_target_runs(harness: dict[str, Any]) -> None:
    assert set(harness["seeds"]()) == set(TARGETS)


def test_fuzz_failures_are_reported_and_saved(
    harness: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(path: str) -> None:
        raise ValueError(path)

    space = harness["main"].__globals__
    monkeypatch.setitem(space, "HERE", tmp_path)
    monkeypatch.setitem(space, "seeds", lambda: {"hmc": (broken, [b"abc"])})
    assert harness["main"](["hmc", "--inputs", "2", "--seed", "1"]) == 1
    assert "not answered as it should be" in capsys.readouterr().out
    assert list((tmp_path / "artifacts" / "texts").iterdir())
