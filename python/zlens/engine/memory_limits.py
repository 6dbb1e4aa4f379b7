"""Limits the memory of the entire process, whatever a statement does.

The engine's own limit covers tables, sorts and joins. It does not cover single values: a list of a billion
numbers, or a text repeated a million times.
"""

from __future__ import annotations

import sys

from zlens.engine import connection

_GB = 1024**3
_memory: int | None = None


def limit_memory(size: int) -> None:
    """Limit this process to `size` bytes, half of them for tables. Enforced on Linux only."""
    global _memory
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    # Not the address space, which includes files and reserved addresses.
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))
    connection.limit_table_memory(size // 2)
    _memory = size


def memory_text() -> str:
    """Return the memory limit of a query, as errors name it."""
    return f"{_memory / _GB:.3g} GB" if _memory is not None else connection.table_limit()


def memory_used() -> int:
    """Return the bytes of this process that count toward its limit; 0 if unknown."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next((1024 * int(line.split()[1]) for line in status if line.startswith("VmData")), 0)
    except OSError:
        return 0
