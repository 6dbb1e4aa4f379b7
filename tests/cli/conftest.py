"""Input of the command tests: the demo's RMF report, which needs no binary file."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens import demo


@pytest.fixture(scope="session")
def rmf_file(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "rmf.xml"
    path.write_text((demo_folder / demo.RMF_NAME).read_text("utf-8"), encoding="utf-8")
    return path
