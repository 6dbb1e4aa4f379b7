"""Waiting for other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Only failing tests reach it; long because programs are much slower on a busy machine.
PATIENCE_S = 120.0


def until(true: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Return once a condition holds; fail if it never does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"it did not come to pass in {seconds:.0f} s"
        time.sleep(0.02)
