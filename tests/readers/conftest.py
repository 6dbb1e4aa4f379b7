"""Fixtures of the reader tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from rmf_builder import Opened
from zlens.inputs.options import Options, parse_zone
from zlens.readers.rmf.postprocessor import RmfXmlSource, open_files


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A function that opens contents as report0.xml, report1.xml, ..."""

    def go(*contents: str | bytes, tz: str | None = "UTC") -> RmfXmlSource:
        paths = []
        for number, content in enumerate(contents):
            path = tmp_path / f"report{number}.xml"
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            paths.append(str(path))
        return open_files(paths, Options(tz=parse_zone(tz) if tz else None))

    return go
