"""What holds for all tests."""

from __future__ import annotations

import signal

import pytest
from hypothesis import settings

# Started in the background of a script, a program ignores Ctrl-C, and so would every program it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Beside other tests an example may take long, and that says nothing of it.
settings.register_profile("zlens", deadline=None)
settings.load_profile("zlens")

#: One test that takes a minute: begun last, it would keep one processor busy and the others waiting.
LONGEST = "test_guide.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run side by side, the longest of them begins first."""
    items.sort(key=lambda item: item.path.name != LONGEST)
