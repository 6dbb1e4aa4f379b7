"""Tests that reports of demo files, printed and read back, have the same values to the printed precision."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

import listing_roundtrip
import zlens
from zlens.catalog import listings
from zlens.catalog.reports import definition

#: Reports of the short test; `make test-all` covers every report of every file.
SHORT = ("prclog", "smtmet", "device", "user", "sysconf", "partition", "hpalias", "workload")


@pytest.mark.long
def test_short_reports_round_trip(demo_files: list[Path], tmp_path: Path) -> None:
    values: dict[str, int] = defaultdict(int)
    for path in demo_files:
        with zlens.open(str(path)) as session:
            for name in SHORT:
                count, wrong = listing_roundtrip.differences(session._core, name, tmp_path)
                assert not wrong, f"{path.name} {name}"
                values[name] += count
    assert all(values[name] > 0 for name in ("prclog", "smtmet", "device", "user", "sysconf"))
    assert sum(values.values()) > 10_000


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(definition.names()))
def test_reports_round_trip(name: str, demo_files: list[Path], tmp_path: Path) -> None:
    for path in demo_files:
        with zlens.open(str(path)) as session:
            _, wrong = listing_roundtrip.differences(session._core, name, tmp_path)
        assert not wrong, path.name


@pytest.mark.parametrize("name", ["lpar", "lparlog"])
def test_hexadecimal_columns_are_text(name: str) -> None:
    """A user partition ID printed as 10 is 16."""
    columns = [column for table in definition.load_report(name).tables for column in table.columns]
    assert [listings.kind(column) for column in columns if column.key == "upid"] == ["text"]
    assert [listings.kind(column) for column in columns if column.key == "partition_number"] == ["int"]
