"""Rows of published reports, each file in `published` with its publication in the first lines.

Makers feed what the rows tell; lines behind `|` are headings and others that feed nothing. The word `?` is
any word, dots are dots of any number.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "published"


@cache
def lines(name: str) -> list[list[str]]:
    """The words of each line of a listing."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.removeprefix("|").split() for line in text.splitlines() if line and not line.startswith("#")]


def check(name: str, text: str) -> None:
    """Fail unless the text has all lines of a listing, in their order."""
    printed = [line.split() for line in text.splitlines()]
    for line in lines(name):
        at = next((i for i, words in enumerate(printed) if _contains(words, line)), None)
        if at is None:
            pytest.fail(f"not printed as in {name}.txt: {' '.join(line)}\n{text}", pytrace=False)
        printed = printed[at + 1 :]


def _contains(words: list[str], line: list[str]) -> bool:
    return any(all(map(_is_same, words[i : i + len(line)], line)) for i in range(len(words) - len(line) + 1))


def _is_same(word: str, published: str) -> bool:
    return published in (word, "?") or not (word.strip(".") or published.strip("."))


@cache
def rows(name: str) -> list[list[str]]:
    """The words of each row that feeds a maker."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line and not line.startswith(("#", "|"))]
