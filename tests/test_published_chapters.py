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


#: Tables and listings of each publication, counted there. One that is printed again, or in part, counts once.
PRINTED = {"cpumf": 20, "eighty-processors": 12, "smt": 22, "zvm-64": 15, "zvm-update": 9}


def test_most_published_tables_are_reproduced() -> None:
    reproduced = {name: PUBLISHED["reproduced"](chapter) for name, chapter in CHAPTERS.items()}
    others = {
        name: [each["name"] for each in chapter["not_reproduced"]] for name, chapter in CHAPTERS.items()
    }
    assert {name: len({*reproduced[name], *others[name]}) for name in CHAPTERS} == PRINTED
    assert {name: len(reproduced[name]) + len(others[name]) for name in CHAPTERS} == PRINTED
    assert all(each["why"] for chapter in CHAPTERS.values() for each in chapter["not_reproduced"])
    assert sum(map(len, reproduced.values())) >= 0.8 * sum(PRINTED.values())


def test_eighty_processor_tables_are_complete() -> None:
    chapter = CHAPTERS["eighty-processors"]
    numbered = [f"Table {number}" for number in range(1, 12)]
    others = [each["name"] for each in chapter["not_reproduced"]]
    assert {*PUBLISHED["reproduced"](chapter), *others} == {*numbered, "FCX108 DEVICE"}
    assert others == ["Table 11"]


def test_differing_published_number_is_detected() -> None:
    cell = PUBLISHED["Cell"]("table", "row", "column", 4.26, "4.2")
    assert (cell.same, cell.explained) == (False, False)
    assert PUBLISHED["Cell"]("table", "row", "column", 4.26, "4.2", 0.07, "rounded").explained
    assert not PUBLISHED["Cell"]("table", "row", "column", 4.26, "4.2", 0.05, "rounded").explained
    assert PUBLISHED["Cell"]("table", "row", "column", 4.249, "4.2").same
    assert not PUBLISHED["Cell"]("table", "row", "column", None, "4.2").same


def test_formulas_are_the_same_by_their_results() -> None:
    def is_same(value: str, printed: str) -> bool:
        return bool(PUBLISHED["Cell"]("table", "row", "column", value, printed, formula=True).same)

    assert is_same("100 * (E128 + E129) / (B2 + B4)", "((E129+E128) / (B4+B2)) * 100")
    assert not is_same("100 * (E128 + E129) / (B2 + B4)", "((E129+E128) / (B4+B3)) * 100")
    assert not is_same("0.84 * B3 / B1", ".83 * B3 / B1")


def test_differing_text_needs_named_row() -> None:
    def cell(value: object, printed: str, *reason: object) -> Any:
        return PUBLISHED["Cell"]("table", "row", "column", value, printed, *reason)

    assert cell("System Data (Global)", "System data (global)").same
    assert cell(None, "....").same
    assert not cell("User Data", "User activity").explained
    assert cell("User Data", "User activity", 0.0, "renamed").explained
    # A reason for numbers is none for a text or for a missing number.
    assert not cell("User Data", "User activity", 0.5, "rounded").explained
    assert not cell(None, "4.2", 0.5, "rounded").explained
    assert not cell(None, "4.2", 0.0, "renamed").explained
