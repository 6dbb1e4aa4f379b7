"""An input for the commands: the demo's RMF report, which needs no binary file."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens.demo import machine, rmf


def made_report() -> str:
    hour = machine.Hour()
    snapshots = [rmf.snapshot(hour) for minute in hour.minutes() if minute.number % rmf.INTERVAL == 0]
    return rmf.document(snapshots)


@pytest.fixture(scope="session")
def rmf_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "rmf.xml"
    path.write_text(made_report(), encoding="utf-8")
    return path
