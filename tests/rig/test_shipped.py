"""Tests of the verdicts of shipped scenarios: a few here, all in `make test-all`."""

from __future__ import annotations

import pytest

from iterations import quick_subset
from zlens.rig import definition, results, runners, tables

#: Quick scenarios of shares, partitions and devices.
FEW = ("unequal-shares", "four-equal", "weights-capped", "relocation-passes")


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
