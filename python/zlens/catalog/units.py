"""Units of raw numbers (facts/units.toml)."""

from __future__ import annotations

from functools import cache
from typing import Annotated

from msgspec import Meta

from zlens.schema import structs
from zlens.schema.facts import FACTS
from zlens.schema.structs import SourcedTable, doc


class RawUnit(SourcedTable, frozen=True):
    """A unit of raw numbers."""

    factor: Annotated[float, Meta(gt=0, description="its value in the unit of measures")]
    unit: Annotated[str, doc("the unit of measures")]
    text: Annotated[str, doc("what it is")]


@cache
def raw_units() -> dict[str, RawUnit]:
    """Return all units by the name that roles use."""
    return structs.load(FACTS / "units.toml", dict[str, RawUnit])
