"""Tests that the glossary explains terms with the texts of the catalog."""

from __future__ import annotations

import pytest

from zlens.catalog import glossary, measures
from zlens.errors import CatalogError
from zlens.schema import structs


def test_every_term_has_text_and_source() -> None:
    terms = {term.name: term for term in glossary.terms()}
    assert {"T/V", "Vh", "Vm", "Vl", "LPMGT", "MLOAD", "prorated"} <= terms.keys()
    assert all(term.text and term.source and term.status for term in terms.values())
    tv = next(column for column in measures.load_measure("load").columns if column.name == "tv")
    assert terms["T/V"].text == tv.text


def test_incomplete_term_is_rejected() -> None:
    with pytest.raises(CatalogError, match=r"t\.toml:1: term\[1\]: it needs text, source and status; or of"):
        structs.parse('[[term]]\nname = "X"\n', "t.toml", glossary.Glossary)
    with pytest.raises(CatalogError, match=r"'X' names load\.nothing"):
        glossary._completed(glossary.Term("X", of="load.nothing"))
