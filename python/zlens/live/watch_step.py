"""What one step of the watcher reports: closed intervals, findings and problems."""

from __future__ import annotations

from msgspec import Struct, field

from zlens.inputs.problems import Problem
from zlens.live.alerts import FindingAlert
from zlens.live.measure_store import End

_LISTS = ("closed", "opened", "cleared", "problems", "errors", "notes")


class ClosedInterval(Struct, frozen=True):
    """A closed interval: its length, and the mean utilization of its processors."""

    system: str
    source: str
    end_us: int
    seconds: float | None
    busy_pct: float | None

    @property
    def key(self) -> End:
        return self.system, self.source, self.end_us


class WatchStep(Struct):
    """Result of one step: closed intervals, findings that appeared or cleared, and problems of the data.

    errors   messages about failed actions
    notes    messages that need no action
    """

    number: int
    closed: list[ClosedInterval] = field(default_factory=list)
    opened: list[FindingAlert] = field(default_factory=list)
    cleared: list[FindingAlert] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in _LISTS)

    def merge(self, other: WatchStep) -> WatchStep:
        """Return this step merged with a later one."""
        return WatchStep(
            other.number, **{name: getattr(self, name) + getattr(other, name) for name in _LISTS}
        )
