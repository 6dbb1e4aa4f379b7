"""Rows of published reports; each file in `published` names its publication in its first lines.

Makers write the values of the rows; lines after `|`, such as headings, are only compared. The word `?`
matches any word, dots match any number of dots.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "published"


@cache
def lines(name: str) -> list[list[str]]:
    """Return the words of each line of a listing."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.removeprefix("|").split() for line in text.splitlines() if line and not line.startswith("#")]


def check(name: str, text: str) -> None:
    """Fail unless the text has all lines of a listing in order."""
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
    """Return the words of each row whose values makers write."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line.split() for line in text.splitlines() if line and not line.startswith(("#", "|"))]
