"""A run of a scaling study with its scaling."""

from __future__ import annotations

from msgspec import Struct

from zlens.models.capacity import scaling
from zlens.studies.measurement import MeasuredRun
from zlens.studies.runs import WorkloadRun


class ScaledRun(Struct, frozen=True):
    """A run, its scaling, the factor of its cores, and its measured data, if any."""

    run: WorkloadRun
    scaled: scaling.Scaled
    factor: scaling.Factor | None
    measured: MeasuredRun | None

    @property
    def caf(self) -> float | None:
        """Capacity adjustment factor of its cores."""
        return self.factor.value if self.factor else None

    @property
    def capability(self) -> float | None:
        """Cores x factor, in single cores."""
        return None if self.caf is None else self.scaled.run.processors * self.caf
