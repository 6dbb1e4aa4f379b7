"""Tests of the keys of scenarios, which are facts."""

from __future__ import annotations

import pytest

from zlens.errors import CatalogError
from zlens.models.scenario_keys import KeyFile, key_table
from zlens.schema import structs
from zlens.schema.validators import NumberOr


def test_own_keys_replace_those_of_the_base() -> None:
    base, user = key_table("shares.user"), key_table("system.user")
    own = [key.name for key in user.keys]
    assert [name for name in own if name in base.by_name and name != "demand"] == [
        key.name for key in base.keys if key.name != "demand"
    ]
    assert "its transactions" in user.by_name["demand"].text
    assert own.count("demand") == 1


def test_kinds_of_keys_have_their_limits() -> None:
    relocation = key_table("relocation.scenario").by_name
    assert isinstance(relocation["maxtotal"].kind, NumberOr)
    assert relocation["maxtotal"].kind.describe() == 'a number from 0 to 1e+07, or "NOLIMIT"'
    partition = key_table("partitions.partition").by_name
    assert partition["absolute_cap"].kind.describe() == "a number above 0, to 1000"
    assert partition["weight"].kind.describe() == "an integer from 1 to 999"
    assert not partition["weight"].is_required
    assert partition["cores"].is_required


def test_key_of_unknown_type_names_its_line() -> None:
    text = '[tables.scenario.keys]\nsize = { type = "size", text = "how large" }\n'
    with pytest.raises(CatalogError) as raised:
        structs.parse(text, "keys.toml", KeyFile)
    assert raised.value.file == "keys.toml:2"
