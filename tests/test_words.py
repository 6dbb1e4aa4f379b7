"""Words that the texts of zlens do without: what reads as translated, and what names a thing twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: What is refused, and what to write.
REFUSED = {
    r"\banew\b": "again",
    r"\bprocessor times?\b": "CPU time",
    r"\bmade data\b": "synthetic data",
    r"\bmeasured nowhere\b": "not measured",
    r"\btold apart\b": "distinguished",
    r"\bcannot be had\b": "what cannot be done: cannot listen on port 80",
    r"\bis not called so\b": "Host header not allowed",
    r"\bholds? the data packed\b": "compressed",
    r"\bstands there twice\b": "given twice",
    r"\bholds for all sides\b": "applies to every side",
    r"\bwho is called as\b": "whose name equals",
}
#: In facts and documents, where nothing is an identifier.
REFUSED_IN_PROSE = {r"\btold\b": "reported, shown, described"}

CODE = ("python/zlens/**/*.py", "crates/**/*.rs", "bench/*.py", "ui/src/**/*.ts", "ui/src/**/*.svelte")
PROSE = ("python/zlens/facts/**/*.toml", "*.md", "docs/*.md")


def files(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in ROOT.glob(pattern) if "target" not in path.parts)


def refused(text: str, words: dict[str, str]) -> list[str]:
    flat = " ".join(text.split())
    return [f"{match[0]}: {say}" for word, say in words.items() for match in re.finditer(word, flat, re.I)]


@pytest.mark.parametrize("pattern", [*CODE, *PROSE])
def test_texts_do_without_them(pattern: str) -> None:
    words = REFUSED | (REFUSED_IN_PROSE if pattern in PROSE else {})
    paths = list(files((pattern,)))
    assert paths
    found = {
        path.relative_to(ROOT).as_posix(): refused(path.read_text(encoding="utf-8"), words) for path in paths
    }
    assert {path: words for path, words in found.items() if words} == {}


def test_a_refused_word_is_found_across_lines() -> None:
    assert refused("Counters began\n  Anew at the\n  processor\n  time", REFUSED) == [
        "Anew: again",
        "processor time: CPU time",
    ]
