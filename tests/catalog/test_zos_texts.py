"""The labels of texts of z/OS in the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from zlens.catalog import cpumf, zos_messages
from zlens.catalog.zos_messages import facts
from zlens.errors import CatalogError


def test_zos_text_facts_are_consistent() -> None:
    known = facts()
    assert known.status == "verified-secondary"
    assert set(known.sets.values()) <= set(cpumf.sets())
    assert set(known.modes.values()) == {"cp", "ziip"}
    columns = [label.column.name for label in (*known.run.values(), *known.service.values())]
    assert len(columns) == len(set(columns))
    assert {"smfintval", "statechange", "counter_sets"} <= set(columns)
    assert all(label.column.text for label in (*known.run.values(), *known.machine.values()))


def _label(**changes: Any) -> dict[str, Any]:
    column = {"name": "x", "type": "text", "text": "x"}
    return {"label": "X", "column": column, "form": "word", **changes}


@pytest.mark.parametrize(
    "entries",
    [
        [_label(form="words")],
        [_label(form="int")],
        [_label(), _label(label="Y")],
    ],
)
def test_invalid_labels_are_rejected(entries: list[dict[str, Any]]) -> None:
    with pytest.raises(CatalogError, match=r"label '[XY]'"):
        list(zos_messages._labels(entries, Path("texts.toml")))
