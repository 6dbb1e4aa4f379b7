"""Tests of role files: names with words and ranges, and blocks that resemble another."""

from __future__ import annotations

from pathlib import Path

import pytest

from zlens.catalog import roles
from zlens.catalog.roles import RoleValue
from zlens.errors import CatalogError

FILE = """
entity = "thing"
text = "a thing"
key = ["name"]
[roles]
name = { type = "text", aggregate = "last", text = "its name" }
"[read write]_rate" = { type = "float", unit = "/s", aggregate = "mean", text = "{n}s, {N}" }
"code_[00-0c/4 9-10 other]" = { type = "float", aggregate = "sum", text = "code {N}" }
[[from]]
table = "d1r2"
like = "d1r1"
prefix = "TWO"
[from.roles]
write_rate = { field = "own" }
[[from]]
table = "d1r1"
[from.roles]
name = { field = "ONE_NAME_OF" }
"[read write]_rate" = { field = "ONE_{N}", take = "difference" }
"code_[00-0c/4]" = { field = "code_{n}" }
code_other = { expression = "one_other * 2" }
[[from]]
table = "d1r3"
like = "d1r1"
"""


def entity(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> roles.Entity:
    monkeypatch.setattr(roles, "FOLDER", folder)
    (folder / "thing.toml").write_text(text)
    roles.catalog_entity.cache_clear()
    try:
        return roles.catalog_entity("thing")
    finally:
        roles.catalog_entity.cache_clear()


def test_role_name_pattern_expands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = entity(tmp_path, monkeypatch, FILE).roles
    codes = ["code_00", "code_04", "code_08", "code_0c", "code_9", "code_10", "code_other"]
    assert list(named) == ["name", "read_rate", "write_rate", *codes]
    assert named["write_rate"] == roles.Role(
        name="write_rate", type="float", unit="/s", text="writes, WRITE", aggregate="mean"
    )
    assert [named[code].text for code in ("code_0c", "code_10")] == ["code 0C", "code 10"]


def test_block_inherits_roles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two, one, three = entity(tmp_path, monkeypatch, FILE).origins
    assert (
        one.roles
        == three.roles
        == {
            "name": RoleValue(field="ONE_NAME_OF"),
            "read_rate": RoleValue(field="ONE_READ", take="difference"),
            "write_rate": RoleValue(field="ONE_WRITE", take="difference"),
            **{f"code_{number}": RoleValue(field=f"code_{number}") for number in ("00", "04", "08", "0c")},
            "code_other": RoleValue(expression="one_other * 2"),
        }
    )
    assert two.roles == one.roles | {
        "name": RoleValue(field="TWO_NAME_OF"),
        "read_rate": RoleValue(field="TWO_READ", take="difference"),
        "write_rate": RoleValue(field="own"),
    }


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            'table = "d1r3"\nlike = "d1r1"',
            'table = "d1r3"\nlike = "d1r4"',
            "d1r3: d1r4 is not one block with all its roles",
        ),
        (
            'table = "d1r3"\nlike = "d1r1"',
            'table = "d1r3"\nlike = "d1r2"',
            "d1r3: d1r2 is not one block with all its roles",
        ),
        ("write_rate = {", "wrote_rate = {", "d1r2: role wrote_rate is not among the entity's roles"),
        ("code_[00-0c/4]", "code_[00-14/4]", "d1r2: role code_14 is not among"),
    ],
)
def test_wrong_blocks_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was: str, now: str, said: str
) -> None:
    assert was in FILE
    with pytest.raises(CatalogError) as caught:
        entity(tmp_path, monkeypatch, FILE.replace(was, now))
    assert str(caught.value).startswith(f"{tmp_path / 'thing.toml'}: {said}")


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        (
            'aggregate = "last"',
            'aggregate = "first"',
            '6: roles.name.aggregate is "first"; expected one of "sum"',
        ),
        ('{ field = "own" }', '{ fields = "own" }', "14: from[1].roles.write_rate.fields is not known here"),
        (
            '{ field = "own" }',
            "{ base = 8 }",
            "14: from[1].roles.write_rate.base is 8; expected one of 10, 16",
        ),
        ('key = ["name"]', "", " key is missing: roles that identify a row"),
    ],
)
def test_invalid_keys_are_reported_with_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was: str, now: str, said: str
) -> None:
    with pytest.raises(CatalogError) as caught:
        entity(tmp_path, monkeypatch, FILE.replace(was, now, 1))
    assert str(caught.value).startswith(f"{tmp_path / 'thing.toml'}:{said}")
