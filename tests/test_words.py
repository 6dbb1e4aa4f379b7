"""Tests that zlens' texts avoid certain words: literal translations and synonyms of terms."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Rejected patterns and their replacements.
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
    r"\bwhoever\b": "the caller, its readers",
    r"\b(as it were|nor does)\b": "leave it out",
}
#: In facts and documents, which have no identifiers.
REFUSED_IN_PROSE = {
    r"\btold\b": "reported, shown, described",
    r"\d %(?![A-Za-z0-9(])": "95%, without a blank",
}
#: In comments and texts of Rust, with replacements.
REFUSED_IN_RUST = {
    r"\bstands? (at|behind|in|there|beyond)\b": "is at, is after; position",
    r"\bone (behind|after) the other\b": "back to back, consecutive",
    r"\bso many\b": "this many, the number of",
    r"\bgoes on\b": "continues, resumes",
    r"\b(taken apart|put together|held against)\b": "parsed, reassembled, compared with",
    r"\bdata are\b": "data is",
    r"\bno difference is taken\b": "differences are NULL",
    r"\bmaybe later\b": "(first occurrence)",
    r"\b(whoever|nobody|everybody)\b": "the caller, no subject, all subjects",
}
#: Rust names that are meaningless or ambiguous.
REFUSED_RUST_NAMES = re.compile(
    r"\b(?:struct|enum|trait|type) (?:Places?|Piece|Found|Told|Known|Journal|Facts|Gathered|Wide|Heads)\b"
    r"|\bfn (?:of|told|own|put|tell|everybody|wider)\b"
    r"|\bmod (?:places|pieces|journal|copies|census|walk|spans|reading|seen|cut|clock|made)\b"
)

#: A name within this length states what is tested and what is expected.
MAX_TEST_NAME = 60
#: In names of tests: retired words, articles, and subjects that are sentences ("what is wrong is told").
REFUSED_TEST_NAMES = re.compile(
    r"test_(?:an?|the|what|who|where)_"
    r"|_(?:told|tells?|asks?|asked|stands?|beside|made|kept|apart|stubs?|seams?|moments?|stretch|pieces?|rooms?)(?:_|$)"
    r"|_(?:nobody|somebody|everybody|whatever|whoever|wherever)(?:_|$)|_(?:is|are)_(?:no|none)(?:_|$)"
)

#: Names that say how a value was obtained instead of what it is. `FindingsResult.asked` is public.
REFUSED_NAMES = {"made", "told", "asked"}
NAMED = ("python/zlens/**/*.py", "tests/**/*.py", "bench/*.py", "fuzz/*.py")

CODE = ("python/zlens/**/*.py", "crates/**/*.rs", "bench/*.py", "ui/src/**/*.ts", "ui/src/**/*.svelte")
RUST_CRATES = ("columns", "forward", "frames", "listing", "native", "sim", "text")
RUST = tuple(f"crates/{crate}/src/**/*.rs" for crate in RUST_CRATES)
PROSE = ("python/zlens/facts/**/*.toml", "*.md", "docs/*.md")


def files(patterns: tuple[str, ...]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (path for path in ROOT.glob(pattern) if "target" not in path.parts)


def refused(text: str, words: dict[str, str]) -> list[str]:
    flat = " ".join(text.split())
    return [f"{match[0]}: {say}" for word, say in words.items() for match in re.finditer(word, flat, re.I)]


@pytest.mark.parametrize("pattern", [*CODE, *PROSE])
def test_texts_have_no_refused_words(pattern: str) -> None:
    words = REFUSED | (REFUSED_IN_PROSE if pattern in PROSE else {})
    paths = list(files((pattern,)))
    assert paths
    found = {
        path.relative_to(ROOT).as_posix(): refused(path.read_text(encoding="utf-8"), words) for path in paths
    }
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize("pattern", RUST)
def test_rust_has_no_refused_words(pattern: str) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in files((pattern,))}
    assert texts
    found = {
        path.relative_to(ROOT).as_posix(): refused(re.sub(r"\s*\n\s*//[/!]?", " ", text), REFUSED_IN_RUST)
        + REFUSED_RUST_NAMES.findall(text)
        for path, text in texts.items()
    }
    assert {path: words for path, words in found.items() if words} == {}


def defined_names(source: str) -> set[str]:
    """Return the names of variables, parameters, functions, classes and imports that a module defines."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
    return names


@pytest.mark.parametrize("pattern", NAMED)
def test_names_say_what_values_are(pattern: str) -> None:
    paths = list(files((pattern,)))
    assert paths
    named = {
        path.relative_to(ROOT).as_posix(): defined_names(path.read_text(encoding="utf-8")) & REFUSED_NAMES
        for path in paths
    }
    public = {"python/zlens/findings/evaluate.py": {"asked"}} if pattern == CODE[0] else {}
    assert {path: names for path, names in named.items() if names} == public


def test_refused_name_is_found() -> None:
    source = "import a as made\ndef f(told):\n    for asked in told.made: g(made=1)"
    assert defined_names(source) & REFUSED_NAMES == REFUSED_NAMES
    assert defined_names("x = rows.made") & REFUSED_NAMES == set()


def defined_tests() -> list[str]:
    paths = list(files(("tests/**/test_*.py",)))
    assert len(paths) > 100
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    return [
        node.name
        for node in nodes
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    ]


def test_test_names_are_unique_short_and_plain() -> None:
    names = defined_tests()
    assert {name for name, count in Counter(names).items() if count > 1} == set()
    assert {name for name in names if len(name) > MAX_TEST_NAME} == set()
    assert {name for name in names if REFUSED_TEST_NAMES.search(name)} == set()


def test_refused_word_is_found_across_lines() -> None:
    assert refused("Counters began\n  Anew at the\n  processor\n  time", REFUSED) == [
        "Anew: again",
        "processor time: CPU time",
    ]
