"""Limits per query and per user. Kept small, because the command line imports it for its help."""

from __future__ import annotations

from msgspec import Struct


class RequestLimits(Struct, frozen=True):
    """Limits of requests.

    seconds     time limit of a request in seconds; it is then canceled
    memory      memory limit of a query of the user or of a scenario in bytes
    questions   requests of one user of a proxy that may be in progress; a view sends a dozen
    rows        rows of each measure and system in /metrics, the largest; None: all
    """

    seconds: float = 600.0
    memory: int = 2 * 1024**3
    questions: int = 32
    rows: int | None = 200
