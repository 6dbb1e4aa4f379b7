"""Tests of TOML: the values of the standard library's parser, and lines of keys in every notation."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from zlens.schema import facts, toml

TEXT = '''name = "x"
threshold = { T = 85, "U" = 2 }
query = """
name = 'in a text'
[tables]
"""
plain.inner = 1
plain."quo ted".inner = 2

[[tables]]
key = "a"

[[tables.columns]]
key = "one"
fields = [
    { name = "f", at = 0 },

    # a comment
    { name = "g", at = 4 },
]

[[tables.columns]]
key = "two"
width = 3

[[tables]]
key = "b"
[[tables.columns]]
key = "three"
[tables.more]
rows = [["a", "b"], [
    "c",
    """d
    d""", "e",
]]
inline = [{ name = "f" }, { name = "g",
    at = 4, in = { ner = [1,
        2] } }]

["of the user".inner]
a = 1
[ spaced . "out" ]
key.of.it = 1
key.of.that = '''
TEXT += """'''
key = "in a text"
'''
after = 1
[releases]
"7.4" = 1
7.3 = 2
7.'5'.x = 3
[deep.below.it]
x = 1
[deep]
y = 2
"""


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("name", 1),
        ("threshold", 2),
        ("threshold.T", 2),
        ("threshold.U", 2),
        ("query", 3),
        ("plain.inner", 7),
        ("plain", 7),
        ("plain.quo ted.inner", 8),
        ("tables", 10),
        ("tables[1]", 10),
        ("tables[1].key", 11),
        ("tables[1].columns[1].fields", 15),
        ("tables[1].columns[1].fields[1].at", 16),
        ("tables[1].columns[1].fields[2]", 19),
        ("tables[1].columns[2].width", 24),
        ("tables[1].columns[2].missing", 22),
        ("tables[1].columns[9].key", 13),
        ("tables[2].columns[1].key", 29),
        ("tables[2].columns[1]", 28),
        ("tables[2].more", 30),
        ("tables[2].more.rows[1][2]", 31),
        ("tables[2].more.rows[2]", 31),
        ("tables[2].more.rows[2][1]", 32),
        ("tables[2].more.rows[2][2]", 33),
        ("tables[2].more.rows[2][3]", 34),
        ("tables[2].more.inline[1].name", 36),
        ("tables[2].more.inline[2].at", 37),
        ("tables[2].more.inline[2].in.ner[2]", 38),
        ("of the user.inner.a", 41),
        ("of the user", 40),
        ("spaced.out.key.of.it", 43),
        ("spaced.out.key.of.that", 44),
        ("spaced.out.after", 47),
        ("releases.7.4", 49),
        ("releases.7.3", 50),
        ("releases.7.5.x", 51),
        ("releases.7.6", 50),
        ("deep.below.it.x", 53),
        ("deep.y", 55),
        ("nowhere", None),
        ("nam", None),
        ("tables[0].key", 10),
        ("tables[x].key", 10),
    ],
)
def test_lines(where: str, line: int | None) -> None:
    assert toml.line_of(TEXT, where) == line


def order(value: Any) -> Any:
    """Return a value with its keys in order, and the types of its numbers."""
    if isinstance(value, dict):
        return [(key, order(entry)) for key, entry in value.items()]
    return [order(entry) for entry in value] if isinstance(value, list) else repr(value)


def test_facts_are_those_of_standard_library() -> None:
    for path in facts.FACTS.rglob("*.toml"):
        text = path.read_text(encoding="utf-8")
        assert order(toml.parse(text)) == order(tomllib.loads(text)), path


@pytest.mark.parametrize(
    "text",
    [
        "a = 2024-05-14T09:30:00Z\nb = 2024-05-14 09:30:00.25\nc = 2024-05-14\nd = 09:30:00",
        "a = 0x7fffffffffffffff\nb = 0b101\nc = 1_000\nd = 0o17",
        "a = inf\nb = -inf\nc = nan\nd = -0.0\ne = 1e999\nf = 6.02e2_3",
        "a = " + "[" * 40 + "]" * 40,
        'a = "\\u00e9\\t\\"" # é\nb = \'\\\'\nc = """\\\n   d"""',
        "",
    ],
)
def test_values_are_those_of_standard_library(text: str) -> None:
    assert order(toml.parse(text)) == order(tomllib.loads(text))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = ", 1),
        ("\na = 1\na = 2", 3),
        ('a = 1\nb = "\x00"', 2),
        ("[a]\n[[a]]", 2),
        ("a = 1\nb = [1,\n", 2),
        ("a = 1\nb = 2024-02-30", 2),
        ("\n\na = 99999999999999999999", 3),
        ('a = 1\nb = "\ud800"', 2),
    ],
)
def test_errors_have_line(text: str, line: int) -> None:
    with pytest.raises(toml.TomlError, match=rf"\(at line {line}\)$") as error:
        toml.parse(text)
    assert error.value.line == line
