"""Rows of published reports, each file in `published` with its publication in the first lines.

Makers feed what the rows tell; lines behind `|` are headings and others that feed nothing.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "published"


@cache
def lines(name: str) -> list[list[str]]:
    """The words of each line of a listing."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.removeprefix("|").split() for line in text.splitlines() if line and not line.startswith("#")]


@cache
def rows(name: str) -> list[list[str]]:
    """The words of each row that feeds a maker."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line and not line.startswith(("#", "|"))]
