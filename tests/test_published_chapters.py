"""Tests of docs/published: the commands shown reproduce the tables, and every difference is explained."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from iterations import quick_subset

ROOT = Path(__file__).parent.parent
PUBLISHED: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "published.py"))
CHAPTERS: dict[str, dict[str, Any]] = PUBLISHED["chapters"]()


@pytest.mark.usefixtures("unless_unchanged")
@pytest.mark.parametrize("name", quick_subset(1, sorted(CHAPTERS, key=lambda name: name != "cpumf")))
def test_published_chapter_equals_command_output(name: str) -> None:
    chapter = CHAPTERS[name]
    found = [PUBLISHED["cells"](table) for table in chapter["table"]]
    assert [cell for cells in found for cell in cells if not cell.explained] == []
    # A reason requires a difference.
    for table, cells in zip(chapter["table"], found, strict=True):
        differing = {cell.column for cell in cells if not cell.same}
        assert {each["column"] for each in table.get("differs", ())} <= differing, table["title"]
    page = (ROOT / "docs" / "published" / f"{name}.md").read_text(encoding="utf-8")
    assert page == PUBLISHED["page"](chapter), "write it again: make published"


def test_eighty_processor_tables_are_complete() -> None:
    titles = [table["title"] for table in CHAPTERS["eighty-processors"]["table"]]
    assert {f"Table {number}" for number in range(2, 11)} == {title.partition(".")[0] for title in titles}
    assert "Table 11" in CHAPTERS["eighty-processors"]["without"]


def test_differing_published_number_is_detected() -> None:
    cell = PUBLISHED["Cell"]("table", "row", "column", 4.26, "4.2")
    assert (cell.same, cell.explained) == (False, False)
    assert PUBLISHED["Cell"]("table", "row", "column", 4.26, "4.2", 0.07, "rounded").explained
    assert not PUBLISHED["Cell"]("table", "row", "column", 4.26, "4.2", 0.05, "rounded").explained
    assert PUBLISHED["Cell"]("table", "row", "column", 4.249, "4.2").same
    assert not PUBLISHED["Cell"]("table", "row", "column", None, "4.2").same
