"""Limits per query and per user. Kept small, because the command line imports it for its help."""

from __future__ import annotations

from msgspec import Struct


class RequestLimits(Struct, frozen=True):
    """Limits of questions.

    seconds     time of any question; a longer one is canceled
    memory      bytes that a question in the user's own SQL, or a scenario, may take
    questions   requests that one user, named by a proxy, may have in progress; a view asks a dozen
    """

    seconds: float = 600.0
    memory: int = 2 * 1024**3
    questions: int = 32
