"""A run of a scaling study with its scaling."""

from __future__ import annotations

from msgspec import Struct

from zlens.models.capacity import scaling
from zlens.studies.measurement import Measured
from zlens.studies.runs import Run


class Beside(Struct, frozen=True):
    """A run, its scaling, the factor of its cores, and its measured data, if any."""

    run: Run
    scaled: scaling.Scaled
    factor: scaling.Factor | None
    measured: Measured | None

    @property
    def caf(self) -> float | None:
        """Capacity adjustment factor of its cores."""
        return self.factor.value if self.factor else None

    @property
    def capability(self) -> float | None:
        """Cores x factor, in single cores."""
        return None if self.caf is None else self.scaled.run.processors * self.caf
