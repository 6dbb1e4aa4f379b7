"""Units of raw numbers (facts/units.toml)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from zlens.schema.structs import NamedFacts, SourcedTable, doc


class RawUnit(NamedFacts, SourcedTable, frozen=True):
    """A unit of raw numbers."""

    path: ClassVar = "units.toml"
    factor: Annotated[float, Meta(gt=0, description="its value in the unit of measures")]
    unit: Annotated[str, doc("the unit of measures")]
    text: Annotated[str, doc("what it is")]
