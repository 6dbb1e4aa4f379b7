"""Tests that page templates equal line-by-line parsing, on published pages with other numbers."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import zlens
from iterations import draws, iterations
from zlens.readers.rmf.page_templates import PageTemplate, PageTemplates

FOLDER = Path(__file__).parents[2] / "docs" / "published" / "listings"
PAGES = ("rmf-cpu-mt", "rmf-workload-mt", "rmf-paging")


def random_report(draw: random.Random, intervals: int) -> str:
    """Return published reports of consecutive intervals with other numbers in the same columns."""
    pages = []
    for number in range(intervals):
        for name in PAGES:
            text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
            text = re.sub(r"(?<=\d\d/)\d\d(?=/\d{4})", f"{number + 1:02}", text)
            head, body = text.split("\n", 3)[:3], text.split("\n", 3)[3]
            # Processor numbers and modes are part of the template.
            pages += [
                *head,
                re.sub(r"(?<=\s)[\d,]{2,}\.?\d*(?=\s)", lambda found: other(found[0], draw), body),
            ]
    return "\n".join(pages)


def other(number: str, draw: random.Random) -> str:
    """Return a number of the same width, a shorter one that ends in the same column, or only digits."""
    if draw.random() < 0.02:
        return number.replace(",", "9").replace(".", "9")
    digits = "".join(str(draw.randrange(10)) if each.isdigit() else each for each in number)
    return f"{digits[1:].lstrip(',') or '7':>{len(number)}}" if draw.random() < 0.1 else digits


def read(path: Path) -> tuple[dict[str, list[str]], list[str], list[str]]:
    with zlens.open(str(path)) as session:
        names = [name for (name, *_) in session.sql("SHOW TABLES").rows if name.startswith("rmf_")]
        tables = {name: sorted(map(repr, session.sql(f"FROM {name}").rows)) for name in names}
        return (
            tables,
            [each.detail for each in session.problems],
            [repr(row) for row in session.sql("FROM inventory").rows],
        )


@pytest.mark.parametrize("seed", range(iterations(60, 4)))
def test_template_pages_equal_parsed_pages(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rmf.txt"
    path.write_text(random_report(draws(seed), 12), encoding="utf-8")
    put, taken = PageTemplate.add_values, []

    def counted(form: PageTemplate, *arguments: Any) -> bool:
        taken.append(put(form, *arguments))
        return taken[-1]

    monkeypatch.setattr(PageTemplate, "add_values", counted)
    fast = read(path)
    assert sum(taken) >= 5
    monkeypatch.setattr(PageTemplates, "find", lambda *_: None)
    assert read(path) == fast


def test_changed_page_does_not_match_template(tmp_path: Path) -> None:
    """The second of three reports has a processor of another type."""
    text = random_report(draws(1), 3)
    changed = text.replace(" 5   IIP", " 5   AAP", 2).replace(" 5   AAP", " 5   IIP", 1)
    path = tmp_path / "rmf.txt"
    path.write_text(changed, encoding="utf-8")
    with zlens.open(str(path)) as session:
        rows = session.sql(
            "SELECT count(DISTINCT interval_end), count(*) FROM rmf_cpu WHERE cpu_type = 'AAP'"
        ).rows
    assert rows == [(1, 2)]
