"""Findings as they appear and clear: the rules are checked on the newest interval of each system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from zlens.errors import CatalogError, QueryError
from zlens.findings import Finding
from zlens.findings.evaluate import find
from zlens.session.session import Session

if TYPE_CHECKING:
    from zlens.live.measures import Measures

#: Rule, system and subject.
Key = tuple[str, str, str]


class Interval(Protocol):
    @property
    def system(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def end_us(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Alert:
    """A finding that is or was there: since when, and until when, in microseconds since 1970, UTC."""

    finding: Finding
    since_us: int
    until_us: int | None = None

    @property
    def key(self) -> Key:
        return _key(self.finding)

    def row(self) -> dict[str, Any]:
        return {**self.finding.row(), "since_us": self.since_us, "until_us": self.until_us}


class Alerts:
    """The findings of the newest intervals."""

    def __init__(self) -> None:
        self.open: dict[Key, Alert] = {}
        #: Why the rules could not be checked at the last step.
        self.error: str | None = None

    def renew(
        self, session: Session, measures: Measures, step: int, closed: Sequence[Interval]
    ) -> tuple[list[Alert], list[Alert]]:
        """Check the newest interval of each system; returns the findings that appeared, and those that cleared."""
        newest: dict[tuple[str, str], int] = {}
        for interval in closed:
            key = (interval.system, interval.source)
            newest[key] = max(newest.get(key, interval.end_us), interval.end_us)
        ends = [(*key, end) for key, end in newest.items()]
        own = Session.over(session.sources, session.options, computed=measures.tables(step, ends))
        try:
            found = find(own).rows
            self.error = None
        except (CatalogError, QueryError) as error:
            # A rule of the user may be wrong; what was found stays.
            self.error = str(error)
            return [], []
        finally:
            own.close()
        ends_by_system = {system: end for (system, _), end in newest.items()}
        seen = {_key(finding): finding for finding in found if finding.system in ends_by_system}
        opened = [
            Alert(finding, ends_by_system[finding.system]) for key, finding in seen.items() if key not in self.open
        ]
        cleared = [
            Alert(alert.finding, alert.since_us, ends_by_system[key[1]])
            for key, alert in self.open.items()
            if key[1] in ends_by_system and key not in seen
        ]
        for alert in cleared:
            del self.open[alert.key]
        for key, finding in seen.items():
            since = self.open[key].since_us if key in self.open else ends_by_system[finding.system]
            self.open[key] = Alert(finding, since)
        return opened, cleared


def _key(finding: Finding) -> Key:
    return finding.rule.id, finding.system, finding.subject or ""
