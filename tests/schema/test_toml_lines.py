"""Lines of keys in TOML: every form in which a key can be written."""

from __future__ import annotations

import pytest

from zlens.schema.toml_lines import line_of

TEXT = '''name = "x"
threshold = { T = 85, "U" = 2 }
query = """
name = 'in a text'
"""
plain.inner = 1

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

["of the user".inner]
a = 1
'''


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("name", 1),
        ("threshold.T", 2),
        ("threshold.U", 2),
        ("plain.inner", 6),
        ("plain", 6),
        ("tables[1].key", 9),
        ("tables[1].columns[1].fields[1].at", 14),
        ("tables[1].columns[1].fields[2]", 17),
        ("tables[1].columns[2].width", 22),
        ("tables[1].columns[2].missing", 20),
        ("tables[2].columns[1].key", 27),
        ("tables[2].columns[1]", 26),
        ("of the user.inner.a", 30),
        ("of the user", 29),
        ("nowhere", None),
    ],
)
def test_lines(where: str, line: int | None) -> None:
    assert line_of(TEXT, where) == line
