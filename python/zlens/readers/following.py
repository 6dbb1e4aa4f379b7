"""What following a stream of records needs of their format.

A stream is cut where intervals have ended. The records up to a cut are decoded behind `last`: the last record of
everything that a later one is compared with or belongs to. All rules are then those of any decoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from zlens.inputs.options import Options

#: Modules with `FORM`, by the name of their reader.
FOLLOWED = {"zvm.monwrite": "zvm.following", "smf.dump": "smf.following"}


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a stream may be cut.

    end         bytes before it
    now_us      the time of the newest record before it, in microseconds since 1970, in the records' own zone
    closed_us   the latest end of an interval that is closed then, in that zone too; None: all that end before
                the cut are
    """

    end: int
    now_us: int
    closed_us: int | None = None


@dataclass(frozen=True, slots=True)
class Last:
    """What was kept: how many records, and how many of the new ones belong to intervals closed before."""

    records: int
    late: int


class Form(Protocol):
    """A format whose streams can be followed."""

    #: Whether all that there is of an interval comes before the next one ends.
    together: bool

    def plain(self, path: str) -> None:
        """Bring a stream that is another form of the format into the one that is cut."""
        ...

    def cut(self, path: str, *, grace_s: float, silent: bool) -> Cut | None:
        """Where the stream so far may be cut; None: nowhere yet.

        grace_s   how long the records of an interval may come after its end
        silent    nothing came for that time
        """
        ...

    def last(
        self, path: str, begin: int, end: int, into: str, options: Options, oldest_us: int
    ) -> Last:
        """Keep the last records before `end` of a stream that is new from `begin` on, but no older ones."""
        ...

    def begin(self, path: str, into: str, options: Options) -> None:
        """Write what a part of the stream must begin with to be read by itself; `path` has the last records."""
        ...


def form(reader: str) -> Form | None:
    """How streams of a reader are followed; None: only whole files of it are read."""
    name = FOLLOWED.get(reader)
    if name is None:
        return None
    found: Form = import_module(f"zlens.readers.{name}").FORM
    return found
