"""What the measures have to say in the table `problem`: counters withheld, and machines nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from zlens.problems import Problem


class _Answer(Protocol):
    @property
    def rows(self) -> list[tuple[Any, ...]]: ...


def doubts(ask: Callable[[str], _Answer]) -> list[Problem]:
    """The problems that the counters of an input show; `ask` is Session.sql or Engine.ask."""
    rows = ask("SELECT system, source, kind, detail FROM _doubt ORDER BY ALL").rows
    return [
        Problem(system, source, "", None, "CPU MF", kind, detail) for system, source, kind, detail in rows
    ]
