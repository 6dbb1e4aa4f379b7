"""Tests of the labels of z/OS texts in the catalog."""

from __future__ import annotations

import pytest

from zlens.catalog import cpumf
from zlens.catalog.zos_messages import MessageFacts
from zlens.errors import CatalogError
from zlens.schema import structs
from zlens.schema.facts import FACTS

TEXTS = (FACTS / "zos" / "texts.toml").read_text(encoding="utf-8")


def test_zos_text_facts_are_consistent() -> None:
    known = MessageFacts.load()
    assert known.status == "verified-secondary"
    assert set(known.his.sets.values()) <= set(cpumf.sets())
    assert set(known.modes.values()) == {"cp", "ziip"}
    columns = [label.column.name for label in (*known.run.values(), *known.service.values())]
    assert len(columns) == len(set(columns))
    assert {"smfintval", "statechange", "counter_sets"} <= set(columns)
    assert all(label.column.text for label in (*known.run.values(), *known.machine.values()))


LABEL = '{{ label = "X", form = "{}", column = {{ name = "{}", type = "text", text = "x" }} }},'


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABEL.format("words", "x"), r'run\[1\]\.form is "words"'),
        (LABEL.format("int", "x"), r"label 'X': its column is of type int"),
        (LABEL.format("word", "x") * 2, "the column x is defined twice"),
        (LABEL.format("word", "x"), "operands define no column cntintval, smfintval"),
    ],
)
def test_invalid_labels_are_rejected(labels: str, message: str) -> None:
    before, run, rest = TEXTS.partition("\nrun = [")
    _, end, rest = rest.partition("\n]\n")
    assert end
    with pytest.raises(CatalogError, match=message):
        structs.parse(before + run + labels + end + rest, "texts.toml", MessageFacts)
