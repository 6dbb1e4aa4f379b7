"""Tests of the verdicts of shipped scenarios: a few here, all in `make test-all`."""

from __future__ import annotations

import pytest

from iterations import quick_subset
from zlens.rig import definition, expected_values, results, runners, tables, verdict

#: Quick scenarios of shares, partitions and devices.
FEW = ("unequal-shares", "four-equal", "weights-capped", "relocation-passes")


#: Scenarios whose right answers the simulator meets within its noise.
EXACT = (
    "alias-shares", "caps", "cpu-pools", "equal-shares", "excess-share", "four-equal", "horizontal-vertical",
    "limit-wait", "limits", "relocation-passes", "relocation-ways", "unequal-shares", "vertical-lows",
    "weights-capped", "weights-uncapped",
)  # fmt: skip


@pytest.mark.parametrize("factor", [0.99, 1.01])
@pytest.mark.parametrize("name", EXACT)
def test_runner_off_by_one_percent_fails(name: str, factor: float) -> None:
    """Every observation but a mere order detects a runner whose numbers are all 1% too low or too high."""
    rig = definition.find(name)
    numbers = {case.name: expected_values.expected_values(rig, case) for case in rig.cases}
    for one in rig.observations:
        wanted = {case: found[one.name] for case, found in numbers.items()}
        nonzero = any(number.value for found in wanted.values() for number in found.values())
        if (one.largest, one.rms, one.misallocated) == (None,) * 3 or not nonzero:
            assert one.order or not nonzero
            continue
        seen = {
            case: {subject: [(number.value or 0) * factor] for subject, number in found.items()}
            for case, found in wanted.items()
        }
        assert verdict.judge(one, wanted, seen).broken, one.name


def passes(name: str, folder: str) -> None:
    rig = definition.find(name)
    [result] = results.run([rig], runners.find("simulate"), folder, workers=1)
    assert not result.errors
    assert result.passed == (rig.not_reproduced is None), tables.answer([result]).notes


@pytest.mark.parametrize("name", quick_subset(1, FEW))
def test_quick_scenario_passes(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    passes(name, str(tmp_path_factory.mktemp("rig")))


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in definition.shipped() if name not in FEW])
def test_all_others(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    passes(name, str(tmp_path_factory.mktemp("rig")))
