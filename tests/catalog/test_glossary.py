"""The glossary explains terms with the texts of the catalog."""

from __future__ import annotations

import pytest

from zlens.catalog import glossary, measures
from zlens.errors import CatalogError


def test_every_term_has_text_and_source() -> None:
    terms = {term.name: term for term in glossary.terms()}
    assert {"T/V", "Vh", "Vm", "Vl", "LPMGT", "MLOAD", "prorated"} <= terms.keys()
    assert all(term.text and term.source and term.status for term in terms.values())
    tv = next(column for column in measures.load_measure("load").columns if column.name == "tv")
    assert terms["T/V"].text == tv.text


@pytest.mark.parametrize("facts", [{"name": "X"}, {"name": "X", "of": "load.nothing"}])
def test_incomplete_term_is_rejected(facts: dict[str, str]) -> None:
    with pytest.raises(CatalogError, match="'X' is not complete"):
        glossary._term(facts)
