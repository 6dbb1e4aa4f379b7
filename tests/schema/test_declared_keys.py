"""Structs that are the schema of a file."""

from __future__ import annotations

from typing import Annotated

import pytest
from msgspec import Struct

from zlens.errors import CatalogError
from zlens.schema.validators import DocumentErrors, Integer, ListOf, Text, spec_of


class Item(Struct, frozen=True):
    name: Annotated[str, Text(5), "its name"]
    width: Annotated[int, Integer(1, 9), "its width"] = 3
    parts: Annotated[tuple[str, ...], ListOf(Text(2), into=tuple), "what it is made of"] = ()
    file: str = ""


def check(text: str, values: object) -> object:
    return spec_of(Item).check(values, "", DocumentErrors("x.toml", text=text))


def test_values_become_struct() -> None:
    assert check("", {"name": "a", "parts": ["b"]}) == Item("a", 3, ("b",))
    assert spec_of(Item, dict).check({"name": "a"}, "", DocumentErrors()) == {
        "name": "a",
        "width": 3,
        "parts": (),
    }


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "abcdef"}, r'x\.toml:1: name is "abcdef"; expected a text of up to 5 characters'),
        ({"name": "a", "width": 10}, r"x\.toml:2: width is 10; expected an integer from 1 to 9"),
        ({"width": 1}, r"x\.toml:1: name is missing: its name; expected a text"),
        # A field without a validator is no key.
        ({"name": "a", "file": "y"}, r"file is not known here; expected one of name, parts, width"),
    ],
)
def test_errors_name_key(values: object, said: str) -> None:
    with pytest.raises(CatalogError, match=said):
        check('name = "x"\nwidth = 3\n', values)
